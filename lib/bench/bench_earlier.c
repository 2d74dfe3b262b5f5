/* bench_earlier.c: takes the rows of cases that an earlier, interrupted run has finished. */
#include <string.h>

#include "bench_private.h"

static bool is_reference(const cJSON *row) {
    return strcmp(sg_json_string(row, "back_end", ""), "reference") == 0;
}

static bool is_case(const cJSON *row, const struct row_case *c, int threads) {
    return is_reference(row) && strcmp(sg_json_string(row, "size", ""), c->layers->name) == 0 &&
           sg_json_number(row, "n", -1) == (double)c->layers->n &&
           strcmp(sg_json_string(row, "distribution", ""), c->distribution) == 0 &&
           sg_json_number(row, "density", -1) == c->density && sg_json_number(row, "threads", -1) == threads;
}

bool earlier_take(cJSON *rows, bool *verified, const cJSON *earlier, const struct row_case *c, int threads) {
    const cJSON *row = earlier ? earlier->child : NULL;
    while (row && !is_case(row, c, threads))
        row = row->next;
    const bool found = row != NULL;
    for (bool mine = found; mine; mine = row && !is_reference(row) && !sg_json_string(row, "compressor", NULL)) {
        *verified = *verified && sg_json_bool(row, "verified", true);
        sg_json_push(rows, sg_json_copy(row));
        row = row->next;
    }
    return found;
}

/* plot_unfinished.c: says under figures and tables how far the cells came that are not finished. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plot_private.h"
#include "sg_text.h"

enum { MOST_TOLD = 6 }; /* of more cells only the numbers are told */

struct tally {
    size_t cells, unfinished, not_begun;
    double least, most; /* share of the planned steps, of those that have begun */
};

static bool is_unfinished(const cJSON *cell) {
    return sg_run_status_is_open(sg_json_string(cell, "status", ""));
}

static struct tally count_cells(const cJSON *document) {
    const cJSON *result, *cell;
    struct tally t = {.least = INFINITY, .most = -INFINITY};
    cJSON_ArrayForEach(result, sg_json_get(document, "results")) {
        cJSON_ArrayForEach(cell, sg_json_get(result, "cells")) {
            const double share = sg_json_number(cell, "steps", NAN) / sg_json_number(cell, "planned_steps", NAN);
            t.cells++;
            if (!is_unfinished(cell))
                continue;
            t.unfinished++;
            if (isnan(share))
                t.not_begun++;
            t.least = fmin(t.least, share);
            t.most = fmax(t.most, share);
        }
    }
    return t;
}

/* "Top-k, seed 1 at epoch 50 of 300". */
static void put_cell(FILE *out, const cJSON *result, const cJSON *cell) {
    const double epochs = sg_json_number(cell, "planned_epochs", NAN);
    const char *axis = isnan(epochs) ? "step" : "epoch";
    const double done = sg_json_number(cell, isnan(epochs) ? "steps" : "epochs", NAN);
    fprintf(out, "%s, seed %s ", sg_json_string(result, "label", "?"), sg_json_string(cell, "seed", "?"));
    if (isnan(done))
        fputs("not begun", out);
    else
        fprintf(out, "at %s %.6g of %.6g", axis, done,
                isnan(epochs) ? sg_json_number(cell, "planned_steps", NAN) : epochs);
}

char *sg_plot_add_unfinished(char *take_footnote, const cJSON *document) {
    const struct tally t = count_cells(document);
    const cJSON *result, *cell;
    const char *before = "";
    char *text = NULL;
    size_t size;
    if (!take_footnote || t.unfinished == 0 || strcmp(sg_json_string(document, "status", ""), "interrupted") != 0)
        return take_footnote;
    FILE *out = open_memstream(&text, &size);
    if (out) {
        fprintf(out, "%s%snot finished: ", take_footnote, take_footnote[0] ? "; " : "");
        if (t.unfinished > MOST_TOLD)
            fprintf(out, "%zu of %zu cells", t.unfinished, t.cells);
        cJSON_ArrayForEach(result, sg_json_get(document, "results")) {
            cJSON_ArrayForEach(cell, sg_json_get(result, "cells")) {
                if (t.unfinished > MOST_TOLD || !is_unfinished(cell))
                    continue;
                fputs(before, out);
                put_cell(out, result, cell);
                before = ", ";
            }
        }
        if (t.unfinished > MOST_TOLD && t.not_begun > 0)
            fprintf(out, ", of which %zu not begun", t.not_begun);
        if (t.unfinished > MOST_TOLD && t.most >= t.least)
            fprintf(out, ", at %.0f to %.0f %% of their steps", floor(100 * t.least), floor(100 * t.most));
    }
    free(take_footnote);
    return sg_stream_text(out, &text);
}

/* recipe_seeds.c: converts the short forms of seeds, {first: 1, count: 3}, 1..3, 1,2,3 and 1..3,7, to the list that
 * they mean, so that the cells do not depend on the form. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "recipe_private.h"

enum { MOST_SEEDS = 1000 };

/* Reads text [length] as a seed with blanks around it. */
static bool read_seed(int64_t *out, const char *text, size_t length) {
    char number[24];
    for (; length > 0 && *text == ' '; length--)
        text++;
    while (length > 0 && text[length - 1] == ' ')
        length--;
    snprintf(number, sizeof number, "%.*s", (int)length, text);
    return length < sizeof number && sg_parse_integer(out, number, 0, (int64_t)1 << 53);
}

/* "7" or "1..10" [length]. */
static bool read_range(const char *text, size_t length, int64_t *first, int64_t *last) {
    const char *dots = memmem(text, length, "..", 2);
    if (!dots)
        return read_seed(first, text, length) && read_seed(last, text, length);
    const size_t before = (size_t)(dots - text);
    return read_seed(first, text, before) && read_seed(last, dots + 2, length - before - 2) && *first <= *last;
}

/* Appends first … last, at the place of `at`. */
static void push_range(struct sg_node *out, int64_t first, int64_t last, const struct sg_node *at) {
    for (int64_t seed = first; seed <= last; seed++) {
        char text[32];
        const int length = snprintf(text, sizeof text, "%lld", (long long)seed);
        struct sg_node node = {.line = at->line, .column = at->column};
        sg_node_set_plain(&node, text, (size_t)length);
        sg_node_push(out, &node);
    }
}

void sg_list_seeds(struct sg_check *c, const struct sg_schema_row *row, const struct sg_node *seeds,
                   struct sg_node *out) {
    *out = (struct sg_node){.kind = SG_NODE_LIST, .line = seeds->line, .column = seeds->column};
    if (seeds->kind == SG_NODE_MAP) {
        const int64_t first = (int64_t)sg_node_number(seeds, "first", 1);
        push_range(out, first, first + (int64_t)sg_node_number(seeds, "count", 1) - 1, seeds);
        return;
    }
    for (const char *text = seeds->string; text && out->count <= MOST_SEEDS;) {
        const size_t length = strcspn(text, ",");
        int64_t first, last;
        if (!read_range(text, length, &first, &last)) {
            sg_note_wrong(c, row, seeds, "a list, as [1, 2], 1,2 or 1..10");
            return;
        }
        if (last - first >= MOST_SEEDS) {
            SG_PROBLEM(c, seeds, "%s must have 1 to %d entries, got %lld", sg_row_key(row), MOST_SEEDS,
                       (long long)(last - first + 1));
            return;
        }
        push_range(out, first, last, seeds);
        text = text[length] == ',' ? text + length + 1 : NULL;
    } /* the check of the list reports too many */
}

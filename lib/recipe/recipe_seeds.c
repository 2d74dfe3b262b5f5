/* recipe_seeds.c: turns the other ways to write seeds, {first: 1, count: 3}, 1..3, 1-3 and 1,2,3, into the list that
 * they mean, so that the cells are the same. */
#include <string.h>

#include "recipe_internal.h"
#include "sg_text.h"

enum { MOST_SEEDS = 1000 };

/* Appends first, first + 1, …, `count` of them, at the place of `at`. They are counted as whole numbers, because
 * doubles stand still from 2^53 on. */
static bool push_range(struct sg_node *out, double first, double count, const struct sg_node *at) {
    bool fine = true;
    for (int i = 0; fine && i < count && i <= MOST_SEEDS; i++) {
        char text[32];
        int length = snprintf(text, sizeof text, "%.0f", first + i);
        struct sg_node node = {.line = at->line, .column = at->column};
        fine = sg_node_set_plain(&node, text, (size_t)length) && sg_node_push(out, &node);
    }
    return fine;
}

/* "7", "1..10" or "1-10" [length], with blanks around the numbers. */
static bool read_range(const char *text, size_t length, int64_t *first, int64_t *last) {
    const int64_t most = (int64_t)1 << 53;
    char part[2][24];
    const char *dots = memmem(text, length, "..", 2), *dash = memchr(text, '-', length);
    const char *behind = dots != NULL ? dots + 2 : dash != NULL ? dash + 1 : text;
    dots = dots != NULL ? dots : dash;
    const char *from[] = {text, behind};
    const size_t size[] = {dots != NULL ? (size_t)(dots - text) : length,
                           dots != NULL ? length - (size_t)(from[1] - text) : length};
    for (size_t i = 0; i < 2; i++) {
        size_t skip = 0, n = size[i];
        while (skip < n && from[i][skip] == ' ')
            skip++;
        while (n > skip && from[i][n - 1] == ' ')
            n--;
        if (n - skip >= sizeof part[i])
            return false;
        memcpy(part[i], from[i] + skip, n - skip);
        part[i][n - skip] = '\0';
    }
    return sg_parse_integer(first, part[0], 0, most) && sg_parse_integer(last, part[1], 0, most) && *first <= *last;
}

bool sg_list_seeds(struct sg_check *c, const struct sg_schema_row *row, const struct sg_node *seeds,
                   const struct sg_node *at, struct sg_node *out) {
    *out = (struct sg_node){.kind = SG_NODE_LIST, .line = at->line, .column = at->column};
    if (seeds->kind == SG_NODE_MAP) {
        const double first = sg_node_number(seeds, "first", 0);
        return push_range(out, first, sg_node_number(seeds, "count", 0), at);
    }
    for (const char *text = seeds->string; text != NULL;) {
        const size_t length = strcspn(text, ",");
        int64_t first, last;
        if (!read_range(text, length, &first, &last)) {
            sg_note_wrong(c, row, at, "a list, as [1, 2], 1,2 or 1..10");
            return true;
        }
        if (last - first >= MOST_SEEDS) {
            sg_problem_at(c->problems, at->line, at->column, "%s must have 1 to %d entries, got %lld", sg_row_key(row),
                          MOST_SEEDS, (long long)(last - first + 1));
            return true;
        }
        if (!push_range(out, (double)first, (double)(last - first + 1), at))
            return false;
        if (out->count > MOST_SEEDS) /* the check of the list reports that */
            return true;
        text = text[length] == ',' ? text + length + 1 : NULL;
    }
    return true;
}

/* summary_order.c: sorts the rows of a table by one of its columns. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "plot_private.h"
#include "sg_text.h"

static sg_status find_order(size_t *out, const struct sg_summary *s, const char *sort, struct sg_error *err) {
    const char *known[SG_SUMMARY_COLUMNS + 1];
    char name[64], list[512] = "";
    size_t used = 0;
    sg_snake(name, sizeof name, sort);
    for (*out = 0; *out < s->n_metrics; ++*out) {
        known[*out] = s->metric[*out].name;
        if (strcmp(known[*out], name) == 0)
            return SG_OK;
        if (used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", *out ? ", " : "", known[*out]);
    }
    const char *near = sg_suggest(name, known, s->n_metrics);
    return sg_fail(err, SG_ERR_ARGUMENT, "--sort=%s: the table has no such column%s%s%s (it has %s)", sort,
                   near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "", list);
}

/* True if row `a` comes before `b`. A row without a value comes last. */
static bool is_before(const struct sg_summary *s, size_t m, const struct sg_summary_row *a,
                      const struct sg_summary_row *b) {
    const double x = a->mean[m], y = b->mean[m];
    return isnan(x) || isnan(y) ? !isnan(x) && isnan(y) : s->metric[m].higher ? x > y : x < y;
}

sg_status sg_summary_sort(struct sg_summary *s, const char *sort, struct sg_error *err) {
    size_t m = s->quality;
    if (!sort)
        return SG_OK;
    if (*sort) {
        sg_status status = find_order(&m, s, sort, err);
        if (status != SG_OK)
            return status;
    }
    if (m == s->n_metrics)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "--sort: no column of the table says how good a method is: name a column, as --sort=bits");
    for (size_t i = 1; i < s->n_rows; i++)
        for (size_t k = i; k > 0 && is_before(s, m, &s->row[k], &s->row[k - 1]); k--) {
            const struct sg_summary_row row = s->row[k];
            s->row[k] = s->row[k - 1];
            s->row[k - 1] = row;
        }
    return SG_OK;
}

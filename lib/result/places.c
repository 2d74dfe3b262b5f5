/* places.c: the places of methods in a ranking, which share one until a test parts them. */
/* SPDX-License-Identifier: MIT */
#include "sg_places.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "sg_memory.h"
#include "sg_stats.h"

/* The sign-flip test of how much a method costs more than another at the same seeds; scratch [seeds]. 1: it does not
 * cost more. Where a cost is infinite, the signs alone are tested. */
static double test_pair(const double *cost, const double *other, size_t seeds, double *scratch) {
    bool finite = true;
    double sum = 0;
    for (size_t s = 0; s < seeds; s++)
        finite = finite && isfinite(cost[s]) && isfinite(other[s]);
    for (size_t s = 0; s < seeds; s++) {
        scratch[s] = finite ? cost[s] - other[s] : (cost[s] > other[s]) - (cost[s] < other[s]);
        sum += scratch[s];
    }
    return sum > 0 ? sg_stats_sign_flip(scratch, seeds) : 1;
}

void sg_places(struct sg_standing *place, const double *cost, size_t methods, size_t seeds) {
    double *median = sg_malloc((methods + 1) * sizeof *median), *scratch = sg_malloc((seeds + 1) * sizeof *scratch);
    size_t *order = sg_malloc((methods + 1) * sizeof *order);
    for (size_t m = 0; m < methods; m++) {
        memcpy(scratch, cost + m * seeds, seeds * sizeof *scratch);
        median[m] = sg_stats_median(scratch, seeds);
        size_t at = m;
        for (; at > 0 && median[order[at - 1]] > median[m]; at--)
            order[at] = order[at - 1];
        order[at] = m;
    }
    for (size_t i = 0, first = 0; i < methods; i++) {
        struct sg_standing *p = &place[order[i]];
        *p = (struct sg_standing){.order = i + 1, .p = NAN};
        if (i > 0)
            p->p = fmin(test_pair(cost + order[i] * seeds, cost + order[first] * seeds, seeds, scratch),
                        test_pair(cost + order[i] * seeds, cost + order[i - 1] * seeds, seeds, scratch));
        first = p->p <= SG_PLACE_LEVEL ? i : first;
        p->first = first + 1;
        for (size_t k = first; k <= i; k++)
            place[order[k]].last = i + 1;
    }
    free(median);
    free(scratch);
    free(order);
}

const char *sg_places_text(char out[SG_PLACES_CHARS], size_t first, size_t last) {
    static const char *const ending[] = {"th", "st", "nd", "rd"};
    const size_t n[2] = {first, last};
    char text[2][24];
    for (size_t i = 0; i < 2; i++)
        snprintf(text[i], sizeof text[i], "%zu%s", n[i], ending[n[i] % 10 < 4 && n[i] / 10 % 10 != 1 ? n[i] % 10 : 0]);
    snprintf(out, SG_PLACES_CHARS, first == last ? "%s" : "%s to %s", text[0], text[1]);
    return out;
}

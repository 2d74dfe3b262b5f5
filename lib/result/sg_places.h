/* sg_places.h: the places of methods in a ranking: which of them the seeds can tell apart. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_PLACES_H
#define SG_PLACES_H

#include <stddef.h>

#include "sg_status.h"

/* The place of a method on one task, where it has one setting. Methods are in the order of their medians over the
 * seeds, and share a place until one of them costs more than the one above it, or than the first of the place, by the
 * sign-flip test, of pairs of the same seed, at this level. That one begins a new place. So two equal methods are
 * parted with probability SG_PLACE_LEVEL at most, and with fewer than SG_PLACE_SEEDS seeds no two methods are. */
#define SG_PLACE_LEVEL 0.05
enum { SG_PLACE_SEEDS = 6 };
struct sg_standing {
    size_t order;       /* from 1 */
    size_t first, last; /* the orders of those that share the place */
    double p; /* of the test against the first of the place before, or of its own; NaN = it is the first of all */
};

/* place [methods] <- the places by cost [methods][seeds], none NaN; equal medians are in the given order.
 */
void sg_places(struct sg_standing *place, const double *cost, size_t methods, size_t seeds);

/* "2nd to 5th", or "2nd" where the two are one. Returns out. */
enum { SG_PLACES_CHARS = 56 };
const char *sg_places_text(char out[SG_PLACES_CHARS], size_t first, size_t last);

#endif

/* sg_profile.h: methods compared over several tasks by what they pay: performance profiles, a score, ranks, and their
 * bootstrap intervals.
 *
 * A method has one or more settings on a task, and a setting has a cost at each seed: the smaller the better, +inf if
 * the setting does not reach the task's target. The cost of a setting is the median over the seeds, so it is infinite
 * if half of the seeds do not reach the target; the cost of a method is that of its cheapest setting. In AlgoPerf (Dahl
 * et al., arXiv 2306.07179; rules in DOCUMENTATION.md of mlcommons/algorithmic-efficiency) settings are drawn anew for
 * every study: its time is the median over the studies of the best trial of each, which is one setting here. Then
 *   ratio   r: the cost over the least cost of all methods on this task; +inf if the method does not reach the target
 *   profile rho(tau): the share of tasks on which r <= tau (Dolan and More, Mathematical Programming 91, 2002)
 *   score   the mean of rho over tau in [1, 4], which is AlgoPerf's integral with r_max = 4: 1 = the cheapest on all
 *   rank    of the cost among the methods on a task, from 1; equal costs have the mean of their ranks
 *   place   1 + the number of methods whose mean rank over the tasks is smaller: equal mean ranks share a place.
 *
 * The bootstrap draws as many tasks as there are, with replacement, and for each drawn task as many of its seeds, which
 * are the same for all methods; the methods stay. The costs, with the choice of the settings, are found anew of each
 * draw. The interval is that of sg_stats_interval. It is short of its nominal coverage where tasks are few:
 * results/DEFINITIONS.md says by how much in simulations. */
#ifndef SG_PROFILE_H
#define SG_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "sg_stats.h"
#include "sg_status.h"

enum { SG_PROFILE_MOST = 4 }; /* tau at which the score's integral ends */

struct sg_profile_task {
    size_t seeds;        /* >= 1 */
    const size_t *first; /* [methods + 1] method m has the settings first[m] .. first[m + 1] - 1, one or more */
    const double *cost;  /* [settings][seeds], none NaN */
};

/* A method on one task. */
struct sg_profile_cell {
    size_t setting; /* the cheapest one, the first of equal ones */
    double cost, ratio, rank;
};

struct sg_profile_method {
    size_t reached;                        /* number of tasks on which its cost is finite */
    struct sg_interval score, rank, place; /* rank: the mean over the tasks */
};

/* The cost of a method on a task whose seeds are seed [n], which may repeat; scratch [n]. *setting, if not NULL, is the
 * chosen one. */
double sg_profile_cost(size_t *setting, const struct sg_profile_task *task, size_t method, const size_t *seed, size_t n,
                       double *scratch);

/* rho(tau) of ratio [n], n >= 1. */
double sg_profile_share(const double *ratio, size_t n, double tau);

/* method [methods] and cell [methods][tasks] <- the comparison, the intervals from this number of draws of the stream
 * SG_RNG_BOOTSTRAP of `seed`. tasks, methods, draws >= 1. Costs are positive if ratios and scores are to mean
 * something; ranks need no sign. Time O(draws tasks methods (methods + seeds)). SG_ERR_MEMORY. */
SG_CHECKED sg_status sg_profile(struct sg_profile_method *method, struct sg_profile_cell *cell,
                                const struct sg_profile_task *task, size_t tasks, size_t methods, size_t draws,
                                uint64_t seed, struct sg_error *err);

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
 * SG_ERR_MEMORY. */
SG_CHECKED sg_status sg_profile_places(struct sg_standing *place, const double *cost, size_t methods, size_t seeds,
                                       struct sg_error *err);

/* "2nd to 5th", or "2nd" where the two are one: the interval of a place, rounded outwards. Returns out. */
enum { SG_PLACES_CHARS = 48 };
const char *sg_profile_places_text(char out[SG_PLACES_CHARS], const struct sg_interval *place);

#endif

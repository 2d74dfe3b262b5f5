/* threshold_budget.c: a threshold lambda that uses up a budget of entries over a run, from past steps only.
 *
 * The theory requires a constant lambda, so lambda changes only if the run would miss its budget. Let `over` be the
 * share of the steps done, `ahead` the used share of the budget minus `over`, and `miss` the share of the budget that
 * would be unused at the end with the present rate. Steering starts if |miss| > 0.005 + 0.1 (1 - over) and one of these
 * holds: the run is in its last 10 %; ahead > 0.6 r; ahead < -0.15 r, with r = sqrt(over) (1 - over); miss > 0.35. The
 * tolerance is larger above than below because runs send most entries early. Steering stops when |miss| is half of its
 * bound. The first 5 % of the run have a rule of their own (see `steers`). During steering lambda changes by a small
 * factor per step, because a large change would release all residuals just below lambda at once.
 *
 * A decrease of the learning rate gamma would release them too if lambda is compared with p / gamma. So when gamma is
 * divided by a factor, lambda is multiplied by it: p is then compared with the same number as before, and the rate is
 * assumed to decrease with gamma. When gamma increases, p / gamma decreases and lambda need not change.
 *
 * The first step sends nothing, because the sizes of gradients are known only after it. At each step a worker sends at
 * most its remaining share, so no burst exceeds the budget. At the last step each worker sends its largest entries, as
 * many as remain. If messages are `whole`, neither is possible, because the budget is not in entries. */
/* SPDX-License-Identifier: MIT */
#include "method_private.h"

#include <math.h>

static const double ABOVE = 0.6, BELOW = 0.15;       /* room, times sqrt(share over) (share left) */
static const double LEFT_OVER = 0.35;                /* of the budget that the present rate would not spend */
static const double CALIBRATION = 0.05, LAST = 0.1;  /* shares of the run */
static const double WINDOW = 0.03, LEAST_WINDOW = 4; /* of the moving average: share of the run, steps */

/* sum_squares is that of the largest gradient, because too high a lambda costs steps, too low a one the budget. */
void sg_threshold_budget_start(struct sg_threshold_budget *b, double all, uint64_t steps, double sum_squares) {
    /* A random walk with steps of variance s^2 leaves at lambda after (lambda / s)^2 steps. So |g|^2 / lambda^2 entries
     * leave at a step. */
    const double lambda = sqrt(sum_squares * (double)steps / all);
    b->lambda = lambda > 0 ? lambda : INFINITY;
    b->steering = 1;
}

double sg_threshold_budget_begin(struct sg_threshold_budget *b, double all, uint64_t steps, uint64_t step, double gamma,
                                 bool whole) {
    const double most = fmax(0, floor(all - b->sent + 1e-6)); /* rounding of the sum must not cost an entry */
    if (gamma < b->gamma) {
        b->lambda *= b->gamma / gamma;
        b->rate *= gamma / b->gamma;
    }
    b->gamma = gamma;
    if (most == 0)
        b->lambda = INFINITY;
    else if (step + 1 == steps && !whole)
        b->lambda = 0;
    return whole ? INFINITY : most;
}

/* Returns whether lambda must be steered after this step. over: the completed share of the run. miss: the share of the
 * budget that would be unused with the present rate; negative if the rate is too high. */
static bool steers(const struct sg_threshold_budget *b, double all, double over, double miss) {
    const double room = sqrt(over) * (1 - over), ahead = b->sent / all - over, near = 0.005 + 0.1 * (1 - over);
    if (over < CALIBRATION) /* lambda may send less later than it does now */
        return miss > 0 || ahead > ABOVE * room;
    if (b->steering > 0)
        return fabs(miss) > near / 2;
    return fabs(miss) > near && (over > 1 - LAST || ahead > ABOVE * room || ahead < -BELOW * room || miss > LEFT_OVER);
}

void sg_threshold_budget_learn(struct sg_threshold_budget *b, double all, uint64_t steps, uint64_t step,
                               double entries) {
    const double t = (double)step + 1, left = (double)steps - t, window = fmax(LEAST_WINDOW, WINDOW * (double)steps);
    const double rest = all - b->sent - entries;
    b->sent += entries;
    b->rate = isnan(b->rate) ? entries : b->rate + (entries - b->rate) / fmin(t, window);
    if (isinf(b->lambda) || left == 0 || !(rest > 0))
        return;
    b->steering = steers(b, all, t / (double)steps, (rest - b->rate * left) / all);
    if (b->steering > 0) {
        const double wrong = fmax(-1, fmin(1, log(fmax(b->rate, 1e-9) * left / rest)));
        b->lambda *= exp(wrong / fmax(LEAST_WINDOW, fmin(fmin(window, t), left / 4)));
    }
}

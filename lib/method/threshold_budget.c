/* threshold_budget.c: a lambda that spends a budget of entries over a run, without seeing the future.
 *
 * The theory wants lambda constant, so it is held as long as the spending is in order: as long as the share of the budget
 * that was sent is near the share of the run that is over, with more room above than below, because runs send most at their
 * beginning; or as long as what was sent and what the present rate makes of the rest come to the budget, nearly. Else it
 * is steered: moved a little at every step, against the difference between the present rate and the one that spends the
 * rest. A little, because the residuals just below lambda would all be sent at a jump.
 *
 * They would be at a jump of the learning rate gamma too, where lambda is compared with p / gamma: where it falls, lambda
 * rises as much, so that what p itself is compared with stays, and the rate is taken to fall with it. Where gamma rises
 * nothing is at stake: p / gamma falls.
 *
 * The first step sends nothing: only then the workers know how large gradients are. No step of a worker sends more than
 * what is left for each, so that no burst exceeds the budget; at the last step each sends its largest, as many as that. */
#include "method_private.h"

#include <math.h>

static const double ABOVE = 0.6, BELOW = 0.15;       /* room, times sqrt(share over) (share left) */
static const double LEFT_OVER = 0.35;                /* of the budget, at the present rate */
static const double CALIBRATION = 0.05, LAST = 0.1;  /* shares of the run */
static const double WINDOW = 0.03, LEAST_WINDOW = 4; /* of the moving average: share of the run, steps */

/* The workers' largest gradient: too high a lambda costs steps, too low a one the budget. */
void sg_threshold_budget_start(struct sg_threshold_budget *b, double all, uint64_t steps, double sum_squares) {
    /* A random walk with steps of variance s^2 leaves at lambda after (lambda / s)^2 steps: |g|^2 / lambda^2 entries a
     * step. */
    const double lambda = sqrt(sum_squares * (double)steps / all);
    b->lambda = lambda > 0 ? lambda : INFINITY;
    b->steering = 1;
}

double sg_threshold_budget_begin(struct sg_threshold_budget *b, double all, uint64_t steps, uint64_t step,
                                 double gamma) {
    const double most = fmax(0, floor(all - b->sent + 1e-6)); /* sums that are rounded must not cost an entry */
    if (gamma < b->gamma) {
        b->lambda *= b->gamma / gamma;
        b->rate *= gamma / b->gamma;
    }
    b->gamma = gamma;
    if (most == 0)
        b->lambda = INFINITY;
    else if (step + 1 == steps)
        b->lambda = 0;
    return most;
}

/* Is lambda to be steered, after what it was? over: share of the run; miss: of the budget that the present rate would leave
 * over, negative if it takes too much. */
static bool steers(const struct sg_threshold_budget *b, double all, double over, double miss) {
    const double room = sqrt(over) * (1 - over), ahead = b->sent / all - over, near = 0.005 + 0.1 * (1 - over);
    if (over < CALIBRATION) /* what is too much now may well not be at this lambda later */
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

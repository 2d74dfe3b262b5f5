/* threshold_budget.c: a lambda that spends a budget of entries over a run, without seeing the future.
 *
 * The theory asks for a constant lambda, so lambda changes only when the run would miss its budget. Let `over` be the share
 * of the steps done, `ahead` the share of the budget spent less `over`, and `miss` the share of the budget that the present
 * rate would leave unspent. Steering starts if |miss| > 0.005 + 0.1 (1 - over) and one of these holds: the last 10 % of the
 * run has begun; ahead > 0.6 r; ahead < -0.15 r, with r = sqrt(over) (1 - over); miss > 0.35. There is more room above than
 * below because runs send most at their beginning. Steering stops when |miss| is half of that bound. The first 5 % of the
 * run have a rule of their own (see `steers`). While it steers, lambda changes by a small factor a step, because a large
 * change would release all residuals just below lambda at once.
 *
 * A fall of the learning rate gamma would do the same where lambda is compared with p / gamma. So lambda is multiplied by
 * what gamma is divided by: p itself is then compared with the same number, and the rate is taken to fall with gamma. When
 * gamma rises, p / gamma falls and nothing need be done.
 *
 * The first step sends nothing, because only after it are the sizes of gradients known. No worker sends more at a step than
 * what is left for each, so no burst exceeds the budget. At the last step each worker sends its largest entries, as many as
 * are left. Where messages are `whole`, neither can be: the budget is in other units than entries. */
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

/* Must lambda be steered after this step? over: the share of the run that is done. miss: the share of the budget that
 * the present rate would leave; negative if it takes too much. */
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

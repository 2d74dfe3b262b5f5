/* train_drift.c: measures how far compression takes x from where the optimizer would have taken it.
 *
 * Beside the run's optimizer there is a second one, of the same kind and learning rate, which is given the mean of the
 * workers' gradients as they are. At every step it computes the step s' from the run's x; x takes the step s. Their
 * difference adds up to the drift D = sum of (s' - s), and x - D has taken the steps without compression, at the
 * gradients of this run. Under plain SGD with a constant learning rate D is gamma ē, the mean residual in the units of
 * x. Under other optimizers the residual says nothing of x: Adam divides what arrives late by its own size.
 * results/DEFINITIONS.md has the formulas of the columns. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train_state.h"

struct drift {
    struct {
        double steps, errors; /* sums over steps of |s'|^2 and of |s - s'|^2 */
    } total;
    float *state;            /* [floats of the optimizer] of the second optimizer */
    float *way;              /* [d] D */
    float *sum;              /* [d] the sum of the gradients, then s' */
    struct sg_update update; /* of this step */
    void *x;                 /* where the second optimizer puts its x, which nothing reads */
};

bool train_drifts(const struct train *t, const sg_method *method) {
    return train_recorded(t, SG_COLUMN_STEP_ERROR, SG_COLUMN_DRIFT_LAG) && !sg_method_is_local(method);
}

static size_t state_bytes(const struct train *t) {
    return t->of_x ? t->of_x->floats * sizeof(float) : 0;
}

size_t train_drift_room(const struct train *t) {
    return 2 * t->d * sizeof(float) + state_bytes(t) + sg_task_x_bytes(t->task);
}

size_t train_drift_parts(const struct train *t, struct part *out) {
    struct drift *d = t->drift;
    if (!d)
        return 0;
    out[0] = (struct part){&d->total, sizeof d->total};
    out[1] = (struct part){d->way, t->d * sizeof *d->way};
    out[2] = (struct part){d->state, state_bytes(t)};
    return 3;
}

sg_status train_drift_open(struct train *t, struct sg_error *err) {
    if (!train_drifts(t, t->method))
        return SG_OK;
    struct drift *d = t->drift = calloc(1, sizeof *d);
    bool whole = d != NULL;
    if (whole) {
        d->way = calloc(t->d + 1, sizeof *d->way);
        d->sum = calloc(t->d + 1, sizeof *d->sum);
        d->state = calloc(1, state_bytes(t) + 1);
        d->x = malloc(sg_task_x_bytes(t->task) + 1);
        whole = d->way && d->sum && d->state && d->x && train_keep_gradients(t);
    }
    return whole ? SG_OK : sg_fail_memory(err, "the columns of the drift");
}

void train_drift_close(struct train *t) {
    struct drift *d = t->drift;
    if (!d)
        return;
    free(d->way);
    free(d->sum);
    free(d->state);
    free(d->x);
    free(d);
    t->drift = NULL;
}

void train_drift_before(struct train *t) {
    struct drift *d = t->drift;
    if (!d)
        return;
    d->update = train_update_of(t, d->sum);
    d->update.state = d->state;
    d->update.x = memcpy(d->x, sg_task_x(t->task), sg_task_x_bytes(t->task));
}

/* sum [d] <- s', from the sum of the gradients, at the x before this step. */
static void step_without_compression(const struct train *t) {
    const struct drift *d = t->drift;
    if (!d->update.optimizer) /* messages carry gamma, gradients do not */
        for (size_t j = 0; j < t->d; j++)
            d->sum[j] *= (float)t->gamma;
    t->kernels->update(&t->exec, &d->update);
}

/* Compares s' with the step that x took, which the update left in the run's sum, and sets *lag. */
static void compare(struct train *t, double *lag) {
    struct drift *d = t->drift;
    const bool moved = sg_method_sends(t->method);
    double along = 0, square = 0, error = 0;
    for (size_t j = 0; j < t->d; j++) {
        const double step = (double)d->sum[j], behind = step - (moved ? (double)t->sum[j] : 0);
        along += (double)d->way[j] * step;
        square += step * step;
        error += behind * behind;
        d->way[j] += (float)behind;
    }
    *lag = square > 0 ? along / square : 0;
    d->total.steps += square;
    d->total.errors += error;
}

sg_status train_drift_record(struct train *t, double value[SG_COLUMNS], struct sg_error *err) {
    const struct drift *d = t->drift;
    if (!d) { /* of a worker's own parameters there is no drift */
        value[SG_COLUMN_DRIFT_NORM] = NAN;
        return SG_OK;
    }
    const sg_status status = train_add_gradients(t, d->sum, err);
    if (status != SG_OK)
        return status;
    step_without_compression(t);
    compare(t, &value[SG_COLUMN_DRIFT_LAG]);
    value[SG_COLUMN_STEP_ERROR] = d->total.steps > 0 ? d->total.errors / d->total.steps : NAN;
    if (train_records(t, t->step))
        value[SG_COLUMN_DRIFT_NORM] = t->kernels->sum_squares(&t->exec, d->way, t->d);
    return SG_OK;
}

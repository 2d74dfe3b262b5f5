/* theory_smoothness.c: L and f(x0) of a network, measured along a run on samples that stay the same. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sg_memory.h"
#include "theory_private.h"

/* mean [d] <- the mean of worker `worker`'s gradients over the steps of one epoch, which no training reaches. *loss +=
 * the mean of their losses. The worker's state is put back before every step. */
static sg_status epoch_gradient(double *mean, double *loss, float *g, char *state, const struct sg_task_ops *ops,
                                sg_task *task, size_t worker, struct sg_error *err) {
    const struct sg_task_info *info = sg_task_info(task);
    const uint64_t steps = info->steps_per_epoch, first = (SG_STEP_BEYOND / steps + 1) * steps;
    sg_status status = SG_OK;
    memset(mean, 0, info->d * sizeof *mean);
    ops->state_save(task, worker, state);
    for (uint64_t s = 0; s < steps && status == SG_OK; s++) {
        status = ops->gradient(task, worker, first + s, g, err);
        *loss += ops->batch_loss(task, worker) / (double)steps;
        ops->state_load(task, worker, state);
        for (size_t j = 0; j < info->d; j++)
            mean[j] += (double)g[j] / (double)steps;
    }
    return status;
}

static double distance(const double *a, const double *b, size_t d) {
    double sum = 0;
    for (size_t j = 0; j < d; j++)
        sum += (a[j] - b[j]) * (a[j] - b[j]);
    return sqrt(sum);
}

sg_status theory_smoothness_add(struct theory_smoothness *s, const struct sg_task_ops *ops, sg_task *task,
                                size_t workers, struct sg_error *err) {
    const size_t d = sg_task_info(task)->d;
    float *g = sg_malloc(d * sizeof *g);
    char *state = sg_malloc(ops->state_bytes(task) + 1);
    double *x = sg_malloc(d * sizeof *x), *mean = sg_malloc(d * sizeof *mean), loss = 0;
    if (!s->last)
        s->last = sg_malloc((workers + 1) * d * sizeof *s->last);
    sg_status status = SG_OK;
    for (size_t j = 0; j < d; j++)
        x[j] = (double)((const float *)sg_task_x(task))[j];
    const double moved = s->points > 0 ? distance(x, s->last + workers * d, d) : 0;
    for (size_t w = 0; w < workers && status == SG_OK; w++) {
        status = epoch_gradient(mean, &loss, g, state, ops, task, w, err);
        if (moved > 0)
            s->largest = fmax(s->largest, distance(mean, s->last + w * d, d) / moved);
        memcpy(s->last + w * d, mean, d * sizeof *mean);
    }
    if (status == SG_OK) {
        memcpy(s->last + workers * d, x, d * sizeof *x);
        s->first_loss = s->points++ == 0 ? loss / (double)workers : s->first_loss;
    }
    free(g);
    free(state);
    free(x);
    free(mean);
    return status;
}

void theory_smoothness_free(struct theory_smoothness *s) {
    free(s->last);
    *s = (struct theory_smoothness){0};
}

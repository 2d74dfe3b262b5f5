/* train_evaluate.c: which steps are recorded and evaluated, and the evaluation that all workers share. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "sg_memory.h"
#include "train_private.h"

bool train_evaluates(const struct train *t, uint64_t step) {
    if (!t->series.wants_evaluation)
        return false;
    if (isnan(t->plan.evaluate_epochs))
        return step % t->plan.every == 0 || step == t->plan.steps;
    const double period = t->plan.evaluate_epochs * (double)t->info->steps_per_epoch;
    if (!(period > 0) || step == 0)
        return false;
    return step == t->plan.steps || floor((double)step / period) > floor((double)(step - 1) / period);
}

bool train_records(const struct train *t, uint64_t step) {
    return step % t->plan.every == 0 || step == t->plan.steps || train_evaluates(t, step);
}

sg_status train_collect(struct train *t, const double *mine, size_t n, double *all, struct sg_error *err) {
    sg_status status = SG_OK;
    for (size_t w = 0; w < t->workers; w++) {
        const double *own = train_hosts(t, w) ? mine + (w - t->first) * n : NULL;
        SG_DO(status, sg_comm_collect(t->comm, w, own, all + w * n, n * sizeof *all, err));
    }
    return status;
}

/* Rank 0 alone adds up the shares, so sums over workers have one order. */
sg_status train_evaluate_shares(struct train *t, struct sg_error *err) {
    const size_t n = t->info->n_shares;
    double *mine = sg_malloc(t->count * n * sizeof *mine + 1), *all = sg_malloc(t->workers * n * sizeof *all + 1);
    sg_status status = t->task_ops->evaluate_shares(t->task, mine, err);
    status = sg_comm_agree(t->comm, status, err);
    SG_DO(status, train_collect(t, mine, n, all, err));
    if (status == SG_OK && t->lead)
        t->task_ops->conclude(t->task, all, t->series.evaluated + t->series.n_evaluated * t->task_kind->n_metrics);
    free(mine);
    free(all);
    return sg_comm_agree(t->comm, status, err);
}

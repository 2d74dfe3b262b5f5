/* train_participation.c: client sampling: at each step some of the workers take part, drawn without replacement.
 *
 * Those that take part are the clients of a round of federated averaging (McMahan et al., AISTATS 2017, Algorithm 1,
 * which draws max(C K, 1) of K clients). The others compute and send nothing, and their residuals and momenta do not
 * change, as in Fed-EF with partial participation (Li and Li, ICML 2023, arXiv 2211.14292; from the abstract). The mean
 * is over those that take part. A feedback rule whose receivers keep the estimates of all workers takes its mean over
 * all of them, as EF21-PP does (Fatkhullin et al., arXiv 2110.03294; from memory). The draw is a function of seed and
 * step, so a checkpoint has nothing of it and every rank makes the same. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sg_memory.h"
#include "sg_rng.h"
#include "train_private.h"

sg_status participation_choose(struct train *t, struct sg_error *err) {
    const struct sg_node *cell = &t->options->cell->resolved;
    const double workers = (double)t->workers, share = sg_node_number(cell, "participation", 1);
    t->present = (size_t)fmax(1, floor(share * workers + 0.5));
    t->config.sampled = t->present < t->workers;
    if (!t->config.sampled)
        return SG_OK;
    t->at = sg_node_get(cell, "participation");
    if (t->task_ops->in_sequence)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "participation: a gradient of task '%s' goes on from that of the step before, so every worker "
                       "takes part in every step",
                       t->task_ops->name);
    const struct recorded *of_gradients = train_recorded(t, SG_COLUMN_ERROR_LAG, SG_COLUMN_ERROR_CURVATURE);
    if (of_gradients)
        return sg_fail(err, SG_ERR_ARGUMENT, "participation: '%s' goes by the gradients of all workers",
                       of_gradients->metric->name);
    if (recording_path(t))
        return sg_fail(err, SG_ERR_ARGUMENT, "participation: a recording has vectors of every worker at every step");
    return SG_OK;
}

void participation_open(struct train *t) {
    t->absent = sg_calloc(t->workers, sizeof *t->absent);
    t->chosen = sg_calloc(t->present, sizeof *t->chosen);
}

void participation_draw(struct train *t) {
    if (!t->config.sampled)
        return;
    const uint64_t step = sg_method_next_send(t->method, t->step);
    sg_rng rng = sg_rng_open(t->options->cell->seed, SG_RNG_PARTICIPATE, SG_RNG_ALL_WORKERS, step);
    sg_rng_subset(&rng, t->chosen, t->present, t->workers);
    memset(t->absent, true, t->workers * sizeof *t->absent);
    for (size_t i = 0; i < t->present; i++)
        t->absent[t->chosen[i]] = false;
}

float participation_divisor(const struct train *t) {
    return (float)(t->config.feedback.rule->result ? t->workers : t->present);
}

/* theory_private.h: what the files of lib/theory share. */
/* SPDX-License-Identifier: MIT */
#ifndef THEORY_PRIVATE_H
#define THEORY_PRIVATE_H

#include "sg_recipe.h"
#include "sg_status.h"
#include "sg_theory.h"

/* ---- recipes and methods to which the theorems apply: Algorithm 1 on logistic regression or a network ---- */

/* Checks the keys that all methods share. SG_ERR_ARGUMENT: a key, named in the message, is not part of Algorithm 1. */
SG_CHECKED sg_status theory_recipe_check(const struct sg_cell *cell, struct sg_error *err);

/* Checks the method's keys. Returns NULL, or a static sentence that says why no theorem applies to the method. */
const char *theory_method_misfit(const struct sg_cell *cell);

/* ---- cells that are trained in this process ---- */

/* Trains the cell on the CPU, without a series; `visit` is called as by sg_train_run. *total_error <- that of the run,
 * NaN without a residual; the pointer may be NULL. */
SG_CHECKED sg_status theory_train(double *total_error, const struct sg_theory_options *how, const struct sg_cell *cell,
                                  sg_status (*visit)(void *arg, const struct sg_task_ops *ops, sg_task *task,
                                                     uint64_t step, uint64_t steps, struct sg_error *err),
                                  void *arg, struct sg_error *err);

/* *gamma <- the learning rate of the recipe, without optimizer.scale; param <- the parameters of the cell's compressor,
 * their presets where the cell does not give them. */
SG_CHECKED sg_status theory_parameters(double *gamma, double param[SG_METHOD_NUMBERS], const struct sg_cell *cell,
                                       const struct sg_task_info *info, struct sg_error *err);

/* ---- a network, whose L nobody knows ---- */

struct theory_smoothness {
    double largest;    /* of |grad f_i(x) - grad f_i(y)| / |x - y|, all workers i and neighbouring points x, y */
    double first_loss; /* mean loss at the first point */
    size_t points;
    double *last; /* [workers + 1][d] the gradients at the last point, and that point */
};

/* Adds the task's current x as a point. f_i is the mean loss of worker i over the batches of an epoch that is the same
 * for all points. x and the workers' state do not change. */
SG_CHECKED sg_status theory_smoothness_add(struct theory_smoothness *s, const struct sg_task_ops *ops, sg_task *task,
                                           size_t workers, struct sg_error *err);
void theory_smoothness_free(struct theory_smoothness *s); /* zeroes it */

#endif

/* task_evaluate_workers.h: lets the workers of a rank evaluate at the same time; private to lib/task. */
#ifndef TASK_EVALUATE_WORKERS_H
#define TASK_EVALUATE_WORKERS_H

#include "sg_task.h"

/* Computes what one worker contributes to an evaluation; it runs on its own thread beside other workers'. */
typedef sg_status task_share(sg_task *t, size_t worker, double *share, struct sg_error *err);

/* share [count][n_shares] of workers first … first + count - 1; the error is that of one of those that failed. */
SG_CHECKED sg_status task_evaluate_workers(sg_task *t, task_share *part, size_t first, size_t count, size_t n_shares,
                                           int threads, double *share, struct sg_error *err);

#endif

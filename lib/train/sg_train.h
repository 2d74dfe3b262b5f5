/* sg_train.h: the EF-SGD loop (paper, Algorithm 1) of one method and one seed.
 *
 * step t = 0..T-1:  for each worker i of this rank: g_i, then message and residual (sg_method.h);
 *                   exchange and sum in worker order; mean; optimizer; metrics.
 * Every number a run reports is a function of the resolved recipe, the data and the program: ranks, threads and
 * interruptions do not change a bit. */
#ifndef SG_TRAIN_H
#define SG_TRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sg_comm.h"
#include "sg_recipe.h"
#include "sg_status.h"
#include "sg_task.h"

struct sg_train_check_options {
    const struct sg_recipe *recipe; /* of the cells, for places */
    const char *data_dir;
    int threads;                                                   /* 0 = cores of this host */
    void (*progress)(const char *what, double done, double total); /* may be NULL */
    /* A mistake, each once: "path:line:column: what (which methods, unless all)". */
    void (*problem)(void *arg, const char *text);
    void *arg;
};

/* What only the data can refute, before anything is run: every cell's task is opened, on the CPU and by this process
 * alone, and the cell's steps, feedback, compressor, message and optimizer are held against it. Cells that differ in
 * their seed only are looked at once. Tasks that several cells share are opened once and leave their caches (data,
 * optimum), which runs then find. SG_ERR_ARGUMENT if there were problems. */
SG_CHECKED sg_status sg_train_check(const struct sg_cell *cells, size_t count,
                                    const struct sg_train_check_options *options, struct sg_error *err);

/* *out: is there a checkpoint from which this cell would go on, of this version of the program and of these data (as a
 * result's header names them; NULL = any)? Only its beginning is read: it may yet turn out damaged. */
SG_CHECKED sg_status sg_train_resumable(bool *out, const char *checkpoint, const struct sg_cell *cell,
                                        const cJSON *dataset, struct sg_error *err);

/* Does this file begin as a checkpoint of any run does? */
bool sg_train_is_checkpoint(const char *path);

struct sg_train_options {
    const struct sg_recipe *recipe; /* for the header */
    const struct sg_cell *cell;
    const char *data_dir;
    const char *device;
    int threads;               /* 0 = cores of this host / ranks on it */
    FILE *series;              /* rank 0: NDJSON goes here; NULL elsewhere */
    const char *checkpoint;    /* path, or NULL = none */
    uint64_t checkpoint_every; /* steps; 0 = once a minute. Always when stopped by a signal */
    const char *record_inputs; /* path of a recording of what the compressors are given, or NULL = none */
    bool resume;               /* continue from `checkpoint`; the series is cut back to where it stood */
    /* Called before each step, and once more after the last, with the task at x_step; not under several ranks. It may call
     * whatever leaves x and the workers' state as they were. Not SG_OK ends the run; may be NULL. */
    sg_status (*visit)(void *arg, const struct sg_task_ops *ops, sg_task *task, uint64_t step, uint64_t steps,
                       struct sg_error *err);
    void *visit_arg;
    int (*stop)(void); /* pending signal number or 0, asked each step */
    /* rank 0, cheap to be called each step: what is "loading", "solving for x*", "" while stepping; may be NULL */
    void (*progress)(const char *what, double done, double total);
    void (*notice)(const char *message); /* rank 0: something the user should know; may be NULL */
};

struct sg_train_report {
    char status[16]; /* "ok", "diverged", "interrupted", "failed" */
    uint64_t steps;
    double elapsed_s; /* stepping and recording, without set-up */
    double setup_s;
    double budget, sent; /* entries a worker: of the whole run, NaN = there is no budget; in all steps so far */
};

/* Collective over comm. SG_ERR_NONFINITE (diverged) and SG_ERR_INTERRUPTED leave a complete series up to there. */
SG_CHECKED sg_status sg_train_run(struct sg_train_report *report, sg_comm *comm, const struct sg_train_options *options,
                                  struct sg_error *err);

#endif

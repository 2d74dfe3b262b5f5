/* sg_train.h: trains one method at one seed with error feedback (paper, Algorithm 1).
 *
 * Step t = 0 .. T-1: for each worker i of this rank its gradient g_i, its message and its residual (sg_method.h);
 * exchange and sum in worker order; mean; optimizer; what is recorded. Every number that a run reports is a function of
 * the resolved recipe, the data and the program. Ranks, threads and interruptions do not change a bit. */
/* SPDX-License-Identifier: MIT */
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
#include "sg_train_memory.h"

struct sg_train_check_options {
    const struct sg_recipe *recipe; /* of the cells; it gives the position of a mistake */
    const char *data_dir, *device;  /* device: of the runs to come, which is not opened; NULL = "cpu" */
    int threads;                    /* 0 = the cores of this host */
    void (*progress)(const char *what, double done, double total); /* may be NULL */
    bool facts_only; /* solve for nothing, and read no file whole for its identity */
    /* How many cells run at once on this host; the check fails with SG_ERR_MEMORY if they do not fit. 0 = any. */
    size_t at_once;
    void (*notice)(const char *message); /* called with what the run of a cell would tell its user; may be NULL */
    /* Called with the estimate of each cell that is checked; may be NULL. */
    void (*memory)(void *arg, const struct sg_cell *cell, const struct sg_train_memory *memory);
    /* Called once per mistake with "path:line:column: what (which methods, unless all)". */
    void (*problem)(void *arg, const char *text);
    void *arg;
};

/* Finds the mistakes that only the data reveal, before anything runs. It opens the task of every cell, on the CPU and
 * in this process alone, and checks the cell's steps, feedback, compressor, message and optimizer against it. Of cells
 * that differ only in their seed, one is checked. A task that several cells share is opened once, and the runs use the
 * caches (data, optimum) that it wrote. SG_ERR_ARGUMENT: there were mistakes. */
SG_CHECKED sg_status sg_train_check(const struct sg_cell *cells, size_t count,
                                    const struct sg_train_check_options *options, struct sg_error *err);

/* *out <- whether this cell can resume from the checkpoint: this version of the program wrote it with these data (the
 * "dataset" of a result's header; NULL = any). Only the beginning is read, so the rest may be damaged. */
SG_CHECKED sg_status sg_train_resumable(bool *out, const char *checkpoint, const struct sg_cell *cell,
                                        const cJSON *dataset, struct sg_error *err);

struct sg_train_options {
    const struct sg_recipe *recipe; /* the header of the series names it */
    const struct sg_cell *cell;
    const char *data_dir;
    const char *device;
    int threads;            /* 0 = the cores of this host, shared by its ranks */
    FILE *series;           /* rank 0: the lines of JSON go here; NULL on other ranks */
    const char *checkpoint; /* its path; NULL = none is written */
    uint64_t
        checkpoint_every; /* steps between checkpoints; 0 = one a minute. A run that a signal stops always writes one */
    /* Path for a recording of what the compressors are given, or of the gradients; NULL = none. Not both. */
    const char *record_inputs, *record_gradients;
    const char *k_from; /* the series of the cell from which this one copies k (`k-from`); NULL = it copies none */
    bool resume;        /* continue from `checkpoint`; the series is cut back to the length it had then */
    /* Called before each step and once after the last, with the task at x_step; not supported with several ranks. It
     * must leave x and the workers' state unchanged. A status other than SG_OK ends the run. May be NULL. */
    sg_status (*visit)(void *arg, const struct sg_task_ops *ops, sg_task *task, uint64_t step, uint64_t steps,
                       struct sg_error *err);
    void *visit_arg;
    bool any_memory;   /* run even if this host seems to have too little memory */
    bool total_error;  /* the report has it even if the recipe does not record it */
    int (*stop)(void); /* called at each step; returns the number of a caught signal, or 0 */
    /* The time limit on the clock of sg_clock_s; 0 = none. The run stops before a step that would end, with its
     * checkpoint, after the limit, but not before its first step. */
    double stop_at_s;
    /* Called on rank 0 at each step, so it must be cheap. what: "loading", "solving for x*", "" during the steps; may
     * be NULL. */

    void (*progress)(const char *what, double done, double total);
    /* Called on rank 0 of a run on a CPU, before its first step, with the estimate of its memory; may be NULL. */
    void (*memory)(const struct sg_train_memory *memory);
    void (*notice)(const char *message); /* called on rank 0 with a message for the user; may be NULL */
};

struct sg_train_report {
    char status[16]; /* "ok", "diverged", "interrupted", "failed" */
    int signal;      /* the number of the signal that stopped the run, whichever rank got it; 0 = none did */
    uint64_t steps;
    double elapsed_s; /* of steps and records, without set-up */
    double setup_s;
    /* Entries of a worker. budget: of the whole run; NaN = there is no budget. sent: in all steps so far. */
    double budget, sent;
    double total_error; /* the column of this name after the last step; NaN = not measured, or there is no residual */
};

/* Runs the cell; collective over comm. With SG_ERR_NONFINITE (the run diverged) and SG_ERR_INTERRUPTED (a signal or the
 * time limit stopped it) the series is complete up to that step. */
SG_CHECKED sg_status sg_train_run(struct sg_train_report *report, sg_comm *comm, const struct sg_train_options *options,
                                  struct sg_error *err);

#endif

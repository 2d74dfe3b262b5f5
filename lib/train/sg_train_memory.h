/* sg_train_memory.h: how much memory a run takes, known before its first step, and whether the host has it.
 *
 * An estimate for runs on a CPU, by sg_train_run and sg_train_check (sg_train.h). It counts what a rank has when its
 * task is open, the vectors of its workers, and what gradients and evaluations take meanwhile. tests/cli/memory.bats
 * holds it against the peaks of runs. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_TRAIN_MEMORY_H
#define SG_TRAIN_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "sg_status.h"

struct sg_train_memory {
    double present;    /* bytes that the process has already: program, libraries, data, parameters */
    size_t d, workers; /* parameters; workers of the rank that has most of them */
    double each;       /* bytes of one worker */
    double added;      /* all that the run adds to a rank */
    size_t ranks;      /* ranks on this host, which share what it has left */
    double left;       /* bytes that the host has left, for all of them; INFINITY = it does not tell */
};

/* One line: what a rank takes, and what each worker takes in vectors of d floats. The caller frees it. */
char *sg_train_memory_line(const struct sg_train_memory *m);
/* SG_ERR_MEMORY, with what would fit in its place, if `copies` such runs at once need more than the host has left. */
SG_CHECKED sg_status sg_train_memory_fits(const struct sg_train_memory *m, size_t copies, struct sg_error *err);

#endif

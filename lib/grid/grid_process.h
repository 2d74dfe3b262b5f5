/* grid_process.h: one child process, as the grid runs it. Private to lib/grid.
 *
 * The child reads nothing, reports progress as lines "done total" on its standard output (which launchers such as
 * mpirun and srun forward, unlike other descriptors) and complains on its standard error, of which the end is kept. It
 * leads a process group of its own, so that ^C in the terminal reaches it once, through the grid, and it gets SIGTERM
 * when the grid dies. */
/* SPDX-License-Identifier: MIT */
#ifndef GRID_PROCESS_H
#define GRID_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "sg_status.h"

enum { SG_TAIL_BYTES = 2048, SG_TAIL_LINES = 10 };

struct sg_process {
    pid_t pid;            /* 0 = none */
    int progress, errors; /* read ends of pipes, non-blocking; -1 once they ended */
    double done;          /* share of the work reported so far, 0..1 */
    char line[64];        /* of `progress`, incomplete */
    size_t line_length;
    char tail[SG_TAIL_BYTES + 1]; /* of `errors` */
    size_t tail_length;
    bool tail_cut;   /* was something before it dropped? */
    int wait_status; /* valid once sg_process_ended */
    double asked_s;  /* when it was asked to stop; 0 = it was not */
};

/* Starts argv[0], looked up in PATH. If the program cannot be run, the child says so and exits with 127. */
SG_CHECKED sg_status sg_process_start(struct sg_process *p, char *const argv[], struct sg_error *err);

/* Waits until one of the children in p [n] has written something, has ended or a signal came, but at most a tenth of a
 * second. Then it takes what they have written. */
void sg_process_wait(struct sg_process *p, size_t n);

/* Asks the child to stop by this signal, its group with it if `group`. A stopped process is continued, because it acts
 * on a signal only then. A child that is still there SG_PATIENCE_S later is killed with its group. */
enum { SG_PATIENCE_S = 120 };
void sg_process_stop(struct sg_process *p, int signal_number, bool group);

/* Reaps the child if it ended: returns true once, when everything it wrote is read and its pipes are closed. Never
 * waits. */
bool sg_process_ended(struct sg_process *p);

/* Its last lines on standard error; "" if none. */
const char *sg_process_last_words(struct sg_process *p);

#endif

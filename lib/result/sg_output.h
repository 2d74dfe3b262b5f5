/* sg_output.h: the files that one run of sparsetrain writes.
 *
 * FILE appears when the run is over. Until then its series is FILE.part, which one process at a time holds, and its
 * checkpoint is FILE.ckpt. Without FILE the result goes to standard output, and nothing can be resumed. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_OUTPUT_H
#define SG_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "sg_result.h"
#include "sg_status.h"

enum sg_output_format { SG_OUTPUT_SERIES, SG_OUTPUT_JSON, SG_OUTPUT_TABLE };

struct sg_output_options {
    enum sg_output_format format;
    const char *path;            /* the result; NULL = write to `standard` */
    FILE *standard;              /* stdout */
    const char *checkpoint;      /* NULL = PATH.ckpt */
    const char *recording;       /* where the run writes a recording too, or NULL */
    struct sg_run_wanted wanted; /* describes a finished run that --resume keeps; `identify` gives its dataset */
    /* *dataset <- what the run would read now; NULL = it is missing. `identify` NULL = any data match. */
    sg_status (*identify)(cJSON **dataset, const void *identify_arg, struct sg_error *err);
    const void *identify_arg;
    bool resume, force;
    int columns; /* width of a table */
};

struct sg_output {
    struct sg_output_options options; /* path and recording are those of this struct */
    char *path, *recording;           /* what their names in the options lead to, if they are symbolic links */
    bool device;                      /* the path is a device, which is written directly */
    char *part, *checkpoint;          /* both NULL if the result goes to standard output or a device */
    FILE *series;                     /* where the run writes its series; NULL until sg_output_open */
};

/* Finds the names of all files and checks them, on every rank. `o` is zeros before; sg_output_close may follow a
 * failure too. SG_ERR_ARGUMENT: a file exists and may not be replaced, a name cannot be used, or two files would have
 * the same name. */
SG_CHECKED sg_status sg_output_plan(struct sg_output *o, const struct sg_output_options *options, struct sg_error *err);

/* For --resume, on rank 0: *finished <- whether the run has already ended; its result then exists, and its other files
 * are removed. SG_ERR_ARGUMENT: the path holds another run's result and `force` is not set. SG_ERR_NONFINITE: the
 * finished run had diverged. */
SG_CHECKED sg_status sg_output_look(bool *finished, struct sg_output *o, struct sg_error *err);

/* Opens o->series at its beginning, on rank 0. The series of an earlier run is kept with `resume` and overwritten with
 * `force`; with neither, SG_ERR_ARGUMENT if that run could be resumed. SG_ERR_IO: another process writes it. */
SG_CHECKED sg_status sg_output_open(struct sg_output *o, struct sg_error *err);

/* Called on rank 0 when the run is over: turns the series into the asked-for format and removes the checkpoint. */
SG_CHECKED sg_status sg_output_finish(struct sg_output *o, struct sg_error *err);

/* Frees everything. An empty FILE.part is removed; one with contents stays, for a later --resume. */
void sg_output_close(struct sg_output *o);

/* Prints a run as an aligned table of some twenty rows, evenly spread from the first to the last, with six digits a
 * number. Columns that do not fit into `columns` characters are left out, and a line names them. Lines that begin with
 * '#' are no data. */
void sg_run_print(FILE *out, const struct sg_run *run, int columns);

#endif

/* sg_output.h: the files of one run while it is written.
 *
 * FILE appears when the run is over. Until then its series is FILE.part, which one process at a time holds, and its
 * checkpoint is FILE.ckpt. Without FILE the result goes to standard output and nothing can be resumed. */
#ifndef SG_OUTPUT_H
#define SG_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "sg_result.h"
#include "sg_status.h"

enum sg_output_format { SG_OUTPUT_SERIES, SG_OUTPUT_JSON, SG_OUTPUT_TABLE };

struct sg_output_options {
    enum sg_output_format format;
    const char *path;       /* NULL = `standard` */
    FILE *standard;         /* stdout */
    const char *checkpoint; /* NULL = PATH.ckpt */
    const char *recording;  /* PATH of a recording that the run writes too, or NULL */
    const char *cell_key;
    const char *identity; /* of this program */
    /* May a finished run be left as it is? Asked with check_arg; NULL = yes. */
    sg_status (*check)(const void *check_arg, const struct sg_run *run, struct sg_error *err);
    const void *check_arg;
    bool resume, force;
    int columns; /* width of a table */
};

struct sg_output {
    struct sg_output_options options;
    bool device;             /* PATH is one: it is written straight */
    char *part, *checkpoint; /* NULL = straight to standard output or the device */
    FILE *series;            /* where the run writes; NULL until opened */
};

/* Check names and files as far as every rank can, and find the names of the others. `o` is zeros before, and can be
 * closed after a failure too. SG_ERR_ARGUMENT: a file is there that is not to be replaced, a name is of no use, or two
 * files would have the same name. */
SG_CHECKED sg_status sg_output_plan(struct sg_output *o, const struct sg_output_options *options, struct sg_error *err);

/* *finished: what is to be resumed is over, PATH is its result, and the files beside it are gone. SG_ERR_ARGUMENT: PATH
 * is another run's and not to be replaced unasked. SG_ERR_NONFINITE: over, and diverged. Rank 0. */
SG_CHECKED sg_status sg_output_look(bool *finished, struct sg_output *o, struct sg_error *err);

/* Open o->series, at its begin. What an earlier run left is kept if it is to be resumed, and refused (SG_ERR_ARGUMENT) if
 * it could be resumed and neither that nor `force` is asked for. SG_ERR_IO: another process writes it. Rank 0. */
SG_CHECKED sg_status sg_output_open(struct sg_output *o, struct sg_error *err);

/* The run is over: turn the series into what was asked for, and remove the checkpoint. Rank 0. */
SG_CHECKED sg_status sg_output_finish(struct sg_output *o, struct sg_error *err);

/* Free everything; a part that holds nothing is removed, another stays for a later run. */
void sg_output_close(struct sg_output *o);

/* A run as an aligned table of some twenty rows, evenly spread, the first and the last among them, in numbers of six
 * digits: the columns that fit into `columns` characters, and a last line that says what is not shown. Lines that begin
 * with '#' are no data. */
void sg_run_print(FILE *out, const struct sg_run *run, int columns);

#endif

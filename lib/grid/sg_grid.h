/* sg_grid.h: the experiment engine behind sparsebench: cells as processes, aggregates over seeds, claims.
 *
 * A finished cell lives in FOLDER/<label>-seed<S>-<key prefix>.ndjson and is reused when its header's cell key and program
 * identity match. Nothing finished is ever lost: cells are written by sparsetrain whole or not at all. */
#ifndef SG_GRID_H
#define SG_GRID_H

#include <stdbool.h>
#include <stddef.h>

#include "sg_recipe.h"
#include "sg_result.h"
#include "sg_status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum sg_cell_state { SG_CELL_WAITING, SG_CELL_RUNNING, SG_CELL_DONE, SG_CELL_REUSED, SG_CELL_DIVERGED, SG_CELL_FAILED };

struct sg_cell_outcome {
    enum sg_cell_state state;
    char *path;     /* series file */
    char *message;  /* why it failed or diverged, or NULL */
    double elapsed_s, done; /* done: share finished, 0..1, from the child's progress */
    struct sg_run run; /* read back when DONE, REUSED or DIVERGED */
};

struct sg_grid_options {
    const char *recipe_path;   /* handed to sparsetrain; a recipe from stdin is saved in `folder` first */
    const char *const *set;    /* --set values, handed on */
    size_t n_set;
    const char *program;       /* path of sparsetrain */
    const char *launcher;      /* "mpirun -n 4" or NULL; split at blanks */
    const char *folder;        /* cells go here */
    const char *data_dir, *device;
    const char *identity;      /* sg_version_identity() */
    int jobs, threads;         /* processes at once; threads each, 0 = cores / jobs */
    bool fresh;                /* run every cell again */
    int (*stop)(void);
    void (*changed)(void *arg, const struct sg_cell *cells, const struct sg_cell_outcome *outcomes, size_t count);
    void *arg;
};

/* Run what is not there yet. outcomes [count] is caller-allocated and zeroed; SG_OK even if cells failed (see states);
 * SG_ERR_INTERRUPTED after a signal, children stopped with their checkpoints written. */
SG_CHECKED sg_status sg_grid_run(struct sg_cell_outcome *outcomes, const struct sg_cell *cells, size_t count,
                                 const struct sg_grid_options *options, struct sg_error *err);
void sg_grid_outcomes_free(struct sg_cell_outcome *outcomes, size_t count);

/* "results": one object per label with seeds, cells, series {column: {"mean":[…],"std":[…]}} and final
 * {column: {"mean","std","values":[…]}}. NULL = no memory. */
cJSON *sg_grid_results(const struct sg_cell *cells, const struct sg_cell_outcome *outcomes, size_t count);

/* "claims": each with text, verdict ("holds": at every seed, "fails": at none, else "undecided", also when a cell is
 * missing), and per seed the value, the bound and their ratio. NULL = no memory. */
cJSON *sg_grid_claims(const struct sg_recipe *recipe, const struct sg_cell *cells, const struct sg_cell_outcome *outcomes,
                      size_t count);

#ifdef __cplusplus
}
#endif
#endif

/* sg_grid.h: the experiment engine behind sparsebench: cells as processes, aggregates over seeds, claims.
 *
 * A finished cell lives in FOLDER/<label>-seed<S>-<key prefix>.ndjson and is reused, whatever the label it was run
 * under, when its header's cell key, program identity and data match: the data are those that a run would read now. Where
 * these are not here at all, finished cells are taken as they are. Nothing finished is ever lost: cells are written by
 * sparsetrain whole or not at all. Nothing here prints but the view (sg_grid_view.h). */
#ifndef SG_GRID_H
#define SG_GRID_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "sg_options.h"
#include "sg_recipe.h"
#include "sg_result.h"
#include "sg_status.h"

enum sg_cell_state {
    SG_CELL_WAITING, /* not run yet, or stopped by a signal with its checkpoint written (message "interrupted") */
    SG_CELL_RUNNING,
    SG_CELL_DONE,     /* run now */
    SG_CELL_REUSED,   /* finished before: its end record says "ok" or "diverged" */
    SG_CELL_DIVERGED, /* run now; the series ends where it diverged */
    SG_CELL_FAILED    /* no series */
};

/* Why a finished series with the key of a cell is not reused. */
enum sg_cell_stale {
    SG_STALE_NOT,
    SG_STALE_VERSION, /* another version of the program made it */
    SG_STALE_DATA     /* it was made from other data than would be read now */
};

struct sg_cell_outcome {
    enum sg_cell_state state;
    enum sg_cell_stale stale; /* WAITING: there is one, or several of which this is the last looked at */
    char *stale_of;           /* its program's identity, or its data: "own.libsvm, SHA-256 0123456789ab"; else NULL */
    bool resumable;           /* WAITING: a stopped run would go on from its checkpoint */
    bool unchecked;           /* REUSED: its data are not here, so they could not be compared */
    char *path;               /* series file */
    char *message; /* FAILED: the reason and the last lines of its standard error. DIVERGED: why. DONE: its last lines
                    * of standard error. Else NULL */
    double elapsed_s;  /* of the process started now */
    double done;       /* share finished, 0..1, from the child's progress */
    struct sg_run run; /* read back when DONE, REUSED or DIVERGED */
};

struct sg_grid_options {
    const char *recipe_path; /* handed to sparsetrain; a recipe from stdin is saved in `folder` first */
    const char *const *set;  /* --set values, handed on */
    size_t n_set;
    const char *program;           /* path of sparsetrain */
    const char *launcher;          /* "mpirun -n 4" or NULL; split at blanks */
    const char *folder;            /* cells go here; made if missing */
    const char *data_dir, *device; /* handed on; NULL = left to sparsetrain */
    const char *identity;          /* sg_version_identity() of the recipe's task */
    bool any_version;              /* reuse finished cells whatever version of the program made them */
    int jobs;                      /* processes at once; 0 = cores / threads, 1 under a launcher */
    int threads;                   /* each; 0 = cores / jobs, left to sparsetrain under a launcher */
    bool fresh;                    /* run every cell again, from step 0 */
    int (*stop)(void);             /* pending signal number or 0; asked 10 times a second */
    /* After every change and 10 times a second while cells run; may be NULL. */
    void (*changed)(void *arg, const struct sg_cell *cells, const struct sg_cell_outcome *outcomes, size_t count);
    void *arg;
};

/* A program that starts processes of its own is not for a launcher to start several times over: SG_ERR_ARGUMENT says to
 * use --launcher. *speaker: this process is the one to say so; the others are to end quietly and well, as a launcher kills
 * all when one fails, maybe before the message is out. */
SG_CHECKED sg_status sg_grid_alone(bool *speaker, struct sg_error *err);

/* Path of sparsetrain beside the running program, or `instead` where it is not NULL; SG_ERR_MISSING if it cannot be run. */
SG_CHECKED sg_status sg_grid_program(char out[PATH_MAX], const char *instead, struct sg_error *err);

/* The folder of a recipe's cells where none is given: results/local/NAME/cells. */
void sg_grid_default_folder(char out[PATH_MAX], const struct sg_recipe *recipe);

/* sparsetrain cannot read a standard input that was read before: a copy in `folder` for it, named by content. */
SG_CHECKED sg_status sg_grid_save_recipe(char path[PATH_MAX], const struct sg_recipe *recipe, const char *folder,
                                         struct sg_error *err);

/* Move the cells of these methods (labels of cells, or names that stand for all of a method's) and seeds to the front, in
 * their order; none named, or NULL = all. SG_ERR_ARGUMENT, with a suggestion, for a method or seed that no cell has. */
SG_CHECKED sg_status sg_grid_choose(size_t *chosen, struct sg_cell *cells, size_t count,
                                    const struct sg_option_list *methods, const struct sg_option_list *seeds,
                                    struct sg_error *err);

/* Take the lock of a folder, which is held until the descriptor *out is closed; SG_ERR_IO where another holds it. It also
 * proves that the folder can be written to and that its disk is not full. */
SG_CHECKED sg_status sg_grid_lock(int *out, const char *folder, struct sg_error *err);

/* What is finished already: path, and state REUSED with the series; and what there is of the others (stale, resumable).
 * Touches no cell. outcomes [count] is caller-allocated and zeroed. All cells read the same data, as those of one recipe
 * do. The errors of the data are those of sg_dataset_identify, but that they are missing is none. */
SG_CHECKED sg_status sg_grid_look(struct sg_cell_outcome *outcomes, const struct sg_cell *cells, size_t count,
                                  const struct sg_grid_options *options, struct sg_error *err);

/* SG_ERR_MISMATCH, naming two, where finished cells were made from different data: their means would mean nothing. */
SG_CHECKED sg_status sg_grid_same_data(const struct sg_cell *cells, const struct sg_cell_outcome *outcomes,
                                       size_t count, struct sg_error *err);

/* Run `program` once with --check, without the launcher: the cells of the methods that these are of are held against
 * their data, which leaves the caches that cells share. `changed` is called as while cells run, with outcomes [count] as they
 * are. SG_ERR_ARGUMENT with what is wrong, each mistake once; SG_ERR_INTERRUPTED after a signal. */
SG_CHECKED sg_status sg_grid_check(const struct sg_cell_outcome *outcomes, const struct sg_cell *cells, size_t count,
                                   const struct sg_grid_options *options, struct sg_error *err);

/* Look, check if anything is missing, then run what is not there yet; jobs and threads are filled in. One grid at a time
 * works in a folder. SG_OK even if cells failed (see states); SG_ERR_MISMATCH as sg_grid_same_data; SG_ERR_INTERRUPTED
 * after a signal: children stopped with their checkpoints written. */
SG_CHECKED sg_status sg_grid_run(struct sg_cell_outcome *outcomes, const struct sg_cell *cells, size_t count,
                                 struct sg_grid_options *options, struct sg_error *err);
void sg_grid_outcomes_free(struct sg_cell_outcome *outcomes, size_t count);

/* "reuse", "resume" or "run": what would be done with a cell that was looked at. */
const char *sg_grid_action(const struct sg_cell_outcome *outcome);

/* The identities of the programs that made the finished cells, each once; NULL = no memory. */
cJSON *sg_grid_identities(const struct sg_cell_outcome *outcomes, size_t count);

/* "ok", "diverged", "failed", "interrupted" or "not_run". */
const char *sg_grid_status(const struct sg_cell_outcome *outcome);

/* State as text for a terminal of this width: a line per running cell (at most `rows`) and a line of totals, each
 * ending in a newline. elapsed_s: since the grid started, for the time left. NULL = no memory. */
char *sg_grid_overview(const struct sg_cell *cells, const struct sg_cell_outcome *outcomes, size_t count,
                       double elapsed_s, int width, int rows);

/* The series or constant `metric` of a finished cell, reduced as `at` says (NULL: the last record). NaN with the reason
 * in `why` when there is no such number; +inf, also with a reason, for a `when` that never comes. Else why is "". The
 * rules are in results/README.md. */
enum { SG_WHY_CHARS = 200 };
double sg_grid_value(const struct sg_cell_outcome *outcome, const char *metric, const struct sg_node *at,
                     char why[SG_WHY_CHARS]);

/* "results": one object per label:
 *   {"label","method","compressor","baseline","parameters":{…},"constants":{…},"times_less","seeds":["1"],
 *    "cells":[{"seed","status","message","file","elapsed_s","steps","reused"}],
 *    "series":{"step":[…],"epoch":[…],"<column>":{"mean":[…],"std":[…],"n":[…]}},
 *    "final":{"<column>":{"mean","std","n","values":[…]}}}
 * Series are thinned to at most `most` points, evenly, first and last kept (0 = all); finals and claims use every record.
 * Formulas in results/README.md. NULL = no memory. */
cJSON *sg_grid_results(const struct sg_cell *cells, const struct sg_cell_outcome *outcomes, size_t count, size_t most);

/* The verdict on a claim that nothing is said about. */
#define SG_NOT_JUDGED "not judged"

/* "claims": [{"text","verdict","metric","at","of","sense","reason","seeds":[{"seed","value","bound","ratio","note"}]}];
 * verdict "holds": at every seed, "fails": at none, else "undecided", also when a value is missing, or SG_NOT_JUDGED when
 * one of its methods is not among the cells; reason says why it is not "holds", note what is odd about a seed. NULL = no memory. */
cJSON *sg_grid_claims(const struct sg_recipe *recipe, const struct sg_cell *cells,
                      const struct sg_cell_outcome *outcomes, size_t count);

/* "plots": [{"x","y","log","title","kind","x_range","y_range","methods","x_at","y_at","points"}], names in snake_case; points (null
 * but for kind "points"): [{"label","x":{"mean","std","n","values"},"y":{…}}]. NULL = no memory. */
cJSON *sg_grid_plots(const struct sg_recipe *recipe, const struct sg_cell *cells,
                     const struct sg_cell_outcome *outcomes, size_t count);

/* The whole result of schema sparsebench/1; takes over `program` and `run`. "status" is the worst of its cells: ok,
 * diverged, failed, interrupted (also: not run). NULL = no memory. */
cJSON *sg_grid_document(cJSON *take_program, cJSON *take_run, const struct sg_recipe *recipe,
                        const struct sg_cell *cells, const struct sg_cell_outcome *outcomes, size_t count, size_t most);

/* What a command chose of a recipe, as it was given. */
struct sg_grid_command {
    const struct sg_option_list *set, *methods, *seeds; /* --set, --method, --seed */
};
/* Into a result's "run": "set", "methods" and "seeds". */
void sg_grid_command_json(cJSON *run, const struct sg_grid_command *command);
/* Is the file at `path` a result that need not be kept: one without a single finished cell, or a partial one (interrupted,
 * failed) that the same command wrote, that is the same recipe and the same choice of it? */
bool sg_grid_is_partial(const char *path, const struct sg_recipe *recipe, const struct sg_grid_command *command);
/* Finished cells, diverged ones among them, of a whole result. */
size_t sg_grid_finished(const cJSON *result);
/* Take back every verdict of a whole result, and what its summary found: they would mean nothing, as `why` says. */
void sg_grid_unjudge(cJSON *document, const char *why);

/* What would be done, schema sparsebench-plan/1, with each cell's key and resolved recipe. */
cJSON *sg_grid_plan(cJSON *take_program, const struct sg_recipe *recipe, const struct sg_cell *cells,
                    const struct sg_cell_outcome *outcomes, size_t count);

#endif

/* sg_grid.h: the experiment engine behind sparsebench: cells as processes, aggregates over seeds, claims.
 *
 * A finished cell is the file FOLDER/<label>-seed<S>-<key prefix>.ndjson. It is reused, whatever its label, if its
 * checksum is right, and its header has the cell key, program identity and data that a run would have now. Data that
 * are missing on this machine are not compared. If the options name a device, the cell must have run on such a device.
 * sparsetrain writes a cell whole or not at all, so a finished cell is never lost.
 * Nothing here prints, except the view (sg_grid_view.h). */
/* SPDX-License-Identifier: MIT */
#ifndef SG_GRID_H
#define SG_GRID_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "sg_document.h"
#include "sg_options.h"
#include "sg_recipe.h"
#include "sg_recipe_claim.h"
#include "sg_result.h"
#include "sg_status.h"

struct sg_grid_network; /* sg_grid_network.h */

enum sg_cell_state {
    SG_CELL_WAITING, /* not run yet, or stopped by a signal with its checkpoint written (message "interrupted") */
    SG_CELL_RUNNING,
    SG_CELL_DONE,     /* run now */
    SG_CELL_REUSED,   /* finished before, with "ok" or "diverged" in its end record */
    SG_CELL_DIVERGED, /* run now; the series ends where it diverged */
    SG_CELL_FAILED    /* there is no series */
};

struct sg_cell_outcome {
    enum sg_cell_state state;
    struct sg_run_unlike unlike; /* WAITING: why a finished series is not reused; of several, the last one read */
    bool stopped;                /* WAITING: an earlier run left its series, maybe without a checkpoint */
    bool resumable;              /* WAITING: a stopped run can go on from its checkpoint */
    bool unchecked;              /* REUSED: its data are missing on this machine, so they were not compared */
    bool on_gpu;                 /* REUSED: it ran on a GPU, and the options name no device */
    bool elsewhere;              /* WAITING: another sparsebench runs it */
    char *path;                  /* the series' file */
    ino_t file;                  /* the inode of `path` when sg_grid_look read it; 0 = none */
    /* FAILED: the reason and the last lines of standard error. DIVERGED: why. DONE: the last lines of standard error.
     * Else NULL. */
    char *message;
    double elapsed_s;  /* of the process started now */
    double done;       /* the finished share, 0..1, as the child reports it */
    struct sg_run run; /* read back when DONE, REUSED or DIVERGED */
};

struct sg_grid_options {
    const char *recipe_path; /* given to sparsetrain; a recipe from stdin is first saved in `folder` */
    const char *const *set;  /* --set values, given to sparsetrain */
    size_t n_set;
    const char *program;           /* path of sparsetrain */
    const char *launcher;          /* "mpirun -n 4", split at blanks; NULL = none */
    const char *folder;            /* the folder of the cells; it is made if missing */
    const char *data_dir, *device; /* passed to sparsetrain; NULL = its default */
    bool any_version;              /* reuse finished cells of any version of the program */
    int jobs;                      /* processes at once; 0 = cores / threads, or 1 under a launcher or on a GPU */
    int threads;     /* threads of each process; 0 = cores / jobs, or under a launcher the default of sparsetrain */
    bool any_memory; /* run cells even if this host seems to have too little memory for them */
    bool fresh;      /* run every cell again from step 0 */
    const char *record_gradients; /* passed to sparsetrain, for a single cell only; NULL = not recorded */
    int (*stop)(void);            /* called 10 times a second; returns the number of a pending signal, 0 = none */
    /* The time limit, on the clock sg_clock_s; 0 = no limit. Each cell gets its remaining time as --time-limit. A cell
     * is not started if the remaining time is too short for its set-up. */
    double stop_at_s;
    /* Called after every change, and 10 times a second while cells run; may be NULL. */
    void (*changed)(void *arg, const struct sg_cell *cells, const struct sg_cell_outcome *outcomes, size_t count);
    void *arg;
};

/* A launcher must not start this program several times, because it starts processes of its own: SG_ERR_ARGUMENT says to
 * use --launcher. *reports: this process prints the error. The others must exit with 0, because a launcher kills all
 * processes when one fails, perhaps before the message is printed. */
SG_CHECKED sg_status sg_grid_refuse_launcher(bool *reports, struct sg_error *err);

/* The signal that makes a launcher's processes stop and write their checkpoints. srun kills them at once when it gets
 * SIGTERM, but passes SIGUSR1 on. NULL: no launcher. */
int sg_grid_stop_signal(const char *launcher);

/* The path of sparsetrain beside the running program, or `instead` if not NULL. SG_ERR_MISSING: it cannot be run. */
SG_CHECKED sg_status sg_grid_program(char out[PATH_MAX], const char *instead, struct sg_error *err);

/* The folder of a recipe's cells if none is given: results/local/NAME/cells. */
void sg_grid_default_folder(char out[PATH_MAX], const struct sg_recipe *recipe);

/* Writes a copy of the recipe, named by its content, into `folder`, because sparsetrain cannot read a standard input
 * that was read before. */
SG_CHECKED sg_status sg_grid_save_recipe(char path[PATH_MAX], const struct sg_recipe *recipe, const char *folder,
                                         struct sg_error *err);

/* Moves the cells of these methods and seeds to the front, in their order; *chosen is their number. A method is the
 * label of a cell, or a name that stands for all cells of the method. No item, or NULL, means all. SG_ERR_ARGUMENT,
 * with a suggestion: no cell has this method or seed. */
SG_CHECKED sg_status sg_grid_choose(size_t *chosen, struct sg_cell *cells, size_t count,
                                    const struct sg_option_list *methods, const struct sg_option_list *seeds,
                                    struct sg_error *err);

/* Of `count` cells, moves those of one part to the front, in their order; *chosen is their number. `part` is "I/N":
 * cells I, I + N, I + 2 N and so on, counted from 1, but a cell that copies k (`k-from`) goes with the cell from which
 * it copies, and a trial with the first one of its study. SG_ERR_ARGUMENT: it is not that. */
SG_CHECKED sg_status sg_grid_choose_part(size_t *chosen, struct sg_cell *cells, size_t count, const char *part,
                                         struct sg_error *err);

/* Moves the runs of what may win a study behind all other cells; returns the number of those. Which of them are needed
 * is known when the trials have run. */
size_t sg_grid_put_winners_last(struct sg_cell *cells, size_t count);
/* Moves to the front of cells ran..count, which are such runs, those whose trial is the best of its study, all of whose
 * trials ended; returns the number of cells with them. The outcomes are those of the cells before `ran`. */
size_t sg_grid_choose_winners(struct sg_cell *cells, size_t ran, size_t count, const struct sg_cell_outcome *outcomes,
                              const struct sg_recipe *recipe);

/* Opens the locks of a folder of cells, until the descriptor *out is closed. Any number of processes may work in it, on
 * any hosts whose file system shares locks. SG_ERR_IO: the folder cannot be written to. */
SG_CHECKED sg_status sg_grid_lock(int *out, const char *folder, struct sg_error *err);

/* Takes the lock of a cell in such a folder. *ours: it was free. A process that runs a cell holds its lock, and so do
 * its children. SG_ERR_IO: the file system has no locks. */
SG_CHECKED sg_status sg_grid_lock_cell(bool *ours, int lock, const struct sg_cell *cell, struct sg_error *err);
void sg_grid_unlock_cell(int lock, const struct sg_cell *cell);

/* The number of finished series in a folder that belong to none of these cells. The outcomes must have their paths. */
size_t sg_grid_count_others(const char *folder, const struct sg_cell_outcome *outcomes, size_t count);

/* Finds what is finished: outcomes [count], which the caller has zeroed, get the path, and for finished cells state
 * REUSED and the series. For other cells it sets `unlike`, `stopped` and `resumable`. It changes no file. All cells
 * must read the same data, as those of one recipe do. Errors are those of sg_dataset_identify, but for missing data. */
SG_CHECKED sg_status sg_grid_look(struct sg_cell_outcome *outcomes, const struct sg_cell *cells, size_t count,
                                  const struct sg_grid_options *options, struct sg_error *err);

/* SG_ERR_MISMATCH, naming two cells: finished cells used different data, so a mean over them would be meaningless. */
SG_CHECKED sg_status sg_grid_same_data(const struct sg_cell *cells, const struct sg_cell_outcome *outcomes,
                                       size_t count, struct sg_error *err);

/* Runs `program` once with --check and without the launcher, before cells run. It checks the methods of these cells
 * against their data, and so also fills the caches that cells share. SG_ERR_IO: among others, so many of them as
 * `jobs` do not fit into memory at once; 0 = that is not checked. `changed` is called as while cells run, with
 * outcomes [count] as they are. SG_ERR_ARGUMENT says what is wrong, each mistake once; SG_ERR_INTERRUPTED follows a
 * signal. */
SG_CHECKED sg_status sg_grid_check(const struct sg_cell_outcome *outcomes, const struct sg_cell *cells, size_t count,
                                   const struct sg_grid_options *options, int jobs, struct sg_error *err);

/* Calls sg_grid_look, and if cells are missing sg_grid_check, and runs the missing cells. Fills in jobs and threads.
 * Several grids may work in one folder: it waits for a cell that another grid runs, and runs it if that grid did not
 * finish it. SG_OK even if cells failed (see their states). SG_ERR_MISMATCH as sg_grid_same_data. SG_ERR_INTERRUPTED:
 * a signal came, or the time limit, with unfinished cells; the children have stopped and written their checkpoints. */
SG_CHECKED sg_status sg_grid_run(struct sg_cell_outcome *outcomes, const struct sg_cell *cells, size_t count,
                                 struct sg_grid_options *options, struct sg_error *err);
void sg_grid_outcomes_free(struct sg_cell_outcome *outcomes, size_t count);

/* What a run would do with a cell, after sg_grid_look: "reuse", "resume" or "run". */
const char *sg_grid_action(const struct sg_cell_outcome *outcome);

/* The identities of the programs that made the finished cells, each once, borrowed from them. */
struct sg_text_list sg_grid_identities(const struct sg_cell_outcome *outcomes, size_t count, struct sg_arena *memory);

/* Reads the series that stopped runs of cells left into their outcomes, for a document of an unfinished grid: those of
 * these very cells that read the data of the finished ones. */
void sg_grid_read_unfinished(struct sg_cell_outcome *outcomes, const struct sg_cell *cells, size_t count);

/* The progress of a cell whose series was read: "step 1200 of 7200 (epoch 50 of 300)", "not begun"; returns out. */
enum { SG_REACH_CHARS = 96 };
char *sg_grid_reach_text(char out[SG_REACH_CHARS], const struct sg_cell *cell, const struct sg_cell_outcome *outcome);

/* The state of a cell in a result: "ok", "diverged", "failed", "interrupted", "not_run" or "running". */
const char *sg_grid_status(const struct sg_cell_outcome *outcome);

/* The distinct processors that the segments of a run were on, in their order, borrowed from it; none = not known. */
struct sg_text_list sg_grid_devices(const struct sg_run *run, struct sg_arena *memory);

/* The state as text for a terminal of this width: a line for each of at most `rows` running cells, and a line of
 * totals. Each line ends in a newline. elapsed_s, since the grid started, serves to estimate the time left. NULL = no
 * memory. */
char *sg_grid_overview(const struct sg_cell *cells, const struct sg_cell_outcome *outcomes, size_t count,
                       double elapsed_s, int width, int rows);

/* Adds what all cells together, or a network, say of finished ones; nothing is run and no file is written. Of a recipe
 * with `step-efficiency` it is the series of that name. With `network`, that of the recipe's section (NULL = it has
 * none), it is the series of sg_net_series, the modelled time of the messages, from the records of the runs.
 *   bytes    of a step: the growth of bytes_sent since the last record, else of bits / 8, in equal parts
 *   workers  all send the mean, except that one sends density_padded / density times the mean, if both are recorded
 *   layers   in proportion to the entries of record.layers; without them equal pieces of the model
 * With record.workers the bytes divide among workers and layers by the entries that each sent of each.
 * Compute time is divided among layers by their elements, a third of it forward. The layers of the recipe are taken to
 * stand in the order of the forward pass. With network.bursts it adds those of sg_burst_table, too. */
SG_CHECKED sg_status sg_grid_derive(struct sg_cell_outcome *outcomes, const struct sg_cell *cells, size_t count,
                                    const struct sg_recipe *recipe, const struct sg_grid_network *network,
                                    struct sg_error *err);

/* What a label takes to become as good as its runs without compression, by step efficiency. It was measured at the
 * length of its runs, and another length may have another price. */
struct sg_grid_price {
    const struct sg_frame_label *label, *base; /* base: the label without compression */
    double steps;                              /* of its runs; as good are steps / times without compression */
    double times, half; /* how many times the steps of no compression: mean over the seeds of 1 / efficiency, and half
                           of its 95 % interval */
    double data;        /* what it sends in them, over what no compression sends */
};
/* Finds the prices of a result's labels, out [number of labels]; returns how many. A label has none whose efficiency
 * some seed lacks, or whose interval is more than a quarter of the price to either side. */
size_t sg_grid_prices(struct sg_grid_price *out, struct sg_document *document);
/* The price in a sentence without its full stop, which the caller frees. */
char *sg_grid_price_text(const struct sg_grid_price *price);

/* sg_frame_value of a cell: the series or constant `metric` of one that ended well, reduced as `at` says. */
double sg_grid_value(const struct sg_cell_outcome *outcome, const char *metric, const struct sg_node *at,
                     char why[SG_WHY_CHARS]);

/* The whole result (sg_document.h), which the caller frees. It takes over `program` and `run`, and points into recipe,
 * cells and outcomes. network: that of sg_grid_derive. Its status is the worst of its cells': ok, diverged, failed,
 * interrupted (also for cells not run). Of a study only the run of its winner counts, if all of its trials ended.
 *
 * Series are thinned to at most `most` points (0 = all); finals and claims use every record. Cells that are not
 * finished add what they recorded to the series, and to finals only where no cell of the label is finished. Columns of
 * which the recipe draws quartiles over the seeds have them. */
void sg_grid_document(struct sg_document *out, cJSON *take_program, cJSON *take_run, const struct sg_recipe *recipe,
                      const struct sg_grid_network *network, const struct sg_cell *cells,
                      const struct sg_cell_outcome *outcomes, size_t count, size_t most);

/* The words with which a command chose part of a recipe. */
struct sg_grid_command {
    const struct sg_option_list *set, *methods, *seeds; /* --set, --method, --seed */
    const char *const *part;                            /* --part; *part is NULL if it was not given */
};
/* Adds "set", "methods", "seeds" and "part" to a result's "run". */
void sg_grid_command_json(cJSON *run, const struct sg_grid_command *command);
/* True if the result at `path` may be replaced without --force: it has no finished cell, or it is partial (interrupted,
 * failed) and the same command wrote it, that is, with the same recipe and the same words. */
bool sg_grid_is_partial(const char *path, const struct sg_recipe *recipe, const struct sg_grid_command *command);
/* Removes every verdict, its margin and the finding from a whole result in which they would be meaningless; `why` is
 * the reason that the result then gives. */
void sg_grid_unjudge(struct sg_document *document, const char *why);

/* Judges the claims of a result again, by the numbers of their seeds that it has, and makes its traffic and its finding
 * again. Claims that are not judged, those about times of kernels, and a finding that was taken back stay. */
void sg_grid_rejudge(struct sg_document *document);

/* What a run would do, of schema sparsebench-plan/1, with each cell's key and resolved recipe. */
cJSON *sg_grid_plan(cJSON *take_program, const struct sg_recipe *recipe, const struct sg_cell *cells,
                    const struct sg_cell_outcome *outcomes, size_t count);

#endif

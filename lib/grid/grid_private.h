/* grid_private.h: what the files of a grid's cells share, and those of its result; private to lib/grid. */
/* SPDX-License-Identifier: MIT */
#ifndef GRID_PRIVATE_H
#define GRID_PRIVATE_H

#include "sg_document.h"
#include "sg_grid.h"
#include "sg_grid_network.h"

/* What the parts of a result are made of: the cells, and the same as labels and seeds of the document that is
 * filled. */
struct grid_frame {
    const struct sg_recipe *recipe;
    const struct sg_cell *cells; /* [count]; those of a label are neighbours */
    const struct sg_cell_outcome *outcomes;
    size_t count;
    struct sg_frame_seed *seed; /* [n_seeds] of all labels */
    struct grid_study *study;   /* [n_seeds] which run each of them has */
    size_t n_seeds;
    struct sg_frame *frame;  /* "results" of the document */
    struct sg_arena *memory; /* of the document */
};

/* The run of a label at a seed: the only one, or that of the winner of the study. */
struct grid_study {
    size_t cell;   /* the run; of a study without one the best trial */
    size_t best;   /* the best trial, or the only run */
    size_t trials; /* how many are among the cells */
    bool whole;    /* all are, and the run is the winner's */
};

/* The frame of these cells, without columns, in a document. */
struct grid_frame grid_frame(struct sg_document *document, const struct sg_recipe *recipe, const struct sg_cell *cells,
                             const struct sg_cell_outcome *outcomes, size_t count);
/* The study of a label's i-th seed; for i = 0 its cell is one of the label. */
const struct grid_study *grid_study(const struct grid_frame *g, const struct sg_frame_label *label, size_t i);

/* The study of this label's group and this seed. */
struct grid_study grid_study_of(const struct grid_frame *g, const char *group, uint64_t seed);
/* The value of a cell by which its recipe tunes; NaN = it has none. */
double grid_trial_value(const struct grid_frame *g, size_t cell);
/* How a label was tuned. */
struct sg_document_tuned *grid_tuned(const struct grid_frame *g, const struct sg_frame_label *label);
/* The same over all labels; NULL = nothing was tuned. A key is at the edge of its range if the least or the greatest
 * draw won in most of the studies; then the range is to be widened and run, and the text says so. */
struct sg_document_tuning *grid_tuning(const struct grid_frame *g);

/* True if the list is empty or has an item that, by `is`, names the cell. */
bool grid_is_listed(const struct sg_option_list *list, const struct sg_cell *cell,
                    bool (*is)(const struct sg_cell *cell, const char *item));
/* Moves cell i behind the *n cells that are kept so far. */
void grid_keep(struct sg_cell *cells, size_t *n, size_t i);

/* Compares two records of data. For generated data it also compares the bytes, whose hash the cells record. */
bool grid_same_data(const cJSON *one, const cJSON *other);

/* How far a cell came, and how far it is to go; NaN = not known. */
struct grid_reach {
    double step, steps, epoch, epochs;
};
struct grid_reach grid_reach(const struct sg_cell *cell, const struct sg_cell_outcome *outcome);

/* ---- parts of a result ---- */

/* Fills in the labels, with series of at most `most` points (0 = all). */
void grid_fill_results(struct grid_frame *g, size_t most);
void grid_fill_claims(struct sg_document *out, const struct grid_frame *g);
void grid_fill_plots(struct sg_document *out, const struct grid_frame *g);
/* Sets the verdict, the reason and the margin of a claim by its seeds. */
void grid_judge_claim(struct sg_document_claim *claim, struct sg_arena *memory);

/* Sets traffic, summary and the labels' times_less of a document that has all else. runs: those that it was made of;
 * NULL = the numbers are those of the document. */
void grid_summarize(struct sg_document *document, const struct grid_frame *runs);

/* A whole number as a text, as results have seeds. */
const char *grid_seed_text(struct sg_arena *memory, uint64_t seed);

/* bundle.json of a result, which takes over "cells", and one of these: the series of an entry of a label's "cells". */
cJSON *grid_bundle_about(const struct sg_document *result, cJSON *take_cells);
cJSON *grid_bundle_cell(const struct sg_run *run, const struct sg_document_cell *cell, const char *label,
                        const char *file);

/* Which of the cells is the one from which `cell` copies k (`k-from`); count = it is not among them. */
size_t grid_source(const struct sg_cell *cells, size_t count, size_t cell);

/* The rows of the processor of this name, or of the file of that path; sets out->processor, too. */
SG_CHECKED sg_status grid_coding_read(struct sg_grid_network *out, const char *name, struct sg_error *err);

/* "network": that of the recipe's section (sg_grid_network.h); NULL without one. Where the recipe's workers are a list
 * and each run has a network of its own workers, "workers" is null, and "nodes" unless the section has them. */
cJSON *grid_network_json(const struct sg_grid_network *network, const struct sg_recipe *recipe);

/* The command line of a process of the grid: the words [n], then --data, --set and --plugin with their values, which
 * every process gets. The words are borrowed, and the list is to be freed. */
char **grid_command_line(const char *const *word, size_t n, const struct sg_grid_options *o);

/* The network of a step: its link between nodes is divided among the processes that share it. */
struct sg_net grid_net(const struct sg_grid_network *n);

/* How many times as many numbers as the run's, d, the model has that is meant. */
static inline double grid_scale(const struct sg_grid_network *n, double d) {
    return n->elements > 0 && d > 0 ? n->elements / d : 1;
}

/* True if a method of the recipe's methods, in JSON, trains without compression, so that others can be compared with
 * it: it is a baseline, or its compressor is none and it has no key that changes what arrives. */
bool grid_is_uncompressed(const cJSON *methods, const char *name, const char *compressor, bool baseline);

/* Adds the series `step_efficiency`, if the recipe has the key; it has a value at the end of a run (grid_efficiency.c).
 */
void grid_add_efficiency(struct sg_cell_outcome *outcomes, const struct sg_cell *cells, size_t count,
                         const struct sg_recipe *recipe);

/* Adds the series of sg_burst_table on this network to a finished cell. They are null where the entries of each worker
 * are not recorded. */
void grid_add_bursts(const struct sg_grid_network *network, struct sg_run *run);

#endif

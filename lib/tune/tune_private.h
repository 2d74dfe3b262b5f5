/* tune_private.h: what the files of lib/tune share. */
/* SPDX-License-Identifier: MIT */
#ifndef TUNE_PRIVATE_H
#define TUNE_PRIVATE_H

#include <stdio.h>

#include "sg_compressor.h"
#include "sg_grid_network.h"
#include "sg_table.h"
#include "sg_theory.h"
#include "sg_tune.h"

/* ---- trials: cells of the recipe with some keys changed ---- */

enum { TUNE_LAMBDA_CHARS = 24 };

/* The changes that trials make to the user's recipe after its --set values (sg_recipe_with). */
struct tune_changes {
    const struct sg_recipe *recipe;
    struct sg_node map;
    bool pilot; /* the length of the runs is changed */
};
/* Initializes *c with a copy of the changes of `base`. NULL = none, but for a recipe of several lengths (`stretch`)
 * that trials are of its own length. */
void tune_changes_start(struct tune_changes *c, const struct sg_tune *t, const struct tune_changes *base);
/* Sets keys by a map in YAML, whose keys are dotted paths: "{claims: null, record.every: 1}". */
void tune_change(struct tune_changes *c, const char *yaml, ...) SG_PRINTF(2, 3);
/* Sets the key at a dotted path. The value is moved from and zeroed. */
void tune_change_value(struct tune_changes *c, const char *path, struct sg_node *take_value);
/* Adds the assumed network, for a recipe that has none. */
void tune_change_network(struct tune_changes *c);
void tune_changes_free(struct tune_changes *c);

/* Reads the changed recipe; *written may be NULL (sg_recipe_with). */
SG_CHECKED sg_status tune_changes_read(struct sg_recipe *out, struct sg_node *written, const struct tune_changes *c,
                                       struct sg_error *err);

struct tune_trials {
    struct tune_changes changes;
    struct sg_recipe recipe;
    struct sg_node written; /* the recipe that the cells' processes read; null = the user's file */
    struct sg_cell *cells;  /* the chosen ones first */
    size_t all, count;
    struct sg_cell_outcome *outcomes; /* [count] */
};

/* Initializes *b, without cells, with a copy of the changes of `base`; NULL = none. */
void tune_trials_start(struct tune_trials *b, const struct sg_tune *t, const struct tune_changes *base);
/* Opens the recipe with b->changes and chooses its cells of method `name` and compressor `compressor` (NULL = any) at
 * the first `seeds` seeds, in recipe order. */
SG_CHECKED sg_status tune_trials_open(struct tune_trials *b, const char *name, const char *compressor, size_t seeds,
                                      struct sg_error *err);
/* Runs the chosen cells that are missing. A cell that fails is an error, one that diverges only if `converges`. */
SG_CHECKED sg_status tune_trials_run(struct tune_trials *b, struct sg_tune *t, bool converges, struct sg_error *err);
void tune_trials_close(struct tune_trials *b);

/* Mean number of entries that a worker sent at a step of a run of `cell`, from bits-values, or from average-density
 * times d (0 = d is not known), or from bits if an entry costs 64 bits. If padded, the mean over steps of the largest
 * message, from average-density-padded times d. NaN = the run did not record these series. */
double tune_entries(const struct sg_run *run, const struct sg_cell *cell, double d, bool padded);
/* Fails if the recipe does not record the series that tune_entries needs. The message names the column to add. */
SG_CHECKED sg_status tune_need_volume(const struct sg_tune *t, const struct sg_cell *cell, struct sg_error *err);
/* True if the recipe records this series; `name` is spelt as in results. */
bool tune_recorded(const struct sg_tune *t, const char *name);

/* ---- what options say ---- */

/* Reads numbers above 0 and up to `largest`, with commas between them, into out [most]; *n is how many.
 * SG_ERR_ARGUMENT: the text of the option is no such list of `what`, or not ascending where that is asked for. */
SG_CHECKED sg_status tune_read_list(double *out, size_t *n, size_t most, const char *option, const char *text,
                                    double largest, bool ascending, const char *what, struct sg_error *err);

/* ---- how good a run is ---- */

enum { TUNE_METRIC_CHARS = 64 };

/* Among the methods without compression, the one with baseline: true, else the first. NULL = there is none. */
const char *tune_baseline(const struct sg_node *methods);
/* The metric that runs are judged by, as results spell it: --metric, or the first recorded series that the task
 * measures. *higher: larger values are better. */
SG_CHECKED sg_status tune_metric(const struct sg_tune *t, char name[TUNE_METRIC_CHARS], bool *higher,
                                 struct sg_error *err);
struct sg_metric;

/* By how much a quality may be worse than the baseline's. */
struct tune_margin {
    const struct sg_metric *metric; /* NULL = the metric is no column of the task */
    bool higher;
    double share; /* of |the baseline's|, --tolerance; NaN = the margin of the metric's quantity */
};
/* The margin for a metric of a kind of task: --tolerance; else that of its quantity, or 5 % where that has none. */
struct tune_margin tune_margin_of(const struct sg_tune *t, const char *task, const char *metric);
/* True if the value is worse than the baseline's by no more than the margin. */
bool tune_within(const struct tune_margin *m, double value, double baseline);
/* The value that is worse than the baseline's by the margin. */
double tune_worst(const struct tune_margin *m, double baseline);
enum { TUNE_MARGIN_CHARS = 96 };
/* "0.5 points", "5 %". Returns out. */
char *tune_margin_text(char out[TUNE_MARGIN_CHARS], const struct tune_margin *m);
/* A run's value: the median of its last TUNE_TAIL records, because a single record of a stochastic run says little. */
#define TUNE_TAIL 0.2
double tune_tail_median(const struct sg_cell_outcome *o, const char *metric);

/* ---- methods ---- */

/* True if this method has this compressor. */
bool tune_compresses_by(const struct sg_node *method, const char *compressor);
/* True if the method of this name may be tuned: the user asks for it, and it is not what the others are measured by. */
bool tune_is_chosen(const struct sg_tune *t, const char *name);
/* True if this is a hard-threshold method with a lambda, and without a budget. */
bool tune_wants_lambda(const struct sg_node *method);
/* True if the residual of a method, whose keys are resolved, is a sum of gradients since the last message. */
bool tune_sums_gradients(const struct sg_node *resolved);
/* Fails if tune_wants_lambda holds for no method, or none is Top-k. With --dry-run it lists the methods to be tuned. */
SG_CHECKED sg_status tune_plan(const struct sg_tune *t, const char *how, struct sg_error *err);

/* ---- pilots: a share of a run ---- */

/* How long the runs of a method are. */
struct tune_length {
    double steps_per_epoch, steps;
    const struct sg_node *resolved; /* one of its cells, or a recipe */
};
struct tune_length tune_length(const struct sg_node *resolved, double steps_per_epoch);

/* Runs get `steps` steps, without claims and plots. Unless length is NULL, the learning-rate schedule is scaled with
 * them. */
void tune_change_length(struct tune_changes *c, const struct tune_length *length, double steps);
/* Runs get the first `steps` steps of a run, likewise. A cosine, which would reach its end within them, is left out: at
 * the beginning it is flat. */
void tune_change_first(struct tune_changes *c, double steps);
/* Records these series, with commas between them, once in `every` steps. Without `evaluates` nothing is evaluated. */
void tune_change_record(struct tune_changes *c, double every, bool evaluates, const char *series);
/* The series that trials record at every step to measure what is sent. */
#define TUNE_VOLUME_SERIES "bits-values, average-density, average-density-padded, error-norm, learning-rate"

/* What a pilot's series adds up to: entries that a worker sent, those of the largest messages, bytes, |g_i|^2. */
enum tune_sum { TUNE_SENT, TUNE_PADDED, TUNE_BYTES_SENT, TUNE_GRADIENT };
/* Estimates the mean per step of a whole run from a pilot that recorded every step; d is as in tune_entries. Each
 * stretch of the learning-rate schedule counts what the pilot had in it, and for the rest of the stretch the rate of
 * the pilot's second half. NaN = the pilot did not record it. */
double tune_extrapolate(const struct sg_run *pilot, const struct tune_length *length, double d, enum tune_sum what);

/* Rounds lambda to four digits and writes it as recipes spell it. */
double tune_round(double lambda, char text[TUNE_LAMBDA_CHARS]);

/* ---- the emitted recipe ---- */

enum { TUNE_HOW_CHARS = 384 };

/* A value that was found. */
struct tune_value {
    double x;                 /* rounded by tune_round; one that repeats is written once */
    char how[TUNE_HOW_CHARS]; /* a comment; "" = none */
};

/* What was found for one method. */
struct tune_found {
    const char *name;
    const char *key; /* whose values were found: "lambda" */
    size_t n;
    struct tune_value *value; /* [n], or [1] if it failed */
    bool appends;             /* the list keeps its values and value[0] is appended; n = 1 */
    bool failed; /* nothing was found; value[0].how is the reason. n = 0: the values stay; n = 1: value[0].x replaces
                    `match` */
};

/* *out <- the recipe with each method's values replaced or appended, and comments before the method. Claims and plots
 * that name a cell by a replaced value are changed too. It fails if the result is not a valid recipe. */
SG_CHECKED sg_status tune_emit_recipe(char **out, const struct sg_tune *t, const struct tune_found *found,
                                      size_t n_methods, struct sg_error *err);

/* *out <- the tree of the user's file without any --set, and with these changes, or NULL (sg_recipe_with); the caller
 * clears it, also after an error. */
SG_CHECKED sg_status tune_recipe_written(struct sg_node *out, const struct sg_tune *t, const struct sg_node *changes,
                                         struct sg_error *err);
/* Puts comments before a method, by tune_put_note. */
typedef void tune_note_fn(FILE *out, const void *arg, size_t method);
void tune_put_note(FILE *out, const char *format, ...) SG_PRINTF(2, 3);
/* *out <- a changed tree of the recipe `from` as text: a line for each section, or for each entry of a list of
 * sections, after the comments at the top of that file. It fails if the text is not a valid recipe. */
SG_CHECKED sg_status tune_recipe_text(char **out, const struct sg_recipe *from, const struct sg_node *written,
                                      tune_note_fn *note, const void *arg, struct sg_error *err);

/* The key of a method whose values are searched for; NULL = the method stays as it is. */
typedef const char *tune_key_fn(const struct sg_node *method);
tune_key_fn tune_lambda_key; /* of hard-threshold with a lambda */
tune_key_fn tune_knob_key;   /* of any compressor whose knob the method gives a number */

/* The value at which the search for a method's parameter starts: its number, the first number of its list, or a usual
 * number for `match`. NAN = the parameter has no such value. */
double tune_start(const struct sg_node *method, const struct sg_parameter *parameter);
/* The knob to which a method of the recipe, or of one of its cells, gives a number; NULL = there is none, or a
 * controller sets it. */
const struct sg_parameter *tune_knob(const struct sg_node *method);
/* The knob if its value is a word or an expression, from which no search can start; else NULL. */
const struct sg_parameter *tune_wordy_knob(const struct sg_node *method);

/* Checks before the search that the recipe is valid without --set, and stays so with n values of each tuned key, one
 * for each of n targets. what: the name of the targets in messages, for example "Top-k densities". */
SG_CHECKED sg_status tune_emit_check(const struct sg_tune *t, tune_key_fn *key_of, size_t n, const char *what,
                                     struct sg_error *err);

/* How theory trains the cells of a recipe for an action. */
struct sg_theory_options tune_trained_here(const struct sg_tune *t, const struct sg_recipe *recipe);

/* ---- texts for readers ---- */

/* Reports progress to the user through t->say. */
void tune_say(const struct sg_tune *t, const char *format, ...) SG_PRINTF(2, 3);
/* Appends a sentence to an array. */
void tune_sentence(cJSON *list, const char *format, ...) SG_PRINTF(2, 3);
/* Appends that a method is left out, and why; "" = it is not. */
void tune_say_left_out(cJSON *list, const char *method, const char *why);
void tune_sentence_taken(cJSON *list, char *take_text); /* NULL: an empty one */
/* A text as lines of comment, broken at blanks. */
void tune_put_comment(FILE *out, const char *text, const struct sg_tune *t);
/* Writes a list of the evidence's sentences by tune_put_comment. */
void tune_put_sentences(FILE *out, const char *list, const struct sg_tune *t);
/* Writes the evidence's "assumptions" so, and an empty comment line. */
void tune_put_assumptions(FILE *out, const struct sg_tune *t);
/* Writes a table in lines that fit the terminal, and frees it. */
void tune_put_table(FILE *out, sg_table *take_table, const struct sg_tune *t);
/* t->evidence <- the evidence; t->table <- what `put` writes of what was found. */
typedef void tune_put_fn(FILE *out, const struct sg_tune *t, const void *of);
void tune_show(struct sg_tune *t, cJSON *take_evidence, tune_put_fn *put, const void *of);

/* ---- the modelled network ---- */

/* Reads the network of the recipe, or the assumed one of tune_change_network if the recipe has none. */
SG_CHECKED sg_status tune_network_read(struct sg_grid_network *out, bool *assumed, const struct sg_tune *t,
                                       struct sg_error *err);
/* total <- every series of the network's model at the last of a run's first `records` records, one or more. */
SG_CHECKED sg_status tune_network_seconds(double total[SG_NET_TOTALS], const struct sg_grid_messages *messages,
                                          const struct sg_grid_network *network, size_t records, struct sg_error *err);
/* The numbers of the model that is meant, where runs or a recording have d: network.elements, else d. */
double tune_elements(const struct sg_grid_network *n, double d);
/* The size of that model, where runs or a recording have d numbers: "a model of 279,232 numbers (1.1 MB a
 * step)". Returns out. */
enum { TUNE_MODEL_CHARS = 128 };
const char *tune_model_text(char out[TUNE_MODEL_CHARS], const struct sg_grid_network *n, double d);
/* Appends sentences about the network and a model of d numbers: that the link is assumed, if so; the compute time, or
 * that none is given, which ends in `without_compute`; and that a step could hide far more than what is exchanged. */
void tune_say_network(cJSON *list, const struct sg_grid_network *n, double d, bool assumed,
                      const char *without_compute);

/* ---- what the quality of no compression costs (tune_price.c) ---- */

struct tune_prices {
    const struct sg_tune *t;
    bool asked, known;                /* the recipe has `step-efficiency`; its cells of all lengths are finished */
    struct sg_cell_outcome *outcomes; /* [t->n_cells] */
    struct sg_document document;
    struct sg_grid_price *price; /* [n] of runs of the recipe's own length, for which trials are made */
    size_t n;
};
/* Reads the finished cells of the recipe, if it has `step-efficiency`. Nothing is run. */
SG_CHECKED sg_status tune_prices_open(struct tune_prices *p, const struct sg_tune *t, struct sg_error *err);
/* out [p->n] <- how many times faster than without compression the steps of each are on a modelled network. */
SG_CHECKED sg_status tune_price_speedups(double *out, const struct tune_prices *p,
                                         const struct sg_grid_network *network, struct sg_error *err);
/* A sentence, which the caller frees: what is as good as no compression soonest, by the speed-ups of steps, NaN = not
 * known, and `where` these are, as "Modelled on 10gbe"; without speed-ups (NULL) what is so with the least data. NULL:
 * the recipe has no `step-efficiency`. */
char *tune_price_text(const struct tune_prices *p, const double *speedup, const char *where);
void tune_prices_close(struct tune_prices *p);

/* Evidence without cells: schema sparsetune/1 with the recipe, and `tune` of this action, which is taken over. */
cJSON *tune_evidence(const struct sg_tune *t, const char *action, cJSON *take_tune);

/* Makes the document that sparsebench would show for these trials, modelled times among it where the recipe has a
 * network, with `tune`, which is taken over. */
SG_CHECKED sg_status tune_trials_evidence(struct sg_tune *t, struct tune_trials *b, cJSON *take_tune,
                                          struct sg_error *err);

/* Makes the document that sparsebench would show for `text`, the recipe that was found, of the finished cells of
 * `compressor` (NULL = any), with `tune`, which is taken over. */
SG_CHECKED sg_status tune_cells_evidence(struct sg_tune *t, const char *text, const char *compressor, cJSON *take_tune,
                                         struct sg_error *err);

#endif

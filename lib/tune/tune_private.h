/* tune_private.h: what the files of lib/tune share. */
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

/* The changes that trials make to the user's recipe, its --set values applied (sg_recipe_with). One for which there is
 * no memory is reported when the recipe is read. */
struct tune_changes {
    const struct sg_recipe *recipe;
    struct sg_node map;
    bool lost;  /* there was no memory for one */
    bool pilot; /* runs have a length of their own */
};
/* Begins with the changes of `base`; NULL = none. */
void tune_changes_start(struct tune_changes *c, const struct sg_tune *t, const struct tune_changes *base);
/* The key at a dotted path gets a value, which is moved from and zeroed; */
void tune_change(struct tune_changes *c, const char *path, struct sg_node *take_value);
/* the scalar that this plain YAML is; */
void tune_change_plain(struct tune_changes *c, const char *path, const char *text);
void tune_change_number(struct tune_changes *c, const char *path, double number);
/* a list of words, with NULL behind the last. */
void tune_change_words(struct tune_changes *c, const char *path, const char *const *words);
/* The network where the recipe has none. */
void tune_change_network(struct tune_changes *c);
void tune_changes_free(struct tune_changes *c);

/* Reads the changed recipe; *written may be NULL (sg_recipe_with). */
SG_CHECKED sg_status tune_changes_read(struct sg_recipe *out, struct sg_node *written, const struct tune_changes *c,
                                       struct sg_error *err);

struct tune_trials {
    struct sg_recipe recipe;
    struct sg_node written; /* what the cells' processes read; null = the user's own file */
    struct sg_cell *cells;  /* the chosen ones first */
    size_t all, count;
    struct sg_cell_outcome *outcomes; /* [count] */
};

/* Opens the recipe with these changes and chooses its cells of method `name` and compressor `compressor` (NULL = any)
 * at the first `seeds` seeds, in recipe order. */
SG_CHECKED sg_status tune_trials_open(struct tune_trials *out, struct tune_changes *c, const char *name,
                                      const char *compressor, size_t seeds, struct sg_error *err);
/* Runs the chosen cells that are missing. A cell that fails is an error, one that diverges only if `converges`. */
SG_CHECKED sg_status tune_trials_run(struct tune_trials *b, struct sg_tune *t, bool converges, struct sg_error *err);
void tune_trials_close(struct tune_trials *b);

/* Entries that a worker sent at a step of a run of `cell`, on average. They come from bits-values or from
 * average-density times d (0 = not known); from bits only where an entry costs 64 of them. If padded, they are those of
 * the largest message of each step, from average-density-padded times d. NaN = what was recorded does not tell. */
double tune_entries(const struct sg_run *run, const struct sg_cell *cell, double d, bool padded);
/* Fails, and says which column to add, if the series of the recipe will not tell that of the whole runs of `cell`. */
SG_CHECKED sg_status tune_need_volume(const struct sg_tune *t, const struct sg_cell *cell, struct sg_error *err);
/* Does the recipe record this series (as results spell it)? */
bool tune_recorded(const struct sg_tune *t, const char *name);

/* ---- what options say ---- */

/* Reads numbers above 0 and up to `largest`, with commas between them, into out [most]; returns how many, 0 = the text
 * is no such list. */
size_t tune_read_list(double *out, size_t most, const char *text, double largest);

/* ---- how good a run is ---- */

enum { TUNE_METRIC_CHARS = 64 };

/* Of the methods without compression the one that says baseline: true, else the first. NULL = there is none. */
const char *tune_baseline(const struct sg_node *methods);
/* The metric that runs are judged by, as results spell it: --metric, or the first recorded series that the task
 * measures. *higher: larger values are better. */
SG_CHECKED sg_status tune_metric(const struct sg_tune *t, char name[TUNE_METRIC_CHARS], bool *higher,
                                 struct sg_error *err);
/* A run's value: the median of its last TUNE_TAIL records, because a single record of a stochastic run says little. */
#define TUNE_TAIL 0.2
double tune_tail_median(const struct sg_cell_outcome *o, const char *metric);

/* ---- what Top-k sends ---- */

enum { TUNE_DENSITIES = 64 };

struct tune_density {
    char label[128]; /* of the Top-k cell */
    double entries;  /* of a worker at a step */
    double lambda;   /* a first guess of a lambda that sends as many */
};

struct tune_targets {
    struct tune_density density[TUNE_DENSITIES]; /* [n] in recipe order, each once */
    size_t n;
    double d, steps_per_epoch;
};

/* Runs one step of every Top-k method. It is an error if there is none. */
SG_CHECKED sg_status tune_targets(struct tune_targets *out, struct sg_tune *t, struct sg_error *err);

/* Is this a hard-threshold method with a lambda (and not a budget)? */
bool tune_wants_lambda(const struct sg_node *method);
/* Fails if there is no such method, or no Top-k. With --dry-run it says which methods would get lambdas. */
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
/* Records these series (NULL behind the last) every so many steps; evaluates only where `evaluates`. */
void tune_change_record(struct tune_changes *c, double every, bool evaluates, const char *const *series);
/* The series that tell at every step what is sent. */
extern const char *const tune_volume_series[];

/* Entries of a step, averaged over a whole run, from a pilot of it; d and padded are those of tune_entries. In each
 * stretch of the learning-rate schedule it takes what the pilot sent there, and for the rest of the stretch the rate of
 * the pilot's second half. */
double tune_extrapolate(const struct sg_run *pilot, const struct tune_length *length, double d, bool padded);

/* Rounds lambda to four digits and writes it as recipes spell it. */
double tune_round(double lambda, char text[TUNE_LAMBDA_CHARS]);

/* ---- the emitted recipe ---- */

enum { TUNE_HOW_CHARS = 256 };

/* What was found for one method. */
struct tune_found {
    const char *name;
    const char *key; /* whose values were found: "lambda" */
    size_t n;
    double *value;               /* [n] rounded by tune_round */
    char (*how)[TUNE_HOW_CHARS]; /* [n] a comment for each */
    bool appends;                /* the list keeps its values and value[0] is appended; n = 1 */
    bool failed; /* nothing was found, and how[0] says why; its values stay (n = 0) or are no longer `match` (n = 1) */
};

/* *out <- the recipe with each method's values replaced or appended, and comments before the method. Claims and plots
 * that name a cell by a replaced value are changed too. It fails if the result is no valid recipe. */
SG_CHECKED sg_status tune_emit_recipe(char **out, const struct sg_tune *t, const struct tune_found *found,
                                      size_t n_methods, struct sg_error *err);

/* *out <- the tree of the user's file without any --set, and with these changes, or NULL (sg_recipe_with); the caller clears
 * it, also after an error. */
SG_CHECKED sg_status tune_recipe_written(struct sg_node *out, const struct sg_tune *t, const struct sg_node *changes,
                                         struct sg_error *err);
/* Puts comments before a method, by tune_put_note. */
typedef void tune_note_fn(FILE *out, const void *arg, size_t method);
void tune_put_note(FILE *out, const char *format, ...) SG_PRINTF(2, 3);
/* *out <- a changed tree of the recipe `from` as text: a line for each section, or for each entry of a list of sections,
 * and before them the comments with which that file begins. It fails if the text is no valid recipe. */
SG_CHECKED sg_status tune_recipe_text(char **out, const struct sg_recipe *from, const struct sg_node *written,
                                      tune_note_fn *note, const void *arg, struct sg_error *err);

/* The key of a method whose values are searched for; NULL = the method stays as it is. */
typedef const char *tune_key_fn(const struct sg_node *method);
tune_key_fn tune_lambda_key; /* of hard-threshold with a lambda */
tune_key_fn tune_knob_key;   /* of any compressor whose knob the method gives a number */

/* Where a search for a method's parameter begins: its number, the first of its list, or for `match` a usual one.
 * NAN = it has none. */
double tune_start(const struct sg_node *method, const struct sg_parameter *parameter);
/* The knob that a method of the recipe, or of one of its cells, gives a number; NULL = there is none, or a controller
 * has it. */
const struct sg_parameter *tune_knob(const struct sg_node *method);
/* The same where its value is a word or an expression, so that no search can begin there. */
const struct sg_parameter *tune_wordy_knob(const struct sg_node *method);

/* Called before anything runs: will the recipe take n values, one for each of n targets, of each key that is tuned?
 * what: the targets as messages name them, "Top-k densities" for example. */
SG_CHECKED sg_status tune_emit_check(const struct sg_tune *t, tune_key_fn *key_of, size_t n, const char *what,
                                     struct sg_error *err);

/* How theory trains the cells of a recipe for an action. */
struct sg_theory_options tune_trained_here(const struct sg_tune *t, const struct sg_recipe *recipe);

/* ---- texts for readers ---- */

/* Tells the user what goes on. */
void tune_say(const struct sg_tune *t, const char *format, ...) SG_PRINTF(2, 3);
/* Appends a sentence to an array; one that there is no memory for is left out. */
void tune_sentence(cJSON *list, const char *format, ...) SG_PRINTF(2, 3);
/* A text as lines of comment, broken at blanks. */
void tune_put_comment(FILE *out, const char *text, const struct sg_tune *t);
/* Writes the evidence's "assumptions" so, and an empty line of comment. */
void tune_put_assumptions(FILE *out, const struct sg_tune *t);
/* Writes a table, which is freed, in lines that fit; false = no memory. */
bool tune_put_table(FILE *out, sg_table *take_table, const struct sg_tune *t);
/* t->table <- what `put` writes of what was found; it returns false if there is no memory. */
typedef bool tune_put_fn(FILE *out, const struct sg_tune *t, const void *of);
SG_CHECKED sg_status tune_write_table(struct sg_tune *t, tune_put_fn *put, const void *of, struct sg_error *err);

/* ---- the modelled network ---- */

/* That of the recipe, or an assumed one where it has none: that of tune_change_network. */
SG_CHECKED sg_status tune_network_read(struct sg_grid_network *out, bool *assumed, const struct sg_tune *t,
                                       struct sg_error *err);
/* total <- every series of the network's model at the last of a run's first `records` records, one or more. */
SG_CHECKED sg_status tune_network_seconds(double total[SG_NET_SERIES], const struct sg_grid_messages *messages,
                                          const struct sg_grid_network *network, size_t records, struct sg_error *err);
/* The model of a network in words: link, collectives, overlap. NULL = no memory. */
char *tune_model_text(const struct sg_grid_network *n);
/* Sentences on it: that its link was assumed, if it was; the time of computation, or what follows `without_compute`; that
 * of coding, or the sentence `without_coding`. */
void tune_say_network(cJSON *list, const struct sg_grid_network *n, bool assumed, const char *without_compute,
                      const char *without_coding);

/* Makes evidence without cells: schema sparsetune/1 with the recipe, and `tune` of this action, which is taken over. */
SG_CHECKED sg_status tune_evidence(struct sg_tune *t, const char *action, cJSON *take_tune, struct sg_error *err);

/* Makes the document that sparsebench would show for `text`, the recipe that was found, of the finished cells of
 * `compressor` (NULL = any), with `tune`, which is taken over. */
SG_CHECKED sg_status tune_cells_evidence(struct sg_tune *t, const char *text, const char *compressor, cJSON *take_tune,
                                         struct sg_error *err);

#endif

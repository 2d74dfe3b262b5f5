/* recipe_private.h: what the files of lib/recipe share.
 *
 * A read goes text -> raw tree (sg_node_read) -> --set (recipe_override.c) -> resolved tree (recipe_check.c against the
 * rows of recipe_schema.c) -> runs (recipe_runs.c) -> rules that span several keys (recipe_cross_checks.c). Claims and
 * plots are checked against the runs, and cells are made of them. Everything wrong with the content is noted in one
 * sg_problems and the reading goes on. */
/* SPDX-License-Identifier: MIT */
#ifndef RECIPE_PRIVATE_H
#define RECIPE_PRIVATE_H

#include <fenv.h>

#include "sg_compressor.h"
#include "sg_expression.h"
#include "sg_recipe.h"
#include "sg_row.h"
#include "sg_text.h"

enum { SG_RECIPE_BYTES = 1 << 20 };

/* ---- problems ---- */

enum { SG_PROBLEMS = 10 };

struct sg_problem {
    int line, column;
    char text[240];
};

struct sg_problems {
    const char *path;
    const char *const *set;
    size_t count;    /* of all problems; a check found one if and only if this has grown */
    size_t repeated; /* of those that repeat a kept one; the first SG_PROBLEMS others are kept */
    struct sg_problem problem[SG_PROBLEMS];
};

/* Adds a problem. The same text for the same position is counted again, and reported once. */
void sg_problem_at(struct sg_problems *p, int line, int column, const char *format, ...) SG_PRINTF(4, 5);
/* Add a problem of a check at the position of a node, or at that of its key. */
#define SG_PROBLEM(c, node, ...)     sg_problem_at((c)->problems, (node)->line, (node)->column, __VA_ARGS__)
#define SG_PROBLEM_KEY(c, node, ...) sg_problem_at((c)->problems, (node)->key_line, (node)->key_column, __VA_ARGS__)
/* Moves those kept problems of `from` that `which` keeps as well. */
void sg_problems_move(struct sg_problems *to, struct sg_problems *from, const struct sg_problems *which);
/* "a, b, c", cut at the end of a name. Returns out. */
enum { SG_LIST_CHARS = 160 };
const char *sg_list_text(char out[SG_LIST_CHARS], const char *const *name, size_t n);
/* Writes the problems into err, ordered by position, one a line. */
sg_status sg_problems_report(const struct sg_problems *p, sg_status status, struct sg_error *err);

/* ---- YAML ---- */

/* Calls sg_node_read, and adds a syntax error to the problems. */
void sg_yaml_parse(struct sg_node *out, const char *text, size_t length, int origin, struct sg_problems *p);

/* Put the value of the --set with this origin into the raw tree. */
void sg_recipe_set(struct sg_node *root, const char *set, int origin, struct sg_problems *p);
/* Put a value whose key is a dotted path into the raw tree. */
void sg_recipe_change(struct sg_node *root, const struct sg_node *change, struct sg_problems *p);

/* ---- schema ---- */

enum sg_value_type {
    SG_VALUE_TEXT,       /* one line of text, at most `max` bytes */
    SG_VALUE_NAME,       /* kebab-case identifier */
    SG_VALUE_SERIES,     /* kebab-case name of a column or constant; resolved to snake_case */
    SG_VALUE_METHOD,     /* label of a method's cell */
    SG_VALUE_CHOICE,     /* one of `choices` */
    SG_VALUE_KIND,       /* kind of recipe; determines which top-level keys exist */
    SG_VALUE_TASK,       /* name of a task kind; determines which contributed keys its section has */
    SG_VALUE_OPTIMIZER,  /* name of an optimizer, with its contributed keys */
    SG_VALUE_FEEDBACK,   /* of a feedback rule, */
    SG_VALUE_COMPRESSOR, /* of a compressor, */
    SG_VALUE_CONTROLLER, /* of a controller, */
    SG_VALUE_CODE,       /* and of a code of numbers, each with its contributed keys */
    SG_VALUE_PLAIN_CODE, /* name of a code that writes every number by itself */
    SG_VALUE_ENCODING,   /* name of an encoding of messages, or auto */
    SG_VALUE_LINK,       /* name of a link of networks, */
    SG_VALUE_SUM,        /* of a collective that adds up, */
    SG_VALUE_EXCHANGE,   /* of any collective, */
    SG_VALUE_OVERLAP,    /* and of a way to overlap exchanges with the backward pass */
    SG_VALUE_NUMBER,
    SG_VALUE_INTEGER,
    SG_VALUE_SIZE, /* bytes, or a text with a unit of bytes, which becomes their number */
    SG_VALUE_BOOLEAN,
    SG_VALUE_EXPRESSION, /* a number or an arithmetic expression; a literal one must lie in [min, max] */
    SG_VALUE_MAP
};

struct sg_schema_row {
    char path[64]; /* from the root; "[]" stands for a list entry: "methods[].compressor" */
    enum sg_value_type type;
    const char *help;
    const char *unit;    /* NULL = none */
    const char *choices; /* "a|b" */
    char preset[48];     /* default as YAML, "" = none: null when absent */
    double min, max;     /* numbers: inclusive */
    bool required;
    size_t constants;           /* EXPRESSION of a task: how many of the task's constants it may contain */
    bool constant;              /* SERIES: the name of a constant is valid, too */
    bool above;                 /* min itself is excluded */
    bool whole;                 /* EXPRESSION: a literal must be a whole number */
    bool in_method;             /* a parameter of a method: its expression may contain gamma, and it may be `match` */
    bool grid;                  /* may be a list of such values, one cell each */
    bool when_given;            /* in the resolved tree only if the recipe gives it */
    bool or_number;             /* MAP, CHOICE: a bare number (CHOICE: a whole one in [min, max]) is valid, too */
    const char *shorthand;      /* MAP: a bare scalar stands for {shorthand: scalar} */
    const char *like;           /* MAP: its keys are those of the section with this path */
    unsigned short least, most; /* minimum and maximum number of entries; most > 0: a list */
    const char *owner; /* the task kind, compressor … that contributes the key, or the kind of recipe that has it */
    bool training;     /* only in recipes of kind `training` */
};

enum { SG_GRID_ENTRIES = 256 }; /* most entries of a list of which each cell has one */

struct sg_schema {
    struct sg_schema_row *row;
    size_t count;
};

/* The static rows with the contributed ones after the key that chooses them. */
void sg_schema_open(struct sg_schema *out);
void sg_schema_close(struct sg_schema *schema);

/* Section a row belongs to ("methods[]", "" for the top level) and its key. */
bool sg_row_in(const struct sg_schema_row *row, const char *section);
const char *sg_row_key(const struct sg_schema_row *row);
bool sg_is_number_type(enum sg_value_type type);
/* True for a type whose value decides which other keys its section has: those from KIND to CODE. */
bool sg_decides_keys(enum sg_value_type type);
/* True if a section of this variant, "" for none, has the key of the row. */
bool sg_row_applies(const struct sg_schema_row *row, const char *variant);
/* Section with the keys of a MAP row. */
void sg_row_section(const struct sg_schema_row *row, char out[64]);
/* The i-th row that a value of a type between KIND and OVERLAP can name, with the parameters that are keys beside the
 * name; a task has other ones. Past the end its name is NULL. */
struct sg_row sg_variant_at(enum sg_value_type type, size_t i);
/* The name of the variant that `word`, which may be another spelling of the name, denotes. NULL = unknown. */
const char *sg_variant_name(enum sg_value_type type, const char *word);

/* Where the parameters of such variants are keys. */
struct sg_owners {
    enum sg_value_type type;
    const char *section, *what; /* "methods[]", "compressor" */
    bool in_method;             /* the parameters may be expressions and lists of values */
};
enum { SG_OWNERS = 5 };
extern const struct sg_owners sg_owners[SG_OWNERS];
/* "at least 1", "between 0 and 1", "greater than 0"; "" if every number is valid. */
enum { SG_RANGE = 96 };
char *sg_range_text(const struct sg_schema_row *row, char out[SG_RANGE]);

/* What a recipe of kind kernels can time. */
#define SG_BENCH_OPERATIONS                                                                                            \
    "ef-threshold|ef-topk-warm|ef-topk-cold|randomk|scatter-add|sum-squares|quickselect|"                              \
    "nth-element|torch-topk|torch-threshold|encode|decode|cub-select|cub-sort|ef-qsgd|lowrank-products|"               \
    "torch-products|ef-powersgd|newton-schulz|torch-newton-schulz"

/* ---- checks ---- */

/* What the cells of a method have in common that have the same entries of its lists. */
struct sg_recipe_run {
    const struct sg_node *method; /* in the recipe's tree */
    struct sg_node resolved;      /* as in sg_cell, without the seed, and with the ranges */
    struct sg_node swept;         /* as in sg_cell */
    char *label;
    size_t base;   /* length in bytes of the label before the words of `swept` */
    size_t trials; /* of its study; 0 = it has no range, or the recipe has no section tune */
};

struct sg_check {
    struct sg_schema schema;
    struct sg_problems *problems;
    struct sg_problems *claim_problems; /* gets the problems of the file's claims and plots; `problems` without --set */
    const struct sg_node *root;         /* the top level as far as it is complete */
    struct sg_recipe_run *run;          /* [n_runs] of the methods; none until the methods have passed their checks */
    size_t n_runs;
    bool series_right;    /* record.series is complete and free of problems */
    struct sg_node swept; /* a map whose keys are those of the cells' swept values */
};

/* Check the raw tree and complete it into *out, which is meaningful only if no problem was added. */
void sg_check_root(struct sg_check *c, const struct sg_node *raw, struct sg_node *out);

/* Replaces seeds, a complete map {first, count} or a text "1..3,7", by a list of numbers with the same position. */
void sg_list_seeds(struct sg_check *c, const struct sg_schema_row *row, const struct sg_node *seeds,
                   struct sg_node *out);

/* A leaf that is not null; *out is a copy of raw, brought into normal form. */
void sg_check_scalar(struct sg_check *c, const struct sg_schema_row *row, const struct sg_node *raw,
                     struct sg_node *out);
/* Add the problem "<key> must be <wanted>, got …". */
void sg_note_wrong(struct sg_check *c, const struct sg_schema_row *row, const struct sg_node *raw, const char *wanted);
/* The value as text for the "…" of sg_note_wrong, in `out` or static. */
const char *sg_describe_value(const struct sg_node *node, char out[80]);
/* out <- what to write in the place of a word: the candidate that it probably means (sg_suggest), or the character that
 * nobody sees in it. Returns whether there is a candidate. */
enum { SG_HINT = 96 };
bool sg_hint(char out[SG_HINT], const char *word, const char *const *candidate, size_t n);

/* Checks that the task can record a name in record.series, and that a name in a claim or plot is recorded. */
void sg_check_series(struct sg_check *c, const struct sg_schema_row *row, const struct sg_node *raw);
/* The names that a value of this row can have in some recipe, as an array; NULL for an axis, which can be any listed
 * key. */
cJSON *sg_series_names(const struct sg_schema_row *row);
/* Checks the two axes of a complete plot: a plot of curves needs series, because constants have no curve. */
void sg_check_axes(struct sg_check *c, const struct sg_node *plot);
/* Checks a complete claim, or its bound: if the metric is a constant of some methods only, this method must have it. */
void sg_check_bound_constant(struct sg_check *c, const struct sg_node *term);
/* Checks that record.series has no name twice. */
void sg_check_series_once(struct sg_check *c, const struct sg_node *series);
/* Writes the names that an expression of this row may contain into name; returns how many, 0 = unknown task. */
size_t sg_expression_names(const struct sg_check *c, const struct sg_schema_row *row, const char *name[SG_NAMES]);

/* Rules that span several keys of one map, called when the map of `section` is complete and free of problems; root is
 * the top level as far as it is complete. They may bring the map into normal form. */
void sg_check_rules(struct sg_check *c, const char *section, const struct sg_node *root, struct sg_node *map);
/* Checks rules that span several keys in the list of methods; fills c->run if there is no problem. */
void sg_check_methods(struct sg_check *c, const struct sg_node *root, const struct sg_node *methods);
/* Checks methods whose k is copied from another one, once the runs are known. */
void sg_check_copied(struct sg_check *c, const struct sg_node *root, const struct sg_node *methods);
/* True if what each worker sends of each layer is recorded at each step. */
bool sg_records_messages(const struct sg_node *root);
/* Sets the key of a cell from its resolved tree. sg_cells_link tells the cells with copied k their sources, and sets
 * their keys again. */
void sg_cell_set_key(struct sg_cell *cell);
void sg_cells_link(struct sg_cell *cells, size_t count);

/* The run with exactly this label; NULL = there is none. */
const struct sg_recipe_run *sg_label_find(const struct sg_check *c, const char *label);
/* True if `name` is the name of a method, which means all of its cells in plots. */
bool sg_is_method(const struct sg_check *c, const char *name);
/* True if `name` is the label of this run without the values of lists. */
bool sg_is_variant_of(const struct sg_recipe_run *run, const char *name);
/* True if `name` is some label without the values of lists outside of the method's parameters. */
bool sg_is_swept_label(const struct sg_check *c, const char *name);
/* Replace each claim, and each entry of a plot's methods, that sg_is_swept_label holds for by one for each label. */
void sg_expand_claims(struct sg_check *c, struct sg_node *claims);
void sg_expand_plot_methods(struct sg_check *c, struct sg_node *methods);

/* ---- ranges, from which each trial draws a value ---- */

/* True for a key that trials may differ in. The task, the workers and the length are the same for all. */
bool sg_may_be_drawn(const char *path);
/* True for "log 1e-3..1" and "linear 0..1", right or wrong. */
bool sg_is_draw(const struct sg_node *raw);
/* Checks a range in place of the value of a key; *out is a copy of raw, whose `choices` it sets. */
void sg_check_draw(struct sg_check *c, const struct sg_schema_row *row, const struct sg_node *raw, struct sg_node *out);
/* A range in the resolved tree of a run; NULL = there is none. */
const struct sg_node *sg_find_draw(const struct sg_node *map);
/* Replaces the ranges of a run by the values that this trial, counted from 1, of so many trials draws in the study of
 * this seed. *drawn <- the map of these, which the caller clears. A draw depends on seed, trial, the number of trials
 * and the key's path alone. */
void sg_draw_values(struct sg_node *resolved, uint64_t seed, size_t trial, size_t trials, struct sg_node *drawn);
/* Appends the seed of a trial, which is *seed and SG_TRIAL_SEEDS, to a run's tree, and makes the run evaluate on the
 * validation part of its task, if that has one. *seed <- the sum. */
void sg_push_trial(struct sg_node *resolved, uint64_t *seed);
/* The trials of a study; 0 = the recipe has no section tune. */
size_t sg_trials(const struct sg_node *root);

/* ---- cells ---- */

enum { SG_LABELS = 4096, SG_CELLS = 10000 };

/* Appends a copy of `from` (NULL: null) to the map under `key`. */
void sg_push_copy(struct sg_node *map, const char *key, const struct sg_node *from);

/* The method's own value of `key`, or the recipe's. */
const struct sg_node *sg_override(const struct sg_node *method, const struct sg_node *root, const char *key);

/* Works as sg_cell_method, on the parts of a cell. A section that is NULL has its presets. */
sg_status sg_read_method(struct sg_method_config *out, double room[SG_METHOD_NUMBERS], const struct sg_node *method,
                         const struct sg_node *feedback, const struct sg_node *message,
                         const struct sg_constant *constants, size_t n, const struct sg_node **at,
                         struct sg_error *err);

/* Appends the runs of a method to the `count` so far, one for each choice from its lists, up to one more than SG_LABELS
 * in all; returns the new count. The lists of the method's parameters come first, and the last list varies fastest.
 * Invalid values of the recipe are kept. */
size_t sg_expand_method(struct sg_recipe_run **run, size_t count, const struct sg_node *root,
                        const struct sg_node *method);
void sg_runs_free(struct sg_recipe_run *run, size_t count);

/* The state that a shared object may change when it is loaded (plugin_guard.c). The end restores the state at the
 * beginning; output on stdout in between goes to stderr. It returns a description of the change, NULL = no change. */
struct sg_compressor_plugin;
struct plugin_guard {
    fenv_t arithmetic;
    char *locale;
    int out;
};
void plugin_guard_begin(struct plugin_guard *g);
const char *plugin_guard_end(struct plugin_guard *g);

/* The row of a compressor that is a file of Python. It is never freed. */
SG_CHECKED sg_status plugin_python_open(const struct sg_compressor_plugin **out, const char *path,
                                        struct sg_error *err);

#endif

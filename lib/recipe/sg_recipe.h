/* sg_recipe.h: YAML in, checked recipe out.
 *
 * A recipe is parsed from libyaml events into a tree of nodes, checked against one schema table (recipe_schema.c)
 * to which compressors, tasks, optimizers and data generators add the keys of their own declarations, and completed
 * with defaults. The same table gives --help-recipe, recipes/README.md, --set and the resolved copy in results.
 * Strict: unknown, duplicate, misplaced, ill-typed, out-of-range or missing keys, anchors, aliases, tags, a second
 * document, depth > 8 and more than 1 MiB are errors with "path:line:column:", up to 10 reported at once. */
#ifndef SG_RECIPE_H
#define SG_RECIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cjson/cJSON.h>

#include "sg_status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum sg_node_kind { SG_NODE_NULL, SG_NODE_BOOL, SG_NODE_NUMBER, SG_NODE_STRING, SG_NODE_LIST, SG_NODE_MAP };

/* A value of the resolved recipe. Maps keep schema order; absent optional keys are present as SG_NODE_NULL. */
struct sg_node {
    enum sg_node_kind kind;
    char *key; /* in a map; NULL in a list or at the root */
    bool boolean;
    double number;
    char *string;          /* STRING: its text. NUMBER: its spelling in the recipe */
    struct sg_node *child; /* [count] */
    size_t count;
    int line, column;         /* of the value, from 1; line 0: a default (column 0) or the s-th --set (column s) */
    int key_line, key_column; /* of its key, the same way */
};

/* The resolved tree has every key of the schema, in the normal form below; values keep the recipe's positions. Only a
 * method's controller and values are absent where the recipe does not give them.
 *   task            kind, then every key of that kind; "start.offset-from-optimum" is a map `start` in `task`
 *   error-feedback  always the map {form, decay} with the form's own keys; in a method null unless it overrides
 *   message         always the map {encoding, values}; likewise
 *   seeds           always the list of numbers
 *   methods         the compressor's parameters stand beside name and compressor: a NUMBER, a STRING (an expression
 *                   over the task's constants and gamma) or a LIST of these; likewise the parameters of a controller
 *                   beside its kind, of values beside their code
 *   claims          at: only the chosen selector, {final: true} or {when, below} …; of at-most and at-least one is
 *                   null, the other a NUMBER or {times, plus, of, metric, at} with nothing left to default
 *   series names    in snake_case, as the columns of results: error-norm becomes error_norm */

/* Dotted look-up from a map ("task.dataset"); NULL when absent. Lists by index: "methods.0.name". '-' and '_' match
 * each other, so code may spell a key as recipes or as results do. */
const struct sg_node *sg_node_get(const struct sg_node *node, const char *path);
/* Typed; the fallback when absent, null or of another kind. */
const char *sg_node_string(const struct sg_node *node, const char *path, const char *fallback);
double sg_node_number(const struct sg_node *node, const char *path, double fallback);
bool sg_node_bool(const struct sg_node *node, const char *path, bool fallback);
cJSON *sg_node_json(const struct sg_node *node); /* keys in snake_case; NULL = no memory */

struct sg_recipe {
    char *path;          /* as given; "<stdin>" for "-" */
    char sha256[65];     /* of the file's bytes */
    struct sg_node root; /* resolved */
    char *text;          /* the file's bytes, NUL-terminated (sparsetune edits it) */
    char **set;          /* [n_set] the --set values that were applied */
    size_t n_set;
    size_t n_told; /* of these, as many are named in results: all but those that say what a result names anyway */
    /* Lines "path:line:column: …": methods and series that the file's claims and plots name and that a --set took away.
     * Who judges claims must refuse them, a single run need not. NULL = none. */
    char *dangling;
};

/* Read, check, apply `set` ("workers=4", "methods.Top-k.k=5", "task.l2=1e-3"; later wins), complete.
 * On failure err->msg holds up to 10 lines "path:line:column: what (what to do)". */
SG_CHECKED sg_status sg_recipe_read(struct sg_recipe *out, const char *path, const char *const *set, size_t n_set,
                                    struct sg_error *err);
SG_CHECKED sg_status sg_recipe_parse(struct sg_recipe *out, const char *text, size_t length, const char *name,
                                     const char *const *set, size_t n_set, struct sg_error *err);
void sg_recipe_free(struct sg_recipe *recipe); /* zeroes it */

/* Where a value of the resolved recipe or of one of its cells stands, to begin a message with: "path:line:column: ",
 * "--set key=value: ", or for a default and for NULL "path: ". Cut at `size`; returns out. */
char *sg_node_place(char *out, size_t size, const struct sg_recipe *recipe, const struct sg_node *node);

/* What --set changed, as it was given: an array of strings. */
cJSON *sg_recipe_set_json(const struct sg_recipe *recipe);
/* {"path","sha256","set","name","title","resolved"}, the "recipe" of a result. */
cJSON *sg_recipe_json(const struct sg_recipe *recipe);

/* One cell of the grid methods x parameter lists x seeds, as one sparsetrain process runs it. */
struct sg_cell {
    char *label;   /* unique per method and parameter values: "Top-k", or "Top-k k=5" when a list is given */
    char *name;    /* of its method: "Top-k" */
    bool baseline; /* the method is drawn as the dashed no-compression line */
    const struct sg_node *method; /* points into `resolved`: the method with single values */
    uint64_t seed;
    struct sg_node resolved; /* all that decides the run, and nothing else: no title, plots, claims, other methods.
                              * Top level: task, workers, batch, steps/epochs, optimizer, error_feedback, scope,
                              * message, record, method (compressor and its parameters; controller and values where
                              * they are given), seed; per-method overrides applied */
    char key[65];            /* SHA-256 of the resolved JSON text */
};

/* All cells, methods in recipe order, seeds innermost. */
SG_CHECKED sg_status sg_recipe_cells(const struct sg_recipe *recipe, struct sg_cell **out, size_t *count,
                                     struct sg_error *err);
void sg_recipe_cells_free(struct sg_cell *cells, size_t count);

/* The labels there are, "'SGD', 'Top-k k=1'", each once and cut at `size`; returns out. */
char *sg_cell_labels(char *out, size_t size, const struct sg_cell *cells, size_t count);
/* Is it a cell of this method, given as the label of the cell or as the method's name, which stands for all of its cells? */
bool sg_cell_is(const struct sg_cell *cell, const char *method);
/* SG_OK if some cell is of this method; else SG_ERR_ARGUMENT with the nearest, or all of them. */
SG_CHECKED sg_status sg_cell_label_check(const struct sg_cell *cells, size_t count, const char *label,
                                         struct sg_error *err);

/* One change to a recipe's text: `value` in the place of the single value that a node has at line:column, or a line
 * with `comment`, line ends in it turned into blanks, before that line; before the one on which a scalar begins that reaches
 * into it, where one does. */
struct sg_recipe_edit {
    int line, column;
    const char *value, *comment; /* YAML text; the other one is NULL */
};

/* The text of a recipe with these changes, everything else the same byte for byte; malloc'ed. Of edits of one place the
 * first counts. SG_ERR_ARGUMENT where no single value stands. */
SG_CHECKED sg_status sg_recipe_edited(char **out, const struct sg_recipe *recipe, const struct sg_recipe_edit *edits,
                                      size_t n, struct sg_error *err);

/* A parameter of a method may be this word: a value that sparsetune is to find. No cell with it can be run. */
#define SG_VALUE_TO_FIND "match"

/* Value of an arithmetic expression over named constants: numbers, + - * / ( ), sqrt(x), names such as L or l2.
 * SG_ERR_ARGUMENT names the offending piece and the names that exist. */
struct sg_constant {
    const char *name;
    double value;
};
SG_CHECKED sg_status sg_expression(double *out, const char *text, const struct sg_constant *constants, size_t n,
                                   struct sg_error *err);

/* ---- what a cell compresses with ---- */

struct sg_method_config;
enum { SG_METHOD_NUMBERS = 96 };

/* Compressor, controller, code and feedback rule of *out, with their parameters: the compressor's, controller's and
 * code's lie in room, to which *out points then. Nothing else of *out is touched. Expressions take the constants' values.
 * *at <- the value that was looked at last: where an error stands. */
SG_CHECKED sg_status sg_cell_method(struct sg_method_config *out, double room[SG_METHOD_NUMBERS],
                                    const struct sg_cell *cell, const struct sg_constant *constants, size_t n,
                                    const struct sg_node **at, struct sg_error *err);
/* The value of a cell's method that a message of sg_method_check or sg_method_open is about: that of the key it begins
 * with, else the method. */
const struct sg_node *sg_method_place(const struct sg_node *method, const char *message);

/* The key reference: plain text for --help-recipe, Markdown for recipes/README.md. */
void sg_recipe_reference(FILE *out, bool markdown);

#ifdef __cplusplus
}
#endif
#endif

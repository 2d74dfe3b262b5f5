/* sg_recipe.h: YAML in, checked recipe out.
 *
 * A recipe is read from libyaml events into a tree of nodes, checked against one schema table (recipe_schema.c), and
 * completed with defaults. Compressors, tasks, optimizers and data generators add the keys that they declare to the
 * table. The same table gives --help-recipe (recipes/REFERENCE.md), --set and the resolved copy in results. The reader
 * is strict: unknown, duplicate, misplaced, ill-typed, out-of-range or missing keys, anchors, aliases, tags, a second
 * document, depth > 8 and more than 1 MiB are errors with "path:line:column:". Up to 10 errors are reported at once. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_RECIPE_H
#define SG_RECIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cjson/cJSON.h>

#include "sg_node.h"
#include "sg_status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The resolved tree has every key of the schema, in the normal form below; values keep the recipe's positions.
 *   task            kind, then every key of that kind; "start.offset-from-optimum" is a map `start` in `task`
 *   error-feedback  always the map {form, decay} and the form's own keys; in a method null unless the method overrides
 *   it
 *   message         always the map {encoding, values}; in a method null unless the method overrides it
 *   seeds           always the list of numbers
 *   methods         the compressor's parameters stand beside name and compressor. Each is a NUMBER, a STRING (an
 *                   expression over the task's constants and gamma) or a LIST of these. The same holds for the
 *                   parameters of `controller` beside its kind and of `values` beside their code; these two sections
 *                   are absent where the recipe does not give them
 *   ranges          a scalar key of the optimizer, the feedback or a method may be a STRING "log 1e-3..1" or
 *                   "linear 0..1" whose node has `choices`: each of the trials of the section tune draws a value
 *   lists           a scalar key of a run, as workers or optimizer.learning-rate, may be a LIST of such values, too; in
 *                   the node of such a list `choices` is true
 *   claims          at: only the chosen selector, {final: true} or {when, below} …. Of at-most and at-least one is
 *                   null; the other is a NUMBER, or {times, plus, of, metric, at} with every default filled in
 *   series names    in snake_case, like the columns of results: error-norm becomes error_norm */

struct sg_recipe {
    char *path;                /* as given; "<stdin>" for "-" */
    char sha256[65];           /* of the file's bytes behind sg_recipe_heading */
    struct sg_node root;       /* resolved */
    struct sg_recipe_run *run; /* [n_runs] the runs that its methods and lists are expanded to (recipe_private.h) */
    size_t n_runs;
    char *text; /* the file's bytes, NUL-terminated */
    char **set; /* [n_set] the --set values, in order */
    size_t n_set;
    size_t n_recorded; /* how many of `set` are written to results: not a --seed, which a result has by itself */
    /* The errors that a --set makes in the file's claims and plots, as lines "path:line:column: …": it may have removed
     * what they name. A program that judges claims must refuse such a recipe; a single run need not. NULL = no errors.
     * What is wrong there without the --set as well is an error of the recipe. */
    char *claim_problems;
};

/* Reads and checks a recipe, applies `set` ("workers=4", "methods.Top-k.k=5", "task.l2=1e-3"; the later one wins) and
 * completes it. On failure err->msg holds up to 10 lines "path:line:column: what (what to do)". */
SG_CHECKED sg_status sg_recipe_read(struct sg_recipe *out, const char *path, const char *const *set, size_t n_set,
                                    struct sg_error *err);
SG_CHECKED sg_status sg_recipe_parse(struct sg_recipe *out, const char *text, size_t length, const char *name,
                                     const char *const *set, size_t n_set, struct sg_error *err);
void sg_recipe_free(struct sg_recipe *recipe); /* zeroes it */

/* Reads the recipe `from` again, with its --set values and then with changes that a program makes: a map of values,
 * which may be null, under the dotted paths of keys; the last of a path counts. Entries of a list are named by their
 * name or their index. Nodes of the user's recipe keep their positions, which errors then name; text and sha256 stay
 * those of `from`. *written, zeroed before, gets the tree before it is completed; the caller clears it. A file with
 * that tree is the same recipe without any --set, except that a --set of one length of runs overrules others. */
SG_CHECKED sg_status sg_recipe_with(struct sg_recipe *out, struct sg_node *written, const struct sg_recipe *from,
                                    const struct sg_node *changes, struct sg_error *err);

/* The position of a value of the resolved recipe or of one of its cells, as prefix of a message: "path:line:column: ",
 * or "--set key=value: ", or "path: " for a default and for NULL. The text is cut at `size`. Returns out. */
char *sg_node_place(char *out, size_t size, const struct sg_recipe *recipe, const struct sg_node *node);

/* The --set values as they were given: an array of strings. */
cJSON *sg_recipe_set_json(const struct sg_recipe *recipe);
/* The "recipe" of a result: {"path","sha256","set","name","title","resolved"}. */
cJSON *sg_recipe_json(const struct sg_recipe *recipe);

/* The trials of the study of seed s run at seed s + SG_TRIAL_SEEDS. So the winner's run at s is a fresh one. */
enum { SG_TRIAL_SEEDS = 1000 };

/* One cell of the grid methods x lists x trials x seeds. One sparsetrain process runs one cell. */
struct sg_cell {
    /* Unique per method and values of lists: "Top-k", or "Top-k k=5" when a list is given. The lists of the compressor
     * come first; those of other keys follow: "Top-k k=5 workers=8". */
    char *label;
    char *group;   /* the label of its result: "Top-k k=5" of a trial "Top-k k=5 trial=2" or "Top-k k=5 winner=2" */
    char *name;    /* the method's name: "Top-k" */
    bool baseline; /* plots draw the method as the dashed line without compression */
    const struct sg_node *method; /* points into `resolved`: the method with single values */
    const char *exchange;         /* methods[].exchange, a name in sg_net.h that is never freed; NULL = not given */
    uint64_t seed;                /* of the run */
    uint64_t study;               /* the recipe's seed to which it belongs: the same, but for a trial */
    /* Exactly the keys that determine the run: no title, plots, claims or other methods. The members of the map are
     * task, workers, batch, steps/epochs, optimizer, error_feedback, scope, message, record, method (compressor and its
     * parameters, and the controller and values that are given) and seed, after the overrides of the method. */
    struct sg_node resolved;
    /* The cell's values of keys that are lists, apart from its method's parameters: a map {workers: 8}. Its keys are as
     * in the label: the last word of the path, or the path if the word is ambiguous ("optimizer.momentum"). */
    struct sg_node swept;
    size_t trial;         /* of the study, from 1; 0 = no key has a range */
    bool winner;          /* the trial's values once more at the study's seed, which is run if the trial wins */
    struct sg_node drawn; /* a map of what the trial drew, {learning_rate: 0.0123}, its keys in snake_case */
    char key[65];         /* SHA-256 of the resolved JSON text */
    /* The key of the cell from whose run k is copied (`k-from`), which must be finished first; NULL = there is none. It
     * points into `resolved`, so that this cell's key depends on all that determines the other run. */
    const char *source;
};

/* Makes all cells in the order of the methods, then of their lists, then of their trials, with seeds innermost. Behind
 * the trials of a label follow the runs of all that may win, one for each trial, and few of these are ever run. */
SG_CHECKED sg_status sg_recipe_cells(const struct sg_recipe *recipe, struct sg_cell **out, size_t *count,
                                     struct sg_error *err);
void sg_recipe_cells_free(struct sg_cell *cells, size_t count);

/* The labels of all cells, "'SGD', 'Top-k k=1'", each once, cut at `size`. Returns out. */
char *sg_cell_labels(char *out, size_t size, const struct sg_cell *cells, size_t count);
/* True if the cell belongs to `method`: its label, the label of its result, which means all of its trials, or the
 * method's name, which means all of its cells. */
bool sg_cell_is(const struct sg_cell *cell, const char *method);
/* SG_OK if some cell is of this method, which `option` names; else SG_ERR_ARGUMENT, with the nearest label or all. */
SG_CHECKED sg_status sg_cell_label_check(const struct sg_cell *cells, size_t count, const char *option,
                                         const char *label, struct sg_error *err);

/* A method's parameter may be this word: a value that sparsetune is to find. A cell with it cannot run. */
#define SG_VALUE_TO_FIND "match"

/* ---- compression of a cell ---- */

struct sg_method_config;
struct sg_constant;
enum { SG_METHOD_NUMBERS = 96 };

/* *out <- compressor, controller, code and feedback rule of the cell, with their parameters. The parameters of
 * compressor, controller and code are stored in room, to which *out then points. Other members of *out are unchanged.
 * Expressions are evaluated with the constants. *at <- the value that was read last, to which an error belongs. */
SG_CHECKED sg_status sg_cell_method(struct sg_method_config *out, double room[SG_METHOD_NUMBERS],
                                    const struct sg_cell *cell, const struct sg_constant *constants, size_t n,
                                    const struct sg_node **at, struct sg_error *err);
/* The node of a cell's method to which an error message of sg_method_check or sg_method_open refers: the value of the
 * key with which the message begins, else the method. */
const struct sg_node *sg_method_place(const struct sg_node *method, const char *message);

/* Returns the length of the first line if that names a JSON Schema for editors, "# yaml-language-server: …", else 0.
 * The line is no part of what is hashed, since it changes nothing and its path depends on the folder. */
size_t sg_recipe_heading(const char *text);
/* Prints the reference of all keys, which --help-recipe and recipes/REFERENCE.md show: Markdown without tables. */
void sg_recipe_reference(FILE *out);
/* Prints the same keys as a JSON Schema, by which editors complete and check recipes: recipes/recipe.schema.json. */
void sg_recipe_json_schema(FILE *out);

/* Prints a row for each compressor: its kind, what it promises, its bits on an example, its publication; as JSON also
 * its parameters. Lines of the table have at most `width` characters; 0 = any number. */
void sg_recipe_compressors(FILE *out, bool json, size_t width);

#ifdef __cplusplus
}
#endif
#endif

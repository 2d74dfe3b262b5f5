/* sg_tune.h: the actions of sparsetune, which choose thresholds of a recipe, or compare its methods, and give evidence.
 *
 * An action runs cells of the recipe through lib/grid in the folder that sparsebench uses. So cells are reused: after
 * an interruption, and by the sparsebench that follows. Nothing here prints. Adding an action takes one file, its name
 * below, and its option in the program with a row of what it runs. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_TUNE_H
#define SG_TUNE_H

#include <stdbool.h>

#include "sg_grid.h"
#include "sg_grid_view.h"
#include "sg_recipe.h"
#include "sg_status.h"

struct sg_tune {
    /* Set by the caller. */
    const struct sg_recipe *recipe;
    struct sg_cell *cells; /* [n_cells] of the recipe */
    size_t n_cells;
    struct sg_grid_options grid; /* recipe_path is a file; `set` has the user's --set; `changed` serves every trial */
    const struct sg_option_list *methods; /* --method: the methods that are tuned, each in the recipe; empty = all */
    const char *metric;                   /* --metric; NULL = the first series of the recipe that its task measures */
    double tolerance;                     /* --tolerance; NaN = the action's own */
    bool padded; /* match-density: a step counts as its largest message, not as the mean over workers */
    /* match-bytes: shares of the bytes sent without compression, separated by commas; or "of:" and a method */
    const char *budgets;
    const char *recording;   /* oracle: the path of the recording */
    const char *rule;        /* rule: "simple", "estimated" or "noise" */
    int64_t points, repeats; /* rule: at how many points the pilot is measured, and how often each worker draws there */
    const char *bandwidths;  /* when: of the networks, Gbit/s, ascending, with commas between; NULL = 0.1 to 100 */
    const char *clusters;    /* when: numbers of workers, ascending, with commas between; NULL = 4 to 256 */
    double target;           /* when: the metric to reach; NaN = the baseline's, within the tolerance */
    const char *candidates;  /* advise: "built-in" methods or those of the "recipe"; NULL = built-in */
    const char *error;       /* advise: what ranks equally fast methods, one of enum advise_error; NULL = the default */
    bool emits;              /* advise: write a recipe, too */
    size_t columns; /* width of the terminal; 0 = no terminal: tables are 80 wide, and the conclusion is not wrapped */
    bool dry_run;   /* check, and report through `say` what would be tuned, without runs and result */
    void (*say)(const char *text); /* receives progress messages of one line each; may be NULL */
    struct sg_grid_view *view;     /* shows the cells that run, as grid.arg; NULL = they are not shown */
    void (*progress)(const char *what, double done, double total); /* of the work in this process; may be NULL */

    /* Set by the action, freed by sg_tune_free. */
    const char *measure; /* match-bytes: the method that the others are to send as much as; NULL = there is none */
    char failed[512]; /* methods for which nothing was found, and why, where the rest is whole; "" = there are none */
    char *text;       /* the recipe with the found values; NULL = the action gives no recipe */
    /* Schema sparsebench/1 if it contains cells, else sparsetune/1. Its "tune": {"action", …} describes the action. */
    cJSON *evidence;
    char *table; /* the evidence as a text for readers; NULL = the recipe is what readers get */
};

/* The actions, each under the name of its option. */
typedef sg_status sg_tune_action(struct sg_tune *t, struct sg_error *err);
sg_tune_action sg_tune_match_density, sg_tune_match_bytes, sg_tune_reach_baseline, sg_tune_oracle, sg_tune_rule,
    sg_tune_theory, sg_tune_when, sg_tune_advise;

void sg_tune_free(struct sg_tune *t);

#endif

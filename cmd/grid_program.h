/* grid_program.h: what sparsebench and sparsetune, the programs that run cells, have in common: the options about
 * cells, how they begin, and the options of their grids. */
/* SPDX-License-Identifier: MIT */
#ifndef GRID_PROGRAM_H
#define GRID_PROGRAM_H

#include <limits.h>

#include "sg_grid.h"
#include "sg_grid_view.h"
#include "sg_json.h"
#include "sg_options.h"
#include "sg_recipe.h"

/* The values of the options about cells. */
extern struct cell_opt {
    const char *launcher, *folder, *data, *device, *program, *help_recipe;
    bool fresh, any_version, memory_check;
    bool under_launcher; /* the program itself is to run as ranks of a launcher */
    int64_t jobs, threads;
    struct sg_option_list set; /* each program defines its own option for it */
    struct sg_option_list plugins;
} cell_opt;

extern const struct sg_option_table cell_options;

/* Returns SG_PARSE_RUN, or the code to exit with. */
int begin_program(const struct sg_program *program, int argc, char **argv, const char **operand, size_t most,
                  size_t *n_operands);

/* Prints the warnings about loaded plug-ins. */
void warn_of_plugins(void);

/* An action is an option that says what else a program does, as --audit. `of` lists what an option belongs to,
 * "run|audit": actions, and `run` for none of them. */
struct option_of {
    const char *option, *of;
};
/* The action that was given of actions [n] into *out, "run" if there is none. False after a message: there are several,
 * or an option of uses [n_uses] was given that does not belong to it. */
bool choose_action(const char **out, const char *const *actions, size_t n, const struct option_of *uses, size_t n_uses);

/* Reads the recipe at `path`, which may be NULL, with --set applied. Returns SG_PARSE_RUN, or the code to exit with. */
int read_recipe(struct sg_recipe *out, const char *path);

/* The "program" of a result: what this build is, and the plug-ins that were loaded, if there are any. */
cJSON *program_json(const char *name, const struct sg_recipe *recipe);

/* A grid, and the data to which its options point. */
struct grid {
    struct sg_grid_options options;
    struct sg_grid_view view;
    char program[PATH_MAX], recipe_path[PATH_MAX], folder[PATH_MAX];
};

/* Sets the options of a grid from those about cells. g must stay where it is. */
void fill_options(struct grid *g, const struct sg_recipe *recipe, const char *path);

/* Finds sparsetrain, and saves the recipe to a file if needed, before cells run. */
SG_CHECKED sg_status prepare_run(struct grid *g, const struct sg_recipe *recipe, struct sg_error *err);

#endif

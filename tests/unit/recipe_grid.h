/* recipe_grid.h: the cells of a recipe in a test. */
/* SPDX-License-Identifier: MIT */
#ifndef RECIPE_GRID_H
#define RECIPE_GRID_H

#include "recipe_case.h"

struct grid {
    struct sg_recipe recipe;
    struct sg_cell *cell;
    size_t count;
};

static bool open_grid(struct grid *g, const char *text, const char *const *set, size_t n_set) {
    struct sg_error err;
    *g = (struct grid){0};
    sg_status status = parse_set(&g->recipe, text, set, n_set, &err);
    SG_DO(status, sg_recipe_cells(&g->recipe, &g->cell, &g->count, &err));
    if (status != SG_OK)
        printf("# %s\n", err.msg);
    return ok(status == SG_OK, "recipe with cells");
}

static void close_grid(struct grid *g) {
    sg_recipe_cells_free(g->cell, g->count);
    sg_recipe_free(&g->recipe);
}

#endif

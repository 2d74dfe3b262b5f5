/* train_once.h: a run of the trainer on a recipe in the test's own text. */
/* SPDX-License-Identifier: MIT */
#ifndef TRAIN_ONCE_H
#define TRAIN_ONCE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sg_train.h"

/* A run of `method` of the recipe `text`; `set` lists changes of it, ended by NULL. `how` leaves recipe and cell open;
 * only rank 0 writes its series. A recipe that is not one ends the test. */
static sg_status train_once(const char *text, const char *method, const char *const *set, struct sg_train_options how,
                            struct sg_error *err) {
    struct sg_recipe recipe;
    struct sg_cell *cells;
    sg_comm *comm = NULL;
    struct sg_train_report report;
    size_t n_set = 0, n = 0, chosen = 0;
    while (set && set[n_set])
        n_set++;
    if (sg_recipe_parse(&recipe, text, strlen(text), "test.yaml", set, n_set, err) != SG_OK ||
        sg_recipe_cells(&recipe, &cells, &n, err) != SG_OK || sg_comm_open(&comm, err) != SG_OK) {
        printf("# %s\n", err->msg);
        exit(1);
    }
    while (chosen < n && strcmp(cells[chosen].label, method) != 0)
        chosen++;
    if (chosen == n) {
        printf("# the test's recipe has no method '%s'\n", method);
        exit(1);
    }
    how.recipe = &recipe;
    how.cell = &cells[chosen];
    if (sg_comm_rank(comm) != 0)
        how.series = NULL;
    const sg_status status = sg_train_run(&report, comm, &how, err);
    sg_comm_close(comm);
    sg_recipe_cells_free(cells, n);
    sg_recipe_free(&recipe);
    return status;
}

#endif

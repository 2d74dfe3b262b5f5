/* recipe_cells.c: makes the cells of a recipe: runs x trials x seeds. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "recipe_private.h"
#include "sg_debug.h"
#include "sg_memory.h"
#include "sg_net.h"
#include "sg_text.h"

/* ---- cells ---- */

static void cell_free(struct sg_cell *cell) {
    free(cell->label);
    free(cell->group);
    free(cell->name);
    sg_node_clear(&cell->resolved);
    sg_node_clear(&cell->swept);
    sg_node_clear(&cell->drawn);
}

/* What a cell is in the study of its run; trial 0: the run has no ranges and so no study. */
struct turn {
    size_t trial;
    bool winner;
};

static struct sg_cell cell_make(const struct sg_recipe_run *run, const struct sg_node *seed, const struct turn *t) {
    const struct sg_collective *exchange = sg_collective_find(sg_node_string(run->method, "exchange", ""));
    const bool trial = t->trial > 0 && !t->winner;
    const char *label = trial ? "%s trial=%zu" : "%s winner=%zu";
    struct sg_cell cell = {.label = t->trial > 0 ? sg_format(label, run->label, t->trial) : sg_strdup(run->label),
                           .group = sg_strdup(run->label),
                           .name = sg_strdup(sg_node_string(run->method, "name", "")),
                           .exchange = exchange ? exchange->name : NULL,
                           .baseline = sg_node_bool(run->method, "baseline", false),
                           .seed = (uint64_t)seed->number,
                           .study = (uint64_t)seed->number,
                           .trial = t->trial,
                           .winner = t->winner};
    sg_node_copy(&cell.swept, &run->swept);
    sg_node_copy(&cell.resolved, &run->resolved);
    if (t->trial > 0)
        sg_draw_values(&cell.resolved, cell.study, t->trial, run->trials, &cell.drawn);
    if (trial)
        sg_push_trial(&cell.resolved, &cell.seed);
    else
        sg_push_copy(&cell.resolved, "seed", seed);
    sg_cell_set_key(&cell);
    cell.method = sg_node_get(&cell.resolved, "method");
    return cell;
}

/* Writes the cells of a run to `out`, and returns how many. */
static size_t make_cells(struct sg_cell *out, const struct sg_recipe_run *run, const struct sg_node *seeds) {
    size_t n = 0;
    for (int winner = 0; winner <= (run->trials > 0); winner++)
        for (size_t trial = run->trials > 0; trial <= run->trials; trial++)
            for (size_t i = 0; i < seeds->count; i++)
                out[n++] = cell_make(run, &seeds->child[i], &(struct turn){trial, winner == 1});
    return n;
}

sg_status sg_recipe_cells(const struct sg_recipe *recipe, struct sg_cell **out, size_t *count, struct sg_error *err) {
    const struct sg_node *seeds = sg_node_get(&recipe->root, "seeds");
    size_t n = 0;
    if (!sg_node_get(&recipe->root, "methods"))
        return sg_fail(err, SG_ERR_ARGUMENT, "%s: a recipe of kind '%s' trains nothing (run it with sparsebench)",
                       recipe->path, sg_node_string(&recipe->root, "kind", "?"));
    for (size_t i = 0; i < recipe->n_runs; i++)
        n += seeds->count * (recipe->run[i].trials > 0 ? 2 * recipe->run[i].trials : 1);
    struct sg_cell *cell = sg_calloc(n + 1, sizeof *cell);
    *count = 0;
    for (size_t i = 0; i < recipe->n_runs; i++)
        *count += make_cells(cell + *count, &recipe->run[i], seeds);
    sg_cells_link(cell, *count);
    SG_TRACE(1, "%s: %zu cells", recipe->path, *count);
    *out = cell;
    return SG_OK;
}

void sg_recipe_cells_free(struct sg_cell *cells, size_t count) {
    for (size_t i = 0; i < count; i++)
        cell_free(&cells[i]);
    free(cells);
}

/* ---- labels ---- */

char *sg_cell_labels(char *out, size_t size, const struct sg_cell *cells, size_t count) {
    SG_ASSERT(size > 0);
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < count && used < size; i++)
        if (i == 0 || strcmp(cells[i].label, cells[i - 1].label) != 0)
            used += (size_t)snprintf(out + used, size - used, "%s'%s'", i ? ", " : "", cells[i].label);
    return out;
}

bool sg_cell_is(const struct sg_cell *cell, const char *method) {
    return strcmp(cell->label, method) == 0 || strcmp(cell->group, method) == 0 || strcmp(cell->name, method) == 0;
}

sg_status sg_cell_label_check(const struct sg_cell *cells, size_t count, const char *option, const char *label,
                              struct sg_error *err) {
    const char **known = sg_calloc(count + 1, sizeof *known);
    bool there = false;
    for (size_t i = 0; i < count; i++) {
        known[i] = cells[i].label;
        there |= sg_cell_is(&cells[i], label);
    }
    const char *near = there ? NULL : sg_suggest(label, known, count);
    char names[512];
    free(known);
    if (there)
        return SG_OK;
    if (near)
        return sg_fail(err, SG_ERR_ARGUMENT, "%s '%s': no such method in the recipe (did you mean '%s'?)", option,
                       label, near);
    return sg_fail(err, SG_ERR_ARGUMENT, "%s '%s': no such method in the recipe; it has %s", option, label,
                   sg_cell_labels(names, sizeof names, cells, count));
}

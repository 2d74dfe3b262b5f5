/* A part of the grid: --method and --seed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sg_grid.h"
#include "sg_text.h"

static bool listed(const char *const *list, size_t n, const char *text) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i], text) == 0)
            return true;
    return false;
}

static const char *seed_text(const struct sg_cell *cell, char out[24]) {
    snprintf(out, 24, "%" PRIu64, cell->seed);
    return out;
}

static sg_status no_such_method(const char *wanted, const char *const *label, size_t count, struct sg_error *err) {
    const char *near = sg_suggest(wanted, label, count);
    if (near)
        return sg_fail(err, SG_ERR_ARGUMENT, "--method '%s': no such method in the recipe (did you mean '%s'?)", wanted,
                       near);
    char names[512] = "";
    for (size_t i = 0; i < count; i++)
        if (i == 0 || strcmp(label[i], label[i - 1]) != 0)
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s'%s'", i ? ", " : "", label[i]);
    return sg_fail(err, SG_ERR_ARGUMENT, "--method '%s': no such method in the recipe; it has %s", wanted, names);
}

static sg_status check_labels(const struct sg_cell *cells, size_t count, const char *const *label, size_t n,
                              struct sg_error *err) {
    const char **known = calloc(count + 1, sizeof *known);
    if (!known)
        return sg_fail_memory(err, "labels");
    for (size_t i = 0; i < count; i++)
        known[i] = cells[i].label;
    sg_status status = SG_OK;
    for (size_t i = 0; i < n && status == SG_OK; i++)
        if (!listed(known, count, label[i]))
            status = no_such_method(label[i], known, count, err);
    free(known);
    return status;
}

static sg_status check_seeds(const struct sg_cell *cells, size_t count, const char *const *seed, size_t n,
                             struct sg_error *err) {
    for (size_t s = 0; s < n; s++) {
        char text[24] = "";
        for (size_t i = 0; i < count && strcmp(text, seed[s]) != 0; i++)
            seed_text(&cells[i], text);
        if (strcmp(text, seed[s]) != 0)
            return sg_fail(err, SG_ERR_ARGUMENT, "--seed %s: not a seed of the recipe (add --set 'seeds=[%s]')",
                           seed[s], seed[s]);
    }
    return SG_OK;
}

sg_status sg_grid_choose(size_t *chosen, struct sg_cell *cells, size_t count, const char *const *label, size_t n_labels,
                         const char *const *seed, size_t n_seeds, struct sg_error *err) {
    sg_status status = check_labels(cells, count, label, n_labels, err);
    if (status == SG_OK)
        status = check_seeds(cells, count, seed, n_seeds, err);
    if (status != SG_OK)
        return status;
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        char text[24];
        if ((n_labels > 0 && !listed(label, n_labels, cells[i].label)) ||
            (n_seeds > 0 && !listed(seed, n_seeds, seed_text(&cells[i], text))))
            continue;
        struct sg_cell keep = cells[i];
        memmove(&cells[n + 1], &cells[n], (i - n) * sizeof *cells);
        cells[n++] = keep;
    }
    *chosen = n;
    return SG_OK;
}

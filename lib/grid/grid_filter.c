/* grid_filter.c: chooses the cells that --method and --seed name. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sg_grid.h"

static bool listed(const char *const *list, size_t n, const char *text) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i], text) == 0)
            return true;
    return false;
}

static bool of_listed(const char *const *method, size_t n, const struct sg_cell *cell) {
    for (size_t i = 0; i < n; i++)
        if (sg_cell_is(cell, method[i]))
            return true;
    return false;
}

static const char *seed_text(const struct sg_cell *cell, char out[24]) {
    snprintf(out, 24, "%" PRIu64, cell->seed);
    return out;
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

sg_status sg_grid_choose(size_t *chosen, struct sg_cell *cells, size_t count, const char *const *method,
                         size_t n_methods, const char *const *seed, size_t n_seeds, struct sg_error *err) {
    sg_status status = SG_OK;
    for (size_t i = 0; i < n_methods && status == SG_OK; i++)
        status = sg_cell_label_check(cells, count, method[i], err);
    if (status == SG_OK)
        status = check_seeds(cells, count, seed, n_seeds, err);
    if (status != SG_OK)
        return status;
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        char text[24];
        if ((n_methods > 0 && !of_listed(method, n_methods, &cells[i])) ||
            (n_seeds > 0 && !listed(seed, n_seeds, seed_text(&cells[i], text))))
            continue;
        struct sg_cell keep = cells[i];
        memmove(&cells[n + 1], &cells[n], (i - n) * sizeof *cells);
        cells[n++] = keep;
    }
    *chosen = n;
    return SG_OK;
}

/* grid_filter.c: chooses the cells that --method and --seed name. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sg_grid.h"

/* Is nothing listed, or the text? */
static bool listed(const struct sg_option_list *list, const char *text) {
    size_t i = 0;
    while (list && i < list->count && strcmp(list->item[i], text) != 0)
        i++;
    return !list || list->count == 0 || i < list->count;
}

static bool of_listed(const struct sg_option_list *methods, const struct sg_cell *cell) {
    size_t i = 0;
    while (i < methods->count && !sg_cell_is(cell, methods->item[i]))
        i++;
    return methods->count == 0 || i < methods->count;
}

static const char *seed_text(const struct sg_cell *cell, char out[24]) {
    snprintf(out, 24, "%" PRIu64, cell->seed);
    return out;
}

static sg_status check_seed(const struct sg_cell *cells, size_t count, const char *seed, struct sg_error *err) {
    char text[24];
    for (size_t i = 0; i < count; i++)
        if (strcmp(seed_text(&cells[i], text), seed) == 0)
            return SG_OK;
    return sg_fail(err, SG_ERR_ARGUMENT, "--seed %s: not a seed of the recipe (add --set 'seeds=[%s]')", seed, seed);
}

sg_status sg_grid_choose(size_t *chosen, struct sg_cell *cells, size_t count, const struct sg_option_list *methods,
                         const struct sg_option_list *seeds, struct sg_error *err) {
    sg_status status = SG_OK;
    for (size_t i = 0; i < methods->count && status == SG_OK; i++)
        status = sg_cell_label_check(cells, count, methods->item[i], err);
    for (size_t i = 0; seeds && i < seeds->count && status == SG_OK; i++)
        status = check_seed(cells, count, seeds->item[i], err);
    if (status != SG_OK)
        return status;
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        char text[24];
        if (!of_listed(methods, &cells[i]) || !listed(seeds, seed_text(&cells[i], text)))
            continue;
        struct sg_cell keep = cells[i];
        memmove(&cells[n + 1], &cells[n], (i - n) * sizeof *cells);
        cells[n++] = keep;
    }
    *chosen = n;
    return SG_OK;
}

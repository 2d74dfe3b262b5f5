/* grid_filter.c: chooses the cells that --method, --seed and --part name. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "grid_private.h"
#include "sg_memory.h"
#include "sg_text.h"

static bool has_seed(const struct sg_cell *cell, const char *seed) {
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, cell->study);
    return strcmp(text, seed) == 0;
}

bool grid_is_listed(const struct sg_option_list *list, const struct sg_cell *cell,
                    bool (*is)(const struct sg_cell *cell, const char *item)) {
    size_t i = 0;
    while (list && i < list->count && !is(cell, list->item[i]))
        i++;
    return !list || list->count == 0 || i < list->count;
}

static sg_status check_seed(const struct sg_cell *cells, size_t count, const char *seed, struct sg_error *err) {
    for (size_t i = 0; i < count; i++)
        if (has_seed(&cells[i], seed))
            return SG_OK;
    return sg_fail(err, SG_ERR_ARGUMENT, "--seed %s: not a seed of the recipe (add --set 'seeds=[%s]')", seed, seed);
}

void grid_keep(struct sg_cell *cells, size_t *n, size_t i) {
    const struct sg_cell cell = cells[i];
    memmove(&cells[*n + 1], &cells[*n], (i - *n) * sizeof *cells);
    cells[(*n)++] = cell;
}

sg_status sg_grid_choose(size_t *chosen, struct sg_cell *cells, size_t count, const struct sg_option_list *methods,
                         const struct sg_option_list *seeds, struct sg_error *err) {
    sg_status status = SG_OK;
    for (size_t i = 0; i < methods->count && status == SG_OK; i++)
        status = sg_cell_label_check(cells, count, "--method", methods->item[i], err);
    for (size_t i = 0; seeds && i < seeds->count && status == SG_OK; i++)
        status = check_seed(cells, count, seeds->item[i], err);
    if (status != SG_OK)
        return status;
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (grid_is_listed(methods, &cells[i], sg_cell_is) && grid_is_listed(seeds, &cells[i], has_seed))
            grid_keep(cells, &n, i);
    *chosen = n;
    return SG_OK;
}

size_t grid_source(const struct sg_cell *cells, size_t count, size_t cell) {
    size_t i = 0;
    while (i < count && strcmp(cells[i].key, cells[cell].source) != 0)
        i++;
    return i;
}

/* The place of cell i in the division into parts: that of the cell from which it copies k, which its part must run, or
 * of the first trial of its study, which is judged as a whole. */
static size_t place_of(const struct sg_cell *cells, size_t count, size_t i) {
    const size_t source = cells[i].source ? grid_source(cells, count, i) : count;
    size_t place = source < count ? source : i;
    for (size_t j = i; cells[i].trial > 0 && j-- > 0 && strcmp(cells[j].group, cells[i].group) == 0;)
        place = cells[j].study == cells[i].study ? j : place;
    return place;
}

sg_status sg_grid_choose_part(size_t *chosen, struct sg_cell *cells, size_t count, const char *part,
                              struct sg_error *err) {
    int64_t index, parts;
    char text[24];
    const size_t length = strcspn(part, "/");
    snprintf(text, sizeof text, "%.*s", (int)(length < sizeof text ? length : 0), part);
    if (part[length] != '/' || !sg_parse_integer(&parts, part + length + 1, 1, INT32_MAX) ||
        !sg_parse_integer(&index, text, 1, parts))
        return sg_fail(err, SG_ERR_ARGUMENT, "--part %s: must be I/N with I from 1 to N, as 3/8", part);
    size_t n = 0, *place = sg_malloc((count + 1) * sizeof *place);
    for (size_t i = 0; i < count; i++)
        place[i] = place_of(cells, count, i);
    for (size_t i = 0; i < count; i++)
        if (place[i] % (size_t)parts == (size_t)index - 1)
            grid_keep(cells, &n, i);
    free(place);
    *chosen = n;
    return SG_OK;
}

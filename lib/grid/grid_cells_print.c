/* grid_cells_print.c: prints the list of a folder's cells, for people and as JSON. */
#include <math.h>
#include <string.h>

#include "grid_private.h"
#include "sg_grid_cells.h"
#include "sg_table.h"

static const char *const state_name[] = {"finished", "checkpoint", "broken"};

/* Up to `below` a number is shown by `by` in this format. */
struct scale {
    double below, by;
    const char *format;
};
static const struct scale ages[] = {
    {120, 1, "%.0f s"}, {7200, 60, "%.0f min"}, {172800, 3600, "%.0f h"}, {INFINITY, 86400, "%.0f d"}};
static const struct scale sizes[] = {
    {1e3, 1, "%.0f B"}, {1e6, 1e3, "%.1f kB"}, {1e9, 1e6, "%.1f MB"}, {INFINITY, 1e9, "%.1f GB"}};

static const char *scaled(double x, const struct scale *s, char out[16]) {
    while (x >= s->below)
        s++;
    snprintf(out, 16, s->format, x / s->by);
    return out;
}

/* The label; for a series that cannot be read, the file's name. */
static const char *label_of(const struct sg_cell_file *f) {
    const char *slash = strrchr(f->path, '/');
    return sg_json_string(f->header, "method", slash ? slash + 1 : f->path);
}

sg_status sg_grid_cells_table(FILE *out, const struct sg_cell_files *files, const char *folder, bool marked,
                              size_t width, struct sg_error *err) {
    static const struct sg_table_column columns[] = {
        {.head = "state", .weight = SG_TABLE_ALWAYS},
        {.head = "use", .weight = SG_TABLE_ALWAYS},
        {.head = "key", .weight = 2},
        {.head = "seed", .align = SG_TABLE_RIGHT, .weight = SG_TABLE_ALWAYS},
        {.head = "age", .align = SG_TABLE_RIGHT, .weight = SG_TABLE_ALWAYS},
        {.head = "size", .align = SG_TABLE_RIGHT, .weight = 3},
        {.head = "version", .weight = 1},
        {.head = "label; data", .align = SG_TABLE_WORDS, .weight = SG_TABLE_ALWAYS},
    };
    sg_table *t = sg_table_open(NULL, 0);
    double bytes = 0;
    char age[16], size[16], data[DATA_TEXT];
    for (size_t i = 0; i < files->count; i++)
        bytes += files->item[i].bytes;
    fprintf(out, "# %s: %zu cells, %s\n", folder, files->count, scaled(bytes, sizes, size));
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (marked || strcmp(columns[i].head, "use") != 0)
            sg_table_column(t, &columns[i]);
    for (size_t i = 0; i < files->count; i++) {
        const struct sg_cell_file *f = &files->item[i];
        sg_table_cell(t, state_name[f->state], NULL);
        if (marked)
            sg_table_cell(t, f->asked ? "asked" : sg_grid_cells_spare(f) ? "spare" : "foreign", NULL);
        sg_table_format(t, "%.12s", sg_json_string(f->header, "cell_key", "?"));
        sg_table_cell(t, sg_json_string(f->header, "seed", "?"), NULL);
        sg_table_cell(t, scaled(f->age_s > 0 ? f->age_s : 0, ages, age), NULL);
        sg_table_cell(t, scaled(f->bytes, sizes, size), NULL);
        sg_table_cell(t, sg_json_string(f->header, "program.identity", "?"), NULL);
        if (f->header)
            sg_table_format(t, "%s; %s", label_of(f), grid_data_text(data, sg_json_get(f->header, "dataset")));
        else
            sg_table_cell(t, label_of(f), NULL);
    }
    const struct sg_table_lines how = {.width = width, .mark = "# ", .inset = true};
    const sg_status status = sg_table_write_lines(out, t, &how, err);
    sg_table_free(t);
    return status;
}

cJSON *sg_grid_cells_json(const struct sg_cell_files *files, const char *folder, bool marked) {
    cJSON *out = cJSON_CreateObject(), *list = cJSON_CreateArray();
    for (size_t i = 0; i < files->count; i++) {
        const struct sg_cell_file *f = &files->item[i];
        const cJSON *dataset = sg_json_get(f->header, "dataset");
        cJSON *cell = cJSON_CreateObject();
        sg_json_set_string(cell, "state", state_name[f->state]);
        sg_json_set_string(cell, "file", f->path);
        sg_json_set_string(cell, "cell_key", sg_json_string(f->header, "cell_key", NULL));
        sg_json_set_string(cell, "label", sg_json_string(f->header, "method", NULL));
        sg_json_set_string(cell, "seed", sg_json_string(f->header, "seed", NULL));
        sg_json_set(cell, "dataset", dataset ? cJSON_Duplicate(dataset, true) : NULL);
        sg_json_set_string(cell, "identity", sg_json_string(f->header, "program.identity", NULL));
        sg_json_set_number(cell, "age_s", f->age_s);
        sg_json_set_number(cell, "bytes", f->bytes);
        if (marked)
            sg_json_set_bool(cell, "asked", f->asked);
        else
            sg_json_set(cell, "asked", NULL);
        sg_json_push(list, cell);
    }
    sg_json_set_string(out, "schema", "sparsebench-cells/1");
    sg_json_set_string(out, "folder", folder);
    sg_json_set(out, "cells", list);
    return out;
}

/* grid_cells_print.c: prints the list of a folder's cells, for people and as JSON. */
#include <math.h>
#include <string.h>

#include "grid_private.h"
#include "sg_grid_cells.h"

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

void sg_grid_cells_table(FILE *out, const struct sg_cell_files *files, const char *folder, bool marked) {
    double bytes = 0;
    char age[16], size[16], data[DATA_TEXT];
    for (size_t i = 0; i < files->count; i++)
        bytes += files->item[i].bytes;
    fprintf(out, "# %s: %zu cells, %s\n", folder, files->count, scaled(bytes, sizes, size));
    fprintf(out, "# %-10s  %s%-12s  %4s  %7s  %8s  %-18s  %s; %s\n", "state", marked ? "use     " : "", "key", "seed",
            "age", "size", "version", "label", "data");
    for (size_t i = 0; i < files->count; i++) {
        const struct sg_cell_file *f = &files->item[i];
        const char *use = !marked ? "" : f->asked ? "asked   " : sg_grid_cells_spare(f) ? "spare   " : "foreign ";
        fprintf(out, "  %-10s  %s%-12.12s  %4s  %7s  %8s  %-18s  %s", state_name[f->state], use,
                sg_json_string(f->header, "cell_key", "?"), sg_json_string(f->header, "seed", "?"),
                scaled(f->age_s > 0 ? f->age_s : 0, ages, age), scaled(f->bytes, sizes, size),
                sg_json_string(f->header, "program.identity", "?"), label_of(f));
        if (f->header)
            fprintf(out, "; %s", grid_data_text(data, sg_json_get(f->header, "dataset")));
        fputc('\n', out);
    }
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

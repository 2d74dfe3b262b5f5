/* grid_cells_print.c: prints the list of a folder's cells, for people and as JSON. */
#include <string.h>

#include "grid_private.h"
#include "sg_grid_cells.h"

static const char *const state_name[] = {"finished", "checkpoint", "broken"};

static const char *age_text(double age_s, char out[16]) {
    if (age_s < 120)
        snprintf(out, 16, "%.0f s", age_s > 0 ? age_s : 0);
    else if (age_s < 7200)
        snprintf(out, 16, "%.0f min", age_s / 60);
    else if (age_s < 172800)
        snprintf(out, 16, "%.0f h", age_s / 3600);
    else
        snprintf(out, 16, "%.0f d", age_s / 86400);
    return out;
}

static const char *size_text(double bytes, char out[16]) {
    if (bytes < 1e3)
        snprintf(out, 16, "%.0f B", bytes);
    else if (bytes < 1e6)
        snprintf(out, 16, "%.1f kB", bytes / 1e3);
    else if (bytes < 1e9)
        snprintf(out, 16, "%.1f MB", bytes / 1e6);
    else
        snprintf(out, 16, "%.1f GB", bytes / 1e9);
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
    fprintf(out, "# %s: %zu cells, %s\n", folder, files->count, size_text(bytes, size));
    fprintf(out, "# %-10s  %s%-12s  %4s  %7s  %8s  %-18s  %s; %s\n", "state", marked ? "use     " : "", "key", "seed",
            "age", "size", "version", "label", "data");
    for (size_t i = 0; i < files->count; i++) {
        const struct sg_cell_file *f = &files->item[i];
        const char *use = !marked ? "" : f->asked ? "asked   " : sg_grid_cells_spare(f) ? "spare   " : "foreign ";
        fprintf(out, "  %-10s  %s%-12.12s  %4s  %7s  %8s  %-18s  %s", state_name[f->state], use,
                sg_json_string(f->header, "cell_key", "?"), sg_json_string(f->header, "seed", "?"),
                age_text(f->age_s, age), size_text(f->bytes, size), sg_json_string(f->header, "program.identity", "?"),
                label_of(f));
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

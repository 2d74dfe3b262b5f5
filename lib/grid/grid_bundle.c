/* grid_bundle.c: makes bundles of results, writes and reads them, and checks those that are given. */
/* SPDX-License-Identifier: MIT */
#include "sg_bundle.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "grid_private.h"
#include "sg_audit.h"
#include "sg_file.h"
#include "sg_memory.h"
#include "sg_text.h"

static const char sums_name[] = "SHA256SUMS", sum_name[] = "SHA256SUMS.sha256";
enum { MOST_BYTES = 1 << 30 }; /* of a file that goes into a bundle */

sg_status sg_bundle_result(struct sg_document *out, const char *text, size_t length, const char *path,
                           struct sg_error *err) {
    cJSON *json = NULL;
    sg_status status = sg_json_parse(&json, text, length, path, err);
    SG_DO(status, sg_schema_check(sg_json_string(json, "schema", NULL), SG_SCHEMA_BENCH, path, err));
    if (status == SG_OK && sg_json_get(json, "kind"))
        status = sg_fail(err, SG_ERR_ARGUMENT, "%s has times of kernels, which no run gives again", path);
    if (status == SG_OK)
        return sg_document_read(out, json, path, err);
    cJSON_Delete(json);
    return status;
}

/* ---- the files ---- */

/* True if a bundle may have a file of this name: one of those above, or the series of a cell. */
static bool is_known(const char *name) {
    static const char *const known[] = {"SHA256SUMS", "SHA256SUMS.sha256", "bundle.json", "recipe.yaml", "result.json"};
    const char *cell = strncmp(name, "cells/", 6) == 0 ? name + 6 : NULL, *dot = strrchr(name, '.');
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i]) == 0)
            return true;
    return cell && *cell != '.' && !strchr(cell, '/') && dot && strcmp(dot, ".ndjson") == 0;
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct sg_bundle_file *)a)->name, ((const struct sg_bundle_file *)b)->name);
}

const struct sg_bundle_file *sg_bundle_file(const struct sg_bundle *bundle, const char *name) {
    for (size_t i = 0; i < bundle->n; i++)
        if (strcmp(bundle->file[i].name, name) == 0)
            return &bundle->file[i];
    return NULL;
}

/* Adds a file, which takes over name and data, unless there is one of that name: equal runs under two labels are one
 * cell. */
static void add(struct sg_bundle *b, char *take_name, char *take_data, size_t length) {
    if (sg_bundle_file(b, take_name)) {
        free(take_name);
        free(take_data);
        return;
    }
    b->file = sg_realloc(b->file, (b->n + 1) * sizeof *b->file);
    b->file[b->n++] = (struct sg_bundle_file){take_name, take_data, length};
}

static sg_status add_file(struct sg_bundle *b, const char *name, const char *path, struct sg_error *err) {
    char *text;
    size_t length;
    sg_status status = sg_file_read_regular(&text, &length, path, MOST_BYTES, err);
    if (status == SG_OK)
        add(b, sg_strdup(name), text, length);
    return status;
}

/* ---- making ---- */

/* A bundle in the making. */
struct packing {
    struct sg_bundle bundle;
    struct sg_document result;
    cJSON *cells;
};

/* Packs the recipe: the file that the result names, or if that has changed or was standard input the copy that
 * sparsebench left in the folder of the cells. */
static sg_status pack_recipe(struct packing *p, const char *folder, struct sg_error *err) {
    const struct sg_document_recipe *recipe = p->result.recipe;
    const char *path = sg_or(recipe ? recipe->path : NULL, ""), *sha256 = sg_or(recipe ? recipe->sha256 : NULL, "");
    char *copy = sg_format("%s/recipe-%.12s.yaml", folder, sha256), hex[65];
    const char *const from[] = {path, copy};
    struct sg_error unused;
    for (size_t i = 0; i < 2; i++) {
        char *text;
        size_t length;
        if (sg_file_read_regular(&text, &length, from[i], MOST_BYTES, &unused) != SG_OK)
            continue;
        const size_t heading = sg_recipe_heading(text);
        sg_sha256_of(text + heading, length - heading, hex);
        if (strcmp(hex, sha256) == 0) {
            free(copy);
            add(&p->bundle, sg_strdup("recipe.yaml"), text, length);
            return SG_OK;
        }
        free(text);
    }
    free(copy);
    return sg_fail(err, SG_ERR_MISMATCH,
                   "the recipe of this result, SHA-256 %.12s, is not at %s: it is missing or has changed since", sha256,
                   path);
}

/* True if the file `name` with this run is the cell of the result: as far as it says, and by the key in its name. */
static bool is_cell(const struct sg_run *run, const char *name, const struct sg_document_cell *cell) {
    const char *dash = strrchr(name, '-'), *dot = strrchr(name, '.'),
               *key = sg_json_string(run->header, "cell_key", "");
    return dash && dot && dash < dot && strncmp(key, dash + 1, (size_t)(dot - dash) - 1) == 0 &&
           strcmp(sg_json_string(run->header, "seed", ""), sg_or(cell->seed, "?")) == 0 &&
           strcmp(sg_json_string(run->end, "status", ""), sg_or(cell->status, "?")) == 0;
}

/* Packs the series of a cell of the result. */
static sg_status pack_cell(struct packing *p, const struct sg_document_cell *cell, const char *label,
                           const char *folder, struct sg_error *err) {
    const char *file = sg_or(cell->file, ""), *slash = strrchr(file, '/');
    const char *name = slash ? slash + 1 : file, *seed = sg_or(cell->seed, "");
    char *path = folder ? sg_format("%s/%s", folder, name) : sg_strdup(file), *member = sg_format("cells/%s", name),
         *text = NULL;
    size_t length = 0;
    struct sg_run run = {0};
    sg_status status = sg_file_read_regular(&text, &length, path, MOST_BYTES, err);
    if (status != SG_OK)
        status = sg_prefix(err, "'%s', seed %s (--folder DIR says where the cells are): ", label, seed);
    SG_DO(status, sg_run_parse(&run, text, length, path, err));
    if (status == SG_OK && run.damaged)
        status = sg_fail(err, SG_ERR_FORMAT, "%s is damaged: its bytes do not have the checksum in it", path);
    if (status == SG_OK && (!is_cell(&run, name, cell) || !is_known(member)))
        status =
            sg_fail(err, SG_ERR_FORMAT, "%s is not the run of '%s', seed %s, that the result has", path, label, seed);
    if (status == SG_OK) {
        sg_json_push(p->cells, grid_bundle_cell(&run, cell, label, member));
        add(&p->bundle, member, text, length);
        member = text = NULL;
    }
    sg_run_free(&run);
    free(text);
    free(member);
    free(path);
    return status;
}

static sg_status pack_cells(struct packing *p, const char *folder, struct sg_error *err) {
    sg_status status = SG_OK;
    for (size_t l = 0; l < p->result.results.n_labels; l++) {
        const struct sg_frame_label *label = &p->result.results.label[l];
        for (size_t i = 0; i < label->n_cells; i++)
            if (sg_run_status_is_finished(sg_or(label->cells[i].status, "")))
                SG_DO(status, pack_cell(p, &label->cells[i], label->label, folder, err));
    }
    if (status == SG_OK && cJSON_GetArraySize(p->cells) == 0)
        status = sg_fail(err, SG_ERR_ARGUMENT, "the result has no finished cell");
    return status;
}

cJSON *grid_bundle_cell(const struct sg_run *run, const struct sg_document_cell *cell, const char *label,
                        const char *file) {
    const cJSON *segment = cJSON_GetArrayItem(sg_json_get(run->run, "segments"), 0);
    return SG_OBJECT(SG_TEXT("label", label), SG_TEXT("seed", sg_or(cell->seed, "")), SG_NUMBER("trial", cell->trial),
                     SG_TEXT("status", sg_or(cell->status, "")),
                     SG_TEXT("cell_key", sg_json_string(run->header, "cell_key", "")),
                     SG_TEXT("identity", sg_json_string(run->header, "program.identity", NULL)),
                     SG_TEXT("kernels", sg_json_string(run->run, "kernels", NULL)),
                     SG_TEXT("processor", sg_json_string(segment, "processor", NULL)), SG_TEXT("file", file));
}

cJSON *grid_bundle_about(const struct sg_document *r, cJSON *take_cells) {
    static const struct sg_document_recipe none = {0};
    const struct sg_document_recipe *recipe = r->recipe ? r->recipe : &none;
    return SG_OBJECT(
        SG_TEXT("schema", SG_SCHEMA_BUNDLE), SG_TEXT("name", recipe->name),
        SG_VALUE("recipe", SG_OBJECT(SG_TEXT("path", recipe->path), SG_TEXT("sha256", recipe->sha256),
                                     SG_VALUE("set", sg_text_list_json(&recipe->set)))),
        SG_VALUE("dataset", sg_json_copy(r->dataset ? r->dataset->from : NULL)),
        SG_VALUE("program", sg_json_copy(r->program ? r->program->from : NULL)),
        SG_VALUE("identities", sg_text_list_json(&r->identities)), SG_VALUE("libraries", sg_json_copy(r->libraries)),
        SG_VALUE("tolerance", sg_audit_tolerance_json(sg_document_task(r))), SG_VALUE("cells", take_cells));
}

/* Parses bundle.json. */
static sg_status read_about(struct sg_bundle *b, const char *path, struct sg_error *err) {
    const struct sg_bundle_file *about = sg_bundle_file(b, "bundle.json");
    sg_status status = sg_json_parse(&b->about, about->data, about->length, path, err);
    SG_DO(status, sg_schema_check(sg_json_string(b->about, "schema", NULL), SG_SCHEMA_BUNDLE, path, err));
    return status;
}

/* Packs bundle.json, which takes over the list of cells. */
static sg_status pack_about(struct packing *p, struct sg_error *err) {
    cJSON *about = grid_bundle_about(&p->result, p->cells);
    p->cells = NULL;
    char *text = sg_json_text(about, true);
    cJSON_Delete(about);
    add(&p->bundle, sg_strdup("bundle.json"), text, strlen(text));
    return read_about(&p->bundle, "bundle.json", err);
}

/* The list of checksums that belongs to these files. */
static char *sums_text(const struct sg_bundle *b) {
    char *text = NULL, hex[65];
    size_t size;
    FILE *out = sg_memstream(&text, &size);
    for (size_t i = 0; i < b->n; i++) {
        const struct sg_bundle_file *f = &b->file[i];
        if (strcmp(f->name, sums_name) == 0 || strcmp(f->name, sum_name) == 0)
            continue;
        sg_sha256_of(f->data, f->length, hex);
        fprintf(out, "%s  %s\n", hex, f->name);
    }
    return sg_stream_text(out, &text);
}

/* Packs the checksums of all files so far, in the order of their names, and that of the list. */
static void pack_sums(struct sg_bundle *b) {
    qsort(b->file, b->n, sizeof *b->file, by_name);
    char *text = sums_text(b);
    sg_sha256_of(text, strlen(text), b->sha256);
    add(b, sg_strdup(sums_name), text, strlen(text));
    text = sg_format("%s  %s\n", b->sha256, sums_name);
    add(b, sg_strdup(sum_name), text, strlen(text));
}

sg_status sg_bundle_make(struct sg_bundle *out, const char *path, const char *folder, struct sg_error *err) {
    struct packing p = {.cells = cJSON_CreateArray()};
    sg_status status = add_file(&p.bundle, "result.json", path, err);
    SG_DO(status, sg_bundle_result(&p.result, p.bundle.file[0].data, p.bundle.file[0].length, path, err));
    SG_DO(status, pack_recipe(&p, folder ? folder : sg_or(p.result.run ? p.result.run->folder : NULL, "."), err));
    SG_DO(status, pack_cells(&p, folder, err));
    SG_DO(status, pack_about(&p, err));
    if (status == SG_OK)
        pack_sums(&p.bundle);
    sg_document_free(&p.result);
    cJSON_Delete(p.cells);
    if (status == SG_OK)
        *out = p.bundle;
    else
        sg_bundle_close(&p.bundle);
    return status;
}

/* ---- the folder ---- */

/* Removes the files of a bundle, and the folder if it has no others. The checksum of the list goes first, so that what
 * is left after a kill is no bundle. */
static void remove_bundle(const char *folder) {
    char *path = sg_format("%s/%s", folder, sum_name), *cells = sg_format("%s/cells", folder);
    const char *const in[] = {cells, folder};
    (void)!unlink(path);
    free(path);
    for (size_t k = 0; k < 2; k++) {
        DIR *dir = opendir(in[k]);
        for (struct dirent *entry; dir && (entry = readdir(dir));) {
            char *name = sg_format("%s%s", k == 0 ? "cells/" : "", entry->d_name);
            path = sg_format("%s/%s", in[k], entry->d_name);
            if (is_known(name))
                (void)!unlink(path);
            free(name);
            free(path);
        }
        if (dir)
            closedir(dir);
        (void)!rmdir(in[k]);
    }
    free(cells);
}

static sg_status write_file(const struct sg_bundle_file *f, const char *folder, struct sg_error *err) {
    char *path = sg_format("%s/%s", folder, f->name);
    sg_status status = sg_file_replace(path, f->data, f->length, err);
    free(path);
    return status;
}

sg_status sg_bundle_write(const struct sg_bundle *b, const char *folder, bool replace, struct sg_error *err) {
    char *cells = sg_format("%s/cells", folder);
    if (replace)
        remove_bundle(folder);
    sg_status status = SG_OK;
    (void)!rmdir(folder); /* an empty one */
    if (mkdir(folder, 0777) != 0)
        status = errno != EEXIST ? sg_fail_errno(err, SG_ERR_IO, "cannot make the folder %s", folder)
                                 : sg_fail(err, SG_ERR_ARGUMENT, "%s is there already%s", folder,
                                           replace ? ", with files that are no part of a bundle: name another folder"
                                                   : ": --force replaces a bundle");
    else {
        status = sg_folder_make(cells, err);
        for (size_t i = 0; i < b->n; i++)
            if (strcmp(b->file[i].name, sum_name) != 0)
                SG_DO(status, write_file(&b->file[i], folder, err));
        SG_DO(status, write_file(sg_bundle_file(b, sum_name), folder, err)); /* makes the folder a bundle */
        if (status != SG_OK)
            remove_bundle(folder);
    }
    free(cells);
    return status;
}

/* Reads the files of the folder, or of its folder of cells. */
static sg_status read_folder(struct sg_bundle *b, const char *path, bool cells, struct sg_error *err) {
    char *folder = sg_format("%s%s", path, cells ? "/cells" : "");
    struct stat link;
    sg_status status = SG_OK;
    DIR *dir = opendir(folder);
    if (!dir)
        status = sg_fail_errno(err, SG_ERR_FORMAT, "%s is no bundle: cannot read %s", path, folder);
    for (struct dirent *entry; status == SG_OK && (entry = readdir(dir));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        char *name = sg_format("%s%s", cells ? "cells/" : "", entry->d_name), *file = sg_format("%s/%s", path, name);
        const bool there = lstat(file, &link) == 0;
        if (there && !cells && strcmp(name, "cells") == 0 && S_ISDIR(link.st_mode))
            status = read_folder(b, path, true, err);
        else if (there && is_known(name) && S_ISREG(link.st_mode))
            status = add_file(b, name, file, err);
        else
            status = sg_fail(err, SG_ERR_FORMAT, "%s is no bundle: %s is no file of one", path, name);
        free(name);
        free(file);
    }
    if (dir)
        closedir(dir);
    free(folder);
    return status;
}

/* ---- checking ---- */

/* True if the file is this text. */
static bool is_text(const struct sg_bundle_file *f, const char *text, size_t length) {
    return f->length == length && memcmp(f->data, text, length) == 0;
}

/* Names the first file of which the list has another checksum, or none. */
static sg_status fail_sums(const struct sg_bundle *b, const char *list, const char *path, struct sg_error *err) {
    for (size_t i = 0; i < b->n; i++) {
        char hex[65], *line;
        const struct sg_bundle_file *f = &b->file[i];
        if (strcmp(f->name, sums_name) == 0 || strcmp(f->name, sum_name) == 0)
            continue;
        sg_sha256_of(f->data, f->length, hex);
        line = sg_format("%s  %s\n", hex, f->name);
        const bool listed = strstr(list, line) != NULL;
        free(line);
        if (!listed)
            return sg_fail(err, SG_ERR_FORMAT, "%s is damaged: %s does not have its checksum", path, f->name);
    }
    return sg_fail(err, SG_ERR_FORMAT, "%s is damaged: a file of its list is missing", path);
}

/* Compares the list of checksums with the one that the files give. */
static sg_status check_sums(struct sg_bundle *b, const char *path, struct sg_error *err) {
    static const char *const needed[] = {sums_name, sum_name, "bundle.json", "recipe.yaml", "result.json"};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!sg_bundle_file(b, needed[i]))
            return sg_fail(err, SG_ERR_FORMAT, "%s is no bundle: it has no %s", path, needed[i]);
    const struct sg_bundle_file *list = sg_bundle_file(b, sums_name);
    sg_sha256_of(list->data, list->length, b->sha256);
    char *sum = sg_format("%s  %s\n", b->sha256, sums_name), *text = sums_text(b);
    sg_status status = SG_OK;
    if (!is_text(sg_bundle_file(b, sum_name), sum, strlen(sum)))
        status = sg_fail(err, SG_ERR_FORMAT, "%s is damaged: its list of checksums does not have the checksum in %s",
                         path, sum_name);
    else if (!is_text(list, text, strlen(text)))
        status = fail_sums(b, list->data, path, err);
    free(sum);
    free(text);
    return status;
}

sg_status sg_bundle_read(struct sg_bundle *out, const char *path, struct sg_error *err) {
    struct sg_bundle b = {.n = 0};
    sg_status status = read_folder(&b, path, false, err);
    if (status == SG_OK)
        qsort(b.file, b.n, sizeof *b.file, by_name);
    SG_DO(status, check_sums(&b, path, err));
    SG_DO(status, read_about(&b, path, err));
    if (status == SG_OK)
        *out = b;
    else
        sg_bundle_close(&b);
    return status;
}

void sg_bundle_close(struct sg_bundle *b) {
    for (size_t i = 0; i < b->n; i++) {
        free(b->file[i].name);
        free(b->file[i].data);
    }
    free(b->file);
    cJSON_Delete(b->about);
    *b = (struct sg_bundle){0};
}

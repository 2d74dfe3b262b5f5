/* grid_bundle.c: makes bundles of results and checks those that are given. */
#include "sg_bundle.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "grid_private.h"
#include "sg_audit.h"
#include "sg_file.h"
#include "sg_text.h"

static const char sums_name[] = "SHA256SUMS", sum_name[] = "SHA256SUMS.sha256";
enum { MOST_BYTES = 1 << 30 }; /* of a file that goes into a bundle */

sg_status sg_bundle_result(cJSON **out, const char *text, size_t length, const char *path, struct sg_error *err) {
    sg_status status = sg_json_parse(out, text, length, path, err);
    SG_DO(status, sg_schema_check(sg_json_string(*out, "schema", NULL), SG_SCHEMA_BENCH, path, err));
    if (status == SG_OK && sg_json_get(*out, "kind"))
        status = sg_fail(err, SG_ERR_ARGUMENT, "%s has times of kernels, which no run gives again", path);
    return status;
}

/* ---- making ---- */

/* A bundle in the making: members with the bytes that they own. */
struct packing {
    struct sg_tar_member *member; /* [n]; each data is freed at the end */
    size_t n;
    cJSON *result, *cells;
};

/* Adds a member, which takes over the data, unless there is one of that name: equal runs under two labels are one cell.
 * `name` is cut at its front where it is too long; *place <- where the member is. */
static sg_status pack(struct packing *p, size_t *place, const char *folder, const char *name, char *take_data,
                      size_t length, struct sg_error *err) {
    struct sg_tar_member *longer = realloc(p->member, (p->n + 1) * sizeof *longer);
    const size_t room = SG_TAR_NAME - strlen(folder), chars = strlen(name);
    size_t i = 0;
    p->member = longer ? longer : p->member;
    if (!longer || !take_data) {
        free(take_data);
        return sg_fail_memory(err, name);
    }
    struct sg_tar_member *m = &p->member[p->n];
    snprintf(m->name, sizeof m->name, "%s%s", folder, name + (chars > room ? chars - room : 0));
    m->data = take_data;
    m->length = length;
    while (strcmp(p->member[i].name, m->name) != 0)
        i++;
    if (i < p->n)
        free(take_data);
    else
        p->n++;
    *place = i;
    return SG_OK;
}

static sg_status pack_file(struct packing *p, const char *name, const char *path, struct sg_error *err) {
    char *text;
    size_t length, place;
    sg_status status = sg_file_read(&text, &length, path, MOST_BYTES, err);
    return status == SG_OK ? pack(p, &place, "", name, text, length, err) : status;
}

/* Packs the recipe: the file that the result names, or if that has changed or was standard input the copy that
 * sparsebench left in the folder of the cells. */
static sg_status pack_recipe(struct packing *p, const char *folder, struct sg_error *err) {
    const char *path = sg_json_string(p->result, "recipe.path", "");
    const char *sha256 = sg_json_string(p->result, "recipe.sha256", "");
    char *copy = sg_format("%s/recipe-%.12s.yaml", folder, sha256), hex[65];
    const char *const from[] = {path, copy};
    struct sg_error unused;
    for (size_t i = 0; copy && i < 2; i++) {
        char *text;
        size_t length, place;
        if (sg_file_read_regular(&text, &length, from[i], MOST_BYTES, &unused) != SG_OK)
            continue;
        sg_sha256_of(text, length, hex);
        if (strcmp(hex, sha256) == 0) {
            free(copy);
            return pack(p, &place, "", "recipe.yaml", text, length, err);
        }
        free(text);
    }
    free(copy);
    return sg_fail(err, SG_ERR_MISMATCH,
                   "the recipe of this result, SHA-256 %.12s, is not at %s: it is missing or has changed since", sha256,
                   path);
}

/* True if the file `name` with this run is the cell of the result: as far as it says, and by the key in its name. */
static bool is_cell(const struct sg_run *run, const char *name, const cJSON *cell) {
    const char *dash = strrchr(name, '-'), *dot = strrchr(name, '.'),
               *key = sg_json_string(run->header, "cell_key", "");
    return dash && dot && dash < dot && strncmp(key, dash + 1, (size_t)(dot - dash) - 1) == 0 &&
           strcmp(sg_json_string(run->header, "seed", ""), sg_json_string(cell, "seed", "?")) == 0 &&
           strcmp(sg_json_string(run->end, "status", ""), sg_json_string(cell, "status", "?")) == 0;
}

/* Packs the series of a cell of the result. */
static sg_status pack_cell(struct packing *p, const cJSON *cell, const char *label, const char *folder,
                           struct sg_error *err) {
    const char *file = sg_json_string(cell, "file", ""), *slash = strrchr(file, '/');
    const char *name = slash ? slash + 1 : file, *seed = sg_json_string(cell, "seed", "");
    char *path = folder ? sg_format("%s/%s", folder, name) : strdup(file), *text = NULL;
    size_t length = 0, place = 0;
    struct sg_run run = {0};
    if (!path)
        return sg_fail_memory(err, "a path");
    sg_status status = sg_file_read_regular(&text, &length, path, MOST_BYTES, err);
    if (status != SG_OK)
        status = sg_prefix(err, "'%s', seed %s (--folder DIR says where the cells are): ", label, seed);
    SG_DO(status, sg_run_parse(&run, text, length, path, err));
    if (status == SG_OK && run.damaged)
        status = sg_fail(err, SG_ERR_FORMAT, "%s is damaged: its bytes do not have the checksum in it", path);
    if (status == SG_OK && !is_cell(&run, name, cell))
        status =
            sg_fail(err, SG_ERR_FORMAT, "%s is not the run of '%s', seed %s, that the result has", path, label, seed);
    if (status == SG_OK) {
        const cJSON *segment = cJSON_GetArrayItem(sg_json_get(run.run, "segments"), 0);
        status = pack(p, &place, "cells/", name, text, length, err);
        text = NULL;
        if (status == SG_OK)
            sg_json_push(p->cells, SG_OBJECT(SG_TEXT("label", label), SG_TEXT("seed", seed),
                                             SG_NUMBER("trial", sg_json_number(cell, "trial", NAN)),
                                             SG_TEXT("status", sg_json_string(cell, "status", "")),
                                             SG_TEXT("cell_key", sg_json_string(run.header, "cell_key", "")),
                                             SG_TEXT("identity", sg_json_string(run.header, "program.identity", NULL)),
                                             SG_TEXT("kernels", sg_json_string(run.run, "kernels", NULL)),
                                             SG_TEXT("processor", sg_json_string(segment, "processor", NULL)),
                                             SG_TEXT("file", p->member[place].name)));
    }
    sg_run_free(&run);
    free(text);
    free(path);
    return status;
}

static sg_status pack_cells(struct packing *p, const char *folder, struct sg_error *err) {
    const cJSON *label, *cell;
    sg_status status = SG_OK;
    cJSON_ArrayForEach(label, sg_json_get(p->result, "results")) {
        cJSON_ArrayForEach(cell, sg_json_get(label, "cells")) {
            if (sg_run_status_is_finished(sg_json_string(cell, "status", "")))
                SG_DO(status, pack_cell(p, cell, sg_json_string(label, "label", "?"), folder, err));
        }
    }
    if (status == SG_OK && cJSON_GetArraySize(p->cells) == 0)
        status = sg_fail(err, SG_ERR_ARGUMENT, "the result has no finished cell");
    return status;
}

/* bundle.json, which takes over the list of cells. */
static sg_status pack_about(struct packing *p, struct sg_error *err) {
    const cJSON *r = p->result;
    cJSON *about =
        SG_OBJECT(SG_TEXT("schema", SG_SCHEMA_BUNDLE), SG_TEXT("name", sg_json_string(r, "recipe.name", NULL)),
                  SG_VALUE("recipe", SG_OBJECT(SG_TEXT("path", sg_json_string(r, "recipe.path", NULL)),
                                               SG_TEXT("sha256", sg_json_string(r, "recipe.sha256", NULL)),
                                               SG_VALUE("set", sg_json_copy(sg_json_get(r, "recipe.set"))))),
                  SG_VALUE("dataset", sg_json_copy(sg_json_get(r, "dataset"))),
                  SG_VALUE("program", sg_json_copy(sg_json_get(r, "program"))),
                  SG_VALUE("identities", sg_json_copy(sg_json_get(r, "identities"))),
                  SG_VALUE("libraries", sg_json_copy(sg_json_get(r, "libraries"))),
                  SG_VALUE("tolerance", sg_audit_tolerance_json(sg_json_string(r, "recipe.resolved.task.kind", ""))),
                  SG_VALUE("cells", p->cells));
    size_t place;
    p->cells = NULL;
    char *text = sg_json_text(about, true);
    cJSON_Delete(about);
    return pack(p, &place, "", "bundle.json", text, text ? strlen(text) : 0, err);
}

/* Packs the checksums of all members so far, in the order of their names, and that of the list. */
static sg_status pack_sums(struct packing *p, struct sg_error *err) {
    char *text = NULL, hex[65];
    size_t size, place;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return sg_fail_memory(err, sums_name);
    for (size_t i = 0; i < p->n; i++) {
        sg_sha256_of(p->member[i].data, p->member[i].length, hex);
        fprintf(out, "%s  %s\n", hex, p->member[i].name);
    }
    text = sg_stream_text(out, &text);
    const size_t length = text ? strlen(text) : 0;
    sg_sha256_of(text, length, hex);
    sg_status status = pack(p, &place, "", sums_name, text, length, err);
    if (status != SG_OK)
        return status;
    text = sg_format("%s  %s\n", hex, sums_name);
    return pack(p, &place, "", sum_name, text, text ? strlen(text) : 0, err);
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct sg_tar_member *)a)->name, ((const struct sg_tar_member *)b)->name);
}

sg_status sg_bundle_make(char **text, size_t *length, const char *path, const char *folder, struct sg_error *err) {
    struct packing p = {.cells = cJSON_CreateArray()};
    FILE *out = NULL;
    sg_status status = pack_file(&p, "result.json", path, err);
    SG_DO(status, sg_bundle_result(&p.result, p.member[0].data, p.member[0].length, path, err));
    SG_DO(status, pack_recipe(&p, folder ? folder : sg_json_string(p.result, "run.folder", "."), err));
    SG_DO(status, pack_cells(&p, folder, err));
    SG_DO(status, pack_about(&p, err));
    if (status == SG_OK) {
        qsort(p.member, p.n, sizeof *p.member, by_name);
        status = pack_sums(&p, err);
    }
    if (status == SG_OK) {
        *text = NULL;
        out = open_memstream(text, length);
        status = out ? sg_tar_write(out, p.member, p.n, err) : sg_fail_memory(err, "the bundle");
        if (out && (fclose(out) != 0 || !*text) && status == SG_OK)
            status = sg_fail_memory(err, "the bundle");
        if (status != SG_OK && out)
            free(*text);
    }
    for (size_t i = 0; i < p.n; i++)
        free((char *)p.member[i].data);
    free(p.member);
    cJSON_Delete(p.result);
    cJSON_Delete(p.cells);
    return status;
}

/* ---- checking ---- */

const struct sg_tar_member *sg_bundle_member(const struct sg_bundle *bundle, const char *name) {
    for (size_t i = 0; i < bundle->n; i++)
        if (strcmp(bundle->member[i].name, name) == 0)
            return &bundle->member[i];
    return NULL;
}

/* True if the member is this text. */
static bool is_text(const struct sg_tar_member *m, const char *text) {
    return m && text && m->length == strlen(text) && memcmp(m->data, text, m->length) == 0;
}

/* Compares the list of checksums with the one that the members give. */
static sg_status check_sums(struct sg_bundle *b, const char *path, struct sg_error *err) {
    const struct sg_tar_member *list = sg_bundle_member(b, sums_name), *sum = sg_bundle_member(b, sum_name);
    char hex[65];
    if (!list || !sum)
        return sg_fail(err, SG_ERR_FORMAT, "%s has no list of checksums: it is no bundle", path);
    sg_sha256_of(list->data, list->length, b->sha256);
    char *text = sg_format("%s  %s\n", b->sha256, sums_name);
    const bool whole = is_text(sum, text);
    free(text);
    if (!whole)
        return sg_fail(err, SG_ERR_FORMAT, "%s is damaged: its list of checksums does not have the checksum in %s",
                       path, sum_name);
    const char *line = list->data, *end = list->data + list->length;
    for (size_t i = 0; i < b->n; i++) {
        const struct sg_tar_member *m = &b->member[i];
        if (m == list || m == sum)
            continue;
        sg_sha256_of(m->data, m->length, hex);
        const size_t chars = strlen(hex) + 2 + strlen(m->name) + 1;
        if ((size_t)(end - line) < chars || memcmp(line, hex, 64) != 0 || memcmp(line + 64, "  ", 2) != 0 ||
            memcmp(line + 66, m->name, strlen(m->name)) != 0 || line[chars - 1] != '\n')
            return sg_fail(err, SG_ERR_FORMAT, "%s is damaged: %s does not have its checksum", path, m->name);
        line += chars;
    }
    return line == end ? SG_OK : sg_fail(err, SG_ERR_FORMAT, "%s is damaged: a file of its list is missing", path);
}

sg_status sg_bundle_open(struct sg_bundle *out, char *take_text, size_t length, const char *path,
                         struct sg_error *err) {
    struct sg_bundle b = {.text = take_text};
    sg_status status = sg_tar_parse(&b.member, &b.n, take_text, length, path, err);
    SG_DO(status, check_sums(&b, path, err));
    static const char *const needed[] = {"bundle.json", "recipe.yaml", "result.json"};
    for (size_t i = 0; i < 3 && status == SG_OK; i++)
        if (!sg_bundle_member(&b, needed[i]))
            status = sg_fail(err, SG_ERR_FORMAT, "%s has no %s: it is no bundle", path, needed[i]);
    const struct sg_tar_member *about = sg_bundle_member(&b, needed[0]);
    SG_DO(status, sg_json_parse(&b.about, about->data, about->length, path, err));
    SG_DO(status, sg_schema_check(sg_json_string(b.about, "schema", NULL), SG_SCHEMA_BUNDLE, path, err));
    if (status == SG_OK)
        *out = b;
    else
        sg_bundle_close(&b);
    return status;
}

void sg_bundle_close(struct sg_bundle *bundle) {
    free(bundle->text);
    free(bundle->member);
    cJSON_Delete(bundle->about);
    *bundle = (struct sg_bundle){0};
}

/* recipe_plugins.c: loads plug-ins of compressors, and finds those that a cell uses. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "recipe_private.h"
#include "sg_compressor_plugin.h"
#include "sg_file.h"
#include "sg_json.h"
#include "sg_memory.h"
#include "sg_net.h"
#include "sg_plugin.h"
#include "sg_plugins.h"
#include "sg_version.h"

enum { MOST_PLUGINS = 64, MOST_BYTES = 1 << 30 };

static struct plugin {
    char *path, sha256[65];
    const struct sg_compressor_plugin *rows;
    const char *changed; /* what its loading changed and the program restored; NULL = nothing */
} plugin[MOST_PLUGINS];
static size_t n_plugins;

size_t sg_plugin_count(void) {
    return n_plugins;
}

const char *sg_plugin_path(size_t i) {
    return i < n_plugins ? plugin[i].path : NULL;
}

bool sg_plugin_warning(char out[SG_PLUGIN_WARNING], size_t *next) {
    while (*next < n_plugins && !plugin[*next].changed)
        ++*next;
    if (*next == n_plugins)
        return false;
    snprintf(out, SG_PLUGIN_WARNING, "plug-in %s: when it was loaded it changed %s, and this was put back",
             plugin[*next].path, plugin[*next].changed);
    ++*next;
    return true;
}

/* ---- loading ---- */

/* The name of a parameter is a key in a section of the recipe, so it must differ from the other keys of the section. */
static sg_status check_keys(struct sg_error *err) {
    struct sg_schema schema;
    sg_status status = SG_OK;
    sg_schema_open(&schema);
    for (size_t i = 0; i < schema.count && status == SG_OK; i++)
        for (size_t j = 0; j < schema.count && status == SG_OK; j++)
            if (!schema.row[i].owner && schema.row[j].owner && strcmp(schema.row[i].path, schema.row[j].path) == 0)
                status = sg_fail(err, SG_ERR_ARGUMENT,
                                 "'%s' cannot have a parameter '%s', which is a key of every recipe: rename it",
                                 schema.row[j].owner, sg_row_key(&schema.row[j]));
    sg_schema_close(&schema);
    return status;
}

/* The compressors of a plug-in name collectives of the network model, which the library does not have. */
static sg_status check_collectives(const struct sg_compressor_plugin *rows, struct sg_error *err) {
    for (size_t i = 0; rows->compressors && rows->compressors[i]; i++) {
        const struct sg_compressor_ops *ops = rows->compressors[i];
        if (ops->collective && !sg_collective_find(ops->collective))
            return sg_fail(
                err, SG_ERR_ARGUMENT,
                "compressor '%s': the network model has no collective '%s': sparsetrain --help-recipe lists them",
                ops->name, ops->collective);
    }
    return SG_OK;
}

static sg_status add_rows(const struct sg_compressor_plugin *rows, struct sg_error *err) {
    sg_status status = sg_compressor_plugin_add(rows, err);
    SG_DO(status, check_collectives(rows, err));
    SG_DO(status, check_keys(err));
    return status;
}

static sg_status open_file(struct plugin *p, struct sg_error *err) {
    const size_t length = strlen(p->path);
    if (length > 3 && strcmp(p->path + length - 3, ".py") == 0)
        return plugin_python_open(&p->rows, p->path, err);
    struct plugin_guard guard;
    void *symbol;
    plugin_guard_begin(&guard);
    const sg_status status = sg_plugin_file_symbol(&symbol, p->path, SG_PLUGIN_SYMBOL, err);
    p->changed = plugin_guard_end(&guard);
    switch (status) {
    case SG_OK:
        p->rows = symbol;
        return SG_OK;
    case SG_ERR_MISMATCH:
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "it has no symbol %s: define it as sg_compressor_plugin.h says, with SG_EXPORT before it",
                       SG_PLUGIN_SYMBOL);
    default:
        return sg_prefix(err,
                         "it cannot be loaded (compile it with cc -shared -fPIC, for this machine, and let it call "
                         "nothing but what the installed headers declare): ");
    }
}

static sg_status load(const char *given, struct sg_error *err) {
    struct plugin p = {.path = realpath(given, NULL)};
    char *bytes;
    size_t length;
    if (!p.path)
        return sg_fail_errno(err, SG_ERR_ARGUMENT, "it cannot be read");
    sg_status status = sg_file_read_regular(&bytes, &length, p.path, MOST_BYTES, err);
    bool known = false;
    if (status == SG_OK) {
        sg_sha256_of(bytes, length, p.sha256);
        if (!sg_plugin_is_whole(bytes, length))
            status = sg_fail(err, SG_ERR_ARGUMENT, "it is cut short: compile it again");
        free(bytes);
    }
    for (size_t i = 0; i < n_plugins; i++)
        known = known || strcmp(plugin[i].path, p.path) == 0;
    if (status == SG_OK && !known && n_plugins == MOST_PLUGINS)
        status = sg_fail(err, SG_ERR_ARGUMENT, "it is one too many: %d can be loaded", MOST_PLUGINS);
    if (status == SG_OK && !known)
        status = open_file(&p, err);
    if (status == SG_OK && !known)
        status = add_rows(p.rows, err);
    if (status == SG_OK && !known)
        plugin[n_plugins++] = p;
    else
        free(p.path);
    return status;
}

/* All errors except SG_ERR_MEMORY are mistakes on the command line. */
static sg_status load_named(const char *option, const char *path, struct sg_error *err) {
    if (load(path, err) == SG_OK)
        return SG_OK;
    sg_prefix(err, "%s%s: ", option, path);
    return err->status == SG_ERR_MEMORY ? err->status : (err->status = SG_ERR_ARGUMENT);
}

sg_status sg_plugins_load(const char *const *path, size_t n, const char *list, struct sg_error *err) {
    sg_status status = SG_OK;
    for (size_t i = 0; i < n && status == SG_OK; i++)
        status = load_named("--plugin ", path[i], err);
    char *words = list ? sg_strdup(list) : NULL, *rest = words;
    for (const char *word; status == SG_OK && (word = strsep(&rest, ":")) != NULL;)
        if (*word != '\0')
            status = load_named("$" SG_PLUGINS_VARIABLE ": ", word, err);
    free(words);
    return status;
}

/* ---- the plug-ins of a cell ---- */

/* True if the plug-in has a row with this name among its rows of one kind. */
#define HAS(rows, wanted)                                                                                              \
    do {                                                                                                               \
        for (size_t i = 0; (rows) != NULL && (rows)[i] != NULL; i++)                                                   \
            if ((rows)[i] == (wanted))                                                                                 \
                return true;                                                                                           \
    } while (false)

static bool uses(const struct sg_cell *cell, const struct sg_compressor_plugin *rows) {
    const char *code = sg_node_string(cell->method, "values.code", NULL);
    HAS(rows->compressors, sg_compressor_find(sg_node_string(cell->method, "compressor", "")));
    HAS(rows->codes, sg_code_find(code ? code : sg_node_string(&cell->resolved, "message.values", "")));
    HAS(rows->controllers, sg_controller_find(sg_node_string(cell->method, "controller.kind", "")));
    HAS(rows->rules, sg_feedback_find(sg_node_string(&cell->resolved, "error-feedback.form", "")));
    return false;
}

const char *sg_cell_identity(char out[SG_CELL_IDENTITY], const struct sg_cell *cell) {
    const char *program = sg_version_identity(sg_node_string(&cell->resolved, "task.kind", NULL));
    sg_sha256 all;
    char digest[65];
    bool any = false;
    sg_sha256_start(&all);
    for (size_t i = 0; i < n_plugins; i++)
        if (uses(cell, plugin[i].rows)) {
            sg_sha256_add(&all, plugin[i].sha256, 64);
            any = true;
        }
    sg_sha256_end(&all, digest);
    snprintf(out, SG_CELL_IDENTITY, any ? "%.48s+%.12s" : "%.48s", program, digest);
    return out;
}

cJSON *sg_plugins_json(const struct sg_cell *cell) {
    cJSON *out = NULL;
    for (size_t i = 0; i < n_plugins; i++)
        if (!cell || uses(cell, plugin[i].rows)) {
            out = out ? out : cJSON_CreateArray();
            cJSON *row = cJSON_CreateObject();
            const char *slash = strrchr(plugin[i].path, '/'); /* a run's bytes do not depend on the folder */
            sg_json_set_string(row, "file", slash ? slash + 1 : plugin[i].path);
            sg_json_set_string(row, "sha256", plugin[i].sha256);
            sg_json_push(out, row);
        }
    return out;
}

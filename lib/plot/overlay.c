/* overlay.c: several results as one, so that their curves lie in the same panels. */
#include <stdlib.h>
#include <string.h>

#include "plot_private.h"
#include "sg_text.h"

/* Appends `text` to the list of those that differ, which are parted by `between`. *list is malloc'ed, or NULL. */
static bool add_word(char **list, const char *between, const char *text) {
    const size_t length = strlen(text);
    for (const char *at = *list; at; at = strstr(at, between) ? strstr(at, between) + strlen(between) : NULL)
        if (strncmp(at, text, length) == 0 &&
            (at[length] == '\0' || strncmp(at + length, between, strlen(between)) == 0))
            return true;
    char *longer = *list ? sg_format("%s%s%s", *list, between, text) : sg_format("%s", text);
    if (!longer)
        return false;
    free(*list);
    *list = longer;
    return true;
}

/* fig1 of results/fig1.json. */
static char *stem(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    return sg_format("%.*s", (int)(dot && dot > name ? dot - name : (ptrdiff_t)strlen(name)), name);
}

/* name [n] <- what the labels of each result get behind them: their files' names, or where two are alike their paths. */
static bool find_names(char **name, const char *const *path, size_t n) {
    bool alike = false;
    for (size_t i = 0; i < n; i++) {
        if ((name[i] = stem(path[i])) == NULL)
            return false;
        for (size_t j = 0; j < i; j++)
            alike = alike || strcmp(name[i], name[j]) == 0;
    }
    for (size_t i = 0; alike && i < n; i++) {
        free(name[i]);
        if ((name[i] = sg_format("%s", path[i])) == NULL)
            return false;
    }
    return true;
}

/* "Top-k k=4" -> "Top-k k=4 (fig1)" */
static bool rename_in(cJSON *object, const char *key, const char *name) {
    const char *label = sg_json_string(object, key, NULL);
    char *longer = label ? sg_format("%s (%s)", label, name) : NULL;
    cJSON *value = longer ? cJSON_CreateString(longer) : NULL;
    const bool renamed = value && cJSON_ReplaceItemInObjectCaseSensitive(object, key, value);
    if (!renamed)
        cJSON_Delete(value);
    free(longer);
    return !label || renamed;
}

/* Moves all items of `from` to `to`, with what is said of them by name. */
static bool move_named(cJSON *to, cJSON *from, const char *name) {
    bool whole = true;
    for (cJSON *item; (item = cJSON_DetachItemFromArray(from, 0)) != NULL;)
        whole = rename_in(item, "label", name) && rename_in(item, "method", name) && cJSON_AddItemToArray(to, item) &&
                whole;
    return whole;
}

/* A plot's list of methods gets every method under the name of every result. */
static void list_methods(cJSON *plot, char *const *name, size_t n) {
    cJSON *methods = cJSON_DetachItemFromObjectCaseSensitive(plot, "methods"), *item, *all = cJSON_CreateArray();
    cJSON_ArrayForEach(item, methods) for (size_t i = 0; cJSON_IsString(item) && i < n; i++) {
        char *longer = sg_format("%s (%s)", item->valuestring, name[i]);
        if (longer)
            sg_json_push_string(all, longer);
        free(longer);
    }
    if (cJSON_IsArray(methods))
        sg_json_set(plot, "methods", all);
    else
        cJSON_Delete(all);
    cJSON_Delete(methods);
}

static bool is_same(const cJSON *a, const cJSON *b, const char *key) {
    return strcmp(sg_json_string(a, key, ""), sg_json_string(b, key, "")) == 0;
}

/* The plot of the document that has these axes and this kind; NULL if there is none. */
static cJSON *same_plot(const cJSON *document, const cJSON *plot) {
    cJSON *other;
    cJSON_ArrayForEach(other, sg_json_get(document, "plots")) if (is_same(plot, other, "x") &&
                                                                  is_same(plot, other, "y") &&
                                                                  is_same(plot, other, "kind")) return other;
    return NULL;
}

/* The plots of the first, with the points that all have. */
static bool join_plots(cJSON *first, cJSON *const *other, char *const *name, size_t n) {
    cJSON *plot;
    bool whole = true;
    cJSON_ArrayForEach(plot, sg_json_get(first, "plots")) {
        cJSON *points = cJSON_DetachItemFromObjectCaseSensitive(plot, "points"), *all = cJSON_CreateArray();
        list_methods(plot, name, n);
        whole = move_named(all, points, name[0]) && whole;
        for (size_t i = 1; i < n; i++) { /* copies, for a plot with other methods may be the same */
            cJSON *same = same_plot(other[i], plot), *copy = cJSON_Duplicate(sg_json_get(same, "points"), true);
            whole = move_named(all, copy, name[i]) && whole;
            cJSON_Delete(copy);
        }
        if (cJSON_IsArray(points))
            sg_json_set(plot, "points", all);
        else
            cJSON_Delete(all);
        cJSON_Delete(points);
    }
    return whole;
}

/* What the title and the line below it say of all. */
static bool describe(cJSON *out, cJSON *const *document, size_t n) {
    char *title = NULL, *recipe = NULL, *data = NULL, *source = NULL;
    bool whole = true;
    for (size_t i = 0; i < n; i++) {
        char *own = sg_plot_title(document[i], NULL);
        whole = whole && own && add_word(&title, "; ", own) &&
                add_word(&recipe, " and ",
                         sg_json_string(document[i], "recipe.name", sg_json_string(document[i], "name", "?"))) &&
                add_word(&data, ", ", sg_json_string(document[i], "dataset.name", "?")) &&
                add_word(&source, ", ", sg_json_string(document[i], "dataset.source", "?"));
        free(own);
    }
    cJSON *about = cJSON_CreateObject(), *dataset = cJSON_CreateObject();
    sg_json_set_string(about, "title", title);
    sg_json_set_string(about, "name", recipe);
    sg_json_set_string(dataset, "name", data);
    /* The titles say already which data are generated. */
    sg_json_set_string(dataset, "source", source && strcmp(source, "generated") == 0 ? "all generated" : source);
    sg_json_set(out, "recipe", about);
    sg_json_set(out, "dataset", dataset);
    free(title);
    free(recipe);
    free(data);
    free(source);
    return whole;
}

/* Units of columns that the first does not have. */
static void join_units(cJSON *units, const cJSON *more) {
    const cJSON *item;
    cJSON_ArrayForEach(item, more) if (!cJSON_GetObjectItemCaseSensitive(units, item->string))
        sg_json_set(units, item->string, cJSON_Duplicate(item, true));
}

static sg_status join(cJSON **document, char *const *name, size_t n, struct sg_error *err) {
    cJSON *out = cJSON_CreateObject(), *results = cJSON_CreateArray(), *units = cJSON_CreateObject();
    const char *status = "ok";
    bool whole = describe(out, document, n) && join_plots(document[0], document, name, n);
    for (size_t i = 0; i < n; i++) {
        whole = move_named(results, cJSON_GetObjectItemCaseSensitive(document[i], "results"), name[i]) && whole;
        join_units(units, sg_json_get(document[i], "units"));
        if (strcmp(status, "ok") == 0)
            status = sg_json_string(document[i], "status", "ok");
    }
    sg_json_set_string(out, "status", status);
    sg_json_set(out, "schema", cJSON_DetachItemFromObjectCaseSensitive(document[0], "schema"));
    sg_json_set(out, "program", cJSON_DetachItemFromObjectCaseSensitive(document[0], "program"));
    sg_json_set(out, "results", results);
    sg_json_set(out, "units", units);
    sg_json_set(out, "plots", cJSON_DetachItemFromObjectCaseSensitive(document[0], "plots"));
    cJSON_Delete(document[0]);
    document[0] = out;
    return whole && out ? SG_OK : sg_fail_memory(err, "the results");
}

sg_status sg_plot_read_all(cJSON **out, const char *const *path, size_t n, struct sg_error *err) {
    cJSON *document[SG_PLOT_OVERLAYS] = {NULL};
    char *name[SG_PLOT_OVERLAYS] = {NULL};
    sg_status status = SG_OK;
    for (size_t i = 0; status == SG_OK && i < n; i++) {
        status = sg_plot_read(&document[i], path[i], err);
        if (status == SG_OK && n > 1 && sg_plot_is_kernels(document[i]))
            status = sg_fail(err, SG_ERR_ARGUMENT, "%s: times of kernels have no curves to lay over others", path[i]);
    }
    if (status == SG_OK && n > 1)
        status = find_names(name, path, n) ? join(document, name, n, err) : sg_fail_memory(err, "the results");
    if (status == SG_OK) {
        *out = document[0];
        document[0] = NULL;
    }
    for (size_t i = 0; i < n; i++) {
        cJSON_Delete(document[i]);
        free(name[i]);
    }
    return status;
}

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

/* name [n] <- what the labels of each result get behind them: their files' names, or where two are alike their
 * paths. */
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

/* Replaces a member that is an array by another one, which is deleted where the member is none. */
static void replace_list(cJSON *object, const char *key, cJSON *take_list) {
    if (!cJSON_IsArray(sg_json_get(object, key)) || !cJSON_ReplaceItemInObjectCaseSensitive(object, key, take_list))
        cJSON_Delete(take_list);
}

/* A plot's list of methods gets every method under the name of every result. */
static void list_methods(cJSON *plot, char *const *name, size_t n) {
    cJSON *all = cJSON_CreateArray();
    const cJSON *item;
    cJSON_ArrayForEach(item, sg_json_get(plot, "methods")) for (size_t i = 0; cJSON_IsString(item) && i < n; i++) {
        char *longer = sg_format("%s (%s)", item->valuestring, name[i]);
        if (longer)
            sg_json_push_string(all, longer);
        free(longer);
    }
    replace_list(plot, "methods", all);
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
        cJSON *all = cJSON_CreateArray();
        list_methods(plot, name, n);
        for (size_t i = 0; i < n; i++) { /* copies, for a plot with other methods may be the same */
            const cJSON *same = i == 0 ? plot : same_plot(other[i], plot);
            cJSON *copy = cJSON_Duplicate(sg_json_get(same, "points"), true);
            whole = move_named(all, copy, name[i]) && whole;
            cJSON_Delete(copy);
        }
        replace_list(plot, "points", all);
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
    const bool generated = source && strcmp(source, "generated") == 0; /* the titles say already which data are */
    SG_SET(
        out, SG_VALUE("recipe", SG_OBJECT(SG_TEXT("title", title), SG_TEXT("name", recipe))),
        SG_VALUE("dataset", SG_OBJECT(SG_TEXT("name", data), SG_TEXT("source", generated ? "all generated" : source))));
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
    SG_SET(out, SG_TEXT("status", status),
           SG_VALUE("schema", cJSON_DetachItemFromObjectCaseSensitive(document[0], "schema")),
           SG_VALUE("program", cJSON_DetachItemFromObjectCaseSensitive(document[0], "program")),
           SG_VALUE("results", results), SG_VALUE("units", units),
           SG_VALUE("plots", cJSON_DetachItemFromObjectCaseSensitive(document[0], "plots")));
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

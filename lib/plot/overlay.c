/* overlay.c: several results as one, so that their curves lie in the same panels. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "plot_private.h"
#include "sg_memory.h"
#include "sg_text.h"

/* Appends `text` to the list of those that differ, which are parted by `between`. *list is malloc'ed, or NULL. */
static void add_word(char **list, const char *between, const char *text) {
    const size_t length = strlen(text);
    for (const char *at = *list; at; at = strstr(at, between) ? strstr(at, between) + strlen(between) : NULL)
        if (strncmp(at, text, length) == 0 &&
            (at[length] == '\0' || strncmp(at + length, between, strlen(between)) == 0))
            return;
    char *longer = *list ? sg_format("%s%s%s", *list, between, text) : sg_format("%s", text);
    free(*list);
    *list = longer;
}

/* fig1 of results/fig1.json. */
static char *stem(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    return sg_format("%.*s", (int)(dot && dot > name ? dot - name : (ptrdiff_t)strlen(name)), name);
}

/* name [n] <- what the labels of each result get behind them: their files' names, or where two are alike their
 * paths. */
static void find_names(char **name, const char *const *path, size_t n) {
    bool alike = false;
    for (size_t i = 0; i < n; i++) {
        name[i] = stem(path[i]);
        for (size_t j = 0; j < i; j++)
            alike = alike || strcmp(name[i], name[j]) == 0;
    }
    for (size_t i = 0; alike && i < n; i++) {
        free(name[i]);
        name[i] = sg_strdup(path[i]);
    }
}

/* "Top-k k=4" -> "Top-k k=4 (fig1)" */
static const char *renamed(struct sg_document *out, const char *label, const char *name) {
    return label ? sg_arena_take_text(&out->memory, sg_format("%s (%s)", label, name)) : NULL;
}

/* A plot's list of methods gets every method under the name of every result. */
static void list_methods(struct sg_document *out, struct sg_document_plot *plot, char *const *name, size_t n) {
    const struct sg_text_list methods = plot->methods;
    plot->methods.item = sg_arena_get(&out->memory, methods.n * n * sizeof *plot->methods.item);
    plot->methods.n = 0;
    for (size_t m = 0; m < methods.n; m++)
        for (size_t i = 0; i < n; i++)
            plot->methods.item[plot->methods.n++] = renamed(out, methods.item[m], name[i]);
}

static bool is_same(const char *a, const char *b) {
    return strcmp(sg_or(a, ""), sg_or(b, "")) == 0;
}

/* The plot of the document that has these axes and this kind; NULL if there is none. */
static const struct sg_document_plot *same_plot(const struct sg_document *document,
                                                const struct sg_document_plot *plot) {
    for (size_t i = 0; i < document->n_plots; i++) {
        const struct sg_document_plot *other = &document->plots[i];
        if (is_same(plot->x, other->x) && is_same(plot->y, other->y) && is_same(plot->kind, other->kind))
            return other;
    }
    return NULL;
}

/* The points that all documents have in this plot of the first. */
static void join_points(struct sg_document *out, struct sg_document_plot *plot, const struct sg_document *document,
                        char *const *name, size_t n) {
    const struct sg_document_plot first = *plot;
    size_t most = 0;
    for (size_t i = 0; i < n; i++)
        most += same_plot(&document[i], &first) ? same_plot(&document[i], &first)->n_points : 0;
    plot->points = sg_arena_get(&out->memory, (most + first.n_points) * sizeof *plot->points);
    plot->n_points = 0;
    for (size_t i = 0; i < n; i++) {
        const struct sg_document_plot *same = i == 0 ? &first : same_plot(&document[i], &first);
        for (size_t k = 0; same && k < same->n_points; k++) {
            struct sg_document_point *point = &plot->points[plot->n_points++];
            *point = same->points[k];
            point->label = renamed(out, point->label, name[i]);
        }
    }
}

/* The plots of the first. */
static void join_plots(struct sg_document *out, const struct sg_document *document, char *const *name, size_t n) {
    out->n_plots = document[0].n_plots;
    out->plots = sg_arena_get(&out->memory, out->n_plots * sizeof *out->plots);
    for (size_t p = 0; p < out->n_plots; p++) {
        out->plots[p] = document[0].plots[p];
        if (out->plots[p].methods.item)
            list_methods(out, &out->plots[p], name, n);
        if (out->plots[p].points)
            join_points(out, &out->plots[p], document, name, n);
    }
}

/* What the title and the line below it say of all. */
static void describe(struct sg_document *out, const struct sg_document *document, size_t n) {
    char *title = NULL, *recipe = NULL, *data = NULL, *source = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct sg_document *d = &document[i];
        char *own = sg_plot_title(d, NULL);
        add_word(&title, "; ", own);
        add_word(&recipe, " and ", sg_or(d->recipe ? d->recipe->name : NULL, sg_or(d->name, "?")));
        add_word(&data, ", ", sg_or(d->dataset ? d->dataset->name : NULL, "?"));
        add_word(&source, ", ", sg_or(d->dataset ? d->dataset->source : NULL, "?"));
        free(own);
    }
    const bool generated = source && strcmp(source, "generated") == 0; /* the titles say already which data are */
    out->recipe = sg_arena_get(&out->memory, sizeof *out->recipe);
    out->dataset = sg_arena_get(&out->memory, sizeof *out->dataset);
    *out->recipe = (struct sg_document_recipe){.title = title, .name = recipe};
    *out->dataset = (struct sg_document_dataset){.name = data, .source = generated ? "all generated" : source};
    char *const texts[] = {title, recipe, data, source};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        sg_arena_take_text(&out->memory, texts[i]);
}

/* The labels of all, and the units of all their columns. */
static void join_results(struct sg_document *out, struct sg_document *document, char *const *name, size_t n) {
    cJSON *units = sg_arena_take(&out->memory, cJSON_CreateObject());
    const cJSON *item;
    size_t labels = 0;
    for (size_t i = 0; i < n; i++)
        labels += document[i].results.n_labels;
    out->results.label = sg_arena_get(&out->memory, labels * sizeof *out->results.label);
    for (size_t i = 0; i < n; i++) {
        struct sg_frame *results = &document[i].results;
        for (size_t l = 0; l < results->n_labels; l++) {
            struct sg_frame_label *label = &out->results.label[out->results.n_labels++];
            *label = results->label[l];
            label->label = renamed(out, label->label, name[i]);
            label->method = renamed(out, label->method, name[i]);
        }
        results->n_labels = 0; /* their columns have moved */
        cJSON_ArrayForEach(item, document[i].units) if (!cJSON_GetObjectItemCaseSensitive(units, item->string))
            sg_json_set(units, item->string, cJSON_Duplicate(item, true));
    }
    out->units = units;
}

static void join(struct sg_document *out, struct sg_document *document, char *const *name, size_t n) {
    *out = (struct sg_document){.schema = document[0].schema, .program = document[0].program, .status = "ok"};
    describe(out, document, n);
    join_plots(out, document, name, n);
    join_results(out, document, name, n);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(out->status, "ok") == 0)
            out->status = sg_or(document[i].status, "ok");
        sg_arena_join(&out->memory, &document[i].memory);
    }
}

sg_status sg_plot_read_all(struct sg_document *out, const char *const *path, size_t n, struct sg_error *err) {
    struct sg_document document[SG_PLOT_OVERLAYS] = {0};
    char *name[SG_PLOT_OVERLAYS] = {NULL};
    sg_status status = SG_OK;
    if (n == 1)
        return sg_plot_read(out, path[0], err);
    for (size_t i = 0; status == SG_OK && i < n; i++) {
        status = sg_plot_read(&document[i], path[i], err);
        if (status == SG_OK && sg_document_is_kernels(&document[i]))
            status = sg_fail(err, SG_ERR_ARGUMENT, "%s: times of kernels have no curves to lay over others", path[i]);
    }
    if (status == SG_OK) {
        find_names(name, path, n);
        join(out, document, name, n);
    }
    for (size_t i = 0; i < n; i++) {
        sg_document_free(&document[i]);
        free(name[i]);
    }
    return status;
}

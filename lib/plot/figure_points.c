/* figure_points.c: reads the panels that show one point for each label. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "figure_private.h"
#include "sg_debug.h"
#include "sg_memory.h"

/* Inserts a point so that x ascends. The arrays have room for as many points as there are labels. */
static void insert_point(struct sg_curve *curve, double x, double y, double std, const char *label) {
    SG_ASSERT(curve->n == 0 || curve->point);
    size_t i = curve->n++;
    for (; i > 0 && curve->x[i - 1] > x; i--) {
        curve->x[i] = curve->x[i - 1];
        curve->y[i] = curve->y[i - 1];
        curve->y_std[i] = curve->y_std[i - 1];
        curve->point[i] = curve->point[i - 1];
    }
    curve->x[i] = x;
    curve->y[i] = y;
    curve->y_std[i] = std;
    curve->point[i] = label;
}

void sg_reading_find_point(const struct sg_document_plot *points, const struct sg_frame_label *label,
                           const struct sg_panel *panel, double *x, double *y, double *std) {
    const struct sg_document_point *point = sg_document_point(points, label->label);
    const cJSON *swept = sg_plot_swept(label, panel->x.name);
    double at[SG_STATISTICS], value[SG_STATISTICS];
    if (point) {
        sg_document_spread(at, point->x, label->n_seeds);
        sg_document_spread(value, point->y, label->n_seeds);
    } else {
        sg_plot_final(at, label, panel->x.name);
        sg_plot_final(value, label, panel->y.name);
        at[SG_MEAN] = swept ? sg_json_number(swept, "", NAN) : at[SG_MEAN];
    }
    *x = at[SG_MEAN];
    *y = value[SG_MEAN];
    *std = value[SG_STD];
}

/* The line that a label's point lies on, which the caller frees. Over a key of which the recipe lists values it
 * joins the labels that differ in that key alone. Over a constant, say the label skew of the data, a method has one
 * line over the variants of it that its name lists behind a comma: "Top-k" of "Top-k, sorted". In other panels a method
 * is a line over its parameters. */
static char *line_name(const struct sg_reading *r, const struct sg_panel *panel, const struct sg_frame_label *label) {
    if (sg_plot_swept(label, panel->x.name))
        return sg_plot_label_without(label->label, panel->x.name);
    const char *name = label->baseline ? label->label : label->method;
    const bool joins = !sg_plot_is_recorded(&r->document->results, panel->x.name);
    return sg_strndup(name, joins ? strcspn(name, ",") : strlen(name));
}

static struct sg_curve *find_curve(const struct sg_reading *r, const struct sg_panel *panel, const char *name,
                                   bool baseline) {
    for (size_t c = 0; c < panel->n_curves; c++) {
        const struct sg_legend *entry = &r->figure->legend[panel->curve[c].legend];
        if (entry->baseline == baseline && strcmp(entry->label, name) == 0)
            return &panel->curve[c];
    }
    return NULL;
}

void sg_reading_make_points(struct sg_curve *curve, size_t n) {
    curve->x = sg_malloc(n * sizeof *curve->x);
    curve->y = sg_malloc(n * sizeof *curve->y);
    curve->y_std = sg_malloc(n * sizeof *curve->y_std);
    curve->point = sg_malloc(n * sizeof *curve->point);
}

void sg_reading_point(struct sg_reading *r, struct sg_panel *panel, const struct sg_frame_label *label,
                      const struct sg_document_plot *points) {
    double x, y, std;
    sg_reading_find_point(points, label, panel, &x, &y, &std);
    if (isnan(y) || (isnan(x) && (!label->baseline || sg_plot_swept(label, panel->x.name)))) {
        sg_plot_note(&r->figure->notes, "'%.80s' has no final '%.60s' and is left out", label->label,
                     isnan(y) ? panel->y.name : panel->x.name);
        return;
    }
    char *name = line_name(r, panel, label);
    struct sg_curve *curve = find_curve(r, panel, name, label->baseline);
    const bool known = curve != NULL;
    if (!known) {
        curve = sg_reading_add(r, panel, name, label);
        sg_reading_make_points(curve, r->document->results.n_labels);
    }
    free(name);
    SG_ASSERT(curve->n < r->document->results.n_labels);
    insert_point(curve, x, y, std, label->label);
    r->bars |= std > 0;
    if (known && !label->baseline && !sg_plot_swept(label, panel->x.name) && strcmp(label->label, label->method) != 0)
        sg_reading_add_letter(r, r->joined);
}

void sg_reading_end_points(const struct sg_reading *r, struct sg_panel *panel) {
    for (size_t c = 0; c < panel->n_curves; c++) {
        struct sg_curve *curve = &panel->curve[c];
        curve->level = r->figure->legend[curve->legend].baseline && !(curve->x[0] < curve->x[curve->n - 1]);
    }
}

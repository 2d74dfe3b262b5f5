/* figure_points.c: reads the panels that show one point for each label. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "figure_private.h"
#include "sg_debug.h"

/* Inserts a point so that x ascends. The arrays have room for as many points as there are results. */
static void insert_point(struct sg_curve *curve, double x, double y, double std, const char *label) {
    SG_ASSERT(curve->n == 0 || curve->point != NULL);
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

void sg_reading_find_point(const cJSON *points, const cJSON *result, const struct sg_panel *panel, double *x, double *y,
                           double *std) {
    const cJSON *point = sg_plot_point(points, result);
    double unused;
    if (point) {
        *x = sg_json_number(point, "x.mean", NAN);
        *y = sg_json_number(point, "y.mean", NAN);
        *std = cJSON_GetArraySize(sg_json_get(result, "seeds")) > 1 ? sg_json_number(point, "y.std", NAN) : NAN;
        return;
    }
    const cJSON *swept = sg_plot_swept(result, panel->x.name);
    if (swept)
        *x = sg_json_number(swept, "", NAN);
    else
        sg_plot_final(result, panel->x.name, x, &unused);
    sg_plot_final(result, panel->y.name, y, std);
}

/* The line that a result's point lies on, malloc'ed; NULL = no memory. Over a key of which the recipe lists values it
 * joins the labels that differ in that key alone. Over a constant, say the label skew of the data, a method has one line
 * over the variants of it that its name lists behind a comma: "Top-k" of "Top-k, sorted". In other panels a method is a
 * line over its parameters. */
static char *line_name(const struct sg_reading *r, const struct sg_panel *panel, const cJSON *result) {
    const char *label = sg_json_string(result, "label", "");
    if (sg_plot_swept(result, panel->x.name))
        return sg_plot_label_without(label, panel->x.name);
    const char *name = sg_plot_is_baseline(result) ? label : sg_json_string(result, "method", label);
    const bool joins = !sg_plot_is_recorded(r->document, panel->x.name);
    return strndup(name, joins ? strcspn(name, ",") : strlen(name));
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

bool sg_reading_point(struct sg_reading *r, struct sg_panel *panel, const cJSON *result, const cJSON *points,
                      size_t capacity) {
    const char *label = sg_json_string(result, "label", "");
    const bool baseline = sg_plot_is_baseline(result);
    double x, y, std;
    sg_reading_find_point(points, result, panel, &x, &y, &std);
    if (isnan(y) || (isnan(x) && (!baseline || sg_plot_swept(result, panel->x.name)))) {
        sg_plot_note(&r->figure->notes, "'%.80s' has no final '%.60s' and is left out", label,
                     isnan(y) ? panel->y.name : panel->x.name);
        return true;
    }
    char *name = line_name(r, panel, result);
    if (!name)
        return sg_reading_failed(r);
    struct sg_curve *curve = find_curve(r, panel, name, baseline);
    const bool known = curve != NULL, added = known || sg_reading_add(r, panel, name, result, &curve);
    free(name);
    if (!added)
        return false;
    if (!known) {
        curve->x = malloc(capacity * sizeof *curve->x);
        curve->y = malloc(capacity * sizeof *curve->y);
        curve->y_std = malloc(capacity * sizeof *curve->y_std);
        curve->point = malloc(capacity * sizeof *curve->point);
        if (!curve->x || !curve->y || !curve->y_std || !curve->point)
            return sg_reading_failed(r);
    }
    SG_ASSERT(curve->n < capacity);
    insert_point(curve, x, y, std, label);
    r->bars |= std > 0;
    return true;
}

void sg_reading_end_points(const struct sg_reading *r, struct sg_panel *panel) {
    for (size_t c = 0; c < panel->n_curves; c++) {
        struct sg_curve *curve = &panel->curve[c];
        curve->level = r->figure->legend[curve->legend].baseline && !(curve->x[0] < curve->x[curve->n - 1]);
    }
}

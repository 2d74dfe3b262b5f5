/* figure_ranking.c: reads the panels that sort labels by a value: those that a range of another column holds, the best
 * first, as all that send about the same. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "figure_private.h"
#include "sg_debug.h"
#include "sg_memory.h"
#include "sg_places.h"
#include "sg_stats.h"
#include "sg_task.h"
#include "sg_text.h"

bool sg_plot_is_within(const struct sg_number_list *range, double x) {
    const double from = range->n > 0 ? range->x[0] : NAN, to = range->n > 1 ? range->x[1] : NAN;
    return x >= (isnan(from) ? -INFINITY : from) && x <= (isnan(to) ? INFINITY : to);
}

/* The values of the seeds that the point of a plot has, or those of the run's end. */
static void read_seeds(struct sg_curve *curve, const struct sg_document_point *point,
                       const struct sg_frame_column *column) {
    const struct sg_number_list values = point && point->y ? point->y->values : (struct sg_number_list){0};
    const size_t n = point ? values.n : column ? column->n_values : 0;
    if (n < 2)
        return;
    curve->seed = sg_reading_copy(point ? values.x : column->value, n);
    curve->n_seeds = n;
}

/* One row: a method that has a single label here goes by its name, which sg_reading_end_ranking decides. */
void sg_reading_ranked(struct sg_reading *r, struct sg_panel *panel, const struct sg_frame_label *label,
                       const struct sg_document_plot *plot, const struct sg_document_plot *points) {
    double x, y, std;
    sg_reading_find_point(points, label, panel, &x, &y, &std);
    if (!label->baseline && !sg_plot_is_within(&plot->x_range, x))
        return;
    if (isnan(y)) {
        sg_plot_note(&r->figure->notes, "'%.80s' has no final '%.60s' and is left out", label->label, panel->y.name);
        return;
    }
    struct sg_curve *curve = sg_reading_add(r, panel, label->method, label);
    sg_reading_make_points(curve, 1);
    read_seeds(curve, sg_document_point(points, label->label), sg_frame_column(label, panel->y.name));
    curve->n = 1;
    *curve->x = x;
    *curve->y = y;
    *curve->y_std = std;
    *curve->point = label->label;
    curve->level = label->baseline;
    r->ranked |= label->baseline;
    r->bars |= std > 0;
    r->seeds |= curve->n_seeds > 0;
}

/* Baselines come first, which need no row. */
static int compare_rows(const struct sg_curve *a, const struct sg_curve *b, bool higher) {
    if (a->level != b->level)
        return a->level ? -1 : 1;
    return a->y[0] == b->y[0] ? 0 : (a->y[0] > b->y[0]) == higher ? -1 : 1;
}

static bool higher_is_better(const struct sg_panel *panel) {
    const struct sg_metric *metric = sg_column_find(panel->y.name);
    return metric && metric->higher;
}

/* Equal ones stay in the order of the recipe. */
static void sort_rows(struct sg_panel *panel) {
    const bool higher = higher_is_better(panel);
    for (size_t i = 1; i < panel->n_curves; i++) {
        const struct sg_curve row = panel->curve[i];
        size_t at = i;
        for (; at > 0 && compare_rows(&panel->curve[at - 1], &row, higher) > 0; at--)
            panel->curve[at] = panel->curve[at - 1];
        panel->curve[at] = row;
    }
}

/* True if all rows have as many seeds, and enough of them to part two. The tasks of a profile are no seeds. */
static bool may_have_places(const struct sg_reading *r, const struct sg_panel *panel) {
    bool may = !r->select->recorded && panel->n_curves > 1 && !r->document->over;
    for (size_t c = 0; c < panel->n_curves; c++)
        may = may && panel->curve[c].n_seeds >= SG_PLACE_SEEDS && panel->curve[c].n_seeds == panel->curve[0].n_seeds;
    return may;
}

/* What a seed pays, on the scale on which two values of the column are compared. One without a value comes last. */
static double cost_of(const struct sg_panel *panel, double value) {
    const struct sg_metric *metric = sg_column_find(panel->y.name);
    const bool logarithm = metric && sg_quantity_kinds[metric->quantity].logarithm;
    const double x = logarithm ? log(fmax(value, 0)) : value;
    return isnan(value) ? INFINITY : higher_is_better(panel) ? -x : x;
}

/* Finds the places of rows and baselines. */
static void find_places(struct sg_reading *r, struct sg_panel *panel) {
    if (!may_have_places(r, panel))
        return;
    const size_t n = panel->n_curves, seeds = panel->curve[0].n_seeds;
    double *cost = sg_malloc((n + 1) * seeds * sizeof *cost), *row = cost;
    struct sg_standing *place = sg_malloc(n * sizeof *place);
    for (size_t c = 0; c < n; c++, row += seeds)
        for (size_t s = 0; s < seeds; s++)
            row[s] = cost_of(panel, panel->curve[c].seed[s]);
    sg_places(place, cost, n, seeds);
    for (size_t c = 0; c < n; c++) {
        for (size_t s = 0; s < seeds; s++) /* one without a value is the worst */
            row[s] = !isnan(panel->curve[c].seed[s]) ? panel->curve[c].seed[s]
                     : higher_is_better(panel)       ? -INFINITY
                                                     : INFINITY;
        panel->curve[c].place = place[c];
        panel->curve[c].median = sg_stats_median(row, seeds);
    }
    panel->places = r->places = true;
    free(cost);
    free(place);
}

/* What a row is called: its method, or its label where the method has several rows; and its place. */
static void name_rows(const struct sg_reading *r, struct sg_panel *panel) {
    for (size_t c = 0; c < panel->n_curves; c++) {
        size_t rows = 0;
        for (size_t i = 0; i < panel->n_curves; i++)
            rows += panel->curve[i].legend == panel->curve[c].legend;
        char *name =
            sg_plot_name(rows > 1 ? panel->curve[c].point[0] : r->figure->legend[panel->curve[c].legend].label, 3);
        panel->curve[c].row = name;
        if (panel->places) {
            const struct sg_standing *place = &panel->curve[c].place;
            panel->curve[c].row =
                sg_format(place->first < place->last ? "%s (%zu–%zu)" : "%s (%zu)", name, place->first, place->last);
            free(name);
        }
    }
}

/* Turns the panel: the value goes to the right, and the rows, which count from 1 at the top, go down. */
static bool turn(struct sg_panel *panel) {
    struct sg_axis rows = {.name = panel->x.name, .label = sg_strdup(""), .words = sg_strdup(""), .formula = ""};
    sg_axis_free(&panel->x);
    panel->x = panel->y;
    panel->y = rows;
    const size_t n = sg_plot_rows(panel);
    for (size_t c = 0, row = 0; c < panel->n_curves; c++) {
        struct sg_curve *curve = &panel->curve[c];
        *curve->x = *curve->y;
        *curve->y = curve->level ? (double)(n + 1) / 2 : (double)(n - row);
        row += !curve->level;
    }
    return true;
}

size_t sg_plot_rows(const struct sg_panel *panel) {
    size_t rows = 0;
    for (size_t c = 0; panel->ranking && c < panel->n_curves; c++)
        rows += !panel->curve[c].level;
    return rows;
}

const char *sg_plot_beyond(char out[SG_BEYOND_CHARS], const struct sg_panel *panel, const struct sg_curve *curve) {
    const double value = curve->x[0];
    const bool left = value < panel->x.min;
    out[0] = '\0';
    if (panel->ranking && !curve->level && (left || value > panel->x.max))
        snprintf(out, SG_BEYOND_CHARS, left ? "← %.3g" : "%.3g →", value);
    return out;
}

void sg_reading_end_ranking(struct sg_reading *r, struct sg_panel *panel) {
    sort_rows(panel);
    find_places(r, panel);
    name_rows(r, panel);
    if (!r->select->recorded)
        turn(panel);
}

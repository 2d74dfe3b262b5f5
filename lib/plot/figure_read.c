/* figure_read.c: reads a document's plots as panels of curves, ready to draw. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "figure_private.h"
#include "sg_debug.h"
#include "sg_memory.h"
#include "sg_task.h"
#include "sg_text.h"

/* " scale=0.0911" of a label that was tuned, else ""; the caller frees it. */
static char *tuned_text(const struct sg_document_tuned *tuned) {
    char *text = NULL;
    size_t size;
    FILE *out = sg_memstream(&text, &size);
    const cJSON *drawn = tuned && tuned->winner ? tuned->winner->drawn : NULL, *value;
    cJSON_ArrayForEach(value, drawn) fprintf(out, " %s=%g", value->string, sg_json_number(value, "", NAN));
    return sg_stream_text(out, &text);
}

/* Finds or adds the entry of a panel's curve. In a panel of points it stands for a whole method. */
static size_t find_legend(struct sg_reading *r, const struct sg_panel *panel, const char *name,
                          const struct sg_frame_label *label) {
    struct sg_figure *f = r->figure;
    for (size_t i = 0; i < f->n_legend; i++)
        if (f->legend[i].baseline == label->baseline && strcmp(f->legend[i].label, name) == 0)
            return i;
    f->legend = sg_realloc(f->legend, (f->n_legend + 1) * sizeof *f->legend);
    char *copy = sg_strdup(name), *tuned = tuned_text(panel->points || panel->ranking ? NULL : label->tuned);
    f->legend[f->n_legend] = (struct sg_legend){.label = copy,
                                                .tuned = tuned,
                                                .method = panel->points || panel->ranking ? copy : label->method,
                                                .compressor = label->compressor ? label->compressor : "",
                                                .baseline = label->baseline};
    return f->n_legend++;
}

struct sg_curve *sg_reading_add(struct sg_reading *r, struct sg_panel *panel, const char *name,
                                const struct sg_frame_label *label) {
    panel->curve = sg_realloc(panel->curve, (panel->n_curves + 1) * sizeof *panel->curve);
    struct sg_curve *curve = &panel->curve[panel->n_curves++];
    *curve = (struct sg_curve){.legend = find_legend(r, panel, name, label)};
    return curve;
}

double *sg_reading_copy(const double *x, size_t n) {
    double *out = sg_malloc((n + 1) * sizeof *out);
    return memcpy(out, x, n * sizeof *out);
}

static bool read_curve(struct sg_reading *r, struct sg_panel *panel, const struct sg_frame_label *label,
                       const struct sg_document_plot *plot) {
    const struct sg_frame_column *x = sg_frame_column(label, panel->x.name), *y = sg_frame_column(label, panel->y.name);
    const bool has_x = x && x->curve[SG_MEAN], has_y = y && y->curve[SG_MEAN];
    if (!has_x || !has_y) {
        sg_plot_note(&r->figure->notes, "'%.80s' has no series '%.60s' and is left out", label->label,
                     has_x ? panel->y.name : panel->x.name);
        return true;
    }
    if (x->n_points != y->n_points) {
        sg_fail(r->err, SG_ERR_FORMAT, "series '%.60s' and '%.60s' of '%.80s' differ in length", panel->x.name,
                panel->y.name, label->label);
        return false;
    }
    struct sg_curve *curve = sg_reading_add(r, panel, label->label, label);
    curve->n = x->n_points;
    curve->x = sg_reading_copy(x->curve[SG_MEAN], curve->n);
    curve->y = sg_reading_copy(y->curve[SG_MEAN], curve->n);
    curve->y_std = y->curve[SG_STD] ? sg_reading_copy(y->curve[SG_STD], curve->n) : NULL;
    sg_reading_band(r, panel, curve, plot, y);
    return true;
}

static bool listed(const struct sg_text_list *methods, const struct sg_frame_label *label) {
    for (size_t i = 0; i < methods->n; i++)
        if (methods->item[i] &&
            (strcmp(methods->item[i], label->label) == 0 || strcmp(methods->item[i], label->method) == 0))
            return true;
    return !methods->item;
}

/* Counts the values that have no place on a log axis, and names a curve that has none there. */
static void count_hidden(struct sg_reading *r, const struct sg_panel *panel) {
    for (size_t c = 0; c < panel->n_curves; c++) {
        const struct sg_curve *curve = &panel->curve[c];
        size_t values = 0, hidden = 0;
        for (size_t i = 0; i < curve->n; i++) {
            const bool value = (curve->level || !isnan(curve->x[i])) && !isnan(curve->y[i]);
            values += value;
            hidden += value && !sg_plot_can_show(panel, curve, i);
        }
        if (hidden > 0 && hidden == values && !r->select->recorded)
            sg_plot_note(&r->figure->notes,
                         "%s has no place in the panel of %s over %s: a log axis shows no zero or negative value",
                         r->figure->legend[curve->legend].label, panel->y.name, panel->x.name);
        else
            r->figure->hidden += hidden;
    }
}

/* Reads the limits that a plot asks for. NaN = automatic, also if a log axis cannot have them. */
static void read_range(struct sg_axis *axis, const struct sg_number_list *range) {
    axis->min = range && range->n > 0 ? range->x[0] : NAN;
    axis->max = range && range->n > 1 ? range->x[1] : NAN;
    bool usable = axis->min < axis->max && fabs(axis->min) <= 1e300 && fabs(axis->max) <= 1e300;
    if (!usable || (axis->log && !(axis->min >= 1e-300)))
        axis->min = axis->max = NAN;
}

/* Is this axis logarithmic in some plot of the document? For columns chosen on the command line. */
static bool usually_log(const struct sg_reading *r, bool is_x, const char *column) {
    for (size_t i = 0; i < r->document->n_plots; i++) {
        const struct sg_document_plot *plot = &r->document->plots[i];
        const char *name = is_x ? plot->x : plot->y, *resolved;
        struct sg_error ignored;
        if (name && sg_plot_resolve(&resolved, &r->document->results, name, &ignored) == SG_OK && resolved == column &&
            strchr(sg_or(plot->log, ""), is_x ? 'x' : 'y'))
            return true;
    }
    return false;
}

static bool read_axis(struct sg_reading *r, struct sg_axis *axis, const struct sg_document_plot *plot, bool is_x,
                      bool *as_planned) {
    const char *planned = !plot ? NULL : is_x ? plot->x : plot->y, *chosen = is_x ? r->select->x : r->select->y;
    const char *name = chosen ? chosen : planned, *wanted = NULL;
    struct sg_error ignored;
    if (is_x && !name) /* a run without plots is drawn over epochs if it has any */
        name = sg_plot_resolve(&axis->name, &r->document->results, "epoch", &ignored) == SG_OK ? "epoch" : "step";
    if (sg_plot_resolve(&axis->name, &r->document->results, name, r->err) != SG_OK)
        return false;
    *as_planned =
        planned && sg_plot_resolve(&wanted, &r->document->results, planned, &ignored) == SG_OK && wanted == axis->name;
    const char *log = r->select->log ? r->select->log : *as_planned ? sg_or(plot->log, "") : NULL;
    axis->log = log ? strcmp(log, "none") != 0 && strchr(log, is_x ? 'x' : 'y') : usually_log(r, is_x, axis->name);
    read_range(axis, !*as_planned ? NULL : is_x ? &plot->x_range : &plot->y_range);
    sg_plot_label(axis, r->document);
    return true;
}

static bool is_repeated(const struct sg_figure *figure, const struct sg_panel *panel) {
    for (const struct sg_panel *p = figure->panel; p < panel; p++)
        if (p->x.name == panel->x.name && p->y.name == panel->y.name && p->points == panel->points && !p->ranking &&
            !panel->ranking)
            return true;
    return false;
}

void sg_axis_free(struct sg_axis *axis) {
    free(axis->label);
    free(axis->words);
}

static void free_panel(struct sg_panel *panel) {
    for (size_t c = 0; c < panel->n_curves; c++) {
        free(panel->curve[c].x);
        free(panel->curve[c].y);
        free(panel->curve[c].y_std);
        free(panel->curve[c].low);
        free(panel->curve[c].high);
        free(panel->curve[c].point);
        free(panel->curve[c].row);
        free(panel->curve[c].seed);
    }
    free(panel->curve);
    sg_axis_free(&panel->x);
    sg_axis_free(&panel->y);
    *panel = (struct sg_panel){0};
}

/* Reads a panel. plot NULL = the command line chooses everything. */
static bool read_panel(struct sg_reading *r, const struct sg_document_plot *plot) {
    static const struct sg_document_plot none = {0};
    const struct sg_document_plot *own = plot ? plot : &none;
    struct sg_figure *f = r->figure;
    struct sg_panel *panel = &f->panel[f->n_panels++];
    bool same_x, same_y;
    if (!read_axis(r, &panel->x, plot, true, &same_x) || !read_axis(r, &panel->y, plot, false, &same_y))
        return false;
    /* The title and kind in the recipe are about its own axes. Over another column a panel has curves, unless that is a
     * constant, of which a run has only one value. */
    panel->title = same_x && same_y ? own->title : NULL;
    const char *kind = sg_or(own->kind, "curves");
    panel->points = strcmp(kind, "points") == 0;
    panel->ranking = same_x && strcmp(kind, "ranking") == 0;
    if (panel->ranking)
        read_range(&panel->x, NULL); /* a range that chooses the rows */
    if (!same_x)
        panel->points = !sg_plot_is_recorded(&r->document->results, panel->x.name);
    if ((r->select->x || r->select->y) && is_repeated(f, panel)) {
        free_panel(panel);
        f->n_panels--;
        return true;
    }
    const struct sg_document_plot *points = same_x && same_y ? plot : NULL;
    for (size_t l = 0; l < r->document->results.n_labels; l++) {
        const struct sg_frame_label *label = &r->document->results.label[l];
        const size_t curves = panel->n_curves;
        if (!listed(&own->methods, label))
            continue;
        if (panel->ranking)
            sg_reading_ranked(r, panel, label, own, points);
        else if (panel->points)
            sg_reading_point(r, panel, label, points);
        else if (!read_curve(r, panel, label, same_x && same_y ? plot : NULL))
            return false;
        r->shown[l] |= !panel->ranking || panel->n_curves > curves;
    }
    if (panel->ranking)
        sg_reading_end_ranking(r, panel);
    if (panel->points)
        sg_reading_end_points(r, panel);
    count_hidden(r, panel);
    sg_plot_fit(panel);
    return true;
}

static bool read_panels(struct sg_reading *r) {
    const size_t n = r->document->n_plots, only = r->select->panel;
    if (n == 0 && !r->select->y) {
        const char *none;
        return sg_plot_resolve(&none, &r->document->results, NULL, r->err) == SG_OK;
    }
    if (sg_plot_check_panel(r->document, r->select, r->err) != SG_OK)
        return false;
    r->figure->panel = sg_calloc(n ? n : 1, sizeof *r->figure->panel);
    if (n == 0)
        return read_panel(r, NULL);
    for (size_t i = 0; i < n; i++) {
        if (r->figure->n_panels == SG_PLOT_MAX_PANELS) {
            sg_fail(r->err, SG_ERR_ARGUMENT, "%zu plots do not fit one figure (at most %d): choose one with --panel=N",
                    n, SG_PLOT_MAX_PANELS);
            return false;
        }
        if ((only == 0 || only == i + 1) && !read_panel(r, &r->document->plots[i]))
            return false;
    }
    return true;
}

/* How many methods the result has, or how many of them the figure shows. */
static size_t count_methods(const struct sg_reading *r, bool shown) {
    const struct sg_frame_label *label = r->document->results.label;
    size_t n = 0;
    for (size_t l = 0; l < r->document->results.n_labels; l++) {
        bool is_new = !shown || r->shown[l];
        for (size_t k = 0; is_new && k < l; k++)
            is_new = (shown && !r->shown[k]) || strcmp(label[k].method, label[l].method) != 0;
        n += is_new;
    }
    return n;
}

/* True for a column that measures the quality of a task, as test_accuracy. */
static bool is_quality(const char *column) {
    const struct sg_metric *metric = sg_column_find(column);
    for (size_t i = 0; i < SG_COLUMNS; i++)
        if (metric == &sg_common_metrics[i])
            return false;
    return metric != NULL;
}

/* True if a figure compares methods by a quality measure of the task, without a run without compression. */
static bool lacks_baseline(const struct sg_reading *r) {
    const struct sg_figure *f = r->figure;
    bool shown = false;
    for (size_t l = 0; l < r->document->results.n_labels; l++) {
        const struct sg_frame_label *label = &r->document->results.label[l];
        const bool none = !label->compressor || strcmp(label->compressor, "none") == 0; /* older results do not say */
        if (label->baseline || none)
            return false;
    }
    for (size_t p = 0; p < f->n_panels; p++)
        shown |= is_quality(f->panel[p].y.name) || is_quality(f->panel[p].x.name);
    return shown && count_methods(r, false) > 1;
}

/* Adds that there is no run without compression to a footnote, which is taken over. */
static char *add_lack(const struct sg_reading *r, char *take_footnote) {
    if (!take_footnote || !lacks_baseline(r))
        return take_footnote;
    char *out = sg_format("%s%sno run without compression", take_footnote, take_footnote[0] ? "; " : "");
    free(take_footnote);
    return out;
}

/* Puts "36 of 60 methods" before a footnote, which is taken over, if some are not shown. */
static char *add_share(const struct sg_reading *r, char *take_footnote) {
    const size_t all = count_methods(r, false), shown = count_methods(r, true);
    if (!take_footnote || shown == all)
        return take_footnote;
    char *out = sg_format("%zu of %zu methods%s%s", shown, all, take_footnote[0] ? "; " : "", take_footnote);
    free(take_footnote);
    return out;
}

static void read_texts(struct sg_reading *r) {
    struct sg_figure *f = r->figure;
    f->title = sg_plot_title(r->document, r->select->title);
    f->source = sg_plot_source(r->document);
    f->footnote = sg_plot_add_unfinished(add_lack(r, add_share(r, sg_reading_footnote(r))), r->document);
}

sg_status sg_figure_read(struct sg_figure *out, const struct sg_document *document, const struct sg_plot_select *select,
                         struct sg_error *err) {
    struct sg_figure figure = {.width = select->width, .height = select->height};
    struct sg_reading r = {.figure = &figure, .document = document, .select = select, .err = err};
    sg_status status = SG_OK;
    r.shown = sg_calloc(document->results.n_labels + 1, sizeof *r.shown);
    sg_plot_note_status(&figure.notes, document);
    if (read_panels(&r)) {
        read_texts(&r);
        sg_plot_choose_names(&figure);
        sg_plot_choose_styles(&figure);
        SG_ASSERT(figure.n_panels <= SG_PLOT_MAX_PANELS);
        *out = figure;
    } else {
        status = err->status;
        sg_figure_free(&figure);
    }
    free(r.shown);
    return status;
}

void sg_figure_free(struct sg_figure *figure) {
    for (size_t i = 0; i < figure->n_panels; i++)
        free_panel(&figure->panel[i]);
    for (size_t i = 0; i < figure->n_legend; i++) {
        free(figure->legend[i].label);
        free(figure->legend[i].text);
        free(figure->legend[i].tuned);
    }
    free(figure->panel);
    free(figure->legend);
    free(figure->title);
    free(figure->source);
    free(figure->footnote);
    *figure = (struct sg_figure){0};
}

sg_status sg_figure_drawable(const struct sg_figure *figure, struct sg_error *err) {
    for (size_t i = 0; i < figure->n_panels; i++) {
        const struct sg_axis *x = &figure->panel[i].x, *y = &figure->panel[i].y;
        if (figure->panel[i].ranking && !(x->min < x->max))
            return sg_fail(err, SG_ERR_FORMAT, "nothing to rank: no '%.60s' where '%.60s' is within the plot's x-range",
                           x->name, y->name);
        if (!(x->min < x->max && y->min < y->max))
            return sg_fail(err, SG_ERR_FORMAT, "nothing to draw: no %svalues of '%.60s' over '%.60s'%s",
                           x->log || y->log ? "positive " : "", y->name, x->name,
                           x->log || y->log ? " (a log axis needs them; try --log=none)" : "");
    }
    return SG_OK;
}

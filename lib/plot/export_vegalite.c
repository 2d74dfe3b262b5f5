/* export_vegalite.c: a Vega-Lite 5 specification in JSON with its data, and for each panel layers of bands, lines and
 * markers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plot_layout.h"
#include "sg_text.h"

#define PIXELS 96.0 /* in an inch */

static cJSON *field(const char *name, const char *type) {
    cJSON *out = cJSON_CreateObject();
    sg_json_set_string(out, "field", name);
    if (type)
        sg_json_set_string(out, "type", type);
    return out;
}

/* A text as a list of lines of at most `ems`. */
static cJSON *lines(const char *text, double ems) {
    cJSON *out = cJSON_CreateArray();
    ems = sg_plot_balance(text, ems);
    while (*text) {
        const size_t length = sg_plot_line(text, ems);
        char *line = strndup(text, length);
        sg_json_push_string(out, sg_plot_made(line));
        free(line);
        text += length;
        text += *text == ' ';
    }
    return out;
}

/* ---- axes ---- */

/* "10⁻³" or "0.002". */
static void put_tick_text(FILE *out, const struct sg_tick *tick) {
    char power[SG_POWER_CHARS];
    fprintf(out, "'%s'", tick->power ? sg_plot_power(power, atoi(tick->text)) + strlen("×") : tick->text);
}

/* The expression that gives a tick its text, and a minor one none: both lists are in the same order. */
static char *tick_texts(const struct sg_ticks *ticks) {
    char *text = NULL, number[SG_NUMBER_CHARS];
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (size_t i = 0; out && i < ticks->n; i++) {
        fputs(i ? "," : "[", out);
        if (ticks->tick[i].labelled)
            put_tick_text(out, &ticks->tick[i]);
        else
            fputs("''", out);
    }
    for (size_t i = 0; out && i < ticks->n; i++)
        fprintf(out, "%s%s", i ? "," : "][indexof([", sg_number_text(ticks->tick[i].at, number));
    if (out)
        fputs("],datum.value)]", out);
    return sg_stream_text(out, &text);
}

/* `big` for ticks with a text, `small` for minor ones. */
static cJSON *by_tick(const char *texts, double big, double small) {
    cJSON *out = cJSON_CreateObject(), *condition = cJSON_CreateObject();
    char *test = sg_format("%s != ''", texts);
    sg_json_set_string(condition, "test", sg_plot_made(test));
    sg_json_set_number(condition, "value", big);
    sg_json_set(out, "condition", condition);
    sg_json_set_number(out, "value", small);
    free(test);
    return out;
}

static cJSON *axis_json(const struct sg_ticks *ticks) {
    cJSON *out = cJSON_CreateObject(), *values = cJSON_CreateArray();
    char *texts = tick_texts(ticks);
    for (size_t i = 0; i < ticks->n; i++)
        sg_json_push(values, cJSON_CreateNumber(ticks->tick[i].at));
    sg_json_set(out, "values", values);
    sg_json_set_string(out, "labelExpr", sg_plot_made(texts));
    sg_json_set_bool(out, "labelOverlap", false);
    if (texts && ticks->labels < ticks->n) {
        sg_json_set(out, "gridOpacity", by_tick(texts, 1, 0));
        sg_json_set(out, "tickSize", by_tick(texts, 5, 3));
    }
    free(texts);
    return out;
}

/* What a channel shows of the x or y axis of panel p. */
static cJSON *position(const char *name, const struct sg_sheet *s, const struct sg_figure *f, size_t p, bool is_x) {
    const struct sg_axis *axis = is_x ? &f->panel[p].x : &f->panel[p].y;
    const double domain[] = {axis->min, axis->max};
    cJSON *out = field(name, "quantitative"), *scale = cJSON_CreateObject();
    struct sg_ticks ticks;
    sg_sheet_ticks(&ticks, s, f, p, is_x);
    char *label = sg_sheet_label(axis, &ticks);
    sg_json_set(out, "title", lines(sg_plot_made(label), sg_sheet_label_ems(s, p, is_x)));
    sg_json_set_string(scale, "type", axis->log ? "log" : "linear");
    sg_json_set(scale, "domain", sg_json_numbers(domain, 2));
    sg_json_set_bool(scale, "nice", false);
    sg_json_set(out, "scale", scale);
    sg_json_set(out, "axis", axis_json(&ticks));
    free(label);
    return out;
}

/* ---- styles ---- */

enum channel { COLOR, DASH, SHAPE };

static cJSON *style_value(const struct sg_style *style, enum channel channel) {
    static const char *const shapes[SG_MARKERS] = {
        "circle", "square", "triangle-up", "diamond", "triangle-down", "M0,-.5L.48,-.15L.29,.4L-.29,.4L-.48,-.15Z"};
    const double solid[] = {1, 0};
    if (channel == DASH)
        return style->n_dash > 0 ? sg_json_numbers(style->dash, style->n_dash) : sg_json_numbers(solid, 2);
    if (channel == SHAPE)
        return cJSON_CreateString(shapes[style->marker]);
    return cJSON_CreateString(style->color);
}

/* The swatch of a legend is a piece of the line, with its colour and dash. */
static cJSON *legend(const struct sg_sheet *s, const struct sg_figure *f, size_t p) {
    cJSON *out = cJSON_CreateObject();
    struct sg_entry e = {0};
    double widest = 1;
    while (sg_plot_next_entry(f, p, 0, &e)) /* each in a row of its own */
        widest = fmax(widest, e.end);
    sg_json_set_string(out, "orient", "top");
    sg_json_set_number(out, "columns", fmax(1, floor(sg_sheet_legend_ems(s, p) / widest)));
    sg_json_set_string(out, "symbolType", "stroke");
    sg_json_set_number(out, "symbolSize", 400);
    sg_json_set_number(out, "symbolStrokeWidth", 2);
    sg_json_set_number(out, "symbolOpacity", 1);
    sg_json_set_number(out, "labelLimit", 0);
    return out;
}

/* The same style for an entry in every panel. Only the lines have a legend. */
static cJSON *by_label(const struct sg_sheet *s, const struct sg_figure *f, size_t p, enum channel channel,
                       bool names) {
    cJSON *out = field("label", "nominal"), *scale = cJSON_CreateObject();
    cJSON *domain = cJSON_CreateArray(), *range = cJSON_CreateArray();
    struct sg_entry e = {0};
    while (sg_plot_next_entry(f, p, 0, &e)) {
        sg_json_push_string(domain, f->legend[e.entry].text);
        sg_json_push(range, style_value(&f->legend[e.entry].style, channel));
    }
    sg_json_set(scale, "domain", domain);
    sg_json_set(scale, "range", range);
    sg_json_set(out, "scale", scale);
    sg_json_set(out, "title", NULL);
    sg_json_set(out, "legend", names ? legend(s, f, p) : NULL);
    return out;
}

/* ---- panels ---- */

static sg_status put_values(cJSON *values, const struct sg_panel *panel, const struct sg_curve *curve,
                            const char *label, struct sg_error *err) {
    size_t *index = malloc((curve->n + 1) * sizeof *index);
    if (!index)
        return sg_fail_memory(err, "the figure");
    size_t n = sg_plot_visible(panel, curve, SG_PLOT_MAX_POINTS, index);
    for (size_t i = 0; i < n; i++) {
        size_t k = index[i];
        cJSON *value = cJSON_CreateObject();
        sg_json_set_string(value, "label", label);
        if (!curve->level)
            sg_json_set_number(value, "x", curve->x[k]);
        sg_json_set_number(value, curve->level ? "level" : "y", curve->y[k]);
        if (sg_plot_draws_marks(panel, curve))
            sg_json_set_number(value, "mark", curve->y[k]);
        if (curve->y_std && !curve->level) {
            double low, high;
            sg_plot_band(panel, curve, k, &low, &high);
            sg_json_set_number(value, "low", low);
            sg_json_set_number(value, "high", high);
        }
        sg_json_push(values, value);
    }
    free(index);
    return SG_OK;
}

enum layer { BAND, BARS, LINE, LEVEL, MARKS };

static cJSON *layer(const struct sg_sheet *s, const struct sg_figure *f, size_t p, enum layer kind, bool names) {
    static const char *const marks[] = {"area", "rule", "line", "rule", "point"};
    static const char *const y[] = {"low", "low", "y", "level", "mark"};
    cJSON *out = cJSON_CreateObject(), *mark = cJSON_CreateObject(), *encoding = cJSON_CreateObject();
    sg_json_set_string(mark, "type", marks[kind]);
    if (kind == BAND)
        sg_json_set_number(mark, "fillOpacity", 0.18);
    if (kind == MARKS) {
        sg_json_set_bool(mark, "filled", true);
        sg_json_set_number(mark, "size", 50);
        sg_json_set_number(mark, "opacity", 1);
    }
    sg_json_set_bool(mark, "clip", kind == LINE || kind == BAND);
    sg_json_set(out, "mark", mark);
    if (kind != LEVEL)
        sg_json_set(encoding, "x", position("x", s, f, p, true));
    sg_json_set(encoding, "y", position(y[kind], s, f, p, false));
    if (kind == BAND || kind == BARS)
        sg_json_set(encoding, "y2", field("high", NULL));
    sg_json_set(encoding, "color", by_label(s, f, p, COLOR, names));
    if (kind == LINE || kind == LEVEL)
        sg_json_set(encoding, "strokeDash", by_label(s, f, p, DASH, names));
    if (kind == MARKS)
        sg_json_set(encoding, "shape", by_label(s, f, p, SHAPE, false));
    sg_json_set(out, "encoding", encoding);
    return out;
}

/* Nothing of these is common: to panels, which name what they show, or to layers, of which the lines name it. */
static cJSON *resolve_json(const char *what) {
    static const char *const channel[] = {"color", "strokeDash", "shape"};
    cJSON *out = cJSON_CreateObject(), *map = cJSON_CreateObject();
    for (size_t i = 0; i < sizeof channel / sizeof *channel; i++)
        sg_json_set_string(map, channel[i], "independent");
    sg_json_set(out, what, map);
    return out;
}

/* ---- rankings ---- */

/* A row is one record and one for each of its seeds; the baseline is a record with a level. */
static void put_row(cJSON *values, const struct sg_panel *panel, const struct sg_curve *curve, const char *color) {
    cJSON *out = cJSON_CreateObject();
    double low, high;
    sg_plot_band(panel, curve, 0, &low, &high);
    sg_json_set_string(out, "label", curve->row);
    sg_json_set_string(out, "color", color);
    sg_json_set_number(out, curve->level ? "level" : "x", curve->x[0]);
    sg_json_set_number(out, curve->level ? "from" : "low", low);
    sg_json_set_number(out, curve->level ? "to" : "high", high);
    sg_json_push(values, out);
    for (size_t i = 0; !curve->level && i < curve->n_seeds; i++) {
        cJSON *seed = cJSON_CreateObject();
        sg_json_set_string(seed, "label", curve->row);
        sg_json_set_string(seed, "color", color);
        sg_json_set_number(seed, "seed", curve->seed[i]);
        sg_json_push(values, seed);
    }
}

/* What all rows have of one kind: the band and the line of the baseline, rings, bars and markers. */
static cJSON *rank_layer(const struct sg_sheet *s, const struct sg_figure *f, size_t p, size_t kind) {
    static const struct {
        const char *type, *x, *x2;
        bool row, filled;
        double size;
    } kinds[] = {{"rect", "from", "to", false, true, 0},
                 {"rule", "level", NULL, false, true, 0},
                 {"point", "seed", NULL, true, false, 12},
                 {"rule", "low", "high", true, true, 0},
                 {"point", "x", NULL, true, true, 35}};
    cJSON *out = cJSON_CreateObject(), *mark = cJSON_CreateObject(), *encoding = cJSON_CreateObject();
    const double dash[] = {5, 3};
    sg_json_set_string(mark, "type", kinds[kind].type);
    sg_json_set_bool(mark, "clip", true);
    sg_json_set_number(mark, "opacity", kind == 0 ? 0.18 : 1);
    if (kind == 1)
        sg_json_set(mark, "strokeDash", sg_json_numbers(dash, 2));
    if (kinds[kind].size > 0) {
        sg_json_set_bool(mark, "filled", kinds[kind].filled);
        sg_json_set_number(mark, "size", kinds[kind].size);
    }
    sg_json_set(out, "mark", mark);
    sg_json_set(encoding, "x", position(kinds[kind].x, s, f, p, true));
    if (kinds[kind].x2)
        sg_json_set(encoding, "x2", field(kinds[kind].x2, NULL));
    if (kinds[kind].row) {
        cJSON *row = field("label", "nominal");
        sg_json_set(row, "sort", NULL); /* as the data are */
        sg_json_set(row, "title", NULL);
        sg_json_set(encoding, "y", row);
    }
    cJSON *color = field("color", "nominal");
    sg_json_set(color, "scale", NULL); /* it is the colour itself */
    sg_json_set(encoding, "color", color);
    sg_json_set(out, "encoding", encoding);
    return out;
}

static sg_status put_panel(cJSON *panels, const struct sg_sheet *s, const struct sg_figure *f, size_t p,
                           struct sg_error *err) {
    const struct sg_panel *panel = &f->panel[p];
    const struct sg_place *place = &s->place[p];
    cJSON *out = cJSON_CreateObject(), *data = cJSON_CreateObject(), *values = cJSON_CreateArray();
    cJSON *layers = cJSON_CreateArray();
    char *caption = sg_plot_caption(f, p);
    bool band = false, level = false, marks = false;
    sg_status status = SG_OK;
    for (size_t c = 0; panel->ranking && c < panel->n_curves; c++)
        put_row(values, panel, &panel->curve[c], f->legend[panel->curve[c].legend].style.color);
    for (size_t kind = 0; panel->ranking && kind < 5; kind++)
        sg_json_push(layers, rank_layer(s, f, p, kind));
    for (size_t c = 0; !panel->ranking && c < panel->n_curves && status == SG_OK; c++) {
        const struct sg_curve *curve = &panel->curve[c];
        band |= curve->y_std != NULL && !curve->level;
        level |= curve->level;
        marks |= sg_plot_draws_marks(panel, curve);
        status = put_values(values, panel, curve, f->legend[curve->legend].text, err);
    }
    sg_json_set(out, "title", lines(sg_plot_made(caption), sg_sheet_caption_ems(s, p)));
    sg_json_set_number(out, "width", floor(PIXELS * (place->x1 - place->x0)));
    sg_json_set_number(out, "height", floor(PIXELS * (place->y1 - place->y0)));
    sg_json_set(data, "values", values);
    sg_json_set(out, "data", data);
    if (band)
        sg_json_push(layers, layer(s, f, p, panel->points ? BARS : BAND, false));
    if (!panel->ranking)
        sg_json_push(layers, layer(s, f, p, LINE, true));
    if (level)
        sg_json_push(layers, layer(s, f, p, LEVEL, false));
    if (marks)
        sg_json_push(layers, layer(s, f, p, MARKS, false));
    sg_json_set(out, "layer", layers);
    sg_json_set(out, "resolve", resolve_json("legend"));
    sg_json_push(panels, out);
    free(caption);
    return status;
}

static cJSON *config_json(const struct sg_sheet *s) {
    cJSON *out = cJSON_CreateObject(), *view = cJSON_CreateObject(), *title = cJSON_CreateObject();
    cJSON *axis = cJSON_CreateObject(), *names = cJSON_CreateObject();
    const double pixels = PIXELS * s->em;
    sg_json_set(view, "stroke", NULL);
    sg_json_set(out, "view", view);
    sg_json_set_string(title, "fontWeight", "normal");
    sg_json_set_string(title, "anchor", "start");
    sg_json_set_number(title, "fontSize", pixels);
    sg_json_set(out, "title", title);
    sg_json_set_string(axis, "titleFontWeight", "normal");
    sg_json_set_number(axis, "titleFontSize", pixels);
    sg_json_set_number(axis, "labelFontSize", SG_SMALL * pixels);
    sg_json_set(out, "axis", axis);
    sg_json_set_number(names, "labelFontSize", SG_SMALL * pixels);
    sg_json_set(out, "legend", names);
    return out;
}

sg_status sg_export_vegalite(FILE *out, const struct sg_figure *f, const char *format, struct sg_error *err) {
    (void)format;
    struct sg_sheet s;
    sg_sheet_lay_out(&s, f);
    cJSON *root = cJSON_CreateObject(), *panels = cJSON_CreateArray(), *title = cJSON_CreateObject();
    char *text = NULL;
    sg_status status = SG_OK;
    sg_json_set_string(root, "$schema", "https://vega.github.io/schema/vega-lite/v5.json");
    sg_json_set_string(root, "description", f->source);
    sg_json_set(title, "text", lines(f->title, sg_sheet_title_ems(&s)));
    if (f->footnote[0])
        sg_json_set(title, "subtitle", lines(f->footnote, sg_sheet_footnote_ems(&s)));
    sg_json_set_string(title, "anchor", "middle");
    sg_json_set(root, "title", title);
    sg_json_set_number(root, "columns", (double)s.columns);
    for (size_t p = 0; p < f->n_panels && status == SG_OK; p++)
        status = put_panel(panels, &s, f, p, err);
    sg_json_set(root, "concat", panels);
    sg_json_set(root, "resolve", resolve_json("scale"));
    sg_json_set(root, "config", config_json(&s));
    if (status == SG_OK)
        text = sg_json_text(root, false);
    if (text)
        fputs(text, out);
    else if (status == SG_OK)
        status = sg_fail_memory(err, "the figure");
    cJSON_Delete(root);
    free(text);
    return status;
}

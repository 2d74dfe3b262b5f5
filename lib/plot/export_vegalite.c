/* export_vegalite.c: a Vega-Lite 5 specification in JSON with its data, and for each panel a layer of bands and a layer
 * of lines. */
#include <math.h>
#include <stdlib.h>

#include "plot_private.h"

static cJSON *field(const char *name, const char *type) {
    cJSON *out = cJSON_CreateObject();
    sg_json_set_string(out, "field", name);
    if (type)
        sg_json_set_string(out, "type", type);
    return out;
}

static cJSON *axis_field(const char *name, const struct sg_axis *axis) {
    cJSON *out = field(name, "quantitative"), *scale = cJSON_CreateObject();
    const double domain[] = {axis->min, axis->max};
    sg_json_set_string(out, "title", axis->label);
    sg_json_set_string(scale, "type", axis->log ? "log" : "linear");
    sg_json_set(scale, "domain", sg_json_numbers(domain, 2));
    sg_json_set_bool(scale, "nice", false);
    sg_json_set(out, "scale", scale);
    if (axis->log || sg_plot_ticks(axis).exponent) {
        cJSON *style = cJSON_CreateObject();
        sg_json_set_string(style, "format", axis->log ? ".0e" : "~s");
        sg_json_set(out, "axis", style);
    }
    return out;
}

/* The same colour and dash for a label in every panel. */
static cJSON *by_label(const struct sg_figure *f, bool dash) {
    cJSON *out = field("label", "nominal"), *scale = cJSON_CreateObject();
    cJSON *domain = cJSON_CreateArray(), *range = cJSON_CreateArray();
    const double solid[] = {1, 0};
    for (size_t i = 0; i < f->n_legend; i++) {
        const struct sg_style *style = &f->legend[i].style;
        sg_json_push_string(domain, f->legend[i].label);
        if (dash)
            sg_json_push(range,
                         style->n_dash ? sg_json_numbers(style->dash, style->n_dash) : sg_json_numbers(solid, 2));
        else
            sg_json_push_string(range, style->color);
    }
    sg_json_set(scale, "domain", domain);
    sg_json_set(scale, "range", range);
    sg_json_set(out, "scale", scale);
    sg_json_set(out, "title", NULL);
    return out;
}

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

enum layer { BAND, LINE, BARS, LEVEL };

static cJSON *layer(const struct sg_figure *f, const struct sg_panel *panel, enum layer kind) {
    static const char *const marks[] = {"errorband", "line", "errorbar", "rule"};
    cJSON *out = cJSON_CreateObject(), *mark = cJSON_CreateObject(), *encoding = cJSON_CreateObject();
    sg_json_set_string(mark, "type", marks[kind]);
    if (kind == BAND)
        sg_json_set_number(mark, "opacity", 0.18);
    if (kind == LINE && panel->points)
        sg_json_set_bool(mark, "point", true);
    if (kind == LINE || kind == BAND)
        sg_json_set_bool(mark, "clip", true);
    sg_json_set(out, "mark", mark);
    if (kind != LEVEL)
        sg_json_set(encoding, "x", axis_field("x", &panel->x));
    sg_json_set(encoding, "y", axis_field(kind == LINE ? "y" : kind == LEVEL ? "level" : "low", &panel->y));
    if (kind == BAND || kind == BARS)
        sg_json_set(encoding, "y2", field("high", NULL));
    sg_json_set(encoding, "color", by_label(f, false));
    if (kind == LINE || kind == LEVEL)
        sg_json_set(encoding, "strokeDash", by_label(f, true));
    sg_json_set(out, "encoding", encoding);
    return out;
}

static sg_status put_panel(cJSON *panels, const struct sg_figure *f, size_t p, struct sg_error *err) {
    const struct sg_panel *panel = &f->panel[p];
    cJSON *out = cJSON_CreateObject(), *data = cJSON_CreateObject(), *values = cJSON_CreateArray();
    cJSON *layers = cJSON_CreateArray();
    char *caption = sg_plot_caption(f, p);
    bool band = false, level = false;
    sg_status status = SG_OK;
    for (size_t c = 0; c < panel->n_curves && status == SG_OK; c++) {
        band |= panel->curve[c].y_std != NULL && !panel->curve[c].level;
        level |= panel->curve[c].level;
        status = put_values(values, panel, &panel->curve[c], f->legend[panel->curve[c].legend].label, err);
    }
    sg_json_set_string(out, "title", caption);
    sg_json_set_number(out, "width", f->width > 0 ? 96 * f->width / (double)sg_plot_grid_columns(f->n_panels) : 300);
    sg_json_set_number(out, "height", f->height > 0 ? 96 * f->height : 220);
    sg_json_set(data, "values", values);
    sg_json_set(out, "data", data);
    if (band)
        sg_json_push(layers, layer(f, panel, panel->points ? BARS : BAND));
    sg_json_push(layers, layer(f, panel, LINE));
    if (level)
        sg_json_push(layers, layer(f, panel, LEVEL));
    sg_json_set(out, "layer", layers);
    sg_json_push(panels, out);
    free(caption);
    return status;
}

sg_status sg_export_vegalite(FILE *out, const struct sg_figure *f, const char *format, struct sg_error *err) {
    (void)format;
    cJSON *root = cJSON_CreateObject(), *panels = cJSON_CreateArray(), *resolve = cJSON_CreateObject();
    cJSON *shared = cJSON_CreateObject(), *title = cJSON_CreateObject(), *config = cJSON_CreateObject();
    cJSON *legend = cJSON_CreateObject(), *view = cJSON_CreateObject();
    char *text = NULL;
    sg_status status = SG_OK;
    sg_json_set_string(root, "$schema", "https://vega.github.io/schema/vega-lite/v5.json");
    sg_json_set_string(root, "description", f->source);
    sg_json_set_string(title, "text", f->title);
    if (f->footnote[0])
        sg_json_set_string(title, "subtitle", f->footnote);
    sg_json_set_string(title, "anchor", "middle");
    sg_json_set(root, "title", title);
    sg_json_set_number(root, "columns", (double)sg_plot_grid_columns(f->n_panels));
    for (size_t p = 0; p < f->n_panels && status == SG_OK; p++)
        status = put_panel(panels, f, p, err);
    sg_json_set(root, "concat", panels);
    sg_json_set_string(shared, "color", "shared");
    sg_json_set_string(shared, "strokeDash", "shared");
    sg_json_set(resolve, "scale", shared);
    sg_json_set(root, "resolve", resolve);
    sg_json_set_string(legend, "orient", "top");
    sg_json_set(config, "legend", legend);
    sg_json_set(view, "stroke", NULL);
    sg_json_set(config, "view", view);
    sg_json_set(root, "config", config);
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

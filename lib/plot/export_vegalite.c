/* export_vegalite.c: a Vega-Lite 5 specification in JSON with its data and, for each panel, layers of bands, lines and
 * markers in the figure's styles. Where everything stands is left to Vega-Lite. */
#include <stdlib.h>

#include "plot_private.h"

static cJSON *field(const char *name, const char *type) {
    cJSON *out = SG_OBJECT(SG_TEXT("field", name));
    return type ? SG_SET(out, SG_TEXT("type", type)) : out;
}

/* What a channel shows of an axis. */
static cJSON *position(const char *name, const struct sg_axis *axis) {
    const double domain[] = {axis->min, axis->max};
    cJSON *scale = SG_OBJECT(SG_TEXT("type", axis->log ? "log" : "linear"),
                             SG_VALUE("domain", sg_json_numbers(domain, 2)), SG_BOOL("nice", false));
    return SG_SET(field(name, "quantitative"), SG_TEXT("title", axis->label), SG_VALUE("scale", scale));
}

enum channel { COLOR, DASH, SHAPE };

/* The same style for an entry of the legend in every panel. */
static cJSON *by_label(const struct sg_figure *f, enum channel channel) {
    static const char *const shapes[SG_MARKERS] = {
        "circle", "square", "triangle-up", "diamond", "triangle-down", "M0,-.5L.48,-.15L.29,.4L-.29,.4L-.48,-.15Z"};
    const double solid[] = {1, 0};
    cJSON *domain = cJSON_CreateArray(), *range = cJSON_CreateArray();
    for (size_t i = 0; i < f->n_legend; i++) {
        const struct sg_style *style = &f->legend[i].style;
        sg_json_push_string(domain, f->legend[i].text);
        if (channel == DASH)
            sg_json_push(range,
                         sg_json_numbers(style->n_dash ? style->dash : solid, style->n_dash ? style->n_dash : 2));
        else
            sg_json_push_string(range, channel == SHAPE ? shapes[style->marker] : style->color);
    }
    cJSON *scale = SG_OBJECT(SG_VALUE("domain", domain), SG_VALUE("range", range));
    return SG_SET(field("label", "nominal"), SG_VALUE("scale", scale), SG_VALUE("title", NULL));
}

/* Of a ranking's row also its name. */
static void put_values(void *to, const struct sg_drawn *d) {
    for (size_t i = 0; i < d->n; i++) {
        const struct sg_spot *spot = &d->spot[i];
        cJSON *value = SG_OBJECT(SG_TEXT("label", d->entry->text), SG_NUMBER("x", spot->x), SG_NUMBER("y", spot->y),
                                 SG_BOOL("mark", d->marks));
        if (d->row)
            sg_json_set_string(value, "row", d->curve->row);
        if (d->curve->y_std)
            SG_SET(value, SG_NUMBER("low", spot->low), SG_NUMBER("high", spot->high));
        sg_json_push(to, value);
    }
}

/* A layer of a panel, of those values for which the expression is true: markers, lines, or what lies between "low" and
 * "high". A ranking has names of rows in place of its y axis, and its baseline goes through all rows. */
static cJSON *layer(const struct sg_figure *f, size_t p, const char *mark, const char *filter, bool ends) {
    const struct sg_panel *panel = &f->panel[p];
    const bool flat = panel->ranking, baseline = flat && !ends && mark[0] == 'r';
    cJSON *encoding = cJSON_CreateObject(), *transform = cJSON_CreateArray();
    sg_json_push(transform, SG_OBJECT(SG_TEXT("filter", filter)));
    sg_json_set(encoding, "x", position(ends && flat ? "low" : "x", &panel->x));
    if (ends)
        sg_json_set(encoding, flat ? "x2" : "y2", field("high", NULL));
    if (!flat)
        sg_json_set(encoding, "y", position(ends ? "low" : "y", &panel->y));
    else if (!baseline)
        sg_json_set(encoding, "y", SG_SET(field("row", "nominal"), SG_VALUE("sort", NULL), SG_VALUE("title", NULL)));
    sg_json_set(encoding, "color", by_label(f, COLOR));
    if (mark[0] == 'l')
        sg_json_set(encoding, "strokeDash", by_label(f, DASH));
    if (mark[0] == 'p')
        sg_json_set(encoding, "shape", by_label(f, SHAPE));
    return SG_OBJECT(SG_VALUE("mark", SG_OBJECT(SG_TEXT("type", mark), SG_BOOL("clip", true),
                                                SG_NUMBER("opacity", mark[0] == 'a' ? 0.18 : 1))),
                     SG_VALUE("transform", transform), SG_VALUE("encoding", encoding));
}

static sg_status put_panel(cJSON *panels, const struct sg_figure *f, size_t p, struct sg_error *err) {
    const struct sg_panel *panel = &f->panel[p];
    cJSON *values = cJSON_CreateArray(), *layers = cJSON_CreateArray();
    char *caption = sg_plot_caption(f, p);
    const sg_status status = sg_plot_each_curve(f, p, SG_PLOT_MAX_POINTS, put_values, values, err);
    if (panel->ranking)
        sg_json_push(layers, layer(f, p, "rule", "!datum.mark", false));
    sg_json_push(layers, layer(f, p, panel->points || panel->ranking ? "rule" : "area",
                               panel->ranking ? "datum.mark && isValid(datum.low)" : "isValid(datum.low)", true));
    if (!panel->ranking)
        sg_json_push(layers, layer(f, p, "line", "true", false));
    sg_json_push(layers, layer(f, p, "point", "datum.mark", false));
    sg_json_push(panels, SG_OBJECT(SG_TEXT("title", sg_plot_made(caption)),
                                   SG_VALUE("data", SG_OBJECT(SG_VALUE("values", values))), SG_VALUE("layer", layers)));
    free(caption);
    return status;
}

sg_status sg_export_vegalite(FILE *out, const struct sg_figure *f, const char *format, struct sg_error *err) {
    (void)format;
    cJSON *panels = cJSON_CreateArray();
    sg_status status = SG_OK;
    for (size_t p = 0; p < f->n_panels; p++)
        SG_DO(status, put_panel(panels, f, p, err));
    cJSON *root = SG_OBJECT(SG_TEXT("$schema", "https://vega.github.io/schema/vega-lite/v5.json"),
                            SG_TEXT("description", f->source),
                            SG_VALUE("title", SG_OBJECT(SG_TEXT("text", f->title), SG_TEXT("subtitle", f->footnote))),
                            SG_NUMBER("columns", sg_plot_grid_columns(f->n_panels)), SG_VALUE("concat", panels));
    char *text = NULL;
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

/* svg_curves.c: draws what a panel shows of the data: curves with bands, points with bars, rows of a ranking. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "html_private.h"
#include "svg_private.h"

/* Pixels. */
#define MARKER      3.15 /* half a marker */
#define ROW_MARKER  2.48 /* of the rows of a ranking */
#define SEED_MARKER 1.8

/* A curve of a panel: the points to draw are index[n] of it. */
struct drawn {
    const struct sg_panel *panel;
    const struct sg_curve *curve;
    const struct sg_legend *entry;
    const struct sg_place *place;
    size_t n, *index;
};

static double across(const struct drawn *d, double x) {
    return svg_place(&d->panel->x, x, d->place->x0, d->place->x1);
}

static double down(const struct drawn *d, double y) {
    return svg_place(&d->panel->y, y, d->place->y1, d->place->y0);
}

void svg_put_stroke(FILE *out, const struct sg_style *style, double width) {
    fprintf(out, " fill=\"none\" stroke=\"%s\" stroke-width=\"%.3g\"", style->color, width);
    for (size_t i = 0; i < style->n_dash; i++)
        fprintf(out, "%s%.3g", i ? "," : " stroke-dasharray=\"", style->dash[i] * width);
    fputs(style->n_dash ? "\"" : "", out);
}

static void put_circle(FILE *out, double x, double y, double radius, const char *fill, const char *stroke) {
    fprintf(out, "<circle cx=\"%g\" cy=\"%g\" r=\"%g\" fill=\"%s\" stroke=\"%s\" stroke-width=\"%.2g\"/>", x, y, radius,
            fill, stroke, 0.222 * radius);
}

void svg_put_marker(FILE *out, const struct sg_style *style, double x, double y) {
    static const char *const shapes[SG_MARKERS] = {[SG_MARKER_SQUARE] = "M-1-1H1V1H-1z",
                                                   [SG_MARKER_UP] = "M0-1.33L1.33.67H-1.33z",
                                                   [SG_MARKER_DIAMOND] = "M0-1.41L1.41 0 0 1.41-1.41 0z",
                                                   [SG_MARKER_DOWN] = "M0 1.33L1.33-.67H-1.33z",
                                                   [SG_MARKER_PENTAGON] = "M0-1.33L1.27-.41.78 1.08H-.78L-1.27-.41z"};
    const char *fill = style->hollow ? "#FFFFFF" : style->color; /* it hides lines and bars behind it */
    if (style->marker == SG_MARKER_CIRCLE)
        put_circle(out, x, y, MARKER, fill, style->color);
    else
        fprintf(out,
                "<path transform=\"translate(%g %g) scale(%g)\" d=\"%s\" fill=\"%s\" stroke=\"%s\" "
                "stroke-width=\".222\"/>",
                x, y, MARKER, shapes[style->marker], fill, style->color);
}

/* ---- curves ---- */

/* Bands are drawn below lines and lines below baselines, because dashes below a line could not be seen. Markers of a
 * baseline would hide those of others. */
enum pass { BANDS, LINES, BASELINES, PASSES };

static enum pass pass_of(const struct drawn *d) {
    if (d->panel->ranking)
        return d->curve->level ? BANDS : LINES; /* the line of a baseline goes below all rows */
    return d->entry->baseline && !sg_plot_draws_marks(d->panel, d->curve) ? BASELINES : LINES;
}

static void put_values(const struct drawn *d, FILE *out, const char *name, const double *value) {
    fprintf(out, " data-%s=\"", name);
    for (size_t i = 0; i < d->n; i++)
        fprintf(out, "%s%.7g", i ? " " : "", value[d->index[i]]);
    fputc('"', out);
}

/* The ends of bands and bars have fewer digits. */
static void put_ends(const struct drawn *d, FILE *out, size_t from, size_t end) {
    double low, high;
    if (!d->curve->y_std)
        return;
    for (int upper = 0; upper < 2; upper++) {
        fputs(upper ? "\" data-high=\"" : " data-low=\"", out);
        for (size_t i = from; i < end; i++) {
            sg_plot_band(d->panel, d->curve, d->index[i], &low, &high);
            fprintf(out, "%s%.5g", i > from ? " " : "", upper ? high : low);
        }
    }
    fputc('"', out);
}

static void begin_curve(const struct drawn *d, FILE *out) {
    fputs("<g data-method=\"", out);
    sg_put_html(out, d->entry->label);
    fputc('"', out);
    if (!sg_plot_draws_marks(d->panel, d->curve)) {
        put_values(d, out, d->curve->level && d->panel->ranking ? "x" : "y",
                   d->curve->level && d->panel->ranking ? d->curve->x : d->curve->y);
        if (!d->curve->level)
            put_values(d, out, "x", d->curve->x);
        put_ends(d, out, 0, d->n);
        fputs(d->curve->level ? " data-level=\"\"" : "", out);
    }
    sg_put_element(out, "><title>", d->entry->label, "</title>");
}

/* The outline of a band: forth along its lower edge and back along the upper one. */
static void put_band(const struct svg_drawing *g, const struct drawn *d, const char *clip) {
    const bool ranking = d->panel->ranking;
    double low, high;
    fputs("<path data-band=\"", g->out);
    sg_put_html(g->out, d->entry->label);
    fprintf(g->out, "\" fill=\"%s\" fill-opacity=\"0.18\"%s d=\"", d->entry->style.color, clip);
    sg_plot_band(d->panel, d->curve, d->index[0], &low, &high);
    if (ranking)
        fprintf(g->out, "M%g %gH%gV%gH%gz", across(d, low), svg_pixels(d->place->y0), across(d, high),
                svg_pixels(d->place->y1), across(d, low));
    else if (d->curve->level)
        fprintf(g->out, "M%g %gH%gV%gH%gz", svg_pixels(d->place->x0), down(d, low), svg_pixels(d->place->x1),
                down(d, high), svg_pixels(d->place->x0));
    for (size_t i = 0; !d->curve->level && i < 2 * d->n; i++) {
        const size_t k = d->index[i < d->n ? i : 2 * d->n - 1 - i];
        sg_plot_band(d->panel, d->curve, k, &low, &high);
        fprintf(g->out, "%c%g %g", i ? 'L' : 'M', across(d, d->curve->x[k]), down(d, i < d->n ? low : high));
    }
    fputs(d->curve->level ? "\"/>\n" : "z\"/>\n", g->out);
}

static void put_line(const struct svg_drawing *g, const struct drawn *d, const char *clip) {
    const bool points = d->panel->points && !d->curve->level;
    fputs("<path class=\"line\"", g->out);
    svg_put_stroke(g->out, &d->entry->style, points ? 1 : SVG_LINE * d->entry->style.width);
    fprintf(g->out, "%s d=\"", clip);
    if (d->curve->level && d->panel->ranking)
        fprintf(g->out, "M%g %gV%g", across(d, d->curve->x[0]), svg_pixels(d->place->y1), svg_pixels(d->place->y0));
    else if (d->curve->level)
        fprintf(g->out, "M%g %gH%g", svg_pixels(d->place->x0), down(d, d->curve->y[0]), svg_pixels(d->place->x1));
    for (size_t i = 0; !d->curve->level && i < d->n; i++)
        fprintf(g->out, "%c%g %g", i ? 'L' : 'M', across(d, d->curve->x[d->index[i]]),
                down(d, d->curve->y[d->index[i]]));
    fputs("\"/>", g->out);
}

static bool is_in_view(const struct sg_axis *axis, double value) {
    const double share = svg_place(axis, value, 0, 1) / SVG_INCH;
    return share > -1e-3 && share < 1 + 1e-3;
}

/* A bar with flat ends of `half` pixels to each side. */
static void put_bar(const struct svg_drawing *g, const struct drawn *d, size_t k, double half, const char *clip) {
    double low, high;
    sg_plot_band(d->panel, d->curve, k, &low, &high);
    if (!(low < high))
        return;
    fprintf(g->out, "<path fill=\"none\" stroke=\"%s\"%s d=\"", d->entry->style.color, clip);
    if (d->panel->ranking)
        fprintf(g->out, "M%g %gH%gM%g %gv%gM%g %gv%g", across(d, low), down(d, d->curve->y[k]), across(d, high),
                across(d, low), down(d, d->curve->y[k]) - half, 2 * half, across(d, high),
                down(d, d->curve->y[k]) - half, 2 * half);
    else
        fprintf(g->out, "M%g %gV%gM%g %gh%gM%g %gh%g", across(d, d->curve->x[k]), down(d, low), down(d, high),
                across(d, d->curve->x[k]) - half, down(d, low), 2 * half, across(d, d->curve->x[k]) - half,
                down(d, high), 2 * half);
    fputs("\"/>", g->out);
}

/* The i-th point of a curve, with its bar, and in a ranking its seeds. */
static void put_point(const struct svg_drawing *g, const struct drawn *d, size_t i, const char *clip) {
    const struct sg_curve *curve = d->curve;
    const size_t k = d->index[i];
    const char *label = curve->point ? curve->point[k] : d->entry->label;
    const double half = round(SVG_INCH * (d->place->x1 - d->place->x0) * (d->panel->ranking ? 0.6 : 1.2)) / 100;
    if (!is_in_view(&d->panel->x, curve->x[k]) || !is_in_view(&d->panel->y, curve->y[k]))
        return;
    fputs("<g data-point=\"", g->out);
    sg_put_html(g->out, label);
    fprintf(g->out, "\" data-x=\"%.7g\" data-y=\"%.7g\"", curve->x[k], curve->y[k]);
    put_ends(d, g->out, i, i + 1);
    sg_put_element(g->out, "><title>", label, "</title>");
    const double x = across(d, curve->x[k]), y = down(d, curve->y[k]);
    for (size_t seed = 0; seed < curve->n_seeds; seed++)
        if (is_in_view(&d->panel->x, curve->seed[seed]))
            put_circle(g->out, across(d, curve->seed[seed]), y, SEED_MARKER, "none", d->entry->style.color);
    if (curve->y_std)
        put_bar(g, d, k, half, clip);
    if (d->panel->ranking)
        put_circle(g->out, x, y, ROW_MARKER, d->entry->style.color, "none");
    else
        svg_put_marker(g->out, &d->entry->style, x, y);
    fputs("</g>\n", g->out);
}

/* The name of a row, and where its value lies if that is beyond the view. */
static void put_row_name(const struct svg_drawing *g, const struct drawn *d) {
    char beyond[SG_BEYOND_CHARS];
    const double y = down(d, d->curve->y[0]) / SVG_INCH, inner = 0.02 * (d->place->x1 - d->place->x0);
    const bool left = d->curve->x[0] < d->panel->x.min;
    svg_put_text(g, d->curve->row, d->place->y_numbers, y, SG_SMALL * g->s->em, SVG_RIGHT);
    if (*sg_plot_beyond(beyond, d->panel, d->curve))
        svg_put_text(g, beyond, left ? d->place->x0 + inner : d->place->x1 - inner, y, SG_SMALL * g->s->em,
                     left ? "" : SVG_RIGHT);
}

static void put_curve(const struct svg_drawing *g, const struct drawn *d, enum pass pass, const char *clip) {
    const bool row = d->panel->ranking && !d->curve->level;
    if (pass == BANDS && d->curve->y_std && (d->curve->level || !sg_plot_draws_marks(d->panel, d->curve)))
        put_band(g, d, clip);
    if (pass != pass_of(d))
        return;
    begin_curve(d, g->out);
    if (!row)
        put_line(g, d, clip);
    for (size_t i = 0; sg_plot_draws_marks(d->panel, d->curve) && i < d->n; i++)
        put_point(g, d, i, clip);
    if (row)
        put_row_name(g, d);
    fputs("</g>\n", g->out);
}

sg_status svg_put_curves(const struct svg_drawing *g, size_t p, struct sg_error *err) {
    const struct sg_panel *panel = &g->f->panel[p];
    char clip[64];
    snprintf(clip, sizeof clip, " clip-path=\"url(#%sclip%zu)\"", g->id, p + 1);
    for (int pass = BANDS; pass < PASSES; pass++)
        for (size_t c = 0; c < panel->n_curves; c++) {
            const struct sg_curve *curve = &panel->curve[c];
            struct drawn d = {panel, curve, &g->f->legend[curve->legend], &g->s->place[p], 0, NULL};
            d.index = malloc((curve->n + 1) * sizeof *d.index);
            if (!d.index)
                return sg_fail_memory(err, "the figure");
            d.n = sg_plot_visible(panel, curve, SG_PLOT_MAX_POINTS, d.index);
            if (d.n > 0)
                put_curve(g, &d, (enum pass)pass, clip);
            free(d.index);
        }
    return SG_OK;
}

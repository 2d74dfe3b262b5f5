/* svg_curves.c: draws what a panel shows of the data: curves with bands, points with bars, rows of a ranking. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "sg_markup.h"
#include "svg_private.h"

/* Pixels. */
#define MARKER      3.15 /* half a marker */
#define ROW_MARKER  2.48 /* of the rows of a ranking */
#define SEED_MARKER 1.8

/* Bands are drawn below lines and lines below baselines, because dashes below a line could not be seen. Markers of a
 * baseline would hide those of others. */
enum pass { BANDS, LINES, BASELINES, PASSES };

/* Where the curves of a panel are drawn, and which of them now. */
struct pen {
    const struct svg_drawing *g;
    FILE *out;
    const struct sg_place *place;
    const char *clip; /* the attribute */
    enum pass pass;
};

static double across(const struct pen *pen, const struct sg_drawn *d, double x) {
    return svg_place(&d->panel->x, x, pen->place->x0, pen->place->x1);
}

static double down(const struct pen *pen, const struct sg_drawn *d, double y) {
    return svg_place(&d->panel->y, y, pen->place->y1, pen->place->y0);
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

static enum pass pass_of(const struct sg_drawn *d) {
    if (d->panel->ranking)
        return d->curve->level ? BANDS : LINES; /* the line of a baseline goes below all rows */
    return d->entry->baseline && !d->marks ? BASELINES : LINES;
}

enum { X, Y };
static void put_values(FILE *out, const struct sg_drawn *d, int which) {
    fputs(which == X ? " data-x=\"" : " data-y=\"", out);
    for (size_t i = 0; i < (d->curve->level ? 1 : d->n); i++)
        fprintf(out, "%s%.7g", i ? " " : "", which == X ? d->spot[i].x : d->spot[i].y);
    fputc('"', out);
}

/* The ends of bands and bars have fewer digits. */
static void put_ends(FILE *out, const struct sg_spot *spot, size_t n) {
    for (int upper = 0; upper < 2; upper++) {
        fputs(upper ? "\" data-high=\"" : " data-low=\"", out);
        for (size_t i = 0; i < n; i++)
            fprintf(out, "%s%.5g", i ? " " : "", upper ? spot[i].high : spot[i].low);
    }
    fputc('"', out);
}

static void begin_curve(FILE *out, const struct sg_drawn *d) {
    const bool level = d->curve->level;
    sg_put_element(out, "<g data-method=\"", d->entry->label, "\"");
    if (!d->marks) {
        put_values(out, d, level && d->panel->ranking ? X : Y);
        if (!level)
            put_values(out, d, X);
        if (d->curve->y_std)
            put_ends(out, d->spot, level ? 1 : d->n);
        fputs(level ? " data-level=\"\"" : "", out);
    }
    sg_put_element(out, "><title>", d->entry->label, "</title>");
}

/* The outline of a band: forth along its lower edge and back along the upper one; of a level line the whole panel. */
static void put_band(const struct pen *pen, const struct sg_drawn *d) {
    const double low = d->spot[0].low, high = d->spot[0].high;
    const struct sg_place *place = pen->place;
    FILE *out = pen->out;
    sg_put_element(out, "<path data-band=\"", d->entry->label, "\"");
    fprintf(out, " fill=\"%s\" fill-opacity=\"0.18\"%s d=\"", d->entry->style.color, pen->clip);
    if (d->panel->ranking)
        fprintf(out, "M%g %gH%gV%gH%gz", across(pen, d, low), svg_pixels(place->y0), across(pen, d, high),
                svg_pixels(place->y1), across(pen, d, low));
    else if (d->curve->level)
        fprintf(out, "M%g %gH%gV%gH%gz", svg_pixels(place->x0), down(pen, d, low), svg_pixels(place->x1),
                down(pen, d, high), svg_pixels(place->x0));
    for (size_t i = 0; !d->curve->level && i < 2 * d->n; i++) {
        const struct sg_spot *spot = &d->spot[i < d->n ? i : 2 * d->n - 1 - i];
        fprintf(out, "%c%g %g", i ? 'L' : 'M', across(pen, d, spot->x),
                down(pen, d, i < d->n ? spot->low : spot->high));
    }
    fputs(d->curve->level ? "\"/>\n" : "z\"/>\n", out);
}

static void put_line(const struct pen *pen, const struct sg_drawn *d) {
    const bool points = d->panel->points && !d->curve->level;
    fputs("<path class=\"line\"", pen->out);
    svg_put_stroke(pen->out, &d->entry->style, points ? 1 : SVG_LINE * d->entry->style.width);
    fprintf(pen->out, "%s d=\"", pen->clip);
    if (d->curve->level && d->panel->ranking)
        fprintf(pen->out, "M%g %gV%g", across(pen, d, d->spot[0].x), svg_pixels(pen->place->y1),
                svg_pixels(pen->place->y0));
    else if (d->curve->level)
        fprintf(pen->out, "M%g %gH%g", svg_pixels(pen->place->x0), down(pen, d, d->spot[0].y),
                svg_pixels(pen->place->x1));
    for (size_t i = 0; !d->curve->level && i < d->n; i++)
        fprintf(pen->out, "%c%g %g", i ? 'L' : 'M', across(pen, d, d->spot[i].x), down(pen, d, d->spot[i].y));
    fputs("\"/>", pen->out);
}

static bool is_in_view(const struct sg_axis *axis, double value) {
    const double share = svg_place(axis, value, 0, 1) / SVG_INCH;
    return share > -1e-3 && share < 1 + 1e-3;
}

/* A bar with flat ends of `half` pixels to each side. */
static void put_bar(const struct pen *pen, const struct sg_drawn *d, const struct sg_spot *spot, double half) {
    const bool flat = d->panel->ranking;
    const double low = flat ? across(pen, d, spot->low) : down(pen, d, spot->low);
    const double high = flat ? across(pen, d, spot->high) : down(pen, d, spot->high);
    const double at = flat ? down(pen, d, spot->y) : across(pen, d, spot->x);
    if (!(spot->low < spot->high))
        return;
    fprintf(pen->out, "<path fill=\"none\" stroke=\"%s\"%s d=\"", d->entry->style.color, pen->clip);
    if (flat)
        fprintf(pen->out, "M%g %gH%gM%g %gv%gM%g %gv%g", low, at, high, low, at - half, 2 * half, high, at - half,
                2 * half);
    else
        fprintf(pen->out, "M%g %gV%gM%g %gh%gM%g %gh%g", at, low, high, at - half, low, 2 * half, at - half, high,
                2 * half);
    fputs("\"/>", pen->out);
}

/* A point of a curve, with its bar, and in a ranking its seeds. */
static void put_point(const struct pen *pen, const struct sg_drawn *d, const struct sg_spot *spot) {
    const struct sg_curve *curve = d->curve;
    const char *label = spot->label ? spot->label : d->entry->label;
    const double half = round(SVG_INCH * (pen->place->x1 - pen->place->x0) * (d->panel->ranking ? 0.6 : 1.2)) / 100;
    if (!is_in_view(&d->panel->x, spot->x) || !is_in_view(&d->panel->y, spot->y))
        return;
    sg_put_element(pen->out, "<g data-point=\"", label, "\"");
    fprintf(pen->out, " data-x=\"%.7g\" data-y=\"%.7g\"", spot->x, spot->y);
    if (curve->y_std)
        put_ends(pen->out, spot, 1);
    sg_put_element(pen->out, "><title>", label, "</title>");
    const double x = across(pen, d, spot->x), y = down(pen, d, spot->y);
    for (size_t seed = 0; seed < curve->n_seeds; seed++)
        if (is_in_view(&d->panel->x, curve->seed[seed]))
            put_circle(pen->out, across(pen, d, curve->seed[seed]), y, SEED_MARKER, "none", d->entry->style.color);
    if (curve->y_std)
        put_bar(pen, d, spot, half);
    if (d->panel->ranking)
        put_circle(pen->out, x, y, ROW_MARKER, d->entry->style.color, "none");
    else
        svg_put_marker(pen->out, &d->entry->style, x, y);
    fputs("</g>\n", pen->out);
}

/* The name of a row, and where its value lies if that is beyond the view. */
static void put_row_name(const struct pen *pen, const struct sg_drawn *d) {
    char beyond[SG_BEYOND_CHARS];
    const struct sg_place *place = pen->place;
    const double y = down(pen, d, d->curve->y[0]) / SVG_INCH, inner = 0.02 * (place->x1 - place->x0);
    const double em = SG_SMALL * pen->g->s->em;
    const bool left = d->curve->x[0] < d->panel->x.min;
    svg_put_text(pen->g, d->curve->row, place->y_numbers, y, em, SVG_RIGHT);
    if (*sg_plot_beyond(beyond, d->panel, d->curve))
        svg_put_text(pen->g, beyond, left ? place->x0 + inner : place->x1 - inner, y, em, left ? "" : SVG_RIGHT);
}

static void put_curve(void *to, const struct sg_drawn *d) {
    const struct pen *pen = to;
    if (d->n > 0 && pen->pass == BANDS && d->band)
        put_band(pen, d);
    if (d->n == 0 || pen->pass != pass_of(d))
        return;
    begin_curve(pen->out, d);
    if (!d->row)
        put_line(pen, d);
    for (size_t i = 0; d->marks && i < d->n; i++)
        put_point(pen, d, &d->spot[i]);
    if (d->row)
        put_row_name(pen, d);
    fputs("</g>\n", pen->out);
}

void svg_put_curves(const struct svg_drawing *g, size_t p) {
    char clip[64];
    snprintf(clip, sizeof clip, " clip-path=\"url(#%sclip%zu)\"", g->id, p + 1);
    struct pen pen = {.g = g, .out = g->out, .place = &g->s->place[p], .clip = clip};
    for (int pass = BANDS; pass < PASSES; pass++) {
        pen.pass = (enum pass)pass;
        sg_plot_each_curve(g->f, p, SG_PLOT_MAX_POINTS, put_curve, &pen);
    }
}

/* export_svg.c: draws a figure as SVG, at the places that its layout gives. What shows data says what it shows: a group
 * has its method in data-method, a line its values in data-x and data-y, a point its label and values, with the ends of
 * band or bar in data-low and data-high. A page switches and reads these elements. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sg_markup.h"
#include "sg_memory.h"
#include "svg_private.h"

/* Pixels. */
#define FRAME    0.8    /* how wide lines of axes and ticks are */
#define TICK     5.4    /* how long a tick with a label is, and others half of it */
#define FARTHEST 1000.0 /* in lengths of the axis: where values far beyond the view are drawn */

double svg_pixels(double inches) {
    return round(100 * SVG_INCH * inches) / 100 + 0.0;
}

double svg_place(const struct sg_axis *axis, double value, double from, double to) {
    const double share = axis->log ? (log10(value) - log10(axis->min)) / (log10(axis->max) - log10(axis->min))
                                   : (value - axis->min) / (axis->max - axis->min);
    return svg_pixels(from + (to - from) * fmin(FARTHEST, fmax(-FARTHEST, share)));
}

/* ---- texts ---- */

/* Begins one line of text, the middle of which is at (x, y) in pixels; `size` of its type in pixels. */
static void begin_text(FILE *out, double x, double y, double size, const char *how) {
    if (strstr(how, SVG_TURNED))
        fprintf(out, "<text transform=\"translate(%g %g) rotate(-90)\" font-size=\"%.4g\" text-anchor=\"middle\">",
                round(100 * (x + 0.325 * size)) / 100, y, size);
    else
        fprintf(out, "<text x=\"%g\" y=\"%g\" font-size=\"%.4g\"%s>", x, round(100 * (y + 0.325 * size)) / 100, size,
                how);
}

void svg_put_text(const struct svg_drawing *d, const char *text, double x, double y, double em, const char *how) {
    begin_text(d->out, svg_pixels(x), svg_pixels(y), SVG_INCH * em, how);
    sg_put_html(d->out, text);
    fputs("</text>\n", d->out);
}

/* Words in lines of at most `ems`, from (x, y) in inches, the middle of the first line; a turned text goes to the right
 * line by line. */
static void put_lines(const struct svg_drawing *d, const char *text, double ems, double x, double y, double em,
                      const char *how) {
    const bool turned = strcmp(how, SVG_TURNED) == 0;
    ems = sg_plot_balance(text, ems);
    while (*text) {
        const size_t length = sg_plot_line(text, ems);
        char *line = sg_strndup(text, length);
        svg_put_text(d, line, x, y, em, how);
        free(line);
        *(turned ? &x : &y) += SG_LINE * em;
        text += length;
        text += *text == ' ';
    }
}

/* ---- axes ---- */

static void put_number(const struct svg_drawing *g, const struct sg_tick *tick, double x, double y, const char *how) {
    const double size = SVG_INCH * g->s->em;
    const bool negative = tick->text[0] == '-';
    begin_text(g->out, x, y, size, how);
    if (tick->power)
        fprintf(g->out, "10<tspan dy=\"%.3g\" font-size=\"%.3g\">", -0.5 * size, 0.8 * size);
    fprintf(g->out, "%s%s%s</text>\n", negative ? "−" : "", tick->text + negative, tick->power ? "</tspan>" : "");
}

/* Lines across the panel at the ticks with labels, or the ticks themselves. */
static void put_tick_lines(const struct svg_drawing *g, size_t p, const struct sg_ticks *ticks, bool is_x, bool grid) {
    const struct sg_place *place = &g->s->place[p];
    const struct sg_axis *axis = is_x ? &g->f->panel[p].x : &g->f->panel[p].y;
    for (size_t i = 0; i < ticks->n; i++) {
        const struct sg_tick *tick = &ticks->tick[i];
        const double at =
            is_x ? svg_place(axis, tick->at, place->x0, place->x1) : svg_place(axis, tick->at, place->y1, place->y0);
        if (grid && tick->labelled)
            fprintf(g->out, is_x ? "M%g %gV%g" : "M%2$g %1$gH%3$g", at, svg_pixels(is_x ? place->y1 : place->x0),
                    svg_pixels(is_x ? place->y0 : place->x1));
        else if (!grid)
            fprintf(g->out, is_x ? "M%g %gv%g" : "M%2$g %1$gh%3$g", at, svg_pixels(is_x ? place->y1 : place->x0),
                    (is_x ? 1 : -1) * (tick->labelled ? TICK : TICK / 2));
    }
}

/* Numbers and title of an axis. */
static void put_axis_texts(const struct svg_drawing *g, size_t p, const struct sg_ticks *ticks, bool is_x) {
    const struct sg_place *place = &g->s->place[p];
    const struct sg_axis *axis = is_x ? &g->f->panel[p].x : &g->f->panel[p].y;
    for (size_t i = 0; i < ticks->n; i++)
        if (ticks->tick[i].labelled && is_x)
            put_number(g, &ticks->tick[i], svg_place(axis, ticks->tick[i].at, place->x0, place->x1),
                       svg_pixels(place->x_numbers), SVG_CENTER);
        else if (ticks->tick[i].labelled)
            put_number(g, &ticks->tick[i], svg_pixels(place->y_numbers),
                       svg_place(axis, ticks->tick[i].at, place->y1, place->y0), SVG_RIGHT);
    char *label = sg_sheet_label(axis, ticks);
    put_lines(g, label, sg_sheet_label_ems(g->s, p, is_x), is_x ? (place->x0 + place->x1) / 2 : place->y_label,
              is_x ? place->x_label : (place->y0 + place->y1) / 2, g->s->em, is_x ? SVG_CENTER : SVG_TURNED);
    free(label);
}

/* The rows of a ranking, at which lines go across the panel, as ticks without labels. */
static void row_ticks(struct sg_ticks *out, const struct sg_panel *panel) {
    *out = (struct sg_ticks){0};
    for (size_t row = 1; row <= sg_plot_rows(panel) && out->n < SG_TICKS_MOST; row++)
        out->tick[out->n++] = (struct sg_tick){.at = (double)row, .labelled = true};
}

static void put_axes(const struct svg_drawing *g, size_t p) {
    const struct sg_panel *panel = &g->f->panel[p];
    const struct sg_place *place = &g->s->place[p];
    struct sg_ticks x, y;
    sg_sheet_ticks(&x, g->s, g->f, p, true);
    if (panel->ranking)
        row_ticks(&y, panel);
    else
        sg_sheet_ticks(&y, g->s, g->f, p, false);
    fputs("<path class=\"grid\" fill=\"none\" stroke=\"#D9D9D9\" stroke-width=\"0.6\" d=\"", g->out);
    put_tick_lines(g, p, &x, true, true);
    put_tick_lines(g, p, &y, false, true);
    fprintf(g->out, "\"/>\n<path class=\"axis\" fill=\"none\" stroke=\"#000000\" stroke-width=\"%g\" d=\"", FRAME);
    put_tick_lines(g, p, &x, true, false);
    if (!panel->ranking)
        put_tick_lines(g, p, &y, false, false);
    fprintf(g->out, "M%g %gV%gH%g\"/>\n", svg_pixels(place->x0), svg_pixels(place->y0), svg_pixels(place->y1),
            svg_pixels(place->x1));
    put_axis_texts(g, p, &x, true);
    if (!panel->ranking)
        put_axis_texts(g, p, &y, false);
}

/* ---- legends ---- */

/* A sample of the line, with its marker, and the name; x and y in inches. */
static void put_entry(const struct svg_drawing *g, const struct sg_entry *e, double x, double y) {
    const struct sg_legend *entry = &g->f->legend[e->entry];
    const double em = g->s->em;
    fputs("<g data-legend=\"", g->out);
    sg_put_html(g->out, entry->label);
    fputs("\"><path", g->out);
    svg_put_stroke(g->out, &entry->style, SVG_LINE * entry->style.width);
    fprintf(g->out, " d=\"M%g %gH%g\"/>", svg_pixels(x), svg_pixels(y), svg_pixels(x + SG_SAMPLE * em));
    if (e->marks)
        svg_put_marker(g->out, &entry->style, svg_pixels(x + SG_SAMPLE / 2 * em), svg_pixels(y));
    svg_put_text(g, e->text, x + (SG_SAMPLE + SG_GAP) * em, y, SG_SMALL * em, "");
    fputs("</g>\n", g->out);
}

/* The legend of a panel begins at its axis; that of all panels stands in the middle under the title. */
static void put_legend(const struct svg_drawing *g, size_t p) {
    const double em = g->s->em, first = p == SG_PLOT_ALL ? g->s->legend : g->s->place[p].legend;
    double left = p == SG_PLOT_ALL ? 0 : g->s->place[p].left;
    struct sg_entry e = {0};
    while (sg_plot_next_entry(g->f, p, sg_sheet_legend_ems(g->s, p), &e)) {
        if (p == SG_PLOT_ALL && e.x == 0)
            left = sg_sheet_row_left(g->s, g->f, e);
        put_entry(g, &e, left + e.x * em, first + SG_ROW * (double)e.row * em);
    }
}

/* ---- sheet ---- */

static void put_attribute(FILE *out, const char *name, const char *value) {
    fprintf(out, " %s=\"", name);
    sg_put_html(out, value);
    fputc('"', out);
}

static void put_panel(const struct svg_drawing *g, size_t p) {
    const struct sg_panel *panel = &g->f->panel[p];
    const struct sg_place *place = &g->s->place[p];
    const double x = svg_pixels(place->x0), y = svg_pixels(place->y0);
    const double width = svg_pixels(place->x1 - place->x0), height = svg_pixels(place->y1 - place->y0);
    char *caption = sg_plot_caption(g->f, p);
    fprintf(g->out, "<g data-panel=\"%s\" data-box=\"%g %g %g %g\"",
            panel->ranking  ? "ranking"
            : panel->points ? "points"
                            : "curves",
            x, y, width, height);
    put_attribute(g->out, "data-xlabel", panel->x.label);
    put_attribute(g->out, "data-ylabel", panel->y.label);
    fprintf(g->out, ">\n<clipPath id=\"%sclip%zu\"><rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\"/></clipPath>\n",
            g->id, p + 1, x, y, width, height);
    put_lines(g, caption, sg_sheet_caption_ems(g->s, p), place->left, place->caption, g->s->em, "");
    free(caption);
    if (!g->s->shared)
        put_legend(g, p);
    put_axes(g, p);
    fprintf(g->out, "<g id=\"%scurves%zu\">\n", g->id, p + 1);
    svg_put_curves(g, p);
    fputs("</g>\n</g>\n", g->out);
}

void sg_svg_write(FILE *out, const struct sg_figure *f, const char *id) {
    struct sg_sheet s;
    sg_sheet_lay_out(&s, f);
    const struct svg_drawing g = {out, f, &s, id};
    const double width = svg_pixels(s.width), height = svg_pixels(s.height);
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" viewBox=\"0 0 %g %g\" "
            "font-family=\"Helvetica,Arial,sans-serif\">\n",
            width, height, width, height);
    sg_put_element(out, "<title>", f->title, "</title>\n");
    sg_put_element(out, "<desc>", f->source, "</desc>\n");
    fprintf(out, "<rect class=\"sheet\" width=\"%g\" height=\"%g\" fill=\"#FFFFFF\"/>\n", width, height);
    put_lines(&g, f->title, sg_sheet_title_ems(&s), s.width / 2, s.title, s.em, SVG_CENTER);
    if (s.shared)
        put_legend(&g, SG_PLOT_ALL);
    for (size_t p = 0; p < f->n_panels; p++)
        put_panel(&g, p);
    put_lines(&g, f->footnote, sg_sheet_footnote_ems(&s), s.width - 0.1, s.footnote, SG_SMALL * s.em, SVG_GRAY);
    fputs("</svg>\n", out);
}

sg_status sg_export_svg(FILE *out, const struct sg_figure *f, const char *format, struct sg_error *err) {
    (void)err;
    (void)format;
    fputs("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n", out);
    sg_svg_write(out, f, "");
    return SG_OK;
}

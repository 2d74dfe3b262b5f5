/* export_pgfplots.c: a LaTeX document of one page, of which pdflatex makes a figure; or one copies the tikzpicture. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plot_layout.h"

/* TeX keeps all points of all panels in its main memory. */
enum { MAX_TEX_POINTS = 500 };

/* ---- styles ---- */

/* Style and marker of entry i are the styles "line i" and "mark i". */
static void put_styles(FILE *out, const struct sg_figure *f) {
    static const char *const marks[SG_MARKERS] = {"*", "square*", "triangle*", "diamond*", "triangle*", "pentagon*"};
    for (size_t i = 0; i < f->n_legend; i++) {
        const struct sg_style *style = &f->legend[i].style;
        fprintf(out, "\\definecolor{sg%zu}{HTML}{%s}\n\\tikzset{line %zu/.style={sg%zu, line width=%.3gpt", i + 1,
                style->color + 1, i + 1, i + 1, style->width);
        for (size_t d = 0; d < style->n_dash; d++)
            fprintf(out, "%s %s %.3gpt", d ? "" : ", dash pattern=", d % 2 ? "off" : "on", style->dash[d]);
        fprintf(out, "}, mark %zu/.style={mark=%s, mark size=1.7pt, mark options={solid, line width=0.6pt%s%s}}}\n",
                i + 1, marks[style->marker], style->marker == SG_MARKER_DOWN ? ", rotate=180" : "",
                style->hollow ? ", fill=white" : "");
    }
}

static void put_preamble(FILE *out, const struct sg_figure *f, const struct sg_sheet *s) {
    const double points = 72.27 * s->em;
    fprintf(out, "%% %s\n%% %s\n%% %s\n", f->title, f->source, f->footnote);
    fputs("\\documentclass[border=3pt]{standalone}\n\\usepackage[utf8]{inputenc}\n\\usepackage[T1]{fontenc}\n"
          "\\usepackage{lmodern}\n\\usepackage{textcomp}\n\\usepackage{pgfplots}\n\\pgfplotsset{compat=1.14}\n",
          out);
    put_styles(out, f);
    fprintf(out,
            "\\begin{document}\n\\hyphenpenalty=10000 \\binoppenalty=10000 "
            "\\relpenalty=10000\n\\fontsize{%.3g}{%.3g}\\selectfont\n\\begin{tikzpicture}[small/.style="
            "{font=\\fontsize{%.3g}{%.3g}\\selectfont}]\n\\pgfplotsset{every axis/.style={\n  scale only axis, "
            "anchor=north west, grid=major, grid style={gray!25}, axis lines=left,\n  axis line style={-}, tick "
            "align=outside, xlabel near ticks, ylabel near ticks,\n  label style={align=center}, scaled ticks=false, "
            "clip marker "
            "paths=false}}\n",
            points, SG_LINE * points, SG_SMALL * points, SG_LINE * SG_SMALL * points);
}

/* ---- curves ---- */

static void point(FILE *out, double x, double y) {
    char a[SG_NUMBER_CHARS], b[SG_NUMBER_CHARS];
    fprintf(out, "(%s,%s)\n", sg_number_text(x, a), sg_number_text(y, b));
}

/* The band as one closed outline: forth along its lower edge, back along the upper. */
static void put_band(FILE *out, const struct sg_panel *panel, const struct sg_curve *curve, const size_t *index,
                     size_t n) {
    double low, high;
    fprintf(out, "\\addplot[draw=none, fill=sg%zu, fill opacity=0.18, forget plot] coordinates {\n", curve->legend + 1);
    for (size_t i = 0; i < n; i++) {
        sg_plot_band(panel, curve, index[i], &low, &high);
        point(out, curve->x[index[i]], low);
    }
    for (size_t i = n; i-- > 0;) {
        sg_plot_band(panel, curve, index[i], &low, &high);
        point(out, curve->x[index[i]], high);
    }
    fputs("} -- cycle;\n", out);
}

static void put_line(FILE *out, const struct sg_panel *panel, const struct sg_curve *curve, const size_t *index,
                     size_t n) {
    const bool marks = sg_plot_draws_marks(panel, curve), bars = marks && curve->y_std;
    fprintf(out, "\\addplot[forget plot, line %zu", curve->legend + 1);
    if (marks)
        fprintf(out, ", line width=0.7pt, mark %zu", curve->legend + 1);
    else
        fputs(", no markers", out);
    fprintf(out, "%s] coordinates {\n",
            bars ? ", error bars/.cd, y dir=both, y explicit, error bar style={solid}" : "");
    for (size_t i = 0; i < n; i++) {
        const size_t k = index[i];
        char text[4][SG_NUMBER_CHARS];
        double low, high;
        sg_plot_band(panel, curve, k, &low, &high);
        if (curve->level) {
            point(out, panel->x.min, curve->y[k]);
            point(out, panel->x.max, curve->y[k]);
        } else if (bars)
            fprintf(out, "(%s,%s) += (0,%s) -= (0,%s)\n", sg_number_text(curve->x[k], text[0]),
                    sg_number_text(curve->y[k], text[1]), sg_number_text(high - curve->y[k], text[2]),
                    sg_number_text(curve->y[k] - low, text[3]));
        else
            point(out, curve->x[k], curve->y[k]);
    }
    fputs("};\n", out);
}

/* ---- axes ---- */

/* The ticks with labels and their texts, or the minor ones. */
static void put_ticks(FILE *out, char side, const struct sg_ticks *ticks, bool minor) {
    char number[SG_NUMBER_CHARS];
    const char *before = "";
    fprintf(out, ",\n  %s%ctick={", minor ? "minor " : "", side);
    for (size_t i = 0; i < ticks->n; i++)
        if (ticks->tick[i].labelled != minor) {
            fprintf(out, "%s%s", before, sg_number_text(ticks->tick[i].at, number));
            before = ",";
        }
    fputs("}", out);
    if (minor)
        return;
    fprintf(out, ", %cticklabels={", side);
    before = "";
    for (size_t i = 0; i < ticks->n; i++)
        if (ticks->tick[i].labelled) {
            fprintf(out, ticks->tick[i].power ? "%s$10^{%s}$" : "%s$%s$", before, ticks->tick[i].text);
            before = ",";
        }
    fputs("}", out);
}

static void put_axis(FILE *out, const struct sg_sheet *s, const struct sg_figure *f, size_t p, bool is_x) {
    const struct sg_axis *axis = is_x ? &f->panel[p].x : &f->panel[p].y;
    const char side = is_x ? 'x' : 'y';
    char text[2][SG_NUMBER_CHARS];
    struct sg_ticks ticks;
    sg_sheet_ticks(&ticks, s, f, p, is_x);
    fprintf(out, ",\n  %cmode=%s, %cmin=%s, %cmax=%s, %clabel={%s", side, axis->log ? "log" : "normal", side,
            sg_number_text(axis->min, text[0]), side, sg_number_text(axis->max, text[1]), side, axis->latex);
    if (ticks.exponent)
        fprintf(out, " ($\\times10^{%d}$)", ticks.exponent);
    fprintf(out, "}, %clabel style={text width=%.2fin}", side, sg_sheet_label_ems(s, p, is_x) * s->em);
    put_ticks(out, side, &ticks, false);
    put_ticks(out, side, &ticks, true);
}

/* The rows of a ranking, whose names stand where the other panels have numbers. */
static void put_row_names(FILE *out, const struct sg_panel *panel) {
    fprintf(out, ",\n  ymin=%g, ymax=%g, ytick style={draw=none}, yticklabel style={small}, ytick={", panel->y.min,
            panel->y.max);
    const char *before = "";
    for (size_t c = 0; c < panel->n_curves; c++)
        if (!panel->curve[c].level) {
            fprintf(out, "%s%g", before, panel->curve[c].y[0]);
            before = ",";
        }
    fputs("}, yticklabels={", out);
    before = "";
    for (size_t c = 0; c < panel->n_curves; c++)
        if (!panel->curve[c].level) {
            fprintf(out, "%s{", before);
            sg_plot_put_tex(out, panel->curve[c].row);
            fputs("}", out);
            before = ",";
        }
    fputs("}", out);
}

/* A row: rings for the seeds, then the bar and the marker, or where its value lies. A baseline is a line with a band. */
static void put_row(FILE *out, const struct sg_panel *panel, const struct sg_curve *curve) {
    const size_t style = curve->legend + 1;
    const double value = curve->x[0], row = curve->y[0], bottom = panel->y.min, top = panel->y.max;
    char text[3][SG_NUMBER_CHARS], beyond[SG_BEYOND_CHARS];
    double low, high;
    sg_plot_band(panel, curve, 0, &low, &high);
    if (curve->level) {
        fprintf(out, "\\addplot[draw=none, fill=sg%zu, fill opacity=0.18, forget plot] coordinates {\n", style);
        point(out, low, bottom);
        point(out, high, bottom);
        point(out, high, top);
        point(out, low, top);
        fprintf(out, "} -- cycle;\n\\addplot[forget plot, line %zu, no markers] coordinates {\n", style);
        point(out, value, bottom);
        point(out, value, top);
        fputs("};\n", out);
        return;
    }
    if (*sg_plot_beyond(beyond, panel, curve)) {
        const bool left = value < panel->x.min;
        fprintf(out, "\\node[small, anchor=%s] at (axis cs:%s,%g) {", left ? "west" : "east",
                sg_number_text(left ? panel->x.min : panel->x.max, text[0]), row);
        sg_plot_put_tex(out, beyond);
        fputs("};\n", out);
        return;
    }
    fprintf(out, "\\addplot[forget plot, only marks, sg%zu, mark=o, mark size=1pt] coordinates {\n", style);
    for (size_t i = 0; i < curve->n_seeds; i++)
        if (isfinite(curve->seed[i]) && !(panel->x.log && curve->seed[i] <= 0))
            point(out, curve->seed[i], row);
    fprintf(out,
            "};\n\\addplot[forget plot, sg%zu, mark=*, mark size=1.4pt, error bars/.cd, x dir=both, x explicit] "
            "coordinates {\n(%s,%g) += (%s,0) -= (%s,0)\n};\n",
            style, sg_number_text(value, text[0]), row, sg_number_text(high - value, text[1]),
            sg_number_text(value - low, text[2]));
}

static sg_status put_panel(FILE *out, const struct sg_sheet *s, const struct sg_figure *f, size_t p,
                           struct sg_error *err) {
    const struct sg_panel *panel = &f->panel[p];
    const struct sg_place *place = &s->place[p];
    fprintf(out, "\\begin{axis}[at={(%.3fin,%.3fin)}, width=%.3fin, height=%.3fin", place->x0, -place->y0,
            place->x1 - place->x0, place->y1 - place->y0);
    put_axis(out, s, f, p, true);
    if (panel->ranking)
        put_row_names(out, panel);
    else
        put_axis(out, s, f, p, false);
    fputs("]\n", out);
    for (size_t c = 0; panel->ranking && c < panel->n_curves; c++)
        if (sg_plot_shows(panel, &panel->curve[c]))
            put_row(out, panel, &panel->curve[c]);
    for (int pass = panel->ranking ? 2 : 0; pass < 2; pass++) /* bands below all lines */
        for (size_t c = 0; c < panel->n_curves; c++) {
            const struct sg_curve *curve = &panel->curve[c];
            size_t *index = malloc((curve->n + 1) * sizeof *index);
            if (!index)
                return sg_fail_memory(err, "the figure");
            size_t n = sg_plot_visible(panel, curve, MAX_TEX_POINTS, index);
            if (pass == 0 && n > 0 && curve->y_std && !panel->points)
                put_band(out, panel, curve, index, n);
            if (pass == 1)
                put_line(out, panel, curve, index, n);
            free(index);
        }
    fputs("\\end{axis}\n", out);
    return SG_OK;
}

/* ---- texts ---- */

/* A text of at most `ems` a line, at (x, y) in inches. */
static void put_text(FILE *out, const struct sg_sheet *s, const char *text, const char *how, double ems, double x,
                     double y) {
    if (!text[0])
        return;
    fprintf(out, "\\node[%s, text width=%.3fin, inner sep=0pt] at (%.3fin,%.3fin) {", how, ems * s->em, x, -y);
    sg_plot_put_tex(out, text);
    fputs("};\n", out);
}

static void put_legend(FILE *out, const struct sg_sheet *s, const struct sg_figure *f, size_t p) {
    const double first = p == SG_PLOT_ALL ? s->legend : s->place[p].legend;
    double left = p == SG_PLOT_ALL ? 0 : s->place[p].left;
    struct sg_entry e = {0};
    while (sg_plot_next_entry(f, p, sg_sheet_legend_ems(s, p), &e)) {
        if (p == SG_PLOT_ALL && e.x == 0)
            left = sg_sheet_row_left(s, f, e);
        const double x = left + e.x * s->em, y = -first - SG_ROW * (double)e.row * s->em;
        fprintf(out, "\\draw[line %zu] (%.3fin,%.3fin) -- +(%.3fin,0);\n", e.entry + 1, x, y, SG_SAMPLE * s->em);
        if (e.marks)
            fprintf(out, "\\draw[sg%zu, mark %zu] plot coordinates {(%.3fin,%.3fin)};\n", e.entry + 1, e.entry + 1,
                    x + SG_SAMPLE / 2 * s->em, y);
        fprintf(out, "\\node[small, anchor=west, inner sep=0pt] at (%.3fin,%.3fin) {", x + (SG_SAMPLE + SG_GAP) * s->em,
                y);
        sg_plot_put_tex(out, e.text);
        fputs("};\n", out);
    }
}

sg_status sg_export_pgfplots(FILE *out, const struct sg_figure *f, const char *format, struct sg_error *err) {
    (void)format;
    struct sg_sheet s;
    sg_sheet_lay_out(&s, f);
    put_preamble(out, f, &s);
    const double half = SG_LINE / 2 * s.em;
    put_text(out, &s, f->title, "anchor=north, align=center", sg_sheet_title_ems(&s), s.width / 2, s.title - half);
    put_text(out, &s, f->footnote, "small, anchor=north east, align=right", sg_sheet_title_ems(&s), s.width - 0.1,
             s.footnote - half);
    if (s.shared)
        put_legend(out, &s, f, SG_PLOT_ALL);
    for (size_t p = 0; p < f->n_panels; p++) {
        char *caption = sg_plot_caption(f, p);
        put_text(out, &s, sg_plot_made(caption), "anchor=north west, align=left", sg_sheet_caption_ems(&s, p),
                 s.place[p].left, s.place[p].caption - half);
        free(caption);
        if (!s.shared)
            put_legend(out, &s, f, p);
        sg_status status = put_panel(out, &s, f, p, err);
        if (status != SG_OK)
            return status;
    }
    fputs("\\end{tikzpicture}\n\\end{document}\n", out);
    return SG_OK;
}

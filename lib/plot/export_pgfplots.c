/* export_pgfplots.c: a group of axes of PGFPlots with data and styles, as a LaTeX document of one page or, as
 * "pgfplots-axis", for \input into a tikzpicture. Where everything stands is left to PGFPlots. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plot_private.h"
#include "sg_markup.h"

/* TeX keeps all points of all panels in its main memory. */
enum { MAX_TEX_POINTS = 500 };

/* Style and marker of entry i are the styles "line i" and "mark i". */
static void put_styles(FILE *out, const struct sg_figure *f) {
    static const char *const marks[SG_MARKERS] = {"*", "square*", "triangle*", "diamond*", "triangle*", "pentagon*"};
    for (size_t i = 0; i < f->n_legend; i++) {
        const struct sg_style *style = &f->legend[i].style;
        fprintf(out, "\\definecolor{sg%zu}{HTML}{%s}\n\\tikzset{line %zu/.style={sg%zu, line width=%.3gpt", i + 1,
                style->color + 1, i + 1, i + 1, style->width);
        for (size_t d = 0; d < style->n_dash; d++)
            fprintf(out, "%s %s %.3gpt", d ? "" : ", dash pattern=", d % 2 ? "off" : "on", style->dash[d]);
        fprintf(out, "}, mark %zu/.style={mark=%s, mark size=1.7pt, mark options={solid%s%s}}}\n", i + 1,
                marks[style->marker], style->marker == SG_MARKER_DOWN ? ", rotate=180" : "",
                style->hollow ? ", fill=white" : "");
    }
}

static void put_point(FILE *out, double x, double y) {
    char a[SG_NUMBER_CHARS], b[SG_NUMBER_CHARS];
    fprintf(out, "(%s,%s)\n", sg_number_text(x, a), sg_number_text(y, b));
}

/* The band as one closed outline: forth along its lower edge, back along the upper. */
static void put_band(void *to, const struct sg_drawn *d) {
    if (d->n == 0 || !d->band || d->panel->ranking)
        return;
    fprintf(to, "\\addplot[draw=none, fill=sg%zu, fill opacity=0.18, forget plot] coordinates {\n",
            d->curve->legend + 1);
    for (size_t i = 0; i < d->n; i++)
        put_point(to, d->spot[i].x, d->spot[i].low);
    for (size_t i = d->n; i-- > 0;)
        put_point(to, d->spot[i].x, d->spot[i].high);
    fputs("} -- cycle;\n", to);
}

/* A line, with markers and bars where the panel has them, of which a ranking's lie flat and are not joined. */
static void put_line(void *to, const struct sg_drawn *d) {
    FILE *out = to;
    char text[4][SG_NUMBER_CHARS];
    if (d->n == 0)
        return;
    fprintf(out, "\\addplot[line %zu", d->curve->legend + 1);
    if (d->marks)
        fprintf(out, ", mark %zu", d->curve->legend + 1);
    fprintf(out, "%s%s", d->marks ? "" : ", no markers", d->row ? ", only marks, forget plot" : "");
    if (d->bars)
        fprintf(out, ", error bars/.cd, %c dir=both, %c explicit", d->row ? 'x' : 'y', d->row ? 'x' : 'y');
    fputs("] coordinates {\n", out);
    for (size_t i = 0; i < d->n; i++) {
        const struct sg_spot *spot = &d->spot[i];
        const double value = d->row ? spot->x : spot->y;
        if (d->bars)
            fprintf(out, d->row ? "(%s,%s) += (%s,0) -= (%s,0)\n" : "(%s,%s) += (0,%s) -= (0,%s)\n",
                    sg_number_text(spot->x, text[0]), sg_number_text(spot->y, text[1]),
                    sg_number_text(spot->high - value, text[2]), sg_number_text(value - spot->low, text[3]));
        else
            put_point(out, spot->x, spot->y);
    }
    fputs("};\n", out);
    if (d->row)
        return;
    fputs("\\addlegendentry{", out);
    sg_put_tex(out, d->entry->text);
    fputs("}\n", out);
}

static void put_axis(FILE *out, const struct sg_axis *axis, char side) {
    char text[2][SG_NUMBER_CHARS];
    fprintf(out, ",\n  %cmode=%s, %cmin=%s, %cmax=%s, %clabel={", side, axis->log ? "log" : "normal", side,
            sg_number_text(axis->min, text[0]), side, sg_number_text(axis->max, text[1]), side);
    sg_put_tex_title(out, axis->words, axis->formula);
    fputs("}", out);
}

/* The rows of a ranking have names in place of numbers. */
static void put_rows(FILE *out, const struct sg_panel *panel) {
    const char *before = "";
    fprintf(out, ",\n  height=%.3gin, ymin=%g, ymax=%g, ytick={", fmax(2.8, 1 + 0.17 * (double)sg_plot_rows(panel)),
            panel->y.min, panel->y.max);
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
            sg_put_tex(out, panel->curve[c].row);
            fputs("}", out);
            before = ",";
        }
    fputs("}", out);
}

static void put_panel(FILE *out, const struct sg_figure *f, size_t p) {
    const struct sg_panel *panel = &f->panel[p];
    char *caption = sg_plot_caption(f, p);
    fputs("\\nextgroupplot[title={", out);
    sg_put_tex(out, caption);
    fputs("}", out);
    free(caption);
    put_axis(out, &panel->x, 'x');
    if (panel->ranking)
        put_rows(out, panel);
    else
        put_axis(out, &panel->y, 'y');
    fputs("]\n", out);
    sg_plot_each_curve(f, p, MAX_TEX_POINTS, put_band, out);
    sg_plot_each_curve(f, p, MAX_TEX_POINTS, put_line, out);
}

sg_status sg_export_pgfplots(FILE *out, const struct sg_figure *f, const char *format, struct sg_error *err) {
    (void)err;
    const bool whole = strcmp(format, "pgfplots") == 0;
    const size_t columns = sg_plot_grid_columns(f->n_panels), rows = (f->n_panels + columns - 1) / columns;
    const double width = f->width > 0 ? f->width / (double)columns : 3.5;
    fprintf(out, "%% %s\n%% %s\n%% %s\n", f->title, f->source, f->footnote);
    fputs(whole ? "\\documentclass[border=3pt]{standalone}\n\\usepackage[utf8]{inputenc}\n\\usepackage[T1]{fontenc}\n"
                  "\\usepackage{lmodern}\n\\usepackage{textcomp}\n\\usepackage{pgfplots}\n\\pgfplotsset{compat=1.14}\n"
                  "\\usepgfplotslibrary{groupplots}\n\\begin{document}\n\\begin{tikzpicture}\n"
                : "% needs \\usepackage{pgfplots} and \\usepgfplotslibrary{groupplots}; \\input it in a tikzpicture\n",
          out);
    put_styles(out, f);
    fprintf(out,
            "\\begin{groupplot}[group style={group size=%zu by %zu, horizontal sep=0.8in, vertical sep=1.6in},\n"
            "  width=%.3gin, height=%.3gin, grid=major, grid style={gray!25}, axis lines=left, title style={text "
            "width=%.3gin, align=center},\n"
            "  legend style={at={(0.5,-0.25)}, anchor=north, draw=none, font=\\footnotesize}, legend columns=2, legend "
            "cell align=left]\n",
            columns, rows, width, f->height > 0 ? f->height / (double)rows : 0.8 * width, 0.9 * width);
    for (size_t p = 0; p < f->n_panels; p++)
        put_panel(out, f, p);
    fprintf(out, "\\end{groupplot}\n%s", whole ? "\\end{tikzpicture}\n\\end{document}\n" : "");
    return SG_OK;
}

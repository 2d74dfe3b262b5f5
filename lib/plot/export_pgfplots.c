/* export_pgfplots.c: a LaTeX document of one page. pdflatex, run twice for the legend, makes a figure of it; or one
 * copies the tikzpicture. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plot_private.h"

/* TeX keeps all points of all panels in its main memory. */
enum { MAX_TEX_POINTS = 500 };

static void put_preamble(FILE *out, const struct sg_figure *f) {
    fprintf(out, "%% %s\n%% %s\n%% %s\n", f->title, f->source, f->footnote);
    fputs("% run pdflatex twice: the legend comes through the .aux file\n"
          "\\documentclass[border=3pt]{standalone}\n\\usepackage[utf8]{inputenc}\n\\usepackage[T1]{fontenc}\n"
          "\\usepackage{textcomp}\n\\usepackage{pgfplots}\n\\usepgfplotslibrary{groupplots}\n\\pgfplotsset{compat=1.14}"
          "\n",
          out);
    for (size_t i = 0; i < f->n_legend; i++)
        fprintf(out, "\\definecolor{sg%zu}{HTML}{%s}\n", i + 1, f->legend[i].style.color + 1);
    size_t columns = sg_plot_grid_columns(f->n_panels), rows = (f->n_panels + columns - 1) / columns;
    fprintf(out,
            "\\begin{document}\n\\begin{tikzpicture}\n\\begin{groupplot}[\n  group style={group name=sg, group "
            "size=%zu by %zu, "
            "horizontal sep=1.9cm, vertical sep=2cm},\n  width=%.2fin, height=%.2fin,\n",
            columns, rows, f->width > 0 ? f->width / (double)columns : 2.9,
            f->height > 0 ? f->height / (double)rows : 2.4);
    fputs(
        "  grid=major, grid style={gray!25}, axis lines=left, axis line style={-}, tick align=outside,\n"
        "  every axis plot/.append style={line width=0.9pt}, title style={at={(0,1)}, anchor=south west},\n"
        "  legend columns=-1, legend style={draw=none, /tikz/every even column/.append style={column sep=0.4cm}},\n]\n",
        out);
}

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

/* Marker, dash and width of an entry, each after a comma. */
static void put_style(FILE *out, const struct sg_style *style, bool marker) {
    static const char *const marks[SG_MARKERS] = {"*", "square*", "triangle*", "diamond*", "triangle*", "pentagon*"};
    fprintf(out, ", line width=%.3gpt", marker ? 0.6 : style->width);
    for (size_t d = 0; d < style->n_dash; d++)
        fprintf(out, "%s %s %.3gpt", d ? "" : ", dash pattern=", d % 2 ? "off" : "on", style->dash[d]);
    if (!marker) {
        fputs(", no markers", out);
        return;
    }
    fprintf(out, ", mark=%s, mark size=1.6pt, mark options={solid%s%s}", marks[style->marker],
            style->marker == SG_MARKER_DOWN ? ", rotate=180" : "", style->hollow ? ", fill=white" : "");
}

static void put_line(FILE *out, const struct sg_figure *f, const struct sg_panel *panel, const struct sg_curve *curve,
                     const size_t *index, size_t n) {
    const struct sg_legend *entry = &f->legend[curve->legend];
    bool bars = panel->points && !curve->level;
    fprintf(out, "\\addplot[forget plot, sg%zu", curve->legend + 1);
    put_style(out, &entry->style, bars);
    fprintf(out, "%s] coordinates {\n", bars ? ", error bars/.cd, y dir=both, y explicit" : "");
    for (size_t i = 0; i < n; i++) {
        size_t k = index[i];
        char text[3][SG_NUMBER_CHARS];
        if (curve->level) {
            point(out, panel->x.min, curve->y[k]);
            point(out, panel->x.max, curve->y[k]);
        } else if (bars)
            fprintf(out, "(%s,%s) +- (0,%s)\n", sg_number_text(curve->x[k], text[0]),
                    sg_number_text(curve->y[k], text[1]),
                    sg_number_text(isfinite(curve->y_std[k]) ? curve->y_std[k] : 0, text[2]));
        else
            point(out, curve->x[k], curve->y[k]);
    }
    fputs("};\n", out);
}

static sg_status put_panel(FILE *out, const struct sg_figure *f, size_t p, struct sg_error *err) {
    const struct sg_panel *panel = &f->panel[p];
    char text[4][SG_NUMBER_CHARS], *caption = sg_plot_caption(f, p);
    fputs("\\nextgroupplot[title={", out);
    sg_plot_put_tex(out, caption ? caption : "");
    free(caption);
    fprintf(out, "}, xlabel={%s}, ylabel={%s},\n  xmode=%s, ymode=%s, xmin=%s, xmax=%s, ymin=%s, ymax=%s%s]\n",
            panel->x.latex, panel->y.latex, panel->x.log ? "log" : "normal", panel->y.log ? "log" : "normal",
            sg_number_text(panel->x.min, text[0]), sg_number_text(panel->x.max, text[1]),
            sg_number_text(panel->y.min, text[2]), sg_number_text(panel->y.max, text[3]),
            p == 0 ? ", legend to name=sglegend" : "");
    for (int pass = 0; pass < 2; pass++) /* bands below all lines */
        for (size_t c = 0; c < panel->n_curves; c++) {
            const struct sg_curve *curve = &panel->curve[c];
            size_t *index = malloc((curve->n + 1) * sizeof *index);
            if (!index)
                return sg_fail_memory(err, "the figure");
            size_t n = sg_plot_visible(panel, curve, MAX_TEX_POINTS, index);
            if (pass == 0 && n > 0 && curve->y_std && !panel->points)
                put_band(out, panel, curve, index, n);
            if (pass == 1)
                put_line(out, f, panel, curve, index, n);
            free(index);
        }
    return SG_OK;
}

/* Writes all entries by hand in the first panel, which may not draw all of them; the plots themselves add none. */
static void put_legend(FILE *out, const struct sg_figure *f) {
    for (size_t i = 0; i < f->n_legend; i++) {
        fprintf(out, "\\addlegendimage{sg%zu", i + 1);
        put_style(out, &f->legend[i].style, sg_plot_has_marks(f, i));
        fputs("}\\addlegendentry{", out);
        sg_plot_put_tex(out, f->legend[i].label);
        fputs("}\n", out);
    }
}

sg_status sg_export_pgfplots(FILE *out, const struct sg_figure *f, const char *format, struct sg_error *err) {
    (void)format;
    put_preamble(out, f);
    for (size_t p = 0; p < f->n_panels; p++) {
        sg_status status = put_panel(out, f, p, err);
        if (status != SG_OK)
            return status;
        if (p == 0)
            put_legend(out, f);
    }
    fputs("\\end{groupplot}\n\\node[anchor=south] (legend) at ([yshift=0.8cm]current bounding box.north) "
          "{\\pgfplotslegendfromname{sglegend}};\n\\node[anchor=south] at (legend.north) {",
          out);
    sg_plot_put_tex(out, f->title);
    fputs("};\n\\end{tikzpicture}\n\\end{document}\n", out);
    return SG_OK;
}

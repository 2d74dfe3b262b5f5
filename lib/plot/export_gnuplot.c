/* export_gnuplot.c: a gnuplot script with the data, a plot for each panel and the styles of the figure. Where everything
 * stands is left to gnuplot. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plot_private.h"
#include "sg_text.h"

/* A single-quoted gnuplot string, in which nothing is special but the quote. Doubling it does not work at the start of
 * a string (gnuplot 5.4), so it becomes an apostrophe. */
static void quoted(FILE *out, const char *before, const char *text, const char *after) {
    fprintf(out, "%s'", before);
    for (; *text; text++)
        fputs(*text == '\'' ? "’" : (const char[]){*text, '\0'}, out);
    fprintf(out, "'%s", after);
}

/* The blank at the end keeps a backslash from joining the next line. */
static void comment(FILE *out, const char *text) {
    fprintf(out, "# %s%s\n", text, text[0] && text[strlen(text) - 1] == '\\' ? " " : "");
}

/* The points as a data block: x, y and, where there is one, the ends of band or bar. */
static sg_status put_data(FILE *out, const struct sg_figure *f, size_t p, size_t c, struct sg_error *err) {
    const struct sg_curve *curve = &f->panel[p].curve[c];
    struct sg_drawn *point;
    size_t n;
    char text[4][SG_NUMBER_CHARS];
    sg_status status = sg_plot_drawn(&point, &n, &f->panel[p], curve, SG_PLOT_MAX_POINTS, err);
    if (status != SG_OK)
        return status;
    comment(out, f->panel[p].ranking ? curve->point[0] : f->legend[curve->legend].label);
    fprintf(out, "$p%zuc%zu << EOD\n", p + 1, c + 1);
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "%s %s", sg_number_text(point[i].x, text[0]), sg_number_text(point[i].y, text[1]));
        if (curve->y_std)
            fprintf(out, " %s %s", sg_number_text(point[i].low, text[2]), sg_number_text(point[i].high, text[3]));
        fputc('\n', out);
    }
    fputs("EOD\n", out);
    free(point);
    return SG_OK;
}

/* Line types 1..n are the legend's entries. */
static void put_styles(FILE *out, const struct sg_figure *f) {
    static const int outline[SG_MARKERS] = {6, 4, 8, 12, 10, 14}; /* markers, each before its filled form */
    for (size_t i = 0; i < f->n_legend; i++) {
        const struct sg_style *e = &f->legend[i].style;
        fprintf(out, "set linetype %zu lc rgb '%s' lw %.3g pt %d ps 0.7 dt ", i + 1, e->color, 1.28 * e->width,
                outline[e->marker] + !e->hollow);
        for (size_t d = 0; d < e->n_dash; d++) /* gnuplot counts in half widths of the line */
            fprintf(out, "%s%.3g", d ? "," : "(", 2 * e->dash[d]);
        fputs(e->n_dash ? ")\n" : "1\n", out);
    }
}

static void put_axis(FILE *out, const struct sg_axis *axis, char side) {
    char text[2][SG_NUMBER_CHARS];
    fprintf(out, "%s logscale %c; set %crange [%s:%s]; set %ctics autofreq; set %clabel ", axis->log ? "set" : "unset",
            side, side, sg_number_text(axis->min, text[0]), sg_number_text(axis->max, text[1]), side, side);
    quoted(out, "", axis->label, " noenhanced\n");
}

/* The rows of a ranking have names in place of numbers. */
static void put_rows(FILE *out, const struct sg_panel *panel) {
    const char *before = "";
    fprintf(out, "unset logscale y; set yrange [%.10g:%.10g]; unset ylabel; set ytics noenhanced (", panel->y.min,
            panel->y.max);
    for (size_t c = 0; c < panel->n_curves; c++)
        if (!panel->curve[c].level) {
            quoted(out, before, panel->curve[c].row, "");
            fprintf(out, " %.10g", panel->curve[c].y[0]);
            before = ", ";
        }
    fputs(")\n", out);
}

/* The bands of a panel, then its lines; a legend has each method once. */
static void put_curves(FILE *out, const struct sg_figure *f, size_t p) {
    const struct sg_panel *panel = &f->panel[p];
    const char *before = "plot ";
    for (int lines = 0; lines < 2; lines++)
        for (size_t c = 0; c < panel->n_curves; c++) {
            const struct sg_curve *curve = &panel->curve[c];
            const bool row = panel->ranking && !curve->level, marks = sg_plot_draws_marks(panel, curve);
            const bool bars = marks && curve->y_std, band = !marks && !panel->ranking && curve->y_std;
            if (!sg_plot_shows(panel, curve) || (!lines && !band && !bars))
                continue;
            fprintf(out, "%s$p%zuc%zu using ", before, p + 1, c + 1);
            before = ", \\\n     ";
            if (!lines)
                fprintf(out, "1:%s lt %zu %s notitle",
                        band  ? "3:4 with filledcurves"
                        : row ? "2:3:4 with xerrorbars"
                              : "2:3:4 with yerrorbars",
                        curve->legend + 1, band ? "fs transparent solid 0.18 noborder" : "dt 1");
            else {
                fprintf(out, "1:2 with %s lt %zu ",
                        row     ? "points"
                        : marks ? "linespoints"
                                : "lines",
                        curve->legend + 1);
                if (row)
                    fputs("notitle", out);
                else
                    quoted(out, "title ", f->legend[curve->legend].text, " noenhanced");
            }
        }
    fputc('\n', out);
}

sg_status sg_export_gnuplot(FILE *out, const struct sg_figure *f, const char *format, struct sg_error *err) {
    (void)format;
    const size_t columns = sg_plot_grid_columns(f->n_panels), rows = (f->n_panels + columns - 1) / columns;
    double width = f->width > 0 ? f->width : 4.6 * (double)columns, height = 4;
    for (size_t p = 0; p < f->n_panels; p++)
        height = fmax(height, 1.5 + 0.2 * (double)sg_plot_rows(&f->panel[p]));
    height = f->height > 0 ? f->height : height * (double)rows;
    comment(out, f->title);
    comment(out, f->source);
    comment(out, f->footnote);
    fputs("# draw: gnuplot -d THIS > figure.svg, or gnuplot -d -e \"format='pdf'\" THIS > figure.pdf (svg, png, pdf)\n",
          out);
    for (size_t p = 0; p < f->n_panels; p++)
        for (size_t c = 0; c < f->panel[p].n_curves; c++) {
            sg_status status = put_data(out, f, p, c, err);
            if (status != SG_OK)
                return status;
        }
    fprintf(out,
            "if (!exists(\"format\")) format = 'svg'\n"
            "if (format eq 'svg') { set terminal svg enhanced size %.0f,%.0f background 'white' }\n"
            "if (format eq 'png') { set terminal pngcairo enhanced size %.0f,%.0f background 'white' }\n"
            "if (format eq 'pdf') { set terminal pdfcairo enhanced size %.2fin,%.2fin background 'white' }\n",
            96 * width, 96 * height, 96 * width, 96 * height, width, height);
    /* In a locale without an encoding gnuplot passes bytes on as they are, and would warn if it were told an encoding. */
    fputs("if (GPVAL_ENCODING ne 'utf8' && GPVAL_ENCODING ne 'default') set encoding utf8\n"
          "set border 3; set tics nomirror out; set grid; set key below\n",
          out);
    put_styles(out, f);
    fprintf(out, "set multiplot layout %zu,%zu ", rows, columns);
    quoted(out, "title ", f->title, " noenhanced\n");
    for (size_t p = 0; p < f->n_panels; p++) {
        char *caption = sg_plot_caption(f, p);
        fprintf(out, "\n# panel %zu: %s over %s\n", p + 1, f->panel[p].y.name, f->panel[p].x.name);
        quoted(out, "set title ", sg_plot_made(caption), " noenhanced\n");
        put_axis(out, &f->panel[p].x, 'x');
        if (f->panel[p].ranking)
            put_rows(out, &f->panel[p]);
        else
            put_axis(out, &f->panel[p].y, 'y');
        put_curves(out, f, p);
        free(caption);
    }
    fputs("unset multiplot\n", out);
    return SG_OK;
}

/* export_gnuplot.c: a gnuplot script with the data, a plot for each panel and the styles of the figure. Where
 * everything stands is left to gnuplot. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plot_private.h"
#include "sg_text.h"

struct script {
    FILE *out;
    size_t panel; /* counts from 1 */
    bool lines;   /* are lines and points written, else what is below them, bands and bars */
    const char *before;
};

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
static void put_data(void *to, const struct sg_drawn *d) {
    const struct script *s = to;
    char text[4][SG_NUMBER_CHARS];
    comment(s->out, d->panel->ranking ? d->curve->point[0] : d->entry->label);
    fprintf(s->out, "$p%zuc%zu << EOD\n", s->panel, d->number);
    for (size_t i = 0; i < d->n; i++) {
        const struct sg_spot *spot = &d->spot[i];
        fprintf(s->out, "%s %s", sg_number_text(spot->x, text[0]), sg_number_text(spot->y, text[1]));
        if (d->curve->y_std)
            fprintf(s->out, " %s %s", sg_number_text(spot->low, text[2]), sg_number_text(spot->high, text[3]));
        fputc('\n', s->out);
    }
    fputs("EOD\n", s->out);
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

/* A part of the plot command; a legend has each method once. */
static void put_curve(void *to, const struct sg_drawn *d) {
    struct script *s = to;
    const size_t entry = d->curve->legend + 1;
    const bool band = d->band && !d->panel->ranking;
    if (d->n == 0 || (!s->lines && !band && !d->bars))
        return;
    fprintf(s->out, "%s$p%zuc%zu using 1:", s->before, s->panel, d->number);
    s->before = ", \\\n     ";
    if (!s->lines && band)
        fprintf(s->out, "3:4 with filledcurves lt %zu fs transparent solid 0.18 noborder notitle", entry);
    else if (!s->lines)
        fprintf(s->out, "2:3:4 with %cerrorbars lt %zu dt 1 notitle", d->row ? 'x' : 'y', entry);
    else if (d->row)
        fprintf(s->out, "2 with points lt %zu notitle", entry);
    else
        fprintf(s->out, "2 with lines%s lt %zu ", d->marks ? "points" : "", entry);
    if (s->lines && !d->row)
        quoted(s->out, "title ", d->entry->text, " noenhanced");
}

sg_status sg_export_gnuplot(FILE *out, const struct sg_figure *f, const char *format, struct sg_error *err) {
    (void)format;
    struct script s = {.out = out};
    sg_status status = SG_OK;
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
    for (s.panel = 1; s.panel <= f->n_panels; s.panel++)
        SG_DO(status, sg_plot_each_curve(f, s.panel - 1, SG_PLOT_MAX_POINTS, put_data, &s, err));
    fprintf(out,
            "if (!exists(\"format\")) format = 'svg'\n"
            "if (format eq 'svg') { set terminal svg enhanced size %.0f,%.0f background 'white' }\n"
            "if (format eq 'png') { set terminal pngcairo enhanced size %.0f,%.0f background 'white' }\n"
            "if (format eq 'pdf') { set terminal pdfcairo enhanced size %.2fin,%.2fin background 'white' }\n",
            96 * width, 96 * height, 96 * width, 96 * height, width, height);
    /* In a locale without an encoding gnuplot passes bytes on as they are, and would warn if it were told an
     * encoding. */
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
        free(caption);
        s = (struct script){.out = out, .panel = p + 1, .before = "plot "};
        SG_DO(status, sg_plot_each_curve(f, p, SG_PLOT_MAX_POINTS, put_curve, &s, err));
        s.lines = true;
        SG_DO(status, sg_plot_each_curve(f, p, SG_PLOT_MAX_POINTS, put_curve, &s, err));
        fputc('\n', out);
    }
    fputs("unset multiplot\n", out);
    return status;
}

/* export_gnuplot.c: a self-contained gnuplot script with data blocks, one plot per panel and one legend above them.
 * Margins and ticks are computed here, so the figure does not depend on gnuplot's version or defaults. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plot_private.h"
#include "sg_text.h"

/* Inches. */
#define PANEL_WIDTH  3.5
#define PANEL_HEIGHT 2.65
#define LONE_WIDTH   4.6
#define LONE_HEIGHT  3.2
#define ROW          0.24 /* a line of the title or of the legend */
#define LEFT         0.74 /* of a panel's cell, up to its axis */
#define RIGHT        0.16
#define BOTTOM       0.54
#define TOP          0.30
#define FOOT         0.20
#define SAMPLE       0.64 /* what a legend entry takes beside its text */
#define LETTER       0.072

struct sheet {
    double width, height;
    double legend_top, panels_top, panels_bottom; /* shares of the height */
    size_t columns, rows, title_letters;
};

static double entry_width(const struct sg_legend *entry) {
    return SAMPLE + LETTER * (double)sg_text_width(entry->label);
}

/* Legend entries first..return-1 fit on one line, and take *width. */
static size_t legend_row(const struct sg_figure *f, const struct sheet *s, size_t first, double *width) {
    size_t i = first;
    for (*width = 0; i < f->n_legend; i++) {
        double more = entry_width(&f->legend[i]);
        if (i > first && *width + more > s->width - 0.2)
            break;
        *width += more;
    }
    return i;
}

static struct sheet lay_out(const struct sg_figure *f) {
    struct sheet s = {0};
    double row_width, above = 0.08, below = f->footnote[0] ? FOOT : 0;
    s.columns = sg_plot_grid_columns(f->n_panels);
    s.rows = (f->n_panels + s.columns - 1) / s.columns;
    s.width = f->width > 0 ? f->width : s.columns == 1 ? LONE_WIDTH : PANEL_WIDTH * (double)s.columns;
    s.title_letters = (size_t)fmax(8, (s.width - 0.2) / LETTER);
    for (const char *t = f->title; *t; t += sg_text_line(t, s.title_letters), t += *t == ' ')
        above += ROW;
    double legend_top = above;
    for (size_t i = 0; i < f->n_legend; i = legend_row(f, &s, i, &row_width))
        above += ROW;
    double panel = s.columns == 1 ? LONE_HEIGHT : PANEL_HEIGHT;
    s.height = f->height > 0 ? f->height : above + below + panel * (double)s.rows;
    s.legend_top = 1 - legend_top / s.height;
    s.panels_top = 1 - above / s.height;
    s.panels_bottom = below / s.height;
    return s;
}

/* A single-quoted gnuplot string, in which nothing is special but the quote. Doubling it does not work at the start of
 * a string (gnuplot 5.4), so it becomes an apostrophe. */
static void quoted(FILE *out, const char *text) {
    fputc('\'', out);
    for (; *text; text++)
        if (*text == '\'')
            fputs("’", out);
        else
            fputc(*text, out);
    fputc('\'', out);
}

/* The blank at the end keeps a backslash from joining the next line. */
static void comment(FILE *out, const char *text) {
    bool joins = text[0] && text[strlen(text) - 1] == '\\';
    fprintf(out, "# %s%s\n", text, joins ? " " : "");
}

static void put_terminal(FILE *out, const struct sheet *s, const char *format) {
    if (format)
        fprintf(out, "format = '%s'\n", format);
    else
        fputs("if (!exists(\"format\")) format = 'svg'\n", out);
    fprintf(out,
            "if (format eq 'svg') { set terminal svg enhanced size %.0f,%.0f font 'Helvetica,Arial,sans-serif,12' "
            "background 'white' }\n"
            "if (format eq 'png') { set terminal pngcairo enhanced size %.0f,%.0f font 'sans-serif,9' fontscale 2 "
            "linewidth 2 pointscale 2 background 'white' }\n"
            "if (format eq 'pdf') { set terminal pdfcairo enhanced size %.2fin,%.2fin font 'sans-serif,9' "
            "linewidth 1 pointscale 0.5 background 'white' }\n",
            s->width * 96, s->height * 96, s->width * 192, s->height * 192, s->width, s->height);
}

static void put_data(FILE *out, const struct sg_panel *panel, const struct sg_curve *curve, const char *label, size_t p,
                     size_t c, size_t *index) {
    char text[4][SG_NUMBER_CHARS];
    size_t n = sg_plot_visible(panel, curve, SG_PLOT_MAX_POINTS, index);
    comment(out, label);
    fprintf(out, "$p%zuc%zu << EOD\n", p + 1, c + 1);
    for (size_t i = 0; i < n; i++) {
        size_t k = index[i];
        double low, high;
        sg_plot_band(panel, curve, k, &low, &high);
        fprintf(out, "%s %s", sg_number_text(curve->level ? panel->x.min : curve->x[k], text[0]),
                sg_number_text(curve->y[k], text[1]));
        if (curve->y_std)
            fprintf(out, " %s %s", sg_number_text(low, text[2]), sg_number_text(high, text[3]));
        fputc('\n', out);
        if (curve->level)
            fprintf(out, "%s %s %s %s\n", sg_number_text(panel->x.max, text[0]), text[1], text[2], text[3]);
    }
    fputs("EOD\n", out);
}

/* gnuplot 5.4 never ends when a log axis has ticks further apart than this. */
enum { MOST_DECADES = 7 };

/* Writes the ticks one by one: even ones in units of 10^exponent; 1, 2, 5 within decades; or decades far apart. */
static void put_tick_list(FILE *out, char side, const struct sg_axis *axis, struct sg_ticks ticks) {
    bool first = true;
    fprintf(out, "set %ctics (", side);
    if (ticks.kind == SG_TICKS_DIGITS) {
        static const int digits[] = {1, 2, 5};
        for (int e = (int)floor(log10(axis->min)); e <= (int)floor(log10(axis->max)); e++)
            for (size_t k = 0; k < 3; k++) {
                double at = digits[k] * pow(10, e);
                if (!(at >= axis->min * (1 - 1e-9) && at <= axis->max * (1 + 1e-9)))
                    continue;
                fprintf(out, "%s'", first ? "" : ", ");
                if (digits[k] > 1)
                    fprintf(out, "%d×", digits[k]);
                fprintf(out, "10^{%d}' %.6g", e, at);
                first = false;
            }
    } else if (ticks.kind == SG_TICKS_DECADES) {
        double start = ceil(log10(axis->min) / ticks.step);
        for (int k = 0; k < 20 && (start + k) * ticks.step <= log10(axis->max); k++)
            fprintf(out, "%s'10^{%.0f}' 1e%.0f", k ? ", " : "", (start + k) * ticks.step, (start + k) * ticks.step);
    } else {
        double start = ceil(axis->min / ticks.step - 1e-9);
        for (int k = 0; k < 20 && (start + k) * ticks.step <= axis->max + 1e-9 * ticks.step; k++)
            fprintf(out, "%s'%.6g' %.10g", k ? ", " : "", (start + k) * ticks.step / pow(10, ticks.exponent) + 0.0,
                    (start + k) * ticks.step);
    }
    fputs(")\n", out);
}

static void put_axis(FILE *out, char side, const struct sg_axis *axis) {
    char text[2][SG_NUMBER_CHARS];
    struct sg_ticks ticks = sg_plot_ticks(axis);
    fprintf(out, "%s logscale %c\nset %crange [%s:%s]\n", axis->log ? "set" : "unset", side, side,
            sg_number_text(axis->min, text[0]), sg_number_text(axis->max, text[1]));
    if (ticks.kind == SG_TICKS_DECADES &&
        ticks.step <= MOST_DECADES) /* without a start, they may begin at the border */
        fprintf(out, "set %ctics 1e%.0f,1e%.0f; set m%ctics %d; set format %c '10^{%%T}'\n", side,
                ceil(log10(axis->min) / ticks.step - 1e-9) * ticks.step, ticks.step, side,
                ticks.step > 1 ? (int)ticks.step : 10, side);
    else {
        put_tick_list(out, side, axis, ticks);
        fprintf(out, "unset m%ctics\n", side);
    }
}

/* The title of an axis, with the power of ten its numbers are in. */
static void put_axis_label(FILE *out, const struct sg_axis *axis) {
    char power[SG_POWER_CHARS], *label = NULL;
    int exponent = sg_plot_ticks(axis).exponent;
    if (exponent)
        label = sg_format("%s (%s)", axis->label, sg_plot_power(power, exponent));
    quoted(out, label ? label : axis->label);
    free(label);
}

/* Line types 1..n are the legend's entries. */
static void put_styles(FILE *out, const struct sg_figure *f) {
    static const int marks[SG_MARKERS] = {7, 5, 9, 13, 11, 15}; /* filled; hollow ones come one before */
    for (size_t i = 0; i < f->n_legend; i++) {
        const struct sg_style *e = &f->legend[i].style;
        fprintf(out, "set linetype %zu lc rgb '%s' lw %.3g pt %d ps 0.7 dt ", i + 1, e->color, 1.28 * e->width,
                marks[e->marker] - e->hollow);
        for (size_t d = 0; d < e->n_dash; d++) /* gnuplot counts in half widths of the line */
            fprintf(out, "%s%.3g", d ? "," : "(", 2 * e->dash[d]);
        fputs(e->n_dash ? ")\n" : "1\n", out);
    }
}

/* Bands are drawn below lines and lines below baselines, because dashes below a line could not be seen. */
enum pass { BANDS, LINES, BASELINES, PASSES };

static void put_curve(FILE *out, const struct sg_figure *f, size_t p, size_t c, enum pass pass, const char **before) {
    const struct sg_panel *panel = &f->panel[p];
    const struct sg_curve *curve = &panel->curve[c];
    size_t lt = curve->legend + 1;
    bool points = panel->points && !curve->level;
    enum pass own = f->legend[curve->legend].baseline ? BASELINES : LINES;
    if ((pass == BANDS ? points || !curve->y_std : pass != own) || !sg_plot_shows(panel, curve))
        return;
    fprintf(out, "%s$p%zuc%zu using ", *before, p + 1, c + 1);
    *before = ", \\\n     ";
    if (pass == BANDS)
        fprintf(out, "1:3:4 with filledcurves lt %zu fs transparent solid 0.2 noborder", lt);
    else if (points)
        fprintf(out, "1:2 with lines lt %zu lw 1%s$p%zuc%zu using 1:2:3:4 with yerrorbars lt %zu dt 1", lt, *before,
                p + 1, c + 1, lt);
    else
        fprintf(out, "1:2 with lines lt %zu", lt);
}

static void put_panel(FILE *out, const struct sg_figure *f, const struct sheet *s, size_t p) {
    const struct sg_panel *panel = &f->panel[p];
    double width = 1 / (double)s->columns, height = (s->panels_top - s->panels_bottom) / (double)s->rows;
    double x0 = (double)(p % s->columns) * width, y1 = s->panels_top - (double)(p / s->columns) * height;
    char *caption = sg_plot_caption(f, p);
    char *name = sg_format("panel %zu: %s over %s", p + 1, panel->y.name, panel->x.name);
    double top = y1 - (caption && caption[0] ? TOP : 0.1) / s->height, bottom = y1 - height + BOTTOM / s->height;
    fputc('\n', out);
    comment(out, name ? name : "a panel");
    free(name);
    fprintf(out,
            "set lmargin at screen %.4f; set rmargin at screen %.4f; set tmargin at screen %.4f; "
            "set bmargin at screen %.4f\n",
            x0 + LEFT / s->width, x0 + width - RIGHT / s->width, top, bottom);
    put_axis(out, 'x', &panel->x);
    put_axis(out, 'y', &panel->y);
    fputs("set xlabel ", out);
    put_axis_label(out, &panel->x);
    fputs(" noenhanced\nset label 1 ", out); /* a ylabel would move with the width of the ticks' numbers */
    put_axis_label(out, &panel->y);
    fprintf(out, " at screen %.4f, screen %.4f center rotate by 90 noenhanced\nset label 2 ", x0 + 0.13 / s->width,
            (top + bottom) / 2);
    quoted(out, caption ? caption : "");
    fputs(" at graph 0, graph 1 left offset 0,0.7 noenhanced\n", out);
    free(caption);
    const char *before = "plot ";
    for (int pass = BANDS; pass < PASSES; pass++)
        for (size_t c = 0; c < panel->n_curves; c++)
            put_curve(out, f, p, c, (enum pass)pass, &before);
    fputc('\n', out);
}

/* Draws samples and names by hand, because gnuplot's own key can neither span panels nor be centred under a title. */
static void put_legend(FILE *out, const struct sg_figure *f, const struct sheet *s) {
    double y = s->legend_top - 0.5 * ROW / s->height, row_width;
    fputs("\n# legend\n", out);
    for (size_t first = 0, next; first < f->n_legend; first = next, y -= ROW / s->height) {
        next = legend_row(f, s, first, &row_width);
        double x = (s->width - row_width + 0.2) / 2;
        for (size_t i = first; i < next; x += entry_width(&f->legend[i++])) {
            fprintf(out, "set arrow %zu from screen %.4f, screen %.4f to screen %.4f, screen %.4f nohead lt %zu\n",
                    i + 1, x / s->width, y, (x + 0.34) / s->width, y, i + 1);
            if (sg_plot_has_marks(f, i))
                fprintf(out, "set label %zu '' at screen %.4f, screen %.4f point lt %zu\n", 2 * i + 101,
                        (x + 0.17) / s->width, y, i + 1);
            fprintf(out, "set label %zu ", 2 * i + 100);
            quoted(out, f->legend[i].label);
            fprintf(out, " at screen %.4f, screen %.4f left noenhanced\n", (x + 0.41) / s->width, y);
        }
    }
}

static void put_title(FILE *out, const struct sg_figure *f, const struct sheet *s) {
    double y = 1 - 0.16 / s->height;
    int tag = 10; /* 1 and 2 are the panels' own */
    for (const char *t = f->title; *t; y -= ROW / s->height) {
        size_t length = sg_text_line(t, s->title_letters);
        char *line = strndup(t, length);
        fprintf(out, "set label %d ", tag++);
        quoted(out, line ? line : "");
        fprintf(out, " at screen 0.5, screen %.4f center noenhanced\n", y);
        free(line);
        t += length;
        t += *t == ' ';
    }
    if (f->footnote[0]) {
        fputs("set label 3 ", out);
        quoted(out, f->footnote);
        fprintf(out, " at screen %.4f, screen %.4f right font small tc rgb '#606060' noenhanced\n",
                1 - RIGHT / s->width, 0.11 / s->height);
    }
}

/* With its format fixed ("svg", "png", "pdf"), or, as "gnuplot", chosen by the user. */
sg_status sg_export_gnuplot(FILE *out, const struct sg_figure *f, const char *format, struct sg_error *err) {
    const bool chosen = strcmp(format, "gnuplot") != 0;
    struct sheet s = lay_out(f);
    comment(out, f->title);
    comment(out, f->source);
    if (!chosen)
        fputs("# draw: gnuplot -d THIS > figure.svg, or gnuplot -d -e \"format='pdf'\" THIS > figure.pdf (svg, png, "
              "pdf)\n",
              out);
    for (size_t p = 0; p < f->n_panels; p++)
        for (size_t c = 0; c < f->panel[p].n_curves; c++) {
            const struct sg_curve *curve = &f->panel[p].curve[c];
            size_t *index = malloc((curve->n + 1) * sizeof *index);
            if (!index)
                return sg_fail_memory(err, "the script");
            put_data(out, &f->panel[p], curve, f->legend[curve->legend].label, p, c, index);
            free(index);
        }
    put_terminal(out, &s, chosen ? format : NULL);
    /* In a locale without an encoding gnuplot passes bytes on as they are, and would warn if it were told an encoding.
     */
    fputs("if (GPVAL_ENCODING ne 'utf8' && GPVAL_ENCODING ne 'default') set encoding utf8\nset border 3 lw 0.8\nset "
          "tics nomirror out scale 0.6,0.3\n"
          "set grid xtics ytics lt 100 lc rgb '#d9d9d9' lw 0.6 dt 1\nset style line 100 lc rgb '#d9d9d9'\n"
          "set xlabel offset 0,0.3\nunset key\nset multiplot\nsmall = (format eq 'svg') ? ',10' : ',7.5'\n",
          out);
    put_styles(out, f);
    put_legend(out, f, &s);
    put_title(out, f, &s);
    for (size_t p = 0; p < f->n_panels; p++) {
        put_panel(out, f, &s, p);
        if (p == 0) /* title and legend are drawn once */
            fputs("unset label; unset arrow\n", out);
    }
    fputs("unset multiplot\n", out);
    return SG_OK;
}

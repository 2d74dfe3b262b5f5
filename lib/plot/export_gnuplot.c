/* A self-contained gnuplot script: data blocks, one plot per panel, one legend above them.
 * Margins and ticks are computed here, so that the figure does not depend on gnuplot's version or defaults. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plot_private.h"

/* Inches. */
#define PANEL_WIDTH 3.5
#define PANEL_HEIGHT 2.75
#define ROW 0.27          /* a line of the title or of the legend */
#define LEFT 0.72         /* of a panel's cell, up to its axis */
#define RIGHT 0.16
#define BOTTOM 0.56
#define TOP 0.30
#define SAMPLE 0.62       /* a legend entry beside its text */
#define LETTER 0.085

struct sheet {
    double width, height, legend_top, panels_top;
    size_t columns, rows, legend_rows, legend_columns;
};

static size_t letters(const char *utf8) {
    size_t n = 0;
    for (; *utf8; utf8++)
        n += ((unsigned char)*utf8 & 0xc0) != 0x80;
    return n;
}

static struct sheet lay_out(const struct sg_figure *f) {
    struct sheet s = {0};
    s.columns = sg_plot_grid_columns(f->n_panels);
    s.rows = (f->n_panels + s.columns - 1) / s.columns;
    s.width = f->width > 0 ? f->width : PANEL_WIDTH * (double)s.columns + (s.columns == 1 ? 1 : 0);
    size_t longest = 1;
    for (size_t i = 0; i < f->n_legend; i++)
        longest = letters(f->legend[i].label) > longest ? letters(f->legend[i].label) : longest;
    double fit = floor((s.width - 0.2) / (SAMPLE + LETTER * (double)longest));
    s.legend_columns = fit < 1 ? 1 : fit < (double)f->n_legend ? (size_t)fit : f->n_legend;
    s.legend_rows = (f->n_legend + s.legend_columns - 1) / s.legend_columns;
    double above = (f->title[0] ? ROW + 0.06 : 0.04) + ROW * (double)s.legend_rows;
    double below = f->footnote[0] ? 0.18 : 0;
    s.height = f->height > 0 ? f->height : above + below + (PANEL_HEIGHT + (s.columns == 1 ? 0.5 : 0)) * (double)s.rows;
    s.legend_top = 1 - (f->title[0] ? ROW + 0.06 : 0.04) / s.height;
    s.panels_top = 1 - above / s.height;
    return s;
}

/* A single-quoted gnuplot string: nothing is special in it but the quote. */
static void quoted(FILE *out, const char *text) {
    fputc('\'', out);
    for (; *text; text++) {
        if (*text == '\'')
            fputc('\'', out);
        fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
    }
    fputc('\'', out);
}

static void comment(FILE *out, const char *text) {
    fputs("# ", out);
    for (; *text; text++)
        fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
    fputc('\n', out);
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

static void put_data(FILE *out, const struct sg_panel *panel, const struct sg_curve *curve, const char *label,
                     size_t p, size_t c, size_t *index) {
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

/* Labelled ticks of a linear axis in units of 10^exponent, or of a log axis within few decades. */
static void put_tick_list(FILE *out, char side, const struct sg_axis *axis, struct sg_ticks ticks) {
    bool first = true;
    fprintf(out, "set %ctics (", side);
    if (axis->log) {
        static const int digits[] = {1, 2, 5};
        for (int e = (int)floor(log10(axis->min)); e <= (int)floor(log10(axis->max)); e++)
            for (size_t k = 0; k < 3; k++) {
                double at = digits[k] * pow(10, e);
                if (!(at >= axis->min * (1 - 1e-9) && at <= axis->max * (1 + 1e-9)))
                    continue;
                fprintf(out, "%s'%d×10^{%d}' %.6g", first ? "" : ", ", digits[k], e, at);
                first = false;
            }
    } else {
        double start = ceil(axis->min / ticks.step - 1e-9);
        for (int k = 0; k < 20 && (start + k) * ticks.step <= axis->max + 1e-9 * ticks.step; k++)
            fprintf(out, "%s'%.6g' %.10g", k ? ", " : "", (start + k) * ticks.step / pow(10, ticks.exponent) + 0.0,
                    (start + k) * ticks.step);
    }
    fputs(")\n", out);
}

static void superscript(char *out, size_t size, int exponent) {
    static const char *const digit[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    char plain[16];
    snprintf(plain, sizeof plain, "%d", exponent);
    out[0] = '\0';
    for (const char *c = plain; *c; c++) {
        size_t used = strlen(out);
        snprintf(out + used, size - used, "%s", *c == '-' ? "⁻" : digit[*c - '0']);
    }
}

static void put_axis(FILE *out, char side, const struct sg_axis *axis) {
    char text[2][SG_NUMBER_CHARS], power[64] = "";
    struct sg_ticks ticks = sg_plot_ticks(axis);
    fprintf(out, "%s logscale %c\nset %crange [%s:%s]\n", axis->log ? "set" : "unset", side, side,
            sg_number_text(axis->min, text[0]), sg_number_text(axis->max, text[1]));
    if (axis->log && ticks.step > 0)
        fprintf(out, "set %ctics 1e%.0f; set m%ctics %d; set format %c '10^{%%T}'\n", side, ticks.step, side,
                ticks.step > 1 ? (int)ticks.step : 10, side);
    else {
        put_tick_list(out, side, axis, ticks);
        fprintf(out, "unset m%ctics\n", side);
    }
    if (ticks.exponent) {
        superscript(power, sizeof power, ticks.exponent);
        char *label;
        if (asprintf(&label, "%s (×10%s)", axis->label, power) < 0)
            label = NULL;
        fprintf(out, "set %clabel ", side);
        quoted(out, label ? label : axis->label);
        free(label);
    } else {
        fprintf(out, "set %clabel ", side);
        quoted(out, axis->label);
    }
    fputs(" noenhanced\n", out);
}

/* "lt" is set once per legend entry: line styles are numbered from 1. */
static void put_styles(FILE *out, const struct sg_figure *f) {
    static const int dashes[] = {1, 2, 4, 5, 3}, marks[] = {7, 5, 9, 13, 11, 15};
    for (size_t i = 0; i < f->n_legend; i++) {
        const struct sg_legend *e = &f->legend[i];
        if (e->baseline)
            fprintf(out, "set linetype %zu lc rgb '%s' lw 1.6 dt (%d,%d) pt 6 ps 0.6\n", i + 1, sg_plot_color(e),
                    e->style % 2 ? 3 : 10, e->style % 2 ? 4 : 6);
        else
            fprintf(out, "set linetype %zu lc rgb '%s' lw 1.8 dt %d pt %d ps 0.7\n", i + 1, sg_plot_color(e),
                    dashes[e->style / SG_PLOT_COLORS % 5], marks[e->style % 6]);
    }
}

static void put_panel(FILE *out, const struct sg_figure *f, const struct sheet *s, size_t p) {
    const struct sg_panel *panel = &f->panel[p];
    double cell_w = 1 / (double)s->columns, cell_h = (s->panels_top - (f->footnote[0] ? 0.18 / s->height : 0)) / (double)s->rows;
    double x0 = (double)(p % s->columns) * cell_w, y1 = s->panels_top - (double)(p / s->columns) * cell_h;
    fprintf(out, "\n# panel %zu: %s over %s\n", p + 1, panel->y.name, panel->x.name);
    fprintf(out, "set lmargin at screen %.4f; set rmargin at screen %.4f; set tmargin at screen %.4f; "
            "set bmargin at screen %.4f\n", x0 + LEFT / s->width, x0 + cell_w - RIGHT / s->width,
            y1 - TOP / s->height, y1 - cell_h + BOTTOM / s->height);
    put_axis(out, 'x', &panel->x);
    put_axis(out, 'y', &panel->y);
    char *caption = sg_plot_caption(f, p);
    fputs("set label 1 ", out);
    quoted(out, caption ? caption : "");
    free(caption);
    fputs(" at graph 0, graph 1 left offset 0,0.7 noenhanced\n", out);
    const char *separator = "plot ";
    for (size_t pass = 0; pass < 2; pass++) /* bands below all lines */
        for (size_t c = 0; c < panel->n_curves; c++) {
            const struct sg_curve *curve = &panel->curve[c];
            size_t lt = curve->legend + 1;
            bool band = curve->y_std && (!panel->points || curve->level);
            if (pass == 0 && band)
                fprintf(out, "%s$p%zuc%zu using 1:3:4 with filledcurves lt %zu fs transparent solid 0.18 noborder",
                        separator, p + 1, c + 1, lt);
            else if (pass == 1 && panel->points && !curve->level)
                fprintf(out, "%s$p%zuc%zu using 1:2 with lines lt %zu lw 1, \\\n     $p%zuc%zu using 1:2:3:4 with "
                        "yerrorbars lt %zu dt 1", separator, p + 1, c + 1, lt, p + 1, c + 1, lt);
            else if (pass == 1)
                fprintf(out, "%s$p%zuc%zu using 1:2 with lines lt %zu", separator, p + 1, c + 1, lt);
            else
                continue;
            separator = ", \\\n     ";
        }
    fputs("\nunset label 1\n", out);
}

/* Samples and names by hand: gnuplot's own key can neither span panels nor be centred under a title. */
static void put_legend(FILE *out, const struct sg_figure *f, const struct sheet *s) {
    double widest = 0;
    for (size_t i = 0; i < f->n_legend; i++)
        widest = fmax(widest, LETTER * (double)letters(f->legend[i].label));
    double entry = SAMPLE + widest, row = entry * (double)s->legend_columns - 0.15;
    fputs("\n# legend\n", out);
    for (size_t i = 0; i < f->n_legend; i++) {
        double x = (s->width - row) / 2 + entry * (double)(i % s->legend_columns);
        double y = s->legend_top - ROW * ((double)(i / s->legend_columns) + 0.5) / s->height;
        fprintf(out, "set arrow %zu from screen %.4f, screen %.4f to screen %.4f, screen %.4f nohead lt %zu\n", i + 1,
                x / s->width, y, (x + 0.36) / s->width, y, i + 1);
        fprintf(out, "set label %zu ", i + 10);
        quoted(out, f->legend[i].label);
        fprintf(out, " at screen %.4f, screen %.4f left noenhanced\n", (x + 0.43) / s->width, y);
    }
}

sg_status sg_gnuplot_script(FILE *out, const struct sg_figure *f, const char *format, struct sg_error *err) {
    struct sheet s = lay_out(f);
    comment(out, f->title);
    comment(out, f->source);
    if (!format)
        fputs("# draw: gnuplot -d THIS > figure.svg, or gnuplot -d -e \"format='pdf'\" THIS > figure.pdf (svg, png, pdf)\n",
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
    put_terminal(out, &s, format);
    fputs("set encoding utf8\nset border 3 lw 0.8\nset tics nomirror out scale 0.6,0.3\n"
          "set grid xtics ytics lt 100 lc rgb '#d9d9d9' lw 0.6 dt 1\nset style line 100 lc rgb '#d9d9d9'\n"
          "set xlabel offset 0,0.3\nset ylabel offset 0.6,0\nunset key\nset multiplot\n", out);
    put_styles(out, f);
    if (f->title[0]) {
        fputs("set label 100 ", out);
        quoted(out, f->title);
        fprintf(out, " at screen 0.5, screen %.4f center noenhanced\n", 1 - 0.19 / s.height);
    }
    if (f->footnote[0]) {
        fputs("set label 101 ", out);
        quoted(out, f->footnote);
        fprintf(out, " at screen %.4f, screen %.4f right tc rgb '#606060' noenhanced\n", 1 - RIGHT / s.width,
                0.11 / s.height);
    }
    put_legend(out, f, &s);
    for (size_t p = 0; p < f->n_panels; p++) {
        put_panel(out, f, &s, p);
        if (p == 0) /* written once */
            fputs("unset label; unset arrow\n", out);
    }
    fputs("unset multiplot\n", out);
    return SG_OK;
}

sg_status sg_export_gnuplot(FILE *out, const struct sg_figure *figure, struct sg_error *err) {
    return sg_gnuplot_script(out, figure, NULL, err);
}

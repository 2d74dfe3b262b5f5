/* export_gnuplot.c: a self-contained gnuplot script with data blocks and one plot for each panel. Every text has its place
 * from the layout, so the figure does not depend on gnuplot's version, defaults and terminals. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plot_layout.h"
#include "sg_text.h"

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

static void put_terminal(FILE *out, const struct sg_sheet *s, const char *format) {
    const double points = 72 * s->em;
    if (format)
        fprintf(out, "format = '%s'\n", format);
    else
        fputs("if (!exists(\"format\")) format = 'svg'\n", out);
    fprintf(out,
            "if (format eq 'svg') { set terminal svg enhanced size %.0f,%.0f font 'Helvetica,Arial,sans-serif,%.4g' "
            "background 'white' }\n"
            "if (format eq 'png') { set terminal pngcairo enhanced size %.0f,%.0f font 'sans-serif,%.4g' fontscale 2 "
            "linewidth 2 pointscale 2 background 'white' }\n"
            "if (format eq 'pdf') { set terminal pdfcairo enhanced size %.2fin,%.2fin font 'sans-serif,%.4g' "
            "fontscale 0.75 linewidth 1.5 pointscale 0.75 background 'white' }\n",
            s->width * 96, s->height * 96, points / 0.75, s->width * 192, s->height * 192, points, s->width, s->height,
            points);
    fprintf(out, "small = (format eq 'svg') ? ',%.4g' : ',%.4g'\n", SG_SMALL * points / 0.75, SG_SMALL * points);
}

/* A row of a ranking: value, row and the ends of its bar; then, behind two empty lines, the seeds. A baseline is a line
 * through all rows and then the outline of its band. */
static void put_row(FILE *out, const struct sg_panel *panel, const struct sg_curve *curve) {
    char text[4][SG_NUMBER_CHARS], beyond[SG_BEYOND_CHARS];
    double low, high;
    if (*sg_plot_beyond(beyond, panel, curve))
        return;
    sg_plot_band(panel, curve, 0, &low, &high);
    const char *value = sg_number_text(curve->x[0], text[0]), *row = sg_number_text(curve->y[0], text[1]);
    const char *from = sg_number_text(low, text[2]), *to = sg_number_text(high, text[3]);
    if (curve->level) {
        const double bottom = panel->y.min, top = panel->y.max;
        fprintf(out, "%s %g\n%s %g\n\n\n%s %g\n%s %g\n%s %g\n%s %g\n", value, bottom, value, top, from, bottom, to,
                bottom, to, top, from, top);
        return;
    }
    fprintf(out, "%s %s %s %s\n%s", value, row, from, to, curve->n_seeds > 0 ? "\n\n" : "");
    for (size_t i = 0; i < curve->n_seeds; i++)
        if (isfinite(curve->seed[i]) && !(panel->x.log && curve->seed[i] <= 0))
            fprintf(out, "%s %s\n", sg_number_text(curve->seed[i], text[0]), row);
}

static void put_data(FILE *out, const struct sg_panel *panel, const struct sg_curve *curve, const char *label, size_t p,
                     size_t c, size_t *index) {
    char text[4][SG_NUMBER_CHARS];
    size_t n = sg_plot_visible(panel, curve, SG_PLOT_MAX_POINTS, index);
    comment(out, panel->ranking ? curve->point[0] : label);
    fprintf(out, "$p%zuc%zu << EOD\n", p + 1, c + 1);
    if (panel->ranking) {
        if (n > 0)
            put_row(out, panel, curve);
        fputs("EOD\n", out);
        return;
    }
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

/* ---- texts ---- */

/* The script being written, and the next free tag of a label or an arrow. */
struct script {
    FILE *out;
    const struct sg_figure *f;
    const struct sg_sheet *s;
    int tag;
};

/* Begins a label; what follows is its text and its place. */
static void begin_label(struct script *t) {
    fprintf(t->out, "set label %d ", t->tag++);
}

/* Words in lines of at most `ems`, from (x, y) in inches, the middle of the first line; a turned text goes to the right
 * line by line. */
static void put_lines(struct script *t, const char *text, double ems, double x, double y, const char *how, double em) {
    const bool turned = strstr(how, "rotate") != NULL;
    ems = sg_plot_balance(text, ems);
    while (*text) {
        const size_t length = sg_plot_line(text, ems);
        char *line = strndup(text, length);
        begin_label(t);
        quoted(t->out, sg_plot_made(line));
        fprintf(t->out, " at screen %.4f, screen %.4f %s noenhanced\n", x / t->s->width, 1 - y / t->s->height, how);
        free(line);
        *(turned ? &x : &y) += SG_LINE * em;
        text += length;
        text += *text == ' ';
    }
}

static void put_tick_text(FILE *out, const struct sg_tick *tick) {
    const char *digits = tick->text + (tick->text[0] == '-');
    fprintf(out, "'%s%s%s%s'", tick->power ? "10^{" : "", tick->text[0] == '-' ? "−" : "", digits,
            tick->power ? "}" : "");
}

/* ---- axes ---- */

/* The names of a ranking's rows, each at a line across the panel, and what lies beyond its ends. */
static void put_row_names(struct script *t, size_t p) {
    const struct sg_panel *panel = &t->f->panel[p];
    const char *before = "";
    fprintf(t->out, "unset logscale y\nset yrange [%.10g:%.10g]\nset ytics scale 0 (", panel->y.min, panel->y.max);
    for (size_t c = 0; c < panel->n_curves; c++)
        if (!panel->curve[c].level) {
            fprintf(t->out, "%s'' %.10g", before, panel->curve[c].y[0]);
            before = ", ";
        }
    fputs(")\n", t->out);
    for (size_t c = 0; c < panel->n_curves; c++)
        if (!panel->curve[c].level) {
            begin_label(t);
            quoted(t->out, panel->curve[c].row);
            fprintf(t->out, " at screen %.4f, first %.10g right font small noenhanced\n",
                    t->s->place[p].y_numbers / t->s->width, panel->curve[c].y[0]);
            char beyond[SG_BEYOND_CHARS];
            const bool left = panel->curve[c].x[0] < panel->x.min;
            if (*sg_plot_beyond(beyond, panel, &panel->curve[c])) {
                begin_label(t);
                fprintf(t->out, "'%s' at graph %s, first %.10g %s font small\n", beyond, left ? "0.02" : "0.98",
                        panel->curve[c].y[0], left ? "left" : "right");
            }
        }
}

static void put_axis(struct script *t, size_t p, bool is_x) {
    const struct sg_place *place = &t->s->place[p];
    const struct sg_axis *axis = is_x ? &t->f->panel[p].x : &t->f->panel[p].y;
    const char side = is_x ? 'x' : 'y';
    char text[2][SG_NUMBER_CHARS];
    struct sg_ticks ticks;
    FILE *out = t->out;
    if (!is_x && t->f->panel[p].ranking) {
        put_row_names(t, p);
        return;
    }
    sg_sheet_ticks(&ticks, t->s, t->f, p, is_x);
    fprintf(out, "%s logscale %c\nset %crange [%s:%s]\nset %ctics (", axis->log ? "set" : "unset", side, side,
            sg_number_text(axis->min, text[0]), sg_number_text(axis->max, text[1]), side);
    for (size_t i = 0; i < ticks.n; i++)
        fprintf(out, "%s'' %.10g%s", i ? ", " : "", ticks.tick[i].at, ticks.tick[i].labelled ? "" : " 1");
    fputs(")\n", out);
    for (size_t i = 0; i < ticks.n; i++)
        if (ticks.tick[i].labelled) {
            begin_label(t);
            put_tick_text(out, &ticks.tick[i]);
            if (is_x)
                fprintf(out, " at first %.10g, screen %.4f center\n", ticks.tick[i].at,
                        1 - place->x_numbers / t->s->height);
            else
                fprintf(out, " at screen %.4f, first %.10g right\n", place->y_numbers / t->s->width, ticks.tick[i].at);
        }
    char *label = sg_sheet_label(axis, &ticks);
    put_lines(t, sg_plot_made(label), sg_sheet_label_ems(t->s, p, is_x),
              is_x ? (place->x0 + place->x1) / 2 : place->y_label, is_x ? place->x_label : (place->y0 + place->y1) / 2,
              is_x ? "center" : "center rotate by 90", t->s->em);
    free(label);
}

/* gnuplot's number of the marker; filled ones come right behind those with an outline. */
static int marker_type(const struct sg_style *style) {
    static const int outline[SG_MARKERS] = {6, 4, 8, 12, 10, 14};
    return outline[style->marker] + !style->hollow;
}

/* Line types 1..n are the legend's entries. */
static void put_styles(FILE *out, const struct sg_figure *f) {
    for (size_t i = 0; i < f->n_legend; i++) {
        const struct sg_style *e = &f->legend[i].style;
        fprintf(out, "set linetype %zu lc rgb '%s' lw %.3g pt %d ps 0.7 dt ", i + 1, e->color, 1.28 * e->width,
                marker_type(e));
        for (size_t d = 0; d < e->n_dash; d++) /* gnuplot counts in half widths of the line */
            fprintf(out, "%s%.3g", d ? "," : "(", 2 * e->dash[d]);
        fputs(e->n_dash ? ")\n" : "1\n", out);
    }
}

/* Bands are drawn below lines and lines below baselines, because dashes below a line could not be seen. Markers of a
 * baseline would hide those of others. */
enum pass { BANDS, LINES, BASELINES, PASSES };

/* A row of a ranking: its seeds as small rings, then bar and marker. A baseline is a line with a band, below all rows. */
static void put_ranked(FILE *out, const struct sg_figure *f, size_t p, size_t c, enum pass pass, const char **before) {
    const struct sg_curve *curve = &f->panel[p].curve[c];
    const size_t lt = curve->legend + 1;
    char beyond[SG_BEYOND_CHARS];
    if (pass != (curve->level ? BANDS : LINES) || !sg_plot_shows(&f->panel[p], curve) ||
        *sg_plot_beyond(beyond, &f->panel[p], curve))
        return;
    fprintf(out, "%s$p%zuc%zu ", *before, p + 1, c + 1);
    *before = ", \\\n     ";
    if (curve->level) {
        fprintf(out, "index 1 with filledcurves closed lt %zu fs transparent solid 0.18 noborder", lt);
        fprintf(out, "%s$p%zuc%zu index 0 with lines lt %zu", *before, p + 1, c + 1, lt);
        return;
    }
    if (curve->n_seeds > 0)
        fprintf(out, "index 1 with points lt %zu pt 6 ps 0.4 lw 0.8 dt 1%s$p%zuc%zu ", lt, *before, p + 1, c + 1);
    fprintf(out, "index 0 using 3:2:($4-$3):(0) with vectors heads size graph 0.006,90 lt %zu dt 1 lw 1", lt);
    fprintf(out, "%s$p%zuc%zu index 0 using 1:2 with points lt %zu pt 7 ps 0.55 dt 1", *before, p + 1, c + 1, lt);
}

static void put_curve(FILE *out, const struct sg_figure *f, size_t p, size_t c, enum pass pass, const char **before) {
    const struct sg_panel *panel = &f->panel[p];
    const struct sg_curve *curve = &panel->curve[c];
    if (panel->ranking) {
        put_ranked(out, f, p, c, pass, before);
        return;
    }
    size_t lt = curve->legend + 1;
    const bool points = panel->points && !curve->level, marks = sg_plot_draws_marks(panel, curve);
    const enum pass own = f->legend[curve->legend].baseline && !marks ? BASELINES : LINES;
    if ((pass == BANDS ? points || !curve->y_std : pass != own) || !sg_plot_shows(panel, curve))
        return;
    fprintf(out, "%s$p%zuc%zu using ", *before, p + 1, c + 1);
    *before = ", \\\n     ";
    if (pass == BANDS)
        fprintf(out, "1:3:4 with filledcurves lt %zu fs transparent solid 0.18 noborder", lt);
    else
        fprintf(out, "1:2 with lines lt %zu%s", lt, points ? " lw 1" : "");
    if (pass == BANDS || !marks)
        return;
    if (curve->y_std) /* arrows with flat heads, because gnuplot's own bars end before the marker */
        fprintf(out, "%s$p%zuc%zu using 1:3:(0):($4-$3) with vectors heads size graph 0.012,90 lt %zu dt 1 lw 1",
                *before, p + 1, c + 1, lt);
    if (f->legend[curve->legend].style.hollow) /* white in the middle, where it hides lines and bars */
        fprintf(out, "%s$p%zuc%zu using 1:2 with points lt %zu pt %d lc rgb 'white'", *before, p + 1, c + 1, lt,
                marker_type(&f->legend[curve->legend].style) + 1);
    fprintf(out, "%s$p%zuc%zu using 1:2 with points lt %zu dt 1", *before, p + 1, c + 1, lt);
}

/* ---- legends ---- */

/* A sample of the line, with its marker, and the name; x and y in inches. */
static void put_entry(struct script *t, const struct sg_entry *e, double x, double y) {
    const double width = t->s->width, em = t->s->em, at = 1 - y / t->s->height;
    fprintf(t->out, "set arrow %d from screen %.4f, screen %.4f to screen %.4f, screen %.4f nohead lt %zu\n", t->tag++,
            x / width, at, (x + SG_SAMPLE * em) / width, at, e->entry + 1);
    for (int white = t->f->legend[e->entry].style.hollow; e->marks && white >= 0; white--) {
        begin_label(t);
        fprintf(t->out, "'' at screen %.4f, screen %.4f point lt %zu", (x + SG_SAMPLE / 2 * em) / width, at,
                e->entry + 1);
        if (white)
            fprintf(t->out, " pt %d lc rgb 'white'", marker_type(&t->f->legend[e->entry].style) + 1);
        fputc('\n', t->out);
    }
    begin_label(t);
    quoted(t->out, e->text);
    fprintf(t->out, " at screen %.4f, screen %.4f left font small noenhanced\n",
            (x + (SG_SAMPLE + SG_GAP) * em) / width, at);
}

/* The legend of a panel begins at its axis; that of all panels stands in the middle under the title. */
static void put_legend(struct script *t, size_t p) {
    const double em = t->s->em, first = p == SG_PLOT_ALL ? t->s->legend : t->s->place[p].legend;
    double left = p == SG_PLOT_ALL ? 0 : t->s->place[p].left;
    struct sg_entry e = {0};
    while (sg_plot_next_entry(t->f, p, sg_sheet_legend_ems(t->s, p), &e)) {
        if (p == SG_PLOT_ALL && e.x == 0)
            left = sg_sheet_row_left(t->s, t->f, e);
        put_entry(t, &e, left + e.x * em, first + SG_ROW * (double)e.row * em);
    }
}

/* ---- sheet ---- */

static void put_panel(struct script *t, size_t p) {
    const struct sg_panel *panel = &t->f->panel[p];
    const struct sg_place *place = &t->s->place[p];
    char *caption = sg_plot_caption(t->f, p),
         *name = sg_format("panel %zu: %s over %s", p + 1, panel->y.name, panel->x.name);
    fputc('\n', t->out);
    comment(t->out, sg_plot_made(name));
    fprintf(t->out,
            "set lmargin at screen %.4f; set rmargin at screen %.4f; set tmargin at screen %.4f; "
            "set bmargin at screen %.4f\n",
            place->x0 / t->s->width, place->x1 / t->s->width, 1 - place->y0 / t->s->height,
            1 - place->y1 / t->s->height);
    put_axis(t, p, true);
    put_axis(t, p, false);
    put_lines(t, sg_plot_made(caption), sg_sheet_caption_ems(t->s, p), place->left, place->caption, "left", t->s->em);
    if (!t->s->shared)
        put_legend(t, p);
    free(caption);
    free(name);
    const char *before = "plot ";
    for (int pass = BANDS; pass < PASSES; pass++)
        for (size_t c = 0; c < panel->n_curves; c++)
            put_curve(t->out, t->f, p, c, (enum pass)pass, &before);
    fputs("\nunset label; unset arrow\n", t->out);
}

static void put_title(struct script *t) {
    put_lines(t, t->f->title, sg_sheet_title_ems(t->s), t->s->width / 2, t->s->title, "center", t->s->em);
    put_lines(t, t->f->footnote, sg_sheet_footnote_ems(t->s), t->s->width - 0.1, t->s->footnote,
              "right font small tc rgb '#505050'", SG_SMALL * t->s->em);
}

/* With its format fixed ("svg", "png", "pdf"), or, as "gnuplot", chosen by the user. */
sg_status sg_export_gnuplot(FILE *out, const struct sg_figure *f, const char *format, struct sg_error *err) {
    const bool chosen = strcmp(format, "gnuplot") != 0;
    struct sg_sheet s;
    sg_sheet_lay_out(&s, f);
    struct script script = {.out = out, .f = f, .s = &s, .tag = 1};
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
          "unset key\nset multiplot\n",
          out);
    put_styles(out, f);
    put_title(&script); /* drawn with the first panel */
    if (s.shared)
        put_legend(&script, SG_PLOT_ALL);
    for (size_t p = 0; p < f->n_panels; p++)
        put_panel(&script, p);
    fputs("unset multiplot\n", out);
    return SG_OK;
}

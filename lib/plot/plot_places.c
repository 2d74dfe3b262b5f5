/* plot_places.c: the tables of a result's rankings: which place each method has, and with whom it shares it. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "plot_private.h"
#include "sg_memory.h"
#include "sg_places.h"
#include "sg_text.h"

/* The axis of a figure leaves to the formula beside it what the head of a column has to say in words. */
static void name_value(struct sg_axis *value, const struct sg_document *document, const struct sg_document_plot *plot) {
    char at[96] = "", *heading = sg_plot_heading(document, value->name, &value->formula);
    if (plot->y_at)
        sg_plot_at_words(at, sizeof at, plot->y_at);
    free(value->words);
    value->words = sg_format("%s%s", heading, at);
    free(heading);
}

sg_status sg_plot_read_rankings(struct sg_summary *s, const struct sg_document *document,
                                const struct sg_plot_select *select, struct sg_error *err) {
    const size_t n = select->x || select->y ? 0 : document->n_plots;
    struct sg_plot_select one = {0};
    sg_status status = SG_OK;
    s->ranking = sg_calloc(n + 1, sizeof *s->ranking);
    for (size_t i = 0; i < n; i++) {
        const struct sg_document_plot *plot = &document->plots[i];
        one.panel++;
        if (status == SG_ERR_MEMORY || strcmp(sg_or(plot->kind, ""), "ranking") != 0 ||
            (select->panel != 0 && select->panel != one.panel))
            continue;
        struct sg_figure *figure = &s->ranking[s->n_rankings];
        status = sg_figure_read(figure, document, &one, err);
        if (status == SG_OK && figure->panel[0].places) {
            s->n_rankings++;
            name_value(&figure->panel[0].x, document, plot);
        } else {
            sg_figure_free(figure); /* one that cannot be drawn has no places either */
        }
    }
    return status == SG_ERR_MEMORY ? status : SG_OK;
}

static char *caption_of(const struct sg_panel *panel) {
    return sg_format("%s%sPlaces by the median over %zu seeds. Methods share a place until one is parted from that "
                     "above or the first: "
                     "p of the sign-flip test at most %g",
                     panel->title ? panel->title : "", panel->title ? ". " : "", panel->curve[0].n_seeds,
                     SG_PLACE_LEVEL);
}

/* The curves in the order of their medians. */
static void sort_by_place(const struct sg_curve **row, const struct sg_panel *panel) {
    for (size_t c = 0; c < panel->n_curves; c++)
        row[panel->curve[c].place.order - 1] = &panel->curve[c];
}

/* How the medians are written: as the means of a table are. */
static char *style_of(struct sg_column_style *style, const struct sg_panel *panel) {
    double none = NAN;
    char power[SG_POWER_CHARS];
    struct sg_summary medians = {.row = sg_calloc(panel->n_curves, sizeof *medians.row), .n_metrics = 1};
    for (; medians.n_rows < panel->n_curves; medians.n_rows++)
        medians.row[medians.n_rows] = (struct sg_summary_row){"", &panel->curve[medians.n_rows].median, &none};
    *style = sg_plot_column_style(&medians, 0);
    free(medians.row);
    return style->scientific || style->exponent == 0
               ? sg_format("%s, median over seeds", panel->x.words)
               : sg_format("%s, median over seeds (%s)", panel->x.words, sg_plot_power(power, style->exponent));
}

static sg_table *table_of(const struct sg_panel *panel) {
    enum { HEADING = 14 };
    static const struct sg_table_column columns[] = {{.head = "method", .names = true, .weight = SG_TABLE_ALWAYS},
                                                     {.head = "place", .weight = SG_TABLE_ALWAYS},
                                                     {.head = "p", .align = SG_TABLE_RIGHT, .weight = 2}};
    const struct sg_curve **row = sg_calloc(panel->n_curves, sizeof *row);
    struct sg_column_style style;
    char *head = style_of(&style, panel), text[SG_CELL_CHARS], rest[SG_CELL_CHARS];
    sg_table *t = sg_table_open(columns, sizeof columns / sizeof *columns);
    sg_table_column(t, &(struct sg_table_column){.head = head, .align = SG_TABLE_RIGHT, .head_most = HEADING});
    sort_by_place(row, panel);
    for (size_t i = 0; i < panel->n_curves; i++) {
        sg_table_cell(t, row[i]->point[0], NULL);
        const struct sg_standing *place = &row[i]->place;
        sg_table_cell(t, sg_places_text(text, place->first, place->last), NULL);
        sg_table_value(t, (double)place->first);
        sg_table_number(t, "%.2g", place->p);
        sg_plot_cell(text, rest, &style, row[i]->median, NAN);
        sg_table_cell(t, text, NULL);
        sg_table_value(t, row[i]->median);
    }
    free(row);
    free(head);
    return t;
}

void sg_plot_put_places(FILE *out, const struct sg_summary *s, sg_plot_places_writer *put) {
    for (size_t i = 0; i < s->n_rankings; i++) {
        char *caption = caption_of(s->ranking[i].panel);
        sg_table *table = table_of(s->ranking[i].panel);
        put(out, s, table, caption);
        sg_table_free(table);
        free(caption);
    }
}

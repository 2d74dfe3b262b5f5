/* html_figures.c: the figures of a page, which are the very drawings of the other formats; the script of the page
 * switches and reads them. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "html_private.h"
#include "svg_private.h"

/* Adds a note that is not there yet: several plots may say the same. */
static void add_note(struct sg_plot_notes *notes, const char *text) {
    for (size_t i = 0; i < notes->n; i++)
        if (strcmp(notes->text[i], text) == 0)
            return;
    sg_plot_note(notes, "%s", text);
}

static void put_svg(struct html_section *s, const struct sg_figure *figure) {
    char id[32];
    if (s->n_figures++ == 0) {
        struct sg_sheet sheet;
        sg_sheet_lay_out(&sheet, figure);
        const struct sg_place *place = &sheet.place[0];
        snprintf(s->view, sizeof s->view, "%g %g %g %g", svg_pixels(place->x0), svg_pixels(place->y0),
                 svg_pixels(place->x1 - place->x0), svg_pixels(place->y1 - place->y0));
        html_begin_part(s, "figures", "Figures");
    }
    if (figure->hidden)
        sg_plot_note(&s->notes, "%zu value%s without a place on a log axis (zero or negative)", figure->hidden,
                     figure->hidden == 1 ? "" : "s");
    for (size_t i = 0; i < figure->notes.n; i++)
        add_note(&s->notes, figure->notes.text[i]);
    snprintf(id, sizeof id, "r%df%d", s->number, s->n_figures);
    fprintf(s->out, "<figure id=\"%s\"><div class=\"plot\">\n", id);
    sg_svg_write(s->out, figure, id);
    fputs("</div></figure>\n", s->out);
}

/* Draws what `select` shows if it can be drawn. */
static sg_status put_figure(struct html_section *s, const struct sg_plot_select *select, struct sg_error *err) {
    struct sg_figure figure;
    sg_status status = sg_figure_read(&figure, s->document, select, err);
    if (status != SG_OK)
        return status;
    status = sg_figure_drawable(&figure, err);
    if (status == SG_OK)
        put_svg(s, &figure);
    sg_figure_free(&figure);
    return status;
}

/* The number of series of the first label, which are its first columns. */
static size_t count_series(const struct sg_frame *results) {
    size_t n = 0;
    while (results->n_labels > 0 && n < results->label[0].n_columns && results->label[0].column[n].in_series)
        n++;
    return n;
}

/* Draws plot `i` of those of the result or, where it has none, of its columns; notes why if it cannot be drawn. */
static sg_status put_plot(struct html_section *s, const struct sg_plot_select *select, size_t i, struct sg_error *err) {
    struct sg_plot_select one = *select;
    char note[sizeof s->notes.text[0]];
    if (s->document->n_plots > 0)
        one.panel = i + 1;
    else
        one.y = s->document->results.label[0].column[i].name;
    if (one.panel == 0 && sg_frame_is_axis(one.y))
        return SG_OK;
    const sg_status status = put_figure(s, &one, err);
    if (status == SG_OK || status == SG_ERR_MEMORY)
        return status;
    snprintf(note, sizeof note, "plot %zu is left out: %.200s", i + 1, err->msg);
    add_note(&s->notes, note);
    return SG_OK;
}

sg_status html_put_figures(struct html_section *s, const struct sg_plot_select *select, struct sg_error *err) {
    const size_t plots = s->document->n_plots;
    const bool chosen = select->x || select->y;
    sg_status status = SG_OK;
    bool whole = false;
    if (sg_document_is_kernels(s->document))
        return SG_OK;
    if (plots > 0 || chosen) { /* what the command line chose must be there */
        status = put_figure(s, select, err);
        whole = status == SG_OK;
        if (!whole && !chosen && select->panel == 0 && status != SG_ERR_MEMORY)
            status = SG_OK;
    }
    const size_t n = whole ? 0 : plots > 0 ? plots : count_series(&s->document->results);
    for (size_t i = 0; i < n; i++)
        SG_DO(status, put_plot(s, select, i, err));
    fputs(s->n_figures ? "</section>\n" : "", s->out);
    return status;
}

/* html_figures.c: the figures of a page, which are the very drawings of the other formats; the script of the page switches
 * and reads them. */
#include <string.h>

#include "html_private.h"
#include "sg_text.h"

/* Adds a note that is not there yet: several plots may say the same. */
static void add_note(struct sg_plot_notes *notes, const char *text) {
    for (size_t i = 0; notes && i < notes->n; i++)
        if (strcmp(notes->text[i], text) == 0)
            return;
    if (notes)
        sg_plot_note(notes, "%s", text);
}

/* Reads what `select` shows if it can be drawn. */
static sg_status read_figure(struct sg_figure *out, const struct html_figures *at, const struct sg_plot_select *select,
                             struct sg_error *err) {
    sg_status status = sg_figure_read(out, at->document, select, err);
    if (status != SG_OK || (status = sg_figure_drawable(out, err)) == SG_OK)
        return status;
    sg_figure_free(out);
    return status;
}

static void note_figure(struct html_figures *at, const struct sg_figure *figure) {
    if (figure->hidden && at->notes)
        sg_plot_note(at->notes, "%zu value%s without a place on a log axis (zero or negative)", figure->hidden,
                     figure->hidden == 1 ? "" : "s");
    for (size_t i = 0; i < figure->notes.n; i++)
        add_note(at->notes, figure->notes.text[i]);
}

/* Reads figure number at->next; false: there is none, or it cannot be drawn, which is noted. */
static bool read_next(struct sg_figure *out, struct html_figures *at, size_t plots, struct sg_error *err) {
    struct sg_plot_select one = *at->select;
    char note[sizeof at->notes->text[0]];
    const cJSON *first = sg_json_get(cJSON_GetArrayItem(sg_json_get(at->document, "results"), 0), "series");
    if (plots == 0)
        one.y = cJSON_GetArrayItem(first, (int)at->next)->string;
    else
        one.panel = at->next + 1;
    if (plots == 0 && (strcmp(one.y, "step") == 0 || strcmp(one.y, "epoch") == 0)) /* they say where a run is */
        return false;
    if (read_figure(out, at, &one, err) == SG_OK)
        return true;
    snprintf(note, sizeof note, "plot %zu is left out: %.200s", at->next + 1, err->msg);
    add_note(at->notes, note);
    return false;
}

sg_status html_next_figure(struct sg_figure *out, bool *found, struct html_figures *at, struct sg_error *err) {
    const size_t plots = (size_t)cJSON_GetArraySize(sg_json_get(at->document, "plots"));
    const cJSON *first = cJSON_GetArrayItem(sg_json_get(at->document, "results"), 0);
    const bool chosen = at->select->x || at->select->y;
    *found = false;
    if (sg_plot_is_kernels(at->document) || at->whole)
        return SG_OK;
    if (at->next == 0 && (plots > 0 || chosen)) { /* what the command line chose must be there */
        sg_status status = read_figure(out, at, at->select, err);
        *found = at->whole = status == SG_OK;
        if (*found)
            note_figure(at, out);
        if (*found || chosen || at->select->panel > 0 || status == SG_ERR_MEMORY)
            return status;
    }
    const size_t n = plots ? plots : (size_t)cJSON_GetArraySize(sg_json_get(first, "series"));
    for (; at->next < n && !*found; at->next++) {
        *found = read_next(out, at, plots, err);
        if (*found)
            note_figure(at, out);
        else if (err->status == SG_ERR_MEMORY)
            return SG_ERR_MEMORY;
    }
    return SG_OK;
}

sg_status html_put_figures(const struct html_section *s, const struct sg_plot_select *select, struct sg_error *err) {
    struct html_figures at = {.document = s->document, .select = select};
    struct sg_figure figure;
    bool found;
    int number = 0;
    *err = (struct sg_error){.status = SG_OK};
    for (;;) {
        sg_status status = html_next_figure(&figure, &found, &at, err);
        if (status != SG_OK || !found) {
            fputs(number ? "</section>\n" : "", s->out);
            return status;
        }
        if (number++ == 0)
            html_begin_part(s, "figures", "Figures");
        char id[32];
        snprintf(id, sizeof id, "r%df%d", s->number, number);
        fprintf(s->out, "<figure id=\"%s\"><div class=\"plot\">\n", id);
        status = sg_svg_write(s->out, &figure, id, err);
        fputs("</div></figure>\n", s->out);
        sg_figure_free(&figure);
        if (status != SG_OK)
            return status;
    }
}

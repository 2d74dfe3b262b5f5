/* html_figures.c: what the script of a page is told of the figures: their axes, and which results their curves are of. The
 * numbers themselves stand in the document. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "html_private.h"
#include "sg_text.h"

/* Labels of all columns as axes have them: {"bits":"bits per worker"}. */
static cJSON *columns_json(const cJSON *document, struct sg_error *err) {
    static const char *const groups[] = {"series", "final", "constants"};
    cJSON *out = cJSON_CreateObject();
    const cJSON *result, *item;
    for (size_t g = 0; g < 3; g++)
        cJSON_ArrayForEach(result, sg_json_get(document, "results"))
            cJSON_ArrayForEach(item, sg_json_get(result, groups[g])) {
            char *plain, *latex, *words;
            if (cJSON_GetObjectItemCaseSensitive(out, item->string))
                continue;
            if (sg_plot_label(&plain, &latex, &words, document, item->string, err) != SG_OK) {
                cJSON_Delete(out);
                return NULL;
            }
            sg_json_set_string(out, item->string, plain);
            free(plain);
            free(latex);
            free(words);
        }
    return out;
}

/* The place of a label among the results; -1 = none. */
static double place_of(const cJSON *document, const char *label) {
    const cJSON *result;
    double i = 0;
    cJSON_ArrayForEach(result, sg_json_get(document, "results")) {
        if (strcmp(sg_json_string(result, "label", ""), label) == 0)
            return i;
        i++;
    }
    return -1;
}

/* How a curve looks, as in the figure of all panels, so that it is the same there and in every other format. */
static cJSON *style_json(const struct sg_figure *all, const struct sg_legend *legend) {
    const struct sg_style *style = &legend->style;
    for (size_t i = 0; i < all->n_legend; i++)
        if (all->legend[i].baseline == legend->baseline && strcmp(all->legend[i].label, legend->label) == 0)
            style = &all->legend[i].style;
    cJSON *out = cJSON_CreateObject();
    sg_json_set_string(out, "color", style->color);
    sg_json_set(out, "dash", sg_json_numbers(style->dash, style->n_dash));
    sg_json_set_number(out, "mark", style->marker);
    sg_json_set_bool(out, "hollow", style->hollow);
    return out;
}

/* A panel's axes and which results its curves are of. The numbers are in the document. `all` may be empty. */
static cJSON *panel_json(const cJSON *document, const struct sg_figure *figure, const struct sg_figure *all,
                         double plot, const char *caption) {
    const struct sg_panel *panel = &figure->panel[0];
    const struct sg_axis *x = panel->ranking ? &panel->y : &panel->x, *y = panel->ranking ? &panel->x : &panel->y;
    cJSON *out = cJSON_CreateObject(), *curves = cJSON_CreateArray();
    sg_json_set_number(out, "plot", plot); /* null: chosen by the command line */
    sg_json_set_string(out, "caption", caption);
    sg_json_set_string(out, "x", x->name);
    sg_json_set_string(out, "y", y->name);
    sg_json_set_bool(out, "xlog", x->log);
    sg_json_set_bool(out, "ylog", y->log);
    sg_json_set_bool(out, "points", panel->points || panel->ranking);
    sg_json_set_bool(out, "ranking", panel->ranking);
    for (size_t c = 0; c < panel->n_curves; c++) {
        const struct sg_curve *curve = &panel->curve[c];
        const struct sg_legend *legend = &figure->legend[curve->legend];
        cJSON *one = cJSON_CreateObject(), *at = cJSON_CreateArray();
        sg_json_set_string(one, "name", curve->row ? curve->row : legend->label);
        sg_json_set_bool(one, "baseline", legend->baseline);
        sg_json_set_bool(one, "level", curve->level);
        sg_json_set(one, "style", style_json(all, legend));
        for (size_t i = 0; i < (curve->point ? curve->n : 1); i++)
            sg_json_push_number(at, place_of(document, curve->point ? curve->point[i] : legend->label));
        sg_json_set(one, "at", at);
        sg_json_push(curves, one);
    }
    sg_json_set(out, "curves", curves);
    return out;
}

struct panels {
    cJSON *list;
    struct sg_figure all;                    /* of all panels; empty if not all can be read */
    const char *seen[SG_PLOT_MAX_PANELS][2]; /* columns of panels that the command line chose */
    size_t n_seen;
};

/* Is the panel one that is already there, because the command line gave several plots the same axes? */
static bool is_repeated(struct panels *p, const struct sg_panel *panel) {
    for (size_t i = 0; i < p->n_seen; i++)
        if (p->seen[i][0] == panel->x.name && p->seen[i][1] == panel->y.name)
            return true;
    if (p->n_seen < SG_PLOT_MAX_PANELS) {
        p->seen[p->n_seen][0] = panel->x.name;
        p->seen[p->n_seen++][1] = panel->y.name;
    }
    return false;
}

/* Adds a note that is not there yet: several plots may say the same. */
static void add_note(struct sg_plot_notes *notes, const char *text) {
    for (size_t i = 0; i < notes->n; i++)
        if (strcmp(notes->text[i], text) == 0)
            return;
    sg_plot_note(notes, "%s", text);
}

/* Adds plot number `i`, from 0, as `select` has it. A plot that cannot be drawn is left out with a note, because an
 * unfinished grid may lack its columns; but what the command line chose must be there. */
static sg_status add_panel(struct panels *p, const cJSON *document, size_t i, size_t n,
                           const struct sg_plot_select *select, struct sg_plot_notes *notes, struct sg_error *err) {
    struct sg_figure figure;
    const bool chosen = select->x || select->y;
    sg_status status = sg_figure_read(&figure, document, select, err);
    if (status != SG_OK) {
        sg_plot_note(notes, "plot %zu is left out: %.200s", i + 1, err->msg);
        return chosen || status == SG_ERR_MEMORY ? status : SG_OK;
    }
    if (!chosen || !is_repeated(p, &figure.panel[0])) {
        const char *title = figure.panel[0].title;
        char *caption = n > 1 && n <= SG_PLOT_MAX_PANELS && !(title && title[0] == '(')
                            ? sg_format("(%c)%s%s", (int)('a' + (int)i), title ? " " : "", title ? title : "")
                            : sg_format("%s", title ? title : "");
        sg_json_push(p->list, panel_json(document, &figure, &p->all, chosen ? NAN : (double)i, sg_plot_made(caption)));
        free(caption);
    }
    if (figure.hidden)
        sg_plot_note(notes, "plot %zu: %zu value%s without a place on a log axis (zero or negative)", i + 1,
                     figure.hidden, figure.hidden == 1 ? "" : "s");
    for (size_t k = 0; k < figure.notes.n; k++)
        add_note(notes, figure.notes.text[k]);
    sg_figure_free(&figure);
    return SG_OK;
}

/* All panels of the plots; without plots, one for each column but those that say where a run is. */
static sg_status read_panels(struct panels *p, const cJSON *document, const struct sg_plot_select *select,
                             struct sg_plot_notes *notes, struct sg_error *err) {
    const size_t n = (size_t)cJSON_GetArraySize(sg_json_get(document, "plots"));
    struct sg_plot_select one = *select;
    sg_status status = SG_OK;
    if (select->panel > (n ? n : 1))
        return sg_fail(err, SG_ERR_ARGUMENT, "--panel=%zu: the result has %zu plot%s", select->panel, n,
                       n == 1 ? "" : "s");
    for (size_t i = 0; i < n && status == SG_OK; i++) {
        one.panel = i + 1;
        if (select->panel == 0 || select->panel == i + 1)
            status = add_panel(p, document, i, n, &one, notes, err);
    }
    const cJSON *first = cJSON_GetArrayItem(sg_json_get(document, "results"), 0), *item;
    if (n == 0 && select->y)
        status = add_panel(p, document, 0, 1, &one, notes, err);
    else if (n == 0)
        cJSON_ArrayForEach(item, sg_json_get(first, "series")) {
            one.y = item->string;
            if (status == SG_OK && strcmp(one.y, "step") != 0 && strcmp(one.y, "epoch") != 0)
                status = add_panel(p, document, 0, 1, &one, notes, err);
        }
    return status;
}

cJSON *html_view(const cJSON *document, const struct sg_plot_select *select, struct sg_plot_notes *notes,
                 struct sg_error *err) {
    struct panels panels = {.list = cJSON_CreateArray()};
    cJSON *out = cJSON_CreateObject(), *columns = NULL;
    sg_status status = out && panels.list ? SG_OK : sg_fail_memory(err, "the page");
    if (status == SG_OK && !sg_plot_is_kernels(document)) {
        if (sg_figure_read(&panels.all, document, select, err) != SG_OK)
            panels.all = (struct sg_figure){0};
        status = read_panels(&panels, document, select, notes, err);
    }
    sg_figure_free(&panels.all);
    if (status == SG_OK && (columns = columns_json(document, err)) != NULL) {
        sg_json_set(out, "columns", columns);
        sg_json_set(out, "panels", panels.list);
        return out;
    }
    cJSON_Delete(panels.list);
    cJSON_Delete(out);
    return NULL;
}

void html_put_figures(const struct html_section *s, const cJSON *view) {
    const int seeds = sg_plot_seeds(s->document);
    int i = 0;
    const cJSON *panels = sg_json_get(view, "panels"), *panel;
    if (!panels || !panels->child)
        return;
    html_begin_part(s, "figures", "Figures");
    fputs("<noscript><p class=\"note\">The figures are drawn by a script of this page. The tables below need none.</p>"
          "</noscript>\n<div class=\"legend shared\"></div>\n<div class=\"figures\">\n",
          s->out);
    cJSON_ArrayForEach(panel, panels) {
        fprintf(s->out, "<figure data-panel=\"%d\"><figcaption>", i++);
        html_put(s->out, sg_json_string(panel, "caption", ""));
        fputs("</figcaption></figure>\n", s->out);
    }
    fputs("</div>\n", s->out);
    if (seeds > 1)
        fprintf(s->out,
                "<p class=\"note\">Lines and points: mean over %d seeds, rings: the seeds. Bands and bars: ± 1 "
                "standard deviation; on a "
                "logarithmic axis the same factor up and down, and quartiles for points of four seeds or more.</p>\n",
                seeds);
    fputs("</section>\n", s->out);
}

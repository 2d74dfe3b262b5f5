/* html_front.c: the front of a page of several results: for each its finding in a sentence, a small drawing of its first
 * figure, and how its claims were judged. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "html_private.h"
#include "sg_text.h"

/* A drawing without texts, in pixels: its axes stand at LEFT and BOTTOM. */
enum { WIDTH = 144, HEIGHT = 96, LEFT = 4, TOP = 4, RIGHT = 140, BOTTOM = 92, MOST_POINTS = 60 };

/* Where a value is between the ends of an axis, from 0 to 1. The drawing cuts off what lies beyond. */
static double share_of(const struct sg_axis *axis, double value) {
    const double share = axis->log ? (log10(value) - log10(axis->min)) / (log10(axis->max) - log10(axis->min))
                                   : (value - axis->min) / (axis->max - axis->min);
    return fmin(9, fmax(-9, share));
}

static double across(const struct sg_panel *panel, double x) {
    return LEFT + (RIGHT - LEFT) * share_of(&panel->x, x);
}

static double down(const struct sg_panel *panel, double y) {
    return BOTTOM - (BOTTOM - TOP) * share_of(&panel->y, y);
}

static void put_dots(FILE *out, const struct sg_panel *panel, const struct sg_curve *curve, const size_t *index,
                     size_t n, const char *color) {
    for (size_t i = 0; i < n; i++)
        fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%s\" fill=\"%s\"/>", across(panel, curve->x[index[i]]),
                down(panel, curve->y[index[i]]), panel->ranking ? "1.3" : "2", color);
}

/* One curve, of which `index` [curve->n] is scratch. */
static void put_curve(FILE *out, const struct sg_panel *panel, const struct sg_curve *curve,
                      const struct sg_style *style, size_t *index) {
    const bool black = strcmp(style->color, "#000000") == 0; /* which a dark page does not show */
    const char *color = black ? "currentColor" : style->color;
    const size_t n = sg_plot_visible(panel, curve, MOST_POINTS, index);
    if (n == 0)
        return;
    if (!panel->ranking || curve->level) {
        fprintf(out, "<path fill=\"none\" stroke=\"%s\"%s d=\"", color, black ? " stroke-dasharray=\"4 3\"" : "");
        if (curve->level && panel->ranking)
            fprintf(out, "M%.1f %dV%d", across(panel, curve->x[0]), TOP, BOTTOM);
        else if (curve->level)
            fprintf(out, "M%d %.1fH%d", LEFT, down(panel, curve->y[0]), RIGHT);
        for (size_t i = 0; !curve->level && i < n; i++)
            fprintf(out, "%c%.1f %.1f", i ? 'L' : 'M', across(panel, curve->x[index[i]]),
                    down(panel, curve->y[index[i]]));
        fputs("\"/>", out);
    }
    if (sg_plot_draws_marks(panel, curve))
        put_dots(out, panel, curve, index, n, color);
}

/* Draws the first figure of a result, or nothing where it has none. */
static sg_status put_drawing(FILE *out, const cJSON *document, struct sg_error *err) {
    const struct sg_plot_select first = {.panel = 1};
    struct sg_figure figure;
    if (sg_plot_is_kernels(document) || sg_figure_read(&figure, document, &first, err) != SG_OK)
        return err->status == SG_ERR_MEMORY ? SG_ERR_MEMORY : SG_OK;
    const struct sg_panel *panel = &figure.panel[0];
    sg_status status = SG_OK;
    if (sg_figure_drawable(&figure, err) == SG_OK) {
        fprintf(out,
                "<svg class=\"thumb\" viewBox=\"0 0 %d %d\" aria-hidden=\"true\"><path class=\"axis\" d=\"M%d "
                "%dV%dH%d\"/>",
                WIDTH, HEIGHT, LEFT, TOP, BOTTOM, RIGHT);
        for (size_t c = 0; c < panel->n_curves && status == SG_OK; c++) {
            const struct sg_curve *curve = &panel->curve[c];
            size_t *index = malloc((curve->n + 1) * sizeof *index);
            if (index)
                put_curve(out, panel, curve, &figure.legend[curve->legend].style, index);
            else
                status = sg_fail_memory(err, "the page");
            free(index);
        }
        fputs("</svg>", out);
    }
    sg_figure_free(&figure);
    return status;
}

/* What was found, in a sentence: against no compression, or else how the first claim was judged. malloc'ed, NULL = it is
 * not said, or no memory. */
static char *sentence_of(const cJSON *document) {
    const char *finding = sg_json_string(document, "summary.text", NULL);
    const cJSON *claim = cJSON_GetArrayItem(sg_json_get(document, "claims"), 0);
    const char *text = sg_json_string(claim, "text", NULL), *verdict = sg_json_string(claim, "verdict", NULL);
    if (finding)
        return sg_format("%s.", finding);
    return text && verdict && verdict[0] ? sg_format("%c%s: %s.", toupper((unsigned char)verdict[0]), verdict + 1, text)
                                         : NULL;
}

sg_status html_put_front(FILE *out, const struct sg_page_result *result, size_t n, struct sg_error *err) {
    sg_status status = SG_OK;
    *err = (struct sg_error){.status = SG_OK};
    fputs("<nav class=\"contents\" aria-label=\"Results\">\n<ol>\n", out);
    for (size_t i = 0; i < n && status == SG_OK; i++) {
        char *title = sg_plot_title(result[i].document, NULL), *sentence = sentence_of(result[i].document);
        fprintf(out, "<li><a href=\"#r%zu\">", i + 1);
        status = put_drawing(out, result[i].document, err);
        fputs("<b>", out);
        html_put_name(out, &result[i]);
        fputs("</b></a>", out);
        if (sentence)
            html_put_element(out, "<p>", sentence, "</p>");
        html_put_element(out, "<p class=\"note\">", sg_plot_made(title), "</p>");
        fputs("<span class=\"verdicts\">", out);
        html_put_verdicts(out, result[i].document);
        fputs("</span></li>\n", out);
        free(title);
        free(sentence);
    }
    fputs("</ol>\n</nav>\n", out);
    return status;
}

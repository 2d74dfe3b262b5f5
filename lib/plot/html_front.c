/* html_front.c: the front of a page of several results: for each its finding in a sentence, a thumbnail of its first
 * figure, and how its claims were judged. */
#include <ctype.h>
#include <stdlib.h>

#include "html_private.h"
#include "sg_text.h"
#include "svg_private.h"

/* The first panel of a result's first figure, which stands in its section, or nothing where it has none. */
static sg_status put_thumbnail(FILE *out, const struct sg_page_result *result, size_t number,
                               const struct sg_plot_select *select, struct sg_error *err) {
    struct html_figures at = {.document = result->document, .select = select};
    struct sg_figure figure;
    struct sg_sheet sheet;
    bool found;
    sg_status status = html_next_figure(&figure, &found, &at, err);
    if (status != SG_OK || !found)
        return status == SG_ERR_MEMORY ? status : SG_OK;
    sg_sheet_lay_out(&sheet, &figure);
    const struct sg_place *place = &sheet.place[0];
    fprintf(out,
            "<svg class=\"thumb\" viewBox=\"%g %g %g %g\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><use "
            "href=\"#r%zuf1curves1\"/></svg>",
            svg_pixels(place->x0), svg_pixels(place->y0), svg_pixels(place->x1 - place->x0),
            svg_pixels(place->y1 - place->y0), number);
    sg_figure_free(&figure);
    return SG_OK;
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

sg_status html_put_front(FILE *out, const struct sg_page_result *result, size_t n, const struct sg_plot_select *select,
                         struct sg_error *err) {
    sg_status status = SG_OK;
    *err = (struct sg_error){.status = SG_OK};
    fputs("<nav class=\"contents\" aria-label=\"Results\">\n<ol>\n", out);
    for (size_t i = 0; i < n && status == SG_OK; i++) {
        char *title = sg_plot_title(result[i].document, NULL), *sentence = sentence_of(result[i].document);
        fprintf(out, "<li><a href=\"#r%zu\">", i + 1);
        status = put_thumbnail(out, &result[i], i + 1, select, err);
        fputs("<b>", out);
        html_put_name(out, &result[i]);
        fputs("</b></a>", out);
        if (sentence)
            sg_put_element(out, "<p>", sentence, "</p>");
        sg_put_element(out, "<p class=\"note\">", sg_plot_made(title), "</p>");
        fputs("<span class=\"verdicts\">", out);
        html_put_verdicts(out, result[i].document);
        fputs("</span></li>\n", out);
        free(title);
        free(sentence);
    }
    fputs("</ol>\n</nav>\n", out);
    return status;
}

/* html_private.h: the parts of a page in HTML. */
/* SPDX-License-Identifier: MIT */
#ifndef HTML_PRIVATE_H
#define HTML_PRIVATE_H

#include "plot_private.h"
#include "sg_markup.h"

/* A value on one line, with exact numbers, as it may stand in a script element. */
void html_put_json(FILE *out, const cJSON *item);
/* A tree of settings as YAML without the keys that are null, as it may stand in a pre element. */
void html_put_yaml(FILE *out, const cJSON *item);

/* A section of the page, about one result. Its parts are written first, and then the contents above that list them. */
enum { HTML_PARTS = 8 };
struct html_section {
    FILE *out;
    const struct sg_document *document;
    const cJSON *json; /* the document as the page has it */
    int number;        /* counts from 1 */
    int level;         /* of the headings of its parts: 2, or 3 if the page has several sections */
    bool folded;       /* what is below its heading is shown on demand */
    struct {
        const char *id, *heading;
    } part[HTML_PARTS]; /* [n_parts] the parts so far */
    size_t n_parts;
    int n_figures;
    char view[64]; /* where the axes of the first figure's first panel lie in it: left, top, width, height */
    struct sg_plot_notes notes; /* of the summary and the figures, and why a plot cannot be drawn */
};

/* Begins a part of the section, which ends with </section>; `id` is the end of its anchor. */
void html_begin_part(struct html_section *s, const char *id, const char *heading);

/* Writes the figures: one with all plots if all can be drawn, else one for each plot that can. A result without plots
 * has one for each column. Figure i of result n has the id "rNfI", the prefix of the ids of its parts. SG_ERR_ARGUMENT:
 * what `select` names does not exist. */
SG_CHECKED sg_status html_put_figures(struct html_section *s, const struct sg_plot_select *select,
                                      struct sg_error *err);

/* Write the parts of a section. A part that the result does not have is omitted. */
void html_put_finals(struct html_section *s, const struct sg_summary *summary);
void html_put_claims(struct html_section *s, const struct sg_summary *summary);
/* Writes a verdict for a table: its word and a sign in colour, so that colour is not the only mark. */
void html_put_verdict(FILE *out, const char *word);
/* "4 hold, 1 fails" as markup, "" if no claim was judged. */
void html_put_verdicts(FILE *out, const struct sg_document *document);
void html_put_kernels(struct html_section *s);
void html_put_cells(struct html_section *s);
void html_put_provenance(struct html_section *s);

#endif

/* html_private.h: the parts of a page in HTML. */
#ifndef HTML_PRIVATE_H
#define HTML_PRIVATE_H

#include "plot_private.h"
#include "sg_markup.h"

/* A value on one line, with exact numbers, as it may stand in a script element. */
void html_put_json(FILE *out, const cJSON *item);
/* A tree of settings as YAML without the keys that are null, as it may stand in a pre element. */
void html_put_yaml(FILE *out, const cJSON *item);

/* What tells the result from others on the page: its file's name without folder and ending, else its own. */
void html_put_name(FILE *out, const struct sg_page_result *result);
/* The front of a page of several results, whose figures are as `select` has them. SG_ERR_MEMORY: memory ran out. */
SG_CHECKED sg_status html_put_front(FILE *out, const struct sg_page_result *result, size_t n,
                                    const struct sg_plot_select *select, struct sg_error *err);

/* A section of the page, about one result. */
struct html_section {
    FILE *out;
    const cJSON *document;
    int number; /* counts from 1 */
    int level;  /* of the headings of its parts: 2, or 3 if the page has several sections */
};

/* Begins a part of the section, which ends with </section>; `id` is the end of its anchor. */
void html_begin_part(const struct html_section *s, const char *id, const char *heading);

/* The figures of a result as a page has them, one after another: all plots in one if they can be drawn, else one for each
 * that can; of a result without plots one for each column. {.document, .select, .notes} before the first. */
struct html_figures {
    const cJSON *document;
    const struct sg_plot_select *select;
    struct sg_plot_notes *notes; /* gets those of the figures, and of each plot that cannot be drawn why; may be NULL */
    size_t next;
    bool whole;
};
/* Reads the next one; *found <- false after the last. SG_ERR_ARGUMENT: what `select` chose is not there. */
SG_CHECKED sg_status html_next_figure(struct sg_figure *out, bool *found, struct html_figures *at,
                                      struct sg_error *err);
/* Figure i of result n has the id "rNfI", and so begin the ids of its parts. Nothing if there is none. */
SG_CHECKED sg_status html_put_figures(const struct html_section *s, const struct sg_plot_select *select,
                                      struct sg_error *err);

/* The parts of a section, nothing of those that the result has not. SG_ERR_MEMORY. */
SG_CHECKED sg_status html_put_finals(const struct html_section *s, const struct sg_summary *summary,
                                     struct sg_error *err);
SG_CHECKED sg_status html_put_claims(const struct html_section *s, const struct sg_summary *summary,
                                     struct sg_error *err);
/* A verdict as it looks in a table, so that colour is not all that tells it. */
void html_put_verdict(FILE *out, const char *word);
/* "4 hold, 1 fails" as markup, "" if no claim was judged. */
void html_put_verdicts(FILE *out, const cJSON *document);
SG_CHECKED sg_status html_put_kernels(const struct html_section *s, struct sg_error *err);
size_t html_count_cells(const cJSON *document);
SG_CHECKED sg_status html_put_cells(const struct html_section *s, struct sg_error *err);
void html_put_provenance(const struct html_section *s);

#endif

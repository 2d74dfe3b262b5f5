/* html_private.h: the parts of a page in HTML. */
#ifndef HTML_PRIVATE_H
#define HTML_PRIVATE_H

#include "plot_private.h"

/* Text as it may stand between tags and in quoted attributes. */
void html_put(FILE *out, const char *text);
/* `open` and `close` are markup, `text` is not. */
void html_put_element(FILE *out, const char *open, const char *text, const char *close);
/* A value on one line, with exact numbers, as it may stand in a script element. */
void html_put_json(FILE *out, const cJSON *item);
/* A tree of settings as YAML without the keys that are null, as it may stand in a pre element. */
void html_put_yaml(FILE *out, const cJSON *item);

/* What tells the result from others on the page: its file's name without folder and ending, else its own. */
void html_put_name(FILE *out, const struct sg_page_result *result);
/* The front of a page of several results. SG_ERR_MEMORY: memory ran out. */
SG_CHECKED sg_status html_put_front(FILE *out, const struct sg_page_result *result, size_t n, struct sg_error *err);

/* A section of the page, about one result. */
struct html_section {
    FILE *out;
    const cJSON *document;
    int number;     /* counts from 1 */
    int level;      /* of the headings of its parts: 2, or 3 if the page has several sections */
    bool all_seeds; /* also claims that are not judged */
};

/* Begins a part of the section, which ends with </section>; `id` is the end of its anchor. */
void html_begin_part(const struct html_section *s, const char *id, const char *heading);

/* {"columns":{"bits":"bits per worker",…},"panels":[…]} for the script; the caller deletes it. NULL: err says why. */
cJSON *html_view(const cJSON *document, const struct sg_plot_select *select, struct sg_plot_notes *notes,
                 struct sg_error *err);
void html_put_figures(const struct html_section *s, const cJSON *view);

void html_put_finals(const struct html_section *s, const struct sg_summary *summary);
/* How many claims are shown. */
size_t html_count_claims(const struct html_section *s, const struct sg_summary *summary);
void html_put_claims(const struct html_section *s, const struct sg_summary *summary);
/* "4 hold, 1 fails" as markup, "" if no claim was judged. */
void html_put_verdicts(FILE *out, const cJSON *document);
void html_put_kernels(const struct html_section *s);
size_t html_count_cells(const cJSON *document);
void html_put_cells(const struct html_section *s);
void html_put_provenance(const struct html_section *s);

#endif

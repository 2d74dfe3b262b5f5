/* export_tables.c: markdown, latex and table: final values, verdicts and what was found. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "html_private.h"
#include "sg_markup.h"
#include "sg_memory.h"
#include "sg_text.h"

enum { HEADING = 12 };

/* "bits per worker (×10⁶)", which the caller frees. */
static char *heading_of(const struct sg_summary *s, size_t m, const struct sg_column_style *style) {
    char power[SG_POWER_CHARS];
    if (style->scientific || style->exponent == 0)
        return sg_strdup(s->metric[m].heading);
    return sg_format("%s (%s)", s->metric[m].heading, sg_plot_power(power, style->exponent));
}

static bool is_shown(const struct sg_summary *s, const struct sg_document_claim *claim) {
    return strcmp(sg_plot_verdict(claim), "not judged") != 0 || s->seeds;
}

size_t sg_plot_claims_shown(const struct sg_summary *s) {
    size_t n = 0;
    for (size_t i = 0; i < s->n_claims; i++)
        n += is_shown(s, &s->claim[i]);
    return n;
}

/* ---- the plain table ---- */

/* Where in "time (s, modelled: 16 workers, ring)" its "modelled: …" stands, which is a line below the table, and how
 * long it is; 0 = there is none. */
static size_t explained(size_t *length, const char *heading) {
    const char *bracket = strchr(heading, '('), *colon = bracket ? strstr(bracket, ": ") : NULL, *word = colon;
    *length = colon ? strcspn(colon, ")") : 0;
    if (!colon || !colon[*length])
        return 0;
    while (word[-1] != ' ' && word[-1] != '(')
        word--;
    *length += (size_t)(colon - word);
    return (size_t)(word - heading);
}

/* The columns that readers look for first are the last that are left out. */
static int weight_of(const struct sg_summary *s, size_t m) {
    const char *name = s->metric[m].name;
    return m == s->quality                   ? SG_TABLE_ALWAYS
           : strcmp(name, "time") == 0       ? SG_TABLE_ALWAYS - 1
           : strcmp(name, "times_less") == 0 ? SG_TABLE_ALWAYS - 2
                                             : 0; /* so the first stay longest */
}

/* A head for lines: "time (s, modelled)". */
static char *plain_head(const struct sg_summary *s, size_t m, const struct sg_column_style *style) {
    char *heading = heading_of(s, m, style);
    size_t length, word = explained(&length, heading);
    if (word) {
        char *end = heading + word + length, *colon = strstr(heading + word, ": ");
        memmove(colon, end, strlen(end) + 1);
    }
    return heading;
}

sg_table *sg_plot_values_table(const struct sg_summary *s, bool lines) {
    sg_table *t = sg_table_open(&(struct sg_table_column){.head = "method", .names = true}, 1);
    for (size_t m = 0; m < s->n_metrics; m++) {
        const struct sg_column_style style = sg_plot_column_style(s, m);
        char *text = lines ? plain_head(s, m, &style) : heading_of(s, m, &style);
        const char *formula = s->metric[m].formula;
        sg_table_column(t, &(struct sg_table_column){.head = text,
                                                     .align = SG_TABLE_NUMBER,
                                                     .weight = weight_of(s, m),
                                                     .head_most = HEADING,
                                                     .tex = formula == s->traffic ? "" : formula});
        free(text);
    }
    for (size_t r = 0; r < s->n_rows; r++) {
        sg_table_cell(t, s->row[r].label, NULL);
        for (size_t m = 0; m < s->n_metrics; m++) {
            const struct sg_column_style style = sg_plot_column_style(s, m);
            char mean[SG_CELL_CHARS], rest[SG_CELL_CHARS];
            sg_plot_cell(mean, rest, &style, s->row[r].mean[m], s->row[r].std[m]);
            sg_table_cell(t, mean, rest);
            sg_table_value(t, s->row[r].mean[m]);
        }
    }
    return t;
}

const char *sg_verdict_color(const char *verdict) {
    return strcmp(verdict, "holds") == 0 ? "\033[32m" : strcmp(verdict, "fails") == 0 ? "\033[31m" : "\033[33m";
}

/* The width of the column of verdicts. */
static size_t verdict_width(const struct sg_summary *s) {
    size_t width = strlen("undecided");
    for (size_t i = 0; i < s->n_claims; i++)
        if (is_shown(s, &s->claim[i]) && sg_text_width(sg_plot_verdict(&s->claim[i])) > width)
            width = sg_text_width(sg_plot_verdict(&s->claim[i]));
    return width + 2;
}

void sg_plot_put_claims(FILE *out, const struct sg_summary *s) {
    const char *heading = "\nclaims (ratio = value / bound)\n";
    const size_t column = verdict_width(s);
    char *inset = sg_format("%*s", (int)column, "");
    for (size_t i = 0; i < s->n_claims; i++) {
        const struct sg_document_claim *claim = &s->claim[i];
        char numbers[SG_NUMBERS_CHARS], seed[SG_NUMBERS_CHARS];
        if (!is_shown(s, claim))
            continue;
        const char *word = sg_plot_verdict(claim);
        char *verdict = sg_format("%s%s%s%*s", s->color ? sg_verdict_color(word) : "", word, s->color ? "\033[0m" : "",
                                  (int)(column - sg_text_width(word)), "");
        sg_plot_claim_numbers(numbers, claim);
        char *text = sg_format(numbers[0] ? "%s (%s)" : "%s", sg_or(claim->text, ""), numbers);
        fputs(heading, out);
        sg_put_wrapped(out, text, s->columns, verdict, inset);
        for (size_t k = 0; k < (s->seeds ? sg_plot_claim_size(claim) : 0); k++) {
            sg_plot_claim_seed(seed, claim, k);
            sg_put_wrapped(out, seed, s->columns, inset, inset);
        }
        free(verdict);
        free(text);
        heading = "";
    }
    free(inset);
}

static struct sg_table_lines lines_of(const struct sg_summary *s) {
    return (struct sg_table_lines){.width = s->columns ? s->columns : SG_PLOT_WIDTH, .mark = ""};
}

/* Writes the formulas below the table, because in the headings they would be as wide as the table itself. */
static void put_formulas(FILE *out, const struct sg_summary *s) {
    const char *last = "";
    for (size_t m = 0; m < s->n_metrics; m++) {
        const char *heading = s->metric[m].heading;
        size_t length;
        const size_t word = explained(&length, heading);
        char *line = s->metric[m].formula[0] ? sg_format("%s: %s", heading, s->metric[m].formula)
                                             : sg_format("%.*s", word ? (int)length : 0, heading + word);
        if (!word || strcmp(last, heading + word) != 0)
            sg_put_wrapped(out, line, lines_of(s).width, "# ", "#   ");
        last = word ? heading + word : last;
        free(line);
    }
}

static void put_places(FILE *out, const struct sg_summary *s, const sg_table *table, const char *caption) {
    const struct sg_table_lines how = lines_of(s);
    fputc('\n', out);
    sg_put_wrapped(out, caption, how.width, "# ", "#   ");
    sg_table_write_lines(out, table, &how);
}

void sg_export_table(FILE *out, const struct sg_summary *s) {
    const struct sg_table_lines how = lines_of(s);
    const char *const head[] = {s->title, s->source, s->footnote};
    sg_table *t = sg_plot_values_table(s, true);
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        sg_put_wrapped(out, head[i], how.width, "# ", "#   ");
    sg_table_write_lines(out, t, &how);
    sg_table_free(t);
    put_formulas(out, s);
    sg_plot_put_places(out, s, put_places);
    sg_plot_put_claims(out, s);
    fputs(s->finding ? "\n" : "", out);
    sg_put_wrapped(out, s->finding ? s->finding : "", s->columns, "", "");
}

/* ---- Markdown and LaTeX ---- */

sg_table *sg_plot_claims_table(const struct sg_summary *s, bool seeds) {
    static const struct sg_table_column columns[] = {
        {.head = "verdict", .html = html_put_verdict},
        {.head = "claim", .share = 0.45, .kind = "words"},
        {.head = "numbers (ratio = value / bound)", .share = 0.4, .kind = "words numbers", .unfolds = "each seed"}};
    sg_table *t = sg_table_open(columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < s->n_claims; i++) {
        const struct sg_document_claim *claim = &s->claim[i];
        char text[SG_NUMBERS_CHARS];
        double least, largest;
        if (!is_shown(s, claim))
            continue;
        sg_table_cell(t, sg_plot_verdict(claim), NULL);
        sg_table_cell(t, sg_or(claim->text, ""), NULL);
        sg_plot_claim_numbers(text, claim);
        sg_table_cell(t, text, NULL);
        sg_plot_claim_ratios(&least, &largest, claim);
        sg_table_value(t, largest);
        for (size_t k = 0; k < (seeds ? sg_plot_claim_size(claim) : 0); k++) {
            sg_plot_claim_seed(text, claim, k);
            sg_table_more(t, text);
        }
    }
    return t;
}

bool sg_plot_put_formulas(FILE *out, const struct sg_summary *s, const char *before,
                          void (*put)(FILE *out, const char *text)) {
    bool any = false;
    for (size_t m = 0; m < s->n_metrics; m++)
        if (s->metric[m].formula[0]) {
            fputs(any ? "; " : before, out);
            put(out, s->metric[m].heading);
            fputs(": ", out);
            put(out, s->metric[m].formula);
            any = true;
        }
    return any;
}

/* Between `before` and `after`, nothing where there is no text. */
static void put_between(FILE *out, const char *before, const char *text, const char *after,
                        void (*put)(FILE *out, const char *text)) {
    if (!text || !text[0])
        return;
    fputs(before, out);
    put(out, text);
    fputs(after, out);
}

static void put_places_markdown(FILE *out, const struct sg_summary *s, const sg_table *table, const char *caption) {
    (void)s;
    put_between(out, "\n", caption, ":\n\n", sg_put_markdown);
    sg_table_write_markdown(out, table);
}

void sg_export_markdown(FILE *out, const struct sg_summary *s) {
    sg_table *values = sg_plot_values_table(s, false), *claims = sg_plot_claims_table(s, s->seeds);
    put_between(out, "**", s->title, "**\n\n", sg_put_markdown);
    sg_table_write_markdown(out, values);
    fprintf(out, "\n%s. ", s->footnote);
    fputs(sg_plot_put_formulas(out, s, "", sg_put_markdown) ? ". " : "", out);
    put_between(out, "Source: ", s->source, ".\n", sg_put_markdown);
    sg_plot_put_places(out, s, put_places_markdown);
    if (sg_plot_claims_shown(s) > 0) {
        fputc('\n', out);
        sg_table_write_markdown(out, claims);
    }
    put_between(out, "\n", s->finding, ".\n", sg_put_markdown);
    sg_table_free(values);
    sg_table_free(claims);
}

static void put_places_latex(FILE *out, const struct sg_summary *s, const sg_table *table, const char *caption) {
    (void)s;
    fputc('\n', out);
    sg_table_write_latex(out, table, caption);
}

void sg_export_latex(FILE *out, const struct sg_summary *s) {
    sg_table *values = sg_plot_values_table(s, false), *claims = sg_plot_claims_table(s, s->seeds);
    char *caption = sg_format("%s%s%s", s->title, s->title[0] ? ". " : "", s->footnote);
    fprintf(out, "%% needs \\usepackage{booktabs}, \\usepackage{graphicx} and \\usepackage{textcomp}\n%% %s\n",
            s->source);
    sg_table_write_latex(out, values, caption);
    sg_plot_put_places(out, s, put_places_latex);
    if ((s->claims || s->seeds) && sg_plot_claims_shown(s) > 0) {
        fputc('\n', out);
        sg_table_write_latex(out, claims, "Claims: ratio = value / bound");
    }
    put_between(out, "\n", s->finding, ".\n", sg_put_tex);
    free(caption);
    sg_table_free(values);
    sg_table_free(claims);
}

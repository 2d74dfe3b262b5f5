/* export_tables.c: markdown, latex and table: final values, verdicts and what was found. */
#include <stdlib.h>
#include <string.h>

#include "plot_private.h"
#include "sg_table.h"
#include "sg_text.h"

enum { HEADING = 12 };

static void put_line(FILE *out, const char *before, const char *text) {
    if (text[0])
        fprintf(out, "%s%s\n", before, text);
}

/* "bits per worker (×10⁶)"; malloc'ed, NULL = no memory. */
static char *heading_of(const struct sg_summary *s, size_t m, const struct sg_column_style *style) {
    char power[SG_POWER_CHARS];
    if (style->scientific || style->exponent == 0)
        return strdup(s->metric[m].heading);
    return sg_format("%s (%s)", s->metric[m].heading, sg_plot_power(power, style->exponent));
}

static bool is_shown(const struct sg_summary *s, const struct sg_claim *claim) {
    return claim->judged || s->seeds;
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

/* A head for lines: "time (s, modelled)". NULL = no memory. */
static char *plain_head(const struct sg_summary *s, size_t m, const struct sg_column_style *style) {
    char *heading = heading_of(s, m, style);
    size_t length, word = heading ? explained(&length, heading) : 0;
    if (word) {
        char *end = heading + word + length, *colon = strstr(heading + word, ": ");
        memmove(colon, end, strlen(end) + 1);
    }
    return heading;
}

/* The methods with their values; `head` makes the head of a metric. */
static sg_table *values_of(const struct sg_summary *s, enum sg_text_kind kind,
                           char *(*head)(const struct sg_summary *s, size_t m, const struct sg_column_style *style)) {
    sg_table *t = sg_table_open(&(struct sg_table_column){.head = "method"}, 1);
    for (size_t m = 0; m < s->n_metrics; m++) {
        const struct sg_column_style style = sg_plot_column_style(s, m);
        char *text = head(s, m, &style);
        sg_table_column(t, &(struct sg_table_column){.head = sg_plot_made(text),
                                                     .align = SG_TABLE_NUMBER,
                                                     .weight = weight_of(s, m),
                                                     .head_most = HEADING});
        free(text);
    }
    for (size_t r = 0; r < s->n_rows; r++) {
        sg_table_cell(t, s->row[r].label, NULL);
        for (size_t m = 0; m < s->n_metrics; m++) {
            const struct sg_column_style style = sg_plot_column_style(s, m);
            char mean[SG_CELL_CHARS], rest[SG_CELL_CHARS];
            sg_plot_cell(mean, rest, &style, s->row[r].mean[m], s->row[r].std[m], kind);
            sg_table_cell(t, mean, rest);
        }
    }
    return t;
}

const char *sg_verdict_color(const char *verdict) {
    return strcmp(verdict, "holds") == 0 ? "\033[32m" : strcmp(verdict, "fails") == 0 ? "\033[31m" : "\033[33m";
}

static void put_claims_plain(FILE *out, const struct sg_summary *s) {
    enum { VERDICT = 11 };
    static const char inset[VERDICT + 1] = "           ";
    const char *heading = "\nclaims (ratio = value / bound)\n";
    for (size_t i = 0; i < s->n_claims; i++) {
        const struct sg_claim *claim = &s->claim[i];
        char numbers[SG_NUMBERS_CHARS], seed[SG_NUMBERS_CHARS];
        if (!is_shown(s, claim))
            continue;
        const size_t width = sg_text_width(claim->verdict);
        char *verdict = sg_format("%s%s%s%*s", s->color ? sg_verdict_color(claim->verdict) : "", claim->verdict,
                                  s->color ? "\033[0m" : "", width < VERDICT ? (int)(VERDICT - width) : 1, "");
        sg_plot_claim_numbers(numbers, claim);
        char *text = sg_format(numbers[0] ? "%s (%s)" : "%s", claim->text, numbers);
        fputs(heading, out);
        sg_put_wrapped(out, sg_plot_made(text), s->columns, sg_plot_made(verdict), inset);
        for (size_t k = 0; k < (s->seeds ? claim->n_seeds : 0); k++) {
            sg_plot_claim_seed(seed, claim, &claim->seed[k]);
            sg_put_wrapped(out, seed, s->columns, inset, inset);
        }
        free(verdict);
        free(text);
        heading = "";
    }
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
            sg_put_wrapped(out, sg_plot_made(line), s->columns, "# ", "#   ");
        last = word ? heading + word : last;
        free(line);
    }
}

sg_status sg_export_table(FILE *out, const struct sg_summary *s, struct sg_error *err) {
    const struct sg_table_lines how = {.width = s->columns ? s->columns : SG_PLOT_WIDTH, .mark = ""};
    const char *const head[] = {s->title, s->source, s->footnote};
    sg_table *t = values_of(s, SG_TEXT_PLAIN, plain_head);
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        sg_put_wrapped(out, head[i], how.width, "# ", "#   ");
    const sg_status status = sg_table_write_lines(out, t, &how, err);
    sg_table_free(t);
    put_formulas(out, s);
    put_claims_plain(out, s);
    fputs(s->finding ? "\n" : "", out);
    sg_put_wrapped(out, s->finding ? s->finding : "", s->columns, "", "");
    return status;
}

/* ---- Markdown and LaTeX ---- */

/* Verdict, text and numbers of the claims that are shown, *n <- how many those are. */
static sg_table *claims_of(const struct sg_summary *s, size_t *n) {
    static const struct sg_table_column columns[] = {
        {.head = "verdict"}, {.head = "claim"}, {.head = "numbers (ratio = value / bound)"}};
    sg_table *t = sg_table_open(columns, sizeof columns / sizeof *columns);
    *n = 0;
    for (size_t i = 0; i < s->n_claims; i++) {
        const struct sg_claim *claim = &s->claim[i];
        char text[SG_NUMBERS_CHARS], *numbers = NULL;
        size_t size;
        if (!is_shown(s, claim))
            continue;
        FILE *out = open_memstream(&numbers, &size);
        sg_plot_claim_numbers(text, claim);
        if (out)
            fputs(text, out);
        for (size_t k = 0; out && k < (s->seeds ? claim->n_seeds : 0); k++) {
            sg_plot_claim_seed(text, claim, &claim->seed[k]);
            fprintf(out, "; %s", text);
        }
        sg_table_cell(t, claim->verdict, NULL);
        sg_table_cell(t, claim->text, NULL);
        sg_table_cell(t, sg_plot_made(sg_stream_text(out, &numbers)), NULL);
        free(numbers);
        ++*n;
    }
    return t;
}

/* `text` as `put` writes it, and `raw` behind it as it is; NULL = no memory. */
static char *escaped(const char *text, const char *raw, void (*put)(FILE *out, const char *text)) {
    char *made = NULL;
    size_t size;
    FILE *out = open_memstream(&made, &size);
    if (out) {
        put(out, text);
        fputs(raw, out);
    }
    return sg_stream_text(out, &made);
}

static void put_markdown(FILE *out, const char *text) {
    for (; *text; text++) {
        if (strchr("|\\*_`<#[]", *text))
            fputc('\\', out);
        fputc(*text, out);
    }
}

/* "suboptimality: f(x) − f*; error norm: ‖e‖²". */
static void put_formula_list(FILE *out, const struct sg_summary *s, void (*put)(FILE *out, const char *text)) {
    const char *before = "";
    for (size_t m = 0; m < s->n_metrics; m++)
        if (s->metric[m].formula[0]) {
            fputs(before, out);
            put(out, s->metric[m].heading);
            fputs(": ", out);
            put(out, s->metric[m].formula);
            before = "; ";
        }
    fputs(before[0] ? ". " : "", out);
}

static char *markdown_head(const struct sg_summary *s, size_t m, const struct sg_column_style *style) {
    char *heading = heading_of(s, m, style), *out = escaped(sg_plot_made(heading), "", put_markdown);
    free(heading);
    return out;
}

sg_status sg_export_markdown(FILE *out, const struct sg_summary *s, struct sg_error *err) {
    static const struct sg_table_markup how = {.row = "| ", .between = " | ", .end = " |\n", .put = put_markdown};
    size_t n_claims;
    sg_table *values = values_of(s, SG_TEXT_PLAIN, markdown_head), *claims = claims_of(s, &n_claims);
    fputs(s->title[0] ? "**" : "", out);
    put_markdown(out, s->title);
    fputs(s->title[0] ? "**\n\n" : "", out);
    sg_status status = sg_table_write_head(out, values, &how, err);
    fputs("|:--|", out);
    for (size_t m = 0; m < s->n_metrics; m++)
        fputs("--:|", out);
    fputc('\n', out);
    SG_DO(status, sg_table_write_rows(out, values, &how, err));
    fprintf(out, "\n%s. ", s->footnote);
    put_formula_list(out, s, put_markdown);
    fputs("Source: ", out);
    put_markdown(out, s->source);
    fputs(".\n", out);
    if (n_claims > 0 && status == SG_OK) {
        fputc('\n', out);
        status = sg_table_write_head(out, claims, &how, err);
        fputs("|:--|:--|:--|\n", out);
    }
    SG_DO(status, sg_table_write_rows(out, claims, &how, err));
    fputs(s->finding ? "\n" : "", out);
    put_markdown(out, s->finding ? s->finding : "");
    fputs(s->finding ? ".\n" : "", out);
    sg_table_free(values);
    sg_table_free(claims);
    return status;
}

static char *latex_head(const struct sg_summary *s, size_t m, const struct sg_column_style *style) {
    const struct sg_summary_metric *metric = &s->metric[m];
    char power[SG_POWER_CHARS] = "";
    if (style->exponent && !style->scientific)
        snprintf(power, sizeof power, " ($\\times 10^{%d}$)", style->exponent);
    char *symbols = sg_format("%s%s%s", metric->latex[0] ? " " : "", metric->latex, power);
    char *out = escaped(metric->heading, sg_plot_made(symbols), sg_plot_put_tex);
    free(symbols);
    return out;
}

sg_status sg_export_latex(FILE *out, const struct sg_summary *s, struct sg_error *err) {
    static const struct sg_table_markup how = {.row = "", .between = " & ", .end = " \\\\\n", .put = sg_plot_put_tex};
    size_t n_claims;
    sg_table *values = values_of(s, SG_TEXT_TEX, latex_head), *claims = claims_of(s, &n_claims);
    fputs("% needs \\usepackage{booktabs} and \\usepackage{textcomp}\n", out);
    put_line(out, "% ", s->title);
    put_line(out, "% ", s->source);
    put_line(out, "% ", s->footnote);
    fputs("\\begin{tabular}{l", out);
    for (size_t m = 0; m < s->n_metrics; m++)
        fputc('r', out);
    fputs("}\n\\toprule\n", out);
    sg_status status = sg_table_write_head(out, values, &how, err);
    fputs("\\midrule\n", out);
    SG_DO(status, sg_table_write_rows(out, values, &how, err));
    fputs("\\bottomrule\n\\end{tabular}\n", out);
    if (n_claims > 0 && status == SG_OK) {
        fputs("\n\\begin{tabular}{lp{0.45\\linewidth}p{0.4\\linewidth}}\n\\toprule\n", out);
        status = sg_table_write_head(out, claims, &how, err);
        fputs("\\midrule\n", out);
        SG_DO(status, sg_table_write_rows(out, claims, &how, err));
        fputs("\\bottomrule\n\\end{tabular}\n", out);
    }
    if (s->finding) {
        fputs("\n", out);
        sg_plot_put_tex(out, s->finding);
        fputs(".\n", out);
    }
    sg_table_free(values);
    sg_table_free(claims);
    return status;
}

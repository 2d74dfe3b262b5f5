/* export_tables.c: markdown, latex and table: final values, verdicts and what was found. */
#include <stdlib.h>
#include <string.h>

#include "plot_private.h"
#include "sg_text.h"

enum { WIDTH = 80, HEADING = 12 };

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

static void put_blanks(FILE *out, size_t n) {
    fprintf(out, "%*s", (int)n, "");
}

static void put_line(FILE *out, const char *before, const char *text) {
    if (text[0])
        fprintf(out, "%s%s\n", before, text);
}

/* A comment in lines of at most WIDTH columns, unless a word is longer. */
static void put_wrapped(FILE *out, const char *text) {
    for (const char *before = "# "; *text; before = "#   ") {
        const size_t n = sg_text_line(text, WIDTH - strlen(before));
        fprintf(out, "%s%.*s\n", before, (int)n, text);
        text += n;
        text += *text == ' ';
    }
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

struct column {
    struct sg_column_style style;
    char *heading;
    const char *left;         /* of the heading, what the next line begins with */
    size_t mean_width, width; /* of its numbers before a deviation; of all with the heading */
};

static size_t longest_word(const char *text) {
    size_t longest = 0, n = 0;
    for (; *text; text++) {
        n = *text == ' ' ? 0 : n + (((unsigned char)*text & 0xc0) != 0x80);
        longest = larger(longest, n);
    }
    return longest;
}

static bool lay_out(struct column *c, const struct sg_summary *s, size_t m) {
    size_t rest_width = 0;
    c->style = sg_plot_column_style(s, m);
    c->left = c->heading = heading_of(s, m, &c->style);
    for (size_t r = 0; r < s->n_rows; r++) {
        char mean[SG_CELL_CHARS], rest[SG_CELL_CHARS];
        sg_plot_cell(mean, rest, &c->style, s->row[r].mean[m], s->row[r].std[m], SG_TEXT_PLAIN);
        c->mean_width = larger(c->mean_width, sg_text_width(mean));
        rest_width = larger(rest_width, sg_text_width(rest));
    }
    c->width = larger(c->mean_width + rest_width, larger(HEADING, c->heading ? longest_word(c->heading) : 0));
    if (c->heading && sg_text_width(c->heading) < c->width) /* no wider than it needs to be */
        c->width = larger(c->mean_width + rest_width, sg_text_width(c->heading));
    return c->heading != NULL;
}

/* Writes the headings side by side, each in lines as wide as its column. */
static void put_headings(FILE *out, struct column *column, size_t n, size_t first) {
    const char *corner = "method";
    for (bool more = true; more; corner = "") {
        more = false;
        fputs(corner, out);
        put_blanks(out, n ? first - strlen(corner) : 0);
        size_t blanks = 0; /* not yet written, because a line must not end in blanks */
        for (size_t m = 0; m < n; m++) {
            struct column *c = &column[m];
            const size_t length = sg_text_line(c->left, c->width);
            char *text = strndup(c->left, length);
            put_blanks(out, *c->left ? blanks + 2 : 0);
            blanks = (*c->left ? 0 : blanks + 2) + c->width - sg_text_width(sg_plot_made(text));
            fputs(sg_plot_made(text), out);
            free(text);
            c->left += length;
            c->left += *c->left == ' ';
            more = more || *c->left;
        }
        fputc('\n', out);
    }
}

static void put_row(FILE *out, const struct sg_summary *s, const struct column *column, size_t r, size_t first) {
    size_t blanks = first - sg_text_width(s->row[r].label);
    fputs(s->row[r].label, out);
    for (size_t m = 0; m < s->n_metrics; m++) {
        char mean[SG_CELL_CHARS], rest[SG_CELL_CHARS];
        sg_plot_cell(mean, rest, &column[m].style, s->row[r].mean[m], s->row[r].std[m], SG_TEXT_PLAIN);
        put_blanks(out, blanks + 2 + column[m].mean_width - sg_text_width(mean));
        fprintf(out, "%s%s", mean, rest);
        blanks = column[m].width - column[m].mean_width - sg_text_width(rest);
    }
    fputc('\n', out);
}

const char *sg_verdict_color(const char *verdict) {
    return strcmp(verdict, "holds") == 0 ? "\033[32m" : strcmp(verdict, "fails") == 0 ? "\033[31m" : "\033[33m";
}

static void put_claims_plain(FILE *out, const struct sg_summary *s) {
    enum { VERDICT = 11 };
    const char *heading = "\nclaims (ratio = value / bound)\n";
    for (size_t i = 0; i < s->n_claims; i++) {
        const struct sg_claim *claim = &s->claim[i];
        char text[SG_NUMBERS_CHARS];
        if (!is_shown(s, claim))
            continue;
        fprintf(out, "%s%s", heading, s->color ? sg_verdict_color(claim->verdict) : "");
        fputs(claim->verdict, out);
        fputs(s->color ? "\033[0m" : "", out);
        put_blanks(out, larger(sg_text_width(claim->verdict) + 1, VERDICT) - sg_text_width(claim->verdict));
        fputs(claim->text, out);
        sg_plot_claim_numbers(text, claim);
        put_line(out, " (", text[0] ? strcat(text, ")") : "");
        fputs(text[0] ? "" : "\n", out);
        for (size_t k = 0; k < (s->seeds ? claim->n_seeds : 0); k++) {
            sg_plot_claim_seed(text, claim, &claim->seed[k]);
            put_blanks(out, VERDICT);
            put_line(out, "", text);
        }
        heading = "";
    }
}

/* Writes the formulas below the table, because in the headings they would be as wide as the table itself. */
static void put_formulas(FILE *out, const struct sg_summary *s) {
    for (size_t m = 0; m < s->n_metrics; m++)
        if (s->metric[m].formula[0])
            fprintf(out, "# %s: %s\n", s->metric[m].heading, s->metric[m].formula);
}

sg_status sg_export_table(FILE *out, const struct sg_summary *s, struct sg_error *err) {
    struct column *column = calloc(s->n_metrics + 1, sizeof *column);
    bool fine = column != NULL;
    size_t first = strlen("method");
    put_wrapped(out, s->title);
    put_wrapped(out, s->source);
    put_wrapped(out, s->footnote);
    for (size_t r = 0; r < s->n_rows; r++)
        first = larger(first, sg_text_width(s->row[r].label));
    for (size_t m = 0; m < s->n_metrics && fine; m++)
        fine = lay_out(&column[m], s, m);
    if (fine)
        put_headings(out, column, s->n_metrics, first);
    for (size_t r = 0; r < s->n_rows && fine; r++)
        put_row(out, s, column, r, first);
    for (size_t m = 0; m < s->n_metrics && column; m++)
        free(column[m].heading);
    free(column);
    put_formulas(out, s);
    put_claims_plain(out, s);
    put_line(out, "\n", s->finding ? s->finding : "");
    return fine ? SG_OK : sg_fail_memory(err, "the table");
}

/* ---- Markdown and LaTeX ---- */

/* Verdict, text and numbers of a claim as the cells of a row, each text escaped by `put`. */
static void put_claim(FILE *out, const struct sg_summary *s, const struct sg_claim *claim, const char *separator,
                      void (*put)(FILE *out, const char *text)) {
    char text[SG_NUMBERS_CHARS];
    put(out, claim->verdict);
    fputs(separator, out);
    put(out, claim->text);
    fputs(separator, out);
    sg_plot_claim_numbers(text, claim);
    put(out, text);
    for (size_t k = 0; k < (s->seeds ? claim->n_seeds : 0); k++) {
        fputs("; ", out);
        sg_plot_claim_seed(text, claim, &claim->seed[k]);
        put(out, text);
    }
}

static void put_markdown(FILE *out, const char *text) {
    for (; *text; text++) {
        if (strchr("|\\*_`<#[]", *text))
            fputc('\\', out);
        fputc(*text, out);
    }
}

static void put_cells(FILE *out, const struct sg_summary *s, size_t r, const char *before, enum sg_text_kind kind) {
    for (size_t m = 0; m < s->n_metrics; m++) {
        const struct sg_column_style style = sg_plot_column_style(s, m);
        char mean[SG_CELL_CHARS], rest[SG_CELL_CHARS];
        sg_plot_cell(mean, rest, &style, s->row[r].mean[m], s->row[r].std[m], kind);
        fprintf(out, "%s%s%s", before, mean, rest);
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

sg_status sg_export_markdown(FILE *out, const struct sg_summary *s, struct sg_error *err) {
    (void)err;
    fputs(s->title[0] ? "**" : "", out);
    put_markdown(out, s->title);
    fputs(s->title[0] ? "**\n\n" : "", out);
    fputs("| method", out);
    for (size_t m = 0; m < s->n_metrics; m++) {
        const struct sg_column_style style = sg_plot_column_style(s, m);
        char *heading = heading_of(s, m, &style);
        fputs(" | ", out);
        put_markdown(out, sg_plot_made(heading));
        free(heading);
    }
    fputs(" |\n|:--|", out);
    for (size_t m = 0; m < s->n_metrics; m++)
        fputs("--:|", out);
    for (size_t r = 0; r < s->n_rows; r++) {
        fputs("\n| ", out);
        put_markdown(out, s->row[r].label);
        put_cells(out, s, r, " | ", SG_TEXT_PLAIN);
        fputs(" |", out);
    }
    fprintf(out, "\n\n%s. ", s->footnote);
    put_formula_list(out, s, put_markdown);
    fputs("Source: ", out);
    put_markdown(out, s->source);
    fputs(".\n", out);
    const char *heading = "\n| verdict | claim | numbers (ratio = value / bound) |\n|:--|:--|:--|\n";
    for (size_t i = 0; i < s->n_claims; i++)
        if (is_shown(s, &s->claim[i])) {
            fprintf(out, "%s| ", heading);
            put_claim(out, s, &s->claim[i], " | ", put_markdown);
            fputs(" |\n", out);
            heading = "";
        }
    fputs(s->finding ? "\n" : "", out);
    put_markdown(out, s->finding ? s->finding : "");
    fputs(s->finding ? ".\n" : "", out);
    return SG_OK;
}

sg_status sg_export_latex(FILE *out, const struct sg_summary *s, struct sg_error *err) {
    (void)err;
    fputs("% needs \\usepackage{booktabs} and \\usepackage{textcomp}\n", out);
    put_line(out, "% ", s->title);
    put_line(out, "% ", s->source);
    put_line(out, "% ", s->footnote);
    fputs("\\begin{tabular}{l", out);
    for (size_t m = 0; m < s->n_metrics; m++)
        fputc('r', out);
    fputs("}\n\\toprule\nmethod", out);
    for (size_t m = 0; m < s->n_metrics; m++) {
        const struct sg_column_style style = sg_plot_column_style(s, m);
        fputs(" & ", out);
        sg_plot_put_tex(out, s->metric[m].heading);
        fprintf(out, "%s%s", s->metric[m].latex[0] ? " " : "", s->metric[m].latex);
        if (style.exponent && !style.scientific)
            fprintf(out, " ($\\times 10^{%d}$)", style.exponent);
    }
    fputs(" \\\\\n\\midrule\n", out);
    for (size_t r = 0; r < s->n_rows; r++) {
        sg_plot_put_tex(out, s->row[r].label);
        put_cells(out, s, r, " & ", SG_TEXT_TEX);
        fputs(" \\\\\n", out);
    }
    fputs("\\bottomrule\n\\end{tabular}\n", out);
    const char *heading = "\n\\begin{tabular}{lp{0.45\\linewidth}p{0.4\\linewidth}}\n\\toprule\nverdict & claim & "
                          "numbers (ratio = value / bound) \\\\\n\\midrule\n";
    bool any = false;
    for (size_t i = 0; i < s->n_claims; i++)
        if (is_shown(s, &s->claim[i])) {
            fputs(any ? "" : heading, out);
            put_claim(out, s, &s->claim[i], " & ", sg_plot_put_tex);
            fputs(" \\\\\n", out);
            any = true;
        }
    fputs(any ? "\\bottomrule\n\\end{tabular}\n" : "", out);
    if (s->finding) {
        fputs("\n", out);
        sg_plot_put_tex(out, s->finding);
        fputs(".\n", out);
    }
    return SG_OK;
}

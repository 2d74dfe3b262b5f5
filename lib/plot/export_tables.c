/* markdown, latex and table: final values and verdicts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plot_private.h"

enum { CELL = 96 };

enum style { PLAIN, TEX };

/* Digits after the point so that `shown` has `digits` significant ones. */
static int decimals(double shown, int digits) {
    int exponent = shown != 0 ? (int)floor(log10(fabs(shown)) + 1e-9) : 0;
    int n = digits - 1 - exponent;
    return n < 0 ? 0 : n > 9 ? 9 : n;
}

/* "0.123 ± 0.005", "(1.23 ± 0.05)e-3", "4.568e-12": the deviation with two digits, a lone value with four. */
static void format_value(char out[CELL], double mean, double std, enum style style) {
    if (!isfinite(mean)) {
        snprintf(out, CELL, "%s", style == TEX ? "--" : "–");
        return;
    }
    bool pair = isfinite(std);
    if (pair && std < 1e-9 * fabs(mean)) /* equal seeds: what is left is the rounding of their mean */
        std = 0;
    double largest = fmax(fabs(mean), pair ? std : 0);
    int exponent = 0;
    if (largest != 0 && !(largest >= 1e-2 && largest < 1e5))
        exponent = (int)floor(log10(largest));
    double a = mean / pow(10, exponent), b = pair ? std / pow(10, exponent) : 0;
    if (!isfinite(a) || !isfinite(b)) { /* subnormal: 10^exponent is no double */
        snprintf(out, CELL, "%.3g", mean);
        return;
    }
    int places = pair && b != 0 ? decimals(b, 2) : decimals(a, 4);
    char power[24] = "";
    if (exponent)
        snprintf(power, sizeof power, style == TEX ? " \\times 10^{%d}" : "e%d", exponent);
    const char *dollar = style == TEX ? "$" : "", *open = pair && exponent ? "(" : "",
               *close = pair && exponent ? ")" : "";
    if (pair)
        snprintf(out, CELL, "%s%s%.*f %s %.*f%s%s%s", dollar, open, places, a, style == TEX ? "\\pm" : "±",
                 b != 0 ? places : 0, b, close, power, dollar);
    else
        snprintf(out, CELL, "%s%.*f%s%s", dollar, places, a, power, dollar);
}

/* Terminal columns of UTF-8 text. */
static size_t width(const char *utf8) {
    size_t n = 0;
    for (; *utf8; utf8++)
        n += ((unsigned char)*utf8 & 0xc0) != 0x80;
    return n;
}

static void put_clean(FILE *out, const char *text) {
    for (; *text; text++)
        fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
}

static void put_padded(FILE *out, const char *text, size_t to) {
    put_clean(out, text);
    for (size_t n = width(text); n < to; n++)
        fputc(' ', out);
}

static size_t column_width(const struct sg_summary *s, size_t m) {
    size_t widest = width(s->metric[m].label);
    for (size_t r = 0; r < s->n_rows; r++) {
        char text[CELL];
        format_value(text, s->row[r].mean[m], s->row[r].std[m], PLAIN);
        widest = width(text) > widest ? width(text) : widest;
    }
    return widest;
}

/* "seed 1: 1.2e-3 ≤ 1.8e-3 (ratio 0.667)" */
static void format_seed(char out[2 * CELL], const struct sg_claim *claim, const struct sg_claim_seed *seed) {
    char value[CELL], bound[CELL], ratio[CELL];
    format_value(value, seed->value, NAN, PLAIN);
    format_value(bound, seed->bound, NAN, PLAIN);
    format_value(ratio, seed->ratio, NAN, PLAIN);
    bool known = isfinite(seed->value) && isfinite(seed->bound);
    bool within = claim->at_least ? seed->value >= seed->bound : seed->value <= seed->bound;
    const char *sign = claim->at_least ? (within ? "≥" : "<") : within ? "≤" : ">";
    snprintf(out, 2 * CELL, "seed %.24s: %.40s %s %.40s (ratio %.40s)", seed->seed, value, known ? sign : "?", bound,
             ratio);
}

static void put_claims_plain(FILE *out, const struct sg_summary *s) {
    for (size_t i = 0; i < s->n_claims; i++) {
        const struct sg_claim *claim = &s->claim[i];
        fputs(i == 0 ? "\nclaims\n" : "", out);
        put_padded(out, claim->verdict, 11);
        put_clean(out, claim->text);
        fputc('\n', out);
        if (claim->reason) {
            fputs("           ", out);
            put_clean(out, claim->reason);
            fputc('\n', out);
        }
        for (size_t k = 0; k < claim->n_seeds; k++) {
            char text[2 * CELL];
            format_seed(text, claim, &claim->seed[k]);
            fprintf(out, "           %s\n", text);
        }
    }
}

static void put_line(FILE *out, const char *before, const char *text) {
    if (text[0]) {
        fputs(before, out);
        put_clean(out, text);
        fputc('\n', out);
    }
}

sg_status sg_export_table(FILE *out, const struct sg_summary *s, struct sg_error *err) {
    (void)err;
    put_line(out, "# ", s->title);
    put_line(out, "# ", s->source);
    put_line(out, "# ", s->footnote);
    size_t first = 6;
    for (size_t r = 0; r < s->n_rows; r++)
        first = width(s->row[r].label) > first ? width(s->row[r].label) : first;
    put_padded(out, "method", s->n_metrics ? first : 0);
    for (size_t m = 0; m < s->n_metrics; m++) {
        fputs("  ", out);
        put_padded(out, s->metric[m].label, m + 1 < s->n_metrics ? column_width(s, m) : 0);
    }
    fputc('\n', out);
    for (size_t r = 0; r < s->n_rows; r++) {
        put_padded(out, s->row[r].label, s->n_metrics ? first : 0);
        for (size_t m = 0; m < s->n_metrics; m++) {
            char text[CELL];
            format_value(text, s->row[r].mean[m], s->row[r].std[m], PLAIN);
            fputs("  ", out);
            put_padded(out, text, m + 1 < s->n_metrics ? column_width(s, m) : 0);
        }
        fputc('\n', out);
    }
    put_claims_plain(out, s);
    return SG_OK;
}

/* Verdict, text and numbers of a claim as the cells of a row, each text escaped by `put`. */
static void put_claim(FILE *out, const struct sg_claim *claim, const char *separator,
                      void (*put)(FILE *out, const char *text)) {
    put(out, claim->verdict);
    fputs(separator, out);
    put(out, claim->text);
    fputs(separator, out);
    put(out, claim->reason ? claim->reason : "");
    for (size_t k = 0; k < claim->n_seeds; k++) {
        char text[2 * CELL];
        format_seed(text, claim, &claim->seed[k]);
        fputs(k || claim->reason ? "; " : "", out);
        put(out, text);
    }
}

static void put_markdown(FILE *out, const char *text) {
    for (; *text; text++) {
        if (strchr("|\\*_`<#[]", *text))
            fputc('\\', out);
        fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
    }
}

sg_status sg_export_markdown(FILE *out, const struct sg_summary *s, struct sg_error *err) {
    (void)err;
    fputs(s->title[0] ? "**" : "", out);
    put_markdown(out, s->title);
    fputs(s->title[0] ? "**\n\n" : "", out);
    fputs("| method |", out);
    for (size_t m = 0; m < s->n_metrics; m++) {
        fputc(' ', out);
        put_markdown(out, s->metric[m].label);
        fputs(" |", out);
    }
    fputs("\n|:--|", out);
    for (size_t m = 0; m < s->n_metrics; m++)
        fputs("--:|", out);
    for (size_t r = 0; r < s->n_rows; r++) {
        fputs("\n| ", out);
        put_markdown(out, s->row[r].label);
        fputs(" |", out);
        for (size_t m = 0; m < s->n_metrics; m++) {
            char text[CELL];
            format_value(text, s->row[r].mean[m], s->row[r].std[m], PLAIN);
            fprintf(out, " %s |", text);
        }
    }
    fprintf(out, "\n\n%s. Source: ", s->footnote);
    put_markdown(out, s->source);
    fputs(".\n", out);
    for (size_t i = 0; i < s->n_claims; i++) {
        fputs(i == 0 ? "\n| verdict | claim | numbers |\n|:--|:--|:--|\n| " : "| ", out);
        put_claim(out, &s->claim[i], " | ", put_markdown);
        fputs(" |\n", out);
    }
    return SG_OK;
}

static void put_tex(FILE *out, const char *text) {
    char *tex = sg_plot_tex_escape(text);
    fputs(tex ? tex : "", out);
    free(tex);
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
    for (size_t m = 0; m < s->n_metrics; m++)
        fprintf(out, " & %s", s->metric[m].latex);
    fputs(" \\\\\n\\midrule\n", out);
    for (size_t r = 0; r < s->n_rows; r++) {
        put_tex(out, s->row[r].label);
        for (size_t m = 0; m < s->n_metrics; m++) {
            char text[CELL];
            format_value(text, s->row[r].mean[m], s->row[r].std[m], TEX);
            fprintf(out, " & %s", text);
        }
        fputs(" \\\\\n", out);
    }
    fputs("\\bottomrule\n\\end{tabular}\n", out);
    if (s->n_claims)
        fputs("\n\\begin{tabular}{lp{0.45\\linewidth}p{0.4\\linewidth}}\n\\toprule\nverdict & claim & numbers "
              "\\\\\n\\midrule\n",
              out);
    for (size_t i = 0; i < s->n_claims; i++) {
        put_claim(out, &s->claim[i], " & ", put_tex);
        fputs(" \\\\\n", out);
    }
    fputs(s->n_claims ? "\\bottomrule\n\\end{tabular}\n" : "", out);
    return SG_OK;
}

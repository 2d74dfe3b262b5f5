/* table_numbers.c: how a table writes its numbers: a column in one power of ten with the same decimals, a claim on one
 * line. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "plot_private.h"
#include "sg_debug.h"

enum {
    FIGURES = 7,       /* digits of the largest number of a column, at most */
    LEAST_FIGURES = 2, /* of the smallest, else the column is scientific */
    MEAN_FIGURES = 3,  /* of the smallest, where there is room */
    LONE_FIGURES = 4   /* the same for numbers without a deviation */
};

static int decade(double x) {
    SG_ASSERT(x != 0 && isfinite(x));
    return (int)floor(log10(fabs(x)) + 1e-9);
}

struct extent {
    double largest, smallest, spread; /* of |mean| and deviation; smallest of the means that are not 0; 0 = none */
};

/* The deviation; 0 if the seeds agree and it is only the rounding of their mean. */
static double deviation(double mean, double std) {
    return isfinite(std) && std >= 1e-9 * fabs(mean) ? std : 0;
}

static struct extent measure(const struct sg_summary *s, size_t m) {
    SG_ASSERT(m < s->n_metrics);
    struct extent e = {0};
    for (size_t r = 0; r < s->n_rows; r++) {
        double mean = fabs(s->row[r].mean[m]), std = deviation(s->row[r].mean[m], s->row[r].std[m]);
        if (!isfinite(mean))
            continue;
        e.largest = fmax(e.largest, fmax(mean, std));
        e.spread = fmax(e.spread, std);
        if (mean > 0 && (e.smallest == 0 || mean < e.smallest))
            e.smallest = mean;
    }
    return e;
}

/* True if some number of the column would lose a digit other than 0 with one decimal fewer. */
static bool needs_last(const struct sg_summary *s, size_t m, const struct sg_column_style *style) {
    for (size_t r = 0; r < s->n_rows; r++) {
        char mean[SG_CELL_CHARS], rest[SG_CELL_CHARS];
        sg_plot_cell(mean, rest, style, s->row[r].mean[m], NAN);
        if (isfinite(s->row[r].mean[m]) && strcmp(mean, "0") != 0 && mean[strlen(mean) - 1] != '0')
            return true;
    }
    return false;
}

struct sg_column_style sg_plot_column_style(const struct sg_summary *s, size_t m) {
    struct sg_column_style style = {0};
    const struct extent e = measure(s, m);
    if (e.largest == 0)
        return style;
    if (!(e.largest >= 1e-2 && e.largest < 1e5)) /* in steps of 1000, as the prefixes of units go */
        style.exponent = 3 * (int)floor(decade(e.largest) / 3.0);
    const int top = decade(e.largest) - style.exponent + 1; /* digits before the point */
    const int bottom = e.smallest > 0 ? style.exponent - decade(e.smallest) - 1 : 0;
    const int room = FIGURES - (top > 1 ? top : 1);
    int wanted = bottom + (e.spread > 0 ? MEAN_FIGURES : LONE_FIGURES);
    if (e.spread > 0 && style.exponent - decade(e.spread) + 1 > wanted) /* two digits of the largest deviation */
        wanted = style.exponent - decade(e.spread) + 1;
    style.scientific = bottom + LEAST_FIGURES > room || !isfinite(e.largest / pow(10, style.exponent));
    style.decimals = style.scientific ? 2 : wanted < 0 ? 0 : wanted > room ? room : wanted;
    while (!style.scientific && e.spread == 0 && style.decimals > 0 && !needs_last(s, m, &style))
        style.decimals--; /* numbers that are counted or chosen have few digits by themselves */
    return style;
}

/* "(1.20 ± 0.70)e-12", "4.57e-12": each number in its own power of ten. */
static void scientific(char out[SG_CELL_CHARS], int decimals, double mean, double std) {
    const int exponent = fmax(fabs(mean), std) > 0 ? decade(fmax(fabs(mean), std)) : 0;
    const double a = mean / pow(10, exponent), b = std / pow(10, exponent);
    char power[32] = "";
    if (!isfinite(a) || !isfinite(b)) { /* subnormal: 10^exponent is no double */
        snprintf(out, SG_CELL_CHARS, "%.3g", mean);
        return;
    }
    if (exponent)
        snprintf(power, sizeof power, "e%d", exponent);
    if (b >= 0.5 * pow(10, -decimals))
        snprintf(out, SG_CELL_CHARS, "%s%.*f ± %.*f%s%s", exponent ? "(" : "", decimals, a, decimals, b,
                 exponent ? ")" : "", power);
    else
        snprintf(out, SG_CELL_CHARS, "%.*f%s", decimals, a, power);
}

void sg_plot_cell(char mean[SG_CELL_CHARS], char rest[SG_CELL_CHARS], const struct sg_column_style *style, double value,
                  double std) {
    const double spread = deviation(value, std), scale = pow(10, style->exponent), b = spread / scale;
    rest[0] = '\0';
    if (!isfinite(value))
        snprintf(mean, SG_CELL_CHARS, "–");
    else if (value == 0 && spread == 0)
        snprintf(mean, SG_CELL_CHARS, "0");
    else if (style->scientific)
        scientific(mean, style->decimals, value, spread);
    else
        snprintf(mean, SG_CELL_CHARS, "%.*f", style->decimals, value / scale);
    if (isfinite(value) && !style->scientific && b >= 0.5 * pow(10, -style->decimals))
        snprintf(rest, SG_CELL_CHARS, " ± %.*f", style->decimals, b);
}

/* A number by itself, with four digits. */
static void lone_number(char out[SG_CELL_CHARS], double x) {
    const int exponent = x != 0 && isfinite(x) ? decade(x) : 0;
    if (!isfinite(x))
        snprintf(out, SG_CELL_CHARS, "–");
    else if (exponent < -2 || exponent > 4)
        scientific(out, 3, x, 0);
    else
        snprintf(out, SG_CELL_CHARS, "%.*f", 3 - exponent > 0 ? 3 - exponent : 0, x);
}

static void ratio_text(char out[32], double ratio) {
    const bool plain = ratio == 0 || (fabs(ratio) >= 1e-3 && fabs(ratio) < 1e5);
    snprintf(out, 32, !plain ? "%.1e" : fabs(ratio) >= 100 ? "%.0f" : fabs(ratio) >= 0.1 ? "%.2f" : "%.2g", ratio);
}

size_t sg_plot_claim_size(const struct sg_document_claim *claim) {
    return claim->cases ? claim->n_cases : claim->n_seeds;
}

void sg_plot_claim_ratios(double *least, double *largest, const struct sg_document_claim *claim) {
    *least = *largest = NAN;
    for (size_t i = 0; i < sg_plot_claim_size(claim); i++) {
        const double ratio = claim->cases ? claim->cases[i].ratio : claim->seeds[i].ratio;
        *least = fmin(*least, ratio); /* fmin ignores a NaN */
        *largest = fmax(*largest, ratio);
    }
}

const char *sg_plot_verdict(const struct sg_document_claim *claim) {
    return sg_or(claim->verdict, "undecided");
}

void sg_plot_claim_numbers(char out[SG_NUMBERS_CHARS], const struct sg_document_claim *claim) {
    const size_t n = sg_plot_claim_size(claim);
    char low[32], high[32], ratio[96] = "";
    double least, largest;
    sg_plot_claim_ratios(&least, &largest, claim);
    ratio_text(low, least);
    ratio_text(high, largest);
    if (isfinite(least) && strcmp(low, high) == 0)
        snprintf(ratio, sizeof ratio, "ratio %s, ", low);
    else if (isfinite(least))
        snprintf(ratio, sizeof ratio, "ratio %s … %s, ", low, high);
    const char *reason = sg_or(claim->reason, ""), *note = sg_or(claim->note, "");
    if (n == 0)
        snprintf(out, SG_NUMBERS_CHARS, "%.400s", reason);
    else
        snprintf(out, SG_NUMBERS_CHARS, "%s%zu %s%s%s%s%.360s%s%.1200s", ratio, n, claim->cases ? "case" : "seed",
                 n == 1 ? "" : "s", claim->descriptive ? "; descriptive" : "", *reason ? "; " : "", reason,
                 *note ? "; " : "", note);
}

void sg_plot_claim_seed(char out[SG_NUMBERS_CHARS], const struct sg_document_claim *claim, size_t i) {
    char value[SG_CELL_CHARS], bound[SG_CELL_CHARS], ratio[SG_CELL_CHARS];
    const struct sg_document_case *of = claim->cases ? &claim->cases[i] : NULL;
    const double x = of ? of->value : claim->seeds[i].value, limit = of ? of->bound : claim->seeds[i].bound;
    const bool at_least = strcmp(sg_or(claim->sense, ""), "at-least") == 0;
    lone_number(value, x);
    lone_number(bound, limit);
    lone_number(ratio, of ? of->ratio : claim->seeds[i].ratio);
    const bool known = isfinite(x) && isfinite(limit), within = at_least ? x >= limit : x <= limit;
    const char *sign = !known ? "?" : at_least ? (within ? "≥" : "<") : within ? "≤" : ">";
    if (of) {
        char q1[SG_CELL_CHARS], q3[SG_CELL_CHARS];
        lone_number(q1, of->ratio_q1);
        lone_number(q3, of->ratio_q3);
        snprintf(out, SG_NUMBERS_CHARS, "%.160s: %s %s %s s (ratio %s, quartiles %s … %s)", sg_or(of->case_, "?"),
                 value, sign, bound, ratio, q1, q3);
    } else {
        snprintf(out, SG_NUMBERS_CHARS, "seed %.24s: %s %s %s (ratio %s)", sg_or(claim->seeds[i].seed, "?"), value,
                 sign, bound, ratio);
    }
}

/* grid_levels.c: the methods of a result at equal traffic, and its finding's words for traffic and losses. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "grid_summary.h"

/* Two rows whose traffic differs by no more send as much. */
static const double ALIKE = 0.1;

/* ---- words ---- */

/* How many times less, as "693", "3.6" or "1.04"; returns out. */
static const char *times_text(double x, char out[32]) {
    snprintf(out, 32, x >= 100 ? "%.0f" : x >= 1.995 ? "%.3g" : "%.2f", x);
    return out;
}

const char *summary_traffic_text(double times_less, char out[SUMMARY_TEXT]) {
    char times[32];
    if (!(times_less > 0))
        out[0] = '\0';
    else if (times_less >= 1.005)
        snprintf(out, SUMMARY_TEXT, "%s times less traffic", times_text(times_less, times));
    else if (times_less > 0.995)
        snprintf(out, SUMMARY_TEXT, "as much traffic");
    else
        snprintf(out, SUMMARY_TEXT, "%s times the traffic", times_text(1 / times_less, times));
    return out;
}

const char *summary_loss_text(const struct summary *s, double loss, double half, double value, double base,
                              char out[SUMMARY_TEXT]) {
    char text[SG_LOSS_CHARS];
    sg_loss_text(text, s->metric->quantity, loss, half);
    if (s->metric->quantity == SG_QUANTITY_PERPLEXITY)
        snprintf(out, SUMMARY_TEXT, "%s (%.2g of perplexity)", text, fabs(value - base));
    else
        snprintf(out, SUMMARY_TEXT, "%s", text);
    return out;
}

/* ---- equal traffic ---- */

/* Rows of at least two methods that send about as much: the best one, and the best one of another method. */
struct level {
    const struct summary_row *first, *second;
    double lead, half; /* of the first, on the scale of the metric's quantity, paired by seed */
};

static bool has_traffic(const struct summary_row *r) {
    return summary_is_compared(r) && r->times_less > 0;
}

/* True if no row of this baseline that sends as much stands before row i in the document and above it in traffic. */
static bool begins_level(const struct summary *s, size_t i) {
    const struct summary_row *r = &s->row[i];
    for (size_t j = 0; j < s->n; j++) {
        const struct summary_row *o = &s->row[j];
        const bool more = o->times_less > r->times_less || (o->times_less == r->times_less && j < i);
        if (has_traffic(o) && o->base == r->base && more && o->times_less <= (1 + ALIKE) * r->times_less)
            return false;
    }
    return true;
}

/* The level whose row with the least traffic is row i; first is NULL if there is none. */
static struct level find_level(const struct summary *s, size_t i) {
    struct level level = {.lead = NAN, .half = NAN};
    const struct summary_row *top = &s->row[i];
    size_t pairs;
    if (!has_traffic(top) || !begins_level(s, i))
        return level;
    for (int second = 0; second < 2; second++)
        for (size_t j = 0; j < s->n; j++) {
            const struct summary_row *o = &s->row[j], **best = second ? &level.second : &level.first;
            const bool alike = o->times_less <= top->times_less && (1 + ALIKE) * o->times_less >= top->times_less;
            if (has_traffic(o) && o->base == top->base && alike && (!*best || o->loss < (*best)->loss) &&
                !(second && strcmp(o->label->method, level.first->label->method) == 0))
                *best = o;
        }
    if (!level.second)
        return (struct level){.lead = NAN, .half = NAN};
    level.lead = fmax(0, 0 - summary_loss(&level.half, &pairs, s, level.first, level.second));
    return level;
}

static bool beyond_noise(const struct level *l) {
    return l->lead - l->half > 0; /* false for a NaN */
}

static void put_level(FILE *out, const struct summary *s, const struct level *l) {
    char sent[SUMMARY_TEXT], lead[SUMMARY_TEXT];
    if (l->lead == 0 && l->half == 0) {
        fprintf(out, "With %s %s and %s end alike", summary_traffic_text(l->first->times_less, sent),
                l->first->label->label, l->second->label->label);
        return;
    }
    fprintf(out, "%s %s %s ends %s %s %s%s", l->first->times_less >= 0.995 ? "At" : "With",
            summary_traffic_text(l->first->times_less, sent), l->first->label->label,
            summary_loss_text(s, l->lead, l->half, l->first->mean, l->second->mean, lead),
            s->metric->higher ? "above" : "below", l->second->label->label,
            beyond_noise(l)  ? ""
            : isnan(l->half) ? ", at one seed"
                             : ", within the noise of the seeds");
}

/* Says which method is the best at most of the levels. */
static void put_levels(FILE *out, const struct level *level, size_t n) {
    size_t most = 0, beyond = 0;
    const char *best = NULL;
    for (size_t i = 0; i < n; i++) {
        size_t wins = 0;
        for (size_t j = 0; j < n; j++)
            wins += strcmp(level[i].first->label->method, level[j].first->label->method) == 0;
        if (wins > most) {
            most = wins;
            best = level[i].first->label->method;
        }
    }
    for (size_t i = 0; i < n; i++)
        beyond += strcmp(level[i].first->label->method, best) == 0 && beyond_noise(&level[i]);
    if (2 * most <= n)
        fprintf(out, "At equal traffic no method is the best at more than %zu of %zu volumes", most, n);
    else if (beyond == 0 || beyond == most)
        fprintf(out, "At equal traffic %s is the best at %zu of %zu volumes, %s the noise of the seeds", best, most, n,
                beyond == 0 ? "within" : "beyond");
    else
        fprintf(out,
                "At equal traffic %s is the best at %zu of %zu volumes, at %zu of them beyond the noise of the seeds",
                best, most, n, beyond);
}

bool summary_put_equal_traffic(FILE *out, struct sg_document_summary *found, const struct summary *s) {
    struct sg_arena *memory = &s->document->memory;
    struct level *level = sg_arena_get(memory, s->n * sizeof *level);
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct level at = find_level(s, i);
        if (at.first)
            level[n++] = at;
    }
    found->n_equal_traffic = n;
    found->equal_traffic = sg_arena_get(memory, n * sizeof *found->equal_traffic);
    for (size_t i = 0; i < n; i++)
        found->equal_traffic[i] =
            (struct sg_document_level){.times_less = level[i].first->times_less,
                                       .first = level[i].first->label->label,
                                       .second = level[i].second->label->label,
                                       .lead = sg_quantity_amount(s->metric->quantity, level[i].lead),
                                       .beyond_noise = beyond_noise(&level[i])};
    if (n == 1)
        put_level(out, s, level);
    else if (n > 1)
        put_levels(out, level, n);
    return n > 0;
}

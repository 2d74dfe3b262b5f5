/* grid_judge.c: the verdict on a claim, from the numbers of its seeds in the result. A grid and `sparsebench --rejudge`
 * both use it. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "grid_private.h"
#include "sg_stats.h"
#include "sg_task.h"

enum { REASON = SG_WHY_CHARS + 128 };

/* The numbers of a claim at its seeds; all arrays [n]. */
struct pairs {
    size_t n, n_true, n_unknown, n_infinite;
    bool at_least;
    double *value, *bound, *margin;
    const char *unknown; /* why the first unknown seed is unknown; NULL = none is, or no reason was given */
};

/* How far the value lies on the side of the bound that the claim says, over the seeds. */
struct margin {
    const struct sg_quantity_kind *kind;
    double mean, half;
};

/* A value or bound of a seed. JSON has null where it is infinite, because a record that it waits for never comes. */
static double number_of(const struct sg_document_seed *seed, double x, bool turned) {
    return !isnan(x) || !strstr(sg_or(seed->note, ""), SG_NEVER) ? x : turned ? -INFINITY : INFINITY;
}

static struct pairs read_pairs(const struct sg_document_claim *claim, struct sg_arena *memory) {
    const size_t n = claim->n_seeds;
    double *room = sg_arena_get(memory, 3 * n * sizeof *room);
    struct pairs p = {.at_least = strcmp(sg_or(claim->sense, ""), "at-least") == 0,
                      .value = room,
                      .bound = room + n,
                      .margin = room + 2 * n};
    for (size_t i = 0; i < n; i++) {
        const struct sg_document_seed *seed = &claim->seeds[i];
        const bool turned = claim->bound && claim->bound->times < 0;
        const double value = number_of(seed, seed->value, false), bound = number_of(seed, seed->bound, turned);
        const bool unknown = isnan(value - bound); /* also two infinities, which are not comparable */
        if (unknown && p.n_unknown++ == 0)
            p.unknown = seed->note;
        p.n_infinite += isinf(value) || isinf(bound);
        p.n_true += !unknown && (p.at_least ? value >= bound : value <= bound);
        p.value[p.n] = value;
        p.bound[p.n++] = bound;
    }
    return p;
}

/* The quantity on whose scale the claim is judged: that of its metric. A ratio needs positive numbers; where one is
 * not, the scale is that of differences. */
static enum sg_quantity quantity_of(const struct pairs *p, const struct sg_document_claim *claim) {
    const struct sg_metric *metric = sg_column_find(sg_or(claim->metric, ""));
    const enum sg_quantity quantity = metric ? metric->quantity : SG_QUANTITY_AMOUNT;
    bool positive = true;
    for (size_t i = 0; i < p->n; i++)
        positive = positive && p->value[i] > 0 && p->bound[i] > 0;
    return sg_quantity_kinds[quantity].logarithm && !positive ? SG_QUANTITY_SIGNED : quantity;
}

static struct margin find_margin(struct pairs *p, const struct sg_document_claim *claim) {
    const enum sg_quantity quantity = quantity_of(p, claim);
    for (size_t i = 0; i < p->n; i++) {
        const double above = sg_quantity_distance(quantity, p->value[i], p->bound[i]);
        p->margin[i] = p->at_least ? above : -above;
    }
    return (struct margin){&sg_quantity_kinds[quantity], sg_stats_mean(p->margin, p->n),
                           sg_stats_half_interval(p->margin, p->n)};
}

/* "margin 1.6 points, 95 % -1.4 to 4.6" */
static void put_margin(char *out, size_t size, const struct margin *m) {
    const double low = m->mean - m->half, high = m->mean + m->half;
    if (strcmp(m->kind->unit, "times") == 0)
        snprintf(out, size, "margin %.3g times, 95 %% %.3g to %.3g", exp(m->mean), exp(low), exp(high));
    else
        snprintf(out, size, "margin %.3g%s%s, 95 %% %.3g to %.3g", m->mean / m->kind->per_unit,
                 *m->kind->unit ? " " : "", m->kind->unit, low / m->kind->per_unit, high / m->kind->per_unit);
}

/* Why a claim that is true at every seed, or at none, is within noise. */
static void put_doubt(char *out, size_t size, const struct pairs *p, const struct margin *m) {
    if (p->n == 1)
        snprintf(out, size, "one seed");
    else if (isnan(m->half))
        snprintf(out, size, "no interval: at %zu of %zu seeds it is never reached", p->n_infinite, p->n);
    else
        put_margin(out, size, m);
}

/* The verdict; reason <- what explains it, "" for one that holds. */
static const char *verdict(char reason[REASON], const struct pairs *p, const struct margin *m) {
    const bool beyond = p->n > 1 && (p->n_true > 0 ? m->mean - m->half >= 0 : m->mean + m->half < 0);
    char doubt[REASON / 2] = "";
    *reason = '\0';
    if (p->n_unknown > 0 || (p->n_true > 0 && p->n_true < p->n)) {
        if (p->n_unknown > 0)
            snprintf(reason, REASON, "%s", p->unknown ? p->unknown : "");
        else
            snprintf(reason, REASON, "true at %zu of %zu seeds", p->n_true, p->n);
        return "undecided";
    }
    if (!beyond)
        put_doubt(doubt, sizeof doubt, p, m);
    if (p->n_true > 0) {
        snprintf(reason, REASON, "%s", doubt);
        return beyond ? "holds" : "holds at these seeds";
    }
    if (p->n == 1)
        snprintf(reason, REASON, "false at the only seed");
    else
        snprintf(reason, REASON, "true at none of %zu seeds%s%s", p->n, beyond ? "" : "; ", doubt);
    return beyond ? "fails" : "fails at these seeds";
}

void grid_judge_claim(struct sg_document_claim *claim, struct sg_arena *memory) {
    struct pairs p = read_pairs(claim, memory);
    char reason[REASON];
    const struct margin m = find_margin(&p, claim);
    claim->verdict = verdict(reason, &p, &m);
    claim->reason = *reason ? sg_arena_text(memory, reason) : NULL;
    claim->margin = sg_arena_get(memory, sizeof *claim->margin);
    *claim->margin = (struct sg_document_margin){
        .scale = m.kind->logarithm ? "logarithm" : "difference", .mean = m.mean, .half_width = m.half};
}

/* True if the finding is of training, and was not taken back by sg_grid_unjudge. */
static bool has_finding(const struct sg_document *d) {
    const struct sg_document_claim *first = d->n_claims > 0 ? d->claims : NULL;
    const char *why = sg_or(d->summary ? d->summary->reason : NULL, "");
    const bool taken_back =
        first && strcmp(sg_or(first->verdict, ""), SG_NOT_JUDGED) == 0 && strcmp(sg_or(first->reason, ""), why) == 0;
    return *sg_document_task(d) && !d->kind && !taken_back;
}

void sg_grid_rejudge(struct sg_document *d) {
    for (size_t i = 0; i < d->n_claims; i++)
        if (d->claims[i].n_seeds > 0 && strcmp(sg_or(d->claims[i].verdict, ""), SG_NOT_JUDGED) != 0)
            grid_judge_claim(&d->claims[i], &d->memory);
    if (has_finding(d))
        grid_summarize(d, NULL);
}

void sg_grid_unjudge(struct sg_document *d, const char *why) {
    for (size_t i = 0; i < d->n_claims; i++) {
        d->claims[i].verdict = SG_NOT_JUDGED;
        d->claims[i].reason = why;
        d->claims[i].margin = NULL;
    }
    if (d->summary) { /* of training */
        d->summary->text = NULL;
        d->summary->reason = why;
    }
}

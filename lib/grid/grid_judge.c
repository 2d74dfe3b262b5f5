/* grid_judge.c: the verdict on a claim, from the numbers of its seeds in the result. A grid and `sparsebench --rejudge`
 * both use it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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
static double number_of(const cJSON *claim, const cJSON *seed, const char *key) {
    const double x = sg_json_number(seed, key, NAN);
    if (!isnan(x) || !strstr(sg_json_string(seed, "note", ""), SG_NEVER))
        return x;
    const bool turned = strcmp(key, "bound") == 0 && sg_json_number(claim, "bound.times", 1) < 0;
    return turned ? -INFINITY : INFINITY;
}

static bool read_pairs(struct pairs *out, const cJSON *claim) {
    const cJSON *seeds = sg_json_get(claim, "seeds"), *seed;
    const size_t n = (size_t)cJSON_GetArraySize(seeds);
    double *room = calloc(3 * n + 1, sizeof *room);
    *out = (struct pairs){.at_least = strcmp(sg_json_string(claim, "sense", ""), "at-least") == 0,
                          .value = room,
                          .bound = room + n,
                          .margin = room + 2 * n};
    if (!room)
        return false;
    cJSON_ArrayForEach(seed, seeds) {
        const double value = number_of(claim, seed, "value"), bound = number_of(claim, seed, "bound");
        const bool unknown = isnan(value - bound); /* also two infinities, which are not comparable */
        if (unknown && out->n_unknown++ == 0)
            out->unknown = sg_json_string(seed, "note", NULL);
        out->n_infinite += isinf(value) || isinf(bound);
        out->n_true += !unknown && (out->at_least ? value >= bound : value <= bound);
        out->value[out->n] = value;
        out->bound[out->n++] = bound;
    }
    return true;
}

/* The quantity on whose scale the claim is judged: that of its metric. A ratio needs positive numbers; where one is
 * not, the scale is that of differences. */
static enum sg_quantity quantity_of(const struct pairs *p, const cJSON *claim) {
    const struct sg_metric *metric = sg_column_find(sg_json_string(claim, "metric", ""));
    const enum sg_quantity quantity = metric ? metric->quantity : SG_QUANTITY_AMOUNT;
    bool positive = true;
    for (size_t i = 0; i < p->n; i++)
        positive = positive && p->value[i] > 0 && p->bound[i] > 0;
    return sg_quantity_kinds[quantity].logarithm && !positive ? SG_QUANTITY_SIGNED : quantity;
}

static struct margin find_margin(struct pairs *p, const cJSON *claim) {
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

static void replace(cJSON *object, const char *key, cJSON *take_value) {
    if (take_value)
        cJSON_ReplaceItemInObjectCaseSensitive(object, key, take_value);
}

void grid_judge_claim(cJSON *claim) {
    struct pairs p;
    char reason[REASON];
    if (!read_pairs(&p, claim)) {
        sg_json_lost();
        return;
    }
    const struct margin m = find_margin(&p, claim);
    cJSON *seeds = cJSON_DetachItemFromObjectCaseSensitive(claim, "seeds");
    replace(claim, "verdict", cJSON_CreateString(verdict(reason, &p, &m)));
    replace(claim, "reason", *reason ? cJSON_CreateString(reason) : cJSON_CreateNull());
    cJSON_DeleteItemFromObjectCaseSensitive(claim, "margin");
    SG_SET(claim,
           SG_VALUE("margin", SG_OBJECT(SG_TEXT("scale", m.kind->logarithm ? "logarithm" : "difference"),
                                        SG_NUMBER("mean", m.mean), SG_NUMBER("half_width", m.half))),
           SG_VALUE("seeds", seeds));
    free(p.value);
}

/* True if the finding is of training, and was not taken back by sg_grid_unjudge. */
static bool has_finding(const cJSON *document) {
    const cJSON *claims = sg_json_get(document, "claims");
    const char *why = sg_json_string(document, "summary.reason", "");
    const bool taken_back = claims && strcmp(sg_json_string(claims->child, "verdict", ""), SG_NOT_JUDGED) == 0 &&
                            strcmp(sg_json_string(claims->child, "reason", ""), why) == 0;
    return sg_json_get(document, "recipe.resolved.task") && !sg_json_get(document, "kind") && !taken_back;
}

void sg_grid_rejudge(cJSON *document) {
    cJSON *claim;
    cJSON_ArrayForEach(claim, cJSON_GetObjectItemCaseSensitive(document, "claims")) {
        if (cJSON_GetArraySize(sg_json_get(claim, "seeds")) > 0 &&
            strcmp(sg_json_string(claim, "verdict", ""), SG_NOT_JUDGED) != 0)
            grid_judge_claim(claim);
    }
    if (has_finding(document))
        grid_summarize(document, NULL);
}

/* bench_claims.c: judges the claims of a recipe of kernels in every case.
 *
 * The operations of a case are timed in turn, so that the samples of one number are neighbours in time. Their quotients
 * (value / bound) are the pairs by which a case is judged: it is true or false if the quartiles of the quotients are
 * both on one side of 1. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "bench_private.h"
#include "sg_memory.h"
#include "sg_recipe_claim.h"
#include "sg_stats.h"

enum { REASON = 320, CASE = 160 };

struct tally {
    size_t cases, holds, fails;
    char failing[CASE], open[REASON]; /* the first case that is false, and why the first open one is open */
};

/* The row of an operation in the case that begins with the row `reference`. Of several back-ends it is the last one,
 * which all operations of a case share. NULL = the back-ends leave the operation out. */
static const cJSON *find_row(const cJSON *reference, const char *operation) {
    const cJSON *found = NULL;
    for (const cJSON *row = reference->next; row && !is_reference(row); row = row->next)
        if (strcmp(sg_json_string(row, "operation", ""), operation) == 0)
            found = row;
    return found;
}

static double item_number(const cJSON *item) {
    return cJSON_IsRaw(item) ? strtod(item->valuestring, NULL) : item->valuedouble;
}

/* The quotients of the samples, value / bound, infinite where the bound is not positive. *n <- how many there are. The
 * caller frees them. */
static double *quotients(size_t *n, const struct sg_recipe_claim *c, const cJSON *value, const cJSON *other) {
    const cJSON *v = sg_json_get(value, "time_s.samples"), *w = sg_json_get(other, "time_s.samples");
    double *out = sg_malloc((size_t)(cJSON_GetArraySize(v) + 1) * sizeof *out);
    const cJSON *y = w ? w->child : NULL;
    *n = 0;
    for (const cJSON *x = v ? v->child : NULL; x && (y || c->constant_bound); x = x->next) {
        const double bound = sg_recipe_claim_bound(c, y ? item_number(y) : NAN);
        out[(*n)++] = bound > 0 ? item_number(x) / bound : INFINITY;
        y = y ? y->next : NULL;
    }
    return out;
}

/* Why an operation has no time in a case. */
static void explain(char why[CASE], const char *operation, const cJSON *row) {
    const char *reason = row ? sg_json_string(row, "reason", NULL) : "the back-ends leave it out";
    snprintf(why, CASE, "%.32s was not timed: %.100s", operation, reason ? reason : "its output is wrong");
}

/* Judges the case that begins with this row, and adds it to `cases`. */
static void weigh(cJSON *cases, struct tally *tally, const struct sg_recipe_claim *c, const cJSON *reference) {
    const cJSON *value = find_row(reference, c->value.of);
    const cJSON *other = c->constant_bound ? NULL : find_row(reference, c->other.of);
    const double v = sg_json_number(value, "time_s.median", NAN), w = sg_json_number(other, "time_s.median", NAN);
    const double threads = sg_json_number(reference, "threads", 1), bound = sg_recipe_claim_bound(c, w);
    size_t n;
    double *q = quotients(&n, c, value, other);
    const double low = sg_stats_quantile(q, n, 0.25), high = sg_stats_quantile(q, n, 0.75);
    const bool holds = c->at_least ? low >= 1 : high <= 1, fails = c->at_least ? high < 1 : low > 1;
    char name[CASE], why[CASE] = "";
    snprintf(name, sizeof name, "%s of %.0f, %s, density %g, %g thread%s", sg_json_string(reference, "size", "?"),
             sg_json_number(reference, "n", NAN), sg_json_string(reference, "distribution", "?"),
             sg_json_number(reference, "density", NAN), threads, threads > 1 ? "s" : "");
    if (isnan(v) || isnan(bound))
        explain(why, isnan(v) ? c->value.of : c->other.of, isnan(v) ? value : other);
    else if (!holds && !fails)
        snprintf(why, sizeof why, "the quartiles of value / bound are on both sides of 1");
    tally->cases++;
    tally->holds += holds;
    tally->fails += fails;
    if (fails && !*tally->failing)
        snprintf(tally->failing, CASE, "%s", name);
    if (*why && !*tally->open)
        snprintf(tally->open, REASON, "%s: %s", name, why);
    sg_json_push(cases, SG_OBJECT(SG_TEXT("case", name), SG_TEXT("back_end", sg_json_string(value, "back_end", NULL)),
                                  SG_NUMBER("value", v), SG_NUMBER("other", w), SG_NUMBER("bound", bound),
                                  SG_NUMBER("ratio", sg_stats_quantile(q, n, 0.5)), SG_NUMBER("ratio_q1", low),
                                  SG_NUMBER("ratio_q3", high), SG_TEXT("note", *why ? why : NULL)));
    free(q);
}

/* Cases are no draws of one quantity, so that a claim about all of them fails by a single one. */
static const char *verdict(char reason[REASON + CASE], const struct tally *t) {
    if (t->fails > 0)
        snprintf(reason, REASON + CASE, "false in %zu of %zu cases, first %s", t->fails, t->cases, t->failing);
    else if (t->holds < t->cases)
        snprintf(reason, REASON + CASE, "undecided in %zu of %zu cases, first %s", t->cases - t->holds, t->cases,
                 t->open);
    else if (t->cases == 0)
        snprintf(reason, REASON + CASE, "no case was timed");
    return t->cases == 0 ? SG_NOT_JUDGED : t->fails > 0 ? "fails" : t->holds == t->cases ? "holds" : "undecided";
}

static cJSON *claim_json(const struct sg_node *node, const cJSON *results) {
    const struct sg_recipe_claim c = sg_recipe_claim(node);
    struct tally tally = {0};
    char reason[REASON + CASE] = "";
    cJSON *cases = cJSON_CreateArray();
    const cJSON *row;
    cJSON_ArrayForEach(row, results) {
        if (is_reference(row))
            weigh(cases, &tally, &c, row);
    }
    const char *word = verdict(reason, &tally);
    return SG_SET(sg_recipe_claim_json(&c, word, *reason ? reason : NULL), SG_VALUE("cases", cases));
}

cJSON *sg_bench_claims(const struct sg_recipe *recipe, const cJSON *results) {
    const struct sg_node *claims = sg_node_get(&recipe->root, "claims");
    cJSON *out = cJSON_CreateArray();
    for (size_t i = 0; claims && i < claims->count; i++)
        sg_json_push(out, claim_json(&claims->child[i], results));
    return out;
}

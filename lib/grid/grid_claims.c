/* grid_claims.c: judges the claims of a recipe at every seed. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sg_grid.h"
#include "sg_text.h"

/* What is computed on one side of a claim. */
struct term {
    const char *of, *metric;
    const struct sg_node *at;
};

struct claim {
    struct term value, other;
    double times, plus;  /* the bound is times x + plus, with x of `other` */
    bool constant_bound; /* plus alone */
    bool at_least;
};

struct tally {
    size_t seeds, holds, unknown;
    char reason[SG_WHY_CHARS + 128]; /* why the first unknown is unknown */
};

static const struct sg_node *present(const struct sg_node *node, const char *path) {
    const struct sg_node *found = sg_node_get(node, path);
    return found && found->kind != SG_NODE_NULL ? found : NULL;
}

/* Reads a claim. Its bound is at-most or at-least, of which the recipe's parser leaves one: a number, or {times, plus,
 * of, metric, at}. */
static struct claim read_claim(const struct sg_node *node) {
    struct claim c = {
        .value = {sg_node_string(node, "of", ""), sg_node_string(node, "metric", ""), present(node, "at")},
        .at_least = present(node, "at-least") != NULL};
    const struct sg_node *bound = present(node, c.at_least ? "at-least" : "at-most");
    if (!bound || bound->kind == SG_NODE_NUMBER) {
        c.constant_bound = true;
        c.plus = bound ? bound->number : NAN;
        return c;
    }
    c.other.of = sg_node_string(bound, "of", c.value.of);
    c.other.metric = sg_node_string(bound, "metric", c.value.metric);
    c.other.at = present(bound, "at") ? present(bound, "at") : c.value.at;
    c.times = sg_node_number(bound, "times", 1);
    c.plus = sg_node_number(bound, "plus", 0);
    return c;
}

static double evaluate(const struct term *t, const struct sg_cell *cells, const struct sg_cell_outcome *outcomes,
                       size_t count, uint64_t seed, char why[SG_WHY_CHARS + 128]) {
    char reason[SG_WHY_CHARS];
    for (size_t i = 0; i < count; i++)
        if (cells[i].seed == seed && strcmp(cells[i].label, t->of) == 0) {
            double x = sg_grid_value(&outcomes[i], t->metric, t->at, reason);
            if (*reason)
                snprintf(why, SG_WHY_CHARS + 128, "%s, seed %llu: %s", t->of, (unsigned long long)seed, reason);
            return x;
        }
    snprintf(why, SG_WHY_CHARS + 128, "%.64s, seed %llu: not run", t->of, (unsigned long long)seed);
    return NAN;
}

/* Judges one seed of a claim and adds it to `seeds`. Two infinities cannot be compared: both sides were never reached.
 */
static void weigh(cJSON *seeds, struct tally *tally, const struct claim *c, const struct sg_cell *cells,
                  const struct sg_cell_outcome *outcomes, size_t count, uint64_t seed) {
    char note[SG_WHY_CHARS + 128] = "";
    double value = evaluate(&c->value, cells, outcomes, count, seed, note);
    double other = c->constant_bound ? NAN : evaluate(&c->other, cells, outcomes, count, seed, note);
    double bound = c->constant_bound ? c->plus : c->times * other + c->plus;
    bool unknown = isnan(value) || isnan(bound) || (isinf(value) && isinf(bound));
    tally->seeds++;
    tally->unknown += unknown;
    tally->holds += !unknown && (c->at_least ? value >= bound : value <= bound);
    if (unknown && !*tally->reason)
        snprintf(tally->reason, sizeof tally->reason, "%s", note);
    cJSON *entry = cJSON_CreateObject();
    sg_json_set_u64(entry, "seed", seed);
    sg_json_set_number(entry, "value", value);
    sg_json_set_number(entry, "other", other);
    sg_json_set_number(entry, "bound", bound);
    sg_json_set_number(entry, "ratio", value / bound);
    sg_json_set_string(entry, "note", *note ? note : NULL);
    sg_json_push(seeds, entry);
}

static bool asked_for(const char *label, const struct sg_cell *cells, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(cells[i].label, label) == 0)
            return true;
    return false;
}

/* The first cell of a label that is not finished; NULL = all are. */
static const struct sg_cell *unfinished(const char *label, const struct sg_cell *cells,
                                        const struct sg_cell_outcome *outcomes, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(cells[i].label, label) == 0 && sg_grid_unfinished(&outcomes[i]))
            return &cells[i];
    return NULL;
}

static const char *verdict(struct tally *t) {
    if (t->unknown > 0)
        return "undecided";
    if (t->holds == t->seeds)
        return "holds";
    if (t->holds > 0)
        snprintf(t->reason, sizeof t->reason, "true at %zu of %zu seeds", t->holds, t->seeds);
    else
        snprintf(t->reason, sizeof t->reason, t->seeds == 1 ? "false at the only seed" : "true at none of %zu seeds",
                 t->seeds);
    return t->holds > 0 ? "undecided" : "fails";
}

/* {"metric","at","of"} of a term, added to `out`; null where there is none. */
static void set_term(cJSON *out, const struct term *t) {
    char metric[64];
    sg_json_set_string(out, "metric", t->metric ? sg_snake(metric, sizeof metric, t->metric) : NULL);
    sg_json_set(out, "at", t->at ? sg_node_json(t->at) : NULL);
    sg_json_set_string(out, "of", t->of);
}

/* What the bound is made of, so that a reader can compute it again from the `other` of each seed. */
static cJSON *bound_json(const struct claim *c) {
    cJSON *out = cJSON_CreateObject();
    set_term(out, &c->other);
    sg_json_set_number(out, "times", c->constant_bound ? NAN : c->times);
    sg_json_set_number(out, "plus", c->plus);
    return out;
}

static cJSON *claim_json(const struct sg_node *node, const struct sg_cell *cells,
                         const struct sg_cell_outcome *outcomes, size_t count) {
    struct claim c = read_claim(node);
    struct tally tally = {0};
    char reach[SG_REACH_CHARS];
    cJSON *seeds = cJSON_CreateArray(), *out = cJSON_CreateObject();
    const char *missing = !asked_for(c.value.of, cells, count)                        ? c.value.of
                          : !c.constant_bound && !asked_for(c.other.of, cells, count) ? c.other.of
                                                                                      : NULL;
    const struct sg_cell *open = unfinished(c.value.of, cells, outcomes, count);
    if (!open && !c.constant_bound)
        open = unfinished(c.other.of, cells, outcomes, count);
    for (size_t i = 0; i < count && !missing && !open; i++)
        if (strcmp(cells[i].label, c.value.of) == 0)
            weigh(seeds, &tally, &c, cells, outcomes, count, cells[i].seed);
    const char *word = missing || open ? SG_NOT_JUDGED : verdict(&tally);
    if (missing)
        snprintf(tally.reason, sizeof tally.reason, "%.64s was not asked for", missing);
    else if (open)
        snprintf(tally.reason, sizeof tally.reason, "not yet: %.64s, seed %llu: %s", open->label,
                 (unsigned long long)open->seed, sg_grid_reach_text(reach, open, &outcomes[open - cells]));
    sg_json_set_string(out, "text", sg_node_string(node, "text", NULL));
    sg_json_set_bool(out, "descriptive", sg_node_bool(node, "descriptive", false));
    sg_json_set_string(out, "note", sg_node_string(node, "note", NULL));
    sg_json_set_string(out, "verdict", word);
    set_term(out, &c.value);
    sg_json_set_string(out, "sense", c.at_least ? "at-least" : "at-most");
    sg_json_set(out, "bound", bound_json(&c));
    sg_json_set_string(out, "reason", *tally.reason ? tally.reason : NULL);
    sg_json_set(out, "seeds", seeds);
    return out;
}

cJSON *sg_grid_claims(const struct sg_recipe *recipe, const struct sg_cell *cells,
                      const struct sg_cell_outcome *outcomes, size_t count) {
    const struct sg_node *claims = sg_node_get(&recipe->root, "claims");
    cJSON *out = cJSON_CreateArray();
    for (size_t i = 0; claims && i < claims->count; i++)
        sg_json_push(out, claim_json(&claims->child[i], cells, outcomes, count));
    return out;
}

/* grid_claims.c: judges the claims of a recipe at every seed. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "grid_private.h"
#include "sg_text.h"

/* One side of a claim, reduced to a number per seed. */
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

/* Reads a claim. Its bound is at-most or at-least, of which the recipe's parser keeps one: a number, or {times, plus,
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

static double evaluate(const struct term *t, const struct grid_frame *g, uint64_t seed, char why[SG_WHY_CHARS + 128]) {
    const struct sg_frame_label *label = sg_frame_label(&g->frame, t->of);
    char reason[SG_WHY_CHARS];
    for (size_t i = 0; i < label->n_seeds; i++)
        if (g->cells[grid_first_cell(g, label) + i].seed == seed) {
            const double x = sg_frame_value(&label->seed[i], t->metric, t->at, reason);
            if (*reason)
                snprintf(why, SG_WHY_CHARS + 128, "%s, seed %llu: %s", t->of, (unsigned long long)seed, reason);
            return x;
        }
    snprintf(why, SG_WHY_CHARS + 128, "%.64s, seed %llu: not run", t->of, (unsigned long long)seed);
    return NAN;
}

/* Judges one seed of a claim and adds it to `seeds`. Two infinities, two values never reached, are not comparable. */
static void weigh(cJSON *seeds, struct tally *tally, const struct claim *c, const struct grid_frame *g, uint64_t seed) {
    char note[SG_WHY_CHARS + 128] = "";
    double value = evaluate(&c->value, g, seed, note);
    double other = c->constant_bound ? NAN : evaluate(&c->other, g, seed, note);
    double bound = c->constant_bound ? c->plus : c->times * other + c->plus;
    bool unknown = isnan(value) || isnan(bound) || (isinf(value) && isinf(bound));
    tally->seeds++;
    tally->unknown += unknown;
    tally->holds += !unknown && (c->at_least ? value >= bound : value <= bound);
    if (unknown && !*tally->reason)
        snprintf(tally->reason, sizeof tally->reason, "%s", note);
    sg_json_push(seeds, SG_OBJECT(SG_U64("seed", seed), SG_NUMBER("value", value), SG_NUMBER("other", other),
                                  SG_NUMBER("bound", bound), SG_NUMBER("ratio", value / bound),
                                  SG_TEXT("note", *note ? note : NULL)));
}

/* Writes the progress of the first unfinished run of a label into `out`; false = all are finished. */
static bool tell_open(char *out, size_t size, const struct grid_frame *g, const struct sg_frame_label *label) {
    char reach[SG_REACH_CHARS];
    for (size_t i = 0; i < label->n_seeds; i++) {
        const size_t cell = grid_first_cell(g, label) + i;
        if (!sg_run_status_is_open(label->seed[i].status))
            continue;
        snprintf(out, size, "not yet: %.64s, seed %" PRIu64 ": %s", label->label, g->cells[cell].seed,
                 sg_grid_reach_text(reach, &g->cells[cell], &g->outcomes[cell]));
        return true;
    }
    return false;
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

/* Adds {"metric","at","of"} of a term to `out`; null where there is none. */
static void set_term(cJSON *out, const struct term *t) {
    char metric[64];
    SG_SET(out, SG_TEXT("metric", t->metric ? sg_snake(metric, sizeof metric, t->metric) : NULL),
           SG_VALUE("at", t->at ? sg_node_json(t->at) : NULL), SG_TEXT("of", t->of));
}

/* The parts of the bound, from which a reader can compute it again with the `other` of each seed. */
static cJSON *bound_json(const struct claim *c) {
    cJSON *out = cJSON_CreateObject();
    set_term(out, &c->other);
    return SG_SET(out, SG_NUMBER("times", c->constant_bound ? NAN : c->times), SG_NUMBER("plus", c->plus));
}

static cJSON *claim_json(const struct sg_node *node, const struct grid_frame *g) {
    struct claim c = read_claim(node);
    struct tally tally = {0};
    cJSON *seeds = cJSON_CreateArray(), *out = cJSON_CreateObject();
    const char *of[] = {c.value.of, c.constant_bound ? c.value.of : c.other.of}, *word = NULL;
    const struct sg_frame_label *label[] = {sg_frame_label(&g->frame, of[0]), sg_frame_label(&g->frame, of[1])};
    for (size_t i = 0; i < 2 && !word; i++)
        if (!label[i]) {
            snprintf(tally.reason, sizeof tally.reason, "%.64s was not asked for", of[i]);
            word = SG_NOT_JUDGED;
        }
    for (size_t i = 0; i < 2 && !word; i++)
        if (tell_open(tally.reason, sizeof tally.reason, g, label[i]))
            word = SG_NOT_JUDGED;
    for (size_t i = 0; !word && i < label[0]->n_seeds; i++)
        weigh(seeds, &tally, &c, g, g->cells[grid_first_cell(g, label[0]) + i].seed);
    word = word ? word : verdict(&tally);
    SG_SET(out, SG_TEXT("text", sg_node_string(node, "text", NULL)),
           SG_BOOL("descriptive", sg_node_bool(node, "descriptive", false)),
           SG_TEXT("note", sg_node_string(node, "note", NULL)), SG_TEXT("verdict", word));
    set_term(out, &c.value);
    return SG_SET(out, SG_TEXT("sense", c.at_least ? "at-least" : "at-most"), SG_VALUE("bound", bound_json(&c)),
                  SG_TEXT("reason", *tally.reason ? tally.reason : NULL), SG_VALUE("seeds", seeds));
}

cJSON *grid_claims_json(const struct grid_frame *g) {
    const struct sg_node *claims = sg_node_get(&g->recipe->root, "claims");
    cJSON *out = cJSON_CreateArray();
    for (size_t i = 0; claims && i < claims->count; i++)
        sg_json_push(out, claim_json(&claims->child[i], g));
    return out;
}

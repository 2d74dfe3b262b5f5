/* grid_claims.c: judges the claims of a recipe at every seed. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "grid_private.h"
#include "sg_text.h"

struct tally {
    size_t seeds, holds, unknown;
    char reason[SG_WHY_CHARS + 128]; /* why the first unknown is unknown */
};

static double evaluate(const struct sg_claim_term *t, const struct grid_frame *g, uint64_t seed,
                       char why[SG_WHY_CHARS + 128]) {
    const struct sg_frame_label *label = sg_frame_label(&g->frame, t->of);
    char reason[SG_WHY_CHARS];
    for (size_t i = 0; i < label->n_seeds; i++)
        if (g->cells[grid_study(g, label, i)->cell].seed == seed) {
            const double x = sg_frame_value(&label->seed[i], t->metric, t->at, reason);
            if (*reason)
                snprintf(why, SG_WHY_CHARS + 128, "%s, seed %llu: %s", t->of, (unsigned long long)seed, reason);
            return x;
        }
    snprintf(why, SG_WHY_CHARS + 128, "%.64s, seed %llu: not run", t->of, (unsigned long long)seed);
    return NAN;
}

/* Judges one seed of a claim and adds it to `seeds`. Two infinities, two values never reached, are not comparable. */
static void weigh(cJSON *seeds, struct tally *tally, const struct sg_recipe_claim *c, const struct grid_frame *g,
                  uint64_t seed) {
    char note[SG_WHY_CHARS + 128] = "";
    double value = evaluate(&c->value, g, seed, note);
    double other = c->constant_bound ? NAN : evaluate(&c->other, g, seed, note);
    double bound = sg_recipe_claim_bound(c, other);
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
        const size_t cell = grid_study(g, label, i)->cell;
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

static cJSON *claim_json(const struct sg_node *node, const struct grid_frame *g) {
    struct sg_recipe_claim c = sg_recipe_claim(node);
    struct tally tally = {0};
    cJSON *seeds = cJSON_CreateArray();
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
        weigh(seeds, &tally, &c, g, g->cells[grid_study(g, label[0], i)->cell].seed);
    word = word ? word : verdict(&tally);
    return SG_SET(sg_recipe_claim_json(&c, word, *tally.reason ? tally.reason : NULL), SG_VALUE("seeds", seeds));
}

cJSON *grid_claims_json(const struct grid_frame *g) {
    const struct sg_node *claims = sg_node_get(&g->recipe->root, "claims");
    cJSON *out = cJSON_CreateArray();
    for (size_t i = 0; claims && i < claims->count; i++)
        sg_json_push(out, claim_json(&claims->child[i], g));
    return out;
}

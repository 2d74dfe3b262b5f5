/* grid_claims.c: evaluates the claims of a recipe at every seed, and has them judged. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "grid_private.h"
#include "sg_text.h"

static double evaluate(const struct sg_claim_term *t, const struct grid_frame *g, uint64_t seed,
                       char why[SG_WHY_CHARS + 128]) {
    const struct sg_frame_label *label = sg_frame_label(&g->frame, t->of);
    char reason[SG_WHY_CHARS];
    for (size_t i = 0; i < label->n_seeds; i++)
        if (g->cells[grid_study(g, label, i)->cell].study == seed) {
            const double x = sg_frame_value(&label->seed[i], t->metric, t->at, reason);
            if (*reason)
                snprintf(why, SG_WHY_CHARS + 128, "%s, seed %llu: %s", t->of, (unsigned long long)seed, reason);
            return x;
        }
    snprintf(why, SG_WHY_CHARS + 128, "%.64s, seed %llu: not run", t->of, (unsigned long long)seed);
    return NAN;
}

/* Adds the numbers of one seed of a claim to `seeds`. */
static void push_seed(cJSON *seeds, const struct sg_recipe_claim *c, const struct grid_frame *g, uint64_t seed) {
    char note[SG_WHY_CHARS + 128] = "";
    const double value = evaluate(&c->value, g, seed, note);
    const double other = c->constant_bound ? NAN : evaluate(&c->other, g, seed, note);
    const double bound = sg_recipe_claim_bound(c, other);
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
        const bool ended = sg_run_status_is_finished(sg_grid_status(&g->outcomes[cell]));
        snprintf(out, size, "not yet: %.64s, seed %" PRIu64 ": %s", label->label, g->cells[cell].study,
                 ended ? "the run of its winner" : sg_grid_reach_text(reach, &g->cells[cell], &g->outcomes[cell]));
        return true;
    }
    return false;
}

static cJSON *claim_json(const struct sg_node *node, const struct grid_frame *g) {
    struct sg_recipe_claim c = sg_recipe_claim(node);
    char reason[SG_WHY_CHARS + 128] = "";
    bool judged = true;
    cJSON *seeds = cJSON_CreateArray();
    const char *of[] = {c.value.of, c.constant_bound ? c.value.of : c.other.of};
    const struct sg_frame_label *label[] = {sg_frame_label(&g->frame, of[0]), sg_frame_label(&g->frame, of[1])};
    for (size_t i = 0; i < 2 && judged; i++)
        if (!label[i]) {
            snprintf(reason, sizeof reason, "%.64s was not asked for", of[i]);
            judged = false;
        }
    for (size_t i = 0; i < 2 && judged; i++)
        judged = !tell_open(reason, sizeof reason, g, label[i]);
    for (size_t i = 0; judged && i < label[0]->n_seeds; i++)
        push_seed(seeds, &c, g, g->cells[grid_study(g, label[0], i)->cell].study);
    cJSON *claim = SG_SET(sg_recipe_claim_json(&c, SG_NOT_JUDGED, judged ? NULL : reason), SG_VALUE("margin", NULL),
                          SG_VALUE("seeds", seeds));
    if (claim && judged)
        grid_judge_claim(claim);
    return claim;
}

cJSON *grid_claims_json(const struct grid_frame *g) {
    const struct sg_node *claims = sg_node_get(&g->recipe->root, "claims");
    cJSON *out = cJSON_CreateArray();
    for (size_t i = 0; claims && i < claims->count; i++)
        sg_json_push(out, claim_json(&claims->child[i], g));
    return out;
}

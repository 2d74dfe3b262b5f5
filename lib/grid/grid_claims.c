/* grid_claims.c: evaluates the claims of a recipe at every seed, and has them judged. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "grid_private.h"
#include "sg_text.h"

static double evaluate(const struct sg_claim_term *t, const struct grid_frame *g, uint64_t seed,
                       char why[SG_WHY_CHARS + 128]) {
    const struct sg_frame_label *label = sg_frame_label(g->frame, t->of);
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

/* The numbers of a claim at one seed. */
static struct sg_document_seed claim_seed(const struct sg_recipe_claim *c, const struct grid_frame *g, uint64_t seed) {
    char note[SG_WHY_CHARS + 128] = "";
    const double value = evaluate(&c->value, g, seed, note);
    const double other = c->constant_bound ? NAN : evaluate(&c->other, g, seed, note);
    const double bound = sg_recipe_claim_bound(c, other);
    return (struct sg_document_seed){.seed = grid_seed_text(g->memory, seed),
                                     .value = value,
                                     .other = other,
                                     .bound = bound,
                                     .ratio = value / bound,
                                     .note = *note ? sg_arena_text(g->memory, note) : NULL};
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

static void fill_claim(struct sg_document_claim *out, const struct sg_node *node, const struct grid_frame *g) {
    struct sg_recipe_claim c = sg_recipe_claim(node);
    char reason[SG_WHY_CHARS + 128] = "";
    bool judged = true;
    const char *of[] = {c.value.of, c.constant_bound ? c.value.of : c.other.of};
    const struct sg_frame_label *label[] = {sg_frame_label(g->frame, of[0]), sg_frame_label(g->frame, of[1])};
    for (size_t i = 0; i < 2 && judged; i++)
        if (!label[i]) {
            snprintf(reason, sizeof reason, "%.64s was not asked for", of[i]);
            judged = false;
        }
    for (size_t i = 0; i < 2 && judged; i++)
        judged = !tell_open(reason, sizeof reason, g, label[i]);
    cJSON *said = sg_recipe_claim_json(&c, SG_NOT_JUDGED, judged ? NULL : reason);
    sg_fields_read(&sg_document_claim_shape, out, sg_arena_take(g->memory, said), g->memory);
    out->from = NULL; /* it gets more members */
    out->seeds = sg_arena_get(g->memory, (judged ? label[0]->n_seeds : 0) * sizeof *out->seeds);
    for (; judged && out->n_seeds < label[0]->n_seeds; out->n_seeds++)
        out->seeds[out->n_seeds] = claim_seed(&c, g, g->cells[grid_study(g, label[0], out->n_seeds)->cell].study);
    if (judged)
        grid_judge_claim(out, g->memory);
}

void grid_fill_claims(struct sg_document *out, const struct grid_frame *g) {
    const struct sg_node *claims = sg_node_get(&g->recipe->root, "claims");
    out->n_claims = claims ? claims->count : 0;
    out->claims = sg_arena_get(g->memory, out->n_claims * sizeof *out->claims);
    for (size_t i = 0; i < out->n_claims; i++)
        fill_claim(&out->claims[i], &claims->child[i], g);
}

/* tune_advise_recipe.c: the recipe that --advise writes: the user's own with the methods of the list. */
#include "tune_advise.h"

enum { MOST_METHODS = 8 };

/* The i-th method of the recipe; the first is the baseline without compression. */
static const struct advise_candidate *candidate_at(const struct advise *a, size_t i) {
    return &a->candidate[i == 0 ? a->baseline : a->list[i - 1]];
}

static void put_reasons(FILE *out, const void *arg, size_t method) {
    const struct advise_candidate *c = candidate_at(arg, method);
    if (!c->baseline)
        tune_put_note(out, "sparsetune --advise: %.4g bytes a step, error %.3g of |g|^2, modelled %.3g times faster",
                      c->bytes, c->error[ADVISE_RELATIVE], c->speedup);
}

/* Replaces the methods, and removes claims and plots, which name the recipe's methods. false = no memory. */
static bool push_changes(struct sg_node *changes, const struct advise *a) {
    struct sg_node methods = {.kind = SG_NODE_LIST};
    bool fine = sg_node_set_key(&methods, "methods") && sg_node_push_yaml(changes, "{claims: null, plots: null}");
    for (size_t i = 0; fine && i <= a->listed && i <= MOST_METHODS; i++)
        fine = advise_push_candidate(&methods, a, candidate_at(a, i));
    fine = fine && sg_node_push(changes, &methods);
    sg_node_clear(&methods);
    return fine;
}

sg_status advise_recipe(const struct advise *a, struct sg_error *err) {
    struct sg_node changes = {.kind = SG_NODE_MAP}, written = {0};
    sg_status status = push_changes(&changes, a) ? SG_OK : sg_fail_memory(err, "the recipe");
    SG_DO(status, tune_recipe_written(&written, a->t, &changes, err));
    SG_DO(status, tune_recipe_text(&a->t->text, a->t->recipe, &written, put_reasons, a, err));
    sg_node_clear(&written);
    sg_node_clear(&changes);
    return status;
}

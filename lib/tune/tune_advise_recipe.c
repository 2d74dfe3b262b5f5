/* tune_advise_recipe.c: the recipe that --advise writes: the user's own with the methods of the list. */
#include <string.h>

#include "tune_advise.h"

enum { MOST_METHODS = 8 };

/* The i-th method of the recipe: no compression is the first. */
static const struct advise_candidate *candidate_at(const struct advise *a, size_t i) {
    return &a->candidate[i == 0 ? a->baseline : a->list[i - 1]];
}

static void put_reasons(FILE *out, const void *arg, size_t method) {
    const struct advise_candidate *c = candidate_at(arg, method);
    if (!c->baseline)
        tune_put_note(out, "sparsetune --advise: %.4g bytes a step, error %.3g of |g|^2, modelled %.3g times faster",
                      c->bytes, c->error, c->speedup);
}

/* The sections of the user's file but for methods, and for claims and plots, which name them. */
static bool push_rest(struct sg_node *out, struct sg_node *written) {
    static const char *const gone[] = {"methods", "claims", "plots"};
    bool fine = true;
    for (size_t i = 0; fine && i < written->count; i++) {
        bool goes = false;
        for (size_t k = 0; k < sizeof gone / sizeof *gone; k++)
            goes = goes || strcmp(written->child[i].key, gone[k]) == 0;
        fine = goes || sg_node_push(out, &written->child[i]);
    }
    return fine;
}

static bool push_methods(struct sg_node *out, const struct advise *a) {
    struct sg_node methods = {.kind = SG_NODE_LIST};
    bool fine = sg_node_set_key(&methods, "methods");
    for (size_t i = 0; fine && i <= a->listed && i <= MOST_METHODS; i++)
        fine = advise_push_candidate(&methods, a, candidate_at(a, i));
    fine = fine && sg_node_push(out, &methods);
    sg_node_clear(&methods);
    return fine;
}

sg_status advise_recipe(const struct advise *a, struct sg_error *err) {
    struct sg_node written = {0}, recipe = {.kind = SG_NODE_MAP};
    sg_status status = tune_recipe_written(&written, a->t, err);
    if (status == SG_OK && !(push_rest(&recipe, &written) && push_methods(&recipe, a)))
        status = sg_fail_memory(err, "the recipe");
    SG_DO(status, tune_recipe_text(&a->t->text, a->t->recipe, &recipe, put_reasons, a, err));
    sg_node_clear(&written);
    sg_node_clear(&recipe);
    return status;
}

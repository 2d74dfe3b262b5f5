/* tune_advise_methods.c: the methods that --advise tries: the recipe's own, or a built-in list with a few settings
 * each, spread over the volume. And the recipe that it writes: the user's own with the methods of the list. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sg_memory.h"
#include "sg_text.h"
#include "tune_advise.h"

/* ---- methods ---- */

/* True for keys that a replay refuses, or that have no influence on the compression. */
static bool is_refused(const char *key) {
    static const char *const refused[] = {"name",          "epochs", "steps",    "optimizer",
                                          "learning-rate", "shards", "sharding", "stretch"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (strcmp(key, refused[i]) == 0)
            return true;
    return false;
}

/* Appends a method, which keeps its positions in the user's recipe, to the list `out`, without keys that are absent or
 * that a replay refuses. The values of cell, which may be NULL, replace the method's lists. */
static void push_method(struct sg_node *out, const struct sg_node *method, const struct sg_node *cell,
                        const char *name) {
    struct sg_node map = {.kind = SG_NODE_MAP, .line = method->line, .column = method->column}, own = {0};
    sg_node_set_string(&own, name, strlen(name));
    sg_node_set_key(&own, "name");
    sg_node_push(&map, &own);
    for (size_t i = 0; i < method->count; i++) {
        const struct sg_node *value = &method->child[i], *single = cell ? sg_node_get(cell, value->key) : NULL;
        struct sg_node copy;
        if (sg_node_absent(value) || is_refused(value->key) || (value->kind == SG_NODE_BOOL && !value->boolean))
            continue;
        sg_node_copy(&copy, sg_node_absent(single) ? value : single);
        sg_node_set_key(&copy, value->key);
        sg_node_push(&map, &copy);
    }
    sg_node_push(out, &map);
}

/* Appends the method that these members of a map in YAML describe. */
static void push_text(struct sg_node *out, const char *name, const char *members) {
    struct sg_node map = {.kind = SG_NODE_MAP};
    char *yaml = sg_format("{%s}", members);
    sg_node_push_yaml(&map, yaml);
    push_method(out, &map, NULL, name);
    free(yaml);
    sg_node_clear(&map);
}

static void push_candidate(struct sg_node *out, const struct advise *a, const struct advise_candidate *c) {
    const struct sg_node *methods = sg_node_get(&a->trials.recipe.root, "methods");
    size_t i = 0;
    while (strcmp(sg_node_string(&methods->child[i], "name", ""), c->cell->name) != 0)
        i++;
    push_method(out, &methods->child[i], c->cell->method, c->cell->label);
}

char *advise_candidate_text(const struct advise *a, const struct advise_candidate *c) {
    struct sg_node list = {.kind = SG_NODE_LIST};
    char *text = NULL;
    size_t size;
    FILE *out = sg_memstream(&text, &size);
    push_candidate(&list, a, c);
    sg_node_put_yaml(out, &list.child[0], false);
    sg_node_clear(&list);
    return sg_stream_text(out, &text);
}

const char *advise_baseline(const struct advise *a) {
    const char *name = tune_baseline(sg_node_get(&a->t->recipe->root, "methods"));
    return name ? name : "no compression";
}

void advise_push_baseline(struct sg_node *out, const struct advise *a) {
    push_text(out, advise_baseline(a), "compressor: none, baseline: true");
}

/* ---- the built-in methods ---- */

/* The input that a method needs in addition to a gradient. */
enum need { ANY, MATRICES, LAYERS, LAMBDA };

static const struct built_in {
    const char *name, *text; /* text: members in YAML; NULL = hard-threshold, of lambdas that are found */
    enum need need;
    double fewest; /* share of the elements that its smallest setting sends; less than one element makes no sense */
} built_in[] = {
    {"Top-k", "compressor: topk, density: [0.1, 0.01, 0.001]", LAYERS, 0},
    {"Top-k of the model", "compressor: topk, density: [0.1, 0.01, 0.001], scope: model", ANY, 0},
    {"Hard-threshold", NULL, LAMBDA, 0},
    {"DGC selection", "compressor: dgc, density: [0.1, 0.01]", ANY, 0.01},
    {"SIDCo", "compressor: sidco-e, density: [0.1, 0.01]", ANY, 0.01},
    {"Random-k", "compressor: randomk, density: 0.1", ANY, 0},
    {"gTop-k conserving", "compressor: gtopk, density: [0.1, 0.01], conserve: 1", ANY, 0.01},
    {"Top-k natural", "compressor: topk, density: [0.1, 0.01], scope: model, values: natural", ANY, 0.01},
    {"EF-SignSGD", "compressor: ef-signsgd", ANY, 0},
    {"EDEN", "compressor: eden, bits: [1, 2, 3], error-feedback: none", ANY, 0},
    {"QSGD", "compressor: qsgd, levels: [1, 7, 127], error-feedback: none", ANY, 0},
    {"TernGrad", "compressor: terngrad, error-feedback: none", ANY, 0},
    {"Natural", "compressor: natural, error-feedback: none", ANY, 0},
    {"8bit", "compressor: 8bit", ANY, 0},
    {"fp16", "compressor: fp16", ANY, 0},
    {"PowerSGD", "compressor: powersgd, rank: [1, 4]", MATRICES, 0},
};

static bool has_matrices(const struct sg_gradients_facts *f) {
    for (size_t l = 0; f->rows && l < f->n_layers; l++)
        if (f->rows[l] > 1 && f->offset[l + 1] - f->offset[l] > f->rows[l])
            return true;
    return false;
}

/* ---- the thresholds of the built-in hard threshold ---- */

enum { TARGETS = 3, TURNS = 5, LIST = TARGETS * (TUNE_LAMBDA_CHARS + 1) };
static const double target[TARGETS] = {0.1, 0.01, 0.001}, NEAR_ENOUGH = 0.1;

/* The values of the goals, each once, with commas between them. */
static void put_lambdas(char list[LIST], const struct tune_search *s) {
    size_t used = 0;
    for (size_t i = 0; i < s->n_goals; i++) {
        char text[TUNE_LAMBDA_CHARS];
        bool known = false;
        for (size_t j = 0; j < i; j++)
            known = known || s->goal[j].value == s->goal[i].value;
        tune_round(s->goal[i].value, text);
        if (!known)
            used += (size_t)snprintf(list + used, LIST - used, "%s, ", text);
    }
}

/* Finds thresholds that send a tenth, a hundredth and a thousandth of the elements in replays; "" = there are none. The
 * first guess is that of a random walk, which reaches lambda, and is sent, after (lambda / rms)^2 steps. */
static sg_status find_lambdas(char list[LIST], struct advise *a, const struct built_in *method, struct sg_error *err) {
    const double d = (double)a->d, rms = sqrt(a->square / (double)a->steps / d);
    struct tune_search search, *const s = &search;
    struct sg_node methods = {.kind = SG_NODE_LIST};
    struct tune_changes c;
    tune_changes_start(&c, a->t, &a->trials.changes);
    push_text(&methods, method->name, "compressor: hard-threshold, lambda: [1]");
    tune_change_value(&c, "methods", &methods);
    *s = (struct tune_search){.t = &a->replay,
                              .changes = &c,
                              .unit = TUNE_ENTRIES,
                              .tolerance = NEAR_ENOUGH,
                              .d = d,
                              .seeds = 1,
                              .name = method->name,
                              .key = "lambda",
                              .max = INFINITY,
                              .length = {.steps = (double)a->steps},
                              .slope = 2,
                              .mean_of_first = 1,
                              .trials = cJSON_CreateArray()};
    for (size_t i = 0; i < TARGETS; i++)
        if (target[i] * d >= 1)
            s->goal[s->n_goals++] = (struct tune_goal){.target = target[i] * d, .value = rms / sqrt(target[i])};
    const struct tune_refine replays = {.steps = s->length.steps, .first = 1, .seeds = 1, .turns = TURNS};
    const sg_status status = s->n_goals > 0 ? tune_refine(s, &replays, err) : SG_OK;
    if (status == SG_OK)
        put_lambdas(list, s);
    cJSON_Delete(s->trials);
    tune_changes_free(&c);
    return status;
}

/* ---- all methods ---- */

/* True if this build is without the compressor or the code of the method. */
static bool is_lacking(const struct built_in *method) {
    const char *values = method->text ? strstr(method->text, "values: ") : NULL;
    char name[64];
    return (method->text && sscanf(method->text, "compressor: %63[^,]", name) == 1 && !sg_compressor_find(name)) ||
           (values && !sg_code_find(values + strlen("values: ")));
}

/* Writes to `reason` why a method is not applicable to these gradients; "" = it is. */
static void look_for_reason(char reason[ADVISE_REASON], const struct advise *a, const struct built_in *method) {
    const struct sg_gradients_facts *f = sg_gradients_look(a->gradients);
    const double fewest = method->fewest * (double)a->d;
    reason[0] = '\0';
    if (is_lacking(method))
        snprintf(reason, ADVISE_REASON, "this build is without it (ZOO=0)");
    else if (method->need == MATRICES && !has_matrices(f))
        snprintf(reason, ADVISE_REASON, "no layer is a matrix");
    else if (method->need == LAYERS && f->n_layers == 1)
        snprintf(reason, ADVISE_REASON, "there is one layer, so it is the same as over the whole model");
    else if (fewest > 0 && fewest < 1)
        snprintf(reason, ADVISE_REASON, "%g of %zu elements is less than one", method->fewest, a->d);
}

static sg_status push_built_in(struct sg_node *out, struct advise *a, struct sg_error *err) {
    char reason[ADVISE_REASON], lambdas[LIST] = "";
    for (size_t i = 0; i < sizeof built_in / sizeof *built_in; i++) {
        const struct built_in *method = &built_in[i];
        const bool wants_lambda = method->need == LAMBDA;
        look_for_reason(reason, a, method);
        const sg_status status = wants_lambda ? find_lambdas(lambdas, a, method, err) : SG_OK;
        if (status != SG_OK)
            return status;
        char *text = wants_lambda ? sg_format("compressor: hard-threshold, lambda: [%s]", lambdas) : NULL;
        if (wants_lambda && !lambdas[0])
            snprintf(reason, sizeof reason, "there are too few elements to find a threshold for a tenth of them");
        if (reason[0])
            sg_json_push(a->left_out, SG_OBJECT(SG_TEXT("method", method->name), SG_TEXT("reason", reason)));
        else
            push_text(out, method->name, wants_lambda ? text : method->text);
        free(text);
    }
    return SG_OK;
}

/* Appends the recipe's methods without the baseline. */
static void push_own(struct sg_node *out, const struct advise *a) {
    const struct sg_node *methods = sg_node_get(&a->t->recipe->root, "methods");
    for (size_t i = 0; i < methods->count; i++) {
        const char *name = sg_node_string(&methods->child[i], "name", "");
        if (strcmp(name, advise_baseline(a)) != 0)
            push_method(out, &methods->child[i], NULL, name);
    }
}

sg_status advise_methods(struct advise *a, struct sg_error *err) {
    struct sg_node list = {.kind = SG_NODE_LIST};
    sg_status status = SG_OK;
    advise_push_baseline(&list, a);
    if (a->own)
        push_own(&list, a);
    else
        status = push_built_in(&list, a, err);
    tune_change_value(&a->trials.changes, "methods", &list);
    return status;
}

/* ---- the recipe that is written ---- */

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

sg_status advise_recipe(const struct advise *a, struct sg_error *err) {
    struct sg_node methods = {.kind = SG_NODE_LIST}, written = {0};
    struct tune_changes c;
    tune_changes_start(&c, a->t, NULL);
    tune_change(&c, "{claims: null, plots: null}"); /* they name the recipe's methods */
    for (size_t i = 0; i <= a->listed && i <= MOST_METHODS; i++)
        push_candidate(&methods, a, candidate_at(a, i));
    tune_change_value(&c, "methods", &methods);
    sg_status status = tune_recipe_written(&written, a->t, &c.map, err);
    SG_DO(status, tune_recipe_text(&a->t->text, a->t->recipe, &written, put_reasons, a, err));
    sg_node_clear(&written);
    tune_changes_free(&c);
    return status;
}

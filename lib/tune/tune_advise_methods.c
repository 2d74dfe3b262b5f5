/* tune_advise_methods.c: the methods that --advise tries: the recipe's own, or a built-in list with a few settings each,
 * spread over the volume. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_text.h"
#include "tune_advise.h"

/* ---- methods as text ---- */

static void put_node(FILE *out, const struct sg_node *node);

static void put_string(FILE *out, const char *text) {
    cJSON *string = cJSON_CreateString(text); /* a JSON string is one of YAML */
    char *quoted = string ? sg_json_text(string, false) : NULL;
    fprintf(out, "%.*s", quoted ? (int)strcspn(quoted, "\n") : 0, quoted ? quoted : "");
    free(quoted);
    cJSON_Delete(string);
}

static void put_members(FILE *out, const struct sg_node *node) {
    const bool map = node->kind == SG_NODE_MAP;
    bool first = true;
    for (size_t i = 0; i < node->count; i++) {
        if (map && sg_node_absent(&node->child[i]))
            continue;
        fputs(first ? "" : ", ", out);
        first = false;
        if (map)
            fprintf(out, "%s: ", node->child[i].key);
        put_node(out, &node->child[i]);
    }
}

static void put_node(FILE *out, const struct sg_node *node) {
    char number[SG_NUMBER_CHARS];
    switch (node->kind) {
    case SG_NODE_NULL:
        fputs("null", out);
        break;
    case SG_NODE_BOOL:
        fputs(node->boolean ? "true" : "false", out);
        break;
    case SG_NODE_NUMBER:
        fputs(node->string ? node->string : sg_number_text(node->number, number), out);
        break;
    case SG_NODE_STRING:
        put_string(out, node->string);
        break;
    case SG_NODE_LIST:
    case SG_NODE_MAP:
        fputc(node->kind == SG_NODE_MAP ? '{' : '[', out);
        put_members(out, node);
        fputc(node->kind == SG_NODE_MAP ? '}' : ']', out);
        break;
    }
}

/* Keys that a replay refuses, or that say nothing of how a method compresses. */
static bool is_refused(const char *key) {
    static const char *const refused[] = {"name", "epochs", "steps", "learning-rate", "shards", "sharding"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (strcmp(key, refused[i]) == 0)
            return true;
    return false;
}

char *advise_method_text(const struct sg_node *method, const struct sg_node *cell, const char *name) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fputs("{name: ", out);
    put_string(out, name);
    for (size_t i = 0; i < method->count; i++) {
        const struct sg_node *value = &method->child[i];
        if (sg_node_absent(value) || is_refused(value->key) || (value->kind == SG_NODE_BOOL && !value->boolean))
            continue;
        const struct sg_node *single = cell ? sg_node_get(cell, value->key) : NULL;
        fprintf(out, ", %s: ", value->key);
        put_node(out, single && !sg_node_absent(single) ? single : value);
    }
    fputc('}', out);
    return sg_stream_text(out, &text);
}

char *advise_candidate_text(const struct advise *a, const struct advise_candidate *c) {
    const struct sg_node *methods = sg_node_get(&a->trials.recipe.root, "methods");
    size_t i = 0;
    while (strcmp(sg_node_string(&methods->child[i], "name", ""), c->cell->name) != 0)
        i++;
    return advise_method_text(&methods->child[i], c->cell->method, c->cell->label);
}

const char *advise_baseline(const struct advise *a) {
    const char *name = tune_baseline(sg_node_get(&a->t->recipe->root, "methods"));
    return name ? name : "no compression";
}

/* ---- the built-in methods ---- */

/* What a method needs beside a gradient. */
enum need { ANY, MATRICES, LAYERS, LAMBDA };

static const struct {
    const char *name;
    enum need need;
    double fewest; /* share of the elements that its smallest setting sends; less than one element makes no sense */
    const char *text;
} built_in[] = {
    {"Top-k", LAYERS, 0, "compressor: topk, density: [0.1, 0.01, 0.001]"},
    {"Top-k of the model", ANY, 0, "compressor: topk, density: [0.1, 0.01, 0.001], scope: model"},
    {"Hard-threshold", LAMBDA, 0, "compressor: hard-threshold"},
    {"DGC selection", ANY, 0.01, "compressor: dgc, density: [0.1, 0.01]"},
    {"SIDCo", ANY, 0.01, "compressor: sidco-e, density: [0.1, 0.01]"},
    {"Random-k", ANY, 0, "compressor: randomk, density: 0.1"},
    {"gTop-k conserving", ANY, 0.01, "compressor: gtopk, density: [0.1, 0.01], conserve: 1"},
    {"Top-k natural", ANY, 0.01, "compressor: topk, density: [0.1, 0.01], scope: model, values: natural"},
    {"EF-SignSGD", ANY, 0, "compressor: ef-signsgd"},
    {"EDEN", ANY, 0, "compressor: eden, bits: [1, 2, 3], error-feedback: none"},
    {"QSGD", ANY, 0, "compressor: qsgd, levels: [1, 7, 127], error-feedback: none"},
    {"TernGrad", ANY, 0, "compressor: terngrad, error-feedback: none"},
    {"Natural", ANY, 0, "compressor: natural, error-feedback: none"},
    {"8bit", ANY, 0, "compressor: 8bit"},
    {"fp16", ANY, 0, "compressor: fp16"},
    {"PowerSGD", MATRICES, 0, "compressor: powersgd, rank: [1, 4]"},
};

static bool has_matrices(const struct sg_gradients_facts *f) {
    for (size_t l = 0; f->rows && l < f->n_layers; l++)
        if (f->rows[l] > 1 && f->offset[l + 1] - f->offset[l] > f->rows[l])
            return true;
    return false;
}

static void leave_out(struct advise *a, const char *method, const char *reason) {
    if (a->n_left_out == ADVISE_LEFT_OUT)
        return;
    a->left_out[a->n_left_out].method = method;
    snprintf(a->left_out[a->n_left_out++].reason, ADVISE_REASON, "%s", reason);
}

/* ---- the thresholds of the built-in hard threshold ---- */

enum { TARGETS = 3, TURNS = 5, POINTS = TARGETS * (TURNS + 1) };
static const double target[TARGETS] = {0.1, 0.01, 0.001}, near_enough = 0.1;

static double last(const struct sg_run *run, const char *column) {
    return run->n_points > 0 ? sg_run_series(run, column)[run->n_points - 1] : NAN;
}

/* Replays with these thresholds and adds what they send to the points. */
static sg_status try_lambdas(struct advise *a, const double *lambda, size_t n, struct tune_point *point,
                             size_t *n_points, struct sg_error *err) {
    struct tune_sets sets = a->sets;
    struct tune_trials b = {.count = 0};
    char list[TARGETS * (TUNE_LAMBDA_CHARS + 2)] = "", one[TUNE_LAMBDA_CHARS];
    for (size_t i = 0; i < n; i++) {
        tune_round(lambda[i], one);
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", one);
    }
    char *methods = sg_format("methods=[{name: Hard-threshold, compressor: hard-threshold, lambda: [%s]}]", list);
    sets.item[sets.count++] = methods;
    sg_status status = methods ? SG_OK : sg_fail_memory(err, "the thresholds");
    SG_DO(status, tune_trials_open(&b, a->t, &sets, NULL, NULL, 1, err));
    SG_DO(status, tune_trials_run(&b, &a->replay, &sets, true, err));
    for (size_t i = 0; status == SG_OK && i < b.count && *n_points < POINTS; i++) {
        const double sent = last(&b.outcomes[i].run, "average_density") * (double)a->d;
        point[(*n_points)++] = (struct tune_point){lambda[i], fmax(sent, 1e-3)};
    }
    tune_trials_close(&b);
    free(methods);
    return status;
}

static const struct tune_point *nearest(const struct tune_point *point, size_t n, double entries) {
    const struct tune_point *near = NULL;
    for (size_t i = 0; i < n; i++)
        if (!near || fabs(log(point[i].entries / entries)) < fabs(log(near->entries / entries)))
            near = &point[i];
    return near;
}

/* Finds thresholds that send a tenth, a hundredth and a thousandth of the elements, as YAML in out. The first guess is
 * that of a random walk, which leaves at lambda after (lambda / rms)^2 steps. */
static sg_status find_lambdas(char out[TARGETS * (TUNE_LAMBDA_CHARS + 2)], struct advise *a, struct sg_error *err) {
    const double d = (double)a->d, rms = sqrt(a->square / (double)a->steps / d);
    struct tune_point point[POINTS];
    double lambda[TARGETS];
    size_t n_points = 0, open = 0;
    char one[TUNE_LAMBDA_CHARS];
    sg_status status = SG_OK;
    for (size_t i = 0; i < TARGETS; i++)
        if (target[i] * d >= 1)
            lambda[open++] = tune_round(rms / sqrt(target[i]), one);
    for (int turn = 0; status == SG_OK && open > 0 && turn < TURNS; turn++) {
        status = try_lambdas(a, lambda, open, point, &n_points, err);
        open = 0;
        for (size_t i = 0; status == SG_OK && i < TARGETS; i++) {
            const double wanted = target[i] * d;
            if (wanted < 1 || fabs(nearest(point, n_points, wanted)->entries / wanted - 1) <= near_enough)
                continue;
            const double slope = n_points > 1 ? tune_secant(point, n_points, wanted) : 2,
                         next = tune_round(tune_solve(point, n_points, wanted, slope), one);
            bool known = false;
            for (size_t j = 0; j < n_points; j++)
                known = known || point[j].lambda == next;
            for (size_t j = 0; j < open; j++)
                known = known || lambda[j] == next;
            if (!known)
                lambda[open++] = next;
        }
    }
    double given[TARGETS];
    size_t n_given = 0;
    out[0] = '\0';
    for (size_t i = 0; status == SG_OK && i < TARGETS; i++) {
        const struct tune_point *near = target[i] * d >= 1 ? nearest(point, n_points, target[i] * d) : NULL;
        bool known = !near;
        for (size_t j = 0; near && j < n_given; j++)
            known = known || given[j] == near->lambda;
        if (known)
            continue;
        given[n_given++] = near->lambda;
        tune_round(near->lambda, one);
        snprintf(out + strlen(out), TARGETS * (TUNE_LAMBDA_CHARS + 2) - strlen(out), "%s%s", n_given > 1 ? ", " : "",
                 one);
    }
    return status;
}

/* ---- all of them ---- */

static sg_status put_built_in(FILE *out, struct advise *a, struct sg_error *err) {
    const struct sg_gradients_facts *f = sg_gradients_look(a->gradients);
    char lambda[TARGETS * (TUNE_LAMBDA_CHARS + 2)] = "", reason[ADVISE_REASON];
    for (size_t i = 0; i < sizeof built_in / sizeof *built_in; i++) {
        if (built_in[i].need == MATRICES && !has_matrices(f)) {
            leave_out(a, built_in[i].name, "no layer is a matrix");
            continue;
        }
        if (built_in[i].need == LAYERS && f->n_layers == 1) {
            leave_out(a, built_in[i].name, "there is one layer, so it is the same as over the whole model");
            continue;
        }
        if (built_in[i].fewest * (double)a->d > 0 && built_in[i].fewest * (double)a->d < 1) {
            snprintf(reason, sizeof reason, "%g of %zu elements is less than one", built_in[i].fewest, a->d);
            leave_out(a, built_in[i].name, reason);
            continue;
        }
        if (built_in[i].need == LAMBDA) {
            const sg_status status = find_lambdas(lambda, a, err);
            if (status != SG_OK)
                return status;
            if (!lambda[0]) {
                leave_out(a, built_in[i].name, "there are too few elements to find a threshold for a tenth of them");
                continue;
            }
        }
        fprintf(out, ", {name: %s, %s", built_in[i].name, built_in[i].text);
        if (lambda[0] && built_in[i].need == LAMBDA)
            fprintf(out, ", lambda: [%s]", lambda);
        fputc('}', out);
    }
    return SG_OK;
}

/* The recipe's, but for the one that is the baseline. */
static sg_status put_own(FILE *out, const struct advise *a, struct sg_error *err) {
    const struct sg_node *methods = sg_node_get(&a->t->recipe->root, "methods");
    for (size_t i = 0; i < methods->count; i++) {
        const char *name = sg_node_string(&methods->child[i], "name", "");
        if (strcmp(name, advise_baseline(a)) == 0)
            continue;
        char *text = advise_method_text(&methods->child[i], NULL, name);
        if (!text)
            return sg_fail_memory(err, "the methods");
        fprintf(out, ", %s", text);
        free(text);
    }
    return SG_OK;
}

sg_status advise_methods(char **out, struct advise *a, struct sg_error *err) {
    size_t size;
    FILE *text = open_memstream(out, &size);
    if (!text)
        return sg_fail_memory(err, "the methods");
    fputs("[{name: ", text);
    put_string(text, advise_baseline(a));
    fputs(", compressor: none, baseline: true}", text);
    sg_status status = a->own ? put_own(text, a, err) : put_built_in(text, a, err);
    fputc(']', text);
    *out = sg_stream_text(text, out);
    return status == SG_OK && !*out ? sg_fail_memory(err, "the methods") : status;
}

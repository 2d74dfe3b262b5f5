/* compress_threshold.c: the hard-threshold sparsifier (eq. 5), one lambda for all layers: constant, or steered so that a
 * budget is spent (threshold_budget.c). */
#include "compressor_private.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { LAMBDA, BUDGET, PARAMS };

struct threshold {
    struct sg_threshold_budget budget;
    double used;        /* lambda of the last step; NaN before the first and where a budget's rest was sent */
    double sum_squares; /* of its gradient, as long as a budget's lambda is not known; else 0 */
    float tau[];        /* [n_layers] */
};

static bool has_budget(const sg_compressor *c) {
    return !isnan(c->param[BUDGET]);
}

/* Entries a worker may send over the whole run. */
static double total(const sg_compressor *c) {
    const double budget = c->param[BUDGET], d = (double)c->layout.offset[c->layout.n_layers];
    return budget <= 1 ? budget * d * (double)c->steps : budget;
}

static sg_status check(const double *param, size_t d, struct sg_error *err) {
    (void)d;
    if (isnan(param[LAMBDA]) == isnan(param[BUDGET]))
        return sg_fail(err, SG_ERR_ARGUMENT, "needs 'lambda' or 'budget', one of them");
    if (param[BUDGET] == 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "'budget' must be above 0");
    return SG_OK;
}

static sg_status open_threshold(sg_compressor *c, struct sg_error *err) {
    const double d = (double)c->layout.offset[c->layout.n_layers], steps = (double)c->steps;
    const double most = d * (steps - 1); /* the first step sends nothing */
    if (has_budget(c) && c->steps == 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "hard-threshold: a budget needs the number of steps");
    if (has_budget(c) && !(total(c) <= most))
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "hard-threshold: a budget of %.15g entries, where a worker can send at most %.15g (%g of all): "
                       "the first of %.0f steps sends nothing",
                       total(c), most, floor(1e6 * most / (d * steps)) / 1e6, steps);
    struct threshold *s = malloc(sizeof *s + c->layout.n_layers * sizeof *s->tau);
    if (s == NULL)
        return sg_fail_memory(err, "hard-threshold");
    *s = (struct threshold){.budget = {.lambda = INFINITY, .rate = NAN}, .used = NAN};
    c->state = s;
    return SG_OK;
}

/* Are gradients still unknown? */
static bool is_to_start(const struct sg_threshold_budget *b) {
    return b->lambda == INFINITY && b->sent == 0;
}

static double note(const sg_compressor *c) {
    const struct threshold *s = c->state;
    return s->sum_squares;
}

static void learn(sg_compressor *c, uint64_t step, double entries, double largest) {
    struct threshold *s = c->state;
    if (has_budget(c) && is_to_start(&s->budget))
        sg_threshold_budget_start(&s->budget, total(c), c->steps, largest);
    else if (has_budget(c))
        sg_threshold_budget_learn(&s->budget, total(c), c->steps, step, entries);
}

static double threshold(const sg_compressor *c) {
    const struct threshold *s = c->state;
    return s->used;
}

static double budget(const sg_compressor *c) {
    return has_budget(c) ? total(c) : NAN;
}

/* Elsewhere g is 0 and p = e, which the last step left below the same threshold. A threshold of 0 sends even zeros, and
 * rounding to halves may leave more than the threshold. On a GPU many small passes cost more than one large. */
static bool may_skip_untouched(const sg_compressor *c) {
    const bool kept = c->feedback.form == SG_FEEDBACK_GRADIENT && c->feedback.decay == 1 && c->code == &sg_code_fp32;
    return c->touched != NULL && c->exec.device == NULL && (float)c->param[LAMBDA] > 0 &&
           (kept || c->feedback.form == SG_FEEDBACK_NONE);
}

static int compress_touched(const sg_compressor *c, struct sg_select *s, const float *tau) {
    size_t sent = 0, layer = 0;
    for (size_t l = 0; l < s->n_layers; l++)
        s->count[l] = 0;
    for (size_t i = 0; i < c->touched->count; i++) {
        const struct sg_range *range = &c->touched->range[i];
        for (size_t at = range->begin, end; at < range->end; at = end) {
            while (s->offset[layer + 1] <= at)
                layer++;
            end = range->end < s->offset[layer + 1] ? range->end : s->offset[layer + 1];
            size_t found;
            const struct sg_select part = {.exec = s->exec,
                                           .n_layers = 1,
                                           .offset = (const size_t[]){0, end - at},
                                           .g = s->g + at,
                                           .e = s->e != NULL ? s->e + at : NULL,
                                           .scale = s->scale,
                                           .decay = s->decay,
                                           .index = s->index + sent,
                                           .value = s->value + sent,
                                           .count = &found};
            const int status = c->kernels->select_threshold(&part, &tau[layer]);
            if (status != SG_KERNEL_OK) {
                s->count[0] = layer;
                return status;
            }
            for (size_t j = sent; j < sent + found; j++)
                s->index[j] += (uint32_t)at;
            s->count[layer] += found;
            sent += found;
        }
    }
    return SG_KERNEL_OK;
}

/* Entries of each layer, from the indices of them all, which lie in the kernels' memory. */
static int count_layers(const sg_compressor *c, const struct sg_select *s, size_t found) {
    uint32_t part[256];
    size_t layer = 0;
    for (size_t l = 0; l < s->n_layers; l++)
        s->count[l] = 0;
    for (size_t at = 0, n; at < found; at += n) {
        n = found - at < 256 ? found - at : 256;
        const int status = c->kernels->get(&c->exec, part, s->index + at, n * sizeof *part);
        if (status != SG_KERNEL_OK)
            return status;
        for (size_t j = 0; j < n; j++) {
            while (s->offset[layer + 1] <= part[j])
                layer++;
            s->count[layer]++;
        }
    }
    return SG_KERNEL_OK;
}

/* Takes back the `found` entries and sends the `most` largest of them, ties to the lower index. */
static int cut(const sg_compressor *c, const struct sg_select *s, size_t found, size_t most) {
    struct sg_select again = *s;
    again.n_layers = 1;
    again.offset = (const size_t[]){0, s->offset[s->n_layers]};
    again.count = &found;
    if (s->e != NULL) { /* 0 where entries were sent, p elsewhere */
        c->kernels->scatter_add(&c->exec, s->e, s->index, s->value, found);
        again.scale = 0;
        again.decay = 1;
    }
    const int status = c->kernels->select_topk(&again, &most, NULL);
    return status == SG_KERNEL_OK ? count_layers(c, s, found) : status;
}

/* A worker that would send more than what is left for each sends the largest of it. Zeros are never sent. */
static int compress_budget(sg_compressor *c, const struct sg_select *s, double gamma, uint64_t step) {
    struct threshold *state = c->state;
    struct sg_threshold_budget *b = &state->budget;
    state->sum_squares = is_to_start(b) ? c->kernels->sum_squares(&c->exec, s->g, s->offset[s->n_layers]) : 0;
    const double unit = c->feedback.form == SG_FEEDBACK_UPDATE ? gamma : 1;
    const double most = sg_threshold_budget_begin(b, total(c), c->steps, step, unit);
    state->used = b->lambda > 0 ? b->lambda : NAN;
    for (size_t l = 0; l < s->n_layers; l++)
        state->tau[l] = fmaxf((float)(b->lambda * unit), FLT_MIN);
    const int status = c->kernels->select_threshold(s, state->tau);
    size_t found = 0;
    for (size_t l = 0; status == SG_KERNEL_OK && l < s->n_layers; l++)
        found += s->count[l];
    return (double)found > most ? cut(c, s, found, (size_t)most) : status;
}

/* Algorithm 1 thresholds p / gamma in the update form, that is p at lambda gamma: rounded once, to the kernel's float.
 */
static int compress(sg_compressor *c, struct sg_select *s, double gamma, uint64_t step) {
    if (has_budget(c))
        return compress_budget(c, s, gamma, step);
    struct threshold *state = c->state;
    const double lambda = state->used = c->param[LAMBDA];
    for (size_t l = 0; l < s->n_layers; l++)
        state->tau[l] = (float)(c->feedback.form == SG_FEEDBACK_UPDATE ? lambda * gamma : lambda);
    return may_skip_untouched(c) ? compress_touched(c, s, state->tau) : c->kernels->select_threshold(s, state->tau);
}

/* Every element left behind is below lambda. With a budget lambda is not known before. */
static double bound(const double *param, size_t n) {
    return (double)n * param[LAMBDA] * param[LAMBDA];
}

static size_t state_bytes(const sg_compressor *c, uint32_t worker) {
    (void)worker;
    return has_budget(c) ? sizeof(struct sg_threshold_budget) : 0;
}

static void state_save(const sg_compressor *c, void *out) {
    const struct threshold *s = c->state;
    memcpy(out, &s->budget, sizeof s->budget);
}

static void state_load(sg_compressor *c, const void *in) {
    struct threshold *s = c->state;
    memcpy(&s->budget, in, sizeof s->budget);
}

static const struct sg_parameter params[PARAMS] = {
    [LAMBDA] = {"lambda", 0, FLT_MAX, NAN, false,
                "threshold on the gradient's scale: sends where |p / gamma| >= lambda"},
    [BUDGET] = {"budget", 0, 1e18, NAN, false,
                "instead of lambda: what a worker sends over the whole run, up to 1 as average density, above 1 in "
                "entries; lambda is found and steered as training goes on"},
};

const struct sg_compressor_ops sg_compress_hard_threshold = {
    .name = "hard-threshold",
    .summary = "every element at least lambda in magnitude",
    .source = "section 4, eq. 5; Strom, Interspeech 2015; Dutta et al., AAAI 2020",
    .traits = SG_TRAIT_ABSOLUTE | SG_TRAIT_WANTS_FEEDBACK | SG_TRAIT_GPU,
    .params = params,
    .n_params = PARAMS,
    .check = check,
    .open = open_threshold,
    .compress = compress,
    .bound = bound,
    .note = note,
    .learn = learn,
    .threshold = threshold,
    .budget = budget,
    .state_bytes = state_bytes,
    .state_save = state_save,
    .state_load = state_load,
};

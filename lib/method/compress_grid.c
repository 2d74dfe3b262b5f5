/* compress_grid.c: every element rounded to a whole multiple of a fixed step D (lib/wire/code_grid.c), an absolute compressor.
 *
 * What is rounded to 0 is not sent. Rounded to the nearest, that is what lies within D / 2 of 0, so D is a threshold too: the
 * knob that a controller such as `budget` sets, whose entries are those sent. With a budget of entries, the largest
 * magnitudes are sent of those that are not 0.
 *
 * A message costs the less of two: b bits for every element, or b bits and a position of 32 for every one that is sent.
 * What the code sends as it is costs 64 bits more. The step itself is known to all. */
#include "method_private.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { STEP, BITS, STOCHASTIC, PARAMS };

/* Parts of one allocation. */
struct grid {
    double *step;           /* [n_layers] in units of p */
    size_t *count;          /* [n_layers] */
    float *value, *rounded; /* [d] */
    float *least;           /* [n_layers] the least magnitude above 0 */
    uint32_t *index;
    void *data;
};

static sg_status check(const double *param, size_t d, struct sg_error *err) {
    (void)d;
    return isnan(param[STEP]) ? sg_fail(err, SG_ERR_ARGUMENT, "needs 'step'") : SG_OK;
}

static size_t knob(const double *param) {
    (void)param;
    return STEP;
}

static struct sg_numbers numbers_of(const struct sg_worker *w, const struct grid *g, const double *param) {
    const struct sg_shared *s = w->shared;
    return (struct sg_numbers){.parts = s->layout.n_layers,
                               .part = g->count,
                               .param = param,
                               .knob = g->step,
                               .seed = s->seed,
                               .step = s->step,
                               .worker = w->number,
                               .kernels = s->kernels,
                               .threads = s->exec.threads};
}

static sg_status open_grid(struct sg_worker *w, struct sg_error *err) {
    const size_t layers = w->shared->layout.n_layers, d = w->shared->layout.offset[layers];
    struct sg_numbers all = numbers_of(w, &(struct grid){0}, w->shared->param);
    all.count = d;
    struct grid *g = malloc(sizeof *g + layers * (sizeof *g->step + sizeof *g->count + sizeof *g->least) +
                            3 * d * sizeof(float) + sg_code_grid.most_bytes(&all));
    if (g == NULL)
        return sg_fail_memory(err, "grid");
    g->step = (double *)(g + 1);
    g->count = (size_t *)(g->step + layers);
    g->value = (float *)(g->count + layers);
    g->rounded = g->value + d;
    g->least = g->rounded + d;
    g->index = (uint32_t *)(g->least + layers);
    g->data = g->index + d;
    for (size_t l = 0; l < layers; l++)
        g->least[l] = 0x1p-149F;
    w->scratch = g;
    return SG_OK;
}

static int descending(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

/* Keeps the `most` < count largest magnitudes; of equal ones those with the lower index. */
static size_t cut(struct grid *g, size_t count, size_t most) {
    size_t kept = 0, equal = most;
    if (most == 0)
        return 0;
    float *magnitude = g->rounded;
    for (size_t j = 0; j < count; j++)
        magnitude[j] = fabsf(g->value[j]);
    qsort(magnitude, count, sizeof *magnitude, descending);
    const float least = magnitude[most - 1];
    while (equal > 0 && magnitude[equal - 1] == least)
        equal--;
    equal = most - equal; /* of those that are equal to the least, so many are kept */
    for (size_t j = 0; j < count; j++) {
        const float x = fabsf(g->value[j]);
        if (x < least || (x == least && equal == 0))
            continue;
        equal -= x == least;
        g->value[kept] = g->value[j];
        g->index[kept++] = g->index[j];
    }
    return kept;
}

/* All of p is written and read back once, so that each element has its own random draw. What is not 0 is then written for
 * the message; it is a multiple of D, which needs no rounding, or beyond b bits. */
static void encode_grid(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    const struct sg_shared *s = w->shared;
    const size_t layers = s->layout.n_layers, d = s->layout.offset[layers];
    const double nearest[PARAMS] = {[BITS] = s->param[BITS]};
    struct grid *g = w->scratch;
    double dense = 0;
    (void)round;
    for (size_t l = 0; l < layers; l++) {
        g->step[l] = fmin(s->knob[l] * w->unit, (double)FLT_MAX);
        g->count[l] = s->layout.offset[l + 1] - s->layout.offset[l];
    }
    struct sg_numbers numbers = numbers_of(w, g, s->param);
    numbers.value = p;
    numbers.count = d;
    struct sg_message m = {.code = &sg_code_grid, .n = d, .count = d, .data = g->data};
    m.bytes = sg_code_grid.encode(g->data, &numbers, &dense);
    sg_code_grid.decode(g->rounded, &m, 0, d);
    const struct sg_select nonzero = {.exec = &s->exec,
                                      .n_layers = layers,
                                      .offset = s->layout.offset,
                                      .g = g->rounded,
                                      .scale = 1,
                                      .decay = 1,
                                      .index = g->index,
                                      .value = g->value,
                                      .count = g->count};
    w->status = s->kernels->select_threshold(&nonzero, g->least);
    if (w->status != SG_KERNEL_OK)
        return;
    size_t count = 0;
    for (size_t l = 0; l < layers; l++)
        count += g->count[l];
    if ((double)count > w->most) {
        count = cut(g, count, (size_t)w->most);
        dense = INFINITY; /* which elements were left out is not known without positions */
        for (size_t l = 0, j = 0; l < layers; l++)
            for (g->count[l] = 0; j < count && g->index[j] < s->layout.offset[l + 1]; j++)
                g->count[l]++;
    }
    numbers.param = nearest;
    numbers.value = g->value;
    numbers.count = count;
    *out = (struct sg_message){
        .code = &sg_code_grid, .n = d, .count = count, .index = g->index, .data = g->data, .layer_count = g->count};
    out->bytes = sg_code_grid.encode(g->data, &numbers, &out->bits);
    out->bits = fmin(out->bits + 32.0 * (double)count, dense);
}

/* An element x lies between two multiples of D: to the nearest it loses at most D / 2, and at random D^2 / 4 in the mean. */
static double bound(const double *param, size_t n) {
    return (double)n * param[STEP] * param[STEP] / 4;
}

static unsigned traits_of(const double *param) {
    return SG_TRAIT_ABSOLUTE | SG_TRAIT_WANTS_FEEDBACK |
           (param[STOCHASTIC] > 0 ? SG_TRAIT_RANDOM | SG_TRAIT_UNBIASED : 0);
}

static const struct sg_parameter params[PARAMS] = {
    [STEP] = {"step", 0, FLT_MAX, NAN, false,
              "D, the distance between neighbours of the grid, on the gradient's scale as lambda of hard-threshold"},
    [BITS] = {"bits", 2, 24, 8, true, "b, of a number; what is above 2^(b-1) - 1 steps is sent as it is"},
    [STOCHASTIC] = {"stochastic", 0, 1, 0, true, "0: rounds to the nearest, ties to even; 1: at random, without bias"},
};

const struct sg_compressor_ops sg_compress_grid = {
    .name = "grid",
    .summary = "every element rounded to a multiple of a fixed step; what becomes 0 is not sent",
    .source = "Gupta et al., ICML 2015; section 5 names it as absolute",
    .traits = SG_TRAIT_ABSOLUTE | SG_TRAIT_WANTS_FEEDBACK,
    .traits_of = traits_of,
    .params = params,
    .n_params = PARAMS,
    .check = check,
    .knob = knob,
    .open = open_grid,
    .encode = encode_grid,
    .bound = bound,
};

/* compress_accordion.c: Top-k that sends k-max of a layer in critical regimes and k-min elsewhere.
 *
 * A layer is critical if this is the first decision, the learning rate fell since the last one, or the norm of its
 * gradient on worker 0 changed by more than `threshold` of what it was. Two rules for when and which gradient:
 *   accumulate 0  as this paper compares it: at the first step of the epochs 0, interval, 2 interval, …, that step's
 *   accumulate 1  as its authors' code: after the epochs 0, interval, 2 interval, … the sum of that epoch's; and where
 *                 the learning rate falls at any other epoch all layers become critical until the next decision */
#include "compressor_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST = 0, MOST = LEAST + SG_SHARE_PARAMS, THRESHOLD = MOST + SG_SHARE_PARAMS, INTERVAL, ACCUMULATE, N_PARAMS };

enum { DECIDER = 0 }; /* the worker whose gradients count */

struct accordion {
    double *norm; /* [n_layers] at the last decision; DECIDER only, as the next two */
    double gamma; /* then */
    float *sum;   /* [d] of this epoch's gradients, with ACCUMULATE; in the kernels' memory */
    size_t *k;    /* [n_layers] of this step */
    float *guess; /* [n_layers] hints for the kernel, no part of a checkpoint */
};

static void close_accordion(sg_compressor *c) {
    struct accordion *a = c->state;
    if (a == NULL)
        return;
    free(a->norm);
    c->kernels->release(&c->exec, a->sum);
    free(a->k);
    free(a->guess);
}

static bool keeps_sum(const sg_compressor *c, uint32_t worker) {
    return worker == DECIDER && c->param[ACCUMULATE] > 0;
}

static sg_status open_accordion(sg_compressor *c, struct sg_error *err) {
    const size_t n = c->layout.n_layers, d = c->layout.offset[n];
    struct accordion *a = c->state = calloc(1, sizeof *a);
    if (a == NULL)
        return sg_fail_memory(err, "accordion");
    a->norm = calloc(n, sizeof *a->norm);
    a->k = calloc(n, sizeof *a->k);
    a->guess = malloc(n * sizeof *a->guess);
    a->sum = keeps_sum(c, c->worker) ? c->kernels->allocate(&c->exec, d * sizeof *a->sum) : NULL;
    if (a->norm == NULL || a->k == NULL || a->guess == NULL || (a->sum == NULL && keeps_sum(c, c->worker)))
        return sg_fail_memory(err, "accordion");
    for (size_t l = 0; l < n; l++)
        a->guess[l] = -1;
    memset(c->mode, 1, n);
    return SG_OK;
}

/* Is this step in an epoch 0, interval, 2 interval, …? */
static bool in_interval_epoch(const sg_compressor *c, uint64_t step) {
    return step / c->steps_per_epoch % (uint64_t)c->param[INTERVAL] == 0;
}

static bool due(const sg_compressor *c, uint64_t step) {
    return step % c->steps_per_epoch == 0 && (c->param[ACCUMULATE] > 0 || in_interval_epoch(c, step));
}

/* Modes by the norms of g against those of the last decision; all: every layer is critical anyhow. */
static void compare_norms(sg_compressor *c, const float *g, bool all) {
    struct accordion *a = c->state;
    for (size_t l = 0; l < c->layout.n_layers; l++) {
        const size_t begin = c->layout.offset[l];
        const double norm = sqrt(c->kernels->sum_squares(&c->exec, g + begin, c->layout.offset[l + 1] - begin));
        c->mode[l] = all || fabs(a->norm[l] - norm) > c->param[THRESHOLD] * a->norm[l];
        a->norm[l] = norm;
    }
}

static void decide(sg_compressor *c, double gamma, uint64_t step, const float *g) {
    struct accordion *a = c->state;
    const bool accumulate = a->sum != NULL, fell = gamma < a->gamma;
    if (!accumulate)
        compare_norms(c, g, step == 0 || fell);
    else if (step > 0 && in_interval_epoch(c, step - 1))
        compare_norms(c, a->sum, step == c->steps_per_epoch || fell);
    else if (fell)
        memset(c->mode, 1, c->layout.n_layers);
    if (accumulate && in_interval_epoch(c, step))
        c->kernels->zero(&c->exec, a->sum, c->layout.offset[c->layout.n_layers] * sizeof *a->sum);
    a->gamma = gamma;
}

static int compress(sg_compressor *c, struct sg_select *s, double gamma, uint64_t step) {
    (void)gamma;
    struct accordion *a = c->state;
    if (a->sum != NULL && in_interval_epoch(c, step))
        c->kernels->scatter_add(&c->exec, a->sum, NULL, s->g, s->offset[s->n_layers]);
    for (size_t l = 0; l < s->n_layers; l++)
        a->k[l] = sg_share_of(c->param + (c->mode[l] ? MOST : LEAST), s->offset[l + 1] - s->offset[l]);
    return c->kernels->select_topk(s, a->k, a->guess);
}

static sg_status check(const double *param, size_t d, struct sg_error *err) {
    const double *least = param + LEAST, *most = param + MOST;
    for (int by = 0; by < SG_SHARE_PARAMS; by++) /* two counts, or two fractions */
        if (isnan(least[by]) != isnan(most[by]) || isnan(least[SG_SHARE_K]) == isnan(least[SG_SHARE_DENSITY]))
            return sg_fail(err, SG_ERR_ARGUMENT, "needs 'k-min' and 'k-max', or 'density-min' and 'density-max'");
    if (least[SG_SHARE_K] > most[SG_SHARE_K] || least[SG_SHARE_DENSITY] > most[SG_SHARE_DENSITY])
        return sg_fail(err, SG_ERR_ARGUMENT, "the most it sends is below the least");
    if (least[SG_SHARE_DENSITY] <= 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "'density-min' must be above 0");
    if (d > 0 && most[SG_SHARE_K] > (double)d)
        return sg_fail(err, SG_ERR_ARGUMENT, "'k-max' = %.0f is more than the %zu parameters there are",
                       most[SG_SHARE_K], d);
    return SG_OK;
}

static double bound(const double *param, size_t n) {
    return sg_share_delta(param + LEAST, n);
}

/* ---- checkpoint: norms and learning rate of the last decision, then the sum so far ----------------------------- */

static size_t state_bytes(const sg_compressor *c, uint32_t worker) {
    const size_t n = c->layout.n_layers;
    if (worker != DECIDER)
        return 0;
    return (n + 1) * sizeof(double) + (keeps_sum(c, worker) ? c->layout.offset[n] * sizeof(float) : 0);
}

static void state_save(const sg_compressor *c, void *out) {
    const struct accordion *a = c->state;
    const size_t n = c->layout.n_layers;
    char *to = out;
    memcpy(to, a->norm, n * sizeof *a->norm);
    memcpy(to += n * sizeof *a->norm, &a->gamma, sizeof a->gamma);
    if (a->sum != NULL) /* a device that fails here fails the caller's own copies too */
        (void)c->kernels->get(&c->exec, to + sizeof a->gamma, a->sum, c->layout.offset[n] * sizeof *a->sum);
}

static void state_load(sg_compressor *c, const void *in) {
    struct accordion *a = c->state;
    const size_t n = c->layout.n_layers;
    const char *from = in;
    memcpy(a->norm, from, n * sizeof *a->norm);
    memcpy(&a->gamma, from += n * sizeof *a->norm, sizeof a->gamma);
    if (a->sum != NULL)
        c->kernels->put(&c->exec, a->sum, from + sizeof a->gamma, c->layout.offset[n] * sizeof *a->sum);
}

static const struct sg_parameter params[N_PARAMS] = {
    [LEAST + SG_SHARE_K] = {"k-min", 1, 4294967295.0, NAN, true, "elements sent of a layer that is not critical"},
    [LEAST + SG_SHARE_DENSITY] = {"density-min", 0, 1, NAN, false, "the same as a fraction of its elements, above 0"},
    [MOST + SG_SHARE_K] = {"k-max", 1, 4294967295.0, NAN, true, "elements sent of a critical layer"},
    [MOST + SG_SHARE_DENSITY] = {"density-max", 0, 1, NAN, false, "the same as a fraction of its elements, above 0"},
    [THRESHOLD] = {"threshold", 0, INFINITY, 0.5, false,
                   "relative change of the norm of a layer's gradient that makes it critical"},
    [INTERVAL] = {"interval", 1, 1e9, 10, true, "epochs between decisions"},
    [ACCUMULATE] =
        {"accumulate", 0, 1, 0, true,
         "0: norms of the gradients at the step of the decision, as in the paper; 1: of the gradients summed "
         "over the epoch before it, as in the code of ACCORDION's authors"},
};

const struct sg_compressor_ops sg_compress_accordion = {
    .name = "accordion",
    .summary = "Top-k with a larger k in the layers whose gradients change fast",
    .source = "section 5; Agarwal et al., MLSys 2021",
    .traits = SG_TRAIT_RELATIVE | SG_TRAIT_WANTS_FEEDBACK | SG_TRAIT_GPU,
    .params = params,
    .n_params = N_PARAMS,
    .check = check,
    .open = open_accordion,
    .compress = compress,
    .bound = bound,
    .due = due,
    .decide = decide,
    .state_bytes = state_bytes,
    .state_save = state_save,
    .state_load = state_load,
    .close = close_accordion,
};

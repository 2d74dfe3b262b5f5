/* compress_clipped.c: Top-k and hard-threshold that send no number beyond a multiple of their threshold; what is beyond
 * it stays in the residual.
 *
 * An experiment on an explanation of Top-k's losses: an entry that waited long is sent as a large number, which acts as
 * a larger learning rate for it (Bereyhi et al., Regularized Top-k, arXiv 2501.05633; from the abstract, which says so
 * of error accumulation). Clipping bounds that number and changes nothing else of what is sent. The rule is the
 * project's own. The threshold of Top-k is the least magnitude other than 0 that it sends of a layer.
 *
 * Of p with |p| > c the number fl(p - r) is sent and r = fl(p - c sign p) stays. The sum of both is p, bit for bit: r
 * is exact where |p| <= 2 c, and where it is not, |r| >= |p| / 2, so that p - r is (Sterbenz's lemma). What is sent is
 * c up to the rounding of r. */
/* SPDX-License-Identifier: MIT */
#include "sg_compressor_parts.h"

#include <float.h>
#include <math.h>

/* Clips count numbers to the magnitude c. */
static void clip(float *value, size_t count, float c) {
    for (size_t j = 0; j < count; j++)
        if (fabsf(value[j]) > c)
            value[j] -= value[j] - copysignf(c, value[j]);
}

static void send_clipped(struct sg_worker *w, size_t count, struct sg_message *out) {
    method_send_floats(w, method_elements(w->shared), count, w->index, w->value, 64.0 * (double)count, out);
}

/* ---- hard-threshold ---- */

enum { LAMBDA, THRESHOLD_CLIP, THRESHOLD_PARAMS };

static sg_status check_threshold(const double *param, size_t d, struct sg_error *err) {
    (void)d;
    return param[LAMBDA] > 0 ? SG_OK : sg_fail(err, SG_ERR_ARGUMENT, "needs 'lambda', above 0");
}

static void encode_threshold(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    const struct sg_select s = method_selection(w, p);
    float *tau = w->scratch;
    size_t sent = 0;
    for (size_t l = 0; l < s.n_layers; l++)
        tau[l] = fmaxf((float)(w->shared->knob[l] * w->unit), FLT_TRUE_MIN);
    w->status = w->shared->kernels->select_threshold(&s, tau);
    for (size_t l = 0; l < s.n_layers && w->status == SG_KERNEL_OK; sent += w->count[l++])
        clip(w->value + sent, w->count[l], (float)(w->shared->param[THRESHOLD_CLIP] * (double)tau[l]));
    if (w->status == SG_KERNEL_OK)
        send_clipped(w, sent, out);
    (void)round;
}

#define CLIP_PARAMETER                                                                                                 \
    { "clip", 1, FLT_MAX, 2, false, "largest magnitude sent, in thresholds" }

static const struct sg_parameter threshold_params[THRESHOLD_PARAMS] = {
    [LAMBDA] = {"lambda", 0, FLT_MAX, NAN, false, "above 0: sends where |p / gamma| >= lambda"},
    [THRESHOLD_CLIP] = CLIP_PARAMETER,
};

/* What is beyond the clip stays, so a residual may grow at every step, and neither class holds. */
const struct sg_compressor_ops sg_compress_clipped_threshold = {
    .name = "clipped-threshold",
    .summary = "hard-threshold that sends at most clip times lambda of an element",
    .source = "the project's own, after Bereyhi et al., 2025",
    .traits = SG_TRAIT_WANTS_FEEDBACK,
    .params = threshold_params,
    .n_params = THRESHOLD_PARAMS,
    .check = check_threshold,
    .knob = method_first_knob,
    .open = sg_estimate_open,
    .encode = encode_threshold,
};

/* ---- Top-k ---- */

enum { TOPK_CLIP = SG_SHARE_PARAMS, TOPK_PARAMS };

/* The least magnitude other than 0; INFINITY if there is none. */
static float least_magnitude(const float *value, size_t count) {
    float least = INFINITY;
    for (size_t j = 0; j < count; j++)
        least = value[j] != 0 ? fminf(least, fabsf(value[j])) : least;
    return least;
}

static void encode_topk(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    struct sg_select s = method_selection(w, p);
    size_t sent = 0;
    w->status = sg_topk_select(w, &s);
    for (size_t l = 0; l < s.n_layers && w->status == SG_KERNEL_OK; sent += w->count[l++])
        clip(w->value + sent, w->count[l],
             (float)(w->shared->param[TOPK_CLIP] * (double)least_magnitude(w->value + sent, w->count[l])));
    if (w->status == SG_KERNEL_OK)
        send_clipped(w, sent, out);
    (void)round;
}

static const struct sg_parameter topk_params[TOPK_PARAMS] = {
    SG_SHARE_PARAMETERS,
    [TOPK_CLIP] = CLIP_PARAMETER,
};

const struct sg_compressor_ops sg_compress_clipped_topk = {
    .name = "clipped-topk",
    .summary = "Top-k that sends at most clip times the least sent magnitude of an element",
    .source = "the project's own, after Bereyhi et al., 2025",
    .traits = SG_TRAIT_WANTS_FEEDBACK,
    .params = topk_params,
    .n_params = TOPK_PARAMS,
    .check = sg_share_check,
    .knob = sg_share_knob,
    .open = sg_topk_open,
    .encode = encode_topk,
};

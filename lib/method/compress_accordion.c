/* compress_accordion.c: Top-k that sends k-max elements of a layer in critical regimes and k-min in others. It is
 * another name for topk under the controller of control_accordion.c. */
/* SPDX-License-Identifier: MIT */
#include "method_private.h"

#include <math.h>

/* The least that is sent stands where Top-k has its share. */
enum { LEAST = 0, MOST = LEAST + SG_SHARE_PARAMS, CONTROL = MOST + SG_SHARE_PARAMS, N_PARAMS = CONTROL + 3 };

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

/* The controller's parameters: low, high, threshold, interval, accumulate. */
static const struct sg_controller_ops *controller(const double *param, double *out) {
    const size_t by = sg_share_knob(param);
    out[0] = param[LEAST + by];
    out[1] = param[MOST + by];
    for (size_t i = CONTROL; i < N_PARAMS; i++)
        out[2 + i - CONTROL] = param[i];
    return &sg_control_accordion;
}

static const struct sg_parameter params[N_PARAMS] = {
    [LEAST + SG_SHARE_K] = {"k-min", 1, 4294967295.0, NAN, true, "elements sent of another layer"},
    [LEAST + SG_SHARE_DENSITY] = {"density-min", 0, 1, NAN, false, "the same as a fraction"},
    [MOST + SG_SHARE_K] = {"k-max", 1, 4294967295.0, NAN, true, "elements sent of a critical layer"},
    [MOST + SG_SHARE_DENSITY] = {"density-max", 0, 1, NAN, false, "the same as a fraction"},
    [CONTROL] = SG_ACCORDION_THRESHOLD,
    [CONTROL + 1] = SG_ACCORDION_INTERVAL,
    [CONTROL + 2] = SG_ACCORDION_ACCUMULATE,
};

const struct sg_compressor_ops sg_compress_accordion = {
    .name = "accordion",
    .summary = "Top-k with a larger k in layers whose gradients change fast",
    .source = "section 6; Agarwal et al., MLSys 2021",
    .traits = SG_TRAIT_RELATIVE | SG_TRAIT_WANTS_FEEDBACK | SG_TRAIT_GPU,
    .params = params,
    .n_params = N_PARAMS,
    .check = check,
    .knob = sg_share_knob,
    .open = sg_topk_open,
    .select = sg_topk_select,
    .bound = sg_share_delta,
    .controller = controller,
};

/* mg_wfbp.h: MG-WFBP's buckets (Shi et al., INFOCOM 2019) as its released code finds them (HKBU-HPML/MG-WFBP, commit
 * 5b8ad54, distributed_optimizer.py): it computes all starts anew after every merge. */
/* SPDX-License-Identifier: MIT */
#ifndef MG_WFBP_H
#define MG_WFBP_H

#include <math.h>
#include <stddef.h>

enum { MG_WFBP_LAYERS = 512 };

/* Layer indices as there: 0 is the first layer of the model, L - 1 the one whose gradient is ready first. */
struct mg_wfbp {
    size_t layers;
    double backward_s[MG_WFBP_LAYERS], backward_start_s[MG_WFBP_LAYERS], start_s[MG_WFBP_LAYERS],
        took_s[MG_WFBP_LAYERS], bytes[MG_WFBP_LAYERS];
    double alpha_s, byte_s;
};

static double mg_wfbp_took(const struct mg_wfbp *t, double bytes) {
    return bytes == 0 ? 0 : t->alpha_s + t->byte_s * bytes;
}

static void mg_wfbp_starts(struct mg_wfbp *t) {
    const size_t last = t->layers - 1;
    t->start_s[last] = t->backward_start_s[last] + t->backward_s[last];
    for (size_t l = last; l-- > 0;)
        t->start_s[l] = fmax(t->start_s[l + 1] + t->took_s[l + 1], t->backward_start_s[l] + t->backward_s[l]);
}

static void mg_wfbp_merge(struct mg_wfbp *t, size_t l) {
    t->took_s[l] = 0;
    t->bytes[l - 1] += t->bytes[l];
    t->bytes[l] = 0;
    t->took_s[l - 1] = mg_wfbp_took(t, t->bytes[l - 1]);
    mg_wfbp_starts(t);
}

/* The buckets of an exchange that takes alpha_s + m byte_s, and 0 for m = 0. Lists, and bucket [layers], are in the
 * order of the backward pass. smallest: layers below this many bytes are always merged into the next one, as the copy
 * of the code in ddl-benchmarks does with 8192 numbers; 0 = the released rule. Returns their number. */
static size_t mg_wfbp_buckets(size_t *bucket, size_t layers, const double *backward_s, const double *bytes,
                              double alpha_s, double byte_s, double smallest) {
    struct mg_wfbp held = {.layers = layers, .alpha_s = alpha_s, .byte_s = byte_s}, *const t = &held;
    size_t at = 0;
    for (size_t l = 0; l < layers; l++) {
        t->backward_s[l] = backward_s[layers - 1 - l];
        t->bytes[l] = bytes[layers - 1 - l];
        t->took_s[l] = mg_wfbp_took(t, t->bytes[l]);
    }
    t->backward_start_s[layers - 1] = 0;
    for (size_t l = layers - 1; l-- > 0;)
        t->backward_start_s[l] = t->backward_start_s[l + 1] + t->backward_s[l + 1];
    mg_wfbp_starts(t);
    for (size_t l = layers - 1; l > 0; l--) {
        bucket[layers - 1 - l] = at;
        const double next_s = t->backward_start_s[l - 1] + t->backward_s[l - 1];
        int merges = 0;
        if (next_s < t->start_s[l] + t->took_s[l])
            merges = t->start_s[l] > next_s || next_s - t->start_s[l] < t->alpha_s;
        if (!merges && t->bytes[l] < smallest)
            merges = 1;
        if (merges)
            mg_wfbp_merge(t, l);
        else
            at++;
    }
    bucket[layers - 1] = at;
    return at + 1;
}

#endif

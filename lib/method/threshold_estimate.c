/* threshold_estimate.c: what compressors share that find a threshold for each layer from the layer's own numbers: p,
 * its moments, how many numbers are above, the exact k-th magnitude, and which numbers are the k largest. Plain loops
 * on one thread. */
/* SPDX-License-Identifier: MIT */
#include "sg_compressor_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_half.h"

enum { LANES = 16, RADIX = 11, BINS = 1 << RADIX };

float *sg_form_p(const struct sg_select *s) {
    const size_t d = s->offset[s->n_layers];
    float *p = s->value;
    if (!s->e)
        for (size_t i = 0; i < d; i++)
            p[i] = s->scale * s->g[i];
    else
        for (size_t i = 0; i < d; i++)
            p[i] = s->decay * s->e[i] + s->scale * s->g[i];
    return p;
}

float sg_threshold_above(double x) {
    const float t = (float)x;
    return x < 0 ? 0 : isnan(x) ? INFINITY : (double)t > x ? t : nextafterf(t, INFINITY);
}

float sg_threshold_at(double x) {
    const float t = (float)x;
    return !(x > 0) ? (isnan(x) ? INFINITY : 0) : (double)t >= x ? t : nextafterf(t, INFINITY);
}

size_t sg_count_at_least(const float *x, size_t n, float t) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += fabsf(x[i]) >= t;
    return count;
}

/* Adds up x - shift, |x| - shift, or the squares of these, in LANES lanes: the bits do not depend on how the loop is
 * compiled. */
static inline double sum_of(const float *x, size_t n, bool magnitudes, double shift, bool squares) {
    double lane[LANES] = {0}, sum = 0;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t j = 0; j < LANES; j++) {
            const double a = (double)(magnitudes ? fabsf(x[i + j]) : x[i + j]) - shift;
            lane[j] += squares ? a * a : a;
        }
    for (; i < n; i++) {
        const double a = (double)(magnitudes ? fabsf(x[i]) : x[i]) - shift;
        lane[i % LANES] += squares ? a * a : a;
    }
    for (size_t j = 0; j < LANES; j++)
        sum += lane[j];
    return sum;
}

double sg_mean(const float *x, size_t n, bool magnitudes, double shift) {
    const double sum = magnitudes ? sum_of(x, n, true, shift, false) : sum_of(x, n, false, shift, false);
    return n > 0 ? sum / (double)n : 0;
}

double sg_squares_around(const float *x, size_t n, bool magnitudes, double mean) {
    return magnitudes ? sum_of(x, n, true, mean, true) : sum_of(x, n, false, mean, true);
}

double sg_variance(const float *x, size_t n, bool magnitudes, double mean) {
    return n > 1 ? sg_squares_around(x, n, magnitudes, mean) / (double)(n - 1) : 0;
}

/* Three passes: which of the 2^11 bins of the upper bits holds it, then of the bits below these, then of the last
 * ten. */
float sg_kth_magnitude(const float *x, size_t n, size_t stride, size_t k) {
    static const unsigned shift_of[] = {21, 10, 0}, width_of[] = {RADIX, RADIX, 10};
    uint32_t prefix = 0, known = 0;
    for (size_t pass = 0; pass < 3; pass++) {
        size_t bin[BINS] = {0};
        const unsigned shift = shift_of[pass];
        const uint32_t mask = ((uint32_t)1 << width_of[pass]) - 1;
        for (size_t i = 0; i < n; i += stride) {
            const uint32_t bits = sg_float_bits(fabsf(x[i]));
            bin[bits >> shift & mask] += (bits & known) == prefix;
        }
        uint32_t b = mask;
        for (; b > 0 && bin[b] < k; b--)
            k -= bin[b];
        prefix |= b << shift;
        known |= mask << shift;
    }
    return sg_float_of_bits(prefix);
}

static uint32_t magnitude_bits(float x) {
    return sg_float_bits(x) & 0x7fffffff;
}

struct sg_largest sg_largest_of(const float *x, size_t n, size_t k) {
    struct sg_largest of = {magnitude_bits(sg_kth_magnitude(x, n, 1, k)), k};
    for (size_t i = 0; i < n; i++)
        of.equal -= magnitude_bits(x[i]) > of.least;
    return of;
}

bool sg_is_largest(struct sg_largest *of, float x) {
    const uint32_t bits = magnitude_bits(x);
    const bool is_last = bits == of->least && of->equal > 0;
    of->equal -= is_last;
    return bits > of->least || is_last;
}

sg_status sg_estimate_open(struct sg_worker *w, struct sg_error *err) {
    w->scratch = malloc(w->shared->layout.n_layers * sizeof(float));
    return w->scratch ? SG_OK : sg_fail_memory(err, "thresholds");
}

int sg_estimate_select(struct sg_worker *w, struct sg_select *s, sg_estimate_fn *estimate) {
    const struct sg_shared *shared = w->shared;
    float *p = sg_form_p(s), *tau = w->scratch;
    for (size_t l = 0; l < s->n_layers; l++) {
        const size_t n = s->offset[l + 1] - s->offset[l];
        tau[l] = n > 0 ? estimate(w, l, p + s->offset[l], n, sg_share_in(shared, l, n)) : INFINITY;
    }
    return shared->kernels->select_threshold(s, tau);
}

sg_status sg_positions_open(struct sg_worker *w, struct sg_error *err) {
    const struct sg_layout *layout = &w->shared->layout;
    w->scratch = malloc((layout->offset[layout->n_layers] + 1) * sizeof(uint32_t));
    return w->scratch ? SG_OK : sg_fail_memory(err, "positions");
}

int sg_positions_select(struct sg_worker *w, struct sg_select *s, sg_positions_fn *choose) {
    sg_rng rng = sg_rng_open(w->shared->seed, SG_RNG_COMPRESS, w->number, w->shared->step);
    const float *p = sg_form_p(s);
    uint32_t *position = w->scratch;
    size_t sent = 0;
    for (size_t l = 0; l < s->n_layers; l++) {
        const size_t begin = s->offset[l], n = s->offset[l + 1] - begin;
        s->count[l] = n > 0 ? choose(w, l, p + begin, n, begin, &rng, position + sent) : 0;
        sent += s->count[l];
    }
    return w->shared->kernels->select_positions(s, position);
}

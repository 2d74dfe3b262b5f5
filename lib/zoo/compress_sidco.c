/* compress_sidco.c: SIDCo: a threshold from a distribution that is fitted to the magnitudes of a layer, in stages.
 *
 * Stage 1 fits all magnitudes a and finds the threshold that the share q of them is above: q is delta = k / n if there
 * is one stage, else `first`. Each further stage fits what is above the threshold so far, less its smallest number t,
 * and is to let through the same share r of it, so that all stages together let through delta. The fits, with the mean
 * m and variance v (divisor n - 1) of what is fitted:
 *
 *     e    exponential              -m ln q
 *     gp   gamma in stage 1         the quantile of the gamma distribution whose mean and mean logarithm these are;
 *                                   zeros, which have no logarithm, take no part
 *     p    generalised Pareto, and gp in the further stages        A (1 - q^x) / x, with x = (m^2 / v - 1) / 2 and
 *                                   A = m (m^2 / v + 1) / 2; m where v is 0
 *
 * Every five steps a layer takes one stage less if it sent more than 1.2 k on average, and one more if less than 0.8
 * k. */
/* SPDX-License-Identifier: MIT */
#include "sg_compressor_parts.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { FIRST = SG_SHARE_PARAMS, STAGES, PARAMS_E_P, APPROXIMATE = PARAMS_E_P, PARAMS_GP };
enum fit { FIT_E, FIT_GP, FIT_P };
enum { LANES = 16, RUN = 512 }; /* 512 factors below 2 do not overflow */

/* What a layer keeps. */
struct stages {
    double number, calls, ratios; /* ratios: entries sent / k, summed over the calls since the last change */
};
enum { EVERY = 5, DOUBLES = sizeof(struct stages) / sizeof(double) };

/* ---- the gamma distribution ---- */

/* P(X > x) for a gamma variable of shape a and scale 1: one less the series of the lower incomplete gamma function. */
static double gamma_tail(double a, double x) {
    int sign;
    double term = 1, sum = 1;
    for (double i = 1; term > 1e-17 * sum; i++)
        sum += term *= x / (a + i);
    return isfinite(sum) ? 1 - sum * exp(a * log(x) - x - lgamma_r(a + 1, &sign))
                         : 0; /* overflow far beyond the mean */
}

/* The x with gamma_tail(a, x) = q, 0 < q < 1; 0 if it is below the smallest doubles. */
static double gamma_quantile(double a, double q) {
    double low = a + 1;
    while (gamma_tail(a, low) > q)
        low *= 2;
    while (low > 1e-300 && gamma_tail(a, low) <= q)
        low /= 2;
    double high = low > 1e-300 ? 2 * low : 0;
    low = low > 1e-300 ? low : 0;
    for (int i = 0; i < 60; i++) {
        const double middle = low + (high - low) / 2;
        *(gamma_tail(a, middle) > q ? &low : &high) = middle;
    }
    return high;
}

/* The sum of ln |x| over what is not 0. A product of mantissas in [1, 2) takes one logarithm, and the exponents are
 * added up as they are; 0 has the exponent 0 and becomes the factor 1. `some`: how many numbers are not 0. */
static double sum_logs(const float *x, size_t n, size_t some) {
    double sum = 0;
    uint64_t exponents = 0;
    for (size_t begin = 0; begin < n; begin += LANES * RUN) {
        const size_t end = n - begin < LANES * RUN ? n : begin + LANES * RUN;
        double lane[LANES];
        for (size_t j = 0; j < LANES; j++)
            lane[j] = 1;
        for (size_t at = begin; at < end; at += LANES)
            for (size_t j = 0; j < LANES && at + j < end; j++) {
                const double a = fabs((double)x[at + j]);
                uint64_t bits;
                double mantissa;
                memcpy(&bits, &a, sizeof bits);
                exponents += bits >> 52;
                bits = (bits & 0xfffffffffffffU) | 0x3ff0000000000000U;
                memcpy(&mantissa, &bits, sizeof mantissa);
                lane[j] *= mantissa;
            }
        for (size_t j = 0; j < LANES; j++)
            sum += log(lane[j]);
    }
    return sum + ((double)exponents - 1023.0 * (double)some) * log(2);
}

static double gamma_threshold(const float *x, size_t n, double q, bool approximate) {
    const size_t some = sg_count_at_least(x, n, FLT_TRUE_MIN);
    int sign;
    if (some == 0)
        return 0;
    const double mean = sg_mean(x, n, true, 0) * (double)n / (double)some, share = q * (double)n / (double)some;
    const double s = log(mean) - sum_logs(x, n, some) / (double)some;
    if (share >= 1)
        return 0;
    if (!(s > 1e-6)) /* numbers so much alike that the shape has no use */
        return mean;
    const double shape = (3 - s + sqrt((s - 3) * (s - 3) + 24 * s)) / (12 * s), scale = mean / shape;
    return approximate ? -scale * (log(share) + lgamma_r(shape, &sign)) : scale * gamma_quantile(shape, share);
}

/* ---- the other fits ---- */

static double pareto_threshold(double mean, double variance, double q) {
    const double square = mean * mean / variance;
    if (!(variance > 0) || !isfinite(square))
        return mean;
    const double A = mean * (square + 1) / 2, x = (square - 1) / 2;
    return x != 0 ? A * -expm1(x * log(q)) / x : -A * log(q);
}

static double fitted(enum fit fit, const float *x, size_t n, double shift, double q) {
    const double mean = sg_mean(x, n, true, shift);
    return fit == FIT_E ? -mean * log(q) : pareto_threshold(mean, sg_variance(x, n, true, mean + shift), q);
}

/* x <- the magnitudes that are at least t, in order. Returns how many; *least <- the smallest of them. */
static size_t keep(float *x, size_t n, float t, float *least) {
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        const float a = fabsf(x[i]);
        x[kept] = a;
        kept += a >= t;
    }
    *least = kept > 0 ? x[0] : 0;
    for (size_t i = 0; i < kept; i++)
        *least = fminf(*least, x[i]);
    return kept;
}

static void adapt(struct stages *state, double achieved, double delta) {
    const double most = fmax(1, ceil(log(delta) / log(0.5)));
    state->ratios += achieved;
    if (++state->calls < EVERY)
        return;
    const double ratio = state->ratios / EVERY;
    state->number += ratio > 1.2 ? -1 : ratio < 0.8 ? 1 : 0;
    *state = (struct stages){.number = fmax(1, fmin(most, state->number))};
}

static float estimate(struct sg_worker *w, size_t layer, float *x, size_t n, size_t k, enum fit fit) {
    const double *param = w->shared->param, delta = (double)k / (double)n, first = param[FIRST];
    const double stages = param[STAGES] > 0 ? param[STAGES] : ((const struct stages *)w->state)[layer].number;
    const double q = stages <= 1 || delta >= first ? delta : first;
    const bool approximate = fit == FIT_GP && param[APPROXIMATE] > 0;
    float t = sg_threshold_above(fit == FIT_GP ? gamma_threshold(x, n, q, approximate) : fitted(fit, x, n, 0, q));
    const double r = pow(delta / first, 1 / (stages - 1));
    for (double stage = 2; stage <= stages && delta < first; stage++) {
        float least;
        n = keep(x, n, t, &least);
        if (n < 2) /* nothing can be fitted to one number */
            break;
        t = sg_threshold_above((double)least + fitted(fit, x, n, (double)least, r));
    }
    return t;
}

/* ---- the compressors ---- */

static float estimate_e(struct sg_worker *w, size_t layer, float *x, size_t n, size_t k) {
    return estimate(w, layer, x, n, k, FIT_E);
}

static float estimate_gp(struct sg_worker *w, size_t layer, float *x, size_t n, size_t k) {
    return estimate(w, layer, x, n, k, FIT_GP);
}

static float estimate_p(struct sg_worker *w, size_t layer, float *x, size_t n, size_t k) {
    return estimate(w, layer, x, n, k, FIT_P);
}

static int select_fit(struct sg_worker *w, struct sg_select *s, sg_estimate_fn *by) {
    const struct sg_shared *shared = w->shared;
    const int status = sg_estimate_select(w, s, by);
    for (size_t l = 0; l < s->n_layers && status == SG_KERNEL_OK; l++) {
        const size_t n = s->offset[l + 1] - s->offset[l];
        const size_t k = sg_share_in(shared, l, n);
        if (n > 0)
            adapt((struct stages *)w->state + l, (double)s->count[l] / (double)k, (double)k / (double)n);
    }
    return status;
}

static int select_e(struct sg_worker *w, struct sg_select *s) {
    return select_fit(w, s, estimate_e);
}

static int select_gp(struct sg_worker *w, struct sg_select *s) {
    return select_fit(w, s, estimate_gp);
}

static int select_p(struct sg_worker *w, struct sg_select *s) {
    return select_fit(w, s, estimate_p);
}

static size_t worker_doubles(const struct sg_layout *layout) {
    return DOUBLES * layout->n_layers;
}

static sg_status open_sidco(struct sg_worker *w, struct sg_error *err) {
    for (size_t l = 0; l < w->shared->layout.n_layers; l++)
        ((struct stages *)w->state)[l].number = 1;
    return sg_estimate_open(w, err);
}

static const struct sg_parameter params[PARAMS_GP] = {
    SG_SHARE_PARAMETERS,
    [FIRST] = {"first", 0.001, 0.999, 0.25, false, "fraction that the first of several stages keeps"},
    [STAGES] = {"stages", 0, 64, 0, true, "stages; 0: adapted to what a layer sent"},
    [APPROXIMATE] = {"approximate", 0, 1, 0, true,
                     "1: approximates the gamma quantile by -scale (ln q + ln Gamma(shape))"},
};

#define SIDCO(fit, parameters, text, by)                                                                               \
    {                                                                                                                  \
        .name = fit, .summary = text, .source = "Abdelmoniem et al., MLSys 2021", .traits = SG_TRAIT_WANTS_FEEDBACK,   \
        .params = params, .n_params = parameters, .check = sg_share_check, .knob = sg_share_knob,                      \
        .worker_doubles = worker_doubles, .open = open_sidco, .select = by                                             \
    }

const struct sg_compressor_ops sg_compress_sidco_e =
    SIDCO("sidco-e", PARAMS_E_P, "about k of every layer, above a threshold by exponential fits in stages", select_e);
const struct sg_compressor_ops sg_compress_sidco_gp =
    SIDCO("sidco-gp", PARAMS_GP, "sidco-e by a gamma fit without zeros and generalised Pareto fits", select_gp);
const struct sg_compressor_ops sg_compress_sidco_p =
    SIDCO("sidco-p", PARAMS_E_P, "sidco-e by generalised Pareto fits", select_p);

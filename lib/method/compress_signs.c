/* compress_signs.c: every element as one bit, in one of the codes of lib/wire/code_signs.c. The sum of what workers
 * send is the result, or is compressed again, or the workers vote with their signs. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "sg_compressor_parts.h"
#include "sg_codes.h"
#include "sg_device_codes.h"

/* With the mean magnitude |x - C(x)|^2 = |x|^2 - |x|_1^2 / n, and |x|_1 >= |x|. The means of both sides lose no
 * more. */
static double bound(const double *param, size_t n) {
    (void)param;
    return n > 0 ? 1 / (double)n : 1;
}

const struct sg_compressor_ops sg_compress_ef_signsgd = {
    .name = "ef-signsgd",
    .summary = "every element's sign with the mean magnitude of its layer",
    .source = "Karimireddy et al., ICML 2019",
    .traits = SG_TRAIT_RELATIVE | SG_TRAIT_WANTS_FEEDBACK | SG_TRAIT_DENSE | SG_TRAIT_GPU,
    .code = &sg_code_signs,
    .bound = bound,
};

/* It may lose more than there was: 2 (1 - |x|_1 / (sqrt(n) |x|)) |x|^2, so there is no bound. */
const struct sg_compressor_ops sg_compress_sign_l2 = {
    .name = "sign-l2",
    .summary = "every element's sign with the root mean square of its layer",
    .source = "Tang et al. (1-bit Adam), ICML 2021",
    .traits = SG_TRAIT_WANTS_FEEDBACK | SG_TRAIT_DENSE | SG_TRAIT_GPU,
    .code = &sg_code_signs_rms,
};

/* ---- the mean over workers is compressed again ---- */

static double sum_magnitudes(const struct sg_shared *s, const float *x, size_t n) {
    double all = 0;
    for (size_t at = 0; at < n; at += SG_KERNEL_BLOCK) {
        double sum[2] = {0};
        s->kernels->loops->sum_block(sum, x + at, n - at < SG_KERNEL_BLOCK ? n - at : SG_KERNEL_BLOCK,
                                     SG_TERM_MAGNITUDES);
        all += sum[0];
    }
    return all;
}

/* The memory is the receivers' residual, the same on every rank. x <- x + sum / workers, of which the signs with the
 * mean magnitude of a layer, or with the root of its mean square, become the sum, as often as there are workers; the
 * rest stays in x. */
static void send_again(const struct sg_shared *s, float *sum, bool magnitudes) {
    const float workers = (float)s->workers;
    const int threads = s->exec.threads;
    for (size_t l = 0; l < s->layout.n_layers; l++) {
        const size_t begin = s->layout.offset[l], end = s->layout.offset[l + 1], n = end - begin;
        float *x = s->memory;
        method_add_mean(s, x + begin, sum + begin, n);
        const double total =
            magnitudes ? sum_magnitudes(s, x + begin, n) : s->kernels->sum_squares(&s->exec, x + begin, n);
        const double mean = n > 0 ? total / (double)n : 0;
        const float size = (float)(magnitudes ? mean : sqrt(mean));
#pragma omp parallel for schedule(static) num_threads(threads) if (n >= METHOD_WORTH_THREADS)
        for (size_t i = begin; i < end; i++) {
            const float sent = x[i] < 0 ? -size : size;
            x[i] -= sent;
            sum[i] = workers * sent;
        }
    }
}

static void send_magnitudes_again(const struct sg_shared *s, unsigned round, float *sum) {
    (void)round;
    send_again(s, sum, true);
}

static void send_rms_again(const struct sg_shared *s, unsigned round, float *sum) {
    (void)round;
    send_again(s, sum, false);
}

/* The message of the second compression; both codes have the same bytes and bits. */
static void again(const struct sg_shared *s, const float *sum, struct sg_message *out) {
    const size_t layers = s->layout.n_layers, d = s->layout.offset[layers];
    (void)sum;
    *out = (struct sg_message){.code = &sg_code_signs_rms, .n = d, .count = d, .bits = (double)d};
    for (size_t l = 0; l < layers; l++)
        out->bits += s->layout.offset[l + 1] > s->layout.offset[l] ? 32 : 0;
    out->bytes = sg_code_signs_rms.most_bytes(&(struct sg_numbers){.count = d, .parts = layers});
}

static const struct sg_rounds rms_twice = {
    .count = 1, .floats = method_elements, .combine = send_rms_again, .again = again};
static const struct sg_rounds magnitudes_twice = {
    .count = 1, .floats = method_elements, .combine = send_magnitudes_again, .again = again};

const struct sg_compressor_ops sg_compress_sign_l2_twice = {
    .name = "sign-l2-twice",
    .summary = "sign-l2 of each worker, then of the mean, with a second residual (1-bit Adam)",
    .source = "Tang et al. (1-bit Adam), ICML 2021",
    .traits = SG_TRAIT_WANTS_FEEDBACK | SG_TRAIT_DENSE,
    .code = &sg_code_signs_rms,
    .rounds = &rms_twice,
};

/* The exchange of dist-EF-blockSGDM (Zheng, Huang, Kwok, NeurIPS 2019, arXiv 1905.10936, algorithms 2 and 3), with
 * layers as blocks; the formulas are those that BytePS quotes of it. Its momentum and the correction of both residuals
 * for the learning rate are the feedback rule dist-ef-sgdm. */
const struct sg_compressor_ops sg_compress_ef_signsgd_twice = {
    .name = "ef-signsgd-twice",
    .summary = "ef-signsgd twice, as sign-l2-twice",
    .source = "Zheng et al. (dist-EF-blockSGDM), NeurIPS 2019",
    .traits = SG_TRAIT_WANTS_FEEDBACK | SG_TRAIT_DENSE,
    .code = &sg_code_signs,
    .rounds = &magnitudes_twice,
};

const struct sg_compressor_ops sg_compress_onebit = {
    .name = "onebit",
    .summary = "every element as the mean of its layer's elements of its sign",
    .source = "Seide et al., Interspeech 2014",
    .traits = SG_TRAIT_RELATIVE | SG_TRAIT_WANTS_FEEDBACK | SG_TRAIT_DENSE | SG_TRAIT_GPU,
    .code = &sg_code_two_means,
    .bound = bound,
};

/* ---- signs alone, and a majority vote on them ---- */

enum { TIE, PARAMS };

static void encode_signs(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    static const double one = 1;
    (void)round;
    out->n = out->count = method_count_all(w);
    w->status =
        method_write(w, &sg_code_signs_fixed, (struct sg_numbers){.value = p, .count = out->count, .param = &one}, out);
}

/* Turns the sum of the signs into the majority's sign, as often as there are workers. */
static void vote(const struct sg_shared *s, unsigned round, float *sum) {
    const size_t d = s->layout.offset[s->layout.n_layers];
    const float all = (float)s->workers, tie = s->param[TIE] > 0 ? all : 0;
    (void)round;
    if (s->exec.device) {
        s->kernels->codes->vote(&s->exec, sum, d, all, tie);
        return;
    }
#pragma omp parallel for schedule(static) num_threads(s->exec.threads) if (d >= METHOD_WORTH_THREADS)
    for (size_t i = 0; i < d; i++)
        sum[i] = sum[i] > 0 ? all : sum[i] < 0 ? -all : tie;
}

static const struct sg_parameter params[PARAMS] = {
    [TIE] = {"tie", 0, 1, 0, true, "of a tied vote: 0 = zero, 1 = plus"},
};

static const struct sg_rounds majority = {.count = 1, .combine = vote};

const struct sg_compressor_ops sg_compress_signsgd = {
    .name = "signsgd",
    .summary = "every element's sign; all move by the majority's sign (Signum with error-feedback: momentum)",
    .source = "Bernstein et al., ICML 2018; ICLR 2019",
    .traits = SG_TRAIT_DENSE | SG_TRAIT_GPU,
    .params = params,
    .n_params = PARAMS,
    .encode = encode_signs,
    .rounds = &majority,
};

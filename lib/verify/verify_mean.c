/* verify_mean.c: what a compressor sends and loses in the mean over many steps. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "verify_private.h"

/* SELDOM: what is expected so often in all draws may be missing from them, with a chance of 1 in 20000. */
enum { SMALL = 60, DRAWS = 4096, SELDOM = 10 };

struct means {
    double sum[SMALL], squares[SMALL]; /* of what is sent, element by element */
    double lost, lost_squares;         /* of |x - C(x)|^2 */
};

/* Sends g DRAWS times; false if a step fails. */
static bool draw(struct means *out, sg_method *m, const float *g) {
    bool fine = true;
    for (uint64_t t = 0; t < DRAWS && fine; t++) {
        float sent[SMALL] = {0};
        double error = 0, bits;
        fine = sg_verify_step(&m, 1, t, 1, g, NULL, SMALL, sent, &bits);
        for (size_t i = 0; i < SMALL; i++) {
            out->sum[i] += (double)sent[i] / DRAWS;
            out->squares[i] += (double)sent[i] * (double)sent[i] / DRAWS;
            error += ((double)sent[i] - (double)g[i]) * ((double)sent[i] - (double)g[i]);
        }
        out->lost += error / DRAWS;
        out->lost_squares += error * error / DRAWS;
    }
    return fine;
}

/* Checks the means of one input, x, within five standard deviations, which are measured. Returns false if the method
 * cannot be opened. */
static bool try_input(const struct verify_run *run, unsigned traits, const float *x, struct sg_verdict *verdict) {
    struct means means = {.lost = 0};
    const struct sg_compressor_ops *ops = run->ops;
    sg_method *m = verify_method(run, 0, 1, NULL, 1, verdict);
    if (!m)
        return false;
    const bool fine = draw(&means, m, x);
    sg_method_close(m);
    verify_note(verdict, fine, run, "a step fails");
    double all = 0, largest = 0;
    for (size_t i = 0; i < SMALL; i++)
        largest = fmax(largest, fabs((double)x[i]));
    for (size_t i = 0; fine && i < SMALL; i++) {
        const double deviation = sqrt(fmax(0, means.squares[i] - means.sum[i] * means.sum[i]) / DRAWS);
        const double unseen = SELDOM * largest / DRAWS;
        all += (double)x[i] * (double)x[i];
        if (traits & SG_TRAIT_UNBIASED)
            verify_note(verdict, fabs(means.sum[i] - (double)x[i]) <= 5 * deviation + unseen, run,
                        "it declares that it is unbiased, and sends %g in the mean for %g, which is %.1f sigma off",
                        means.sum[i], (double)x[i], fabs(means.sum[i] - (double)x[i]) / deviation);
    }
    const double bound = ops->bound && !ops->rounds ? ops->bound(run->param, SMALL) : (double)NAN;
    const double most = !(traits & SG_TRAIT_ABSOLUTE) ? (1 - bound) * all : bound;
    const double sigma = sqrt(fmax(0, means.lost_squares - means.lost * means.lost) / DRAWS);
    if (fine && !isnan(bound))
        verify_note(verdict, means.lost <= most * (1 + 1e-6) + 5 * sigma, run,
                    "it loses %g in the mean, and the declared bound is %g", means.lost, most);
    return true;
}

void verify_mean(sg_verify *v, const struct sg_compressor_ops *ops, struct sg_verdict *out) {
    static const enum sg_pattern pattern[] = {SG_PATTERN_NORMAL, SG_PATTERN_EQUAL, SG_PATTERN_WIDE};
    for (int variant = 0; variant < VERIFY_VARIANTS; variant++) {
        struct verify_run run = {.ops = ops, .feedback = {&sg_feedback_none, 1, {0}}, .gamma = 1, .rows = 6};
        struct sg_error err;
        verify_set(&run, variant, SMALL, false, 1);
        double param[VERIFY_PARAMS];
        memcpy(param, run.param, sizeof param);
        verify_give(&run, "unbiased", 1);
        if (sg_compressor_check(ops, run.param, SMALL, &err) != SG_OK)
            memcpy(run.param, param, sizeof param);
        const unsigned traits = sg_compressor_traits(ops, run.param);
        bool opens = traits & (SG_TRAIT_UNBIASED | SG_TRAIT_RANDOM);
        for (size_t i = 0; opens && i < sizeof pattern / sizeof *pattern; i++) {
            sg_pattern_fill(v->g, SMALL, pattern[i], 8);
            opens = try_input(&run, traits, v->g, &out[SG_VERIFY_MEAN]);
        }
    }
}

/* theory_bounds.c: the right-hand sides of section 5.1, term by term (lib/FORMULAS.md). */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "sg_theory.h"

static const char *const name[] = {
    [SG_THEOREM_4] = "theorem 4", [SG_THEOREM_5] = "theorem 5", [SG_THEOREM_6] = "theorem 6",
    [SG_REMARK_6] = "remark 6",   [SG_REMARK_8] = "remark 8",   [SG_THEOREM_7] = "theorem 7",
    [SG_THEOREM_1] = "theorem 1",
};

const char *sg_statement_name(enum sg_statement what) {
    return name[what];
}

static double strongly_convex(const struct sg_theory_constants *c, double nu_squared) {
    return c->L * c->R_0 * (1 + c->M / c->n) * exp(-c->mu * c->T / (8 * c->L * (1 + 2 * c->M / c->n))) +
           (c->sigma_squared + c->M * c->D) / (c->mu * c->n * c->T) + c->L * nu_squared / (c->mu * c->mu * c->T * c->T);
}

static double strongly_convex_relative(const struct sg_theory_constants *c, double delta) {
    return c->L * c->R_0 * (sqrt(1 + c->M * delta) / delta) *
               exp(-c->mu * delta * c->T / (16 * sqrt(3) * c->L * sqrt(2 + c->M * delta))) +
           (c->sigma_squared + c->M * c->D) / (c->mu * c->n * c->T) +
           c->L * (c->D * (1 + c->M * delta) + delta * c->sigma_squared) /
               (c->mu * c->mu * delta * delta * c->T * c->T);
}

/* Without noise and heterogeneity Remark 7 takes the place of Theorem 5. */
static double convex(const struct sg_theory_constants *c, double nu_squared) {
    const double noise = c->sigma_squared + c->M * c->D;
    if (!(noise > 0))
        return pow(c->L * sqrt(nu_squared) * c->R_0, 2.0 / 3) / pow(c->T, 2.0 / 3) +
               c->L * (1 + c->M / c->n) * c->R_0 / c->T;
    return sqrt(noise * c->R_0) / sqrt(c->n * c->T) +
           (c->n * c->L * nu_squared / noise + c->L * (1 + c->M / c->n)) * c->R_0 / c->T;
}

static double convex_relative(const struct sg_theory_constants *c, double delta) {
    const double noise = c->sigma_squared + c->M * c->D;
    return sqrt(noise * c->R_0) / sqrt(c->n * c->T) +
           (c->L * sqrt(1 + c->M * delta) / delta +
            c->n * c->L * (c->D * (1 + c->M * delta) + delta * c->sigma_squared) / (delta * delta * noise)) *
               c->R_0 / c->T;
}

/* M zeta^2 + sigma^2: the noise of a gradient where grad f is 0. */
static double noise_without_slope(const struct sg_theory_constants *c) {
    return c->M * c->zeta_squared + c->sigma_squared;
}

void sg_theory_terms(double term[SG_TERMS], enum sg_statement what, const struct sg_theory_constants *c,
                     double compressor) {
    const double twice = what == SG_THEOREM_7 ? 2 : 1;
    term[SG_TERM_START] = 4 * twice * c->gap / (c->gamma * c->T);
    term[SG_TERM_NOISE] = 2 * twice * c->gamma * c->L * noise_without_slope(c) / c->n;
    term[SG_TERM_COMPRESSION] = what == SG_THEOREM_1   ? 2 * c->L * c->L * compressor
                                : what == SG_THEOREM_6 ? 2 * c->gamma * c->gamma * c->L * c->L * compressor
                                : what == SG_THEOREM_7
                                    ? 8 * c->gamma * c->gamma * c->L * c->L / compressor *
                                          ((2 / compressor + c->M) * c->zeta_squared + c->sigma_squared)
                                    : NAN;
    if (isnan(term[SG_TERM_COMPRESSION]))
        term[SG_TERM_START] = term[SG_TERM_NOISE] = NAN;
}

static double non_convex(enum sg_statement what, const struct sg_theory_constants *c, double compressor) {
    double term[SG_TERMS];
    sg_theory_terms(term, what, c, compressor);
    return term[SG_TERM_START] + term[SG_TERM_NOISE] + term[SG_TERM_COMPRESSION];
}

struct sg_theory_rate sg_theory_rate(enum sg_statement what, const struct sg_theory_constants *c, double compressor) {
    struct sg_theory_constants at = *c;
    double term[SG_TERMS];
    at.gamma = sqrt(2 * c->n * c->gap / (c->L * noise_without_slope(c) * c->T));
    sg_theory_terms(term, what, &at, compressor);
    const double rate = term[SG_TERM_START] + term[SG_TERM_NOISE], share = term[SG_TERM_COMPRESSION] / rate;
    return (struct sg_theory_rate){at.gamma, rate, term[SG_TERM_COMPRESSION], c->T * share * share};
}

double sg_theory_bound(enum sg_statement what, const struct sg_theory_constants *c, double compressor,
                       double *largest_gamma) {
    const double by_noise = c->n / (2 * c->L * (c->M * (c->C + 1) + c->n));
    *largest_gamma = 1 / (4 * c->L * (1 + 2 * c->M / c->n)); /* Remarks 6, 8: "under the same setting" as 4, 5 */
    switch (what) {
    case SG_THEOREM_4:
        return strongly_convex(c, compressor);
    case SG_THEOREM_5:
        return convex(c, compressor);
    case SG_THEOREM_1:
    case SG_THEOREM_6:
        *largest_gamma = by_noise;
        return non_convex(what, c, compressor);
    case SG_REMARK_6:
        return strongly_convex_relative(c, compressor);
    case SG_REMARK_8:
        return convex_relative(c, compressor);
    case SG_THEOREM_7:
        *largest_gamma = fmin(by_noise, 1 / (2 * c->L * (2 / compressor + c->M) * sqrt(c->C + 1)));
        return non_convex(what, c, compressor);
    }
    return NAN;
}

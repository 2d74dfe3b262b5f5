/* sg_theory.h: the paper's convergence results (section 5.1) with numbers in them, for logistic regression.
 *
 * The letters are the paper's; lib/FORMULAS.md states the results. L is such that every f_i is L-smooth: max_j |a_j|^2
 * / 4 + l2, which is at least every shard's sigma_max(A_i)^2 / (4 m_i) + l2. mu = l2. M and C are the slopes of
 * least-squares lines through the exact noise and dissimilarity at all points that a method's runs visit. sigma^2 and
 * zeta^2 are the smallest levels with which Assumptions 3 and 4 hold at all of these points. D, R_0, f(x0) and f* are
 * exact. With task.oracle: full-shifted the f_i are the shifted ones, whose D is 0.
 *
 * Of a network (cnn) only Theorems 1, 6 and 7 are evaluated. Noise and dissimilarity are estimated from 16 draws of
 * each worker at each point. L is the largest ratio |grad f_i(x) - grad f_i(y)| / |x - y| over workers and neighbouring
 * recorded points x, y, with f_i over the batches of one epoch that is the same at all points: at most the true L. f*
 * is taken as 0, which is at most the true one. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_THEORY_H
#define SG_THEORY_H

#include <stddef.h>
#include <stdint.h>

#include "sg_gradient_noise.h"
#include "sg_recipe.h"
#include "sg_status.h"

struct sg_theory_constants {
    double L, mu, M, sigma_squared, C, zeta_squared, D, R_0;
    double gap;   /* f(x_0) - f* */
    double gamma; /* step size */
    double n, T;  /* workers, steps */
};

enum sg_statement {
    SG_THEOREM_4, /* absolute, strongly convex: P_T */
    SG_THEOREM_5, /* absolute, convex: P_T; Remark 7's form if sigma^2 + M D = 0 */
    SG_THEOREM_6, /* absolute, non-convex: (1/T) sum_t |grad f(x_t)|^2 */
    SG_REMARK_6,  /* delta-contraction, strongly convex: P_T */
    SG_REMARK_8,  /* delta-contraction, convex: P_T */
    SG_THEOREM_7, /* delta-contraction, non-convex: (1/T) sum_t |grad f(x_t)|^2 */
    SG_THEOREM_1  /* any compressor, non-convex, by the total error of the run: (1/T) sum_t |grad f(x_t)|^2 */
};

/* The right-hand side of a result. `compressor` is nu^2 of an absolute or delta of a relative compressor, and for
 * Theorem 1 the mean over the steps of (1/n) sum_i |e_i|^2, in units of the update squared. The paper states Theorem 1
 * for n = 1; with n workers it is what the proof of Theorem 6 has before it bounds the error. The results
 * about P_T are orders of magnitude: the constants that the paper's O hides are set to 1, and their step size is the
 * proof's, not the run's. Theorems 1, 6 and 7 are inequalities. *largest_gamma <- the largest step size for which the
 * result is stated; that of Remarks 6 and 8 is that of Theorems 4 and 5, because they share their setting. NaN: Remark
 * 8 without noise and with D = 0, which its setting excludes. */
double sg_theory_bound(enum sg_statement what, const struct sg_theory_constants *c, double compressor,
                       double *largest_gamma);
const char *sg_statement_name(enum sg_statement what); /* "theorem 4" */

/* The terms of Theorems 1, 6 and 7, whose sum is the bound: from f(x_0) - f*, from the noise of the gradients, which n
 * workers divide by n, and from compression, which n does not change. NaN for other results. */
enum { SG_TERM_START, SG_TERM_NOISE, SG_TERM_COMPRESSION, SG_TERMS };
void sg_theory_terms(double term[SG_TERMS], enum sg_statement what, const struct sg_theory_constants *c,
                     double compressor);

/* Corollary 1, for Theorem 6 or 7: the step size at which the terms of start and noise are equal, sqrt(2 n F / (L (M
 * zeta^2 + sigma^2) T)) with F = f(x_0) - f*, so that their sum, `rate`, falls as 1/sqrt(nT). The term of compression
 * falls as n/T, and is the smaller from `steps` on. The step size is derived from the theorem; the paper's appendix may
 * have another constant. It may exceed the largest one of the theorem. NaN without noise. */
struct sg_theory_rate {
    double gamma, rate, compression, steps;
};
struct sg_theory_rate sg_theory_rate(enum sg_statement what, const struct sg_theory_constants *c, double compressor);

/* The measurements of a method; means over its seeds. */
struct sg_theory_method {
    const struct sg_cell *cell; /* the first of its label */
    bool absolute;
    double compressor; /* nu^2 if absolute, else delta */
    struct sg_theory_constants constants;
    double gradients; /* (1/T) sum_t |grad f(x_t)|^2, as the mean over the steps t < T that the recipe records */
    double average;   /* P_T = f(mean of x_t, weights (1 - mu gamma / 2)^-(t + 1)) - f* */
    double error;     /* (1/T) sum_t (1/n) sum_i |e_i|^2 after step t, all steps, in units of the update squared */
};

/* A method to which no theorem applies. */
struct sg_theory_left_out {
    const struct sg_cell *cell; /* the first of its label */
    const char *why;            /* a static string */
};

struct sg_theory {
    struct sg_theory_method *method; /* [count] in recipe order */
    size_t count;
    struct sg_theory_left_out *left_out; /* [n_left_out] the others */
    size_t n_left_out;
};

/* How cells are trained in this process. */
struct sg_theory_options {
    const struct sg_recipe *recipe; /* of the cells */
    const char *data_dir;
    int threads; /* 0 = all cores */
    int (*stop)(void);
    void (*progress)(const char *what, double done, double total);
    void (*notice)(const char *message);
};

/* Runs all cells in this process. SG_ERR_ARGUMENT: the task is neither logreg nor cnn or has no optimum, the optimizer
 * is not SGD with a constant learning rate, or all methods are left out. A method is left out if the error of its
 * compressor has no bound or compresses the mean once more, if it has no error feedback or a decayed one, or if its
 * messages round. */
SG_CHECKED sg_status sg_theory_run(struct sg_theory *out, const struct sg_cell *cells, size_t count,
                                   const struct sg_theory_options *options, struct sg_error *err);
/* {"methods":[{"label","nu_squared" or "delta","mean_error","constants":{…},"statements":[{"statement","measured",
 * "bound","ratio","start","noise","compression","largest_gamma","applies"}],"corollary_1":{"gamma","rate",
 * "compression","steps"}}],"left_out":[{"label","why"}]}. */
cJSON *sg_theory_json(const struct sg_theory *theory);
/* Gives the i-th statement about the method, in the order above; returns false past the end. */
struct sg_theory_row {
    enum sg_statement what;
    double measured, bound, largest_gamma, term[SG_TERMS];
};
bool sg_theory_statement(struct sg_theory_row *row, const struct sg_theory_method *m, size_t i);
void sg_theory_free(struct sg_theory *theory); /* zeroes it */

#endif

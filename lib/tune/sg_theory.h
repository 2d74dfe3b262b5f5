/* sg_theory.h: the paper's convergence results with numbers in them (section 5.1), for logistic regression.
 *
 * Letters are the paper's. L: every f_i is L-smooth, max_j |a_j|^2 / 4 + l2, which is at least every shard's
 * sigma_max(A_i)^2 / (4 m_i) + l2. mu = l2. M, sigma^2, C, zeta^2: the slopes of the least-squares lines through the exact noise
 * and dissimilarity at all points that a method's runs visit, and the least levels with which Assumptions 3 and 4 hold at all of them. D, R_0, f(x0),
 * f*: exact. With task.oracle: full-shifted the f_i are the shifted ones, whose D is 0. */
#ifndef SG_THEORY_H
#define SG_THEORY_H

#include <stddef.h>
#include <stdint.h>

#include "sg_noise.h"
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
    SG_THEOREM_5, /* absolute, convex: P_T; Remark 7's form where sigma^2 + M D = 0 */
    SG_THEOREM_6, /* absolute, non-convex: (1/T) sum_t |grad f(x_t)|^2 */
    SG_REMARK_6,  /* delta-contraction, strongly convex: P_T */
    SG_REMARK_8,  /* delta-contraction, convex: P_T */
    SG_THEOREM_7  /* delta-contraction, non-convex: (1/T) sum_t |grad f(x_t)|^2 */
};

/* The right-hand side, with nu^2 of an absolute or delta of a relative compressor. The results about P_T are orders of
 * magnitude: 1 stands for the constants that the paper's O hides, and their step size is the proof's, not the run's; theorems 6
 * and 7 are inequalities. *largest_gamma <- the step size up to which it is stated: of Remarks 6 and 8 that of
 * Theorems 4 and 5, whose setting they share. The result is NaN for Remark 8 with neither noise nor D, which its setting leaves out. */
double sg_theory_bound(enum sg_statement what, const struct sg_theory_constants *c, double compressor,
                       double *largest_gamma);
const char *sg_statement_name(enum sg_statement what); /* "theorem 4" */

/* What a method did, mean over its seeds. */
struct sg_theory_method {
    const struct sg_cell *cell; /* the first of its label */
    bool absolute;
    double compressor; /* nu^2, else delta */
    struct sg_theory_constants constants;
    double gradients; /* for (1/T) sum_t |grad f(x_t)|^2: the mean over the steps t < T that the recipe records */
    double average;   /* P_T = f(mean of x_t, weights (1 - mu gamma / 2)^-(t + 1)) - f* */
};

/* A method that the theorems are not about. */
struct sg_theory_left_out {
    const struct sg_cell *cell; /* the first of its label */
    const char *why;            /* a literal */
};

struct sg_theory {
    struct sg_theory_method *method; /* [count] in recipe order */
    size_t count;
    struct sg_theory_left_out *left_out; /* [n_left_out] the others */
    size_t n_left_out;
};

struct sg_theory_options {
    const struct sg_recipe *recipe;
    const char *data_dir;
    int threads;
    int (*stop)(void);
    void (*progress)(const char *what, double done, double total);
    void (*notice)(const char *message);
};

/* Run all cells in this process. SG_ERR_ARGUMENT for another task than logreg, without its optimum, for another optimizer than
 * SGD with a constant learning rate, and where all methods are left out: without a bound on what the compressor loses, without
 * error feedback or with a part of it, with messages that round. */
SG_CHECKED sg_status sg_theory_run(struct sg_theory *out, const struct sg_cell *cells, size_t count,
                                   const struct sg_theory_options *options, struct sg_error *err);
/* {"methods":[{"label","compressor_bound","nu_squared" or "delta","constants":{…},"statements":[{"statement","measured","bound",
 *  "ratio","largest_gamma","applies"}]}],"left_out":[{"label","why"}]}; NULL = no memory. */
cJSON *sg_theory_json(const struct sg_theory *theory);
/* i-th statement about the method, in the order above: false past the end. */
bool sg_theory_statement(const struct sg_theory_method *m, size_t i, enum sg_statement *what, double *measured,
                         double *bound, double *largest_gamma);
void sg_theory_free(struct sg_theory *theory); /* zeroes it */

#endif

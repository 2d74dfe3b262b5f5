/* sg_theory.h: the paper's convergence results (section 5.1) with numbers in them, for logistic regression.
 *
 * The letters are the paper's; lib/FORMULAS.md states the results. L is such that every f_i is L-smooth: max_j |a_j|^2
 * / 4 + l2, which is at least every shard's sigma_max(A_i)^2 / (4 m_i) + l2. mu = l2. M and C are the slopes of
 * least-squares lines through the exact noise and dissimilarity at all points that a method's runs visit. sigma^2 and
 * zeta^2 are the smallest levels with which Assumptions 3 and 4 hold at all of these points. D, R_0, f(x0) and f* are
 * exact. With task.oracle: full-shifted the f_i are the shifted ones, whose D is 0. */
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
    SG_THEOREM_7  /* delta-contraction, non-convex: (1/T) sum_t |grad f(x_t)|^2 */
};

/* The right-hand side of a result. `compressor` is nu^2 of an absolute or delta of a relative compressor. The results
 * about P_T are orders of magnitude: the constants that the paper's O hides are set to 1, and their step size is the
 * proof's, not the run's. Theorems 6 and 7 are inequalities. *largest_gamma <- the largest step size for which the
 * result is stated; that of Remarks 6 and 8 is that of Theorems 4 and 5, because they share their setting. NaN: Remark
 * 8 without noise and with D = 0, which its setting excludes. */
double sg_theory_bound(enum sg_statement what, const struct sg_theory_constants *c, double compressor,
                       double *largest_gamma);
const char *sg_statement_name(enum sg_statement what); /* "theorem 4" */

/* The measurements of a method; means over its seeds. */
struct sg_theory_method {
    const struct sg_cell *cell; /* the first of its label */
    bool absolute;
    double compressor; /* nu^2 if absolute, else delta */
    struct sg_theory_constants constants;
    double gradients; /* (1/T) sum_t |grad f(x_t)|^2, as the mean over the steps t < T that the recipe records */
    double average;   /* P_T = f(mean of x_t, weights (1 - mu gamma / 2)^-(t + 1)) - f* */
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

/* Runs all cells in this process. SG_ERR_ARGUMENT: the task is not logreg or has no optimum, the optimizer is not SGD
 * with a constant learning rate, or all methods are left out. A method is left out if the error of its compressor has
 * no bound, if it has no error feedback or a decayed one, or if its messages round. */
SG_CHECKED sg_status sg_theory_run(struct sg_theory *out, const struct sg_cell *cells, size_t count,
                                   const struct sg_theory_options *options, struct sg_error *err);
/* {"methods":[{"label","compressor_bound","nu_squared" or
 * "delta","constants":{…},"statements":[{"statement","measured",
 * "bound","ratio","largest_gamma","applies"}]}],"left_out":[{"label","why"}]}. NULL = no memory. */
cJSON *sg_theory_json(const struct sg_theory *theory);
/* Gives the i-th statement about the method, in the order above; returns false past the end. */
bool sg_theory_statement(const struct sg_theory_method *m, size_t i, enum sg_statement *what, double *measured,
                         double *bound, double *largest_gamma);
void sg_theory_free(struct sg_theory *theory); /* zeroes it */

#endif

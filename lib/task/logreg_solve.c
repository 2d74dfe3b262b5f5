#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "logreg_rows.h"
#include "sg_logreg.h"

/* State of the Newton iteration. All vectors are [d] except curvature [m]. */
struct newton {
    const struct sg_matrix *a;
    double l2;
    int threads;
    double *x, *trial;
    double *g, *g_trial;       /* gradients there */
    double *step, *residual, *direction, *image, *scaled; /* of conjugate gradients */
    double *diagonal;          /* of the Hessian, the preconditioner */
    double *curvature;         /* second derivative of the loss of each row at x, over m */
    double *partial;
    double *memory;
};

static bool newton_allocate(struct newton *n) {
    size_t d = n->a->d, vectors = 10 + SG_PASS_BLOCKS;
    n->memory = malloc((vectors * d + n->a->m) * sizeof *n->memory);
    if (!n->memory)
        return false;
    double **place[] = {&n->x,         &n->trial, &n->g,      &n->g_trial,  &n->step,
                        &n->residual, &n->direction, &n->image, &n->scaled, &n->diagonal};
    double *next = n->memory;
    for (size_t i = 0; i < sizeof place / sizeof *place; i++, next += d)
        *place[i] = next;
    n->partial = next;
    n->curvature = next + SG_PASS_BLOCKS * d;
    return true;
}

static double dot(const double *x, const double *y, size_t n) {
    return sg_logreg_kernels()->dot_f64(x, y, n);
}

static void axpy(double *y, double c, const double *x, size_t n) {
    sg_logreg_kernels()->axpy_f64(y, c, x, n);
}

/* Factors of the gradient; leaves the curvature behind. */
static double gradient_factor(void *arg, size_t i, double z) {
    struct newton *n = arg;
    double tail = logistic_tail(n->a->label[i] * z), share = 1 / (double)n->a->m;
    n->curvature[i] = tail * (1 - tail) * share;
    return -n->a->label[i] * tail * share;
}

static double hessian_factor(void *arg, size_t i, double z) {
    return ((struct newton *)arg)->curvature[i] * z;
}

/* g <- grad f(x) and the curvature there; returns |g|. */
static double gradient_at(struct newton *n, const double *x, double *g) {
    sg_logreg_pass(g, n->a, x, gradient_factor, n, n->partial, n->threads);
    axpy(g, n->l2, x, n->a->d);
    return sqrt(dot(g, g, n->a->d));
}

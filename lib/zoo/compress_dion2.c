/* compress_dion2.c: Dion2 (Ahn, Amsel, Langford, arXiv 2512.16928, as microsoft/dion has it in dion2.py): the rounds
 * of ARC-Top-K (compress_arctopk.c) for rows of every matrix of the momentum M_i, which is the residual, or for its
 * columns where they are fewer. Their sum is a direction, along which optimizer `dion` steps.
 *
 *     M_i <- M_i + g_i      round 0: |row|_1 of M_i, added up; K = the fraction of the rows with the largest sums
 *     round 1: the rows K of M_i      sum = polar(mean M_i[K]) in the rows K, 0 elsewhere      M_i[K] <- mu M_i[K]
 *
 * polar is five steps of Newton and Schulz with the coefficients of Polar Express (Amsel et al., arXiv 2505.16932), in
 * float32; the authors' is in bfloat16. Among equally large rows the first ones are chosen. PAPER: the authors add up
 * whole gradients before they choose, so their norms are those of the mean, which all rows had to be sent for. With one
 * worker, or gradients that are alike, the rows are the same. */
/* SPDX-License-Identifier: MIT */
#include <float.h>

#include "sg_products.h"
#include "zoo_private.h"

enum { FRACTION, MU, PARAMS };

enum { AT_ONCE = 16 };

void sg_dion2_norms(float *norm, const float *p, size_t count, size_t length, size_t step, size_t stride) {
    for (size_t i = 0; i < count; i += AT_ONCE) {
        const size_t pieces = count - i < AT_ONCE ? count - i : AT_ONCE;
        double sum[AT_ONCE] = {0};
        for (size_t j = 0; j < length; j++)
            for (size_t k = 0; k < pieces; k++)
                sum[k] += fabs((double)p[(i + k) * step + j * stride]);
        for (size_t k = 0; k < pieces; k++)
            norm[i + k] = (float)fmin(sum[k], (double)FLT_MAX);
    }
}

void sg_dion2_direction(const struct sg_shared *s, float *x, size_t rows, size_t columns) {
    static const double of[][3] = {{8.156554524902461, -22.48329292557795, 15.878769915207462},
                                   {4.042929935166739, -2.808917465908714, 0.5000178451051316},
                                   {3.8916678022926607, -2.772484153217685, 0.5060648178503393},
                                   {3.285753657755655, -2.3681294933425376, 0.46449024233003106},
                                   {2.3465413258596377, -1.7097828382687081, 0.42323551169305323}};
    const size_t n = rows * columns;
    const double workers = (double)s->workers, norm = sqrt(s->kernels->sum_squares(&s->exec, x, n));
    const double factor = 1 / (1.02 * norm + 1e-8 * workers); /* of the mean: 1.02 |x| + epsilon */
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(factor * (double)x[i]);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        sg_newton_schulz(&s->exec, s->kernels->products, x, rows, columns, of[i], x + n, x + 3 * n);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(workers * (double)x[i]);
}

static const struct sg_parameter params[PARAMS] = {
    [FRACTION] = {"fraction", 0, 1, 0.25, false, "of a matrix's rows, or of its columns if fewer: at least one"},
    [MU] = {"mu", 0, 1, 0.95, false, "share of what was sent that stays in the momentum"},
};

const struct sg_compressor_ops sg_compress_dion2 = {
    .name = "dion2",
    .summary = "the largest rows of the momentum as directions; the momentum is the residual; for optimizer dion",
    .source = "Ahn, Amsel, Langford (Dion2), arXiv 2512.16928; github.com/microsoft/dion",
    .traits = SG_TRAIT_WANTS_FEEDBACK | SG_TRAIT_DIRECTIONS,
    .params = params,
    .n_params = PARAMS,
    .knob = method_first_knob,
    .open = sg_pieces_open,
    .encode = sg_pieces_encode,
    .rounds = &sg_pieces_rounds,
};

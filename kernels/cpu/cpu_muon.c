/* cpu_muon.c: how Muon turns the momentum of a matrix into a step (Jordan et al., kellerjordan.github.io/posts/muon,
 * 2024), as torch.optim.Muon has it but in float32 and not in bfloat16. The loops are the specification. The products
 * are those of a table (sg_products.h), so every table and number of threads gives the same bits. */
/* SPDX-License-Identifier: MIT */
#include "cpu_isa.h"

#include <math.h>

/* out [columns][rows] <- in [rows][columns], times `factor`. */
static void turn(float *restrict out, const float *restrict in, size_t rows, size_t columns, double factor) {
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            out[j * rows + i] = (float)(factor * (double)in[i * columns + j]);
}

static void scale(float *restrict out, const float *restrict in, size_t n, double factor) {
    for (size_t i = 0; i < n; i++)
        out[i] = (float)(factor * (double)in[i]);
}

static double frobenius(const float *x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

void sg_newton_schulz(const struct sg_exec *exec, const struct sg_products *products, float *x, size_t rows,
                      size_t columns, const double of[3], float *squares, float *y) {
    const struct sg_shape wide = {rows, columns, rows}, square = {rows, rows, rows};
    float *g = squares, *gg = g + rows * rows;
    products->times(exec, g, x, x, &wide);
    products->times(exec, gg, g, g, &square);
    for (size_t i = 0; i < rows * rows; i++)
        g[i] = (float)(of[1] * (double)g[i] + of[2] * (double)gg[i]);
    products->transposed(exec, y, x, g, &wide);
    for (size_t i = 0; i < rows * columns; i++)
        x[i] = (float)(of[0] * (double)x[i] + (double)y[i]);
}

size_t sg_muon_scratch(const struct sg_weight *weight, size_t n_weights) {
    size_t most = 0;
    for (size_t i = 0; i < n_weights; i++) {
        const size_t r = weight[i].rows < weight[i].columns ? weight[i].rows : weight[i].columns;
        const size_t floats = weight[i].rows * weight[i].columns + 2 * r * r;
        most = floats > most ? floats : most;
    }
    return most;
}

void cpu_muon(const struct sg_exec *exec, const struct sg_products *products, float *step, const struct sg_weight *w,
              int times, double rate, float *scratch) {
    static const double of[3] = {3.4445, -4.7750, 2.0315}; /* as published */
    const bool tall = w->rows > w->columns;
    const size_t r = tall ? w->columns : w->rows, c = tall ? w->rows : w->columns;
    const double norm = fmax(frobenius(step, r * c), 1e-7);
    float *x = scratch, *squares = x + r * c;
    if (tall)
        turn(x, step, c, r, 1 / norm);
    else
        scale(x, step, r * c, 1 / norm);
    for (int i = 0; i < times; i++)
        sg_newton_schulz(exec, products, x, r, c, of, squares, step);
    if (tall)
        turn(step, x, r, c, rate);
    else
        scale(step, x, r * c, rate);
}

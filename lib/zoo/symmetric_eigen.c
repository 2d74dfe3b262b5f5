/* symmetric_eigen.c: eigenvectors of a symmetric matrix by Jacobi's rotations, cyclic by rows. The result depends on
 * the matrix alone, for it is computed in a fixed order on one thread. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "zoo_private.h"

/* Two rows of n numbers, or two columns with `step` between the numbers of one. */
static void rotate(double *x, double *y, size_t n, size_t step, double c, double s) {
    for (size_t i = 0; i < n; i++) {
        const double a = x[i * step], b = y[i * step];
        x[i * step] = c * a - s * b;
        y[i * step] = s * a + c * b;
    }
}

void sg_symmetric_eigen(double *a, double *v, size_t m) {
    enum { SWEEPS = 60 };
    bool turned = true;
    for (size_t i = 0; i < m * m; i++)
        v[i] = i % (m + 1) == 0;
    for (int sweep = 0; sweep < SWEEPS && turned; sweep++) {
        turned = false;
        for (size_t p = 0; p < m; p++)
            for (size_t q = p + 1; q < m; q++) {
                const double off = a[p * m + q], d = a[q * m + q] - a[p * m + p];
                if (off * off <= 0x1p-106 * fabs(a[p * m + p] * a[q * m + q]))
                    continue;
                const double theta = d / (2 * off), t = copysign(1, theta) / (fabs(theta) + hypot(theta, 1));
                const double c = 1 / hypot(t, 1), s = t * c;
                rotate(a + p * m, a + q * m, m, 1, c, s);
                rotate(a + p, a + q, m, m, c, s);
                rotate(v + p * m, v + q * m, m, 1, c, s);
                turned = true;
            }
    }
}

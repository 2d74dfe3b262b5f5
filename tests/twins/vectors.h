/* vectors.h: what both twins' programs give to the library. */
/* SPDX-License-Identifier: MIT */
#ifndef TWIN_VECTORS_H
#define TWIN_VECTORS_H

#include <math.h>

#include "sg_rng.h"

enum { MADE_UP = 9 }; /* kinds of vectors */

/* Vectors as they occur and at the edges: normal, zeros, one number, all equal, all negative, denormal, huge, mixed,
 * heavy-tailed. Workers differ. */
static float draw(int kind, size_t i, size_t n, size_t worker, sg_rng *r) {
    const double x = sg_rng_normal(r);
    switch (kind) {
    case 0:
        return (float)x;
    case 1:
        return 0;
    case 2:
        return i == (n / 2 + worker) % n ? -3.0F : 0;
    case 3:
        return 0.125F;
    case 4:
        return -(float)sg_rng_uniform(r);
    case 5:
        return ldexpf((float)x, -140);
    case 6:
        return ldexpf((i + worker) % 2 ? -1.75F : 1.5F, 127);
    case 7:
        return ldexpf((float)x, (int)(i % 50) - 30);
    default:
        return (float)(x * x * x);
    }
}

#endif

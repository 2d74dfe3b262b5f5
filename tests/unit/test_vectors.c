/* The operations on whole vectors of every kernel table (mix, add_quotient, copy, zero_at) against their formulas: the
 * same bits for all lengths and numbers of threads. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "kernel_tables.h"
#include "sg_rng.h"

enum { MOST = 140001, GUARD = 4 };
static const size_t lengths[] = {0, 1, 3, 31, 64, 515, 4097, MOST};
static const float divisors[] = {3, -7, 8, 0x1p-130F};

static float x[MOST + GUARD], y[MOST + GUARD], got[MOST + GUARD], right[MOST + GUARD];
static uint32_t position[MOST];

/* A table, and the copies of x, y and position in its memory. */
static const struct sg_kernels *kernels;
static struct {
    float *x, *y;
    uint32_t *position;
} there;

/* Normal numbers of many magnitudes, zeros of either sign, and what is not finite. */
static void draw(float *out, uint32_t stream) {
    sg_rng r = sg_rng_open(1, SG_RNG_TEST, stream, 0);
    for (size_t i = 0; i < MOST + GUARD; i++)
        out[i] = i % 7 == 3     ? copysignf(0, (float)sg_rng_normal(&r))
                 : i % 101 == 5 ? INFINITY
                                : ldexpf((float)sg_rng_normal(&r), (int)(i % 60) - 30);
}

static void begin(void) {
    memcpy(right, x, sizeof right);
    kernels->put(&in_place, there.x, x, sizeof x);
}

/* The bits of what came are right, for all numbers but NaN; a NaN is one. */
static bool ended(void) {
    if (kernels->get(&in_place, got, there.x, sizeof got) != SG_KERNEL_OK)
        return false;
    for (size_t i = 0; i < MOST + GUARD; i++)
        if (memcmp(&got[i], &right[i], sizeof *got) != 0 && !(isnan(got[i]) && isnan(right[i])))
            return false;
    return true;
}

static bool mixes(size_t n) {
    begin();
    kernels->mix(&in_place, there.x, 0.75F, there.x, -3, there.y, n);
    for (size_t i = 0; i < n; i++) {
        const volatile float a = 0.75F * x[i], b = -3 * y[i];
        right[i] = a + b;
    }
    return ended();
}

static bool adds(size_t n, float divisor) {
    begin();
    kernels->add_quotient(&in_place, there.x, there.y, divisor, n);
    for (size_t i = 0; i < n; i++) {
        const volatile float quotient = y[i] / divisor;
        right[i] = x[i] + quotient;
    }
    return ended();
}

static bool copies(size_t n) {
    begin();
    kernels->copy(&in_place, there.x, there.y, n);
    memcpy(right, y, n * sizeof *right);
    return ended();
}

static bool zeros(size_t n) {
    begin();
    kernels->zero_at(&in_place, there.x, there.position, n / 3);
    for (size_t j = 0; j < n / 3; j++)
        right[position[j]] = 0;
    return ended();
}

/* A matrix whose columns lie together, a tensor whose second dimension lies innermost, none, and one number. */
static bool adds_strided(void) {
    const struct sg_strided part[] = {
        {there.x, there.y, {1, 1, 5, 7}, {0, 0, 1, 5}},
        {there.x + 40, there.y + 35, {3, 33, 2, 4}, {264, 1, 132, 33}},
        {there.x + 35, there.y, {1, 1, 0, 7}, {0, 0, 7, 1}},
        {there.x + 38, there.y + 900, {1, 1, 1, 1}, {1, 1, 1, 1}},
    };
    begin();
    memcpy(right, x, sizeof x);
    kernels->add_strided(&in_place, part, sizeof part / sizeof *part);
    for (size_t i = 0; i < 35; i++)
        right[i] += y[i % 7 * 5 + i / 7];
    for (size_t i = 0; i < 792; i++)
        right[40 + i] += y[35 + i / 264 * 264 + i / 8 % 33 + i / 4 % 2 * 132 + i % 4 * 33];
    right[38] += y[900];
    return ended();
}

static void test_table(const struct sg_kernels *table) {
    kernels = table;
    bool mix = true, add = true, copy = true, zero = true;
    there.x = kernels->allocate(&in_place, sizeof x);
    there.y = kernels->allocate(&in_place, sizeof y);
    there.position = kernels->allocate(&in_place, sizeof position);
    kernels->put(&in_place, there.y, y, sizeof y);
    kernels->put(&in_place, there.position, position, sizeof position);
    for (in_place.threads = 1; in_place.threads <= 3; in_place.threads++)
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            mix &= mixes(lengths[i]);
            copy &= copies(lengths[i]);
            zero &= zeros(lengths[i]);
            for (size_t k = 0; k < sizeof divisors / sizeof *divisors; k++)
                add &= adds(lengths[i], divisors[k]);
        }
    ok(mix, "%s: mix rounds both products, and their sum", kernels->name);
    ok(add, "%s: add_quotient rounds the quotient, and the sum", kernels->name);
    ok(copy, "%s: copy", kernels->name);
    ok(zero, "%s: zero_at", kernels->name);
    if (kernels->add_strided)
        ok(adds_strided(), "%s: add_strided of tensors in any order", kernels->name);
    kernels->release(&in_place, there.x);
    kernels->release(&in_place, there.y);
    kernels->release(&in_place, there.position);
}

int main(void) {
    draw(x, 1);
    draw(y, 2);
    for (uint32_t j = 0; j < MOST; j++)
        position[j] = j < MOST / 3 ? 3 * j : 0;
    test_tables_in_place(test_table);
    return tap_done();
}

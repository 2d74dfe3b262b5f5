/* Products with thin matrices: every table gives the bits of the stated order of sums, for any shape and threads, and
 * writes nothing else. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "kernel_tables.h"
#include "sg_products.h"
#include "sg_rng.h"

#ifdef SG_TEST_CUDA
static const size_t rows[] = {1, 2, 5, 33}, columns[] = {1, 3, 16, 31, 515};
#else
static const size_t rows[] = {1, 2, 5, 8, 127, 130}, columns[] = {1, 3, 16, 31, 512, 515, 1100};
#endif
enum { MOST_ROWS = 130, MOST_COLUMNS = 1100, MOST_RANK = 8, GUARD = 4 };

static float m[MOST_ROWS * MOST_COLUMNS], p[MOST_RANK * MOST_ROWS], q[MOST_RANK * MOST_COLUMNS];
static float got[MOST_ROWS * MOST_COLUMNS + GUARD], right[MOST_ROWS * MOST_COLUMNS + GUARD];

/* Normal numbers of many magnitudes; every seventh is a zero of either sign. A fifth are large powers of two, whose
 * products cancel: what a sum in double lost before that depends on its order, and shows in the float. */
static void draw(float *x, size_t n, uint32_t stream) {
    sg_rng r = sg_rng_open(1, SG_RNG_TEST, stream, 0);
    for (size_t i = 0; i < n; i++) {
        const float normal = (float)sg_rng_normal(&r);
        x[i] = i % 7 == 3   ? copysignf(0, normal)
               : i % 5 == 1 ? copysignf(0x1p40F, normal)
                            : ldexpf(normal, (int)(i % 40) - 20);
    }
}

/* A table, and the copies of m, p, q and got in its memory. */
static const struct sg_kernels *kernels;
static struct { float *m, *p, *q, *got; } there;

static void open_room(void) {
    there.m = kernels->allocate(&in_place, sizeof m);
    there.p = kernels->allocate(&in_place, sizeof p);
    there.q = kernels->allocate(&in_place, sizeof q);
    there.got = kernels->allocate(&in_place, sizeof got);
}

static void close_room(void) {
    kernels->release(&in_place, there.m);
    kernels->release(&in_place, there.p);
    kernels->release(&in_place, there.q);
    kernels->release(&in_place, there.got);
}

static float times_at(const struct sg_shape *s, size_t k, size_t i) {
    double lane[16] = {0}, sum = 0;
    for (size_t j = 0; j < s->columns; j++)
        lane[j % 16] += (double)m[i * s->columns + j] * (double)q[k * s->columns + j];
    for (size_t l = 0; l < 16; l++)
        sum += lane[l];
    return (float)sum;
}

static float transposed_at(const struct sg_shape *s, size_t k, size_t j) {
    double sum = 0;
    for (size_t i = 0; i < s->rows; i++)
        sum += (double)p[k * s->rows + i] * (double)m[i * s->columns + j];
    return (float)sum;
}

static float outer_at(const struct sg_shape *s, size_t i, size_t j, bool subtract) {
    double sum = 0;
    for (size_t k = 0; k < s->rank; k++)
        sum += (double)p[k * s->rows + i] * (double)q[k * s->columns + j];
    return subtract ? (float)((double)m[i * s->columns + j] - sum) : (float)sum;
}

static void clear(const float *from, size_t n) {
    for (size_t i = 0; i < sizeof got / sizeof *got; i++)
        got[i] = right[i] = from && i < n ? from[i] : -77;
    kernels->put(&in_place, there.got, got, sizeof got);
}

static bool same(void) {
    return kernels->get(&in_place, got, there.got, sizeof got) == SG_KERNEL_OK && memcmp(got, right, sizeof got) == 0;
}

static bool are_right(const struct sg_shape *s) {
    const struct sg_products *products = kernels->products;
    bool all = true;
    draw(m, s->rows * s->columns, 1);
    draw(p, s->rank * s->rows, 2);
    draw(q, s->rank * s->columns, 3);
    kernels->put(&in_place, there.m, m, sizeof m);
    kernels->put(&in_place, there.p, p, sizeof p);
    kernels->put(&in_place, there.q, q, sizeof q);
    clear(NULL, 0);
    products->times(&in_place, there.got, there.m, there.q, s);
    for (size_t k = 0; k < s->rank; k++)
        for (size_t i = 0; i < s->rows; i++)
            right[k * s->rows + i] = times_at(s, k, i);
    all &= same();
    clear(NULL, 0);
    products->transposed(&in_place, there.got, there.m, there.p, s);
    for (size_t k = 0; k < s->rank; k++)
        for (size_t j = 0; j < s->columns; j++)
            right[k * s->columns + j] = transposed_at(s, k, j);
    all &= same();
    for (int subtract = 0; subtract < 2; subtract++) {
        clear(m, s->rows * s->columns);
        products->outer(&in_place, there.got, there.p, there.q, s, subtract);
        for (size_t i = 0; i < s->rows; i++)
            for (size_t j = 0; j < s->columns; j++)
                right[i * s->columns + j] = outer_at(s, i, j, subtract);
        all &= same();
    }
    return all;
}

static void test_table(const struct sg_kernels *table) {
    kernels = table;
    open_room();
    for (size_t rank = 1; rank <= MOST_RANK; rank++) {
        bool all = strcmp(kernels->products->name, kernels->name) == 0;
        in_place.threads = 1 + (int)(rank % 3);
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
            for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
                all &= are_right(&(struct sg_shape){rows[r], columns[c], rank});
        ok(all, "%s, rank %zu: the bits of the stated order for all shapes", kernels->name, rank);
    }
    close_room();
}

int main(void) {
    test_tables_in_place(test_table);
    return tap_done();
}

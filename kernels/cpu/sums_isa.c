/* sums_isa.c: accumulation, sums and the largest magnitude of sg_kernels.h and sg_codes.h. Compiled once per
 * instruction set. */
/* SPDX-License-Identifier: MIT */
#include "select_scan.h"

#include <stdlib.h>

enum { WORTH_ENTRIES = 1 << 14, WORTH_ELEMENTS = 1 << 17 }; /* from here on a second thread saves more than it costs */

/* What of the message falls into [begin, end). */
static void add_range(float *restrict dense, const struct sg_entries *m, size_t begin, size_t end) {
    SG_ASSERT(begin <= end && (!m->index || sg_ascending_below(m->index, m->count, (uint64_t)UINT32_MAX + 1)));
    const uint32_t *index = m->index;
    const float *restrict value = m->value;
    if (!index) {
        const size_t stop = end < m->count ? end : m->count; /* one bound: two are not vectorised */
        for (size_t i = begin; i < stop; i++)
            dense[i] += value[i];
        return;
    }
    const size_t last = first_at_least(index, m->count, end);
    for (size_t j = first_at_least(index, m->count, begin); j < last; j++)
        dense[index[j]] += value[j];
}

/* The vector is as long as the message reaches. */
void ISA_NAME(scatter_add_)(const struct sg_exec *exec, float *dense, const uint32_t *index, const float *value,
                            size_t count) {
    const struct sg_entries message = {index, value, count};
    const size_t n = !index ? count : count > 0 ? (size_t)index[count - 1] + 1 : 0;
    ISA_NAME(scatter_add_messages_)(exec, dense, n, &message, 1);
}

void ISA_NAME(scatter_add_messages_)(const struct sg_exec *exec, float *dense, size_t n,
                                     const struct sg_entries *message, size_t n_messages) {
    SG_ASSERT(exec->threads >= 1);
    size_t total = 0;
    for (size_t m = 0; m < n_messages; m++)
        total += message[m].count;
    if (exec->threads == 1 || total < WORTH_ENTRIES) {
        for (size_t m = 0; m < n_messages; m++)
            add_range(dense, &message[m], 0, n);
        return;
    }
    const size_t ranges = 4 * (size_t)exec->threads;
#pragma omp parallel for schedule(dynamic) num_threads(exec->threads)
    for (size_t r = 0; r < ranges; r++)
        for (size_t m = 0; m < n_messages; m++)
            add_range(dense, &message[m], n / ranges * r, r + 1 < ranges ? n / ranges * (r + 1) : n);
}

/* What of the numbers `a` is added: their squares, their magnitudes, or those above 0; *below gets those below 0. */
__attribute__((always_inline)) static inline vec term_of(vec *below, vec a, enum sg_term term) {
    if (term == SG_TERM_SQUARES)
        return a * a;
    const vec magnitude = (vec)((vec_bits)a & INT64_MAX);
    if (term == SG_TERM_MAGNITUDES)
        return magnitude;
    const vec_bits positive = a > (vec){0};
    *below = (vec)((vec_bits)a & ~positive);
    return (vec)((vec_bits)a & positive);
}

__attribute__((always_inline)) static inline void add_block(double *out, const float *x, size_t n, enum sg_term term) {
    vec sum[LANE_VECTORS] = {{0}}, below[LANE_VECTORS] = {{0}}, low = {0};
    size_t i = 0;
    for (; i + SG_KERNEL_LANES <= n; i += SG_KERNEL_LANES)
        for (size_t v = 0; v < LANE_VECTORS; v++) {
            sum[v] += term_of(&low, vec_load_f32(x + i + v * VECTOR_DOUBLES), term);
            below[v] += low;
        }
    for (size_t v = 0; i < n; i += VECTOR_DOUBLES, v++) {
        const vec a = n - i < VECTOR_DOUBLES ? vec_part_f32(x + i, n - i) : vec_load_f32(x + i);
        sum[v] += term_of(&low, a, term);
        below[v] += low;
    }
    out[0] = add_pairwise(sum);
    if (term == SG_TERM_SIDES)
        out[1] = add_pairwise(below);
}

void ISA_NAME(sum_block_)(double *sum, const float *x, size_t n, enum sg_term term) {
    SG_ASSERT(n <= SG_KERNEL_BLOCK);
    if (term == SG_TERM_SQUARES) /* three loops of constant terms */
        add_block(sum, x, n, SG_TERM_SQUARES);
    else if (term == SG_TERM_MAGNITUDES)
        add_block(sum, x, n, SG_TERM_MAGNITUDES);
    else
        add_block(sum, x, n, SG_TERM_SIDES);
}

static double block_at(const float *x, size_t n, size_t block) {
    const size_t i = block * SG_KERNEL_BLOCK;
    double sum;
    add_block(&sum, x + i, n - i < SG_KERNEL_BLOCK ? n - i : SG_KERNEL_BLOCK, SG_TERM_SQUARES);
    return sum;
}

double ISA_NAME(sum_squares_)(const struct sg_exec *exec, const float *x, size_t n) {
    SG_ASSERT(exec->threads >= 1);
    const size_t blocks = (n + SG_KERNEL_BLOCK - 1) / SG_KERNEL_BLOCK;
    double sum = 0, *part = NULL;
    if (exec->threads > 1 && n >= WORTH_ELEMENTS)
        part = malloc(blocks * sizeof *part);
    if (!part) { /* one thread, or no memory for more */
        for (size_t b = 0; b < blocks; b++)
            sum += block_at(x, n, b);
        return sum;
    }
#pragma omp parallel for schedule(static) num_threads(exec->threads)
    for (size_t b = 0; b < blocks; b++)
        part[b] = block_at(x, n, b);
    for (size_t b = 0; b < blocks; b++)
        sum += part[b];
    free(part);
    return sum;
}

/* The bits of magnitudes are ordered like whole numbers, and the compiler has vectors for those. */
static int32_t most_of(const float *x, size_t n) {
    int32_t most = 0;
    for (size_t i = 0; i < n; i++) {
        most = larger(most, magnitude(x[i]));
    }
    return most;
}

float ISA_NAME(max_abs_)(const struct sg_exec *exec, const float *x, size_t n) {
    SG_ASSERT(exec->threads >= 1 && sg_all_finite(x, n));
    if (exec->threads == 1 || n < WORTH_ELEMENTS) /* a parallel region of one thread, too, takes longer than a bucket */
        return from_magnitude(most_of(x, n));
    int32_t most = 0;
#pragma omp parallel for schedule(static) reduction(max : most) num_threads(exec->threads)
    for (size_t at = 0; at < n; at += PIECE) {
        most = larger(most, most_of(x + at, n - at < PIECE ? n - at : PIECE));
    }
    return from_magnitude(most);
}

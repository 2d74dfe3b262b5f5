/* Sums and masks of every kernel table, in the order that sg_kernels.h states, and as the generator draws them. */
/* SPDX-License-Identifier: MIT */
#include "kernel_tables.h"

static void test_sums(const struct sg_kernels *kernels) {
    enum { N = 10000 };
    static float x[N], dense[N], reference[N];
    const struct sg_exec exec = {.threads = 1};
    for (size_t i = 0; i < N; i++)
        x[i] = (float)(i + 1);
    /* Integers below 2^53: exact in any order. */
    ok(kernels->sum_squares(&exec, x, N) == N * (N + 1.0) * (2 * N + 1.0) / 6, "%s: sum of squares of 1..%d",
       kernels->name, N);
    ok(kernels->sum_squares(&exec, x, 0) == 0, "%s: sum of no squares", kernels->name);
    sg_pattern_fill(x, N, SG_PATTERN_NORMAL, 9);
    sg_pattern_fill(reference, N, SG_PATTERN_NORMAL, 8);
    memcpy(dense, reference, sizeof dense);
    static double square[N];
    for (size_t i = 0; i < N; i++) {
        x[i] *= 0.1F; /* full mantissas, so that the order shows */
        square[i] = (double)x[i] * (double)x[i];
    }
    bool same = true;
    for (size_t n = 0; n < N; n += 41)
        same &= kernels->sum_squares(&exec, x, n) == lane_sum(square, NULL, n);
    ok(same, "%s: sums of squares in the stated order", kernels->name);
    uint32_t index[N / 3];
    for (uint32_t j = 0; j < N / 3; j++)
        index[j] = 3 * j;
    kernels->scatter_add(&exec, dense, index, x, N / 3);
    kernels->scatter_add(&exec, dense, NULL, x, N);
    size_t wrong = 0;
    for (size_t i = 0; i < N; i++) {
        if (i % 3 == 0 && i / 3 < N / 3)
            reference[i] += x[i / 3];
        reference[i] += x[i];
        wrong += bits_of(dense[i]) != bits_of(reference[i]);
    }
    ok(wrong == 0, "%s: scatter_add, sparse then dense", kernels->name);
    same = true;
    for (size_t n = 0; n <= N / 3; n += n < 70 ? 1 : 439)
        for (int indexed = 0; indexed < 2; indexed++) {
            double sum = 0;
            for (size_t j = 0; j < n; j++)
                sum += (double)x[j] * ((double)x[j] + -2.5 * (double)dense[indexed ? index[j] : j]);
            const struct sg_entries message = {indexed ? index : NULL, x, n};
            same &= kernels->dot_shifted(&exec, &message, dense, -2.5) == sum;
        }
    ok(same, "%s: dot_shifted adds one entry after another", kernels->name);
}

static void test_sums_threads(const struct sg_kernels *kernels) {
    enum { MESSAGES = 34 }; /* more than one CUDA launch takes */
    float *x = malloc(LONG_N * sizeof *x), *one = malloc(LONG_N * sizeof *one), *many = malloc(LONG_N * sizeof *many);
    uint32_t *index = malloc(LONG_N * sizeof *index);
    struct sg_entries message[MESSAGES];
    sg_pattern_fill(x, LONG_N, SG_PATTERN_NORMAL, 7);
    for (uint32_t i = 0; i < LONG_N; i++)
        x[i] *= 0.1F, index[i] = 2 * i + i % 2;
    for (size_t m = 0; m < MESSAGES; m++) /* overlapping, one dense, one empty */
        message[m] = (struct sg_entries){m == 2 ? NULL : index + 1000 * m, x + m, m == 3 ? 0 : 14000 + 10 * m};
    const struct sg_exec single = {.threads = 1};
    const double sum = kernels->sum_squares(&single, x, LONG_N);
    memcpy(one, x, LONG_N * sizeof *x);
    for (size_t m = 0; m < MESSAGES; m++)
        for (size_t j = 0; j < message[m].count; j++)
            one[message[m].index ? message[m].index[j] : j] += message[m].value[j];
    size_t wrong = 0, wrong_sum = 0;
    for (int threads = 1; threads <= MOST_THREADS; threads++) {
        const struct sg_exec exec = {.threads = threads};
        memcpy(many, x, LONG_N * sizeof *x);
        kernels->scatter_add_messages(&exec, many, LONG_N, message, MESSAGES);
        wrong += memcmp(one, many, LONG_N * sizeof *one) != 0;
        memcpy(many, x, LONG_N * sizeof *x);
        for (size_t m = 0; m < MESSAGES; m++)
            kernels->scatter_add(&exec, many, message[m].index, message[m].value, message[m].count);
        wrong += memcmp(one, many, LONG_N * sizeof *one) != 0;
        wrong_sum += kernels->sum_squares(&exec, x, LONG_N) != sum;
    }
    ok(wrong == 0, "%s: messages are added in order on any threads", kernels->name);
    ok(wrong_sum == 0, "%s: sums of squares do not depend on threads", kernels->name);
    free(x);
    free(one);
    free(many);
    free(index);
}

/* Runs of draws from any place of a stream on, as the generator draws them one by one. */
static void test_masks(const struct sg_kernels *kernels) {
    enum { MOST = 40000, GUARD = 8 };
    static const size_t lengths[] = {0, 1, 2, 3, 4, 5, 31, 127, 511, 512, 513, 1000, 4099};
    static const uint64_t runs[] = {1, 2, 3, 4, 7, 64, 515, 1024, UINT64_MAX};
    static const uint32_t leasts[] = {0, 1U << 29, 0x99999999, UINT32_MAX};
    static float mask[MOST + GUARD];
    const uint64_t last = ((uint64_t)1 << 34) - 6; /* near the end of the stream, and beyond: from its start again */
    size_t wrong = 0, elements = 0;
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (size_t r = 0; r < sizeof runs / sizeof *runs; r++)
            for (uint64_t first = 0; first < 7; first++) {
                const size_t n = lengths[l];
                const sg_rng start = sg_rng_open(7, SG_RNG_TEST, 3, n);
                struct sg_draws d = {.first = first < 6 ? first : last, .run = runs[r], .stride = runs[r] + 3 * first};
                const struct sg_exec exec = {.threads = 1 + (int)(first % 2) * MOST_THREADS};
                const uint32_t least = leasts[(l + r + first) % 4];
                memcpy(d.key, start.key, sizeof d.key);
                memcpy(d.counter, start.counter, sizeof d.counter);
                memset(mask, 0x77, sizeof mask);
                kernels->keep_mask(&exec, mask, n, &d, least, 1.25F);
                sg_rng rng = start;
                for (size_t i = 0; i < n; i++) {
                    if (i % d.run == 0) {
                        rng = start;
                        sg_rng_skip(&rng, d.first + i / d.run * d.stride);
                    }
                    wrong += mask[i] != (sg_rng_u32(&rng) < least ? 0 : 1.25F);
                }
                for (size_t i = n; i < n + GUARD; i++)
                    wrong += bits_of(mask[i]) != 0x77777777;
                elements += n;
            }
    ok(wrong == 0, "%s: masks are the generator's, %zu elements", kernels->name, elements);
#ifndef SG_TEST_CUDA
    enum { LONG = 300001 };
    float *two[2] = {malloc(LONG * sizeof(float)), malloc(LONG * sizeof(float))};
    const struct sg_draws d = {.key = {5, 6}, .counter = {0, 1, 2, 3}, .first = 9, .run = 777, .stride = 1000};
    for (int i = 0; i < 2; i++)
        kernels->keep_mask(&(struct sg_exec){.threads = 1 + 2 * i}, two[i], LONG, &d, 1U << 30, 2);
    ok(memcmp(two[0], two[1], LONG * sizeof(float)) == 0, "%s: threads share a long mask", kernels->name);
    free(two[0]);
    free(two[1]);
#endif
}

static void test_table(const struct sg_kernels *kernels) {
    test_masks(kernels);
    test_sums(kernels);
    test_sums_threads(kernels);
}

int main(void) {
    test_tables(test_table);
    return tap_done();
}

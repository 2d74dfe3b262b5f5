/* The K-th largest magnitude of a stream against sorting it. Values are whole numbers, so sums of squares are exact. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sg_magnitude_ranks.h"
#include "sg_rng.h"
#include "tap.h"

static int descending(const void *a, const void *b) {
    const float x = fabsf(*(const float *)a), y = fabsf(*(const float *)b);
    return x < y ? 1 : x > y ? -1 : 0;
}

enum { MOST = 4000 };

/* Every rank from 0 to n at once would be 2 n bins; these are enough to meet first, last, ties and bin borders. */
static void compare(const float *x, size_t n, const char *what) {
    static const size_t step[] = {1, 7, 64, 1021};
    static float sorted[MOST];
    struct sg_error err;
    uint64_t k[64];
    size_t n_ranks = 0, wrong = 0;
    sg_magnitudes *m;
    for (size_t i = 0; i < sizeof step / sizeof *step; i++)
        for (size_t j = 0; j < 12 && j * step[i] <= n; j++)
            k[n_ranks++] = j * step[i];
    k[n_ranks++] = n;
    memcpy(sorted, x, n * sizeof *x);
    qsort(sorted, n, sizeof *sorted, descending);
    sg_magnitudes_open(&m);
    sg_magnitudes_count(m, x, n / 3);
    sg_magnitudes_count(m, x + n / 3, n - n / 3);
    wrong += sg_magnitudes_total(m) != n || sg_magnitudes_ask(m, k, n_ranks, &err) != SG_OK;
    for (size_t i = 0; i < n; i++)
        sg_magnitudes_refine(m, x + i, 1);
    for (size_t i = 0; i < n_ranks; i++) {
        const struct sg_magnitude_rank r = sg_magnitudes_rank(m, i);
        double lost = 0;
        for (size_t j = k[i]; j < n; j++)
            lost += (double)sorted[j] * (double)sorted[j];
        wrong += r.k != k[i] || !(r.kept_last == (k[i] ? (double)fabsf(sorted[k[i] - 1]) : INFINITY)) ||
                 !(r.lost_most == (k[i] < n ? (double)fabsf(sorted[k[i]]) : 0)) || !(r.lost == lost);
    }
    sg_magnitudes_close(m);
    ok(wrong == 0, "%s: as by sorting", what);
}

int main(void) {
    static float x[MOST];
    struct sg_error err;
    sg_rng rng = sg_rng_open(1, SG_RNG_TEST, 0, 0);
    for (size_t i = 0; i < MOST; i++)
        x[i] = (float)((int)sg_rng_below(&rng, 2000001) - 1000000);
    compare(x, MOST, "whole numbers of either sign");
    compare(x, 1, "one entry");
    compare(x, 0, "none");
    for (size_t i = 0; i < MOST; i++)
        x[i] = (float)((int)sg_rng_below(&rng, 7) - 3);
    compare(x, MOST, "many equals and zeros");
    for (size_t i = 0; i < MOST; i++)
        x[i] = 5;
    compare(x, MOST, "all equal");
    for (size_t i = 0; i < MOST; i++) /* 16 neighbours in one coarse bin, and their squares fit a double's 53 bits */
        x[i] = (float)(16777216 - (int)sg_rng_below(&rng, 16));
    compare(x, 16, "neighbouring floats");
    x[0] = 0x1p-149F, x[1] = -0x1p-148F, x[2] = -0.0F, x[3] = 0x1p127F;
    compare(x, 4, "subnormal, minus zero, large");
    sg_magnitudes *m;
    sg_magnitudes_open(&m);
    sg_magnitudes_count(m, x, 4);
    ok(sg_magnitudes_ask(m, (const uint64_t[]){5}, 1, &err) == SG_ERR_ARGUMENT &&
           strcmp(err.msg, "the 5-th largest of 4 entries") == 0,
       "a rank that there is not");
    sg_magnitudes_close(m);
    sg_magnitudes_close(NULL);
    return tap_done();
}

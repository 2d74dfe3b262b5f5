/* Random streams: published vectors, and distributions at fixed seeds. A bound of z standard deviations is stated where
 * one is used: with a fixed seed it holds or fails for good, and a wrong generator misses it by far. */
/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sg_rng.h"

/* kat_vectors of Random123 1.14.0, "philox4x32 10": counter, key, result. */
static const struct {
    uint32_t counter[4], key[2], out[4];
} known[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

static void test_known_answers(void) {
    for (size_t v = 0; v < sizeof known / sizeof known[0]; v++) {
        sg_rng r = {.used = 4};
        memcpy(r.counter, known[v].counter, sizeof r.counter);
        memcpy(r.key, known[v].key, sizeof r.key);
        bool same = true;
        for (int i = 0; i < 4; i++)
            same &= sg_rng_u32(&r) == known[v].out[i];
        ok(same, "Philox4x32-10 known answer %zu", v);
    }
}

static void test_names(void) {
    /* A stream's name is where its counter starts, so this pins what results depend on. */
    sg_rng r = sg_rng_open(0x1122334455667788, SG_RNG_COMPRESS, 0x00abcdef, 0x99aabbccddeeff00);
    ok(r.key[0] == 0x55667788 && r.key[1] == 0x11223344 && r.counter[0] == 0 && r.counter[1] == 0x03abcdef &&
           r.counter[2] == 0xddeeff00 && r.counter[3] == 0x99aabbcc,
       "seed, purpose, worker and step all name the stream");
    sg_rng low_first = r;
    uint64_t low = sg_rng_u32(&r), high = sg_rng_u32(&r);
    ok(sg_rng_u64(&low_first) == (high << 32 | low), "u64 is two draws, the low half first");
}

static void test_below(void) {
    enum { DRAWS = 60000 };
    /* At 3 * 2^30, multiply-and-shift without rejection gives multiples of 3 half of all draws; at 3 * 2^62, the
     * remainder without rejection gives the lower third half of them. */
    static const uint64_t bounds[] = {1, 2, 3, 7, (uint64_t)3 << 30, (uint64_t)3 << 62, UINT64_MAX};
    for (size_t b = 0; b < sizeof bounds / sizeof bounds[0]; b++) {
        sg_rng r = sg_rng_open(1, SG_RNG_TEST, 0, b);
        const uint64_t third = bounds[b] / 3 + (bounds[b] % 3 > 0); /* multiples of 3, and values below it */
        size_t low = 0, multiple = 0;
        bool inside = true;
        for (int i = 0; i < DRAWS; i++) {
            uint64_t x = sg_rng_below(&r, bounds[b]);
            inside &= x < bounds[b];
            low += x < third;
            multiple += x % 3 == 0;
        }
        const double p = (double)third / (double)bounds[b], mean = DRAWS * p, limit = 4.5 * sqrt(DRAWS * p * (1 - p));
        ok(inside && fabs((double)low - mean) <= limit && fabs((double)multiple - mean) <= limit,
           "below(%llu): %zu of %d in the lower third, %zu multiples of 3 (%.0f)", (unsigned long long)bounds[b], low,
           DRAWS, multiple, mean);
    }
    enum { SIDES = 6 };
    size_t count[SIDES] = {0};
    sg_rng r = sg_rng_open(2, SG_RNG_TEST, 0, 0);
    for (int i = 0; i < DRAWS; i++)
        count[sg_rng_below(&r, SIDES)]++;
    double chi2 = 0;
    for (int s = 0; s < SIDES; s++)
        chi2 += pow((double)count[s] - DRAWS / SIDES, 2) / (DRAWS / SIDES);
    ok(chi2 <= 30, "below(6): chi-squared %.2f of 5 degrees of freedom (P(> 30) = 1.5e-5)", chi2);
}

static void test_reals(void) {
    enum { DRAWS = 100000 };
    sg_rng r = sg_rng_open(3, SG_RNG_TEST, 0, 0);
    double sum = 0, squares = 0;
    bool inside = true;
    for (int i = 0; i < DRAWS; i++) {
        double u = sg_rng_uniform(&r);
        inside &= u >= 0 && u < 1 && u * 0x1p53 == floor(u * 0x1p53);
        sum += u;
    }
    ok(inside, "uniform: multiples of 2^-53 in [0, 1)");
    ok(fabs(sum / DRAWS - 0.5) <= 4.5 * sqrt(1.0 / 12 / DRAWS), "uniform: mean %.4f", sum / DRAWS);
    double cubes = 0;
    size_t within = 0;
    sum = 0;
    for (int i = 0; i < DRAWS; i++) {
        double z = sg_rng_normal(&r);
        sum += z;
        squares += z * z;
        cubes += z * z * z;
        within += fabs(z) < 1;
    }
    ok(fabs(sum / DRAWS) <= 4.5 / sqrt(DRAWS), "normal: mean %.4f", sum / DRAWS);
    ok(fabs(squares / DRAWS - 1) <= 4.5 * sqrt(2.0 / DRAWS), "normal: variance %.4f", squares / DRAWS);
    ok(fabs(cubes / DRAWS) <= 4.5 * sqrt(15.0 / DRAWS), "normal: third moment %.4f", cubes / DRAWS);
    const double p = 0.682689492137086;
    ok(fabs((double)within / DRAWS - p) <= 4.5 * sqrt(p * (1 - p) / DRAWS), "normal: %.4f within one sigma",
       (double)within / DRAWS);
}

static void test_permutation(void) {
    enum { N = 1000, DRAWS = 24000 };
    uint32_t p[N];
    unsigned char seen[N] = {0};
    sg_rng r = sg_rng_open(4, SG_RNG_TEST, 0, 0);
    sg_rng_permutation(&r, p, N);
    size_t distinct = 0, fixed = 0;
    for (size_t i = 0; i < N; i++) {
        distinct += p[i] < N && !seen[p[i]]++;
        fixed += p[i] == i;
    }
    ok(distinct == N && fixed < 10, "permutation of %d: each value once, %zu fixed points", N, fixed);
    sg_rng_permutation(&r, p, 0);
    sg_rng_permutation(&r, p, 1);
    ok(p[0] == 0, "permutation of 0 and of 1");
    size_t count[4][4][4] = {{{0}}};
    for (int i = 0; i < DRAWS; i++) {
        sg_rng_permutation(&r, p, 4);
        count[p[0]][p[1]][p[2]]++;
    }
    double chi2 = 0;
    for (size_t i = 0; i < 64; i++)
        if (i / 16 != i / 4 % 4 && i / 16 != i % 4 && i / 4 % 4 != i % 4)
            chi2 += pow((double)(&count[0][0][0])[i] - DRAWS / 24, 2) / (DRAWS / 24);
    ok(chi2 <= 63, "the 24 permutations of 4: chi-squared %.2f of 23 degrees of freedom (P(> 63) = 1.4e-5)", chi2);
}

static bool ascending(const uint32_t *x, size_t k, size_t n) {
    for (size_t i = 0; i < k; i++)
        if (x[i] >= n || (i > 0 && x[i] <= x[i - 1]))
            return false;
    return true;
}

static void test_subset(void) {
    /* k = 2: selection sampling for n = 6 (15 subsets), drawing and dropping repeats for n = 40 (780 subsets). */
    static const size_t sizes[] = {6, 40};
    for (size_t v = 0; v < 2; v++) {
        enum { DRAWS = 156000 };
        const size_t n = sizes[v], pairs = n * (n - 1) / 2;
        static size_t count[40][40];
        memset(count, 0, sizeof count);
        sg_rng r = sg_rng_open(5, SG_RNG_TEST, 0, n);
        bool valid = true;
        for (int i = 0; i < DRAWS; i++) {
            uint32_t pair[2];
            sg_rng_subset(&r, pair, 2, n);
            if (ascending(pair, 2, n))
                count[pair[0]][pair[1]]++;
            else
                valid = false;
        }
        const double expected = (double)DRAWS / (double)pairs, freedom = (double)pairs - 1;
        double chi2 = 0;
        for (size_t a = 0; a < n; a++)
            for (size_t b = a + 1; b < n; b++)
                chi2 += pow((double)count[a][b] - expected, 2) / expected;
        ok(valid && (chi2 - freedom) / sqrt(2 * freedom) <= 5,
           "subsets 2 of %zu equally likely: chi-squared %.1f of %.0f", n, chi2, freedom);
    }
    static const size_t k[] = {0, 1, 1, 62, 63, 1000, 500, 10}, of[] = {0, 1, 1000, 1000, 1000, 1000, 1000, 100000000};
    for (size_t v = 0; v < sizeof k / sizeof k[0]; v++) {
        uint32_t x[1000];
        sg_rng r = sg_rng_open(6, SG_RNG_TEST, 0, v);
        sg_rng_subset(&r, x, k[v], of[v]);
        ok(ascending(x, k[v], of[v]), "subset %zu of %zu is ascending and distinct", k[v], of[v]);
    }
}

/* A permutation without a table: all of 0..n-1, another one for another name; of small n each place is as likely as
 * any. */
static void test_shuffle(void) {
    static const uint64_t sizes[] = {1, 2, 3, 5, 16, 17, 1000, 65536, 65537};
    static bool seen[65537];
    for (size_t v = 0; v < sizeof sizes / sizeof sizes[0]; v++) {
        const uint64_t n = sizes[v];
        const struct sg_shuffle one = sg_shuffle_open(1, SG_RNG_TEST, 0, 0, n),
                                other = sg_shuffle_open(1, SG_RNG_TEST, 0, 1, n);
        size_t bad = 0, same = 0;
        memset(seen, 0, sizeof seen);
        for (uint64_t i = 0; i < n; i++) {
            const uint64_t at = sg_shuffle_at(&one, i);
            bad += at >= n || seen[at];
            if (at < n)
                seen[at] = true;
            same += at == sg_shuffle_at(&other, i);
        }
        ok(bad == 0, "a shuffle of %llu", (unsigned long long)n);
        ok(n < 1000 || same <= 8, "another step's has %zu places in common", same); /* 1 is expected */
    }
    const struct sg_shuffle large = sg_shuffle_open(1, SG_RNG_TEST, 0, 0, (UINT64_C(1) << 62) - 1);
    ok(sg_shuffle_at(&large, 0) != sg_shuffle_at(&large, 1) && sg_shuffle_at(&large, large.n - 1) < large.n,
       "a shuffle of 2^62 - 1");

    enum { N = 10, DRAWS = 20000 };
    size_t count[N][N] = {{0}};
    double chi2 = 0, freedom = (N - 1) * (N - 1), expected = (double)DRAWS / N;
    for (uint64_t step = 0; step < DRAWS; step++) {
        const struct sg_shuffle s = sg_shuffle_open(2, SG_RNG_TEST, 0, step, N);
        for (uint64_t i = 0; i < N; i++)
            count[i][sg_shuffle_at(&s, i)]++;
    }
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++)
            chi2 += pow((double)count[i][j] - expected, 2) / expected;
    ok((chi2 - freedom) / sqrt(2 * freedom) <= 5, "shuffles of %d: chi-squared %.1f of %.0f", N, chi2, freedom);
}

/* Skipping from any place is drawing as often. */
static void test_skip(void) {
    size_t wrong = 0;
    for (unsigned before = 0; before < 9; before++)
        for (unsigned count = 0; count < 23; count++) {
            sg_rng drawn = sg_rng_open(1, SG_RNG_TEST, 0, 0), skipped;
            for (unsigned i = 0; i < before; i++)
                sg_rng_u32(&drawn);
            skipped = drawn;
            for (unsigned i = 0; i < count; i++)
                sg_rng_u32(&drawn);
            sg_rng_skip(&skipped, count);
            wrong += memcmp(&drawn, &skipped, sizeof drawn) != 0 || sg_rng_position(&skipped) != before + count;
        }
    ok(wrong == 0, "skipping draws what drawing does");
}

int main(void) {
    test_known_answers();
    test_skip();
    test_names();
    test_below();
    test_reals();
    test_permutation();
    test_subset();
    test_shuffle();
    return tap_done();
}

/* The kernels of every instruction set this machine has, against definitions written out here and against plain C. */
#include "tap.h"

#include <stdbool.h>
#include <stdlib.h>

#include "patterns.h"
#include "sg_dense.h"

enum { MAX_N = 1500 };

/* One layer's worth of everything a selection touches. */
struct bench {
    float g[MAX_N], e[MAX_N], p[MAX_N], value[MAX_N];
    uint32_t index[MAX_N];
    size_t count, offset[2];
    struct sg_exec exec;
    struct sg_select s;
};

/* With feedback: p = e + g exactly, e filled by another pattern; without: p = g. */
static void prepare(struct bench *b, size_t n, enum pattern pattern, bool feedback, uint64_t seed) {
    fill(b->g, n, pattern, seed);
    fill(b->e, n, pattern == NORMAL ? WIDE : pattern, seed + 1);
    for (size_t i = 0; i < n; i++)
        b->p[i] = feedback ? b->e[i] + b->g[i] : b->g[i];
    b->offset[0] = 0;
    b->offset[1] = n;
    b->exec = (struct sg_exec){.threads = 1};
    b->s =
        (struct sg_select){&b->exec, 1, b->offset, b->g, feedback ? b->e : NULL, 1, 1, b->index, b->value, &b->count};
}

static const float *sorting; /* magnitudes for by_rank */

static int by_rank(const void *a, const void *b) {
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    float x = fabsf(sorting[i]), y = fabsf(sorting[j]);
    return x != y ? (x < y) - (x > y) : (i > j) - (i < j);
}

static int ascending(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Sent are exactly want [k] (ascending), values are bits of p, everything else stayed in e. */
static bool sent_exactly(const struct bench *b, const uint32_t *want, size_t k) {
    if (b->count != k || memcmp(b->index, want, k * sizeof *want) != 0)
        return false;
    for (size_t i = 0, j = 0; i < b->offset[1]; i++) {
        const bool sent = j < k && want[j] == i;
        if (sent && bits_of(b->value[j]) != bits_of(b->p[i]))
            return false;
        if (b->s.e != NULL && bits_of(b->e[i]) != (sent ? 0 : bits_of(b->p[i])))
            return false;
        j += sent;
    }
    return true;
}

static const size_t sizes[] = {0, 1, 2, 31, 32, 33, 63, 64, 65, 127, 1000, MAX_N};
enum { N_SIZES = sizeof sizes / sizeof sizes[0] };

static void test_topk(const struct sg_kernels *kernels) {
    static struct bench b;
    for (int pattern = 0; pattern < N_PATTERNS; pattern++) {
        size_t wrong = 0, wrong_guess = 0, cases = 0;
        for (size_t v = 0; v < N_SIZES * 2; v++) {
            const size_t n = sizes[v / 2], shares[] = {0, 1, 2, 5, 10, n / 16, n / 2, n > 0 ? n - 1 : 0, n};
            for (size_t h = 0; h < sizeof shares / sizeof shares[0]; h++) {
                const size_t k = shares[h] < n ? shares[h] : n;
                uint32_t rank[MAX_N];
                prepare(&b, n, (enum pattern)pattern, v % 2, 10 * v);
                for (uint32_t i = 0; i < n; i++)
                    rank[i] = i;
                sorting = b.p;
                qsort(rank, n, sizeof *rank, by_rank);
                const float kth = k > 0 ? fabsf(b.p[rank[k - 1]]) : -1;
                qsort(rank, k, sizeof *rank, ascending);
                const float guesses[] = {-1,     0,     -0.0F,    kth,       kth * 0.9F, kth * 1.2F,
                                         1e-45F, 3e38F, INFINITY, -INFINITY, NAN};
                for (size_t q = 0; q <= sizeof guesses / sizeof guesses[0]; q++) {
                    float guess = q > 0 ? guesses[q - 1] : 0;
                    prepare(&b, n, (enum pattern)pattern, v % 2, 10 * v);
                    int status = kernels->select_topk(&b.s, &k, q > 0 ? &guess : NULL);
                    wrong += status != SG_KERNEL_OK || !sent_exactly(&b, rank, k);
                    wrong_guess += q > 0 && guess != kth;
                    cases++;
                }
            }
        }
        ok(wrong == 0, "%s: top-k is the k first of a full sort, %s: %zu of %zu wrong", kernels->name,
           pattern_name[pattern], wrong, cases);
        ok(wrong_guess == 0, "%s: the k-th magnitude comes back, whatever the hint was", kernels->name);
    }
}

/* Long candidate lists take the histogram path: compare with counting, on more elements than it starts at. */
static void test_topk_long(const struct sg_kernels *kernels) {
    enum { N = 50000 };
    float *g = malloc(N * sizeof *g), *value = malloc(N * sizeof *value);
    uint32_t *index = malloc(N * sizeof *index);
    static const size_t shares[] = {1, 1023, 1500, 5000, 25000, N - 1, N};
    for (int pattern = 0; pattern < N_PATTERNS; pattern++)
        for (int order = 0; order < 2; order++) {
            size_t wrong = 0;
            fill(g, N, (enum pattern)pattern, 77);
            if (order == 1) /* ever larger: the worst order for a running bound */
                for (size_t i = 0; i < N; i++)
                    g[i] = copysignf((float)i, g[i]);
            for (size_t h = 0; h < sizeof shares / sizeof shares[0]; h++) {
                const size_t offset[2] = {0, N};
                size_t count = 0;
                float kth = -1;
                struct sg_exec exec = {.threads = 1};
                struct sg_select s = {&exec, 1, offset, g, NULL, 1, 1, index, value, &count};
                if (kernels->select_topk(&s, &shares[h], &kth) != SG_KERNEL_OK || count != shares[h]) {
                    wrong++;
                    continue;
                }
                size_t above = 0, equal = 0, j = 0;
                for (size_t i = 0; i < N; i++) {
                    above += fabsf(g[i]) > kth;
                    equal += fabsf(g[i]) == kth;
                }
                size_t ties = shares[h] - above;
                bool right = above < shares[h] && above + equal >= shares[h];
                for (size_t i = 0; i < N && right; i++) {
                    const bool tie = fabsf(g[i]) == kth && ties > 0;
                    if (fabsf(g[i]) > kth || tie)
                        right = j < count && index[j] == i && bits_of(value[j]) == bits_of(g[i]) && ++j;
                    ties -= tie;
                }
                wrong += !right || j != count;
            }
            ok(wrong == 0, "%s: top-k of %d, %s%s", kernels->name, N, pattern_name[pattern],
               order ? ", ascending" : "");
        }
    free(g);
    free(value);
    free(index);
}

static void test_threshold(const struct sg_kernels *kernels) {
    static struct bench b;
    for (int pattern = 0; pattern < N_PATTERNS; pattern++) {
        size_t wrong = 0, cases = 0;
        for (size_t v = 0; v < N_SIZES * 2; v++) {
            const size_t n = sizes[v / 2];
            prepare(&b, n, (enum pattern)pattern, v % 2, 10 * v);
            const float tau[] = {0, -0.0F, 1e-45F, 0.75F,    nextafterf(0.75F, 1),
                                 1, 2,     3e38F,  INFINITY, n > 0 ? fabsf(b.p[n / 2]) : 1};
            for (size_t q = 0; q < sizeof tau / sizeof tau[0]; q++) {
                uint32_t want[MAX_N];
                size_t k = 0;
                prepare(&b, n, (enum pattern)pattern, v % 2, 10 * v);
                for (size_t i = 0; i < n; i++)
                    if (fabsf(b.p[i]) >= tau[q])
                        want[k++] = (uint32_t)i;
                int status = kernels->select_threshold(&b.s, &tau[q]);
                wrong += status != SG_KERNEL_OK || !sent_exactly(&b, want, k);
                cases++;
            }
        }
        ok(wrong == 0, "%s: threshold sends |p| >= tau, %s: %zu of %zu wrong", kernels->name, pattern_name[pattern],
           wrong, cases);
    }
}

static void test_positions_and_all(const struct sg_kernels *kernels) {
    static struct bench b;
    size_t wrong = 0, wrong_all = 0;
    for (size_t v = 0; v < N_SIZES * 2; v++) {
        const size_t n = sizes[v / 2];
        uint32_t want[MAX_N];
        sg_rng r = sg_rng_open(1, SG_RNG_TEST, 0, v);
        prepare(&b, n, FEW_VALUES, v % 2, v);
        const size_t k = sg_rng_below(&r, n + 1);
        sg_rng_subset(&r, want, k, n);
        memcpy(b.index, want, k * sizeof *want);
        b.count = k;
        wrong += kernels->select_positions(&b.s, b.index) != SG_KERNEL_OK || !sent_exactly(&b, want, k);
        prepare(&b, n, FEW_VALUES, v % 2, v);
        b.s.index = NULL;
        for (uint32_t i = 0; i < n; i++)
            b.index[i] = want[i] = i;
        wrong_all += kernels->select_all(&b.s) != SG_KERNEL_OK || !sent_exactly(&b, want, n);
    }
    ok(wrong == 0, "%s: given positions are sent", kernels->name);
    ok(wrong_all == 0, "%s: select_all sends everything", kernels->name);
}

/* One NaN or Inf at every place in turn, in g or made by overflow, must be noticed by every kernel in its layer. */
static void test_nonfinite(const struct sg_kernels *kernels) {
    enum { N = 200, CUT = 70 };
    static struct bench b;
    const size_t offset[] = {0, CUT, CUT, N}, k[] = {0, 0, 1};
    const float tau[] = {3e38F, 3e38F, 3e38F}, bad[] = {NAN, -NAN, INFINITY, -INFINITY, 3e38F};
    const uint32_t position = N - 1;
    size_t missed = 0;
    for (size_t place = 0; place < N; place++)
        for (size_t v = 0; v < 5; v++)
            for (int kernel = 0; kernel < 8; kernel++) {
                const bool feedback = kernel % 2;
                size_t count[] = {0, 0, 1};
                prepare(&b, N, NORMAL, feedback, 5);
                b.s.n_layers = 3, b.s.offset = offset, b.s.count = count;
                b.g[place] = bad[v];
                if (v == 4) /* finite, but not what is made of it */
                    b.s.scale = 10;
                int status = kernel / 2 == 0   ? kernels->select_threshold(&b.s, tau)
                             : kernel / 2 == 1 ? kernels->select_topk(&b.s, k, NULL)
                             : kernel / 2 == 2 ? kernels->select_positions(&b.s, &position)
                                               : kernels->select_all(&b.s);
                missed += status != SG_KERNEL_NONFINITE || count[0] != (place < CUT ? 0 : 2);
            }
    ok(missed == 0, "%s: NaN, Inf and overflow are noticed anywhere (%zu missed)", kernels->name, missed);
}

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
    fill(x, N, NORMAL, 9);
    fill(reference, N, NORMAL, 8);
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
}

static void test_dispatch(void) {
    unsetenv("SG_CPU");
    const struct sg_kernels *best = sg_kernels_cpu(NULL);
    ok(best != NULL && sg_kernels_cpu(best->name) == best && strcmp(sg_dense_cpu(NULL)->name, best->name) == 0,
       "the best table has a name: %s", best->name);
    ok(sg_kernels_cpu("no such") == NULL && sg_dense_cpu("") == NULL, "unknown names are refused");
    setenv("SG_CPU", "c", 1);
    ok(strcmp(sg_kernels_cpu(NULL)->name, "c") == 0 && sg_kernels_cpu(best->name) == best, "SG_CPU replaces NULL only");
    setenv("SG_CPU", "z80", 1);
    ok(sg_kernels_cpu(NULL) == NULL && sg_dense_cpu(NULL) == NULL, "an unknown SG_CPU gives no table");
    setenv("SG_CPU", "", 1);
    ok(sg_kernels_cpu(NULL) == best, "an empty SG_CPU counts as none");
    unsetenv("SG_CPU");
}

int main(void) {
    test_dispatch();
    for (int i = 0; i < N_KERNELS; i++) {
        const struct sg_kernels *kernels = sg_kernels_cpu(kernel_name[i]);
        if (kernels == NULL) {
            skip("this machine has no %s", kernel_name[i]);
            continue;
        }
        test_topk(kernels);
        test_topk_long(kernels);
        test_threshold(kernels);
        test_positions_and_all(kernels);
        test_nonfinite(kernels);
        test_sums(kernels);
    }
    return tap_done();
}

/* The selections of every kernel table, against definitions written out here and against plain C. */
/* SPDX-License-Identifier: MIT */
#include "kernel_tables.h"
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
static void prepare(struct bench *b, size_t n, enum sg_pattern pattern, bool feedback, uint64_t seed) {
    sg_pattern_fill(b->g, n, pattern, seed);
    sg_pattern_fill(b->e, n, pattern == SG_PATTERN_NORMAL ? SG_PATTERN_WIDE : pattern, seed + 1);
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
    for (int pattern = 0; pattern < SG_PATTERNS; pattern++) {
        size_t wrong = 0, wrong_guess = 0, cases = 0;
        for (size_t v = 0; v < N_SIZES * 2; v++) {
            const size_t n = sizes[v / 2], shares[] = {0, 1, 2, 5, 10, n / 16, n / 2, n > 0 ? n - 1 : 0, n};
            for (size_t h = 0; h < sizeof shares / sizeof shares[0]; h++) {
                const size_t k = shares[h] < n ? shares[h] : n;
                uint32_t rank[MAX_N];
                prepare(&b, n, (enum sg_pattern)pattern, v % 2, 10 * v);
                for (uint32_t i = 0; i < n; i++)
                    rank[i] = i;
                sorting = b.p;
                qsort(rank, n, sizeof *rank, by_rank);
                const float kth = k > 0 ? fabsf(b.p[rank[k - 1]]) : -1;
                qsort(rank, k, sizeof *rank, ascending);
                const float guesses[] = {-1,     0,     -0.0F,    kth,       kth * 0.9F, kth * 1.2F,
                                         1e-45F, 3e38F, INFINITY, -INFINITY, NAN};
                for (size_t q = (v + h) % ONE_HINT_IN; q <= sizeof guesses / sizeof guesses[0]; q += ONE_HINT_IN) {
                    float guess = q > 0 ? guesses[q - 1] : 0;
                    prepare(&b, n, (enum sg_pattern)pattern, v % 2, 10 * v);
                    int status = kernels->select_topk(&b.s, &k, q > 0 ? &guess : NULL);
                    wrong += status != SG_KERNEL_OK || !sent_exactly(&b, rank, k);
                    wrong_guess += q > 0 && guess != kth;
                    cases++;
                }
            }
        }
        ok(wrong == 0, "%s: top-k is the k first of a full sort, %s: %zu of %zu wrong", kernels->name,
           sg_pattern_name[pattern], wrong, cases);
        ok(wrong_guess == 0, "%s: the k-th magnitude comes back, whatever the hint was", kernels->name);
    }
}

/* Long candidate lists take the histogram path: compare with counting, on more elements than it starts at. */
static void test_topk_long(const struct sg_kernels *kernels) {
    enum { N = 50000 };
    float *g = malloc(N * sizeof *g), *value = malloc(N * sizeof *value);
    uint32_t *index = malloc(N * sizeof *index);
    static const size_t shares[] = {1, 1023, 1500, 5000, 25000, N - 1, N};
    for (int pattern = 0; pattern < SG_PATTERNS; pattern++)
        for (int order = 0; order < 2; order++) {
            size_t wrong = 0;
            sg_pattern_fill(g, N, (enum sg_pattern)pattern, 77);
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
            ok(wrong == 0, "%s: top-k of %d, %s%s", kernels->name, N, sg_pattern_name[pattern],
               order ? ", ascending" : "");
        }
    free(g);
    free(value);
    free(index);
}

static void test_threshold(const struct sg_kernels *kernels) {
    static struct bench b;
    for (int pattern = 0; pattern < SG_PATTERNS; pattern++) {
        size_t wrong = 0, cases = 0;
        for (size_t v = 0; v < N_SIZES * 2; v++) {
            const size_t n = sizes[v / 2];
            prepare(&b, n, (enum sg_pattern)pattern, v % 2, 10 * v);
            const float tau[] = {0, -0.0F, 1e-45F, 0.75F,    nextafterf(0.75F, 1),
                                 1, 2,     3e38F,  INFINITY, n > 0 ? fabsf(b.p[n / 2]) : 1};
            for (size_t q = 0; q < sizeof tau / sizeof tau[0]; q++) {
                uint32_t want[MAX_N];
                size_t k = 0;
                prepare(&b, n, (enum sg_pattern)pattern, v % 2, 10 * v);
                for (size_t i = 0; i < n; i++)
                    if (fabsf(b.p[i]) >= tau[q])
                        want[k++] = (uint32_t)i;
                int status = kernels->select_threshold(&b.s, &tau[q]);
                wrong += status != SG_KERNEL_OK || !sent_exactly(&b, want, k);
                cases++;
            }
        }
        ok(wrong == 0, "%s: threshold sends |p| >= tau, %s: %zu of %zu wrong", kernels->name, sg_pattern_name[pattern],
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
        prepare(&b, n, SG_PATTERN_FEW_VALUES, v % 2, v);
        const size_t k = sg_rng_below(&r, n + 1);
        sg_rng_subset(&r, want, k, n);
        memcpy(b.index, want, k * sizeof *want);
        b.count = k;
        wrong += kernels->select_positions(&b.s, b.index) != SG_KERNEL_OK || !sent_exactly(&b, want, k);
        prepare(&b, n, SG_PATTERN_FEW_VALUES, v % 2, v);
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
                prepare(&b, N, SG_PATTERN_NORMAL, feedback, 5);
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

__attribute__((unused)) static void test_dispatch(void) {
    unsetenv("SG_CPU");
    const struct sg_kernels *best = sg_kernels_cpu(NULL);
    ok(best != NULL && sg_kernels_cpu(best->name) == best && strcmp(best->dense->name, best->name) == 0,
       "the best table has a name: %s", best->name);
    ok(sg_kernels_cpu("no such") == NULL && sg_kernels_cpu("") == NULL, "unknown names are refused");
    setenv("SG_CPU", "c", 1);
    ok(strcmp(sg_kernels_cpu(NULL)->name, "c") == 0 && sg_kernels_cpu(best->name) == best, "SG_CPU replaces NULL only");
    setenv("SG_CPU", "z80", 1);
    ok(sg_kernels_cpu(NULL) == NULL, "an unknown SG_CPU gives no table");
    setenv("SG_CPU", "", 1);
    ok(sg_kernels_cpu(NULL) == best, "an empty SG_CPU counts as none");
    unsetenv("SG_CPU");
}

/* Threads: a vector long enough to be cut, with a few layers, many tiny ones, and an empty one between. Every kernel's
 * output must be that of plain C on one thread, bit for bit. */
enum { LONG_LAYERS = 43 };

struct long_run {
    float *e, *value;
    uint32_t *index;
    size_t count[LONG_LAYERS];
    float guess[LONG_LAYERS];
    int status;
};

static void cut_layers(size_t *offset) {
    offset[0] = 0;
    offset[1] = 1;
    offset[2] = 200001; /* pieces end inside */
    for (size_t l = 3; l <= LONG_LAYERS; l++)
        offset[l] = offset[l - 1] + 65 * (l % 3); /* 0, 65, 130 */
    offset[LONG_LAYERS] = LONG_N;
}

enum { LONG_THRESHOLD, LONG_COLD, LONG_WARM, LONG_MISS, LONG_POSITIONS, LONG_ALL, LONG_KERNELS };

static void run_long(struct long_run *r, const struct sg_kernels *kernels, int kernel, int threads, const float *g,
                     float share, const float *e) {
    size_t offset[LONG_LAYERS + 1], k[LONG_LAYERS], at = 0;
    float tau[LONG_LAYERS];
    struct sg_exec exec = {.threads = threads};
    cut_layers(offset);
    memset(r->value, 0, LONG_N * sizeof *r->value);
    memset(r->index, 0, LONG_N * sizeof *r->index);
    if (e != NULL)
        memcpy(r->e, e, LONG_N * sizeof *e);
    for (size_t l = 0; l < LONG_LAYERS; l++) {
        const size_t n = offset[l + 1] - offset[l];
        k[l] = l % 5 == 4 ? 0 : (size_t)(share * (float)n);
        tau[l] = 2.0F - 1.9F * share;
        r->guess[l] = kernel == LONG_WARM ? 1.5F : kernel == LONG_MISS ? 1e10F : -1;
        r->count[l] = k[l];
        for (size_t j = 0; kernel == LONG_POSITIONS && j < k[l]; j++)
            r->index[at++] = (uint32_t)(offset[l] + n / k[l] * j);
    }
    struct sg_select s = {&exec, LONG_LAYERS, offset, g, e ? r->e : NULL, 1, 1, r->index, r->value, r->count};
    r->status = kernel == LONG_THRESHOLD   ? kernels->select_threshold(&s, tau)
                : kernel == LONG_POSITIONS ? kernels->select_positions(&s, r->index)
                : kernel == LONG_ALL       ? kernels->select_all(&s)
                                           : kernels->select_topk(&s, k, r->guess);
}

static bool same_run(const struct long_run *a, const struct long_run *b, bool feedback, bool indexed) {
    size_t sent = 0;
    for (size_t l = 0; l < LONG_LAYERS; l++)
        sent += a->count[l];
    return a->status == b->status && memcmp(a->count, b->count, sizeof a->count) == 0 &&
           memcmp(a->guess, b->guess, sizeof a->guess) == 0 &&
           memcmp(a->value, b->value, sent * sizeof *a->value) == 0 &&
           (!indexed || memcmp(a->index, b->index, sent * sizeof *a->index) == 0) &&
           (!feedback || memcmp(a->e, b->e, LONG_N * sizeof *a->e) == 0);
}

static struct long_run open_run(void) {
    return (struct long_run){.e = calloc(LONG_N, sizeof(float)),
                             .value = calloc(LONG_N, sizeof(float)),
                             .index = calloc(LONG_N, sizeof(uint32_t))};
}

static void close_run(struct long_run *r) {
    free(r->e);
    free(r->value);
    free(r->index);
}

static void test_threads(const struct sg_kernels *kernels) {
    static const char *const name[] = {"threshold",          "cold top-k", "warm top-k",
                                       "top-k after a miss", "positions",  "all"};
    static const float share[] = {0.0003F, 0.02F, 0.6F};
    static const enum sg_pattern patterns[] = {SG_PATTERN_NORMAL, SG_PATTERN_EQUAL, SG_PATTERN_WIDE};
    float *g = malloc(LONG_N * sizeof *g), *e = malloc(LONG_N * sizeof *e);
    struct long_run want = open_run(), got = open_run();
    size_t wrong[LONG_KERNELS] = {0};
    for (size_t v = 0; v < 3 * 3 * 2; v++) {
        const bool feedback = v % 2;
        if (v % 6 == 0) {
            sg_pattern_fill(g, LONG_N, patterns[v / 6], 3);
            sg_pattern_fill(e, LONG_N, patterns[v / 6], 4);
        }
        for (int kernel = 0; kernel < LONG_KERNELS; kernel++) {
            run_long(&want, sg_kernels_cpu("c"), kernel, 1, g, share[v / 2 % 3], feedback ? e : NULL);
            for (int threads = 1; threads <= MOST_THREADS; threads++) {
                run_long(&got, kernels, kernel, threads, g, share[v / 2 % 3], feedback ? e : NULL);
                wrong[kernel] += got.status != SG_KERNEL_OK || !same_run(&want, &got, feedback, kernel != LONG_ALL);
            }
        }
    }
    for (int kernel = 0; kernel < LONG_KERNELS; kernel++)
        ok(wrong[kernel] == 0, "%s: %s on up to %d threads as plain C on one: %zu of %d wrong", kernels->name,
           name[kernel], MOST_THREADS, wrong[kernel], 18 * MOST_THREADS);
    sg_pattern_fill(g, LONG_N, SG_PATTERN_NORMAL, 3);
    g[150000] = NAN;
    g[LONG_N - 1] = INFINITY;
    size_t missed = 0;
    for (int kernel = 0; kernel < LONG_KERNELS; kernel++)
        for (int threads = 1; threads <= MOST_THREADS; threads++) {
            run_long(&got, kernels, kernel, threads, g, 0.01F, NULL);
            missed += got.status != SG_KERNEL_NONFINITE || got.count[0] != 1;
        }
    ok(missed == 0, "%s: the first layer that is not finite, on any threads", kernels->name);
    close_run(&want);
    close_run(&got);
    free(g);
    free(e);
}

#ifdef SG_TEST_CUDA
/* Few blocks wait for each other as all that the device holds, and give the same bits. */
static void test_block_limit(const struct sg_kernels *kernels) {
    static const char *const limit[] = {"1", "2", "5"};
    const char *set = getenv("SG_CUDA_BLOCKS");
    char kept[16] = "", why[256] = "";
    if (set != NULL)
        snprintf(kept, sizeof kept, "%s", set);
    float *g = malloc(LONG_N * sizeof *g), *e = malloc(LONG_N * sizeof *e);
    struct long_run want = open_run(), got = open_run();
    size_t wrong = 0;
    sg_pattern_fill(g, LONG_N, SG_PATTERN_NORMAL, 5);
    sg_pattern_fill(e, LONG_N, SG_PATTERN_WIDE, 6);
    for (size_t l = 0; l < sizeof limit / sizeof limit[0]; l++) {
        const struct sg_exec exec = {.threads = 1};
        setenv("SG_CUDA_BLOCKS", limit[l], 1);
        kernels->sum_squares(&exec, g, 1); /* another layout, so that the next one is cut anew */
        for (int kernel = 0; kernel < LONG_KERNELS; kernel++) {
            run_long(&want, sg_kernels_cpu("c"), kernel, 1, g, 0.02F, e);
            run_long(&got, kernels, kernel, 1, g, 0.02F, e);
            wrong += !same_run(&want, &got, true, kernel != LONG_ALL);
        }
        wrong += kernels->sum_squares(&exec, g, LONG_N) != sg_kernels_cpu("c")->sum_squares(&exec, g, LONG_N);
    }
    ok(wrong == 0, "%s: the same bits from 1, 2 and 5 blocks: %zu wrong", kernels->name, wrong);
    static const char *const nonsense[] = {"0", "many", "7x", "-1", "99999999999999999999"};
    size_t taken = 0;
    for (size_t i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++) {
        setenv("SG_CUDA_BLOCKS", nonsense[i], 1);
        taken += cuda_host_table(why, sizeof why) != NULL || strstr(why, "SG_CUDA_BLOCKS=") == NULL;
    }
    ok(taken == 0, "a limit of blocks that is not a number is refused: %s", why);
    setenv("SG_CUDA_BLOCKS", kept, 1);
    close_run(&want);
    close_run(&got);
    free(g);
    free(e);
}

/* What the emulated device says is the thread's current one. */
extern int sg_emulated_device __attribute__((weak));

/* Arguments that the kernels cannot work with are refused with a sentence. A workspace of few blocks has no more, which
 * the emulation checks by the variable. */
static void test_refusals(void) {
    enum { N = 20000, MOST = 2 }; /* 80 kB, a long copy */
    const size_t offset[] = {0, N};
    const struct sg_kernels *there = sg_cuda_kernels();
    struct sg_exec exec = {.threads = 1};
    char why[256] = "", said[3][256] = {""};
    sg_cuda *c = NULL;
    static float host[N];
    size_t count = 0;
    if (sg_cuda_device_open((sg_cuda_device **)&exec.device, -1, 0, why, sizeof why) != SG_KERNEL_OK ||
        sg_cuda_open(&c, 1, offset, MOST) != SG_KERNEL_OK) {
        tap_no_gpu(why);
        return;
    }
    void *stream = cuda_host_stream();
    float *memory = there->allocate(&exec, 4 * sizeof host), *e = memory + N + 1; /* which is off by 4 bytes */
    const struct sg_cuda_select right = {.g = memory,
                                         .scale = 1,
                                         .index = (uint32_t *)(memory + 2 * N),
                                         .value = memory + 3 * N,
                                         .count = there->allocate(&exec, sizeof(uint32_t)),
                                         .result = there->allocate(&exec, sizeof(struct sg_cuda_result))};
    struct sg_cuda_select call = right;
    (void)there->get(&exec, host, memory, sizeof host); /* the allocations were zeroed on another stream */
    setenv("SG_CUDA_BLOCKS", "2", 1);
    sg_cuda_device_set_stream(exec.device, stream);
    int status = sg_cuda_select_all(c, stream, &right);
    ok(status == SG_KERNEL_OK && there->get(&exec, host, memory, sizeof host) == SG_KERNEL_OK,
       "a workspace of at most %d blocks", MOST);
    unsetenv("SG_CUDA_BLOCKS");
    call.e = e;
    status = sg_cuda_select_all(c, stream, &call);
    snprintf(said[0], sizeof said[0], "%s", sg_cuda_last_error());
    ok(status == SG_KERNEL_DEVICE && strstr(said[0], "multiple of 16 bytes"), "a vector off 16 bytes: %s", said[0]);
    call.e = NULL;
    call.g = host;
    status = sg_cuda_select_all(c, stream, &call);
    snprintf(said[1], sizeof said[1], "%s", sg_cuda_last_error());
    ok(status == SG_KERNEL_DEVICE && strstr(said[1], "not in the memory of a device"), "a vector on the host: %s",
       said[1]);
    if (&sg_emulated_device) {
        sg_emulated_device = 1;
        status = sg_cuda_select_all(c, stream, &right);
        sg_emulated_device = 0;
        snprintf(said[2], sizeof said[2], "%s", sg_cuda_last_error());
        ok(status == SG_KERNEL_DEVICE && strstr(said[2], "current device is 1"), "another device: %s", said[2]);
    }
    const struct sg_select of_table = {.exec = &exec,
                                       .n_layers = 1,
                                       .offset = offset,
                                       .g = memory,
                                       .e = e,
                                       .scale = 1,
                                       .index = right.index,
                                       .value = right.value,
                                       .count = &count};
    status = there->select_all(&of_table);
    ok(status == SG_KERNEL_DEVICE && strstr(sg_cuda_device_error(exec.device), "multiple of 16 bytes"),
       "a vector off 16 bytes, by the table: %s", sg_cuda_device_error(exec.device));
    sg_cuda_close(c);
    there->release(&exec, memory);
    there->release(&exec, right.count);
    there->release(&exec, right.result);
    sg_cuda_device_close(exec.device);
}

#endif

static void test_table(const struct sg_kernels *kernels) {
    test_topk(kernels);
    if (MOST_THREADS > 0)
        test_topk_long(kernels);
    test_threshold(kernels);
    test_positions_and_all(kernels);
    test_nonfinite(kernels);
    if (MOST_THREADS > 0)
        test_threads(kernels);
#ifdef SG_TEST_CUDA
    test_block_limit(kernels);
    test_refusals();
#endif
}

int main(void) {
#ifndef SG_TEST_CUDA
    test_dispatch();
#endif
    test_tables(test_table);
    return tap_done();
}

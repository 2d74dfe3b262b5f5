/* select_isa.c: the kernels of sg_kernels.h. Compiled once per instruction set; loops are written so that compilers
 * vectorise them. Single-threaded: workers run in parallel.
 *
 * Magnitudes are compared as integers: with the sign bit cleared, the bits of finite floats order like their absolute
 * values, and everything from FLT_INF_BITS up is Inf or NaN. One integer maximum over a block of p therefore answers
 * both "is anything here selected?" and "is anything not finite?"; only blocks with a hit are looked at element by
 * element. */
#include "cpu_isa.h"

#include <stdbool.h>
#include <string.h>

enum {
    SCAN = 64,                /* elements per block test: small, because a hit costs a scan of the block */
    GROUP = sizeof(uint64_t), /* their flags are tested together */
    FLT_INF_BITS = 0x7f800000,
    FLT_MAGNITUDE = 0x7fffffff
};

static inline int32_t magnitude(float x) {
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits & FLT_MAGNITUDE;
}

static inline float from_magnitude(int32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Where the elements p come from. After a first pass with feedback they are in e. */
enum source { FROM_GRADIENT, FROM_BOTH, FROM_RESIDUAL };

static enum source first_source(const struct sg_select *s) {
    return s->e != NULL ? FROM_BOTH : FROM_GRADIENT;
}

static inline int32_t larger(int32_t a, int32_t b) {
    return a > b ? a : b;
}

/* Form p[i] for i in [at, at + n), `buffer` has room for n. With feedback they are stored in e, else in `buffer`; *p
 * points at them. Returns the largest magnitude. */
__attribute__((always_inline)) static inline int32_t
form(const float **p, float *restrict buffer, const struct sg_select *s, enum source source, size_t at, size_t n) {
    const float decay = s->decay, scale = s->scale;
    const float *restrict g = s->g + at;
    int32_t max = 0;
    if (source == FROM_GRADIENT) {
        for (size_t i = 0; i < n; i++) {
            buffer[i] = scale * g[i];
            max = larger(max, magnitude(buffer[i]));
        }
        *p = buffer;
        return max;
    }
    float *restrict e = s->e + at;
    *p = e;
    if (source == FROM_BOTH) {
        for (size_t i = 0; i < n; i++) {
            e[i] = decay * e[i] + scale * g[i];
            max = larger(max, magnitude(e[i]));
        }
    } else {
        for (size_t i = 0; i < n; i++)
            max = larger(max, magnitude(e[i]));
    }
    return max;
}

/* Append those of p[0..n) with magnitude >= floor to index, value [have]; returns the new length. The plain version
 * writes one entry past it, which is inside the arrays as long as no more than `at` entries come before the block. */
#if defined(__AVX512F__)
static inline size_t collect(uint32_t *restrict index, float *restrict value, size_t have, const float *restrict p,
                             size_t at, size_t n, int32_t floor) {
    const __m512i least = _mm512_set1_epi32(floor), sign = _mm512_set1_epi32(FLT_MAGNITUDE);
    const __m512i order = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 there = n - i < 16 ? (__mmask16)((1U << (n - i)) - 1) : (__mmask16)-1;
        const __m512i bits = _mm512_maskz_loadu_epi32(there, p + i);
        const __mmask16 hit = _mm512_mask_cmpge_epi32_mask(there, _mm512_and_epi32(bits, sign), least);
        const __m512i place = _mm512_add_epi32(order, _mm512_set1_epi32((int32_t)(uint32_t)(at + i)));
        _mm512_mask_compressstoreu_epi32(index + have, hit, place);
        _mm512_mask_compressstoreu_epi32(value + have, hit, bits);
        have += (size_t)__builtin_popcount(hit);
    }
    return have;
}
#else
static inline size_t collect(uint32_t *restrict index, float *restrict value, size_t have, const float *restrict p,
                             size_t at, size_t n, int32_t floor) {
    for (size_t i = 0; i < n; i++) {
        index[have] = (uint32_t)(at + i);
        value[have] = p[i];
        have += magnitude(p[i]) >= floor;
    }
    return have;
}
#endif

static int nonfinite(const struct sg_select *s, size_t layer) {
    s->count[0] = layer;
    return SG_KERNEL_NONFINITE;
}

static inline size_t block_end(size_t n) {
    return n - n % SCAN;
}

/* ---- hard threshold ------------------------------------------------------------------------------------------- */

/* One block; false = not finite. `sent` is the total so far. */
__attribute__((always_inline)) static inline bool threshold_block(const struct sg_select *s, enum source source,
                                                                  size_t at, size_t n, int32_t floor, size_t *sent) {
    float buffer[SCAN];
    const float *p;
    int32_t max = form(&p, buffer, s, source, at, n);
    if (max < floor && max < FLT_INF_BITS)
        return true;
    if (max >= FLT_INF_BITS)
        return false;
    size_t from = *sent;
    *sent = collect(s->index, s->value, from, p, at, n, floor);
    if (source != FROM_GRADIENT)
        for (size_t j = from; j < *sent; j++)
            s->e[s->index[j]] = 0;
    return true;
}

__attribute__((always_inline)) static inline int threshold_layers(const struct sg_select *s, enum source source,
                                                                  const float *tau) {
    size_t sent = 0;
    for (size_t l = 0; l < s->n_layers; l++) {
        const size_t begin = s->offset[l], end = s->offset[l + 1], whole = begin + block_end(end - begin);
        const size_t before = sent;
        const int32_t floor = magnitude(tau[l]);
        for (size_t at = begin; at < whole; at += SCAN)
            if (!threshold_block(s, source, at, SCAN, floor, &sent))
                return nonfinite(s, l);
        if (!threshold_block(s, source, whole, end - whole, floor, &sent))
            return nonfinite(s, l);
        s->count[l] = sent - before;
    }
    return SG_KERNEL_OK;
}

static int select_threshold(const struct sg_select *s, const float *tau) {
    if (s->e != NULL)
        return threshold_layers(s, FROM_BOTH, tau);
    return threshold_layers(s, FROM_GRADIENT, tau);
}

/* ---- exact Top-k ---------------------------------------------------------------------------------------------- */

enum { INSERT_MAX = 16, BISECT_MAX = 2048, PRUNE_SLACK = 16 };

static size_t count_at_least(const float *value, size_t n, int32_t floor) {
    uint32_t count = 0; /* n < 2^32: indices are 32 bits wide */
    for (size_t i = 0; i < n; i++)
        count += magnitude(value[i]) >= floor;
    return count;
}

/* The k largest magnitudes in descending order, one insertion after the other. */
static int32_t kth_by_insertion(const float *value, size_t n, size_t k) {
    int32_t top[INSERT_MAX];
    for (size_t i = 0; i < k; i++)
        top[i] = -1;
    for (size_t i = 0; i < n; i++) {
        const int32_t bits = magnitude(value[i]);
        if (bits <= top[k - 1])
            continue;
        size_t at = k - 1;
        for (; at > 0 && top[at - 1] < bits; at--)
            top[at] = top[at - 1];
        top[at] = bits;
    }
    return top[k - 1];
}

/* The k-th largest magnitude of value [n], 1 <= k <= n. Few of few: by insertion. Short lists: bit by bit, each a
 * vectorised count. Long lists: three histogram passes over 11 + 10 + 10 bits. */
static int32_t kth_magnitude(const float *value, size_t n, size_t k) {
    int32_t kth = 0;
    if (k <= INSERT_MAX && n <= 4 * INSERT_MAX)
        return kth_by_insertion(value, n, k);
    if (n <= BISECT_MAX) {
        for (int bit = 30; bit >= 0; bit--)
            if (count_at_least(value, n, kth | 1 << bit) >= k)
                kth |= 1 << bit;
        return kth;
    }
    static const int shift[] = {20, 10, 0};
    for (int pass = 0, above = 31; pass < 3; above = shift[pass++]) {
        uint32_t histogram[1 << 11] = {0};
        const int32_t mask = (1 << (above - shift[pass])) - 1;
        for (size_t i = 0; i < n; i++) {
            int32_t bits = magnitude(value[i]);
            histogram[bits >> shift[pass] & mask] += bits >> above == kth >> above;
        }
        int32_t digit = mask;
        for (; histogram[digit] < k; digit--)
            k -= histogram[digit];
        kth |= digit << shift[pass];
    }
    return kth;
}

/* Keep the k largest of the candidates index, value [n] in place, ties to the earlier ones. Returns the k-th magnitude.
 */
static int32_t keep_largest(uint32_t *index, float *value, size_t n, size_t k) {
    const int32_t kth = kth_magnitude(value, n, k);
    if (n == k)
        return kth;
    size_t ties = k; /* places left for elements equal to the k-th */
    if (kth < FLT_MAGNITUDE)
        ties -= count_at_least(value, n, kth + 1);
    for (size_t i = 0, kept = 0; kept < k; i++) {
        const int32_t bits = magnitude(value[i]);
        const bool tie = bits == kth && ties > 0;
        index[kept] = index[i];
        value[kept] = value[i];
        kept += bits > kth || tie;
        ties -= tie;
    }
    return kth;
}

/* The candidates of one layer, at the end of the output arrays. */
struct top {
    uint32_t *index;
    float *value;
    size_t have, k;
    int32_t floor; /* smaller magnitudes cannot be among the k largest */
};

__attribute__((always_inline)) static inline bool top_block(struct top *top, const struct sg_select *s,
                                                            enum source source, size_t at, size_t n) {
    float buffer[SCAN];
    const float *p;
    int32_t max = form(&p, buffer, s, source, at, n);
    if (max < top->floor && max < FLT_INF_BITS)
        return true;
    if (max >= FLT_INF_BITS)
        return false;
    top->have = collect(top->index, top->value, top->have, p, at, n, top->floor);
    /* Once k candidates are known, only something larger than the least of them matters: later ties lose. */
    if (top->have >= 2 * top->k + PRUNE_SLACK) {
        top->floor = keep_largest(top->index, top->value, top->have, top->k) + 1;
        top->have = top->k;
    }
    return true;
}

__attribute__((always_inline)) static inline bool top_pass(struct top *top, const struct sg_select *s,
                                                           enum source source, size_t begin, size_t end) {
    const size_t whole = begin + block_end(end - begin);
    for (size_t at = begin; at < whole; at += SCAN)
        if (!top_block(top, s, source, at, SCAN))
            return false;
    return top_block(top, s, source, whole, end - whole);
}

static bool top_scan(struct top *top, const struct sg_select *s, enum source source, size_t begin, size_t end) {
    switch (source) {
    case FROM_GRADIENT:
        return top_pass(top, s, FROM_GRADIENT, begin, end);
    case FROM_BOTH:
        return top_pass(top, s, FROM_BOTH, begin, end);
    case FROM_RESIDUAL:
        return top_pass(top, s, FROM_RESIDUAL, begin, end);
    }
    return false;
}

/* A hint can be anything; one that leaves too few candidates costs a second pass, nothing else. Aims a little below the
 * last k-th magnitude, which moves slowly from step to step. */
static int32_t hinted_floor(const float *guess, size_t layer) {
    if (guess == NULL || !(guess[layer] > 0))
        return 0;
    return magnitude(0.875F * guess[layer]);
}

static int select_topk(const struct sg_select *s, const size_t *k, float *guess) {
    size_t sent = 0;
    for (size_t l = 0; l < s->n_layers; l++) {
        const size_t begin = s->offset[l], end = s->offset[l + 1];
        struct top top = {.index = s->index + sent, .value = s->value + sent, .k = k[l]};
        top.floor = k[l] > 0 ? hinted_floor(guess, l) : FLT_INF_BITS;
        if (!top_scan(&top, s, first_source(s), begin, end))
            return nonfinite(s, l);
        if (top.have < k[l]) {
            top.have = 0;
            top.floor = 0;
            top_scan(&top, s, s->e != NULL ? FROM_RESIDUAL : FROM_GRADIENT, begin, end);
        }
        int32_t kth = -1;
        if (k[l] > 0)
            kth = keep_largest(top.index, top.value, top.have, k[l]);
        if (guess != NULL)
            guess[l] = k[l] > 0 ? from_magnitude(kth) : -1;
        if (s->e != NULL)
            for (size_t j = 0; j < k[l]; j++)
                s->e[top.index[j]] = 0;
        s->count[l] = k[l];
        sent += k[l];
    }
    return SG_KERNEL_OK;
}

/* ---- given positions, everything ------------------------------------------------------------------------------ */

static int select_positions(const struct sg_select *s, const uint32_t *position) {
    size_t sent = 0;
    for (size_t l = 0; l < s->n_layers; l++) {
        const size_t end = s->offset[l + 1], upto = sent + s->count[l];
        for (size_t at = s->offset[l]; at < end; at += SCAN) {
            float buffer[SCAN];
            const float *p;
            const size_t n = end - at < SCAN ? end - at : SCAN;
            if (form(&p, buffer, s, first_source(s), at, n) >= FLT_INF_BITS)
                return nonfinite(s, l);
            for (; sent < upto && position[sent] < at + n; sent++) {
                s->value[sent] = p[position[sent] - at];
                s->index[sent] = position[sent];
                if (s->e != NULL)
                    s->e[position[sent]] = 0;
            }
        }
    }
    return SG_KERNEL_OK;
}

/* All p of a block into value, nothing kept. Returns the largest magnitude. */
static int32_t send_block(const struct sg_select *s, size_t at, size_t n) {
    const float decay = s->decay, scale = s->scale;
    const float *restrict g = s->g + at;
    float *restrict value = s->value + at, *restrict e = s->e + at;
    int32_t max = 0;
    for (size_t i = 0; i < n; i++) {
        const float p = decay * e[i] + scale * g[i];
        value[i] = p;
        e[i] = 0;
        max = larger(max, magnitude(p));
    }
    return max;
}

static int select_all(const struct sg_select *s) {
    for (size_t l = 0; l < s->n_layers; l++) {
        const size_t begin = s->offset[l], n = s->offset[l + 1] - begin;
        const float *p;
        int32_t max = 0;
        if (s->e != NULL)
            max = send_block(s, begin, n);
        else
            max = form(&p, s->value + begin, s, FROM_GRADIENT, begin, n);
        if (max >= FLT_INF_BITS)
            return nonfinite(s, l);
        s->count[l] = n;
    }
    return SG_KERNEL_OK;
}

/* ---- sums ----------------------------------------------------------------------------------------------------- */

static void scatter_add(const struct sg_exec *exec, float *restrict dense, const uint32_t *index,
                        const float *restrict value, size_t count) {
    (void)exec;
    if (index == NULL) {
        for (size_t j = 0; j < count; j++)
            dense[j] += value[j];
        return;
    }
    for (size_t j = 0; j < count; j++)
        dense[index[j]] += value[j];
}

static double square_block(const float *x, size_t n) {
    vec sum[LANE_VECTORS] = {{0}};
    size_t i = 0;
    for (; i + SG_KERNEL_LANES <= n; i += SG_KERNEL_LANES)
        for (size_t v = 0; v < LANE_VECTORS; v++) {
            vec a = vec_load_f32(x + i + v * VECTOR_DOUBLES);
            sum[v] += a * a;
        }
    for (size_t v = 0; i < n; i += VECTOR_DOUBLES, v++) {
        vec a = n - i < VECTOR_DOUBLES ? vec_part_f32(x + i, n - i) : vec_load_f32(x + i);
        sum[v] += a * a;
    }
    return add_pairwise(sum);
}

static double sum_squares(const struct sg_exec *exec, const float *x, size_t n) {
    (void)exec;
    double sum = 0;
    for (size_t i = 0; i < n; i += SG_KERNEL_BLOCK)
        sum += square_block(x + i, n - i < SG_KERNEL_BLOCK ? n - i : SG_KERNEL_BLOCK);
    return sum;
}

const struct sg_kernels ISA_NAME(sg_kernels_table_) = {
    ISA_STRING, select_threshold, select_topk, select_positions, select_all, scatter_add, sum_squares,
};

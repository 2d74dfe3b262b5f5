/* topk_isa.c: exact Top-k with error feedback. Compiled once per instruction set.
 *
 * A floor is chosen that somewhat more than k elements should reach. One pass computes p and collects the elements that
 * reach the floor (the candidates); the exact k are selected among them. If there are k or more candidates, none of the
 * k largest is missing. If there are fewer, the layer is scanned again (p is in e by then) with the next lower floor:
 *   hint    a little below the k-th magnitude of the last step
 *   sample  the magnitude that somewhat more than k elements should reach, by a sample of p; half the hint where there
 *           are too few to sample
 *   zero    everything
 *
 * e must become 0 where p is sent. Writing these zeros by index after the pass would cause k cache misses. So the pass
 * itself, while a chunk is in the first-level cache, clears e for candidates that reach `drop`, the best guess of the
 * k-th magnitude. e is then 0 there and p elsewhere; later only candidates between guess and truth are corrected. */
/* SPDX-License-Identifier: MIT */
#include "select_scan.h"

#include <math.h>

enum {
    INSERT_MAX = 16,
    PRUNE_SLACK = 16,
    OCTAVE = 1 << 23, /* a factor of 2 between magnitudes */
/* Longest list whose k-th magnitude is found by counting; a count is as fast as its vectors are wide. */
#if defined(__AVX512F__)
    COUNT_MAX = 1 << 18
#elif defined(__AVX2__)
    COUNT_MAX = 1 << 14
#else
    COUNT_MAX = 1 << 11
#endif
};

static size_t count_at_least(const float *value, size_t n, int32_t floor) {
    uint32_t count = 0; /* n < 2^32: indices are 32 bits wide */
    for (size_t i = 0; i < n; i++)
        count += magnitude(value[i]) >= floor;
    return count;
}

/* ---- the k-th magnitude ----------------------------------------------------------------------------------------- */

/* A list of floats in parts: piece[i] stands for value[piece[i].begin] and the piece[i].count - 1 behind it. */
struct list {
    const float *value;
    const struct scan_piece *piece;
    size_t pieces, count; /* count = all pieces' together */
};

/* Returns whether k of them reach `at`. No finite number reaches FLT_INF_BITS. */
static bool reach(const struct list *x, uint32_t at, size_t k) {
    size_t count = 0;
    for (size_t i = 0; at <= FLT_INF_BITS && i < x->pieces; i++)
        count += count_at_least(x->value + x->piece[i].begin, x->piece[i].count, (int32_t)at);
    return count >= k;
}

/* The INSERT_MAX largest magnitudes in descending order, one insertion after the other: a place takes its own, or the
 * lesser of the new one and its neighbour's. Whether something is inserted cannot be predicted, so nothing branches. */
static int32_t kth_by_insertion(const float *value, size_t n, size_t k) {
    SG_ASSERT(k >= 1 && k <= n && k <= INSERT_MAX);
    typedef int32_t places __attribute__((vector_size(INSERT_MAX * sizeof(int32_t))));
    const places most = INT32_MAX - (places){0};
    places top = -1 - (places){0};
    for (size_t i = 0; i < n; i++) {
        const places new = magnitude(value[i]) - (places){0};
        const places above =
            __builtin_shufflevector(most, top, 0, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30);
#if defined(__AVX512F__)
        top = (places)_mm512_max_epi32((__m512i)top, _mm512_min_epi32((__m512i) new, (__m512i)above));
#else
        const places lesser = (new &(new < above)) | (above & ~(new < above));
        top = (top & (top > lesser)) | (lesser & ~(top > lesser));
#endif
    }
    return top[k - 1];
}

/* Steps upwards from a floor that k of them reach, doubling while k reach the next, then halving. */
static int32_t kth_by_counting(const struct list *x, size_t k, int32_t floor) {
    enum { FIRST_STEP = 17 }; /* 1/64 of an octave */
    uint32_t kth = (uint32_t)floor;
    int bit = 30;
    if (floor > 0)
        for (bit = FIRST_STEP; bit < 30 && reach(x, kth + (1U << bit), k); bit++)
            kth += 1U << bit;
    else if (reach(x, kth + (1U << bit), k))
        kth += 1U << bit;
    while (--bit >= 0)
        if (reach(x, kth + (1U << bit), k))
            kth += 1U << bit;
    return (int32_t)kth;
}

/* Three passes over 11 + 10 + 10 bits. */
static int32_t kth_by_histogram(const struct list *x, size_t k) {
    static const int shift[] = {20, 10, 0};
    int32_t kth = 0;
    for (int pass = 0, above = 31; pass < 3; above = shift[pass++]) {
        uint32_t histogram[1 << 11] = {0};
        const int32_t mask = (1 << (above - shift[pass])) - 1;
        for (size_t i = 0; i < x->pieces; i++)
            for (size_t j = 0; j < x->piece[i].count; j++) {
                const int32_t bits = magnitude(x->value[x->piece[i].begin + j]);
                histogram[bits >> shift[pass] & mask] += bits >> above == kth >> above;
            }
        int32_t digit = mask;
        for (; histogram[digit] < k; digit--)
            k -= histogram[digit];
        kth |= digit << shift[pass];
    }
    return kth;
}

/* The k-th largest magnitude of x, 1 <= k <= x->count; k of them reach `floor`. */
static int32_t kth_magnitude(const struct list *x, size_t k, int32_t floor) {
    SG_ASSERT(k >= 1 && k <= x->count && floor >= 0 && reach(x, (uint32_t)floor, k));
    if (k <= INSERT_MAX && x->count <= 4 * INSERT_MAX && x->pieces == 1)
        return kth_by_insertion(x->value + x->piece->begin, x->count, k);
    return x->count <= COUNT_MAX ? kth_by_counting(x, k, floor) : kth_by_histogram(x, k);
}

static int32_t kth_of_array(const float *value, size_t n, size_t k, int32_t floor) {
    const struct scan_piece whole = {.count = n};
    return kth_magnitude(&(struct list){value, &whole, 1, n}, k, floor);
}

/* ---- candidates that stay, candidates that go -------------------------------------------------------------------- */

/* Of n candidates keep in place those above kth and the first `ties` of its equals; the others are back in e
 * afterwards. On entry e is 0 where a candidate reaches `drop`, on return where one was kept and reaches `drop_then`.
 * Returns how many were kept. */
static size_t keep(uint32_t *index, float *value, size_t n, int32_t kth, size_t ties, float *e, int32_t drop,
                   int32_t drop_then) {
    enum { BATCH = 256 };
    size_t kept = 0;
    for (size_t at = 0; at < n; at += BATCH) {
        uint32_t place[BATCH]; /* where e is wrong, and what is right; no branch depends on the data */
        float right[BATCH];
        size_t wrong = 0;
        const size_t end = n - at < BATCH ? n : at + BATCH;
        for (size_t i = at; i < end; i++) {
            const uint32_t here = index[i];
            const float p = value[i];
            const int32_t bits = magnitude(p);
            const bool tie = bits == kth && ties > 0, stays = bits > kth || tie, out = stays && bits >= drop_then;
            place[wrong] = here;
            right[wrong] = out ? 0 : p;
            wrong += out != (bits >= drop);
            index[kept] = here;
            value[kept] = p;
            kept += stays;
            ties -= tie;
        }
        for (size_t j = 0; e && j < wrong; j++)
            __builtin_prefetch(e + place[j], 1);
        for (size_t j = 0; e && j < wrong; j++)
            e[place[j]] = right[j];
    }
    return kept;
}

/* ---- one piece ------------------------------------------------------------------------------------------------ */

/* Once k candidates are known, only something larger than the least of them matters: later ties lose. This bounds the
 * candidates of a piece where the floor is far too low. */
static void prune(struct scan_piece *p, struct found *f, const struct sg_select *s, size_t k) {
    SG_ASSERT(k >= 1 && k <= f->count);
    const int32_t kth = kth_of_array(f->value, f->count, k, larger(p->floor - 1, 0));
    const int32_t drop = larger(p->drop, kth + 1);
    const size_t ties = k - count_at_least(f->value, f->count, kth + 1);
    f->count = keep(f->index, f->value, f->count, kth, ties, s->e, p->drop, drop);
    SG_ASSERT(f->count == k && drop >= kth + 1);
    p->floor = kth + 1;
    p->drop = drop;
}

/* Without a floor, everything at first: chunks then grow with what was seen, so that each brings about k candidates.
 * With one that turns out too low, too, for magnitudes may rise from step to step. */
__attribute__((always_inline)) static inline bool top_scan(struct scan_piece *p, struct found *found,
                                                           const struct sg_select *s, enum source source, size_t k) {
    const size_t whole = p->end - (p->end - p->begin) % SCAN;
    size_t step = p->floor > 0 ? 2 * SCAN : SCAN;
    for (size_t at = p->begin; at < whole; at += step, step = step < CHUNK ? 2 * step : CHUNK) {
        if (step > whole - at)
            step = whole - at;
        if (!scan_chunk(found, s, source, at, step, p->floor, p->drop))
            return false;
        if (found->count >= 2 * k + PRUNE_SLACK)
            prune(p, found, s, k);
    }
    return scan_part(found, s, source, whole, p->end - whole, p->floor, p->drop);
}

static void top_piece(struct scan_piece *p, const struct sg_select *s, enum source source, size_t k) {
    struct found found = {.index = s->index + p->begin, .value = s->value + p->begin};
    switch (source) {
    case FROM_GRADIENT:
        p->finite = top_scan(p, &found, s, FROM_GRADIENT, k);
        break;
    case FROM_BOTH:
        p->finite = top_scan(p, &found, s, FROM_BOTH, k);
        break;
    case FROM_RESIDUAL:
        p->finite = top_scan(p, &found, s, FROM_RESIDUAL, k);
        break;
    }
    p->count = found.count;
    SG_ASSERT(p->count <= p->end - p->begin);
}

/* ---- floors --------------------------------------------------------------------------------------------------- */

/* A sample has one of SAMPLE_SHARE elements, up to SAMPLE. */
enum { SAMPLE = 1 << 14, SAMPLE_SHARE = 128, SAMPLE_LINE = 16, SAMPLE_LEAST = 1 << 14 };

/* A hint can be anything; one that leaves too few candidates costs a second pass, nothing else. Aims a little below the
 * last k-th magnitude, which moves slowly from step to step, more so where few elements decide it. Where k is large, a
 * sample is nearer to the truth, and costs less than the candidates that it spares. */
static bool hinted_floor(struct scan_piece *p, const float *guess, size_t k) {
    if (!guess || k > SAMPLE || !(guess[p->layer] > 0 && guess[p->layer] < INFINITY))
        return false;
    p->drop = magnitude(guess[p->layer]);
    p->floor = magnitude((0.9375F - 0.25F / sqrtf((float)k)) * guess[p->layer]);
    return true;
}

/* The floor is a magnitude that k of the layer's n elements reach, nearly surely, and not many more. Lines of 16
 * neighbours, evenly spread, cost one cache line each. With m expected among the sample, the element of rank
 * m + 3 sqrt(m) + 4 fails about once in 10^3 layers where neighbours are independent. That of rank m is the guess. */
__attribute__((noinline)) static void sampled_floor(struct scan_piece *p, const struct sg_select *s, enum source source,
                                                    size_t k) {
    const size_t begin = s->offset[p->layer], n = s->offset[p->layer + 1] - begin;
    float sample[SAMPLE];
    p->floor = 0;
    p->drop = FLT_INF_BITS;
    if (n < SAMPLE_LEAST)
        return;
    const size_t size = n / SAMPLE_SHARE < SAMPLE ? n / SAMPLE_SHARE / SAMPLE_LINE * SAMPLE_LINE : SAMPLE;
    const size_t stride = n / (size / SAMPLE_LINE);
    for (size_t i = 0; i < size; i++) {
        const size_t at = begin + i / SAMPLE_LINE * stride + i % SAMPLE_LINE;
        float x = source == FROM_RESIDUAL ? s->e[at] : s->scale * s->g[at];
        if (source == FROM_BOTH)
            x = s->decay * s->e[at] + x;
        sample[i] = x;
    }
    const double expected = (double)size * (double)k / (double)n;
    const double rank = expected + 3 * sqrt(expected) + 4;
    if (rank > (double)size)
        return;
    const int32_t floor = kth_of_array(sample, size, (size_t)rank, 0);
    if (floor >= FLT_INF_BITS)
        return;
    p->floor = floor;
    p->drop = kth_of_array(sample, size, (size_t)(expected + 1), floor);
}

/* ---- all layers ----------------------------------------------------------------------------------------------- */

struct top {
    const struct sg_select *s;
    enum source source;
    const size_t *k;
    const float *guess;
};

/* Floor and guess of a layer, in its first piece. */
static void floor_of(struct scan_piece *p, const void *arg) {
    const struct top *t = arg;
    const size_t k = t->k[p->layer];
    SG_ASSERT(k <= t->s->offset[p->layer + 1] - t->s->offset[p->layer]);
    if (p->begin != t->s->offset[p->layer])
        return;
    p->floor = p->drop = FLT_INF_BITS;
    if (k > 0 && !hinted_floor(p, t->guess, k))
        sampled_floor(p, t->s, t->source, k);
}

static void scan_of(struct scan_piece *p, const void *arg) {
    const struct top *t = arg;
    top_piece(p, t->s, t->source, t->k[p->layer]);
}

static void keep_of(struct scan_piece *p, const void *arg) {
    const struct sg_select *s = ((const struct top *)arg)->s;
    p->count = keep(s->index + p->begin, s->value + p->begin, p->count, p->kth, p->ties, s->e, p->drop, 0);
}

/* The first piece's to the others of its layer. */
static void spread_floor(struct scan_piece *first, size_t count) {
    for (size_t i = 1; i < count; i++) {
        first[i].floor = first->floor;
        first[i].drop = first->drop;
    }
}

/* One layer's pieces, and their candidates together. */
static struct list candidates(const struct sg_select *s, const struct scan_piece *piece, size_t count) {
    struct list all = {s->value, piece, count, 0};
    for (size_t i = 0; i < count; i++)
        all.count += piece[i].count;
    return all;
}

/* Too few candidates: put p back into e and lower the floor, until there are k. */
static void scan_again(struct pieces *pieces, size_t first, size_t count, const struct top *top, size_t k,
                       bool sampled) {
    const struct sg_select *s = top->s;
    struct scan_piece *piece = pieces->piece + first;
    const struct top again = {s, s->e ? FROM_RESIDUAL : FROM_GRADIENT, top->k, NULL};
    while (candidates(s, piece, count).count < k) {
        for (size_t i = 0; s->e && i < count; i++)
            for (size_t j = piece[i].begin; j < piece[i].begin + piece[i].count; j++)
                s->e[s->index[j]] = s->value[j];
        const int32_t hint = piece->floor;
        piece->floor = 0;
        piece->drop = FLT_INF_BITS;
        if (!sampled && s->offset[piece->layer + 1] - s->offset[piece->layer] >= SAMPLE_LEAST)
            sampled_floor(piece, s, again.source, k);
        else if (!sampled)
            piece->floor = larger(hint - OCTAVE, 0);
        sampled = true;
        spread_floor(piece, count);
        for_pieces(pieces, first, count, scan_of, &again);
    }
}

static size_t count_piece(const struct list *x, size_t i, int32_t floor) {
    return count_at_least(x->value + x->piece[i].begin, x->piece[i].count, floor);
}

/* The k-th magnitude, k >= 1, and how many of its equals each piece sends: lower indices first. */
static int32_t settle_layer(struct scan_piece *piece, const struct list *all, size_t k) {
    SG_ASSERT(k >= 1 && all->count >= k);
    int32_t floor = FLT_INF_BITS;
    for (size_t i = 0; i < all->pieces; i++)
        floor = piece[i].floor < floor ? piece[i].floor : floor;
    const int32_t kth = kth_magnitude(all, k, larger(floor - 1, 0)); /* - 1: pruned pieces keep ties */
    size_t ties = k;
    for (size_t i = 0; i < all->pieces && all->count > k; i++)
        ties -= count_piece(all, i, kth + 1);
    for (size_t i = 0; i < all->pieces; i++) {
        piece[i].kth = kth;
        piece[i].ties = ties;
        if (i + 1 == all->pieces || all->count == k)
            continue;
        const size_t equal = count_piece(all, i, kth) - count_piece(all, i, kth + 1);
        piece[i].ties = equal < ties ? equal : ties;
        ties -= piece[i].ties;
    }
    return kth;
}

static size_t pieces_of(const struct pieces *pieces, size_t first, size_t layer) {
    size_t count = 0;
    while (first + count < pieces->count && pieces->piece[first + count].layer == layer)
        count++;
    return count;
}

int ISA_NAME(select_topk_)(const struct sg_select *s, const size_t *k, float *guess) {
    const struct top top = {s, first_source(s), k, guess};
    struct pieces pieces;
    int status = SG_KERNEL_OK;
    if (!pieces_open(&pieces, s))
        return SG_KERNEL_MEMORY;
    for_pieces(&pieces, 0, pieces.count, floor_of, &top);
    for (size_t i = 0, count; i < pieces.count; i += count) {
        count = pieces_of(&pieces, i, pieces.piece[i].layer);
        spread_floor(&pieces.piece[i], count);
    }
    for_pieces(&pieces, 0, pieces.count, scan_of, &top);
    const size_t bad = first_nonfinite(&pieces, s->n_layers);
    if (bad < s->n_layers) {
        status = nonfinite(s, bad);
        goto out;
    }
    for (size_t l = 0, first = 0, count; l < s->n_layers; l++, first += count) {
        count = pieces_of(&pieces, first, l);
        struct scan_piece *piece = &pieces.piece[first], ignored = {.layer = l};
        struct list all = candidates(s, piece, count);
        SG_TRACE(3, "layer %zu: %zu candidates for the %zu largest", l, all.count, k[l]);
        if (all.count < k[l]) {
            scan_again(&pieces, first, count, &top, k[l], !hinted_floor(&ignored, guess, k[l]));
            all = candidates(s, piece, count);
        }
        SG_ASSERT(all.count >= k[l]);
        const int32_t kth = k[l] > 0 ? settle_layer(piece, &all, k[l]) : 0;
        if (guess)
            guess[l] = k[l] > 0 ? from_magnitude(kth) : -1;
        s->count[l] = k[l];
    }
    for_pieces(&pieces, 0, pieces.count, keep_of, &top);
    for (size_t i = 0, sent = 0; i < pieces.count; i++) {
        move_entries(s, sent, pieces.piece[i].begin, pieces.piece[i].count);
        sent += pieces.piece[i].count;
    }
out:
    pieces_close(&pieces);
    return status;
}

/* topk_isa.c: exact Top-k with error feedback. Compiled once per instruction set.
 *
 * A floor that about k elements reach is known or guessed; one pass forms p and collects what reaches it, and the exact
 * k are chosen among those few. That k or more were collected proves that none of the k largest is missing. If fewer
 * were, the layer is scanned again (p is in e by then) with the next lower floor:
 *   hint    a little below the k-th magnitude of the last step
 *   sample  the magnitude that somewhat more than k elements should reach, by a sample of p
 *   zero    everything */
#include "select_scan.h"

#include <math.h>

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

/* ---- one piece ------------------------------------------------------------------------------------------------ */

/* Once k candidates are known, only something larger than the least of them matters: later ties lose. This bounds the
 * candidates of a piece where the floor is far too low. */
static void prune(struct found *found, int32_t *floor, size_t k) {
    *floor = keep_largest(found->index, found->value, found->count, k) + 1;
    found->count = k;
}

/* Without a floor, everything at first: chunks then grow with what was seen, so that each brings about k candidates. */
__attribute__((always_inline)) static inline bool top_scan(struct piece *p, struct found *found,
                                                           const struct sg_select *s, enum source source, size_t k) {
    const size_t whole = p->end - (p->end - p->begin) % SCAN;
    size_t step = p->floor > 0 ? CHUNK : SCAN;
    for (size_t at = p->begin; at < whole; at += step, step = step < CHUNK ? 2 * step : CHUNK) {
        if (step > whole - at)
            step = whole - at;
        if (!scan_chunk(found, s, source, false, at, step, p->floor))
            return false;
        if (found->count >= 2 * k + PRUNE_SLACK)
            prune(found, &p->floor, k);
    }
    return scan_part(found, s, source, false, whole, p->end - whole, p->floor);
}

static void top_piece(struct piece *p, const struct sg_select *s, enum source source, size_t k) {
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
}

/* ---- floors --------------------------------------------------------------------------------------------------- */

/* A hint can be anything; one that leaves too few candidates costs a second pass, nothing else. Aims a little below the
 * last k-th magnitude, which moves slowly from step to step, more so where few elements decide it. */
static bool hinted_floor(int32_t *floor, const float *guess, size_t layer, size_t k) {
    if (guess == NULL || !(guess[layer] > 0 && guess[layer] < INFINITY))
        return false;
    *floor = magnitude((0.9375F - 0.25F / sqrtf((float)k)) * guess[layer]);
    return true;
}

enum { SAMPLE = 1 << 14, SAMPLE_LINE = 16, SAMPLE_LEAST = 1 << 16 };

/* A magnitude that k of the layer's n elements reach, nearly surely, and not many more. Lines of 16 neighbours, evenly
 * spread, cost one cache line each. With m = SAMPLE k / n expected among the sample, the element of rank
 * m + 4 sqrt(m) + 4 fails about once in 10^4 layers where neighbours are independent. */
__attribute__((noinline)) static int32_t sampled_floor(const struct sg_select *s, enum source source, size_t layer,
                                                       size_t k) {
    const size_t begin = s->offset[layer], n = s->offset[layer + 1] - begin;
    float sample[SAMPLE];
    if (n < SAMPLE_LEAST)
        return 0;
    const size_t lines = SAMPLE / SAMPLE_LINE, stride = n / lines;
    for (size_t i = 0; i < lines; i++)
        for (size_t j = 0; j < SAMPLE_LINE; j++) {
            const size_t at = begin + i * stride + j;
            float p = source == FROM_RESIDUAL ? s->e[at] : s->scale * s->g[at];
            if (source == FROM_BOTH)
                p = s->decay * s->e[at] + p;
            sample[i * SAMPLE_LINE + j] = p;
        }
    const double expected = (double)SAMPLE * (double)k / (double)n;
    const double rank = expected + 4 * sqrt(expected) + 4;
    if (rank > SAMPLE)
        return 0;
    const int32_t floor = kth_magnitude(sample, SAMPLE, (size_t)rank);
    return floor < FLT_INF_BITS ? floor : 0;
}

/* ---- all layers ----------------------------------------------------------------------------------------------- */

/* Pieces first, first + 1, ... of one layer: their candidates moved together, at its start in the output. */
static size_t join(const struct sg_select *s, const struct pieces *pieces, size_t first, size_t layer) {
    size_t have = 0;
    for (size_t i = first; i < pieces->count && pieces->piece[i].layer == layer; i++) {
        move_entries(s, s->offset[layer] + have, pieces->piece[i].begin, pieces->piece[i].count);
        have += pieces->piece[i].count;
    }
    return have;
}

struct top {
    const struct sg_select *s;
    enum source source;
    const size_t *k;
};

static void top_of(struct piece *p, const void *arg) {
    const struct top *t = arg;
    top_piece(p, t->s, t->source, t->k[p->layer]);
}

static void scan_from(struct pieces *pieces, const struct sg_select *s, enum source source, const size_t *k,
                      size_t first, size_t count) {
    for_pieces(pieces, first, count, top_of, &(struct top){s, source, k});
}

/* Too few candidates: lower floors, until there are k. */
static size_t scan_again(struct pieces *pieces, const struct sg_select *s, const size_t *k, size_t first, size_t count,
                         bool sampled) {
    const enum source source = s->e != NULL ? FROM_RESIDUAL : FROM_GRADIENT;
    const size_t layer = pieces->piece[first].layer;
    for (int last = sampled; last < 2; last++) {
        const int32_t floor = last ? 0 : sampled_floor(s, source, layer, k[layer]);
        for (size_t i = first; i < first + count; i++)
            pieces->piece[i].floor = floor;
        scan_from(pieces, s, source, k, first, count);
        const size_t have = join(s, pieces, first, layer);
        if (have >= k[layer])
            return have;
    }
    return 0; /* not reached: floor 0 finds every element */
}

/* Choose among one layer's candidates and send. */
static void finish_layer(const struct sg_select *s, size_t layer, size_t have, size_t k, size_t sent, float *guess) {
    const size_t begin = s->offset[layer];
    int32_t kth = -1;
    if (k > 0)
        kth = keep_largest(s->index + begin, s->value + begin, have, k);
    if (guess != NULL)
        guess[layer] = k > 0 ? from_magnitude(kth) : -1;
    move_entries(s, sent, begin, k);
    if (s->e != NULL)
        for (size_t j = sent; j < sent + k; j++)
            s->e[s->index[j]] = 0;
    s->count[layer] = k;
}

static size_t pieces_of(const struct pieces *pieces, size_t first, size_t layer) {
    size_t count = 0;
    while (first + count < pieces->count && pieces->piece[first + count].layer == layer)
        count++;
    return count;
}

int ISA_NAME(select_topk_)(const struct sg_select *s, const size_t *k, float *guess) {
    struct pieces pieces;
    int status = SG_KERNEL_OK;
    if (!pieces_open(&pieces, s))
        return SG_KERNEL_MEMORY;
    for (size_t l = 0, i = 0; l < s->n_layers; l++) {
        int32_t floor = FLT_INF_BITS;
        if (k[l] > 0 && !hinted_floor(&floor, guess, l, k[l]))
            floor = sampled_floor(s, first_source(s), l, k[l]);
        for (; i < pieces.count && pieces.piece[i].layer == l; i++)
            pieces.piece[i].floor = floor;
    }
    scan_from(&pieces, s, first_source(s), k, 0, pieces.count);
    const size_t bad = first_nonfinite(&pieces, s->n_layers);
    if (bad < s->n_layers) {
        status = nonfinite(s, bad);
        goto out;
    }
    size_t sent = 0, first = 0;
    for (size_t l = 0; l < s->n_layers; l++) {
        const size_t count = pieces_of(&pieces, first, l);
        int32_t ignored;
        size_t have = join(s, &pieces, first, l);
        if (have < k[l])
            have = scan_again(&pieces, s, k, first, count, !hinted_floor(&ignored, guess, l, k[l]));
        finish_layer(s, l, have, k[l], sent, guess);
        sent += k[l];
        first += count;
    }
out:
    pieces_close(&pieces);
    return status;
}

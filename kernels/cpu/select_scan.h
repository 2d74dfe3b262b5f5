/* select_scan.h: forms p and finds what is large in it; shared by the *_isa.c files that select.
 *
 * Magnitudes are compared as integers. With the sign bit cleared, the bits of finite floats are ordered like their
 * absolute values, and all bits from FLT_INF_BITS up are Inf or NaN. A floor is at most FLT_INF_BITS. So what is not
 * finite is always a hit, and only blocks with a hit are looked at element by element. */
/* SPDX-License-Identifier: MIT */
#ifndef SELECT_SCAN_H
#define SELECT_SCAN_H

#include "cpu_isa.h"

#include <stdbool.h>
#include <string.h>

enum {
    SCAN = 64,    /* elements per block test */
    CHUNK = 4096, /* elements whose hits are collected together; their p stays in the first-level cache */
    AHEAD = 1024, /* how many elements ahead memory is prefetched */
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

static inline int32_t larger(int32_t a, int32_t b) {
    return a > b ? a : b;
}

/* Where the elements of p come from. After a first pass with feedback they are in e. */
enum source { FROM_GRADIENT, FROM_BOTH, FROM_RESIDUAL };

static inline enum source first_source(const struct sg_select *s) {
    return s->e ? FROM_BOTH : FROM_GRADIENT;
}

/* Entries found so far. `index` and `value` have room for as many as there are elements up to the end of the block. */
struct found {
    uint32_t *index;
    float *value;
    size_t count;
};

/* ---- element loops that compilers vectorise ---- */

/* Forms p[i] for i in [at, at + n): with feedback in e, else in `buffer`, which has room for n. *p points at them.
 * Returns their largest magnitude. */
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

/* ---- vectors of floats ---- */

#if defined(__AVX2__)
enum { VECTOR_FLOATS = 2 * VECTOR_DOUBLES };
typedef float vecf __attribute__((vector_size(VECTOR_FLOATS * sizeof(float))));

static inline vecf vecf_load(const float *x) {
    vecf v;
    memcpy(&v, x, sizeof v);
    return v;
}

static inline void vecf_store(float *x, vecf v) {
    memcpy(x, &v, sizeof v);
}
#endif

#if defined(__AVX512F__)
typedef __mmask16 vecf_mask;

/* The lanes with a magnitude >= floor. */
static inline vecf_mask vecf_hits(vecf v, int32_t floor) {
    const __m512i bits = _mm512_and_epi32(_mm512_castps_si512(v), _mm512_set1_epi32(FLT_MAGNITUDE));
    return _mm512_cmpge_epi32_mask(bits, _mm512_set1_epi32(floor));
}

static inline unsigned mask_bits(vecf_mask m) {
    return m;
}

static inline vecf vecf_drop(vecf v, vecf_mask m) {
    return _mm512_maskz_mov_ps((__mmask16)~m, v);
}

/* Appends the hits, packed to the front. Whole vectors are stored; the next ones overwrite what is behind the hits. */
static inline void append(struct found *f, vecf v, unsigned hits, size_t at) {
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i place = _mm512_add_epi32(lane, _mm512_set1_epi32((int32_t)(uint32_t)at));
    const __mmask16 m = (__mmask16)hits;
    _mm512_storeu_si512(f->index + f->count, _mm512_maskz_compress_epi32(m, place));
    _mm512_storeu_ps(f->value + f->count, _mm512_maskz_compress_ps(m, v));
    f->count += (size_t)__builtin_popcount(hits);
}
#elif defined(__AVX2__)
typedef __m256i vecf_mask;

static inline vecf_mask vecf_hits(vecf v, int32_t floor) {
    const __m256i bits = _mm256_and_si256(_mm256_castps_si256(v), _mm256_set1_epi32(FLT_MAGNITUDE));
    return _mm256_cmpgt_epi32(bits, _mm256_set1_epi32(floor - 1));
}

static inline unsigned mask_bits(vecf_mask m) {
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(m));
}

static inline vecf vecf_drop(vecf v, vecf_mask m) {
    return _mm256_andnot_ps(_mm256_castsi256_ps(m), v);
}

/* A byte of ones for each hit picks the numbers of their lanes: the permutation that packs them. */
static inline void append(struct found *f, vecf v, unsigned hits, size_t at) {
    const uint64_t bytes = _pdep_u64(hits, 0x0101010101010101) * 0xff;
    const uint64_t lanes = _pext_u64(0x0706050403020100, bytes);
    const __m256i pack = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)lanes));
    _mm256_storeu_si256((void *)(f->index + f->count),
                        _mm256_add_epi32(pack, _mm256_set1_epi32((int32_t)(uint32_t)at)));
    _mm256_storeu_ps(f->value + f->count, _mm256_permutevar8x32_ps(v, pack));
    f->count += (size_t)__builtin_popcount(hits);
}
#endif

/* ---- blocks ---- */

/* Scans one block of n <= SCAN elements. Those that reach `floor` are appended; e becomes 0 where they reach `drop` >=
 * floor. Returns false if an element is not finite. */
__attribute__((always_inline)) static inline bool scan_part(struct found *f, const struct sg_select *s,
                                                            enum source source, size_t at, size_t n, int32_t floor,
                                                            int32_t drop) {
    float buffer[SCAN];
    const float *p;
    const int32_t max = form(&p, buffer, s, source, at, n);
    if (max < floor)
        return true;
    if (max >= FLT_INF_BITS)
        return false;
    const size_t from = f->count;
    for (size_t i = 0; i < n; i++) {
        f->index[f->count] = (uint32_t)(at + i);
        f->value[f->count] = p[i];
        f->count += magnitude(p[i]) >= floor;
    }
    if (source != FROM_GRADIENT)
        for (size_t j = from; j < f->count; j++)
            s->e[f->index[j]] = magnitude(f->value[j]) >= drop ? 0 : f->value[j];
    return true;
}

/* The hardware's prefetchers lose the streams at the pauses between chunks, so ask for the block AHEAD of this one. */
__attribute__((always_inline)) static inline void prefetch_block(const struct sg_select *s, enum source source,
                                                                 size_t at) {
    enum { LINE = 64 / sizeof(float) };
    if (at + AHEAD + SCAN > s->offset[s->n_layers])
        return;
    for (size_t i = at + AHEAD; i < at + AHEAD + SCAN; i += LINE) {
        if (source != FROM_RESIDUAL)
            __builtin_prefetch(s->g + i, 0);
        if (source != FROM_GRADIENT)
            __builtin_prefetch(s->e + i, 1);
    }
}

/* Does what scan_part does, for n <= CHUNK elements, n a multiple of SCAN. */
#if defined(__AVX2__)
__attribute__((always_inline)) static inline vecf form_vector(const struct sg_select *s, enum source source, size_t i) {
    if (source == FROM_RESIDUAL)
        return vecf_load(s->e + i);
    const vecf p = s->scale * vecf_load(s->g + i);
    return source == FROM_BOTH ? s->decay * vecf_load(s->e + i) + p : p;
}

/* Lists the numbers of the vectors that have hits, ascending. No branch depends on the data: at a density of 1 % every
 * second block has a hit, and a mispredicted branch costs more than the block. */
static inline size_t list_hit_vectors(uint16_t *list, const uint64_t *hits, size_t blocks) {
    SG_ASSERT(blocks <= CHUNK / SCAN);
    enum { VECTORS = SCAN / VECTOR_FLOATS };
    uint16_t block[CHUNK / SCAN + 1];
    size_t n_blocks = 0, n = 0;
    for (size_t b = 0; b < blocks; b++) {
        block[n_blocks] = (uint16_t)b;
        n_blocks += hits[b] != 0;
    }
    for (size_t j = 0; j < n_blocks; j++)
        for (size_t v = 0; v < VECTORS; v++) {
            list[n] = (uint16_t)(block[j] * VECTORS + v);
            n += (hits[block[j]] >> (v * VECTOR_FLOATS) & ((1U << VECTOR_FLOATS) - 1)) != 0;
        }
    return n;
}

__attribute__((always_inline)) static inline bool scan_chunk(struct found *f, const struct sg_select *s,
                                                             enum source source, size_t at, size_t n, int32_t floor,
                                                             int32_t drop) {
    enum { VECTORS = SCAN / VECTOR_FLOATS };
    uint64_t hits[CHUNK / SCAN];
    for (size_t b = 0; b < n / SCAN; b++) {
        uint64_t here = 0;
        prefetch_block(s, source, at + b * SCAN);
        for (size_t v = 0; v < VECTORS; v++) {
            const size_t i = at + b * SCAN + v * VECTOR_FLOATS;
            const vecf p = form_vector(s, source, i);
            if (source == FROM_BOTH)
                vecf_store(s->e + i, p);
            here |= (uint64_t)mask_bits(vecf_hits(p, floor)) << (v * VECTOR_FLOATS);
        }
        hits[b] = here;
    }
    uint16_t list[CHUNK / VECTOR_FLOATS + 1];
    const size_t n_vectors = list_hit_vectors(list, hits, n / SCAN);
    unsigned bad = 0;
    for (size_t j = 0; j < n_vectors; j++) {
        const size_t i = at + (size_t)list[j] * VECTOR_FLOATS;
        const vecf p = form_vector(s, source == FROM_BOTH ? FROM_RESIDUAL : source, i);
        bad |= mask_bits(vecf_hits(p, FLT_INF_BITS));
        append(f, p, mask_bits(vecf_hits(p, floor)), i);
        if (source != FROM_GRADIENT)
            vecf_store(s->e + i, vecf_drop(p, vecf_hits(p, drop)));
    }
    return bad == 0;
}
#else
__attribute__((always_inline)) static inline bool scan_chunk(struct found *f, const struct sg_select *s,
                                                             enum source source, size_t at, size_t n, int32_t floor,
                                                             int32_t drop) {
    bool finite = true;
    for (size_t i = at; i < at + n && finite; i += SCAN) {
        prefetch_block(s, source, i);
        finite = scan_part(f, s, source, i, SCAN, floor, drop);
    }
    return finite;
}
#endif

/* ---- pieces ---- */

/* A layer or a part of one, which one thread handles. Each piece has room of its own in the output, from index[begin]
 * and value[begin] on, so that no thread waits for another. Then the found entries are moved together in order. */
struct scan_piece {
    size_t layer, begin, end;
    size_t count; /* entries found */
    bool finite;
    int32_t floor, drop; /* for Top-k, as scan_part takes them */
    int32_t kth;         /* the layer's k-th magnitude */
    size_t ties;         /* how many entries of exactly that magnitude to send */
};

enum { PIECE = 1 << 17, LOCAL_PIECES = 32 };

struct pieces {
    struct scan_piece *piece;
    size_t count;
    int threads; /* as many as are worth using */
    struct scan_piece local[LOCAL_PIECES];
};

/* Cuts all layers into pieces. False = no memory. */
bool ISA_NAME(pieces_open_)(struct pieces *out, const struct sg_select *s);
void ISA_NAME(pieces_close_)(struct pieces *p);
#define pieces_open  ISA_NAME(pieces_open_)
#define pieces_close ISA_NAME(pieces_close_)

/* Calls run(piece, arg) for `count` pieces from `first` on, on several threads if there is more than one to use: a
 * parallel region of one thread is not free, and most vectors are small. */
__attribute__((always_inline)) static inline void for_pieces(struct pieces *p, size_t first, size_t count,
                                                             void (*run)(struct scan_piece *piece, const void *arg),
                                                             const void *arg) {
    struct scan_piece *piece = p->piece + first;
    if (p->threads == 1 || count <= 1) {
        for (size_t i = 0; i < count; i++)
            run(&piece[i], arg);
        return;
    }
#pragma omp parallel for schedule(dynamic) num_threads(p->threads)
    for (size_t i = 0; i < count; i++)
        run(&piece[i], arg);
}

/* The first layer with an element that is not finite; n_layers = there is none. */
size_t ISA_NAME(first_nonfinite_)(const struct pieces *p, size_t n_layers);
#define first_nonfinite ISA_NAME(first_nonfinite_)

static inline int nonfinite(const struct sg_select *s, size_t layer) {
    SG_ASSERT(layer < s->n_layers);
    s->count[0] = layer;
    return SG_KERNEL_NONFINITE;
}

/* The first j with index[j] >= at; count if there is none. index is ascending. */
static inline size_t first_at_least(const uint32_t *index, size_t count, size_t at) {
    size_t low = 0;
    while (low < count) {
        const size_t middle = low + (count - low) / 2;
        if (index[middle] < at)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

/* Moves entries [from, from + count) of the output to `to` <= from. */
static inline void move_entries(const struct sg_select *s, size_t to, size_t from, size_t count) {
    SG_ASSERT(to <= from);
    if (to == from || count == 0)
        return;
    memmove(s->index + to, s->index + from, count * sizeof *s->index);
    memmove(s->value + to, s->value + from, count * sizeof *s->value);
}

/* Functions of the tables that are not in select_isa.c. */
int ISA_NAME(select_topk_)(const struct sg_select *s, const size_t *k, float *guess);
void ISA_NAME(scatter_add_)(const struct sg_exec *exec, float *dense, const uint32_t *index, const float *value,
                            size_t count);
void ISA_NAME(scatter_add_messages_)(const struct sg_exec *exec, float *dense, size_t n,
                                     const struct sg_entries *message, size_t n_messages);
double ISA_NAME(sum_squares_)(const struct sg_exec *exec, const float *x, size_t n);
float ISA_NAME(max_abs_)(const struct sg_exec *exec, const float *x, size_t n);
void ISA_NAME(keep_mask_)(const struct sg_exec *exec, float *mask, size_t n, const struct sg_draws *draws,
                          uint32_t least, float kept);

#endif

/* cuda_stream.cuh: form p and do something with it, the pass over g and e that every selection makes. */
/* SPDX-License-Identifier: MIT */
#ifndef CUDA_STREAM_CUH
#define CUDA_STREAM_CUH

#include "cuda_device.cuh"

/* Where p comes from. After a first pass with feedback it is in e. */
enum source { FROM_GRADIENT, FROM_BOTH, FROM_RESIDUAL };

/* What is done with it. */
enum action {
    KEEP,    /* e <- p */
    SEND,    /* what reaches the floor goes to the list, e <- 0 there */
    COLLECT, /* to the list too, but e <- p */
    COUNT,   /* all go into the block's histogram by their upper 11 bits, e <- p; bin 0 may get too many */
    SEND_ALL /* value <- p, e <- 0 */
};

/* One rounding each, nothing contracted: the expression of the specification. */
template <source S> __device__ inline float form(const pass &a, float g, float e) {
    if (S == FROM_RESIDUAL)
        return e;
    const float scaled = __fmul_rn(a.scale, g);
    return S == FROM_GRADIENT ? scaled : __fadd_rn(__fmul_rn(a.decay, e), scaled);
}

/* Element j of a lane in the step that starts at `at`. */
__device__ inline uint32_t place(uint32_t at, uint32_t j) {
    return at + j / 4 * ROW + 4 * lane() + j % 4;
}

/* Hides the origin of the bits from the compiler. Otherwise it keeps 16 comparisons in predicates, but there are only 7
 * (ptxas 13.0 fails to compile that). */
__device__ inline uint32_t opaque(uint32_t bits) {
    asm("" : "+r"(bits));
    return bits;
}

/* Bit j of the result = element j belongs to the piece. */
__device__ inline uint32_t valid_items(const cuda_span &w, uint32_t at) {
    uint32_t valid = 0;
    for (uint32_t j = 0; j < ITEMS; j++)
        valid |= (uint32_t)(place(at, j) >= w.begin && place(at, j) < w.end) << j;
    return opaque(valid);
}

/* Rows of which `rows` has a bit; in the others p of 0. All loads are begun before the first is used. */
template <source S> __device__ inline void load_rows(float (&x)[ITEMS], const pass &a, uint32_t at, uint32_t rows) {
    float4 g[ROWS] = {}, e[ROWS] = {};
#pragma unroll
    for (uint32_t r = 0; r < ROWS; r++) {
        if (S != FROM_RESIDUAL && rows >> r & 1)
            g[r] = __ldcs((const float4 *)(a.g + place(at, 4 * r))); /* not again: leave the cache to e */
        if (S != FROM_GRADIENT && rows >> r & 1)
            e[r] = *(const float4 *)(a.e + place(at, 4 * r));
    }
#pragma unroll
    for (uint32_t r = 0; r < ROWS; r++) {
        x[4 * r] = form<S>(a, g[r].x, e[r].x);
        x[4 * r + 1] = form<S>(a, g[r].y, e[r].y);
        x[4 * r + 2] = form<S>(a, g[r].z, e[r].z);
        x[4 * r + 3] = form<S>(a, g[r].w, e[r].w);
    }
}

/* from[0] to from[3]; those without a bit in `valid` are 0 and are not read. */
__device__ inline float4 load_some(const float *from, uint32_t valid) {
    return make_float4(valid & 1 ? from[0] : 0, valid & 2 ? from[1] : 0, valid & 4 ? from[2] : 0,
                       valid & 8 ? from[3] : 0);
}

/* What is not valid becomes 0. A lane's four neighbours are loaded at once if all are valid, as in a whole step. */
template <source S> __device__ inline void load_part(float (&x)[ITEMS], const pass &a, uint32_t at, uint32_t valid) {
    uint32_t rows = 0;
    for (uint32_t r = 0; r < ROWS; r++)
        rows |= (uint32_t)((valid >> (4 * r) & 15) == 15) << r;
    load_rows<S>(x, a, at, rows);
#pragma unroll
    for (uint32_t r = 0; r < ROWS; r++) {
        const uint32_t some = rows >> r & 1 ? 0 : valid >> (4 * r) & 15;
        if (some == 0)
            continue;
        float4 g = {}, e = {};
        if (S != FROM_RESIDUAL)
            g = load_some(a.g + place(at, 4 * r), some);
        if (S != FROM_GRADIENT)
            e = load_some(a.e + place(at, 4 * r), some);
        x[4 * r] = form<S>(a, g.x, e.x);
        x[4 * r + 1] = form<S>(a, g.y, e.y);
        x[4 * r + 2] = form<S>(a, g.z, e.z);
        x[4 * r + 3] = form<S>(a, g.w, e.w);
    }
}

/* to[place] <- x, or 0 where `zero` has a bit. */
__device__ inline void store(float *to, const float (&x)[ITEMS], uint32_t at, bool whole, uint32_t valid,
                             uint32_t zero) {
#pragma unroll
    for (uint32_t r = 0; r < ROWS; r++) {
        float y[4];
#pragma unroll
        for (uint32_t c = 0; c < 4; c++)
            y[c] = zero >> (4 * r + c) & 1 ? 0 : x[4 * r + c];
        if (whole) {
            *(float4 *)(to + place(at, 4 * r)) = make_float4(y[0], y[1], y[2], y[3]);
            continue;
        }
#pragma unroll
        for (uint32_t c = 0; c < 4; c++)
            if (valid >> (4 * r + c) & 1)
                to[place(at, 4 * r + c)] = y[c];
    }
}

/* Hits behind the first `found` entries of the list at `begin`, ascending. Returns how many there are then. */
__device__ inline uint32_t append(const view &v, uint32_t begin, uint32_t found, const float (&x)[ITEMS], uint32_t at,
                                  uint32_t hits) {
    if (!__any_sync(ALL_LANES, hits != 0))
        return found;
#pragma unroll
    for (uint32_t r = 0; r < ROWS; r++) {
        const uint32_t mine = opaque(hits >> (4 * r) & 15);
        if (!__any_sync(ALL_LANES, mine != 0))
            continue;
        uint32_t before = 0, all = 0;
#pragma unroll
        for (uint32_t c = 0; c < 4; c++) {
            const uint32_t votes = __ballot_sync(ALL_LANES, mine >> c & 1);
            before += (uint32_t)__popc(votes & lanes_below());
            all += (uint32_t)__popc(votes);
        }
        uint32_t to = begin + found + before;
        if (all == ROW && to % 4 == 0) { /* one store of 16 bytes a lane; else four, each to sectors of four lanes */
            const uint32_t first = place(at, 4 * r);
            *(uint4 *)(v.list_index + to) = make_uint4(first, first + 1, first + 2, first + 3);
            *(float4 *)(v.list_value + to) = make_float4(x[4 * r], x[4 * r + 1], x[4 * r + 2], x[4 * r + 3]);
            found += ROW;
            continue;
        }
#pragma unroll
        for (uint32_t c = 0; c < 4; c++)
            if (mine >> c & 1) {
                v.list_index[to] = place(at, 4 * r + c);
                v.list_value[to++] = x[4 * r + c];
            }
        found += all;
    }
    return found;
}

/* One warp, one piece. `floor` of SEND and COLLECT, at most INF_BITS; `histogram` of COUNT. */
template <source S, action A>
__device__ inline void stream(const view &v, const pass &a, uint32_t p, uint32_t floor, uint32_t *histogram) {
    const cuda_span w = v.piece[p];
    uint32_t found = 0, largest = 0;
    for (uint32_t at = w.begin / 4 * 4; at < w.end; at += STEP) {
        float x[ITEMS];
        const bool whole = at >= w.begin && w.end - at >= STEP;
        const uint32_t valid = whole ? (1U << ITEMS) - 1 : valid_items(w, at);
        if (whole)
            load_rows<S>(x, a, at, (1U << ROWS) - 1);
        else
            load_part<S>(x, a, at, valid);
        uint32_t hits = 0;
#pragma unroll
        for (uint32_t j = 0; j < ITEMS; j++) {
            const uint32_t bits = magnitude(x[j]);
            largest = bits > largest ? bits : largest;
            hits |= (uint32_t)(bits >= floor) << j;
            if (A == COUNT)
                atomicAdd(&histogram[bits >> 20], 1U);
        }
        hits = opaque(hits & valid);
        if (S == FROM_BOTH)
            store(a.e, x, at, whole, valid, A == SEND ? hits : A == SEND_ALL ? valid : 0);
        if (A == SEND_ALL)
            store(a.value, x, at, whole, valid, 0);
        if (A == SEND || A == COLLECT)
            found = append(v, w.begin, found, x, at, hits);
    }
    if (__any_sync(ALL_LANES, largest >= INF_BITS) && lane() == 0)
        atomicMin(&v.control->bad_layer, w.layer);
    if ((A == SEND || A == COLLECT) && lane() == 0)
        v.found[p] = found;
    __syncwarp();
}

#endif

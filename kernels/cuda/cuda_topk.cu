/* cuda_topk.cu: exact Top-k with error feedback, one launch.
 *
 *   1. The pass over g and e collects, piece by piece, the candidates that reach a floor a little below the guess.
 *   2. A layer with fewer than k candidates missed, or has no guess: its magnitudes are counted by their upper 11 bits.
 *      That gives the first digit of the k-th one, and a second pass over e collects what reaches it: k or more.
 *   3. The k-th magnitude is found digit by digit (11 + 10 + 10 bits) by counting the candidates in histograms.
 *   4. Candidates above it, and the first of those equal to it, go to their place in the output.
 *
 * Between the steps the grid waits for itself. All blocks see the same counts, so they agree on the way without
 * asking. */
/* SPDX-License-Identifier: MIT */
#include "cuda_stream.cuh"

/* ---- floors --------------------------------------------------------------------------------------------------- */

/* A hint may be any number, as in topk_isa.c. If it gives too few candidates, only step 2 is needed in addition. */
__device__ static uint32_t hinted_floor(float guess, uint32_t k) {
    if (k == 0 || !(guess > 0 && guess < __uint_as_float(INF_BITS)))
        return INF_BITS;
    return magnitude((0.9375F - 0.25F / sqrtf((float)k)) * guess);
}

__device__ static bool missed(const view &v, const uint32_t *k, uint32_t l) {
    return v.layer[l].have < k[l];
}

/* Returns the same value in every block. */
__device__ static bool any_missed(const view &v, const uint32_t *k) {
    bool here = false;
    for (uint32_t l = threadIdx.x; l < v.n_layers; l += THREADS)
        here |= missed(v, k, l);
    return __syncthreads_or(here);
}

/* ---- digits --------------------------------------------------------------------------------------------------- */

/* Bits [shift, shift + bits) of a magnitude, the next digit behind those in the layer's prefix. */
struct digit {
    uint32_t shift, bits;
};

/* Every lane has a share of the elements, higher lanes larger ones. Returns the lane whose share holds the element of
 * that rank, counted from the largest, and `above` gets how many elements are in higher lanes. If there are fewer than
 * `rank` it returns NONE. All lanes get the same. */
__device__ static uint32_t lane_of_rank(uint32_t share, uint32_t rank, uint32_t *above) {
    uint32_t sum = share; /* of this lane and higher ones */
    for (uint32_t step = 1; step < WARP; step *= 2) {
        const uint32_t more = __shfl_down_sync(ALL_LANES, sum, step);
        sum += lane() + step < WARP ? more : 0;
    }
    const uint32_t found = 31U - (uint32_t)__clz((int)__ballot_sync(ALL_LANES, sum >= rank)); /* __clz(0) is 32 */
    *above = __shfl_sync(ALL_LANES, sum - share, found);
    return found;
}

/* One warp: the digit of the k-th magnitude from the layer's complete histogram, which is cleared for the next one. A
 * lane takes a range of neighbouring bins, then two bins of the range that holds the digit. */
__device__ static void pick_digit(const view &v, uint32_t l, digit d, uint32_t k) {
    constexpr uint32_t RANGE = BINS / WARP;
    static_assert(RANGE == 2 * WARP, "two bins a lane");
    uint32_t *histogram = v.histogram + (size_t)l * BINS, *mine = histogram + lane() * RANGE;
    layer_state *layer = &v.layer[l];
    const bool first = d.shift + d.bits == 31;
    const uint32_t rank = first ? k : layer->rank;
    uint32_t sum = 0, above, beyond;
#pragma unroll 8
    for (uint32_t i = 0; i < RANGE; i += 4) {
        const uint4 four = __ldcg((const uint4 *)(mine + i));
        sum += four.x + four.y + four.z + four.w;
    }
    const uint32_t range = lane_of_rank(sum, rank, &above);
    if (range != NONE) {
        const uint32_t bin = range * RANGE + 2 * lane();
        const uint32_t low = __ldcg(histogram + bin), high = __ldcg(histogram + bin + 1);
        const uint32_t holder = lane_of_rank(low + high, rank - above, &beyond);
        if (lane() == holder) {
            const uint32_t left = rank - above - beyond; /* the rank in these two bins */
            const bool upper = left <= high;
            layer->prefix = (first ? 0 : layer->prefix << d.bits) | (bin + upper);
            layer->rank = left - (upper ? 0 : high);
        }
    }
    __syncwarp();
    for (uint32_t i = 0; i < RANGE; i += 4)
        *(uint4 *)(mine + i) = make_uint4(0, 0, 0, 0);
}

/* This block has counted all its pieces of the layers that `counted` (missed or not). The last one to say so picks. */
__device__ static void pick_digits(const view &v, const uint32_t *k, digit d, bool all, bool counted) {
    __syncthreads();
    if (block_begin(v) == block_end(v))
        return;
    const uint32_t last = v.piece[block_end(v) - 1].layer;
    for (uint32_t l = v.piece[block_begin(v)].layer + warp(); l <= last; l += WARPS) {
        if (k[l] == 0 || !(all || missed(v, k, l) == counted))
            continue;
        uint32_t before = 0;
        if (lane() == 0)
            before = add_ordered(&v.layer[l].arrived, 1);
        if (__shfl_sync(ALL_LANES, before, 0) + 1 < v.layer_blocks[l])
            continue;
        if (lane() == 0)
            v.layer[l].arrived = 0;
        __syncwarp(); /* lane 0 has seen all counts, now all lanes do */
        pick_digit(v, l, d, k[l]);
    }
}

/* One warp: the digits of a piece's candidates. Equal ones are added together, also from round to round: a list of
 * equal magnitudes is one addition. */
__device__ static void count_list(const view &v, uint32_t p, digit d) {
    const cuda_span w = v.piece[p];
    uint32_t *histogram = v.histogram + (size_t)w.layer * BINS;
    const uint32_t prefix = v.layer[w.layer].prefix, known = d.shift + d.bits, found = v.found[p];
    uint32_t held = NONE, holds = 0; /* not added yet: all lanes have the same */
    for (uint32_t j = 0; j < found; j += WARP) {
        uint32_t key = NONE;
        if (j + lane() < found) {
            const uint32_t bits = magnitude(v.list_value[w.begin + j + lane()]);
            if (known == 31 || bits >> known == prefix)
                key = bits >> d.shift & ((1U << d.bits) - 1);
        }
        const uint32_t equal = __match_any_sync(ALL_LANES, key);
        if (__all_sync(ALL_LANES, equal == ALL_LANES)) {
            if (key != held && lane() == 0 && holds > 0)
                atomicAdd(&histogram[held], holds);
            holds = (key == held ? holds : 0) + (key == NONE ? 0 : WARP);
            held = key;
        } else if (key != NONE && (equal & lanes_below()) == 0) {
            atomicAdd(&histogram[key], (uint32_t)__popc(equal));
        }
    }
    if (lane() == 0 && holds > 0)
        atomicAdd(&histogram[held], holds);
}

/* The next digit of all layers, or the first of those that did not miss. */
__device__ static void next_digit(const view &v, const uint32_t *k, digit d) {
    const bool all = d.shift + d.bits < 31;
    for (uint32_t p = warp_begin(v); p < warp_end(v); p++) {
        const uint32_t l = v.piece[p].layer;
        if (k[l] > 0 && (all || !missed(v, k, l)))
            count_list(v, p, d);
    }
    pick_digits(v, k, d, all, false);
    grid_sync(v);
}

/* Step 2, and step 1 with it if there are no guesses. The block takes its layers one after the other: it has one
 * histogram. */
template <source S, bool FIRST>
__device__ static void search_missed(const view &v, const pass &a, const uint32_t *k, uint32_t *histogram) {
    constexpr source AGAIN = S == FROM_BOTH ? FROM_RESIDUAL : S;
    uint32_t p = warp_begin(v);
    for (uint32_t next = block_begin(v), end = block_end(v); next < end;) {
        const uint32_t l = v.piece[next].layer;
        if (FIRST || missed(v, k, l)) {
            for (uint32_t i = threadIdx.x; i < BINS; i += THREADS)
                histogram[i] = 0;
            __syncthreads();
            for (; p < warp_end(v) && v.piece[p].layer == l; p++)
                stream<S, COUNT>(v, a, p, INF_BITS, histogram);
            __syncthreads();
            for (uint32_t i = threadIdx.x; k[l] > 0 && i < BINS; i += THREADS)
                if (histogram[i] > 0)
                    atomicAdd(&v.histogram[(size_t)l * BINS + i], histogram[i]);
            __syncthreads();
        }
        while (p < warp_end(v) && v.piece[p].layer == l)
            p++;
        while (next < end && v.piece[next].layer == l)
            next++;
    }
    pick_digits(v, k, digit{20, 11}, false, true);
    grid_sync(v);
    for (p = warp_begin(v); p < warp_end(v); p++) {
        const uint32_t l = v.piece[p].layer;
        if (k[l] > 0 && missed(v, k, l)) {
            const uint32_t floor = v.layer[l].prefix << 20;
            stream<AGAIN, COLLECT>(v, a, p, floor < INF_BITS ? floor : INF_BITS, NULL);
        }
    }
}

/* ---- output --------------------------------------------------------------------------------------------------- */

/* Above the k-th magnitude << 32 | equal to it, of each piece; summed over the block's first and last layer. */
__device__ static void split_lists(const view &v) {
    for (uint32_t p = warp_begin(v); p < warp_end(v); p++) {
        const cuda_span w = v.piece[p];
        const uint32_t kth = v.layer[w.layer].prefix, found = v.found[p];
        uint64_t split = 0;
        for (uint32_t j = 0; j < found; j += WARP) {
            const uint32_t bits = j + lane() < found ? magnitude(v.list_value[w.begin + j + lane()]) : 0;
            const uint32_t above = __ballot_sync(ALL_LANES, bits > kth);
            const uint32_t equal = __ballot_sync(ALL_LANES, j + lane() < found && bits == kth);
            split += (uint64_t)__popc(above) << 32 | (uint64_t)__popc(equal);
        }
        if (lane() == 0)
            v.split[p] = split;
    }
    __syncthreads();
    const uint32_t begin = block_begin(v), end = block_end(v);
    uint32_t first = begin, last = end;
    while (first < end && v.piece[first].layer == v.piece[begin].layer)
        first++;
    while (last > begin && v.piece[last - 1].layer == v.piece[end - 1].layer)
        last--;
    const uint64_t head = warp_sum(v.split, begin, first), tail = warp_sum(v.split, last, end);
    if (threadIdx.x == 0) {
        v.head[blockIdx.x] = head;
        v.tail[blockIdx.x] = tail;
    }
}

/* What earlier blocks have of this one's first layer: for the first of them it is the last layer. */
__device__ static uint64_t split_before(const view &v) {
    if (block_begin(v) == block_end(v))
        return 0;
    const uint32_t from = v.layer_block[v.piece[block_begin(v)].layer];
    return from == blockIdx.x ? 0 : v.tail[from] + warp_sum(v.head, from + 1, blockIdx.x);
}

/* One warp, one piece: what is sent goes to the output and leaves e. */
template <source S>
__device__ static void send_list(const view &v, const pass &a, const uint32_t *k, uint32_t p, uint64_t before) {
    const cuda_span w = v.piece[p];
    const uint32_t kth = v.layer[w.layer].prefix, ties = v.layer[w.layer].rank, found = v.found[p];
    uint32_t start = block_begin(v);
    if (v.piece[start].layer != w.layer) {
        before = 0;
        for (start = p; v.piece[start - 1].layer == w.layer; start--)
            ;
    }
    before += warp_sum(v.split, start, p);
    const uint64_t base = warp_sum(k, 0, w.layer);
    uint32_t above = (uint32_t)(before >> 32), equal = (uint32_t)before;
    for (uint32_t j = 0; j < found; j += WARP) {
        const bool mine = j + lane() < found;
        const float x = mine ? v.list_value[w.begin + j + lane()] : 0;
        const bool tie = mine && magnitude(x) == kth, over = magnitude(x) > kth;
        const uint32_t over_votes = __ballot_sync(ALL_LANES, over), tie_votes = __ballot_sync(ALL_LANES, tie);
        const uint32_t over_before = above + (uint32_t)__popc(over_votes & lanes_below());
        const uint32_t tie_before = equal + (uint32_t)__popc(tie_votes & lanes_below());
        if (over || (tie && tie_before < ties)) {
            const uint64_t to = base + over_before + (tie_before < ties ? tie_before : ties);
            const uint32_t at = v.list_index[w.begin + j + lane()];
            a.index[to] = at;
            a.value[to] = x;
            if (S == FROM_BOTH)
                a.e[at] = 0;
        }
        above += (uint32_t)__popc(over_votes);
        equal += (uint32_t)__popc(tie_votes);
    }
}

__device__ static void finish_layers(const view &v, const pass &a, const uint32_t *k, float *guess) {
    for (uint32_t l = blockIdx.x * THREADS + threadIdx.x; l < v.n_layers; l += gridDim.x * THREADS) {
        a.count[l] = k[l];
        if (guess)
            guess[l] = k[l] > 0 ? __uint_as_float(v.layer[l].prefix) : -1;
        v.layer[l].have = 0;
    }
    if (blockIdx.x == 0 && warp() == 0) {
        const uint64_t sent = warp_sum(k, 0, v.n_layers);
        if (lane() == 0) {
            a.result->sent = (uint32_t)sent;
            report_status(v, a);
        }
    }
}

/* WARM: guesses are given. */
template <source S, bool WARM>
__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM) topk_kernel(view v, pass a, const uint32_t *k, float *guess) {
    SG_SHARED(shared, sh);
    if (WARM) {
        for (uint32_t p = warp_begin(v); p < warp_end(v); p++) {
            const uint32_t l = v.piece[p].layer, floor = hinted_floor(guess[l], k[l]);
            stream<S, COLLECT>(v, a, p, floor < INF_BITS ? floor : INF_BITS, NULL);
            if (lane() == 0 && v.found[p] > 0)
                atomicAdd(&v.layer[l].have, v.found[p]);
        }
        grid_sync(v);
        if (any_missed(v, k))
            search_missed<S == FROM_BOTH ? FROM_RESIDUAL : S, false>(v, a, k, sh.histogram);
        next_digit(v, k, digit{20, 11});
    } else {
        search_missed<S, true>(v, a, k, sh.histogram);
    }
    next_digit(v, k, digit{10, 10});
    next_digit(v, k, digit{0, 10});
    split_lists(v);
    grid_sync(v);
    if (warp() == 0) {
        const uint64_t before = split_before(v);
        if (lane() == 0)
            sh.before = before;
    }
    __syncthreads();
    for (uint32_t p = warp_begin(v); p < warp_end(v); p++)
        if (k[v.piece[p].layer] > 0)
            send_list<S>(v, a, k, p, sh.before);
    finish_layers(v, a, k, guess);
}

int sg_cuda_select_topk(sg_cuda *c, void *stream, const struct sg_cuda_select *s, const uint32_t *k, float *guess) {
    void (*const warm)(view, pass, const uint32_t *, float *) =
        s->e ? topk_kernel<FROM_BOTH, true> : topk_kernel<FROM_GRADIENT, true>;
    void (*const cold)(view, pass, const uint32_t *, float *) =
        s->e ? topk_kernel<FROM_BOTH, false> : topk_kernel<FROM_GRADIENT, false>;
    return launch_select(c, stream, s, guess ? warm : cold, k, guess);
}

int topk_kernels_blocks(void) {
    return least_of({blocks_of(topk_kernel<FROM_BOTH, true>), blocks_of(topk_kernel<FROM_GRADIENT, true>),
                     blocks_of(topk_kernel<FROM_BOTH, false>), blocks_of(topk_kernel<FROM_GRADIENT, false>)});
}

/* cuda_topk.cu: exact Top-k with error feedback, one launch.
 *
 *   1. The pass over g and e collects, piece by piece, the candidates that reach a floor a little below the guess.
 *   2. A layer with fewer than k candidates missed, or has no guess: its magnitudes are counted by their upper 11 bits.
 *      That gives the first digit of the k-th one, and a second pass over e collects what reaches it: k or more.
 *   3. The k-th magnitude is found digit by digit (11 + 10 + 10 bits) by counting the candidates in histograms.
 *   4. Candidates above it, and the first of those equal to it, go to their place in the output.
 *
 * Steps 3 and 4 of a layer are done by one block, which needs no barrier of the grid for them. If any layer has more
 * than FIT candidates, the whole grid does them for all layers, and waits for itself in between. All blocks see the
 * same counts, so they agree on the way without asking. */
/* SPDX-License-Identifier: MIT */
#include "cuda_digits.cuh"
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

/* Whether a layer missed, or has more candidates than fit. Both are the same in every block. */
__device__ static bool any_missed(const view &v, const uint32_t *k) {
    bool here = false;
    for (uint32_t l = threadIdx.x; l < v.n_layers; l += THREADS)
        here |= missed(v, k, l);
    return __syncthreads_or(here);
}

__device__ static bool any_too_long(const view &v, const uint32_t *k) {
    bool here = false;
    for (uint32_t l = threadIdx.x; l < v.n_layers; l += THREADS)
        here |= (missed(v, k, l) ? v.layer[l].again : v.layer[l].have) > FIT;
    return __syncthreads_or(here);
}

/* ---- digits ---------------------------------------------------------------------------------------------------- */

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

/* The next digit of all layers, or the first of those that did not miss. */
__device__ static void next_digit(const view &v, const uint32_t *k, digit d) {
    const bool all = d.shift + d.bits < 31;
    for (uint32_t p = warp_begin(v); p < warp_end(v); p++) {
        const uint32_t l = v.piece[p].layer;
        if (k[l] > 0 && (all || !missed(v, k, l)))
            count_list(v, l, v.list_value + v.piece[p].begin, v.found[p], d);
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

/* One warp: how many of some candidates of layer l are above the k-th magnitude << 32 | equal to it. */
__device__ static uint64_t split_list(const view &v, uint32_t l, const float *value, uint32_t found) {
    const uint32_t kth = v.layer[l].prefix;
    uint64_t split = 0;
    for (uint32_t j = 0; j < found; j += WARP) {
        const uint32_t bits = j + lane() < found ? magnitude(value[j + lane()]) : 0;
        const uint32_t above = __ballot_sync(ALL_LANES, bits > kth);
        const uint32_t equal = __ballot_sync(ALL_LANES, j + lane() < found && bits == kth);
        split += (uint64_t)__popc(above) << 32 | (uint64_t)__popc(equal);
    }
    return split;
}

/* The split of each piece; summed over the block's first and last layer. */
__device__ static void split_lists(const view &v) {
    for (uint32_t p = warp_begin(v); p < warp_end(v); p++) {
        const cuda_span w = v.piece[p];
        const uint64_t split = split_list(v, w.layer, v.list_value + w.begin, v.found[p]);
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

/* One warp, some candidates of layer l: what is sent goes to the output and leaves e. before: the split of the layer's
 * candidates before these. */
template <source S>
__device__ static void send_list(const view &v, const pass &a, const uint32_t *k, uint32_t l, const uint32_t *index,
                                 const float *value, uint32_t found, uint64_t before) {
    const uint32_t kth = v.layer[l].prefix, ties = v.layer[l].rank;
    const uint64_t base = warp_sum(k, 0, l);
    uint32_t above = (uint32_t)(before >> 32), equal = (uint32_t)before;
    for (uint32_t j = 0; j < found; j += WARP) {
        const bool mine = j + lane() < found;
        const float x = mine ? value[j + lane()] : 0;
        const bool tie = mine && magnitude(x) == kth, over = magnitude(x) > kth;
        const uint32_t over_votes = __ballot_sync(ALL_LANES, over), tie_votes = __ballot_sync(ALL_LANES, tie);
        const uint32_t over_before = above + (uint32_t)__popc(over_votes & lanes_below());
        const uint32_t tie_before = equal + (uint32_t)__popc(tie_votes & lanes_below());
        if (over || (tie && tie_before < ties)) {
            const uint64_t to = base + over_before + (tie_before < ties ? tie_before : ties);
            const uint32_t at = index[j + lane()];
            a.index[to] = at;
            a.value[to] = x;
            if (S == FROM_BOTH)
                a.e[at] = 0;
        }
        above += (uint32_t)__popc(over_votes);
        equal += (uint32_t)__popc(tie_votes);
    }
}

/* One warp, one piece. before: the split that earlier blocks have of this one's first layer. */
template <source S>
__device__ static void send_piece(const view &v, const pass &a, const uint32_t *k, uint32_t p, uint64_t before) {
    const cuda_span w = v.piece[p];
    uint32_t start = block_begin(v);
    if (v.piece[start].layer != w.layer) {
        before = 0;
        start = v.layer_piece[w.layer];
    }
    send_list<S>(v, a, k, w.layer, v.list_index + w.begin, v.list_value + w.begin, v.found[p],
                 before + warp_sum(v.split, start, p));
}

/* One block of all, or every block its share. */
__device__ static void finish_layers(const view &v, const pass &a, const uint32_t *k, float *guess, bool one) {
    const uint32_t first = one ? threadIdx.x : (uint32_t)first_place();
    for (uint32_t l = first; l < v.n_layers; l += one ? THREADS : (uint32_t)stride()) {
        a.count[l] = k[l];
        if (guess)
            guess[l] = k[l] > 0 ? __uint_as_float(v.layer[l].prefix) : -1;
        v.layer[l].have = 0;
    }
    if ((one || blockIdx.x == 0) && warp() == 0) {
        const uint64_t sent = warp_sum(k, 0, v.n_layers);
        if (lane() == 0) {
            a.result->sent = (uint32_t)sent;
            report_status(v, a);
        }
    }
}

/* ---- a layer by one block ---------------------------------------------------------------------------------------- */

/* Range of a warp, in order and in whole rows of lanes, of n things that a block shares. */
struct share {
    uint32_t begin, end;
};

__device__ static share share_of(uint32_t n) {
    const uint32_t each = (n + THREADS - 1) / THREADS * WARP, begin = warp() * each, end = begin + each;
    return {begin < n ? begin : n, end < n ? end : n};
}

/* What the warps before this one have, and all of them. */
__device__ static uint64_t before_warp(shared &sh, uint64_t mine, uint64_t *all) {
    __syncthreads();
    if (lane() == 0)
        sh.warp[warp()] = mine;
    __syncthreads();
    *all = warp_sum(sh.warp, 0, WARPS);
    return warp_sum(sh.warp, 0, warp());
}

/* The layer's candidates to the block's own list, in order. Returns their number. A warp takes 32 pieces at a time, and
 * a lane looks up which of them holds its candidate. */
__device__ static uint32_t gather(const view &v, uint32_t l, uint32_t *index, float *value, shared &sh) {
    const uint32_t first = v.layer_piece[l];
    const share mine = share_of(v.layer_piece[l + 1] - first);
    uint64_t all;
    uint32_t next = (uint32_t)before_warp(sh, warp_sum(v.found, first + mine.begin, first + mine.end), &all);
    for (uint32_t p = mine.begin; p < mine.end; p += WARP) {
        const bool some = p + lane() < mine.end;
        const uint32_t begin = some ? v.piece[first + p + lane()].begin : 0;
        uint32_t found;
        const uint32_t before = lanes_before(some ? v.found[first + p + lane()] : 0, &found);
        for (uint32_t j = lane(); j - lane() < found; j += WARP) {
            uint32_t holder = 0;
            for (uint32_t half = WARP / 2; half > 0; half /= 2)
                holder += __shfl_sync(ALL_LANES, before, holder + half) <= j ? half : 0;
            const uint32_t from = __shfl_sync(ALL_LANES, begin, holder) + j - __shfl_sync(ALL_LANES, before, holder);
            if (j < found && next + j < FIT) { /* of numbers that are not finite there may be more */
                index[next + j] = v.list_index[from];
                value[next + j] = v.list_value[from];
            }
        }
        next += found;
    }
    __syncthreads();
    return all < FIT ? (uint32_t)all : FIT;
}

/* Steps 3 and 4. `digits` of the k-th magnitude are not known. */
template <source S>
__device__ static void order_layer(const view &v, const pass &a, const uint32_t *k, uint32_t l, uint32_t digits,
                                   shared &sh) {
    uint32_t *index = v.order_index + (size_t)blockIdx.x * FIT;
    float *value = v.order_value + (size_t)blockIdx.x * FIT;
    const share mine = share_of(gather(v, l, index, value, sh));
    const uint32_t found = mine.end - mine.begin;
    while (digits-- > 0) {
        const digit d = {10 * digits, digits == 2 ? 11U : 10U};
        count_list(v, l, value + mine.begin, found, d);
        __syncthreads();
        if (warp() == 0)
            pick_digit(v, l, d, k[l]);
        __syncthreads();
    }
    uint64_t all;
    const uint64_t before = before_warp(sh, split_list(v, l, value + mine.begin, found), &all);
    send_list<S>(v, a, k, l, index + mine.begin, value + mine.begin, found, before);
}

/* Block b takes layers b, b + blocks, ... The last block that is done completes the outputs and prepares the next call,
 * since by then no block decides by the counts of this one. */
template <source S>
__device__ static void order_layers(const view &v, const pass &a, const uint32_t *k, float *guess, shared &sh) {
    for (uint32_t l = blockIdx.x; l < v.n_layers; l += gridDim.x)
        if (k[l] > 0)
            order_layer<S>(v, a, k, l, missed(v, k, l) ? 2 : 3, sh);
    __syncthreads();
    if (threadIdx.x == 0)
        sh.warp[0] = add_ordered(&v.control->done, 1) + 1;
    __syncthreads();
    if (sh.warp[0] < gridDim.x)
        return;
    if (threadIdx.x == 0)
        v.control->done = 0;
    finish_layers(v, a, k, guess, true);
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
    }
    const bool again = !WARM || any_missed(v, k);
    if (again)
        search_missed<WARM && S == FROM_BOTH ? FROM_RESIDUAL : S, !WARM>(v, a, k, sh.histogram);
    if (!any_too_long(v, k)) {
        if (again)
            grid_sync(v);
        order_layers<S>(v, a, k, guess, sh);
        return;
    }
    if (WARM)
        next_digit(v, k, digit{20, 11});
    next_digit(v, k, digit{10, 10});
    next_digit(v, k, digit{0, 10});
    split_lists(v);
    grid_sync(v);
    if (warp() == 0) {
        const uint64_t before = split_before(v);
        if (lane() == 0)
            sh.warp[0] = before;
    }
    __syncthreads();
    for (uint32_t p = warp_begin(v); p < warp_end(v); p++)
        if (k[v.piece[p].layer] > 0)
            send_piece<S>(v, a, k, p, sh.warp[0]);
    finish_layers(v, a, k, guess, false);
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

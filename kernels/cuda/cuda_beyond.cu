/* cuda_beyond.cu: the list of a message in the code `grid`: the numbers that are beyond the multiples of their step,
 * and are sent as they are (lib/wire/code_grid.c).
 *
 * The fields say which these are. A warp counts those of a chunk, one warp adds up the chunks' counts, and then every
 * warp knows where in the list its own numbers begin. Entries may overwrite the 8 bytes behind the fields while these
 * are read: what is read of them does not matter. */
/* SPDX-License-Identifier: MIT */
#include "cuda_buckets.cuh"

/* Calls visit(whether lane l's number is beyond, its place) for 32 numbers at a time, in order. */
template <typename Visit>
__device__ static void visit_chunk(const bucket_call &c, uint64_t at, uint32_t n, Visit visit) {
    const bucket_part *part = c.part;
    uint32_t p = last_at_most(c.parts, at, [=](uint32_t i) { return part[i].first; });
    for (uint64_t row = at; row < at + CHUNK && row < n; row += WARP) {
        const uint64_t j = row + lane();
        bool beyond = false;
        if (j < n) {
            while (part[p + 1].first <= j)
                p++;
            beyond = field_of(c, part[p], (uint32_t)j - part[p].first) == 1U << (part[p].bits - 1);
        }
        visit(__ballot_sync(ALL_LANES, beyond), beyond, (uint32_t)j);
    }
}

__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    count_beyond_kernel(bucket_call c, uint32_t n, uint32_t *begin) {
    for (uint64_t at = (uint64_t)grid_warp() * CHUNK; at < n; at += (uint64_t)grid_warps() * CHUNK) {
        uint32_t count = 0;
        visit_chunk(c, at, n, [&](uint32_t which, bool, uint32_t) { count += __popc(which); });
        if (lane() == 0)
            begin[at / CHUNK] = count;
    }
}

/* One warp: begin [chunks] from counts to the places in the list, and behind them and behind the list how many there
 * are. */
__global__ void place_beyond_kernel(bucket_call c, uint32_t chunks, uint32_t *begin) {
    uint32_t sum = 0;
    if (blockIdx.x > 0 || warp() > 0)
        return;
    for (uint32_t at = 0; at < chunks; at += WARP) {
        const bool some = at + lane() < chunks;
        uint32_t all;
        const uint32_t before = lanes_before(some ? begin[at + lane()] : 0, &all);
        if (some)
            begin[at + lane()] = sum + before;
        sum += all;
    }
    if (lane() > 0)
        return;
    begin[chunks] = sum;
    uint8_t *end = c.data + c.part[c.parts].scalar_at + ENTRY * (uint64_t)sum;
    store_word(end, sum);
    store_word(end + 4, 0);
}

__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    write_beyond_kernel(bucket_call c, const float *x, uint32_t n, const uint32_t *begin) {
    uint8_t *list = c.data + c.part[c.parts].scalar_at;
    for (uint64_t at = (uint64_t)grid_warp() * CHUNK; at < n; at += (uint64_t)grid_warps() * CHUNK) {
        uint32_t next = begin[at / CHUNK];
        if (begin[at / CHUNK + 1] == next)
            continue;
        visit_chunk(c, at, n, [&](uint32_t which, bool beyond, uint32_t j) {
            uint8_t *entry = list + ENTRY * (uint64_t)(next + __popc(which & ((1U << lane()) - 1)));
            if (beyond) {
                store_word(entry, j);
                store_scalar(entry + 4, x[j]);
            }
            next += __popc(which);
        });
    }
}

void cuda_list_beyond(const struct sg_exec *exec, const struct bucket_call &c, const float *x, uint32_t n,
                      uint32_t *begin) {
    const uint32_t chunks = (uint32_t)chunks_of(n);
    (void)enqueue(exec, blocks_for_warps(chunks), count_beyond_kernel, c, n, begin);
    (void)enqueue(exec, 1, place_beyond_kernel, c, chunks, begin);
    (void)enqueue(exec, blocks_for_warps(chunks), write_beyond_kernel, c, x, n, begin);
}

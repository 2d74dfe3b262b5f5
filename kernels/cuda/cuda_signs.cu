/* cuda_signs.cu: numbers as signs with two values for each part (lib/wire/code_signs.c), written and read on a GPU.
 *
 * Blocks of a part are summed by 16 lanes each, and a warp adds up the blocks of a part in order, so the two values
 * have the CPU's bits. The signs of all parts lie behind each other, and a warp packs 1,024 of them at a time. */
/* SPDX-License-Identifier: MIT */
#include "cuda_codes.cuh"

constexpr uint32_t HEAD = 4, PART = 12, BLOCK = SG_KERNEL_BLOCK, GROUPS = THREADS / SG_KERNEL_LANES;
constexpr uint32_t ROWS_OF_WORD = 32, CHUNK = WARP * ROWS_OF_WORD;

/* Where a part begins: its first number, and its first block among those of all parts. */
struct sign_part {
    uint32_t first, block;
};

/* Consecutive arrays in the device's scratch memory. */
struct sign_room {
    double *sum;        /* [2 blocks] */
    sign_part *part;    /* [parts + 1] the last is where all end */
    uint32_t *below;    /* [blocks] */
    uint32_t *of_parts; /* [parts] numbers below 0 */
};

__device__ static uint32_t *part_head(void *data, uint32_t part) {
    return (uint32_t *)((char *)data + HEAD + PART * (uint64_t)part);
}

/* One warp. */
__global__ void sign_parts_kernel(const void *data, uint32_t parts, sign_part *part) {
    uint32_t first = 0, block = 0;
    if (blockIdx.x > 0 || warp() > 0)
        return;
    for (uint32_t at = 0; at < parts; at += WARP) {
        const bool some = at + lane() < parts;
        const uint32_t count = some ? *part_head((void *)data, at + lane()) : 0;
        uint32_t numbers, blocks;
        const uint32_t before = lanes_before(count, &numbers);
        const uint32_t blocks_before = lanes_before(count / BLOCK + (count % BLOCK > 0), &blocks);
        if (some)
            part[at + lane()] = {first + before, block + blocks_before};
        first += numbers;
        block += blocks;
    }
    if (lane() == 0)
        part[parts] = {first, block};
}

/* ---- writing ---- */

/* One number's terms. */
__device__ static void add_terms(double sum[2], uint32_t *below, double x, enum sg_two_values values) {
    if (values == SG_VALUES_MEAN)
        sum[0] = __dadd_rn(sum[0], fabs(x));
    else if (values == SG_VALUES_RMS)
        sum[0] = __dadd_rn(sum[0], __dmul_rn(x, x));
    else {
        sum[0] = __dadd_rn(sum[0], x > 0 ? x : 0);
        sum[1] = __dadd_rn(sum[1], x < 0 ? x : 0);
        *below += x < 0;
    }
}

__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    sum_blocks_kernel(sign_room r, const float *x, uint32_t parts, enum sg_two_values values) {
    const uint32_t blocks = r.part[parts].block;
    for (uint32_t b = blockIdx.x * GROUPS; b < blocks; b += gridDim.x * GROUPS) {
        const uint32_t mine = b + threadIdx.x / SG_KERNEL_LANES;
        const bool some = mine < blocks;
        double sum[2] = {0, 0};
        uint32_t below = 0;
        if (some) {
            const sign_part *part = r.part;
            const uint32_t p = last_at_most(parts, mine, [=](uint32_t i) { return part[i].block; });
            const uint32_t begin = part[p].first + (mine - part[p].block) * BLOCK, left = part[p + 1].first - begin;
            const uint32_t n = left < BLOCK ? left : BLOCK;
#pragma unroll 8
            for (uint32_t i = threadIdx.x % SG_KERNEL_LANES; i < n; i += SG_KERNEL_LANES)
                add_terms(sum, &below, x[begin + i], values);
        }
        sum[0] = add_lanes(sum[0]);
        sum[1] = values == SG_VALUES_SIDES ? add_lanes(sum[1]) : 0;
        for (uint32_t half = SG_KERNEL_LANES / 2; half > 0; half /= 2)
            below += __shfl_down_sync(ALL_LANES, below, half, SG_KERNEL_LANES);
        if (some && threadIdx.x % SG_KERNEL_LANES == 0) {
            r.sum[2 * mine] = sum[0];
            r.sum[2 * mine + 1] = sum[1];
            r.below[mine] = below;
        }
    }
}

__device__ static float mean_of(double sum, uint32_t count) {
    return count > 0 ? __double2float_rn(__ddiv_rn(sum, count)) : 0;
}

/* A warp for each part: the blocks' sums in order, and the part's two values. */
__global__ void sign_values_kernel(sign_room r, void *data, uint32_t parts, enum sg_two_values values) {
    for (uint32_t p = grid_warp(); p < parts; p += grid_warps()) {
        const uint32_t begin = r.part[p].block, end = r.part[p + 1].block,
                       count = r.part[p + 1].first - r.part[p].first;
        double sum[2] = {0, 0};
        uint32_t below = 0;
        for (uint32_t b = begin; b < end; b += WARP) {
            const bool some = b + lane() < end;
            const double high = some ? r.sum[2 * (b + lane())] : 0, low = some ? r.sum[2 * (b + lane()) + 1] : 0;
            uint32_t of_lanes;
            (void)lanes_before(some ? r.below[b + lane()] : 0, &of_lanes);
            below += of_lanes;
            for (uint32_t j = 0; j < WARP; j++) { /* + 0 behind the end changes nothing: no sum is -0 */
                sum[0] = __dadd_rn(sum[0], __shfl_sync(ALL_LANES, high, j));
                sum[1] = __dadd_rn(sum[1], __shfl_sync(ALL_LANES, low, j));
            }
        }
        if (lane() > 0)
            continue;
        float value[2];
        if (values == SG_VALUES_SIDES) {
            value[0] = mean_of(sum[0], count - below);
            value[1] = mean_of(sum[1], below);
        } else {
            const double mean = count > 0 ? __ddiv_rn(sum[0], count) : 0;
            value[0] = __double2float_rn(values == SG_VALUES_RMS ? __dsqrt_rn(mean) : mean);
            value[1] = 0 - value[0]; /* +0 if it is 0 */
        }
        part_head(data, p)[1] = __float_as_uint(value[0]);
        part_head(data, p)[2] = __float_as_uint(value[1]);
        r.of_parts[p] = below;
    }
}

/* Lane l of a warp writes the l-th word of a chunk. The last word may have fewer than four bytes. */
__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    pack_signs_kernel(uint32_t *packed, const float *x, uint32_t n) {
    const uint64_t bytes = ((uint64_t)n + 7) / 8;
    for (uint64_t at = (uint64_t)grid_warp() * CHUNK; at < n; at += (uint64_t)grid_warps() * CHUNK) {
        uint32_t mine = 0;
#pragma unroll 8
        for (uint32_t row = 0; row < ROWS_OF_WORD; row++) {
            const uint64_t i = at + row * WARP + lane();
            const uint32_t signs = __ballot_sync(ALL_LANES, i < n && x[i] < 0);
            mine = row == lane() ? signs : mine;
        }
        const uint64_t word = at / 32 + lane();
        if (4 * word + 4 <= bytes)
            packed[word] = mine;
        else
            for (uint64_t b = 4 * word; b < bytes; b++)
                ((uint8_t *)packed)[b] = (uint8_t)(mine >> 8 * (b - 4 * word));
    }
}

/* Blocks are at most one more a part than whole ones. Without memory r.sum is NULL. */
static sign_room room_of(const struct sg_exec *exec, size_t count, size_t parts) {
    const size_t blocks = count / BLOCK + parts;
    sign_room r = {};
    r.sum = (double *)table_room(exec, blocks * 2 * sizeof(double) + (parts + 1) * sizeof(sign_part) +
                                           (blocks + parts) * sizeof(uint32_t));
    if (!r.sum)
        return r;
    r.part = (sign_part *)(r.sum + 2 * blocks);
    r.below = (uint32_t *)(r.part + parts + 1);
    r.of_parts = r.below + blocks;
    return r;
}

int cuda_write_signs(const struct sg_exec *exec, void *data, const struct sg_device_signs *s, uint32_t *below) {
    const uint32_t parts = (uint32_t)s->parts;
    const sign_room r = room_of(exec, s->count, s->parts);
    if (!r.sum)
        return device_status(device_of(exec)->error);
    table_put(exec, data, s->head, s->head_bytes);
    if (s->values != SG_VALUES_GIVEN) {
        const size_t blocks = s->count / BLOCK + s->parts;
        (void)enqueue(exec, 1, sign_parts_kernel, data, parts, r.part);
        (void)enqueue(exec, (uint32_t)(blocks / GROUPS + 1), sum_blocks_kernel, r, s->x, parts, s->values);
        (void)enqueue(exec, blocks_for_warps(parts), sign_values_kernel, r, data, parts, s->values);
    }
    const int status = enqueue(exec, blocks_for_warps(s->count / CHUNK), pack_signs_kernel,
                               (uint32_t *)((char *)data + s->head_bytes), s->x, (uint32_t)s->count);
    return below ? table_get(exec, below, r.of_parts, s->parts * sizeof *below) : status;
}

/* ---- reading ---- */

__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    read_signs_kernel(sg_sink to, const void *data, uint32_t n, uint32_t parts, const sign_part *part) {
    const uint32_t *packed = part_head((void *)data, parts);
    const uint64_t bytes = ((uint64_t)n + 7) / 8;
    for (uint64_t at = (uint64_t)grid_warp() * CHUNK; at < n; at += (uint64_t)grid_warps() * CHUNK) {
        const uint64_t word = at / 32 + lane();
        uint32_t mine = 0, p = last_at_most(parts, at, [=](uint32_t i) { return part[i].first; });
        if (4 * word + 4 <= bytes)
            mine = packed[word];
        else
            for (uint64_t b = 4 * word; b < bytes; b++)
                mine |= (uint32_t)((const uint8_t *)packed)[b] << 8 * (b - 4 * word);
        for (uint32_t row = 0; row < ROWS_OF_WORD; row++) {
            const uint64_t j = at + row * WARP + lane();
            const uint32_t signs = __shfl_sync(ALL_LANES, mine, row);
            if (j >= n)
                continue;
            while (part[p + 1].first <= j)
                p++;
            put_number(to, j, __uint_as_float(part_head((void *)data, p)[1 + (signs >> lane() & 1)]));
        }
    }
}

void cuda_read_signs(const struct sg_exec *exec, const struct sg_sink *to, const void *data, size_t count,
                     size_t parts) {
    if (count == 0)
        return;
    const sign_room r = room_of(exec, 0, parts);
    if (!r.sum)
        return;
    (void)enqueue(exec, 1, sign_parts_kernel, data, (uint32_t)parts, r.part);
    (void)enqueue(exec, blocks_for_warps(count / CHUNK), read_signs_kernel, *to, data, (uint32_t)count, (uint32_t)parts,
                  r.part);
}

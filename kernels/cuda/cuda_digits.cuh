/* cuda_digits.cuh: the k-th magnitude of a layer, digit by digit from histograms, for cuda_topk.cu. */
/* SPDX-License-Identifier: MIT */
#ifndef CUDA_DIGITS_CUH
#define CUDA_DIGITS_CUH

#include "cuda_device.cuh"

/* Bits [shift, shift + bits) of a magnitude, the next digit behind those in the layer's prefix. */
struct digit {
    uint32_t shift, bits;
};

/* Every lane has a share of the elements, higher lanes larger ones. Returns the lane whose share holds the element of
 * that rank, counted from the largest, and `above` gets how many elements are in higher lanes. If there are fewer than
 * `rank` it returns NONE. All lanes get the same. */
__device__ inline uint32_t lane_of_rank(uint32_t share, uint32_t rank, uint32_t *above) {
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
__device__ inline void pick_digit(const view &v, uint32_t l, digit d, uint32_t k) {
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
            if (first)
                layer->again = above + beyond + high + (upper ? 0 : low);
        }
    }
    __syncwarp();
    for (uint32_t i = 0; i < RANGE; i += 4)
        *(uint4 *)(mine + i) = make_uint4(0, 0, 0, 0);
}

/* One warp: the digits of some candidates of layer l. Equal ones are added together, also from round to round: a list
 * of equal magnitudes is one addition. */
__device__ inline void count_list(const view &v, uint32_t l, const float *value, uint32_t found, digit d) {
    uint32_t *histogram = v.histogram + (size_t)l * BINS;
    const uint32_t prefix = v.layer[l].prefix, known = d.shift + d.bits;
    uint32_t held = NONE, holds = 0; /* not added yet: all lanes have the same */
    for (uint32_t j = 0; j < found; j += WARP) {
        uint32_t key = NONE;
        if (j + lane() < found) {
            const uint32_t bits = magnitude(value[j + lane()]);
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

#endif

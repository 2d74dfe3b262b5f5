/* cuda_buckets.cu: numbers as fields of a few bits, part by part and with a unit for each bucket of neighbours (the
 * layout of lib/wire/sg_wire_buckets.h): the codes `levels`, `natural`,
 * `grid` and `natural-dithering`, written and read on a GPU.
 *
 * Eight fields fill whole bytes, so a thread writes eight numbers. Draws are numbered by the numbers' places, so every
 * thread makes its own. A bucket's measure is summed in blocks of 16 lanes, and these in order, with the CPU's bits. */
/* SPDX-License-Identifier: MIT */
#include "cuda_buckets.cuh"

#include <string.h>

#include "sg_philox.h"

constexpr uint32_t HEAD = 8, BLOCK = SG_KERNEL_BLOCK, GROUPS = THREADS / SG_KERNEL_LANES;

__device__ static uint32_t bits_of(enum sg_bucket_code code, uint32_t setting) {
    if (code == SG_BUCKETS_POWERS || code == SG_BUCKETS_STEPS)
        return setting;
    uint32_t bits = 1;
    for (; setting > 0; setting /= 2)
        bits++;
    return bits;
}

/* One warp. */
__global__ void bucket_parts_kernel(bucket_call c) {
    uint64_t end = HEAD + 8 * (uint64_t)c.parts;
    uint32_t first = 0, group = 0, bucket = 0;
    if (blockIdx.x > 0 || warp() > 0)
        return;
    for (uint32_t at = 0; at < c.parts; at += WARP) {
        const bool some = at + lane() < c.parts;
        bucket_part p = {};
        if (some) {
            p.count = head_at(c.data, 2 + 2 * (uint64_t)(at + lane()));
            p.setting = head_at(c.data, 3 + 2 * (uint64_t)(at + lane()));
            p.bits = bits_of(c.code, p.setting);
        }
        const uint32_t size = bucket_size(c), buckets = p.count / size + (p.count % size > 0);
        const uint64_t scalars = c.code == SG_BUCKETS_POWERS ? 0 : 4 * (uint64_t)buckets;
        const uint64_t fields = ((uint64_t)p.count * p.bits + 7) / 8;
        uint32_t numbers, groups, all_buckets;
        uint64_t bytes;
        p.first = first + lanes_before(p.count, &numbers);
        p.group = group + lanes_before(p.count / 8 + (p.count % 8 > 0), &groups);
        p.bucket = bucket + lanes_before(buckets, &all_buckets);
        p.scalar_at = end + lanes_before(scalars + fields, &bytes);
        p.at = p.scalar_at + scalars;
        if (some)
            c.part[at + lane()] = p;
        if (p.count > 0 && c.step) /* the part is one bucket */
            store_scalar(c.data + p.scalar_at, c.step[at + lane()]);
        first += numbers;
        group += groups;
        bucket += all_buckets;
        end += bytes;
    }
    if (lane() == 0) {
        bucket_part last = {};
        last.first = first;
        last.group = group;
        last.bucket = bucket;
        last.scalar_at = end;
        c.part[c.parts] = last;
    }
}

/* ---- the units of `levels` ---- */

/* Bits of a float >= 0, one step up or down. */
__device__ static float step_by(float x, int32_t step) {
    return __uint_as_float(__float_as_uint(x) + (uint32_t)step);
}

/* wire_unit of wire_buckets.c. */
__device__ static float unit_of(double norm, uint32_t levels) {
    const double s = levels;
    float most = __fdiv_rn(FLT_MAX, (float)levels);
    while (__float_as_uint(__fmul_rn(most, (float)levels)) >= INF_BITS)
        most = step_by(most, -1);
    const double exact = __ddiv_rn(norm, s);
    float unit = __double2float_rn(exact < (double)most ? exact : (double)most);
    if (__dmul_rn(unit, s) < norm)
        unit = step_by(unit, 1);
    return unit < most ? unit : most;
}

/* Of bucket b of all: its part, its place among the part's, its first number and how many it has. */
struct bucket_place {
    uint32_t part, number, begin, count;
};

__device__ static bucket_place place_of(const bucket_call &c, uint32_t b) {
    const bucket_part *part = c.part;
    const uint32_t p = last_at_most(c.parts, b, [=](uint32_t i) { return part[i].bucket; });
    const uint32_t number = b - part[p].bucket, size = bucket_size(c), at = number * size, left = part[p].count - at;
    return {p, number, part[p].first + at, left < size ? left : size};
}

__device__ static void write_unit(const bucket_call &c, const bucket_place &b, double measure, bool by_largest) {
    const bucket_part &p = c.part[b.part];
    store_scalar(c.data + p.scalar_at + 4 * (uint64_t)b.number,
                 unit_of(by_largest ? measure : __dsqrt_rn(measure), c.code == SG_BUCKETS_PARTS ? 1 : p.setting));
}

/* 16 lanes measure one of the `each` blocks that the largest bucket has. If that is one, they write the unit. */
__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    measure_kernel(bucket_call c, const float *x, uint32_t each, bool by_largest, double *measure) {
    const uint64_t blocks = (uint64_t)c.part[c.parts].bucket * each;
    for (uint64_t b = (uint64_t)blockIdx.x * GROUPS; b < blocks; b += (uint64_t)gridDim.x * GROUPS) {
        const uint64_t mine = b + threadIdx.x / SG_KERNEL_LANES;
        const bool some = mine < blocks;
        bucket_place of = {};
        double sum = 0;
        if (some) {
            of = place_of(c, (uint32_t)(mine / each));
            const uint64_t at = mine % each * BLOCK, left = of.count > at ? of.count - at : 0;
            const uint64_t n = left < BLOCK ? left : BLOCK;
#pragma unroll 8
            for (uint64_t i = threadIdx.x % SG_KERNEL_LANES; i < n; i += SG_KERNEL_LANES) {
                const double y = x[of.begin + at + i];
                sum = by_largest ? fmax(sum, fabs(y)) : __dadd_rn(sum, __dmul_rn(y, y));
            }
        }
        for (uint32_t half = SG_KERNEL_LANES / 2; half > 0; half /= 2) {
            const double other = __shfl_down_sync(ALL_LANES, sum, half, SG_KERNEL_LANES);
            sum = by_largest ? fmax(sum, other) : __dadd_rn(sum, other);
        }
        if (some && threadIdx.x % SG_KERNEL_LANES == 0) {
            if (each == 1)
                write_unit(c, of, sum, by_largest);
            else
                measure[mine] = sum;
        }
    }
}

/* A warp for each bucket. */
__global__ void units_kernel(bucket_call c, uint32_t each, bool by_largest, const double *measure) {
    for (uint32_t b = grid_warp(); b < c.part[c.parts].bucket; b += grid_warps()) {
        double sum = 0;
        for (uint32_t i = 0; i < each; i += WARP) {
            const double mine = i + lane() < each ? measure[(uint64_t)b * each + i + lane()] : 0;
            for (uint32_t j = 0; j < WARP; j++) { /* + 0 behind the end changes nothing: squares are not -0 */
                const double other = __shfl_sync(ALL_LANES, mine, j);
                sum = by_largest ? fmax(sum, other) : __dadd_rn(sum, other);
            }
        }
        if (lane() == 0)
            write_unit(c, place_of(c, b), sum, by_largest);
    }
}

/* ---- fields ---- */

struct random_block {
    uint32_t word[4];
};

struct random_stream {
    uint32_t key[2], counter[4];
};

/* Block number `block` of the stream. */
__device__ static random_block draw_block(const random_stream &r, uint32_t block) {
    random_block b = {{block, r.counter[1], r.counter[2], r.counter[3]}};
    sg_philox(&b.word[0], &b.word[1], &b.word[2], &b.word[3], r.key[0], r.key[1]);
    return b;
}

/* As write_levels of codes_isa.c. */
__device__ static uint32_t level_field(float x, float unit, const bucket_part &p, uint32_t draw) {
    if (!(unit > 0))
        return 0;
    const float most = (float)p.setting, ratio = __fdiv_rn(fabsf(x), unit), a = ratio < most ? ratio : most;
    const uint32_t whole = (uint32_t)a;
    const float part = __fmul_rn(__fadd_rn(a, -(float)whole), 0x1p24f), u = (float)(draw >> 8);
    const uint32_t level = whole + (u < part);
    return level == 0 ? 0 : level | (uint32_t)(x < 0) << (p.bits - 1);
}

/* The exponents that fields of so many bits begin and end with (code_natural.c). */
__device__ static uint32_t lowest_power(uint32_t bits) {
    return bits == 8 ? 18 : 0;
}

/* As write_powers of codes_isa.c. */
__device__ static uint32_t power_field(float x, const bucket_part &p, uint32_t draw) {
    const uint32_t lowest = lowest_power(p.bits), highest = p.bits == 8 ? 18 + 127 : 254;
    const uint32_t size = magnitude(x), grown = (size >> 23) + ((size & 0x7fffff) > draw >> 9);
    const uint32_t power = grown > highest ? highest : grown, kept = power > lowest ? power - lowest : 0;
    return kept | (kept > 0 ? __float_as_uint(x) >> 31 : 0) << (p.bits - 1);
}

/* As write_multiples of codes_isa.c, where it does not clamp. If the step is 0, all but zeros are beyond its
 * multiples. */
__device__ static uint32_t step_field(float x, float step, const bucket_part &p, uint32_t draw, bool nearest) {
    const uint32_t beyond = 1U << (p.bits - 1);
    if (!(step > 0))
        return x != 0 ? beyond : 0;
    const double a = __ddiv_rn(fabsf(x), step), most = most_steps(step, p.bits);
    if (a > most)
        return beyond;
    const int32_t whole = (int32_t)a;
    const int32_t q = nearest ? (int32_t)__dadd_rn(__dadd_rn(a, 0x1p52), -0x1p52)
                              : whole + (__dmul_rn(0x1p-24, draw >> 8) < __dadd_rn(a, -(double)whole));
    return (uint32_t)(x < 0 ? -q : q) & (2 * beyond - 1);
}

/* 2 to the power of e, -126 .. 127. */
__device__ static float power_of_two(int32_t e) {
    return __uint_as_float((uint32_t)(e + 127) << 23);
}

/* As write_parts of codes_isa.c: a, below 1, is (1 + f) 2^-k, and lies between two levels or below the least. */
__device__ static uint32_t part_field(float x, float norm, const bucket_part &p, uint32_t draw) {
    const int32_t levels = (int32_t)p.setting;
    if (!(norm > 0))
        return 0;
    const double a = __ddiv_rn(fabsf(x), norm), u = __dmul_rn(0x1p-24, draw >> 8);
    const double of_least = __dmul_rn(a, power_of_two(levels - 1));
    int32_t level = levels;
    if (of_least < 1 && a < 1)
        level = u < of_least;
    else if (a < 1) {
        const int32_t below = ilogb(a) + levels;
        level = below + (u < __dadd_rn(ldexp(a, levels - below), -1));
    }
    return (uint32_t)level | (uint32_t)(x < 0 && level > 0) << (p.bits - 1);
}

__device__ static uint32_t field_for(const bucket_call &c, const bucket_part &p, float x, float unit, uint32_t draw) {
    return c.code == SG_BUCKETS_LEVELS   ? level_field(x, unit, p, draw)
           : c.code == SG_BUCKETS_POWERS ? power_field(x, p, draw)
           : c.code == SG_BUCKETS_PARTS  ? part_field(x, unit, p, draw)
                                         : step_field(x, unit, p, draw, c.nearest);
}

__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    write_fields_kernel(bucket_call c, const float *x, random_stream stream) {
    const uint32_t groups = c.part[c.parts].group, size = bucket_size(c);
    const bucket_part *part = c.part;
    for (uint64_t g = first_place(); g < groups; g += stride()) {
        const bucket_part p = part[last_at_most(c.parts, g, [=](uint32_t i) { return part[i].group; })];
        const uint32_t begin = (uint32_t)(g - p.group) * 8, left = p.count - begin, count = left < 8 ? left : 8;
        uint8_t *out = c.data + p.at + (uint64_t)begin / 8 * p.bits;
        uint32_t word = 0, fill = 0, bucket = NONE;
        float unit = 0;
        random_block draw = {};
        for (uint32_t j = 0; j < count; j++) {
            const uint32_t at = p.first + begin + j;
            if (!c.nearest && (j == 0 || at % 4 == 0))
                draw = draw_block(stream, at / 4);
            const uint32_t u = at % 4 == 0   ? draw.word[0]
                               : at % 4 == 1 ? draw.word[1]
                               : at % 4 == 2 ? draw.word[2]
                                             : draw.word[3];
            if (c.code != SG_BUCKETS_POWERS && (begin + j) / size != bucket) {
                bucket = (begin + j) / size;
                unit = load_scalar(c.data + p.scalar_at + 4 * (uint64_t)bucket);
            }
            word |= field_for(c, p, x[at], unit, u) << fill;
            for (fill += p.bits; fill >= 8; fill -= 8) {
                *out++ = (uint8_t)word;
                word >>= 8;
            }
        }
        if (fill > 0)
            *out = (uint8_t)word;
    }
}

/* The number at place j of the message, if it is sent as it is. */
__device__ static float number_beyond(const bucket_call &c, uint32_t j) {
    const uint8_t *list = c.data + c.part[c.parts].scalar_at;
    const uint32_t i = last_at_most(c.beyond, j, [=](uint32_t k) { return load_word(list + ENTRY * (uint64_t)k); });
    return load_scalar(list + ENTRY * (uint64_t)i + 4);
}

__device__ static float number_of(const bucket_call &c, const bucket_part &p, uint32_t j, uint32_t size) {
    const uint32_t field = field_of(c, p, j);
    if (c.code == SG_BUCKETS_STEPS) {
        const int32_t q = (int32_t)(field << (32 - p.bits)) >> (32 - p.bits);
        return field == 1U << (p.bits - 1) ? number_beyond(c, p.first + j)
                                           : __fmul_rn(load_scalar(c.data + p.scalar_at), (float)q);
    }
    const uint32_t sign = field >> (p.bits - 1), rest = field & ((1U << (p.bits - 1)) - 1);
    if (c.code == SG_BUCKETS_POWERS)
        return __uint_as_float((rest > 0 ? rest + lowest_power(p.bits) : 0) << 23 | sign << 31);
    const float times = c.code == SG_BUCKETS_LEVELS ? (float)rest
                        : rest > 0                  ? power_of_two((int32_t)(rest - p.setting))
                                                    : 0;
    const float size_of = __fmul_rn(load_scalar(c.data + p.scalar_at + 4 * (uint64_t)(j / size)), times);
    return sign ? -size_of : size_of;
}

__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    read_fields_kernel(sg_sink to, bucket_call c, uint64_t bytes, uint32_t n) {
    const uint32_t size = bucket_size(c);
    c.beyond = (uint32_t)((bytes - TAIL - c.part[c.parts].scalar_at) / ENTRY); /* behind the fields */
    const bucket_part *part = c.part;
    for (uint64_t at = (uint64_t)grid_warp() * CHUNK; at < n; at += (uint64_t)grid_warps() * CHUNK) {
        uint32_t p = last_at_most(c.parts, at, [=](uint32_t i) { return part[i].first; });
        for (uint64_t j = at + lane(); j < at + CHUNK && j < n; j += WARP) {
            while (part[p + 1].first <= j)
                p++;
            put_number(to, j, number_of(c, part[p], (uint32_t)j - part[p].first, size));
        }
    }
}

/* ---- host side ---- */

/* The most numbers that one part has: of a bucket no more are measured. */
static uint32_t largest_part(const struct sg_device_buckets *b) {
    const uint32_t *head = (const uint32_t *)b->head;
    uint32_t most = 1;
    for (size_t i = 0; i < b->parts; i++)
        most = head[2 + 2 * i] > most ? head[2 + 2 * i] : most;
    return most;
}

static void measure_buckets(const struct sg_exec *exec, const struct bucket_call &c, const struct sg_device_buckets *b,
                            size_t buckets, uint32_t each, double *measure) {
    const size_t groups = buckets * each / GROUPS + 1, most = 1 << 16;
    (void)enqueue(exec, (uint32_t)(groups < most ? groups : most), measure_kernel, c, b->x, each, b->by_largest,
                  measure);
    if (each > 1)
        (void)enqueue(exec, blocks_for_warps(buckets), units_kernel, c, each, b->by_largest, measure);
}

int cuda_write_buckets(const struct sg_exec *exec, void *data, const struct sg_device_buckets *b) {
    const uint32_t given = ((const uint32_t *)b->head)[1], largest = largest_part(b);
    const uint32_t bucket = given < largest ? given : largest, each = bucket / BLOCK + (bucket % BLOCK > 0);
    const bool steps = b->code == SG_BUCKETS_STEPS,
               measured = b->code == SG_BUCKETS_LEVELS || b->code == SG_BUCKETS_PARTS;
    const size_t buckets = b->count / bucket + b->parts, measures = measured && each > 1 ? buckets * each : 0;
    const size_t chunks = steps ? chunks_of(b->count) + 1 : 0;
    struct bucket_call c = {};
    struct random_stream stream;
    memcpy(stream.key, b->key, sizeof stream.key);
    memcpy(stream.counter, b->counter, sizeof stream.counter);
    double *measure =
        (double *)table_room(exec, measures * sizeof(double) + (b->parts + 1) * sizeof(bucket_part) +
                                       (steps ? b->parts : 0) * sizeof(float) + chunks * sizeof(uint32_t));
    if (!measure)
        return device_status(device_of(exec)->error);
    c.data = (uint8_t *)data;
    c.part = (bucket_part *)(measure + measures);
    c.parts = (uint32_t)b->parts;
    c.code = b->code;
    c.nearest = b->nearest;
    c.step = steps ? (float *)(c.part + b->parts + 1) : NULL;
    uint32_t *begin = (uint32_t *)(c.step + (steps ? b->parts : 0));
    table_put(exec, data, b->head, b->head_bytes);
    table_zero(exec, (char *)data + b->bytes - TAIL, TAIL);
    if (steps)
        table_put(exec, c.step, b->step, b->parts * sizeof *b->step);
    (void)enqueue(exec, 1, bucket_parts_kernel, c);
    if (measured)
        measure_buckets(exec, c, b, buckets, each, measure);
    const int status =
        enqueue(exec, blocks_for_warps(b->count / (8 * WARP) + b->parts), write_fields_kernel, c, b->x, stream);
    if (!steps)
        return status;
    cuda_list_beyond(exec, c, b->x, (uint32_t)b->count, begin);
    return table_get(exec, b->beyond, begin + chunks - 1, sizeof *b->beyond);
}

void cuda_read_buckets(const struct sg_exec *exec, const struct sg_sink *to, const void *data, size_t bytes,
                       size_t count, size_t parts, enum sg_bucket_code code) {
    struct bucket_call c = {};
    c.data = (uint8_t *)(uintptr_t)data;
    c.part = count > 0 ? (bucket_part *)table_room(exec, (parts + 1) * sizeof(bucket_part)) : (bucket_part *)NULL;
    c.parts = (uint32_t)parts;
    c.code = code;
    if (!c.part)
        return;
    (void)enqueue(exec, 1, bucket_parts_kernel, c);
    (void)enqueue(exec, blocks_for_warps(count / CHUNK), read_fields_kernel, *to, c, bytes, (uint32_t)count);
}

/* code_levels.c: numbers as multiples of a unit that a bucket of neighbours shares (QSGD, Alistarh et al., NeurIPS 2017).
 *
 * A bucket with the norm N is written as the unit N / s, rounded up to a float, and a level l of every number x: |x| is
 * l units, l = 0 .. s. With a = |x| / unit, l is floor(a), and one more with the probability a - floor(a), so that the
 * number that is read back is x in expectation. The norm is the Euclidean one (the definition) or the largest magnitude
 * (the authors' experiments).
 *
 * ATOMO's code rounds the other way: l is floor(a), and one more with the probability 1 - (a - floor(a)). A number that is
 * not 0 but far below the unit becomes a unit that way, and one of s units always s + 1, which its packing reads back as 0.
 *
 * The layout is that of wire_buckets.h: the setting of a part is its s, the scalar of a bucket the unit (finite and >= 0,
 * as s units are). A field has w = ceil(log2(s + 1)) bits of level, and above them 1 if the number is below 0. A level 0
 * has no sign. */
#include <math.h>

#include "sg_debug.h"
#include "sg_device_codes.h"
#include "sg_half.h"
#include "sg_levels.h"
#include "sg_philox.h"
#include "sg_rng.h"
#include "wire_buckets.h"

enum { LEVELS, BUCKET, MAX_NORM, QUIRK, PARAMS };
enum { MOST_LEVELS = 32767, CHUNK = 1 << 15 };

static unsigned bits_of(uint32_t levels) {
    return 33 - (unsigned)__builtin_clz(levels); /* floor(log2 s) + 1 = ceil(log2(s + 1)), and the sign */
}

static const struct wire_layout layout = {
    .scalars = 1, .least_setting = 1, .most_setting = MOST_LEVELS, .bits = bits_of};

/* As the kernels see the part; `n` is NULL for reading. */
static struct sg_levels for_kernels(const uint8_t *data, const struct wire_part *p, const struct sg_numbers *n) {
    const sg_rng rng = n ? sg_rng_open(n->seed, SG_RNG_CODE, n->worker, n->step) : (sg_rng){0};
    struct sg_levels l = {.unit = data + p->scalar_at,
                          .packed = (uint8_t *)(uintptr_t)data + p->at,
                          .bucket = p->bucket,
                          .levels = p->setting,
                          .bits = p->bits,
                          .first_draw = p->first};
    memcpy(l.key, rng.key, sizeof l.key);
    memcpy(l.counter, rng.counter, sizeof l.counter);
    return l;
}

/* ---- writing ---- */

static uint32_t levels_of(const struct sg_numbers *n, size_t part) {
    const double s = n->knob ? n->knob[part] : n->param[LEVELS];
    return s < 1 ? 1 : s > MOST_LEVELS ? MOST_LEVELS : (uint32_t)s;
}

static size_t most_bytes(const struct sg_numbers *n) {
    return wire_parts_most(&layout, n, (size_t)n->param[BUCKET], n->knob ? 16 : bits_of(levels_of(n, 0)));
}

static float unit_of(const struct sg_numbers *n, size_t part, const float *value, size_t count, uint32_t levels) {
    const struct sg_exec exec = {.threads = 1};
    return wire_unit(n->scale != NULL         ? (double)n->scale[part]
                     : n->param[MAX_NORM] > 0 ? (double)n->kernels->max_abs(&exec, value, count)
                                              : sqrt(n->kernels->sum_squares(&exec, value, count)),
                     levels);
}

static void write_units(uint8_t *data, const struct sg_numbers *n, const struct wire_part *p, size_t begin,
                        size_t end) {
    for (size_t at = begin; at < end; at += p->bucket) {
        const size_t count = p->count - at < p->bucket ? p->count - at : p->bucket;
        const float unit = unit_of(n, p->number, n->value + p->first + at, count, p->setting);
        wire_store32(data + p->scalar_at + 4 * (at / p->bucket), sg_float_bits(unit));
    }
}

/* Numbers begin .. end-1 of a part, rounded as ATOMO does; begin is a multiple of 8. */
static void write_inverted(const struct sg_levels *l, const float *value, size_t begin, size_t end) {
    struct wire_packer packer = {.out = l->packed + begin / 8 * l->bits};
    uint32_t room[SG_PHILOX_ROOM];
    for (size_t at = begin, count; at < end; at += count) {
        count = end - at < SG_PHILOX_PIECE ? end - at : SG_PHILOX_PIECE;
        const uint32_t *draw = sg_philox_draws(room, l->key, l->counter, l->first_draw + at, count);
        for (size_t j = 0; j < count; j++) {
            const float x = value[at - begin + j],
                        unit = sg_float_of_bits(wire_load32(l->unit + 4 * ((at + j) / l->bucket)));
            const float a = unit > 0 ? fminf(fabsf(x) / unit, (float)l->levels) : 0, part = (a - floorf(a)) * 0x1p24F;
            const uint32_t up = (float)(draw[j] >> 8) > part, level = (uint32_t)a + up;
            const bool lost = x == 0 || unit == 0 || level > l->levels;
            wire_pack(&packer, lost || level == 0 ? 0 : level | (uint32_t)(x < 0) << (l->bits - 1), l->bits);
        }
    }
    wire_pack_flush(&packer);
}

/* Units and numbers of a stretch after each other while it is in the cache, if a stretch can hold whole buckets. */
static void write_part(uint8_t *data, const struct sg_numbers *n, const struct wire_part *p) {
    const bool fits = p->bucket <= CHUNK / 8;
    const struct sg_level_kernels *kernels = sg_level_kernels_cpu(n->kernels->name);
    const struct sg_levels levels = for_kernels(data, p, n);
    const size_t stretch = fits ? CHUNK / 8 / p->bucket * p->bucket * 8 : CHUNK, count = p->count;
    if (!fits) {
#pragma omp parallel for schedule(dynamic) num_threads(n->threads) if (count > CHUNK)
        for (size_t at = 0; at < count; at += p->bucket)
            write_units(data, n, p, at, count - at < p->bucket ? count : at + p->bucket);
    }
#pragma omp parallel for schedule(dynamic) num_threads(n->threads) if (count > CHUNK)
    for (size_t at = 0; at < count; at += stretch) {
        const size_t end = count - at < stretch ? count : at + stretch;
        if (fits)
            write_units(data, n, p, at, end);
        (n->param[QUIRK] > 0 ? write_inverted : kernels->write)(&levels, n->value + p->first + at, at, end);
    }
}

static size_t encode_levels(void *to, const struct sg_numbers *n, double *bits) {
    SG_ASSERT(n->count == 0 || (n->parts > 0 && n->param[BUCKET] >= 1 && sg_all_finite(n->value, n->count)));
    uint8_t *data = to;
    struct wire_part p = {.end = wire_parts_begin(n->parts)};
    wire_parts_start(data, n, (size_t)n->param[BUCKET], levels_of);
    *bits = 0;
    for (size_t i = 0; i < n->parts; i++) {
        p = wire_next_part(&layout, data, i, &p);
        write_part(data, n, &p);
        *bits += 32.0 * (double)wire_bucket_count(p.count, p.bucket) + (double)p.bits * (double)p.count;
    }
    SG_ASSERT(p.first + p.count == n->count);
    memset(data + p.end, 0, WIRE_BUCKETS_TAIL);
    return p.end + WIRE_BUCKETS_TAIL;
}

/* ---- reading ---- */

static void decode_levels(float *out, const struct sg_message *m, size_t first, size_t count) {
    const struct sg_level_kernels *kernels = sg_level_kernels_cpu(NULL);
    const uint8_t *data = m->data;
    SG_ASSERT(first + count <= m->count);
    const size_t parts = wire_parts_of(data), end = first + count;
    struct wire_part p = {0};
    for (size_t i = 0; i < parts && p.first < end; i++) {
        p = wire_next_part(&layout, data, i, &p);
        const size_t from = first > p.first ? first : p.first, to = end < p.first + p.count ? end : p.first + p.count;
        const struct sg_levels levels = for_kernels(data, &p, NULL);
        if (from < to)
            kernels->read(&levels, out + (from - first), from - p.first, to - p.first);
    }
}

/* ---- on a GPU ---- */

static int levels_there(void *data, const struct sg_numbers *n, size_t *bytes, double *bits) {
    const struct sg_device_buckets b = {
        .code = SG_BUCKETS_LEVELS, .by_largest = n->param[MAX_NORM] > 0, .inverted = n->param[QUIRK] > 0};
    SG_ASSERT(n->scale == NULL);
    return wire_buckets_encode_on_gpu(&layout, data, n, (size_t)n->param[BUCKET], levels_of, &b, bytes, bits);
}

static void read_there(const struct sg_sink *to, const struct sg_message *m, const struct sg_kernels *kernels,
                       const struct sg_exec *exec) {
    kernels->codes->read_buckets(exec, to, m->data, m->bytes, m->count, m->parts, SG_BUCKETS_LEVELS);
}

static bool valid_part(const void *format, const uint8_t *data, const struct wire_part *p) {
    enum { BLOCK = 256 };
    const uint32_t magnitude = (1U << (p->bits - 1)) - 1;
    uint32_t wrong = !wire_padding_is_zero(data, p), x[BLOCK];
    (void)format;
    for (size_t b = 0; b < p->count; b += p->bucket) {
        const uint32_t unit = wire_load32(data + p->scalar_at + 4 * (b / p->bucket));
        wrong |= unit >= 0x7f800000 || !isfinite(sg_float_of_bits(unit) * (float)p->setting);
    }
    for (size_t first = 0, count; first < p->count; first += count) {
        count = p->count - first < BLOCK ? p->count - first : BLOCK;
        wire_fields(x, data, p, first, count);
        for (size_t j = 0; j < count; j++) {
            const uint32_t level = x[j] & magnitude;
            wrong |= (uint32_t)(level > p->setting) | ((uint32_t)(level == 0) & (uint32_t)(x[j] > 0));
        }
    }
    return !wrong;
}

static bool valid_levels(const struct sg_message *m) {
    return wire_parts_valid(&layout, m, WIRE_BUCKETS_TAIL, valid_part, NULL) &&
           wire_load64((const uint8_t *)m->data + m->bytes - WIRE_BUCKETS_TAIL) == 0;
}

const struct sg_parameter sg_code_levels_params[PARAMS] = {
    [LEVELS] = {"levels", 1, MOST_LEVELS, 15, true, "s, the levels above 0: a number takes 1 + ceil(log2(s + 1)) bits"},
    [BUCKET] = {"bucket", 1, 4294967295.0, 512, true, "neighbours that share a norm of 32 bits"},
    [MAX_NORM] = {"max-norm", 0, 1, 0, true, "0: the Euclidean norm of a bucket; 1: its largest magnitude"},
    [QUIRK] = SG_QUIRK_PARAMETER("none|atomo", 1,
                                 "atomo: as ATOMO's code, which rounds up with the probability of "
                                 "rounding down"),
};

const struct sg_code sg_code_levels = {
    .name = "levels",
    .summary = "multiples of a unit that a bucket shares, rounded at random without bias (QSGD; after topk: Qsparse)",
    .number = 2,
    .random = true,
    .params = sg_code_levels_params,
    .n_params = PARAMS,
    .most_bytes = most_bytes,
    .encode = encode_levels,
    .decode = decode_levels,
    .valid = valid_levels,
    .layout = &layout,
    .encode_on_gpu = levels_there,
    .read_on_gpu = read_there,
};

/* code_levels.c: numbers as multiples of a unit that a bucket of neighbours shares (QSGD, Alistarh et al., NeurIPS 2017).
 *
 * A bucket with the norm N is written as the unit N / s, rounded up to a float, and a level l of every number x: |x| is
 * l units, l = 0 .. s. With a = |x| / unit, l is floor(a), and one more with the probability a - floor(a), so that the
 * number that is read back is x in expectation. The norm is the Euclidean one (the definition) or the largest magnitude
 * (the authors' experiments).
 *
 *     bytes 0 .. 3      parts
 *     bytes 4 .. 7      numbers of a bucket
 *     8 bytes a part    how many numbers it has, and its s
 *     each part         4 bytes a bucket: the unit, a float, finite and >= 0, as s units are
 *                       1 + w bits a number, w = ceil(log2(s + 1)): the level, and above it 1 if the number is below 0;
 *                       padded with zeros to a whole byte
 *     8 bytes           zeros, so that a number can be read with the bytes behind it
 *
 * All integers are little-endian. Bit b of a part's numbers is bit b % 8 of byte b / 8. A level 0 has no sign. */
#include <float.h>
#include <math.h>

#include "sg_debug.h"
#include "sg_half.h"
#include "sg_levels.h"
#include "sg_rng.h"
#include "wire_private.h"

enum { LEVELS, BUCKET, MAX_NORM, PARAMS };
enum { HEAD = 8, PART_HEAD = 8, TAIL = 8, MOST_LEVELS = 32767, CHUNK = 1 << 15 };

static unsigned bits_of(uint32_t levels) {
    return 33 - (unsigned)__builtin_clz(levels); /* floor(log2 s) + 1 = ceil(log2(s + 1)), and the sign */
}

static size_t buckets_of(size_t count, size_t bucket) {
    return count / bucket + (count % bucket > 0);
}

/* One part, where it lies in `data`. */
struct part {
    size_t first, count; /* of the numbers */
    size_t bucket;
    uint32_t levels;
    unsigned bits;  /* a number */
    size_t unit_at; /* byte of the first unit */
    size_t at;      /* byte of the numbers */
    size_t end;
};

/* As the kernels see the part; `n` is NULL for reading. */
static struct sg_levels for_kernels(const uint8_t *data, const struct part *p, const struct sg_numbers *n) {
    const sg_rng rng = n ? sg_rng_open(n->seed, SG_RNG_CODE, n->worker, n->step) : (sg_rng){0};
    struct sg_levels l = {.unit = data + p->unit_at,
                          .packed = (uint8_t *)(uintptr_t)data + p->at,
                          .bucket = p->bucket,
                          .levels = p->levels,
                          .bits = p->bits,
                          .first_draw = p->first};
    memcpy(l.key, rng.key, sizeof l.key);
    memcpy(l.counter, rng.counter, sizeof l.counter);
    return l;
}

/* Part i of the message, which begins where the one before it ended; `before` is zero for the first. */
static struct part next_part(const uint8_t *data, size_t parts, size_t i, const struct part *before) {
    const uint8_t *head = data + HEAD + PART_HEAD * i;
    struct part p = {.first = before->first + before->count,
                     .count = wire_load32(head),
                     .bucket = wire_load32(data + 4),
                     .levels = wire_load32(head + 4),
                     .unit_at = i ? before->end : HEAD + PART_HEAD * parts};
    p.bits = bits_of(p.levels);
    p.at = p.unit_at + 4 * buckets_of(p.count, p.bucket);
    p.end = p.at + (size_t)wire_bytes_of_bits((uint64_t)p.count * p.bits);
    return p;
}

/* ---- writing ---- */

static uint32_t levels_of(const struct sg_numbers *n, size_t part) {
    const double s = n->knob ? n->knob[part] : n->param[LEVELS];
    return s < 1 ? 1 : s > MOST_LEVELS ? MOST_LEVELS : (uint32_t)s;
}

static size_t most_bytes(const struct sg_numbers *n) {
    const size_t bucket = (size_t)n->param[BUCKET], most_bits = n->knob ? 16 : bits_of(levels_of(n, 0));
    return HEAD + PART_HEAD * n->parts + 4 * (n->count / bucket + n->parts) + (n->count * most_bits) / 8 + n->parts +
           TAIL;
}

/* The unit of a bucket: N / s rounded up, so that no number needs more than s units, but at most what keeps s of them
 * finite. */
static float unit_of(const struct sg_numbers *n, const float *value, size_t count, uint32_t levels) {
    const struct sg_exec exec = {.threads = 1};
    const double norm = n->param[MAX_NORM] > 0 ? (double)n->kernels->max_abs(&exec, value, count)
                                               : sqrt(n->kernels->sum_squares(&exec, value, count));
    float most = FLT_MAX / (float)levels;
    while (!isfinite(most * (float)levels))
        most = nextafterf(most, 0);
    float unit = (float)fmin(norm / levels, (double)most);
    if ((double)unit * levels < norm)
        unit = nextafterf(unit, INFINITY);
    return fminf(unit, most);
}

static void write_units(uint8_t *data, const struct sg_numbers *n, const struct part *p, size_t begin, size_t end) {
    for (size_t at = begin; at < end; at += p->bucket) {
        const size_t count = p->count - at < p->bucket ? p->count - at : p->bucket;
        const float unit = unit_of(n, n->value + p->first + at, count, p->levels);
        wire_store32(data + p->unit_at + 4 * (at / p->bucket), sg_float_bits(unit));
    }
}

/* Units and numbers of a stretch after each other while it is in the cache, if a stretch can hold whole buckets. */
static void write_part(uint8_t *data, const struct sg_numbers *n, const struct part *p) {
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
        kernels->write(&levels, n->value + p->first + at, at, end);
    }
}

static size_t encode_levels(void *to, const struct sg_numbers *n, double *bits) {
    SG_ASSERT(n->count == 0 || (n->parts > 0 && n->param[BUCKET] >= 1 && sg_all_finite(n->value, n->count)));
    uint8_t *data = to;
    struct part p = {.end = HEAD + PART_HEAD * n->parts};
    wire_store32(data, (uint32_t)n->parts);
    wire_store32(data + 4, (uint32_t)n->param[BUCKET]);
    *bits = 0;
    for (size_t i = 0; i < n->parts; i++) {
        wire_store32(data + HEAD + PART_HEAD * i, (uint32_t)n->part[i]);
        wire_store32(data + HEAD + PART_HEAD * i + 4, levels_of(n, i));
        p = next_part(data, n->parts, i, &p);
        write_part(data, n, &p);
        *bits += 32.0 * (double)buckets_of(p.count, p.bucket) + (double)p.bits * (double)p.count;
    }
    SG_ASSERT(p.first + p.count == n->count);
    memset(data + p.end, 0, TAIL);
    return p.end + TAIL;
}

/* ---- reading ---- */

static uint32_t written_at(const uint8_t *data, const struct part *p, size_t number) {
    const uint64_t bit = (uint64_t)number * p->bits;
    return wire_load32(data + p->at + bit / 8) >> bit % 8 & ((1U << p->bits) - 1);
}

static void decode_levels(float *out, const struct sg_message *m, size_t first, size_t count) {
    const struct sg_level_kernels *kernels = sg_level_kernels_cpu(NULL);
    const uint8_t *data = m->data;
    SG_ASSERT(first + count <= m->count);
    const size_t parts = wire_load32(data), end = first + count;
    struct part p = {0};
    for (size_t i = 0; i < parts && p.first < end; i++) {
        p = next_part(data, parts, i, &p);
        const size_t from = first > p.first ? first : p.first, to = end < p.first + p.count ? end : p.first + p.count;
        const struct sg_levels levels = for_kernels(data, &p, NULL);
        if (from < to)
            kernels->read(&levels, out + (from - first), from - p.first, to - p.first);
    }
}

static bool valid_part(const uint8_t *data, const struct part *p) {
    const unsigned sign_at = p->bits - 1, used = (unsigned)((uint64_t)p->count * p->bits % 8);
    uint32_t wrong = used > 0 && data[p->end - 1] >> used;
    for (size_t b = 0; b < p->count; b += p->bucket) {
        const uint32_t unit = wire_load32(data + p->unit_at + 4 * (b / p->bucket));
        wrong |= unit >= 0x7f800000 || !isfinite(sg_float_of_bits(unit) * (float)p->levels);
    }
    for (size_t j = 0; j < p->count; j++) {
        const uint32_t x = written_at(data, p, j), level = x & ((1U << sign_at) - 1);
        wrong |= level > p->levels || (level == 0 && x > 0);
    }
    return !wrong;
}

static bool valid_levels(const struct sg_message *m) {
    const uint8_t *data = m->data;
    if (m->bytes < HEAD + TAIL)
        return false;
    const size_t parts = wire_load32(data), end = m->bytes - TAIL;
    struct part p = {0};
    if (parts > (end - HEAD) / PART_HEAD || wire_load32(data + 4) == 0 || wire_load64(data + end) != 0)
        return false;
    p.end = HEAD + PART_HEAD * parts;
    for (size_t i = 0; i < parts; i++) {
        const uint32_t levels = wire_load32(data + HEAD + PART_HEAD * i + 4);
        if (levels == 0 || levels > MOST_LEVELS)
            return false;
        p = next_part(data, parts, i, &p); /* 32-bit counts: no sum of 2^28 parts leaves 64 bits */
        if (p.first + p.count > m->count || p.end > end || !valid_part(data, &p))
            return false;
    }
    return p.first + p.count == m->count && p.end == end;
}

const struct sg_parameter sg_code_levels_params[PARAMS] = {
    [LEVELS] = {"levels", 1, MOST_LEVELS, 15, true, "s, the levels above 0: a number takes 1 + ceil(log2(s + 1)) bits"},
    [BUCKET] = {"bucket", 1, 4294967295.0, 512, true, "neighbours that share a norm of 32 bits"},
    [MAX_NORM] = {"max-norm", 0, 1, 0, true, "0: the Euclidean norm of a bucket; 1: its largest magnitude"},
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
};

/* wire_buckets.c: the layout that codes with buckets share, and writing and reading it (sg_wire_buckets.h). */
/* SPDX-License-Identifier: MIT */
#include "sg_wire_buckets.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "sg_half.h"
#include "sg_philox.h"
#include "sg_rng.h"

enum { HEAD = 8, PART_HEAD = 8, CHUNK = 1 << 15 };
/* Bytes of the longest vectors: in a piece that is aligned to them, none spans two cache lines. */
enum { VECTOR = 64 };
_Static_assert((int)WIRE_PIECE <= (int)SG_PHILOX_PIECE && CHUNK % 8 == 0,
               "the draws of a piece, and whole bytes of fields");

/* ---- the layout ---- */

size_t wire_parts_begin(size_t parts) {
    return HEAD + PART_HEAD * parts;
}

size_t wire_parts_of(const uint8_t *data) {
    return wire_load32(data);
}

size_t wire_parts_most(const struct wire_layout *l, const struct sg_numbers *n, size_t bucket, unsigned most_bits) {
    return wire_parts_begin(n->parts) + wire_scalar_bytes(l) * (n->count / bucket + n->parts) +
           n->count * most_bits / 8 + n->parts + WIRE_BUCKETS_TAIL;
}

static unsigned bits_of(const struct wire_layout *l, uint32_t setting) {
    return l->bits ? l->bits(setting) : setting;
}

struct wire_part wire_next_part(const struct wire_layout *l, const uint8_t *data, size_t i,
                                const struct wire_part *before) {
    const uint8_t *head = data + wire_parts_begin(i);
    struct wire_part p = {.number = i,
                          .first = before->first + before->count,
                          .count = wire_load32(head),
                          .bucket = wire_load32(data + 4),
                          .setting = wire_load32(head + 4),
                          .scalar_at = i ? before->end : wire_parts_begin(wire_parts_of(data))};
    p.bits = bits_of(l, p.setting);
    p.at = p.scalar_at + wire_scalar_bytes(l) * wire_bucket_count(p.count, p.bucket);
    p.fields = l->fields ? l->fields(p.count, p.bucket) : p.count;
    p.end = p.at + (size_t)wire_bytes_of_bits((uint64_t)p.fields * p.bits);
    return p;
}

bool wire_parts_valid(const struct wire_layout *l, const struct sg_message *m, size_t tail,
                      bool (*valid_part)(const void *format, const uint8_t *data, const struct wire_part *p),
                      const void *format) {
    const uint8_t *data = m->data;
    if (m->bytes < HEAD + tail)
        return false;
    const size_t parts = wire_parts_of(data), end = m->bytes - tail;
    struct wire_part p = {.end = HEAD};
    if (parts > (end - HEAD) / PART_HEAD || wire_load32(data + 4) == 0)
        return false;
    for (size_t i = 0; i < parts; i++) {
        const uint32_t setting = wire_load32(data + wire_parts_begin(i) + 4);
        if (setting < l->least_setting || setting > l->most_setting)
            return false;
        p = wire_next_part(l, data, i, &p); /* 32-bit counts: no sum of 2^28 parts leaves 64 bits */
        if (p.first + p.count > m->count || p.end > end || !valid_part(format, data, &p))
            return false;
    }
    return p.first + p.count == m->count && p.end == end;
}

float wire_unit(double norm, uint32_t levels) {
    float most = FLT_MAX / (float)levels;
    while (!isfinite(most * (float)levels))
        most = nextafterf(most, 0);
    float unit = (float)fmin(norm / levels, (double)most);
    if ((double)unit * levels < norm)
        unit = nextafterf(unit, INFINITY);
    return fminf(unit, most);
}

/* ---- writing ---- */

static size_t bucket_of(const struct wire_buckets *f, const struct sg_numbers *n) {
    return f->bucket ? f->bucket(n) : WIRE_WHOLE_PART;
}

/* `first` is the number of the message with which the part begins. */
static uint32_t setting_of(const struct wire_buckets *f, const struct sg_numbers *n, size_t part, size_t first) {
    const uint32_t least = f->layout.least_setting, most = f->layout.most_setting;
    if (f->setting || least == most)
        return f->setting ? f->setting(n, part, first) : least;
    const double x = n->knob ? n->knob[part] : n->param[0];
    return x < least ? least : x > most ? most : (uint32_t)x;
}

/* Writes the bytes before the first part. */
static void write_head(const struct wire_buckets *f, uint8_t *data, const struct sg_numbers *n) {
    wire_store32(data, (uint32_t)n->parts);
    wire_store32(data + 4, (uint32_t)bucket_of(f, n));
    for (size_t i = 0, first = 0; i < n->parts; first += n->part[i++]) {
        wire_store32(data + wire_parts_begin(i), (uint32_t)n->part[i]);
        wire_store32(data + wire_parts_begin(i) + 4, setting_of(f, n, i, first));
    }
}

size_t wire_buckets_most(const struct wire_buckets *f, const struct sg_numbers *n) {
    const struct wire_layout *l = &f->layout;
    const bool fixed = f->setting && l->bits; /* a setting that may need the numbers */
    const unsigned bits = bits_of(l, fixed || n->knob ? l->most_setting : setting_of(f, n, 0, 0));
    return wire_parts_most(l, n, bucket_of(f, n), bits);
}

static void load_scalars(float scalar[WIRE_MOST_SCALARS], const struct wire_buckets *f, const uint8_t *data,
                         const struct wire_part *p, size_t number) {
    const uint8_t *at = data + p->scalar_at + wire_scalar_bytes(&f->layout) * (number / p->bucket);
    for (unsigned i = 0; i < f->layout.scalars; i++)
        scalar[i] = f->layout.byte_scalars ? (float)at[i] : sg_float_of_bits(wire_load32(at + 4 * i));
}

/* The scalars of the buckets that begin in begin .. end-1. */
static void write_scalars(const struct wire_buckets *f, uint8_t *data, const struct sg_numbers *n,
                          const struct wire_part *p, size_t begin, size_t end) {
    for (size_t at = begin; at < end; at += p->bucket) {
        const size_t count = p->count - at < p->bucket ? p->count - at : p->bucket;
        uint8_t *to = data + p->scalar_at + wire_scalar_bytes(&f->layout) * (at / p->bucket);
        float scalar[WIRE_MOST_SCALARS];
        f->measure(scalar, n->value + p->first + at, count, p, n);
        for (unsigned i = 0; i < f->layout.scalars; i++)
            if (f->layout.byte_scalars)
                to[i] = (uint8_t)scalar[i];
            else
                wire_store32(to + 4 * i, sg_float_bits(scalar[i]));
    }
}

/* The fields begin .. end-1, where begin is a multiple of 8. */
static void write_fields(const struct wire_buckets *f, uint8_t *data, const struct sg_numbers *n,
                         const struct wire_part *p, size_t begin, size_t end) {
    const struct sg_code_kernels *kernels = n->kernels->loops;
    const sg_rng rng = sg_rng_open(n->seed, SG_RNG_CODE, n->worker, n->step);
    const bool draws = f->draws && f->draws(n);
    uint32_t field[WIRE_PIECE], room[SG_PHILOX_ROOM];
    float scalar[WIRE_MOST_SCALARS];
    for (size_t at = begin, count; at < end; at += count) {
        const float *x = n->value + p->first + at;
        count = end - at < WIRE_PIECE ? end - at : WIRE_PIECE;
        const uint32_t *draw = draws ? kernels->draws(room, rng.key, rng.counter, p->first + at, count) : NULL;
        for (size_t j = 0, some; j < count; j += some) {
            const size_t left = p->bucket - (at + j) % p->bucket;
            some = count - j < left ? count - j : left;
            load_scalars(scalar, f, data, p, at + j);
            f->write(kernels, field + j, x + j, some, scalar, p->setting, draws ? draw + j : NULL);
        }
        kernels->pack(data + p->at + at / 8 * p->bits, field, count, p->bits);
    }
}

/* Scalars and fields of a stretch after each other while it is in the cache, if a stretch can hold whole buckets. */
static void write_part(const struct wire_buckets *f, uint8_t *data, const struct sg_numbers *n,
                       const struct wire_part *p) {
    const bool measured = f->measure != NULL, whole = f->write_stretch != NULL, fits = p->bucket <= CHUNK / 8;
    const size_t stretch = fits ? CHUNK / 8 / p->bucket * p->bucket * 8 : whole ? 8 * p->bucket : CHUNK;
    const size_t count = p->count;
    if (measured && !fits) {
#pragma omp parallel for schedule(dynamic) num_threads(n->threads) if (count > CHUNK)
        for (size_t at = 0; at < count; at += p->bucket)
            write_scalars(f, data, n, p, at, count - at < p->bucket ? count : at + p->bucket);
    }
#pragma omp parallel for schedule(dynamic) num_threads(n->threads) if (count > CHUNK)
    for (size_t at = 0; at < count; at += stretch) {
        const size_t end = count - at < stretch ? count : at + stretch;
        if (measured && fits)
            write_scalars(f, data, n, p, at, end);
        if (f->write_stretch)
            f->write_stretch(data, n, p, at, end);
        else
            write_fields(f, data, n, p, at, end);
    }
}

/* What a part costs: its scalars and its fields. */
static double part_bits(const struct wire_layout *l, const struct wire_part *p) {
    return 8.0 * (double)(wire_scalar_bytes(l) * wire_bucket_count(p->count, p->bucket)) +
           (double)p->bits * (double)p->fields;
}

size_t wire_buckets_encode(const struct wire_buckets *f, void *to, const struct sg_numbers *n, double *bits) {
    SG_ASSERT(n->count == 0 || (n->parts > 0 && sg_all_finite(n->value, n->count)));
    uint8_t *data = to;
    struct wire_part p = {.end = wire_parts_begin(n->parts)};
    write_head(f, data, n);
    *bits = 0;
    for (size_t i = 0; i < n->parts; i++) {
        p = wire_next_part(&f->layout, data, i, &p);
        write_part(f, data, n, &p);
        *bits += part_bits(&f->layout, &p);
    }
    SG_ASSERT(p.first + p.count == n->count);
    memset(data + p.end, 0, WIRE_BUCKETS_TAIL);
    return p.end + WIRE_BUCKETS_TAIL;
}

int wire_buckets_encode_on_gpu(const struct wire_buckets *f, void *data, const struct sg_numbers *n,
                               const struct sg_device_buckets *b, size_t *bytes, double *bits) {
    const sg_rng rng = sg_rng_open(n->seed, SG_RNG_CODE, n->worker, n->step);
    struct sg_device_buckets call = *b;
    struct wire_part p = {.end = wire_parts_begin(n->parts)};
    uint8_t *head = malloc(wire_parts_begin(n->parts));
    SG_ASSERT(!n->scale);
    if (!head)
        return SG_KERNEL_MEMORY;
    write_head(f, head, n);
    *bits = 0;
    for (size_t i = 0; i < n->parts; i++) {
        p = wire_next_part(&f->layout, head, i, &p);
        *bits += part_bits(&f->layout, &p);
    }
    call.code = f->layout.on_gpu;
    call.x = n->value;
    call.count = n->count;
    call.head = head;
    call.head_bytes = wire_parts_begin(n->parts);
    call.parts = n->parts;
    call.bytes = *bytes = p.end + WIRE_BUCKETS_TAIL;
    memcpy(call.key, rng.key, sizeof call.key);
    memcpy(call.counter, rng.counter, sizeof call.counter);
    const int status = n->kernels->codes->write_buckets(n->exec, data, &call);
    free(head);
    return status;
}

/* ---- reading ---- */

/* out [count] <- numbers first .. first + count - 1 of the part, whose fields are field [count], count <= WIRE_PIECE */
static void read_fields(const struct wire_buckets *f, const struct sg_code_kernels *kernels, float *out,
                        const uint32_t *field, const uint8_t *data, const struct wire_part *p, size_t first,
                        size_t count) {
    float scalar[WIRE_MOST_SCALARS];
    for (size_t j = 0, some; j < count; j += some) {
        const size_t left = p->bucket - (first + j) % p->bucket;
        some = count - j < left ? count - j : left;
        load_scalars(scalar, f, data, p, first + j);
        f->read(kernels, out + j, field + j, some, scalar, p->setting);
    }
}

void wire_buckets_decode(const struct wire_buckets *f, float *out, const struct sg_message *m, size_t first,
                         size_t count) {
    SG_ASSERT(first + count <= m->count);
    const struct sg_code_kernels *kernels = sg_kernels_cpu(NULL)->loops;
    const uint8_t *data = m->data;
    const size_t parts = wire_parts_of(data), end = first + count;
    _Alignas(VECTOR) uint32_t field[WIRE_PIECE];
    struct wire_part p = {0};
    for (size_t i = 0; i < parts && p.first + p.count < end; i++) {
        p = wire_next_part(&f->layout, data, i, &p);
        size_t at = first > p.first ? first - p.first : 0;
        const size_t to = end < p.first + p.count ? end - p.first : p.count;
        if (f->read_stretch && at < to) {
            f->read_stretch(out + (p.first + at - first), m, &p, at, to);
            continue;
        }
        for (size_t now; at < to; at += now) {
            now = to - at < WIRE_PIECE ? to - at : WIRE_PIECE;
            kernels->unpack(field, data + p.at, at, now, p.bits);
            read_fields(f, kernels, out + (p.first + at - first), field, data, &p, at, now);
        }
    }
}

/* ---- cutting ---- */

/* How many numbers from number `at` of the message on lie in one part, in one bucket if `at` is within it, and before
 * `end`. *p moves on to that part; it is zero at first. */
static size_t stretch_from(struct wire_part *p, const struct wire_layout *l, const uint8_t *data, size_t at,
                           size_t end) {
    for (size_t i = p->end > 0 ? p->number + 1 : 0; at >= p->first + p->count; i++)
        *p = wire_next_part(l, data, i, p);
    const size_t from = at - p->first, begun = from % p->bucket, left = end - at;
    const size_t whole = begun > 0 && p->bucket - begun < p->count - from ? p->bucket - begun : p->count - from;
    return whole < left ? whole : left;
}

/* Copies the scalars and fields of so many numbers of the part, from number `from` of it on. Returns their end. */
static uint8_t *copy_stretch(uint8_t *out, const struct wire_layout *l, const uint8_t *data, const struct wire_part *p,
                             size_t from, size_t count) {
    const struct sg_code_kernels *kernels = sg_kernels_cpu(NULL)->loops;
    const size_t bucket = from / p->bucket, scalar_bytes = wire_scalar_bytes(l);
    const size_t scalars = scalar_bytes * (wire_bucket_count(from + count, p->bucket) - bucket);
    _Alignas(VECTOR) uint32_t field[WIRE_PIECE];
    memcpy(out, data + p->scalar_at + scalar_bytes * bucket, scalars);
    out += scalars;
    for (size_t at = 0, now; at < count; at += now) {
        now = count - at < WIRE_PIECE ? count - at : WIRE_PIECE;
        kernels->unpack(field, data + p->at, from + at, now, p->bits);
        kernels->pack(out + at / 8 * p->bits, field, now, p->bits);
    }
    return out + wire_bytes_of_bits((uint64_t)count * p->bits);
}

size_t wire_buckets_cut(const struct wire_layout *l, void *to, const struct sg_message *m, size_t first, size_t count) {
    SG_ASSERT(first + count <= m->count && !l->fields);
    const uint8_t *data = m->data;
    uint8_t *out = to;
    size_t parts = 0;
    struct wire_part p = {0};
    for (size_t at = first, now; at < first + count; at += now, parts++) {
        now = stretch_from(&p, l, data, at, first + count);
        wire_store32(out + wire_parts_begin(parts), (uint32_t)now);
        wire_store32(out + wire_parts_begin(parts) + 4, p.setting);
    }
    wire_store32(out, (uint32_t)parts);
    memcpy(out + 4, data + 4, 4);
    out += wire_parts_begin(parts);
    p = (struct wire_part){0};
    for (size_t at = first, now; at < first + count; at += now) {
        now = stretch_from(&p, l, data, at, first + count);
        out = copy_stretch(out, l, data, &p, at - p.first, now);
    }
    memset(out, 0, WIRE_BUCKETS_TAIL);
    return (size_t)(out - (uint8_t *)to) + WIRE_BUCKETS_TAIL;
}

void wire_buckets_read_on_gpu(const struct sg_sink *to, const struct sg_message *m, const struct sg_kernels *kernels,
                              const struct sg_exec *exec) {
    kernels->codes->read_buckets(exec, to, m->data, m->bytes, m->count, m->parts, m->code->layout->on_gpu);
}

/* Returns whether all are finite and not negative. */
static bool are_sizes(const float *scalar, unsigned count) {
    bool right = true;
    for (unsigned i = 0; i < count; i++)
        right = right && isfinite(scalar[i]) && !signbit(scalar[i]);
    return right;
}

static bool valid_part(const void *format, const uint8_t *data, const struct wire_part *p) {
    const struct sg_code_kernels *kernels = sg_kernels_cpu(NULL)->loops;
    const struct wire_buckets *f = format;
    _Alignas(VECTOR) uint32_t field[WIRE_PIECE];
    _Alignas(VECTOR) float out[WIRE_PIECE];
    float scalar[WIRE_MOST_SCALARS];
    uint32_t wrong = 0;
    if (!wire_padding_is_zero(data, p))
        return false;
    for (size_t at = 0; at < p->count; at += p->bucket) {
        load_scalars(scalar, f, data, p, at);
        if (!(f->valid_scalars ? f->valid_scalars(scalar, p->setting) : are_sizes(scalar, f->layout.scalars)))
            return false;
    }
    for (size_t at = 0, now; at < p->count && (f->valid_fields || f->overflows); at += now) {
        now = p->count - at < WIRE_PIECE ? p->count - at : WIRE_PIECE;
        kernels->unpack(field, data + p->at, at, now, p->bits);
        if (f->valid_fields && !f->valid_fields(field, now, p->setting))
            return false;
        if (f->overflows)
            read_fields(f, kernels, out, field, data, p, at, now);
        for (size_t j = 0; j < now && f->overflows; j++)
            wrong |= (sg_float_bits(out[j]) & 0x7f800000) == 0x7f800000;
    }
    return !wrong;
}

bool wire_buckets_valid_before(const struct wire_buckets *f, const struct sg_message *m, size_t tail) {
    return wire_parts_valid(&f->layout, m, tail, valid_part, f);
}

bool wire_buckets_valid(const struct wire_buckets *f, const struct sg_message *m) {
    return wire_buckets_valid_before(f, m, WIRE_BUCKETS_TAIL) &&
           wire_load64((const uint8_t *)m->data + m->bytes - WIRE_BUCKETS_TAIL) == 0;
}

bool wire_draws_always(const struct sg_numbers *n) {
    (void)n;
    return true;
}

size_t wire_second_param(const struct sg_numbers *n) {
    SG_ASSERT(n->param[1] >= 1);
    return (size_t)n->param[1];
}

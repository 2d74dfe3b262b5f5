/* sg_wire_buckets.h: shared by codes that write fields of a fixed width, part by part, with a few scalars for each
 * bucket of consecutive numbers: their layout, and for most of them all of writing and reading.
 *
 *     bytes 0 .. 3      parts
 *     bytes 4 .. 7      numbers of a bucket, at least 1
 *     8 bytes a part    how many numbers it has, and its setting
 *     each part         the scalars of each bucket, floats or bytes
 *                       the fields, one a number, of as many bits as the setting says; padded with zeros to a byte
 *     8 bytes           zeros, so that a field can be read with the bytes behind it
 *
 * All integers are little-endian. Bit b of a part's fields is bit b % 8 of byte b / 8. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_WIRE_BUCKETS_H
#define SG_WIRE_BUCKETS_H

#include "sg_device_codes.h"
#include "sg_wire_bits.h"

enum { WIRE_BUCKETS_TAIL = 8, WIRE_MOST_SCALARS = 64, WIRE_WHOLE_PART = 0xffffffffU };

/* A sign above a magnitude; two's complement; a number that is not below 0. */
enum wire_sign { WIRE_SIGN_ABOVE, WIRE_TWOS_COMPLEMENT, WIRE_UNSIGNED };

struct wire_layout {
    unsigned scalars;                     /* of a bucket, at most WIRE_MOST_SCALARS */
    bool byte_scalars;                    /* true: scalars are whole numbers of 8 bits; false: floats */
    uint32_t least_setting, most_setting; /* of the numbers that a part's setting may be */
    unsigned (*bits)(uint32_t setting);   /* of a field, 1 .. 32; NULL = the setting says how many */
    enum wire_sign sign;                  /* meaning of a field, for those that are shortened (wire_fields.h) */
    /* Number of fields of a part with this number of numbers; NULL = one for each number. */
    size_t (*fields)(size_t count, size_t bucket);
    enum sg_bucket_code on_gpu; /* of the codes that a GPU writes and reads */
};

/* Bytes of a bucket's scalars. */
static inline size_t wire_scalar_bytes(const struct wire_layout *l) {
    return l->scalars * (l->byte_scalars ? 1 : sizeof(float));
}

/* One part and its position in the data. */
struct wire_part {
    size_t number;       /* of the part */
    size_t first, count; /* of the numbers */
    size_t fields;
    size_t bucket;
    uint32_t setting;
    unsigned bits;    /* of a field */
    size_t scalar_at; /* byte of the first bucket's scalars */
    size_t at;        /* byte of the fields */
    size_t end;
};

static inline size_t wire_bucket_count(size_t count, size_t bucket) {
    return count / bucket + (count % bucket > 0);
}

/* Part i of the message, which begins where the one before it ended; `before` is zero for the first. */
struct wire_part wire_next_part(const struct wire_layout *l, const uint8_t *data, size_t i,
                                const struct wire_part *before);

/* Bytes before the first part; the most bytes of all; and the number of parts of a message. */
size_t wire_parts_begin(size_t parts);
size_t wire_parts_most(const struct wire_layout *l, const struct sg_numbers *n, size_t bucket, unsigned most_bits);
size_t wire_parts_of(const uint8_t *data);

/* Returns whether the bytes are parts with m->count numbers in total and valid_part accepts each; `format` is passed to
 * it. Any bytes are safe. The last `tail` bytes of the message, >= WIRE_BUCKETS_TAIL, are not checked. */
bool wire_parts_valid(const struct wire_layout *l, const struct sg_message *m, size_t tail,
                      bool (*valid_part)(const void *format, const uint8_t *data, const struct wire_part *p),
                      const void *format);

/* Returns whether the padding after a part's fields is zero. */
static inline bool wire_padding_is_zero(const uint8_t *data, const struct wire_part *p) {
    const unsigned used = (unsigned)((uint64_t)p->fields * p->bits % 8);
    return used == 0 || data[p->end - 1] >> used == 0;
}

/* The smallest float u with levels * u >= norm. If levels * u would be infinite, the largest float u for which it is
 * finite. */
float wire_unit(double norm, uint32_t levels);

/* value [count] <- fields first .. first + count - 1. Up to 8 bytes behind them are read. */
static inline void wire_fields(uint32_t *value, const uint8_t *data, const struct wire_part *p, size_t first,
                               size_t count) {
    sg_kernels_cpu(NULL)->loops->unpack(value, data + p->at, first, count, p->bits);
}

/* ---- codes that consist of buckets and nothing else ---- */

struct wire_buckets {
    struct wire_layout layout;
    /* Returns whether `write` gets a random number of 32 bits for each number. NULL = false. */
    bool (*draws)(const struct sg_numbers *n);
    /* Returns how many numbers share scalars; WIRE_WHOLE_PART = all of a part. NULL = WIRE_WHOLE_PART. */
    size_t (*bucket)(const struct sg_numbers *n);
    /* The setting of a part, whose numbers begin at n->value + first. NULL = the part's knob, or param[0] without
     * knobs, within the layout's settings. With layout.bits, which is then the same for all settings, it may read the
     * numbers. */
    uint32_t (*setting)(const struct sg_numbers *n, size_t part, size_t first);
    /* scalar [scalars] <- what the bucket x [count] of this part needs, count >= 1. NULL = nothing, or `write_stretch`
     * writes them. */
    void (*measure)(float *scalar, const float *x, size_t count, const struct wire_part *p, const struct sg_numbers *n);
    /* field [count] <- x [count], of one bucket; draw is NULL if there are none. */
    void (*write)(const struct sg_code_kernels *kernels, uint32_t *field, const float *x, size_t count,
                  const float *scalar, uint32_t setting, const uint32_t *draw);
    /* Inverse of `write`. For all that valid_scalars and valid_fields accept it must be safe, and return finite numbers
     * unless `overflows`. */
    void (*read)(const struct sg_code_kernels *kernels, float *out, const uint32_t *field, size_t count,
                 const float *scalar, uint32_t setting);
    /* Used instead of `write` and `read` by codes that process whole buckets at once: the numbers begin .. end - 1 of a
     * part. For `write_stretch` begin is a multiple of 8 and of a bucket. `read_stretch` must return finite numbers for
     * valid scalars and fields. */
    void (*write_stretch)(uint8_t *data, const struct sg_numbers *n, const struct wire_part *p, size_t begin,
                          size_t end);
    void (*read_stretch)(float *out, const struct sg_message *m, const struct wire_part *p, size_t begin, size_t end);
    bool (*valid_scalars)(const float *scalar, uint32_t setting); /* NULL = those that are finite and not negative */
    bool (*valid_fields)(const uint32_t *field, size_t count, uint32_t setting); /* NULL = any are valid */
    bool overflows; /* valid scalars and fields may be read as infinity, so every number of a message is checked */
};

/* Fields a piece: write, read and valid_fields get at most so many at a time. */
enum { WIRE_PIECE = 512 };

/* The five functions of a struct sg_code. Bits are those of the scalars and the fields. */
size_t wire_buckets_most(const struct wire_buckets *f, const struct sg_numbers *n);
size_t wire_buckets_encode(const struct wire_buckets *f, void *data, const struct sg_numbers *n, double *bits);
void wire_buckets_decode(const struct wire_buckets *f, float *out, const struct sg_message *m, size_t first,
                         size_t count);
/* A bucket that a slice begins in the middle of becomes a part of its own. For a layout with one field a number. */
size_t wire_buckets_cut(const struct wire_layout *l, void *to, const struct sg_message *m, size_t first, size_t count);
bool wire_buckets_valid(const struct wire_buckets *f, const struct sg_message *m);

/* Returns whether the message is valid up to its last `tail` bytes, >= WIRE_BUCKETS_TAIL, which are not checked. */
bool wire_buckets_valid_before(const struct wire_buckets *f, const struct sg_message *m, size_t tail);

/* Writes a message in a GPU's memory. b has what only one code has: rounding, steps. n->scale is NULL. */
int wire_buckets_encode_on_gpu(const struct wire_buckets *f, void *data, const struct sg_numbers *n,
                               const struct sg_device_buckets *b, size_t *bytes, double *bits);
void wire_buckets_read_on_gpu(const struct sg_sink *to, const struct sg_message *m, const struct sg_kernels *kernels,
                              const struct sg_exec *exec);

/* The five as functions for the format `f`, and how a struct sg_code has them. */
#define WIRE_BUCKETS_FUNCTIONS(f)                                                                                      \
    static size_t f##_most(const struct sg_numbers *n) {                                                               \
        return wire_buckets_most(&f, n);                                                                               \
    }                                                                                                                  \
    static size_t f##_encode(void *data, const struct sg_numbers *n, double *bits) {                                   \
        return wire_buckets_encode(&f, data, n, bits);                                                                 \
    }                                                                                                                  \
    static void f##_decode(float *out, const struct sg_message *m, size_t first, size_t count) {                       \
        wire_buckets_decode(&f, out, m, first, count);                                                                 \
    }                                                                                                                  \
    static size_t f##_cut(void *to, const struct sg_message *m, size_t first, size_t count) {                          \
        return wire_buckets_cut(&f.layout, to, m, first, count);                                                       \
    }                                                                                                                  \
    static bool f##_valid(const struct sg_message *m) {                                                                \
        return wire_buckets_valid(&f, m);                                                                              \
    }
#define WIRE_BUCKETS_CODE(f)                                                                                           \
    .most_bytes = f##_most, .encode = f##_encode, .decode = f##_decode, .cut = f##_cut, .valid = f##_valid,            \
    .layout = &f.layout

/* The same for a code that runs on a GPU. `largest`: whether a bucket is measured by its largest magnitude, not by its
 * norm; an expression of the numbers `n`. */
#define WIRE_BUCKETS_GPU_FUNCTION(f, largest)                                                                          \
    static int f##_encode_on_gpu(void *data, const struct sg_numbers *n, size_t *bytes, double *bits) {                \
        const struct sg_device_buckets b = {.by_largest = (largest)};                                                  \
        return wire_buckets_encode_on_gpu(&f, data, n, &b, bytes, bits);                                               \
    }
#define WIRE_BUCKETS_GPU_CODE(f) .encode_on_gpu = f##_encode_on_gpu, .read_on_gpu = wire_buckets_read_on_gpu

/* Adds the codes of lib/zoo. A build with ZOO=0 has no such function. */
void sg_zoo_register_codes(void);

/* The hook `draws` of formats with draws for every number. */
bool wire_draws_always(const struct sg_numbers *n);

/* The hook `bucket` of formats whose second parameter it is. */
size_t wire_second_param(const struct sg_numbers *n);

#endif

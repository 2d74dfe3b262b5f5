/* sg_device_codes.h: encodes and decodes numbers in the memory of a GPU.
 *
 * lib/wire defines the bytes of every code. It writes the head of a message on the host: the few bytes per layer that
 * do not depend on the numbers. The functions here write the rest, with the bytes and floats of the CPU's sg_codes.h.
 * `data` is aligned for a float. Pointers are to the GPU's memory unless their comment says "host".
 *
 * Non-void functions return enum sg_kernel_status. After a device failure all functions do nothing. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_DEVICE_CODES_H
#define SG_DEVICE_CODES_H

#include "sg_codes.h"
#include "sg_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The two values of a part: one is decoded for numbers below 0, the other for all others (code_signs.c). */
enum sg_two_values { SG_VALUES_MEAN, SG_VALUES_RMS, SG_VALUES_GIVEN, SG_VALUES_SIDES };

/* Numbers of parts that are written as signs. */
struct sg_device_signs {
    const float *x; /* [count] finite */
    size_t count;
    /* host [head_bytes]: the message up to the packed signs. It has the number of elements of each part. The GPU writes
     * the two values into it, except for SG_VALUES_GIVEN. */
    const void *head;
    size_t head_bytes, parts;
    enum sg_two_values values;
};

/* The codes that cut parts into buckets and write a field of a few bits for each number (sg_wire_buckets.h). */
enum sg_bucket_code { SG_BUCKETS_LEVELS, SG_BUCKETS_POWERS, SG_BUCKETS_STEPS, SG_BUCKETS_PARTS };

struct sg_device_buckets {
    enum sg_bucket_code code;
    const float *x; /* [count] finite */
    size_t count;
    const void *head; /* host [head_bytes]: the message up to the first part's scalars */
    size_t head_bytes, parts;
    size_t bytes;                /* of the whole message, STEPS: without its list; the last 8 become 0 */
    uint32_t key[2], counter[4]; /* the stream of random numbers (sg_rng.h); the draw for x[i] is number i */
    bool by_largest;   /* LEVELS, PARTS: a bucket's unit comes from its largest magnitude, not from its norm */
    bool nearest;      /* STEPS: rounded to the nearest, without random numbers */
    const float *step; /* STEPS: host [parts] */
    uint32_t *beyond;  /* STEPS: host, out: how many numbers are sent unchanged; the call waits for the GPU */
};

/* The codes with a fixed width: a float, a half (sg_half.h), or the upper half of a float. */
enum sg_plain_code { SG_PLAIN_FLOAT, SG_PLAIN_HALF, SG_PLAIN_BF16 };

struct sg_device_codes {
    /* below: host [parts], out, only for SIDES: how many numbers of each part are below 0; waits for the GPU. */
    int (*write_signs)(const struct sg_exec *exec, void *data, const struct sg_device_signs *s, uint32_t *below);
    void (*read_signs)(const struct sg_exec *exec, const struct sg_sink *to, const void *data, size_t count,
                       size_t parts);

    int (*write_buckets)(const struct sg_exec *exec, void *data, const struct sg_device_buckets *b);
    /* bytes: of the message */
    void (*read_buckets)(const struct sg_exec *exec, const struct sg_sink *to, const void *data, size_t bytes,
                         size_t count, size_t parts, enum sg_bucket_code code);

    /* x [count] is finite. */
    int (*write_plain)(const struct sg_exec *exec, void *data, const float *x, size_t count, enum sg_plain_code code);
    void (*read_plain)(const struct sg_exec *exec, const struct sg_sink *to, const void *data, size_t count,
                       enum sg_plain_code code);

    /* sum[i] <- all, -all or tie, as sum[i] is above 0, below 0 or neither. */
    void (*vote)(const struct sg_exec *exec, float *sum, size_t n, float all, float tie);
};

#ifdef __cplusplus
}
#endif
#endif

/* sg_message.h: the message that one worker sends in one round, and the functions that decode and add it.
 *
 * A message represents a vector of n numbers. It contains `count` of them; the others are 0. `index` has their
 * positions, `data` has their values. The two are independent of each other: sg_wire.h defines encodings of positions,
 * and a code is a format of the numbers.
 *
 * Functions keep no state except the table of added codes, and may be called from any thread. They do not validate a
 * message; sg_wire_decode validates one that comes from another process. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_MESSAGE_H
#define SG_MESSAGE_H

#include "sg_unstable.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sg_kernels.h"
#include "sg_parameter.h"
#include "sg_status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sg_code;
struct wire_layout;

struct sg_message {
    const struct sg_code *code;
    size_t n, count;       /* count <= n */
    const uint32_t *index; /* [count] positions, ascending and below n; NULL = all of 0 .. n-1, or count is 0 */
    /* [bytes] The encoded numbers, aligned for a float. Their format is defined by the code. */
    const void *data;
    size_t bytes;
    /* true: all workers have the same positions and every rank can compute them, so an exchange does not send them. */
    bool known;
    double bits; /* cost of this message in bits, as the publication of its method counts */
    /* [layers] How many of `count` lie in each layer; NULL = n is not the size of the model. */
    const size_t *layer_count;
    bool summed;  /* true: the network adds such messages, so sg_wire_shorten must not shorten their numbers */
    size_t parts; /* only of a message in a GPU's memory: number of parts into which its code cut the numbers */
};

/* Numbers that are to be written in a code. */
struct sg_numbers {
    const float *value; /* [count] finite */
    size_t count;
    /* part [parts]: how many of `count` each part (layer) has. Every part has its own scale. */

    const size_t *part;
    size_t parts;
    const double *param; /* [n_params] the code's parameters, presets filled in */
    const double *knob;  /* [parts] replaces param[0] in each part; NULL = param[0] everywhere */
    /* [parts] For codes with a scale: used instead of the largest magnitude, or norm, of every bucket of a part. No
     * magnitude in the part is larger. NULL = it is computed. */
    const float *scale;
    /* The stream of random numbers (sg_rng.h), for codes that draw. */
    uint64_t seed, step;
    uint32_t worker;
    const struct sg_kernels *kernels; /* a table of the CPU; fp32, fp16 and bf16 do not need it */
    int threads;                      /* >= 1; the result does not depend on it */
    const struct sg_exec *exec;       /* only for encode_on_gpu, whose `kernels` are the GPU's */
};

/* A format of numbers: one row of the table in message.c. Its functions keep no state. */
struct sg_code {
    const char *name;    /* as recipes spell it: "fp16" */
    const char *summary; /* one line for help */
    uint8_t number;      /* identifies the code in messages, so it is never reused for another code */
    /* Bytes of every number, if nothing else is written; 0 = the length varies, and each message states its bytes. */
    size_t width;
    bool random; /* true: `encode` draws random numbers */
    const struct sg_parameter *params;
    size_t n_params;
    /* Upper bound of the bytes that `encode` writes for these numbers, for any values. */
    size_t (*most_bytes)(const struct sg_numbers *numbers);
    /* Writes the numbers into data, which is aligned for a float and has most_bytes bytes. Returns how many bytes were
     * written. *bits <- their cost as the code's publication counts, without the header and positions of a message. */
    size_t (*encode)(void *data, const struct sg_numbers *numbers, double *bits);
    /* out [count] <- the encoded numbers first .. first + count - 1. `first` may be any number, so that threads can
     * share the work on a message. */
    void (*decode)(float *out, const struct sg_message *m, size_t first, size_t count);
    /* Writes the numbers first .. first + count - 1 of the message into `to`, as the data of a message of these numbers
     * only, and returns its bytes. They are decoded to the same bits. `first` is a multiple of 8, and so is `count`
     * unless the last number is among them. Slices that do not overlap have together at most m->bytes and SG_CUT_MORE
     * bytes each. NULL = a message is sent as a whole, unless its code has a width. */
    size_t (*cut)(void *to, const struct sg_message *m, size_t first, size_t count);
    /* Returns whether `data` [bytes] is well formed and every number finite. Any bytes are safe. */
    bool (*valid)(const struct sg_message *m);
    /* For the library's own codes: the layout of the fields that sg_wire_shorten writes in fewer bits. NULL = it does
     * not shorten them. */
    const struct wire_layout *layout;
    /* `encode` on a GPU: numbers->value and data are in the GPU's memory, all else of `numbers` is in the host's.
     * *bytes <- the bytes that were written. Returns enum sg_kernel_status. NULL = the code does not run on a GPU. */
    int (*encode_on_gpu)(void *data, const struct sg_numbers *numbers, size_t *bytes, double *bits);
    /* Decodes all numbers of a message that encode_on_gpu wrote, and stores or adds each as the sink defines. */
    void (*read_on_gpu)(const struct sg_sink *to, const struct sg_message *m, const struct sg_kernels *kernels,
                        const struct sg_exec *exec);
};

enum { SG_CUT_MORE = 512 };

/* The codes of this room, in the order of their numbers in messages: row(a), row(b), ... Those of the zoo come behind
 * them. A number that is missing was never used. */
#define SG_CODES(row)                                                                                                  \
    row(sg_code_fp32), row(sg_code_fp16), row(sg_code_levels), row(sg_code_bf16), row(sg_code_signs),                  \
        row(sg_code_signs_rms), row(sg_code_signs_fixed), row(sg_code_two_means), row(sg_code_grid),                   \
        row(sg_code_dithering), row(sg_code_factors), row(sg_code_lookup)
#define SG_CODE_NAME(name) name
SG_UNSTABLE extern const struct sg_code SG_CODES(SG_CODE_NAME);
/* The parameters of codes, for the compressors that write every element in one. */
SG_UNSTABLE extern const struct sg_parameter sg_code_levels_params[3];
SG_UNSTABLE extern const struct sg_parameter sg_code_grid_params[3], sg_code_dithering_params[3];

/* The i-th code of the table; NULL past the end. The code of that number in messages, or of that name; NULL = none. */
SG_UNSTABLE const struct sg_code *sg_code_at(size_t i);
SG_UNSTABLE const struct sg_code *sg_code_of(unsigned number);
SG_UNSTABLE const struct sg_code *sg_code_find(const char *name);

/* Adds a code at the end of the table. *code must stay valid, and no other thread may use the table during the call.
 * Its number is in SG_CODE_ADDED_FIRST .. SG_CODE_ADDED_LAST, which the library's own codes never use, or the one that
 * messages keep for its name (message.c). SG_ERR_ARGUMENT: its name or number exists already, or *code is
 * incomplete. */
enum { SG_CODE_ADDED_FIRST = 192, SG_CODE_ADDED_LAST = 254 };
SG_UNSTABLE SG_CHECKED sg_status sg_code_add(const struct sg_code *code, struct sg_error *err);

/* One layer of a message in the code `factors`: a matrix of count / rows columns, which is the sum of `rank` products
 * of a column and a row. value holds all columns one after another, then all rows. With rows = 0 value holds the
 * numbers [count] themselves. No sum of products is infinite as a float. */
struct sg_factors {
    size_t count, rows, rank;
    const float *value;
};
/* Writes all layers into data, which has most_bytes of sg_code_factors: the factors of a layer have at most as many
 * numbers as the layer. Returns the bytes; *bits <- 32 for each float, and 8 for the rank of each matrix. */
SG_UNSTABLE size_t sg_factors_encode(void *data, const struct sg_factors *part, size_t parts, double *bits);

/* How many numbers are decoded at a time; few enough for the first-level cache. */
enum { SG_MESSAGE_PIECE = 2048 };

/* The encoded numbers as floats [count]. Returns the message's own data if its code is fp32; else decodes them into
 * `room` [count] and returns it. Message and room are in the memory of the kernels. On a GPU the code must be one
 * that runs there. */
SG_UNSTABLE const float *sg_message_values(const struct sg_message *m, float *room, const struct sg_kernels *kernels,
                                           const struct sg_exec *exec);

/* Decodes every number and stores or adds it as the sink defines (sg_kernels.h). to->index is the message's index; NULL
 * = store without gaps. Message and sink are in the kernels' memory. On a GPU the code must run there. */
SG_UNSTABLE void sg_message_read(const struct sg_sink *to, const struct sg_message *m, const struct sg_kernels *kernels,
                                 const struct sg_exec *exec);

/* Returns whether the code runs on a GPU. */
SG_UNSTABLE bool sg_code_on_gpu(const struct sg_code *code);

/* to [n] += weight * message, element by element. Weight 1 adds a message to the sum over workers; weight -1 subtracts
 * it from a residual. Message and `to` are in host memory. */
SG_UNSTABLE void sg_message_add(float *to, const struct sg_message *m, float weight, const struct sg_exec *exec);

/* to [n] += messages[0], then messages[1], ...; each message represents n numbers. The messages are in host memory,
 * `to` is in the kernels' memory. The bits are those of adding one message after another, for any number of threads. */
SG_UNSTABLE void sg_message_add_all(float *to, size_t n, const struct sg_message *messages, size_t count,
                                    const struct sg_kernels *kernels, const struct sg_exec *exec);

/* The same for the elements begin .. end - 1 of the sum only, which is in host memory, too. */
SG_UNSTABLE void sg_message_add_slice(float *to, size_t begin, size_t end, const struct sg_message *messages,
                                      size_t count, const struct sg_exec *exec);

#ifdef __cplusplus
}
#endif
#endif

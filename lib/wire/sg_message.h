/* sg_message.h: what one worker sends in one round, and the functions that decode and add it.
 *
 * A message stands for a vector of n numbers. `count` of them are written down, the others are 0. The positions say
 * which ones, the data what they are. The two are independent of each other: sg_wire.h has the encodings of the
 * positions, and a code is a format of the numbers.
 *
 * Functions keep no state, but for the codes that are added, and may be called from any thread. They trust a message; one that came from elsewhere is
 * first checked by sg_wire_decode. */
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
    /* [bytes] The numbers as they travel, aligned for a float. Only the code knows their format. */
    const void *data;
    size_t bytes;
    /* Does every rank know the positions, because all workers have the same? Then an exchange does not send them. */
    bool known;
    double bits; /* what this message costs in bits, as the paper of its method counts */
    /* [layers] How many of `count` lie in each layer; NULL = n is not the size of the model. */
    const size_t *layer_count;
    bool summed;  /* is it for a network that adds up such messages? Then no number is written in fewer bits */
    size_t parts; /* only of a message in a GPU's memory: into how many parts its code cut the numbers */
};

/* Numbers that are to be written in a code. */
struct sg_numbers {
    const float *value; /* [count] finite */
    size_t count;
    /* Numbers of different parts (layers) share no scale. part [parts] says how many of `count` each part has. */

    const size_t *part;
    size_t parts;
    const double *param; /* [n_params] the code's parameters, presets filled in */
    const double *knob;  /* [parts] replaces param[0] in each part; NULL = param[0] everywhere */
    /* [parts] For codes with a scale: takes the place of the largest magnitude, or norm, of every bucket of a part, none
     * of whose numbers is larger. NULL = it is computed. */
    const float *scale;
    /* Names the stream of random numbers (sg_rng.h), for codes that draw. */
    uint64_t seed, step;
    uint32_t worker;
    const struct sg_kernels *kernels; /* a table of the CPU; fp32, fp16 and bf16 do without */
    int threads;                      /* >= 1; the result does not depend on it */
    const struct sg_exec *exec;       /* only for encode_on_gpu, whose `kernels` are the GPU's */
};

/* A format of numbers: one row of the table in message.c. Its functions keep no state. */
struct sg_code {
    const char *name;    /* as recipes spell it: "fp16" */
    const char *summary; /* one line for help */
    uint8_t number;      /* in messages, so a number is never given to another code */
    /* Bytes of every number, if nothing else is written; 0 = messages differ, and each says how many bytes it has. */
    size_t width;
    bool random; /* does `encode` draw random numbers? */
    const struct sg_parameter *params;
    size_t n_params;
    /* The most bytes that `encode` writes for these numbers, whatever their values. */
    size_t (*most_bytes)(const struct sg_numbers *numbers);
    /* Writes the numbers into data, which is aligned for a float and has room for most_bytes. Returns the bytes that
     * were written. *bits <- what they cost as the code's publication counts, without what every message has around
     * them. */
    size_t (*encode)(void *data, const struct sg_numbers *numbers, double *bits);
    /* out [count] <- the written numbers first .. first + count - 1. It can start anywhere, so that threads share a
     * message. */
    void (*decode)(float *out, const struct sg_message *m, size_t first, size_t count);
    /* Is `data` [bytes] well formed, and is every number finite? Any bytes are safe. */
    bool (*valid)(const struct sg_message *m);
    /* Of the library's own codes: the layout of its fields, which sg_wire_shorten writes in fewer bits. NULL = they
     * stay. */
    const struct wire_layout *layout;
    /* The same as `encode`, with values and data in the memory of a GPU; all else of the numbers lies in the host's. *bytes <-
     * the bytes that are written. Returns enum sg_kernel_status. NULL = the code does not run on a GPU. */
    int (*encode_on_gpu)(void *data, const struct sg_numbers *numbers, size_t *bytes, double *bits);
    /* Reads all numbers of a message that encode_on_gpu wrote, and does with each what the sink says. */
    void (*read_on_gpu)(const struct sg_sink *to, const struct sg_message *m, const struct sg_kernels *kernels,
                        const struct sg_exec *exec);
};

/* All codes, each declared in a file of its own, in the order of the numbers that messages carry: row(a), row(b) … A number
 * that is missing was never given. */
#define SG_CODES(row)                                                                                                  \
    row(sg_code_fp32), row(sg_code_fp16), row(sg_code_levels), row(sg_code_bf16), row(sg_code_signs),                  \
        row(sg_code_signs_rms), row(sg_code_signs_fixed), row(sg_code_two_means), row(sg_code_natural),                \
        row(sg_code_natural_8), row(sg_code_grid), row(sg_code_8bit), row(sg_code_dithering), row(sg_code_int_block),  \
        row(sg_code_minmax), row(sg_code_eden), row(sg_code_quantile), row(sg_code_inceptionn), row(sg_code_least),    \
        row(sg_code_factors), row(sg_code_lookup)
#define SG_CODE_NAME(name) name
SG_UNSTABLE extern const struct sg_code SG_CODES(SG_CODE_NAME);
/* The parameters of codes, for the compressors that write every element in one. */
SG_UNSTABLE extern const struct sg_parameter sg_code_levels_params[3];
SG_UNSTABLE extern const struct sg_parameter sg_code_grid_params[3], sg_code_dithering_params[3],
    sg_code_int_block_params[3], sg_code_minmax_params[3], sg_code_eden_params[3], sg_code_quantile_params[1],
    sg_code_inceptionn_params[1];

/* The i-th code of the table; NULL past the end. The code of that number in messages, or of that name; NULL = none. */
SG_UNSTABLE const struct sg_code *sg_code_at(size_t i);
SG_UNSTABLE const struct sg_code *sg_code_of(unsigned number);
SG_UNSTABLE const struct sg_code *sg_code_find(const char *name);

/* Adds a code behind the table's others. It must stay where it is, and no other thread may use the table meanwhile. Its number
 * is one of those that the table itself never takes. SG_ERR_ARGUMENT: its name or its number is taken, or it lacks
 * something. */
enum { SG_CODE_ADDED_FIRST = 192, SG_CODE_ADDED_LAST = 254 };
SG_UNSTABLE SG_CHECKED sg_status sg_code_add(const struct sg_code *code, struct sg_error *err);

/* One layer of a message in the code `factors`. As a matrix of count / rows columns it is the sum of `rank` products: value
 * holds the columns of these, one after another, and then their rows. With rows = 0 value holds the numbers [count]. No
 * sum of products is infinite as a float. */
struct sg_factors {
    size_t count, rows, rank;
    const float *value;
};
/* Writes all layers into data, which has room for most_bytes of sg_code_factors: a layer's factors are no more numbers
 * than the layer. Returns the bytes; *bits <- 32 a float, and 8 for the rank of a matrix. */
SG_UNSTABLE size_t sg_factors_encode(void *data, const struct sg_factors *part, size_t parts, double *bits);

/* How many numbers are decoded at a time: they stay in the first-level cache. */
enum { SG_MESSAGE_PIECE = 2048 };

/* The written numbers as floats [count]. Returns the message's own data if its code is fp32, else `room` [count], into
 * which they are decoded. Message and room lie in the memory of the kernels. On a GPU the code must be one
 * that runs there. */
SG_UNSTABLE const float *sg_message_values(const struct sg_message *m, float *room, const struct sg_kernels *kernels,
                                           const struct sg_exec *exec);

/* Does with every written number what the sink says (sg_kernels.h), whose index is the message's, or NULL if the numbers
 * only move. Message and sink lie in the memory of the kernels. On a GPU the code must be one that runs there. */
SG_UNSTABLE void sg_message_read(const struct sg_sink *to, const struct sg_message *m, const struct sg_kernels *kernels,
                                 const struct sg_exec *exec);

/* Does the code run on a GPU? */
SG_UNSTABLE bool sg_code_on_gpu(const struct sg_code *code);

/* to [n] += weight * message, element after element. The weight 1 adds to the sum over workers; -1 leaves in a residual
 * what the message lacks. Message and `to` lie in host memory. */
SG_UNSTABLE void sg_message_add(float *to, const struct sg_message *m, float weight, const struct sg_exec *exec);

/* to [n] += messages[0], then messages[1], ...; each message stands for n numbers. The messages lie in host memory,
 * `to` in that of the kernels. The bits are those of one message after another, for any number of threads. */
SG_UNSTABLE void sg_message_add_all(float *to, size_t n, const struct sg_message *messages, size_t count,
                                    const struct sg_kernels *kernels, const struct sg_exec *exec);

#ifdef __cplusplus
}
#endif
#endif

/* sg_message.h: what one worker sends in one round, and the one function that decodes it.
 *
 * A message stands for a vector of n numbers. `count` of them are written down, the others are 0. Which ones is said by
 * the positions, what they are by the data; the two are independent of each other: sg_wire.h has the encodings of the
 * positions, a code the format of the numbers. */
#ifndef SG_MESSAGE_H
#define SG_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sg_kernels.h"
#include "sg_parameter.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sg_code;

struct sg_message {
    const struct sg_code *code;
    size_t n, count;       /* count <= n */
    const uint32_t *index; /* [count] positions, ascending and below n; NULL = all of 0 .. n-1, and then count = n */
    const void *data; /* [bytes] the numbers as they travel, aligned for a float; only the code knows their format */
    size_t bytes;
    double bits;               /* what this message costs, as the paper of its method counts it */
    const size_t *layer_count; /* [layers] how many of `count` lie in each layer; NULL where n is not the model */
};

/* Numbers that are to be written down in a code. */
struct sg_numbers {
    const float *value; /* [count] finite */
    size_t count;
    /* Numbers of different parts (layers) share no scale: part [parts] is how many of `count` each of them has. */
    const size_t *part;
    size_t parts;
    const double *param; /* [n_params] of the code, presets filled in */
    const double *knob;  /* [parts] takes the place of param[0] in each part; NULL = param[0] everywhere */
    /* The name of the stream of random numbers (sg_rng.h), for codes that draw. */
    uint64_t seed, step;
    uint32_t worker;
    const struct sg_kernels *kernels; /* of a CPU */
    int threads;                      /* >= 1; the result does not depend on it */
};

/* A format of numbers: one row of a table. Functions are pure. */
struct sg_code {
    const char *name;    /* as recipes spell it: "fp16" */
    const char *summary; /* one line for help */
    uint8_t number;      /* of the row; part of the wire format, so a number is never used again for another code */
    size_t width;        /* bytes of every number, and nothing else is written; 0 = a message says its bytes itself */
    bool random;         /* encode draws random numbers */
    const struct sg_parameter *params;
    size_t n_params;
    /* Most bytes that `encode` writes for these numbers, whatever their values. */
    size_t (*most_bytes)(const struct sg_numbers *numbers);
    /* Write the numbers into data, which is aligned for a float. Returns the bytes that were written; *bits is what they
     * cost as the code's publication counts, without the framing that every message has. */
    size_t (*encode)(void *data, const struct sg_numbers *numbers, double *bits);
    /* out [count] <- the written numbers first .. first + count - 1. It starts anywhere, so that threads can share a
     * message. */
    void (*decode)(float *out, const struct sg_message *m, size_t first, size_t count);
    /* Is `data` [bytes] well formed and every number finite? Asked of what came from elsewhere: any bytes are safe. */
    bool (*valid)(const struct sg_message *m);
};

extern const struct sg_code sg_code_fp32, sg_code_fp16, sg_code_levels;
/* Of sg_code_levels, for the compressor that writes everything in it. */
extern const struct sg_parameter sg_code_levels_params[3];

/* The table: the code of that number or name, NULL if there is none. */
const struct sg_code *sg_code_at(unsigned number);
const struct sg_code *sg_code_find(const char *name);

/* Numbers that are decoded at a time: they stay in the first-level cache. */
enum { SG_MESSAGE_PIECE = 2048 };

/* The written numbers as floats [count]: the message's own data where its code is fp32, else decoded into room [count].
 * Message, room and result lie in the memory of the kernels. On a GPU the code is fp32 or fp16. */
const float *sg_message_values(const struct sg_message *m, float *room, const struct sg_kernels *kernels,
                               const struct sg_exec *exec);

/* to [n] += weight * message, element by element in ascending order: with weight 1 the sum over workers, with -1 what a
 * message leaves in a residual. Message and `to` lie in host memory. */
void sg_message_add(float *to, const struct sg_message *m, float weight, const struct sg_exec *exec);

/* to [n] += messages[0], then messages[1], ...: every message is of n numbers. The messages lie in host memory, `to` in
 * that of the kernels. The same bits as one message after another, for any number of threads. */
void sg_message_add_all(float *to, size_t n, const struct sg_message *messages, size_t count,
                        const struct sg_kernels *kernels, const struct sg_exec *exec);

#ifdef __cplusplus
}
#endif
#endif

/* sg_wire.h: a message (sg_message.h) as bytes, and back. lib/FORMATS.md has every byte.
 *
 *     header    1 byte   format version 1 in the high half, number of the code in the low half
 *               1 byte   encoding of the positions: row of the table
 *               1 byte   parameter of the encoding, 0 if it has none
 *               n, count, bytes of payload as LEB128 numbers (7 bits a byte, low first, high bit = more follow);
 *               for a code without a fixed width also the bytes of the numbers, and if they are shortened the number
 *               of shortened bytes
 *     payload   the positions as the encoding writes them; no bytes if count is 0 or n
 *               the numbers as the code writes them: its width times count bytes, or the bytes stated in the header
 *
 * Everything is little-endian. For each encoding and parameter a message has exactly one form, and a decoder rejects
 * all others. Exact sizes are known before encoding, so a caller can allocate, compare and report first.
 *
 * Functions keep no state, allocate nothing and may be called from any thread. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_WIRE_H
#define SG_WIRE_H

#include "sg_unstable.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sg_message.h"
#include "sg_status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SG_WIRE_MAX_N ((uint64_t)1 << 32) /* positions are 32 bits wide */

/* The positions of a message. */
struct sg_wire_set {
    uint64_t n; /* <= SG_WIRE_MAX_N */
    size_t count;
    const uint32_t *index; /* [count] ascending, below n; may be NULL if count is 0 or n */
};

/* One way to write the positions, called only for 0 < count < n. Adding one takes one file and one row at the table's
 * end. */
struct sg_wire_encoding {
    const char *name, *summary;
    /* Returns the exact number of bytes of the positions. *parameter is 0 on entry; the function may change it. */
    uint64_t (*size)(const struct sg_wire_set *set, unsigned *parameter);
    /* Writes exactly the `bytes` that `size` returned. */
    void (*encode)(uint8_t *out, size_t bytes, const struct sg_wire_set *set, unsigned parameter);
    /* Decodes exactly `bytes` bytes, which may be anything, into index [count]. Returns false unless they are exactly
     * the bytes that `encode` writes for `count` ascending positions below n. */
    bool (*decode)(uint32_t *index, size_t count, uint64_t n, unsigned parameter, const uint8_t *in, size_t bytes);
};

/* The i-th encoding of the table; NULL past the end. The encoding of that name; NULL if it is unknown. */
SG_UNSTABLE const struct sg_wire_encoding *sg_wire_at(size_t i);
SG_UNSTABLE const struct sg_wire_encoding *sg_wire_find(const char *name);

/* The format in which messages are exchanged. */
struct sg_wire_format {
    const struct sg_wire_encoding *encoding; /* NULL = auto: the fewest bytes; ties go to the earlier row */
    const struct sg_code *code;              /* of the numbers */
};

/* How a message will be encoded: decided, but not yet written. */
struct sg_wire_plan {
    const struct sg_wire_encoding *encoding;
    unsigned parameter;
    struct sg_message message; /* its index and data are borrowed */
    bool shorter;              /* true: the numbers are written in fewer bits than the code defines */
    size_t header_bytes, index_bytes, number_bytes;
    size_t bytes; /* of the whole encoded message: header, positions and numbers */
};

/* Chooses the parameter, and the encoding if it is NULL (auto), and computes all sizes, in O(count). It does not read
 * the message's numbers. SG_ERR_ARGUMENT: n is too large, positions do not ascend or are not below n, or the bytes are
 * not those of the code. */
SG_UNSTABLE SG_CHECKED sg_status sg_wire_plan(struct sg_wire_plan *out, const struct sg_wire_encoding *encoding,
                                              const struct sg_message *message, struct sg_error *err);

/* Changes the plan to a prefix code, by how often each level occurs. It does so if the code has levels, the network
 * does not add such messages (message->summed), and the message becomes smaller. It reads the numbers. */
SG_UNSTABLE void sg_wire_shorten(struct sg_wire_plan *plan);

/* Upper bound of the bytes of a message with this n, count and bytes of numbers, for every encoding. */
SG_UNSTABLE uint64_t sg_wire_bound(uint64_t n, size_t count, size_t data_bytes);

/* Writes plan->bytes bytes into out. SG_ERR_ARGUMENT: the capacity is too small. SG_ERR_NONFINITE: a number is NaN or
 * Inf, and out is undefined. */
SG_UNSTABLE SG_CHECKED sg_status sg_wire_encode(uint8_t *out, size_t capacity, const struct sg_wire_plan *plan,
                                                struct sg_error *err);

/* The decoded header of a message. */
struct sg_wire_header {
    const struct sg_wire_encoding *encoding;
    const struct sg_code *code;
    unsigned parameter;
    uint64_t n;
    /* count is at most 8 times data_bytes or the bytes of the positions. data_bytes is the size of the decoded numbers,
     * at most 1024 times number_bytes, the size of the received ones. So it is safe to allocate memory for both. */
    size_t count;
    bool shorter; /* true: the numbers are written in fewer bits than the code defines */
    size_t header_bytes, index_bytes, number_bytes, data_bytes;
    size_t bytes; /* of the whole message; bytes behind them belong to something else */
};

/* Reads the header of the message that starts at in [available]. SG_ERR_FORMAT: there is none, or not all of the
 * message is there. */
SG_UNSTABLE SG_CHECKED sg_status sg_wire_peek(struct sg_wire_header *out, const uint8_t *in, size_t available,
                                              struct sg_error *err);

/* Decodes in [header->bytes], whose header was read. *out then has index [header->count], which may be NULL if count is
 * n, and data [header->data_bytes]; both are the caller's. Its bits are 0 and its layer_count is NULL. SG_ERR_FORMAT:
 * the bytes are no such message, and index and data are undefined. Any bytes are safe. */
SG_UNSTABLE SG_CHECKED sg_status sg_wire_decode(struct sg_message *out, uint32_t *index, void *data,
                                                const struct sg_wire_header *header, const uint8_t *in,
                                                struct sg_error *err);

#ifdef __cplusplus
}
#endif
#endif

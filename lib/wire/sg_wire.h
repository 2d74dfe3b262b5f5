/* sg_wire.h: a message as bytes.
 *
 * A message (sg_message.h) is n, the length of the vector it stands for, count ascending positions below n, and as many
 * finite numbers in a code. Encoded:
 *
 *     header    1 byte   format version 1 in the high half, number of the code in the low half
 *               1 byte   encoding of the positions: row of the table
 *               1 byte   parameter of the encoding, 0 if it has none
 *               n, count, bytes of payload as LEB128 numbers (7 bits a byte, low first, high bit = more follow);
 *               for a code without a fixed width also the bytes of the numbers
 *     payload   the positions as the encoding writes them; nothing at all when count is 0 or n
 *               the numbers as the code writes them: its width times count, or as many bytes as the header says
 *
 * Everything is little-endian. There is one encoding of a message under each (encoding, parameter): a decoder accepts
 * no other bytes. Sizes are exact before anything is encoded, so a caller allocates, compares and reports without
 * encoding.
 *
 * Functions are pure: no state, no allocation, safe from any thread. */
#ifndef SG_WIRE_H
#define SG_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sg_message.h"
#include "sg_status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SG_WIRE_MAX_N ((uint64_t)1 << 32) /* indices are 32 bits wide */

/* The positions of a message. */
struct sg_wire_set {
    uint64_t n; /* <= SG_WIRE_MAX_N */
    size_t count;
    const uint32_t *index; /* [count] ascending, < n; may be NULL when count is 0 or n */
};

/* One way to write the indices, asked only for 0 < count < n. Adding one = one file + one row at the table's end. */
struct sg_wire_encoding {
    const char *name, *summary;
    /* Exact bytes of the indices; *parameter, 0 when called, may be chosen. */
    uint64_t (*size)(const struct sg_wire_set *set, unsigned *parameter);
    /* Writes exactly the `bytes` that `size` said. */
    void (*encode)(uint8_t *out, size_t bytes, const struct sg_wire_set *set, unsigned parameter);
    /* Reads exactly `bytes` hostile bytes into index [count]: false unless they are count ascending indices below n as
     * `encode` writes them. */
    bool (*decode)(uint32_t *index, size_t count, uint64_t n, unsigned parameter, const uint8_t *in, size_t bytes);
};

/* The table: i-th encoding, NULL past the end; by name, NULL if unknown. */
const struct sg_wire_encoding *sg_wire_at(size_t i);
const struct sg_wire_encoding *sg_wire_find(const char *name);

/* How messages travel. */
struct sg_wire_format {
    const struct sg_wire_encoding *encoding; /* NULL = auto: the fewest bytes, ties to the earlier row of the table */
    const struct sg_code *code;              /* of the numbers */
};

/* A message's encoding, decided but not yet written. */
struct sg_wire_plan {
    const struct sg_wire_encoding *encoding;
    unsigned parameter;
    struct sg_message message; /* its index and data are borrowed */
    size_t header_bytes, index_bytes;
    size_t bytes; /* of the whole encoded message: header, indices and data */
};

/* Choose the parameter (and the encoding: NULL = auto) and compute sizes. O(count). Of the message its data are not
 * read. SG_ERR_ARGUMENT: n too large, indices not ascending or not below n, bytes that are not the code's. */
SG_CHECKED sg_status sg_wire_plan(struct sg_wire_plan *out, const struct sg_wire_encoding *encoding,
                                  const struct sg_message *message, struct sg_error *err);

/* No message of this n, count and bytes of data takes more bytes, under any encoding. */
uint64_t sg_wire_bound(uint64_t n, size_t count, size_t data_bytes);

/* Write plan->bytes into out. SG_ERR_ARGUMENT: capacity < plan->bytes. SG_ERR_NONFINITE: a number is Inf or NaN; out
 * holds nothing useful. */
SG_CHECKED sg_status sg_wire_encode(uint8_t *out, size_t capacity, const struct sg_wire_plan *plan,
                                    struct sg_error *err);

/* What an encoded message says about itself. */
struct sg_wire_header {
    const struct sg_wire_encoding *encoding;
    const struct sg_code *code;
    unsigned parameter;
    uint64_t n;
    size_t count; /* <= 8 times the payload's bytes: safe to allocate for */
    size_t header_bytes, index_bytes, data_bytes;
    size_t bytes; /* of the whole message; what follows is not its */
};

/* Read the header of the message that starts at in [available]. SG_ERR_FORMAT: not one, or not all of it. */
SG_CHECKED sg_status sg_wire_peek(struct sg_wire_header *out, const uint8_t *in, size_t available,
                                  struct sg_error *err);

/* Decode in [header->bytes], of which `header` was read: *out is then of index [header->count], which may be NULL when
 * count is n, and data [header->data_bytes], both the caller's; bits and layer_count are 0 and NULL. SG_ERR_FORMAT: the
 * bytes are no such message (any bytes are safe); index and data are then undefined. */
SG_CHECKED sg_status sg_wire_decode(struct sg_message *out, uint32_t *index, void *data,
                                    const struct sg_wire_header *header, const uint8_t *in, struct sg_error *err);

#ifdef __cplusplus
}
#endif
#endif

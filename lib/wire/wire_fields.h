/* wire_fields.h: the numbers of a code with parts and buckets (sg_wire_buckets.h) in fewer bits than its fields have.
 * lib/FORMATS.md has every bit.
 *
 * Scalars stay as they are. Fields become integers, 0 for the number 0 and small ones for small numbers. Each part has
 * them in the way that takes the fewest bits: as the fields they were; every integer in a prefix code made for the
 * part; or where many are 0, the lengths of the runs of zeros and the integers between them, both in prefix codes or,
 * as QSGD's publication has them, in Elias' gamma code, which needs no description. */
/* SPDX-License-Identifier: MIT */
#ifndef WIRE_FIELDS_H
#define WIRE_FIELDS_H

#include "sg_wire_buckets.h"

enum { WIRE_FIELDS_MOST = 1024 }; /* maximum ratio of shortening; it limits what a reader must allocate */

/* The exact number of bytes of the shortened numbers. */
uint64_t wire_fields_size(const struct sg_message *m);

/* Writes exactly the bytes of that size. */
void wire_fields_encode(uint8_t *out, size_t bytes, const struct sg_message *m);

/* Writes the numbers of a message that has this code, count and number of bytes as the code has them. Any `bytes` bytes
 * are safe. Returns false unless they are such numbers; then the data is undefined. sg_code.valid is still to be asked.
 * */
bool wire_fields_decode(uint8_t *data, const struct sg_message *m, const uint8_t *in, size_t bytes);

#endif

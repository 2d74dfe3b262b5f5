/* sg_recording.h: a file of everything that the compressors of a run were given, or of all its gradients.
 *
 * A recording of inputs holds, for worker i at step t, a = p / gamma_t in the `update` form of error feedback, and
 * a = p in the other forms. This is the fixed sequence of the communication complexity model (section 4.4, eq. 5), on
 * the gradient's scale. A recording of gradients holds a = g, bit for bit, so that they can be replayed (the task
 * `recorded`). The file is a line of JSON, then T (8 + n (8 + 4 d)) bytes of records, and a checksum; lib/FORMATS.md
 * maps every byte. The path appears when all is written; until then the file is PATH.part. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_RECORDING_H
#define SG_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sg_file.h"
#include "sg_json.h"
#include "sg_status.h"

struct sg_recording {
    cJSON *header;
    size_t workers, d, n_layers;
    size_t *offset;    /* [n_layers + 1] */
    size_t *rows;      /* [n_layers] as in sg_layout; NULL = not in the header */
    const char **name; /* [n_layers], pointers into the header; NULL = not in it */
    bool gradients;    /* it holds gradients, not inputs */
    uint64_t steps, steps_per_epoch;
    /* private */
    FILE *file;
    char *path, *part;
    sg_sha256 hash; /* of all bytes written so far */
    long begin;     /* the offset of record 0 in the file */
};

/* Begins PATH.part, or continues it if step > 0. Takes over the header, also on failure. One process at a time holds
 * PATH.part. To continue, the file must have the same header and at least `step` steps, and is cut there; `sha256` is
 * what sg_recording_hash gave at that step, and SG_ERR_MISMATCH means that the file differs. If there is no PATH.part
 * but a finished PATH, that file becomes PATH.part again. */
SG_CHECKED sg_status sg_recording_begin(struct sg_recording *out, const char *path, cJSON *take_header, uint64_t step,
                                        const char *sha256, struct sg_error *err);
/* The SHA-256 of all bytes written so far. */
void sg_recording_hash(const struct sg_recording *r, char hex[65]);
/* Append a step: first its gamma, then for each worker, in worker order, the entries that it sent and its a [d]. */
void sg_recording_put_step(struct sg_recording *r, double gamma);
SG_CHECKED sg_status sg_recording_put_worker(struct sg_recording *r, uint64_t sent, const float *a,
                                             struct sg_error *err);
/* sync: brings all that is written to the disk. end: writes the checksum, syncs, and renames PATH.part to PATH. */
SG_CHECKED sg_status sg_recording_sync(struct sg_recording *r, struct sg_error *err);
SG_CHECKED sg_status sg_recording_end(struct sg_recording *r, struct sg_error *err);

/* Opens a finished recording for reading. SG_ERR_ARGUMENT: it is not a plain file. SG_ERR_FORMAT: it is no recording,
 * not as long as its header says, or its bytes do not have its checksum, for which all of it is read. Recordings of
 * older programs, of schema 1, have none. Of the header the numbers are checked, that `constants` is an object, and
 * that rows and names, if it has any, are one for each layer. */
SG_CHECKED sg_status sg_recording_open(struct sg_recording *out, const char *path, struct sg_error *err);
/* Reads a step: *gamma, sent [workers] and a [workers][d]. SG_ERR_NONFINITE if one of them is not what a run records.
 * SG_ERR_IO: it cannot be read, or the file was cut since it was opened. */
SG_CHECKED sg_status sg_recording_step(const struct sg_recording *r, uint64_t step, double *gamma, uint64_t *sent,
                                       float *a, struct sg_error *err);
/* a [d] <- the a of `worker` at `step`, without a check of the numbers. Several threads may read at once. */
SG_CHECKED sg_status sg_recording_read(const struct sg_recording *r, uint64_t step, size_t worker, float *a,
                                       struct sg_error *err);

void sg_recording_free(struct sg_recording *r); /* zeroes it; PATH.part stays */

#endif

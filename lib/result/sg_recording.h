/* sg_recording.h: the inputs of a run's compressors, every one of them, as a file.
 *
 * What worker i compressed at step t is recorded as a = p / gamma_t in the `update` form of error feedback, and as p in
 * the others: the fixed sequence of the communication complexity model (section 4.4, eq. 5), on the gradient's scale.
 * A file is one line of JSON, the header,
 *   {"schema":"sparsetrain-inputs/1","method":…,"seed":"1","cell_key":…,"identity":…,"steps":T,"workers":n,
 *    "steps_per_epoch":…,"constants":{…},"layers":[elements of each]}
 * then for t = 0..T-1 a record in the machine's own byte order: gamma_t as double; for each worker the number of entries
 * it sent as uint64_t, then its a [d] as float. That is T (8 + n (8 + 4 d)) bytes. PATH appears when all is in it,
 * PATH.part until then. */
#ifndef SG_RECORDING_H
#define SG_RECORDING_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sg_file.h"
#include "sg_json.h"
#include "sg_status.h"

struct sg_recording {
    cJSON *header;
    size_t workers, d, n_layers;
    size_t *offset; /* [n_layers + 1] */
    uint64_t steps, steps_per_epoch;
    /* private */
    FILE *file;
    char *path, *part;
    sg_sha256 hash; /* of all that was written */
    uint64_t next;  /* step that is read next */
    long begin;     /* of record 0 */
};

/* Begin PATH.part, or with step > 0 go on in one that has the same header and at least so many steps, cut there; where
 * it is not there but PATH is, in PATH, which becomes PATH.part again. sha256: of all up to that step, as
 * sg_recording_hash gave it; SG_ERR_MISMATCH when it is not that. One process at a time holds PATH.part. Takes over the
 * header, also on failure. */
SG_CHECKED sg_status sg_recording_begin(struct sg_recording *out, const char *path, cJSON *take_header, uint64_t step,
                                        const char *sha256, struct sg_error *err);
/* SHA-256 of all that was written so far. */
void sg_recording_hash(const struct sg_recording *r, char hex[65]);
/* Append: gamma, then what each worker sent and was given, in worker order. */
void sg_recording_put_step(struct sg_recording *r, double gamma);
SG_CHECKED sg_status sg_recording_put_worker(struct sg_recording *r, uint64_t sent, const float *a,
                                             struct sg_error *err);
/* Bring all of it to the disk; the same and give it its name. */
SG_CHECKED sg_status sg_recording_sync(struct sg_recording *r, struct sg_error *err);
SG_CHECKED sg_status sg_recording_end(struct sg_recording *r, struct sg_error *err);

/* Open a finished one for reading. SG_ERR_FORMAT: not a recording, or not as long as its header says; SG_ERR_ARGUMENT: not
 * a plain file. Of the header the numbers are checked, and that `constants` is an object. */
SG_CHECKED sg_status sg_recording_open(struct sg_recording *out, const char *path, struct sg_error *err);
/* The next step: sent [workers], a [workers][d]; every a is finite or SG_ERR_NONFINITE. Asked for at most `steps` times
 * after opening or rewinding. */
SG_CHECKED sg_status sg_recording_next(struct sg_recording *r, double *gamma, uint64_t *sent, float *a,
                                       struct sg_error *err);
void sg_recording_rewind(struct sg_recording *r);

void sg_recording_free(struct sg_recording *r); /* zeroes it; PATH.part stays */

#endif

/* sg_verify.h: tests of the properties that every compressor must have: nothing is lost, the declared class holds, bits
 * are counted right, results do not depend on kernels, threads, ranks and checkpoints, and damaged bytes are handled.
 *
 * The unit tests and sparsebench --verify-compressors run the same checks, of every row of the table. Random draws have
 * fixed seeds, so a verdict is the same every time. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_VERIFY_H
#define SG_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sg_message.h"
#include "sg_method.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- inputs ---- */

enum sg_pattern {
    SG_PATTERN_NORMAL,
    SG_PATTERN_EQUAL,
    SG_PATTERN_FEW_VALUES,
    SG_PATTERN_ZEROS,
    SG_PATTERN_SUBNORMAL,
    SG_PATTERN_NEIGHBOURS, /* a step of the last bit decides which is the larger one */
    SG_PATTERN_WIDE,
    SG_PATTERNS
};
extern const char *const sg_pattern_name[SG_PATTERNS]; /* "+-0" */

/* x [n] <- numbers of the pattern, drawn with this seed. A smaller n gives the first n numbers of a larger one. */
void sg_pattern_fill(float *x, size_t n, enum sg_pattern pattern, uint64_t seed);

/* ---- the checks ---- */

enum sg_verify_property {
    SG_VERIFY_FORM,      /* messages are well formed, each position in its layer */
    SG_VERIFY_BITS,      /* the bits that messages state are those of their numbers and positions */
    SG_VERIFY_CONSERVES, /* the sent part plus the kept part is the input */
    SG_VERIFY_CLASS,     /* the bound that is declared holds for every input */
    SG_VERIFY_MEAN,      /* over many draws: unbiased if declared, and the bound of a random compressor */
    SG_VERIFY_REPEAT,    /* a deterministic selector that is given what it sent sends the same */
    SG_VERIFY_SAME,      /* the same bits for all kernels, threads and ranks */
    SG_VERIFY_RESUME,    /* the same bits after a checkpoint */
    SG_VERIFY_EDGES,     /* one nonzero number, and numbers of 2^127, give a message or an error with its reason */
    SG_VERIFY_NONFINITE, /* NaN and Inf stop the run, and the error names worker, step and layer */
    SG_VERIFY_DAMAGE,    /* bytes that were cut off are refused, and wrong bits are refused or give finite numbers */
    SG_VERIFY_PROPERTIES
};

/* The name of each property in tables and JSON, and its meaning in one line. */
extern const struct sg_verify_meaning { const char *name, *summary; } sg_verify_meaning[SG_VERIFY_PROPERTIES];

struct sg_verdict {
    size_t runs, failed; /* runs 0: the property does not apply to the compressor, or was not tested */
    bool untested;       /* the compressor lacks what the test needs; `example` states what is missing */
    char example[240];   /* the first failure: "levels = 7, n 33, +-0, ...: why"; else empty */
};

typedef struct sg_verify sg_verify;

/* Allocates inputs and buffers. Vectors of up to 1000 elements are tested in every way. If `longest` (>= 1000) is above
 * 2^16 + 2, vectors of longest - 2, longest - 1 and longest elements are tested too, in fewer ways: threads share the
 * work on them. 2^20 + 1 takes seconds for each compressor. */
enum { SG_VERIFY_SHORT = 4096, SG_VERIFY_LONG = (1 << 20) + 1 };
sg_verify *sg_verify_open(size_t longest);
void sg_verify_close(sg_verify *v);

/* Tests a compressor in every way; out <- the verdict on each property. */
void sg_verify_compressor(sg_verify *v, const struct sg_compressor_ops *ops,
                          struct sg_verdict out[SG_VERIFY_PROPERTIES]);

/* ---- steps of a method, for the checks and the unit tests ---- */

struct sg_verify_at {
    size_t worker; /* number among all workers */
    double gamma;
    uint64_t step;
    const struct sg_ranges *touched; /* argument of sg_method_send; NULL = anywhere */
};

/* Begins a step and makes the message of one worker; the method must have no other worker. */
SG_CHECKED sg_status sg_verify_send(sg_method *m, struct sg_verify_at at, const float *g, float *e,
                                    struct sg_message *out, struct sg_error *err);

enum { SG_VERIFY_WORKERS = 16 }; /* maximum number of workers in one step */

/* A step of methods that share the workers of a run, as ranks do: part [parts]. The
 * gradients g [workers][d] and residuals e [workers][d] (NULL = none) give the sum [d] and what it cost, *bits. Returns
 * false if something fails, or if ranks do not agree. */
bool sg_verify_step(sg_method **part, size_t parts, uint64_t step, double gamma, const float *g, float *e, size_t d,
                    float *sum, double *bits);

/* Copies the checkpointed state of `from`, whose workers are first .. first + count - 1, into `to`. Returns false if
 * memory is exhausted. */
bool sg_verify_copy_state(sg_method *to, const sg_method *from, size_t first, size_t count);

#ifdef __cplusplus
}
#endif
#endif

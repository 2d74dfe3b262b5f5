/* sg_verify.h: what every compressor promises, tried out: nothing is lost, the declared class holds, bits are counted
 * right, and kernels, threads, ranks, checkpoints and damage change nothing that they must not.
 *
 * The unit tests and sparsebench --verify-compressors run the same checks, of every row of the table. Random draws are
 * named, so a verdict is the same every time. */
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

/* x [n] <- numbers of the pattern; the seed names the draws. Fewer numbers are the beginning of more. */
void sg_pattern_fill(float *x, size_t n, enum sg_pattern pattern, uint64_t seed);

/* ---- the checks ---- */

enum sg_verify_property {
    SG_VERIFY_FORM,      /* messages are well formed, each position in its layer */
    SG_VERIFY_BITS,      /* the bits that messages state are those of their numbers and positions */
    SG_VERIFY_CONSERVES, /* what is sent and what is kept are together what was given */
    SG_VERIFY_CLASS,     /* the bound that is declared holds for every input */
    SG_VERIFY_MEAN,      /* over many draws: unbiased if declared, and the bound of a random compressor */
    SG_VERIFY_REPEAT,    /* a deterministic selector that is given what it sent sends the same */
    SG_VERIFY_SAME,      /* the same bits for all kernels, threads and ranks */
    SG_VERIFY_RESUME,    /* the same bits after a checkpoint */
    SG_VERIFY_EDGES,     /* one number that is not 0, and numbers of 2^127: a message, or an error that says why not */
    SG_VERIFY_NONFINITE, /* NaN and Inf stop the run, and the error names worker, step and layer */
    SG_VERIFY_DAMAGE,    /* bytes that were cut off are refused, and wrong bits are refused or give finite numbers */
    SG_VERIFY_PROPERTIES
};

/* A property by its name in tables and JSON, and what it means in a line. */
extern const struct sg_verify_meaning { const char *name, *summary; } sg_verify_meaning[SG_VERIFY_PROPERTIES];

struct sg_verdict {
    size_t runs, failed; /* runs 0: the property does not apply to the compressor, or was not tested */
    bool untested;       /* it is declared without what a test needs; then the example says what is missing */
    char example[240];   /* the first failure: "levels = 7, n 33, +-0, ...: why"; else empty */
};

typedef struct sg_verify sg_verify;

/* Allocates inputs and room. Vectors of up to 1000 elements are tried in every way. If `longest`, 1000 or more, is
 * above 2^16 + 2, vectors of it and of one and two elements fewer are tried as well, in fewer ways: there threads share
 * the work. 2^20 + 1 takes seconds for each compressor. SG_ERR_MEMORY. */
enum { SG_VERIFY_SHORT = 4096, SG_VERIFY_LONG = (1 << 20) + 1 };
SG_CHECKED sg_status sg_verify_open(sg_verify **out, size_t longest, struct sg_error *err);
void sg_verify_close(sg_verify *v);

/* Tries a compressor in every way; *out tells of each property. */
void sg_verify_compressor(sg_verify *v, const struct sg_compressor_ops *ops,
                          struct sg_verdict out[SG_VERIFY_PROPERTIES]);

/* ---- steps of a method, as checks and unit tests take them ---- */

struct sg_verify_at {
    size_t worker; /* its number */
    double gamma;
    uint64_t step;
    const struct sg_ranges *touched; /* as sg_method_send takes it; NULL = anywhere */
};

/* Begins a step, and makes the message of one worker, which is the method's only one. */
SG_CHECKED sg_status sg_verify_send(sg_method *m, struct sg_verify_at at, const float *g, float *e,
                                    struct sg_message *out, struct sg_error *err);

enum { SG_VERIFY_WORKERS = 16 }; /* at most so many in one step */

/* A step of methods that share the workers of a run, as ranks do: part [parts]. The
 * gradients g [workers][d] and residuals e [workers][d] (NULL = none) give the sum [d] and what it cost, *bits. Returns
 * false if something fails, or if ranks do not agree. */
bool sg_verify_step(sg_method **part, size_t parts, uint64_t step, double gamma, const float *g, float *e, size_t d,
                    float *sum, double *bits);

/* Saves what a checkpoint has of `from`, whose workers are first .. first + count - 1, and loads it into `to`. Returns
 * false if there is no memory. */
bool sg_verify_copy_state(sg_method *to, const sg_method *from, size_t first, size_t count);

#ifdef __cplusplus
}
#endif
#endif

/* sg_flat.h: the library in flat calls: arrays and a text in, entries or bytes out. They do what sg_method.h and
 * sg_wire.h do, with fewer structs, for first steps, other languages and exchanges of one's own.
 *
 * What holds for all calls, unless one says otherwise:
 *   - Vectors are floats in host memory, and lengths count elements. Pointers are borrowed for the call. Arrays do not
 *     overlap.
 *   - A failed call returns a status, and err, which is never NULL, has the message for a person.
 *   - They are synchronous, and results do not depend on the number of threads. For work on a CUDA stream see sg_cuda.h.
 *   - Calls on distinct vectors or methods may come from distinct threads. */
#ifndef SG_FLAT_H
#define SG_FLAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sg_status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library that runs, "0.1.0"; sparsegrad.h has that of the headers. */
SG_API const char *sg_library_version(void);

/* ---- one vector, without a method ----
 *
 * With p = e + g, rounded once, entries of p are sent, and e keeps the others: e <- p where nothing is sent, +0 where p
 * is. So what is sent and what is kept are p again, bit for bit.
 *
 *   g [n]      the gradient, not modified
 *   e [n]      the residual, zeros before the first step; NULL = no error feedback: p = g, and what is not sent is lost
 *   n          0 .. 2^32 - 1
 *   threads    >= 1
 *   index      out: where what is sent lies, ascending: [k] of sg_topk, which writes no more; [n] of sg_hard_threshold,
 *              where those behind the result are undefined
 *   value      out, in the same way: the entries of p there, unchanged
 *
 * SG_ERR_ARGUMENT: k or lambda is out of its range. SG_ERR_NONFINITE: some p is NaN or Inf. SG_ERR_MEMORY. After the
 * last two index, value and e are undefined. */

/* Sends the k largest |p|, of equal ones those with the lower index; exactly k, zeros too. k <= n. */
SG_API SG_CHECKED sg_status sg_topk(const float *g, float *e, size_t n, size_t k, int threads, uint32_t *index,
                                    float *value, struct sg_error *err);

/* Sends every |p| >= lambda; *count <- how many these are. lambda >= 0: 0 sends everything, INFINITY nothing. */
SG_API SG_CHECKED sg_status sg_hard_threshold(const float *g, float *e, size_t n, float lambda, int threads,
                                              uint32_t *index, float *value, size_t *count, struct sg_error *err);

/* Entries as bytes, in the encoding of positions that takes the fewest (sg_wire.h, lib/FORMATS.md). sg_encode_bound is
 * room enough for any `count` entries of n; out [capacity] <- the message, *bytes <- its length. index NULL = all n.
 * SG_ERR_ARGUMENT: index does not ascend below n, or the capacity is too small. SG_ERR_NONFINITE: a value is NaN or Inf.
 * */
SG_API size_t sg_encode_bound(size_t n, size_t count);
SG_API SG_CHECKED sg_status sg_encode(uint8_t *out, size_t capacity, size_t *bytes, size_t n, const uint32_t *index,
                                      const float *value, size_t count, struct sg_error *err);

/* sum [n] += a message in any code, from whomever it came. Called for the messages of workers 0, 1, ... in turn it gives
 * the sum that every rank of a trainer has. SG_ERR_FORMAT: the bytes are no whole message and nothing else.
 * SG_ERR_MISMATCH: it does not stand for n numbers. Any bytes are safe. */
SG_API SG_CHECKED sg_status sg_decode(float *sum, size_t n, const uint8_t *message, size_t bytes, struct sg_error *err);

/* ---- a method from a text ----
 *
 *     COMPRESSOR [KEY=VALUE]... [| CODE [KEY=VALUE]...] [; SETTING=VALUE [KEY=VALUE]...]...
 *
 *     topk density=0.001
 *     topk density=0.001 | levels levels=15
 *     hard-threshold lambda=0.01; error-feedback=dgc-momentum beta=0.9; seed=7
 *
 * Names of compressors, codes and parameters are those of recipes (recipes/README.md, sparsetrain --help-compressors).
 * A parameter that is not named has its preset. Values are plain decimals: recipes know
 * expressions, texts do not. Settings:
 *
 *     error-feedback=RULE    with its parameters, and `decay`. Without it: `gradient`, e <- e + g - sent. Recipes begin
 *                            with `update`, which expects learning rates in sg_method_begin and an optimizer that adds
 *     controller=KIND        with its parameters
 *     steps=N, steps-per-epoch=N     of the run, for controllers that need them
 *     seed=N                 names the random draws; every process has the same. Without it: 0
 *     threads=N              for the compression of one worker. Without it: 1 */

/* How the flat parameter vector is cut into layers. */
struct sg_layout {
    size_t n_layers;
    const size_t *offset;    /* [n_layers + 1] ascending, from offset[0] = 0 to offset[n_layers] = d */
    const char *const *name; /* [n_layers] for messages; NULL = layers have no names */
    /* [n_layers] how many rows a layer has as a matrix that is stored row by row (for a tensor its first dimension); 1
     * = a plain vector. NULL = all layers are plain vectors. */
    const size_t *rows;
};

/* A compressor with its code, error feedback and controller, for the workers of one process. */
typedef struct sg_method sg_method;

/* Opens the method of a text for workers first .. first + count - 1 of `workers`: a process that hosts one of eight
 * workers says its rank, 1 and 8. The layout is copied. *out is NULL on failure; sg_method_close closes it. */
SG_API SG_CHECKED sg_status sg_method_open_text(sg_method **out, const char *text, const struct sg_layout *layout,
                                                size_t workers, size_t first, size_t count, struct sg_error *err);

SG_API void sg_method_close(sg_method *m); /* NULL is fine */
/* Has every worker a residual? If not, e is NULL in all calls. */
SG_API bool sg_method_has_residuals(const sg_method *m);
/* Have workers parameters of their own, from which their gradients are taken? */
SG_API bool sg_method_is_local(const sg_method *m);

/* What a checkpoint needs beside the residuals: `common` once for all workers, the same on every rank, and `worker` for
 * each worker. Every rank can ask for the size of every worker; only the rank of a worker saves and loads it. Sizes do
 * not change while the method is open. Memory is the host's. */
SG_API size_t sg_method_common_bytes(const sg_method *m);
SG_API void sg_method_common_save(const sg_method *m, void *out);
SG_API void sg_method_common_load(sg_method *m, const void *in);
SG_API size_t sg_method_worker_bytes(const sg_method *m, size_t worker);
SG_API void sg_method_worker_save(const sg_method *m, size_t worker, void *out);
SG_API void sg_method_worker_load(sg_method *m, size_t worker, const void *in);

/* ---- a step whose messages travel as bytes ---- */

/* An exchange of the caller's own: gives every process the bytes of all workers.
 *   own [count], own_size [count]      the bytes of the workers of this process, in their order, borrowed for the call
 *   *all [workers], *all_size          <- those of all workers, in their order, the own ones among them. They stay as
 *                                      they are until the next call, or until the step has ended
 * A failure fills err and ends the step. */
typedef sg_status sg_gather(void *of, const uint8_t *const *own, const size_t *own_size, const uint8_t *const **all,
                            const size_t **all_size, struct sg_error *err);

/* Plays step `step` at learning rate gamma: compresses, exchanges as often as the method needs, decodes, adds and keeps
 * the residuals. Every process calls it for the same steps. All then have the same sum, which the trainer has, too, bit
 * for bit. Divided by the number of workers it is the mean.
 *   g [count]      the gradients [d] of the own workers, not modified
 *   e [count]      their residuals [d], zeros before the first step; NULL, or an entry of NULL, where the method has none
 *                  (sg_method_has_residuals)
 *   sum [d]        <- what all workers sent, added
 *   gather, of     called once in each round of the method, and once before where it has a controller that goes by
 *                  worker 0's gradient; NULL = all workers are in this process
 * It works for every compressor, code, controller and number of rounds, but not for feedback rules whose workers have
 * parameters of their own (sg_method_is_local), nor on a GPU: SG_ERR_UNSUPPORTED. SG_ERR_FORMAT or SG_ERR_MISMATCH names
 * the worker whose bytes are no message, or not one of this length and code. Messages are otherwise trusted, as the
 * ranks of a run trust each other. After a failure residuals and sum are undefined, and the method must be closed. */
SG_API SG_CHECKED sg_status sg_method_step(sg_method *m, uint64_t step, double gamma, const float *const *g,
                                           float *const *e, float *sum, sg_gather *gather, void *of,
                                           struct sg_error *err);

#ifdef __cplusplus
}
#endif
#endif

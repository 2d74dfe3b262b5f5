/* sg_flat.h: the library as plain functions: arrays and a text in, entries or bytes out. They do what sg_method.h and
 * sg_wire.h do, with fewer structs, for first steps, other languages and programs with their own exchange.
 *
 * These rules hold for all calls, unless a call states an exception:
 *   - Vectors are floats in host memory, and lengths count elements. Pointers are borrowed for the call. Arrays do not
 *     overlap.
 *   - err is never NULL. A failed call returns a status and writes a readable message into err.
 *   - They are synchronous, and results do not depend on the number of threads. For work on a CUDA stream see
 *   sg_cuda.h.
 *   - After fork() the calls of the child work with one thread, because OpenMP's other threads are in the parent only.
 *   - Calls on distinct vectors or methods may come from distinct threads. */
/* SPDX-License-Identifier: MIT */
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
 * With p = e + g, rounded once, some entries of p are sent and e keeps the others: e[i] <- +0 if p[i] is sent, else
 * e[i] <- p[i]. So the sent entries and e together are p, bit for bit.
 *
 *   g [n]      the gradient, not modified
 *   e [n]      the residual, zeros before the first step; NULL = no error feedback: p = g, and what is not sent is lost
 *   n          0 .. 2^32 - 1
 *   threads    >= 1
 *   index      out: positions of the sent entries, ascending. sg_topk: [k]. sg_hard_threshold: [n], undefined from
 *              *count on
 *   value      out: the entries of p at these positions, unchanged; as long as index
 *
 * SG_ERR_ARGUMENT: k or lambda is out of its range. SG_ERR_NONFINITE: some p is NaN or Inf. SG_ERR_MEMORY. After the
 * last two index, value and e are undefined. */

/* Sends the k largest |p|; ties go to the lower index. It sends exactly k entries, zeros too. k <= n. */
SG_API SG_CHECKED sg_status sg_topk(const float *g, float *e, size_t n, size_t k, int threads, uint32_t *index,
                                    float *value, struct sg_error *err);

/* Sends every p[i] with |p[i]| >= lambda; *count <- their number. lambda >= 0: 0 sends everything, INFINITY nothing. */
SG_API SG_CHECKED sg_status sg_hard_threshold(const float *g, float *e, size_t n, float lambda, int threads,
                                              uint32_t *index, float *value, size_t *count, struct sg_error *err);

/* Writes entries as bytes, with the encoding of positions that needs the fewest (sg_wire.h, lib/FORMATS.md). No `count`
 * entries of n need more than sg_encode_bound. out [capacity] <- the message, *bytes <- its length. index NULL = all n.
 * SG_ERR_ARGUMENT: index does not ascend below n, or the capacity is too small. SG_ERR_NONFINITE: a value is NaN or
 * Inf.
 * */
SG_API size_t sg_encode_bound(size_t n, size_t count);
SG_API SG_CHECKED sg_status sg_encode(uint8_t *out, size_t capacity, size_t *bytes, size_t n, const uint32_t *index,
                                      const float *value, size_t count, struct sg_error *err);

/* sum [n] += a message in any code. Called for the messages of workers 0, 1, ... in order, it computes the sum that
 * every rank of a trainer has. SG_ERR_FORMAT: the bytes are not exactly one message. SG_ERR_MISMATCH: it does not stand
 * for n numbers. Any bytes are safe. */
SG_API SG_CHECKED sg_status sg_decode(float *sum, size_t n, const uint8_t *message, size_t bytes, struct sg_error *err);

/* ---- a method from a text ----
 *
 *     COMPRESSOR [KEY=VALUE]... [| CODE [KEY=VALUE]...] [; SETTING=VALUE [KEY=VALUE]...]...
 *
 *     topk density=0.001
 *     topk density=0.001 | levels levels=15
 *     hard-threshold lambda=0.01; error-feedback=dgc-momentum momentum=0.9; seed=7
 *
 * Names of compressors, codes and parameters are those of recipes (sparsetrain --help-recipe, --help-compressors).
 * A parameter that is not named has its preset. Values are plain decimals; expressions are allowed
 * in recipes only. Settings:
 *
 *     error-feedback=RULE    with its parameters, and `decay`. Default: `gradient`, e <- e + g - sent. The default of
 *                            recipes is `update`, which needs learning rates (gamma) and an optimizer that adds
 *     controller=KIND        with its parameters
 *     steps=N, steps-per-epoch=N     of the run, for controllers that need them
 *     seed=N                 of the random draws; the same in every process. Default: 0
 *     threads=N              for the compression of one worker. Default: 1 */

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

/* Opens the method of a text for workers first .. first + count - 1 of `workers`. A process that hosts one of eight
 * workers passes first = its rank, count = 1, workers = 8. The layout is copied. *out is NULL on failure. */
SG_API SG_CHECKED sg_status sg_method_open_text(sg_method **out, const char *text, const struct sg_layout *layout,
                                                size_t workers, size_t first, size_t count, struct sg_error *err);

SG_API void sg_method_close(sg_method *m); /* NULL is fine */
/* true: every worker has a residual. false: e is NULL in all calls. */
SG_API bool sg_method_has_residuals(const sg_method *m);
/* true: every worker has parameters of its own, at which it computes its gradients. */
SG_API bool sg_method_is_local(const sg_method *m);

/* The state that a checkpoint needs beside the residuals: `common` once for all workers, the same on every rank, and
 * `worker` for each worker. Every rank can read the size for every worker; only a worker's own rank saves and loads it.
 * Sizes do not change while the method is open. `out` and `in` are host memory. */
SG_API size_t sg_method_common_bytes(const sg_method *m);
SG_API void sg_method_common_save(const sg_method *m, void *out);
SG_API void sg_method_common_load(sg_method *m, const void *in);
SG_API size_t sg_method_worker_bytes(const sg_method *m, size_t worker);
SG_API void sg_method_worker_save(const sg_method *m, size_t worker, void *out);
SG_API void sg_method_worker_load(sg_method *m, size_t worker, const void *in);

/* ---- what a text may name ---- */

/* The rows of a table: "compressor", "code", "error-feedback" or "controller". Row `row` has this name and this line of
 * help; NULL = there is no such row, or no such table. */
SG_API const char *sg_text_row(const char *table, size_t row, const char **summary);
/* Parameter `parameter` of a row; NULL = it has no more. number <- the least, the greatest and the preset value; a
 * preset of NaN means that a text must give it, or another one in its place. */
SG_API const char *sg_text_parameter(const char *table, size_t row, size_t parameter, double number[3],
                                     const char **help);

/* ---- a step whose messages travel as bytes ---- */

/* An exchange of the caller's own: gives every process the bytes of all workers.
 *   own [count], own_size [count]      the bytes of the workers of this process, in their order, borrowed for the call
 *   *all [workers], *all_size          <- the bytes of all workers, in their order, with the own ones. They must not
 *                                      change until the next call, or until the step has ended
 * A failure fills err and ends the step. */
typedef sg_status sg_gather(void *of, const uint8_t *const *own, const size_t *own_size, const uint8_t *const **all,
                            const size_t **all_size, struct sg_error *err);

/* Plays step `step` at learning rate gamma: compresses, exchanges as often as the method needs, decodes, adds and keeps
 * the residuals. Every process calls it for the same steps. The sum is then the same in all processes, and the same as
 * in the trainer, bit for bit. Divided by the number of workers it is the mean.
 *   g [count]      the gradients [d] of the own workers, not modified
 *   e [count]      their residuals [d], zeros before the first step; NULL, or an entry of NULL, where the method
 *                  has none (sg_method_has_residuals)
 *   sum [d]        <- what all workers sent, added
 *   gather, of     called once in each round of the method, and once before them if its controller uses worker 0's
 *                  gradient; NULL = all workers are in this process
 * SG_ERR_ARGUMENT: a gradient is NULL.
 * It works for every compressor, code, controller and number of rounds, but not for feedback rules whose workers have
 * parameters of their own (sg_method_is_local), nor on a GPU: SG_ERR_UNSUPPORTED. SG_ERR_FORMAT or SG_ERR_MISMATCH
 * names the worker whose bytes are no message, or not one of this length and code. Messages are otherwise trusted, as
 * the ranks of a run trust each other. After a failure residuals and sum are undefined, and the method must be
 * closed. */
SG_API SG_CHECKED sg_status sg_method_step(sg_method *m, uint64_t step, double gamma, const float *const *g,
                                           float *const *e, float *sum, sg_gather *gather, void *of,
                                           struct sg_error *err);

/* What the workers of this process sent in the last step, added up over them: entries; bits, as the method's
 * publication counts them; and bytes, as the exchange was given them. Of messages that an exchange adds up, a process
 * gives it one for all of its workers. */
struct sg_sent {
    double entries, bits, bytes;
};
SG_API void sg_method_sent(const sg_method *m, struct sg_sent *out);

/* ---- steps of which not every message comes to every process ---- */

/* true: a layer's message depends on that layer alone, so that layers may have methods of their own, whose steps begin
 * as their gradients come. Only random draws differ: give each of these methods a seed of its own. false: a controller
 * or the feedback rule goes by the whole model. */
SG_API bool sg_method_is_by_layer(const sg_method *m);
/* true: it writes every element in a code that no network adds, and a step may add its messages in parts. */
SG_API bool sg_method_may_share(const sg_method *m);
/* true: a step reads nothing of gradient and residual but their sum, at any learning rate. So a gradient may be handed
 * in as the residual, and the residual as the gradient: it then stays as it was, for a caller who may have to undo the
 * step, and the gradient's array has the new residual, the same bits. A plug-in's compressor may read more. */
SG_API bool sg_method_reads_sum(const sg_method *m);

/* An all-reduce of the caller's own: numbers [count] <- their sums over all processes, the same bits in each of them.
 * With one worker in a process every number is exact in the code of that name: fp32, fp16 or bf16. With several they
 * are sums of such numbers. */
typedef sg_status sg_reduce(void *of, float *numbers, size_t count, const char *code, struct sg_error *err);

/* What every step hands to `reduce` in call 0, 1, ...: how many numbers, and their code. 0: there is no such call, or
 * only the step knows. So a process that cannot play a step may still join the others' sums, with zeros. */
SG_API size_t sg_method_reduces(const sg_method *m, unsigned call, const char **code);

/* Brings the sum of each part from the process that computed it to all processes: sum[mine] is complete at the call,
 * and all are after it. It may change all of them, if they have the same bits in all processes afterwards. */
typedef sg_status sg_spread(void *of, float *const *sum, struct sg_error *err);

struct sg_exchange {
    size_t size;       /* sizeof(struct sg_exchange) */
    sg_gather *gather; /* as in sg_method_step; of several parts, see below */
    sg_reduce *reduce; /* NULL = all messages are gathered */
    sg_spread *spread; /* for several parts */
    size_t mine;       /* of several parts the one that this process adds up */
    void *of;
};

/* sg_method_step with more ways to exchange. The messages of none, fp16, bf16, random-k with shared positions and of
 * PowerSGD's rounds go to `reduce` if there is one: the sum is then its own, in its order of addition, and is not
 * checked for NaN and Inf.
 *
 * With parts > 1 the vector is cut into parts, each with a method of its own, and the messages of a part go to one
 * process only, which decodes and adds them.
 *   part [parts]           methods of the same workers, with sg_method_may_share
 *   g, e [parts][count]    gradients and residuals of each part's layout
 *   sum [parts]            <- the sums, as `spread` left them
 * Here `gather` is given the messages of all parts, [parts][count], and returns those of part `mine` of all workers,
 * [workers]; reduce is not called. */
SG_API SG_CHECKED sg_status sg_method_step_with(sg_method *const *part, size_t parts, uint64_t step, double gamma,
                                                const float *const *g, float *const *e, float *const *sum,
                                                const struct sg_exchange *by, struct sg_error *err);

#ifdef __cplusplus
}
#endif
#endif

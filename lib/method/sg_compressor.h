/* sg_compressor.h: the interface of a compressor, for authors of compressors and for programs that list them.
 *
 * There are two kinds. A selector sends some elements unchanged and keeps the others, in one fused pass of a kernel. A
 * coder is given p and writes a message of any kind; it never sees the residual. The values of a selector may be
 * written in any code (sg_message.h), so that sparsification and quantization compose.
 *
 * A compressor is one file with a `const struct sg_compressor_ops` and its name in method_private.h, or a plug-in
 * (sg_compressor_plugin.h). Programs, recipes, tests and benchmarks find it by its declaration. It is used through
 * sg_method.h, which adds error feedback, a controller and the state of all workers.
 *
 * Letters are those of Algorithm 1 of the paper: g gradient, e residual, p what is to be compressed. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_COMPRESSOR_H
#define SG_COMPRESSOR_H

#include "sg_unstable.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sg_feedback.h"
#include "sg_flat.h"
#include "sg_kernels.h"
#include "sg_message.h"
#include "sg_parameter.h"
#include "sg_status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Parts of a vector: elements begin .. end-1 of each, ascending and without overlap. */
struct sg_range {
    size_t begin, end;
};
struct sg_ranges {
    const struct sg_range *range; /* [count] */
    size_t count;
};

enum sg_trait {
    SG_TRAIT_RELATIVE = 1 << 0, /* E|x - C(x)|^2 <= (1 - delta)|x|^2 (Definition 2) */
    SG_TRAIT_ABSOLUTE = 1 << 1, /* E|x - C(x)|^2 <= nu^2 (Definition 3) */
    SG_TRAIT_UNBIASED = 1 << 2,
    SG_TRAIT_WANTS_FEEDBACK = 1 << 3, /* diverges or stalls without error feedback */
    SG_TRAIT_DENSE = 1 << 4,          /* sends all elements: its messages have no positions */
    SG_TRAIT_RANDOM = 1 << 5,         /* uses random draws */
    SG_TRAIT_EXACT = 1 << 6, /* sends everything unchanged, so the residual is always zero and need not exist */
    SG_TRAIT_GPU = 1 << 7,   /* only kernels touch its vectors, so it runs wherever the kernels' memory is */
    /* A selector whose positions cost less than 32 bits each: `select` stores their cost in w->position_bits. */
    SG_TRAIT_CHEAP_POSITIONS = 1 << 8,
    /* Networks can add its messages on their way as they are: all workers send numbers of the same positions, in a
     * format that MPI or NCCL adds. Compressors whose rounds have a `length` do not need it. */
    SG_TRAIT_SUMS = 1 << 9,
    SG_TRAIT_DIRECTIONS = 1 << 10 /* the sum of a matrix is a direction, for optimizers that take steps */
};

/* A status beside those of enum sg_kernel_status: the compressor failed, and said why on standard error. */
enum { SG_COMPRESSOR_FAILED = 32 };

struct sg_compressor_ops;

/* The part of a compressor that all workers of a rank share. `memory` is the same on every rank. */
struct sg_shared {
    const struct sg_compressor_ops *ops; /* the compressor's row, which may be the first member of a larger struct */
    const double *param;                 /* [n_params] presets filled in; NaN = not given */
    const double *knob; /* [n_layers] the parameter `knob` in each layer at this step, as the controller set it */
    bool controlled;    /* the knob may change from step to step */
    uint64_t seed, step;
    /* (gamma of the last step) / gamma if the feedback rule follows the rate, else 1: the factor on a residual that the
     * compressor itself keeps in `memory`. */
    double rate_ratio;
    size_t workers; /* of all ranks */
    struct sg_layout layout;
    struct sg_feedback feedback;
    const struct sg_code *code; /* for the values that a selector sends */
    const struct sg_kernels *kernels;
    struct sg_exec exec; /* of one worker's compression */
    float *memory; /* [rounds->floats] kept between rounds and steps, in the kernels' memory; NULL without rounds */
    /* [rounds->room bytes] of host memory, kept between the rounds of a step. It is zero before `start`, which may fill
     * it. Checkpoints do not save it. */
    void *room;
    /* [steps][n_layers][workers] what Top-k sends, in place of its knob; NULL = its knob decides. */
    const uint32_t *copied;
    const struct sg_message *heard; /* [workers] if rounds->hears: this round's messages, in `combine` and `keep` */
};

/* One worker at one step, as its compressor sees it. Hooks may run for distinct workers on distinct threads. */
struct sg_worker {
    const struct sg_shared *shared;
    uint32_t number; /* of the worker, among all */
    double unit;     /* the factor from the gradient's scale to that of p: gamma if feedback works in updates, else 1 */
    bool counted;    /* true: there is a budget of entries, so zeros should not be sent */
    double most;     /* maximum of entries at this step, set by the controller; a selector's excess returns to e */
    /* Where g may differ from +0 at this step, for example the few rows of a table that were looked up; NULL =
     * anywhere. */
    const struct sg_ranges *touched;
    void *scratch; /* allocated by `open`; results must not depend on its old content; checkpoints do not save it */
    double *state; /* [worker_doubles] kept by this worker from step to step; checkpoints save it */
    /* Buffers for a coder's message: positions [d], numbers to be written [d], how many of them are in each layer
     * [n_layers], and data [4 d + 16 (n_layers + 1) bytes, or data_bytes]. All but the counts are in the kernels'
     * memory. */
    uint32_t *index;
    float *value;
    size_t *count;
    void *data;
    int status;           /* enum sg_kernel_status: a coder stores here why it could not make its message */
    double position_bits; /* out, with SG_TRAIT_CHEAP_POSITIONS: cost of all positions in bits */
    bool same_positions;  /* out, with SG_TRAIT_CHEAP_POSITIONS: all workers derive the same ones from the seed */
};

struct sg_controller_ops;

/* For compressors that exchange more than one vector at a step, or whose sum over workers is not yet the result. */
struct sg_rounds {
    unsigned count;
    /* true: `combine` and `keep` need the messages of single workers. Every rank has all of them, so all ranks compute
     * the same result. The messages of each round then have positions, or numbers of no fixed width. The publication's
     * own exchange (a tree, regions) decides the bits that messages state, not what this library exchanges. */
    bool hears;
    /* The length of the vectors that are added up in a round, the same on every rank; at most d. NULL = d. */
    size_t (*length)(const struct sg_shared *s, unsigned round);
    bool fixed;    /* with `length`: a step can change nothing about it, and all rounds add floats up */
    bool integers; /* with `length`: numbers of all d elements are added up, as integers of less than four bytes */
    /* `floats`: length of s->memory; NULL = 0. s has the layout, the parameters and `controlled` then. `start` sets its
     * first values; NULL = zeros. `kept`: how many of them, from the first one on, a step leaves to the next one, and
     * checkpoints save; NULL = all. */
    size_t (*floats)(const struct sg_shared *s);
    size_t (*kept)(const struct sg_shared *s);
    void (*start)(const struct sg_shared *s);
    size_t (*room)(const struct sg_shared *s); /* bytes of s->room; NULL = 0 */
    /* Called on every rank after each round. sum [length] is the sum of all workers' messages. After the last round it
     * must turn sum [d] into the vector that is later divided by the number of workers: the sum of the vectors that the
     * workers sent, or its replacement. */
    void (*combine)(const struct sg_shared *s, unsigned round, float *sum);
    /* For a `combine` that compresses the sum again before all workers receive it: *out <- that second message. sum is
     * the result of `combine`. The message has no data, because only its size is counted. NULL = there is none. */
    void (*again)(const struct sg_shared *s, const float *sum, struct sg_message *out);
    /* Called for each worker after the last round, if there is feedback. e [d] holds p and becomes the part that did
     * not arrive; sum is the result of the last `combine`. It may overwrite the worker's buffers. NULL (only with one
     * round): each worker's message is subtracted from its p when it is made, as for compressors without rounds. */
    void (*keep)(struct sg_worker *w, float *e, const float *sum);
};

struct sg_compressor_ops {
    const char *name;    /* as recipes spell it: "hard-threshold" */
    const char *also;    /* another spelling that recipes may use; NULL = none */
    const char *summary; /* one line for help and the key reference */
    const char *source;  /* paper section or publication */
    unsigned traits;     /* enum sg_trait, or-ed; at the presets if parameters change them */
    const struct sg_parameter *params;
    size_t n_params;

    /* Checks param [n_params] (presets filled in, NaN = not given) against each other and against d (0 = not known
     * yet). NULL = there is nothing to check. */
    sg_status (*check)(const double *param, size_t d, struct sg_error *err);
    /* The traits for these parameters; DENSE, EXACT, ABSOLUTE and GPU must match `traits`. NULL = always `traits`. */
    unsigned (*traits_of)(const double *param);
    /* The index in params of the parameter that a controller may set; NULL = there is none. */
    size_t (*knob)(const double *param);
    /* The length of w->state, which starts as zeros. NULL = 0. */
    size_t (*worker_doubles)(const struct sg_layout *layout);
    /* Allocates w->scratch, which the method releases with free(), and may set the first values of w->state. NULL =
     * there is nothing to do. */
    sg_status (*open)(struct sg_worker *w, struct sg_error *err);
    /* The size of w->data in bytes; NULL = 4 d + 16 (n_layers + 1). */
    size_t (*data_bytes)(const struct sg_shared *s);

    /* A compressor has exactly one of these three.
     *   select  Sends some elements of p unchanged and keeps the others, in one fused pass: it fills index, value and
     *   count
     *           of the selection from its scale, decay, g and e (sg_kernels.h). Returns enum sg_kernel_status.
     *   code    Every element of p is written in this code. Its parameters are the first of the compressor's.
     *   encode  Writes a message of round `round` from p [d], which is finite, into the worker's room or scratch: it
     *   sets
     *           code, n, count, index, data, bytes and bits. If n is d, layer_count is w->count, which it fills. On
     *           failure it sets w->status, or leaves code NULL, which means that memory is exhausted. */
    int (*select)(struct sg_worker *w, struct sg_select *s);
    const struct sg_code *code;
    void (*encode)(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out);

    const struct sg_rounds *rounds; /* NULL = one round of d numbers, whose sum is the result */
    /* The collective of the publication, by its name in sg_net.h, for the network model. NULL = an all-reduce for
     * messages that are added up on their way, two rounds for others of all elements (SG_TRAIT_DENSE), and an
     * all-gather for the rest. */
    const char *collective;
    /* delta of a relative compressor, or nu^2 of an absolute one in units of its input, for n elements. NULL or NaN =
     * there is no bound. */
    double (*bound)(const double *param, size_t n);
    /* Returns the controller that these parameters ask for, with its own parameters in out, or NULL. The hook is NULL
     * if no parameters ask for one. */
    const struct sg_controller_ops *(*controller)(const double *param, double *out);
};

/* The i-th compressor of the table; NULL past the end. The compressor of that name, or of that other spelling;
 * NULL if it is unknown. */
SG_UNSTABLE const struct sg_compressor_ops *sg_compressor_at(size_t i);
SG_UNSTABLE const struct sg_compressor_ops *sg_compressor_find(const char *name);

/* Adds a compressor at the end of the table. *ops must stay valid, and no other thread may use the table during the
 * call. SG_ERR_ARGUMENT: one of its names exists already, or *ops is incomplete. */
SG_UNSTABLE SG_CHECKED sg_status sg_compressor_add(const struct sg_compressor_ops *ops, struct sg_error *err);
/* Returns whether the compressor is of lib/zoo, which a library can be built without. */
SG_UNSTABLE bool sg_compressor_is_zoo(const struct sg_compressor_ops *ops);

/* enum sg_trait of the compressor with these parameters, presets filled in. */
SG_UNSTABLE unsigned sg_compressor_traits(const struct sg_compressor_ops *ops, const double *param);

/* param [n_params] <- values with which the compressor runs: presets; `density` for a share of the elements;
 * `threshold`, or the nearest number in range, for every other parameter without a preset. */
SG_UNSTABLE void sg_compressor_example(const struct sg_compressor_ops *ops, double density, double threshold,
                                       double *param);

/* Checks parameters: ranges, combinations, k against d (0 = not known yet). Recipes use it before there is a task. */
SG_UNSTABLE SG_CHECKED sg_status sg_compressor_check(const struct sg_compressor_ops *ops, const double *param, size_t d,
                                                     struct sg_error *err);

#ifdef __cplusplus
}
#endif
#endif

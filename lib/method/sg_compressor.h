/* sg_compressor.h: what a compressor is, for those who write one and for those who list them.
 *
 * There are two kinds. A selector sends some elements unchanged and keeps the others, in one fused pass of a kernel. A
 * coder is given p and writes a message of any kind; it never sees the residual. The values of a selector may be
 * written in any code (sg_message.h), so that sparsification and quantization compose.
 *
 * A compressor is one file with a `const struct sg_compressor_ops` and its name in method_private.h, or a plug-in
 * (sg_compressor_plugin.h). Programs, recipes, tests and benchmarks pick it up from its declaration. It is used through
 * sg_method.h, which adds error feedback, a controller and the state of all workers.
 *
 * Letters are those of Algorithm 1 of the paper: g gradient, e residual, p what is to be compressed. */
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
    SG_TRAIT_GPU = 1 << 7,   /* leaves all work on vectors to the kernels, so it runs wherever their memory is */
    /* A selector whose positions cost less than 32 bits each: `select` says how much in w->position_bits. */
    SG_TRAIT_CHEAP_POSITIONS = 1 << 8
};

/* What the compressor of a method has in common for all workers of a rank. `memory` is the same on every rank. */
struct sg_shared {
    const double *param; /* [n_params] presets filled in; NaN = not given */
    const double *knob;  /* [n_layers] the parameter `knob` in each layer at this step, as the controller set it */
    bool controlled;     /* the knob may change from step to step */
    uint64_t seed, step;
    size_t workers; /* of all ranks */
    struct sg_layout layout;
    struct sg_feedback feedback;
    const struct sg_code *code; /* for the values that a selector sends */
    const struct sg_kernels *kernels;
    struct sg_exec exec; /* of one worker's compression */
    float *memory; /* [rounds->floats], what rounds and steps hand on, in the kernels' memory; NULL without rounds */
    /* [rounds->room bytes] of the host's memory: zeros before `start`, which may fill it; what `combine` hands on within
     * a step, so checkpoints lack it. */
    void *room;
    const struct sg_message *heard; /* [workers] if rounds->hears: this round's messages, in `combine` and `keep` */
};

/* One worker at one step, as its compressor sees it. Hooks get distinct workers, possibly on distinct threads. */
struct sg_worker {
    const struct sg_shared *shared;
    uint32_t number; /* of the worker, among all */
    double unit;     /* what 1 on the gradient's scale is in p: gamma if feedback works in updates, else 1 */
    bool counted;    /* is there a budget of entries? Then zeros are not worth sending */
    double most;     /* entries that the controller allows at this step; what selectors send beyond is taken back */
    /* Where g may differ from +0 at this step, for example the few rows of a table that were looked up; NULL =
     * anywhere. */
    const struct sg_ranges *touched;
    void *scratch; /* what `open` allocated; no result depends on what it holds between steps, so checkpoints lack it */
    double *state; /* [worker_doubles] what this worker keeps from step to step; checkpoints have it */
    /* For coders, room for a message: the positions [d], numbers to be written [d], how many of them lie in each layer
     * [n_layers], and the data [4 d + 16 (n_layers + 1) bytes, or data_bytes]. All but the counts lie in the kernels'
     * memory. */
    uint32_t *index;
    float *value;
    size_t *count;
    void *data;
    int status;           /* enum sg_kernel_status: a coder sets it to what kept it from making its message */
    double position_bits; /* out, of selectors with SG_TRAIT_CHEAP_POSITIONS: what the positions cost */
    bool same_positions;  /* out, of the same: do all workers send these positions, whoever knows the seed? */
};

struct sg_controller_ops;

/* For compressors that exchange more than one vector at a step, or whose sum over workers is not yet the result. */
struct sg_rounds {
    unsigned count;
    /* Do `combine` and `keep` need the messages of single workers? Every rank has them all, so what is made of them is
     * the same everywhere. Then the messages of each round have positions, or numbers of no fixed width. The
     * publication's own way between workers (a tree, regions) shows in the bits that messages state, not in what travels
     * here. */
    bool hears;
    /* The length of the vectors that are added up in a round, the same on every rank; at most d. NULL = d. */
    size_t (*length)(const struct sg_shared *s, unsigned round);
    /* `floats` is the size of s->memory, which checkpoints have; NULL = 0. `start` sets its first values; NULL = zeros.
     */
    size_t (*floats)(const struct sg_layout *layout);
    void (*start)(const struct sg_shared *s);
    size_t (*room)(const struct sg_shared *s); /* bytes of s->room; NULL = 0 */
    /* Called on every rank after each round. sum [length] is the sum of all workers' messages. After the last round it
     * must turn sum [d] into what is divided by the number of workers: the sum over workers of the vectors that they
     * sent, or what takes its place. */
    void (*combine)(const struct sg_shared *s, unsigned round, float *sum);
    /* *out <- the message that `combine` made of the sum, where it compresses once more what all workers then receive;
     * sum is as it left it. The message has no data: it is only counted. NULL = there is none. */
    void (*again)(const struct sg_shared *s, const float *sum, struct sg_message *out);
    /* Called for each worker after the last round, if there is feedback. e [d] holds p and becomes what did not arrive;
     * sum is as the last `combine` left it. The worker's room may be overwritten. NULL, only if there is one round:
     * each worker's message was taken out of its p when it was made, as it is without rounds. */
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
    /* The traits for these parameters, which share DENSE, EXACT, ABSOLUTE and GPU with `traits`; NULL = always `traits`. */
    unsigned (*traits_of)(const double *param);
    /* The index in params of the parameter that a controller may set; NULL = there is none. */
    size_t (*knob)(const double *param);
    /* How many numbers w->state has, which are 0 at first. NULL = none. */
    size_t (*worker_doubles)(const struct sg_layout *layout);
    /* Allocates w->scratch, which the method releases with free(), and may set the first values of w->state. NULL = there
     * is nothing to do. */
    sg_status (*open)(struct sg_worker *w, struct sg_error *err);
    /* How many bytes w->data has, for coders that need more than others; NULL = 4 d + 16 (n_layers + 1). */
    size_t (*data_bytes)(const struct sg_shared *s);

    /* A compressor has exactly one of these three.
     *   select  Sends some elements of p unchanged and keeps the others, in one fused pass: it fills index, value and count
     *           of the selection from its scale, decay, g and e (sg_kernels.h). Returns enum sg_kernel_status.
     *   code    Every element of p is written in this code. Its parameters are the first of the compressor's.
     *   encode  Writes a message of round `round` from p [d], which is finite, into the worker's room or scratch: it sets
     *           code, n, count, index, data, bytes and bits. If n is d, layer_count is w->count, which it fills. If it fails it sets
     *           w->status or leaves code NULL, which means that there is no memory. */
    int (*select)(struct sg_worker *w, struct sg_select *s);
    const struct sg_code *code;
    void (*encode)(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out);

    const struct sg_rounds *rounds; /* NULL = one round of d numbers, whose sum is the result */
    /* The collective of the publication, by its name in sg_net.h. It is for the network's model; NULL = messages are
     * gathered, but vectors that are shorter than d are added up on their way. */
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

/* Adds a compressor behind the table's others. It must stay where it is, and no other thread may use the table meanwhile.
 * SG_ERR_ARGUMENT: one of its names is taken, or it lacks something. */
SG_UNSTABLE SG_CHECKED sg_status sg_compressor_add(const struct sg_compressor_ops *ops, struct sg_error *err);

/* enum sg_trait of the compressor with these parameters, presets filled in. */
SG_UNSTABLE unsigned sg_compressor_traits(const struct sg_compressor_ops *ops, const double *param);

/* param [n_params] <- values that every compressor can run with: presets, `density` for a share of the elements, and
 * `threshold`, or the nearest number in range, for what else has no preset. */
SG_UNSTABLE void sg_compressor_example(const struct sg_compressor_ops *ops, double density, double threshold,
                                       double *param);

/* Checks parameters: ranges, combinations, k against d (0 = not known yet). Recipes use it before there is a task. */
SG_UNSTABLE SG_CHECKED sg_status sg_compressor_check(const struct sg_compressor_ops *ops, const double *param, size_t d,
                                                     struct sg_error *err);

#ifdef __cplusplus
}
#endif
#endif

/* sg_compressor.h: what a compressor is, for those who write one and for those who list them.
 *
 * A compressor comes in one of two kinds. A selector sends some elements unchanged and keeps the others, in one fused
 * pass of a kernel. A coder is given p and writes a message of any kind; it never sees the residual. Selectors may have
 * their values written in any code too (sg_message.h), so that sparsification and quantization compose.
 *
 * A compressor is one file with a `const struct sg_compressor_ops` and one row in compressor_table.c. Programs, recipes,
 * tests and benchmarks pick it up from its declaration. It is used through sg_method.h, which adds error feedback, a
 * controller and the state of all workers.
 *
 * Letters are those of Algorithm 1 of the paper: g gradient, e residual, p what is to be compressed. */
#ifndef SG_COMPRESSOR_H
#define SG_COMPRESSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sg_feedback.h"
#include "sg_kernels.h"
#include "sg_message.h"
#include "sg_parameter.h"
#include "sg_status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the flat parameter vector is cut into layers. */
struct sg_layout {
    size_t n_layers;
    const size_t *offset;    /* [n_layers + 1], offset[0] = 0, ascending; offset[n_layers] = d */
    const char *const *name; /* [n_layers] or NULL */
    /* [n_layers] rows of the matrix that a layer is, stored row by row (a tensor: its first dimension); 1 = a plain
     * vector. NULL = all layers are plain vectors. */
    const size_t *rows;
};

/* Parts of a vector: elements begin..end-1 of each, ascending and not overlapping. */
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
    SG_TRAIT_EXACT = 1 << 6,          /* sends everything unchanged: the residual is always zero and need not exist */
    SG_TRAIT_GPU = 1 << 7             /* leaves vectors to the kernels, so it runs wherever their memory is */
};

/* What a method's compressor has in common for all workers of a rank. `memory` is the same on every rank. */
struct sg_shared {
    const double *param; /* [n_params] presets filled in; NaN = not given */
    const double *knob;  /* [n_layers] the parameter `knob` of each layer at this step, as the controller set it */
    bool controlled;     /* the knob may change from step to step */
    uint64_t seed, step;
    size_t workers; /* of all ranks */
    struct sg_layout layout;
    struct sg_feedback feedback;
    const struct sg_code *code; /* of the values that a selector sends */
    const struct sg_kernels *kernels;
    struct sg_exec exec; /* of one worker's compression */
    float *memory;       /* [rounds->floats] zeros at first */
};

/* One worker at one step, as its compressor sees it. */
struct sg_worker {
    const struct sg_shared *shared;
    uint32_t number; /* of the worker, among all */
    double unit;     /* what 1 on the gradient's scale is in p: gamma where feedback works in updates, else 1 */
    bool counted;    /* entries are counted against a budget: zeros are not worth sending */
    /* Where g may differ from +0 at this step, as where only a few rows of a table were looked up; NULL = anywhere. */
    const struct sg_ranges *touched;
    void *scratch; /* what `open` allocated; it saves time only, so it is no part of a checkpoint */
    void *data;    /* coders: room for a message's data */
};

struct sg_controller_ops;

/* Compressors that exchange more than one vector a step, or whose sum over workers is not yet the result. */
struct sg_rounds {
    unsigned count;
    /* Numbers of the vectors that are added up in a round, the same on every rank; at most d. */
    size_t (*length)(const struct sg_shared *s, unsigned round);
    /* Numbers of s->memory, which is part of checkpoints; and their first values (NULL = zeros). */
    size_t (*floats)(const struct sg_layout *layout);
    void (*start)(const struct sg_shared *s);
    /* sum [length]: all workers' messages of the round added up. After the last round sum [d] becomes the sum over
     * workers of what they stand for. */
    void (*combine)(const struct sg_shared *s, unsigned round, float *sum);
    /* e [d] holds p and becomes what did not arrive; sum as after the last `combine`. w->data is free to use. */
    void (*keep)(struct sg_worker *w, float *e, const float *sum);
};

struct sg_compressor_ops {
    const char *name;    /* as in recipes: "hard-threshold" */
    const char *summary; /* one line for help and the key reference */
    const char *source;  /* paper section or publication */
    unsigned traits;     /* enum sg_trait, or-ed */
    const struct sg_parameter *params;
    size_t n_params;

    /* Check param [n_params] (presets filled in, NaN = not given) against each other and against d (0 = unknown yet);
     * NULL = nothing to check. */
    sg_status (*check)(const double *param, size_t d, struct sg_error *err);
    /* The parameter that a controller may set, as an index into params; NULL = there is none. */
    size_t (*knob)(const double *param);
    /* Allocate w->scratch, which is released by free(). NULL = nothing. */
    sg_status (*open)(struct sg_worker *w, struct sg_error *err);

    /* A compressor has exactly one of these three.
     * select  Send some elements of p unchanged and keep the others, in one fused pass: fill index, value and count of
     *         the selection from its scale, decay, g and e (sg_kernels.h). Returns enum sg_kernel_status.
     * code    Every element of p is written in this code, whose parameters the compressor's begin with.
     * encode  Write a message of round `round` from p [d], which is finite, into w->data [4 d bytes] or scratch: set
     *         code, n, count, index, data, bytes and bits. */
    int (*select)(struct sg_worker *w, struct sg_select *s);
    const struct sg_code *code;
    void (*encode)(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out);

    const struct sg_rounds *rounds; /* NULL = one round of d numbers, whose sum is the result */
    /* delta of a relative, nu^2 of an absolute compressor on n elements in units of its input; NULL = none. */
    double (*bound)(const double *param, size_t n);
    /* The controller that these parameters ask for, with its own parameters in out; NULL = none. The hook is NULL where
     * there never is one. */
    const struct sg_controller_ops *(*controller)(const double *param, double *out);
};

/* The table: i-th compressor, NULL past the end; by name, NULL if unknown. */
const struct sg_compressor_ops *sg_compressor_at(size_t i);
const struct sg_compressor_ops *sg_compressor_find(const char *name);

/* Check parameters only (recipes use it): ranges, combinations, k against d (d = 0: unknown yet). */
SG_CHECKED sg_status sg_compressor_check(const struct sg_compressor_ops *ops, const double *param, size_t d,
                                         struct sg_error *err);

#ifdef __cplusplus
}
#endif
#endif

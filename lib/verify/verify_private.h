/* verify_private.h: types and functions that the checks of a compressor share. */
/* SPDX-License-Identifier: MIT */
#ifndef VERIFY_PRIVATE_H
#define VERIFY_PRIVATE_H

#include "sg_kernels.h"
#include "sg_verify.h"

enum {
    VERIFY_PARAMS = 16,    /* maximum number of parameters of a compressor */
    VERIFY_STEPS = 3,      /* of a method with one worker */
    VERIFY_VARIANTS = 3,   /* settings of a compressor */
    VERIFY_CUTS = 4,       /* layers of an input that is cut */
    VERIFY_WORKER = 3,     /* the number of the one worker */
    VERIFY_MORE = 1 << 16, /* longer inputs are tested with fewer settings */
    VERIFY_TABLES = 3
};
extern const char *const verify_table[VERIFY_TABLES]; /* kernel tables of the CPU; a machine may lack some */

struct sg_verify {
    size_t room; /* length of the longest input */
    float *gradient[SG_PATTERNS][VERIFY_STEPS];
    float *g, *e, *p;                    /* [room] */
    float *first_e[VERIFY_STEPS];        /* [room] residuals and messages of the first kernel table */
    float *first_value[VERIFY_STEPS];    /* [room] */
    uint32_t *first_index[VERIFY_STEPS]; /* [room] */
    size_t first_count[VERIFY_STEPS];
    void *bytes; /* [8 room + 4096] */
};

/* One setting of a compressor on one kind of input. */
struct verify_run {
    const struct sg_compressor_ops *ops;
    const char *form; /* for messages */
    struct sg_feedback feedback;
    double gamma;
    double param[VERIFY_PARAMS];
    size_t n, workers;
    bool cut; /* into layers */
    size_t offset[VERIFY_CUTS + 1];
    size_t rows;
};

/* Counts a run of a property; `fine` = it holds. Keeps the message of the first failure. */
void verify_note(struct sg_verdict *v, bool fine, const struct verify_run *run, const char *format, ...)
    SG_PRINTF(4, 5);

/* Sets up a run of n elements, in one layer or many, with this number of workers. run->param becomes one of three
 * settings, from sending very little to sending much, or the one of sg_compressor_example if the compressor rejects it.
 * The caller sets ops, feedback, gamma and rows. */
void verify_set(struct verify_run *run, int variant, size_t n, bool many, size_t workers);
/* Sets the parameter `name` to value, or to the nearest value in range, if the compressor has it. */
bool verify_give(struct verify_run *run, const char *name, double value);

/* Opens the method of the run for workers first .. first + count - 1. NULL = it failed, and v has the failure. */
sg_method *verify_method(const struct verify_run *run, size_t first, size_t count, const struct sg_kernels *kernels,
                         int threads, struct sg_verdict *v);

/* The checks; each adds its verdicts to out [SG_VERIFY_PROPERTIES]. */
void verify_messages(sg_verify *v, const struct sg_compressor_ops *ops, struct sg_verdict *out);
void verify_class(sg_verify *v, const struct sg_compressor_ops *ops, struct sg_verdict *out);
void verify_repeat(sg_verify *v, const struct sg_compressor_ops *ops, struct sg_verdict *out);
void verify_mean(sg_verify *v, const struct sg_compressor_ops *ops, struct sg_verdict *out);
void verify_workers(sg_verify *v, const struct sg_compressor_ops *ops, struct sg_verdict *out);
void verify_edges(sg_verify *v, const struct sg_compressor_ops *ops, struct sg_verdict *out);
void verify_nonfinite(sg_verify *v, const struct sg_compressor_ops *ops, struct sg_verdict *out);
void verify_damage(sg_verify *v, const struct sg_compressor_ops *ops, struct sg_verdict *out);

#endif

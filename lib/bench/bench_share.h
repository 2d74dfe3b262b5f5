/* bench_share.h: one worker's share of the steps of any compressor (bench_share.c), which bench_compressors.c times. */
#ifndef BENCH_SHARE_H
#define BENCH_SHARE_H

#include "bench_private.h"
#include "sg_gradients.h"

/* How a compressor is run: with error feedback, at the values of sg_compressor_example. */
struct share_setting {
    const struct sg_compressor_ops *compressor;
    const struct layers *layers;
    const size_t *k; /* [layers] entries that are wanted of each */
    double density, threshold;
    size_t workers;
    double decay; /* of the residual */
    const struct sg_kernels *kernels;
    struct sg_exec exec;
};

struct share {
    struct share_setting setting;
    sg_method *method;
    float *e, *sum; /* [workers][n], [n] */
    struct sg_message *message;
    uint64_t step;

    /* Of the last step: worker 0's seconds for its messages of all rounds, for what it keeps and for turning the sum into
     * the next round's; and those for adding its own messages to the sum. */
    double encode_s, decode_s;
    /* Means over workers, all rounds together: what messages cost as their publication counts, bytes of the encoded
     * messages (encoding auto), numbers sent. */
    double bits, bytes, entries;
    double off; /* mean |ln(sent / wanted)| over layers of SHARE_LARGE elements or more; NaN = there is none */
};

enum { SHARE_LARGE = 2000 };

/* share_close must follow, also after a failure. */
SG_CHECKED sg_status share_open(struct share *s, const struct share_setting *setting, struct sg_error *err);
void share_close(struct share *s);
/* One step of all workers, on the gradients g [workers][n]. */
SG_CHECKED sg_status share_step(struct share *s, const float *g, struct sg_error *err);

/* ---- what is measured (bench_share_time.c) ---- */

/* Where the gradients come from. */
struct share_source {
    float *g; /* [workers][n] those of a step; a recording overwrites them */
    size_t workers;
    const sg_gradients *recording; /* its steps follow each other; NULL = g serves again and again */
    size_t samples;                /* at most; without a recording */
    int (*stop)(void);             /* as in sg_bench.h */
};

/* g <- the gradients of all workers at a step of the recording. */
SG_CHECKED sg_status share_read(const struct share_source *from, uint64_t step, struct sg_error *err);

/* *right <- does the step with this setting give the bytes of plain C on one thread? `corrupt` changes one before. */
SG_CHECKED sg_status share_verify(const struct share_setting *setting, const struct share_source *from, bool corrupt,
                                  bool *right, struct sg_error *err);

/* `decode` is the part of `own` for adding the messages to the sum. The numbers are means over the steps that were timed. */
struct share_measured {
    struct share_setting setting; /* in; its decay is chosen */
    struct timing own, decode, add;
    double bits, bytes, entries, off;
};

/* Without a recording the residual is multiplied by 0, so that every step sees the same p = g; there are fewer samples,
 * but three, if they would take more than 4 s. With one, the first third of the steps fills the residuals and is not timed.
 * share_measured_free must follow, also after a failure. */
SG_CHECKED sg_status share_measure(struct share_measured *m, const struct share_source *from, struct sg_error *err);
void share_measured_free(struct share_measured *m);

#endif

/* bench_verify.h: is an operation's output that of plain C? */
#ifndef BENCH_VERIFY_H
#define BENCH_VERIFY_H

#include "bench_private.h"

/* What plain C on one thread gave, per operation. */
struct expected {
    const struct operation *operation; /* NULL = nothing yet */
    float *e, *value, *guess;
    uint32_t *index;
    size_t *count, sent;
    double sum;
};

SG_CHECKED sg_status expected_open(struct expected *x, const struct layers *layers, struct sg_error *err);
void expected_close(struct expected *x);

/* Run the plain C version of `operation` and keep its output. job->data is overwritten. */
SG_CHECKED sg_status expect(struct expected *x, const struct operation *operation, struct data *data,
                            struct sg_error *err);

/* Run the job once with a residual, decay 1, and compare all its output bit for bit; a rival's as rival_is_right does,
 * which uses x up. */
bool gives_expected(struct expected *x, struct job *job, bool corrupt);

#endif

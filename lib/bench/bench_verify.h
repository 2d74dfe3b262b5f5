/* bench_verify.h: is an operation's output that of plain C? */
#ifndef BENCH_VERIFY_H
#define BENCH_VERIFY_H

#include "bench_private.h"

/* The output of plain C on one thread, for each operation. */
struct expected {
    const struct operation *operation; /* NULL = nothing has been run yet */
    float *e, *value, *guess;
    uint32_t *index;
    size_t *count, sent;
    double sum;
};

SG_CHECKED sg_status expected_open(struct expected *x, const struct layers *layers, struct sg_error *err);
void expected_close(struct expected *x);

/* Runs the plain C version of `operation` and keeps its output. job->data is overwritten. */
SG_CHECKED sg_status expect(struct expected *x, const struct operation *operation, struct data *data,
                            struct sg_error *err);

/* Runs the job once with a residual and decay 1, and compares all its output bit for bit. A rival's output is compared
 * by rival_is_right, which overwrites x. */
bool gives_expected(struct expected *x, struct job *job, bool corrupt);

#endif

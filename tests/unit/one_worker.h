/* one_worker.h: a step of a method that has one worker here, for tests of a compressor by itself. */
#ifndef ONE_WORKER_H
#define ONE_WORKER_H

#include "sg_method.h"

struct one_step {
    size_t worker; /* its number */
    double gamma;
    uint64_t step;
    const struct sg_ranges *touched;
};

static inline sg_status one_worker(sg_method *m, struct one_step at, const float *g, float *e, struct sg_message *out,
                                   struct sg_error *err) {
    sg_method_begin(m, at.step, at.gamma, NULL);
    return sg_method_send(m, at.worker, 0, g, e, at.touched, out, err);
}

#endif

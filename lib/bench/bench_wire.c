/* bench_wire.c: encoding and decoding a message of lib/wire. The message: the case's random positions, one thread. */
#include <stdlib.h>
#include <string.h>

#include "bench_private.h"

static sg_status plan_message(struct job *job, struct sg_wire_plan *plan, struct sg_error *err) {
    const struct data *d = job->data;
    const struct sg_wire_set set = {.n = d->layers->n, .count = d->k_total, .index = d->position};
    return sg_wire_plan(plan, &job->format, &set, err);
}

sg_status wire_job_open(struct job *job, struct sg_error *err) {
    struct sg_wire_plan plan;
    sg_status status = plan_message(job, &plan, err);
    if (status != SG_OK)
        return status;
    job->sent = job->data->k_total;
    job->index_bytes = plan.index_bytes;
    job->message_bytes = plan.bytes;
    job->message = malloc(plan.bytes);
    return job->message ? sg_wire_encode(job->message, plan.bytes, &plan, job->data->position_value, err)
                        : sg_fail_memory(err, "an encoded message");
}

/* The choice of parameter and encoding is part of it. */
void run_encode(struct job *job) {
    struct sg_error err;
    struct sg_wire_plan plan;
    sg_status status = plan_message(job, &plan, &err);
    if (status == SG_OK)
        status = sg_wire_encode(job->message, job->message_bytes, &plan, job->data->position_value, &err);
    job->status = status == SG_OK ? SG_KERNEL_OK : SG_KERNEL_DEVICE;
}

void run_decode(struct job *job) {
    struct sg_error err;
    struct sg_wire_header header;
    sg_status status = sg_wire_peek(&header, job->message, job->message_bytes, &err);
    if (status == SG_OK && header.count == job->sent)
        status = sg_wire_decode(job->data->index, job->data->value, &header, job->message, &err);
    job->status = status == SG_OK && header.count == job->sent ? SG_KERNEL_OK : SG_KERNEL_DEVICE;
}

bool round_trips(struct job *job, bool corrupt) {
    struct data *d = job->data;
    memset(job->message, 0, job->message_bytes);
    run_encode(job);
    if (job->status != SG_KERNEL_OK)
        return false;
    if (corrupt)
        job->message[job->message_bytes - 1] ^= 1;
    run_decode(job);
    if (job->status != SG_KERNEL_OK || memcmp(d->index, d->position, job->sent * sizeof *d->index) != 0)
        return false;
    size_t wrong = 0;
    for (size_t j = 0; j < job->sent; j++) {
        const float v = d->position_value[j];
        const float want = job->format.precision == SG_FP16 ? sg_half_value(sg_half_of(v)) : v;
        wrong += sg_float_bits(d->value[j]) != sg_float_bits(want);
    }
    return wrong == 0;
}

double bytes_wire(const struct job *job) {
    return 8.0 * (double)job->sent + (double)job->message_bytes;
}

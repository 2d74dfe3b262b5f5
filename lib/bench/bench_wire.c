/* bench_wire.c: encoding and decoding a message of lib/wire. The message: the case's random positions, one thread. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "bench_private.h"
#include "sg_debug.h"
#include "sg_half.h"
#include "sg_memory.h"

/* The plan of the message in the job's code, as a compressor would hand it over. */
static sg_status plan_message(struct job *job, struct sg_wire_plan *plan, struct sg_error *err) {
    const struct data *d = job->data;
    const struct sg_code *code = job->format.code;
    double bits;
    code->encode(job->coded, &(struct sg_numbers){.value = d->position_value, .count = d->k_total}, &bits);
    const struct sg_message m = {.code = code,
                                 .n = d->layers->n,
                                 .count = d->k_total,
                                 .index = d->position,
                                 .data = job->coded,
                                 .bytes = d->k_total * code->width};
    return sg_wire_plan(plan, job->format.encoding, &m, err);
}

sg_status wire_job_open(struct job *job, struct sg_error *err) {
    SG_ASSERT(job->operation->wire && job->format.code);
    struct sg_wire_plan plan;
    job->coded = sg_malloc(job->data->k_total * sizeof(float) + 1);
    sg_status status = plan_message(job, &plan, err);
    if (status != SG_OK)
        return status;
    job->sent = job->data->k_total;
    job->index_bytes = plan.index_bytes;
    job->message_bytes = plan.bytes;
    job->message = sg_malloc(plan.bytes);
    return sg_wire_encode(job->message, plan.bytes, &plan, err);
}

/* Encodes floats into bytes, including the choice of parameter and encoding. */
void run_encode(struct job *job) {
    struct sg_error err;
    struct sg_wire_plan plan;
    sg_status status = plan_message(job, &plan, &err);
    SG_DO(status, sg_wire_encode(job->message, job->message_bytes, &plan, &err));
    job->status = status == SG_OK ? SG_KERNEL_OK : SG_KERNEL_DEVICE;
}

/* Decodes bytes into floats; with fp32 the floats are the data themselves. */
void run_decode(struct job *job) {
    struct sg_error err;
    struct sg_wire_header header;
    struct sg_message m;
    const struct data *d = job->data;
    const bool floats = job->format.code == &sg_code_fp32;
    sg_status status = sg_wire_peek(&header, job->message, job->message_bytes, &err);
    const bool right = status == SG_OK && header.count == job->sent && header.code == job->format.code;
    if (right)
        status = sg_wire_decode(&m, d->index, floats ? (void *)d->value : job->coded, &header, job->message, &err);
    if (right && status == SG_OK && !floats)
        m.code->decode(d->value, &m, 0, m.count);
    job->status = right && status == SG_OK ? SG_KERNEL_OK : SG_KERNEL_DEVICE;
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
        float data, want;
        double bits;
        const struct sg_message one = {.n = 1, .count = 1, .data = &data, .bytes = job->format.code->width};
        job->format.code->encode(&data, &(struct sg_numbers){.value = &d->position_value[j], .count = 1}, &bits);
        job->format.code->decode(&want, &one, 0, 1);
        wrong += sg_float_bits(d->value[j]) != sg_float_bits(want);
    }
    return wrong == 0;
}

double bytes_wire(const struct job *job) {
    return 8.0 * (double)job->sent + (double)job->message_bytes;
}

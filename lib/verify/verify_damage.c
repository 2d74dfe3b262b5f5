/* verify_damage.c: tests a compressor with inputs at the limits of floats, NaN and Inf, and the decoding of its
 * messages from damaged bytes. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sg_drive.h"
#include "sg_memory.h"
#include "verify_private.h"

enum { N = 1200, SHORT = 99 };

static bool all_finite(const float *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

/* One worker's step, all rounds that need no other worker: the sum that it sends. Returns its status. */
static sg_status send_one(sg_method *m, uint64_t t, const float *g, float *e, float *sum, struct sg_error *err) {
    struct sg_message message;
    struct sg_play play = {.part = &m, .parts = 1, .d = N, .g = g, .e = e, .sum = &sum, .message = &message};
    const sg_status status = sg_method_play(&play, t, 1, err);
    return status == SG_ERR_UNSUPPORTED ? SG_OK : status;
}

void verify_edges(sg_verify *v, const struct sg_compressor_ops *ops, struct sg_verdict *out) {
    static const char *const name[] = {"one number that is not 0", "+-2^127", "one 2^127 among small numbers"};
    const float most = ops->rounds ? 0x1p120F : 0x1p127F; /* in rounds the numbers of several workers are added */
    for (int i = 0; i < 3 * VERIFY_VARIANTS; i++) {
        struct verify_run run = {.ops = ops, .feedback = {&sg_feedback_none, 1, {0}}, .gamma = 1, .rows = 20};
        struct sg_error err;
        verify_set(&run, i / 3, N, false, VERIFY_WORKER + 1);
        sg_method *m = verify_method(&run, VERIFY_WORKER, 1, NULL, 1, &out[SG_VERIFY_EDGES]);
        if (!m)
            return;
        for (size_t j = 0; j < N; j++)
            v->g[j] = i % 3 == 0 ? 0 : i % 3 == 1 ? (j % 2 ? most : -most) : 1 + (float)j / 8;
        if (i % 3 != 1)
            v->g[40] = i % 3 == 0 ? -3 : most;
        const sg_status status = send_one(m, 0, v->g, NULL, v->p, &err);
        verify_note(&out[SG_VERIFY_EDGES],
                    status == SG_OK ? all_finite(v->p, N) : status == SG_ERR_NONFINITE && i % 3 > 0, &run, "%s: %s",
                    name[i % 3], status == SG_OK ? "what is sent is not finite" : err.msg);
        sg_method_close(m);
    }
}

void verify_nonfinite(sg_verify *v, const struct sg_compressor_ops *ops, struct sg_verdict *out) {
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3 * N; i += 98) {
        struct verify_run run = {.ops = ops,
                                 .feedback = {sg_feedback_at(ops->rounds ? 1 + i % 2 : i % 3), 1, {0}},
                                 .gamma = 0.5,
                                 .rows = 20};
        const struct sg_kernels *kernels = sg_kernels_cpu(verify_table[i % VERIFY_TABLES]);
        const bool keeps = run.feedback.rule->keeps;
        struct sg_error err = {.msg = ""};
        const size_t place = i % N;
        verify_set(&run, 1, N, true, VERIFY_WORKER + 1);
        sg_method *m = verify_method(&run, VERIFY_WORKER, 1, kernels, 1, &out[SG_VERIFY_NONFINITE]);
        if (!m)
            return;
        sg_pattern_fill(v->g, N, SG_PATTERN_NORMAL, 1);
        memset(v->e, 0, N * sizeof *v->e);
        v->g[place] = bad[i / N];
        const sg_status status = send_one(m, 17, v->g, keeps ? v->e : NULL, v->p, &err);
        const char *layer = place < run.offset[1] ? "conv" : place < run.offset[3] ? "norm" : "head";
        verify_note(&out[SG_VERIFY_NONFINITE], status == SG_ERR_NONFINITE, &run,
                    "%g in the gradient is taken for a number", (double)bad[i / N]);
        if (status == SG_ERR_NONFINITE)
            verify_note(&out[SG_VERIFY_NONFINITE], strstr(err.msg, "worker 3, step 17") && strstr(err.msg, layer), &run,
                        "the error does not name worker 3, step 17 and layer %s: %s", layer, err.msg);
        sg_method_close(m);
    }
}

/* The numbers of a message, cut off at every byte, and with every bit wrong. */
static void damage(sg_verify *v, const struct verify_run *run, const struct sg_message *whole,
                   struct sg_verdict *verdict) {
    const size_t size = whole->bytes;
    for (size_t i = 0; i < 9 * size; i++) {
        struct sg_message m = *whole;
        m.bytes = i < size ? i : size;
        uint8_t *bytes =
            sg_malloc(m.bytes + !m.bytes); /* of this length, so that sanitizers see what is read behind it */
        if (!bytes)
            return;
        memcpy(bytes, v->bytes, m.bytes);
        if (i >= size)
            bytes[(i - size) / 8] ^= (uint8_t)(1U << (i - size) % 8);
        m.data = bytes;
        const bool accepted = m.code->valid(&m);
        if (accepted && i >= size)
            m.code->decode(v->p, &m, 0, m.count);
        verify_note(verdict, !accepted || (i >= size && all_finite(v->p, m.count)), run,
                    i < size ? "code %s takes %zu bytes of %zu for whole"
                             : "code %s gives NaN or Inf of %zu bytes of %zu",
                    m.code->name, m.bytes, size);
        free(bytes);
    }
}

void verify_damage(sg_verify *v, const struct sg_compressor_ops *ops, struct sg_verdict *out) {
    for (int variant = 0; variant < VERIFY_VARIANTS; variant++) {
        struct verify_run run = {.ops = ops, .feedback = {&sg_feedback_none, 1, {0}}, .gamma = 1};
        struct sg_error err;
        struct sg_message m;
        verify_set(&run, variant, SHORT, true, VERIFY_WORKER + 1);
        sg_method *method = verify_method(&run, VERIFY_WORKER, 1, NULL, 1, &out[SG_VERIFY_DAMAGE]);
        if (!method)
            return;
        sg_pattern_fill(v->g, SHORT, SG_PATTERN_NORMAL, 3);
        const struct sg_verify_at at = {VERIFY_WORKER, 1, 0, NULL};
        if (sg_verify_send(method, at, v->g, NULL, &m, &err) == SG_OK && m.bytes <= 8 * v->room) {
            memcpy(v->bytes, m.data, m.bytes);
            damage(v, &run, &m, &out[SG_VERIFY_DAMAGE]);
        }
        sg_method_close(method);
    }
}

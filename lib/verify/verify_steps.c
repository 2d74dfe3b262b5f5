/* verify_steps.c: steps of a method with one worker, and of methods that share the workers of a run. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "sg_drive.h"
#include "sg_memory.h"
#include "sg_verify.h"

sg_status sg_verify_send(sg_method *m, struct sg_verify_at at, const float *g, float *e, struct sg_message *out,
                         struct sg_error *err) {
    sg_method_begin(m, at.step, at.gamma, NULL);
    return sg_method_send(m, at.worker, 0, g, e, at.touched, out, err);
}

/* Looks whether the ranks have the same sum. */
struct alike {
    float *const *sum; /* [parts][d] */
    size_t parts, d;
    bool are;
};

static void compare_sums(void *of) {
    struct alike *a = of;
    for (size_t p = 1; p < a->parts; p++)
        a->are = a->are && memcmp(a->sum[0], a->sum[p], a->d * sizeof **a->sum) == 0;
}

bool sg_verify_step(sg_method **part, size_t parts, uint64_t step, double gamma, const float *g, float *e, size_t d,
                    float *sum, double *bits) {
    struct sg_message m[SG_VERIFY_WORKERS];
    struct sg_error err;
    float *room = sg_malloc(parts * d * sizeof *room + 1), *of_part[SG_VERIFY_WORKERS] = {sum};
    struct alike alike = {of_part, parts, d, room != NULL};
    struct sg_play play = {.part = part,
                           .parts = parts,
                           .d = d,
                           .g = g,
                           .e = e,
                           .sum = of_part,
                           .message = m,
                           .arrived = compare_sums,
                           .of = &alike};
    for (size_t p = 1; p < parts; p++)
        of_part[p] = room + p * d;
    const bool whole = room && sg_method_play(&play, step, gamma, &err) == SG_OK;
    *bits = play.bits;
    free(room);
    return whole && alike.are;
}

bool sg_verify_copy_state(sg_method *to, const sg_method *from, size_t first, size_t count) {
    size_t most = sg_method_common_bytes(from);
    for (size_t w = first; w < first + count; w++)
        most = sg_method_worker_bytes(from, w) > most ? sg_method_worker_bytes(from, w) : most;
    void *bytes = sg_malloc(most + 1);
    sg_method_common_save(from, bytes);
    sg_method_common_load(to, bytes);
    for (size_t w = first; w < first + count; w++) {
        sg_method_worker_save(from, w, bytes);
        sg_method_worker_load(to, w, bytes);
    }
    free(bytes);
    return true;
}

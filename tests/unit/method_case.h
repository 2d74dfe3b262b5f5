/* method_case.h: methods as tests open them, and the same steps of one on several ranks. */
/* SPDX-License-Identifier: MIT */
#ifndef METHOD_CASE_H
#define METHOD_CASE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sg_verify.h"

/* Opens a method. What the configuration leaves out: one worker, one thread, error feedback of the form `gradient`.
 * NULL = it was refused: *err says why; with err NULL the test's output does. */
__attribute__((unused)) static sg_method *open_method(struct sg_method_config config, struct sg_error *err) {
    struct sg_error own;
    struct sg_error *why = err ? err : &own;
    sg_method *m = NULL;
    config.size = sizeof config;
    if (!config.feedback.rule)
        config.feedback = (struct sg_feedback){&sg_feedback_gradient, 1, {0}};
    config.count = config.count > 0 ? config.count : 1;
    config.exec.threads = config.exec.threads > 0 ? config.exec.threads : 1;
    why->status = sg_method_open(&m, &config, why);
    if (why->status == SG_OK)
        return m;
    if (!err)
        printf("# %s\n", own.msg);
    return NULL;
}

/* The same steps by one rank and by several. */
struct split {
    sg_method *(*open)(const void *of, size_t first, size_t count, int threads);
    const void *of;
    const size_t *count; /* [parts] workers of each rank */
    size_t parts, d;
    uint64_t steps, saved; /* after step `saved` the ranks go on from a checkpoint */
    double gamma;          /* at every third step twice that */
    bool keeps;            /* there are residuals */
};

/* Are sums, residuals and bits the same by one rank with one thread, and by `parts` ranks with three? draw fills g
 * [workers][d] for a step. */
__attribute__((unused)) static bool splits(const struct split *s, float *g, void (*draw)(uint64_t step)) {
    size_t workers = 0;
    for (size_t p = 0; p < s->parts; p++)
        workers += s->count[p];
    const size_t all = workers * s->d;
    float *e = calloc(2 * all, sizeof *e), *sum = calloc(2 * s->d, sizeof *sum);
    sg_method *whole = s->open(s->of, 0, workers, 1), *part[SG_VERIFY_WORKERS] = {NULL};
    bool fine = e != NULL && sum != NULL && whole != NULL;
    for (size_t p = 0, first = 0; fine && p < s->parts; first += s->count[p++])
        fine = (part[p] = s->open(s->of, first, s->count[p], 3)) != NULL;
    for (uint64_t t = 0; fine && t < s->steps; t++) {
        const double gamma = t % 3 ? s->gamma : 2 * s->gamma;
        double bits, bits_of_parts;
        draw(t);
        fine =
            sg_verify_step(&whole, 1, t, gamma, g, s->keeps ? e : NULL, s->d, sum, &bits) &&
            sg_verify_step(part, s->parts, t, gamma, g, s->keeps ? e + all : NULL, s->d, sum + s->d, &bits_of_parts) &&
            bits == bits_of_parts && memcmp(sum, sum + s->d, s->d * sizeof *sum) == 0 &&
            memcmp(e, e + all, all * sizeof *e) == 0;
        for (size_t p = 0, first = 0; fine && t == s->saved && p < s->parts; first += s->count[p++]) {
            sg_method *again = s->open(s->of, first, s->count[p], 3);
            fine = again != NULL && sg_verify_copy_state(again, part[p], first, s->count[p]);
            sg_method_close(part[p]);
            part[p] = again;
        }
    }
    sg_method_close(whole);
    for (size_t p = 0; p < s->parts; p++)
        sg_method_close(part[p]);
    free(e);
    free(sum);
    return fine;
}

#endif

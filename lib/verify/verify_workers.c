/* verify_workers.c: several workers, as a trainer plays them: the same bits by one rank and by three, with other
 * threads, and after a checkpoint. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "sg_memory.h"
#include "sg_rng.h"
#include "verify_private.h"

enum { WORKERS = 4, D = 600, STEPS = 8, SAVED = 4, RANKS = 3 };

/* Gradients that share a part, as those of workers do. */
static void draw(float *g, uint64_t step) {
    for (size_t w = 0; w < WORKERS; w++) {
        sg_rng own = sg_rng_open(3, SG_RNG_TEST, (uint32_t)w, step), common = sg_rng_open(3, SG_RNG_TEST, 1000, 0);
        for (size_t i = 0; i < D; i++)
            g[w * D + i] = (float)(sg_rng_normal(&common) + 0.3 * sg_rng_normal(&own));
    }
}

struct room {
    float g[WORKERS * D], e[2][WORKERS * D], sum[2][D];
};

static bool step(struct room *r, int which, sg_method **part, size_t parts, uint64_t t, double *bits) {
    return sg_verify_step(part, parts, t, 0.1, r->g, r->e[which], D, r->sum[which], bits);
}

static bool same(const struct room *r, const double bits[2]) {
    return bits[0] == bits[1] && memcmp(r->sum[0], r->sum[1], sizeof r->sum[0]) == 0 &&
           memcmp(r->e[0], r->e[1], sizeof r->e[0]) == 0;
}

/* The same steps by one rank and by three, whose methods are closed and opened again from a checkpoint at step
 * `saved`. */
static void split(struct room *r, const struct verify_run *run, uint64_t saved, struct sg_verdict *verdict) {
    static const size_t count[RANKS] = {1, 2, 1};
    sg_method *whole = verify_method(run, 0, WORKERS, NULL, 1, verdict), *part[RANKS] = {NULL};
    bool fine = whole != NULL;
    double bits[2];
    for (size_t p = 0, first = 0; fine && p < RANKS; first += count[p++])
        fine = (part[p] = verify_method(run, first, count[p], NULL, 3, verdict)) != NULL;
    memset(r->e, 0, sizeof r->e);
    const char *trouble = NULL;
    for (uint64_t t = 0; fine && !trouble && t < STEPS; t++) {
        draw(r->g, t);
        trouble = !step(r, 0, &whole, 1, t, &bits[0])     ? "a step of one rank fails"
                  : !step(r, 1, part, RANKS, t, &bits[1]) ? "a step of three ranks fails"
                  : !same(r, bits) && t < saved           ? "other bits by three ranks with three threads each"
                  : !same(r, bits)                        ? "other bits after a checkpoint"
                                                          : NULL;
        for (size_t p = 0, first = 0; t + 1 == saved && !trouble && p < RANKS; first += count[p++]) {
            sg_method *again = verify_method(run, first, count[p], NULL, 3, verdict);
            if (!again || !sg_verify_copy_state(again, part[p], first, count[p]))
                trouble = "it cannot be opened again";
            sg_method_close(part[p]);
            part[p] = again;
        }
    }
    if (fine)
        verify_note(verdict, trouble == NULL, run, "%s: %s", run->form, trouble ? trouble : "");
    sg_method_close(whole);
    for (size_t p = 0; p < RANKS; p++)
        sg_method_close(part[p]);
}

void verify_workers(sg_verify *v, const struct sg_compressor_ops *ops, struct sg_verdict *out) {
    struct room *r = sg_malloc(sizeof *r);
    (void)v;
    for (int variant = 0; variant < VERIFY_VARIANTS; variant++) {
        struct verify_run run = {
            .ops = ops, .form = "gradient", .feedback = {&sg_feedback_gradient, 1, {0}}, .gamma = 0.1, .rows = 10};
        verify_set(&run, variant, D, variant > 0, WORKERS);
        split(r, &run, STEPS, &out[SG_VERIFY_SAME]);
        split(r, &run, SAVED, &out[SG_VERIFY_RESUME]);
    }
    free(r);
}

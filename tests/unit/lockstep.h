/* lockstep.h: training steps of a network beside PyTorch's, of which tests/golden/lockstep.py writes the golden values.
 * The trainer runs as it does in sparsetrain; only the first weights are the test's. A golden header comes before this
 * one. */
/* SPDX-License-Identifier: MIT */
#ifndef LOCKSTEP_H
#define LOCKSTEP_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_plugin.h"
#include "sg_result.h"
#include "sg_rng.h"
#include "sg_task_plugin.h"
#include "tap.h"
#include "temporary.h"
#include "train_once.h"

/* Only rounding may differ. The golden values are in double precision, and golden_apart is how far PyTorch's own single
 * precision is from them: about 1e-7. Other versions of libtorch and other processors round elsewhere, so this many
 * times as much is allowed. To send another entry, rounding would have to be hundreds of times golden_apart: all counts
 * must be equal. */
enum { LOCKSTEP_TIMES = 16 };

enum { LOSS, ERROR, WEIGHTS, DISTANCES };
enum { ENTRIES = WEIGHTS }; /* in golden_step */

static struct { float first[GOLDEN_D], last[GOLDEN_D]; /* weights before and after the run */ } lockstep;

/* The task is linked into the test, so nothing is loaded. The linker takes this instead of lib/base/plugin_beside.c. */
sg_status sg_plugin_symbol(void **out, const char *library, const char *symbol, struct sg_error *err) {
    sg_task_plugin_fn *const plugin = sg_task_plugin;
    (void)library, (void)symbol, (void)err;
    memcpy(out, &plugin, sizeof plugin);
    return SG_OK;
}

/* lockstep.py's first_weights. */
static void first_weights(size_t zeros) {
    sg_rng rng = sg_rng_open(GOLDEN_SEED, SG_RNG_TEST, 0, 0);
    for (size_t j = 0; j < GOLDEN_D; j++)
        lockstep.first[j] = j < GOLDEN_D - zeros ? (float)(sg_rng_u32(&rng) >> 8) * 0x1p-23f - 1 : 0;
}

/* Puts the first weights in before the first step and takes those after the last one. */
static sg_status visit(void *arg, const struct sg_task_ops *ops, sg_task *task, uint64_t step, uint64_t steps,
                       struct sg_error *err) {
    float *x = sg_task_x(task);
    (void)arg, (void)ops;
    if (sg_task_info(task)->d != GOLDEN_D)
        return sg_fail(err, SG_ERR_ARGUMENT, "%zu parameters, but PyTorch's network has %d", sg_task_info(task)->d,
                       GOLDEN_D);
    if (step == 0)
        memcpy(x, lockstep.first, sizeof lockstep.first);
    if (step == steps)
        memcpy(lockstep.last, x, sizeof lockstep.last);
    return SG_OK;
}

static double relative(double ours, double golden) {
    return golden != 0 ? fabs(ours / golden - 1) : fabs(ours);
}

/* Largest distance of a weight, to the largest change of one. */
static double weights_apart(const double *golden) {
    double distance = 0, change = 0;
    for (size_t j = 0; j < GOLDEN_D; j++) {
        distance = fmax(distance, fabs((double)lockstep.last[j] - golden[j]));
        change = fmax(change, fabs(golden[j] - (double)lockstep.first[j]));
    }
    return distance / change;
}

static void compare(const char *method, size_t m, const struct sg_run *run) {
    static const char *const name[DISTANCES] = {"losses", "|e|^2", "weights"};
    const double *loss = sg_run_series(run, "train_loss"), *error = sg_run_series(run, "error_norm"),
                 *density = sg_run_series(run, "density");
    double distance[DISTANCES] = {[WEIGHTS] = weights_apart(golden_weights[m])};
    size_t miscounted = 0;
    for (size_t t = 1; t <= GOLDEN_STEPS; t++) {
        const double *golden = golden_step[m][t - 1], entries = density[t] * GOLDEN_D * GOLDEN_WORKERS;
        distance[LOSS] = fmax(distance[LOSS], relative(loss[t], golden[LOSS]));
        distance[ERROR] = fmax(distance[ERROR], relative(error[t], golden[ERROR]));
        if (!(fabs(entries - golden[ENTRIES]) < 0.5) && miscounted++ == 0)
            printf("# step %zu: %g entries, PyTorch sends %g\n", t, entries, golden[ENTRIES]);
    }
    ok(miscounted == 0, "%s: as many entries at each of %d steps", method, GOLDEN_STEPS);
    for (size_t i = 0; i < DISTANCES; i++)
        ok(distance[i] <= LOCKSTEP_TIMES * golden_apart[i], "%s: %s differ by %.1e at most, relatively", method,
           name[i], distance[i]);
}

/* Trains with each method of the recipe in turn. `zeros`: how many of the last weights are 0 at first. */
static void against_pytorch(const char *recipe, const char *const method[GOLDEN_METHODS], size_t zeros) {
    first_weights(zeros);
    for (size_t m = 0; m < GOLDEN_METHODS; m++) {
        struct sg_error err;
        struct sg_run run = {0};
        char path[64];
        FILE *series = tmpfile();
        if (!series)
            exit(1);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fileno(series));
        const struct sg_train_options how = {.device = "cpu", .threads = 1, .series = series, .visit = visit};
        sg_status status = train_once(recipe, method[m], NULL, how, &err);
        if (status == SG_OK && fflush(series) == 0)
            status = sg_run_read(&run, path, &err);
        if (ok(status == SG_OK && run.n_points == 1 + GOLDEN_STEPS, "%s: a whole run", method[m]))
            compare(method[m], m, &run);
        else
            printf("# %s\n", err.msg);
        sg_run_free(&run);
        fclose(series);
    }
}

#endif

/* network_run.h: a small network trained on a GPU: twice the same bytes, and close to the CPU. Where the GPU is
 * emulated, libtorch computes on the CPU next to vectors that go through the CUDA table: the CPU's bytes. */
/* SPDX-License-Identifier: MIT */
#ifndef NETWORK_RUN_H
#define NETWORK_RUN_H

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu_run.h"
#include "sg_result.h"
#include "sg_tensor.h"

/* What to train: a recipe of 4 steps, all recorded, with 2 workers, and its methods, the first one without
 * compression. */
struct network {
    const struct sg_task_ops *ops;
    const char *text;
    const char *method[3];
    const char *test_loss; /* a series that is to be as close to the CPU's as train_loss; NULL = none */
    /* How far losses may be from the CPU's, relative to the largest. A GPU adds in another order, and cuDNN may
     * convolve by Winograd's algorithm, so that outputs of a layer are some 1e-5 of their root mean square off. Noise
     * of 1e-5 and 1e-4 put on all outputs of layers, on a CPU, moved losses by 1e-3 and 1.3e-3 (cnn), and by less than
     * 2e-6 (lm, ncf), with the few entries that change sides of a threshold. */
    double bound;
    bool clips;         /* each gradient waits for its norm */
    const char *code;   /* a method that sends all numbers in a code, for its waits without feedback; NULL = none */
    bool graph;         /* its passes can be those of a graph */
    const char *budget; /* a method that cuts the messages of the last step to a budget, for its waits; NULL = none */
};

enum { WORKERS = 2, STEPS = 4 };

/* How often the emulated GPU was waited for (tests/emulation/cuda_runtime.h). */
extern unsigned long sg_emulated_waits __attribute__((weak));

/* On the emulated GPU libtorch computes on the CPU, in the device's memory (tests/emulation/emulated_memory.h). */
extern bool sg_emulated_memory_is_shared;
bool sg_emulated_memory_is_shared = true;

static struct network network;
static bool emulated;
static uint64_t stop_step = UINT64_MAX, steps_seen;
static unsigned long waits_seen[STEPS]; /* before each step's exchange */

sg_status __wrap_sg_task_load(const struct sg_task_ops **out, const char *name, struct sg_error *e);
sg_status __wrap_sg_task_load(const struct sg_task_ops **out, const char *name, struct sg_error *e) {
    (void)name, (void)e;
    *out = network.ops;
    return SG_OK;
}

sg_status __real_sg_scope_open(sg_scope **out, const char *device, const char *precision, struct sg_error *e);
sg_status __wrap_sg_scope_open(sg_scope **out, const char *device, const char *precision, struct sg_error *e);
sg_status __wrap_sg_scope_open(sg_scope **out, const char *device, const char *precision, struct sg_error *e) {
    return __real_sg_scope_open(out, emulated ? "cpu" : device, emulated ? "fp32" : precision, e);
}

/* The emulated GPU's passes go through the places of a graph, and none is recorded. */
sg_status __real_sg_scope_use_graph(sg_scope *s, size_t before, struct sg_error *e);
sg_status __wrap_sg_scope_use_graph(sg_scope *s, size_t before, struct sg_error *e);
sg_status __wrap_sg_scope_use_graph(sg_scope *s, size_t before, struct sg_error *e) {
    return __real_sg_scope_use_graph(s, emulated ? SIZE_MAX : before, e);
}

static int stop_when_asked(void) {
    if (emulated && steps_seen < STEPS)
        waits_seen[steps_seen] = sg_emulated_waits;
    return steps_seen++ == stop_step ? 15 : 0;
}

static const char *change; /* of the recipe, for the runs that follow; NULL = none */

static sg_status train(const char *device, const char *method, FILE *series, bool resume) {
    steps_seen = 0;
    return train_on(device, network.text, method, (const char *const[]){change, NULL}, series, resume, stop_when_asked);
}

/* The series of a run, and its columns in *run. */
static char *whole(const char *device, const char *method, struct sg_run *run) {
    char path[64];
    FILE *series = tmpfile();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fileno(series));
    if (train(device, method, series, false) != SG_OK || fflush(series) != 0 || sg_run_read(run, path, &err) != SG_OK) {
        printf("# %s on %s: %s\n", method, device, err.msg);
        exit(1);
    }
    char *all = content(series);
    fclose(series);
    return all;
}

/* Largest difference of a column between two runs, relative to its largest value. */
static double apart(const struct sg_run *a, const struct sg_run *b, const char *name) {
    const double *x = sg_run_series(a, name), *y = sg_run_series(b, name);
    double gap = 0, most = 0;
    for (size_t i = 0; i < a->n_points; i++) {
        if (isnan(x[i]) && isnan(y[i]))
            continue;
        most = fabs(x[i]) > most ? fabs(x[i]) : most;
        gap = fabs(x[i] - y[i]) <= gap ? gap : fabs(x[i] - y[i]);
    }
    return gap / most;
}

static void test_method(const char *method) {
    struct sg_run first, second, host;
    char *once = whole("cuda", method, &first), *again = whole("cuda", method, &second);
    char *here = whole("cpu", method, &host);
    ok(strcmp(once, again) == 0 && first.n_points == 5, "%s: a run repeated gives the same bytes", method);
    if (emulated) {
        ok(strcmp(once, here) == 0, "%s: the CPU's bytes", method);
    } else {
        const double gap = apart(&first, &host, "train_loss");
        const double test = network.test_loss ? apart(&first, &host, network.test_loss) : 0;
        ok(gap <= network.bound && test <= network.bound, "%s: close to the CPU: train loss %g, test loss %g apart",
           method, gap, test);
    }
    sg_run_free(&first);
    sg_run_free(&second);
    sg_run_free(&host);
    free(once);
    free(again);
    free(here);
}

/* A graph computes what the same kernels do one by one. */
static void test_graph(const char *method) {
    struct sg_run run[3];
    char *here = whole("cuda", method, &run[0]);
    change = "task.graph=true";
    char *there = whole("cuda", method, &run[1]), *again = whole("cuda", method, &run[2]);
    change = NULL;
    const char *ours = strstr(here, "{\"record\":\"step\""), *theirs = strstr(there, "{\"record\":\"step\"");
    ok(ours && theirs && strcmp(ours, theirs) == 0, "%s: a graph's run has the bytes of one without", method);
    ok(strcmp(there, again) == 0 && strcmp(there, here) != 0, "%s: repeated, the same bytes under a key of their own",
       method);
    for (size_t i = 0; i < 3; i++)
        sg_run_free(&run[i]);
    free(here);
    free(there);
    free(again);
}

static void test_resume(const char *method) {
    struct sg_run run;
    FILE *series = tmpfile();
    char *straight = whole("cuda", method, &run);
    stop_step = 1;
    bool right = train("cuda", method, series, false) == SG_ERR_INTERRUPTED;
    stop_step = UINT64_MAX;
    right = right && train("cuda", method, series, true) == SG_OK;
    char *resumed = content(series);
    ok(right && strcmp(straight, resumed) == 0, "%s: stopped and resumed, the same bytes", method);
    free(straight);
    free(resumed);
    fclose(series);
    sg_run_free(&run);
}

/* A step that is not recorded, with the total error: every worker's message is waited for once, because how many
 * entries it has decides what follows. All else that the host learns comes with these waits, and the last residual's
 * norm with one more. */
static void test_waits(const char *method, bool keeps) {
    const unsigned long expected = (unsigned long)(WORKERS + (network.clips ? WORKERS : 0) + keeps);
    const char *const set[] = {"record={every: 4, evaluate: 4, series: [train-loss, total-error]}",
                               keeps ? NULL : "error-feedback=none", NULL};
    FILE *series = tmpfile();
    steps_seen = 0;
    const sg_status status = train_on("cuda", network.text, method, set, series, false, stop_when_asked);
    const unsigned long waits = waits_seen[2] - waits_seen[1];
    ok(status == SG_OK && waits == expected && waits_seen[1] - waits_seen[0] == expected,
       "%s%s: %lu waits a step of %d workers", method, keeps ? "" : " without feedback", waits, WORKERS);
    fclose(series);
}

/* A message that is cut is selected again, in the layout of the whole model, which is opened once and stays open. */
static void test_budget_waits(void) {
    FILE *series = tmpfile();
    const sg_status status = train("cuda", network.budget, series, false);
    const unsigned long waits = waits_seen[STEPS - 1] - waits_seen[STEPS - 2];
    ok(status == SG_OK && waits <= 4 * WORKERS, "%s: %lu waits of the last step of %d workers", network.budget, waits,
       WORKERS);
    fclose(series);
}

static int test_network(const struct network *of) {
    char why[256];
    sg_cuda_device *device;
    struct sg_cuda_facts facts;
    network = *of;
    temporary_make();
    setenv("SPARSE_DATA", temporary, 1);
    if (sg_cuda_device_open(&device, -1, 0, why, sizeof why) != SG_KERNEL_OK) {
        tap_no_gpu(why);
        return tap_done();
    }
    sg_cuda_device_facts(device, &facts);
    sg_cuda_device_close(device);
    emulated = strcmp(facts.name, "emulation") == 0;
    sg_scope *scope;
    if (sg_scope_open(&scope, "cuda:0", "fp32", &err) != SG_OK) {
        tap_no_gpu(err.msg);
        return tap_done();
    }
    sg_scope_close(scope);
    for (size_t i = 0; i < sizeof network.method / sizeof *network.method; i++)
        test_method(network.method[i]);
    test_resume(network.method[1]);
    for (size_t i = 0; network.graph && i < 2; i++)
        test_graph(network.method[i]);
    for (size_t i = 0; emulated && i < sizeof network.method / sizeof *network.method; i++)
        test_waits(network.method[i], i > 0);
    if (emulated && network.code)
        test_waits(network.code, false);
    if (emulated && network.budget)
        test_budget_waits();
    return tap_done();
}

#endif

/* gpu_spy.h: what tests of training through the CUDA table share: a task, and runs of it on both devices. The task is a
 * small network's shape without the network: float vectors in the kernels' memory, uneven layers of which some are
 * matrices, a gradient that depends on x. */
/* SPDX-License-Identifier: MIT */
#ifndef GPU_SPY_H
#define GPU_SPY_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu_run.h"
#include "sg_json.h"
#include "sg_rng.h"

#if defined(__SANITIZE_ADDRESS__) /* which the emulation's threads are slow with */
#define STEPS "6"
enum { ALL = 0 };
#else
#define STEPS "12"
enum { ALL = 1 };
#endif
enum { D = 5003, EPOCH = 4 };
static const size_t offset[] = {0, 37, 37 + 64, 1101, 1102, 4801, D};
enum { LAYERS = sizeof offset / sizeof *offset - 1 };
static const size_t rows[LAYERS] = {1, 8, 25, 1, 27, 2};
static const bool no_decay[LAYERS] = {false, true, false, true, false, false};

static struct { uint64_t step, stop_step, nan_step, inf_loss_step; /* UINT64_MAX = never */ } spy;
static bool flat; /* is layer 2 a matrix whose rows are all the same? It stays from run to run */

/* ---- the task ---------------------------------------------------------------------------------------------------- */

struct sg_task {
    struct sg_task_base base;
    float *mean, host[D];
    uint64_t evaluations;
    double waiting[4];
    size_t n_waiting;
};

static sg_status spy_open(sg_task *t, struct sg_error *e) {
    t->base.info = (struct sg_task_info){.d = D,
                                         .dtype = SG_FLOAT32,
                                         .layout = {LAYERS, offset, NULL, rows},
                                         .steps_per_epoch = EPOCH,
                                         .no_decay = no_decay};
    t->mean = t->base.kernels->allocate(&t->base.exec, sizeof t->host);
    return t->mean ? SG_OK : sg_fail_memory(e, "the spy");
}

static cJSON *spy_dataset(const sg_task *t) {
    (void)t;
    return cJSON_Parse("{\"name\":\"spy\",\"source\":\"file\"}");
}

static void spy_start(sg_task *t, void *x) {
    (void)t;
    for (int j = 0; j < D; j++)
        ((float *)x)[j] = (float)(j % 17 - 8) / 3;
}

/* Of (a_j/2) (x_j - c_wj)^2, with noise; ties and zeros happen. */
static sg_status spy_gradient(sg_task *t, size_t worker, uint64_t step, float *g, struct sg_error *e) {
    (void)e;
    sg_rng rng = sg_rng_open(5, SG_RNG_TEST, (uint32_t)worker, step);
    spy.step = step;
    if (t->base.kernels->get(&t->base.exec, t->host, t->base.x, sizeof t->host) != SG_KERNEL_OK)
        return SG_ERR_UNSUPPORTED;
    for (int j = 0; j < D; j++) {
        const float noise = (float)((int)sg_rng_below(&rng, 17) - 8) / 8;
        t->host[j] = j % 11 == 0 ? 0 : (float)(1 + j % 3) / 3 * (t->host[j] - (float)worker / 2) + noise;
    }
    for (size_t j = offset[2]; flat && j < offset[3]; j++)
        t->host[j] = 1;
    if (step == spy.nan_step && worker == 2)
        t->host[1101] = NAN;
    t->base.kernels->put(&t->base.exec, g, t->host, sizeof t->host);
    return SG_OK;
}

static double spy_batch_loss(const sg_task *t, size_t worker) {
    (void)t;
    return spy.step == spy.inf_loss_step && worker == 1 ? (double)INFINITY : (double)worker + (double)spy.step / 8;
}

static sg_status spy_queue(sg_task *t, struct sg_error *e) {
    (void)e;
    t->base.kernels->running_mean(&t->base.exec, t->mean, t->base.x, D, 1 / (double)++t->evaluations);
    t->waiting[t->n_waiting++] = t->base.kernels->sum_squares(&t->base.exec, t->mean, D);
    return SG_OK;
}

static sg_status spy_evaluate(sg_task *t, double *value, struct sg_error *e) {
    (void)e;
    const size_t n = sg_task_kind_find("logreg")->n_metrics;
    memset(value, 0, n * t->n_waiting * sizeof *value);
    for (size_t i = 0; i < t->n_waiting; i++)
        value[n * i] = t->waiting[i];
    t->n_waiting = 0;
    return SG_OK;
}

static size_t spy_common_bytes(const sg_task *t) {
    return sizeof t->evaluations + sizeof t->host;
}

static void spy_common_save(const sg_task *t, void *out) {
    memcpy(out, &t->evaluations, sizeof t->evaluations);
    (void)t->base.kernels->get(&t->base.exec, (char *)out + sizeof t->evaluations, t->mean, sizeof t->host);
}

static void spy_common_load(sg_task *t, const void *in) {
    memcpy(&t->evaluations, in, sizeof t->evaluations);
    t->base.kernels->put(&t->base.exec, t->mean, (const char *)in + sizeof t->evaluations, sizeof t->host);
}

static void spy_close(sg_task *t) {
    t->base.kernels->release(&t->base.exec, t->mean);
}

extern const struct sg_task_ops sg_logreg_ops; /* the linker takes it instead of the real one */
const struct sg_task_ops sg_logreg_ops = {
    .name = "logreg",
    .size = sizeof(struct sg_task),
    .gpu = true,
    .open = spy_open,
    .dataset = spy_dataset,
    .start = spy_start,
    .gradient = spy_gradient,
    .batch_loss = spy_batch_loss,
    .queue_capacity = 4,
    .queue = spy_queue,
    .evaluate = spy_evaluate,
    .common_bytes = spy_common_bytes,
    .common_save = spy_common_save,
    .common_load = spy_common_load,
    .close = spy_close,
};

/* ---- runs -------------------------------------------------------------------------------------------------------- */

#define HEAD                                                                                                           \
    "schema: 1\n"                                                                                                      \
    "name: spy\n"                                                                                                      \
    "task: {kind: logreg, dataset: spy}\n"                                                                             \
    "workers: 4\n"                                                                                                     \
    "steps: " STEPS "\n"                                                                                               \
    "optimizer: {learning-rate: 0.0625}\n"                                                                             \
    "record: {every: 3, layers: true, series: [error-norm, total-error, error-max, bits, density,\n"                   \
    "         compression-error, bytes-sent, train-loss, loss]}\n"                                                     \
    "methods:\n"

static const char *recipe; /* whose methods are run */

static void watch(void) {
    memset(&spy, 0, sizeof spy);
    spy.stop_step = spy.nan_step = spy.inf_loss_step = UINT64_MAX;
}

static int stop_when_asked(void) {
    return spy.step == spy.stop_step ? 15 : 0;
}

static sg_status train(const char *device, const char *method, const char *const *set, FILE *series, bool resume) {
    return train_on(device, recipe, method, set, series, resume, stop_when_asked);
}

static char *whole(const char *device, const char *method, const char *const *set) {
    FILE *series = tmpfile();
    watch();
    if (train(device, method, set, series, false) != SG_OK) {
        printf("# %s on %s: %s\n", method, device, err.msg);
        exit(1);
    }
    char *all = content(series);
    fclose(series);
    return all;
}

#define SET(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Stopped after a step on one device, resumed on another. */
static bool resumes(const char *method, const char *const *set, const char *from, const char *to, const char *wanted) {
    FILE *series = tmpfile();
    watch();
    spy.stop_step = 4;
    bool right = train(from, method, set, series, false) == SG_ERR_INTERRUPTED;
    spy.stop_step = UINT64_MAX;
    right = right && train(to, method, set, series, true) == SG_OK;
    char *all = content(series);
    right = right && strcmp(all, wanted) == 0;
    free(all);
    fclose(series);
    unlink(temporary_path("ckpt"));
    return right;
}

/* ---- tests of any method ----------------------------------------------------------------------------------------- */

static const char *const momentum[] = {"error-feedback=gradient",
                                       "optimizer={learning-rate: 0.0625, momentum: 0.75, nesterov: 1, weight-decay: "
                                       "0.125}",
                                       NULL};

static void test_same(const char *method, const char *const *set) {
    char *here = whole("cpu", method, set), *there = whole("cuda", method, set);
    const bool same = strcmp(here, there) == 0;
    ok(same && strstr(here, "\"parameters_sha256\":\"") && strstr(here, "\"step\":" STEPS),
       "%s, %s%s%s: the same bytes on both", method, set ? set[0] : "as it is", set && set[1] ? ", " : "",
       set && set[1] ? set[1] : "");
    if (!same)
        printf("# cpu:\n%s# cuda:\n%s", here, there);
    free(here);
    free(there);
}

static void test_resume(const char *method) {
    char *straight = whole("cpu", method, momentum);
    ok(resumes(method, momentum, "cuda", "cuda", straight), "%s: stopped and resumed there", method);
    ok(resumes(method, momentum, "cpu", "cuda", straight) && resumes(method, momentum, "cuda", "cpu", straight),
       "%s: stopped on one, resumed on the other", method);
    free(straight);
}

/* One run, its series on stdout: for runs over ranks. */
static int run_once(const char *device, const char *method, const char *const *set) {
    FILE *series = tmpfile();
    watch();
    const sg_status status = train(device, method, set, series, false);
    char *all = content(series);
    fputs(all, stdout);
    if (status != SG_OK)
        fprintf(stderr, "%s\n", err.msg);
    free(all);
    fclose(series);
    return status != SG_OK;
}

#endif

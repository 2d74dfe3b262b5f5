/* Training through the CUDA table, on a GPU or emulated, against the CPU's: the same bytes. The task is a small network's
 * shape without the network: float vectors in the kernels' memory, uneven layers, a gradient that depends on x. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu_run.h"
#include "sg_method.h"
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
static const bool no_decay[LAYERS] = {false, true, false, true, false, false};

static struct {
    uint64_t step, stop_step, nan_step, inf_loss_step; /* UINT64_MAX = never */
    bool parallel;
} spy;

/* ---- the task ---------------------------------------------------------------------------------------------------- */

struct sg_task {
    struct sg_task_info info;
    const struct sg_kernels *kernels;
    struct sg_exec exec;
    float *x, *mean, host[D];
    uint64_t evaluations;
    double waiting[4];
    size_t n_waiting;
};

static sg_status spy_open(sg_task **out, const struct sg_task_config *config, struct sg_error *e) {
    sg_task *t = calloc(1, sizeof *t);
    if (!t)
        return sg_fail_memory(e, "the spy");
    t->info = (struct sg_task_info){.d = D,
                                    .dtype = SG_FLOAT32,
                                    .layout = {LAYERS, offset, NULL, NULL},
                                    .steps_per_epoch = EPOCH,
                                    .parallel_workers = spy.parallel,
                                    .no_decay = no_decay};
    t->kernels = config->kernels;
    t->exec = config->exec;
    t->x = t->kernels->allocate(&t->exec, sizeof t->host);
    t->mean = t->kernels->allocate(&t->exec, sizeof t->host);
    *out = t;
    return SG_OK;
}

static const struct sg_task_info *spy_info(const sg_task *t) {
    return &t->info;
}

static cJSON *spy_describe(const sg_task *t) {
    (void)t;
    return cJSON_Parse("{\"dataset\":{\"name\":\"spy\",\"source\":\"file\"}}");
}

static sg_status spy_start(sg_task *t, struct sg_error *e) {
    (void)e;
    for (int j = 0; j < D; j++)
        t->host[j] = (float)(j % 17 - 8) / 3;
    t->kernels->put(&t->exec, t->x, t->host, sizeof t->host);
    return SG_OK;
}

/* Of (a_j/2) (x_j - c_wj)^2, with noise; ties and zeros happen. */
static sg_status spy_gradient(sg_task *t, size_t worker, uint64_t step, float *g, struct sg_error *e) {
    (void)e;
    sg_rng rng = sg_rng_open(5, SG_RNG_TEST, (uint32_t)worker, step);
    spy.step = step;
    if (t->kernels->get(&t->exec, t->host, t->x, sizeof t->host) != SG_KERNEL_OK)
        return SG_ERR_UNSUPPORTED;
    for (int j = 0; j < D; j++) {
        const float noise = (float)((int)sg_rng_below(&rng, 17) - 8) / 8;
        t->host[j] = j % 11 == 0 ? 0 : (float)(1 + j % 3) / 3 * (t->host[j] - (float)worker / 2) + noise;
    }
    if (step == spy.nan_step && worker == 2)
        t->host[1101] = NAN;
    t->kernels->put(&t->exec, g, t->host, sizeof t->host);
    return SG_OK;
}

static double spy_batch_loss(const sg_task *t, size_t worker) {
    (void)t;
    return spy.step == spy.inf_loss_step && worker == 1 ? (double)INFINITY : (double)worker + (double)spy.step / 8;
}

static void *spy_parameters(sg_task *t) {
    return t->x;
}

static sg_status spy_queue(sg_task *t, struct sg_error *e) {
    (void)e;
    t->kernels->running_mean(&t->exec, t->mean, t->x, D, 1 / (double)++t->evaluations);
    t->waiting[t->n_waiting++] = t->kernels->sum_squares(&t->exec, t->mean, D);
    return SG_OK;
}

static sg_status spy_evaluate(sg_task *t, double *value, struct sg_error *e) {
    (void)e;
    for (size_t i = 0; i < t->n_waiting; i++)
        memcpy(value + 4 * i, (double[4]){t->waiting[i]}, 4 * sizeof *value);
    t->n_waiting = 0;
    return SG_OK;
}

static size_t spy_common_bytes(const sg_task *t) {
    return sizeof t->evaluations + sizeof t->host;
}

static void spy_common_save(const sg_task *t, void *out) {
    memcpy(out, &t->evaluations, sizeof t->evaluations);
    (void)t->kernels->get(&t->exec, (char *)out + sizeof t->evaluations, t->mean, sizeof t->host);
}

static void spy_common_load(sg_task *t, const void *in) {
    memcpy(&t->evaluations, in, sizeof t->evaluations);
    t->kernels->put(&t->exec, t->mean, (const char *)in + sizeof t->evaluations, sizeof t->host);
}

static void spy_close(sg_task *t) {
    t->kernels->release(&t->exec, t->x);
    t->kernels->release(&t->exec, t->mean);
    free(t);
}

extern const struct sg_task_ops sg_logreg_ops; /* the linker takes it instead of the real one */
const struct sg_task_ops sg_logreg_ops = {
    .name = "logreg",
    .open = spy_open,
    .info = spy_info,
    .describe = spy_describe,
    .start = spy_start,
    .gradient = spy_gradient,
    .batch_loss = spy_batch_loss,
    .parameters = spy_parameters,
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

static const char text[] =
    HEAD "  - {name: SGD, compressor: none}\n"
         "  - {name: Top-k, compressor: topk, k: 3}\n"
         "  - {name: Share, compressor: topk, density: 0.03}\n"
         "  - {name: Hard-threshold, compressor: hard-threshold, lambda: 2.5}\n"
         "  - {name: Budget, compressor: hard-threshold, budget: 0.02}\n"
         "  - {name: Nothing, compressor: hard-threshold, lambda: 1e9}\n"
         "  - {name: Random-k, compressor: randomk, density: 0.02}\n"
         "  - {name: Unbiased, compressor: randomk, density: 0.02, unbiased: 1}\n"
         "  - {name: Accordion, compressor: accordion, k-min: 1, k-max: 9, interval: 2}\n"
         "  - {name: Sums, compressor: accordion, density-min: 0.01, density-max: 0.05, interval: 1,\n"
         "     accumulate: 1}\n";

/* Their messages have formats of their own. */
static const char coders[] =
    HEAD "  - {name: ef-signsgd, compressor: ef-signsgd}\n"
         "  - {name: sign-l2, compressor: sign-l2}\n"
         "  - {name: onebit, compressor: onebit}\n"
         "  - {name: signsgd, compressor: signsgd}\n"
         "  - {name: signsgd-tie, compressor: signsgd, tie: 1}\n"
         "  - {name: qsgd, compressor: qsgd}\n"
         "  - {name: qsgd-max, compressor: qsgd, levels: 3, bucket: 37, max-norm: 1}\n"
         "  - {name: qsgd-atomo, compressor: qsgd, levels: 4, bucket: 4294967295, quirk: atomo}\n"
         "  - {name: terngrad, compressor: terngrad}\n"
         "  - {name: natural, compressor: natural}\n"
         "  - {name: natural-8, compressor: natural-8}\n"
         "  - {name: strom, compressor: strom, tau: 0.5}\n"
         "  - {name: signtopk, compressor: signtopk, density: 0.05}\n"
         "  - {name: dithering, compressor: natural-dithering}\n"
         "  - {name: dithering-max, compressor: natural-dithering, levels: 3, bucket: 37, max-norm: 1}\n"
         "  - {name: grid, compressor: grid, step: 0.25}\n"
         "  - {name: grid-random, compressor: grid, step: 0.7, bits: 3, stochastic: 1}\n"
         "  - {name: grid-budget, compressor: grid, controller: {kind: budget, total: 0.02}}\n"
         "  - {name: signs, compressor: topk, density: 0.03, values: signs}\n"
         "  - {name: signs-rms, compressor: topk, density: 0.03, values: signs-rms}\n"
         "  - {name: signs-fixed, compressor: topk, density: 0.03, values: {code: signs-fixed, magnitude: 0.5}}\n"
         "  - {name: two-means, compressor: topk, density: 0.03, values: two-means}\n"
         "  - {name: levels, compressor: topk, density: 0.03, values: levels}\n"
         "  - {name: powers, compressor: topk, density: 0.03, values: natural}\n"
         "  - {name: powers-8, compressor: topk, density: 0.03, values: natural-8}\n"
         "  - {name: parts, compressor: topk, density: 0.03, values: natural-dithering}\n"
         "  - {name: steps, compressor: topk, density: 0.03, values: {code: grid, bits: 7, stochastic: 1}}\n"
         "  - {name: Clipped, compressor: terngrad, clip: 2.5}\n";

static const char *recipe = text;

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

/* ---- tests ------------------------------------------------------------------------------------------------------- */

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

static void test_forms(void) {
    static const char *const method[] = {"SGD",    "Top-k",    "Share",     "Hard-threshold",
                                         "Budget", "Random-k", "Accordion", "Sums"};
    for (size_t i = 0; i < sizeof method / sizeof *method; i++) {
        test_same(method[i], momentum);
        if (ALL) {
            test_same(method[i], NULL);
            test_same(method[i], SET("error-feedback=none", "scope=model"));
        }
    }
    test_same("Share", SET("error-feedback={form: update, decay: 0.5}", "scope=model"));
    test_same("Share", SET("error-feedback={form: gradient, decay: 0}", "optimizer.momentum=0.5"));
    test_same("Hard-threshold", SET("message.values=fp16"));
    test_same("SGD", SET("message.values=fp16", "error-feedback=gradient"));
    test_same("Share", SET("message.encoding=auto"));
    test_same("Nothing", NULL);
    test_same("Share", SET("error-feedback=gradient", "optimizer={kind: adam, learning-rate: 0.0625}"));
    test_same("SGD", SET("error-feedback=none", "optimizer={kind: adam, learning-rate: 0.1, weight-decay: 0.5}"));
    test_same("Share", SET("workers=1"));
    if (ALL)
        test_same("Share", SET("workers=40"));
}

static void test_feedback(void) {
    static const char *const rule[] = {"{form: dgc-momentum, momentum: 0.75}",
                                       "{form: dgc, momentum: 0.75, nesterov: 1, clip: 20}",
                                       "{form: dgc, momentum: 0.5, decay: 0.5}",
                                       "{form: momentum, beta: 0.875}",
                                       "ef21",
                                       "{form: ef21-sgdm, eta: 0.25}",
                                       "{form: scalecom-lpf, beta: 0.375}"};
    for (size_t i = 0; i < sizeof rule / sizeof *rule; i++) {
        char set[96];
        snprintf(set, sizeof set, "error-feedback=%s", rule[i]);
        test_same("Share", SET(set));
        if (ALL)
            test_same("Hard-threshold", SET(set, "message.values=fp16"));
        recipe = coders;
        test_same("ef-signsgd", SET(set));
        recipe = text;
    }
}

static sg_status failure(const char *device, const char *method) {
    FILE *series = tmpfile();
    const sg_status status = train(device, method, SET("error-feedback=none"), series, false);
    fclose(series);
    return status;
}

static void test_coders(void) {
    static const char *const method[] = {"ef-signsgd",  "sign-l2",   "onebit",       "signsgd",  "signsgd-tie",
                                         "qsgd",        "qsgd-max",  "qsgd-atomo",   "terngrad", "natural",
                                         "natural-8",   "strom",     "signtopk",     "grid",     "grid-random",
                                         "grid-budget", "dithering", "dithering-max"};
    static const char *const values[] = {"signs",  "signs-rms", "signs-fixed", "two-means", "levels",
                                         "powers", "powers-8",  "steps",       "parts"};
    recipe = coders;
    for (size_t i = 0; i < sizeof method / sizeof *method; i++) {
        test_same(method[i], SET("error-feedback=gradient"));
        if (ALL)
            test_same(method[i], SET("error-feedback=none", "scope=model"));
    }
    test_same("ef-signsgd", SET("error-feedback={form: update, decay: 0.5}"));
    watch();
    ok(failure("cuda", "Clipped") == SG_ERR_UNSUPPORTED && strstr(err.msg, "'terngrad' does not run on a GPU"), "%s",
       err.msg);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        test_same(values[i], SET("error-feedback=gradient"));
        if (ALL)
            test_same(values[i], SET("error-feedback=none", "scope=model"));
    }
    test_same("levels", SET("message.encoding=auto"));
    recipe = text;
}

static void test_resume(const char *method) {
    char *straight = whole("cpu", method, momentum);
    ok(resumes(method, momentum, "cuda", "cuda", straight), "%s: stopped and resumed there", method);
    ok(resumes(method, momentum, "cpu", "cuda", straight) && resumes(method, momentum, "cuda", "cpu", straight),
       "%s: stopped on one, resumed on the other", method);
    free(straight);
}

static void test_failures(void) {
    watch();
    spy.nan_step = 3;
    ok(failure("cuda", "Top-k") == SG_ERR_NONFINITE && strncmp(err.msg, "worker 2, step 3, layer 3:", 26) == 0,
       "a gradient that is not a number: %s", err.msg);
    watch();
    spy.nan_step = 3;
    ok(failure("cuda", "SGD") == SG_ERR_NONFINITE && strncmp(err.msg, "worker 2, step 3, layer 3:", 26) == 0,
       "uncompressed: %s", err.msg);
    watch();
    spy.inf_loss_step = 2;
    ok(failure("cuda", "Top-k") == SG_ERR_NONFINITE &&
           strcmp(err.msg, "worker 1, step 2: the training loss is inf") == 0,
       "%s", err.msg);
    watch();
    ok(failure("cuda", "Unbiased") == SG_ERR_UNSUPPORTED && strstr(err.msg, "does not run on a GPU: use --device cpu"),
       "%s", err.msg);
    FILE *series = tmpfile();
    watch();
    ok(train("cuda", "Top-k", SET("record.series=[loss, bound-share]"), series, false) == SG_ERR_UNSUPPORTED &&
           strstr(err.msg, "record.series: 'bound_share' is measured on a CPU only: use --device cpu"),
       "%s", err.msg);
    fclose(series);
    watch();
    spy.parallel = true;
    ok(failure("cuda", "Top-k") == SG_ERR_UNSUPPORTED && strstr(err.msg, "task 'logreg' does not run on a GPU"), "%s",
       err.msg);
    watch();
    ok(failure("cuda:1023", "Top-k") == SG_ERR_UNSUPPORTED && strstr(err.msg, "--device cuda:1023: there "), "%s",
       err.msg);
    static const char *const wrong[] = {"gpu", "cuda:", "cuda:x", "cuda:1x", "cuda:-1", "cuda1", ""};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ok(failure(wrong[i], "Top-k") == SG_ERR_ARGUMENT && strstr(err.msg, "must be cpu, cuda, or cuda:N"), "%s",
           err.msg);
}

static void test_compressor_without(void) {
    struct sg_compressor_ops ops = *sg_compressor_find("topk");
    char why[256];
    sg_cuda_device *device;
    sg_method *m;
    const double param[] = {3, (double)NAN};
    ops.traits &= ~(unsigned)SG_TRAIT_GPU;
    if (sg_cuda_device_open(&device, 0, 0, why, sizeof why) != SG_KERNEL_OK)
        return;
    const struct sg_method_config config = {.compressor = &ops,
                                            .param = param,
                                            .layout = {LAYERS, offset, NULL, NULL},
                                            .feedback = {.rule = sg_feedback_find("none")},
                                            .count = 1,
                                            .kernels = sg_cuda_kernels(),
                                            .exec = {1, device}};
    ok(sg_method_open(&m, &config, &err) == SG_ERR_UNSUPPORTED && m == NULL &&
           strcmp(err.msg, "'topk' does not run on a GPU: use --device cpu") == 0,
       "one that needs the host: %s", err.msg);
    sg_cuda_device_close(device);
}

/* One run, its series on stdout: for runs over ranks. */
static int run_once(const char *device, const char *method, const char *const *set) {
    FILE *series = tmpfile();
    char name[64];
    watch();
    snprintf(name, sizeof name, "{name: %s,", method);
    recipe = strstr(text, name) != NULL ? text : coders;
    const sg_status status = train(device, method, set, series, false);
    char *all = content(series);
    fputs(all, stdout);
    if (status != SG_OK)
        fprintf(stderr, "%s\n", err.msg);
    free(all);
    fclose(series);
    return status != SG_OK;
}

/* Results that are not needed at once: none is there before a wait, and all are after it, however many there are. */
static void test_later(void) {
    enum { N = 600, LENGTH = 5000 };
    const struct sg_kernels *host = sg_kernels_cpu(NULL), *kernels = sg_cuda_kernels();
    static float x[LENGTH], first[N];
    static double sum[N];
    char why[256];
    sg_cuda_device *device;
    if (sg_cuda_device_open(&device, 0, 0, why, sizeof why) != SG_KERNEL_OK)
        return;
    const struct sg_exec exec = {1, device}, here = {1, NULL};
    float *there = kernels->allocate(&exec, sizeof x);
    size_t early = 0, wrong = 0;
    for (size_t i = 0; i < LENGTH; i++)
        x[i] = (float)(i % 17) / 3;
    kernels->put(&exec, there, x, sizeof x);
    for (size_t i = 0; i < N; i++) {
        kernels->sum_squares_later(&exec, there, LENGTH - i, &sum[i]);
        early += isnan(sum[i]) ? 0 : 1;
        kernels->get_later(&exec, &first[i], there + i, sizeof *first);
        kernels->put(&exec, there + i, &(float){-x[i]}, sizeof *x); /* is in order with what was begun */
    }
    const bool fine = kernels->wait(&exec) == SG_KERNEL_OK;
    for (size_t i = 0; i < N; i++)
        wrong += sum[i] != host->sum_squares(&here, x, LENGTH - i) || first[i] != x[i];
    ok(fine && early == 0 && wrong == 0, "%d results come with a wait, %zu before it, %zu wrong", 2 * N, early, wrong);
    kernels->release(&exec, there);
    sg_cuda_device_close(device);
}

int main(int argc, char **argv) {
    char why[256];
    sg_cuda_device *device;
    temporary_make();
    if (argc >= 3) /* DEVICE METHOD [KEY=VALUE]... */
        return run_once(argv[1], argv[2], (const char *const *)argv + 3);
    if (sg_cuda_device_open(&device, -1, 0, why, sizeof why) != SG_KERNEL_OK) {
        tap_no_gpu(why);
        return tap_done();
    }
    sg_cuda_device_close(device);
    test_forms();
    test_coders();
    test_feedback();
    test_resume("Share");
    test_resume("Sums");
    test_failures();
    test_compressor_without();
    test_later();
    return tap_done();
}

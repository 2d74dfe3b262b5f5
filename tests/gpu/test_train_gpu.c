/* Training through the CUDA table, on a GPU or emulated, against the CPU's: the same bytes. */
/* SPDX-License-Identifier: MIT */
#include "gpu_spy.h"
#include "sg_method.h"

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
         "  - {name: qsgd-layers, compressor: qsgd, levels: 4, bucket: 4294967295}\n"
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
         "  - {name: fp16, compressor: fp16}\n"
         "  - {name: bf16, compressor: bf16}\n"
         "  - {name: upper, compressor: topk, density: 0.03, values: bf16}\n"
         "  - {name: Clipped, compressor: terngrad, clip: 2.5}\n";

/* ---- tests ------------------------------------------------------------------------------------------------------- */

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
    test_same("SGD", SET("error-feedback=none", "optimizer={kind: adamw, learning-rate: 0.1, weight-decay: 0.5}"));
    test_same("SGD", SET("error-feedback=none",
                         "optimizer={kind: nesterov, learning-rate: 0.0625, momentum: 0.75, weight-decay: 0.5}"));
    test_same("Share", SET("workers=1"));
    test_same("SGD", SET("participation=0.5"));
    test_same("Share", SET("participation=0.3", "message.encoding=auto"));
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
    static const char *const method[] = {"ef-signsgd",  "sign-l2",   "onebit",        "signsgd",  "signsgd-tie",
                                         "qsgd",        "qsgd-max",  "qsgd-layers",   "terngrad", "natural",
                                         "natural-8",   "strom",     "signtopk",      "grid",     "grid-random",
                                         "grid-budget", "dithering", "dithering-max", "fp16",     "bf16"};
    static const char *const values[] = {"signs",  "signs-rms", "signs-fixed", "two-means", "levels",
                                         "powers", "powers-8",  "steps",       "parts",     "upper"};
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
    ok(train("cuda", "Top-k", SET("record.series=[loss, compression-bias]"), series, false) == SG_ERR_UNSUPPORTED &&
           strstr(err.msg, "record.series: 'compression_bias' is measured on a CPU only: use --device cpu"),
       "%s", err.msg);
    fclose(series);
    const struct sg_task_base config = {.device = "cuda:0", .kernels = sg_kernels_cpu(NULL)};
    struct sg_task_ops host_only = sg_logreg_ops;
    sg_task *task;
    host_only.gpu = false;
    ok(sg_task_open(&task, &host_only, &config, &err) == SG_ERR_UNSUPPORTED &&
           strstr(err.msg, "task 'logreg' does not run on a GPU"),
       "%s", err.msg);
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
    const struct sg_method_config config = {.size = sizeof(struct sg_method_config),
                                            .compressor = &ops,
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
    if (argc >= 3) /* DEVICE METHOD [KEY=VALUE]... */ {
        char name[64];
        snprintf(name, sizeof name, "{name: %s,", argv[2]);
        recipe = strstr(text, name) != NULL ? text : coders;
        return run_once(argv[1], argv[2], (const char *const *)argv + 3);
    }
    recipe = text;
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

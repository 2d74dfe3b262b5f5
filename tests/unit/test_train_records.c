/* What the trainer schedules, measures, evaluates and decides, on the spy task. Numbers are exact in binary unless a
 * tolerance says otherwise; see test_train.c. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "spy_run.h"

/* ---- learning rate ----------------------------------------------------------------------------------------------- */

#define SCHEDULE "optimizer={learning-rate: 0.25, scale: 5, warm-up-epochs: 2, decay-at: [3, 4], decay-factor: 0.5}"
#define COSINE   "optimizer={learning-rate: 2, warm-up-epochs: 1, warm-up-from: 0.25, decay: cosine, decay-to: 0.125}"

static double rate_by_hand(int t) {
    return t < 16 ? 0.25 * (1 + 4 * (t / 16.0)) : t < 24 ? 1.25 : t < 32 ? 0.625 : 0.3125;
}

/* 8 steps up from a quarter, and 32 down: cos(pi / 4) and cos(pi / 2) come at the 8th and the 16th of these. */
static void test_cosine(void) {
    size_t wrong = 0;
    watch(ones, three_layers, 3);
    struct sg_run run = whole("SGD", SET(COSINE, "error-feedback=gradient", "record.series=[learning-rate]"));
    const double *rate = sg_run_series(&run, "learning_rate");
    for (int t = 0; t < 8; t++)
        wrong += rate[t + 1] != 0.5 + 1.5 * t / 8;
    for (int t = 8; t < 40; t++) {
        const double half = t == 8    ? 1
                            : t == 16 ? (1 + sqrt(0.5)) / 2
                            : t == 24 ? 0.5
                            : t == 32 ? (1 - sqrt(0.5)) / 2
                                      : -1;
        wrong += half >= 0 && !(fabs(rate[t + 1] - 2 * (0.125 + 0.875 * half)) < 1e-15);
        wrong += t > 8 && !(rate[t + 1] < rate[t] && rate[t + 1] > 0.25);
    }
    ok(run.n_points == 41 && wrong == 0, "a cosine behind a warm-up from below (%zu wrong)", wrong);
    sg_run_free(&run);
}

/* Gradients of ones: x_0 - x_t is what the schedule sums to, or with a threshold what was sent of it. */
static void test_learning_rate(const char *method, const char *form, double lambda) {
    double sent = 0, e = 0;
    size_t wrong = 0;
    watch(ones, three_layers, 3);
    struct sg_run run = whole(method, SET(SCHEDULE, form, "record.series=[learning-rate]"));
    const double *rate = sg_run_series(&run, "learning_rate");
    wrong += run.n_points != 41 || !isnan(rate[0]);
    for (int t = 0; t < 40; t++) {
        const double gamma = rate_by_hand(t);
        e += gamma;
        if (e >= lambda * gamma) {
            sent += e;
            e = 0;
        }
        wrong += rate[t + 1] != gamma || spy.x[t + 1][3] != spy.x[0][3] - sent;
    }
    ok(wrong == 0, "warm-up, scale and decay: %s, %s", method, form);
    sg_run_free(&run);
}

/* Layer 1 goes as without weight decay, the others as with it. */
static void test_no_decay(void) {
    static const bool none_for_layer_1[] = {false, true, false};
    double with[D], without[D];
    size_t wrong = 0;
    const char *const plain = "optimizer={learning-rate: 0.0625, momentum: 0.75, nesterov: 1}";
    const char *const decaying = "optimizer={learning-rate: 0.0625, momentum: 0.75, nesterov: 1, weight-decay: 0.125}";
    watch(apart, three_layers, 3);
    struct sg_run a = whole("SGD", SET(plain, "error-feedback=gradient"));
    memcpy(without, spy.x[40], sizeof without);
    watch(apart, three_layers, 3);
    struct sg_run b = whole("SGD", SET(decaying, "error-feedback=gradient"));
    memcpy(with, spy.x[40], sizeof with);
    watch(apart, three_layers, 3);
    spy.no_decay = none_for_layer_1;
    struct sg_run c = whole("SGD", SET(decaying, "error-feedback=gradient", "scope=model"));
    for (size_t j = 0; j < D; j++) {
        const bool exempt = j >= three_layers[1] && j < three_layers[2];
        wrong += spy.x[40][j] != (exempt ? without[j] : with[j]) || with[j] == without[j];
    }
    ok(wrong == 0, "weight decay skips the layers it should skip, and no others (%zu wrong)", wrong);
    sg_run_free(&a);
    sg_run_free(&b);
    sg_run_free(&c);
}

/* ---- measures ---------------------------------------------------------------------------------------------------- */

/* Workers apart: what worker j % 4 sent of coordinate j is n times the step of x, so what it lost is known. */
static void test_measures(const char *method, const char *form, const char *scope) {
    const bool keeps = strcmp(form, "error-feedback=none") != 0;
    double lost[D] = {0};
    size_t wrong = 0, astray = 0;
    watch(apart, three_layers, 3);
    struct sg_run run = whole(method, SET(form, scope, "record.layers=true", "record.workers=true",
                                          "record.series=[error-norm, error-max, compression-error, density]"));
    for (uint32_t t = 0; t < 40; t++) {
        double all[WORKERS] = {0}, left[WORKERS] = {0}, most[WORKERS] = {0}, norm[3] = {0}, top[3][WORKERS] = {{0}};
        double relative = 0, largest = 0, entries = 0, layers = 0, tops[3] = {0};
        for (int j = 0; j < D; j++) {
            const size_t w = (size_t)j % WORKERS, l = j < 5 ? 0 : j < 8 ? 1 : 2;
            const double p = (keeps ? lost[j] : 0) + GAMMA * (double)noise(w, t, j);
            lost[j] = p - WORKERS * (spy.x[t][j] - spy.x[t + 1][j]);
            all[w] += p * p;
            left[w] += lost[j] * lost[j];
            most[w] = fmax(most[w], fabs(lost[j]));
            norm[l] += lost[j] * lost[j] / WORKERS;
            top[l][w] = fmax(top[l][w], fabs(lost[j]));
        }
        const cJSON *at = cJSON_GetArrayItem(run.layers, (int)t + 1);
        for (size_t w = 0; w < WORKERS; w++) {
            relative += (all[w] > 0 ? left[w] / all[w] : 0) / WORKERS;
            largest += most[w] / WORKERS;
            for (int l = 0; l < 3; l++)
                tops[l] += top[l][w] / WORKERS;
        }
        for (int l = 0; l < 3; l++) {
            const double square = cJSON_GetNumberValue(cJSON_GetArrayItem(sg_json_get(at, "error_norm"), l));
            const double max = cJSON_GetNumberValue(cJSON_GetArrayItem(sg_json_get(at, "error_max"), l));
            const double sent = cJSON_GetNumberValue(cJSON_GetArrayItem(sg_json_get(at, "entries"), l));
            double of_workers = 0;
            const cJSON *worker;
            cJSON_ArrayForEach(worker, sg_json_get(at, "workers")) of_workers +=
                cJSON_GetNumberValue(cJSON_GetArrayItem(worker, l)) / WORKERS;
            entries += sent;
            astray += of_workers != sent;
            astray += square != (keeps ? norm[l] : 0) || max != (keeps ? tops[l] : 0);
            layers += square;
        }
        /* The quotients' roundings: 4 workers, a division each. */
        wrong += !(fabs(sg_run_series(&run, "compression_error")[t + 1] - relative) <= 8 * 0x1p-53) ||
                 sg_run_series(&run, "error_max")[t + 1] != (keeps ? largest : 0);
        astray +=
            entries != D * sg_run_series(&run, "density")[t + 1] || layers != sg_run_series(&run, "error_norm")[t + 1];
    }
    ok(wrong == 0 && run.n_points == 41, "error_max and compression_error by hand: %s, %s, %s", method, form, scope);
    ok(astray == 0 && cJSON_GetArraySize(run.layers) == 41 && cJSON_IsNull(run.layers->child),
       "and the layers' share of them: %s, %s, %s", method, form, scope);
    sg_run_free(&run);
}

static void test_exact(void) {
    in_valley();
    struct sg_run run = whole("SGD", SET("record.series=[compression-error, error-max, train-loss]"));
    bool right = run.n_points == 41 && isnan(sg_run_series(&run, "train_loss")[0]);
    for (size_t t = 1; t < run.n_points; t++) /* losses 4 w + (t - 1) / 8 */
        right &= sg_run_series(&run, "compression_error")[t] == 0 && sg_run_series(&run, "error_max")[t] == 0 &&
                 sg_run_series(&run, "train_loss")[t] == 6 + (double)(t - 1) / 8;
    ok(right, "no compression loses nothing; train_loss is the workers' mean");
    sg_run_free(&run);
}

/* ---- evaluation -------------------------------------------------------------------------------------------------- */

static void share_in_valley(void) {
    in_valley();
    spy.shared = true;
}

#define SERIES "record.series=[loss, suboptimality, relative-suboptimality, train-loss]"

static void test_evaluation(void) {
    static const struct {
        bool shared;
        const char *evaluate, *recorded, *evaluated;
    } plan[] = {{true, "record.evaluate=1", "0 3 6 8 9 12 15 16 18 20", "8 16 20"},
                {true, "record.evaluate=null", "0 3 6 8 9 12 15 16 18 20", "8 16 20"},
                {true, "record.evaluate=0.3", "0 3 5 6 8 9 10 12 15 17 18 20", "3 5 8 10 12 15 17 20"},
                {true, "record.evaluate=7", "0 3 6 9 12 15 18 20", "20"},
                {true, "record.evaluate=0", "0 3 6 9 12 15 18 20", ""},
                {false, "record.evaluate=1", "0 3 6 8 9 12 15 16 18 20", "8 16 20"},
                {false, "record.evaluate=null", "0 3 6 9 12 15 18 20", "0 3 6 9 12 15 18 20"}};
    for (size_t i = 0; i < sizeof plan / sizeof *plan; i++) {
        char recorded[256] = "", evaluated[256] = "";
        bool right = true;
        double sum = 0;
        size_t n = 0;
        in_valley();
        spy.shared = plan[i].shared;
        struct sg_run run = whole("Top-k", SET("steps=20", "record.every=3", plan[i].evaluate, SERIES));
        const double *step = sg_run_series(&run, "step"), *loss = sg_run_series(&run, "loss");
        for (size_t k = 0; k < run.n_points; k++) {
            const size_t at = strlen(recorded), to = strlen(evaluated);
            snprintf(recorded + at, sizeof recorded - at, "%s%g", k ? " " : "", step[k]);
            if (isnan(loss[k])) {
                right &= isnan(sg_run_series(&run, "suboptimality")[k]);
                continue;
            }
            snprintf(evaluated + to, sizeof evaluated - to, "%s%g", to ? " " : "", step[k]);
            const double x = spy.x[(size_t)step[k]][0];
            sum += x;
            right &= plan[i].shared ? loss[k] == x && spy.evaluated[n++] == (uint64_t)step[k] &&
                                          sg_run_series(&run, "suboptimality")[k] == sum &&
                                          sg_run_series(&run, "relative_suboptimality")[k] == 1234
                                    : loss[k] == step[k];
        }
        ok(strcmp(recorded, plan[i].recorded) == 0 && strcmp(evaluated, plan[i].evaluated) == 0 && right &&
               n == spy.n_evaluated,
           "%s, %s: recorded at %s, evaluated at %s", plan[i].shared ? "shared" : "queued", plan[i].evaluate, recorded,
           evaluated);
        sg_run_free(&run);
    }
    share_in_valley();
    struct sg_run run = whole("Top-k", SET("steps=20", "record.series=[bits]"));
    ok(spy.n_evaluated == 0, "nothing is evaluated that nobody wants");
    sg_run_free(&run);
}

static void test_failures(void) {
    struct sg_run run;
    FILE *series = tmpfile();
    share_in_valley();
    spy.inf_loss_step = 5;
    ok(train(&run, "Top-k", SET(SERIES), series, false) == SG_ERR_NONFINITE &&
           strcmp(err.msg, "worker 3, step 5: the training loss is inf") == 0 && run.n_points == 6 &&
           strcmp(sg_json_string(run.end, "status", ""), "diverged") == 0,
       "a loss that is not finite: %s", err.msg);
    fclose(series);
    sg_run_free(&run);
    series = tmpfile();
    share_in_valley();
    spy.fail_evaluation = 16;
    ok(train(&run, "Top-k", SET(SERIES), series, false) == SG_ERR_MEMORY &&
           strcmp(err.msg, "no memory to evaluate") == 0 && run.n_points == 16 &&
           strcmp(sg_json_string(run.end, "status", ""), "failed") == 0,
       "an evaluation that fails: %s", err.msg);
    fclose(series);
    sg_run_free(&run);
}

/* ---- accordion --------------------------------------------------------------------------------------------------- */

/* Worker 0's gradient is a level in each layer: of layer 0 always 1; of layer 1 7/4 from step 16 on; of layer 2 1/2
 * from step 16 and 15/64 from step 32 on, with signs that cancel in the sum over epoch 2. The others' must not
 * matter. */
static void levels(float *g, size_t worker, uint32_t draw, const double *x) {
    (void)x;
    const float one = draw < 16 ? 1 : 1.75F, two = draw < 16 ? 1 : draw < 32 ? 0.5F : 0.234375F;
    for (int j = 0; j < D; j++)
        g[j] = worker > 0 ? (float)(draw + 1) : j < 5 ? 1 : j < 8 ? one : draw / 8 == 2 && draw % 2 ? -two : two;
}

/* The same, but nothing of layer 0. */
static void silent(float *g, size_t worker, uint32_t draw, const double *x) {
    levels(g, worker, draw, x);
    memset(g, 0, 5 * sizeof *g);
}

/* Modes of the three layers after each step as digits, where they change: "step:modes …". */
static void modes_of(const struct sg_run *run, char *out, size_t size) {
    char last[4] = "";
    out[0] = '\0';
    for (int t = 1; t <= 40; t++) {
        const cJSON *at = cJSON_GetArrayItem(run->layers, t), *mode = sg_json_get(at, "mode");
        char now[4];
        for (int l = 0; l < 3; l++) {
            const double m = cJSON_GetNumberValue(cJSON_GetArrayItem(mode, l));
            now[l] = (char)('0' + (int)m);
            if (cJSON_GetNumberValue(cJSON_GetArrayItem(sg_json_get(at, "entries"), l)) != (m > 0 ? 3 : 1))
                now[l] = '?';
        }
        now[3] = '\0';
        if (strcmp(now, last) != 0)
            snprintf(out + strlen(out), size - strlen(out), "%s%d:%s", *out ? " " : "", t - 1, now);
        memcpy(last, now, sizeof last);
    }
}

/* A step's modes are decided before it. Epochs have 8 steps and decisions are 2 epochs apart. */
static void test_accordion(void) {
    static const struct {
        const char *method, *set[2], *modes;
        bool silent;
    } plan[] = {{"Accordion", {0}, "0:111 16:011 32:001"},
                {"Accordion", {"methods.Accordion.interval=1"}, "0:111 8:000 16:011 24:000 32:001"},
                {"Accordion", {"methods.Accordion.threshold=0.51"}, "0:111 16:010 32:001"},
                {"Accordion", {"methods.Accordion.threshold=0.8"}, "0:111 16:000"},
                {"Accordion", {"optimizer.decay-at=[3]"}, "0:111 16:011 32:111"},
                {"Accordion", {"optimizer.scale=2", "optimizer.warm-up-epochs=3"}, "0:111 16:011 32:001"},
                {"Accordion", {"methods.Accordion.interval=9"}, "0:111"},
                {"Sums", {0}, "0:111 24:011"},
                {"Sums", {"optimizer.decay-at=[4]"}, "0:111 24:011 32:111"},
                {"Sums", {"methods.Sums.threshold=0.8"}, "0:111 24:001"},
                {"Accordion", {0}, "0:111 32:101", .silent = true}};
    for (size_t i = 0; i < sizeof plan / sizeof *plan; i++) {
        char modes[128];
        watch(plan[i].silent ? silent : levels, three_layers, 3);
        struct sg_run run =
            whole(plan[i].method, SET("record.layers=true", "record.series=[bits]", "error-feedback=gradient",
                                      plan[i].set[0] ? plan[i].set[0] : "steps=40", plan[i].set[1]));
        modes_of(&run, modes, sizeof modes);
        ok(strcmp(modes, plan[i].modes) == 0, "%s %s: %s", plan[i].method, plan[i].set[0] ? plan[i].set[0] : "", modes);
        sg_run_free(&run);
    }
}

/* ---- resuming, and other numbers of ranks ------------------------------------------------------------------------ */

#define EVERYTHING                                                                                                     \
    "record={every: 3, evaluate: 0.5, layers: true, series: [loss, suboptimality, error-norm, error-max, "             \
    "compression-error, train-loss, learning-rate]}"
#define LONG_RATE                                                                                                      \
    "optimizer={learning-rate: 0.0625, momentum: 0.75, scale: 2, warm-up-epochs: 1, decay-at: [2.5, 4], "              \
    "decay-factor: "                                                                                                   \
    "0.5}"

#define MOMENTS "optimizer={kind: adamw, learning-rate: 0.0625, warm-up-epochs: 1, warm-up-from: 0.5, decay: cosine}"

/* Under mpirun: one run whose series rank 0 writes, for a comparison of its bytes. */
static int series_only(const char *path, const char *method) {
    struct sg_run run;
    share_in_valley();
    FILE *series = sg_comm_launch_rank() > 0 ? NULL : fopen(path, "w+");
    sg_status status = train(&run, method, SET(EVERYTHING, LONG_RATE, "error-feedback=gradient"), series, false);
    sg_run_free(&run);
    return status == SG_OK && (!series || fclose(series) == 0) ? 0 : 1;
}

int main(int argc, char **argv) {
    temporary_make();
    if (argc == 3)
        return series_only(argv[1], argv[2]);
    unsetenv("OMPI_COMM_WORLD_SIZE");
    test_learning_rate("SGD", "error-feedback=gradient", 0);
    test_learning_rate("SGD", "error-feedback=none", 0);
    test_learning_rate("SGD", "error-feedback=update", 0);
    test_learning_rate("Hard-threshold", "error-feedback=update", 1.5);
    test_cosine();
    test_no_decay();
    static const char *const method[] = {"Top-k", "Hard-threshold", "Random-k", "Accordion"};
    for (size_t i = 0; i < 4; i++) {
        test_measures(method[i], "error-feedback=update", "scope=layer");
        test_measures(method[i], "error-feedback=none", "scope=model");
    }
    test_exact();
    test_evaluation();
    test_failures();
    test_accordion();
    static const char *const resumed[] = {"Accordion", "Sums", "Hard-threshold"};
    for (size_t i = 0; i < 3; i++) {
        test_resume(resumed[i], SET(EVERYTHING, LONG_RATE, "error-feedback=gradient"), share_in_valley);
        test_resume(resumed[i], SET(EVERYTHING, "optimizer.decay-at=[2]", "scope=model"), in_valley);
        test_resume(resumed[i], SET(EVERYTHING, MOMENTS, "error-feedback=gradient"), share_in_valley);
        test_resume(resumed[i], SET(EVERYTHING, LONG_RATE, "error-feedback=none"), share_in_valley);
    }
    return tap_done();
}

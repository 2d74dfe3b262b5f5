/* How often the last step's k-th magnitude is a good enough hint for Top-k: logistic regression on madelon, 20 workers,
 * error feedback, the kernel watched from outside. results/BENCHMARKS.md has the definition and the numbers. */
/* SPDX-License-Identifier: MIT */
#include "method_case.h"
#include "message_values.h"
#include "tap.h"
#include "temporary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sg_dataset.h"
#include "sg_logreg.h"
#include "sg_matrix.h"
#include "sg_rng.h"

enum { WORKERS = 20, D = 500, ROWS = 2000, SHARD = ROWS / WORKERS };

static struct sg_error err;

/* ---- a kernel table that counts ---- */

static struct {
    const struct sg_kernels *real;
    size_t asked, enough;
} watched;

/* Enough: k or more elements reached the floor that the hint stands for, so one pass was all it took. */
static int watch_topk(const struct sg_select *s, const size_t *k, float *guess) {
    const float hint = *guess, floor = (0.9375F - 0.25F / sqrtf((float)*k)) * hint;
    const int status = watched.real->select_topk(s, k, guess);
    if (hint > 0) {
        watched.asked++;
        watched.enough += *guess >= floor;
    }
    return status;
}

/* ---- training ---- */

struct worker {
    sg_method *method;
    float e[D];
    uint32_t row[SHARD];
};

/* One step of Algorithm 1: `batch` rows a worker, drawn without replacement. */
static bool step(struct worker *worker, double *x, const struct sg_matrix *a, double l2, uint64_t at, size_t batch) {
    const double gamma = 1 / (l2 * 10001);
    float sum[D] = {0};
    for (uint32_t w = 0; w < WORKERS; w++) {
        static double scratch[6 * (D + 8)]; /* more than sg_logreg_scratch(D) */
        float g[D];
        uint32_t row[SHARD];
        struct sg_message m;
        sg_rng r = sg_rng_open(7, SG_RNG_TEST, w, at);
        sg_rng_subset(&r, row, batch, SHARD);
        for (size_t i = 0; i < batch; i++)
            row[i] = worker[w].row[row[i]];
        sg_logreg_shifted_gradient(g, a, row, batch, x, l2, NULL, scratch);
        if (sg_verify_send(worker[w].method, (struct sg_verify_at){w, gamma, at, NULL}, g, worker[w].e, &m, &err) !=
            SG_OK)
            return false;
        watched.real->scatter_add(&(struct sg_exec){.threads = 1}, sum, m.index, values_of(&m), m.count);
    }
    for (size_t i = 0; i < D; i++)
        x[i] -= (double)sum[i] / WORKERS;
    return true;
}

/* 600 steps are 6 epochs of single rows. */
static void test_hits(const struct sg_matrix *a, double l2, const double *start, size_t k, size_t batch) {
    enum { STEPS = 600 };
    static struct worker worker[WORKERS];
    struct sg_kernels kernels = *watched.real;
    const size_t offset[] = {0, D};
    const double param[] = {(double)k, NAN};
    double x[D];
    bool good = true;
    kernels.select_topk = watch_topk;
    watched.asked = watched.enough = 0;
    memcpy(x, start, sizeof x);
    memset(worker, 0, sizeof worker);
    for (uint32_t w = 0; w < WORKERS; w++) {
        for (uint32_t i = 0; i < SHARD; i++) /* the file's rows are in no order */
            worker[w].row[i] = w + WORKERS * i;
        worker[w].method = open_method((struct sg_method_config){.compressor = sg_compressor_find("topk"),
                                                                 .param = param,
                                                                 .layout = {.n_layers = 1, .offset = offset},
                                                                 .feedback = {&sg_feedback_update, 1, {0}},
                                                                 .first = w,
                                                                 .kernels = &kernels},
                                       NULL);
        good = good && worker[w].method != NULL;
    }
    for (uint64_t s = 0; good && s < STEPS; s++)
        good = step(worker, x, a, l2, s, batch);
    for (size_t w = 0; w < WORKERS; w++)
        sg_method_close(worker[w].method);
    ok(good && watched.asked == (STEPS - 1) * WORKERS && 100 * watched.enough >= 95 * watched.asked,
       "madelon, Top-%zu, %zu rows a step: %zu of %zu hints were enough (%.2f %%)", k, batch, watched.enough,
       watched.asked, 100.0 * (double)watched.enough / (double)watched.asked);
}

int main(void) {
    const char *shared = getenv("SPARSE_SHARED_DATA");
    char path[512];
    struct sg_matrix a;
    struct sg_provenance from;
    struct sg_logreg_constants c;
    const struct sg_dataset_request request = {.name = path, .data_dir = temporary};
    double start[D], value, norm;
    snprintf(path, sizeof path, "%s/madelon/madelon.xz", shared ? shared : "../shared/data");
    if (access(path, R_OK) != 0) {
        skip("the real madelon is not at %s", path);
        return tap_done();
    }
    temporary_make();
    watched.real = sg_kernels_cpu(NULL);
    if (!ok(watched.real && sg_dataset_load(&a, &from, &request, &err) == SG_OK && a.m == ROWS, "madelon is read"))
        return tap_done();
    sg_logreg_measure(&c, &a, 2);
    const double l2 = c.lipschitz / 10000;
    if (ok(sg_logreg_solve(start, &value, &norm, &a, l2, 2, NULL, NULL, &err) == SG_OK, "and solved")) {
        for (size_t i = 0; i < D; i++)
            start[i] += 1e-4; /* as the recipes do */
        static const size_t shares[] = {1, 5}, batches[] = {1, SHARD};
        for (size_t b = 0; b < 2; b++)
            for (size_t i = 0; i < 2; i++)
                test_hits(&a, l2, start, shares[i], batches[b]);
    }
    sg_matrix_free(&a);
    sg_provenance_free(&from);
    return tap_done();
}

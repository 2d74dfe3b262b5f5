/* A step in parts (sg_method_step_with): each process decodes and adds the messages of one part of the vector. */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "sg_flat.h"
#include "sg_method.h"
#include "sg_rng.h"
#include "tap.h"

enum { D = 700, WORKERS = 3, STEPS = 4 };

static struct sg_error err;

static bool same(const float *a, const float *b, size_t n) {
    return memcmp(a, b, n * sizeof *a) == 0;
}

static void gradient(float *g, size_t w, uint64_t step) {
    sg_rng r = sg_rng_open(9, SG_RNG_TEST, (uint32_t)w, step);
    for (size_t i = 0; i < D; i++)
        g[i] = (float)(sg_rng_normal(&r) / 100);
}

/* Processes are threads here, which meet in `deal` and `spread`. */
static struct meeting {
    pthread_barrier_t all_here;
    const uint8_t *dealt[WORKERS][WORKERS]; /* of each part, by each worker */
    size_t dealt_size[WORKERS][WORKERS];
    float number[WORKERS][D];
} meeting;

static const size_t cut[WORKERS + 1] = {0, 233, 466, D};

static size_t width(size_t part) {
    return cut[part + 1] - cut[part];
}

struct parts {
    size_t worker;
    sg_method *m[WORKERS];
    float g[D], e[D], sum[D];
    uint64_t step;
    struct sg_error err;
};

static sg_status deal(void *of, const uint8_t *const *own, const size_t *own_size, const uint8_t *const **all,
                      const size_t **all_size, struct sg_error *e) {
    const struct parts *p = of;
    (void)e;
    for (size_t i = 0; i < WORKERS; i++) {
        meeting.dealt[i][p->worker] = own[i];
        meeting.dealt_size[i][p->worker] = own_size[i];
    }
    pthread_barrier_wait(&meeting.all_here);
    *all = meeting.dealt[p->worker];
    *all_size = meeting.dealt_size[p->worker];
    return SG_OK;
}

static sg_status spread(void *of, float *const *sum, struct sg_error *e) {
    const struct parts *p = of;
    (void)e;
    memcpy(meeting.number[p->worker], sum[p->worker], width(p->worker) * sizeof **sum);
    pthread_barrier_wait(&meeting.all_here);
    for (size_t i = 0; i < WORKERS; i++)
        memcpy(sum[i], meeting.number[i], width(i) * sizeof **sum);
    pthread_barrier_wait(&meeting.all_here);
    return SG_OK;
}

static void *step_in_parts(void *of) {
    struct parts *p = of;
    const struct sg_exchange by = {sizeof by, deal, NULL, spread, p->worker, p};
    const float *g[WORKERS];
    float *e[WORKERS], *sum[WORKERS];
    for (size_t i = 0; i < WORKERS; i++) {
        g[i] = p->g + cut[i];
        e[i] = p->e + cut[i];
        sum[i] = p->sum + cut[i];
    }
    p->err.status = sg_method_step_with(p->m, WORKERS, p->step, 1, g, e, sum, &by, &p->err);
    return NULL;
}

/* Each process adds one part; the sums and residuals are those of the parts' methods with all workers in one
 * process. */
static void test_parts(const char *text) {
    static struct parts process[WORKERS];
    static float g[WORKERS][D], whole[WORKERS][D], sum[D];
    sg_method *all[WORKERS] = {0};
    pthread_t thread[WORKERS];
    bool fine = true;
    memset(process, 0, sizeof process);
    memset(whole, 0, sizeof whole);
    for (size_t i = 0; i < WORKERS * (WORKERS + 1) && fine; i++) {
        const size_t part = i / (WORKERS + 1), w = i % (WORKERS + 1);
        const struct sg_layout layer = {1, (const size_t[]){0, width(part)}, NULL, NULL};
        sg_method **m = w < WORKERS ? &process[w].m[part] : &all[part];
        fine = sg_method_open_text(m, text, &layer, WORKERS, w % WORKERS, w < WORKERS ? 1 : WORKERS, &err) == SG_OK &&
               sg_method_may_share(*m) && sg_method_is_by_layer(*m);
    }
    for (uint64_t t = 0; t < STEPS && fine; t++) {
        for (size_t w = 0; w < WORKERS; w++) {
            gradient(g[w], w, t);
            memcpy(process[w].g, g[w], sizeof g[w]);
            process[w].worker = w;
            process[w].step = t;
            pthread_create(&thread[w], NULL, step_in_parts, &process[w]);
        }
        for (size_t w = 0; w < WORKERS; w++) {
            pthread_join(thread[w], NULL);
            fine = fine && process[w].err.status == SG_OK;
        }
        for (size_t i = 0; i < WORKERS; i++) {
            const float *const gradients[] = {g[0] + cut[i], g[1] + cut[i], g[2] + cut[i]};
            float *const residuals[] = {whole[0] + cut[i], whole[1] + cut[i], whole[2] + cut[i]};
            fine = fine && sg_method_step(all[i], t, 1, gradients, residuals, sum + cut[i], NULL, NULL, &err) == SG_OK;
        }
        for (size_t w = 0; w < WORKERS; w++)
            fine = fine && same(process[w].sum, sum, D) && same(process[w].e, whole[w], D);
    }
    ok(fine, "%s: in parts", text);
    for (size_t i = 0; i < WORKERS; i++) {
        sg_method_close(all[i]);
        for (size_t w = 0; w < WORKERS; w++)
            sg_method_close(process[w].m[i]);
    }
}

static void test_no_parts(void) {
    static const char *const texts[] = {"topk k=30", "none", "signsgd; error-feedback=none",
                                        "qsgd; error-feedback=ef21", "atomo rank=1"};
    const struct sg_layout layer = {1, (const size_t[]){0, D}, NULL, (const size_t[]){20}};
    sg_method *m[2];
    float g[D], e[D] = {0}, sum[D];
    struct parts p = {0};
    struct sg_exchange by = {sizeof by, deal, NULL, spread, 0, &p};
    gradient(g, 0, 0);
    for (size_t i = 0; i < sizeof texts / sizeof *texts - (no_zoo() ? 1 : 0); i++) {
        ok(sg_method_open_text(&m[0], texts[i], &layer, 1, 0, 1, &err) == SG_OK && !sg_method_may_share(m[0]),
           "%s is not added in parts", texts[i]);
        m[1] = m[0];
        ok(sg_method_step_with(m, 2, 0, 1, (const float *const[]){g, g}, (float *const[]){e, e},
                               (float *const[]){sum, sum}, &by, &err) == SG_ERR_UNSUPPORTED,
           "%s", err.msg);
        by.mine = 2;
        ok(sg_method_step_with(m, 2, 0, 1, (const float *const[]){g, g}, (float *const[]){e, e},
                               (float *const[]){sum, sum}, &by, &err) == SG_ERR_ARGUMENT,
           "%s", err.msg);
        by.mine = 0;
        sg_method_close(m[0]);
    }
    ok(sg_method_open_text(m, "topk k=30; controller=warm-up from=90 epochs=2; steps=4; steps-per-epoch=2", &layer, 1,
                           0, 1, &err) == SG_OK &&
           !sg_method_is_by_layer(m[0]),
       "a controller goes by the whole model");
    by.size--;
    ok(sg_method_step_with(m, 1, 0, 1, (const float *const[]){g}, (float *const[]){e}, (float *const[]){sum}, &by,
                           &err) == SG_ERR_ARGUMENT,
       "%s", err.msg);
    sg_method_close(m[0]);
}

int main(void) {
    alarm(300); /* a process that fails alone would leave the others at the barrier */
    pthread_barrier_init(&meeting.all_here, NULL, WORKERS);
    if (!no_zoo())
        test_parts("8bit");
    test_parts("qsgd");
    test_parts("sign-l2; error-feedback=gradient decay=0.9");
    test_no_parts();
    return tap_done();
}

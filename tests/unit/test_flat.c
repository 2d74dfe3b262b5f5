/* The flat calls: selections and bytes of one vector, methods from texts, steps in bytes of every compressor. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sg_drive.h"
#include "sg_flat.h"
#include "sg_rng.h"
#include "sg_wire.h"
#include "sparsegrad.h"
#include "tap.h"

enum { D = 700, WORKERS = 3, STEPS = 4, LAYERS = 3 };

static const size_t offset[] = {0, 300, 340, D}, rows[] = {20, 1, 18};
static const struct sg_layout layout = {LAYERS, offset, NULL, rows};
static struct sg_error err;

static bool same(const float *a, const float *b, size_t n) {
    return memcmp(a, b, n * sizeof *a) == 0;
}

static void test_selections(void) {
    const float g[6] = {1, -5, 2, 4, -3, 0};
    float e[6] = {0, 0, 3, 0, 0, 0}, value[6], bad[2] = {1, NAN};
    uint32_t index[6];
    size_t count = 9;
    ok(sg_topk(g, e, 6, 2, 2, index, value, &err) == SG_OK && index[0] == 1 && index[1] == 2 && value[0] == -5 &&
           value[1] == 5,
       "the two largest of e + g");
    ok(same(e, (float[]){1, 0, 0, 4, -3, 0}, 6), "and the rest is kept");
    float three[4] = {0, 0, 0, 17};
    uint32_t places[4] = {0, 0, 0, 17};
    ok(sg_topk(g, NULL, 6, 3, 1, places, three, &err) == SG_OK && three[2] == -3 && three[3] == 17 && places[2] == 4 &&
           places[3] == 17,
       "three of six need room for three");
    ok(sg_topk(g, NULL, 6, 0, 1, index, value, &err) == SG_OK &&
           sg_topk(NULL, NULL, 0, 0, 1, NULL, NULL, &err) == SG_OK,
       "nothing of six, and of none");
    ok(sg_topk(g, e, 6, 7, 1, index, value, &err) == SG_ERR_ARGUMENT && strstr(err.msg, "k = 7 of 6"), "%s", err.msg);
    ok(sg_topk(g, e, 6, 1, 0, index, value, &err) == SG_ERR_ARGUMENT, "%s", err.msg);
    ok(sg_topk(bad, NULL, 2, 1, 1, index, value, &err) == SG_ERR_NONFINITE, "%s", err.msg);
    ok(sg_hard_threshold(g, NULL, 6, 3, 1, index, value, &count, &err) == SG_OK && count == 3 && index[2] == 4 &&
           value[2] == -3,
       "what is at least 3");
    ok(sg_hard_threshold(g, NULL, 6, INFINITY, 1, index, value, &count, &err) == SG_OK && count == 0, "nothing");
    ok(sg_hard_threshold(g, NULL, 6, NAN, 1, index, value, &count, &err) == SG_ERR_ARGUMENT, "%s", err.msg);
}

static void test_bytes(void) {
    const uint32_t index[] = {1, 4}, descending[] = {4, 1};
    const float value[] = {-5, 0.5F};
    float sum[6] = {1, 1, 1, 1, 1, 1};
    uint8_t bytes[64];
    size_t n = 0;
    ok(sg_encode_bound(6, 2) <= sizeof bytes && sg_encode(bytes, sizeof bytes, &n, 6, index, value, 2, &err) == SG_OK &&
           n > 8 && n <= sg_encode_bound(6, 2),
       "two entries as %zu bytes", n);
    ok(sg_decode(sum, 6, bytes, n, &err) == SG_OK && same(sum, (float[]){1, -4, 1, 1, 1.5F, 1}, 6), "and added");
    ok(sg_decode(sum, 7, bytes, n, &err) == SG_ERR_MISMATCH && strstr(err.msg, "6 numbers"), "%s", err.msg);
    ok(sg_decode(sum, 6, bytes, n - 1, &err) == SG_ERR_FORMAT, "%s", err.msg);
    ok(sg_decode(sum, 6, bytes, n + 1, &err) == SG_ERR_FORMAT, "%s", err.msg);
    ok(sg_encode(bytes, 3, &n, 6, index, value, 2, &err) == SG_ERR_ARGUMENT, "%s", err.msg);
    ok(sg_encode(bytes, sizeof bytes, &n, 6, descending, value, 2, &err) == SG_ERR_ARGUMENT, "%s", err.msg);
}

/* The bytes of few singular triplets, or none, stand for a whole matrix, also beside a layer without elements. */
static void test_low_rank(void) {
    enum { SIDE = 60, N = SIDE * SIDE };
    static const char *const texts[] = {"svd-threshold tau=1e9; error-feedback=none",
                                        "atomo rank=1; error-feedback=none"};
    static const size_t cut[] = {0, 0, N}, rows_of[] = {1, SIDE};
    static const struct sg_layout matrix = {2, cut, NULL, rows_of};
    static float g[N], sum[N];
    for (int i = 0; i < 4; i++) {
        sg_method *m = NULL;
        for (size_t j = 0; j < N; j++)
            g[j] = i / 2 ? (float)(j % SIDE) : 0;
        const bool fine = sg_method_open_text(&m, texts[i % 2], &matrix, 1, 0, 1, &err) == SG_OK &&
                          sg_method_step(m, 0, 1, (const float *const[]){g}, NULL, sum, NULL, NULL, &err) == SG_OK;
        const float wanted = i == 3 ? 1 : 0;
        ok(fine && fabsf(sum[1] - wanted) < 1e-5F, "%s of %d numbers %s", texts[i % 2], N, fine ? "" : err.msg);
        sg_method_close(m);
    }
}

/* ---- texts ---- */

static void test_texts(void) {
    double room[SG_TEXT_NUMBERS];
    struct sg_method_config c = {.size = sizeof(struct sg_method_config), .seed = 5};
    ok(sg_method_read_text(&c, room, "topk density=0.001 | levels levels=15", &err) == SG_OK &&
           c.compressor == sg_compressor_find("topk") && isnan(c.param[0]) && c.param[1] == 0.001 &&
           c.code == &sg_code_levels && c.code_param[0] == 15 && c.controller == NULL && c.seed == 5 &&
           c.feedback.rule == &sg_feedback_gradient && c.feedback.decay == 1,
       "a compressor and a code");
    ok(sg_method_read_text(
           &c, room,
           " topk k=3;controller=warm-up from=0.5 epochs=4 ; error-feedback=momentum beta=0.75 decay=0.5;"
           "seed=7;steps=90;steps-per-epoch=9;threads=2\n",
           &err) == SG_OK &&
           c.code == NULL && c.controller == sg_controller_find("warm-up") && c.controller_param[0] == 0.5 &&
           c.feedback.rule == sg_feedback_find("momentum") && c.feedback.decay == 0.5 && c.feedback.param[0] == 0.75 &&
           c.seed == 7 && c.steps == 90 && c.steps_per_epoch == 9 && c.exec.threads == 2,
       "settings");
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"", "begins with the name of a compressor"},
        {"topk=3", "begins with the name of a compressor"},
        {"tpok k=3", "there is no compressor 'tpok' (did you mean 'topk'?)"},
        {"topk densty=0.1", "topk: there is no parameter 'densty' (did you mean 'density'?)"},
        {"topk density=1/2", "topk: 'density=1/2' is no plain decimal number"},
        {"topk density=0,5", "is no plain decimal number"},
        {"topk density", "'density' has no value: write density=VALUE"},
        {"topk k=1 k=2", "'k' is given twice"},
        {"topk k=1 | fp61", "there is no code 'fp61' (did you mean 'fp16'?)"},
        {"topk k=1 | fp16 | fp16", "stand once"},
        {"topk k=1; sed=1", "there is no setting 'sed' (did you mean 'seed'?)"},
        {"topk k=1; seed", "behind ';' stands a setting"},
        {"topk k=1; seed=1.5", "'seed=1.5' is no whole number"},
        {"topk k=1; seed=1 2", "seed: there is no parameter '2'"},
        {"topk k=1; error-feedback=momentun", "(did you mean 'momentum'?)"},
        {"topk k=1; controller=warmup", "(did you mean 'warm-up'?)"},
        {"topk k=1 a-word-that-is-longer-than-anything-that-could-be-the-name-of-a-parameter=1", "longer than 63"},
        {"topk k=1000000", "topk: "},
        {"topk", "topk: "},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        sg_method *m = (sg_method *)&c;
        const sg_status status = sg_method_open_text(&m, wrong[i].text, &layout, 1, 0, 1, &err);
        ok(status == SG_ERR_ARGUMENT && m == NULL && strstr(err.msg, wrong[i].says) != NULL, "%s", err.msg);
        sg_method_close(m);
    }
    sg_method *m;
    ok(sg_method_open_text(&m, "none", &layout, 2, 1, 2, &err) == SG_ERR_ARGUMENT, "%s", err.msg);
    ok(sg_method_open_text(&m, "none; error-feedback=none", &layout, 1, 0, 1, &err) == SG_OK &&
           !sg_method_has_residuals(m),
       "no residuals");
    sg_method_close(m);
}

static void test_version(void) {
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", SPARSEGRAD_MAJOR, SPARSEGRAD_MINOR, SPARSEGRAD_PATCH);
    ok(strcmp(version, sg_library_version()) == 0, "version %s", version);
}

/* ---- steps in bytes ---- */

struct side {
    float e[WORKERS][D], sum[D];
};

static void gradient(float *g, size_t w, uint64_t step) {
    sg_rng r = sg_rng_open(9, SG_RNG_TEST, (uint32_t)w, step);
    for (size_t i = 0; i < D; i++)
        g[i] = (float)(sg_rng_normal(&r) / 100);
}

/* The trainer's way: one method has all workers, and the messages stay where they are. */
static bool step_whole(sg_method *m, float (*g)[D], struct side *s, uint64_t step) {
    struct sg_message message[WORKERS];
    float *sum = s->sum;
    struct sg_play play = {
        .part = &m, .parts = 1, .d = D, .g = *g, .e = *s->e, .sum = &sum, .message = message, .optimizes = true};
    return sg_method_play(&play, step, 1, &err) == SG_OK;
}

/* Every worker has a method of its own, as a process would. They are threads here, which meet in `gather` and
 * `reduce`. */
static struct meeting {
    pthread_barrier_t all_here;
    uint8_t copy[WORKERS][16384];
    const uint8_t *bytes[WORKERS];
    size_t size[WORKERS];
    float number[WORKERS][D];
    bool reduces;
    size_t reduced, unlike; /* calls of worker 0; and those of another length or code than sg_method_reduces said */
} meeting;

struct process {
    size_t worker;
    sg_method *m;
    const float *g;
    float *e, sum[D];
    uint64_t step;
    unsigned calls; /* of reduce in this step */
    struct sg_error err;
};

static sg_status gather(void *of, const uint8_t *const *own, const size_t *own_size, const uint8_t *const **all,
                        const size_t **all_size, struct sg_error *e) {
    const struct process *p = of;
    (void)e;
    pthread_barrier_wait(&meeting.all_here); /* nobody reads the last round's any more */
    if (*own_size > sizeof *meeting.copy)
        abort();
    memcpy(meeting.copy[p->worker], *own, *own_size);
    meeting.bytes[p->worker] = meeting.copy[p->worker];
    meeting.size[p->worker] = *own_size;
    pthread_barrier_wait(&meeting.all_here);
    *all = meeting.bytes;
    *all_size = meeting.size;
    return SG_OK;
}

static sg_status reduce(void *of, float *numbers, size_t count, const char *code, struct sg_error *e) {
    struct process *p = of;
    const char *said;
    const size_t before = sg_method_reduces(p->m, p->calls++, &said);
    (void)e;
    if (count > D || sg_code_find(code) == NULL)
        abort();
    memcpy(meeting.number[p->worker], numbers, count * sizeof *numbers);
    pthread_barrier_wait(&meeting.all_here);
    memset(numbers, 0, count * sizeof *numbers);
    for (size_t w = 0; w < WORKERS; w++)
        for (size_t i = 0; i < count; i++)
            numbers[i] += meeting.number[w][i];
    meeting.reduced += p->worker == 0;
    meeting.unlike += p->worker == 0 && before > 0 && (before != count || strcmp(said, code) != 0);
    pthread_barrier_wait(&meeting.all_here);
    return SG_OK;
}

static void *process_step(void *of) {
    struct process *p = of;
    float *const sum = p->sum;
    const struct sg_exchange by = {
        .size = sizeof by, .gather = gather, .reduce = meeting.reduces ? reduce : NULL, .of = p};
    p->err.status = sg_method_step_with(&p->m, 1, p->step, 1, &p->g, &p->e, &sum, &by, &p->err);
    return NULL;
}

static bool step_bytes(sg_method **m, float (*g)[D], struct side *s, uint64_t step) {
    static struct process process[WORKERS];
    pthread_t thread[WORKERS];
    bool fine = true;
    for (size_t w = 0; w < WORKERS; w++) {
        process[w] = (struct process){.worker = w, .m = m[w], .g = g[w], .e = s->e[w], .step = step};
        pthread_create(&thread[w], NULL, process_step, &process[w]);
    }
    for (size_t w = 0; w < WORKERS; w++) {
        pthread_join(thread[w], NULL);
        if (process[w].err.status != SG_OK)
            err = process[w].err;
        fine = fine && process[w].err.status == SG_OK && same(process[w].sum, process[0].sum, D);
    }
    memcpy(s->sum, process[0].sum, sizeof s->sum);
    return fine;
}

static void test_steps(const char *text) {
    static struct side whole, parts;
    static float g[WORKERS][D];
    sg_method *all = NULL, *own[WORKERS] = {0};
    bool fine = sg_method_open_text(&all, text, &layout, WORKERS, 0, WORKERS, &err) == SG_OK;
    for (size_t w = 0; w < WORKERS && fine; w++)
        fine = sg_method_open_text(&own[w], text, &layout, WORKERS, w, 1, &err) == SG_OK;
    whole = parts = (struct side){0};
    for (uint64_t t = 0; t < STEPS && fine; t++) {
        for (size_t w = 0; w < WORKERS; w++)
            gradient(g[w], w, t);
        fine = step_whole(all, g, &whole, t) && step_bytes(own, g, &parts, t) && same(whole.sum, parts.sum, D);
        for (size_t w = 0; w < WORKERS && fine; w++)
            fine = same(whole.e[w], parts.e[w], D);
    }
    ok(fine, "%s: %s give the trainer's sums and residuals%s%s", text, meeting.reduces ? "numbers" : "bytes",
       fine ? "" : ": ", fine ? "" : err.msg);
    sg_method_close(all);
    for (size_t w = 0; w < WORKERS; w++)
        sg_method_close(own[w]);
}

/* Gradients that are handed in as the residuals, and residuals as the gradients, give the same bits. */
static void test_sum_read(const char *text) {
    static struct side by_place, turned;
    static float g[WORKERS][D], next[WORKERS][D];
    const float *const gradients[] = {g[0], g[1], g[2]}, *const old[] = {turned.e[0], turned.e[1], turned.e[2]};
    float *const residuals[] = {by_place.e[0], by_place.e[1], by_place.e[2]}, *const new[] = {next[0], next[1],
                                                                                              next[2]};
    sg_method *m[2] = {0};
    bool fine = sg_method_open_text(&m[0], text, &layout, WORKERS, 0, WORKERS, &err) == SG_OK &&
                sg_method_open_text(&m[1], text, &layout, WORKERS, 0, WORKERS, &err) == SG_OK;
    by_place = turned = (struct side){0};
    for (uint64_t t = 0; t < STEPS && fine; t++) {
        for (size_t w = 0; w < WORKERS; w++)
            gradient(g[w], w, t);
        memcpy(next, g, sizeof next);
        fine = sg_method_step(m[0], t, 0.5, gradients, residuals, by_place.sum, NULL, NULL, &err) == SG_OK &&
               sg_method_step(m[1], t, 0.5, old, new, turned.sum, NULL, NULL, &err) == SG_OK;
        memcpy(turned.e, next, sizeof next);
        fine = fine && memcmp(&by_place, &turned, sizeof turned) == 0;
    }
    ok(fine, "%s reads only the sum of gradient and residual%s%s", text, fine ? "" : ": ", fine ? "" : err.msg);
    sg_method_close(m[0]);
    sg_method_close(m[1]);
}

static bool reads_sum(const char *text) {
    sg_method *m = NULL;
    const bool reads =
        sg_method_open_text(&m, text, &layout, WORKERS, 0, WORKERS, &err) == SG_OK && sg_method_reads_sum(m);
    sg_method_close(m);
    return reads;
}

static void test_sent(void) {
    static struct side s;
    static float g[WORKERS][D];
    const float *pointers[WORKERS] = {g[0], g[1], NULL};
    float *e[WORKERS] = {s.e[0], s.e[1], s.e[2]};
    struct sg_sent sent = {0};
    sg_method *m = NULL;
    bool fine = sg_method_open_text(&m, "topk k=30", &layout, WORKERS, 0, WORKERS, &err) == SG_OK;
    for (size_t w = 0; w < WORKERS; w++)
        gradient(g[w], w, 0);
    ok(fine && sg_method_step(m, 0, 1, pointers, e, s.sum, NULL, NULL, &err) == SG_ERR_ARGUMENT,
       "a step in which a worker has no gradient is refused");
    pointers[2] = g[2];
    for (uint64_t t = 0; t < 2 && fine; t++)
        fine = sg_method_step(m, t, 1, pointers, e, s.sum, NULL, NULL, &err) == SG_OK;
    sg_method_sent(m, &sent);
    const double entries = WORKERS * LAYERS * 30; /* k entries of each layer */
    ok(fine && sent.entries == entries && sent.bits == 64 * entries && sent.bytes > 4 * entries &&
           sent.bytes < 8 * entries,
       "what all workers sent in the last step: %g entries, %g bits, %g bytes", sent.entries, sent.bits, sent.bytes);
    sg_method_close(m);
}

static void test_tables(void) {
    const char *summary, *help, *name, *const table[] = {"compressor", "code", "error-feedback", "controller"};
    const char *const has[] = {"topk", "levels", "ef21", "accordion"};
    double number[3];
    for (size_t t = 0; t < 4; t++) {
        bool found = false, fine = true;
        for (size_t row = 0; (name = sg_text_row(table[t], row, &summary)) != NULL; row++) {
            found = found || strcmp(name, has[t]) == 0;
            fine = fine && summary != NULL;
            for (size_t p = 0; sg_text_parameter(table[t], row, p, number, &help) != NULL; p++)
                fine = fine && help != NULL && number[0] <= number[1];
        }
        ok(found && fine, "the table of every %s", table[t]);
    }
    ok(sg_text_row("compresor", 0, &summary) == NULL && sg_text_parameter("code", 999, 0, number, &help) == NULL,
       "there is no other table and no other row");
}

/* The text that gives a compressor the numbers of sg_compressor_example. */
static void write_example(char *text, size_t room, const struct sg_compressor_ops *ops) {
    double param[16];
    size_t at = (size_t)snprintf(text, room, "%s", ops->name);
    sg_compressor_example(ops, 0.05, 0.01, param);
    for (size_t i = 0; i < ops->n_params; i++)
        if (!isnan(param[i]) && isfinite(param[i]))
            at += (size_t)snprintf(text + at, room - at, " %s=%.17g", ops->params[i].name, param[i]);
    snprintf(text + at, room - at, "; steps=%d; steps-per-epoch=2; seed=3", STEPS);
}

static void test_every_compressor(void) {
    const struct sg_compressor_ops *ops;
    for (size_t i = 0; (ops = sg_compressor_at(i)) != NULL; i++) {
        char text[512];
        write_example(text, sizeof text, ops);
        test_steps(text);
        if (reads_sum(text))
            test_sum_read(text);
    }
    ok(reads_sum("topk k=30") && !reads_sum("topk k=30; error-feedback=gradient decay=0.9") &&
           !reads_sum("topk k=30; error-feedback=ef21") &&
           !reads_sum("topk k=30; controller=accordion high=90 interval=1; steps=4; steps-per-epoch=1"),
       "which methods read only the sum");
    test_steps("topk k=30 | levels levels=15");
    test_steps("topk k=30; controller=warm-up from=90 epochs=2; steps=4; steps-per-epoch=2");
    test_steps("topk k=30; controller=accordion high=90 interval=1; steps=4; steps-per-epoch=1");
    test_steps("hard-threshold; controller=budget total=100; steps=4; steps-per-epoch=2");
    test_steps("topk k=30; error-feedback=ef21");
    test_steps("topk k=30; error-feedback=dgc-momentum");
}

/* How many calls of `reduce` a method knows before its first step. */
static unsigned known_calls(const char *text) {
    const char *code;
    unsigned calls = 0;
    sg_method *m = NULL;
    if (sg_method_open_text(&m, text, &layout, WORKERS, 0, 1, &err) == SG_OK)
        while (sg_method_reduces(m, calls, &code) > 0)
            calls++;
    sg_method_close(m);
    return calls;
}

/* What networks can add is added, and gives the same bits; all else is gathered. */
static void test_reduce(void) {
    static const struct {
        const char *text;
        size_t rounds, known;
    } of[] = {{"none", 1, 1},
              {"none | fp16; error-feedback=gradient", 1, 1},
              {"fp16", 1, 1},
              {"bf16", 1, 1},
              {"randomk k=30 shared=1", 1, 0},
              {"randomk k=30 shared=1 | fp16", 1, 0},
              {"powersgd rank=2", 2, 2},
              {"randomk k=30 shared=1 | levels levels=15", 0, 0},
              {"randomk k=30 shared=0", 0, 0},
              {"topk k=700", 0, 0},
              {"qsgd", 0, 0}};
    meeting.reduces = true;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        meeting.reduced = meeting.unlike = 0;
        test_steps(of[i].text);
        ok(meeting.reduced == of[i].rounds * STEPS && known_calls(of[i].text) == of[i].known && meeting.unlike == 0,
           "%s: %zu sums, %zu of a step known before it", of[i].text, meeting.reduced, of[i].known);
    }
    meeting.reduces = false;
}

/* What a gather gives back instead of the message that worker 0 made. */
struct stranger {
    uint8_t bytes[4096];
    const uint8_t *all[1];
    size_t size, made, cut; /* size 0: the message itself, without its last `cut` bytes */
};

static sg_status estrange(void *of, const uint8_t *const *own, const size_t *own_size, const uint8_t *const **all,
                          const size_t **all_size, struct sg_error *e) {
    struct stranger *s = of;
    (void)e;
    s->made = *own_size;
    if (s->size == 0) {
        memcpy(s->bytes, *own, *own_size);
        s->size = *own_size - s->cut;
    }
    s->all[0] = s->bytes;
    *all = s->all;
    *all_size = &s->size;
    return SG_OK;
}

static sg_status step_with(struct stranger *s) {
    float e[D] = {0}, g[D], sum[D];
    sg_method *m;
    gradient(g, 0, 0);
    sg_status status = sg_method_open_text(&m, "topk k=30 | fp16", &layout, 1, 0, 1, &err);
    SG_DO(status, sg_method_step(m, 0, 1, (const float *const[]){g}, (float *const[]){e}, sum, estrange, s, &err));
    sg_method_close(m);
    return status;
}

static void test_strangers(void) {
    enum { HEAD = 16 };
    static struct stranger s;
    float g[D];
    size_t refused = 0;
    ok(step_with(&s) == SG_OK && s.made <= sizeof s.bytes, "%zu bytes", s.made);
    for (size_t cut = 1; cut < s.made; cut++) {
        s.size = 0;
        s.cut = cut;
        refused += step_with(&s) != SG_OK;
    }
    ok(refused == s.made - 1, "a message that is cut is refused: %s", err.msg);
    gradient(g, 0, 0);
    ok(sg_encode(s.bytes + HEAD, sizeof s.bytes - HEAD, &s.size, D, NULL, g, D, &err) == SG_OK, "a message of all");
    memset(s.bytes, 0, HEAD);
    s.size += HEAD;
    ok(step_with(&s) == SG_ERR_MISMATCH && strstr(err.msg, "the code fp32"), "%s", err.msg);
    memset(s.bytes, 0xff, 8);
    ok(step_with(&s) == SG_ERR_FORMAT && strstr(err.msg, "from worker 0"), "%s", err.msg);
}

static void test_refused(void) {
    static float e[D], g[D], sum[D];
    static const char *const texts[] = {"topk k=30; error-feedback=local-steps steps=2", "topk k=30"};
    static const sg_status wanted[] = {SG_ERR_UNSUPPORTED, SG_ERR_ARGUMENT};
    for (size_t i = 0; i < 2; i++) { /* the second has two workers, of which one is here, and no gather */
        sg_method *m = NULL;
        sg_status status = sg_method_open_text(&m, texts[i], &layout, 1 + i, 0, 1, &err);
        SG_DO(status, sg_method_step(m, 0, 1, (const float *const[]){g}, (float *const[]){e}, sum, NULL, NULL, &err));
        ok(status == wanted[i], "%s: %s", texts[i], err.msg);
        sg_method_close(m);
    }
}

int main(void) {
    alarm(300); /* a process that fails alone would leave the others at the barrier */
    pthread_barrier_init(&meeting.all_here, NULL, WORKERS);
    test_version();
    test_selections();
    test_bytes();
    test_low_rank();
    test_texts();
    test_sent();
    test_tables();
    test_every_compressor();
    test_reduce();
    test_strangers();
    test_refused();
    return tap_done();
}

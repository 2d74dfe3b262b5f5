/* bench_share_time.c: compares a compressor's step with that of plain C, and times it in turn with `e += g`. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench_share.h"
#include "sg_clock.h"

enum { LEAST_SAMPLES = 3, MOST_CALLS = 1 << 12, ADD_CALLS = 8 };
#define SAMPLE_S 1e-3
#define BUDGET_S 4.0 /* that the samples of one compressor may take, all workers together */

/* ---- is it what plain C makes? ---- */

static void fill_residuals(struct share *s, const float *g) {
    const size_t n = s->setting.layers->n;
    for (size_t w = 0; w < s->setting.workers; w++)
        for (size_t i = 0; i < n; i++)
            s->e[w * n + i] = 0.5F * g[w * n + n - 1 - i];
}

static bool same_bytes(const struct share *a, const struct share *b) {
    const size_t n = a->setting.layers->n;
    return memcmp(a->e, b->e, a->setting.workers * n * sizeof *a->e) == 0 &&
           memcmp(a->sum, b->sum, n * sizeof *a->sum) == 0 && a->bits == b->bits && a->bytes == b->bytes &&
           a->entries == b->entries;
}

/* One step with residuals, by plain C on one thread and as it will be timed. */
sg_status share_verify(const struct share_setting *setting, const struct share_source *from, bool corrupt, bool *right,
                       struct sg_error *err) {
    struct share_setting plain = *setting;
    struct share a = {0}, b = {0};
    plain.kernels = sg_kernels_cpu("c");
    plain.exec.threads = 1;
    sg_status status = share_open(&a, &plain, err);
    SG_DO(status, share_open(&b, setting, err));
    if (status == SG_OK) {
        fill_residuals(&a, from->g);
        fill_residuals(&b, from->g);
        status = share_step(&a, from->g, err);
    }
    SG_DO(status, share_step(&b, from->g, err));
    if (status == SG_OK && corrupt)
        b.sum[0] += 1;
    *right = status == SG_OK && same_bytes(&a, &b);
    share_close(&a);
    share_close(&b);
    return status;
}

/* ---- time ---- */

void share_measured_free(struct share_measured *m) {
    timing_free(&m->own);
    timing_free(&m->decode);
    timing_free(&m->add);
}

static sg_status measured_open(struct share_measured *m, size_t samples, size_t calls, size_t add_calls,
                               struct sg_error *err) {
    struct timing *const timing[] = {&m->own, &m->decode, &m->add};
    for (size_t i = 0; i < 3; i++) {
        *timing[i] = (struct timing){
            .samples = samples, .calls = i < 2 ? calls : add_calls, .sample = calloc(samples, sizeof(double))};
        if (!timing[i]->sample)
            return sg_fail_memory(err, "samples");
    }
    return SG_OK;
}

static void time_add(const struct share_source *from, const struct share *s, struct timing *t, size_t sample) {
    const double start = sg_clock_s();
    for (size_t c = 0; c < t->calls; c++)
        add_in_place(s->sum, from->g, s->setting.layers->n, s->setting.exec.threads);
    t->sample[sample] = (sg_clock_s() - start) / (double)t->calls;
}

/* Adds a step to a sample. */
static void take_step(struct share_measured *m, const struct share *s, size_t sample) {
    const double calls = (double)m->own.calls;
    m->own.sample[sample] += (s->encode_s + s->decode_s) / calls;
    m->decode.sample[sample] += s->decode_s / calls;
    m->bits += s->bits;
    m->bytes += s->bytes;
    m->entries += s->entries;
    m->off += s->off;
}

/* How often something is called so that a sample lasts long enough. */
static size_t calls_for(double seconds) {
    return seconds * MOST_CALLS <= SAMPLE_S ? MOST_CALLS : seconds < SAMPLE_S ? (size_t)ceil(SAMPLE_S / seconds) : 1;
}

static sg_status interrupted(const struct share_source *from, struct sg_error *err) {
    return from->stop && from->stop() ? sg_fail(err, SG_ERR_INTERRUPTED, "stopped with cases left to run") : SG_OK;
}

/* On the same gradients again and again. The residual is multiplied by 0, so every call sees the same p = g. */
static sg_status time_drawn(const struct share_source *from, struct share *s, struct share_measured *m,
                            struct sg_error *err) {
    size_t samples = from->samples;
    struct timing once = {.sample = &(double){0}, .calls = 1};
    const double start = sg_clock_s();
    sg_status status = share_step(s, from->g, err);
    const double wall = sg_clock_s() - start;
    const size_t calls = calls_for(s->encode_s + s->decode_s);
    const double most = BUDGET_S / (wall * (double)calls);
    samples = most >= (double)samples ? samples : most > LEAST_SAMPLES ? (size_t)most : LEAST_SAMPLES;
    time_add(from, s, &once, 0);
    SG_DO(status, measured_open(m, samples, calls, calls_for(*once.sample), err));
    for (size_t i = 0; i < samples && status == SG_OK; i++) {
        time_add(from, s, &m->add, i);
        status = interrupted(from, err);
        for (size_t c = 0; c < calls && status == SG_OK; c++) {
            status = share_step(s, from->g, err);
            take_step(m, s, i);
        }
    }
    return status;
}

sg_status share_read(const struct share_source *from, uint64_t step, struct sg_error *err) {
    const size_t d = sg_gradients_look(from->recording)->d;
    sg_status status = SG_OK;
    for (size_t w = 0; w < from->workers && status == SG_OK; w++)
        status = sg_gradients_read(from->recording, step, w, from->g + w * d, err);
    return status;
}

/* One step after the other of a recording, with error feedback; the first third fills the residuals and is not timed. */
static sg_status time_recorded(const struct share_source *from, struct share *s, struct share_measured *m,
                               struct sg_error *err) {
    const size_t steps = (size_t)sg_gradients_look(from->recording)->steps, first = steps / 3;
    sg_status status = measured_open(m, steps - first, 1, ADD_CALLS, err);
    for (size_t t = 0; t < steps && status == SG_OK; t++) {
        status = share_read(from, t, err);
        SG_DO(status, interrupted(from, err));
        if (status == SG_OK && t >= first)
            time_add(from, s, &m->add, t - first);
        SG_DO(status, share_step(s, from->g, err));
        if (status == SG_OK && t >= first)
            take_step(m, s, t - first);
    }
    return status;
}

sg_status share_measure(struct share_measured *m, const struct share_source *from, struct sg_error *err) {
    struct share_setting setting = m->setting;
    struct share s;
    setting.decay = from->recording ? 1 : 0;
    sg_status status = share_open(&s, &setting, err);
    SG_DO(status, from->recording ? time_recorded(from, &s, m, err) : time_drawn(from, &s, m, err));
    share_close(&s);
    const double steps = (double)m->own.samples * (double)m->own.calls;
    m->bits /= steps;
    m->bytes /= steps;
    m->entries /= steps;
    m->off /= steps;
    SG_DO(status, timing_summarise(&m->own, err));
    SG_DO(status, timing_summarise(&m->decode, err));
    return status == SG_OK ? timing_summarise(&m->add, err) : status;
}

/* bench_time.c: takes samples in turn, and computes their statistics. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>
#include <time.h>

#include "bench_private.h"
#include "sg_debug.h"
#include "sg_memory.h"
#include "sg_stats.h"

#define SAMPLE_S 1e-3
enum { MOST_CALLS = 1 << 20, LEAST_SAMPLES = 3 };

/* Not sg_clock_s, which --fake-clock stops: then no number of calls would last long enough. */
static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static sg_status time_calls(const struct timed *timed, size_t calls, struct seconds *out, struct sg_error *err) {
    SG_ASSERT(calls > 0);
    if (timed->measure)
        return timed->measure(timed->arg, calls, out, err);
    const double start = now_s();
    for (size_t i = 0; i < calls; i++)
        timed->call(timed->arg);
    *out = (struct seconds){now_s() - start, 0};
    return SG_OK;
}

static sg_status stopped(int (*stop)(void), struct sg_error *err) {
    return stop && stop() ? sg_fail(err, SG_ERR_INTERRUPTED, "stopped with cases left to run") : SG_OK;
}

/* Warms up and chooses the calls of a sample. They are doubled from one on, so that a noisy first guess cannot make
 * samples too short. *wall_s <- seconds of the last of these samples, including what is not timed. */
static sg_status choose_calls(struct timed *t, int (*stop)(void), double *wall_s, struct sg_error *err) {
    struct seconds took = {0, 0};
    sg_status status = SG_OK;
    for (size_t i = 0; i < t->warm_ups && status == SG_OK; i++) {
        status = stopped(stop, err);
        SG_DO(status, time_calls(t, 1, &took, err));
    }
    *wall_s = 0;
    for (size_t calls = 1; status == SG_OK && t->calls == 0; calls *= 2) {
        const double start = now_s();
        status = time_calls(t, calls, &took, err);
        *wall_s = now_s() - start;
        if (took.all >= SAMPLE_S || calls == MOST_CALLS)
            t->calls = calls;
    }
    return status;
}

static void summarise(struct timing *t) {
    double *copy = sg_malloc(t->samples * sizeof *copy);
    memcpy(copy, t->sample, t->samples * sizeof *copy);
    t->median = sg_stats_quantile(copy, t->samples, 0.5);
    t->p10 = sg_stats_quantile(copy, t->samples, 0.1);
    t->p90 = sg_stats_quantile(copy, t->samples, 0.9);
    t->min = copy[0];
    const double spread = 1.4826 * sg_stats_mad(copy, t->samples); /* the deviation of normal samples */
    t->outliers = 0;
    for (size_t i = 0; i < t->samples; i++)
        t->outliers += fabs(t->sample[i] - t->median) > 5 * spread;
    free(copy);
}

/* Allocates the samples, and calls `warmed`. */
static void begin(struct timed *t, size_t samples) {
    struct timing *const timing[] = {&t->timing, &t->part};
    for (size_t i = 0; i < 2; i++) {
        *timing[i] =
            (struct timing){.samples = samples, .calls = t->calls, .sample = sg_malloc(samples * sizeof(double))};
    }
    if (t->warmed)
        t->warmed(t->arg);
}

static sg_status take_sample(struct timed *t, size_t sample, struct sg_error *err) {
    struct seconds took = {0, 0};
    const sg_status status = time_calls(t, t->calls, &took, err);
    t->timing.sample[sample] = took.all / (double)t->calls;
    t->part.sample[sample] = took.part / (double)t->calls;
    return status;
}

/* How many samples the budget allows if one takes wall_s; at least three. */
static size_t affordable(const struct timed *t, double wall_s, size_t samples) {
    if (t->budget_s == 0 || t->budget_s >= wall_s * (double)samples)
        return samples;
    const double most = t->budget_s / wall_s;
    return most > LEAST_SAMPLES ? (size_t)most : LEAST_SAMPLES;
}

sg_status time_in_turn(struct timed *timed, size_t count, size_t samples, int (*stop)(void), struct sg_error *err) {
    sg_status status = SG_OK;
    SG_ASSERT(samples > 0);
    for (size_t i = 0; i < count && status == SG_OK; i++) {
        double wall_s;
        status = choose_calls(&timed[i], stop, &wall_s, err);
        samples = affordable(&timed[i], wall_s, samples);
    }
    for (size_t i = 0; i < count && status == SG_OK; i++)
        begin(&timed[i], samples);
    for (size_t s = 0; s < samples && status == SG_OK; s++)
        for (size_t i = 0; i < count && status == SG_OK; i++) {
            status = stopped(stop, err);
            SG_DO(status, take_sample(&timed[i], s, err));
        }
    for (size_t i = 0; i < count && status == SG_OK; i++) {
        summarise(&timed[i].timing);
        if (status == SG_OK)
            summarise(&timed[i].part);
    }
    return status;
}

void timed_free(struct timed *timed) {
    free(timed->timing.sample);
    free(timed->part.sample);
    timed->timing = timed->part = (struct timing){0};
}

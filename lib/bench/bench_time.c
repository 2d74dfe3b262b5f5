/* bench_time.c: takes samples in turn, and computes their statistics. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench_private.h"
#include "sg_debug.h"
#include "sg_stats.h"

#define SAMPLE_S 1e-3
enum { WARM_UPS = 3, MOST_CALLS = 1 << 20 };

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double time_calls(const struct timed *timed, size_t calls) {
    SG_ASSERT(calls > 0);
    if (timed->measure)
        return timed->measure(timed->arg, calls);
    const double start = now_s();
    for (size_t i = 0; i < calls; i++)
        timed->call(timed->arg);
    return now_s() - start;
}

/* Doubles the calls from one on, so that a noisy first guess cannot make samples too short. */
static size_t choose_calls(const struct timed *timed) {
    size_t calls = 1;
    (void)time_calls(timed, WARM_UPS);
    while (calls < MOST_CALLS && time_calls(timed, calls) < SAMPLE_S)
        calls *= 2;
    return calls;
}

sg_status timing_summarise(struct timing *t, struct sg_error *err) {
    double *copy = malloc(t->samples * sizeof *copy);
    if (!copy)
        return sg_fail_memory(err, "samples");
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
    return SG_OK;
}

sg_status time_in_turn(struct timed *timed, size_t count, size_t samples, int (*stop)(void), struct sg_error *err) {
    SG_ASSERT(samples > 0);
    for (size_t i = 0; i < count; i++) {
        timed[i].timing = (struct timing){.samples = samples, .sample = malloc(samples * sizeof(double))};
        if (!timed[i].timing.sample)
            return sg_fail_memory(err, "samples");
        timed[i].timing.calls = choose_calls(&timed[i]);
    }
    for (size_t s = 0; s < samples; s++)
        for (size_t i = 0; i < count; i++) {
            if (stop && stop())
                return sg_fail(err, SG_ERR_INTERRUPTED, "stopped with cases left to run");
            struct timing *t = &timed[i].timing;
            t->sample[s] = time_calls(&timed[i], t->calls) / (double)t->calls;
            if (isnan(t->sample[s]))
                return sg_fail(err, SG_ERR_UNSUPPORTED, "the device failed while it was timed");
        }
    sg_status status = SG_OK;
    for (size_t i = 0; i < count && status == SG_OK; i++)
        status = timing_summarise(&timed[i].timing, err);
    return status;
}

void timing_free(struct timing *timing) {
    free(timing->sample);
    *timing = (struct timing){0};
}

/* rank_watch.c: says for whom a program waits, and leaves where it waits beyond its time limit or a signal. */
/* SPDX-License-Identifier: MIT */
#include "rank_watch.h"

#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "sg_clock.h"
#include "sg_comm.h"
#include "sg_terminal.h"

/* Until the first message, and from the limit or signal until the process ends; usual waits are shorter. */
static const double FIRST_S = 20, GRACE_S = 5;

static double limit_s;
static const char *_Atomic checkpoint_file;
static _Atomic uint64_t step;

void rank_watch_step(double steps) {
    step = (uint64_t)steps;
}

/* "20 s, since 14:03:12 UTC, for rank 1 on node7 in step 812" */
static const char *describe(char out[400], const struct sg_comm_wait *w) {
    const time_t since = time(NULL) - (time_t)w->waited_s;
    char at[24], in_step[40] = "";
    struct tm utc;
    gmtime_r(&since, &utc);
    strftime(at, sizeof at, "%H:%M:%S UTC", &utc);
    if (step > 0)
        snprintf(in_step, sizeof in_step, " in step %llu", (unsigned long long)step + 1);
    snprintf(out, 400, "%.0f s, since %s, for %s%s", w->waited_s, at, w->who, in_step);
    return out;
}

static void leave(const struct sg_comm_wait *w, int signal) {
    char stop[32] = "the time limit has passed", wait[400];
    if (signal)
        snprintf(stop, sizeof stop, "signal %d came", signal);
    const char *const file = checkpoint_file;
    const bool saved = file && access(file, F_OK) == 0;
    sg_log_error("ends here, because %s and this process has waited %s%s%s%s", stop, describe(wait, w),
                 saved ? ": --resume goes on from " : "", saved ? file : "",
                 file && !saved ? ": there is no checkpoint yet (--checkpoint-every)" : "");
    _exit(signal ? 128 + signal : SG_EXIT_TIME);
}

static void look(const struct sg_comm_wait *w) {
    static uint64_t last, said; /* calls */
    static double next_s, waited_s, longest_s, asked_s = INFINITY;
    const double now_s = sg_clock_s();
    const int signal = sg_signal_pending();
    if (isinf(asked_s) && (signal || (limit_s > 0 && now_s >= limit_s)))
        asked_s = now_s;
    if (w->call != last && last) {
        longest_s =
            step > 0 ? fmax(longest_s, waited_s) : 0; /* before the first step, ranks wait for each other's data */
        if (last == said)
            sg_log_error("goes on after waiting for some %.0f s", waited_s);
    }
    if (w->call != last)
        next_s = fmax(FIRST_S, 2 * longest_s);
    last = w->call;
    waited_s = w->waited_s;
    if (!w->call)
        return;
    if (fmin(waited_s, now_s - asked_s) >= GRACE_S + 2 * longest_s)
        leave(w, signal);
    if (waited_s < next_s)
        return;
    char wait[400];
    sg_log_error("has waited %s: is a process stopped there, or the host cut off?", describe(wait, w));
    said = w->call;
    next_s *= 2;
}

void rank_watch(double stop_at_s, const char *checkpoint) {
    limit_s = stop_at_s;
    checkpoint_file = checkpoint;
    sg_comm_watch(look);
}

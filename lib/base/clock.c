/* clock.c: the time, and the signals that ask it to stop. */
/* SPDX-License-Identifier: MIT */
#include "sg_clock.h"

#include <signal.h>
#include <stddef.h>
#include <time.h>

static bool fake_clock;
static volatile sig_atomic_t pending_signal;

void sg_clock_set_fake(bool fake) {
    fake_clock = fake;
}

double sg_clock_s(void) {
    if (fake_clock)
        return 0;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void sg_clock_utc(char out[21]) {
    time_t now = fake_clock ? 0 : time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(out, 21, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

/* Signals within so many seconds of the first count as one. A batch system signals every process of a job, and
 * launchers and sparsebench pass the signal on as well. */
static const double REPEATED_S = 1;

static void on_signal(int number) {
    static double first_s;
    const double now_s = sg_clock_s();
    if (!pending_signal)
        first_s = now_s;
    if (pending_signal && now_s - first_s > REPEATED_S) {
        signal(number, SIG_DFL);
        raise(number); /* it ends the process when this function has returned */
    }
    pending_signal = number;
}

void sg_signals_catch(void) {
    static const int number[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU};
    struct sigaction before;
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        sigaddset(&action.sa_mask, number[i]);
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        if (sigaction(number[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(number[i], &action, NULL);
}

int sg_signal_pending(void) {
    return pending_signal;
}

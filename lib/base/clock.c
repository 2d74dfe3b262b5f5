/* clock.c: the time, the cores that a process may use, and the signals that ask it to stop. */
#include "sg_clock.h"

#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

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

/* A launcher may have bound this process to its share of the cores, or left all cores to every process. */
int sg_cores(int processes) {
    cpu_set_t set;
    long share = sysconf(_SC_NPROCESSORS_ONLN) / processes;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) < share)
        share = CPU_COUNT(&set);
    return share > 1 ? (int)share : 1;
}

static void on_signal(int number) {
    pending_signal = number;
}

void sg_signals_catch(void) {
    /* SA_RESETHAND: a second signal of this kind ends the process */
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

int sg_signal_pending(void) {
    return pending_signal;
}

/* comm_watch.c: a thread that looks at the call that waits for other ranks, because the call itself cannot. */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "comm_private.h"

static const long LOOK_NS = 250000000;

static struct {
    sg_comm_look *look;
    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t closing;
    pthread_t thread;
    bool runs;
    const struct sg_world *world; /* NULL = it is not known yet */
    uint64_t calls;
    bool waits;
    double since_s;
    int peer;
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER, .closing = PTHREAD_COND_INITIALIZER};

void sg_comm_watch(sg_comm_look *look) {
    watch.look = look;
}

double comm_now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* out <- the ranks that are waited for, with their hosts. */
static void name_peers(char out[256], const struct sg_world *w, int peer) {
    if (w && peer == w->rank) /* the root of a broadcast waits for all others */
        peer = -1;
    if (w && peer < 0 && w->size == 2)
        peer = 1 - w->rank;
    if (!w)
        snprintf(out, 256, "the other ranks to begin");
    else if (peer >= 0)
        snprintf(out, 256, "rank %d on %.200s", peer, w->host[peer]);
    else {
        size_t used = (size_t)snprintf(out, 256, "the other %d ranks, on", w->size - 1);
        for (int r = 0, named = 0; r < w->size && used < 256; r++) {
            if (r == w->rank || (r > 0 && strcmp(w->host[r], w->host[r - 1]) == 0))
                continue; /* consecutive ranks share a host */
            used += (size_t)snprintf(out + used, 256 - used, named++ ? ", %.40s" : " %.40s", w->host[r]);
        }
    }
}

static void *watching(void *unused) {
    (void)unused;
    pthread_mutex_lock(&watch.lock);
    while (watch.runs) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += LOOK_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&watch.closing, &watch.lock, &until);
        struct sg_comm_wait now = {0};
        if (watch.waits) {
            now.call = watch.calls;
            now.waited_s = comm_now_s() - watch.since_s;
            name_peers(now.who, watch.world, watch.peer);
        }
        pthread_mutex_unlock(&watch.lock);
        watch.look(&now);
        pthread_mutex_lock(&watch.lock);
    }
    pthread_mutex_unlock(&watch.lock);
    return NULL;
}

/* Signals are for the other threads. */
static void start(void) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    watch.runs = pthread_create(&watch.thread, NULL, watching, NULL) == 0; /* without the thread all else works */
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void transport_wait_begin(int peer) {
    if (!watch.look)
        return;
    pthread_mutex_lock(&watch.lock);
    watch.calls++;
    watch.waits = true;
    watch.since_s = comm_now_s();
    watch.peer = peer;
    if (!watch.runs)
        start();
    pthread_mutex_unlock(&watch.lock);
}

void transport_wait_end(void) {
    if (!watch.look)
        return;
    pthread_mutex_lock(&watch.lock);
    watch.waits = false;
    pthread_mutex_unlock(&watch.lock);
}

void comm_watch_world(const struct sg_world *world) {
    pthread_mutex_lock(&watch.lock);
    const bool ran = watch.runs && !world;
    watch.world = world;
    watch.runs = watch.runs && !ran;
    pthread_cond_signal(&watch.closing);
    pthread_mutex_unlock(&watch.lock);
    if (ran)
        pthread_join(watch.thread, NULL);
}

/* method_state.c: what a checkpoint needs of a method: copies of vectors whose sizes do not change while it is open.
 *
 * Common to all workers: the controller's numbers, what a compressor of several rounds shares, the sums that wait for
 * their step, the feedback rule's common vectors. Of a worker: what its compressor keeps, the rule's vectors, and of
 * worker 0 the sum of its gradients if a controller asks for it. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "method_private.h"

/* A part of a checkpoint: `bytes` at `memory`, which lies in the host's memory or in that of the kernels. */
struct stretch {
    void *memory;
    size_t bytes;
    bool on_host;
};
enum { MOST = 4 + SG_FEEDBACK_VECTORS };

static size_t add_vectors(struct stretch *out, const struct sg_feedback_state *s, size_t count) {
    for (size_t i = 0; i < count; i++)
        out[i] = (struct stretch){s->vector[i], s->d * sizeof(float), false};
    return count;
}

static size_t common_parts(const sg_method *m, struct stretch out[MOST]) {
    const struct sg_rounds *rounds = m->compressor->rounds;
    size_t n = 0;
    if (method_doubles(m) > 0)
        out[n++] = (struct stretch){m->state, method_doubles(m) * sizeof *m->state, true};
    if (rounds)
        out[n++] = (struct stretch){m->shared.memory, m->kept * sizeof(float), false};
    if (m->shared.feedback.rule->follows_rate) /* the learning rate of the last step */
        out[n++] = (struct stretch){(void *)(uintptr_t)&m->facts.gamma, sizeof m->facts.gamma, true};
    if (m->pending)
        out[n++] = (struct stretch){m->pending, m->d * sizeof *m->pending, false};
    return n + add_vectors(out + n, &m->common, m->shared.feedback.rule->common_vectors);
}

static size_t worker_parts(const sg_method *m, size_t worker, struct stretch out[MOST]) {
    const bool here = worker >= m->first && worker < m->first + m->count;
    const struct sg_feedback_state empty = {.d = m->d};
    size_t n = 0;
    if (m->worker_doubles > 0)
        out[n++] = (struct stretch){here ? m->worker[worker - m->first].state : NULL,
                                    m->worker_doubles * sizeof(double), true};
    if (method_keeps_lead_sum(m, worker))
        out[n++] = (struct stretch){m->lead_sum, m->d * sizeof *m->lead_sum, false};
    return n + add_vectors(out + n, here ? &m->worker[worker - m->first].feedback : &empty,
                           m->shared.feedback.rule->worker_vectors);
}

static size_t bytes_of(const struct stretch *part, size_t n) {
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += part[i].bytes;
    return bytes;
}

/* A failure of the device is not reported here: the caller's own copies then fail too and report it. */
static void save(const sg_method *m, const struct stretch *part, size_t n, char *out) {
    for (size_t i = 0; i < n; out += part[i++].bytes)
        if (part[i].on_host)
            memcpy(out, part[i].memory, part[i].bytes);
        else
            (void)m->shared.kernels->get(&m->shared.exec, out, part[i].memory, part[i].bytes);
}

static void load(const sg_method *m, const struct stretch *part, size_t n, const char *in) {
    for (size_t i = 0; i < n; in += part[i++].bytes)
        if (part[i].on_host)
            memcpy(part[i].memory, in, part[i].bytes);
        else
            m->shared.kernels->put(&m->shared.exec, part[i].memory, in, part[i].bytes);
}

size_t sg_method_common_bytes(const sg_method *m) {
    struct stretch part[MOST];
    return bytes_of(part, common_parts(m, part));
}

void sg_method_common_save(const sg_method *m, void *out) {
    struct stretch part[MOST];
    save(m, part, common_parts(m, part), out);
}

void sg_method_common_load(sg_method *m, const void *in) {
    struct stretch part[MOST];
    load(m, part, common_parts(m, part), in);
}

size_t sg_method_worker_bytes(const sg_method *m, size_t worker) {
    struct stretch part[MOST];
    return bytes_of(part, worker_parts(m, worker, part));
}

void sg_method_worker_save(const sg_method *m, size_t worker, void *out) {
    struct stretch part[MOST];
    save(m, part, worker_parts(m, worker, part), out);
}

void sg_method_worker_load(sg_method *m, size_t worker, const void *in) {
    struct stretch part[MOST];
    load(m, part, worker_parts(m, worker, part), in);
}

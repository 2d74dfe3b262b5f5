/* train_memory.c: estimates the memory of a run before its first step, and refuses a run that the host cannot hold. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "sg_host.h"
#include "sg_memory.h"
#include "sg_train_memory.h"
#include "sg_text.h"
#include "train_private.h"

/* What libtorch takes when it first computes: caches, plans and code. Measured, as tests/cli/memory.bats does. */
static const double LIBRARY_BYTES = 17e6;
/* What a number of another run takes while rank 0 reads that: its text, and its place in a tree. Measured. */
static const double READ_BYTES = 180;

static void add(struct sg_train_memory *m, double bytes) {
    m->added += bytes;
}

/* Bytes of each worker. */
static void add_each(struct sg_train_memory *m, double bytes) {
    m->each += bytes;
    m->added += bytes * (double)m->workers;
}

/* What the exchange of several ranks holds: the messages of this rank's workers as they travel, and those of all, or of
 * codes that can be cut its slice of them. Codes with a width travel in chunks. */
static void add_exchange(struct sg_train_memory *m, const struct train *t, const struct sg_method_memory *method) {
    enum { CHUNK = 1 << 18 };
    const int ranks = sg_comm_size(t->comm);
    const struct sg_code *code = method->code;
    double sent = method->message, got = sent;
    if (ranks < 2)
        return;
    if (code && code->width > 0) {
        got = fmin((double)t->d / ranks, CHUNK * fmax(1, (double)t->config.ranges)) * (double)code->width;
        sent = got * ranks;
    } else if (code && !sg_method_hears(t->probe) && sg_comm_cuts(t->comm, code, t->d, (size_t)sent)) {
        got = sent / ranks;
    }
    add(m, sent * (double)t->count + got * (double)t->workers);
    if (t->config.ranges > 0 && !sg_method_is_exact(t->probe)) /* buckets have messages of their own */
        add(m, method->message * (double)t->count);
}

/* The vectors of workers, those of the method and of the task, and what the columns of the mean residual share. */
static void add_vectors(struct sg_train_memory *m, const struct train *t, const struct sg_method_memory *method) {
    const double vector = (double)t->d * sizeof(float);
    const bool shares = method->scratch_shared && train_parts(t) < t->count;
    const struct error_needs needs = train_error_needs(t);
    struct worker none;
    struct worker_vector v[WORKER_VECTORS];
    train_worker_vectors(t, &none, v);
    for (size_t i = 0; i < WORKER_VECTORS; i++)
        add_each(m, (double)v[i].floats * sizeof(float));
    add_each(m, method->worker + (double)t->info->worker_bytes);
    add_each(m, shares ? method->message : method->room);
    add(m, shares ? method->room * (double)train_parts(t) : 0);
    add(m, vector * (double)(needs.sum + needs.before));
    if (needs.curvature)
        add(m, (double)sg_task_x_bytes(t->task) + (double)(t->count * train_state_bytes(t)));
}

sg_status train_memory_estimate(struct train *t, struct sg_error *err) {
    struct sg_train_memory *m = &t->memory;
    struct sg_method_memory method;
    static const uint32_t never_read = 0; /* k of another run is read later */
    const size_t threads = train_parts(t);
    const double vector = (double)t->d * sizeof(float);
    const double copied = (double)(t->plan.steps * t->config.layout.n_layers * t->workers); /* numbers of another run */
    *m = (struct sg_train_memory){.present = sg_memory_resident(), .d = t->d, .workers = t->count, .ranks = 1};
    if (isnan(m->present))
        m->present = 0;
    if (t->config.copies && !t->copied)
        t->config.copied = &never_read;
    sg_status status = train_open_method(&t->probe, t, 1, err);
    if (status != SG_OK)
        return status;
    sg_method_memory(t->probe, &method);
    add_vectors(m, t, &method);
    add(m, vector * (double)(threads + 1)); /* gradients, and the sum of the messages */
    add(m, t->of_x ? (double)t->of_x->floats * sizeof(float) : 0);
    add(m, train_moves_weights(t) ? (double)sg_muon_scratch(t->weight, t->n_weights) * sizeof(float) : 0);
    add(m, method.common);
    add(m, t->config.copies ? copied * sizeof *t->copied : 0);
    add(m, sg_method_is_local(t->probe) ? (double)sg_task_x_bytes(t->task) : 0);
    add(m, fmax(t->info->gradient_bytes, t->info->evaluation_bytes) * (double)threads);
    add(m, t->task_ops->net ? LIBRARY_BYTES : 0);
    if (t->comm) {
        m->ranks = (size_t)sg_comm_local_ranks(t->comm);
        add_exchange(m, t, &method);
    }
    if (t->config.copies && t->lead) /* reading ends before all else is allocated */
        m->added = fmax(m->added, READ_BYTES * copied);
    sg_method_close(t->probe);
    t->probe = NULL;
    m->left = sg_memory_available();
    return SG_OK;
}

sg_status train_memory(struct train *t, struct sg_error *err) {
    if (t->device.gpu) /* its memory is not this host's */
        return SG_OK;
    sg_status status = train_memory_estimate(t, err);
    return status == SG_OK && !t->options->any_memory ? sg_train_memory_fits(&t->memory, 1, err) : status;
}

/* ---- words ---- */

char *sg_train_memory_line(const struct sg_train_memory *m) {
    char all[24], now[24], each[24], left[24];
    return sg_format("memory: about %s a rank, of which %s are here already; %zu workers of %s each (%.2f vectors of "
                     "%zu numbers); this host has %s left",
                     sg_memory_text(all, m->present + m->added), sg_memory_text(now, m->present), m->workers,
                     sg_memory_text(each, m->each), m->d > 0 ? m->each / sizeof(float) / (double)m->d : 0, m->d,
                     isinf(m->left) ? "an unknown amount" : sg_memory_text(left, m->left));
}

/* What would fit instead. */
static void advise(char out[256], const struct sg_train_memory *m, size_t copies) {
    const double fixed = m->added - m->each * (double)m->workers;
    const double share = m->left / (double)(m->ranks * copies) - (copies > 1 ? m->present : 0);
    const double workers = m->each > 0 ? floor((share - fixed) / m->each) : 0;
    const double hosts = ceil(m->each * (double)(m->workers * m->ranks) / fmax(1, m->left - fixed));
    size_t used = 0;
    if (workers >= 1)
        used +=
            (size_t)snprintf(out, 256, "with %.0f workers %s it fits, ", workers, m->ranks > 1 ? "a rank" : "in all");
    if (hosts >= 2 && hosts < (double)(m->workers * m->ranks))
        used +=
            (size_t)snprintf(out + used, 256 - used, "or with one rank on each of %.0f such hosts (mpirun), ", hosts);
    snprintf(out + used, 256 - used, "--no-memory-check runs it all the same");
}

sg_status sg_train_memory_fits(const struct sg_train_memory *m, size_t copies, struct sg_error *err) {
    const double each = m->added + (copies > 1 ? m->present : 0), need = each * (double)(m->ranks * copies);
    const double fit = floor(m->left / fmax(1, each * (double)m->ranks));
    char needed[24], left[24], what[256], how[64] = "";
    if (need <= m->left)
        return SG_OK;
    if (m->ranks > 1)
        snprintf(how, sizeof how, " of %zu ranks on this host", m->ranks);
    sg_memory_text(needed, need);
    sg_memory_text(left, m->left);
    if (copies > 1 && fit >= 1)
        return sg_fail(err, SG_ERR_MEMORY,
                       "%zu cells at once need about %s of memory, and this host has %s left: --jobs %.0f fits, "
                       "--no-memory-check runs them all the same",
                       copies, needed, left, fit);
    advise(what, m, 1);
    return sg_fail(
        err, SG_ERR_MEMORY,
        "the workers%s need about %s of memory more than is in use, and this host has %s left (see --dry-run): %s", how,
        needed, left, what);
}

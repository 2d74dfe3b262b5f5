/* bench_rival.c: loads the rivals and what times a GPU, runs the rivals, and checks what they send. */
/* SPDX-License-Identifier: MIT */
#include "bench_rival.h"

#include <math.h>
#include <string.h>

#include "bench_private.h"
#include "sg_memory.h"
#include "sg_plugin.h"

/* A shared object: a function pointer after the first try to load it, or NULL and the reason. */
static struct rivals {
    const char *library, *symbol, *needs; /* needs: what to do if there is no such file */
    void *found;
    bool tried;
    struct sg_error why;
} by_libtorch = {"rivals.so", "sg_rival_run",
                 "needs the rivals by libtorch: apt-get install libtorch-dev, and make rivals"},
  on_gpu = {"rivals-cuda.so", "sg_gpu_times", "needs what times kernels on a GPU: make rivals, where nvcc is"};

static void *load(struct rivals *of) {
    if (!of->tried && sg_plugin_symbol(&of->found, of->library, of->symbol, &of->why) != SG_OK)
        of->found = NULL;
    of->tried = true;
    return of->found;
}

static sg_rival_run_fn *rivals(void) {
    sg_rival_run_fn *run = NULL;
    void *symbol = load(&by_libtorch);
    memcpy(&run, &symbol, sizeof run);
    return run;
}

static const char *missing(struct rivals *of) {
    return load(of) ? NULL : of->why.status == SG_ERR_MISSING ? of->needs : of->why.msg;
}

const struct gpu_times *gpu_times(void) {
    return load(&on_gpu);
}

const char *gpu_times_missing(void) {
    return missing(&on_gpu);
}

const char *rival_missing(const struct operation *operation) {
    return operation->rival ? missing(&by_libtorch) : NULL;
}

void run_rival(struct job *job) {
    struct data *d = job->data;
    size_t *rows = sg_calloc(d->layers->count, sizeof *rows);
    for (size_t l = 0; l < d->layers->count; l++)
        rows[l] = is_low_rank(d->layers, l) ? d->layers->rows[l] : 0;
    const struct sg_rival_call call = {.n = d->layers->n,
                                       .layers = d->layers->count,
                                       .threads = (size_t)job->exec.threads,
                                       .offset = d->layers->offset,
                                       .g = d->g,
                                       .e = d->e,
                                       .decay = job->decay,
                                       .k = d->k,
                                       .tau = d->tau,
                                       .rows = rows,
                                       .rank = BENCH_RANK,
                                       .index = d->index,
                                       .value = d->value,
                                       .room = d->magnitude,
                                       .count = d->count};
    job->status = !rows                                        ? SG_KERNEL_MEMORY
                  : rivals()(job->operation->name, &call) == 0 ? SG_KERNEL_OK
                                                               : SG_KERNEL_DEVICE;
    free(rows);
    job->sent = 0;
    for (size_t l = 0; l < call.layers; l++)
        job->sent += d->count[l];
}

/* The least magnitude among count values. */
static float least(const float *value, size_t count) {
    float x = INFINITY;
    for (size_t j = 0; j < count; j++)
        x = fminf(x, fabsf(value[j]));
    return x;
}

/* p is what plain C sent and kept together. The rival is right if it sent elements of p, none twice, kept the rest, and
 * in each layer sent as many as plain C with no smaller a least magnitude. Order and choice among ties may differ. */
bool rival_is_right(const struct job *job, float *p, const uint32_t *index, const float *value, const size_t *count) {
    const struct data *d = job->data;
    const size_t n = d->layers->n;
    if (job->status != SG_KERNEL_OK || memcmp(d->count, count, d->layers->count * sizeof *count) != 0)
        return false;
    size_t wrong = 0;
    for (size_t j = 0; j < job->sent; j++)
        p[index[j]] = value[j];
    for (size_t l = 0, at = 0; l < d->layers->count; at += count[l++])
        wrong += least(value + at, count[l]) != least(d->value + at, count[l]);
    for (size_t j = 0; j < job->sent && d->index[j] < n; j++) {
        wrong += p[d->index[j]] != d->value[j];
        p[d->index[j]] = 0;
    }
    for (size_t i = 0; i < n; i++)
        wrong += p[i] != d->e[i];
    return wrong == 0;
}

/* Sums of some thousand floats differ by less than this, relative to the largest number. */
bool rival_is_near(const struct job *job, const float *right) {
    const float *e = job->data->e;
    float most = 0, off = 0;
    for (size_t i = 0; i < job->data->layers->n; i++) {
        most = fmaxf(most, fabsf(right[i]));
        off = fmaxf(off, fabsf(e[i] - right[i]));
    }
    return job->status == SG_KERNEL_OK && off <= 1e-4F * most;
}

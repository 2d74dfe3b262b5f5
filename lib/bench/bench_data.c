/* bench_data.c: makes the arrays of a case. */
/* SPDX-License-Identifier: MIT */
#include "bench_private.h"

#include <math.h>
#include <string.h>

#include "sg_debug.h"
#include "sg_memory.h"
#include "sg_rng.h"

void data_open(struct data *d, const struct layers *layers, size_t workers) {
    const size_t n = layers->n, count = layers->count;
    *d = (struct data){.layers = layers, .workers = workers};
    d->g = sg_malloc(workers * n * sizeof *d->g);
    d->e = sg_malloc(workers * n * sizeof *d->e);
    d->index = sg_malloc(n * sizeof *d->index);
    d->value = sg_malloc(n * sizeof *d->value);
    d->magnitude = sg_malloc(n * sizeof *d->magnitude);
    d->count = sg_calloc(count, sizeof *d->count);
    d->k = sg_calloc(count, sizeof *d->k);
    d->tau = sg_calloc(count, sizeof *d->tau);
    d->kth = sg_calloc(count, sizeof *d->kth);
}

void data_close(struct data *d) {
    void *const part[] = {d->g, d->e,   d->index, d->value,    d->magnitude,     d->count,
                          d->k, d->tau, d->kth,   d->position, d->position_value};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        free(part[i]);
    *d = (struct data){0};
}

sg_status data_read(struct data *d, uint64_t step, struct sg_error *err) {
    sg_status status = SG_OK;
    for (size_t w = 0; w < d->workers && status == SG_OK; w++)
        status = sg_gradients_read(d->recording, step, w, d->g + w * d->layers->n, err);
    return status;
}

void data_fill_residual(struct data *d, size_t workers) {
    const size_t n = d->layers->n;
    for (size_t w = 0; w < workers; w++)
        for (size_t i = 0; i < n; i++)
            d->e[w * n + i] = 0.5F * d->g[w * n + n - 1 - i];
}

size_t elements_of(double density, size_t n) {
    SG_ASSERT(n > 0 && density >= 0 && density <= 1);
    const size_t k = (size_t)(density * (double)n);
    return k < 1 ? 1 : k < n ? k : n;
}

static void draw_positions(struct data *d) {
    free(d->position);
    free(d->position_value);
    d->position = sg_malloc(d->k_total * sizeof *d->position);
    d->position_value = sg_malloc(d->k_total * sizeof *d->position_value);
    sg_rng r = sg_rng_open(1, SG_RNG_TEST, 1, 0);
    size_t at = 0;
    for (size_t l = 0; l < d->layers->count; l++) {
        const size_t begin = d->layers->offset[l];
        sg_rng_subset(&r, d->position + at, d->k[l], d->layers->offset[l + 1] - begin);
        for (size_t j = 0; j < d->k[l]; j++, at++) {
            d->position[at] += (uint32_t)begin;
            d->position_value[at] = d->g[d->position[at]];
        }
    }
    SG_ASSERT(at == d->k_total && sg_ascending_below(d->position, at, d->layers->n));
}

/* Takes the k-th magnitudes of g from plain C's Top-k without feedback. */
static sg_status find_thresholds(struct data *d, struct sg_error *err) {
    const struct sg_exec exec = {.threads = 1};
    const size_t whole[] = {0, d->layers->n}, k = elements_of(d->density, d->layers->n);
    float tau = -1;
    size_t sent;
    struct sg_select s = {.exec = &exec,
                          .n_layers = 1,
                          .offset = whole,
                          .g = d->g,
                          .scale = 1,
                          .decay = 1,
                          .index = d->index,
                          .value = d->value,
                          .count = &sent};
    int status = sg_kernels_cpu("c")->select_topk(&s, &k, &tau);
    for (size_t l = 0; l < d->layers->count; l++) {
        d->tau[l] = tau;
        d->kth[l] = -1;
    }
    s.n_layers = d->layers->count;
    s.offset = d->layers->offset;
    s.count = d->count;
    if (status == SG_KERNEL_OK)
        status = sg_kernels_cpu("c")->select_topk(&s, d->k, d->kth);
    return status == SG_KERNEL_OK ? SG_OK : sg_fail(err, SG_ERR_NONFINITE, "the drawn gradient is not finite");
}

sg_status data_set_density(struct data *d, double density, struct sg_error *err) {
    d->density = density;
    d->k_total = 0;
    for (size_t l = 0; l < d->layers->count; l++) {
        d->k[l] = elements_of(density, d->layers->offset[l + 1] - d->layers->offset[l]);
        d->k_total += d->k[l];
    }
    SG_ASSERT(d->k_total <= d->layers->n);
    sg_status status = find_thresholds(d, err);
    if (status == SG_OK)
        draw_positions(d);
    return status;
}

/* bench_reference.c: what the kernels are compared with. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stddef.h>

#include "bench_private.h"

/* ---- e += g ---- */

#define ADD_BODY                                                                                                       \
    for (size_t i = 0; i < n; i++)                                                                                     \
        e[i] += g[i];

static void add_plain(float *restrict e, const float *restrict g, size_t n) {
    ADD_BODY
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void add_avx2(float *restrict e, const float *restrict g, size_t n) {
    ADD_BODY
}

__attribute__((target("avx512f,avx512vl"))) static void add_avx512(float *restrict e, const float *restrict g,
                                                                   size_t n) {
    ADD_BODY
}
#endif

static void (*best_add(void))(float *restrict, const float *restrict, size_t) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"))
        return add_avx512;
    if (__builtin_cpu_supports("avx2"))
        return add_avx2;
#endif
    return add_plain;
}

void add_in_place(float *e, const float *g, size_t n, int threads) {
    void (*add)(float *restrict, const float *restrict, size_t) = best_add();
    if (threads == 1) {
        add(e, g, n);
        return;
    }
    const size_t parts = (size_t)threads;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (size_t t = 0; t < parts; t++) {
        const size_t begin = n / parts * t, end = t + 1 < parts ? n / parts * (t + 1) : n;
        add(e + begin, g + begin, end - begin);
    }
}

/* ---- quickselect ---- */

/* The k-th largest of x [n], which is reordered: Hoare's FIND around the median of three. */
static float kth_largest(float *x, size_t n, size_t k) {
    ptrdiff_t low = 0, high = (ptrdiff_t)n - 1;
    const ptrdiff_t want = (ptrdiff_t)k - 1;
    while (low < high) {
        const float a = x[low], b = x[low + (high - low) / 2], c = x[high];
        const float pivot = fmaxf(fminf(a, b), fminf(fmaxf(a, b), c));
        ptrdiff_t i = low, j = high;
        while (i <= j) {
            while (x[i] > pivot)
                i++;
            while (x[j] < pivot)
                j--;
            if (i > j)
                break;
            const float swap = x[i];
            x[i++] = x[j];
            x[j--] = swap;
        }
        if (want > j && want < i)
            break; /* all between j and i equal the pivot */
        if (want <= j)
            high = j;
        else
            low = i;
    }
    return x[want];
}

void quickselect_topk(struct job *job) {
    struct data *d = job->data;
    size_t sent = 0;
    for (size_t i = 0; i < d->layers->n; i++) {
        d->e[i] = job->decay * d->e[i] + d->g[i];
        d->magnitude[i] = fabsf(d->e[i]);
    }
    for (size_t l = 0; l < d->layers->count; l++) {
        const size_t begin = d->layers->offset[l], end = d->layers->offset[l + 1], k = d->k[l];
        const float kth = kth_largest(d->magnitude + begin, end - begin, k);
        size_t ties = k;
        for (size_t i = begin; i < end; i++)
            ties -= fabsf(d->e[i]) > kth;
        for (size_t i = begin; i < end; i++) {
            const bool tie = fabsf(d->e[i]) == kth && ties > 0;
            if (!(fabsf(d->e[i]) > kth) && !tie)
                continue;
            ties -= tie;
            d->index[sent] = (uint32_t)i;
            d->value[sent++] = d->e[i];
            d->e[i] = 0;
        }
        d->count[l] = k;
    }
    job->sent = sent;
    job->status = SG_KERNEL_OK;
}

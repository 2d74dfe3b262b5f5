/* cuda_table.cu: the table of sg_kernels.h on a GPU's memory. Parameters of a selection go to the device, and its
 * counts come back, in one small copy each. */
/* SPDX-License-Identifier: MIT */
#include "cuda_table.cuh"

#include <stdlib.h>
#include <string.h>

/* ---- what goes along with a call -------------------------------------------------------------------------------- */

static int reserve(sg_cuda_device *d, size_t bytes) {
    if (!ready(d))
        return SG_KERNEL_DEVICE;
    if (bytes <= d->room)
        return SG_KERNEL_OK;
    cudaFree(d->there);
    d->there = NULL;
    d->room = 0;
    if (cudaMalloc(&d->there, bytes) != cudaSuccess) {
        (void)cudaGetLastError();
        return SG_KERNEL_MEMORY;
    }
    d->room = bytes;
    return SG_KERNEL_OK;
}

/* Waits for all work of the stream, and copies [at, at + bytes) of d->there to the host. The copy is valid until the
 * next one. NULL = the device failed. */
static const void *copy_to_host(sg_cuda_device *d, size_t at, size_t bytes) {
    SG_ASSERT(at + bytes <= d->room);
    char *on_host = table_place(d, bytes);
    if (!on_host)
        return NULL;
    check(d, cudaMemcpyAsync(on_host, d->there + at, bytes, cudaMemcpyDeviceToHost, d->stream));
    return table_wait_for_all(d) == SG_KERNEL_OK ? on_host : NULL;
}

static bool serves(const struct table_workspace *w, size_t n_layers, const size_t *offset, size_t n) {
    if (!w->cuda)
        return false;
    return !offset ? w->offset[w->n_layers] >= n
                   : w->n_layers == n_layers && memcmp(w->offset, offset, (n_layers + 1) * sizeof *offset) == 0;
}

void table_workspace_close(struct table_workspace *w) {
    sg_cuda_close(w->cuda);
    free(w->offset);
    *w = {};
}

/* Makes d->workspace one for the layout, or for `offset` NULL any that has n elements. */
static int workspace(sg_cuda_device *d, size_t n_layers, const size_t *offset, size_t n) {
    SG_ASSERT(!offset || sg_are_offsets(offset, n_layers));
    const size_t whole[] = {0, n};
    if (!ready(d))
        return SG_KERNEL_DEVICE;
    if (serves(&d->workspace, n_layers, offset, n))
        return SG_KERNEL_OK;
    const struct table_workspace last = d->workspace;
    d->workspace = d->previous;
    d->previous = last;
    if (serves(&d->workspace, n_layers, offset, n))
        return SG_KERNEL_OK;
    if (!offset) {
        n_layers = 1;
        offset = whole;
    }
    table_workspace_close(&d->workspace);
    d->workspace.offset = (size_t *)malloc((n_layers + 1) * sizeof *offset);
    if (!d->workspace.offset)
        return SG_KERNEL_MEMORY;
    memcpy(d->workspace.offset, offset, (n_layers + 1) * sizeof *offset);
    d->workspace.n_layers = n_layers;
    check(d, cudaStreamSynchronize(d->stream)); /* the workspace is filled on the default stream */
    const int status = sg_cuda_open(&d->workspace.cuda, n_layers, offset, 0);
    if (status == SG_KERNEL_DEVICE)
        record_launch(d, status);
    (void)cudaGetLastError(); /* the returned status reports lack of memory */
    return status;
}

char *table_room(const struct sg_exec *exec, size_t bytes) {
    sg_cuda_device *d = device_of(exec);
    const int status = reserve(d, bytes);
    if (status == SG_KERNEL_MEMORY)
        check(d, cudaErrorMemoryAllocation);
    return status == SG_KERNEL_OK ? d->there : NULL;
}

/* ---- selections -------------------------------------------------------------------------------------------------- */

/* Layout of d->there: float or uint32 parameter [n_layers], float guess [n_layers], uint32 count [n_layers], then a
 * struct sg_cuda_result. These are the bytes of each of the arrays. */
static size_t layers_bytes(const struct sg_select *s) {
    return s->n_layers * sizeof(uint32_t);
}

/* parameter [n_layers] of 4 bytes or NULL; guess [n_layers] or NULL. Counts go along: positions need them. */
static int begin(struct sg_cuda_select *out, const struct sg_select *s, const void *parameter, const float *guess) {
    sg_cuda_device *d = device_of(s->exec);
    const size_t each = layers_bytes(s);
    int status = workspace(d, s->n_layers, s->offset, 0);
    if (status == SG_KERNEL_OK)
        status = reserve(d, 3 * each + sizeof(struct sg_cuda_result));
    if (status != SG_KERNEL_OK)
        return status;
    char *on_host = table_place(d, 3 * each);
    if (!on_host)
        return SG_KERNEL_DEVICE;
    uint32_t *count = (uint32_t *)(on_host + 2 * each);
    for (size_t l = 0; l < s->n_layers; l++)
        count[l] = (uint32_t)s->count[l];
    if (parameter)
        memcpy(on_host, parameter, each);
    if (guess)
        memcpy(on_host + each, guess, each);
    check(d, cudaMemcpyAsync(d->there, on_host, 3 * each, cudaMemcpyHostToDevice, d->stream));
    *out = {};
    out->g = s->g;
    out->e = s->e;
    out->scale = s->scale;
    out->decay = s->decay;
    out->index = s->index;
    out->value = s->value;
    out->count = (uint32_t *)(d->there + 2 * each);
    out->result = (struct sg_cuda_result *)(d->there + 3 * each);
    return d->error == cudaSuccess ? SG_KERNEL_OK : SG_KERNEL_DEVICE;
}

static int finish(const struct sg_select *s, int status, float *guess) {
    sg_cuda_device *d = device_of(s->exec);
    const size_t each = layers_bytes(s);
    record_launch(d, status);
    if (status != SG_KERNEL_OK)
        return status;
    const char *found = (const char *)copy_to_host(d, each, 2 * each + sizeof(struct sg_cuda_result));
    if (!found)
        return SG_KERNEL_DEVICE;
    const struct sg_cuda_result *result = (const struct sg_cuda_result *)(found + 2 * each);
    if (result->status == SG_KERNEL_NONFINITE)
        s->count[0] = result->layer;
    if (result->status != SG_KERNEL_OK)
        return (int)result->status;
    for (size_t l = 0; l < s->n_layers; l++)
        s->count[l] = ((const uint32_t *)(found + each))[l];
    if (guess)
        memcpy(guess, found, each);
    return SG_KERNEL_OK;
}

static int select_threshold(const struct sg_select *s, const float *tau) {
    sg_cuda_device *d = device_of(s->exec);
    struct sg_cuda_select call;
    const int status = begin(&call, s, tau, NULL);
    if (status != SG_KERNEL_OK)
        return status;
    return finish(s, sg_cuda_select_threshold(d->workspace.cuda, d->stream, &call, (const float *)d->there), NULL);
}

static int select_topk(const struct sg_select *s, const size_t *k, float *guess) {
    sg_cuda_device *d = device_of(s->exec);
    struct sg_cuda_select call;
    uint32_t *narrow = (uint32_t *)malloc(layers_bytes(s));
    if (!narrow)
        return SG_KERNEL_MEMORY;
    for (size_t l = 0; l < s->n_layers; l++)
        narrow[l] = (uint32_t)k[l];
    const int status = begin(&call, s, narrow, guess);
    free(narrow);
    if (status != SG_KERNEL_OK)
        return status;
    float *guess_there = guess ? (float *)(d->there + layers_bytes(s)) : NULL;
    return finish(s, sg_cuda_select_topk(d->workspace.cuda, d->stream, &call, (const uint32_t *)d->there, guess_there),
                  guess);
}

static int select_positions(const struct sg_select *s, const uint32_t *position) {
    sg_cuda_device *d = device_of(s->exec);
    struct sg_cuda_select call;
    size_t total = 0;
    for (size_t l = 0; l < s->n_layers; l++)
        total += s->count[l];
    const int status = begin(&call, s, NULL, NULL);
    if (status != SG_KERNEL_OK)
        return status;
    table_put(s->exec, s->index, position, total * sizeof *position);
    return finish(s, sg_cuda_select_positions(d->workspace.cuda, d->stream, &call, s->index), NULL);
}

static int select_all(const struct sg_select *s) {
    sg_cuda_device *d = device_of(s->exec);
    struct sg_cuda_select call;
    const int status = begin(&call, s, NULL, NULL);
    if (status != SG_KERNEL_OK)
        return status;
    return finish(s, sg_cuda_select_all(d->workspace.cuda, d->stream, &call), NULL);
}

/* ---- sums and vectors -------------------------------------------------------------------------------------------- */

static void scatter_add_messages(const struct sg_exec *exec, float *dense, size_t n, const struct sg_entries *message,
                                 size_t n_messages) {
    sg_cuda_device *d = device_of(exec);
    for (size_t m = 0; m < n_messages; m += SG_CUDA_MESSAGES) {
        struct sg_cuda_entries batch[SG_CUDA_MESSAGES];
        const size_t now = n_messages - m < SG_CUDA_MESSAGES ? n_messages - m : (size_t)SG_CUDA_MESSAGES;
        const int status = reserve(d, sizeof batch);
        record_launch(d, status);
        if (status != SG_KERNEL_OK)
            return;
        uint32_t count[SG_CUDA_MESSAGES];
        for (size_t i = 0; i < now; i++) {
            count[i] = (uint32_t)message[m + i].count;
            batch[i] = {message[m + i].index, message[m + i].value, (const uint32_t *)d->there + i};
        }
        table_put(exec, d->there, count, now * sizeof *count);
        record_launch(d, sg_cuda_scatter_add_messages(d->stream, dense, n, batch, now));
    }
}

/* Copies the messages one after another into `staged`, then adds them like messages in device memory. */
static void add_messages(const struct sg_exec *exec, float *dense, size_t n, const struct sg_entries *message,
                         size_t n_messages) {
    constexpr size_t ENTRY = sizeof(uint32_t) + sizeof(float);
    sg_cuda_device *d = device_of(exec);
    for (size_t m = 0; m < n_messages; m += SG_CUDA_MESSAGES) {
        struct sg_entries batch[SG_CUDA_MESSAGES];
        const size_t now = n_messages - m < SG_CUDA_MESSAGES ? n_messages - m : (size_t)SG_CUDA_MESSAGES;
        size_t bytes = 0;
        for (size_t i = 0; i < now; i++)
            bytes += message[m + i].count * ENTRY;
        if (bytes > d->staged_room && ready(d)) {
            cudaFree(d->staged);
            d->staged = NULL;
            d->staged_room = 0;
            check(d, cudaMalloc(&d->staged, bytes));
            d->staged_room = d->error == cudaSuccess ? bytes : 0;
        }
        char *at = d->staged;
        for (size_t i = 0; i < now && ready(d); i++) {
            const struct sg_entries *from = &message[m + i];
            batch[i] = {from->index ? (const uint32_t *)at : NULL, (const float *)(at + from->count * sizeof(uint32_t)),
                        from->count};
            if (from->index)
                table_put(exec, at, from->index, from->count * sizeof *from->index);
            table_put(exec, at + from->count * sizeof(uint32_t), from->value, from->count * sizeof *from->value);
            at += from->count * ENTRY;
        }
        if (ready(d))
            scatter_add_messages(exec, dense, n, batch, now);
    }
}

/* Returns the device memory of the sum; NULL = a failure. */
static double *begin_squares(const struct sg_exec *exec, const float *x, size_t n) {
    sg_cuda_device *d = device_of(exec);
    double *sum = record_launch(d, workspace(d, 0, NULL, n)) == SG_KERNEL_OK ? (double *)table_room(exec, sizeof *sum)
                                                                             : (double *)NULL;
    if (sum)
        (void)record_launch(d, sg_cuda_sum_squares(d->workspace.cuda, d->stream, x, n, sum));
    return sum;
}

static double sum_squares(const struct sg_exec *exec, const float *x, size_t n) {
    double sum = NAN;
    const double *there = begin_squares(exec, x, n);
    if (there)
        (void)table_get(exec, &sum, there, sizeof sum); /* it stays NaN after a failure */
    return sum;
}

static void sum_squares_later(const struct sg_exec *exec, const float *x, size_t n, double *sum) {
    *sum = (double)NAN;
    const double *there = begin_squares(exec, x, n);
    if (there)
        table_get_later(exec, sum, there, sizeof *sum);
}

/* Members are set by name, because two swapped members of the same type would compile. */
static const struct sg_kernels the_table = [] {
    struct sg_kernels table = {};
    table.name = "cuda";
    table.allocate = table_allocate;
    table.release = table_release;
    table.zero = table_zero;
    table.put = table_put;
    table.get = table_get;
    table.select_threshold = select_threshold;
    table.select_topk = select_topk;
    table.select_positions = select_positions;
    table.select_all = select_all;
    table.scatter_add = cuda_scatter_add;
    table.sum_squares = sum_squares;
    table.scatter_add_messages = scatter_add_messages;
    table.add_messages = add_messages;
    table.max_abs = cuda_max_abs;
    table.dot_shifted = cuda_dot_shifted;
    table.running_mean = cuda_running_mean;
    table.mix = cuda_mix;
    table.add_quotient = cuda_add_quotient;
    table.copy = cuda_copy;
    table.zero_at = cuda_zero_at;
    table.add_strided = cuda_add_strided;
    table.keep_mask = cuda_keep_mask;
    table.has_optimizer = cuda_has_optimizer;
    table.update = cuda_update;
    table.sum_squares_later = sum_squares_later;
    table.get_later = table_get_later;
    table.wait = table_wait;
    table.codes = &cuda_codes;
    table.products = &cuda_products;
    return table;
}();

const struct sg_kernels *sg_cuda_kernels(void) {
    return &the_table;
}

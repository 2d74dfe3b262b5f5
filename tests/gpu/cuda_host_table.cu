/* cuda_host_table.cu: the CUDA kernels as a table on host memory: each call copies its inputs to the device, runs,
 * waits and copies back. Tests use it on a device and on the emulation. */
/* SPDX-License-Identifier: MIT */
#include <cuda_runtime.h>

#include "cuda_host_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_cuda.h"

/* Not the default one: nothing may depend on it. Copies go through it, too, because it does not wait for others. */
static cudaStream_t stream;

/* ---- device memory: handed out from one allocation, all of it anew for each call ---- */

static char *arena;
static size_t arena_bytes, arena_used, calls;
static bool failed;

static void check(cudaError_t error) {
    failed |= error != cudaSuccess;
}

void *cuda_host_stream(void) {
    if (stream == NULL)
        check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

static void arena_open(size_t bytes) {
    failed = false;
    calls++;
    arena_used = 0;
    (void)cuda_host_stream();
    if (bytes <= arena_bytes)
        return;
    check(cudaFree(arena));
    check(cudaMalloc(&arena, bytes));
    arena_bytes = bytes;
}

/* Every third call gets pointers that are no multiples of 32 bytes. */
template <typename T> static T *device(const T *from, size_t count) {
    T *to = (T *)(arena + arena_used + (calls % 3 == 0 ? sizeof(float4) : 0));
    arena_used += (count * sizeof(T) + sizeof(float4) + 255) / 256 * 256;
    if (arena_used > arena_bytes)
        abort();
    if (from != NULL && count > 0)
        check(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyHostToDevice, stream));
    return to;
}

template <typename T> static void host(T *to, const T *from, size_t count) {
    if (count > 0)
        check(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDeviceToHost, stream));
    check(cudaStreamSynchronize(stream));
}

static size_t room_for(size_t arrays, size_t n, size_t layers) {
    return arrays * (8 * n + 512) + 8 * (8 * layers + 512);
}

/* ---- workspaces: kept while the layout stays ---- */

static sg_cuda *workspace;
static size_t *kept, kept_layers;

static sg_cuda *workspace_for(size_t n_layers, const size_t *offset) {
    const size_t bytes = (n_layers + 1) * sizeof *offset;
    if (workspace != NULL && kept_layers == n_layers && memcmp(kept, offset, bytes) == 0)
        return workspace;
    sg_cuda_close(workspace);
    free(kept);
    kept = (size_t *)malloc(bytes);
    memcpy(kept, offset, bytes);
    kept_layers = n_layers;
    if (sg_cuda_open(&workspace, n_layers, offset, 0) != SG_KERNEL_OK)
        workspace = NULL;
    return workspace;
}

/* ---- the table ---- */

static struct sg_cuda_select begin(const struct sg_select *s) {
    const size_t n = s->offset[s->n_layers];
    arena_open(room_for(6, n, s->n_layers));
    uint32_t *count = (uint32_t *)calloc(s->n_layers + 1, sizeof *count);
    for (size_t l = 0; l < s->n_layers; l++)
        count[l] = (uint32_t)s->count[l];
    struct sg_cuda_select d = {};
    d.g = device(s->g, n);
    d.e = s->e ? device(s->e, n) : NULL;
    d.scale = s->scale;
    d.decay = s->decay;
    d.index = device((const uint32_t *)NULL, n);
    d.value = device((const float *)NULL, n);
    d.count = device(count, s->n_layers);
    d.result = device((const struct sg_cuda_result *)NULL, 1);
    free(count);
    return d;
}

static int finish(int status, const struct sg_select *s, const struct sg_cuda_select *d) {
    struct sg_cuda_result r = {};
    check(cudaStreamSynchronize(stream));
    if (status != SG_KERNEL_OK || failed)
        return SG_KERNEL_DEVICE;
    host(&r, d->result, 1);
    if (r.status == SG_KERNEL_NONFINITE)
        s->count[0] = r.layer;
    if (r.status != SG_KERNEL_OK || failed)
        return failed ? (int)SG_KERNEL_DEVICE : (int)r.status;
    uint32_t *count = (uint32_t *)calloc(s->n_layers + 1, sizeof *count);
    host(count, d->count, s->n_layers);
    for (size_t l = 0; l < s->n_layers; l++)
        s->count[l] = count[l];
    free(count);
    if (s->e != NULL)
        host(s->e, d->e, s->offset[s->n_layers]);
    if (s->index != NULL)
        host(s->index, d->index, r.sent);
    host(s->value, d->value, r.sent);
    return failed ? SG_KERNEL_DEVICE : SG_KERNEL_OK;
}

static int select_threshold(const struct sg_select *s, const float *tau) {
    sg_cuda *c = workspace_for(s->n_layers, s->offset);
    const struct sg_cuda_select d = begin(s);
    if (c == NULL)
        return SG_KERNEL_DEVICE;
    return finish(sg_cuda_select_threshold(c, stream, &d, device(tau, s->n_layers)), s, &d);
}

static int select_topk(const struct sg_select *s, const size_t *k, float *guess) {
    sg_cuda *c = workspace_for(s->n_layers, s->offset);
    const struct sg_cuda_select d = begin(s);
    if (c == NULL)
        return SG_KERNEL_DEVICE;
    uint32_t *k32 = (uint32_t *)calloc(s->n_layers + 1, sizeof *k32);
    for (size_t l = 0; l < s->n_layers; l++)
        k32[l] = (uint32_t)k[l];
    float *device_guess = guess ? device(guess, s->n_layers) : NULL;
    const int status = finish(sg_cuda_select_topk(c, stream, &d, device(k32, s->n_layers), device_guess), s, &d);
    if (guess != NULL)
        host(guess, device_guess, s->n_layers);
    free(k32);
    return status;
}

static int select_positions(const struct sg_select *s, const uint32_t *position) {
    size_t total = 0;
    for (size_t l = 0; l < s->n_layers; l++)
        total += s->count[l];
    sg_cuda *c = workspace_for(s->n_layers, s->offset);
    const struct sg_cuda_select d = begin(s);
    if (c == NULL)
        return SG_KERNEL_DEVICE;
    const uint32_t *at = device(position, total);
    if (position == s->index) { /* on the device too */
        check(cudaMemcpyAsync(d.index, position, total * sizeof *position, cudaMemcpyHostToDevice, stream));
        at = d.index;
    }
    return finish(sg_cuda_select_positions(c, stream, &d, at), s, &d);
}

static int select_all(const struct sg_select *s) {
    sg_cuda *c = workspace_for(s->n_layers, s->offset);
    const struct sg_cuda_select d = begin(s);
    return c == NULL ? (int)SG_KERNEL_DEVICE : finish(sg_cuda_select_all(c, stream, &d), s, &d);
}

static void scatter_add_messages(const struct sg_exec *exec, float *dense, size_t n, const struct sg_entries *message,
                                 size_t n_messages) {
    (void)exec;
    size_t longest = n;
    for (size_t m = 0; m < n_messages; m++)
        longest = message[m].count > longest ? message[m].count : longest;
    arena_open(room_for(1 + n_messages, longest, 64 * n_messages));
    float *device_dense = device(dense, n);
    struct sg_cuda_entries *entries = (struct sg_cuda_entries *)calloc(n_messages + 1, sizeof *entries);
    for (size_t m = 0; m < n_messages; m++) {
        const uint32_t count = (uint32_t)message[m].count;
        entries[m].index = message[m].index ? device(message[m].index, count) : NULL;
        entries[m].value = device(message[m].value, count);
        entries[m].count = device(&count, 1);
    }
    if (sg_cuda_scatter_add_messages(stream, device_dense, n, entries, n_messages) != SG_KERNEL_OK)
        abort();
    check(cudaStreamSynchronize(stream));
    host(dense, device_dense, n);
    free(entries);
}

/* Of a vector that ends with the message. */
static size_t reach(const uint32_t *index, size_t count) {
    return index == NULL ? count : count > 0 ? (size_t)index[count - 1] + 1 : 0;
}

/* What has no call of its own on a stream is tried through the device's table. */
static const struct sg_exec *on_device(void) {
    static struct sg_exec exec = {1, NULL};
    char why[256];
    if (exec.device == NULL && sg_cuda_device_open((sg_cuda_device **)&exec.device, -1, 0, why, sizeof why) != 0)
        abort();
    sg_cuda_device_set_stream((sg_cuda_device *)exec.device, cuda_host_stream());
    return &exec;
}

static void from_device(void *to, const void *from, size_t bytes) {
    if (sg_cuda_kernels()->get(on_device(), to, from, bytes) != SG_KERNEL_OK)
        abort();
}

static void scatter_add(const struct sg_exec *exec, float *dense, const uint32_t *index, const float *value,
                        size_t count) {
    const size_t n = reach(index, count);
    (void)exec;
    arena_open(room_for(3, n, 1));
    float *there = device(dense, n);
    const uint32_t *index_there = index == NULL ? NULL : device(index, count);
    const float *value_there = device(value, count);
    sg_cuda_kernels()->scatter_add(on_device(), there, index_there, value_there, count);
    from_device(dense, there, n * sizeof *dense);
}

static double sum_squares(const struct sg_exec *exec, const float *x, size_t n) {
    (void)exec;
    const size_t offset[] = {0, n};
    double sum = NAN, *device_sum;
    sg_cuda *c = workspace_for(1, offset);
    arena_open(room_for(1, n, 1));
    device_sum = device(&sum, 1);
    if (c == NULL || sg_cuda_sum_squares(c, stream, device(x, n), n, device_sum) != SG_KERNEL_OK)
        return NAN;
    check(cudaStreamSynchronize(stream));
    host(&sum, device_sum, 1);
    return failed ? NAN : sum;
}

static double dot_shifted(const struct sg_exec *exec, const struct sg_entries *message, const float *x, double weight) {
    (void)exec;
    const size_t count = message->count, n = reach(message->index, count);
    arena_open(room_for(3, n, 1));
    const float *x_there = device(x, n);
    const struct sg_entries there = {message->index == NULL ? NULL : device(message->index, count),
                                     device(message->value, count), count};
    return sg_cuda_kernels()->dot_shifted(on_device(), &there, x_there, weight);
}

static void keep_mask(const struct sg_exec *exec, float *mask, size_t n, const struct sg_draws *draws, uint32_t least,
                      float kept) {
    (void)exec;
    arena_open(room_for(1, n, 1));
    float *there = device(mask, n);
    sg_cuda_kernels()->keep_mask(on_device(), there, n, draws, least, kept);
    from_device(mask, there, n * sizeof *mask);
}

/* Comparisons need no more of it. */
const struct sg_kernels *cuda_host_table(char *why, size_t room) {
    static struct sg_kernels table;
    table.name = "cuda";
    table.select_threshold = select_threshold;
    table.select_topk = select_topk;
    table.select_positions = select_positions;
    table.select_all = select_all;
    table.scatter_add = scatter_add;
    table.sum_squares = sum_squares;
    table.scatter_add_messages = scatter_add_messages;
    table.dot_shifted = dot_shifted;
    table.keep_mask = keep_mask;
    return sg_cuda_available(why, room) ? &table : NULL;
}

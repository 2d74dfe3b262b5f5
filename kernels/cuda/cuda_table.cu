/* cuda_table.cu: the table of sg_kernels.h on a GPU's memory. Parameters of a selection go to the device, and its counts
 * come back, in one small copy each. */
#include "cuda_codes.cuh"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sg_cuda_device {
    int number;
    cudaError_t error;  /* the first; nothing is begun after it */
    sg_cuda *workspace; /* of the layout: */
    size_t n_layers, *offset;
    /* What goes along with a call. `host` is ordinary memory, which is free again when a copy to the device returns;
     * `answer` is pinned, so that copies from the device go straight. */
    char *there, *host, *answer;
    size_t room;
    char *staged; /* messages of the host's */
    size_t staged_room;
};

static const cudaStream_t STREAM = NULL; /* the legacy default stream, where libtorch works too */

static sg_cuda_device *device_of(const struct sg_exec *exec) {
    SG_ASSERT(exec->device != NULL);
    return (sg_cuda_device *)exec->device;
}

static void check(sg_cuda_device *d, cudaError_t error) {
    if (d->error == cudaSuccess)
        d->error = error;
}

/* The thread's current device may be another one's affair. */
static bool ready(sg_cuda_device *d) {
    if (d->error == cudaSuccess)
        d->error = cudaSetDevice(d->number);
    return d->error == cudaSuccess;
}

static void begun(sg_cuda_device *d, int status) {
    if (status != SG_KERNEL_OK && d->error == cudaSuccess) {
        const cudaError_t error = cudaGetLastError();
        d->error = error != cudaSuccess ? error : cudaErrorUnknown;
    }
}

/* ---- opening --------------------------------------------------------------------------------------------------- */

int sg_cuda_device_open(sg_cuda_device **out, int number, int local_rank, char *why, size_t room) {
    int count = 0;
    *out = NULL;
    if (cudaGetDeviceCount(&count) == cudaSuccess && count > 0) {
        if (number >= count) {
            snprintf(why, room, "there %s %d GPU%s here, counted from 0", count == 1 ? "is" : "are", count,
                     count == 1 ? "" : "s");
            return SG_KERNEL_DEVICE;
        }
        number = number < 0 ? local_rank % count : number;
        (void)cudaSetDevice(number); /* what is wrong with it is said next */
    }
    if (!sg_cuda_available(why, room))
        return SG_KERNEL_DEVICE;
    sg_cuda_device *d = (sg_cuda_device *)calloc(1, sizeof *d);
    if (d == NULL) {
        snprintf(why, room, "out of memory");
        return SG_KERNEL_MEMORY;
    }
    d->number = number;
    *out = d;
    return SG_KERNEL_OK;
}

void sg_cuda_device_facts(const sg_cuda_device *d, struct sg_cuda_facts *out) {
    struct cudaDeviceProp about;
    memset(out, 0, sizeof *out);
    out->number = d->number;
    if (cudaGetDeviceProperties(&about, d->number) == cudaSuccess)
        snprintf(out->name, sizeof out->name, "%s", about.name);
    (void)cudaDriverGetVersion(&out->driver);
    (void)cudaRuntimeGetVersion(&out->runtime);
}

const char *sg_cuda_device_error(const sg_cuda_device *d) {
    return d->error == cudaSuccess ? NULL : cudaGetErrorString(d->error);
}

void sg_cuda_device_close(sg_cuda_device *d) {
    if (d == NULL)
        return;
    (void)cudaSetDevice(d->number);
    (void)cudaDeviceSynchronize();
    sg_cuda_close(d->workspace);
    cudaFree(d->there);
    cudaFree(d->staged);
    cudaFreeHost(d->answer);
    free(d->host);
    free(d->offset);
    free(d);
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

static void *allocate(const struct sg_exec *exec, size_t bytes) {
    sg_cuda_device *d = device_of(exec);
    void *memory = NULL;
    if (!ready(d))
        return NULL;
    if (cudaMalloc(&memory, bytes > 0 ? bytes : 1) != cudaSuccess) {
        (void)cudaGetLastError(); /* told by the NULL */
        return NULL;
    }
    check(d, cudaMemsetAsync(memory, 0, bytes, STREAM));
    return memory;
}

static void release(const struct sg_exec *exec, void *memory) {
    (void)cudaSetDevice(device_of(exec)->number);
    (void)cudaFree(memory);
}

static void zero(const struct sg_exec *exec, void *to, size_t bytes) {
    sg_cuda_device *d = device_of(exec);
    if (ready(d))
        check(d, cudaMemsetAsync(to, 0, bytes, STREAM));
}

/* Of pageable memory CUDA has taken a copy when this returns. */
static void put(const struct sg_exec *exec, void *to, const void *host, size_t bytes) {
    sg_cuda_device *d = device_of(exec);
    if (bytes > 0 && ready(d))
        check(d, cudaMemcpyAsync(to, host, bytes, cudaMemcpyHostToDevice, STREAM));
}

static int get(const struct sg_exec *exec, void *host, const void *from, size_t bytes) {
    sg_cuda_device *d = device_of(exec);
    if (bytes > 0 && ready(d))
        check(d, cudaMemcpyAsync(host, from, bytes, cudaMemcpyDeviceToHost, STREAM));
    if (ready(d))
        check(d, cudaStreamSynchronize(STREAM));
    return d->error == cudaSuccess ? SG_KERNEL_OK : SG_KERNEL_DEVICE;
}

/* ---- what goes along with a call -------------------------------------------------------------------------------- */

static int reserve(sg_cuda_device *d, size_t bytes) {
    if (!ready(d))
        return SG_KERNEL_DEVICE;
    if (bytes <= d->room)
        return SG_KERNEL_OK;
    cudaFree(d->there);
    cudaFreeHost(d->answer);
    free(d->host);
    d->there = d->answer = NULL;
    d->room = 0;
    d->host = (char *)malloc(bytes);
    if (d->host == NULL || cudaMalloc(&d->there, bytes) != cudaSuccess ||
        cudaMallocHost((void **)&d->answer, bytes) != cudaSuccess) {
        (void)cudaGetLastError();
        return SG_KERNEL_MEMORY;
    }
    d->room = bytes;
    return SG_KERNEL_OK;
}

/* `bytes` at `place` of d->there, once everything begun before is done. */
static const void *answer(sg_cuda_device *d, size_t place, size_t bytes) {
    SG_ASSERT(place + bytes <= d->room);
    check(d, cudaMemcpyAsync(d->answer, d->there + place, bytes, cudaMemcpyDeviceToHost, STREAM));
    check(d, cudaStreamSynchronize(STREAM));
    return d->error == cudaSuccess ? d->answer : NULL;
}

/* A workspace for the layout, kept while that stays; for `offset` NULL any that has n elements. */
static int workspace(sg_cuda_device *d, size_t n_layers, const size_t *offset, size_t n) {
    SG_ASSERT(offset == NULL || sg_are_offsets(offset, n_layers));
    const size_t whole[] = {0, n};
    if (!ready(d))
        return SG_KERNEL_DEVICE;
    if (d->workspace != NULL &&
        (offset == NULL ? d->offset[d->n_layers] >= n
                        : d->n_layers == n_layers && memcmp(d->offset, offset, (n_layers + 1) * sizeof *offset) == 0))
        return SG_KERNEL_OK;
    if (offset == NULL) {
        n_layers = 1;
        offset = whole;
    }
    sg_cuda_close(d->workspace);
    free(d->offset);
    d->workspace = NULL;
    d->offset = (size_t *)malloc((n_layers + 1) * sizeof *offset);
    if (d->offset == NULL)
        return SG_KERNEL_MEMORY;
    memcpy(d->offset, offset, (n_layers + 1) * sizeof *offset);
    d->n_layers = n_layers;
    const int status = sg_cuda_open(&d->workspace, n_layers, offset);
    if (status == SG_KERNEL_DEVICE)
        begun(d, status);
    (void)cudaGetLastError(); /* out of memory is told by the status */
    return status;
}

bool cuda_ready(const struct sg_exec *exec) {
    return ready(device_of(exec));
}

int cuda_room(const struct sg_exec *exec, size_t bytes, void **out) {
    const int status = reserve(device_of(exec), bytes);
    *out = device_of(exec)->there;
    return status;
}

int cuda_begun(const struct sg_exec *exec, int status) {
    begun(device_of(exec), status);
    return status;
}

/* ---- selections -------------------------------------------------------------------------------------------------- */

/* One after another at d->there: the call's parameter, guesses, counts, 4 bytes a layer each; the result. */
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
    uint32_t *count = (uint32_t *)(d->host + 2 * each);
    for (size_t l = 0; l < s->n_layers; l++)
        count[l] = (uint32_t)s->count[l];
    if (parameter != NULL)
        memcpy(d->host, parameter, each);
    if (guess != NULL)
        memcpy(d->host + each, guess, each);
    check(d, cudaMemcpyAsync(d->there, d->host, 3 * each, cudaMemcpyHostToDevice, STREAM));
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
    begun(d, status);
    if (status != SG_KERNEL_OK)
        return status;
    const char *found = (const char *)answer(d, each, 2 * each + sizeof(struct sg_cuda_result));
    if (found == NULL)
        return SG_KERNEL_DEVICE;
    const struct sg_cuda_result *result = (const struct sg_cuda_result *)(found + 2 * each);
    if (result->status == SG_KERNEL_NONFINITE)
        s->count[0] = result->layer;
    if (result->status != SG_KERNEL_OK)
        return (int)result->status;
    for (size_t l = 0; l < s->n_layers; l++)
        s->count[l] = ((const uint32_t *)(found + each))[l];
    if (guess != NULL)
        memcpy(guess, found, each);
    return SG_KERNEL_OK;
}

static int select_threshold(const struct sg_select *s, const float *tau) {
    sg_cuda_device *d = device_of(s->exec);
    struct sg_cuda_select call;
    const int status = begin(&call, s, tau, NULL);
    if (status != SG_KERNEL_OK)
        return status;
    return finish(s, sg_cuda_select_threshold(d->workspace, STREAM, &call, (const float *)d->there), NULL);
}

static int select_topk(const struct sg_select *s, const size_t *k, float *guess) {
    sg_cuda_device *d = device_of(s->exec);
    struct sg_cuda_select call;
    uint32_t *narrow = (uint32_t *)malloc(layers_bytes(s));
    if (narrow == NULL)
        return SG_KERNEL_MEMORY;
    for (size_t l = 0; l < s->n_layers; l++)
        narrow[l] = (uint32_t)k[l];
    const int status = begin(&call, s, narrow, guess);
    free(narrow);
    if (status != SG_KERNEL_OK)
        return status;
    float *guess_there = guess != NULL ? (float *)(d->there + layers_bytes(s)) : NULL;
    return finish(s, sg_cuda_select_topk(d->workspace, STREAM, &call, (const uint32_t *)d->there, guess_there), guess);
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
    put(s->exec, s->index, position, total * sizeof *position);
    return finish(s, sg_cuda_select_positions(d->workspace, STREAM, &call, s->index), NULL);
}

static int select_all(const struct sg_select *s) {
    struct sg_cuda_select call;
    const int status = begin(&call, s, NULL, NULL);
    if (status != SG_KERNEL_OK)
        return status;
    return finish(s, sg_cuda_select_all(device_of(s->exec)->workspace, STREAM, &call), NULL);
}

/* ---- sums and vectors -------------------------------------------------------------------------------------------- */

static void scatter_add_messages(const struct sg_exec *exec, float *dense, size_t n, const struct sg_entries *message,
                                 size_t n_messages) {
    sg_cuda_device *d = device_of(exec);
    for (size_t m = 0; m < n_messages; m += SG_CUDA_MESSAGES) {
        struct sg_cuda_entries batch[SG_CUDA_MESSAGES];
        const size_t now = n_messages - m < SG_CUDA_MESSAGES ? n_messages - m : (size_t)SG_CUDA_MESSAGES;
        const int status = reserve(d, sizeof batch);
        begun(d, status);
        if (status != SG_KERNEL_OK)
            return;
        for (size_t i = 0; i < now; i++) {
            ((uint32_t *)d->host)[i] = (uint32_t)message[m + i].count;
            batch[i] = {message[m + i].index, message[m + i].value, (const uint32_t *)d->there + i};
        }
        put(exec, d->there, d->host, now * sizeof(uint32_t));
        begun(d, sg_cuda_scatter_add_messages(STREAM, dense, n, batch, now));
    }
}

/* The vector is as long as the message; one with indices never leaves its vector. */
static void scatter_add(const struct sg_exec *exec, float *dense, const uint32_t *index, const float *value,
                        size_t count) {
    const struct sg_entries message = {index, value, count};
    scatter_add_messages(exec, dense, index == NULL ? count : UINT32_MAX, &message, 1);
}

/* Side by side into `staged`, then as if they had been there. */
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
            batch[i] = {from->index != NULL ? (const uint32_t *)at : NULL,
                        (const float *)(at + from->count * sizeof(uint32_t)), from->count};
            if (from->index != NULL)
                put(exec, at, from->index, from->count * sizeof *from->index);
            put(exec, at + from->count * sizeof(uint32_t), from->value, from->count * sizeof *from->value);
            at += from->count * ENTRY;
        }
        if (ready(d))
            scatter_add_messages(exec, dense, n, batch, now);
    }
}

static double sum_squares(const struct sg_exec *exec, const float *x, size_t n) {
    sg_cuda_device *d = device_of(exec);
    int status = workspace(d, 0, NULL, n);
    if (status == SG_KERNEL_OK)
        status = reserve(d, sizeof(double));
    if (status == SG_KERNEL_OK)
        status = sg_cuda_sum_squares(d->workspace, STREAM, x, n, (double *)d->there);
    begun(d, status);
    const double *sum = status == SG_KERNEL_OK ? (const double *)answer(d, 0, sizeof *sum) : NULL;
    return sum != NULL ? *sum : (double)NAN;
}

static float max_abs(const struct sg_exec *exec, const float *x, size_t n) {
    sg_cuda_device *d = device_of(exec);
    int status = reserve(d, sizeof(float));
    if (status == SG_KERNEL_OK)
        status = sg_cuda_max_abs(STREAM, x, n, (uint32_t *)d->there);
    begun(d, status);
    const float *most = status == SG_KERNEL_OK ? (const float *)answer(d, 0, sizeof *most) : NULL;
    return most != NULL ? *most : NAN;
}

static double dot_shifted(const struct sg_exec *exec, const struct sg_entries *message, const float *x, double weight) {
    sg_cuda_device *d = device_of(exec);
    int status = reserve(d, sizeof(double));
    if (status == SG_KERNEL_OK)
        status = sg_cuda_dot_shifted(STREAM, message, x, weight, (double *)d->there);
    begun(d, status);
    const double *sum = status == SG_KERNEL_OK ? (const double *)answer(d, 0, sizeof *sum) : NULL;
    return sum != NULL ? *sum : (double)NAN;
}

static void running_mean(const struct sg_exec *exec, float *mean, const float *x, size_t n, double weight) {
    sg_cuda_device *d = device_of(exec);
    if (ready(d))
        begun(d, sg_cuda_running_mean(STREAM, mean, x, n, weight));
}

static void encode_half(const struct sg_exec *exec, uint16_t *half, const float *value, const uint32_t *index,
                        size_t count, float *e) {
    sg_cuda_device *d = device_of(exec);
    if (ready(d))
        begun(d, sg_cuda_encode_half(STREAM, half, value, index, count, e));
}

static void decode_half(const struct sg_exec *exec, float *value, const uint16_t *half, size_t count) {
    sg_cuda_device *d = device_of(exec);
    if (ready(d))
        begun(d, sg_cuda_decode_half(STREAM, value, half, count));
}

static void update(const struct sg_exec *exec, const struct sg_update *u) {
    sg_cuda_device *d = device_of(exec);
    if (ready(d))
        begun(d, sg_cuda_update(STREAM, u));
}

const struct sg_kernels *sg_cuda_kernels(void) {
    static const struct sg_kernels table = {"cuda",
                                            allocate,
                                            release,
                                            zero,
                                            put,
                                            get,
                                            select_threshold,
                                            select_topk,
                                            select_positions,
                                            select_all,
                                            scatter_add,
                                            sum_squares,
                                            scatter_add_messages,
                                            add_messages,
                                            max_abs,
                                            dot_shifted,
                                            running_mean,
                                            cuda_mix,
                                            cuda_copy,
                                            cuda_zero_at,
                                            encode_half,
                                            decode_half,
                                            sg_cuda_has_optimizer,
                                            update,
                                            &cuda_codes};
    return &table;
}

/* kernel_times.cu: times the kernels where they run, arrays and all on the device, for sparsebench, which loads it. */
/* SPDX-License-Identifier: MIT */
#include <cuda_runtime.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench_private.h"
#include "bench_rival.h"
#include "rivals_cuda.h"
#include "sg_cuda.h"

/* The k-th magnitude changes from step to step. Every second call scales p by this factor, so the guess of the previous
 * call is too small and too large in turn. */
static const float WARM_MISS = 1.05F;

struct device {
    const struct data *data;
    sg_cuda *workspace;
    cudaStream_t stream;
    cudaEvent_t begin, end;
    char *memory;
    size_t used;
    float *g, *e, *value, *tau, *guess, *position_value;
    uint32_t *index, *count, *k, *position;
    uint32_t *k_total; /* one */
    struct sg_cuda_result *result;
    double *sum;
    float decay; /* of the residual: 0 when timed, as in bench_operation.c */
    struct rival_cuda_call rival;
    unsigned turn;
    cudaError_t error; /* the first one */
};

static void check(struct device *d, cudaError_t error) {
    if (d->error == cudaSuccess)
        d->error = error;
}

/* Parts of one allocation; with memory NULL only their sizes are added up. */
template <typename T> static void take(struct device *d, T **out, size_t count) {
    *out = (T *)(d->memory + d->used);
    d->used += (count * sizeof(T) + 255) / 256 * 256;
}

static void lay_out(struct device *d) {
    const size_t n = d->data->layers->n, layers = d->data->layers->count;
    d->used = 0;
    take(d, &d->g, n);
    take(d, &d->e, n);
    take(d, &d->index, n);
    take(d, &d->value, n);
    take(d, &d->count, layers);
    take(d, &d->k, layers);
    take(d, &d->tau, layers);
    take(d, &d->guess, layers);
    take(d, &d->position, d->data->k_total);
    take(d, &d->position_value, d->data->k_total);
    take(d, &d->k_total, 1);
    take(d, &d->result, 1);
    take(d, &d->sum, 1);
    struct rival_cuda_call *r = &d->rival;
    take(d, &r->found, 1);
    take(d, (char **)&r->scratch, r->scratch_bytes);
    r->g = d->g;
    r->e = d->e;
    r->value = d->value;
    r->index = d->index;
}

template <typename T> static void upload(struct device *d, T *to, const T *from, size_t count) {
    check(d, cudaMemcpy(to, from, count * sizeof *to, cudaMemcpyHostToDevice));
}

static void upload_all(struct device *d, const uint32_t *k) {
    const struct data *data = d->data;
    const size_t layers = data->layers->count;
    const uint32_t k_total = (uint32_t)data->k_total;
    upload(d, d->g, data->g, data->layers->n);
    check(d, cudaMemset(d->e, 0, data->layers->n * sizeof *d->e));
    upload(d, d->count, k, layers);
    upload(d, d->k, k, layers);
    upload(d, d->tau, data->tau, layers);
    upload(d, d->guess, data->kth, layers);
    upload(d, d->position, data->position, data->k_total);
    upload(d, d->position_value, data->position_value, data->k_total);
    upload(d, d->k_total, &k_total, 1);
    check(d, cudaDeviceSynchronize());
}

static void device_close(struct device *d) {
    sg_cuda_close(d->workspace);
    if (d->begin)
        cudaEventDestroy(d->begin);
    if (d->end)
        cudaEventDestroy(d->end);
    if (d->stream)
        cudaStreamDestroy(d->stream);
    cudaFree(d->memory);
    free(d);
}

static sg_status device_open(struct device **out, const struct data *data, struct sg_error *err) {
    const size_t layers = data->layers->count;
    struct device *d = (struct device *)calloc(1, sizeof *d);
    uint32_t *k = (uint32_t *)malloc(layers * sizeof *k);
    *out = NULL;
    if (d == NULL || k == NULL) {
        free(d);
        free(k);
        return sg_fail_memory(err, "the device's arrays");
    }
    for (size_t l = 0; l < layers; l++)
        k[l] = (uint32_t)data->k[l];
    d->data = data;
    d->rival.n = data->layers->n;
    d->rival.layers = layers;
    d->rival.offset = data->layers->offset;
    d->rival.k = data->k;
    d->rival.tau = data->tau[0]; /* one for all layers */
    if (rival_cuda("cub-sort", &d->rival) != 0)
        d->rival.scratch_bytes = 0;
    lay_out(d);
    check(d, cudaMalloc(&d->memory, d->used));
    check(d, cudaStreamCreateWithFlags(&d->stream, cudaStreamNonBlocking));
    check(d, cudaEventCreate(&d->begin));
    check(d, cudaEventCreate(&d->end));
    if (d->error == cudaSuccess) {
        lay_out(d);
        d->rival.stream = d->stream;
        upload_all(d, k);
    }
    free(k);
    if (d->error == cudaSuccess && sg_cuda_open(&d->workspace, layers, data->layers->offset, 0) != SG_KERNEL_OK)
        d->error = cudaErrorMemoryAllocation;
    if (d->error != cudaSuccess) {
        const sg_status status = sg_fail(err, SG_ERR_MEMORY, "the device's arrays for %zu elements: %s",
                                         data->layers->n, cudaGetErrorString(d->error));
        device_close(d);
        return status;
    }
    *out = d;
    return SG_OK;
}

static double device_cache_bytes(struct device *d) {
    int device = 0, bytes = 0;
    check(d, cudaGetDevice(&device));
    check(d, cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device));
    return bytes > 0 ? (double)bytes : NAN;
}

/* ---- operations ---- */

static struct sg_cuda_select selection(const struct device *d) {
    struct sg_cuda_select s = {};
    s.g = d->g;
    s.e = d->e;
    s.scale = 1;
    s.decay = d->decay;
    s.index = d->index;
    s.value = d->value;
    s.count = d->count;
    s.result = d->result;
    return s;
}

static int threshold(struct device *d) {
    const struct sg_cuda_select s = selection(d);
    return sg_cuda_select_threshold(d->workspace, d->stream, &s, d->tau);
}

static int topk_warm(struct device *d) {
    struct sg_cuda_select s = selection(d);
    s.scale = d->turn++ % 2 ? WARM_MISS : 1;
    return sg_cuda_select_topk(d->workspace, d->stream, &s, d->k, d->guess);
}

static int topk_cold(struct device *d) {
    const struct sg_cuda_select s = selection(d);
    return sg_cuda_select_topk(d->workspace, d->stream, &s, d->k, NULL);
}

static int randomk(struct device *d) {
    struct sg_cuda_select s = selection(d);
    s.count = d->k;
    return sg_cuda_select_positions(d->workspace, d->stream, &s, d->position);
}

static int scatter(struct device *d) {
    const struct sg_cuda_entries message = {d->position, d->position_value, d->k_total};
    return sg_cuda_scatter_add_messages(d->stream, d->e, d->data->layers->n, &message, 1);
}

static int squares(struct device *d) {
    return sg_cuda_sum_squares(d->workspace, d->stream, d->g, d->data->layers->n, d->sum);
}

static int rival(struct device *d, const char *name) {
    d->rival.decay = d->decay;
    return rival_cuda(name, &d->rival) == 0 ? SG_KERNEL_OK : SG_KERNEL_DEVICE;
}

static int cub_select(struct device *d) {
    return rival(d, "cub-select");
}

static int cub_sort(struct device *d) {
    return rival(d, "cub-sort");
}

__global__ static void add_kernel(float4 *e, const float4 *g, size_t n) {
    const size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const float4 a = e[i], b = g[i];
        e[i] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
    }
}

/* e += g, which moves the bytes of a selection: the reference. Up to three numbers at the end stay. */
static int add(struct device *d) {
    constexpr unsigned BLOCKS = 4096, WIDTH = 256;
    add_kernel<<<BLOCKS, WIDTH, 0, d->stream>>>((float4 *)d->e, (const float4 *)d->g, d->data->layers->n / 4);
    return cudaGetLastError() == cudaSuccess ? SG_KERNEL_OK : SG_KERNEL_DEVICE;
}

/* The outputs of an operation, except the residual. */
enum output { ENTRIES, GUESSES, NOTHING, SUM, FOUND_ENTRIES, K_ENTRIES };

static const struct device_operation {
    const char *name; /* as in bench_operation.c */
    int (*enqueue)(struct device *d);
    enum output output;
} table[] = {
    {"ef-threshold", threshold, ENTRIES},      {"ef-topk-warm", topk_warm, GUESSES},
    {"ef-topk-cold", topk_cold, ENTRIES},      {"randomk", randomk, ENTRIES},
    {"scatter-add", scatter, NOTHING},         {"sum-squares", squares, SUM},
    {"cub-select", cub_select, FOUND_ENTRIES}, {"cub-sort", cub_sort, K_ENTRIES},
};

static const struct device_operation *find(const struct job *job) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].name, job->operation->name) == 0)
            return &table[i];
    return NULL;
}

static double time_enqueued(struct device *d, int (*enqueue)(struct device *d), size_t calls) {
    float elapsed_ms = 0;
    int status = SG_KERNEL_OK;
    check(d, cudaEventRecord(d->begin, d->stream));
    for (size_t i = 0; i < calls && status == SG_KERNEL_OK; i++)
        status = enqueue(d);
    check(d, cudaEventRecord(d->end, d->stream));
    check(d, cudaEventSynchronize(d->end));
    check(d, cudaEventElapsedTime(&elapsed_ms, d->begin, d->end));
    return status == SG_KERNEL_OK && d->error == cudaSuccess ? 1e-3 * (double)elapsed_ms : NAN;
}

static double device_time(struct device *d, const struct job *job, size_t calls) {
    const struct device_operation *o = job != NULL ? find(job) : NULL;
    if (job != NULL && o == NULL)
        return NAN;
    return time_enqueued(d, o != NULL ? o->enqueue : add, calls);
}

/* ---- one call, compared ---- */

struct entry {
    uint32_t index;
    float value;
};

static int ascending(const void *a, const void *b) {
    const uint32_t x = ((const struct entry *)a)->index, y = ((const struct entry *)b)->index;
    return (x > y) - (x < y);
}

/* Sorts the entries in the arrays of the host by index, and counts those of each layer, because rivals do neither. */
static int order_entries(struct data *data, size_t sent) {
    struct entry *entry = (struct entry *)malloc((sent + 1) * sizeof *entry);
    if (entry == NULL)
        return SG_KERNEL_MEMORY;
    for (size_t j = 0; j < sent; j++)
        entry[j] = {data->index[j], data->value[j]};
    qsort(entry, sent, sizeof *entry, ascending);
    memset(data->count, 0, data->layers->count * sizeof *data->count);
    for (size_t j = 0, l = 0; j < sent; j++) {
        data->index[j] = entry[j].index;
        data->value[j] = entry[j].value;
        while (data->layers->offset[l + 1] <= entry[j].index)
            l++;
        data->count[l]++;
    }
    free(entry);
    return SG_KERNEL_OK;
}

template <typename T> static void download(struct device *d, T *to, const T *from, size_t count) {
    check(d, cudaMemcpy(to, from, count * sizeof *to, cudaMemcpyDeviceToHost));
}

static int download_counts(struct job *job, const uint32_t *from) {
    const size_t layers = job->data->layers->count;
    uint32_t *count = (uint32_t *)malloc(layers * sizeof *count);
    if (count == NULL)
        return SG_KERNEL_MEMORY;
    download(job->device, count, from, layers);
    for (size_t l = 0; l < layers; l++)
        job->data->count[l] = count[l];
    free(count);
    return SG_KERNEL_OK;
}

/* Brings the entries of a selection to the arrays of the host. */
static int download_entries(struct job *job, const struct device_operation *o) {
    struct device *d = job->device;
    struct sg_cuda_result r = {SG_KERNEL_OK, 0, (uint32_t)job->data->k_total};
    const bool rival = o->output == FOUND_ENTRIES || o->output == K_ENTRIES;
    if (o->output == FOUND_ENTRIES)
        download(d, &r.sent, d->rival.found, 1);
    else if (!rival)
        download(d, &r, d->result, 1);
    if (r.status != SG_KERNEL_OK || d->error != cudaSuccess)
        return r.status != SG_KERNEL_OK ? (int)r.status : (int)SG_KERNEL_DEVICE;
    job->sent = r.sent;
    download(d, job->data->index, d->index, r.sent);
    download(d, job->data->value, d->value, r.sent);
    return rival ? order_entries(job->data, r.sent) : download_counts(job, o->enqueue == randomk ? d->k : d->count);
}

static int download_all(struct job *job, const struct device_operation *o) {
    struct device *d = job->device;
    job->sent = o->output == NOTHING ? job->data->k_total : 0;
    download(d, job->data->e, d->e, job->data->layers->n);
    if (o->output == NOTHING)
        return SG_KERNEL_OK;
    if (o->output == SUM) {
        download(d, &job->sum, d->sum, 1);
        return SG_KERNEL_OK;
    }
    if (o->output == GUESSES)
        download(d, job->guess, d->guess, job->data->layers->count);
    return download_entries(job, o);
}

/* The arrays on the device are restored, except for the residual, which timed calls multiply by 0. */
static void device_run(struct job *job) {
    struct device *d = job->device;
    const struct device_operation *o = find(job);
    const size_t layers = job->data->layers->count;
    if (o->output == GUESSES) {
        for (size_t l = 0; l < layers; l++)
            job->guess[l] = job->data->kth[l] / WARM_MISS;
        upload(d, d->guess, job->guess, layers);
    }
    upload(d, d->e, job->data->e, job->data->layers->n);
    check(d, cudaDeviceSynchronize());
    d->decay = job->decay;
    job->status = o->enqueue(d);
    d->decay = 0;
    check(d, cudaStreamSynchronize(d->stream));
    if (job->status == SG_KERNEL_OK)
        job->status = download_all(job, o);
    upload(d, d->guess, job->data->kth, layers);
    check(d, cudaDeviceSynchronize());
    d->turn = 0;
    if (d->error != cudaSuccess)
        job->status = SG_KERNEL_DEVICE;
}

extern "C" {
extern RIVAL_API const struct gpu_times sg_gpu_times;
const struct gpu_times sg_gpu_times = {
    sg_cuda_available, device_open, device_close, device_cache_bytes, device_time, device_run,
};
}

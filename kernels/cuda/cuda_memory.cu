/* cuda_memory.cu: opens a GPU for the table of sg_kernels.h, and moves memory. Copies of few bytes go through pinned
 * memory. What need not be known at once comes back with the next wait. */
/* SPDX-License-Identifier: MIT */
#include "cuda_table.cuh"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        (void)cudaSetDevice(number); /* the next call reports its failure */
    }
    if (!sg_cuda_available(why, room))
        return SG_KERNEL_DEVICE;
    sg_cuda_device *d = (sg_cuda_device *)calloc(1, sizeof *d);
    if (!d) {
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

void sg_cuda_device_set_stream(sg_cuda_device *d, void *stream) {
    (void)table_wait_for_all(d);
    d->stream = (cudaStream_t)stream;
}

/* A call that failed without an error of CUDA was refused (record_launch). */
const char *sg_cuda_device_error(const sg_cuda_device *d) {
    return d->error == cudaSuccess        ? NULL
           : d->error == cudaErrorUnknown ? sg_cuda_last_error()
                                          : cudaGetErrorString(d->error);
}

void sg_cuda_device_close(sg_cuda_device *d) {
    if (!d)
        return;
    (void)cudaSetDevice(d->number);
    (void)cudaDeviceSynchronize();
    table_workspace_close(&d->workspace);
    table_workspace_close(&d->previous);
    cudaFree(d->there);
    cudaFree(d->staged);
    cudaFreeHost(d->pinned);
    free(d);
}

/* ---- small copies, and waiting for them -------------------------------------------------------------------------- */

static int state_of(const sg_cuda_device *d) {
    return d->error == cudaSuccess ? SG_KERNEL_OK : SG_KERNEL_DEVICE;
}

/* Completes the pending copies to the caller's memory. The stream must be idle; after a failure it copies nothing. */
static int hand_over(sg_cuda_device *d) {
    for (size_t i = 0; i < d->n_arrivals && d->error == cudaSuccess; i++)
        memcpy(d->arrival[i].to, d->arrival[i].from, d->arrival[i].bytes);
    d->n_arrivals = 0;
    d->pinned_used = 0;
    return state_of(d);
}

int table_wait_for_all(sg_cuda_device *d) {
    if (ready(d))
        check(d, cudaStreamSynchronize(d->stream));
    return hand_over(d);
}

char *table_place(sg_cuda_device *d, size_t bytes) {
    constexpr size_t ALIGNMENT = 16;
    const size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (rounded > d->pinned_room - d->pinned_used)
        (void)table_wait_for_all(d);
    if (rounded > d->pinned_room && ready(d)) {
        const size_t room = rounded > PINNED_BYTES ? rounded : (size_t)PINNED_BYTES;
        cudaFreeHost(d->pinned);
        d->pinned = NULL;
        check(d, cudaMallocHost((void **)&d->pinned, room));
        d->pinned_room = d->error == cudaSuccess ? room : 0;
    }
    if (!ready(d))
        return NULL;
    d->pinned_used += rounded;
    return d->pinned + d->pinned_used - rounded;
}

int table_wait(const struct sg_exec *exec) {
    sg_cuda_device *d = device_of(exec);
    return d->n_arrivals > 0 ? table_wait_for_all(d) : state_of(d);
}

void table_get_later(const struct sg_exec *exec, void *host, const void *from, size_t bytes) {
    sg_cuda_device *d = device_of(exec);
    if (d->n_arrivals == MOST_ARRIVALS)
        (void)table_wait_for_all(d);
    char *host_in = table_place(d, bytes);
    if (!host_in)
        return;
    check(d, cudaMemcpyAsync(host_in, from, bytes, cudaMemcpyDeviceToHost, d->stream));
    d->arrival[d->n_arrivals++] = {host, host_in, bytes};
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

void *table_allocate(const struct sg_exec *exec, size_t bytes) {
    sg_cuda_device *d = device_of(exec);
    void *memory = NULL;
    if (!ready(d))
        return NULL;
    if (cudaMalloc(&memory, bytes > 0 ? bytes : 1) != cudaSuccess) {
        (void)cudaGetLastError(); /* the returned NULL reports it */
        return NULL;
    }
    check(d, cudaMemsetAsync(memory, 0, bytes, d->stream));
    return memory;
}

void table_release(const struct sg_exec *exec, void *memory) {
    (void)cudaSetDevice(device_of(exec)->number);
    (void)cudaFree(memory);
}

void table_zero(const struct sg_exec *exec, void *to, size_t bytes) {
    sg_cuda_device *d = device_of(exec);
    if (ready(d))
        check(d, cudaMemsetAsync(to, 0, bytes, d->stream));
}

/* Copies between ordinary memory and the device in order with the other work, and waits for it, since CUDA may read or
 * write the host's memory after the call otherwise. */
static void copy_long(sg_cuda_device *d, void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
    check(d, cudaMemcpyAsync(to, from, bytes, kind, d->stream));
    check(d, cudaStreamSynchronize(d->stream));
}

void table_put(const struct sg_exec *exec, void *to, const void *host, size_t bytes) {
    sg_cuda_device *d = device_of(exec);
    if (bytes == 0 || !ready(d))
        return;
    if (bytes > PINNED_BYTES) {
        copy_long(d, to, host, bytes, cudaMemcpyHostToDevice);
        return;
    }
    char *host_out = table_place(d, bytes);
    if (!host_out)
        return;
    memcpy(host_out, host, bytes);
    check(d, cudaMemcpyAsync(to, host_out, bytes, cudaMemcpyHostToDevice, d->stream));
}

int table_get(const struct sg_exec *exec, void *host, const void *from, size_t bytes) {
    sg_cuda_device *d = device_of(exec);
    if (bytes > 0 && bytes <= PINNED_BYTES)
        table_get_later(exec, host, from, bytes);
    if (bytes <= PINNED_BYTES)
        return table_wait_for_all(d);
    if (ready(d))
        copy_long(d, host, from, bytes, cudaMemcpyDeviceToHost);
    return hand_over(d);
}

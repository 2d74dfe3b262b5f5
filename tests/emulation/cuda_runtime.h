/* cuda_runtime.h: as much of CUDA as kernels/cuda uses, on the host, so that the kernels' logic is tested without a
 * device: compile the .cu files as C++ with this directory in front.
 *
 * Every CUDA thread is a fiber. They run one at a time, in an order that changes from launch to launch, and switch
 * where threads wait for each other: at warp collectives, __syncthreads and __nanosleep. All blocks of a cooperative
 * launch are alive at once. New memory is filled with rubbish. A collective that not all lanes reach, or that they
 * reach by different calls, ends the program. Not found here: missing fences, races between the points where fibers
 * switch.
 *
 * Only kernels and copies may touch the device's memory: a host that reads or writes there ends the program, and so
 * does whoever goes beyond the pages of an allocation. Copies between pinned memory and the device are under way until
 * the host waits: what comes from the device is not there before, and memory that a copy still reads must not change.
 * Waits are counted. Work on a stream while another one has work that nobody waited for ends the program. */
/* SPDX-License-Identifier: MIT */
#ifndef EMULATION_CUDA_RUNTIME_H
#define EMULATION_CUDA_RUNTIME_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulated_memory.h"
#include "emulated_threads.h"

#define __device__
#define __global__
#define __launch_bounds__(...)
#define SG_SHARED(type, name) type &name = *reinterpret_cast<type *>(emulation::current->block->shared)

struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
static inline float4 make_float4(float x, float y, float z, float w) {
    return {x, y, z, w};
}
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
    return {x, y, z, w};
}

#define threadIdx (emulation::current->thread)
#define blockIdx  (emulation::current->block->index)

/* ---- collectives ---- */

inline void __syncthreads() {
    emulation::meet(emulation::current->block->all, emulation::block_threads, "__syncthreads");
}

inline int __syncthreads_or(int x) {
    emulation::meeting &m = emulation::current->block->all;
    m.votes[m.generation & 1] |= x != 0;
    return (int)m.votes[emulation::meet(m, emulation::block_threads, "__syncthreads_or")];
}

inline void __syncwarp() {
    emulation::exchange(0, "__syncwarp");
}

inline unsigned __ballot_sync(unsigned, bool x) {
    return emulation::vote(x, "__ballot_sync");
}

inline bool __any_sync(unsigned, bool x) {
    return emulation::vote(x, "__any_sync") != 0;
}

inline bool __all_sync(unsigned, bool x) {
    return emulation::vote(x, "__all_sync") == 0xffffffff;
}

inline unsigned __match_any_sync(unsigned, unsigned x) {
    const uint64_t *slot = emulation::exchange(x, "__match_any_sync");
    unsigned equal = 0;
    for (unsigned i = 0; i < emulation::LANES; i++)
        equal |= (unsigned)(slot[i] == x) << i;
    return equal;
}

template <typename T> inline T __shfl_sync(unsigned, T x, unsigned from) {
    return emulation::from_slot<T>(emulation::exchange(x, "__shfl_sync")[from % emulation::LANES]);
}

template <typename T> inline T __shfl_xor_sync(unsigned, T x, unsigned mask) {
    return emulation::from_slot<T>(emulation::exchange(x, "__shfl_xor_sync")[emulation::lane() ^ mask]);
}

template <typename T> inline T __shfl_down_sync(unsigned, T x, unsigned by, unsigned width = emulation::LANES) {
    const unsigned lane = emulation::lane(), from = lane % width + by < width ? lane + by : lane;
    return emulation::from_slot<T>(emulation::exchange(x, "__shfl_down_sync")[from]);
}

/* ---- one thread ---- */

inline void __nanosleep(unsigned) {
    emulation::yield();
}

template <typename T> inline T atomicAdd(T *to, T x) {
    const T old = *to;
    *to = old + x;
    return old;
}

/* Those of kernels/cuda/cuda_device.cuh, which are not C++. One fiber runs at a time, so all is in order. */
inline uint32_t add_ordered(uint32_t *to, uint32_t x) {
    return atomicAdd(to, x);
}

inline uint32_t load_ordered(const uint32_t *from) {
    return *from;
}

template <typename T> inline T atomicMin(T *to, T x) {
    const T old = *to;
    *to = x < old ? x : old;
    return old;
}

template <typename T> inline T atomicMax(T *to, T x) {
    const T old = *to;
    *to = old < x ? x : old;
    return old;
}

template <typename T> inline T __ldcg(const T *x) {
    return *x;
}

template <typename T> inline T __ldcs(const T *x) {
    return *x;
}

inline unsigned __float_as_uint(float x) {
    unsigned bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

inline float __uint_as_float(unsigned bits) {
    return emulation::from_slot<float>(bits);
}

inline int __popc(unsigned x) {
    return __builtin_popcount(x);
}

inline int __clz(int x) {
    return x == 0 ? 32 : __builtin_clz((unsigned)x);
}

inline float __fmul_rn(float a, float b) {
    return a * b;
}

inline float __fadd_rn(float a, float b) {
    return a + b;
}

inline float __fdiv_rn(float a, float b) {
    return a / b;
}

inline float __double2float_rn(double x) {
    return (float)x;
}

inline double __dmul_rn(double a, double b) {
    return a * b;
}

inline double __dadd_rn(double a, double b) {
    return a + b;
}

inline double __ddiv_rn(double a, double b) {
    return a / b;
}

inline double __dsqrt_rn(double x) {
    return sqrt(x);
}

/* ---- host functions ---- */

enum cudaError_t { cudaSuccess = 0, cudaErrorMemoryAllocation = 2, cudaErrorUnknown = 999 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };
enum cudaDeviceAttr { cudaDevAttrComputeCapabilityMajor, cudaDevAttrCooperativeLaunch, cudaDevAttrMultiProcessorCount };
enum cudaLaunchAttributeID { cudaLaunchAttributeCooperative };
typedef struct emulated_stream *cudaStream_t;
struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    struct {
        int cooperative;
    } val;
};
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes = 0;
    cudaStream_t stream = nullptr;
    cudaLaunchAttribute *attrs = nullptr;
    unsigned numAttrs = 0;
};

template <typename... P, typename... A>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(P...), A &&...args) {
    const std::function<void()> call = [&] { kernel(args...); };
    const emulation::open_memory open;
    emulation::enqueue(config->stream);
    emulation::launch(config->gridDim, config->blockDim, config->attrs->val.cooperative != 0, call);
    return cudaSuccess;
}

template <typename K> cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, K *, int, size_t) {
    *blocks = 1;
    return cudaSuccess;
}

inline cudaError_t cudaGetDeviceCount(int *count) {
    *count = 1;
    return cudaSuccess;
}

inline cudaError_t cudaSetDevice(int device) {
    sg_emulated_device = 0;
    return device == 0 ? cudaSuccess : cudaErrorUnknown;
}

struct cudaDeviceProp {
    char name[256];
};

inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp *about, int) {
    snprintf(about->name, sizeof about->name, "emulation");
    return cudaSuccess;
}

inline cudaError_t cudaDriverGetVersion(int *version) {
    *version = 12000;
    return cudaSuccess;
}

inline cudaError_t cudaRuntimeGetVersion(int *version) {
    *version = 12000;
    return cudaSuccess;
}

inline cudaError_t cudaGetDevice(int *device) {
    *device = sg_emulated_device;
    return cudaSuccess;
}

enum cudaMemoryType { cudaMemoryTypeUnregistered, cudaMemoryTypeHost, cudaMemoryTypeDevice, cudaMemoryTypeManaged };
struct cudaPointerAttributes {
    cudaMemoryType type;
    int device;
};

inline cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *out, const void *memory) {
    *out = {emulation::is_of_device(memory) ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered, 0};
    return cudaSuccess;
}

inline cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int) {
    *value = attribute == cudaDevAttrComputeCapabilityMajor ? 8 : (int)emulation::BLOCKS_AT_ONCE;
    return cudaSuccess;
}

inline cudaError_t cudaGetLastError() {
    return cudaSuccess;
}

inline const char *cudaGetErrorString(cudaError_t error) {
    return error == cudaSuccess ? "no error" : "out of memory";
}

template <typename T> cudaError_t cudaMalloc(T **out, size_t bytes) {
    *out = (T *)emulation::allocate(bytes);
    if (*out == nullptr)
        return cudaErrorMemoryAllocation;
    const emulation::open_memory open;
    memset((void *)*out, 0xcd, bytes);
    return cudaSuccess;
}

inline cudaError_t cudaFree(void *memory) {
    if (memory != nullptr)
        emulation::wait();
    emulation::release(memory);
    return cudaSuccess;
}

namespace emulation {
inline cudaError_t copy_pageable(void *to, const void *from, size_t bytes, cudaStream_t stream) {
    enqueue(stream);
    wait();
    const open_memory open;
    if (bytes > 0)
        memcpy(to, from, bytes);
    return cudaSuccess;
}
} // namespace emulation

inline cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind) {
    return emulation::copy_pageable(to, from, bytes, nullptr);
}

inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    const bool to_host = kind == cudaMemcpyDeviceToHost;
    if (!emulation::is_pinned(to_host ? to : from, bytes))
        return emulation::copy_pageable(to, from, bytes, stream);
    const emulation::open_memory open;
    emulation::enqueue(stream);
    emulation::copies.push_back({to, from, {(const char *)from, (const char *)from + bytes}, to_host});
    if (to_host)
        memset(to, 0xcd, bytes);
    else
        memcpy(to, from, bytes);
    return cudaSuccess;
}

inline cudaError_t cudaMallocHost(void **out, size_t bytes) {
    *out = malloc(bytes);
    if (*out == nullptr)
        return cudaErrorMemoryAllocation;
    memset(*out, 0xcd, bytes);
    emulation::pinned.push_back({(const char *)*out, bytes});
    return cudaSuccess;
}

inline cudaError_t cudaFreeHost(void *memory) {
    for (size_t i = 0; i < emulation::pinned.size(); i++)
        if (emulation::pinned[i].first == memory) {
            emulation::pinned.erase(emulation::pinned.begin() + (ptrdiff_t)i);
            break;
        }
    if (memory != nullptr)
        emulation::wait();
    free(memory);
    return cudaSuccess;
}

inline cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t stream) {
    const emulation::open_memory open;
    emulation::enqueue(stream);
    memset(to, byte, bytes);
    return cudaSuccess;
}

inline cudaError_t cudaMemset(void *to, int byte, size_t bytes) {
    return cudaMemsetAsync(to, byte, bytes, nullptr);
}

inline cudaError_t cudaDeviceSynchronize() {
    emulation::wait();
    return cudaSuccess;
}

inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) {
    static char streams;
    *stream = (cudaStream_t)&streams;
    return cudaSuccess;
}

inline cudaError_t cudaStreamSynchronize(cudaStream_t) {
    emulation::wait();
    return cudaSuccess;
}

enum { cudaStreamNonBlocking = 1 };

#endif

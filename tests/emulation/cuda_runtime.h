/* cuda_runtime.h: as much of CUDA as kernels/cuda uses, on the host, so that the kernels' logic is tested without a
 * device: compile the .cu files as C++ with this directory in front.
 *
 * Every CUDA thread is a fiber. They run one at a time, in an order that changes from launch to launch, and switch where
 * threads wait for each other: at warp collectives, __syncthreads and __nanosleep. All blocks of a cooperative launch are
 * alive at once. New memory is filled with rubbish. A collective that not all lanes reach, or that they reach by
 * different calls, ends the program. Not found here: missing fences, races between the points where fibers switch.
 *
 * Copies between pinned memory and the device are under way until the host waits: what comes from the device is not
 * there before, and memory that a copy still reads must not change. Waits are counted. */
#ifndef EMULATION_CUDA_RUNTIME_H
#define EMULATION_CUDA_RUNTIME_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <functional>
#include <utility>
#include <vector>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

#define __device__
#define __global__
#define __launch_bounds__(...)
#define SG_SHARED(type, name) type &name = *reinterpret_cast<type *>(emulation::current->block->shared)

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {
    }
};
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

inline dim3 gridDim;

/* How often the host waited for the device so far. A copy of pageable memory counts, because CUDA may wait for it. */
extern "C" {
__attribute__((weak)) unsigned long sg_emulated_waits = 0;
}

namespace emulation {

enum : unsigned {
    LANES = 32,
    BLOCKS_AT_ONCE = 12,
    SHARED_BYTES = 1 << 14,
    STACK_BYTES = 1 << 16,
    MOST_IDLE = 10000000
};

struct fiber;

/* Where a known number of threads wait for each other. What they bring lies in one of two sets of slots in turn: the
 * first to leave may be at the next meeting before the last has read. */
struct meeting {
    unsigned generation = 0;
    std::vector<fiber *> waiting;
    const char *call = nullptr;
    uint64_t slot[2][LANES] = {};
    unsigned votes[2] = {0, 0}; /* of the lanes; of a block any of them */
};

struct block_state {
    dim3 index;
    meeting all;
    std::vector<meeting> warp;
    alignas(16) char shared[SHARED_BYTES];
};

struct fiber {
    void *context[5];
    ucontext_t start;
    dim3 thread;
    block_state *block;
    const void *stack;
    size_t stack_bytes;
    void *fake_stack;
};

inline fiber *current, home;
inline std::vector<fiber *> &pool = *new std::vector<fiber *>; /* kept for ever */
inline std::vector<fiber *> ring;                              /* of this launch, those that can run */
inline size_t position;                                        /* of the current one */
inline size_t waiting;                                         /* of this launch, in all meetings */
inline unsigned idle, seed = 1, block_threads;
inline const std::function<void()> *body;

[[noreturn]] inline void die(const char *what, const char *where) {
    fprintf(stderr, "emulation: %s (%s)\n", what, where);
    abort();
}

[[noreturn]] __attribute__((noinline)) inline void jump(fiber *to) {
    __builtin_longjmp(to->context, 1);
}

__attribute__((noinline)) inline void switch_to(fiber *to) {
    fiber *const from = current;
    if (from == to)
        return;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->stack_bytes);
#endif
    if (__builtin_setjmp(from->context) == 0) {
        current = to;
        jump(to);
    }
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(current->fake_stack, nullptr, nullptr);
#endif
}

inline void yield() {
    if (++idle > MOST_IDLE)
        die("threads wait for each other for ever", current->block->all.call ? current->block->all.call : "-");
    position = (position + 1) % ring.size();
    switch_to(ring[position]);
}

inline unsigned random_below(unsigned n) {
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}

/* Takes the current fiber out of the ring and lets another one run; none is left after the last of a launch. */
inline void leave() {
    ring[position] = ring.back();
    ring.pop_back();
    if (ring.empty() && waiting > 0)
        die("threads wait for others that have ended or wait elsewhere",
            current->block->all.call ? current->block->all.call : "-");
    position = position < ring.size() ? position : 0;
    switch_to(ring.empty() ? &home : ring[position]);
}

/* What fibers do for ever: a thread of a launch, then the next one's. */
inline void work() {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(nullptr, &home.stack, &home.stack_bytes);
#endif
    switch_to(&home);
    for (;;) {
        (*body)();
        idle = 0;
        leave();
    }
}

inline fiber *new_fiber() {
    fiber *f = new fiber();
    void *stack = mmap(nullptr, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED)
        die("no memory", "stack of a thread");
    f->stack = stack;
    f->stack_bytes = STACK_BYTES;
    getcontext(&f->start);
    f->start.uc_stack.ss_sp = stack;
    f->start.uc_stack.ss_size = STACK_BYTES;
    makecontext(&f->start, work, 0);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&home.fake_stack, f->stack, f->stack_bytes);
#endif
    if (__builtin_setjmp(home.context) == 0) {
        current = f;
        setcontext(&f->start);
    }
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(home.fake_stack, nullptr, nullptr);
#endif
    return f;
}

inline void run_blocks(unsigned first, unsigned count) {
    std::vector<block_state> blocks(count);
    const size_t threads = (size_t)count * block_threads;
    while (pool.size() < threads)
        pool.push_back(new_fiber());
    for (unsigned b = 0; b < count; b++) {
        blocks[b].index = dim3(first + b);
        blocks[b].warp.resize(block_threads / LANES);
        memset(blocks[b].shared, 0xa5, SHARED_BYTES);
    }
    for (size_t t = 0; t < threads; t++) {
        pool[t]->thread = dim3((unsigned)(t % block_threads));
        pool[t]->block = &blocks[t / block_threads];
        ring.push_back(pool[t]);
        std::swap(ring[random_below((unsigned)t + 1)], ring[t]);
    }
    position = 0;
    current = &home;
    switch_to(ring[0]);
}

inline void launch(dim3 blocks, dim3 threads, bool cooperative, const std::function<void()> &call) {
    body = &call;
    gridDim = blocks;
    block_threads = threads.x;
    const char *limit = getenv("SG_CUDA_BLOCKS");
    const bool limited = limit != nullptr && *limit != 0;
    if (cooperative && (blocks.x > BLOCKS_AT_ONCE || (limited && blocks.x > strtoul(limit, nullptr, 10))))
        die("too many blocks for a cooperative launch", "launch");
    for (unsigned b = 0; b < blocks.x; b += BLOCKS_AT_ONCE)
        run_blocks(b, blocks.x - b < BLOCKS_AT_ONCE ? blocks.x - b : (unsigned)BLOCKS_AT_ONCE);
    body = nullptr;
}

/* Wait until `count` threads are here. Returns which set of slots they used. */
inline unsigned meet(meeting &m, unsigned count, const char *call) {
    const unsigned now = m.generation;
    if (m.waiting.empty())
        m.call = call;
    else if (m.call != call)
        die("threads meet in different calls", call);
    if (m.waiting.size() + 1 == count) {
        m.generation++;
        m.votes[m.generation & 1] = 0;
        idle = 0;
        ring.insert(ring.end(), m.waiting.begin(), m.waiting.end());
        waiting -= m.waiting.size();
        m.waiting.clear();
    } else {
        m.waiting.push_back(current);
        waiting++;
        leave();
    }
    return now & 1;
}

inline unsigned lane() {
    return current->thread.x % LANES;
}

/* Every lane's x. */
template <typename T> inline const uint64_t *exchange(T x, const char *call) {
    meeting &m = current->block->warp[current->thread.x / LANES];
    uint64_t bits = 0;
    memcpy(&bits, &x, sizeof x);
    m.slot[m.generation & 1][lane()] = bits;
    return m.slot[meet(m, LANES, call)];
}

/* A bit for each lane. */
inline unsigned vote(bool x, const char *call) {
    meeting &m = current->block->warp[current->thread.x / LANES];
    m.votes[m.generation & 1] |= (unsigned)x << lane();
    return m.votes[meet(m, LANES, call)];
}

template <typename T> inline T from_slot(uint64_t bits) {
    T x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

} // namespace emulation

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
    *device = 0;
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
    *out = (T *)aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (*out != nullptr)
        memset((void *)*out, 0xcd, bytes);
    return *out != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}

namespace emulation {

/* A copy between pinned memory and the device, with the bytes that it carries. */
struct copy {
    void *to;
    const void *from;
    std::vector<char> bytes;
    bool to_host;
};
inline std::vector<copy> &copies = *new std::vector<copy>;
inline std::vector<std::pair<const char *, size_t>> &pinned = *new std::vector<std::pair<const char *, size_t>>;

inline bool is_pinned(const void *memory, size_t bytes) {
    for (const auto &range : pinned)
        if ((const char *)memory >= range.first && (const char *)memory + bytes <= range.first + range.second)
            return true;
    return false;
}

inline void wait() {
    sg_emulated_waits++;
    for (const copy &c : copies)
        if (c.to_host)
            memcpy(c.to, c.bytes.data(), c.bytes.size());
        else if (memcmp(c.from, c.bytes.data(), c.bytes.size()) != 0)
            die("memory changed while it was copied to the device", "cudaMemcpyAsync");
    copies.clear();
}

} // namespace emulation

inline cudaError_t cudaFree(void *memory) {
    if (memory != nullptr)
        emulation::wait();
    free(memory);
    return cudaSuccess;
}

inline cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind) {
    emulation::wait();
    if (bytes > 0)
        memcpy(to, from, bytes);
    return cudaSuccess;
}

inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
    const bool to_host = kind == cudaMemcpyDeviceToHost;
    if (!emulation::is_pinned(to_host ? to : from, bytes))
        return cudaMemcpy(to, from, bytes, kind);
    emulation::copies.push_back({to, from, {(const char *)from, (const char *)from + bytes}, to_host});
    if (to_host)
        memset(to, 0xcd, bytes);
    else
        memcpy(to, from, bytes);
    return cudaSuccess;
}

inline cudaError_t cudaMallocHost(void **out, size_t bytes) {
    const cudaError_t error = cudaMalloc(out, bytes);
    if (error == cudaSuccess)
        emulation::pinned.push_back({(const char *)*out, bytes});
    return error;
}

inline cudaError_t cudaFreeHost(void *memory) {
    for (size_t i = 0; i < emulation::pinned.size(); i++)
        if (emulation::pinned[i].first == memory) {
            emulation::pinned.erase(emulation::pinned.begin() + (ptrdiff_t)i);
            break;
        }
    return cudaFree(memory);
}

inline cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t) {
    memset(to, byte, bytes);
    return cudaSuccess;
}

inline cudaError_t cudaMemset(void *to, int byte, size_t bytes) {
    memset(to, byte, bytes);
    return cudaSuccess;
}

inline cudaError_t cudaDeviceSynchronize() {
    emulation::wait();
    return cudaSuccess;
}

inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) {
    *stream = nullptr;
    return cudaSuccess;
}

inline cudaError_t cudaStreamSynchronize(cudaStream_t) {
    emulation::wait();
    return cudaSuccess;
}

enum { cudaStreamNonBlocking = 1 };

#endif

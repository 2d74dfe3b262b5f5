/* cuda_device.cuh: what the kernels share: how a vector is cut, what they keep on the device, warps, the grid's
 * barrier.
 *
 * The flat vector is cut into as many even ranges as the grid has warps, and these again at the layers' bounds: pieces.
 * A warp streams its pieces from begin to end and appends what it finds to the list at the same place in the workspace,
 * so nobody waits for anybody until the whole pass is done. Counts then give each piece its place in the output.
 *
 * Only plain CUDA C++ that tests/emulation/cuda_runtime.h understands, so that tests run without a device. */
/* SPDX-License-Identifier: MIT */
#ifndef CUDA_DEVICE_CUH
#define CUDA_DEVICE_CUH

#include <cuda_runtime.h>

#include <initializer_list>

#include "sg_cuda.h"
#include "sg_debug.h"

#ifndef SG_CUDA_THREADS
#define SG_CUDA_THREADS 512
#endif
#ifndef SG_SHARED /* at most one in a kernel */
#define SG_SHARED(type, name) __shared__ type name
#endif

constexpr uint32_t THREADS = SG_CUDA_THREADS, WARP = 32, WARPS = THREADS / WARP;
constexpr uint32_t BLOCKS_PER_SM = 2; /* at least: leaves 64 registers a thread, enough for its eight loads */
constexpr uint32_t ALL_LANES = 0xffffffff, NONE = 0xffffffff;
constexpr uint32_t ROWS = 4, ROW = 4 * WARP, STEP = ROWS * ROW,
                   ITEMS = 4 * ROWS; /* a lane takes 4 neighbours of a row */
constexpr uint32_t INF_BITS = 0x7f800000, BINS = 1 << 11;
constexpr uint32_t FIT = 32 * THREADS; /* candidates of a layer that one block orders sooner than the grid does */

struct cuda_span {
    uint32_t begin, end, layer;
};

/* What sum_in_order shares in a block: terms that are added, and those that are computed meanwhile. */
struct terms {
    double of[2][THREADS - WARP];
};

/* Of Top-k. Between calls `have`, `arrived` and the histogram are 0. */
struct layer_state {
    uint32_t have;    /* candidates that reach the guess */
    uint32_t again;   /* candidates of the second pass, if there is one: this many, or a few less */
    uint32_t arrived; /* blocks whose counts are in the histogram */
    uint32_t prefix;  /* leading bits of the k-th magnitude, as far as they are known */
    uint32_t rank;    /* its rank among the magnitudes that start so */
};

struct control {
    uint32_t arrived;   /* at the grid's barrier: see grid_sync */
    uint32_t bad_layer; /* the first layer that is not finite; NONE between calls */
    uint32_t done;      /* blocks that have ordered their layers; 0 between calls */
};

/* The device's part of the workspace. */
struct view {
    uint32_t n, n_layers;
    const struct cuda_span *piece;
    const uint32_t *warp_piece;   /* [warps + 1] first piece of each warp of the grid */
    const uint32_t *layer_block;  /* [n_layers] first block with a piece of it */
    const uint32_t *layer_blocks; /* [n_layers] how many blocks have one */
    const uint32_t *layer_size;   /* [n_layers] */
    const uint32_t *layer_piece;  /* [n_layers + 1] first piece of each */
    struct layer_state *layer;
    uint32_t *histogram;   /* [n_layers][BINS] */
    uint32_t *list_index;  /* [n] */
    float *list_value;     /* [n] */
    uint32_t *found;       /* [pieces] length of each piece's list */
    uint64_t *split;       /* [pieces] Top-k: of the list, above the k-th magnitude << 32 | equal to it */
    uint64_t *head, *tail; /* [blocks] sums of a block's pieces: all; or those of its first and of its last layer */
    double *part;          /* [n / SG_KERNEL_BLOCK + 1] sums of squares; below 0 between calls */
    uint32_t *order_index; /* [blocks][FIT] candidates of the layer that a block orders alone */
    float *order_value;    /* [blocks][FIT] */
    struct control *control;
};

struct sg_cuda {
    struct view v;
    uint32_t blocks;
    int number; /* of the device */
    void *memory;
};

typedef struct sg_cuda_select pass; /* a call's arguments */

struct shared {
    uint32_t histogram[BINS];
    uint64_t warp[WARPS]; /* what each warp has; [0] also what earlier blocks have */
};

/* ---- warps ---- */

__device__ inline uint32_t lane() {
    return threadIdx.x % WARP;
}

__device__ inline uint32_t warp() {
    return threadIdx.x / WARP;
}

__device__ inline uint32_t lanes_below() {
    return (1U << lane()) - 1;
}

__device__ inline uint32_t magnitude(float x) {
    return __float_as_uint(x) & 0x7fffffff;
}

/* x[begin] + ... + x[end - 1], known to every lane. */
template <typename T> __device__ inline uint64_t warp_sum(const T *x, uint32_t begin, uint32_t end) {
    uint64_t sum = 0;
    for (uint32_t i = begin + lane(); i < end; i += WARP)
        sum += x[i];
    for (uint32_t half = WARP / 2; half > 0; half /= 2)
        sum += __shfl_xor_sync(ALL_LANES, sum, half);
    return sum;
}

/* One warp: the sum of the integers x over the lanes below this one, and over all lanes. */
template <typename T> __device__ inline T lanes_before(T x, T *all) {
    T sum = x;
    for (uint32_t step = 1; step < WARP; step *= 2) {
        const T other = __shfl_sync(ALL_LANES, sum, (lane() - step) % WARP);
        sum += lane() >= step ? other : 0;
    }
    *all = __shfl_sync(ALL_LANES, sum, WARP - 1);
    return sum - x;
}

/* ---- this block's and this warp's pieces ---- */

__device__ inline uint32_t block_begin(const view &v) {
    return v.warp_piece[blockIdx.x * WARPS];
}

__device__ inline uint32_t block_end(const view &v) {
    return v.warp_piece[(blockIdx.x + 1) * WARPS];
}

__device__ inline uint32_t warp_begin(const view &v) {
    return v.warp_piece[blockIdx.x * WARPS + warp()];
}

__device__ inline uint32_t warp_end(const view &v) {
    return v.warp_piece[blockIdx.x * WARPS + warp() + 1];
}

/* The sum over 16 lanes, in the order of sg_kernels.h: halves are added onto each other. The first of them has it. */
__device__ inline double add_lanes(double sum) {
    for (uint32_t half = SG_KERNEL_LANES / 2; half > 0; half /= 2)
        sum = __dadd_rn(sum, __shfl_down_sync(ALL_LANES, sum, half, SG_KERNEL_LANES));
    return sum;
}

/* ---- a block ---- */

/* term(0) + term(1) + ... + term(count - 1) in this order; thread 0 gets it. The first warp adds while the others
 * compute what comes next, so nothing but the additions waits. */
template <typename Term> __device__ inline double sum_in_order(terms &t, uint64_t count, const Term &term) {
    constexpr uint32_t EACH = THREADS - WARP;
    double sum = 0;
    uint32_t turn = 0;
    for (uint64_t at = 0; at < count + EACH; at += EACH) {
        const uint64_t mine = at + threadIdx.x - WARP;
        if (warp() > 0)
            t.of[turn][threadIdx.x - WARP] = mine < count ? term(mine) : 0;
        turn ^= 1;
        if (threadIdx.x == 0 && at > 0)
#pragma unroll 32
            for (uint32_t j = 0; j < EACH; j++) /* + 0 behind the end changes nothing: the sum is never -0 */
                sum = __dadd_rn(sum, t.of[turn][j]);
        __syncthreads();
    }
    return sum;
}

/* ---- the grid ---- */

#ifdef __CUDACC__ /* the emulation has its own */
/* *to += x. Returns the old value. The whole device sees the caller's writes before the addition, and the caller sees
 * those of all that added before. */
__device__ inline uint32_t add_ordered(uint32_t *to, uint32_t x) {
    uint32_t old;
    asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], %2;" : "=r"(old) : "l"(to), "r"(x) : "memory");
    return old;
}

/* The caller sees the writes before the additions that made the value. */
__device__ inline uint32_t load_ordered(const uint32_t *from) {
    uint32_t x;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(x) : "l"(from) : "memory");
    return x;
}
#endif

/* Waits for all blocks, which are on the device at once (cooperative launch). What any thread wrote before, all threads
 * see after.
 *
 * Together the blocks add 2^31, since the first one adds what the others leave. So the top bit turns over with the last
 * arrival, and the other bits are 0 again. The writes of a block come before its thread 0 adds, by __syncthreads.
 * Whoever reads the turned bit sees what came before each addition, and hands that on to its block by __syncthreads. A
 * kernel that dies in between leaves other bits set, but the context and the workspace in it die too. */
__device__ inline void grid_sync(const view &v) {
    constexpr uint32_t TURN = 1U << 31;
    __syncthreads();
    if (threadIdx.x == 0) {
        const uint32_t before = add_ordered(&v.control->arrived, blockIdx.x == 0 ? TURN - (gridDim.x - 1) : 1);
        while (((load_ordered(&v.control->arrived) ^ before) & TURN) == 0)
            __nanosleep(32);
    }
    __syncthreads();
}

/* One thread, after a grid_sync behind the pass. */
__device__ inline void report_status(const view &v, const pass &a) {
    const uint32_t bad = v.control->bad_layer;
    a.result->status = bad == NONE ? SG_KERNEL_OK : SG_KERNEL_NONFINITE;
    a.result->layer = bad == NONE ? 0 : bad;
    v.control->bad_layer = NONE;
}

/* ---- host side ---- */

static inline int device_status(cudaError_t error) {
    return error == cudaSuccess                 ? SG_KERNEL_OK
           : error == cudaErrorMemoryAllocation ? SG_KERNEL_MEMORY
                                                : SG_KERNEL_DEVICE;
}

/* Keeps arguments from deciding the types of a kernel's parameters: they are converted. */
template <typename T> struct converted { typedef T to; };

template <typename... Args>
static int launch(uint32_t blocks, bool cooperative, void *stream, void (*kernel)(Args...),
                  typename converted<Args>::to... args) {
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = cooperative;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(THREADS);
    config.stream = (cudaStream_t)stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    return device_status(cudaLaunchKernelEx(&config, kernel, args...));
}

/* Blocks of every kernel that use grid_sync which one multiprocessor holds at once; 0 after an error. */
int select_kernels_blocks(void);
int topk_kernels_blocks(void);
int sums_kernels_blocks(void);

template <typename Kernel> static int blocks_of(Kernel *kernel) {
    int blocks = 0;
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, (int)THREADS, 0) == cudaSuccess ? blocks : 0;
}

static inline int least_of(std::initializer_list<int> blocks) {
    int least = *blocks.begin();
    for (int b : blocks)
        least = b < least ? b : least;
    return least;
}

/* Returns whether the workspace's device is the thread's current one, and the vectors, where NULL is left out, lie in
 * its memory at multiples of `alignment` bytes. If not, sg_cuda_last_error says what is wrong. */
bool cuda_may_launch(const sg_cuda *c, size_t alignment, std::initializer_list<const void *> vector);

/* A cooperative launch of the workspace's grid. */
template <typename... Args>
static int launch_select(const sg_cuda *c, void *stream, const pass *a, void (*kernel)(view, pass, Args...),
                         typename converted<Args>::to... args) {
    return cuda_may_launch(c, sizeof(float4), {a->g, a->e, a->index, a->value})
               ? launch<view, pass, Args...>(c->blocks, true, stream, kernel, c->v, *a, args...)
               : (int)SG_KERNEL_DEVICE;
}

/* Blocks of a pass in which every thread may take several of n elements. */
static inline uint32_t pass_blocks(size_t n) {
    constexpr size_t MOST = 2048;
    const size_t wanted = n / (THREADS * 4) + 1;
    return (uint32_t)(wanted < MOST ? wanted : MOST);
}

/* A thread's elements of such a pass: the first, and how far the next is away. */
__device__ inline uint64_t first_place() {
    return (uint64_t)blockIdx.x * THREADS + threadIdx.x;
}

__device__ inline uint64_t stride() {
    return (uint64_t)gridDim.x * THREADS;
}

#endif

/* cuda_workspace.cu: what is allocated and cut once, before the steady state. */
/* SPDX-License-Identifier: MIT */
#include "cuda_device.cuh"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static thread_local cudaError_t last_error = cudaSuccess;
static thread_local char refusal[160]; /* what was wrong with the arguments of the last call; "" = nothing */

const char *sg_cuda_last_error(void) {
    const cudaError_t pending = cudaGetLastError();
    return pending == cudaSuccess && refusal[0] ? refusal
                                                : cudaGetErrorString(pending != cudaSuccess ? pending : last_error);
}

static bool refuse(const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(refusal, sizeof refusal, format, args);
    va_end(args);
    return false;
}

bool cuda_may_launch(const sg_cuda *c, size_t alignment, std::initializer_list<const void *> vector) {
    int current = -1;
    refusal[0] = 0;
    last_error = cudaGetDevice(&current);
    if (last_error != cudaSuccess)
        return false;
    if (current != c->number)
        return refuse("the thread's current device is %d: set device %d, where the workspace is", current, c->number);
    for (const void *x : vector) {
        struct cudaPointerAttributes is = {};
        if (!x || c->v.n == 0)
            continue;
        last_error = cudaPointerGetAttributes(&is, x);
        if (last_error != cudaSuccess)
            return false;
        if (is.type != cudaMemoryTypeDevice && is.type != cudaMemoryTypeManaged)
            return refuse("the vector at %p is not in the memory of a device: it must be on device %d", x, c->number);
        if (is.type == cudaMemoryTypeDevice && is.device != c->number)
            return refuse("the vector at %p is on device %d: it must be on device %d, where the workspace is", x,
                          is.device, c->number);
        if ((uintptr_t)x % alignment != 0)
            return refuse("the vector at %p must start at a multiple of %zu bytes", x, alignment);
    }
    return true;
}

/* The most blocks that a launch may have whose blocks wait for each other: UINT32_MAX = no limit, 0 = a limit that is
 * not a number. */
static uint32_t block_limit() {
    const char *text = getenv("SG_CUDA_BLOCKS");
    uint64_t limit = 0;
    if (!text || *text == 0)
        return UINT32_MAX;
    for (; *text >= '0' && *text <= '9' && limit < UINT32_MAX; text++)
        limit = 10 * limit + (uint64_t)(*text - '0');
    return *text == 0 && limit < UINT32_MAX ? (uint32_t)limit : 0;
}

bool sg_cuda_available(char *why, size_t room) {
    int count = 0, device = 0, major = 0, cooperative = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess && count > 0)
        error = cudaGetDevice(&device);
    if (error == cudaSuccess && count > 0)
        error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    if (error == cudaSuccess && count > 0)
        error = cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, device);
    if (error != cudaSuccess)
        snprintf(why, room, "no usable CUDA device (%s): needs an NVIDIA GPU and its driver",
                 cudaGetErrorString(error));
    else if (count == 0)
        snprintf(why, room, "no CUDA device: needs an NVIDIA GPU, and CUDA_VISIBLE_DEVICES must not hide it");
    else if (major < 8 || !cooperative)
        snprintf(why, room, "device %d has compute capability %d.x: needs 8.0 or newer", device, major);
    else if (block_limit() == 0)
        snprintf(why, room, "SG_CUDA_BLOCKS=%s: must be a number of blocks, 1 or more", getenv("SG_CUDA_BLOCKS"));
    else
        return true;
    (void)cudaGetLastError(); /* asked and answered: not the next call's error */
    return false;
}

/* ---- cutting -------------------------------------------------------------------------------------------------- */

/* Blocks of the grid: all that the device holds at once, but no more than have a step for every warp, and no more than
 * the caller and the environment allow. 0 = an error. */
static uint32_t choose_blocks(int *device, size_t n, uint32_t most_blocks) {
    int processors = 0;
    last_error = cudaGetDevice(device);
    if (last_error == cudaSuccess)
        last_error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, *device);
    const int least = least_of({select_kernels_blocks(), topk_kernels_blocks(), sums_kernels_blocks()});
    const size_t fit = (size_t)least * (size_t)processors, allowed = fit < block_limit() ? fit : block_limit();
    const size_t most = most_blocks > 0 && most_blocks < allowed ? most_blocks : allowed;
    const size_t wanted = n / (STEP * WARPS) + 1;
    return (uint32_t)(wanted < most ? wanted : most);
}

/* The tables of struct view on the host. */
struct tables {
    struct cuda_span *piece;
    uint32_t *warp_piece, *layer_block, *layer_blocks, *layer_size, *layer_piece;
    uint32_t n_pieces;
};

/* Even ranges that start at whole rows, cut where layers end. */
static void cut_pieces(struct tables *t, uint32_t warps, size_t n_layers, const size_t *offset) {
    const size_t n = offset[n_layers];
    size_t l = 0;
    for (uint32_t w = 0; w < warps; w++) {
        const size_t end = w + 1 < warps ? n * (w + 1) / warps / ROW * ROW : n;
        t->warp_piece[w] = t->n_pieces;
        for (size_t at = n * w / warps / ROW * ROW; at < end;) {
            while (offset[l + 1] <= at)
                l++;
            const size_t stop = offset[l + 1] < end ? offset[l + 1] : end;
            if (t->layer_blocks[l] == 0)
                t->layer_block[l] = w / WARPS;
            t->layer_blocks[l] = w / WARPS - t->layer_block[l] + 1;
            t->piece[t->n_pieces++] = {(uint32_t)at, (uint32_t)stop, (uint32_t)l};
            t->layer_piece[l + 1]++;
            at = stop;
        }
    }
    SG_ASSERT(t->n_pieces == 0 || t->piece[t->n_pieces - 1].end == n);
    t->warp_piece[warps] = t->n_pieces;
    for (l = 0; l < n_layers; l++) {
        t->layer_size[l] = (uint32_t)(offset[l + 1] - offset[l]);
        t->layer_piece[l + 1] += t->layer_piece[l];
    }
}

/* ---- memory --------------------------------------------------------------------------------------------------- */

/* Parts of one allocation; with base NULL only their sizes are added up. */
struct slab {
    char *base;
    size_t used;
};

template <typename T> static void take(struct slab *s, T **out, size_t count) {
    constexpr size_t ALIGNMENT = 256;
    *out = (T *)(s->base + s->used);
    s->used += (count * sizeof(T) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

struct device_tables {
    struct cuda_span *piece;
    uint32_t *warp_piece, *layer_block, *layer_blocks, *layer_size, *layer_piece;
};

static void lay_out(struct slab *s, struct view *v, struct device_tables *d, uint32_t blocks, uint32_t pieces) {
    const size_t layers = v->n_layers + (size_t)1; /* + 1: never empty */
    take(s, &d->piece, pieces + (size_t)1);
    take(s, &d->warp_piece, blocks * WARPS + 1);
    take(s, &d->layer_block, layers);
    take(s, &d->layer_blocks, layers);
    take(s, &d->layer_size, layers);
    take(s, &d->layer_piece, layers);
    take(s, &v->control, 1);
    take(s, &v->layer, layers);
    take(s, &v->histogram, layers * BINS);
    take(s, &v->found, pieces + (size_t)1);
    take(s, &v->split, pieces + (size_t)1);
    take(s, &v->head, blocks);
    take(s, &v->tail, blocks);
    take(s, &v->part, (size_t)v->n / SG_KERNEL_BLOCK + 1);
    take(s, &v->list_index, v->n);
    take(s, &v->list_value, v->n);
    take(s, &v->order_index, (size_t)blocks * FIT);
    take(s, &v->order_value, (size_t)blocks * FIT);
}

template <typename T> static void upload(T *to, const T *from, size_t count) {
    if (last_error == cudaSuccess && count > 0)
        last_error = cudaMemcpy(to, from, count * sizeof *to, cudaMemcpyHostToDevice);
}

/* Everything but the lists starts as 0, bad_layer as NONE, and parts as a number below 0. */
static int fill_workspace(sg_cuda *c, const struct tables *t) {
    struct slab s = {NULL, 0};
    struct device_tables d;
    lay_out(&s, &c->v, &d, c->blocks, t->n_pieces);
    last_error = cudaMalloc(&c->memory, s.used);
    if (last_error != cudaSuccess)
        return device_status(last_error);
    s = {(char *)c->memory, 0};
    lay_out(&s, &c->v, &d, c->blocks, t->n_pieces);
    const struct control start = {0, NONE, 0};
    last_error = cudaMemset(c->memory, 0, (size_t)((char *)c->v.part - (char *)c->memory));
    if (last_error == cudaSuccess)
        last_error = cudaMemset(c->v.part, 0xc0, (size_t)((char *)c->v.list_index - (char *)c->v.part));
    upload(c->v.control, &start, 1);
    upload(d.piece, t->piece, t->n_pieces);
    upload(d.warp_piece, t->warp_piece, c->blocks * WARPS + 1);
    upload(d.layer_block, t->layer_block, c->v.n_layers);
    upload(d.layer_blocks, t->layer_blocks, c->v.n_layers);
    upload(d.layer_size, t->layer_size, c->v.n_layers);
    upload(d.layer_piece, t->layer_piece, c->v.n_layers + (size_t)1);
    if (last_error == cudaSuccess)
        last_error = cudaDeviceSynchronize(); /* the caller's stream may not wait for the default one */
    c->v.piece = d.piece;
    c->v.warp_piece = d.warp_piece;
    c->v.layer_block = d.layer_block;
    c->v.layer_blocks = d.layer_blocks;
    c->v.layer_size = d.layer_size;
    c->v.layer_piece = d.layer_piece;
    return device_status(last_error);
}

int sg_cuda_open(sg_cuda **out, size_t n_layers, const size_t *offset, uint32_t most_blocks) {
    const size_t n = offset[n_layers];
    int status = SG_KERNEL_MEMORY;
    *out = NULL;
    refusal[0] = 0;
    if (n > UINT32_MAX - (1U << 16) || n_layers >= NONE)
        return SG_KERNEL_MEMORY;
    struct tables t = {};
    sg_cuda *c = (sg_cuda *)calloc(1, sizeof *c);
    if (!c)
        return SG_KERNEL_MEMORY;
    c->v.n = (uint32_t)n;
    c->v.n_layers = (uint32_t)n_layers;
    c->blocks = choose_blocks(&c->number, n, most_blocks);
    const uint32_t warps = c->blocks * WARPS;
    if (c->blocks == 0) {
        status = SG_KERNEL_DEVICE;
        goto out;
    }
    t.piece = (struct cuda_span *)malloc((warps + n_layers) * sizeof *t.piece);
    t.warp_piece = (uint32_t *)malloc((warps + (size_t)1) * sizeof *t.warp_piece);
    t.layer_block = (uint32_t *)calloc(4 * (n_layers + 1), sizeof *t.layer_block);
    if (!t.piece || !t.warp_piece || !t.layer_block)
        goto out;
    t.layer_blocks = t.layer_block + n_layers;
    t.layer_size = t.layer_blocks + n_layers;
    t.layer_piece = t.layer_size + n_layers;
    cut_pieces(&t, warps, n_layers, offset);
    status = fill_workspace(c, &t);
out:
    free(t.piece);
    free(t.warp_piece);
    free(t.layer_block);
    if (status == SG_KERNEL_OK)
        *out = c;
    else
        sg_cuda_close(c);
    return status;
}

void sg_cuda_close(sg_cuda *c) {
    if (!c)
        return;
    cudaFree(c->memory);
    free(c);
}

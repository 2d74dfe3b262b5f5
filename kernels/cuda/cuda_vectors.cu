/* cuda_vectors.cu: plain passes over vectors, with the bits of kernels/cpu/cpu_vectors.c and kernels/cpu/cpu_update.c:
 * each operation rounded, nothing contracted. */
/* SPDX-License-Identifier: MIT */
#include "cuda_codes.cuh"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_philox.h"

/* ---- measures ------------------------------------------------------------------------------------------------- */

__global__ void max_abs_kernel(const float *x, uint64_t n, uint32_t *most) {
    uint32_t mine = 0;
    for (uint64_t i = first_place(); i < n; i += stride())
        mine = magnitude(x[i]) > mine ? magnitude(x[i]) : mine;
    for (uint32_t half = WARP / 2; half > 0; half /= 2) {
        const uint32_t theirs = __shfl_xor_sync(ALL_LANES, mine, half);
        mine = theirs > mine ? theirs : mine;
    }
    if (lane() == 0)
        atomicMax(most, mine);
}

float cuda_max_abs(const struct sg_exec *exec, const float *x, size_t n) {
    float most = NAN;
    uint32_t *there = (uint32_t *)table_room(exec, sizeof most);
    if (!there)
        return most;
    table_zero(exec, there, sizeof *there);
    (void)enqueue(exec, pass_blocks(n), max_abs_kernel, x, n, there);
    (void)table_get(exec, &most, there, sizeof most); /* it stays NaN after a failure */
    return most;
}

/* One block, because the order of the additions is stated. */
__global__ void dot_shifted_kernel(struct sg_entries m, const float *x, double weight, double *out) {
    SG_SHARED(terms, sh);
    const double sum = sum_in_order(sh, m.count, [&](uint64_t j) {
        const double v = m.value[j];
        return __dmul_rn(v, __dadd_rn(v, __dmul_rn(weight, x[m.index ? m.index[j] : j])));
    });
    if (threadIdx.x == 0)
        *out = sum;
}

double cuda_dot_shifted(const struct sg_exec *exec, const struct sg_entries *message, const float *x, double weight) {
    double sum = NAN, *there = (double *)table_room(exec, sizeof sum);
    if (!there)
        return sum;
    (void)enqueue(exec, 1, dot_shifted_kernel, *message, x, weight, there);
    (void)table_get(exec, &sum, there, sizeof sum);
    return sum;
}

/* ---- element by element --------------------------------------------------------------------------------------- */

__global__ void running_mean_kernel(float *mean, const float *x, uint64_t n, double weight) {
    for (uint64_t i = first_place(); i < n; i += stride()) {
        const double old = mean[i];
        mean[i] = __double2float_rn(__dadd_rn(old, __dmul_rn(__dadd_rn(x[i], -old), weight)));
    }
}

void cuda_running_mean(const struct sg_exec *exec, float *mean, const float *x, size_t n, double weight) {
    (void)enqueue(exec, pass_blocks(n), running_mean_kernel, mean, x, n, weight);
}

__global__ void mix_kernel(float *to, float a, const float *x, float b, const float *y, uint64_t n) {
    for (uint64_t i = first_place(); i < n; i += stride())
        to[i] = __fadd_rn(__fmul_rn(a, x[i]), __fmul_rn(b, y[i]));
}

void cuda_mix(const struct sg_exec *exec, float *to, float a, const float *x, float b, const float *y, size_t n) {
    (void)enqueue(exec, pass_blocks(n), mix_kernel, to, a, x, b, y, n);
}

__global__ void add_quotient_kernel(float *x, const float *y, float divisor, uint64_t n) {
    for (uint64_t i = first_place(); i < n; i += stride())
        x[i] = __fadd_rn(x[i], __fdiv_rn(y[i], divisor));
}

void cuda_add_quotient(const struct sg_exec *exec, float *x, const float *y, float divisor, size_t n) {
    (void)enqueue(exec, pass_blocks(n), add_quotient_kernel, x, y, divisor, n);
}

void cuda_copy(const struct sg_exec *exec, float *to, const float *x, size_t n) {
    sg_cuda_device *d = device_of(exec);
    if (n > 0 && ready(d))
        check(d, cudaMemcpyAsync(to, x, n * sizeof *to, cudaMemcpyDeviceToDevice, d->stream));
}

/* Indices differ, so no two threads write the same x[index[j]]. */
__global__ void zero_at_kernel(float *x, const uint32_t *index, uint64_t count) {
    for (uint64_t j = first_place(); j < count; j += stride())
        x[index[j]] = 0;
}

void cuda_zero_at(const struct sg_exec *exec, float *x, const uint32_t *index, size_t count) {
    (void)enqueue(exec, pass_blocks(count), zero_at_kernel, x, index, count);
}

/* Indices differ, so no two threads write the same dense[index[j]]. */
__global__ void scatter_add_kernel(float *dense, const uint32_t *index, const float *value, uint64_t count) {
    for (uint64_t j = first_place(); j < count; j += stride()) {
        float *sum = &dense[index ? index[j] : j];
        *sum = __fadd_rn(*sum, value[j]);
    }
}

void cuda_scatter_add(const struct sg_exec *exec, float *dense, const uint32_t *index, const float *value,
                      size_t count) {
    (void)enqueue(exec, pass_blocks(count), scatter_add_kernel, dense, index, value, count);
}

/* struct sg_strided in 32 bits, which divide faster; first: number of its first element among those of all tensors. */
struct strided {
    float *to;
    const float *from;
    uint32_t first, shape[SG_STRIDED_RANK], stride[SG_STRIDED_RANK];
};

__global__ void add_strided_kernel(const strided *part, uint32_t parts, uint32_t n) {
    for (uint64_t i = first_place(); i < n; i += stride()) {
        const strided &p = part[last_at_most(parts, i, [=](uint32_t j) { return part[j].first; })];
        uint32_t left = (uint32_t)i - p.first;
        float *to = p.to + left;
        const float *from = p.from;
        for (uint32_t r = SG_STRIDED_RANK; r-- > 0; left /= p.shape[r])
            from += (size_t)(left % p.shape[r]) * p.stride[r];
        *to = __fadd_rn(*to, *from);
    }
}

void cuda_add_strided(const struct sg_exec *exec, const struct sg_strided *part, size_t n) {
    struct strided *all = (struct strided *)calloc(n + 1, sizeof *all);
    char *there = all ? table_room(exec, n * sizeof *all) : NULL;
    uint64_t count = 0;
    if (!all)
        check(device_of(exec), cudaErrorMemoryAllocation);
    for (size_t i = 0; there && i < n; i++) {
        uint64_t size = 1;
        all[i].to = part[i].to;
        all[i].from = part[i].from;
        all[i].first = (uint32_t)count;
        for (size_t r = 0; r < SG_STRIDED_RANK; r++) {
            all[i].shape[r] = (uint32_t)part[i].shape[r];
            all[i].stride[r] = (uint32_t)part[i].stride[r];
            size *= part[i].shape[r];
        }
        count += size;
    }
    SG_ASSERT(count <= UINT32_MAX);
    if (there && count > 0) {
        table_put(exec, there, all, n * sizeof *all);
        (void)enqueue(exec, pass_blocks(count), add_strided_kernel, (const strided *)there, (uint32_t)n,
                      (uint32_t)count);
    }
    free(all);
}

/* A thread computes a block of four numbers of the stream and writes the elements of one run that use them. Other runs
 * may also use numbers of a run's first and last block. A run overlaps at most `blocks` blocks. */
__global__ void keep_mask_kernel(float *mask, uint64_t n, struct sg_draws d, uint64_t runs, uint64_t blocks,
                                 uint32_t least, float kept) {
    for (uint64_t i = first_place(); i < runs * blocks; i += stride()) {
        const uint64_t run = i / blocks, begin = run * d.run, from = d.first + run * d.stride;
        const uint64_t length = n - begin < d.run ? n - begin : d.run, block = from / 4 + i % blocks;
        uint32_t draw[4] = {(uint32_t)block, d.counter[1], d.counter[2], d.counter[3]};
        sg_philox(&draw[0], &draw[1], &draw[2], &draw[3], d.key[0], d.key[1]);
        float value[4];
        for (uint32_t j = 0; j < 4; j++)
            value[j] = draw[j] < least ? 0 : kept;
        const uint64_t at = 4 * block - from; /* in the run; it wraps where the block begins before the run */
        float *out = mask + begin;
        if (at < length && length - at >= 4 && (uintptr_t)(out + at) % sizeof(float4) == 0) {
            *(float4 *)(out + at) = make_float4(value[0], value[1], value[2], value[3]);
            continue;
        }
        for (uint32_t j = 0; j < 4; j++)
            if (at + j < length)
                out[at + j] = value[j];
    }
}

void cuda_keep_mask(const struct sg_exec *exec, float *mask, size_t n, const struct sg_draws *draws, uint32_t least,
                    float kept) {
    if (n == 0)
        return;
    struct sg_draws d = *draws;
    d.run = d.run < n ? d.run : n;
    const uint64_t runs = (n - 1) / d.run + 1, blocks = (d.run + 6) / 4;
    (void)enqueue(exec, pass_blocks(n / 4), keep_mask_kernel, mask, n, d, runs, blocks, least, kept);
}

/* ---- the end of a step: one block a piece --------------------------------------------------------------------- */

/* g + decay x, rounded once; g itself where nothing decays. */
static __device__ float with_decay(float g, double decay, float x, bool decays) {
    return decays && decay > 0 ? __double2float_rn(__dadd_rn(g, __dmul_rn(decay, x))) : g;
}

/* The step is along of_g g + of_m m. */
struct sgd {
    double rate, mu, of_g, of_m, decay;
    float *m;

    __device__ float step(uint64_t i, float g, float x, bool decays) const {
        g = with_decay(g, decay, x, decays);
        if (!(mu > 0))
            return __double2float_rn(__dmul_rn(rate, g));
        m[i] = __double2float_rn(__dadd_rn(__dmul_rn(mu, m[i]), g));
        return __double2float_rn(__dmul_rn(rate, __dadd_rn(__dmul_rn(of_g, g), __dmul_rn(of_m, m[i]))));
    }
};

/* param: beta1, beta2, epsilon, weight-decay. rate and correction: with the bias of this step. */
struct adam {
    double rate, correction, beta1, beta2, epsilon, decay;
    float *m, *v;

    __device__ float move(uint64_t i, double g) const {
        m[i] = __double2float_rn(__dadd_rn(__dmul_rn(beta1, m[i]), __dmul_rn(1 - beta1, g)));
        v[i] = __double2float_rn(__dadd_rn(__dmul_rn(beta2, v[i]), __dmul_rn(__dmul_rn(1 - beta2, g), g)));
        const double below = __dadd_rn(__dmul_rn(__dsqrt_rn(v[i]), correction), epsilon);
        return __double2float_rn(__ddiv_rn(__dmul_rn(rate, m[i]), below));
    }
    __device__ float step(uint64_t i, float mean, float x, bool decays) const {
        return move(i, with_decay(mean, decay, x, decays));
    }
};

/* The decay of the step, which already has the learning rate, is not part of the gradient. */
struct adamw {
    struct adam moments;
    double decay;

    __device__ float step(uint64_t i, float mean, float x, bool decays) const {
        return with_decay(moments.move(i, mean), decay, x, decays);
    }
};

static struct adam adam_of(const struct sg_update *u) {
    const double beta1 = u->param[0], beta2 = u->param[1], t = (double)u->step + 1;
    return {u->learning_rate / (1 - pow(beta1, t)),
            1 / sqrt(1 - pow(beta2, t)),
            beta1,
            beta2,
            u->param[2],
            u->param[3],
            u->state,
            u->state + u->d};
}

struct no_optimizer {
    __device__ float step(uint64_t, float g, float, bool) const {
        return g;
    }
};

template <typename Optimizer> __global__ void update_kernel(struct sg_update u, Optimizer optimizer) {
    const struct sg_piece p = u.piece[blockIdx.x];
    float *x = (float *)u.x;
    for (uint64_t i = p.begin + threadIdx.x; i < p.end; i += THREADS) {
        const float mean = __fdiv_rn(u.sum[i], u.workers);
        x[i] = __fadd_rn(x[i], -optimizer.step(i, mean, x[i], p.decays));
    }
}

bool cuda_has_optimizer(const char *name) {
    static const char *const names[] = {"sgd", "nesterov", "adam", "adamw"};
    for (const char *own : names)
        if (strcmp(name, own) == 0)
            return true;
    return false;
}

void cuda_update(const struct sg_exec *exec, const struct sg_update *u) {
    SG_ASSERT(!u->optimizer || cuda_has_optimizer(u->optimizer));
    const uint32_t blocks = (uint32_t)u->n_pieces;
    if (!u->optimizer)
        (void)enqueue(exec, blocks, update_kernel<no_optimizer>, *u, no_optimizer());
    else if (strcmp(u->optimizer, "adam") == 0)
        (void)enqueue(exec, blocks, update_kernel<struct adam>, *u, adam_of(u));
    else if (strcmp(u->optimizer, "adamw") == 0)
        (void)enqueue(exec, blocks, update_kernel<struct adamw>, *u, {adam_of(u), u->learning_rate * u->param[3]});
    else if (strcmp(u->optimizer, "nesterov") == 0) /* param: momentum, weight-decay */
        (void)enqueue(exec, blocks, update_kernel<struct sgd>, *u,
                      {u->learning_rate, u->param[0], 1, u->param[0], u->param[1], u->state});
    else /* param: momentum, nesterov, weight-decay */
        (void)enqueue(exec, blocks, update_kernel<struct sgd>, *u,
                      {u->learning_rate, u->param[0], u->param[1], 1, u->param[2], u->state});
}

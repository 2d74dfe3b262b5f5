/* cuda_mix.cu: the vector operations that feedback rules and rounds consist of: mix, add_quotient, copy and
 * zero_at of sg_kernels.h. */
#include "cuda_codes.cuh"

__global__ void mix_kernel(float *to, float a, const float *x, float b, const float *y, uint64_t n) {
    for (uint64_t i = first_place(); i < n; i += stride())
        to[i] = __fadd_rn(__fmul_rn(a, x[i]), __fmul_rn(b, y[i]));
}

__global__ void add_quotient_kernel(float *x, const float *y, float divisor, uint64_t n) {
    for (uint64_t i = first_place(); i < n; i += stride())
        x[i] = __fadd_rn(x[i], __fdiv_rn(y[i], divisor));
}

/* Indices differ, so no two threads meet. */
__global__ void zero_at_kernel(float *x, const uint32_t *index, uint64_t count) {
    for (uint64_t j = first_place(); j < count; j += stride())
        x[index[j]] = 0;
}

void cuda_mix(const struct sg_exec *exec, float *to, float a, const float *x, float b, const float *y, size_t n) {
    if (cuda_ready(exec))
        (void)cuda_record_launch(exec, launch(pass_blocks(n), false, NULL, mix_kernel, to, a, x, b, y, (uint64_t)n));
}

void cuda_add_quotient(const struct sg_exec *exec, float *x, const float *y, float divisor, size_t n) {
    if (cuda_ready(exec))
        (void)cuda_record_launch(exec,
                                 launch(pass_blocks(n), false, NULL, add_quotient_kernel, x, y, divisor, (uint64_t)n));
}

void cuda_copy(const struct sg_exec *exec, float *to, const float *x, size_t n) {
    if (n > 0 && cuda_ready(exec))
        (void)cuda_record_launch(exec,
                                 device_status(cudaMemcpyAsync(to, x, n * sizeof *to, cudaMemcpyDeviceToDevice, NULL)));
}

void cuda_zero_at(const struct sg_exec *exec, float *x, const uint32_t *index, size_t count) {
    if (cuda_ready(exec))
        (void)cuda_record_launch(exec,
                                 launch(pass_blocks(count), false, NULL, zero_at_kernel, x, index, (uint64_t)count));
}

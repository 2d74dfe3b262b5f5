/* cuda_codes.cu: the GPU's table of codes, and the majority vote on signs. */
#include "cuda_codes.cuh"

__global__ void vote_kernel(float *sum, uint64_t n, float all, float tie) {
    for (uint64_t i = first_place(); i < n; i += stride())
        sum[i] = sum[i] > 0 ? all : sum[i] < 0 ? -all : tie;
}

static void vote(const struct sg_exec *exec, float *sum, size_t n, float all, float tie) {
    if (cuda_ready(exec))
        (void)cuda_record_launch(exec, launch(pass_blocks(n), false, NULL, vote_kernel, sum, (uint64_t)n, all, tie));
}

const struct sg_device_codes cuda_codes = {
    cuda_write_signs, cuda_read_signs, cuda_write_buckets, cuda_read_buckets, cuda_write_bf16, cuda_read_plain, vote,
};

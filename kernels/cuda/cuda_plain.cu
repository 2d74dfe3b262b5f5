/* cuda_plain.cu: the codes in which every number takes the same bytes: floats, halves, and floats cut to 16 bits. */
#include "cuda_codes.cuh"
#include "sg_half.h"

__global__ void write_bf16_kernel(uint16_t *data, const float *x, uint64_t count) {
    for (uint64_t j = first_place(); j < count; j += stride())
        data[j] = sg_bf16_of(x[j]);
}

__global__ void read_plain_kernel(sg_sink to, const void *data, uint64_t count, sg_plain_code code) {
    for (uint64_t j = first_place(); j < count; j += stride()) {
        const uint16_t bits = code != SG_PLAIN_FLOAT ? ((const uint16_t *)data)[j] : 0;
        put_number(to, j,
                   code == SG_PLAIN_FLOAT  ? ((const float *)data)[j]
                   : code == SG_PLAIN_HALF ? sg_half_value(bits)
                                           : sg_bf16_value(bits));
    }
}

int cuda_write_bf16(const struct sg_exec *exec, uint16_t *data, const float *x, size_t count) {
    if (!cuda_ready(exec))
        return SG_KERNEL_DEVICE;
    return cuda_record_launch(exec,
                              launch(pass_blocks(count), false, NULL, write_bf16_kernel, data, x, (uint64_t)count));
}

void cuda_read_plain(const struct sg_exec *exec, const struct sg_sink *to, const void *data, size_t count,
                     enum sg_plain_code code) {
    if (cuda_ready(exec))
        (void)cuda_record_launch(
            exec, launch(pass_blocks(count), false, NULL, read_plain_kernel, *to, data, (uint64_t)count, code));
}

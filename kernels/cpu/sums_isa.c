/* sums_isa.c: accumulation and sums of sg_kernels.h. Compiled once per instruction set. */
#include "select_scan.h"

void ISA_NAME(scatter_add_)(const struct sg_exec *exec, float *restrict dense, const uint32_t *index,
                        const float *restrict value, size_t count) {
    (void)exec;
    if (index == NULL) {
        for (size_t j = 0; j < count; j++)
            dense[j] += value[j];
        return;
    }
    for (size_t j = 0; j < count; j++)
        dense[index[j]] += value[j];
}

static double square_block(const float *x, size_t n) {
    vec sum[LANE_VECTORS] = {{0}};
    size_t i = 0;
    for (; i + SG_KERNEL_LANES <= n; i += SG_KERNEL_LANES)
        for (size_t v = 0; v < LANE_VECTORS; v++) {
            vec a = vec_load_f32(x + i + v * VECTOR_DOUBLES);
            sum[v] += a * a;
        }
    for (size_t v = 0; i < n; i += VECTOR_DOUBLES, v++) {
        vec a = n - i < VECTOR_DOUBLES ? vec_part_f32(x + i, n - i) : vec_load_f32(x + i);
        sum[v] += a * a;
    }
    return add_pairwise(sum);
}

double ISA_NAME(sum_squares_)(const struct sg_exec *exec, const float *x, size_t n) {
    (void)exec;
    double sum = 0;
    for (size_t i = 0; i < n; i += SG_KERNEL_BLOCK)
        sum += square_block(x + i, n - i < SG_KERNEL_BLOCK ? n - i : SG_KERNEL_BLOCK);
    return sum;
}

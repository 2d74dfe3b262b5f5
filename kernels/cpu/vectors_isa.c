/* vectors_isa.c: the largest magnitude, and halves, of sg_kernels.h. Compiled once per instruction set; the loops are plain
 * C that the compiler makes vectors of. */
#include "select_scan.h"

#include "sg_half.h"

enum { WORTH_ELEMENTS = 1 << 17 }; /* from here on a second thread saves more than it costs */

/* The bits of magnitudes are ordered like whole numbers, and the compiler has vectors for those. */
static int32_t most_of(const float *x, size_t n) {
    int32_t most = 0;
    for (size_t i = 0; i < n; i++) {
        most = larger(most, magnitude(x[i]));
    }
    return most;
}

float ISA_NAME(max_abs_)(const struct sg_exec *exec, const float *x, size_t n) {
    SG_ASSERT(exec->threads >= 1 && sg_all_finite(x, n));
    if (exec->threads == 1 || n < WORTH_ELEMENTS) /* a parallel region of one thread, too, takes longer than a bucket */
        return from_magnitude(most_of(x, n));
    int32_t most = 0;
#pragma omp parallel for schedule(static) reduction(max : most) num_threads(exec->threads)
    for (size_t at = 0; at < n; at += PIECE) {
        most = larger(most, most_of(x + at, n - at < PIECE ? n - at : PIECE));
    }
    return from_magnitude(most);
}

static void round_to_halves(uint16_t *restrict half, const float *restrict value, size_t count) {
    for (size_t j = 0; j < count; j++)
        half[j] = sg_half_of(value[j]);
}

static void keep_rest(float *restrict e, const uint16_t *restrict half, const float *restrict value, size_t count) {
    for (size_t j = 0; j < count; j++)
        e[j] += value[j] - sg_half_value(half[j]);
}

void ISA_NAME(encode_half_)(const struct sg_exec *exec, uint16_t *half, const float *value, const uint32_t *index,
                            size_t count, float *e) {
    SG_ASSERT(sg_all_finite(value, count));
    (void)exec;
    round_to_halves(half, value, count);
    if (e != NULL && index == NULL)
        keep_rest(e, half, value, count);
    else if (e != NULL)
        for (size_t j = 0; j < count; j++)
            e[index[j]] += value[j] - sg_half_value(half[j]);
}

void ISA_NAME(decode_half_)(const struct sg_exec *exec, float *restrict value, const uint16_t *restrict half,
                            size_t count) {
    (void)exec;
    for (size_t j = 0; j < count; j++)
        value[j] = sg_half_value(half[j]);
}

/* vectors_isa.c: the largest magnitude of sg_kernels.h. Compiled once per instruction set; the loop is plain C that the
 * compiler makes vectors of. */
#include "select_scan.h"

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

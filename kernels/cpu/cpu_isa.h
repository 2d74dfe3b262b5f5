/* cpu_isa.h: what the *_isa.c files share. Each is compiled once per instruction set with -DSG_ISA=c|avx2|avx512, and
 * defines its tables under names that end in the set's. */
#ifndef CPU_ISA_H
#define CPU_ISA_H

#include "sg_dense.h"
#include "sg_kernels.h"

extern const struct sg_kernels sg_kernels_table_c, sg_kernels_table_avx2, sg_kernels_table_avx512;
extern const struct sg_dense sg_dense_table_c, sg_dense_table_avx2, sg_dense_table_avx512;

#ifdef SG_ISA

#define ISA_PASTE_(a, b) a##b
#define ISA_PASTE(a, b)  ISA_PASTE_(a, b)
#define ISA_TEXT_(a)     #a
#define ISA_TEXT(a)      ISA_TEXT_(a)

/* sg_kernels_table_avx2 from ISA_NAME(sg_kernels_table_), "avx2" from ISA_STRING. */
#define ISA_NAME(prefix) ISA_PASTE(prefix, SG_ISA)
#define ISA_STRING       ISA_TEXT(SG_ISA)

/* Doubles in a native vector. Lanes are fixed by the reproducibility rules, so this decides speed only. */
#if defined(__AVX512F__)
enum { VECTOR_DOUBLES = 8 };
#elif defined(__AVX2__)
enum { VECTOR_DOUBLES = 4 };
#else
enum { VECTOR_DOUBLES = 2 };
#endif

typedef double vec __attribute__((vector_size(VECTOR_DOUBLES * sizeof(double))));
typedef float half_vec __attribute__((vector_size(VECTOR_DOUBLES * sizeof(float))));

/* Interleaved partial sums of one block: element i of the block belongs to lane i mod SG_KERNEL_LANES. */
enum { LANE_VECTORS = SG_KERNEL_LANES / VECTOR_DOUBLES };

static inline vec vec_load_f64(const double *x) {
    vec v;
    __builtin_memcpy(&v, x, sizeof v);
    return v;
}

static inline vec vec_load_f32(const float *x) {
    half_vec v;
    __builtin_memcpy(&v, x, sizeof v);
    return __builtin_convertvector(v, vec);
}

/* ((l0 + l8) + (l4 + l12)) + ...: halves added onto each other until one is left. */
static inline double add_pairwise(double lane[SG_KERNEL_LANES]) {
    for (size_t half = SG_KERNEL_LANES / 2; half > 0; half /= 2)
        for (size_t l = 0; l < half; l++)
            lane[l] += lane[l + half];
    return lane[0];
}

#endif
#endif

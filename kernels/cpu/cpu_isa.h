/* cpu_isa.h: what the *_isa.c files share. Each of them is compiled once for each instruction set, with
 * -DSG_ISA=c|avx2|avx512, and defines its tables under names that end in that of the set. */
/* SPDX-License-Identifier: MIT */
#ifndef CPU_ISA_H
#define CPU_ISA_H

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "sg_codes.h"
#include "sg_debug.h"
#include "sg_dense.h"
#include "sg_kernels.h"
#include "sg_products.h"

extern const struct sg_kernels sg_kernels_table_c, sg_kernels_table_avx2, sg_kernels_table_avx512;
extern const struct sg_code_kernels sg_code_kernels_c, sg_code_kernels_avx2, sg_code_kernels_avx512;
extern const struct sg_products sg_products_c, sg_products_avx2, sg_products_avx512;
extern const struct sg_dense sg_dense_table_c, sg_dense_table_avx2, sg_dense_table_avx512;

/* The functions that all tables have in common (cpu_vectors.c, cpu_update.c). */
void *cpu_allocate(const struct sg_exec *exec, size_t bytes);
void cpu_release(const struct sg_exec *exec, void *memory);
void cpu_zero(const struct sg_exec *exec, void *to, size_t bytes);
void cpu_put(const struct sg_exec *exec, void *to, const void *host, size_t bytes);
int cpu_get(const struct sg_exec *exec, void *host, const void *from, size_t bytes);
void cpu_get_later(const struct sg_exec *exec, void *host, const void *from, size_t bytes);
int cpu_wait(const struct sg_exec *exec);
double cpu_dot_shifted(const struct sg_exec *exec, const struct sg_entries *message, const float *x, double weight);
void cpu_mix(const struct sg_exec *exec, float *to, float a, const float *x, float b, const float *y, size_t n);
void cpu_add_quotient(const struct sg_exec *exec, float *x, const float *y, float divisor, size_t n);
void cpu_copy(const struct sg_exec *exec, float *to, const float *x, size_t n);
void cpu_zero_at(const struct sg_exec *exec, float *x, const uint32_t *index, size_t count);
void cpu_running_mean(const struct sg_exec *exec, float *mean, const float *x, size_t n, double weight);
bool cpu_has_optimizer(const char *name);
void cpu_update(const struct sg_exec *exec, const struct sg_update *u, const struct sg_products *products);
/* step [rows][columns] holds the momentum of matrix w. It becomes `rate` times the matrix that has its singular vectors
 * and singular values near 1, by so many steps of Newton and Schulz. scratch is that of sg_muon_scratch. */
void cpu_muon(const struct sg_exec *exec, const struct sg_products *products, float *step, const struct sg_weight *w,
              int times, double rate, float *scratch);

#ifdef SG_ISA

#define ISA_PASTE_(a, b) a##b
#define ISA_PASTE(a, b)  ISA_PASTE_(a, b)
#define ISA_TEXT_(a)     #a
#define ISA_TEXT(a)      ISA_TEXT_(a)

/* ISA_NAME(sg_kernels_table_) gives sg_kernels_table_avx2, and ISA_STRING gives "avx2". */
#define ISA_NAME(prefix) ISA_PASTE(prefix, SG_ISA)
#define ISA_STRING       ISA_TEXT(SG_ISA)

/* Parts of the code table that other files define. */
void ISA_NAME(sum_block_)(double *sum, const float *x, size_t n, enum sg_term term);
void ISA_NAME(pack_fields_)(uint8_t *out, const uint32_t *field, size_t count, unsigned bits);
void ISA_NAME(unpack_fields_)(uint32_t *field, const uint8_t *in, size_t first, size_t count, unsigned bits);

/* The doubles of a native vector. The order of sums does not depend on it, so it decides speed only. */
#if defined(__AVX512F__)
enum { VECTOR_DOUBLES = 8 };
#elif defined(__AVX2__)
enum { VECTOR_DOUBLES = 4 };
#else
enum { VECTOR_DOUBLES = 2 };
#endif

typedef double vec __attribute__((vector_size(VECTOR_DOUBLES * sizeof(double))));
typedef int64_t vec_bits __attribute__((vector_size(VECTOR_DOUBLES * sizeof(double))));

/* Interleaved partial sums of one block: element i of the block belongs to lane i mod SG_KERNEL_LANES. */
enum { LANE_VECTORS = SG_KERNEL_LANES / VECTOR_DOUBLES };

static inline vec vec_load_f64(const double *x) {
    vec v;
    __builtin_memcpy(&v, x, sizeof v);
    return v;
}

/* With intrinsics, because gcc 12 makes four instructions of a converted vector. */
static inline vec vec_load_f32(const float *x) {
#if defined(__AVX512F__)
    return _mm512_cvtps_pd(_mm256_loadu_ps(x));
#elif defined(__AVX2__)
    return _mm256_cvtps_pd(_mm_loadu_ps(x));
#else
    return (vec){(double)x[0], (double)x[1]};
#endif
}

/* With AVX-512 the way leads through 64-bit integers, because then each conversion is one instruction. */
static inline vec vec_load_i16(const int16_t *x) {
#if defined(__AVX512DQ__)
    return _mm512_cvtepi64_pd(_mm512_cvtepi16_epi64(_mm_loadu_si128((const void *)x)));
#elif defined(__AVX2__)
    return _mm256_cvtepi32_pd(_mm_cvtepi16_epi32(_mm_loadu_si64(x)));
#else
    return (vec){(double)x[0], (double)x[1]};
#endif
}

/* The first n < VECTOR_DOUBLES elements, and zeros in the other lanes. Memory behind the n elements is not read. */
#if defined(__AVX512F__)
static inline vec vec_part_f64(const double *x, size_t n) {
    return _mm512_maskz_loadu_pd((__mmask8)((1U << n) - 1), x);
}

static inline vec vec_part_f32(const float *x, size_t n) {
    return _mm512_cvtps_pd(_mm256_maskz_loadu_ps((__mmask8)((1U << n) - 1), x));
}

static inline vec vec_part_i16(const int16_t *x, size_t n) {
    return _mm512_cvtepi64_pd(_mm512_cvtepi16_epi64(_mm_maskz_loadu_epi16((__mmask8)((1U << n) - 1), x)));
}

/* Stores the first n < VECTOR_DOUBLES elements of v. */
static inline void vec_store_part(double *out, vec v, size_t n) {
    _mm512_mask_storeu_pd(out, (__mmask8)((1U << n) - 1), v);
}
#else
#define DEFINE_PART(type, suffix)                                                                                      \
    static inline vec vec_part_##suffix(const type *x, size_t n) {                                                     \
        vec v = {0};                                                                                                   \
        for (size_t i = 0; i < n; i++)                                                                                 \
            v[i] = (double)x[i];                                                                                       \
        return v;                                                                                                      \
    }

DEFINE_PART(double, f64)
DEFINE_PART(float, f32)
DEFINE_PART(int16_t, i16)

static inline void vec_store_part(double *out, vec v, size_t n) {
    for (size_t i = 0; i < n; i++)
        out[i] = v[i];
}
#endif

/* ((l0 + l8) + (l4 + l12)) + ...: halves added onto each other until one is left. Overwrites sum. */
static inline double add_pairwise(vec sum[LANE_VECTORS]) {
    for (size_t half = LANE_VECTORS / 2; half > 0; half /= 2)
        for (size_t v = 0; v < half; v++)
            sum[v] += sum[v + half];
#if defined(__AVX512F__)
    const __m256d four = _mm256_add_pd(_mm512_castpd512_pd256(sum[0]), _mm512_extractf64x4_pd(sum[0], 1));
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return two[0] + two[1];
#elif defined(__AVX2__)
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(sum[0]), _mm256_extractf128_pd(sum[0], 1));
    return two[0] + two[1];
#else
    return sum[0][0] + sum[0][1];
#endif
}

#endif
#endif

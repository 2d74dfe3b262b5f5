/* bench_rival.h: what the kernels are compared with on the CPU: std::nth_element and libtorch. They are not part of the
 * programs: tests/bench/rivals.cpp has them, `make rivals` builds a shared object beside the programs, and the
 * benchmark loads it if it exists. */
/* SPDX-License-Identifier: MIT */
#ifndef BENCH_RIVAL_H
#define BENCH_RIVAL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The function that a shared object shows, however its source is compiled. */
#define RIVAL_API __attribute__((visibility("default")))

/* One call: e <- decay e + g; then the selected elements leave e. Products: see run_products in bench_private.h; P goes
 * to `room`, Q to value. */
struct sg_rival_call {
    size_t n, layers, threads;
    const size_t *offset; /* [layers + 1] */
    const float *g;
    float *e, decay;
    const size_t *k;    /* [layers] of Top-k */
    const float *tau;   /* [layers] of the threshold */
    const size_t *rows; /* [layers] of products: rows of each layer as a matrix; 0 = it is none */
    size_t rank;
    uint32_t *index; /* out, of each layer in turn, in any order */
    float *value, *room;
    size_t *count; /* [layers] out */
};

/* "nth-element", "torch-topk", "torch-threshold", "torch-products", "torch-newton-schulz". 0 = done. In rivals.so. */
typedef int sg_rival_run_fn(const char *name, const struct sg_rival_call *call);
RIVAL_API sg_rival_run_fn sg_rival_run;

#ifdef __cplusplus
}
#endif
#endif

/* bench_rival.h: what the kernels are compared with: std::nth_element and libtorch on the CPU, CUB on a GPU. They are
 * not part of the programs: their sources are in tests/bench, `make rivals` builds them as shared objects beside the
 * programs, and the benchmark loads those that exist. */
#ifndef BENCH_RIVAL_H
#define BENCH_RIVAL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The functions that the shared objects show, however their sources are compiled. */
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

/* "nth-element", "torch-topk", "torch-threshold", "torch-products". 0 = done. In rivals.so. */
typedef int sg_rival_run_fn(const char *name, const struct sg_rival_call *call);
RIVAL_API sg_rival_run_fn sg_rival_run;

/* One call on a GPU, as in sg_rival_call. All arrays except offset and k lie there; all layers have one threshold. */
struct sg_rival_cuda_call {
    size_t n, layers;
    const size_t *offset; /* [layers + 1] */
    const float *g;
    float *e, decay;
    const size_t *k; /* [layers] of Top-k */
    float tau;
    uint32_t *index, *found; /* out; found: how many entries the threshold selected */
    float *value;
    void *scratch; /* NULL = only set scratch_bytes to what a call needs */
    size_t scratch_bytes;
    void *stream;
};

/* "cub-select", "cub-sort". 0 = enqueued. In rivals-cuda.so. */
typedef int sg_rival_cuda_fn(const char *name, struct sg_rival_cuda_call *call);
RIVAL_API sg_rival_cuda_fn sg_rival_cuda;

#ifdef __cplusplus
}
#endif
#endif

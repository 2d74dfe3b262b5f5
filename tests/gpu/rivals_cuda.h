/* rivals_cuda.h: what the kernels are compared with on a GPU: CUB. */
/* SPDX-License-Identifier: MIT */
#ifndef RIVALS_CUDA_H
#define RIVALS_CUDA_H

#include <stddef.h>
#include <stdint.h>

/* One call: e <- decay e + g; then the selected elements leave e. All arrays except offset and k lie on the GPU; all
 * layers have one threshold. */
struct rival_cuda_call {
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

/* "cub-select", "cub-sort". 0 = enqueued. */
int rival_cuda(const char *name, struct rival_cuda_call *call);

#endif

/* bench_cuda_rivals.h: selection with CUB. Include <cuda_runtime.h> first. */
#ifndef BENCH_CUDA_RIVALS_H
#define BENCH_CUDA_RIVALS_H

#include <stddef.h>
#include <stdint.h>

/* Device memory, all of length n but `found` (one) and scratch. */
struct rival {
    const float *g;
    float *e, *value, decay, tau;
    uint32_t *index, *found, *key, *place, *sorted_key, *sorted_place;
    void *scratch;
    size_t n, scratch_bytes;
    cudaStream_t stream;
};

/* Why the calls below do nothing but fail; NULL = they work. */
const char *rival_cub_missing(void);

/* What the calls below need. */
size_t rival_scratch_bytes(const struct rival *r, const size_t *offset, size_t n_layers);

/* Sends what reaches tau: DeviceSelect::If over all positions; index ascending, *found entries. */
cudaError_t rival_threshold(const struct rival *r);

/* Sends the k largest of each layer: DeviceRadixSort of its magnitudes and positions; a layer's entries are in the order
 * of their magnitudes. */
cudaError_t rival_topk(const struct rival *r, const size_t *offset, const size_t *k, size_t n_layers);

#endif

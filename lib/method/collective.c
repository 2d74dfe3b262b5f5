/* collective.c: what compressors share whose workers agree on the positions that count: a Top-k message of a coder, and
 * the k-th largest magnitude of a vector. */
#include <stdlib.h>

#include "method_private.h"
#include "sg_debug.h"
#include "sg_half.h"

struct topk_scratch {
    size_t *k;
    float *guess;
    size_t count[]; /* [n_layers] each; k and the guesses lie behind */
};

sg_status method_topk_open(struct sg_worker *w, struct sg_error *err) {
    const size_t n = w->shared->layout.n_layers;
    struct topk_scratch *t = w->scratch = malloc(sizeof *t + n * (2 * sizeof *t->k + sizeof *t->guess));
    if (t == NULL)
        return sg_fail_memory(err, "top-k");
    t->k = t->count + n;
    t->guess = (float *)(t->k + n);
    for (size_t l = 0; l < n; l++)
        t->guess[l] = -1;
    return SG_OK;
}

void method_topk_message(struct sg_worker *w, const float *p, struct sg_message *out) {
    const struct sg_shared *shared = w->shared;
    const struct sg_layout *layout = &shared->layout;
    struct topk_scratch *t = w->scratch;
    const bool is_density = sg_share_knob(shared->param) == SG_SHARE_DENSITY;
    const struct sg_select s = {.exec = &shared->exec,
                                .n_layers = layout->n_layers,
                                .offset = layout->offset,
                                .g = p,
                                .scale = 1,
                                .decay = 1,
                                .index = w->index,
                                .value = w->data,
                                .count = t->count};
    size_t count = 0;
    for (size_t l = 0; l < layout->n_layers; l++)
        t->k[l] = sg_share_of(shared->knob[l], is_density, layout->offset[l + 1] - layout->offset[l]);
    const int status = shared->kernels->select_topk(&s, t->k, t->guess);
    SG_ASSERT(status == SG_KERNEL_OK || status == SG_KERNEL_MEMORY);
    for (size_t l = 0; status == SG_KERNEL_OK && l < layout->n_layers; l++)
        count += t->count[l];
    *out = (struct sg_message){.code = status == SG_KERNEL_OK ? &sg_code_fp32 : NULL,
                               .n = layout->offset[layout->n_layers],
                               .count = count,
                               .index = w->index,
                               .data = w->data,
                               .bytes = count * sizeof(float),
                               .bits = 64.0 * (double)count,
                               .layer_count = t->count};
}

uint32_t method_magnitude_bits(float x) {
    return sg_float_bits(x) & 0x7fffffff;
}

/* Bit by bit the largest number that k magnitudes reach. */
uint32_t method_kth_bits(const float *x, size_t n, size_t k) {
    SG_ASSERT(k >= 1 && k <= n);
    uint32_t found = 0;
    for (uint32_t bit = 1U << 30; bit != 0; bit >>= 1) {
        const uint32_t tried = found | bit;
        size_t count = 0;
        for (size_t i = 0; i < n; i++)
            count += method_magnitude_bits(x[i]) >= tried;
        found = count >= k ? tried : found;
    }
    return found;
}

uint32_t method_position(const struct sg_message *m, size_t j) {
    return m->index != NULL ? m->index[j] : (uint32_t)j;
}

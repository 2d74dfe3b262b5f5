/* select_blocks.c: layers cut into blocks of neighbours, for selectors that treat every block as if it were a layer. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "zoo_private.h"

size_t sg_blocks_of(const struct sg_layout *layout, size_t size) {
    size_t n = 0;
    for (size_t l = 0; l < layout->n_layers; l++)
        n += (layout->offset[l + 1] - layout->offset[l] + size - 1) / size;
    return n;
}

sg_status sg_blocks_open(struct sg_worker *w, size_t size, struct sg_error *err) {
    const struct sg_layout *layout = &w->shared->layout;
    const size_t some = sg_blocks_of(layout, size),
                 n = some > 0 ? some : 1; /* an empty one, if there are no elements */
    struct sg_blocks *b = w->scratch = malloc(sizeof *b + (4 * n + 1) * sizeof(size_t) + n * sizeof(float));
    if (!b)
        return sg_fail_memory(err, "blocks");
    *b = (struct sg_blocks){.n = n, .offset = (size_t *)(b + 1)};
    b->count = b->offset + n + 1;
    b->k = b->count + n;
    b->layer = b->k + n;
    b->threshold = (float *)(b->layer + n);
    b->offset[0] = b->layer[0] = 0;
    for (size_t l = 0, at = 0; l < layout->n_layers; l++)
        for (size_t begin = layout->offset[l]; begin < layout->offset[l + 1]; begin += size) {
            b->layer[at] = l;
            b->offset[at++] = begin;
        }
    b->offset[n] = layout->offset[layout->n_layers];
    for (size_t i = 0; i < n; i++)
        b->threshold[i] = -1;
    return SG_OK;
}

struct sg_select sg_blocks_begin(const struct sg_worker *w, const struct sg_select *s) {
    const struct sg_blocks *b = w->scratch;
    struct sg_select part = *s;
    part.n_layers = b->n;
    part.offset = b->offset;
    part.count = b->count;
    return part;
}

int sg_blocks_end(const struct sg_worker *w, const struct sg_select *s, int status) {
    const struct sg_blocks *b = w->scratch;
    if (status == SG_KERNEL_NONFINITE)
        s->count[0] = b->layer[b->count[0]];
    if (status != SG_KERNEL_OK)
        return status;
    for (size_t l = 0; l < s->n_layers; l++)
        s->count[l] = 0;
    for (size_t i = 0; i < b->n; i++)
        s->count[b->layer[i]] += b->count[i];
    return SG_KERNEL_OK;
}

/* collective.c: what coders share that send a selection, and whose workers agree on the positions that count. */
#include "method_private.h"
#include "sg_debug.h"

struct sg_select method_selection(const struct sg_worker *w, const float *p) {
    const struct sg_layout *layout = &w->shared->layout;
    return (struct sg_select){.exec = &w->shared->exec,
                              .n_layers = layout->n_layers,
                              .offset = layout->offset,
                              .g = p,
                              .scale = 1,
                              .decay = 1,
                              .index = w->index,
                              .value = w->value,
                              .count = w->count};
}

void method_topk_message(struct sg_worker *w, const float *p, struct sg_message *out) {
    const struct sg_layout *layout = &w->shared->layout;
    struct sg_select s = method_selection(w, p);
    const int status = sg_topk_select(w, &s, sg_share_knob(w->shared->param) == SG_SHARE_DENSITY);
    size_t count = 0;
    SG_ASSERT(status == SG_KERNEL_OK || status == SG_KERNEL_MEMORY);
    for (size_t l = 0; status == SG_KERNEL_OK && l < layout->n_layers; l++)
        count += w->count[l];
    *out = (struct sg_message){.code = status == SG_KERNEL_OK ? &sg_code_fp32 : NULL,
                               .n = layout->offset[layout->n_layers],
                               .count = count,
                               .index = w->index,
                               .data = w->value,
                               .bytes = count * sizeof(float),
                               .bits = 64.0 * (double)count,
                               .layer_count = w->count};
}

uint32_t method_position(const struct sg_message *m, size_t j) {
    return m->index != NULL ? m->index[j] : (uint32_t)j;
}

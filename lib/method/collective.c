/* collective.c: what coders and compressors of several rounds share: hooks, messages of floats, a selection of p. */
/* SPDX-License-Identifier: MIT */
#include "sg_compressor_parts.h"
#include "sg_debug.h"

size_t method_first_knob(const double *param) {
    (void)param;
    return 0;
}

size_t method_float_a_layer(const struct sg_shared *s) {
    return s->layout.n_layers;
}

size_t method_elements(const struct sg_shared *s) {
    return s->layout.offset[s->layout.n_layers];
}

size_t method_rows(const struct sg_shared *s, size_t l) {
    return s->layout.rows && s->layout.offset[l + 1] > s->layout.offset[l] ? s->layout.rows[l] : 1;
}

size_t method_count_all(const struct sg_worker *w) {
    const struct sg_layout *layout = &w->shared->layout;
    for (size_t l = 0; l < layout->n_layers; l++)
        w->count[l] = layout->offset[l + 1] - layout->offset[l];
    return layout->offset[layout->n_layers];
}

size_t method_code_bytes(const struct sg_shared *s, const struct sg_code *code) {
    return code->most_bytes(
        &(struct sg_numbers){.count = method_elements(s), .parts = s->layout.n_layers, .param = s->param});
}

void method_add_mean(const struct sg_shared *s, float *x, const float *sum, size_t n) {
    if (s->rate_ratio != 1)
        s->kernels->mix(&s->exec, x, (float)s->rate_ratio, x, 0, x, n);
    s->kernels->add_quotient(&s->exec, x, sum, (float)s->workers, n);
}

void method_send_floats(const struct sg_worker *w, size_t n, size_t count, const uint32_t *index, const float *value,
                        double bits, struct sg_message *out) {
    *out = (struct sg_message){.code = &sg_code_fp32,
                               .n = n,
                               .count = count,
                               .index = index,
                               .data = value,
                               .bytes = count * sizeof *value,
                               .bits = bits,
                               .layer_count = w->count};
}

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
    const int status = sg_topk_select(w, &s);
    size_t count = 0;
    SG_ASSERT(status == SG_KERNEL_OK || status == SG_KERNEL_MEMORY);
    for (size_t l = 0; status == SG_KERNEL_OK && l < layout->n_layers; l++)
        count += w->count[l];
    method_send_floats(w, method_elements(w->shared), count, w->index, w->value, 64.0 * (double)count, out);
    if (status != SG_KERNEL_OK)
        out->code = NULL;
}

uint32_t method_position(const struct sg_message *m, size_t j) {
    return m->index ? m->index[j] : (uint32_t)j;
}

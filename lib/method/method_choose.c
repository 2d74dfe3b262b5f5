/* method_choose.c: measures error and size of each layer for several values of the knob, for controllers that compare
 * them. It runs the compressor itself, on the host, with worker 0's buffers. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "method_private.h"
#include "sg_debug.h"

/* Measures values [count]. The random draws are always those of one step that no run has, so that a run which resumes
 * measures the same. False: the compressor failed, for example because x is not finite. */
static bool measure(sg_method *m, const float *x, const double *value, size_t count) {
    struct method_worker *w = &m->worker[0];
    const size_t layers = m->shared.layout.n_layers, *offset = m->shared.layout.offset;
    double *error = m->measured, *size = m->measured + layers * SG_CANDIDATES;
    float *input = w->input; /* is for what is sent */
    int status = SG_KERNEL_OK;
    w->input = NULL;
    w->seen.unit = 1;
    w->seen.touched = NULL;
    w->seen.counted = false;
    w->seen.most = m->settings.most = INFINITY;
    m->shared.step = (uint64_t)1 << 41;
    for (size_t c = 0; c < count && status == SG_KERNEL_OK; c++) {
        const struct sg_select s = {.exec = &m->shared.exec,
                                    .n_layers = layers,
                                    .offset = offset,
                                    .g = x,
                                    .e = m->lost,
                                    .scale = 1,
                                    .decay = 1,
                                    .index = w->room->index,
                                    .value = w->room->value,
                                    .count = w->count};
        struct sg_message sent;
        m->shared.kernels->zero(&m->shared.exec, m->lost, m->d * sizeof *m->lost);
        for (size_t l = 0; l < layers; l++)
            m->decided[l] = value[c];
        status = method_message(m, w, 0, &s, &sent);
        for (size_t l = 0; l < layers && status == SG_KERNEL_OK; l++) {
            error[l * count + c] =
                m->shared.kernels->sum_squares(&m->shared.exec, m->lost + offset[l], offset[l + 1] - offset[l]);
            size[l * count + c] = sent.count > 0 ? sent.bits * ((double)sent.layer_count[l] / (double)sent.count) : 0;
        }
    }
    w->input = input;
    return status == SG_KERNEL_OK;
}

void method_choose(sg_method *m, const float *x, double *knob) {
    SG_ASSERT(m->first == 0 && m->measured);
    double value[SG_CANDIDATES];
    const size_t layers = m->shared.layout.n_layers, at = m->compressor->knob(m->param);
    size_t count =
        m->controller->candidates(m->controller_param, m->settings.own, m->compressor->params[at].integer, value);
    SG_ASSERT(count < SG_CANDIDATES);
    value[count++] = m->settings.own;
    for (size_t l = 0; l < layers; l++)
        knob[l] = m->settings.own;
    if (measure(m, x, value, count))
        m->controller->choose(m->controller_param,
                              &(struct sg_choice){.layers = layers,
                                                  .count = count,
                                                  .value = value,
                                                  .error = m->measured,
                                                  .size = m->measured + layers * SG_CANDIDATES,
                                                  .own = count - 1},
                              knob);
}

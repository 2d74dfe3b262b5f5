/* method_class.c: what a method's compressor lost of each worker's p, and what its class allows it to lose. */
#include <math.h>
#include <string.h>

#include "method_private.h"
#include "sg_debug.h"

void sg_method_keep_inputs(sg_method *m, bool keep) {
    for (size_t w = 0; w < m->count; w++)
        m->worker[w].input = keep ? m->worker[w].input_room : NULL;
}

void sg_method_lost(sg_method *m, size_t worker, const struct sg_message *message, const float *sum, float *lost) {
    const struct sg_rounds *rounds = m->compressor->rounds;
    SG_ASSERT(worker >= m->first && worker < m->first + m->count && sg_method_input(m, worker) != NULL);
    memcpy(lost, sg_method_input(m, worker), m->d * sizeof *lost);
    if (rounds != NULL && rounds->keep != NULL)
        rounds->keep(&m->worker[worker - m->first].seen, lost, sum);
    else
        sg_message_add(lost, message, -1, &m->shared.exec);
}

double sg_method_unit(const sg_method *m) {
    return m->facts.unit;
}

unsigned sg_method_traits(const sg_method *m) {
    const unsigned traits = sg_compressor_traits(m->compressor, m->param);
    return m->shared.code == &sg_code_fp32 ? traits : traits & ~(unsigned)SG_TRAIT_UNBIASED;
}

double sg_method_allowed(const sg_method *m, size_t layer, double square) {
    const struct sg_compressor_ops *ops = m->compressor;
    const size_t n = m->shared.layout.offset[layer + 1] - m->shared.layout.offset[layer];
    double param[SG_METHOD_PARAMS];
    SG_ASSERT(m->stepped && layer < m->shared.layout.n_layers);
    if (ops->bound == NULL || m->shared.code != &sg_code_fp32 || m->settings.most < INFINITY ||
        m->shared.copied != NULL)
        return NAN;
    memcpy(param, m->param, sizeof param);
    if (m->controller != NULL && ops->knob != NULL) {
        const size_t knob = ops->knob(m->param);
        const struct sg_parameter *of = &ops->params[knob];
        const bool ends = !(ops->traits & SG_TRAIT_ABSOLUTE); /* above its range a share or a count is its maximum */
        const double value = ends ? fmin(of->max, m->settings.knob[layer]) : m->settings.knob[layer];
        param[knob] = of->integer ? floor(value) : value;
    }
    const double bound = ops->bound(param, n), unit = m->facts.unit;
    return ops->traits & SG_TRAIT_ABSOLUTE ? bound * unit * unit : (1 - bound) * square;
}

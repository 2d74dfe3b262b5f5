/* method_class.c: what a method's compressor lost of each worker's p, and the traits of its messages. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "method_private.h"
#include "sg_debug.h"

void sg_method_keep_inputs(sg_method *m, bool keep) {
    for (size_t w = 0; w < m->count; w++)
        m->worker[w].input = keep ? m->worker[w].input_room : NULL;
}

void sg_method_lost(sg_method *m, size_t worker, const struct sg_message *message, const float *sum, float *lost) {
    const struct sg_rounds *rounds = m->compressor->rounds;
    SG_ASSERT(worker >= m->first && worker < m->first + m->count && sg_method_input(m, worker));
    memcpy(lost, sg_method_input(m, worker), m->d * sizeof *lost);
    if (rounds && rounds->keep)
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

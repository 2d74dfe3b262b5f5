/* method_memory.c: how much memory a method takes, for an estimate before a run. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <malloc.h>
#include <string.h>

#include "method_private.h"

static const double ASSUMED_SHARE = 0.1; /* of the elements, where a threshold, a controller or another run decides */
enum { PIECE = 1 << 17, PAGE = 4096 };   /* Top-k writes what it finds in a piece in a part of its own */

/* The value of the compressor's parameter of this name; NaN = it has none, or it is not given. */
static double parameter(const sg_method *m, const char *name) {
    for (size_t i = 0; i < m->compressor->n_params; i++)
        if (strcmp(m->compressor->params[i].name, name) == 0)
            return m->param[i];
    return NAN;
}

/* Entries of a message, of all layers together. */
static double entries_of(const sg_method *m) {
    const double k = parameter(m, "k"), density = parameter(m, "density");
    const size_t *offset = m->shared.layout.offset;
    const bool both = !isnan(parameter(m, "lambda")); /* Top-k at some steps and a threshold at others */
    double entries = 0;
    if (m->compressor->select && m->compressor->traits & SG_TRAIT_DENSE)
        return (double)m->d;
    if (m->controller || m->shared.copied || (isnan(k) && isnan(density)))
        return ASSUMED_SHARE * (double)m->d;
    for (size_t l = 0; l < m->shared.layout.n_layers; l++)
        entries += (double)sg_share_of(isnan(density) ? k : density, !isnan(density), offset[l + 1] - offset[l]);
    return both ? fmax(entries, ASSUMED_SHARE * (double)m->d) : entries;
}

/* Bytes of `entries` numbers in the code of a selector. */
static double code_bytes(const sg_method *m, double entries) {
    const struct sg_code *code = m->shared.code;
    const struct sg_numbers numbers = {
        .count = (size_t)entries, .parts = m->shared.layout.n_layers, .param = m->code_param};
    return code->width > 0 ? entries * (double)code->width : (double)code->most_bytes(&numbers);
}

void sg_method_memory(const sg_method *m, struct sg_method_memory *out) {
    const struct sg_compressor_ops *ops = m->compressor;
    const double d = (double)m->d, vector = d * sizeof(float), entries = entries_of(m);
    const struct method_worker *w = &m->worker[0];
    const bool positions = !ops->select || !(ops->traits & SG_TRAIT_DENSE);
    double bytes[METHOD_OWNERS] = {0};
    for (size_t i = 0; i < m->slots; i++)
        bytes[m->slot[i].owner] += (double)m->slot[i].bytes;
    *out = (struct sg_method_memory){.worker = bytes[METHOD_WORKER] + (double)malloc_usable_size(w->seen.scratch),
                                     .common = bytes[METHOD_COMMON],
                                     .scratch_shared = m->scratch_shared};
    /* Of a room, only what the making of a message writes is ever in memory. */
    if (ops->select) {
        out->code = positions ? NULL : m->shared.code;
        const double apart = positions ? 2.0 * PAGE * (d / PIECE + (double)m->shared.layout.n_layers) : 0;
        const double coded = code_bytes(m, entries);
        out->message = coded + (positions ? entries * sizeof(uint32_t) : 0);
        /* sg_method_lost fills the room, where it is called. */
        const double written = w->input ? vector : fmin(vector, entries * sizeof(float) + apart / 2);
        out->room = written * (positions ? 2 : 1) + (m->shared.code != &sg_code_fp32 ? coded : 0);
    } else if (ops->rounds && ops->rounds->length) {
        for (unsigned round = 0; round < ops->rounds->count; round++)
            out->message = fmax(out->message, (double)method_length(m, round) * sizeof(float));
        out->room = 2 * out->message;
    } else {
        out->code = ops->code;
        const double most = (double)method_data_bytes(m);
        const bool sparse = !isnan(parameter(m, "k")) || !isnan(parameter(m, "density"));
        out->message = ops->code ? most : sparse ? 2 * sizeof(float) * entries : d;
        out->room = ops->code ? most : vector + out->message;
    }
}

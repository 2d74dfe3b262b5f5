/* message_check.c: checks that the messages of added compressors and codes are well formed. These are not tested here,
 * so a wrong position or size could corrupt memory or results. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "method_private.h"
#include "sg_debug.h"

static bool is_known(const struct sg_code *code) {
    for (size_t i = 0; sg_code_at(i); i++)
        if (sg_code_at(i) == code)
            return true;
    return false;
}

/* index [count] ascends, count [n_layers] of it lie in each layer; NULL = all numbers are sent. */
static const char *positions_fault(const struct sg_layout *layout, const uint32_t *index, size_t found,
                                   const size_t *count) {
    const size_t d = layout->offset[layout->n_layers];
    size_t j = 0;
    if (index && !sg_ascending_below(index, found, d))
        return "its positions do not ascend below their number";
    for (size_t l = 0; l < layout->n_layers; l++) {
        const size_t begin = layout->offset[l], end = layout->offset[l + 1];
        if (count[l] > end - begin || count[l] > found - j || (!index && found > 0 && count[l] != end - begin))
            return "it has other numbers in a layer than it says";
        j += count[l];
        if (index && count[l] > 0 && (index[j - count[l]] < begin || index[j - 1] >= end))
            return "it has positions in another layer than it says";
    }
    return j == found ? NULL : "its layers have other numbers than it has";
}

const char *method_selection_fault(const struct sg_layout *layout, const struct sg_select *s) {
    const size_t d = layout->offset[layout->n_layers];
    size_t found = 0;
    for (size_t l = 0; l < s->n_layers; l++) {
        if (s->count[l] > d - found)
            return "it has more numbers than its vector";
        found += s->count[l];
    }
    return s->exec->device ? NULL : positions_fault(layout, s->index, found, s->count);
}

const char *method_message_fault(const sg_method *m, const struct sg_layout *layout, unsigned round,
                                 const struct sg_message *x) {
    enum { MOST_BITS = 64 }; /* of a number and of its position */
    const double numbers = (double)x->n + (double)layout->n_layers;
    if (!is_known(x->code))
        return "its code is none of the table, nor one that a plug-in added to it";
    if (x->n != method_length(m, round))
        return "it does not stand for the numbers of its round";
    if (x->count > x->n)
        return "it has more numbers than its vector";
    if (!x->index && x->count > 0 && x->count < x->n)
        return "it has some of the numbers, but no positions";
    if (!x->data && x->bytes > 0)
        return "it has no data";
    if (x->code->width > 0 ? x->bytes != x->count * x->code->width : (double)x->bytes > 16 * numbers + 65536)
        return "it has other bytes than its numbers need";
    if (!(x->bits >= 0 && x->bits <= MOST_BITS * numbers + 8 * (double)x->bytes + 65536))
        return "its bits are no number from 0 on that such a message may cost";
    if (m->shared.exec.device)
        return NULL;
    if (x->code->width == 0 && !x->code->valid(x))
        return "its data are not well formed";
    if (m->compressor->rounds)
        return !x->index || sg_ascending_below(x->index, x->count, x->n)
                   ? NULL
                   : "its positions do not ascend below their number";
    return !x->layer_count ? "it does not say how many numbers lie in each layer"
                           : positions_fault(layout, x->index, x->count, x->layer_count);
}

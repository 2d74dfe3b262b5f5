/* method_ranges.c: messages of ranges of layers, so that an exchange can begin before all gradients are there. A range
 * is compressed as if its layers were the whole model; the parts are then joined to the message of all layers. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "method_private.h"
#include "sg_debug.h"

static const char *reason_of(const sg_method *m, bool copies) {
    const struct sg_compressor_ops *ops = m->compressor;
    const struct sg_controller_ops *controller = m->controller;
    const struct sg_feedback_rule *rule = m->shared.feedback.rule;
    const unsigned of_lead = SG_ASK_LEAD_NOW | SG_ASK_LEAD_SUM;
    return m->shared.exec.device        ? "messages are made on a GPU"
           : m->added                   ? "the compressor or its code comes from a plug-in"
           : ops->rounds                ? "the compressor exchanges something of the whole model first"
           : ops->encode                ? "the compressor writes all layers into one message"
           : method_code(m)->width == 0 ? "the numbers of the message have no fixed width"
           : ops->worker_doubles        ? "the compressor goes by what it kept of earlier steps"
           : sg_compressor_traits(ops, m->param) & SG_TRAIT_RANDOM ? "random draws run on from layer to layer"
           : copies                                                ? "k is copied from another run"
           : controller && controller->ask && controller->ask(m->controller_param, NULL, NULL) & of_lead
               ? "the controller needs a whole gradient before the first message"
           : controller && controller->budget && !isnan(controller->budget(m->controller_param, &m->facts))
               ? "a budget limits the entries of all layers together"
           : rule->before || rule->after || rule->keep || rule->offset || rule->measure || rule->stream || rule->resets
               ? "error feedback works on whole gradients"
               : NULL;
}

const char *sg_method_whole_reason(const struct sg_method_config *config) {
    struct sg_error err;
    struct sg_method m = {.d = config->layout.offset[config->layout.n_layers], .shared.exec = config->exec};
    return method_resolve(&m, config, &err) == SG_OK ? reason_of(&m, config->copies) : "the method is refused";
}

bool sg_method_sends_ranges(const sg_method *m) {
    return m->ranges > 0 && isinf(m->settings.most);
}

/* ---- set-up ---- */

static sg_status open_range(sg_method *m, size_t r, size_t first, size_t end, struct sg_error *err) {
    const struct sg_layout *all = &m->shared.layout;
    struct method_range *range = &m->range[r];
    size_t *offset = malloc((end - first + 1) * sizeof *offset);
    if (!offset)
        return sg_fail_memory(err, "ranges of layers");
    for (size_t l = first; l <= end; l++)
        offset[l - first] = all->offset[l] - all->offset[first];
    *range = (struct method_range){.layer = first, .begin = all->offset[first]};
    range->shared.layout = (struct sg_layout){.n_layers = end - first,
                                              .offset = offset,
                                              .rows = all->rows ? all->rows + first : NULL,
                                              .name = all->name ? all->name + first : NULL};
    return SG_OK;
}

/* Where the data of a range's message lie among those of the worker, which have a float more for each range: behind all
 * that the ranges before it can have, and aligned for a float. */
static size_t data_begin(const sg_method *m, size_t r) {
    const size_t bytes = m->range[r].begin * method_code(m)->width;
    return (bytes + sizeof(float) - 1) / sizeof(float) * sizeof(float) + sizeof(float) * r;
}

sg_status method_part_open(const sg_method *m, struct method_worker *part, const struct method_worker *w,
                           const struct sg_shared *shared, struct message_room *room, size_t *count,
                           struct sg_error *err) {
    part->room = room;
    part->count = count;
    part->seen = w->seen;
    part->seen.shared = shared;
    part->seen.scratch = NULL;
    part->seen.index = room->index;
    part->seen.value = room->value;
    part->seen.count = count;
    part->seen.data = room->data;
    return m->compressor->open ? m->compressor->open(&part->seen, err) : SG_OK;
}

static sg_status open_part(sg_method *m, const struct method_worker *w, size_t r, struct sg_error *err) {
    const struct method_range *range = &m->range[r];
    const struct message_room *room = w->room;
    struct method_worker *part = &w->part[r];
    part->part_room = (struct message_room){.index = room->index ? room->index + range->begin : NULL,
                                            .value = room->value + range->begin,
                                            .data = room->data ? (char *)room->data + data_begin(m, r) : NULL};
    part->layer = range->layer;
    return method_part_open(m, part, w, &range->shared, &part->part_room, w->count + range->layer, err);
}

sg_status method_ranges_open(sg_method *m, const struct sg_method_config *config, struct sg_error *err) {
    sg_status status = SG_OK;
    if (config->ranges == 0 || reason_of(m, config->copies))
        return SG_OK;
    SG_ASSERT(config->range[0] == 0 && config->range[config->ranges] == m->shared.layout.n_layers);
    if ((m->range = calloc(config->ranges, sizeof *m->range)) == NULL)
        return sg_fail_memory(err, "ranges of layers");
    m->ranges = config->ranges;
    for (size_t r = 0; r < m->ranges && status == SG_OK; r++)
        status = open_range(m, r, config->range[r], config->range[r + 1], err);
    method_ranges_begin(m);
    for (size_t w = 0; w < m->count && status == SG_OK; w++) {
        if ((m->worker[w].part = calloc(m->ranges, sizeof *m->worker[w].part)) == NULL)
            return sg_fail_memory(err, "ranges of layers");
        for (size_t r = 0; r < m->ranges && status == SG_OK; r++)
            status = open_part(m, &m->worker[w], r, err);
    }
    return status;
}

void method_ranges_begin(sg_method *m) {
    for (size_t r = 0; r < m->ranges; r++) {
        struct method_range *range = &m->range[r];
        const struct sg_layout layout = range->shared.layout;
        range->shared = m->shared;
        range->shared.layout = layout;
        range->shared.knob = m->shared.knob + range->layer;
    }
}

void method_ranges_close(sg_method *m) {
    for (size_t w = 0; m->worker && w < m->count; w++) {
        for (size_t r = 0; m->worker[w].part && r < m->ranges; r++)
            free(m->worker[w].part[r].seen.scratch);
        free(m->worker[w].part);
    }
    for (size_t r = 0; r < m->ranges; r++)
        free((void *)m->range[r].shared.layout.offset);
    free(m->range);
}

/* ---- a step ---- */

sg_status sg_method_send_range(sg_method *m, size_t worker, size_t range, const float *g, float *e,
                               struct sg_message *out, struct sg_error *err) {
    SG_ASSERT(m->stepped && sg_method_sends_ranges(m) && range < m->ranges);
    struct method_worker *w = method_worker_at(m, worker), *part = &w->part[range];
    const size_t begin = m->range[range].begin;
    if (method_prepare(m, part, e, err) != SG_OK)
        return err->status;
    part->input = w->input ? w->input + begin : NULL;
    const struct sg_select s = method_step_selection(m, part, g + begin, e ? e + begin : NULL);
    const int status = method_message(m, part, 0, &s, &part->sent);
    if (status != SG_KERNEL_OK)
        return method_fail(m, part, status, err);
    w->ranges_sent++;
    *out = part->sent;
    return SG_OK;
}

/* Entries move forward to where those of the ranges before them end. Those of an exact method are there already, and an
 * exchange may be reading them. */
void method_join(const sg_method *m, struct method_worker *w, struct sg_message *out) {
    SG_ASSERT(w->ranges_sent == m->ranges);
    const size_t width = method_code(m)->width;
    uint32_t *index = w->room->index;
    char *data = width == sizeof(float) ? (char *)w->room->value : w->room->data;
    *out = (struct sg_message){
        .code = method_code(m), .n = m->d, .index = w->part->sent.index ? index : NULL, .data = data};
    out->layer_count = w->count;
    for (size_t r = 0; r < m->ranges; r++) {
        const struct sg_message *sent = &w->part[r].sent;
        for (size_t j = 0; out->index && j < sent->count; j++)
            index[out->count + j] = sent->index[j] + (uint32_t)m->range[r].begin;
        if (data + out->bytes != (const char *)sent->data)
            memmove(data + out->bytes, sent->data, sent->bytes);
        out->count += sent->count;
        out->bytes += sent->bytes;
        out->bits += sent->bits;
    }
    w->ranges_sent = 0;
}

/* method_message.c: one worker's message: a selection with its values in a code, or what a coder makes of p; and what
 * the message leaves in the residual. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "method_private.h"
#include "sg_debug.h"

/* ---- selectors ---- */

static size_t total(const struct sg_select *s) {
    size_t count = 0;
    for (size_t l = 0; l < s->n_layers; l++)
        count += s->count[l];
    return count;
}

static size_t elements(const struct sg_select *s) {
    return s->offset[s->n_layers];
}

int method_count_layers(const struct sg_kernels *kernels, const struct sg_select *s, size_t found) {
    uint32_t part[256];
    size_t layer = 0;
    memset(s->count, 0, s->n_layers * sizeof *s->count);
    for (size_t at = 0, n; at < found; at += n) {
        n = found - at < 256 ? found - at : 256;
        const int status = kernels->get(s->exec, part, s->index + at, n * sizeof *part);
        if (status != SG_KERNEL_OK)
            return status;
        for (size_t j = 0; j < n; j++) {
            while (s->offset[layer + 1] <= part[j])
                layer++;
            s->count[layer]++;
        }
    }
    return SG_KERNEL_OK;
}

/* Takes back a selection of more entries than the controller allows, and sends the largest of them; of equal ones those
 * with the lower index. */
static int cut(const sg_method *m, const struct sg_select *s) {
    SG_ASSERT(s->index && m->settings.most >= 0);
    size_t found = total(s);
    const size_t most = (size_t)m->settings.most;
    struct sg_select again = *s;
    again.n_layers = 1;
    again.offset = (const size_t[]){0, elements(s)};
    again.count = &found;
    if (s->e) { /* 0 where entries were sent, p elsewhere */
        m->shared.kernels->scatter_add(s->exec, s->e, s->index, s->value, found);
        again.scale = 0;
        again.decay = 1;
    }
    const int status = m->shared.kernels->select_topk(&again, &most, NULL);
    return status == SG_KERNEL_OK ? method_count_layers(m->shared.kernels, s, found) : status;
}

int method_write(const struct sg_worker *w, const struct sg_code *code, struct sg_numbers numbers,
                 struct sg_message *out) {
    const struct sg_shared *s = w->shared;
    SG_ASSERT(w->data || numbers.count == 0);
    numbers.parts = s->layout.n_layers;
    numbers.part = w->count;
    numbers.seed = s->seed;
    numbers.worker = w->number;
    numbers.step = s->step;
    numbers.kernels = s->kernels;
    numbers.threads = s->exec.threads;
    numbers.exec = &s->exec;
    out->code = code;
    out->data = w->data;
    out->parts = numbers.parts;
    if (s->exec.device)
        return code->encode_on_gpu(w->data, &numbers, &out->bytes, &out->bits);
    out->bytes = code->encode(w->data, &numbers, &out->bits);
    return SG_KERNEL_OK;
}

/* input <- p, from what was kept and what was sent: at every element one of the two is 0. */
static void copy_input(const struct method_worker *w, const struct sg_select *s, size_t count) {
    const size_t d = elements(s);
    const float *value = w->room->value;
    if (!w->input)
        return;
    if (!s->e && s->scale == 1) {
        memcpy(w->input, s->g, d * sizeof *w->input);
        return;
    }
    if (s->e) /* an exact compressor needs no residual: all of p is in its message */
        memcpy(w->input, s->e, d * sizeof *w->input);
    for (size_t j = 0; j < count; j++)
        w->input[s->index ? s->index[j] : j] = value[j];
}

static int select_message(sg_method *m, struct method_worker *w, const struct sg_select *selection,
                          struct sg_message *out) {
    struct sg_select s = *selection;
    const struct message_room *room = w->room;
    const struct sg_code *code = m->shared.code;
    const size_t d = elements(&s);
    int status = m->compressor->select(&w->seen, &s);
    if (m->added && status == SG_KERNEL_OK && (w->fault = method_selection_fault(&w->seen.shared->layout, &s)) != NULL)
        return METHOD_MALFORMED;
    size_t count = status == SG_KERNEL_OK ? total(&s) : 0;
    const bool is_cut = (double)count > m->settings.most;
    if (is_cut) {
        status = cut(m, &s);
        count = total(&s);
    }
    if (status != SG_KERNEL_OK)
        return status;
    SG_ASSERT(count <= d && (!room->index || s.exec->device || sg_ascending_below(room->index, count, d)));
    copy_input(w, &s, count);
    *out = (struct sg_message){.code = code,
                               .n = d,
                               .count = count,
                               .index = room->index,
                               .data = room->value,
                               .bytes = count * code->width,
                               .layer_count = w->count};
    const bool cheap = !is_cut && sg_compressor_traits(m->compressor, m->param) & SG_TRAIT_CHEAP_POSITIONS;
    const double positions = cheap ? w->seen.position_bits : room->index ? 32.0 * (double)count : 0;
    out->known = cheap && w->seen.same_positions;
    if (code != &sg_code_fp32)
        status = method_write(&w->seen, code,
                              (struct sg_numbers){.value = room->value, .count = count, .param = m->code_param}, out);
    /* Floats and halves count as the paper counts: 32 bits a value and 32 a position. */
    out->bits = positions + (code->width > 0 ? 32.0 * (double)count : out->bits);
    if (m->added && status == SG_KERNEL_OK &&
        (w->fault = method_message_fault(m, &w->seen.shared->layout, 0, out)) != NULL)
        return METHOD_MALFORMED;
    if (code != &sg_code_fp32 && s.e && status == SG_KERNEL_OK)
        sg_message_read(
            &(struct sg_sink){.kind = SG_SINK_DIFFERENCE, .to = s.e, .index = out->index, .value = room->value}, out,
            m->shared.kernels, s.exec);
    return status;
}

/* ---- coders ---- */

/* By a selection whose threshold no finite number reaches: on a GPU this waits once, whatever the number of layers. */
int method_check_finite(const sg_method *m, const struct method_worker *w, const float *p) {
    struct sg_select s = method_selection(&w->seen, p);
    s.index = w->room->index;
    s.value = w->room->value;
    return m->shared.kernels->select_threshold(&s, m->unreached);
}

/* Computes p in the residual, if there is one, by a selection whose threshold no finite number reaches. */
static int form_p(const sg_method *m, const struct method_worker *w, const struct sg_select *s) {
    const int status = s->e ? m->shared.kernels->select_threshold(s, m->unreached) : method_check_finite(m, w, s->g);
    const float *p = s->e ? s->e : s->g;
    if (status == SG_KERNEL_OK && w->p)
        m->shared.kernels->copy(&m->shared.exec, w->p, p, elements(s));
    if (status == SG_KERNEL_OK && w->input)
        memcpy(w->input, p, elements(s) * sizeof *p);
    return status;
}

static int code_message(sg_method *m, struct method_worker *w, unsigned round, const struct sg_select *s,
                        struct sg_message *out) {
    const struct sg_compressor_ops *ops = m->compressor;
    int status = round == 0 ? form_p(m, w, s) : SG_KERNEL_OK;
    const float *p = s->e ? s->e : w->p ? w->p : s->g;
    if (status != SG_KERNEL_OK)
        return status;
    if (ops->code) {
        const size_t d = method_count_all(&w->seen);
        const double *knob = ops->knob ? w->seen.shared->knob : NULL;
        *out = (struct sg_message){.n = d, .count = d, .layer_count = w->count};
        status = method_write(&w->seen, ops->code,
                              (struct sg_numbers){.value = p, .count = d, .param = m->param, .knob = knob}, out);
        if (status != SG_KERNEL_OK)
            return status;
    } else {
        *out = (struct sg_message){.layer_count = w->count};
        w->seen.status = SG_KERNEL_OK;
        ops->encode(&w->seen, round, p, out);
        if (w->seen.status != SG_KERNEL_OK || !out->code)
            return w->seen.status != SG_KERNEL_OK ? w->seen.status : SG_KERNEL_MEMORY;
    }
    if (m->added && (w->fault = method_message_fault(m, &w->seen.shared->layout, round, out)) != NULL)
        return METHOD_MALFORMED;
    if (s->e && (!ops->rounds || !ops->rounds->keep))
        sg_message_read(&(struct sg_sink){.kind = SG_SINK_ADD, .to = s->e, .index = out->index, .weight = -1}, out,
                        m->shared.kernels, s->exec);
    return SG_KERNEL_OK;
}

int method_message(sg_method *m, struct method_worker *w, unsigned round, const struct sg_select *s,
                   struct sg_message *out) {
    return m->compressor->select ? select_message(m, w, s, out) : code_message(m, w, round, s, out);
}

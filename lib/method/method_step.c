/* method_step.c: a step of a method: the controller's decision, error feedback, the message, what is learned. */
#include "method_private.h"

#include <math.h>
#include <string.h>

/* ---- before the step ---- */

static double unit_of(const sg_method *m, double gamma) {
    return m->feedback.form == SG_FEEDBACK_UPDATE ? gamma : 1;
}

static unsigned asks(const sg_method *m, uint64_t step, double gamma) {
    struct sg_facts f = m->facts;
    f.step = step;
    f.gamma = gamma;
    f.unit = unit_of(m, gamma);
    return m->controller != NULL && m->controller->ask != NULL ? m->controller->ask(m->controller_param, m->state, &f)
                                                               : 0;
}

bool sg_method_leads(const sg_method *m, uint64_t step, double gamma) {
    return asks(m, step, gamma) & (SG_ASK_LEAD_NOW | SG_ASK_LEAD_SUM);
}

void sg_method_lead(sg_method *m, const float *g, double *square) {
    const float *x = m->lead_sum != NULL ? m->lead_sum : g;
    for (size_t l = 0; l < m->layout.n_layers; l++) {
        const size_t begin = m->layout.offset[l];
        square[l] = m->kernels->sum_squares(&m->exec, x + begin, m->layout.offset[l + 1] - begin);
    }
}

void sg_method_begin(sg_method *m, uint64_t step, double gamma, const double *square) {
    m->asked = asks(m, step, gamma);
    m->facts.step = step;
    m->facts.gamma = gamma;
    m->facts.unit = unit_of(m, gamma);
    m->facts.lead_square = square;
    m->settings.most = INFINITY;
    if (m->controller != NULL)
        m->controller->decide(m->controller_param, m->state, &m->facts, &m->settings);
    m->facts.lead_square = NULL;
    if (m->asked & SG_ASK_RESTART && m->lead_sum != NULL)
        m->kernels->zero(&m->exec, m->lead_sum, m->d * sizeof *m->lead_sum);
    m->stepped = true;
}

/* ---- one worker's message ---- */

static sg_status fail_kernel(const sg_method *m, const struct method_worker *w, int kernel_status,
                             struct sg_error *err) {
    const size_t layer = w->count[0]; /* of a non-finite element */
    const unsigned number = w->seen.number;
    const unsigned long long step = m->facts.step;
    switch (kernel_status) {
    case SG_KERNEL_NONFINITE:
        return sg_fail(
            err, SG_ERR_NONFINITE,
            "worker %u, step %llu, layer %zu%s%s: the gradient or what error feedback adds to it is NaN or Inf", number,
            step, layer, m->layout.name != NULL ? " " : "", m->layout.name != NULL ? m->layout.name[layer] : "");
    case SG_KERNEL_MEMORY:
        return sg_fail_memory(err, "selecting elements");
    default:
        return sg_fail(err, SG_ERR_UNSUPPORTED, "worker %u, step %llu: the device failed in %s (%s)", number, step,
                       m->compressor->name, m->kernels->name);
    }
}

static size_t total(const struct sg_select *s) {
    size_t count = 0;
    for (size_t l = 0; l < s->n_layers; l++)
        count += s->count[l];
    return count;
}

/* Entries of each layer, from the indices of them all, which lie in the kernels' memory. */
static int count_layers(const sg_method *m, const struct sg_select *s, size_t found) {
    uint32_t part[256];
    size_t layer = 0;
    memset(s->count, 0, s->n_layers * sizeof *s->count);
    for (size_t at = 0, n; at < found; at += n) {
        n = found - at < 256 ? found - at : 256;
        const int status = m->kernels->get(&m->exec, part, s->index + at, n * sizeof *part);
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

/* A selection of more than the controller allows: it is taken back, and its largest are sent, ties to the lower index. */
static int cut(const sg_method *m, const struct sg_select *s) {
    size_t found = total(s);
    const size_t most = (size_t)m->settings.most;
    struct sg_select again = *s;
    again.n_layers = 1;
    again.offset = (const size_t[]){0, m->d};
    again.count = &found;
    if (s->e != NULL) { /* 0 where entries were sent, p elsewhere */
        m->kernels->scatter_add(&m->exec, s->e, s->index, s->value, found);
        again.scale = 0;
        again.decay = 1;
    }
    const int status = m->kernels->select_topk(&again, &most, NULL);
    return status == SG_KERNEL_OK ? count_layers(m, s, found) : status;
}

static int select_message(sg_method *m, struct method_worker *w, struct sg_select *s, struct sg_message *out) {
    int status = m->compressor->select(&w->seen, s);
    size_t count = status == SG_KERNEL_OK ? total(s) : 0;
    if ((double)count > m->settings.most) {
        status = cut(m, s);
        count = total(s);
    }
    if (status != SG_KERNEL_OK)
        return status;
    const struct message_room *room = w->room;
    if (room->half != NULL)
        m->kernels->encode_half(&m->exec, room->half, room->value, room->index, count, s->e);
    *out = (struct sg_message){
        .code = m->code,
        .n = m->d,
        .count = count,
        .index = room->index,
        .data = room->half != NULL ? (const void *)room->half : room->value,
        .bytes = count * m->code->width,
        /* As the paper counts, whatever the code: 32 a value, and 32 an index unless all are sent. */
        .bits = (room->index != NULL ? 64.0 : 32.0) * (double)count,
        .layer_count = w->count,
    };
    return SG_KERNEL_OK;
}

bool sg_method_is_exact(const sg_method *m) {
    return m->compressor->traits & SG_TRAIT_EXACT && m->code == &sg_code_fp32;
}

/* What worker 0's gradient and all gradients are asked for beside the message. */
static void answer(sg_method *m, struct method_worker *w, const float *g) {
    w->note = m->asked & SG_ASK_LARGEST ? m->kernels->sum_squares(&m->exec, g, m->d) : 0;
    if (m->asked & SG_ASK_ADD && w->seen.number == 0)
        m->kernels->scatter_add(&m->exec, m->lead_sum, NULL, g, m->d);
}

sg_status sg_method_send(sg_method *m, size_t worker, const float *g, float *e, const struct sg_ranges *touched,
                         struct sg_message *out, struct sg_error *err) {
    struct method_worker *w = &m->worker[worker - m->first];
    const enum sg_feedback_form form = m->feedback.form;
    if (e == NULL ? form != SG_FEEDBACK_NONE && !sg_method_is_exact(m) : form == SG_FEEDBACK_NONE)
        return sg_fail(err, SG_ERR_ARGUMENT, "a residual goes with error feedback, and only with it");
    const float scale = (float)m->facts.unit;
    if (!(scale > 0 && isfinite(scale)))
        return sg_fail(err, SG_ERR_ARGUMENT, "learning rate %g at step %llu is not a positive float", m->facts.gamma,
                       (unsigned long long)m->facts.step);
    w->seen.step = m->facts.step;
    w->seen.unit = m->facts.unit;
    w->seen.counted = m->settings.most < INFINITY;
    w->seen.touched = touched;
    struct sg_select s = {
        .exec = &m->exec,
        .n_layers = m->layout.n_layers,
        .offset = m->layout.offset,
        .g = g,
        .e = e,
        .scale = scale,
        .decay = form == SG_FEEDBACK_NONE ? 1 : (float)m->feedback.decay,
        .index = w->room->index,
        .value = w->room->value,
        .count = w->count,
    };
    answer(m, w, g);
    const int status = select_message(m, w, &s, out);
    return status == SG_KERNEL_OK ? SG_OK : fail_kernel(m, w, status, err);
}

const float *sg_method_values(sg_method *m, size_t worker, const struct sg_message *message) {
    return sg_message_values(message, m->worker[worker - m->first].room->value, m->kernels, &m->exec);
}

double sg_method_note(const sg_method *m, size_t worker) {
    return m->worker[worker - m->first].note;
}

/* ---- after the step ---- */

void sg_method_end(sg_method *m, double entries, double largest_note) {
    if (m->controller != NULL && m->controller->learn != NULL)
        m->controller->learn(m->controller_param, m->state, &m->facts, entries, largest_note);
}

double sg_method_threshold(const sg_method *m) {
    const struct sg_compressor_ops *ops = m->compressor;
    if (!m->stepped || ops->knob == NULL || strcmp(ops->params[ops->knob(m->param)].name, "lambda") != 0)
        return NAN;
    const double lambda = m->settings.knob[0];
    return m->controller == NULL || lambda > 0 ? lambda : (double)NAN;
}

double sg_method_budget(const sg_method *m) {
    return m->controller != NULL && m->controller->budget != NULL
               ? m->controller->budget(m->controller_param, &m->facts)
               : (double)NAN;
}

const double *sg_method_modes(const sg_method *m) {
    return m->controller != NULL && m->controller->modes != NULL ? m->controller->modes(m->state, m->layout.n_layers)
                                                                 : NULL;
}

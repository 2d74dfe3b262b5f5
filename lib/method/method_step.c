/* method_step.c: a step of a method: the controller's decision, error feedback, the message, what is learned. */
/* SPDX-License-Identifier: MIT */
#include "method_private.h"

#include <math.h>
#include <string.h>

#include "sg_debug.h"

/* ---- before the step ---- */

static double unit_of(const sg_method *m, double gamma) {
    return m->shared.feedback.rule->in_updates ? gamma : 1;
}

static unsigned asks(const sg_method *m, uint64_t step, double gamma) {
    struct sg_facts f = m->facts;
    f.step = step;
    f.gamma = gamma;
    f.unit = unit_of(m, gamma);
    return m->controller && m->controller->ask ? m->controller->ask(m->controller_param, m->state, &f) : 0;
}

bool method_leads(const sg_method *m, uint64_t step, double gamma) {
    return asks(m, step, gamma) & (SG_ASK_LEAD_NOW | SG_ASK_LEAD_SUM);
}

void sg_method_lead(sg_method *m, const float *g, double *square) {
    SG_ASSERT(m->first == 0);
    const float *x = m->lead_sum ? m->lead_sum : g;
    if (m->controller->choose) {
        method_choose(m, x, square);
        return;
    }
    for (size_t l = 0; l < m->shared.layout.n_layers; l++) {
        const size_t begin = m->shared.layout.offset[l];
        square[l] = m->shared.kernels->sum_squares(&m->shared.exec, x + begin, m->shared.layout.offset[l + 1] - begin);
    }
}

void sg_method_begin(sg_method *m, uint64_t step, double gamma, const double *square) {
    SG_ASSERT(!square || method_leads(m, step, gamma));
    m->asked = asks(m, step, gamma);
    m->shared.rate_ratio = m->shared.feedback.rule->follows_rate && m->facts.gamma > 0 ? m->facts.gamma / gamma : 1;
    m->decay = m->shared.feedback.decay * m->shared.rate_ratio;
    m->facts.step = step;
    m->facts.gamma = gamma;
    m->facts.unit = unit_of(m, gamma);
    m->facts.lead_square = square;
    m->settings.most = INFINITY;
    if (m->controller)
        m->controller->decide(m->controller_param, m->state, &m->facts, &m->settings);
    m->facts.lead_square = NULL;
    if (m->asked & SG_ASK_RESTART && m->lead_sum)
        m->shared.kernels->zero(&m->shared.exec, m->lead_sum, m->d * sizeof *m->lead_sum);
    m->shared.step = step;
    m->shared.knob = m->decided;
    m->stepped = true;
    m->decided_to_send = false;
    method_ranges_begin(m);
    method_fragments_begin(m);
}

/* ---- workers with parameters of their own ---- */

bool sg_method_is_local(const sg_method *m) {
    return m->shared.feedback.rule->offset != NULL;
}

const float *sg_method_offset(const sg_method *m, size_t worker, float *e) {
    struct method_worker *w = &m->worker[worker - m->first];
    if (!sg_method_is_local(m))
        return NULL;
    w->feedback.e = e;
    return m->shared.feedback.rule->offset(&w->feedback);
}

bool sg_method_sends(const sg_method *m) {
    const struct sg_feedback *f = &m->shared.feedback;
    if (f->rule->measure)
        return m->decided_to_send;
    return sg_feedback_sends(f, m->facts.step);
}

bool sg_method_moves(const sg_method *m) {
    const struct sg_feedback *f = &m->shared.feedback;
    return f->rule->measure ? m->decided_to_send : sg_feedback_moves(f, m->facts.step);
}

uint64_t sg_method_next_send(const sg_method *m, uint64_t step) {
    const struct sg_feedback *f = &m->shared.feedback;
    while (!sg_feedback_sends(f, step) && step != m->facts.steps)
        step++;
    return step;
}

/* How many rounds come before those of the compressor: one if the workers decide together when to send. */
static unsigned rounds_before(const sg_method *m) {
    return m->shared.feedback.rule->measure && m->d > 0;
}

bool sg_method_exchanges(const sg_method *m, unsigned round) {
    return sg_method_sends(m) || round < rounds_before(m);
}

bool method_resets(const sg_method *m) {
    const struct sg_feedback *f = &m->shared.feedback;
    return f->rule->resets && m->stepped && !sg_method_is_exact(m) && f->rule->resets(f->param, m->facts.step);
}

bool sg_method_sends_input(const sg_method *m) {
    return sg_method_sends(m) && !method_resets(m) && m->stream.fragments <= 1;
}

/* ---- one worker's message ---- */

struct method_worker *method_worker_at(const sg_method *m, size_t worker) {
    SG_ASSERT(worker >= m->first && worker < m->first + m->count);
    return &m->worker[worker - m->first];
}

sg_status method_fail(const sg_method *m, const struct method_worker *w, int kernel_status, struct sg_error *err) {
    const size_t layer = w->layer + w->count[0]; /* the layer of an element that is not finite */
    const unsigned number = w->seen.number;
    const unsigned long long step = m->facts.step;
    switch (kernel_status) {
    case SG_KERNEL_NONFINITE:
        return sg_fail(
            err, SG_ERR_NONFINITE,
            "worker %u, step %llu, layer %zu%s%s: the gradient or what error feedback adds to it is NaN or Inf", number,
            step, layer, m->shared.layout.name ? " " : "", m->shared.layout.name ? m->shared.layout.name[layer] : "");
    case SG_KERNEL_MEMORY:
        return sg_fail_memory(err, "selecting elements");
    case SG_COMPRESSOR_FAILED:
        return sg_fail(err, SG_ERR_FORMAT, "worker %u, step %llu: '%s' failed, for the reason that it printed", number,
                       step, m->compressor->name);
    case METHOD_MALFORMED:
        return sg_fail(
            err, SG_ERR_FORMAT,
            "worker %u, step %llu: a message of '%s' is wrong: %s (sparsebench --verify-compressors tries it)", number,
            step, m->compressor->name, w->fault);
    default:
        return sg_fail(err, SG_ERR_UNSUPPORTED, "worker %u, step %llu: the device failed in %s (%s)", number, step,
                       m->compressor->name, m->shared.kernels->name);
    }
}

bool sg_method_has_residuals(const sg_method *m) {
    return m->shared.feedback.rule->keeps;
}

bool sg_method_is_exact(const sg_method *m) {
    return m->compressor->traits & SG_TRAIT_EXACT && m->shared.code == &sg_code_fp32;
}

/* Makes the measurements of this worker's gradient that the controller requested. */
static void answer(sg_method *m, struct method_worker *w, const float *g) {
    const bool leads = w->seen.number == 0;
    const bool squares = m->asked & SG_ASK_LARGEST || (m->asked & SG_ASK_LEAD_AFTER && leads);
    w->note = squares ? m->shared.kernels->sum_squares(&m->shared.exec, g, m->d) : 0;
    if (m->asked & SG_ASK_ADD && leads)
        m->shared.kernels->scatter_add(&m->shared.exec, m->lead_sum, NULL, g, m->d);
}

/* A step at which nobody sends, or a round in which nobody sends yet: the worker steps by itself. Its message is empty,
 * or has the number by which the workers decide. Returns enum sg_kernel_status. */
static int send_nothing(const sg_method *m, struct method_worker *w, struct sg_message *out) {
    const struct sg_feedback_rule *rule = m->shared.feedback.rule;
    const int status = rounds_before(m) > 0 ? method_check_finite(m, w, w->g) : SG_KERNEL_OK;
    if (status != SG_KERNEL_OK)
        return status;
    memset(w->count, 0, m->shared.layout.n_layers * sizeof *w->count);
    if (w->input)
        memset(w->input, 0, m->d * sizeof *w->input);
    *out = (struct sg_message){
        .code = &sg_code_fp32, .n = m->d, .index = w->room->index, .data = w->room->value, .layer_count = w->count};
    if (rounds_before(m) > 0) {
        w->room->value[0] = (float)rule->measure(&w->feedback);
        method_send_floats(&w->seen, 1, 1, NULL, w->room->value, 32, out);
    }
    return SG_KERNEL_OK;
}

/* The second message of a step: what is sent of the residual e leaves it. */
static int send_residual(sg_method *m, struct method_worker *w, const struct sg_select *step, struct sg_message *out) {
    struct sg_select s = *step;
    float *input = w->input; /* what the first message was made of stays there */
    s.g = m->zeros;
    s.scale = s.decay = 1;
    w->input = NULL;
    const int status = method_message(m, w, 0, &s, out);
    w->input = input;
    return status;
}

sg_status method_prepare(const sg_method *m, struct method_worker *w, float *e, struct sg_error *err) {
    const struct sg_feedback_rule *rule = m->shared.feedback.rule;
    if (!e ? rule->keeps && !sg_method_is_exact(m) : !rule->keeps)
        return sg_fail(err, SG_ERR_ARGUMENT, "a residual goes with error feedback, and only with it");
    const float scale = (float)m->facts.unit;
    if (!(scale > 0 && isfinite(scale)))
        return sg_fail(err, SG_ERR_ARGUMENT, "learning rate %g at step %llu is not a positive float", m->facts.gamma,
                       (unsigned long long)m->facts.step);
    w->seen.unit = m->facts.unit;
    w->seen.counted = m->settings.most < INFINITY;
    w->seen.most = m->settings.most;
    w->seen.touched = NULL;
    w->feedback.e = e;
    w->feedback.unit = m->facts.unit;
    return SG_OK;
}

struct sg_select method_step_selection(const sg_method *m, const struct method_worker *w, const float *g, float *e) {
    const struct sg_feedback_rule *rule = m->shared.feedback.rule;
    const struct sg_layout *layout = &w->seen.shared->layout;
    return (struct sg_select){
        .exec = &m->shared.exec,
        .n_layers = layout->n_layers,
        .offset = layout->offset,
        .g = g,
        .e = e,
        .scale = rule->scaled ? 1 : (float)m->facts.unit,
        .decay = rule->keeps ? (float)m->decay : 1,
        .index = w->room->index,
        .value = w->room->value,
        .count = w->count,
    };
}

sg_status sg_method_send(sg_method *m, size_t worker, unsigned round, const float *g, float *e,
                         const struct sg_ranges *touched, struct sg_message *out, struct sg_error *err) {
    SG_ASSERT(m->stepped && round < sg_method_rounds(m) && (g != NULL) == (round == 0));
    struct method_worker *w = method_worker_at(m, worker);
    const struct sg_feedback_rule *rule = m->shared.feedback.rule;
    if (method_prepare(m, w, e, err) != SG_OK)
        return err->status;
    w->seen.touched = rule->before ? NULL : touched;
    if (round == 0) {
        answer(m, w, g);
        w->g = rule->before ? rule->before(&w->feedback, g) : g;
    }
    if (!sg_method_sends(m)) {
        const int status = send_nothing(m, w, out);
        return status == SG_KERNEL_OK ? SG_OK : method_fail(m, w, status, err);
    }
    const unsigned own = round - rounds_before(m); /* the compressor's round */
    const struct sg_select s = method_step_selection(m, w, own == 0 ? w->g : NULL, e);
    int status = SG_KERNEL_OK;
    if (w->ranges_sent > 0)
        method_join(m, w, out);
    else if (m->stream.fragments > 1)
        status = method_fragment_message(m, w, e, out, err);
    else
        status = own > 0 && method_resets(m) ? send_residual(m, w, &s, out) : method_message(m, w, own, &s, out);
    SG_ASSERT(status != SG_KERNEL_OK || (out->n == method_round_length(m, round) && out->count <= out->n));
    SG_TRACE(3, "worker %u, step %llu, round %u: %zu of %zu numbers as %s, %g bits", w->seen.number,
             (unsigned long long)m->facts.step, round, status == SG_KERNEL_OK ? out->count : 0, m->d,
             status == SG_KERNEL_OK ? out->code->name : "nothing", status == SG_KERNEL_OK ? out->bits : 0);
    if (status == SG_KERNEL_OK && own == 0 && rule->after)
        rule->after(&w->feedback, g, out);
    if (status == SG_KERNEL_OK && own == 0 && rule->stream)
        method_merge_now(m, w);
    if (status == SG_KERNEL_OK && own == 0 && rule->keep && !sg_method_keeps_late(m))
        rule->keep(&w->feedback);
    return status == SG_KERNEL_OK ? SG_OK : method_fail(m, w, status, err);
}

const float *sg_method_input(const sg_method *m, size_t worker) {
    return method_worker_at(m, worker)->input;
}

const float *sg_method_values(sg_method *m, size_t worker, const struct sg_message *message) {
    return sg_message_values(message, method_worker_at(m, worker)->room->value, m->shared.kernels, &m->shared.exec);
}

double sg_method_note(const sg_method *m, size_t worker) {
    return method_worker_at(m, worker)->note;
}

/* ---- rounds, and what the sum leaves ---- */

unsigned sg_method_rounds(const sg_method *m) {
    const unsigned count = m->compressor->rounds ? m->compressor->rounds->count : 1;
    return m->stepped && !sg_method_sends(m) ? 1 : rounds_before(m) + count + (method_resets(m) ? 1 : 0);
}

size_t method_length(const sg_method *m, unsigned round) {
    const struct sg_rounds *rounds = m->compressor->rounds;
    if (m->stream.fragments > 1 && m->stepped && sg_method_sends(m)) {
        const struct sg_layout *layout = &method_fragment_sent(m)->shared.layout;
        return layout->offset[layout->n_layers];
    }
    return rounds && rounds->length ? rounds->length(&m->shared, round) : m->d;
}

size_t method_round_length(const sg_method *m, unsigned round) {
    return round < rounds_before(m) ? 1 : method_length(m, round - rounds_before(m));
}

bool sg_method_hears(const sg_method *m) {
    return m->compressor->rounds && m->compressor->rounds->hears;
}

void method_hear(sg_method *m, const struct sg_message *messages) {
    SG_ASSERT(sg_method_hears(m));
    m->shared.heard = messages;
}

/* After the first message of a step that sends the residual: keeps its sum, and prepares the second message. No run has
 * as many steps as the second message's random streams are away. Then the sum is that of both. */
static void add_messages(sg_method *m, unsigned round, float *sum) {
    if (round > 0) {
        method_combine(&m->common, sum, 1, m->first_sum);
        return;
    }
    memcpy(m->first_sum, sum, m->d * sizeof *sum);
    m->shared.step = m->facts.step + METHOD_SECOND_MESSAGE;
    m->shared.knob = isnan(m->reset_knob[0]) ? m->decided : m->reset_knob;
}

void method_receive(sg_method *m, unsigned round, float *sum) {
    SG_ASSERT(round < sg_method_rounds(m) && sum);
    if (round < rounds_before(m)) {
        const struct sg_feedback *f = &m->shared.feedback;
        m->decided_to_send = f->rule->decides(f->param, (double)sum[0] / (double)m->shared.workers);
        return;
    }
    SG_ASSERT((m->shared.heard != NULL) == sg_method_hears(m));
    round -= rounds_before(m);
    if (m->compressor->rounds)
        m->compressor->rounds->combine(&m->shared, round, sum);
    if (m->stream.fragments > 1)
        method_spread(m, sum);
    m->again = (struct sg_message){0};
    if (m->compressor->rounds && m->compressor->rounds->again)
        m->compressor->rounds->again(&m->shared, sum, &m->again);
    if (method_resets(m))
        add_messages(m, round, sum);
}

const struct sg_message *sg_method_again(const sg_method *m) {
    return m->again.code ? &m->again : NULL;
}

bool sg_method_keeps_late(const sg_method *m) {
    return m->compressor->rounds && m->compressor->rounds->keep && m->shared.feedback.rule->keeps &&
           (!m->stepped || sg_method_sends(m));
}

void sg_method_keep(sg_method *m, size_t worker, float *e, const float *sum) {
    struct method_worker *w = method_worker_at(m, worker);
    if (!sg_method_keeps_late(m))
        return;
    m->compressor->rounds->keep(&w->seen, e, sum);
    w->feedback.e = e;
    if (m->shared.feedback.rule->keep)
        m->shared.feedback.rule->keep(&w->feedback);
}

bool sg_method_splits(const sg_method *m) {
    const struct sg_rounds *rounds = m->compressor->rounds;
    return (!rounds || !rounds->keep) && !m->shared.feedback.rule->keep && m->stream.fragments <= 1;
}

/* ---- after the step ---- */

void method_end(sg_method *m, float *sum, const struct sg_spent *spent) {
    SG_ASSERT(m->stepped && spent->entries >= 0 && spent->bits >= 0);
    SG_TRACE(2, "step %llu: knob of layer 0 %g, %g entries a worker", (unsigned long long)m->facts.step,
             m->settings.knob[0], spent->entries);
    if (m->controller && m->controller->learn)
        m->controller->learn(m->controller_param, m->state, &m->facts, spent);
    if (sum && m->shared.feedback.rule->result)
        m->shared.feedback.rule->result(&m->common, sum);
    if (sum && m->pending)
        method_hold(m, sum);
}

double sg_method_threshold(const sg_method *m) {
    const struct sg_compressor_ops *ops = m->compressor;
    if (!m->stepped || !ops->knob || strcmp(ops->params[ops->knob(m->param)].name, "lambda") != 0)
        return NAN;
    const double lambda = m->settings.knob[0];
    return !m->controller || lambda > 0 ? lambda : (double)NAN;
}

double sg_method_budget(const sg_method *m) {
    return m->controller && m->controller->budget ? m->controller->budget(m->controller_param, &m->facts) : (double)NAN;
}

const double *sg_method_modes(const sg_method *m) {
    return m->controller && m->controller->modes ? m->controller->modes(m->state, m->shared.layout.n_layers) : NULL;
}

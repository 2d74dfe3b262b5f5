/* verify_message.c: a worker's messages by themselves, for all settings, forms of feedback, layers and inputs: well
 * formed, within the declared bound, nothing lost, and the same bits from all kernel tables. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verify_private.h"

static const struct form {
    const char *name;
    struct sg_feedback feedback;
    double gamma;
} forms[] = {
    {"update", {&sg_feedback_update, 1, {0}}, 0.1},
    {"none", {&sg_feedback_none, 1, {0}}, 0.1},
    {"gradient", {&sg_feedback_gradient, 1, {0}}, 0.1},
    {"update, decay 0.9", {&sg_feedback_update, 0.9, {0}}, 0.3},
    {"gradient, decay 0", {&sg_feedback_gradient, 0, {0}}, 0.1},
};
enum { FORMS = sizeof forms / sizeof *forms };

static bool keeps(const struct verify_run *run) {
    return run->feedback.rule->keeps;
}

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static size_t layers_of(const struct verify_run *run) {
    return run->cut ? VERIFY_CUTS : 1;
}

/* Ascending positions, each inside its layer, and bytes that the code takes for well formed. */
static bool well_formed(const struct verify_run *run, const struct sg_message *m) {
    const bool dense = run->ops->traits & SG_TRAIT_DENSE;
    size_t j = 0;
    if (m->n != run->n || (!m->index && m->count > 0) != (dense && m->count > 0) || !m->layer_count ||
        (dense && m->count != m->n))
        return false;
    for (size_t l = 0; l < layers_of(run); l++) {
        const size_t begin = run->offset[l], end = run->offset[l + 1], upto = j + m->layer_count[l];
        if (upto > m->count || (dense && m->layer_count[l] != end - begin))
            return false;
        for (; j < upto && !dense; j++)
            if (m->index[j] < begin || m->index[j] >= end || (j > 0 && m->index[j] <= m->index[j - 1]))
                return false;
        j = upto;
    }
    return j == m->count && m->code->valid(m);
}

/* A selector's numbers cost 32 bits each, its positions 32 bits or less with SG_TRAIT_CHEAP_POSITIONS. A coder's
 * numbers cost at most the bits of their bytes (the publication may pack them better), its positions at most 32 bits
 * each. Numbers of a fixed width cost that width. */
static bool right_bits(const struct verify_run *run, const struct sg_message *m) {
    const double count = (double)m->count, positions = run->ops->traits & SG_TRAIT_DENSE ? 0 : 32 * count;
    if (!run->ops->select)
        return m->bits >= count && m->bits <= 8 * (double)m->bytes + positions &&
               m->bits >= 8 * (double)m->code->width * count;
    const bool cheap = sg_compressor_traits(run->ops, run->param) & SG_TRAIT_CHEAP_POSITIONS;
    return m->bits <= 32 * count + positions && m->bits >= 32 * count + (cheap ? 0 : positions);
}

/* A coder's message subtracted from p is what was kept, in that one operation. */
static bool rest_is_kept(sg_verify *v, const struct verify_run *run, const struct sg_message *m) {
    if (!keeps(run))
        return true;
    sg_message_add(v->p, m, -1, &(struct sg_exec){.threads = 1});
    return memcmp(v->p, v->e, run->n * sizeof *v->p) == 0;
}

/* Each p is sent or kept, bit for bit, and the other of the two is +0 (kept nowhere without feedback). */
static bool sent_or_kept(sg_verify *v, const struct verify_run *run, const struct sg_message *m) {
    const float *value = m->data;
    if (m->code != &sg_code_fp32 || m->bytes != m->count * sizeof *value)
        return false;
    for (size_t i = 0, j = 0; i < run->n; i++) {
        const bool sent = j < m->count && (!m->index || m->index[j] == i);
        if (sent && bits_of(value[j]) != bits_of(v->p[i]))
            return false;
        if (keeps(run) && bits_of(v->e[i]) != (sent ? 0 : bits_of(v->p[i])))
            return false;
        j += sent;
    }
    return true;
}

/* The declared bound on |p - C(p)|^2 of every layer, with C(p) = value at the message's positions. In the update form
 * the compressor's input is p / gamma. Random compressors promise it in the mean only (verify_mean.c). Slack: p and
 * |p|^2 round, 2^-22 covers both; a mean rounds to a multiple of 2^-149, and what is sent to 2^-22 of itself. */
static bool within_bound(const sg_verify *v, const struct verify_run *run, const struct sg_message *m,
                         const float *value) {
    const double unit = run->feedback.rule->in_updates ? run->gamma : 1;
    size_t j = 0;
    for (size_t l = 0; l < layers_of(run); l++) {
        const size_t begin = run->offset[l], end = run->offset[l + 1], upto = j + m->layer_count[l];
        double all = 0, left = 0;
        for (size_t i = begin; i < end; i++) {
            const bool sent = j < upto && (!m->index || m->index[j] == i);
            const double off = (double)v->p[i] - (sent ? (double)value[j] : 0);
            all += (double)v->p[i] * (double)v->p[i];
            left += off * off;
            j += sent;
        }
        const double bound = run->ops->bound(run->param, end - begin);
        const double most = !(run->ops->traits & SG_TRAIT_ABSOLUTE) ? (1 - bound) * all : bound * unit * unit;
        if (!isnan(bound) && !(left <= most * (1 + 0x1p-22) + all * 0x1p-44 + (double)(end - begin) * 0x1p-298))
            return false;
    }
    return true;
}

/* Checks a message against the definitions, and keeps it to compare with other kernel tables. */
static void check_first(sg_verify *v, const struct verify_run *run, int t, const struct sg_message *m,
                        const char *input, struct sg_verdict *out) {
    const bool selects = run->ops->select != NULL;
    const bool formed = well_formed(run, m);
    verify_note(&out[SG_VERIFY_FORM], formed, run, "%s, %s: positions, counts or bytes are wrong", input, run->form);
    if (!formed)
        return;
    v->first_count[t] = m->count;
    m->code->decode(v->first_value[t], m, 0, m->count);
    verify_note(&out[SG_VERIFY_BITS], right_bits(run, m), run,
                "%s: the message states %g bits for %zu numbers in %zu bytes of code %s", input, m->bits, m->count,
                m->bytes, m->code->name);
    if (run->ops->bound && !(sg_compressor_traits(run->ops, run->param) & SG_TRAIT_RANDOM))
        verify_note(&out[SG_VERIFY_CLASS], within_bound(v, run, m, v->first_value[t]), run,
                    "%s, %s: more is lost than the declared bound allows", input, run->form);
    verify_note(&out[SG_VERIFY_CONSERVES], (selects ? sent_or_kept : rest_is_kept)(v, run, m), run,
                "%s, %s: something is neither sent nor kept", input, run->form);
    if (m->index)
        memcpy(v->first_index[t], m->index, m->count * sizeof *m->index);
    memcpy(v->first_e[t], v->e, run->n * sizeof *v->e);
}

/* Returns whether message and residual equal those of the first kernel table. */
static bool as_first(const sg_verify *v, const struct verify_run *run, int t, const struct sg_message *m) {
    float *value = v->p;
    if (m->count != v->first_count[t])
        return false;
    m->code->decode(value, m, 0, m->count);
    return memcmp(value, v->first_value[t], m->count * sizeof *value) == 0 &&
           (!m->index || memcmp(v->first_index[t], m->index, m->count * sizeof *m->index) == 0) &&
           memcmp(v->first_e[t], v->e, run->n * sizeof *v->e) == 0;
}

/* Some steps on one kernel table: checked against the definitions if it is the first one, else against that. */
static void play(sg_verify *v, const struct verify_run *run, enum sg_pattern pattern, int table,
                 const struct sg_kernels *kernels, struct sg_verdict *out) {
    const float decay = (float)run->feedback.decay, scale = run->feedback.rule->in_updates ? (float)run->gamma : 1;
    sg_method *m = verify_method(run, VERIFY_WORKER, 1, kernels, 1, &out[SG_VERIFY_FORM]);
    const int steps = run->n > VERIFY_MORE ? 2 : VERIFY_STEPS;
    const size_t failed = out[SG_VERIFY_FORM].failed;
    memset(v->e, 0, run->n * sizeof *v->e);
    for (int t = 0; m && t < steps && out[SG_VERIFY_FORM].failed == failed; t++) {
        const float *g = v->gradient[pattern][t];
        struct sg_error err;
        struct sg_message message;
        for (size_t i = 0; i < run->n && table == 0; i++)
            v->p[i] = keeps(run) ? decay * v->e[i] + scale * g[i] : g[i];
        const struct sg_verify_at at = {VERIFY_WORKER, run->gamma, (uint64_t)t, NULL};
        if (sg_verify_send(m, at, g, keeps(run) ? v->e : NULL, &message, &err) != SG_OK) {
            verify_note(&out[SG_VERIFY_FORM], false, run, "%s: %s", sg_pattern_name[pattern], err.msg);
            break;
        }
        if (table == 0) {
            check_first(v, run, t, &message, sg_pattern_name[pattern], out);
        } else {
            const bool same = as_first(v, run, t, &message);
            verify_note(&out[SG_VERIFY_SAME], same, run, "%s, %s: not the bits of the plain C kernels, with %s",
                        sg_pattern_name[pattern], run->form, verify_table[table]);
            if (!same)
                break;
        }
    }
    sg_method_close(m);
}

/* All forms, settings and layers for one input; long ones take fewer, and coders one. */
static void play_all(sg_verify *v, const struct sg_compressor_ops *ops, size_t n, enum sg_pattern pattern,
                     struct sg_verdict *out) {
    const bool large = n > VERIFY_MORE;
    for (size_t i = 0; i < (large ? 2 : FORMS) * VERIFY_VARIANTS * 2; i++) {
        const struct form *form = &forms[i / 2 / VERIFY_VARIANTS];
        const int variant = (int)(i / 2) % VERIFY_VARIANTS;
        const bool many = i % 2;
        if (large && (many != (variant == 1) || (!ops->select && (variant != 1 || form != forms))))
            continue;
        struct verify_run run = {.ops = ops, .form = form->name, .feedback = form->feedback, .gamma = form->gamma};
        verify_set(&run, variant, n, many, VERIFY_WORKER + 1);
        const size_t failed = out[SG_VERIFY_FORM].failed;
        for (int k = 0; k < VERIFY_TABLES && out[SG_VERIFY_FORM].failed == failed; k++) {
            const struct sg_kernels *kernels = sg_kernels_cpu(verify_table[k]);
            if (kernels)
                play(v, &run, pattern, k, kernels, out);
        }
    }
}

void verify_messages(sg_verify *v, const struct sg_compressor_ops *ops, struct sg_verdict *out) {
    const size_t sizes[] = {0, 1, 2, 31, 32, 33, 1000, v->room - 2, v->room - 1, v->room};
    const size_t n = sizeof sizes / sizeof *sizes - (v->room > VERIFY_MORE ? 0 : 3);
    for (int pattern = 0; pattern < SG_PATTERNS; pattern++)
        for (size_t s = 0; s < n; s++)
            if (sizes[s] <= VERIFY_MORE || (ops->select && pattern <= SG_PATTERN_EQUAL) ||
                (sizes[s] == v->room && pattern == SG_PATTERN_NORMAL))
                play_all(v, ops, sizes[s], (enum sg_pattern)pattern, out);
}

/* A deterministic selector with a bound applied to what it sent sends the same again. Without one it may estimate how
 * much it sends. */
void verify_repeat(sg_verify *v, const struct sg_compressor_ops *ops, struct sg_verdict *out) {
    enum { N = 1000 };
    if (ops->traits & SG_TRAIT_RANDOM || !ops->select || !ops->bound)
        return;
    for (int i = 0; i < VERIFY_VARIANTS * SG_PATTERNS; i++) {
        struct verify_run run = {.ops = ops, .feedback = forms[1].feedback, .gamma = 1};
        struct sg_error err;
        struct sg_message m;
        const struct sg_exec exec = {.threads = 1};
        verify_set(&run, i / SG_PATTERNS, N, true, VERIFY_WORKER + 1);
        sg_method *method = verify_method(&run, VERIFY_WORKER, 1, NULL, 1, &out[SG_VERIFY_REPEAT]);
        if (!method)
            return;
        sg_pattern_fill(v->g, N, (enum sg_pattern)(i % SG_PATTERNS), 5);
        bool fine = true;
        for (uint64_t t = 0; fine && t < 2; t++) {
            const struct sg_verify_at at = {VERIFY_WORKER, 1, t, NULL};
            fine = sg_verify_send(method, at, v->g, NULL, &m, &err) == SG_OK;
            memset(v->p, 0, N * sizeof *v->p);
            if (fine)
                sg_message_add(v->p, &m, 1, &exec);
            fine = fine && (t == 0 || memcmp(v->g, v->p, N * sizeof *v->p) == 0);
            memcpy(v->g, v->p, N * sizeof *v->p);
        }
        verify_note(&out[SG_VERIFY_REPEAT], fine, &run, "%s: what it sent is not sent again",
                    sg_pattern_name[i % SG_PATTERNS]);
        sg_method_close(method);
    }
}

/* Of a compressor with one round the class is that of a worker's message. */
void verify_class(sg_verify *v, const struct sg_compressor_ops *ops, struct sg_verdict *out) {
    enum { N = 1000 };
    if (!ops->rounds || ops->rounds->count > 1 || !ops->bound)
        return;
    for (int i = 0; i < VERIFY_VARIANTS * SG_PATTERNS; i++) {
        struct verify_run run = {.ops = ops, .form = "none", .feedback = forms[1].feedback, .gamma = 1};
        struct sg_error err;
        struct sg_message m;
        verify_set(&run, i / SG_PATTERNS, N, true, VERIFY_WORKER + 1);
        if (sg_compressor_traits(ops, run.param) & SG_TRAIT_RANDOM)
            continue;
        sg_method *method = verify_method(&run, VERIFY_WORKER, 1, NULL, 1, &out[SG_VERIFY_CLASS]);
        if (!method)
            return;
        sg_pattern_fill(v->p, N, (enum sg_pattern)(i % SG_PATTERNS), 5);
        bool fine =
            sg_verify_send(method, (struct sg_verify_at){VERIFY_WORKER, 1, 0, NULL}, v->p, NULL, &m, &err) == SG_OK;
        if (fine)
            m.code->decode(v->first_value[0], &m, 0, m.count);
        fine = fine && m.n == N && within_bound(v, &run, &m, v->first_value[0]);
        verify_note(&out[SG_VERIFY_CLASS], fine, &run, "%s: more is lost than the declared bound allows",
                    sg_pattern_name[i % SG_PATTERNS]);
        sg_method_close(method);
    }
}

/* feedback_table.c: the rules of the paper, and the table of all rules. */
/* SPDX-License-Identifier: MIT */
#include "method_private.h"
#include "sg_row.h"

const struct sg_feedback_rule sg_feedback_update = {
    .name = "update",
    .summary = "p = e + gamma g; e = p - C(p): Algorithm 1",
    .source = "Algorithm 1; Stich et al., NeurIPS 2018",
    .keeps = true,
    .in_updates = true,
    .on_gpu = true,
};

const struct sg_feedback_rule sg_feedback_gradient = {
    .name = "gradient",
    .summary = "p = e + g; e = p - C(p)",
    .source = "Remark 1",
    .keeps = true,
    .on_gpu = true,
};

const struct sg_feedback_rule sg_feedback_none = {
    .name = "none",
    .summary = "p = g; the unsent part is lost",
    .source = "section 3",
    .on_gpu = true,
};

/* The residual stays what it is in the units of the parameters when the learning rate changes, as BytePS does it. */
const struct sg_feedback_rule sg_feedback_lr_correction = {
    .name = "lr-correction",
    .summary = "p = (last gamma / gamma) e + g: a residual keeps its step's rate",
    .source = "BytePS, vanilla error feedback",
    .keeps = true,
    .follows_rate = true,
    .every_step = true, /* a residual is in the units of the step before */
    .on_gpu = true,
};

void method_combine(const struct sg_feedback_state *s, float *to, float factor, const float *x) {
    s->kernels->mix(s->exec, to, factor, to, 1, x, s->d);
}

bool sg_feedback_sends(const struct sg_feedback *f, uint64_t step) {
    struct sg_stream s;
    if (!f->rule->stream)
        return true;
    f->rule->stream(f->param, &s);
    return method_stream_at(&s, step) < s.fragments;
}

bool sg_feedback_moves(const struct sg_feedback *f, uint64_t step) {
    struct sg_stream s = {0};
    if (f->rule->stream)
        f->rule->stream(f->param, &s);
    return step >= s.delay && sg_feedback_sends(f, step - s.delay);
}

#define ROW(name) &name
static const void *const table[] = {METHOD_FEEDBACK_RULES(ROW)};
static struct sg_rows rows = SG_ROWS(table);

const struct sg_feedback_rule *sg_feedback_at(size_t i) {
    return sg_row_at(&rows, i);
}

const struct sg_feedback_rule *sg_feedback_find(const char *name) {
    return sg_row_find(&rows, name);
}

sg_status sg_feedback_add(const struct sg_feedback_rule *rule, struct sg_error *err) {
    const struct sg_row row = {"feedback rule", rule->name, rule->summary, rule->params, rule->n_params};
    const sg_status status = sg_row_check(&rows, &row, err);
    if (status != SG_OK)
        return status;
    if (!rule->source)
        return sg_fail(err, SG_ERR_ARGUMENT, "feedback rule '%s' has no source: name its publication", rule->name);
    if ((rule->stream != NULL) != (rule->merge != NULL) || (rule->stream && !rule->offset))
        return sg_fail(err, SG_ERR_ARGUMENT, "feedback rule '%s' has only some of offset, stream and merge",
                       rule->name);
    if (rule->n_params > SG_FEEDBACK_PARAMS || rule->n_knobs > (rule->n_params > 0) ||
        rule->worker_vectors + rule->worker_room > SG_FEEDBACK_VECTORS || rule->common_vectors > SG_FEEDBACK_VECTORS)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "feedback rule '%s' declares too much: at most %d parameters, one knob, which is the first of "
                       "them, and %d vectors",
                       rule->name, SG_FEEDBACK_PARAMS, SG_FEEDBACK_VECTORS);
    return sg_row_add(&rows, rule, row.what, err);
}

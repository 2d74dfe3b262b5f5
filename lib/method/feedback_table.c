/* feedback_table.c: the rules of the paper, and the table of all rules. */
#include <string.h>

#include "method_private.h"
#include "sg_row.h"

const struct sg_feedback_rule sg_feedback_update = {
    .name = "update",
    .summary = "p = e + gamma g, and e = p less what was sent: Algorithm 1",
    .source = "Algorithm 1; Stich et al., NeurIPS 2018",
    .keeps = true,
    .in_updates = true,
    .on_gpu = true,
};

const struct sg_feedback_rule sg_feedback_gradient = {
    .name = "gradient",
    .summary = "p = e + g; the learning rate comes after the sum over workers",
    .source = "Remark 1",
    .keeps = true,
    .on_gpu = true,
};

const struct sg_feedback_rule sg_feedback_none = {
    .name = "none",
    .summary = "p = g; what is not sent is lost",
    .source = "section 3",
    .on_gpu = true,
};

/* The residual stays what it is in the units of the parameters when the learning rate changes, as BytePS does it. */
const struct sg_feedback_rule sg_feedback_lr_correction = {
    .name = "lr-correction",
    .summary = "p = (gamma of the last step / gamma) e + g: what waits keeps the learning rate of its own step",
    .source = "BytePS, vanilla error feedback",
    .keeps = true,
    .follows_rate = true,
    .on_gpu = true,
};

void method_combine(const struct sg_feedback_state *s, float *to, float factor, const float *x) {
    s->kernels->mix(s->exec, to, factor, to, 1, x, s->d);
}

static const struct sg_feedback_rule *const table[] = {
    &sg_feedback_update,        &sg_feedback_gradient,  &sg_feedback_none,     &sg_feedback_momentum,
    &sg_feedback_ef21,          &sg_feedback_ef21_sgdm, &sg_feedback_econtrol, &sg_feedback_low_pass,
    &sg_feedback_lr_correction, &sg_feedback_dgc,       &sg_feedback_mean,     &sg_feedback_cser,
    &sg_feedback_local_steps,
};
enum { RULES = sizeof table / sizeof *table };

static const struct sg_feedback_rule *added[SG_ADDED_ROWS];
static size_t n_added;

const struct sg_feedback_rule *sg_feedback_at(size_t i) {
    return i < RULES ? table[i] : i - RULES < n_added ? added[i - RULES] : NULL;
}

const struct sg_feedback_rule *sg_feedback_find(const char *name) {
    const struct sg_feedback_rule *rule;
    for (size_t i = 0; (rule = sg_feedback_at(i)) != NULL; i++)
        if (strcmp(rule->name, name) == 0)
            return rule;
    return NULL;
}

sg_status sg_feedback_add(const struct sg_feedback_rule *rule, struct sg_error *err) {
    const struct sg_row row = {"feedback rule", rule->name, rule->summary, rule->params, rule->n_params};
    const sg_status status = sg_row_check(&row, err);
    if (status != SG_OK)
        return status;
    if (sg_feedback_find(rule->name) != NULL)
        return sg_fail(err, SG_ERR_ARGUMENT, "there is a feedback rule '%s' already: give yours another name",
                       rule->name);
    if (rule->source == NULL)
        return sg_fail(err, SG_ERR_ARGUMENT, "feedback rule '%s' has no source: name its publication", rule->name);
    if (rule->n_params > SG_FEEDBACK_PARAMS || rule->n_knobs > (rule->n_params > 0) ||
        rule->worker_vectors + rule->worker_room > SG_FEEDBACK_VECTORS || rule->common_vectors > SG_FEEDBACK_VECTORS)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "feedback rule '%s' declares too much: at most %d parameters, one knob, which is the first of "
                       "them, and %d vectors",
                       rule->name, SG_FEEDBACK_PARAMS, SG_FEEDBACK_VECTORS);
    for (size_t i = 0; i < rule->n_params; i++)
        if (rule->params[i].words != NULL)
            return sg_fail(err, SG_ERR_ARGUMENT, "feedback rule '%s': its parameter '%s' must be a number", rule->name,
                           rule->params[i].name);
    if (n_added == SG_ADDED_ROWS)
        return sg_fail(err, SG_ERR_ARGUMENT, "feedback rule '%s': no more than %d rules can be added", rule->name,
                       SG_ADDED_ROWS);
    added[n_added++] = rule;
    return SG_OK;
}

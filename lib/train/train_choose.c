/* train_choose.c: what a cell asks for beside its task, once the task is open: length, feedback, learning rate, compressor,
 * messages and optimizer, as values that can be stepped with. Expressions get their values here. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train_state.h"

static sg_status number_of(double *out, struct train *t, const struct sg_node *node, const char *what,
                           struct sg_error *err) {
    if (!node || node->kind == SG_NODE_NULL) {
        *out = NAN;
        return SG_OK;
    }
    t->at = node;
    if (node->kind == SG_NODE_STRING && strcmp(node->string, SG_VALUE_TO_FIND) == 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "%s: '%s' stands for a value that sparsetune is to find: run it first",
                       what, SG_VALUE_TO_FIND);
    sg_status status = sg_expression(out, node->string, t->constant, t->n_constants, err);
    return status == SG_OK ? SG_OK : sg_prefix(err, "%s: ", what);
}

sg_status train_add_constant(struct train *t, const char *name, double value, struct sg_error *err) {
    struct sg_constant *more = realloc(t->constant, (t->n_constants + 1) * sizeof *more);
    if (!more)
        return sg_fail_memory(err, "constants");
    t->constant = more;
    t->constant[t->n_constants++] = (struct sg_constant){name, value};
    return SG_OK;
}

static const double MOST_STEPS = 9007199254740992; /* 2^53: a double counts them one by one up to there */

static sg_status choose_steps(struct train *t, struct sg_error *err) {
    const struct sg_node *cell = &t->options->cell->resolved;
    double steps = sg_node_number(cell, "steps", NAN);
    t->at = sg_node_get(cell, isnan(steps) ? "epochs" : "steps");
    if (isnan(steps))
        steps = floor(sg_node_number(cell, "epochs", 0) * (double)t->info->steps_per_epoch + 0.5);
    if (!(steps >= 1))
        return sg_fail(err, SG_ERR_ARGUMENT, "epochs: less than one step; an epoch has %llu steps",
                       (unsigned long long)t->info->steps_per_epoch);
    if (!(steps <= MOST_STEPS))
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "epochs: %g steps, %llu an epoch, are more than the 2^53 that can be counted", steps,
                       (unsigned long long)t->info->steps_per_epoch);
    t->plan.steps = (uint64_t)steps;
    t->plan.every = (uint64_t)sg_node_number(cell, "record.every", 1);
    t->plan.evaluate_epochs =
        sg_node_number(cell, "record.evaluate", t->info->evaluation == SG_EVALUATE_SHARED ? 1 : NAN);
    t->series.wants_layers = sg_node_bool(cell, "record.layers", false);
    return SG_OK;
}

static sg_status choose_feedback(struct train *t, struct sg_error *err) {
    const struct sg_node *cell = &t->options->cell->resolved;
    t->config.feedback.rule = sg_feedback_find(sg_node_string(cell, "error-feedback.form", "update"));
    t->config.feedback.decay = sg_node_number(cell, "error-feedback.decay", 1);
    t->config.layout = t->info->layout;
    if (strcmp(sg_node_string(cell, "scope", "layer"), "model") == 0) {
        t->whole[1] = t->d;
        t->config.layout = (struct sg_layout){.n_layers = 1, .offset = t->whole};
    }
    double gamma;
    sg_status status =
        number_of(&gamma, t, sg_node_get(cell, "optimizer.learning-rate"), "optimizer.learning-rate", err);
    if (status == SG_OK && !(gamma > 0 && isfinite(gamma)))
        return sg_fail(err, SG_ERR_ARGUMENT, "optimizer.learning-rate: must be a positive number, is %g", gamma);
    t->gamma = gamma;
    if (status == SG_OK)
        status = train_schedule_read(&t->plan.schedule, sg_node_get(cell, "optimizer"), gamma, err);
    return status == SG_OK ? train_add_constant(t, "gamma", gamma, err) : status;
}

/* The only parameter that a method gives, else the method: where a value stands that the compressor refuses. */
static const struct sg_node *parameter_of(const struct sg_node *method, const struct sg_compressor_ops *ops) {
    const struct sg_node *only = NULL;
    for (size_t i = 0; i < ops->n_params; i++) {
        const struct sg_node *given = sg_node_get(method, ops->params[i].name);
        if (!given || given->kind == SG_NODE_NULL || (given->line == 0 && given->column == 0))
            continue;
        if (only)
            return method;
        only = given;
    }
    return only ? only : method;
}

static sg_status choose_compressor(struct train *t, struct sg_error *err) {
    const struct sg_node *method = t->options->cell->method;
    const char *name = sg_node_string(method, "compressor", "");
    t->config.compressor = sg_compressor_find(name);
    if (!t->config.compressor)
        return sg_fail(err, SG_ERR_ARGUMENT, "unknown compressor '%s'", name);
    size_t n = t->config.compressor->n_params;
    double *param = calloc(n ? n : 1, sizeof *param);
    t->config.param = param;
    sg_status status = param ? SG_OK : sg_fail_memory(err, "compressor parameters");
    for (size_t i = 0; i < n && status == SG_OK; i++) {
        const char *key = t->config.compressor->params[i].name;
        status = number_of(&param[i], t, sg_node_get(method, key), key, err);
    }
    if (status == SG_OK) {
        t->at = parameter_of(method, t->config.compressor);
        status = sg_compressor_check(t->config.compressor, t->config.param, t->d, err);
    }
    if (status != SG_OK)
        return sg_prefix(err, "method '%s': ", t->options->cell->label);
    if ((t->config.compressor->traits & SG_TRAIT_ABSOLUTE) && t->config.compressor->bound) {
        /* Remark 5: |e|^2 <= gamma^2 nu^2, in the units of the residual. */
        double scale = t->config.feedback.rule->in_updates ? train_schedule_largest(&t->plan.schedule) : 1;
        double bound = scale * scale * t->config.compressor->bound(t->config.param, t->d);
        if (!isnan(bound)) /* a budget has none */
            status = train_add_constant(t, "error_bound", bound, err);
    }
    return status;
}

/* How messages travel; fp16 values are rounded by the compressor, whose residual takes the error. */
static sg_status choose_message(struct train *t, struct sg_error *err) {
    const struct sg_node *cell = &t->options->cell->resolved;
    const char *encoding = sg_node_string(cell, "message.encoding", "raw");
    t->encoding = sg_wire_find(encoding);
    if (!t->encoding && strcmp(encoding, "auto") != 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "unknown encoding '%s'", encoding);
    t->config.code = sg_code_find(sg_node_string(cell, "message.values", "fp32"));
    if (!t->config.code)
        return sg_fail(err, SG_ERR_ARGUMENT, "unknown code '%s'", sg_node_string(cell, "message.values", ""));
    return SG_OK;
}

static sg_status choose_optimizer(struct train *t, struct sg_error *err) {
    const struct sg_node *cell = &t->options->cell->resolved;
    const char *name = sg_node_string(cell, "optimizer.kind", "");
    t->optimizer.ops = sg_optimizer_find(name);
    if (!t->optimizer.ops)
        return sg_fail(err, SG_ERR_ARGUMENT, "unknown optimizer '%s'", name);
    size_t n = t->optimizer.ops->n_params;
    t->optimizer.param = calloc(n ? n : 1, sizeof(double));
    if (!t->optimizer.param)
        return sg_fail_memory(err, "optimizer parameters");
    const struct sg_node *section = t->at = sg_node_get(cell, "optimizer");
    for (size_t i = 0; i < n; i++)
        t->optimizer.param[i] =
            sg_node_number(section, t->optimizer.ops->params[i].name, t->optimizer.ops->params[i].preset);
    if (t->config.feedback.rule->in_updates) {
        const char *why = t->optimizer.ops->refuses_update_form(t->optimizer.param);
        return why ? sg_fail(err, SG_ERR_ARGUMENT, "error-feedback 'update' with optimizer '%s': %s", name, why)
                   : SG_OK;
    }
    if (!t->kernels->has_optimizer(name))
        return sg_fail(err, SG_ERR_UNSUPPORTED, "optimizer '%s' does not run on a GPU: use --device cpu", name);
    t->optimizer.floats = t->optimizer.ops->state_floats(t->optimizer.param, t->d);
    return SG_OK;
}

void train_forget_choice(struct train *t) {
    free((void *)t->config.param);
    free(t->optimizer.param);
    free(t->plan.schedule.decay_at);
    t->config.param = NULL;
    t->optimizer.param = t->plan.schedule.decay_at = NULL;
}

sg_status train_choose(struct train *t, struct sg_error *err) {
    sg_status (*const choose[])(struct train *, struct sg_error *) = {choose_steps, choose_feedback, choose_compressor,
                                                                      choose_message, choose_optimizer};
    sg_status status = SG_OK;
    for (size_t i = 0; i < sizeof choose / sizeof *choose && status == SG_OK; i++)
        status = choose[i](t, err);
    return status;
}

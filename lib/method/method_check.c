/* method_check.c: the parameters of a method, presets filled in: each in its range, and all of them against each
 * other. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "method_private.h"

/* Presets filled in and every value in its range; `name` is whose they are. param NULL = all presets. */
static sg_status resolve(double out[SG_METHOD_PARAMS], const char *name, const struct sg_parameter *params,
                         size_t n_params, const double *param, struct sg_error *err) {
    if (n_params > SG_METHOD_PARAMS)
        return sg_fail(err, SG_ERR_UNSUPPORTED, "%s: more than %d parameters", name, SG_METHOD_PARAMS);
    for (size_t i = 0; i < n_params; i++) {
        const struct sg_parameter *p = &params[i];
        out[i] = !param || isnan(param[i]) ? p->preset : param[i];
        if (isnan(out[i]))
            continue;
        if (!(out[i] >= p->min && out[i] <= p->max))
            return sg_fail(err, SG_ERR_ARGUMENT, "%s: '%s' = %g is not between %g and %g", name, p->name, out[i],
                           p->min, p->max);
        if (p->integer && out[i] != floor(out[i]))
            return sg_fail(err, SG_ERR_ARGUMENT, "%s: '%s' = %g is not a whole number", name, p->name, out[i]);
    }
    return SG_OK;
}

/* ---- compressor and controller ---- */

sg_status method_hook_status(const sg_method *m, sg_status status, struct sg_error *err) {
    if (status == SG_OK || err->msg[0] != '\0')
        return status;
    return sg_fail(err, SG_ERR_ARGUMENT, "%s: it refuses, without a word why", m->compressor->name);
}

static sg_status check_compressor(const sg_method *m, const double *param, struct sg_error *err) {
    const struct sg_compressor_ops *ops = m->compressor;
    if (!ops->check)
        return SG_OK;
    err->msg[0] = '\0';
    if (ops->check(param, m->d, err) == SG_OK)
        return SG_OK;
    return err->msg[0] != '\0' ? sg_prefix(err, "%s: ", ops->name) : method_hook_status(m, SG_ERR_ARGUMENT, err);
}

/* May a recipe give this controller to this compressor? own: the controller that the compressor brings, or NULL;
 * param: the compressor's. */
static sg_status check_match(const struct sg_controller_ops *ops, const struct sg_compressor_ops *compressor,
                             const struct sg_controller_ops *own, const double *param, struct sg_error *err) {
    if (!compressor->knob)
        return sg_fail(err, SG_ERR_ARGUMENT, "controller: %s has nothing that the controller '%s' could change",
                       compressor->name, ops->name);
    if (own)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "controller: %s has the controller '%s' already (leave one of the two out)", compressor->name,
                       own->name);
    if ((ops->finds_threshold || ops->needs_threshold) && !(compressor->traits & SG_TRAIT_ABSOLUTE))
        return sg_fail(err, SG_ERR_ARGUMENT, "controller: '%s' %s a threshold, and %s has none", ops->name,
                       ops->finds_threshold ? "finds" : "scales", compressor->name);
    if (ops->sets_levels && strcmp(compressor->params[compressor->knob(param)].name, "levels") != 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "controller: '%s' sets levels, and %s has none", ops->name,
                       compressor->name);
    if (ops->choose && (compressor->rounds || compressor->worker_doubles || compressor->traits & SG_TRAIT_ABSOLUTE))
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "controller: '%s' compares what one message of a gradient alone loses, and %s %s", ops->name,
                       compressor->name,
                       compressor->rounds           ? "needs several exchanges"
                       : compressor->worker_doubles ? "goes by earlier steps"
                                                    : "goes by a threshold");
    return SG_OK;
}

/* Each of n values that the knob may be set to is right as the compressor's parameter; NaN = there is none. The key of
 * the recipe where they stand, and their names. */
static sg_status check_knobs(const sg_method *m, const char *key, const struct sg_parameter *params,
                             const double *value, size_t n, struct sg_error *err) {
    const struct sg_compressor_ops *ops = m->compressor;
    double param[SG_METHOD_PARAMS], whole[SG_METHOD_PARAMS];
    memcpy(param, m->param, sizeof param);
    for (size_t i = 0; i < n; i++) {
        if (isnan(value[i]))
            continue;
        param[ops->knob(m->param)] = value[i];
        sg_status status = resolve(whole, ops->name, ops->params, ops->n_params, param, err);
        SG_DO(status, check_compressor(m, whole, err));
        if (status != SG_OK)
            return sg_prefix(err, "%s.%s: ", key, params[i].name);
    }
    return SG_OK;
}

static sg_status resolve_controller(sg_method *m, const double *param, struct sg_error *err) {
    const struct sg_controller_ops *ops = m->controller;
    sg_status status = resolve(m->controller_param, ops->name, ops->params, ops->n_params, param, err);
    if (status == SG_OK && ops->check)
        status = ops->check(m->controller_param, &m->facts, err);
    if (status == SG_OK && m->compressor->traits & SG_TRAIT_DENSE && ops->budget &&
        !isnan(ops->budget(m->controller_param, &m->facts)))
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "'%s' counts entries, and a message of %s has all of them; with 'bits: 1' it counts bits",
                       ops->name, m->compressor->name);
    return status;
}

static sg_status resolve_compressor(sg_method *m, const struct sg_method_config *config, struct sg_error *err) {
    const struct sg_compressor_ops *ops = m->compressor = config->compressor;
    double wanted[SG_METHOD_PARAMS] = {0};
    sg_status status = resolve(m->param, ops->name, ops->params, ops->n_params, config->param, err);
    if (status != SG_OK)
        return status;
    const struct sg_controller_ops *own = ops->controller ? ops->controller(m->param, wanted) : NULL;
    m->controller = config->controller ? config->controller : own;
    m->shared.controlled = m->controller != NULL;
    if (config->controller)
        status = check_match(config->controller, ops, own, m->param, err);
    if (status == SG_OK && config->controller && config->controller->finds_threshold) {
        double *threshold = &m->param[ops->knob(m->param)];
        *threshold = isnan(*threshold) ? ops->params[ops->knob(m->param)].max : *threshold;
    }
    SG_DO(status, check_compressor(m, m->param, err));
    if (status != SG_OK || !m->controller)
        return status;
    if (!config->controller)
        return resolve_controller(m, wanted, err) == SG_OK ? SG_OK : sg_prefix(err, "%s: ", ops->name);
    if (resolve_controller(m, config->controller_param, err) != SG_OK)
        return sg_prefix(err, "controller: ");
    return check_knobs(m, "controller", m->controller->params, m->controller_param, m->controller->n_knobs, err);
}

/* ---- feedback rule and code ---- */

/* Checks that a rule whose workers have own parameters is compatible with the compressor and the controller. */
static sg_status check_local(sg_method *m, struct sg_error *err) {
    const struct sg_feedback *f = &m->shared.feedback;
    const struct sg_compressor_ops *ops = m->compressor;
    const char *name = f->rule->name;
    if (!f->rule->offset)
        return SG_OK;
    if (m->controller && m->controller->finds_threshold)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "error-feedback: '%s' does not go with the controller '%s', which counts on what a step sends",
                       name, m->controller->name);
    if (f->rule->resets && ops->rounds)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "error-feedback: '%s' sends residuals, too, and %s has an exchange of its own kind", name,
                       ops->name);
    if (f->rule->n_knobs == 0 || isnan(f->param[0]) || ops->traits & SG_TRAIT_EXACT)
        return SG_OK;
    if (!ops->knob)
        return sg_fail(err, SG_ERR_ARGUMENT, "error-feedback.%s: %s has nothing that it could change",
                       f->rule->params[0].name, ops->name);
    m->shared.controlled = true;
    return check_knobs(m, "error-feedback", f->rule->params, f->param, f->rule->n_knobs, err);
}

static sg_status resolve_feedback(sg_method *m, const struct sg_feedback *feedback, struct sg_error *err) {
    double param[SG_METHOD_PARAMS] = {0};
    const struct sg_feedback_rule *rule = feedback->rule;
    m->shared.feedback = *feedback;
    if (!rule)
        return SG_OK;
    const sg_status status = resolve(param, rule->name, rule->params, rule->n_params, feedback->param, err);
    memcpy(m->shared.feedback.param, param, rule->n_params * sizeof *param);
    if (status == SG_OK && rule->stream)
        rule->stream(param, &m->stream);
    return status == SG_OK ? check_local(m, err) : status;
}

static sg_status resolve_code(sg_method *m, const struct sg_method_config *config, struct sg_error *err) {
    const struct sg_code *code = m->shared.code = config->code ? config->code : &sg_code_fp32;
    if (resolve(m->code_param, code->name, code->params, code->n_params, config->code_param, err) != SG_OK)
        return sg_prefix(err, "values: ");
    if (!m->compressor->select && code != &sg_code_fp32)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "values: a message of %s has a format of its own, so its values cannot be '%s' too",
                       m->compressor->name, code->name);
    m->added = method_is_added(m->compressor) || method_code(m)->number >= SG_CODE_ADDED_FIRST;
    return SG_OK;
}

/* Checks that the method can do without some of its workers at a step. */
static sg_status check_sampled(const sg_method *m, struct sg_error *err) {
    const struct sg_controller_ops *controller = m->controller;
    const struct sg_feedback_rule *rule = m->shared.feedback.rule;
    const unsigned of_lead = SG_ASK_LEAD_NOW | SG_ASK_LEAD_SUM | SG_ASK_ADD;
    if (m->compressor->rounds)
        return sg_fail(err, SG_ERR_ARGUMENT, "participation: %s goes by the messages of all workers at every step",
                       m->compressor->name);
    if (rule && rule->every_step)
        return sg_fail(err, SG_ERR_ARGUMENT, "participation: error-feedback '%s' needs every worker at every step",
                       rule->name);
    if (controller && controller->ask && controller->ask(m->controller_param, NULL, NULL) & of_lead)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "participation: the controller '%s' goes by worker 0, which does not take part in every step",
                       controller->name);
    return SG_OK;
}

/* Checks that k of each worker may come from another run: only Top-k has it, and a step sends p in one message. */
static sg_status check_copies(const sg_method *m, bool sampled, struct sg_error *err) {
    const struct sg_feedback_rule *rule = m->shared.feedback.rule;
    if (m->compressor != &sg_compress_topk)
        return sg_fail(err, SG_ERR_ARGUMENT, "k-from: %s has no k to be copied (topk has)", m->compressor->name);
    if (m->controller)
        return sg_fail(err, SG_ERR_ARGUMENT, "k-from: the controller '%s' sets k, too (leave one of the two out)",
                       m->controller->name);
    if (rule && rule->resets)
        return sg_fail(err, SG_ERR_ARGUMENT, "k-from: error-feedback '%s' sends residuals in messages of their own",
                       rule->name);
    return sampled ? sg_fail(err, SG_ERR_ARGUMENT, "k-from: with participation not every worker sends at every step")
                   : SG_OK;
}

sg_status method_resolve(sg_method *m, const struct sg_method_config *config, struct sg_error *err) {
    sg_status status = resolve_compressor(m, config, err);
    SG_DO(status, resolve_feedback(m, &config->feedback, err));
    if (status == SG_OK && config->sampled)
        status = check_sampled(m, err);
    if (status == SG_OK && config->copies)
        status = check_copies(m, config->sampled, err);
    SG_DO(status, method_stream_check(m, config->sampled, config->copies, err));
    return status == SG_OK ? resolve_code(m, config, err) : status;
}

sg_status sg_method_check(const struct sg_method_config *config, size_t d, struct sg_error *err) {
    struct sg_method m = {.d = d};
    return method_resolve(&m, config, err);
}

sg_status sg_compressor_check(const struct sg_compressor_ops *ops, const double *param, size_t d,
                              struct sg_error *err) {
    return sg_method_check(
        &(struct sg_method_config){.size = sizeof(struct sg_method_config), .compressor = ops, .param = param}, d, err);
}

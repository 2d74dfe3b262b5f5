/* train_choose.c: works out what a cell asks for beside its task, once the task is open: length, feedback, learning
 * rate, compressor, messages and optimizer. Expressions get their values here. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sg_debug.h"
#include "sg_memory.h"
#include "sg_text.h"
#include "train_private.h"

static void add_constant(struct train *t, size_t which, double value) {
    SG_ASSERT(t->n_constants < sizeof t->constant / sizeof *t->constant);
    t->constant[t->n_constants++] = (struct sg_constant){sg_common_constants[which].name, value};
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
    if (t->info->most_steps > 0 && steps > (double)t->info->most_steps)
        return sg_fail(err, SG_ERR_ARGUMENT, "%s: %.0f steps are more than the %llu that task '%s' has gradients of",
                       t->at->key, steps, (unsigned long long)t->info->most_steps, t->task_ops->name);
    t->plan.steps = (uint64_t)steps;
    t->plan.every = (uint64_t)sg_node_number(cell, "record.every", 1);
    t->plan.evaluate_epochs =
        sg_node_number(cell, "record.evaluate", t->info->evaluation == SG_EVALUATE_SHARED ? 1 : NAN);
    t->series.wants_layers = sg_node_bool(cell, "record.layers", false);
    t->series.keeps_layers =
        t->series.wants_layers || t->series.wants[SG_COLUMN_ERROR_BY_LAYER] || t->series.wants[SG_COLUMN_ERROR_WEIGHED];
    t->series.wants_workers = sg_node_bool(cell, "record.workers", false);
    return SG_OK;
}

/* The learning rate of an optimizer's section and its schedule. */
static sg_status read_rate(struct optimizer *out, struct train *t, const char *path, struct sg_error *err) {
    const struct sg_node *section = sg_node_get(&t->options->cell->resolved, path);
    double gamma;
    t->at = sg_node_member(section, "learning-rate");
    if (sg_expression(&gamma, t->at->string, t->constant, t->n_constants, err) != SG_OK)
        return sg_prefix(err, "%s.learning-rate: ", path);
    if (!(gamma > 0 && isfinite(gamma)))
        return sg_fail(err, SG_ERR_ARGUMENT, "%s.learning-rate: must be a positive number, is %g", path, gamma);
    out->schedule = train_schedule_read(section, gamma, (double)t->plan.steps / (double)t->info->steps_per_epoch);
    return SG_OK;
}

static sg_status choose_rate(struct train *t, struct sg_error *err) {
    const sg_status status = read_rate(&t->optimizer, t, "optimizer", err);
    if (status != SG_OK)
        return status;
    t->gamma = t->optimizer.schedule.base;
    add_constant(t, SG_CONSTANT_GAMMA, t->gamma);
    return SG_OK;
}

/* The position of a value that the compressor refuses: the method's parameter if it gives only one, else the method. */
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

/* Remark 5: |e|^2 <= gamma^2 nu^2, in the residual's units. It does not hold if residuals sum the losses of steps. */
static void add_error_bound(struct train *t) {
    const struct sg_method_config *m = &t->config;
    if (!(m->compressor->traits & SG_TRAIT_ABSOLUTE) || !m->compressor->bound || m->controller ||
        m->feedback.rule->resets)
        return;
    const double scale = t->config.feedback.rule->in_updates ? train_schedule_largest(&t->optimizer.schedule) : 1;
    const double bound = scale * scale * m->compressor->bound(m->param, t->d);
    if (!isnan(bound)) /* a compressor with a budget has no bound */
        add_constant(t, SG_CONSTANT_ERROR_BOUND, bound);
}

/* The value of the cell that a message of the method's check is about. */
static const struct sg_node *place_of_method(const struct sg_cell *cell, const char *message) {
    const struct sg_node *at = sg_method_place(cell->method, message);
    if (at == cell->method && strncmp(message, "error-feedback", strlen("error-feedback")) == 0)
        at = sg_node_get(&cell->resolved, "error-feedback");
    if (at == cell->method && strncmp(message, "participation", strlen("participation")) == 0)
        at = sg_node_get(&cell->resolved, "participation");
    return at;
}

/* Refuses a rule whose interval between messages is longer than the run, and says which steps are lost behind the last
 * message. */
static sg_status check_interval(struct train *t, struct sg_error *err) {
    const struct sg_feedback *f = &t->config.feedback;
    struct sg_stream stream = {0};
    uint64_t lost = 0;
    while (lost < t->plan.steps && !sg_feedback_moves(f, t->plan.steps - 1 - lost))
        lost++;
    if (lost > 0 && lost == t->plan.steps)
        return sg_fail(
            err, SG_ERR_ARGUMENT,
            "error-feedback '%s' sends at intervals of %g steps, and the run has %llu: nothing would be sent",
            f->rule->name, f->param[0], (unsigned long long)t->plan.steps);
    if (f->rule->stream)
        f->rule->stream(f->param, &stream);
    lost += stream.delay;
    if (lost > 0)
        sg_notify(t->options->notice,
                  "method '%s': what workers do in the last %llu of %llu steps is lost, because '%s' sends at "
                  "intervals of %g",
                  t->options->cell->label, (unsigned long long)lost, (unsigned long long)t->plan.steps, f->rule->name,
                  f->param[0]);
    return SG_OK;
}

void train_tell_unsent(const struct train *t) {
    const struct sg_feedback_rule *rule = t->config.feedback.rule;
    double way = 0;
    for (size_t w = 0; rule->measure && w < t->count; w++)
        way +=
            t->kernels->sum_squares(&t->exec, sg_method_offset(t->method, t->first + w, t->worker[w].residual), t->d);
    if (way > 0)
        sg_notify(t->options->notice,
                  "method '%s': what workers did behind the last message is lost, because '%s' sends when they are far "
                  "enough",
                  t->options->cell->label, rule->name);
}

static sg_status choose_method(struct train *t, struct sg_error *err) {
    const struct sg_cell *cell = t->options->cell;
    sg_status status = sg_cell_method(&t->config, t->parameter, cell, t->constant, t->n_constants, &t->at, err);
    SG_DO(status, participation_choose(t, err));
    if (status == SG_OK && (status = sg_method_check(&t->config, t->d, err)) != SG_OK) {
        t->at = place_of_method(cell, err->msg);
        t->at = t->at == cell->method ? parameter_of(t->at, t->config.compressor) : t->at;
    }
    if (status == SG_OK && t->task_ops->replays && t->config.feedback.rule->offset) {
        status = sg_fail(err, SG_ERR_ARGUMENT,
                         "error-feedback '%s' takes gradients at each worker's own parameters, and those of task '%s' "
                         "were taken already",
                         t->config.feedback.rule->name, t->task_ops->name);
        t->at = place_of_method(cell, err->msg);
    }
    if (status == SG_OK && (status = check_interval(t, err)) != SG_OK)
        t->at = place_of_method(cell, err->msg);
    if (status != SG_OK)
        return sg_prefix(err, "method '%s': ", cell->label);
    t->config.layout = t->info->layout;
    if (strcmp(sg_node_string(&cell->resolved, "scope", "layer"), "model") == 0) {
        t->whole[1] = t->d;
        t->config.layout = (struct sg_layout){.n_layers = 1, .offset = t->whole};
    }
    add_error_bound(t);
    return SG_OK;
}

static sg_status choose_device(struct train *t, struct sg_error *err) {
    const struct sg_node *cell = &t->options->cell->resolved;
    if (train_wants_gpu(t))
        return SG_OK;
    t->at = sg_node_get(cell, "task.precision");
    if (t->at && strcmp(t->at->string, "fp32") != 0)
        return sg_fail(err, SG_ERR_UNSUPPORTED, "task.precision: %s needs --device cuda", t->at->string);
    t->at = sg_node_get(cell, "task.graph");
    return t->at && t->at->boolean ? sg_fail(err, SG_ERR_UNSUPPORTED, "task.graph needs --device cuda") : SG_OK;
}

static sg_status choose_columns(struct train *t, struct sg_error *err) {
    const struct recorded *host =
        train_recorded(t, SG_COLUMN_AVERAGE_COMPRESSION_ERROR, SG_COLUMN_COMPRESSION_BIAS_SIGMA);
    if (!host)
        host = train_recorded(t, SG_COLUMN_ERROR_LAG, SG_COLUMN_ERROR_CURVATURE);
    if (!host || !train_wants_gpu(t))
        return SG_OK;
    t->at = sg_node_get(&t->options->cell->resolved, "record.series")->child + (host - t->series.column);
    return sg_fail(err, SG_ERR_UNSUPPORTED, "record.series: '%s' is measured on a CPU only: use --device cpu",
                   t->at->string);
}

/* How messages travel. */
static sg_status choose_message(struct train *t, struct sg_error *err) {
    const struct sg_node *cell = &t->options->cell->resolved;
    const char *encoding = sg_node_string(cell, "message.encoding", "raw");
    t->encoding = sg_wire_find(encoding);
    if (!t->encoding && strcmp(encoding, "auto") != 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "unknown encoding '%s'", encoding);
    return SG_OK;
}

/* The optimizer of a section with its parameters. */
static sg_status read_optimizer(struct optimizer *out, struct train *t, const char *path, struct sg_error *err) {
    const struct sg_node *section = t->at = sg_node_get(&t->options->cell->resolved, path);
    const char *name = sg_node_string(section, "kind", "");
    out->ops = sg_optimizer_find(name);
    if (!out->ops)
        return sg_fail(err, SG_ERR_ARGUMENT, "unknown optimizer '%s'", name);
    SG_ASSERT(out->ops->n_params <= SG_ROW_PARAMS);
    for (size_t i = 0; i < out->ops->n_params; i++)
        out->param[i] = sg_node_number(section, out->ops->params[i].name, out->ops->params[i].preset);
    if (!t->kernels->has_optimizer(name))
        return sg_fail(err, SG_ERR_UNSUPPORTED, "optimizer '%s' does not run on a GPU: use --device cpu", name);
    if (out->ops->of_weights && t->n_weights == 0)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "optimizer '%s' moves matrices of hidden layers, and this task has none: use adamw", name);
    out->floats = out->ops->state_floats(out->param, t->d);
    return SG_OK;
}

/* Which optimizer has what: the recipe's moves x, except with messages of updates. Then they have the learning rate, or
 * come from the workers' own steps. */
static sg_status choose_optimizer(struct train *t, struct sg_error *err) {
    const struct sg_feedback_rule *rule = t->config.feedback.rule;
    t->of_x = t->of_workers = NULL; /* not those of the cell that was checked before */
    sg_status status = read_optimizer(&t->optimizer, t, "optimizer", err);
    if (status != SG_OK || !rule->in_updates) {
        t->of_x = &t->optimizer;
        return status;
    }
    const char *why = t->optimizer.ops->refuses_update_form(t->optimizer.param);
    if (why && !rule->steps_alone)
        return sg_fail(err, SG_ERR_ARGUMENT, "error-feedback '%s' with optimizer '%s': %s", rule->name,
                       t->optimizer.ops->name, why);
    t->of_workers = why ? &t->optimizer : NULL;
    if (!sg_node_get(&t->options->cell->resolved, "error-feedback.outer"))
        return SG_OK;
    t->of_x = &t->outer;
    status = read_optimizer(&t->outer, t, "error-feedback.outer", err);
    return status == SG_OK ? read_rate(&t->outer, t, "error-feedback.outer", err) : status;
}

/* An optimizer that takes steps needs them of hidden matrices alone: compressors see all other layers as vectors. */
static sg_status choose_matrices(struct train *t, struct sg_error *err) {
    const struct sg_layout *layout = &t->info->layout;
    if (t->of_workers && t->of_workers->ops->takes_steps)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "optimizer '%s' steps along directions that an exchange makes, and steps of a worker alone have "
                       "none: use muon there",
                       t->of_workers->ops->name);
    if (!t->of_x || !t->of_x->ops->takes_steps || t->config.layout.offset == t->whole)
        return SG_OK;
    if (!(t->config.compressor->traits & SG_TRAIT_DIRECTIONS))
        return sg_fail(err, SG_ERR_ARGUMENT, "optimizer '%s' steps along directions, and compressor '%s' makes none",
                       t->of_x->ops->name, t->config.compressor->name);
    t->rows = sg_realloc(t->rows, layout->n_layers * sizeof *t->rows);
    for (size_t l = 0; l < layout->n_layers; l++)
        t->rows[l] = t->info->hidden[l] ? layout->rows[l] : 1;
    t->config.layout.rows = t->rows;
    return SG_OK;
}

bool train_moves_weights(const struct train *t) {
    return (t->of_x && t->of_x->ops->of_weights) || (t->of_workers && t->of_workers->ops->of_weights);
}

void train_read_task_facts(struct train *t) {
    t->info = sg_task_info(t->task);
    t->d = t->info->d;
    t->n_constants = t->info->n_constants;
    memcpy(t->constant, t->info->constant, t->n_constants * sizeof *t->constant);
    t->worker_exec = t->exec;
    t->worker_exec.threads = t->info->parallel_workers ? 1 : t->threads; /* those that take turns have all threads */
}

sg_status train_choose(struct train *t, struct sg_error *err) {
    sg_status (*const choose[])(struct train *, struct sg_error *) = {
        choose_device,  choose_steps,     choose_columns,  choose_rate,         choose_method,
        choose_message, choose_optimizer, choose_matrices, train_buckets_choose};
    sg_status status = SG_OK;
    for (size_t i = 0; i < sizeof choose / sizeof *choose && status == SG_OK; i++)
        status = choose[i](t, err);
    return status;
}

/* tune_methods.c: what the methods of a recipe are to a search: which number of a method it may change, the method with
 * which runs are compared, and the metric that measures them. And lists of numbers that options give. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_feedback.h"
#include "sg_task.h"
#include "sg_text.h"
#include "tune_private.h"

bool tune_compresses_by(const struct sg_node *method, const char *compressor) {
    return strcmp(sg_node_string(method, "compressor", ""), compressor) == 0;
}

bool tune_is_chosen(const struct sg_tune *t, const char *name) {
    const size_t n = t->methods ? t->methods->count : 0;
    bool listed = n == 0;
    for (size_t i = 0; i < n * t->n_cells; i++) {
        const struct sg_cell *cell = &t->cells[i / n];
        listed = listed || (strcmp(cell->name, name) == 0 && sg_cell_is(cell, t->methods->item[i % n]));
    }
    return listed && !(t->measure && strcmp(t->measure, name) == 0);
}

bool tune_wants_lambda(const struct sg_node *method) {
    return tune_compresses_by(method, "hard-threshold") && !sg_node_absent(sg_node_get(method, "lambda"));
}

bool tune_sums_gradients(const struct sg_node *resolved) {
    const struct sg_feedback_rule *rule = sg_feedback_find(sg_node_string(resolved, "error-feedback.form", "update"));
    return rule && rule->keeps && !rule->before && !rule->keep &&
           sg_node_number(resolved, "error-feedback.decay", 1) == 1;
}

const char *tune_lambda_key(const struct sg_node *method) {
    return tune_wants_lambda(method) ? "lambda" : NULL;
}

sg_status tune_read_list(double *out, size_t *n, size_t most, const char *option, const char *text, double largest,
                         bool ascending, const char *what, struct sg_error *err) {
    const char *at = text;
    bool fine = true;
    for (*n = 0; fine; at++) {
        char *end;
        const double x = strtod(at, &end);
        fine = end != at && x > 0 && x <= largest && *n < most && (*n == 0 || !ascending || x > out[*n - 1]) &&
               (*end == '\0' || *end == ',');
        if (fine)
            out[(*n)++] = x;
        if (fine && *end == '\0')
            return SG_OK;
        at = end;
    }
    return sg_fail(err, SG_ERR_ARGUMENT, "--%s=%s: give up to %zu %s, above 0 and up to %g,%s with commas between them",
                   option, text, most, what, largest, ascending ? " ascending," : "");
}

/* ---- the knob ---- */

enum { MOST_PARAMS = 64 };

/* The start of a search without a given number: 0.01 for shares, 4 for whole numbers. NAN = another kind of number,
 * whose scale depends on the gradients. */
static double usual_start(const struct sg_parameter *parameter) {
    if (!parameter->integer)
        return parameter->max <= 1 ? 0.01 : NAN;
    return fmin(fmax(parameter->min, 4), parameter->max);
}

double tune_start(const struct sg_node *method, const struct sg_parameter *parameter) {
    const struct sg_node *node = sg_node_get(method, parameter->name);
    if (node && node->kind == SG_NODE_LIST)
        node = node->count > 0 ? &node->child[0] : NULL;
    if (node && node->kind == SG_NODE_STRING && strcmp(node->string, SG_VALUE_TO_FIND) == 0)
        return usual_start(parameter);
    return node && node->kind == SG_NODE_NUMBER ? node->number : NAN;
}

static bool is_given(const struct sg_node *method, const char *key) {
    return !sg_node_absent(sg_node_get(method, key));
}

/* The knob that a method gives a value, which may be a word or an expression. */
static const struct sg_parameter *given_knob(const struct sg_node *method) {
    const struct sg_compressor_ops *ops = sg_compressor_find(sg_node_string(method, "compressor", ""));
    double param[MOST_PARAMS], own[MOST_PARAMS];
    if (!ops || !ops->knob || ops->n_params > MOST_PARAMS || is_given(method, "controller") ||
        is_given(method, "budget"))
        return NULL;
    for (size_t i = 0; i < ops->n_params; i++) {
        const double given = tune_start(method, &ops->params[i]);
        param[i] = !isnan(given) ? given : is_given(method, ops->params[i].name) ? 1 : ops->params[i].preset;
    }
    const struct sg_parameter *knob = &ops->params[ops->knob(param)];
    if (ops->controller && ops->controller(param, own))
        return NULL;
    return is_given(method, knob->name) ? knob : NULL;
}

const struct sg_parameter *tune_knob(const struct sg_node *method) {
    const struct sg_parameter *knob = given_knob(method);
    return knob && !isnan(tune_start(method, knob)) ? knob : NULL;
}

const struct sg_parameter *tune_wordy_knob(const struct sg_node *method) {
    const struct sg_parameter *knob = given_knob(method);
    return knob && isnan(tune_start(method, knob)) && sg_node_get(method, knob->name)->kind == SG_NODE_STRING ? knob
                                                                                                              : NULL;
}

const char *tune_knob_key(const struct sg_node *method) {
    const struct sg_parameter *knob = tune_knob(method);
    return knob ? knob->name : NULL;
}

/* ---- quality ---- */

const char *tune_baseline(const struct sg_node *methods) {
    for (int any = 0; any < 2; any++)
        for (size_t i = 0; i < methods->count; i++) {
            const struct sg_node *method = &methods->child[i];
            if (tune_compresses_by(method, "none") && (any || sg_node_bool(method, "baseline", false)))
                return sg_node_string(method, "name", "");
        }
    return NULL;
}

sg_status tune_metric(const struct sg_tune *t, char name[TUNE_METRIC_CHARS], bool *higher, struct sg_error *err) {
    const struct sg_node *root = &t->recipe->root, *series = sg_node_get(root, "record.series");
    const struct sg_task_kind *task = sg_task_kind_find(sg_node_string(root, "task.kind", ""));
    sg_snake(name, TUNE_METRIC_CHARS, t->metric ? t->metric : "");
    for (size_t i = 0; !t->metric && i < series->count && !name[0]; i++)
        if (sg_task_metric(task, series->child[i].string))
            sg_snake(name, TUNE_METRIC_CHARS, series->child[i].string);
    if (!name[0] && strcmp(sg_node_string(root, "task.kind", ""), "recorded") == 0)
        return sg_fail(
            err, SG_ERR_ARGUMENT,
            "%s: task 'recorded' has no metric: this needs a task that trains; for recorded gradients there is "
            "--advise",
            t->recipe->path);
    if (!name[0] || !tune_recorded(t, name))
        return sg_fail(err, SG_ERR_ARGUMENT, "%s: record.series has no %s%s", t->recipe->path,
                       name[0] ? "" : "metric of the task", name);
    const struct sg_metric *metric = sg_task_metric(task, name);
    *higher = metric && metric->higher;
    return SG_OK;
}

struct tune_margin tune_margin_of(const struct sg_tune *t, const char *task, const char *metric) {
    const struct sg_metric *found = sg_task_metric(sg_task_kind_find(task), metric);
    struct tune_margin m = {.metric = found, .higher = found && found->higher, .share = t->tolerance};
    if (isnan(m.share) && !(found && sg_quantity_kinds[found->quantity].margin > 0))
        m.share = 0.05;
    return m;
}

bool tune_within(const struct tune_margin *m, double value, double baseline) {
    if (isnan(m->share))
        return sg_metric_loss(m->metric, value, baseline) <= sg_quantity_kinds[m->metric->quantity].margin;
    const double worst = tune_worst(m, baseline);
    return m->higher ? value >= worst : value <= worst;
}

double tune_worst(const struct tune_margin *m, double baseline) {
    return isnan(m->share) ? sg_metric_worse(m->metric, baseline, sg_quantity_kinds[m->metric->quantity].margin)
                           : baseline + (m->higher ? -1 : 1) * m->share * fabs(baseline);
}

char *tune_margin_text(char out[TUNE_MARGIN_CHARS], const struct tune_margin *m) {
    if (isnan(m->share))
        return sg_loss_text(out, m->metric->quantity, sg_quantity_kinds[m->metric->quantity].margin, NAN);
    snprintf(out, TUNE_MARGIN_CHARS, "%g %%", 100 * m->share);
    return out;
}

double tune_tail_median(const struct sg_cell_outcome *o, const char *metric) {
    char why[SG_WHY_CHARS], key[] = "tail-median";
    struct sg_node tail = {.kind = SG_NODE_NUMBER, .key = key, .number = TUNE_TAIL};
    const struct sg_node at = {.kind = SG_NODE_MAP, .child = &tail, .count = 1};
    return sg_grid_value(o, metric, &at, why);
}

/* theory.c: runs the methods of a recipe for logistic regression or a network, and measures what Theorems 1 and 4 to 7
 * speak of. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sg_compressor.h"
#include "sg_debug.h"
#include "sg_json.h"
#include "sg_memory.h"
#include "sg_theory.h"
#include "theory_private.h"

enum { METRICS = 5 };          /* what logreg evaluates */
enum { NETWORK_REPEATS = 16 }; /* draws of a worker's gradient at each point, where the task has no expectations */

/* One cell being trained. `observer` is a second copy of its task: evaluating a point does not disturb the run. */
struct theory_run {
    const struct sg_theory_options *options;
    const struct sg_cell *cell;
    const struct sg_task_ops *ops;
    sg_task *observer;
    size_t workers, d;
    uint64_t every;
    bool convex;      /* logreg, with x* and exact constants */
    double mu, gamma; /* gamma: the step size */
    struct sg_noise_points points;
    struct theory_smoothness smooth; /* of a network */
    double *average, weight;         /* [d] sum of weighted x_t; sum of the weights */
    struct sg_theory_method *out;
};

/* Constant of the task by name. */
static double constant(const struct theory_run *v, const char *name) {
    const struct sg_task_info *info = sg_task_info(v->observer);
    for (size_t i = 0; i < info->n_constants; i++)
        if (strcmp(info->constant[i].name, name) == 0)
            return info->constant[i].value;
    return NAN;
}

/* value <- the columns of the task at x: loss, suboptimality, relative suboptimality, |x - x*|^2; no gradient. */
static sg_status look(double value[METRICS], const struct theory_run *v, const double *x, struct sg_error *err) {
    SG_ASSERT(sg_task_kind_find(v->ops->name)->n_metrics == METRICS);
    memcpy(sg_task_x(v->observer), x, v->d * sizeof *x);
    sg_status status = v->ops->queue(v->observer, err);
    return status == SG_OK ? v->ops->evaluate(v->observer, value, err) : status;
}

/* f(x_0) - f* and P_T. */
static sg_status look_at_mean(struct theory_run *v, const double *x, uint64_t step, uint64_t steps,
                              struct sg_error *err) {
    double value[METRICS];
    sg_status status = SG_OK;
    if (step == 0) {
        status = look(value, v, x, err);
        v->out->constants.gap += value[1];
        v->out->constants.R_0 += value[3];
    }
    /* Weights relative to the last step's, so that they stay within doubles. */
    const double older = 1 - v->mu * v->gamma / 2;
    for (size_t j = 0; j < v->d; j++)
        v->average[j] = older * v->average[j] + x[j];
    v->weight = older * v->weight + 1;
    if (status == SG_OK && step == steps) {
        for (size_t j = 0; j < v->d; j++)
            v->average[j] /= v->weight;
        status = look(value, v, v->average, err);
        v->out->average += value[1];
    }
    return status;
}

static sg_status visit(void *arg, const struct sg_task_ops *ops, sg_task *task, uint64_t step, uint64_t steps,
                       struct sg_error *err) {
    struct theory_run *v = arg;
    (void)ops;
    sg_status status = v->convex ? look_at_mean(v, sg_task_x(task), step, steps, err) : SG_OK;
    v->out->constants.T = (double)steps;
    if (status != SG_OK || step % v->every != 0 || step == steps)
        return status;
    memcpy(sg_task_x(v->observer), sg_task_x(task), sg_task_x_bytes(task));
    status = sg_noise_measure(&v->points, v->ops, v->observer, v->workers, step, v->convex ? 0 : NETWORK_REPEATS, err);
    if (status == SG_OK && !v->convex)
        status = theory_smoothness_add(&v->smooth, v->ops, v->observer, v->workers, err);
    return status;
}

static sg_status open_observer(struct theory_run *v, struct sg_error *err) {
    const struct sg_node *cell = &v->cell->resolved;
    const struct sg_task_base config = {.task = sg_node_get(cell, "task"),
                                        .workers = v->workers,
                                        .count = v->workers,
                                        .batch = (size_t)sg_node_number(cell, "batch", 1),
                                        .seed = v->cell->seed,
                                        .data_dir = v->options->data_dir,
                                        .device = "cpu",
                                        .kernels = sg_kernels_cpu(NULL),
                                        .exec = {.threads = 1},
                                        .progress = v->options->progress,
                                        .notice = v->options->notice};
    sg_status status = theory_recipe_check(v->cell, err);
    SG_DO(status, sg_task_load(&v->ops, sg_node_string(cell, "task.kind", ""), err));
    SG_DO(status, sg_task_open(&v->observer, v->ops, &config, err));
    if (status == SG_OK)
        sg_task_start(v->observer);
    if (status != SG_OK)
        return status;
    v->d = sg_task_info(v->observer)->d;
    v->convex = v->ops->expect != NULL;
    if (!v->convex)
        return SG_OK;
    v->mu = constant(v, "l2");
    if (isnan(constant(v, "f_star")))
        return sg_fail(err, SG_ERR_ARGUMENT, "task.solve-optimum: the theorems are about f - f*: set it to true");
    v->average = sg_calloc(v->d, sizeof *v->average);
    return SG_OK;
}

/* Layer by layer, the nu^2 of all layers together is the sum of theirs, and delta the least one. */
static double bound_of_layers(const struct theory_run *v, const struct sg_compressor_ops *ops, const double *param) {
    const struct sg_layout *layout = &sg_task_info(v->observer)->layout;
    double all = v->out->absolute ? 0 : 1;
    if (layout->n_layers == 1 || strcmp(sg_node_string(&v->cell->resolved, "scope", "layer"), "model") == 0)
        return ops->bound(param, v->d);
    for (size_t l = 0; l < layout->n_layers; l++) {
        const double one = ops->bound(param, layout->offset[l + 1] - layout->offset[l]);
        all = isnan(one) ? NAN : v->out->absolute ? all + one : one < all ? one : all;
    }
    return all;
}

/* Finds the step size and the bound of the compressor. *why is set if there is none. */
static sg_status bound_of(const char **why, struct theory_run *v, struct sg_error *err) {
    const struct sg_compressor_ops *ops = sg_compressor_find(sg_node_string(v->cell->method, "compressor", ""));
    double param[SG_METHOD_NUMBERS];
    *why = theory_method_misfit(v->cell);
    if (*why)
        return SG_OK;
    const sg_status status = theory_parameters(&v->gamma, param, v->cell, sg_task_info(v->observer), err);
    if (status != SG_OK)
        return status;
    v->gamma *= sg_node_number(&v->cell->resolved, "optimizer.scale", 1);
    v->out->absolute = ops->traits & SG_TRAIT_ABSOLUTE;
    v->out->compressor = bound_of_layers(v, ops, param);
    if (isnan(v->out->compressor))
        *why = "what a budget's thresholds lose is not bounded beforehand";
    else if (!v->out->absolute && !(v->out->compressor > 0))
        *why = "its bound allows that more is lost than there was";
    return SG_OK;
}

/* D. With the shifted oracle f_i becomes f_i(x) - <grad f_i(x*), x>, which is as smooth and has D = 0. */
static double dissimilarity_at_optimum(const struct theory_run *v) {
    const bool shifted = strcmp(sg_node_string(&v->cell->resolved, "task.oracle", ""), "full-shifted") == 0;
    return shifted ? 0 : constant(v, "D");
}

static sg_status run_cell(struct theory_run *v, const char **why, struct sg_error *err) {
    struct sg_theory_constants *c = &v->out->constants;
    const struct sg_feedback_rule *rule =
        sg_feedback_find(sg_node_string(&v->cell->resolved, "error-feedback.form", "update"));
    double error = NAN;
    sg_status status = open_observer(v, err);
    SG_DO(status, bound_of(why, v, err));
    if (status == SG_OK && !*why)
        status = theory_train(&error, v->options, v->cell, visit, v, err);
    if (status == SG_OK && !*why) {
        const double unit = rule->in_updates ? 1 : v->gamma * v->gamma;
        v->out->error += isnan(error) ? 0 : unit * error / c->T; /* an exact compressor needs no residual */
        c->gamma = v->gamma;
        c->n = (double)v->workers;
        c->L = v->convex ? constant(v, "row_max") + v->mu : fmax(c->L, v->smooth.largest);
        c->mu = v->convex ? v->mu : NAN;
        if (v->convex)
            c->D += dissimilarity_at_optimum(v);
        else {
            c->gap += v->smooth.first_loss; /* f* is at least 0 */
            c->D = c->R_0 = v->out->average = NAN;
        }
    }
    return status == SG_OK ? SG_OK : sg_prefix(err, "method '%s': ", v->cell->label);
}

static void theory_run_close(struct theory_run *v) {
    sg_task_close(v->observer);
    sg_noise_free(&v->points);
    theory_smoothness_free(&v->smooth);
    free(v->average);
}

/* Sums over the seeds become means. */
static void conclude(struct sg_theory_method *m, size_t seeds) {
    struct sg_theory_constants *c = &m->constants;
    double *const mean[] = {&m->average, &m->error, &c->D, &c->gap, &c->R_0};
    for (size_t k = 0; k < sizeof mean / sizeof *mean; k++)
        *mean[k] /= (double)seeds;
}

static void take_noise(struct sg_theory_constants *c, const struct sg_noise_points *points) {
    const struct sg_noise_constants line = sg_noise_fit(points), cover = sg_noise_cover(points, &line);
    c->M = cover.noise.slope;
    c->sigma_squared = cover.noise.level;
    c->C = cover.dissimilarity.slope;
    c->zeta_squared = cover.dissimilarity.level;
}

/* Runs the cells of one label at all seeds. *why is set if the theorems are not about them. */
static sg_status run_label(struct sg_theory_method *m, const char **why, const struct sg_cell *cells, size_t seeds,
                           const struct sg_theory_options *options, struct sg_error *err) {
    struct sg_noise_points points = {0};
    sg_status status = SG_OK;
    *why = NULL;
    *m = (struct sg_theory_method){.cell = &cells[0]};
    for (size_t s = 0; status == SG_OK && !*why && s < seeds; s++) {
        const struct sg_node *resolved = &cells[s].resolved;
        struct theory_run v = {.options = options,
                               .cell = &cells[s],
                               .workers = (size_t)sg_node_number(resolved, "workers", 1),
                               .every = (uint64_t)sg_node_number(resolved, "record.every", 1),
                               .points = points,
                               .out = m};
        status = run_cell(&v, why, err);
        points = v.points;
        v.points = (struct sg_noise_points){0};
        theory_run_close(&v);
    }
    if (status == SG_OK && !*why) {
        for (size_t i = 0; i < points.count; i++)
            m->gradients += points.point[i].part[SG_NOISE_ALL].mean_gradient / (double)points.count;
        take_noise(&m->constants, &points);
        conclude(m, seeds);
    }
    sg_noise_free(&points);
    return status;
}

sg_status sg_theory_run(struct sg_theory *out, const struct sg_cell *cells, size_t count,
                        const struct sg_theory_options *options, struct sg_error *err) {
    struct sg_theory theory = {.method = sg_calloc(count + 1, sizeof *theory.method),
                               .left_out = sg_calloc(count + 1, sizeof *theory.left_out)};
    sg_status status = SG_OK;
    for (size_t i = 0, seeds; status == SG_OK && i < count; i += seeds) {
        const char *why;
        for (seeds = 1; i + seeds < count && strcmp(cells[i].label, cells[i + seeds].label) == 0;)
            seeds++;
        status = run_label(&theory.method[theory.count], &why, &cells[i], seeds, options, err);
        if (why)
            theory.left_out[theory.n_left_out++] = (struct sg_theory_left_out){&cells[i], why};
        else
            theory.count++;
    }
    if (status == SG_OK && theory.count == 0)
        status = sg_fail(err, SG_ERR_ARGUMENT, "the theorems are about no method of the recipe: '%s': %s",
                         cells[0].label, theory.left_out[0].why);
    if (status == SG_OK)
        *out = theory;
    else
        sg_theory_free(&theory);
    return status;
}

bool sg_theory_statement(struct sg_theory_row *row, const struct sg_theory_method *m, size_t i) {
    static const enum sg_statement absolute[] = {SG_THEOREM_4, SG_THEOREM_5, SG_THEOREM_6, SG_THEOREM_1},
                                   relative[] = {SG_REMARK_6, SG_REMARK_8, SG_THEOREM_7, SG_THEOREM_1};
    if (isnan(m->constants.mu)) /* a network: what is not about convex functions */
        i += 2;
    if (i >= 4)
        return false;
    const double compressor = i == 3 ? m->error : m->compressor;
    row->what = (m->absolute ? absolute : relative)[i];
    row->measured = i >= 2 ? m->gradients : m->average;
    row->bound = sg_theory_bound(row->what, &m->constants, compressor, &row->largest_gamma);
    sg_theory_terms(row->term, row->what, &m->constants, compressor);
    return true;
}

static cJSON *constants_json(const struct sg_theory_constants *c) {
    return SG_OBJECT(SG_NUMBER("L", c->L), SG_NUMBER("mu", c->mu), SG_NUMBER("M", c->M),
                     SG_NUMBER("sigma_squared", c->sigma_squared), SG_NUMBER("C", c->C),
                     SG_NUMBER("zeta_squared", c->zeta_squared), SG_NUMBER("D", c->D), SG_NUMBER("R_0", c->R_0),
                     SG_NUMBER("gap", c->gap), SG_NUMBER("gamma", c->gamma), SG_NUMBER("n", c->n),
                     SG_NUMBER("T", c->T));
}

static cJSON *statements_json(const struct sg_theory_method *m) {
    cJSON *out = cJSON_CreateArray();
    struct sg_theory_row r;
    for (size_t k = 0; sg_theory_statement(&r, m, k); k++)
        sg_json_push(out,
                     SG_OBJECT(SG_TEXT("statement", sg_statement_name(r.what)), SG_NUMBER("measured", r.measured),
                               SG_NUMBER("bound", r.bound), SG_NUMBER("ratio", r.measured / r.bound),
                               SG_NUMBER("start", r.term[SG_TERM_START]), SG_NUMBER("noise", r.term[SG_TERM_NOISE]),
                               SG_NUMBER("compression", r.term[SG_TERM_COMPRESSION]),
                               SG_NUMBER("largest_gamma", r.largest_gamma),
                               SG_BOOL("applies", !isnan(r.bound) && m->constants.gamma <= r.largest_gamma)));
    return out;
}

static cJSON *rate_json(const struct sg_theory_method *m) {
    const struct sg_theory_rate r =
        sg_theory_rate(m->absolute ? SG_THEOREM_6 : SG_THEOREM_7, &m->constants, m->compressor);
    return SG_OBJECT(SG_NUMBER("gamma", r.gamma), SG_NUMBER("rate", r.rate), SG_NUMBER("compression", r.compression),
                     SG_NUMBER("steps", r.steps));
}

cJSON *sg_theory_json(const struct sg_theory *theory) {
    cJSON *methods = cJSON_CreateArray(), *left_out = cJSON_CreateArray();
    for (size_t i = 0; i < theory->count; i++) {
        const struct sg_theory_method *m = &theory->method[i];
        sg_json_push(methods,
                     SG_OBJECT(SG_TEXT("label", m->cell->label),
                               SG_NUMBER("nu_squared", m->absolute ? m->compressor : NAN),
                               SG_NUMBER("delta", m->absolute ? NAN : m->compressor), SG_NUMBER("mean_error", m->error),
                               SG_VALUE("constants", constants_json(&m->constants)),
                               SG_VALUE("statements", statements_json(m)), SG_VALUE("corollary_1", rate_json(m))));
    }
    for (size_t i = 0; i < theory->n_left_out; i++)
        sg_json_push(left_out, SG_OBJECT(SG_TEXT("label", theory->left_out[i].cell->label),
                                         SG_TEXT("why", theory->left_out[i].why)));
    return SG_OBJECT(SG_VALUE("methods", methods), SG_VALUE("left_out", left_out));
}

void sg_theory_free(struct sg_theory *theory) {
    free(theory->method);
    free(theory->left_out);
    *theory = (struct sg_theory){0};
}

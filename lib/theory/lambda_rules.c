/* lambda_rules.c: a threshold from the paper's rules, with constants measured along a pilot. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sg_compressor.h"
#include "sg_debug.h"
#include "sg_json.h"
#include "sg_lambda_rules.h"
#include "sg_memory.h"
#include "theory_private.h"

/* ---- the law of a whole run -------------------------------------------------------------------------------------- */

static const double OVERSHOOT = 0.5826;

/* Messages of an entry after s mean times between two of them. */
static double messages(double s) {
    return fmax(s - 1.0 / 6, 2 * erfc(1 / sqrt(2 * s)));
}

/* How many times as often an entry leaves, with x = mu lambda / v. */
static double drift_factor(double x) {
    return x > 1e-4 ? x / tanh(x) : 1;
}

/* Mean times between two messages in the run. */
static double walks(const struct sg_walk_law *law, double lambda) {
    const double v = law->gradient / law->d, far = lambda + OVERSHOOT * sqrt(v);
    return law->steps * v / (far * far) * drift_factor(law->drift * far);
}

double sg_walk_sent(const struct sg_walk_law *law, double lambda) {
    SG_ASSERT(lambda > 0 && law->gradient > 0);
    return law->d / law->steps * messages(walks(law, lambda));
}

static double messages_of(const void *unused, double s) {
    (void)unused;
    return messages(s);
}

static double factor_of(const void *unused, double x) {
    (void)unused;
    return drift_factor(x);
}

static double inverse_walks(const void *law, double lambda) {
    return 1 / walks(law, lambda);
}

/* The x > 0 at which a function that rises has this value, by halving ln x. */
static double solve_rising(double (*f)(const void *of, double x), const void *of, double value) {
    double low = -300, high = 300;
    for (int i = 0; i < 100; i++) {
        const double middle = (low + high) / 2;
        if (f(of, exp(middle)) < value)
            low = middle;
        else
            high = middle;
    }
    return exp((low + high) / 2);
}

void sg_walk_fit(struct sg_walk_law *law, double lambda, double sent) {
    SG_ASSERT(lambda > 0 && sent > 0 && law->gradient > 0);
    law->drift = 0;
    const double wanted = fmin(law->steps, solve_rising(messages_of, NULL, sent * law->steps / law->d));
    const double more = wanted / walks(law, lambda);
    const double sigma = sqrt(law->gradient / law->d);
    if (more > 1) {
        law->drift = solve_rising(factor_of, NULL, more) / (lambda + OVERSHOOT * sigma);
    } else { /* sigma / (lambda + OVERSHOOT sigma) is the root of `wanted` a step */
        const double share = sqrt(wanted / law->steps), least = share * lambda / (1 - OVERSHOOT * share);
        law->gradient = law->d * least * least;
    }
}

double sg_walk_lambda(const struct sg_walk_law *law, double sent) {
    SG_ASSERT(sent > 0 && law->gradient > 0);
    return solve_rising(inverse_walks, law, 1 / solve_rising(messages_of, NULL, sent * law->steps / law->d));
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

double sg_rule_simple(double k) {
    SG_ASSERT(k > 0);
    return 1 / (2 * sqrt(k));
}

double sg_rule_noise(double k, double gradient) {
    SG_ASSERT(k > 0);
    return sqrt(fmax(0, gradient) / k);
}

double sg_rule_estimated(double k, double d, const struct sg_noise_constants *c, double *error) {
    SG_ASSERT(k > 0 && d > 0);
    const double m = 2 * d / k + c->noise.slope, zeta = c->dissimilarity.level;
    const double inner = m * zeta + c->noise.level, lambda = 2 / sqrt(k) * sqrt(inner);
    if (error) {
        const double by_m =
            zeta > 0 ? zeta * c->noise.slope_error : 0; /* zeta^2 = 0 multiplies M, so its error does not count */
        const double off = hypot(hypot(m * c->dissimilarity.level_error, by_m), c->noise.level_error); /* of `inner` */
        *error = inner > 0 ? lambda * off / (2 * inner) : 2 / sqrt(k) * sqrt(off);
    }
    return lambda;
}

/* ---- pilot ------------------------------------------------------------------------------------------------------- */

struct pilot {
    struct sg_rules *out;
    const struct sg_rules_options *options;
    const struct sg_cell *cells; /* [count] whose Top-k methods are wanted */
    size_t count;
};

static bool is_topk(const struct sg_cell *cells, size_t i) {
    return strcmp(sg_node_string(cells[i].method, "compressor", ""), "topk") == 0 &&
           (i == 0 || strcmp(cells[i].label, cells[i - 1].label) != 0);
}

/* What this Top-k sends at a step: delta n, added up over the layers. */
static sg_status elements_of(double *k, const struct sg_task_info *info, const struct sg_cell *cell,
                             struct sg_error *err) {
    const struct sg_compressor_ops *ops = sg_compressor_find("topk");
    const bool model = strcmp(sg_node_string(&cell->resolved, "scope", "layer"), "model") == 0;
    double gamma, param[SG_METHOD_NUMBERS];
    sg_status status = theory_parameters(&gamma, param, cell, info, err);
    SG_DO(status, sg_compressor_check(ops, param, info->d, err));
    if (status != SG_OK)
        return sg_prefix(err, "method '%s': ", cell->label);
    *k = 0;
    for (size_t l = 0; l < (model ? 1 : info->layout.n_layers); l++) {
        const size_t n = model ? info->d : info->layout.offset[l + 1] - info->layout.offset[l];
        *k += n > 0 ? rint(ops->bound(param, n) * (double)n) : 0;
    }
    return SG_OK;
}

/* Makes a rule for each k. */
static sg_status find_ks(struct pilot *p, const struct sg_task_info *info, struct sg_error *err) {
    struct sg_rules *out = p->out;
    sg_status status = SG_OK;
    out->d = info->d;
    for (size_t i = 0; i < p->count && status == SG_OK; i++) {
        struct sg_rule r = {.cell = &p->cells[i]};
        bool known = false;
        if (!is_topk(p->cells, i))
            continue;
        status = elements_of(&r.k, info, r.cell, err);
        for (size_t j = 0; j < out->count; j++)
            known = known || out->rule[j].k == r.k;
        if (status == SG_OK && !known)
            out->rule[out->count++] = r;
    }
    return status;
}

static sg_status visit(void *arg, const struct sg_task_ops *ops, sg_task *task, uint64_t step, uint64_t steps,
                       struct sg_error *err) {
    struct pilot *p = arg;
    const uint64_t points = p->options->points;
    sg_status status = step == 0 ? find_ks(p, sg_task_info(task), err) : SG_OK;
    p->out->pilot_steps = steps;
    if (status != SG_OK || step == steps || (step > 0 && step * points / steps == (step - 1) * points / steps))
        return status;
    const size_t workers = (size_t)sg_node_number(&p->options->pilot->resolved, "workers", 1);
    return sg_noise_measure(&p->out->points, ops, task, workers, step, p->options->repeats, err);
}

/* mean |g_i|^2 of the points, and its standard error from how they vary; NaN for one point. */
static double mean_gradient(const struct sg_noise_points *points, double *error) {
    const double n = (double)points->count;
    double mean = 0, squares = 0;
    for (size_t p = 0; p < points->count; p++) {
        const struct sg_noise_estimate *all = &points->point[p].part[SG_NOISE_ALL];
        double here = 0;
        for (size_t w = 0; w < points->workers; w++)
            here += (all->gradient[w] + all->noise[w]) / (double)points->workers;
        const double off = here - mean;
        mean += off / (double)(p + 1);
        squares += off * (here - mean);
    }
    *error = sqrt(squares / (n - 1) / n);
    return mean;
}

sg_status sg_rules_measure(struct sg_rules *out, const struct sg_cell *cells, size_t count,
                           const struct sg_rules_options *options, struct sg_error *err) {
    SG_ASSERT(options->points >= 1);
    struct sg_rules rules = {
        .pilot = options->pilot, .repeats = options->repeats, .rule = sg_calloc(count + 1, sizeof *rules.rule)};
    struct pilot p = {.out = &rules, .options = options, .cells = cells, .count = count};
    sg_status status = theory_train(NULL, &options->how, options->pilot, visit, &p, err);
    if (status != SG_OK) {
        sg_rules_free(&rules);
        return sg_prefix(err, "pilot of '%s': ", options->pilot->label);
    }
    rules.constants = sg_noise_fit(&rules.points);
    rules.gradient = mean_gradient(&rules.points, &rules.gradient_error);
    for (size_t i = 0; i < rules.count; i++) {
        struct sg_rule *r = &rules.rule[i];
        r->simple = sg_rule_simple(r->k);
        r->estimated = sg_rule_estimated(r->k, (double)rules.d, &rules.constants, &r->estimated_error);
        r->noise = sg_rule_noise(r->k, rules.gradient);
        r->noise_error = r->noise * rules.gradient_error / (2 * rules.gradient);
    }
    *out = rules;
    return SG_OK;
}

cJSON *sg_rules_json(const struct sg_rules *rules) {
    cJSON *out = sg_noise_json(&rules->points, &rules->constants), *pilot = cJSON_CreateObject();
    cJSON *all = cJSON_CreateArray();
    sg_json_set_string(pilot, "method", rules->pilot->label);
    sg_json_set_u64(pilot, "seed", rules->pilot->seed);
    SG_SET(pilot, SG_NUMBER("steps", rules->pilot_steps), SG_NUMBER("repeats", rules->repeats));
    SG_SET(out, SG_VALUE("pilot", pilot), SG_NUMBER("d", rules->d));
    for (size_t i = 0; i < rules->count; i++) {
        const struct sg_rule *r = &rules->rule[i];
        sg_json_push(all, SG_OBJECT(SG_TEXT("of", r->cell->label), SG_NUMBER("k", r->k),
                                    SG_NUMBER("lambda_simple", r->simple), SG_NUMBER("lambda_estimated", r->estimated),
                                    SG_NUMBER("standard_error", r->estimated_error),
                                    SG_NUMBER("lambda_noise", r->noise), SG_NUMBER("noise_error", r->noise_error),
                                    SG_NUMBER("error_norm", (double)rules->d * r->noise * r->noise / 6)));
    }
    sg_json_set_number(out, "gradient_norm", rules->gradient);
    sg_json_set(out, "rules", all);
    return out;
}

void sg_rules_free(struct sg_rules *rules) {
    sg_noise_free(&rules->points);
    free(rules->rule);
    *rules = (struct sg_rules){0};
}

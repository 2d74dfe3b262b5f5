/* lambda_rules.c: a threshold from the paper's rules, with constants measured along a pilot. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_compressor.h"
#include "sg_debug.h"
#include "sg_json.h"
#include "sg_lambda_rules.h"
#include "sg_train.h"

double sg_rule_simple(double k) {
    SG_ASSERT(k > 0);
    return 1 / (2 * sqrt(k));
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
    struct sg_constant *constant; /* of the task, for expressions */
    size_t n_constants;
    size_t *offset; /* [n_layers + 1] */
    size_t n_layers;
};

/* Copies what is needed of the task after it was closed. */
static sg_status keep(struct pilot *p, const struct sg_task_info *info, struct sg_error *err) {
    p->offset = malloc((info->layout.n_layers + 1) * sizeof *p->offset);
    p->constant = malloc((info->n_constants + 1) * sizeof *p->constant);
    if (!p->offset || !p->constant)
        return sg_fail_memory(err, "the pilot");
    p->n_layers = info->layout.n_layers;
    p->n_constants = info->n_constants;
    memcpy(p->offset, info->layout.offset, (p->n_layers + 1) * sizeof *p->offset);
    for (size_t i = 0; i < p->n_constants; i++) /* names are the task's, which are literals */
        p->constant[i] = info->constant[i];
    p->out->d = info->d;
    return SG_OK;
}

static sg_status visit(void *arg, const struct sg_task_ops *ops, sg_task *task, uint64_t step, uint64_t steps,
                       struct sg_error *err) {
    struct pilot *p = arg;
    const uint64_t points = p->options->points;
    sg_status status = step == 0 ? keep(p, sg_task_info(task), err) : SG_OK;
    p->out->pilot_steps = steps;
    if (status != SG_OK || step == steps || (step > 0 && step * points / steps == (step - 1) * points / steps))
        return status;
    const size_t workers = (size_t)sg_node_number(&p->options->pilot->resolved, "workers", 1);
    return sg_noise_measure(&p->out->points, ops, task, workers, step, p->options->repeats, err);
}

static sg_status run_pilot(struct pilot *p, struct sg_error *err) {
    const struct sg_rules_options *o = p->options;
    struct sg_train_report report;
    struct sg_train_options train = {.recipe = o->recipe,
                                     .cell = o->pilot,
                                     .data_dir = o->data_dir,
                                     .device = o->device,
                                     .threads = o->threads,
                                     .series = fopen("/dev/null", "w"),
                                     .visit = visit,
                                     .visit_arg = p,
                                     .stop = o->stop,
                                     .progress = o->progress,
                                     .notice = o->notice};
    sg_comm *comm = NULL;
    sg_status status =
        train.series ? sg_comm_open(&comm, err) : sg_fail_errno(err, SG_ERR_IO, "cannot write /dev/null");
    if (status == SG_OK && sg_comm_size(comm) > 1)
        status = sg_fail(err, SG_ERR_UNSUPPORTED, "a pilot runs in one process: start it without mpirun");
    SG_DO(status, sg_train_run(&report, comm, &train, err));
    sg_comm_close(comm);
    if (train.series)
        fclose(train.series);
    return status == SG_OK ? SG_OK : sg_prefix(err, "pilot of '%s': ", o->pilot->label);
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

/* What this Top-k sends at a step: delta n, added up over the layers. */
static sg_status elements_of(double *k, const struct pilot *p, const struct sg_cell *cell, struct sg_error *err) {
    const struct sg_compressor_ops *ops = sg_compressor_find("topk");
    double param[8];
    sg_status status = SG_OK;
    for (size_t i = 0; i < ops->n_params && status == SG_OK; i++) {
        const struct sg_node *value = sg_node_get(cell->method, ops->params[i].name);
        param[i] = NAN;
        if (value && value->kind != SG_NODE_NULL)
            status = sg_expression(&param[i], value->string, p->constant, p->n_constants, err);
    }
    SG_DO(status, sg_compressor_check(ops, param, p->out->d, err));
    if (status != SG_OK)
        return sg_prefix(err, "method '%s': ", cell->label);
    const bool model = strcmp(sg_node_string(&cell->resolved, "scope", "layer"), "model") == 0;
    *k = 0;
    for (size_t l = 0; l < (model ? 1 : p->n_layers); l++) {
        const size_t n = model ? p->out->d : p->offset[l + 1] - p->offset[l];
        *k += n > 0 ? rint(ops->bound(param, n) * (double)n) : 0;
    }
    return SG_OK;
}

static bool is_topk(const struct sg_cell *cells, size_t i) {
    return strcmp(sg_node_string(cells[i].method, "compressor", ""), "topk") == 0 &&
           (i == 0 || strcmp(cells[i].label, cells[i - 1].label) != 0);
}

static bool has_k(const struct sg_rules *rules, double k) {
    for (size_t i = 0; i < rules->count; i++)
        if (rules->rule[i].k == k)
            return true;
    return false;
}

static sg_status apply(struct pilot *p, const struct sg_cell *cells, size_t count, struct sg_error *err) {
    struct sg_rules *out = p->out;
    sg_status status = SG_OK;
    out->constants = sg_noise_fit(&out->points);
    for (size_t i = 0; i < count && status == SG_OK; i++) {
        struct sg_rule r = {.cell = &cells[i]};
        if (!is_topk(cells, i))
            continue;
        status = elements_of(&r.k, p, &cells[i], err);
        r.simple = sg_rule_simple(r.k);
        r.estimated = sg_rule_estimated(r.k, (double)out->d, &out->constants, &r.estimated_error);
        if (status == SG_OK && !has_k(out, r.k))
            out->rule[out->count++] = r;
    }
    return status;
}

sg_status sg_rules_measure(struct sg_rules *out, const struct sg_cell *cells, size_t count,
                           const struct sg_rules_options *options, struct sg_error *err) {
    SG_ASSERT(options->points >= 1 && options->threads >= 0);
    struct sg_rules rules = {.pilot = options->pilot, .repeats = options->repeats};
    struct pilot p = {.out = &rules, .options = options};
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        n += is_topk(cells, i);
    if (strcmp(options->device, "cpu") != 0)
        return sg_fail(err, SG_ERR_UNSUPPORTED,
                       "--device %s: the pilot's gradients are looked at on the CPU: use "
                       "--device cpu",
                       options->device);
    if (n == 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "the recipe has no method with compressor topk: the rules take its k");
    rules.rule = calloc(n, sizeof *rules.rule);
    sg_status status = rules.rule ? run_pilot(&p, err) : sg_fail_memory(err, "the rules");
    SG_DO(status, apply(&p, cells, count, err));
    free(p.offset);
    free(p.constant);
    if (status == SG_OK)
        *out = rules;
    else
        sg_rules_free(&rules);
    return status;
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
                                    SG_NUMBER("standard_error", r->estimated_error)));
    }
    sg_json_set(out, "rules", all);
    return out;
}

void sg_rules_free(struct sg_rules *rules) {
    sg_noise_free(&rules->points);
    free(rules->rule);
    *rules = (struct sg_rules){0};
}

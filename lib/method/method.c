/* method.c: opening and closing a method: parameters, layers, controller, room for the workers' messages. */
#include "method_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- parameters ---- */

/* Presets filled in and every value in its range; `name` is whose they are. */
static sg_status resolve(double out[SG_METHOD_PARAMS], const char *name, const struct sg_parameter *params,
                         size_t n_params, const double *param, struct sg_error *err) {
    if (n_params > SG_METHOD_PARAMS)
        return sg_fail(err, SG_ERR_UNSUPPORTED, "%s: more than %d parameters", name, SG_METHOD_PARAMS);
    for (size_t i = 0; i < n_params; i++) {
        const struct sg_parameter *p = &params[i];
        out[i] = isnan(param[i]) ? p->preset : param[i];
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

static sg_status resolve_compressor(double out[SG_METHOD_PARAMS], const struct sg_compressor_ops *ops,
                                    const double *param, size_t d, struct sg_error *err) {
    sg_status status = resolve(out, ops->name, ops->params, ops->n_params, param, err);
    if (status == SG_OK && ops->check != NULL && ops->check(out, d, err) != SG_OK)
        status = sg_prefix(err, "%s: ", ops->name);
    return status;
}

sg_status sg_compressor_check(const struct sg_compressor_ops *ops, const double *param, size_t d,
                              struct sg_error *err) {
    double resolved[SG_METHOD_PARAMS];
    return resolve_compressor(resolved, ops, param, d, err);
}

/* The controller that is given, or the one that the compressor's parameters ask for. */
static sg_status resolve_controller(sg_method *m, const struct sg_method_config *config, struct sg_error *err) {
    double wanted[SG_METHOD_PARAMS] = {0};
    const double *param = config->controller_param;
    m->controller = config->controller;
    if (m->controller == NULL && m->compressor->controller != NULL) {
        m->controller = m->compressor->controller(m->param, wanted);
        param = wanted;
    }
    const struct sg_controller_ops *ops = m->controller;
    if (ops == NULL)
        return SG_OK;
    if (m->compressor->knob == NULL)
        return sg_fail(err, SG_ERR_ARGUMENT, "%s: there is nothing that the controller '%s' could change",
                       m->compressor->name, ops->name);
    sg_status status = resolve(m->controller_param, ops->name, ops->params, ops->n_params, param, err);
    if (status == SG_OK && ops->check != NULL && ops->check(m->controller_param, &m->facts, err) != SG_OK)
        status = sg_prefix(err, "%s: ", m->compressor->name);
    return status;
}

static sg_status check_config(const struct sg_method_config *config, struct sg_error *err) {
    const struct sg_layout *layout = &config->layout;
    if (layout->n_layers == 0 || layout->offset[0] != 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "a layout has at least one layer and starts at 0");
    for (size_t l = 0; l < layout->n_layers; l++)
        if (layout->offset[l + 1] < layout->offset[l])
            return sg_fail(err, SG_ERR_ARGUMENT, "layer %zu ends before it starts", l);
    if (layout->offset[layout->n_layers] > UINT32_MAX)
        return sg_fail(err, SG_ERR_UNSUPPORTED, "%zu parameters: indices are 32 bits wide",
                       layout->offset[layout->n_layers]);
    if (config->feedback.form != SG_FEEDBACK_UPDATE && config->feedback.form != SG_FEEDBACK_GRADIENT &&
        config->feedback.form != SG_FEEDBACK_NONE)
        return sg_fail(err, SG_ERR_ARGUMENT, "error feedback has no form %d", (int)config->feedback.form);
    if (config->feedback.form != SG_FEEDBACK_NONE && !(config->feedback.decay >= 0 && config->feedback.decay <= 1))
        return sg_fail(err, SG_ERR_ARGUMENT, "error-feedback decay %g is not between 0 and 1", config->feedback.decay);
    if (config->count == 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "a method has at least one worker");
    return SG_OK;
}

/* ---- opening ---- */

static sg_status copy_layout(struct sg_layout *out, const struct sg_layout *in, struct sg_error *err) {
    const size_t n = in->n_layers;
    size_t *offset = malloc((n + 1) * sizeof *offset);
    out->offset = offset;
    if (offset == NULL)
        return sg_fail_memory(err, "a method's layers");
    memcpy(offset, in->offset, (n + 1) * sizeof *offset);
    out->n_layers = n;
    if (in->name == NULL)
        return SG_OK;
    /* Pointers and texts in one allocation. */
    size_t bytes = n * sizeof *out->name;
    for (size_t l = 0; l < n; l++)
        bytes += strlen(in->name[l]) + 1;
    const char **name = malloc(bytes);
    out->name = name;
    if (name == NULL)
        return sg_fail_memory(err, "a method's layer names");
    char *text = (char *)(name + n);
    for (size_t l = 0; l < n; l++) {
        name[l] = text;
        text = stpcpy(text, in->name[l]) + 1;
    }
    return SG_OK;
}

static sg_status choose_kernels(sg_method *m, const struct sg_method_config *config, struct sg_error *err) {
    m->exec = config->exec;
    m->kernels = config->kernels != NULL ? config->kernels : sg_kernels_cpu(NULL);
    if (m->kernels == NULL)
        return sg_fail(err, SG_ERR_UNSUPPORTED, "SG_CPU=%s: this machine has no such kernels (c, avx2, avx512)",
                       getenv("SG_CPU"));
    if (m->exec.device != NULL && !(m->compressor->traits & SG_TRAIT_GPU))
        return sg_fail(err, SG_ERR_UNSUPPORTED, "compressor '%s' does not run on a GPU: use --device cpu",
                       m->compressor->name);
    return SG_OK;
}

static bool allocate_room(const sg_method *m, struct message_room *room) {
    const bool dense = m->compressor->traits & SG_TRAIT_DENSE, halves = m->code == &sg_code_fp16;
    room->index = dense ? NULL : m->kernels->allocate(&m->exec, m->d * sizeof *room->index);
    room->value = m->kernels->allocate(&m->exec, m->d * sizeof *room->value);
    room->half = halves ? m->kernels->allocate(&m->exec, m->d * sizeof *room->half) : NULL;
    return (room->index != NULL || dense) && room->value != NULL && (room->half != NULL || !halves);
}

static bool keeps_lead_sum(const sg_method *m, size_t worker) {
    return worker == 0 && m->controller != NULL && m->controller->ask != NULL &&
           m->controller->ask(m->controller_param, m->state, NULL) & SG_ASK_ADD;
}

static sg_status allocate(sg_method *m, const struct sg_method_config *config, struct sg_error *err) {
    const size_t layers = m->layout.n_layers, doubles = m->controller != NULL ? m->controller->doubles(layers) : 0;
    m->rooms = config->turns ? 1 : m->count;
    m->worker = calloc(m->count, sizeof *m->worker);
    m->room = calloc(m->rooms, sizeof *m->room);
    m->decided = m->settings.knob = calloc(layers, sizeof *m->decided);
    m->state = calloc(doubles + 1, sizeof *m->state);
    bool whole = m->worker != NULL && m->room != NULL && m->decided != NULL && m->state != NULL;
    for (size_t i = 0; whole && i < m->rooms; i++)
        whole = allocate_room(m, &m->room[i]);
    for (size_t w = 0; whole && w < m->count; w++) {
        m->worker[w].room = &m->room[config->turns ? 0 : w];
        whole = (m->worker[w].count = calloc(layers, sizeof *m->worker[w].count)) != NULL;
    }
    if (whole && keeps_lead_sum(m, m->first))
        whole = (m->lead_sum = m->kernels->allocate(&m->exec, m->d * sizeof *m->lead_sum)) != NULL;
    return whole ? SG_OK
                 : sg_fail(err, SG_ERR_MEMORY, "out of memory for the messages of %zu workers of %zu parameters",
                           m->rooms, m->d);
}

static sg_status open_workers(sg_method *m, const struct sg_method_config *config, struct sg_error *err) {
    m->settings.own = m->compressor->knob != NULL ? m->param[m->compressor->knob(m->param)] : (double)NAN;
    for (size_t l = 0; l < m->layout.n_layers; l++)
        m->settings.knob[l] = m->settings.own;
    if (m->controller != NULL && m->controller->start != NULL)
        m->controller->start(m->state, m->layout.n_layers);
    sg_status status = SG_OK;
    for (size_t w = 0; w < m->count && status == SG_OK; w++) {
        m->worker[w].seen = (struct sg_worker){.number = (uint32_t)(m->first + w),
                                               .seed = config->seed,
                                               .param = m->param,
                                               .knob = m->decided,
                                               .unit = 1,
                                               .controlled = m->controller != NULL,
                                               .layout = m->layout,
                                               .feedback = m->feedback,
                                               .code = m->code,
                                               .kernels = m->kernels,
                                               .exec = m->exec};
        status = m->compressor->open != NULL ? m->compressor->open(&m->worker[w].seen, err) : SG_OK;
    }
    return status;
}

sg_status sg_method_open(sg_method **out, const struct sg_method_config *config, struct sg_error *err) {
    const struct sg_layout *layout = &config->layout;
    *out = NULL;
    sg_status status = check_config(config, err);
    if (status != SG_OK)
        return status;
    sg_method *m = calloc(1, sizeof *m);
    if (m == NULL)
        return sg_fail_memory(err, "a method");
    m->compressor = config->compressor;
    m->d = layout->offset[layout->n_layers];
    m->feedback = config->feedback;
    m->code = config->code != NULL ? config->code : &sg_code_fp32;
    m->first = config->first;
    m->count = config->count;
    m->facts = (struct sg_facts){.steps = config->steps,
                                 .steps_per_epoch = config->steps_per_epoch > 0 ? config->steps_per_epoch : UINT64_MAX,
                                 .layers = layout->n_layers,
                                 .d = m->d};
    status = resolve_compressor(m->param, m->compressor, config->param, m->d, err);
    if (status == SG_OK)
        status = resolve_controller(m, config, err);
    if (status == SG_OK)
        status = copy_layout(&m->layout, layout, err);
    if (status == SG_OK)
        status = choose_kernels(m, config, err);
    if (status == SG_OK)
        status = allocate(m, config, err);
    if (status == SG_OK)
        status = open_workers(m, config, err);
    if (status == SG_OK)
        *out = m;
    else
        sg_method_close(m);
    return status;
}

void sg_method_close(sg_method *m) {
    if (m == NULL)
        return;
    for (size_t w = 0; m->worker != NULL && w < m->count; w++) {
        free(m->worker[w].count);
        free(m->worker[w].seen.scratch);
    }
    for (size_t i = 0; m->room != NULL && i < m->rooms; i++) {
        m->kernels->release(&m->exec, m->room[i].index);
        m->kernels->release(&m->exec, m->room[i].value);
        m->kernels->release(&m->exec, m->room[i].half);
    }
    if (m->kernels != NULL)
        m->kernels->release(&m->exec, m->lead_sum);
    free(m->worker);
    free(m->room);
    free(m->decided);
    free(m->state);
    free((void *)m->layout.name);
    free((void *)m->layout.offset);
    free(m);
}

/* ---- checkpoint: once the controller's numbers; of worker 0 the sum of its gradients, if there is one ---- */

size_t sg_method_common_bytes(const sg_method *m) {
    return m->controller != NULL ? m->controller->doubles(m->layout.n_layers) * sizeof *m->state : 0;
}

void sg_method_common_save(const sg_method *m, void *out) {
    const size_t bytes = sg_method_common_bytes(m);
    if (bytes > 0)
        memcpy(out, m->state, bytes);
}

void sg_method_common_load(sg_method *m, const void *in) {
    const size_t bytes = sg_method_common_bytes(m);
    if (bytes > 0)
        memcpy(m->state, in, bytes);
}

size_t sg_method_worker_bytes(const sg_method *m, size_t worker) {
    return keeps_lead_sum(m, worker) ? m->d * sizeof *m->lead_sum : 0;
}

void sg_method_worker_save(const sg_method *m, size_t worker, void *out) {
    if (keeps_lead_sum(m, worker)) /* a device that fails here fails the caller's own copies too */
        (void)m->kernels->get(&m->exec, out, m->lead_sum, m->d * sizeof *m->lead_sum);
}

void sg_method_worker_load(sg_method *m, size_t worker, const void *in) {
    if (keeps_lead_sum(m, worker))
        m->kernels->put(&m->exec, m->lead_sum, in, m->d * sizeof *m->lead_sum);
}

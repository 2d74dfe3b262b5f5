#include "compressor_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double sg_message_bits(const struct sg_message *m) {
    return (m->kind == SG_MESSAGE_SPARSE ? 64.0 : 32.0) * (double)m->count;
}

/* Presets filled in and every value in its range. */
static sg_status resolve(double out[SG_COMPRESSOR_PARAMS], const struct sg_compressor_ops *ops, const double *param,
                         struct sg_error *err) {
    if (ops->n_params > SG_COMPRESSOR_PARAMS)
        return sg_fail(err, SG_ERR_UNSUPPORTED, "%s: more than %d parameters", ops->name, SG_COMPRESSOR_PARAMS);
    for (size_t i = 0; i < ops->n_params; i++) {
        const struct sg_parameter *p = &ops->params[i];
        out[i] = isnan(param[i]) ? p->preset : param[i];
        if (isnan(out[i]))
            continue;
        if (!(out[i] >= p->min && out[i] <= p->max))
            return sg_fail(err, SG_ERR_ARGUMENT, "%s: '%s' = %g is not between %g and %g", ops->name, p->name, out[i],
                           p->min, p->max);
        if (p->integer && out[i] != floor(out[i]))
            return sg_fail(err, SG_ERR_ARGUMENT, "%s: '%s' = %g is not a whole number", ops->name, p->name, out[i]);
    }
    return SG_OK;
}

static sg_status resolve_and_check(double out[SG_COMPRESSOR_PARAMS], const struct sg_compressor_ops *ops,
                                   const double *param, size_t d, struct sg_error *err) {
    sg_status status = resolve(out, ops, param, err);
    if (status == SG_OK && ops->check != NULL && ops->check(out, d, err) != SG_OK)
        status = sg_prefix(err, "%s: ", ops->name);
    return status;
}

sg_status sg_compressor_check(const struct sg_compressor_ops *ops, const double *param, size_t d,
                              struct sg_error *err) {
    double resolved[SG_COMPRESSOR_PARAMS];
    return resolve_and_check(resolved, ops, param, d, err);
}

static sg_status check_config(const struct sg_compressor_config *config, struct sg_error *err) {
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
    return SG_OK;
}

static sg_status copy_layout(struct sg_layout *out, const struct sg_layout *in, struct sg_error *err) {
    const size_t n = in->n_layers;
    size_t *offset = malloc((n + 1) * sizeof *offset);
    out->offset = offset;
    if (offset == NULL)
        return sg_fail_memory(err, "a compressor's layers");
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
        return sg_fail_memory(err, "a compressor's layer names");
    char *text = (char *)(name + n);
    for (size_t l = 0; l < n; l++) {
        name[l] = text;
        text = stpcpy(text, in->name[l]) + 1;
    }
    return SG_OK;
}

sg_status sg_compressor_open(sg_compressor **out, const struct sg_compressor_config *config, struct sg_error *err) {
    sg_status status;
    sg_compressor *c = NULL;
    *out = NULL;
    status = check_config(config, err);
    if (status != SG_OK)
        goto out;
    c = calloc(1, sizeof *c);
    if (c == NULL) {
        status = sg_fail_memory(err, "a compressor");
        goto out;
    }
    const size_t n_layers = config->layout.n_layers, d = config->layout.offset[n_layers];
    status = resolve_and_check(c->param, config->ops, config->param, d, err);
    if (status != SG_OK)
        goto out;
    status = copy_layout(&c->layout, &config->layout, err);
    if (status != SG_OK)
        goto out;
    c->feedback = config->feedback;
    c->precision = config->precision;
    c->seed = config->seed;
    c->worker = config->worker;
    c->steps_per_epoch = config->steps_per_epoch > 0 ? config->steps_per_epoch : UINT64_MAX;
    c->steps = config->steps;
    c->exec = config->exec;
    c->kernels = config->kernels != NULL ? config->kernels : sg_kernels_cpu(NULL);
    if (c->kernels == NULL) {
        status = sg_fail(err, SG_ERR_UNSUPPORTED, "SG_CPU=%s: this machine has no such kernels (c, avx2, avx512)",
                         getenv("SG_CPU"));
        goto out;
    }
    if (c->exec.device != NULL && !(config->ops->traits & SG_TRAIT_GPU)) {
        status = sg_fail(err, SG_ERR_UNSUPPORTED, "compressor '%s' does not run on a GPU: use --device cpu",
                         config->ops->name);
        goto out;
    }
    const bool dense = config->ops->traits & SG_TRAIT_DENSE;
    c->borrows = config->value != NULL;
    c->index = dense ? NULL : c->borrows ? config->index : c->kernels->allocate(&c->exec, d * sizeof *c->index);
    c->value = c->borrows ? config->value : c->kernels->allocate(&c->exec, d * sizeof *c->value);
    c->count = calloc(n_layers, sizeof *c->count);
    c->mode = config->ops->due != NULL ? calloc(n_layers, sizeof *c->mode) : NULL;
    if ((c->index == NULL && !dense) || c->value == NULL || c->count == NULL ||
        (c->mode == NULL && config->ops->due != NULL)) {
        status = sg_fail_memory(err, "a compressor's message");
        goto out;
    }
    c->ops = config->ops; /* from here on close() calls ops->close */
    status = c->ops->open != NULL ? c->ops->open(c, err) : SG_OK;
    if (status != SG_OK)
        goto out;
    *out = c;
    c = NULL;
out:
    sg_compressor_close(c);
    return status;
}

void sg_compressor_close(sg_compressor *c) {
    if (c == NULL)
        return;
    if (c->ops != NULL && c->ops->close != NULL)
        c->ops->close(c);
    free(c->state);
    if (c->kernels != NULL && !c->borrows) {
        c->kernels->release(&c->exec, c->index);
        c->kernels->release(&c->exec, c->value);
    }
    free(c->count);
    free(c->mode);
    free((void *)c->layout.name);
    free((void *)c->layout.offset);
    free(c);
}

static sg_status fail_kernel(const sg_compressor *c, int kernel_status, uint64_t step, struct sg_error *err) {
    const size_t layer = c->count[0]; /* of a non-finite element */
    switch (kernel_status) {
    case SG_KERNEL_NONFINITE:
        return sg_fail(
            err, SG_ERR_NONFINITE,
            "worker %u, step %llu, layer %zu%s%s: the gradient or what error feedback adds to it is NaN or Inf",
            c->worker, (unsigned long long)step, layer, c->layout.name != NULL ? " " : "",
            c->layout.name != NULL ? c->layout.name[layer] : "");
    case SG_KERNEL_MEMORY:
        return sg_fail_memory(err, "selecting elements");
    default:
        return sg_fail(err, SG_ERR_UNSUPPORTED, "worker %u, step %llu: the device failed in %s (%s)", c->worker,
                       (unsigned long long)step, c->ops->name, c->kernels->name);
    }
}

sg_status sg_compressor_run(sg_compressor *c, double gamma, uint64_t step, const float *g, float *e,
                            struct sg_message *out, struct sg_error *err) {
    const enum sg_feedback_form form = c->feedback.form;
    const bool exact = c->ops->traits & SG_TRAIT_EXACT && c->precision == SG_FP32;
    if (e == NULL ? form != SG_FEEDBACK_NONE && !exact : form == SG_FEEDBACK_NONE)
        return sg_fail(err, SG_ERR_ARGUMENT, "a residual goes with error feedback, and only with it");
    const float scale = form == SG_FEEDBACK_UPDATE ? (float)gamma : 1;
    if (!(scale > 0 && isfinite(scale)))
        return sg_fail(err, SG_ERR_ARGUMENT, "learning rate %g at step %llu is not a positive float", gamma,
                       (unsigned long long)step);
    struct sg_select s = {
        .exec = &c->exec,
        .n_layers = c->layout.n_layers,
        .offset = c->layout.offset,
        .g = g,
        .e = e,
        .scale = scale,
        .decay = form == SG_FEEDBACK_NONE ? 1 : (float)c->feedback.decay,
        .index = c->index,
        .value = c->value,
        .count = c->count,
    };
    const int kernel_status = c->ops->compress(c, &s, gamma, step);
    c->touched = NULL;
    if (kernel_status != SG_KERNEL_OK)
        return fail_kernel(c, kernel_status, step, err);
    size_t count = 0;
    for (size_t l = 0; l < s.n_layers; l++)
        count += c->count[l];
    if (c->precision == SG_FP16 && c->kernels->round_half != NULL)
        c->kernels->round_half(&c->exec, c->value, c->index, count, e);
    else if (c->precision == SG_FP16)
        sg_half_round(c->value, c->index, count, e);
    *out = (struct sg_message){
        .kind = c->ops->traits & SG_TRAIT_DENSE ? SG_MESSAGE_DENSE : SG_MESSAGE_SPARSE,
        .n = s.offset[s.n_layers],
        .count = count,
        .index = c->index,
        .value = c->value,
        .layer_count = c->count,
    };
    return SG_OK;
}

void sg_compressor_touched(sg_compressor *c, const struct sg_ranges *touched) {
    c->touched = touched;
}

bool sg_compressor_due(const sg_compressor *c, uint64_t step) {
    return c->ops->due != NULL && c->ops->due(c, step);
}

void sg_compressor_decide(sg_compressor *c, double gamma, uint64_t step, const float *g) {
    c->ops->decide(c, gamma, step, g);
}

uint8_t *sg_compressor_mode(sg_compressor *c) {
    return c->mode;
}

double sg_compressor_note(const sg_compressor *c) {
    return c->ops->note != NULL ? c->ops->note(c) : 0;
}

void sg_compressor_learn(sg_compressor *c, uint64_t step, double entries, double note) {
    if (c->ops->learn != NULL)
        c->ops->learn(c, step, entries, note);
}

double sg_compressor_threshold(const sg_compressor *c) {
    return c->ops->threshold != NULL ? c->ops->threshold(c) : NAN;
}

double sg_compressor_budget(const sg_compressor *c) {
    return c->ops->budget != NULL ? c->ops->budget(c) : NAN;
}

/* ---- checkpoint: modes, then what the compressor adds ----------------------------------------------------------- */

static size_t mode_bytes(const sg_compressor *c) {
    return c->mode != NULL ? c->layout.n_layers * sizeof *c->mode : 0;
}

static size_t own_bytes(const sg_compressor *c, uint32_t worker) {
    return c->ops->state_bytes != NULL ? c->ops->state_bytes(c, worker) : 0;
}

size_t sg_compressor_state_bytes(const sg_compressor *c, uint32_t worker) {
    return mode_bytes(c) + own_bytes(c, worker);
}

void sg_compressor_state_save(const sg_compressor *c, void *out) {
    const size_t modes = mode_bytes(c);
    if (modes > 0)
        memcpy(out, c->mode, modes);
    if (own_bytes(c, c->worker) > 0)
        c->ops->state_save(c, (char *)out + modes);
}

void sg_compressor_state_load(sg_compressor *c, const void *in) {
    const size_t modes = mode_bytes(c);
    if (modes > 0)
        memcpy(c->mode, in, modes);
    if (own_bytes(c, c->worker) > 0)
        c->ops->state_load(c, (const char *)in + modes);
}

/* selector.c: a compressor that selects elements by a threshold of each layer, and keeps state from step to step. It
 * sends what exceeds `factor` times the running root mean square of the layer's gradient.
 *
 *     cc -shared -fPIC selector.c $(pkg-config --cflags sparsegrad) -o running-rms.so
 *     sparsetrain --plugin running-rms.so recipe.yaml      with   methods: [{name: Mine, compressor: running-rms}]
 *     sparsebench --plugin running-rms.so --verify-compressors running-rms */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <sg_compressor_plugin.h>
#include <stdlib.h>

enum { FACTOR, DECAY }; /* the place of each parameter, in the order of `parameters` */
static const struct sg_parameter parameters[] = {
    {.name = "factor",
     .min = 0,
     .max = 1000,
     .preset = 2,
     .help = "threshold, in running root mean squares of the layer's gradient"},
    {.name = "decay", .min = 0, .max = 0.9999, .preset = 0.9, .help = "weight of the past in the running mean"},
};

static size_t knob(const double *param) {
    (void)param;
    return FACTOR; /* what a controller, or --match-bytes, may change */
}

static size_t state_length(const struct sg_layout *layout) {
    return layout->n_layers + 1; /* the running mean of each layer, and the number of steps; checkpoints save them */
}

static sg_status open_worker(struct sg_worker *w, struct sg_error *err) {
    w->scratch = malloc((w->shared->layout.n_layers + 1) * sizeof(float)); /* freed for us */
    return w->scratch ? SG_OK : sg_fail_memory(err, "running-rms");
}

static int select_elements(struct sg_worker *w, struct sg_select *s) {
    float *threshold = w->scratch;
    double *mean = w->state, *steps = w->state + s->n_layers;
    const double decay = w->shared->param[DECAY];
    *steps += 1;
    for (size_t l = 0; l < s->n_layers; l++) {
        const size_t n = s->offset[l + 1] - s->offset[l];
        double sum = 0;
        for (size_t i = s->offset[l]; i < s->offset[l + 1]; i++)
            sum += (double)s->g[i] * s->g[i];
        mean[l] = decay * mean[l] + (1 - decay) * sum / (double)(n > 0 ? n : 1);
        const double square = mean[l] / (1 - pow(decay, *steps)); /* as if the mean had not begun at 0 */
        threshold[l] = (float)(w->shared->knob[l] * sqrt(square) * (double)s->scale); /* in the units of p */
    }
    return w->shared->kernels->select_threshold(s, threshold); /* forms p = e + g, sends, and writes e in one pass */
}

static const struct sg_compressor_ops running_rms = {
    .name = "running-rms",
    .summary = "what exceeds a multiple of the running root mean square of the layer's gradient",
    .source = "an example",
    .traits = SG_TRAIT_WANTS_FEEDBACK,
    .params = parameters,
    .n_params = 2,
    .knob = knob,
    .worker_doubles = state_length,
    .open = open_worker,
    .select = select_elements,
};

static const struct sg_compressor_ops *const compressors[] = {&running_rms, NULL};
SG_EXPORT const struct sg_compressor_plugin sparsegrad_plugin = {SG_PLUGIN_INTERFACE, .compressors = compressors};

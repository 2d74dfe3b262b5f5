/* controller.c: a controller. It sets the knob of each layer to the recipe's value in the first half of a run, and to
 * `late` in the second half.
 *
 *     cc -shared -fPIC controller.c $(pkg-config --cflags sparsegrad) -o late.so
 *     sparsetrain --plugin late.so recipe.yaml
 *
 * A recipe then says   controller: {kind: late, late: 8}. */
/* SPDX-License-Identifier: MIT */
#include <sg_compressor_plugin.h>

static void decide(const double *param, double *state, const struct sg_facts *f, struct sg_settings *out) {
    (void)state; /* `doubles` would say how many numbers it keeps between steps */
    for (size_t l = 0; l < f->layers; l++)
        out->knob[l] = 2 * f->step < f->steps ? out->own : param[0];
}

static const struct sg_parameter parameters[] = {
    {.name = "late", .min = 0, .max = 1e18, .preset = 1, .help = "the knob in the second half"},
};

static const struct sg_controller_ops late = {
    .name = "late",
    .summary = "another value of the knob in the second half of a run",
    .source = "an example",
    .params = parameters,
    .n_params = 1,
    .n_knobs = 1, /* so the first parameter is checked as the compressor's knob is */
    .decide = decide,
};

static const struct sg_controller_ops *const controllers[] = {&late, NULL};
SG_EXPORT const struct sg_compressor_plugin sparsegrad_plugin = {SG_PLUGIN_INTERFACE, .controllers = controllers};

/* controller.c: a controller. It sets the knob of each layer to the recipe's value in the first half of a run, and to
 * `late` in the second half.
 *
 * A controller lies in the tree: copy this file to lib/method/control_NAME.c, and add NAME to METHOD_CONTROLLERS in
 * lib/method/method_private.h. A recipe then says   controller: {kind: late, late: 8}. */
#include <sg_controller.h>

static void decide(const double *param, double *state, const struct sg_facts *f, struct sg_settings *out) {
    (void)state; /* `doubles` would say how many numbers it keeps between steps */
    for (size_t l = 0; l < f->layers; l++)
        out->knob[l] = 2 * f->step < f->steps ? out->own : param[0];
}

static const struct sg_parameter parameters[] = {{"late", 0, 1e18, 1, false, "the knob in the second half"}};

extern const struct sg_controller_ops sg_control_late;
const struct sg_controller_ops sg_control_late = {
    .name = "late",
    .summary = "another value of the knob in the second half of a run",
    .source = "an example",
    .params = parameters,
    .n_params = 1,
    .n_knobs = 1, /* so the first parameter is checked as the compressor's knob is */
    .decide = decide,
};

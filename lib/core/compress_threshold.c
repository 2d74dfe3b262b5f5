/* compress_threshold.c: the hard-threshold sparsifier (eq. 5), one lambda for all layers. */
#include "compressor_private.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { LAMBDA, PARAMS };

static sg_status check(const double *param, size_t d, struct sg_error *err) {
    (void)d;
    if (isnan(param[LAMBDA]))
        return sg_fail(err, SG_ERR_ARGUMENT, "needs 'lambda'");
    return SG_OK;
}

static sg_status open_threshold(sg_compressor *c, struct sg_error *err) {
    c->state = malloc((c->layout.n_layers + 1) * sizeof(float)); /* tau; + 1: never of size 0 */
    return c->state ? SG_OK : sg_fail_memory(err, "hard-threshold");
}

/* Algorithm 1 thresholds p / gamma in the update form, that is p at lambda gamma: rounded once, to the kernel's float.
 */
static int compress(sg_compressor *c, struct sg_select *s, double gamma, uint64_t step) {
    (void)step;
    const double lambda = c->param[LAMBDA];
    float *tau = c->state;
    for (size_t l = 0; l < s->n_layers; l++)
        tau[l] = (float)(c->feedback.form == SG_FEEDBACK_UPDATE ? lambda * gamma : lambda);
    return c->kernels->select_threshold(s, tau);
}

/* Every element left behind is below lambda. */
static double bound(const double *param, size_t n) {
    return (double)n * param[LAMBDA] * param[LAMBDA];
}

static const struct sg_parameter params[PARAMS] = {
    [LAMBDA] = {"lambda", 0, FLT_MAX, NAN, false,
                "threshold on the gradient's scale: sends where |p / gamma| >= lambda"},
};

const struct sg_compressor_ops sg_compress_hard_threshold = {
    .name = "hard-threshold",
    .summary = "every element at least lambda in magnitude",
    .source = "section 4, eq. 5; Strom, Interspeech 2015; Dutta et al., AAAI 2020",
    .traits = SG_TRAIT_ABSOLUTE | SG_TRAIT_WANTS_FEEDBACK | SG_TRAIT_GPU,
    .params = params,
    .n_params = PARAMS,
    .check = check,
    .open = open_threshold,
    .compress = compress,
    .bound = bound,
};

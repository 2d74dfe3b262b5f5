/* compress_inceptionn.c: INCEPTIONN: every element in as few bits as an error bound needs (lib/wire/code_inceptionn.c). The
 * bound is on the gradient's scale, as lambda of hard-threshold is. */
#include "method_private.h"

#include <math.h>
#include <stdlib.h>

enum { BOUND, PARAMS };

struct room {
    size_t *count; /* [n_layers] */
    void *data;
};

static struct sg_numbers numbers_of(const struct sg_worker *w, const double *param) {
    const struct sg_layout *layout = &w->shared->layout;
    return (struct sg_numbers){.count = layout->offset[layout->n_layers],
                               .parts = layout->n_layers,
                               .param = param,
                               .kernels = w->shared->kernels,
                               .threads = w->shared->exec.threads};
}

static sg_status open_inceptionn(struct sg_worker *w, struct sg_error *err) {
    const struct sg_layout *layout = &w->shared->layout;
    const struct sg_numbers all = numbers_of(w, w->shared->param);
    struct room *room =
        malloc(sizeof *room + layout->n_layers * sizeof *room->count + sg_code_inceptionn.most_bytes(&all));
    if (room == NULL)
        return sg_fail_memory(err, "inceptionn");
    room->count = (size_t *)(room + 1);
    room->data = room->count + layout->n_layers;
    for (size_t l = 0; l < layout->n_layers; l++)
        room->count[l] = layout->offset[l + 1] - layout->offset[l];
    w->scratch = room;
    return SG_OK;
}

static void encode(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    const struct room *room = w->scratch;
    const double param[PARAMS] = {[BOUND] = w->shared->param[BOUND] * w->unit};
    struct sg_numbers numbers = numbers_of(w, param);
    (void)round;
    numbers.value = p;
    numbers.part = room->count;
    *out = (struct sg_message){.code = &sg_code_inceptionn,
                               .n = numbers.count,
                               .count = numbers.count,
                               .data = room->data,
                               .layer_count = room->count};
    out->bytes = sg_code_inceptionn.encode(room->data, &numbers, &out->bits);
}

static sg_status check(const double *param, size_t d, struct sg_error *err) {
    (void)d;
    return isnan(param[BOUND]) ? sg_fail(err, SG_ERR_ARGUMENT, "needs 'error-bound'") : SG_OK;
}

/* An integer of 16 bits times the step is rounded to a float, by at most 2^-8 of the bound. */
static double bound(const double *param, size_t n) {
    const double most = param[BOUND] * (1 + 0x1p-8);
    return (double)n * most * most;
}

static const struct sg_parameter params[PARAMS] = {
    [BOUND] = {"error-bound", 0x1p-100, 0x1p100, NAN, false,
               "the largest error of an element, on the gradient's scale"},
};

const struct sg_compressor_ops sg_compress_inceptionn = {
    .name = "inceptionn",
    .summary = "every element in 2 to 34 bits, as an error bound needs",
    .source = "Li et al., MICRO 2018",
    .traits = SG_TRAIT_ABSOLUTE | SG_TRAIT_DENSE,
    .params = params,
    .n_params = PARAMS,
    .check = check,
    .open = open_inceptionn,
    .encode = encode,
    .bound = bound,
};

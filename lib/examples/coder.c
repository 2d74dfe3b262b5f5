/* coder.c: a compressor that writes its own message. It sends the k elements of every layer that have the largest
 * magnitudes, as the compressor topk of the programs does.
 *
 *     cc -shared -fPIC coder.c $(pkg-config --cflags sparsegrad) -o my-topk.so
 *     sparsetrain --plugin my-topk.so recipe.yaml      with   methods: [{name: Mine, compressor: my-topk, k: 4}]
 *     sparsebench --plugin my-topk.so --verify-compressors my-topk */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <sg_compressor_plugin.h>
#include <stdlib.h>

enum { K }; /* the place of each parameter, in the order of `parameters` */
static const struct sg_parameter parameters[] = {
    {.name = "k",
     .min = 1,
     .max = 4294967295.0,
     .preset = NAN, /* the recipe must give it */
     .integer = true,
     .help = "elements sent of every layer, at most all"},
};

static sg_status check(const double *param, size_t d, struct sg_error *err) {
    (void)d;
    return isnan(param[K]) ? sg_fail(err, SG_ERR_ARGUMENT, "needs 'k'") : SG_OK;
}

static size_t knob(const double *param) {
    (void)param;
    return K; /* what a controller may change from step to step */
}

/* |x - C(x)|^2 <= (1 - delta) |x|^2 with this delta, for n elements. */
static double bound(const double *param, size_t n) {
    return n > 0 ? fmin(1, param[K] / (double)n) : 1;
}

static sg_status open_room(struct sg_worker *w, struct sg_error *err) {
    const struct sg_layout *layout = &w->shared->layout;
    w->scratch = malloc((layout->offset[layout->n_layers] + 1) * sizeof(float)); /* freed for us */
    return w->scratch ? SG_OK : sg_fail_memory(err, "my-topk");
}

static int descending(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

static void encode(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    const struct sg_layout *layout = &w->shared->layout;
    float *magnitude = w->scratch, *value = w->data;
    size_t sent = 0;
    for (size_t l = 0; l < layout->n_layers; l++) {
        const size_t begin = layout->offset[l], n = layout->offset[l + 1] - begin, before = sent;
        const size_t k = (size_t)fmin(w->shared->knob[l], (double)n);
        for (size_t i = 0; i < n; i++)
            magnitude[i] = fabsf(p[begin + i]);
        qsort(magnitude, n, sizeof *magnitude, descending);
        size_t equal = 0; /* how many of exactly the k-th magnitude are sent; the first of them are */
        for (size_t i = k; i > 0 && magnitude[i - 1] == magnitude[k - 1]; i--)
            equal++;
        for (size_t i = begin; k > 0 && i < begin + n; i++) {
            const bool sends = fabsf(p[i]) > magnitude[k - 1] || (fabsf(p[i]) == magnitude[k - 1] && equal > 0);
            equal -= sends && fabsf(p[i]) == magnitude[k - 1];
            if (sends) {
                w->index[sent] = (uint32_t)i;
                value[sent++] = p[i];
            }
        }
        w->count[l] = sent - before;
    }
    *out = (struct sg_message){.code = &sg_code_fp32,
                               .n = layout->offset[layout->n_layers],
                               .count = sent,
                               .index = w->index,
                               .data = value,
                               .bytes = sent * sizeof *value,
                               .bits = 64.0 * (double)sent, /* 32 for the value and 32 for the position, as the paper */
                               .layer_count = w->count};
    (void)round;
}

static const struct sg_compressor_ops my_topk = {
    .name = "my-topk",
    .summary = "the k largest elements of every layer",
    .source = "an example",
    .traits = SG_TRAIT_RELATIVE | SG_TRAIT_WANTS_FEEDBACK,
    .params = parameters,
    .n_params = 1,
    .check = check,
    .knob = knob,
    .open = open_room,
    .encode = encode,
    .bound = bound,
};

static const struct sg_compressor_ops *const compressors[] = {&my_topk, NULL};
SG_EXPORT const struct sg_compressor_plugin sparsegrad_plugin = {SG_PLUGIN_INTERFACE, .compressors = compressors};

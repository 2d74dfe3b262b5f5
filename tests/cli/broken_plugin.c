/* broken_plugin.c: a plug-in whose compressors each break one promise, named by the property that must be seen to
 * fail. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <sg_compressor_plugin.h>
#include <stdlib.h>
#include <string.h>

/* All elements times `factor` as floats, which cost so many bits each. */
static void dense(struct sg_worker *w, const float *p, float factor, double bits, struct sg_message *out) {
    const struct sg_layout *layout = &w->shared->layout;
    const size_t n = layout->offset[layout->n_layers];
    float *value = w->data;
    for (size_t i = 0; i < n; i++)
        value[i] = factor * p[i];
    for (size_t l = 0; l < layout->n_layers; l++)
        w->count[l] = layout->offset[l + 1] - layout->offset[l];
    *out = (struct sg_message){.code = &sg_code_fp32,
                               .n = n,
                               .count = n,
                               .data = value,
                               .bytes = n * sizeof *value,
                               .bits = bits * (double)n,
                               .layer_count = w->count};
}

/* A layer that has one element too many. */
static void form(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    (void)round;
    dense(w, p, 1, 32, out);
    w->count[0]++;
}

/* Half of what the floats cost. */
static void bits(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    (void)round;
    dense(w, p, 1, 16, out);
}

/* Less than is given, in the mean. */
static void mean(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    (void)round;
    sg_rng r = sg_rng_open(w->shared->seed, SG_RNG_TEST, w->number, w->shared->step);
    dense(w, p, sg_rng_u32(&r) & 1 ? 1.5F : 0.3F, 32, out);
}

/* It declares that three quarters of |x|^2 arrive. */
static void class_of(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    (void)round;
    dense(w, p, 0.4F, 32, out);
}

static double three_quarters(const double *param, size_t n) {
    (void)param, (void)n;
    return 0.75;
}

/* What is sent depends on how many messages this process made. */
static void same(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    static unsigned calls;
    (void)round;
    dense(w, p, calls++ % 5 == 0 ? 0.5F : 1, 32, out);
}

/* What is sent depends on numbers that no checkpoint has. */
static sg_status open_counter(struct sg_worker *w, struct sg_error *err) {
    w->scratch = calloc(1, sizeof(unsigned));
    return w->scratch != NULL ? SG_OK : sg_fail_memory(err, "broken");
}

static void resume(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    unsigned *calls = w->scratch;
    (void)round;
    dense(w, p, 1 / (float)(1 + (*calls)++), 32, out);
}

/* Numbers near the largest float become infinite. */
static void edges(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    (void)round;
    dense(w, p, 4, 32, out);
}

/* The first element of every layer at even steps, and the second at odd ones. */
static int repeat(struct sg_worker *w, struct sg_select *s) {
    uint32_t *position = w->scratch;
    size_t sent = 0;
    for (size_t l = 0; l < s->n_layers; l++) {
        const size_t at = s->offset[l] + w->shared->step % 2;
        s->count[l] = at < s->offset[l + 1];
        if (s->count[l])
            position[sent++] = (uint32_t)at;
    }
    return w->shared->kernels->select_positions(s, position);
}

/* What is kept of the last element is forgotten. */
static int conserves(struct sg_worker *w, struct sg_select *s) {
    for (size_t l = 0; l < s->n_layers; l++)
        s->count[l] = 0;
    const int status = w->shared->kernels->select_positions(s, w->scratch);
    const size_t n = s->offset[s->n_layers];
    if (s->e != NULL && n > 1)
        s->e[n - 1] = 0;
    return status;
}

static sg_status open_positions(struct sg_worker *w, struct sg_error *err) {
    w->scratch = calloc(w->shared->layout.n_layers + 1, sizeof(uint32_t));
    return w->scratch != NULL ? SG_OK : sg_fail_memory(err, "broken");
}

static double nothing(const double *param, size_t n) {
    (void)param, (void)n;
    return 0;
}

/* Floats in a code that takes any bytes for well formed. */
static size_t bytes_of(const struct sg_numbers *n) {
    return 4 * n->count;
}
static size_t encode_floats(void *data, const struct sg_numbers *n, double *cost) {
    memcpy(data, n->value, 4 * n->count);
    *cost = 32.0 * (double)n->count;
    return 4 * n->count;
}
static void decode_floats(float *out, const struct sg_message *m, size_t first, size_t count) {
    memcpy(out, (const float *)m->data + first, 4 * count);
}
static bool always(const struct sg_message *m) {
    (void)m;
    return true;
}
static const struct sg_code trusting = {.name = "trusting",
                                        .summary = "floats",
                                        .number = 201,
                                        .width = 4,
                                        .most_bytes = bytes_of,
                                        .encode = encode_floats,
                                        .decode = decode_floats,
                                        .valid = always};
static const struct sg_code *const codes[] = {&trusting, NULL};

#define BROKEN(what, ...)                                                                                              \
    static const struct sg_compressor_ops broken_##what = {.summary = "broken", .source = "a test", __VA_ARGS__};
BROKEN(form, .name = "form", .encode = form, .traits = SG_TRAIT_DENSE)
BROKEN(bits, .name = "bits", .encode = bits, .traits = SG_TRAIT_DENSE)
BROKEN(mean, .name = "mean", .encode = mean, .traits = SG_TRAIT_DENSE | SG_TRAIT_UNBIASED | SG_TRAIT_RANDOM)
BROKEN(class, .name = "class", .encode = class_of, .traits = SG_TRAIT_DENSE | SG_TRAIT_RELATIVE,
       .bound = three_quarters)
BROKEN(same, .name = "same-bits", .encode = same, .traits = SG_TRAIT_DENSE)
BROKEN(resume, .name = "resume", .encode = resume, .traits = SG_TRAIT_DENSE, .open = open_counter)
BROKEN(edges, .name = "edges", .encode = edges, .traits = SG_TRAIT_DENSE)
BROKEN(repeat, .name = "repeat", .select = repeat, .open = open_positions, .traits = SG_TRAIT_RELATIVE,
       .bound = nothing)
BROKEN(conserves, .name = "conserves", .select = conserves, .open = open_positions)
BROKEN(damage, .name = "damage", .code = &trusting, .traits = SG_TRAIT_DENSE)
static const struct sg_compressor_ops *const compressors[] = {
    &broken_form,  &broken_bits,   &broken_mean,      &broken_class,  &broken_same, &broken_resume,
    &broken_edges, &broken_repeat, &broken_conserves, &broken_damage, NULL};
SG_EXPORT const struct sg_compressor_plugin sparsegrad_plugin = {SG_PLUGIN_INTERFACE, .compressors = compressors,
                                                                 .codes = codes};

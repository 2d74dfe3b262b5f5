/* feedback_rule.c: a feedback rule with a vector of its own. A worker compresses p = e + m, where m is the mean of its
 * last two gradients.
 *
 *     cc -shared -fPIC feedback_rule.c $(pkg-config --cflags sparsegrad) -o last-two.so
 *     sparsetrain --plugin last-two.so recipe.yaml      with   error-feedback: last-two */
/* SPDX-License-Identifier: MIT */
#include <sg_compressor_plugin.h>

enum { LAST, MEAN }; /* the vectors of a worker; they start as zeros, and checkpoints save them */

/* The vector that is returned takes the place of g. */
static const float *mean_of_two(const struct sg_feedback_state *s, const float *g) {
    for (size_t i = 0; i < s->d; i++) {
        s->vector[MEAN][i] = (s->vector[LAST][i] + g[i]) / 2;
        s->vector[LAST][i] = g[i];
    }
    return s->vector[MEAN];
}

static const struct sg_feedback_rule last_two = {
    .name = "last-two",
    .summary = "p = e + the mean of the last two g",
    .source = "an example",
    .keeps = true, /* a residual e */
    .worker_vectors = 2,
    .before = mean_of_two,
};

static const struct sg_feedback_rule *const rules[] = {&last_two, NULL};
SG_EXPORT const struct sg_compressor_plugin sparsegrad_plugin = {SG_PLUGIN_INTERFACE, .rules = rules};

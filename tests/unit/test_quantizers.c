/* The coder `grid`: its step is on the gradient's scale, and it obeys a budget of entries. What coders promise of the
 * mean and of the error is tried with every compressor (lib/verify: test_compressors). And which of them declare to be
 * unbiased. */
/* SPDX-License-Identifier: MIT */
#include "method_case.h"
#include "method_private.h"
#include "tap.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "patterns.h"

enum { N = 100 };

static const size_t offset[] = {0, 37, 37, N};
static float x[N], sent[N];
static struct sg_error err;

static void test_step_unit(void) {
    sg_method *m = open_method((struct sg_method_config){.compressor = sg_compressor_find("grid"),
                                                         .param = (const double[]){0.7, NAN, NAN},
                                                         .layout = {3, offset, NULL, NULL},
                                                         .feedback = {&sg_feedback_update, 1, {0}},
                                                         .first = 3},
                               NULL);
    float e[N] = {0};
    struct sg_message message;
    bool fine = m != NULL;
    sg_pattern_fill(x, N, SG_PATTERN_NORMAL, 3);
    fine = fine && sg_verify_send(m, (struct sg_verify_at){3, 0.125, 0, NULL}, x, e, &message, &err) == SG_OK;
    memset(sent, 0, sizeof sent);
    sg_message_add(sent, &message, 1, &(struct sg_exec){.threads = 1});
    const double step = (double)(float)(0.7 * 0.125);
    for (size_t i = 0; i < N; i++) {
        const double q = rint(0.125 * (double)x[i] / step);
        fine &= sent[i] == (float)(q * step) && fabs((double)e[i]) <= 0.7 * 0.125 / 2 * (1 + 1e-6);
    }
    ok(fine, "grid: a step on the gradient's scale");
    sg_method_close(m);
}

/* A budget of a twentieth of all: never more, and most of it spent. */
static void test_budget(void) {
    enum { STEPS = 400 };
    const double param[] = {NAN, NAN, NAN}, total[] = {0.05 * N * STEPS, 0};
    sg_method *m = open_method((struct sg_method_config){.compressor = sg_compressor_find("grid"),
                                                         .param = param,
                                                         .controller = sg_controller_find("budget"),
                                                         .controller_param = total,
                                                         .layout = {3, offset, NULL, NULL},
                                                         .seed = 5,
                                                         .steps = STEPS},
                               NULL);
    float e[N] = {0};
    double entries = 0;
    bool fine = m != NULL;
    for (uint64_t t = 0; fine && t < STEPS; t++) {
        struct sg_message message;
        sg_pattern_fill(x, N, SG_PATTERN_NORMAL, t);
        fine = sg_verify_send(m, (struct sg_verify_at){0, 1, t, NULL}, x, e, &message, &err) == SG_OK;
        entries += (double)message.count;
        method_end(m, NULL, &(struct sg_spent){(double)message.count, message.bits, sg_method_note(m, 0)});
    }
    ok(fine && entries <= total[0] && entries >= 0.9 * total[0], "grid: %g entries of a budget of %g", entries,
       total[0]);
    sg_method_close(m);
}

/* A coder that rounds at random is unbiased, unless it clips. */
static void test_declared(void) {
    const struct sg_compressor_ops *ops;
    for (size_t i = 0; (ops = sg_compressor_at(i)) != NULL; i++) {
        double param[16];
        bool chooses = false, clips = false;
        for (size_t j = 0; j < ops->n_params; j++) {
            param[j] = isnan(ops->params[j].preset) ? 0.7 : ops->params[j].preset;
            chooses |= strcmp(ops->params[j].name, "stochastic") == 0;
            clips |= strcmp(ops->params[j].name, "clip") == 0;
            if (strcmp(ops->params[j].name, "stochastic") == 0)
                param[j] = 1;
            if (strcmp(ops->params[j].name, "clip") == 0)
                param[j] = 2.5;
        }
        if (ops->select == NULL && ops->rounds == NULL && (chooses || clips))
            ok(!(sg_compressor_traits(ops, param) & SG_TRAIT_UNBIASED) == !chooses, "%s: %s", ops->name,
               chooses ? "at random it is unbiased" : "clipped it is not");
    }
}

int main(void) {
    test_declared();
    if (!no_zoo()) {
        test_step_unit();
        test_budget();
    }
    return tap_done();
}

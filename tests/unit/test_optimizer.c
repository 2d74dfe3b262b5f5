/* Optimizers against sequences computed by hand, in numbers that are exact in binary. */
#include "tap.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "sg_optimizer.h"

/* Parameters by name, the rest at their presets. */
static void set(double *param, const struct sg_optimizer_ops *ops, const char *name, double value) {
    for (size_t i = 0; i < ops->n_params; i++)
        if (strcmp(ops->params[i].name, name) == 0)
            param[i] = value;
}

static void presets(double *param, const struct sg_optimizer_ops *ops) {
    for (size_t i = 0; i < ops->n_params; i++)
        param[i] = ops->params[i].preset;
}

static bool near(float got, double want) {
    return fabs((double)got - want) <= 0x1p-24 * fabs(want);
}

/* One step of all d elements with weight decay, in two ranges: how a vector is cut must not matter. */
static void step(const struct sg_optimizer_ops *ops, float *state, const double *param, double rate, uint64_t count,
                 float *delta, const void *x, enum sg_dtype dtype, size_t d) {
    const struct sg_optimizer_step s = {param, rate, count, state, delta, x, dtype, d};
    ops->step(&s, d / 2, d, true);
    ops->step(&s, 0, d / 2, true);
}

static void test_table(void) {
    const struct sg_optimizer_ops *ops;
    bool found = true;
    size_t i = 0;
    for (; (ops = sg_optimizer_at(i)) != NULL; i++)
        found &= sg_optimizer_find(ops->name) == ops;
    ok(i > 0 && found && sg_optimizer_find("no such") == NULL, "every optimizer is found by its name");
}

static void test_plain(const struct sg_optimizer_ops *sgd) {
    double param[8], wide[2] = {2, -4};
    float delta[2] = {3, -0.5F}, narrow[2] = {2, -4};
    presets(param, sgd);
    ok(sgd->state_floats(param, 100) == 0 && sgd->refuses(param) == NULL && sgd->refuses_update_form(param) == NULL,
       "plain SGD has no state and nothing against the update form");
    step(sgd, NULL, param, 0.5, 0, delta, wide, SG_FLOAT64, 2);
    ok(delta[0] == 1.5F && delta[1] == -0.25F, "plain SGD: learning rate times gradient");
    set(param, sgd, "weight-decay", 0.25);
    for (int dtype = SG_FLOAT32; dtype <= SG_FLOAT64; dtype++) {
        delta[0] = 3, delta[1] = -0.5F;
        const void *x = dtype == SG_FLOAT32 ? (const void *)narrow : wide;
        step(sgd, NULL, param, 0.5, 0, delta, x, (enum sg_dtype)dtype, 2);
        ok(delta[0] == 1.75F && delta[1] == -0.75F, "weight decay comes before the learning rate (dtype %d)", dtype);
    }
    ok(sgd->refuses_update_form(param) != NULL, "weight decay refuses the update form");
    const struct sg_optimizer_step exempt = {param, 0.5, 0, NULL, delta, wide, SG_FLOAT64, 2};
    delta[0] = 3, delta[1] = -0.5F;
    sgd->step(&exempt, 1, 2, false);
    ok(delta[0] == 3 && delta[1] == -0.25F, "a range without weight decay, the other untouched");
}

static void test_momentum(const struct sg_optimizer_ops *sgd) {
    /* mu = 1/2, decay 1/4, lr 2, x = 4, gradients 1, 3, -2, so g = 2, 4, -1 and m = 2, 5, 3/2. */
    static const float gradient[3] = {1, 3, -2}, momentum[3] = {2, 5, 1.5F}, decayed[3] = {2, 4, -1};
    for (int nesterov = 0; nesterov <= 1; nesterov++) {
        double param[8], x = 4;
        float state = 0;
        presets(param, sgd);
        set(param, sgd, "momentum", 0.5);
        set(param, sgd, "nesterov", nesterov);
        set(param, sgd, "weight-decay", 0.25);
        ok(sgd->state_floats(param, 100) == 100 && sgd->refuses(param) == NULL, "momentum keeps one float a parameter");
        ok(sgd->refuses_update_form(param) != NULL, "momentum refuses the update form");
        for (int t = 0; t < 3; t++) {
            float delta = gradient[t], want = 2 * (momentum[t] + (nesterov ? decayed[t] : 0));
            step(sgd, &state, param, 2, (uint64_t)t, &delta, &x, SG_FLOAT64, 1);
            ok(delta == want && state == momentum[t], "nesterov %d, step %d: %g (state %g)", nesterov, t, (double)delta,
               (double)state);
        }
    }
    double param[8];
    presets(param, sgd);
    set(param, sgd, "nesterov", 1);
    ok(sgd->refuses(param) != NULL, "nesterov without momentum is refused");
    /* 300 steps of a constant gradient: m -> g / (1 - mu), to the state's rounding (each step rounds once). */
    float state = 0, delta = 1;
    double x = 0;
    presets(param, sgd);
    set(param, sgd, "momentum", 0.9);
    for (int t = 0; t < 300; t++, delta = 1)
        step(sgd, &state, param, 1, (uint64_t)t, &delta, &x, SG_FLOAT64, 1);
    ok(fabs((double)state - 10) <= 10 * 10 * 0x1p-24, "constant gradient: momentum %.7g tends to 1 / (1 - mu)",
       (double)state);
    delta = 0.1F;
    step(sgd, &(float){0}, param, 0.1, 0, &delta, &x, SG_FLOAT64, 1);
    ok(near(delta, 0.1 * (double)0.1F), "one rounding at the end");
}

int main(void) {
    test_table();
    const struct sg_optimizer_ops *sgd = sg_optimizer_find("sgd");
    if (!ok(sgd != NULL, "sgd is there"))
        return tap_done();
    test_plain(sgd);
    test_momentum(sgd);
    return tap_done();
}

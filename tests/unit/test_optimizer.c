/* Optimizers against sequences computed by hand, in numbers that are exact in binary, and Adam against PyTorch's
 * (tests/golden/adam_golden.py). */
#include "tap.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "../golden/adam_golden.h"
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

/* x after each step is PyTorch's: the state is float and each of its roundings is worth 2^-24 of a step of at most the
 * learning rate and a half; x is double. */
static void test_adam(const struct sg_optimizer_ops *adam) {
    double param[8];
    presets(param, adam);
    ok(adam->refuses(param) == NULL && adam->refuses_update_form(param) != NULL, "adam refuses the update form only");
    ok(adam->state_floats(param, 100) == 200, "adam keeps two floats a parameter");
    for (size_t c = 0; c < sizeof golden_adam / sizeof *golden_adam; c++) {
        const struct golden_adam *golden = &golden_adam[c];
        float state[2 * GOLDEN_SIZE] = {0}, delta[GOLDEN_SIZE];
        double x[GOLDEN_SIZE], worst = 0;
        set(param, adam, "beta1", golden->beta1);
        set(param, adam, "beta2", golden->beta2);
        set(param, adam, "epsilon", golden->epsilon);
        set(param, adam, "weight-decay", golden->decay);
        for (int i = 0; i < GOLDEN_SIZE; i++)
            x[i] = i / 4.0 - 0.5;
        for (int t = 0; t < GOLDEN_STEPS; t++) {
            for (int i = 0; i < GOLDEN_SIZE; i++)
                delta[i] = (float)((3 * i * i + 5 * t + i * t) % 7 - 3) / 64;
            step(adam, state, param, GOLDEN_RATE, (uint64_t)t, delta, x, SG_FLOAT64, GOLDEN_SIZE);
            for (int i = 0; i < GOLDEN_SIZE; i++) {
                x[i] -= (double)delta[i];
                const double off = fabs(x[i] - golden->x[t * GOLDEN_SIZE + i]);
                worst = !(off <= worst) ? off : worst;
            }
        }
        ok(worst <= 1e-7 * GOLDEN_RATE * GOLDEN_STEPS, "adam, beta %g and %g, decay %g: PyTorch's, off by %.1e",
           golden->beta1, golden->beta2, golden->decay, worst);
    }
    set(param, adam, "beta2", 1);
    ok(adam->refuses(param) != NULL, "beta2 of 1 is refused");
    set(param, adam, "beta2", 0.5);
    set(param, adam, "epsilon", 0);
    ok(adam->refuses(param) != NULL, "epsilon of 0 is refused");
}

int main(void) {
    test_table();
    const struct sg_optimizer_ops *sgd = sg_optimizer_find("sgd");
    if (!ok(sgd != NULL, "sgd is there"))
        return tap_done();
    test_plain(sgd);
    test_momentum(sgd);
    const struct sg_optimizer_ops *adam = sg_optimizer_find("adam");
    if (ok(adam != NULL, "adam is there"))
        test_adam(adam);
    return tap_done();
}

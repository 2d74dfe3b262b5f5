/* The optimizers of every kernel table against sequences computed by hand, in numbers that are exact in binary, and
 * Adam, AdamW and Muon against PyTorch's (tests/golden/adam_golden.py, muon_golden.py). */
/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../golden/adam_golden.h"
#include "../golden/muon_golden.h"
#include "sg_kernels.h"
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

enum { MOST = 16 };

static const struct sg_kernels *kernels; /* that are tried */

/* One step of one worker on the pieces of d elements: x stays, so that a case gives the x of its next step. */
static void step_pieces(const struct sg_optimizer_ops *ops, float *state, const double *param, double rate,
                        uint64_t count, float *delta, const void *x, enum sg_dtype dtype, size_t d,
                        const struct sg_piece *piece, size_t n_pieces) {
    double wide[MOST];
    float narrow[MOST];
    if (dtype == SG_FLOAT32)
        memcpy(narrow, x, d * sizeof *narrow);
    else
        memcpy(wide, x, d * sizeof *wide);
    const struct sg_update u = {.optimizer = ops->name,
                                .param = param,
                                .learning_rate = rate,
                                .step = count,
                                .workers = 1,
                                .sum = delta,
                                .state = state,
                                .x = dtype == SG_FLOAT32 ? (void *)narrow : wide,
                                .dtype = dtype,
                                .piece = piece,
                                .n_pieces = n_pieces,
                                .d = d};
    kernels->update(&(struct sg_exec){.threads = 1}, &u);
    bool moved = true;
    for (size_t i = 0; i < n_pieces; i++)
        for (size_t j = piece[i].begin; j < piece[i].end; j++)
            moved &= dtype == SG_FLOAT32 ? narrow[j] == ((const float *)x)[j] - delta[j]
                                         : wide[j] == ((const double *)x)[j] - (double)delta[j];
    if (!moved)
        ok(false, "%s: x moves by the step", ops->name);
}

/* All d elements with weight decay, in two ranges: how a vector is cut must not matter. */
static void step(const struct sg_optimizer_ops *ops, float *state, const double *param, double rate, uint64_t count,
                 float *delta, const void *x, enum sg_dtype dtype, size_t d) {
    const struct sg_piece halves[] = {{d / 2, d, true}, {0, d / 2, true}};
    step_pieces(ops, state, param, rate, count, delta, x, dtype, d, halves, 2);
}

static void test_table(void) {
    const struct sg_optimizer_ops *ops;
    bool found = true;
    size_t i = 0;
    for (; (ops = sg_optimizer_at(i)) != NULL; i++)
        found &= sg_optimizer_find(ops->name) == ops && kernels->has_optimizer(ops->name);
    ok(i > 0 && found && sg_optimizer_find("no such") == NULL && !kernels->has_optimizer("no such"),
       "every optimizer is found by its name, and kernels '%s' have it", kernels->name);
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
    const struct sg_piece exempt = {1, 2, false};
    delta[0] = 3, delta[1] = -0.5F;
    step_pieces(sgd, NULL, param, 0.5, 0, delta, wide, SG_FLOAT64, 2, &exempt, 1);
    ok(delta[0] == 3 && delta[1] == -0.25F, "a range without weight decay, the other untouched");
}

static void test_momentum(const struct sg_optimizer_ops *sgd) {
    /* mu = 1/2, decay 1/4, lr 2, x = 4, gradients 1, 3, -2, so g = 2, 4, -1 and m = 2, 5, 3/2. The third way is that of
     * PyTorch: along g + mu m. */
    static const float gradient[3] = {1, 3, -2}, momentum[3] = {2, 5, 1.5F}, decayed[3] = {2, 4, -1};
    for (int way = 0; way <= 2; way++) {
        const struct sg_optimizer_ops *ops = way < 2 ? sgd : sg_optimizer_find("nesterov");
        double param[8], x = 4;
        float state = 0;
        presets(param, ops);
        set(param, ops, "momentum", 0.5);
        set(param, ops, "nesterov", way);
        set(param, ops, "weight-decay", 0.25);
        ok(ops->state_floats(param, 100) == 100 && ops->refuses(param) == NULL, "momentum keeps one float a parameter");
        ok(ops->refuses_update_form(param) != NULL, "momentum refuses the update form");
        for (int t = 0; t < 3; t++) {
            float delta = gradient[t], want = 2 * ((way < 2 ? 1 : 0.5F) * momentum[t] + (way > 0 ? decayed[t] : 0));
            step(ops, &state, param, 2, (uint64_t)t, &delta, &x, SG_FLOAT64, 1);
            ok(delta == want && state == momentum[t], "%s %d, step %d: %g (state %g)", ops->name, way, t, (double)delta,
               (double)state);
        }
        set(param, ops, "momentum", 0);
        ok((ops->refuses(param) == NULL) == (way == 0), "%s %d without momentum is %s", ops->name, way,
           way > 0 ? "refused" : "plain SGD");
    }
    double param[8];
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
static void test_adam(const char *name) {
    const struct sg_optimizer_ops *adam = sg_optimizer_find(name);
    double param[8];
    presets(param, adam);
    ok(adam->refuses(param) == NULL && adam->refuses_update_form(param) != NULL, "%s refuses the update form only",
       name);
    ok(adam->state_floats(param, 100) == 200, "%s keeps two floats a parameter", name);
    for (size_t c = 0; c < sizeof golden_adam / sizeof *golden_adam; c++) {
        const struct golden_adam *golden = &golden_adam[c];
        if (strcmp(golden->name, name) != 0)
            continue;
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
        ok(worst <= 1e-7 * GOLDEN_RATE * GOLDEN_STEPS, "%s, beta %g and %g, decay %g: PyTorch's, off by %.1e", name,
           golden->beta1, golden->beta2, golden->decay, worst);
    }
    set(param, adam, "beta2", 1);
    ok(adam->refuses(param) != NULL, "beta2 of 1 is refused");
    set(param, adam, "beta2", 0.5);
    set(param, adam, "epsilon", 0);
    ok(adam->refuses(param) != NULL, "epsilon of 0 is refused");
}

/* AdamW's decay is of x alone: without gradients a piece with decay shrinks by gamma decay, and the other stays. */
static void test_decoupled(void) {
    const struct sg_optimizer_ops *adamw = sg_optimizer_find("adamw");
    const struct sg_piece piece[] = {{0, 1, true}, {1, 2, false}};
    double param[8];
    float state[4] = {0}, delta[2] = {0}, x[2] = {2, 2};
    presets(param, adamw);
    set(param, adamw, "weight-decay", 0.25);
    step_pieces(adamw, state, param, 0.5, 0, delta, x, SG_FLOAT32, 2, piece, 2);
    ok(delta[0] == 0.25F && delta[1] == 0 && state[0] == 0 && state[2] == 0, "adamw: the moments do not see the decay");
}

/* Matrices of each form, and a vector in two pieces: PyTorch's, but for its bfloat16. Their float32 leaves 2^-24 of
 * each product, which a step of Newton and Schulz multiplies by up to 3.4. */
static void test_muon(void) {
    static const struct sg_weight weight[] = {{0, 4, 6, true}, {24, 6, 4, true}, {48, 5, 5, true}};
    static const struct sg_piece piece[] = {{73, 75, true, false}, {0, 11, true, true},   {11, 24, true, true},
                                            {24, 48, true, true},  {75, 76, true, false}, {48, 73, true, true}};
    const struct sg_optimizer_ops *muon = sg_optimizer_find("muon");
    double param[16];
    float *scratch = malloc(sg_muon_scratch(weight, 3) * sizeof *scratch);
    ok(muon->of_weights && muon->refuses_update_form(param) != NULL && muon->state_floats(param, 100) == 200,
       "muon moves matrices, refuses the update form and keeps two floats a parameter");
    ok(sg_muon_scratch(weight, 3) == 75 && sg_muon_scratch(weight, 0) == 0,
       "its scratch is that of the largest matrix");
    for (size_t c = 0; c < sizeof golden_muon / sizeof *golden_muon; c++) {
        const struct golden_muon *golden = &golden_muon[c];
        float state[2 * MUON_SIZE] = {0}, sum[MUON_SIZE], x[MUON_SIZE];
        double worst = 0;
        presets(param, muon);
        set(param, muon, "momentum", golden->momentum);
        set(param, muon, "nesterov", golden->nesterov);
        set(param, muon, "nesterov", golden->nesterov);
        set(param, muon, "weight-decay", golden->decay);
        set(param, muon, "ns-steps", golden->times);
        set(param, muon, "match-rms", golden->matches);
        set(param, muon, "vector-rate", MUON_VECTOR_RATE);
        for (int i = 0; i < MUON_SIZE; i++)
            x[i] = (float)i / 64 - 0.5F;
        for (int t = 0; t < MUON_STEPS; t++) {
            for (int i = 0; i < MUON_SIZE; i++)
                sum[i] = (float)((i * i * 5 + 11 * t + i * t) % 17 - 8) / 32; /* of two workers */
            const struct sg_update u = {.optimizer = muon->name,
                                        .param = param,
                                        .learning_rate = MUON_RATE,
                                        .step = (uint64_t)t,
                                        .workers = 2,
                                        .sum = sum,
                                        .state = state,
                                        .x = x,
                                        .piece = piece,
                                        .n_pieces = sizeof piece / sizeof *piece,
                                        .d = MUON_SIZE,
                                        .weight = weight,
                                        .n_weights = 3,
                                        .scratch = scratch};
            kernels->update(&(struct sg_exec){.threads = 1 + (int)c}, &u);
            for (int i = 0; i < MUON_SIZE; i++)
                worst = fmax(worst, fabs((double)x[i] - golden->x[t * MUON_SIZE + i]));
        }
        ok(worst <= 1e-6, "muon, momentum %g, decay %g, %g steps of Newton and Schulz: PyTorch's, off by %.1e",
           golden->momentum, golden->decay, golden->times, worst);
    }
    set(param, muon, "momentum", 1);
    ok(muon->refuses(param) != NULL, "a momentum of 1 is refused");
    free(scratch);
}

/* A matrix of 2 rows and 8 columns moves by 1/2 of the mean and of the rate, a vector behind it as by AdamW. */
static void test_dion(void) {
    static const struct sg_weight weight = {0, 2, 8, true};
    static const struct sg_piece piece[] = {{0, 16, true, true}, {16, 19, true, false}};
    const struct sg_optimizer_ops *dion = sg_optimizer_find("dion"), *adamw = sg_optimizer_find("adamw");
    double param[16], of_vector[16], apart = 0;
    float state[2 * 19] = {0}, own[2 * 3] = {0}, x[19], y[3], sum[19], delta[3];
    ok(dion->of_weights && dion->takes_steps && dion->refuses_update_form(param) != NULL,
       "dion takes the steps of matrices as they come, and refuses the update form");
    presets(param, dion);
    presets(of_vector, adamw);
    set(param, dion, "weight-decay", 0.25);
    set(param, dion, "vector-rate", 0.5);
    for (size_t i = 0; i < dion->n_params; i++) /* beta1, beta2, epsilon, weight-decay */
        set(of_vector, adamw, dion->params[i].name, param[i]);
    for (int i = 0; i < 19; i++)
        x[i] = (float)(i - 9) / 4;
    memcpy(y, x + 16, sizeof y);
    for (int t = 0; t < 3; t++) {
        float before[16];
        memcpy(before, x, sizeof before);
        for (int i = 0; i < 19; i++)
            sum[i] = (float)((i * 5 + t) % 7 - 3); /* of two workers */
        for (int i = 0; i < 3; i++)
            delta[i] = sum[16 + i];
        const struct sg_update u = {"dion",     param, 0.5, (uint64_t)t, 2,       sum, state, x,
                                    SG_FLOAT32, piece, 2,   19,          &weight, 1,   NULL};
        const struct sg_piece three = {0, 3, true, false};
        const struct sg_update v = {.optimizer = "adamw",
                                    .param = of_vector,
                                    .learning_rate = 0.25,
                                    .step = (uint64_t)t,
                                    .workers = 2,
                                    .sum = delta,
                                    .state = own,
                                    .x = y,
                                    .piece = &three,
                                    .n_pieces = 1,
                                    .d = 3};
        kernels->update(&(struct sg_exec){.threads = 2}, &u);
        kernels->update(&(struct sg_exec){.threads = 1}, &v);
        for (int i = 0; i < 16; i++)
            apart =
                fmax(apart, fabs((double)x[i] - ((double)before[i] * (1 - 0.125) - 0.25 * ((i * 5 + t) % 7 - 3) / 2)));
    }
    ok(apart <= 0x1p-20 && memcmp(x + 16, y, sizeof y) == 0, "dion's matrix moves by its shape, its vector by AdamW");
}

/* Without an optimizer the mean is the step, whatever it lies in; elements of no piece stay. */
static void test_mean(void) {
    float sum[3] = {6, -3, 9}, narrow[3] = {1, 1, 1};
    double wide[3] = {1, 1, 1};
    const struct sg_piece piece = {0, 2, true};
    struct sg_update u = {.workers = 3, .sum = sum, .x = narrow, .piece = &piece, .n_pieces = 1, .d = 3};
    kernels->update(&(struct sg_exec){.threads = 2}, &u);
    ok(narrow[0] == -1 && narrow[1] == 2 && narrow[2] == 1, "the mean is the step of floats");
    sum[0] = 6, sum[1] = -3;
    u.x = wide;
    u.dtype = SG_FLOAT64;
    kernels->update(&(struct sg_exec){.threads = 2}, &u);
    ok(wide[0] == -1 && wide[1] == 2 && wide[2] == 1, "and of doubles");
}

int main(void) {
    static const char *const tables[] = {"c", "avx2", "avx512"};
    const struct sg_optimizer_ops *sgd = sg_optimizer_find("sgd");
    if (!ok(sgd != NULL && sg_optimizer_find("adam") != NULL && sg_optimizer_find("adamw") != NULL, "all are there"))
        return tap_done();
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if ((kernels = sg_kernels_cpu(tables[i])) == NULL)
            continue; /* not on this machine */
        test_table();
        test_mean();
        test_plain(sgd);
        test_momentum(sgd);
        test_adam("adam");
        test_adam("adamw");
        test_decoupled();
        test_muon();
        test_dion();
    }
    return tap_done();
}

/* The controller l-greco: its dynamic programming against all choices there are, on small cases; its promises on larger
 * ones, and through the method: it loses no more than the own knob would, and costs no more. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "method_case.h"
#include "method_private.h"
#include "sg_method.h"
#include "sg_rng.h"
#include "tap.h"

enum { LAYERS = 4, VALUES = 5, MANY = 40 };

static const struct sg_controller_ops *greco;
static struct sg_error err;

/* What the knobs lose and cost, all layers together. */
static double sum_of(const struct sg_choice *c, const double *table, const double *knob) {
    double sum = 0;
    for (size_t l = 0; l < c->layers; l++)
        for (size_t i = 0; i < c->count; i++)
            if (c->value[i] == knob[l]) {
                sum += table[l * c->count + i];
                break;
            }
    return sum;
}

/* The least cost of all choices that lose no more than the own value everywhere. */
static double least_cost(const struct sg_choice *c, double most) {
    double best = INFINITY;
    size_t at[MANY] = {0}, l = 0;
    while (l < c->layers) {
        double error = 0, size = 0;
        for (l = 0; l < c->layers; l++) {
            error += c->error[l * c->count + at[l]];
            size += c->size[l * c->count + at[l]];
        }
        best = error <= most && size < best ? size : best;
        for (l = 0; l < c->layers && ++at[l] == c->count; l++)
            at[l] = 0;
    }
    return best;
}

/* Whole errors, and as many bins as may be lost: nothing is rounded, so the programme finds the least cost there is. */
static void test_against_all(void) {
    size_t wrong = 0, better = 0;
    for (uint64_t trial = 0; trial < 300; trial++) {
        sg_rng r = sg_rng_open(5, SG_RNG_TEST, 0, trial);
        double value[VALUES], error[LAYERS * VALUES], size[LAYERS * VALUES], knob[LAYERS], most = 0, own = 0;
        const struct sg_choice c = {LAYERS, VALUES, value, error, size, VALUES - 1};
        for (size_t i = 0; i < VALUES; i++)
            value[i] = (double)(i + 1);
        for (size_t i = 0; i < LAYERS * VALUES; i++) {
            error[i] = (double)sg_rng_below(&r, trial % 2 ? 40 : 8);
            size[i] = (double)sg_rng_below(&r, 30);
        }
        for (size_t l = 0; l < LAYERS; l++) {
            most += error[l * VALUES + c.own];
            own += size[l * VALUES + c.own];
        }
        const double param[] = {1, VALUES, VALUES, 1, most};
        greco->choose(param, &c, knob);
        const double least = most > 0 ? least_cost(&c, most) : own;
        wrong += sum_of(&c, size, knob) != least || sum_of(&c, error, knob) > most;
        better += least < own;
    }
    ok(wrong == 0 && better > 200, "300 small cases: the least cost of all choices (less than the own knob's in %zu)",
       better);
}

/* Errors that fall and costs that grow with the value, of many sizes. */
static void test_promises(void) {
    size_t wrong = 0;
    double saved = 0;
    for (uint64_t trial = 0; trial < 100; trial++) {
        sg_rng r = sg_rng_open(6, SG_RNG_TEST, 0, trial);
        double value[VALUES], error[MANY * VALUES], size[MANY * VALUES], knob[MANY], uniform[MANY];
        const struct sg_choice c = {MANY, VALUES, value, error, size, (size_t)sg_rng_below(&r, VALUES)};
        for (size_t i = 0; i < VALUES; i++)
            value[i] = (double)(i + 1);
        for (size_t l = 0; l < MANY; l++) {
            const double n = exp(2 * sg_rng_normal(&r)), power = 3 * fabs(sg_rng_normal(&r));
            uniform[l] = value[c.own];
            for (size_t i = 0; i < VALUES; i++) {
                error[l * VALUES + i] = n * exp(-power * (double)i);
                size[l * VALUES + i] = n * (double)(i + 1);
            }
        }
        const double param[] = {1, VALUES, VALUES, 1, trial % 3 ? 10000 : 100};
        greco->choose(param, &c, knob);
        wrong += !(sum_of(&c, error, knob) <= sum_of(&c, error, uniform) * (1 + 1e-12)) ||
                 !(sum_of(&c, size, knob) <= sum_of(&c, size, uniform));
        saved += (1 - sum_of(&c, size, knob) / sum_of(&c, size, uniform)) / 100;
    }
    ok(wrong == 0 && saved > 0.01, "100 larger cases lose no more and cost no more: %.3g less on average", saved);
}

enum { D = 3000, N_LAYERS = 4, EVERY = 5 };
static const size_t offset[] = {0, 100, 1100, 1100, D};

/* Layers of gradients with light and heavy tails. */
static void draw(float *g, uint64_t t) {
    sg_rng r = sg_rng_open(8, SG_RNG_TEST, 0, t);
    for (size_t i = 0; i < D; i++)
        g[i] = (float)(i < 1100 ? pow(sg_rng_normal(&r), 5) : 0.3 * sg_rng_normal(&r));
}

static sg_method *opened(const char *compressor, const double *param, const double *controller_param) {
    return open_method((struct sg_method_config){.compressor = sg_compressor_find(compressor),
                                                 .param = param,
                                                 .controller = controller_param ? greco : NULL,
                                                 .controller_param = controller_param,
                                                 .layout = {N_LAYERS, offset, NULL, NULL},
                                                 .exec = {.threads = 2}},
                       &err);
}

/* |x - C(x)|^2 and bits of one message without feedback from earlier steps. */
static void message_of(sg_method *m, const float *x, double *error, double *bits) {
    static float e[D];
    struct sg_message out;
    memset(e, 0, sizeof e);
    *error = sg_method_send(m, 0, 0, x, e, NULL, &out, &err) == SG_OK ? 0 : (double)NAN;
    for (size_t i = 0; i < D; i++)
        *error += (double)e[i] * (double)e[i];
    *bits = out.bits;
}

/* The method measures its own gradients. After the choice the sum of these goes through it and through the own knob. */
static void test_method(const char *compressor, double a, double b, double least, double most, bool exact) {
    const double param[8] = {a, b, NAN, NAN, NAN, NAN, NAN, NAN}, chosen[] = {least, most, 12, EVERY, 2000};
    static float g[D], sum[D];
    sg_method *m = opened(compressor, param, chosen), *own = opened(compressor, param, NULL);
    double square[N_LAYERS], error = 0, bits = 0, own_error = 0, own_bits = 0;
    bool fine = m && own, leads = false;
    memset(sum, 0, sizeof sum);
    for (uint64_t t = 0; fine && t <= EVERY; t++) {
        draw(g, t);
        leads = method_leads(m, t, 1);
        fine = leads == (t == EVERY);
        if (leads)
            sg_method_lead(m, g, square);
        sg_method_begin(m, t, 1, leads ? square : NULL);
        sg_method_begin(own, t, 1, NULL);
        message_of(m, t < EVERY ? g : sum, &error, &bits);
        message_of(own, t < EVERY ? g : sum, &own_error, &own_bits);
        fine = fine && (t == EVERY || (error == own_error && bits == own_bits));
        for (size_t i = 0; i < D; i++)
            sum[i] += g[i];
    }
    /* Random rounding is measured with other draws than it is sent with. */
    fine = fine && error <= own_error * (exact ? 1 + 1e-12 : 1.1) && bits < own_bits;
    ok(fine, "%s: loses %.4g of %.4g, costs %.0f of %.0f bits", compressor, error, own_error, bits, own_bits);
    sg_method_close(m);
    sg_method_close(own);
}

static void refused(const char *compressor, double a, double least, const char *why) {
    const double param[8] = {a, NAN, NAN, NAN, NAN, NAN, NAN, NAN}, chosen[] = {least, 100, NAN, NAN, NAN};
    sg_method *m = opened(compressor, param, chosen);
    ok(m == NULL && strstr(err.msg, why), "refused: %s", err.msg);
    sg_method_close(m);
}

int main(void) {
    if (no_zoo()) {
        skip("all of this is about lib/zoo");
        return tap_done();
    }
    greco = sg_controller_find("l-greco");
    test_against_all();
    test_promises();
    test_method("topk", NAN, 0.05, 0.005, 0.5, true);
    test_method("topk", 40, NAN, 4, 400, true);
    test_method("qsgd", 7, NAN, 1, 127, false);
    refused("hard-threshold", 1, 1, "goes by a threshold");
    refused("powersgd", 1, 1, "needs several exchanges");
    refused("topk-reuse", 5, 1, "goes by earlier steps");
    refused("topk", 5, NAN, "needs 'least'");
    refused("signsgd", NAN, 1, "nothing that the controller");
    return tap_done();
}

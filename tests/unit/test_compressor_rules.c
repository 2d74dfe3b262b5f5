/* What single compressors promise beyond the common properties, and what they refuse. */
/* SPDX-License-Identifier: MIT */
#include "message_values.h"
#include "sg_verify.h"
#include "tap.h"

#include <stdbool.h>
#include <stdlib.h>

#include "patterns.h"

enum { N = 1000 };

static const size_t whole[] = {0, N}, cuts[] = {0, 3, 3, 503, N};
static const struct sg_layout one_layer = {1, whole, NULL, NULL}, four_layers = {4, cuts, NULL, NULL};
static float g[N], e[N];
static struct sg_error err;

struct setting {
    const char *name;
    double value;
};

/* Opens with the named parameters; NULL and a message in err otherwise. */
static sg_method *open_with(const char *compressor, struct sg_layout layout, const struct sg_feedback_rule *form,
                            struct setting a, struct setting b) {
    double param[8];
    sg_method *c;
    struct sg_method_config config = {.size = sizeof(struct sg_method_config),
                                      .compressor = sg_compressor_find(compressor),
                                      .param = param,
                                      .layout = layout,
                                      .feedback = {form, 1, {0}},
                                      .seed = 7,
                                      .first = 1,
                                      .count = 1,
                                      .exec = {.threads = 1}};
    for (size_t i = 0; i < config.compressor->n_params; i++) {
        const char *name = config.compressor->params[i].name;
        param[i] = a.name != NULL && strcmp(name, a.name) == 0   ? a.value
                   : b.name != NULL && strcmp(name, b.name) == 0 ? b.value
                                                                 : NAN;
    }
    err = (struct sg_error){SG_OK, ""};
    if (sg_method_open(&c, &config, &err) == SG_OK)
        err.status = SG_OK;
    return c;
}

static const struct setting nothing = {NULL, 0};

static void refused(const char *why, const char *compressor, const struct sg_feedback_rule *form, struct setting a,
                    struct setting b) {
    sg_method *c = open_with(compressor, one_layer, form, a, b);
    ok(c == NULL && err.status == SG_ERR_ARGUMENT && strstr(err.msg, compressor) == err.msg &&
           strstr(err.msg, why) != NULL,
       "refused: %s", err.msg);
    sg_method_close(c);
}

static void test_refusals(void) {
    const struct setting k10 = {"k", 10}, half = {"density", 0.5};
    ok(!open_with("topk", one_layer, NULL, k10, nothing) && err.status == SG_ERR_ARGUMENT &&
           strstr(err.msg, "feedback rule"),
       "refused: %s", err.msg);
    refused("needs 'k'", "topk", &sg_feedback_update, nothing, nothing);
    refused("not both", "topk", &sg_feedback_update, k10, half);
    refused("more than the 1000", "topk", &sg_feedback_update, (struct setting){"k", N + 1}, nothing);
    refused("'k' = 0 ", "topk", &sg_feedback_update, (struct setting){"k", 0}, nothing);
    refused("whole number", "topk", &sg_feedback_update, (struct setting){"k", 1.5}, nothing);
    refused("above 0", "topk", &sg_feedback_update, (struct setting){"density", 0}, nothing);
    refused("not between", "randomk", &sg_feedback_update, (struct setting){"density", 1.01}, nothing);
    refused("needs 'k'", "randomk", &sg_feedback_none, nothing, nothing);
    refused("'unbiased' needs", "randomk", &sg_feedback_update, k10, (struct setting){"unbiased", 1});
    refused("needs 'lambda'", "hard-threshold", &sg_feedback_update, nothing, nothing);
    refused("not between", "hard-threshold", &sg_feedback_update, (struct setting){"lambda", -1}, nothing);
    refused("not between", "hard-threshold", &sg_feedback_update, (struct setting){"lambda", INFINITY}, nothing);
    const double param[2] = {5000, NAN};
    ok(sg_compressor_check(sg_compressor_find("topk"), param, 0, &err) == SG_OK,
       "k is not checked against an unknown d");
    ok(sg_compressor_check(sg_compressor_find("topk"), param, 4999, &err) == SG_ERR_ARGUMENT,
       "and is against a known one");
    ok(sg_compressor_find("no such") == NULL, "an unknown compressor");
    static const size_t backwards[] = {0, 5, 4}, late[] = {1, 5};
    ok(open_with("none", (struct sg_layout){2, backwards, NULL, NULL}, &sg_feedback_none, nothing, nothing) == NULL &&
           open_with("none", (struct sg_layout){1, late, NULL, NULL}, &sg_feedback_none, nothing, nothing) == NULL &&
           open_with("none", (struct sg_layout){0, whole, NULL, NULL}, &sg_feedback_none, nothing, nothing) == NULL,
       "layouts that are none");
    static const size_t huge[] = {0, (size_t)1 << 32};
    ok(open_with("none", (struct sg_layout){1, huge, NULL, NULL}, &sg_feedback_none, nothing, nothing) == NULL &&
           err.status == SG_ERR_UNSUPPORTED,
       "2^32 parameters: %s", err.msg);
    sg_method_close(NULL);
}

static void test_run_arguments(void) {
    struct sg_message m;
    sg_method *c = open_with("none", one_layer, &sg_feedback_update, nothing, nothing);
    static const double bad[] = {0, -1, NAN, INFINITY, 1e300, 1e-300};
    size_t accepted = 0;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        accepted += sg_verify_send(c, (struct sg_verify_at){1, bad[i], 0, NULL}, g, e, &m, &err) != SG_ERR_ARGUMENT;
    ok(accepted == 0, "a learning rate that is no positive float: %s", err.msg);
    ok(sg_verify_send(c, (struct sg_verify_at){1, 1, 0, NULL}, g, NULL, &m, &err) == SG_OK,
       "an exact compressor needs no residual");
    sg_method_close(c);
    c = open_with("topk", one_layer, &sg_feedback_update, (struct setting){"k", 1}, nothing);
    ok(sg_verify_send(c, (struct sg_verify_at){1, 1, 0, NULL}, g, NULL, &m, &err) == SG_ERR_ARGUMENT,
       "error feedback without residual");
    sg_method_close(c);
    c = open_with("none", one_layer, &sg_feedback_none, nothing, nothing);
    ok(sg_verify_send(c, (struct sg_verify_at){1, 1, 0, NULL}, g, e, &m, &err) == SG_ERR_ARGUMENT,
       "residual without error feedback");
    sg_method_close(c);
    setenv("SG_CPU", "z80", 1);
    c = open_with("none", one_layer, &sg_feedback_none, nothing, nothing);
    ok(c == NULL && err.status == SG_ERR_UNSUPPORTED && strstr(err.msg, "z80") != NULL, "%s", err.msg);
    unsetenv("SG_CPU");
}

static void test_share(void) {
    /* Layers of 3, 0, 500 and 497 elements. */
    static const struct {
        struct setting setting;
        size_t want[4];
    } cases[] = {
        {{"k", 1}, {1, 0, 1, 1}},
        {{"k", 10}, {3, 0, 10, 10}},       /* no more than a layer has */
        {{"density", 0.01}, {1, 0, 5, 4}}, /* max(1, floor) */
        {{"density", 0.5}, {1, 0, 250, 248}},
        {{"density", 1}, {3, 0, 500, 497}},
    };
    static const char *const takes_share[] = {"topk", "randomk"};
    for (size_t v = 0; v < 2 * sizeof cases / sizeof cases[0]; v++) {
        const char *name = takes_share[v % 2];
        struct sg_message m = {0};
        sg_method *c = open_with(name, four_layers, &sg_feedback_none, cases[v / 2].setting, nothing);
        sg_pattern_fill(g, N, SG_PATTERN_NORMAL, 3);
        bool right = sg_verify_send(c, (struct sg_verify_at){1, 1, 0, NULL}, g, NULL, &m, &err) == SG_OK;
        for (size_t l = 0; l < 4 && right; l++)
            right = m.layer_count[l] == cases[v / 2].want[l];
        ok(right, "%s with %s = %g: elements of each layer", name, cases[v / 2].setting.name,
           cases[v / 2].setting.value);
        sg_method_close(c);
    }
}

/* Algorithm 1 sends where |p / gamma| >= lambda: at exactly lambda gamma, rounded once, and not one float below. */
static void test_threshold_unit(void) {
    const double lambda = 4.2148, gamma = 1.0 / 842.95;
    for (size_t f = 0; f < 2; f++) {
        const struct sg_feedback_rule *form = sg_feedback_at(f);
        const float tau = (float)(form == &sg_feedback_update ? lambda * gamma : lambda);
        struct sg_message m = {0};
        sg_method *c = open_with("hard-threshold", one_layer, form, (struct setting){"lambda", lambda}, nothing);
        memset(g, 0, sizeof g);
        memset(e, 0, sizeof e);
        e[3] = -tau;
        e[5] = nextafterf(tau, 0);
        ok(sg_verify_send(c, (struct sg_verify_at){1, gamma, 0, NULL}, g, e, &m, &err) == SG_OK && m.count == 1 &&
               m.index[0] == 3 && values_of(&m)[0] == -tau && e[5] == nextafterf(tau, 0),
           "%s form: threshold %g", form == &sg_feedback_update ? "update" : "gradient", (double)tau);
        sg_method_close(c);
    }
}

/* Over many steps every element is sent k/n of the time, and what is left of |x|^2 is 1 - k/n of it: within 4.5
 * standard deviations of a mean of DRAWS (seed 7). Scaled, the mean message is x. */
static void test_random(void) {
    enum { SMALL = 40, K = 10, DRAWS = 40000 };
    static const size_t small[] = {0, SMALL};
    const struct sg_layout layout = {1, small, NULL, NULL};
    for (int unbiased = 0; unbiased <= 1; unbiased++) {
        size_t count[SMALL] = {0}, far = 0, wrong = 0;
        double sum[SMALL] = {0}, all = 0, left = 0, left_squares = 0;
        sg_method *c = open_with("randomk", layout, &sg_feedback_none, (struct setting){"k", K},
                                 (struct setting){"unbiased", unbiased});
        sg_pattern_fill(g, SMALL, SG_PATTERN_NORMAL, 4);
        for (size_t i = 0; i < SMALL; i++)
            all += (double)g[i] * (double)g[i];
        for (uint64_t t = 0; t < DRAWS; t++) {
            struct sg_message m = {0};
            double error = all;
            wrong +=
                sg_verify_send(c, (struct sg_verify_at){1, 1, t, NULL}, g, NULL, &m, &err) != SG_OK || m.count != K;
            for (size_t j = 0; j < m.count; j++) {
                const double x = (double)g[m.index[j]], kept = x - (double)values_of(&m)[j];
                count[m.index[j]]++;
                sum[m.index[j]] += (double)values_of(&m)[j];
                error += kept * kept - x * x;
            }
            left += error / DRAWS;
            left_squares += error * error / DRAWS;
        }
        const double share = (double)K / SMALL, sigma = sqrt(share * (1 - share) / DRAWS);
        const double factor = unbiased ? 1 / share : 1;
        for (size_t i = 0; i < SMALL; i++) {
            far += !(fabs((double)count[i] / DRAWS - share) <= 4.5 * sigma);
            far += !(fabs(sum[i] / DRAWS - factor * share * (double)g[i]) <= 4.5 * sigma * factor * fabs((double)g[i]));
        }
        ok(wrong == 0 && far == 0, "randomk%s: mean message %s", unbiased ? ", unbiased" : "",
           unbiased ? "x" : "k/n x, every element as often");
        const double param[5] = {K, NAN, unbiased, 0, 0}, delta = sg_compressor_find("randomk")->bound(param, SMALL);
        const double deviation = sqrt((left_squares - left * left) / DRAWS);
        /* The scaled error is a sum of fixed size only if all |g| are equal; its spread is measured, not assumed. */
        ok(fabs(left - (1 - delta) * all) <= 4.5 * deviation + 1e-6 * all,
           "randomk%s: mean error %.4f |x|^2, declared %.4f", unbiased ? ", unbiased" : "", left / all, 1 - delta);
        sg_method_close(c);
    }
    struct sg_message m;
    sg_method *c =
        open_with("randomk", one_layer, &sg_feedback_none, (struct setting){"k", 1}, (struct setting){"unbiased", 1});
    for (size_t i = 0; i < N; i++)
        g[i] = 3e38F;
    ok(sg_verify_send(c, (struct sg_verify_at){1, 1, 0, NULL}, g, NULL, &m, &err) == SG_ERR_NONFINITE,
       "overflow of the scaled value: %s", err.msg);
    sg_method_close(c);
}

/* The stream is named by seed, worker and step: the same step again gives the same subset, another one another. */
static void test_random_names(void) {
    uint32_t index[100];
    struct sg_message m = {0};
    sg_method *c = open_with("randomk", one_layer, &sg_feedback_none, (struct setting){"k", 100}, nothing);
    sg_pattern_fill(g, N, SG_PATTERN_NORMAL, 5);
    bool fine = sg_verify_send(c, (struct sg_verify_at){1, 1, 5, NULL}, g, NULL, &m, &err) == SG_OK;
    memcpy(index, m.index, sizeof index);
    fine &= sg_verify_send(c, (struct sg_verify_at){1, 1, 6, NULL}, g, NULL, &m, &err) == SG_OK &&
            memcmp(index, m.index, sizeof index) != 0;
    fine &= sg_verify_send(c, (struct sg_verify_at){1, 1, 5, NULL}, g, NULL, &m, &err) == SG_OK &&
            memcmp(index, m.index, sizeof index) == 0;
    ok(fine, "random-k draws the same at the same step, whatever came before");
    sg_method_close(c);
}

/* Algorithm 1 over many steps: what was sent plus what is kept is all that was fed in (integers: exact). */
static void test_conservation(void) {
    static double fed[N], sent[N];
    sg_method *c = open_with("topk", four_layers, &sg_feedback_gradient, (struct setting){"k", 7}, nothing);
    memset(e, 0, sizeof e);
    bool fine = true;
    for (uint64_t t = 0; t < 200; t++) {
        struct sg_message m = {0};
        sg_pattern_fill(g, N, SG_PATTERN_FEW_VALUES, t);
        fine &= sg_verify_send(c, (struct sg_verify_at){1, 1, t, NULL}, g, e, &m, &err) == SG_OK;
        for (size_t i = 0; i < N; i++)
            fed[i] += (double)g[i];
        for (size_t j = 0; j < m.count; j++)
            sent[m.index[j]] += (double)values_of(&m)[j];
    }
    for (size_t i = 0; i < N; i++)
        fine &= fed[i] == sent[i] + (double)e[i];
    ok(fine, "error feedback loses nothing in 200 steps");
    sg_method_close(c);
}

static bool same_message(const struct sg_message *a, const struct sg_message *b, size_t n_layers) {
    return a->count == b->count && memcmp(a->index, b->index, a->count * sizeof *a->index) == 0 &&
           memcmp(values_of(a), values_of(b), a->bytes) == 0 &&
           memcmp(a->layer_count, b->layer_count, n_layers * sizeof *a->layer_count) == 0;
}

/* A gradient of a few rows of 10, and of the last 100 elements: told or not told, the same messages and residuals in
 * 300 steps, of a compressor that makes use of it, and of others in every form. */
static void test_touched(void) {
    static const struct {
        const char *compressor;
        struct setting parameter;
        const struct sg_feedback_rule *form;
    } cases[] = {
        {"hard-threshold", {"lambda", 0.7}, &sg_feedback_gradient},
        {"hard-threshold", {"lambda", 0.2}, &sg_feedback_none},
        {"hard-threshold", {"lambda", 0.7}, &sg_feedback_update},
        {"hard-threshold", {"lambda", 0}, &sg_feedback_gradient},
        {"topk", {"k", 7}, &sg_feedback_gradient},
    };
    enum { ROW = 10, ROWS = (N - 100) / ROW };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct sg_feedback_rule *form = cases[i].form;
        sg_method *told = open_with(cases[i].compressor, four_layers, form, cases[i].parameter, nothing);
        sg_method *dense = open_with(cases[i].compressor, four_layers, form, cases[i].parameter, nothing);
        static float mine[N], theirs[N];
        bool same = told != NULL && dense != NULL;
        size_t sent = 0;
        memset(mine, 0, sizeof mine);
        memset(theirs, 0, sizeof theirs);
        for (uint64_t step = 0; same && step < 300; step++) {
            struct sg_range range[ROWS + 1];
            struct sg_ranges touched = {range, 0};
            sg_rng r = sg_rng_open(11, SG_RNG_TEST, 0, step);
            memset(g, 0, sizeof g);
            for (size_t row = 0; row <= ROWS; row++) {
                if (row < ROWS && sg_rng_below(&r, 4) > 0)
                    continue;
                range[touched.count] = (struct sg_range){row * ROW, row < ROWS ? (row + 1) * ROW : N};
                for (size_t j = range[touched.count].begin; j < range[touched.count].end; j++)
                    g[j] = (float)sg_rng_normal(&r) / 8;
                touched.count++;
            }
            struct sg_message a, b;
            float *e_told = form == &sg_feedback_none ? NULL : mine,
                  *e_dense = form == &sg_feedback_none ? NULL : theirs;
            same = sg_verify_send(told, (struct sg_verify_at){1, 0.5, step, &touched}, g, e_told, &a, &err) == SG_OK &&
                   sg_verify_send(dense, (struct sg_verify_at){1, 0.5, step, NULL}, g, e_dense, &b, &err) == SG_OK &&
                   same_message(&a, &b, 4) && memcmp(mine, theirs, sizeof mine) == 0;
            sent += a.count;
        }
        ok(same && sent > 0, "%s, %s: touched rows give the same bits (%zu entries)", cases[i].compressor, form->name,
           sent);
        if (i == 0) { /* what is not finite is found, in its layer */
            struct sg_range all = {0, N};
            struct sg_message m;
            g[600] = INFINITY;
            ok(sg_verify_send(told, (struct sg_verify_at){1, 1, 300, &(struct sg_ranges){&all, 1}}, g, mine, &m,
                              &err) == SG_ERR_NONFINITE &&
                   strstr(err.msg, "layer 3"),
               "touched rows that are not finite: %s", err.msg);
        }
        sg_method_close(told);
        sg_method_close(dense);
    }
}

int main(void) {
    test_refusals();
    test_run_arguments();
    test_share();
    test_threshold_unit();
    test_random();
    test_random_names();
    test_conservation();
    test_touched();
    return tap_done();
}

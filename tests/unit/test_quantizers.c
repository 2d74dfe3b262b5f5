/* What coders promise of C(x): unbiased ones are x in the mean, and the declared bounds of the error hold; a grid's step is on
 * the gradient's scale and obeys a budget of entries. */
#include "method_case.h"
#include "tap.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "patterns.h"

enum { N = 100, DRAWS = 4096, MOST_PARAMS = 16, GAMMA_FORMS = 2 };

static const size_t offset[] = {0, 37, 37, N};
static float x[N], sent[N];
static struct sg_error err;

struct promise {
    const struct sg_compressor_ops *ops;
    double param[MOST_PARAMS];
    bool at_random; /* unbiased by its parameters */
};

/* Presets, and what has none. With `turn` 1 all that is rounded is rounded at random; with 2 with the least error. */
static struct promise promise_of(const struct sg_compressor_ops *ops, int turn) {
    struct promise p = {.ops = ops, .at_random = ops->traits & SG_TRAIT_UNBIASED};
    for (size_t i = 0; i < ops->n_params; i++) {
        const char *name = ops->params[i].name;
        p.param[i] = ops->params[i].preset;
        if (strcmp(name, "step") == 0 || strcmp(name, "error-bound") == 0 || strcmp(name, "tau") == 0)
            p.param[i] = 0.7;
        if (strcmp(name, "density") == 0)
            p.param[i] = 0.3;
        if (strcmp(name, "clip") == 0 && turn > 0) {
            p.param[i] = 2.5;
            p.at_random = false;
        }
        if (strcmp(name, turn == 2 ? "least-error" : "stochastic") == 0) {
            p.param[i] = turn > 0;
            p.at_random = turn == 1;
        }
    }
    return p;
}

static sg_method *open_promise(const struct promise *p, const struct sg_feedback_rule *rule) {
    return open_method((struct sg_method_config){.compressor = p->ops,
                                                 .param = p->param,
                                                 .layout = {3, offset, NULL, NULL},
                                                 .feedback = {rule, 1, {0}},
                                                 .seed = 5,
                                                 .first = 3},
                       NULL);
}

/* The mean over DRAWS of every element within 5 standard deviations of x. The deviation is measured; where a rare draw was
 * never seen it is that of a rare draw of the largest error. The mean error within the bound, each one of a compressor
 * without draws. */
static void test_promise(const struct promise *p, enum sg_pattern pattern) {
    const unsigned traits = sg_compressor_traits(p->ops, p->param);
    const bool random = traits & SG_TRAIT_RANDOM;
    const size_t draws = random ? DRAWS : 1;
    double sum[N] = {0}, squares[N] = {0}, lost[2] = {0}, lost_squares[2] = {0}, all[2] = {0}, largest = 0, worst = 0;
    sg_method *m = open_promise(p, &sg_feedback_none);
    bool fine = m != NULL;
    sg_pattern_fill(x, N, pattern, 3);
    for (size_t i = 0; i < N; i++)
        all[i >= offset[1]] += (double)x[i] * (double)x[i];
    for (uint64_t t = 0; fine && t < draws; t++) {
        struct sg_message message;
        double error[2] = {0};
        fine = sg_verify_send(m, (struct sg_verify_at){3, 1, t, NULL}, x, NULL, &message, &err) == SG_OK;
        memset(sent, 0, sizeof sent);
        sg_message_add(sent, &message, 1, &(struct sg_exec){.threads = 1});
        for (size_t i = 0; i < N; i++) {
            const double off = (double)sent[i] - (double)x[i];
            sum[i] += off / (double)draws;
            squares[i] += off * off / (double)draws;
            error[i >= offset[1]] += off * off;
            largest = fmax(largest, fabs(off));
        }
        for (size_t l = 0; l < 2; l++) {
            lost[l] += error[l] / (double)draws;
            lost_squares[l] += error[l] * error[l] / (double)draws;
        }
    }
    sg_method_close(m);
    for (size_t i = 0; i < N; i++)
        worst = fmax(worst, fabs(sum[i]) / (5 * sqrt((squares[i] + fabs(sum[i]) * largest) / (double)draws) + 1e-300));
    ok(fine && (!p->at_random || worst <= 1) && !(traits & SG_TRAIT_UNBIASED) == !p->at_random,
       "%s, %s: x in the mean%s", p->ops->name, sg_pattern_name[pattern], p->at_random ? "" : " is not promised");
    for (size_t l = 0; l < 2; l++) {
        const double bound = p->ops->bound != NULL ? p->ops->bound(p->param, l == 0 ? offset[1] : N - offset[1]) : NAN;
        const double most = !(p->ops->traits & SG_TRAIT_ABSOLUTE) ? (1 - bound) * all[l] : bound;
        const double deviation = sqrt(fmax(lost_squares[l] - lost[l] * lost[l], 0) / (double)draws);
        ok(isnan(most) || lost[l] <= most * (1 + 0x1p-22) + 5 * deviation, "%s, %s: loses %.3g of %.3g, at most %.3g",
           p->ops->name, sg_pattern_name[pattern], lost[l], all[l], most);
    }
}

static void test_step_unit(void) {
    const struct promise p = promise_of(sg_compressor_find("grid"), 0);
    sg_method *m = open_promise(&p, &sg_feedback_update);
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
        sg_method_end(m, NULL, &(struct sg_spent){(double)message.count, message.bits, sg_method_note(m, 0)});
    }
    ok(fine && entries <= total[0] && entries >= 0.9 * total[0], "grid: %g entries of a budget of %g", entries,
       total[0]);
    sg_method_close(m);
}

int main(void) {
    const struct sg_compressor_ops *ops;
    static const enum sg_pattern patterns[] = {SG_PATTERN_NORMAL, SG_PATTERN_EQUAL, SG_PATTERN_WIDE};
    for (size_t i = 0; (ops = sg_compressor_at(i)) != NULL; i++)
        for (int turn = 0; ops->select == NULL && ops->rounds == NULL && turn < 3; turn++) {
            const struct promise p = promise_of(ops, turn);
            for (size_t k = 0; k < sizeof patterns / sizeof *patterns; k++)
                if (turn == 0 || memcmp(p.param, promise_of(ops, 0).param, sizeof p.param) != 0)
                    test_promise(&p, patterns[k]);
        }
    test_step_unit();
    test_budget();
    return tap_done();
}

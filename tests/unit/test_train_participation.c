/* Client sampling in the trainer, on the spy task: who takes part, the mean over these, what stays as it is of the
 * others, what is recorded, what is refused, and checkpoints; against plain loops in double precision. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sg_method.h"
#include "sg_row.h"
#include "spy_run.h"

enum { PRESENT = 2 }; /* of 4 workers, at participation 0.5 */

/* The worker's entries of largest magnitude of each layer move from p to sent. */
static void top1_of_layers(double *p, double *sent) {
    for (int l = 0; l < 3; l++) {
        size_t best = three_layers[l];
        for (size_t j = best + 1; j < three_layers[l + 1]; j++)
            best = fabs(p[j]) > fabs(p[best]) ? j : best;
        sent[best] += p[best];
        p[best] = 0;
    }
}

static bool takes_part(uint64_t seed, uint64_t step, size_t worker) {
    uint32_t chosen[PRESENT];
    sg_rng rng = sg_rng_open(seed, SG_RNG_PARTICIPATE, SG_RNG_ALL_WORKERS, step);
    sg_rng_subset(&rng, chosen, PRESENT, WORKERS);
    return chosen[0] == worker || chosen[1] == worker;
}

/* x[0], the mean of the squared residuals, and how often worker 0 drew, after each of 40 steps. */
struct by_hand {
    double first[41], error[41], drawn[41];
};

/* Federated averaging with Top-1 of each layer and error feedback: who takes part takes `steps` steps by itself, and
 * sends. With one step that is Algorithm 1 with client sampling. */
static void average_by_hand(struct by_hand *r, uint64_t steps) {
    static double e[WORKERS][D], way[WORKERS][D];
    uint32_t drawn[WORKERS] = {0};
    double x[D];
    memset(e, 0, sizeof e);
    memset(way, 0, sizeof way);
    *r = (struct by_hand){.first = {-5}};
    for (int j = 0; j < D; j++)
        x[j] = j - 5;
    for (uint64_t t = 0; t < 40; t++) {
        const uint64_t sends_at = t - t % steps + steps - 1;
        const bool sends = t == sends_at;
        double sent[D] = {0};
        for (size_t w = 0; w < WORKERS; w++) {
            double own[D];
            float g[D];
            for (int j = 0; j < D; j++)
                own[j] = x[j] - way[w][j];
            if (takes_part(1, sends_at < 40 ? sends_at : 40, w)) {
                valley(g, w, drawn[w]++, own);
                for (int j = 0; j < D; j++) {
                    way[w][j] += GAMMA * (double)g[j];
                    e[w][j] += sends ? way[w][j] : 0;
                    way[w][j] = sends ? 0 : way[w][j];
                }
                if (sends)
                    top1_of_layers(e[w], sent);
            }
            for (int j = 0; j < D; j++)
                r->error[t + 1] += e[w][j] * e[w][j] / WORKERS;
        }
        for (int j = 0; j < D; j++)
            x[j] -= sent[j] / PRESENT;
        r->first[t + 1] = x[0];
        r->drawn[t + 1] = drawn[0];
    }
}

/* Roundings to float, which the valley damps. */
static const double BOUND = 40 * 10 * 32 * 0x1p-24;

static void test_run(const char *form, uint64_t steps) {
    struct by_hand r;
    double gap = 0, bits = 0;
    char set[128];
    average_by_hand(&r, steps);
    snprintf(set, sizeof set, "error-feedback={form: %s}", form);
    in_valley();
    struct sg_run run = whole("Top-k", SET("participation=0.5", set));
    const double *error = sg_run_series(&run, "error_norm"), *sent = sg_run_series(&run, "bits"),
                 *first = sg_run_series(&run, "suboptimality"), *drawn = sg_run_series(&run, "loss"),
                 *density = sg_run_series(&run, "density"), *padded = sg_run_series(&run, "density_padded");
    size_t wrong = run.n_points != 41;
    for (size_t t = 1; t <= 40; t++) {
        const bool sends = t % steps == 0;
        bits += sends ? 64.0 * 3 * PRESENT / WORKERS : 0;
        gap = fmax(gap, fmax(fabs(r.first[t] - first[t]), fabs(r.error[t] - error[t]) / 64));
        wrong += sent[t] != bits || drawn[t] != r.drawn[t] || padded[t] != (sends ? 3.0 / D : 0) ||
                 density[t] != (sends ? 1.5 / D : 0);
    }
    ok(wrong == 0 && gap <= BOUND && r.drawn[40] > 5 && r.drawn[40] < 35,
       "%s: half of the workers compute and send, and their mean is taken, as by hand: %g apart", form, gap);
    sg_run_free(&run);
}

/* The optimizer is given the mean of all estimates, whoever takes part: with Top-k of everything, the last gradient of
 * each worker, 0 before its first. */
static void test_estimates(void) {
    double last[WORKERS][D] = {{0}}, x[D], gap = 0;
    uint32_t drawn[WORKERS] = {0};
    in_valley();
    struct sg_run run = whole("Top-k", SET("participation=0.5", "error-feedback={form: ef21}", "methods.Top-k.k=12"));
    const double *first = sg_run_series(&run, "suboptimality");
    for (int j = 0; j < D; j++)
        x[j] = j - 5;
    for (uint64_t t = 0; t < 40; t++) {
        for (size_t w = 0; w < WORKERS; w++) {
            float g[D];
            if (!takes_part(1, t, w))
                continue;
            valley(g, w, drawn[w]++, x);
            for (int j = 0; j < D; j++)
                last[w][j] = (double)g[j];
        }
        for (size_t w = 0; w < WORKERS; w++)
            for (int j = 0; j < D; j++)
                x[j] -= GAMMA * last[w][j] / WORKERS;
        gap = fmax(gap, fabs(x[0] - first[t + 1]));
    }
    ok(gap <= BOUND, "ef21: the mean of the estimates is over all workers: %g apart", gap);
    sg_run_free(&run);
}

/* Of n workers round(p n) take part, and at least one; 1 is a run without sampling. */
static void test_shares(void) {
    static const struct {
        const char *set;
        double present;
    } share[] = {{"participation=0.01", 1},
                 {"participation=0.3", 1},
                 {"participation=0.6", 2},
                 {"participation=0.7", 3},
                 {"participation=1", 4}};
    size_t wrong = 0;
    for (size_t i = 0; i < sizeof share / sizeof *share; i++) {
        in_valley();
        struct sg_run run = whole("SGD", SET(share[i].set));
        wrong += sg_run_series(&run, "density")[9] != share[i].present / WORKERS;
        sg_run_free(&run);
    }
    ok(wrong == 0, "round(p n) workers take part, at least one");
    in_valley();
    struct sg_run all = whole("Top-k", NULL);
    in_valley();
    struct sg_run one = whole("Top-k", SET("participation=1"));
    ok(same_points(&all, &one), "participation 1 is a run of all workers");
    sg_run_free(&all);
    sg_run_free(&one);
}

/* Every seed and step has a draw of its own, and all workers take part equally often. */
static void test_draws(void) {
    size_t often[WORKERS] = {0}, pairs = 0;
    for (uint64_t step = 0; step < 4000; step++) {
        for (size_t w = 0; w < WORKERS; w++)
            often[w] += takes_part(1, step, w);
        pairs += takes_part(1, step, 0) && takes_part(1, step + 1, 0);
    }
    bool even = true;
    for (size_t w = 0; w < WORKERS; w++)
        even &= fabs((double)often[w] - 2000) < 5 * sqrt(1000); /* 5 sigma of 4000 coins */
    ok(even && fabs((double)pairs - 1000) < 5 * sqrt(750),
       "workers take part equally often, and draws are independent");
}

static bool refused(const char *method, const char *set) {
    struct sg_run run;
    in_valley();
    const sg_status status = train(&run, method, SET("participation=0.5", set), NULL, false);
    sg_run_free(&run);
    return status == SG_ERR_ARGUMENT && strstr(err.msg, "participation: ") != NULL;
}

static void test_refusals(void) {
    const struct sg_compressor_ops *ops;
    const struct sg_feedback_rule *rule;
    size_t rounds = 0, ruled = 0, wrong = 0;
    char set[256];
    for (size_t i = 0; (ops = sg_compressor_at(i)) != NULL; i++) {
        double param[SG_ROW_PARAMS];
        sg_compressor_example(ops, 0.3, 1, param);
        const struct sg_method_config config = {.compressor = ops, .param = param, .sampled = true};
        const bool why = sg_method_check(&config, 0, &err) != SG_OK && strstr(err.msg, "participation: ") != NULL;
        const bool must = ops->rounds != NULL || strcmp(ops->name, "accordion") == 0;
        rounds += must;
        wrong += why != must;
    }
    ok(wrong == 0 && rounds > 10, "compressors with rounds are refused, and accordion, and no other");
    wrong = 0;
    for (size_t i = 0; (rule = sg_feedback_at(i)) != NULL; i++) {
        snprintf(set, sizeof set, "error-feedback={form: %s%s}", rule->name, interval_of(rule));
        ruled += rule->every_step;
        if (rule->every_step)
            wrong += !refused("Top-k", set);
        else {
            in_valley();
            struct sg_run run = whole("Top-k", SET("participation=0.5", set));
            sg_run_free(&run);
        }
    }
    ok(wrong == 0 && ruled == 5, "rules that need every worker are refused, and all others run");
    record_inputs = temporary_path("inputs");
    ok(refused("Top-k", "steps=40"), "a recording is refused");
    record_inputs = NULL;
}

/* Stopped and resumed, with all columns that sampling allows: the last two need every worker's gradient. */
static void test_resumed(const char *method, const char *share, const char *form) {
    char columns[1024], *cut;
    all_columns(columns);
    ok((cut = strstr(columns, ", error-lag")) != NULL && refused("Top-k", columns),
       "a column of all gradients is refused");
    if (cut != NULL)
        memcpy(cut, "]", 2);
    test_resume(method, SET(columns, share, form), in_valley);
}

int main(void) {
    temporary_make();
    unsetenv("OMPI_COMM_WORLD_SIZE");
    test_run("update", 1);
    test_run("local-steps, steps: 3", 3);
    test_estimates();
    test_shares();
    test_draws();
    test_refusals();
    test_resumed("Top-k", "participation=0.5", "error-feedback=gradient");
    test_resumed("Top-k", "participation=0.5", "error-feedback={form: local-steps, steps: 3}");
    test_resumed("Random-k", "participation=0.3", "error-feedback={form: ef21}");
    return tap_done();
}

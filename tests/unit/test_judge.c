/* Verdicts on claims from the numbers of their seeds, in cases known in closed form and on planted noise. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "made_document.h"
#include "sg_rng.h"
#include "tap.h"

enum { MOST = 10 };

/* A claim as a result has it, judged again. NaN is a seed without a number, Inf one that never gets there. */
static cJSON *judged(const char *metric, const char *sense, const double *value, const double *bound, size_t n) {
    cJSON *seeds = cJSON_CreateArray(), *claims = cJSON_CreateArray();
    for (size_t i = 0; i < n; i++)
        sg_json_push(seeds, SG_OBJECT(SG_U64("seed", i + 1), SG_NUMBER("value", value[i]), SG_NUMBER("bound", bound[i]),
                                      SG_TEXT("note", isinf(value[i]) || isinf(bound[i]) ? "A: x is never at or below 1"
                                                      : isnan(value[i]) || isnan(bound[i]) ? "A: diverged"
                                                                                           : NULL)));
    sg_json_push(claims, SG_OBJECT(SG_TEXT("verdict", "holds"), SG_TEXT("metric", metric), SG_TEXT("sense", sense),
                                   SG_TEXT("reason", "before"), SG_VALUE("seeds", seeds)));
    cJSON *document = rejudged(SG_OBJECT(SG_VALUE("results", cJSON_CreateArray()), SG_VALUE("claims", claims)));
    cJSON *claim = cJSON_DetachItemFromArray(cJSON_GetObjectItemCaseSensitive(document, "claims"), 0);
    cJSON_Delete(document);
    return claim;
}

static void check(const char *metric, const char *sense, const double *value, const double *bound, size_t n,
                  const char *verdict, const char *reason, const char *what) {
    cJSON *claim = judged(metric, sense, value, bound, n);
    const char *got = sg_json_string(claim, "verdict", ""), *why = sg_json_string(claim, "reason", "");
    if (!ok(strcmp(got, verdict) == 0 && strcmp(why, reason) == 0, "%s: %s", what, verdict))
        printf("#   got %s (%s)\n", got, why);
    cJSON_Delete(claim);
}

static void test_scales(void) {
    /* Differences of 1, 2, 3 points: 2 +- 4.303 / sqrt(3). */
    const double higher[] = {0.51, 0.52, 0.53}, half[] = {0.5, 0.5, 0.5};
    check("test_accuracy", "at-least", higher, half, 3, "holds at these seeds", "margin 2 points, 95 % -0.484 to 4.48",
          "accuracy counts in points");
    check("test_accuracy", "at-most", higher, half, 3, "fails at these seeds",
          "true at none of 3 seeds; margin -2 points, 95 % -4.48 to 0.484", "and the other way round");
    const double clear[] = {0.52, 0.525, 0.53};
    check("test_accuracy", "at-least", clear, half, 3, "holds", "", "2.5 points, give or take 1.24");
    check("test_accuracy", "at-most", clear, half, 3, "fails", "true at none of 3 seeds", "and the other way round");
    /* Ratios e, e^2, e^3: the same numbers as logarithms. */
    const double less[] = {exp(-1), exp(-2), exp(-3)}, one[] = {1, 1, 1};
    check("relative_suboptimality", "at-most", less, one, 3, "holds at these seeds",
          "margin 7.39 times, 95 % 0.616 to 88.6", "suboptimality is a ratio");
    check("test_perplexity", "at-most", less, one, 3, "holds at these seeds", "margin 2 nats, 95 % -0.484 to 4.48",
          "perplexity is a loss in nats");
    check("time", "at-most", less, one, 3, "holds at these seeds", "margin 7.39 times, 95 % 0.616 to 88.6",
          "so is what no table of columns knows");
    const double negative[] = {-1, -2, -3}, zero[] = {0, 0, 0};
    check("error_lag", "at-most", negative, zero, 3, "holds at these seeds", "margin 2, 95 % -0.484 to 4.48",
          "what may be negative is compared as it is");
    check("total_error", "at-most", negative, zero, 3, "holds at these seeds", "margin 2, 95 % -0.484 to 4.48",
          "and so are ratios of what is not positive");
    cJSON *claim = judged("test_perplexity", "at-most", less, one, 3);
    ok(strcmp(sg_json_string(claim, "margin.scale", ""), "logarithm") == 0 &&
           fabs(sg_json_number(claim, "margin.mean", 0) - 2) < 1e-15 &&
           fabs(sg_json_number(claim, "margin.half_width", 0) - 4.303 / sqrt(3)) < 1e-15 &&
           cJSON_GetArraySize(sg_json_get(claim, "seeds")) == 3 && strcmp(claim->child->prev->string, "seeds") == 0,
       "the margin stands before the seeds");
    cJSON_Delete(claim);
}

static void test_edges(void) {
    const double seven[] = {7, 7, 7}, eight[] = {8, 8, 8}, up[] = {7, 8, 9}, zero[] = {0, 0, 0};
    check("bits", "at-most", seven, seven, 3, "holds", "", "what is equal without noise is at most that");
    check("bits", "at-most", seven, eight, 2, "holds", "", "two seeds without noise");
    check("bits", "at-most", eight, seven, 3, "fails", "true at none of 3 seeds", "what is larger without noise");
    check("bits", "at-most", up, up, 3, "holds", "", "seeds differ, pairs do not");
    check("bits", "at-most", zero, seven, 3, "holds", "", "nothing sent");
    check("bits", "at-most", zero, zero, 3, "holds", "", "nothing is no more than nothing");
    check("bits", "at-most", seven, eight, 1, "holds at these seeds", "one seed", "one seed never holds");
    check("bits", "at-most", eight, seven, 1, "fails at these seeds", "false at the only seed", "nor fails");
    check("bits", "at-most", up, eight, 3, "undecided", "true at 2 of 3 seeds", "mixed");
    const double missing[] = {7, NAN, 7}, never[] = {INFINITY, INFINITY, INFINITY}, once[] = {9, INFINITY, 10};
    check("bits", "at-most", missing, eight, 3, "undecided", "A: diverged", "a seed without a number");
    check("step", "at-most", never, eight, 3, "fails", "true at none of 3 seeds", "never reached at any seed");
    check("step", "at-most", eight, never, 3, "holds", "", "nor by the other");
    check("step", "at-most", once, eight, 3, "fails at these seeds",
          "true at none of 3 seeds; no interval: at 1 of 3 seeds it is never reached", "never reached at one seed");
    check("step", "at-most", eight, once, 3, "holds at these seeds", "no interval: at 1 of 3 seeds it is never reached",
          "nor by the other");
    check("step", "at-most", never, never, 3, "undecided", "A: x is never at or below 1", "two that never get there");
    cJSON *claim =
        cJSON_Parse("{\"results\":[],\"claims\":[{\"verdict\":\"not judged\",\"seeds\":[{\"value\":1,\"bound\":2}]},"
                    "{\"verdict\":\"fails\",\"cases\":[{\"value\":1,\"bound\":2}]}]}");
    cJSON *same = cJSON_Duplicate(claim, true);
    claim = rejudged(claim);
    ok(cJSON_Compare(claim, same, true), "what was not judged, and times of kernels, stay as they are");
    cJSON_Delete(claim);
    cJSON_Delete(same);
}

/* The share of 4000 claims that get this verdict: accuracies of two methods at n seeds, which share most of their
 * noise and differ by `effect` deviations of the noise of their difference. */
static double share(const char *verdict, size_t n, double effect) {
    enum { DRAWS = 4000 };
    sg_rng rng = sg_rng_open(1, SG_RNG_TEST, 0, n);
    size_t found = 0;
    for (size_t i = 0; i < DRAWS; i++) {
        double value[MOST], bound[MOST];
        for (size_t s = 0; s < n; s++) {
            bound[s] = 0.5 + 0.01 * sg_rng_normal(&rng);
            value[s] = bound[s] + 0.002 * (effect + sg_rng_normal(&rng));
        }
        cJSON *claim = judged("test_accuracy", "at-least", value, bound, n);
        found += strcmp(sg_json_string(claim, "verdict", ""), verdict) == 0;
        cJSON_Delete(claim);
    }
    return (double)found / DRAWS;
}

/* A share of 0.025 of 4000 draws has a standard deviation of 0.0025, one of 0.1 one of 0.005: bounds are three. */
static void test_noise(void) {
    for (size_t n = 2; n <= 5; n++) {
        const double holds = share("holds", n, 0), fails = share("fails", n, 0);
        ok(holds <= 0.0325 && fails <= 0.0325, "%zu seeds without effect hold in %.4f and fail in %.4f", n, holds,
           fails);
    }
    const double chance = share("holds at these seeds", 3, 0);
    ok(fabs(chance - 0.1) <= 0.015, "three agree by chance: %.4f", chance);
    const double three = share("holds", 3, 5), five = share("holds", 5, 3);
    ok(three > 0.9 && five > 0.9, "an effect beyond noise holds: %.4f of three seeds, %.4f of five", three, five);
}

/* The published prices of step efficiency, made again from the efficiencies of five seeds. */
static void test_prices(void) {
    struct sg_error err;
    struct sg_document d;
    cJSON *json = NULL;
    if (sg_json_read(&json, "results/step-efficiency.json", &err) != SG_OK) {
        ok(true, "published prices # SKIP not in the folder of the sources");
        return;
    }
    if (!ok(sg_document_read(&d, json, "the test", &err) == SG_OK, "the published result is read"))
        return;
    struct sg_grid_price *price = calloc(d.results.n_labels, sizeof *price);
    const size_t n = sg_grid_prices(price, &d);
    size_t right = 0, missing = 0, wide = 0;
    for (size_t i = 0; i < n; i++) {
        const struct sg_frame_column *phi = sg_frame_column(price[i].label, "step_efficiency");
        double mean = 0, square = 0;
        for (size_t s = 0; s < 5; s++)
            mean += 1 / phi->value[s] / 5;
        for (size_t s = 0; s < 5; s++)
            square += (1 / phi->value[s] - mean) * (1 / phi->value[s] - mean) / 4;
        const double half = 2.776 * sqrt(square / 5), data = mean / price[i].label->times_less;
        right += fabs(price[i].times / mean - 1) < 1e-9 && fabs(price[i].data / data - 1) < 1e-9 &&
                 fabs(price[i].half - half) < 1e-3 * mean && half < 0.25 * mean &&
                 price[i].steps == 800 * sg_json_number(price[i].label->swept, "stretch", NAN);
        missing += strcmp(price[i].label->label, "Hard-threshold lambda=30 stretch=0.25") == 0;
        wide += strcmp(price[i].label->label, "Top-k k=20 stretch=2") == 0;
    }
    ok(n > 20 && right == n, "%zu of %zu prices follow from the efficiencies, at the length of the runs", right, n);
    ok(missing == 0, "a label without an efficiency at one of the seeds has no price");
    ok(wide == 0, "nor has one whose interval is wide");
    free(price);
    sg_document_free(&d);
}

int main(void) {
    test_scales();
    test_edges();
    test_noise();
    test_prices();
    return tap_done();
}

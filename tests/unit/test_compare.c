/* What differs between two results, beyond the noise of seeds. */
/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include <math.h>
#include <string.h>

#include "sg_compare.h"
#include "sg_json.h"
#include "sg_plot.h"
#include "sg_stats.h"

static void test_pairs(void) {
    /* Differences 1, 2, 3: their mean is 2, their deviation 1, and Student's quantile for 2 degrees of freedom
     * 4.303. */
    const double a[] = {10, 20, 30}, b[] = {11, 22, 33}, far[] = {20, 31, 42};
    struct sg_comparison c = sg_compare_pairs(a, b, 3);
    ok(c.a == 20 && c.b == 22 && c.difference == 2 && fabs(c.half - 4.303 / sqrt(3)) < 1e-12, "means and interval");
    ok(c.verdict == SG_WITHIN_NOISE, "2 give or take 2.48 is noise");
    c = sg_compare_pairs(a, far, 3);
    ok(c.difference == 11 && c.verdict == SG_BEYOND_NOISE, "11 give or take 2.48 is none, though seeds differ by 10");
    c = sg_compare_pairs(a, a, 3);
    ok(c.difference == 0 && c.verdict == SG_SAME, "equal values are the same");
    const double up[] = {11, 21, 31};
    ok(sg_compare_pairs(a, up, 3).verdict == SG_BEYOND_NOISE, "a difference without any spread is beyond noise");
    c = sg_compare_pairs(a, b, 1);
    ok(c.verdict == SG_ONE_SEED && isnan(c.half) && c.difference == 1, "one seed has no interval");
    ok(sg_compare_pairs(a, a, 1).verdict == SG_SAME, "but it can be the same");
}

static void test_quantiles(void) {
    ok(isnan(sg_stats_student(0)) && sg_stats_student(1) == 12.706 && sg_stats_student(9) == 2.262,
       "a table of Student's");
    ok(fabs(sg_stats_student(16) - 2.1199) < 2e-4 && fabs(sg_stats_student(30) - 2.0423) < 1e-4 &&
           fabs(sg_stats_student(1000) - 1.9623) < 1e-4,
       "and what lies beyond: %.4f %.4f %.4f", sg_stats_student(16), sg_stats_student(30), sg_stats_student(1000));
}

static struct sg_document parse(const char *text) {
    struct sg_document out = {0};
    struct sg_error err;
    ok(sg_plot_parse(&out, text, strlen(text), "text", &err) == SG_OK, "a document");
    return out;
}

#define RESULT(steps, label, seeds, values, verdict)                                                                   \
    "{\"schema\":\"sparsebench/1\",\"status\":\"ok\",\"recipe\":{\"resolved\":{\"steps\":" steps ",\"plots\":[" steps  \
    "],\"methods\":[{\"name\":\"M\",\"k\":" steps "}]}},\"results\":[{\"label\":\"" label "\",\"seeds\":" seeds        \
    ",\"series\":{},\"final\":{\"step\":{\"values\":[1,1,1]},\"loss\":{\"values\":" values                             \
    "}}}],\"claims\":[{\"text\":\"C\",\"verdict\":\"" verdict "\"}]}"

static void test_documents(void) {
    struct sg_error err;
    cJSON *c;
    struct sg_document a = parse(RESULT("10", "M", "[\"1\",\"2\",\"3\"]", "[1,2,3]", "holds"));
    struct sg_document b = parse(RESULT("20", "M", "[\"3\",\"9\",\"1\"]", "[30,7,10]", "fails"));
    struct sg_document other = parse(RESULT("10", "N", "[\"1\"]", "[1]", "holds"));
    ok(sg_compare(&c, &a, &b, &err) == SG_OK, "compared");
    const cJSON *row = cJSON_GetArrayItem(sg_json_get(c, "columns"), 0);
    ok(cJSON_GetArraySize(sg_json_get(c, "columns")) == 1 && sg_json_number(row, "seeds", 0) == 2 &&
           sg_json_number(row, "a", 0) == 2 && sg_json_number(row, "b", 0) == 20,
       "seeds are paired by name: 1 with 10, 3 with 30; 2 and 9 have no pair, and step is no value");
    const cJSON *settings = sg_json_get(c, "settings");
    ok(cJSON_GetArraySize(settings) == 2 &&
           strcmp(sg_json_string(cJSON_GetArrayItem(settings, 0), "key", ""), "steps") == 0 &&
           strcmp(sg_json_string(cJSON_GetArrayItem(settings, 1), "key", ""), "methods.M.k") == 0,
       "settings that differ have their path, and plots are none");
    ok(strcmp(sg_json_string(cJSON_GetArrayItem(sg_json_get(c, "claims"), 0), "b", ""), "fails") == 0,
       "a verdict that differs is said");
    cJSON_Delete(c);
    ok(sg_compare(&c, &a, &other, &err) == SG_OK && cJSON_GetArraySize(sg_json_get(c, "columns")) == 0 &&
           strcmp(cJSON_GetArrayItem(sg_json_get(c, "only_a"), 0)->valuestring, "M") == 0 &&
           strcmp(cJSON_GetArrayItem(sg_json_get(c, "only_b"), 0)->valuestring, "N") == 0,
       "labels that only one has are listed");
    cJSON_Delete(c);
    ok(sg_compare(&c, &a, &a, &err) == SG_OK && sg_compare_changes(c) == 0 &&
           cJSON_GetArraySize(sg_json_get(c, "settings")) == 0,
       "a result differs in nothing from itself");
    cJSON_Delete(c);
    cJSON *resolved = cJSON_Duplicate(b.recipe->resolved, true);
    b.recipe->resolved = sg_arena_take(&b.memory, resolved);
    cJSON_AddNullToObject(resolved, "batch"); /* a key that is null in one and unknown to the other */
    ok(sg_compare(&c, &a, &b, &err) == SG_OK && cJSON_GetArraySize(sg_json_get(c, "settings")) == 2, "null is absent");
    cJSON_Delete(c);
    ok(sg_compare(&c, &b, &a, &err) == SG_OK && cJSON_GetArraySize(sg_json_get(c, "settings")) == 2, "either way");
    cJSON_Delete(c);
    sg_document_free(&a);
    sg_document_free(&b);
    sg_document_free(&other);
}

int main(void) {
    test_pairs();
    test_quantiles();
    test_documents();
    return tap_done();
}

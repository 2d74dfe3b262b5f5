/* Verdicts on claims about times of kernels, on constructed results with quotients known in closed form. */
/* SPDX-License-Identifier: MIT */
#include "recipe_case.h"

#include <math.h>

#include "sg_bench.h"
#include "sg_json.h"

#define KERNELS                                                                                                        \
    "schema: 1\nname: small\nkind: kernels\noperations: [ef-threshold, ef-topk-warm, torch-topk, encode]\nsizes: "     \
    "[9]\n"
#define ROW(operation, back_end, times)                                                                                \
    "{\"operation\":\"" operation "\",\"back_end\":\"" back_end "\",\"size\":\"flat\",\"n\":9,\"density\":0.5,"        \
    "\"distribution\":\"gaussian\",\"threads\":1,\"compressor\":null,\"reason\":null,\"time_s\":" times "}"
#define TIMES(median, samples) "{\"median\":" #median ",\"samples\":" samples "}"
/* The plain back-end's times are those that no claim is about. In the second case pairs say more than medians: the
 * machine slowed down between them. */
#define FIRST                                                                                                          \
    ROW("add", "reference", TIMES(1, "[1,1,1,1,1]"))                                                                   \
    "," ROW("ef-threshold", "c", TIMES(90, "[90,90,90,90,90]")) "," ROW(                                               \
        "ef-threshold", "avx2",                                                                                        \
        TIMES(2,                                                                                                       \
              "[2,2,2,2,2]")) "," ROW("ef-topk-warm", "c",                                                             \
                                      TIMES(                                                                           \
                                          1,                                                                           \
                                          "[1,1,1,1,1]")) "," ROW("ef-topk-warm", "avx2",                              \
                                                                  TIMES(                                               \
                                                                      4,                                               \
                                                                      "[4,4,4,4,4]")) "," ROW("torch-topk", "c++",     \
                                                                                              TIMES(                   \
                                                                                                  50,                  \
                                                                                                  "[50,50,50,50,50]"))
#define SECOND(time_of_topk)                                                                                           \
    ROW("add", "reference", TIMES(1, "[1,1,1,1,1]"))                                                                   \
    "," ROW("ef-threshold", "avx2", TIMES(6, "[2,4,6,8,10]")) "," ROW("ef-topk-warm", "avx2", time_of_topk) "," ROW(   \
        "torch-topk", "c++", "null")

static cJSON *judged(const char *claim, const char *rows) {
    struct sg_recipe recipe;
    struct sg_error err;
    char text[1024];
    cJSON *results = NULL;
    snprintf(text, sizeof text, KERNELS "claims:\n  - {text: a claim, metric: time, %s}\n", claim);
    ok(parse_set(&recipe, text, NULL, 0, &err) == SG_OK &&
           sg_json_parse(&results, rows, strlen(rows), "rows", &err) == SG_OK,
       "read: %s", claim);
    cJSON *claims = sg_bench_claims(&recipe, results), *first = cJSON_DetachItemFromArray(claims, 0);
    cJSON_Delete(claims);
    cJSON_Delete(results);
    sg_recipe_free(&recipe);
    return first;
}

static void verdict_is(const char *word, const char *reason, const char *claim, const char *rows) {
    cJSON *got = judged(claim, rows);
    const char *why = sg_json_string(got, "reason", "");
    ok(strcmp(sg_json_string(got, "verdict", ""), word) == 0 && strcmp(why, reason) == 0, "%s: %s (%s)", claim, word,
       why);
    cJSON_Delete(got);
}

static void test_verdicts(void) {
    static const char one[] = "[" FIRST "]", no_rows[] = "[]",
                      two[] = "[" FIRST "," SECOND(TIMES(7, "[3,5,7,9,11]")) "]",
                      mixed[] = "[" FIRST "," SECOND(TIMES(4, "[4,4,4,4,4]")) "]",
                      slower[] = "[" FIRST "," SECOND(TIMES(1, "[1,1,1,1,1]")) "]";
#define CASE "flat of 9, gaussian, density 0.5, 1 thread"
    verdict_is("holds", "", "of: ef-threshold, at-most: {times: 0.5, of: ef-topk-warm}", one);
    verdict_is("fails", "false in 1 of 1 cases, first " CASE,
               "of: ef-threshold, at-most: {times: 0.49, of: ef-topk-warm}", one);
    verdict_is("holds", "", "of: ef-topk-warm, at-least: {times: 2, of: ef-threshold}", one);
    verdict_is("holds", "", "of: ef-threshold, at-most: {times: 0.1, of: torch-topk}", one);
    verdict_is("holds", "", "of: ef-threshold, at-most: 2", one);
    verdict_is("fails", "false in 1 of 1 cases, first " CASE, "of: ef-threshold, at-least: 2.01", one);
    verdict_is("holds", "", "of: ef-threshold, at-most: {of: ef-topk-warm}", two);
    verdict_is("undecided",
               "undecided in 1 of 2 cases, first " CASE ": the quartiles of value / bound are on both sides of 1",
               "of: ef-threshold, at-most: {of: ef-topk-warm}", mixed);
    verdict_is("fails", "false in 1 of 2 cases, first " CASE, "of: ef-threshold, at-most: {of: ef-topk-warm}", slower);
    verdict_is("undecided", "undecided in 1 of 2 cases, first " CASE ": torch-topk was not timed: its output is wrong",
               "of: ef-threshold, at-most: {times: 0.1, of: torch-topk}", two);
    verdict_is("fails", "false in 2 of 2 cases, first " CASE,
               "of: ef-threshold, at-most: {of: ef-topk-warm, plus: -90}", two);
    verdict_is("not judged", "no case was timed", "of: ef-threshold, at-most: 1", no_rows);
}

static void test_numbers(void) {
    cJSON *got = judged("of: ef-threshold, at-most: {times: 2, of: ef-topk-warm}",
                        "[" FIRST "," SECOND(TIMES(7, "[4,4,4,4,4]")) "]");
    const cJSON *second = cJSON_GetArrayItem(sg_json_get(got, "cases"), 1);
    ok(sg_json_number(second, "value", 0) == 6 && sg_json_number(second, "other", 0) == 7 &&
           sg_json_number(second, "bound", 0) == 14 && strcmp(sg_json_string(second, "back_end", ""), "avx2") == 0,
       "medians of the last back-end");
    ok(sg_json_number(second, "ratio_q1", 0) == 0.5 && sg_json_number(second, "ratio", 0) == 0.75 &&
           sg_json_number(second, "ratio_q3", 0) == 1,
       "quartiles of the quotients of pairs");
    cJSON_Delete(got);
}

static void test_refusals(void) {
#define REFUSED(claim, message) refused(KERNELS "claims:\n  - {text: t, " claim "}\n", "r.yaml:7:" message)
    REFUSED("metric: time, of: ef-topk-cold, at-most: 1", "33: of: 'ef-topk-cold' is not timed (add it to operations)");
    REFUSED("metric: time, of: ef-threshold, at-most: {of: randomk}",
            "61: of: 'randomk' is not timed (add it to operations)");
    REFUSED("metric: time, of: ef-treshold, at-most: 1",
            "33: unknown operation 'ef-treshold' (did you mean 'ef-threshold'?)");
    REFUSED("metric: time, of: encode, at-most: 1",
            "33: of: 'encode' has a time for each encoding (name another operation)");
    REFUSED("metric: tiem, of: ef-threshold, at-most: 1", "23: unknown metric 'tiem' (did you mean 'time'?)");
    REFUSED("metric: time, of: ef-threshold, at: {final: true}, at-most: 1",
            "47: key 'at' does not belong here (it is a key of recipes of kind 'training')");
    REFUSED("metric: time, of: ef-threshold", "5: a claim needs 'at-most' or 'at-least'");
}

int main(void) {
    test_verdicts();
    test_numbers();
    test_refusals();
    return tap_done();
}

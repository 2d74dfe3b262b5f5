/* Audits: numbers compared with what they were. */
/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "audit_compare.h"
#include "audit_tree.h"
#include "sg_audit.h"
#include "sg_text.h"

/* ---- runs ---- */

/* A run of four records. `at` of them has the error `error`, and layer 2 the error `layer`. */
static struct sg_run run_of(const char *error, const char *layer, int records, const char *hash) {
    struct sg_run run = {0};
    struct sg_error err = {.status = SG_OK};
    char text[2048];
    size_t n = (size_t)snprintf(text, sizeof text,
                                "{\"record\":\"header\",\"schema\":\"sparsetrain/1\",\"constants\":{\"d\":2},"
                                "\"columns\":[\"step\",\"epoch\",\"error_norm\"]}\n");
    for (int i = 0; i < records; i++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "{\"record\":\"step\",\"step\":%d,\"epoch\":%d,\"error_norm\":%s,\"layers\":{"
                              "\"error_norm\":[4,%s],\"mode\":null}}\n",
                              10 * i, i, i == 2 ? error : "8", i == 2 ? layer : "1");
    n += (size_t)snprintf(text + n, sizeof text - n,
                          "{\"record\":\"end\",\"status\":\"ok\",\"steps\":30,\"parameters_sha256\":\"%s\"}\n", hash);
    ok(sg_run_parse(&run, text, n, "test", &err) == SG_OK, "a run is read %s", err.msg);
    return run;
}

static struct audit_found compared(struct sg_run take_now, const cJSON *tolerance) {
    struct audit_compare c = {.tolerance = tolerance, .found = {.step = NAN}};
    struct sg_run then = run_of("2.5", "1", 4, "aa");
    audit_compare_runs(&c, &then, &take_now);
    sg_run_free(&then);
    sg_run_free(&take_now);
    return c.found;
}

static void test_runs(void) {
    cJSON *tolerance = cJSON_Parse("{\"error_norm\":0.125,\"other\":0}");
    struct audit_found f = compared(run_of("2.5", "1", 4, "aa"), NULL);
    ok(f.verdict == AUDIT_SAME, "equal runs have the same bits");
    f = compared(run_of("2.5000000000000004", "1", 4, "ab"), NULL);
    ok(f.verdict == AUDIT_DIFFERS && f.step == 20 && f.layer == 0 && strcmp(f.path, "error_norm") == 0 &&
           f.then == 2.5 && f.now > 2.5,
       "the last bit of a record differs at step 20");
    f = compared(run_of("2.6", "1.5", 4, "ab"), NULL);
    ok(f.verdict == AUDIT_DIFFERS && f.step == 20 && f.layer == 2 && f.then == 1 && f.now == 1.5, "of layer 2");
    f = compared(run_of("null", "1", 4, "aa"), NULL);
    ok(f.verdict == AUDIT_DIFFERS && isnan(f.now), "a null is no number");
    f = compared(run_of("2.5", "1", 3, "aa"), NULL);
    ok(f.verdict == AUDIT_DIFFERS && strcmp(f.path, "records") == 0 && f.then == 4 && f.now == 3, "a record less");
    f = compared(run_of("2.5", "1", 4, "ab"), NULL);
    ok(f.verdict == AUDIT_DIFFERS && strcmp(f.path, "parameters_sha256") == 0, "other parameters at the end");
    f = compared(run_of("3.25", "1", 4, "ab"), tolerance);
    ok(f.verdict == AUDIT_WITHIN && f.step == 20 && f.largest == 0.09375, "0.75 of 8 is within an eighth");
    f = compared(run_of("3.75", "1", 4, "ab"), tolerance);
    ok(f.verdict == AUDIT_DIFFERS && f.step == 20 && f.largest == 0.15625, "1.25 of 8 is not");
    f = compared(run_of("2.5", "1", 4, "ab"), tolerance);
    ok(f.verdict == AUDIT_WITHIN, "parameters may be others with a tolerance");
    cJSON_Delete(tolerance);
}

/* ---- results ---- */

/* The differences between two results, a list of paths "A B". */
static void compare_texts(char out[400], struct audit_tree how, const char *then, const char *now) {
    cJSON *was = cJSON_Parse(then), *is = cJSON_Parse(now);
    const cJSON *item;
    size_t n = 0;
    *out = '\0';
    ok(was && is, "two documents");
    audit_tree_compare(&how, "", was, is);
    cJSON_ArrayForEach(item, how.differences) n +=
        (size_t)snprintf(out + n, 400 - n, "%s%s", n > 0 ? " " : "", sg_json_string(item, "path", "?"));
    cJSON_ArrayForEach(item, how.notes) n +=
        (size_t)snprintf(out + n, 400 - n, "%snote:%s", n > 0 ? " " : "", item->valuestring);
    audit_tree_free(&how);
    cJSON_Delete(was);
    cJSON_Delete(is);
}

static void test_trees(void) {
    static const char tolerance_text[] = "{\"loss\":0.125,\"other\":0}";
    cJSON *tolerance = cJSON_Parse(tolerance_text);
    const struct audit_tree exact = {.source = AUDIT_CELLS}, older = {.source = AUDIT_CELLS, .other_program = true},
                            near = {.source = AUDIT_NEAR, .tolerance = tolerance};
    static const struct {
        const char *then, *now, *exact, *older;
    } table[] = {
        {"{\"a\":[1,{\"b\":null}]}", "{\"a\":[1,{\"b\":null}]}", "", ""},
        {"{\"a\":[1,{\"b\":2}]}", "{\"a\":[1,{\"b\":null}]}", "a[1].b", "a[1].b"},
        {"{\"a\":0}", "{\"a\":-0.0}", "a", "a"},
        {"{\"a\":1,\"more\":1}", "{\"a\":1}", "more", "more"},
        {"{\"a\":[1]}", "{\"a\":[1,2]}", "a", "a"},
        {"{\"run\":1,\"host\":{\"name\":2}}", "{\"run\":2,\"host\":{}}", "", ""},
        {"{\"hosts\":1}", "{\"hosts\":2}", "hosts", "hosts"},
        {"{\"results\":[{\"label\":\"A\"}]}", "{\"results\":[{\"label\":\"B\"}]}", "results[0] results.B",
         "results[0] results.B"},
        {"{\"results\":[{\"label\":\"A\",\"x\":1},{\"label\":\"B\",\"x\":2}]}",
         "{\"results\":[{\"label\":\"B\",\"x\":2},{\"label\":\"A\",\"x\":1}]}", "results[0] results[1]",
         "results[0] results[1]"},
        {"{\"results\":[{\"label\":\"A\",\"cells\":[{\"file\":1,\"seed\":1}]}]}",
         "{\"results\":[{\"label\":\"A\",\"cells\":[{\"file\":2,\"seed\":2}]}]}", "results[0].cells[0].seed",
         "results[0].cells[0].seed"},
        /* A key that programs have added may be missing in all of a result, and only if another one wrote it. */
        {"{\"plots\":[{\"x\":1},{\"x\":2}]}", "{\"plots\":[{\"x\":1,\"band\":3},{\"x\":2,\"band\":3}]}",
         "plots[0].band plots[1].band", "note:plots[].band"},
        {"{\"plots\":[{\"x\":1},{\"x\":2,\"band\":3}]}", "{\"plots\":[{\"x\":1,\"band\":3},{\"x\":2,\"band\":3}]}",
         "plots[0].band", "plots[].band note:plots[].band"},
        {"{}", "{\"claims\":[]}", "claims", "claims"},
    };
    char found[400];
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        compare_texts(found, exact, table[i].then, table[i].now);
        ok(strcmp(found, table[i].exact) == 0, "%s and %s differ at '%s'", table[i].then, table[i].now, found);
        compare_texts(found, older, table[i].then, table[i].now);
        ok(strcmp(found, table[i].older) == 0, "of another program at '%s'", found);
    }
    static const char then[] = "{\"results\":[{\"label\":\"A\",\"final\":{\"loss\":{\"mean\":8,\"n\":2,"
                               "\"values\":[8,8]},\"bits\":{\"mean\":8}}}]}";
    static const char now[] = "{\"results\":[{\"label\":\"A\",\"final\":{\"loss\":{\"mean\":8.5,\"n\":3,"
                              "\"values\":[9,9.5]},\"bits\":{\"mean\":8.5}}}]}";
    compare_texts(found, near, then, now);
    ok(strcmp(found, "results[0].final.loss.n results[0].final.loss.values[1] results[0].final.bits.mean") == 0,
       "a tolerance is that of a column, and no number of runs has one: '%s'", found);
    cJSON_Delete(tolerance);
}

int main(void) {
    test_runs();
    test_trees();
    return tap_done();
}

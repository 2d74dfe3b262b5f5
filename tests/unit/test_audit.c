/* Audits: numbers compared with what they were. */
#include "tap.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "audit_compare.h"
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
    ok(f.verdict == AUDIT_DIFFERS && f.step == 20 && f.layer == 0 && strcmp(f.column, "error_norm") == 0 &&
           f.then == 2.5 && f.now > 2.5,
       "the last bit of a record differs at step 20");
    f = compared(run_of("2.6", "1.5", 4, "ab"), NULL);
    ok(f.verdict == AUDIT_DIFFERS && f.step == 20 && f.layer == 2 && f.then == 1 && f.now == 1.5, "of layer 2");
    f = compared(run_of("null", "1", 4, "aa"), NULL);
    ok(f.verdict == AUDIT_DIFFERS && isnan(f.now), "a null is no number");
    f = compared(run_of("2.5", "1", 3, "aa"), NULL);
    ok(f.verdict == AUDIT_DIFFERS && strcmp(f.column, "records") == 0 && f.then == 4 && f.now == 3, "a record less");
    f = compared(run_of("2.5", "1", 4, "ab"), NULL);
    ok(f.verdict == AUDIT_DIFFERS && strcmp(f.column, "parameters_sha256") == 0, "other parameters at the end");
    f = compared(run_of("3.25", "1", 4, "ab"), tolerance);
    ok(f.verdict == AUDIT_WITHIN && f.step == 20 && f.largest == 0.09375, "0.75 of 8 is within an eighth");
    f = compared(run_of("3.75", "1", 4, "ab"), tolerance);
    ok(f.verdict == AUDIT_DIFFERS && f.step == 20 && f.largest == 0.15625, "1.25 of 8 is not");
    f = compared(run_of("2.5", "1", 4, "ab"), tolerance);
    ok(f.verdict == AUDIT_WITHIN, "parameters may be others with a tolerance");
    cJSON_Delete(tolerance);
}

/* ---- labels ---- */

static bool every(const void *arg, const char *column) {
    (void)arg, (void)column;
    return true;
}

/* Compares what a result says of two seeds, with `from` in its text replaced by `to`, with their runs. */
static void compare_edited(struct audit_found found[2], const char *from, const char *to) {
    struct sg_run run[2] = {run_of("2.5", "1", 4, "aa"), run_of("3.5", "1", 4, "aa")};
    const struct sg_frame_seed seed[2] = {{"ok", &run[0]}, {"ok", &run[1]}};
    struct sg_frame now = {.n_labels = 1, .label = calloc(1, sizeof *now.label)}, then = {0};
    struct sg_error err;
    *now.label = (struct sg_frame_label){.label = "A", .n_seeds = 2, .seed = seed};
    ok(sg_frame_fill(now.label, 0, every, NULL), "a label is filled");
    cJSON *result = cJSON_Parse("{\"label\":\"A\",\"seeds\":[\"1\",\"2\"]}"), *results = cJSON_CreateArray(), *read;
    sg_frame_put(result, now.label);
    cJSON_AddItemToArray(results, result);
    char *text = cJSON_PrintUnformatted(results), *place = strstr(text, from);
    ok(place && strlen(from) == strlen(to), "'%s' is there", from);
    memcpy(place, to, strlen(to));
    read = cJSON_Parse(text);
    ok(sg_frame_read(&then, read, "test", &err) == SG_OK, "and read back");
    audit_compare_labels(found, NULL, &then.label[0], now.label);
    sg_frame_free(&then);
    sg_frame_free(&now);
    for (size_t i = 0; i < 2; i++)
        sg_run_free(&run[i]);
    cJSON_Delete(results);
    cJSON_Delete(read);
    free(text);
}

static void test_labels(void) {
    struct audit_found f[2];
    compare_edited(f, "\"label\"", "\"label\"");
    ok(f[0].verdict == AUDIT_SAME && f[1].verdict == AUDIT_SAME, "a result has the same bits as its runs");
    compare_edited(f, "[8,8,3,8]", "[8,8,4,8]"); /* the mean of 2.5 and 3.5 */
    ok(f[0].verdict == AUDIT_DIFFERS && f[1].verdict == AUDIT_DIFFERS && f[1].step == 20 && f[1].then == 4 &&
           f[1].now == 3 && strcmp(f[1].statistic, "mean") == 0,
       "a mean differs at step 20");
    compare_edited(f, "\"n\":[2,2,2,2]", "\"n\":[2,2,1,2]");
    ok(f[0].verdict == AUDIT_DIFFERS && strcmp(f[0].statistic, "number") == 0, "a number of runs differs");
    compare_edited(f, "\"values\":[8,8]", "\"values\":[8,9]");
    ok(f[0].verdict == AUDIT_SAME && f[1].verdict == AUDIT_DIFFERS && isnan(f[1].step) && f[1].then == 9,
       "a final value differs, and its seed is known");
}

int main(void) {
    test_runs();
    test_labels();
    return tap_done();
}

/* Messages that are made range by range of layers (sg_method_send_range): joined, they are the message of all layers,
 * with the same residual; the part of a range is that of a model which has these layers only. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "method_case.h"
#include "sg_rng.h"
#include "sg_row.h"
#include "tap.h"

enum { LAYERS = 6, D = 5003, STEPS = 4, WORKERS = 3, RANGES = 4 };
static const size_t offset[LAYERS + 1] = {0, 7, 7, 1200, 1201, 4303, D};
static const size_t range[RANGES + 1] = {0, 1, 3, 4, LAYERS}, order[RANGES] = {3, 1, 0, 2};
static const char *const name[LAYERS] = {"a", "b", "c", "d", "e", "f"};
static float g[D], e[2][D];
static struct sg_error err;

static struct sg_method_config config_of(const struct sg_compressor_ops *ops, const struct sg_feedback_rule *rule,
                                         const struct sg_code *code, bool in_ranges, size_t rooms) {
    static double param[SG_ROW_PARAMS];
    sg_compressor_example(ops, 0.05, 0.02, param);
    return (struct sg_method_config){.compressor = ops,
                                     .param = param,
                                     .feedback = {rule, 0.9, {0}},
                                     .code = code,
                                     .layout = {LAYERS, offset, name, NULL},
                                     .seed = 3,
                                     .steps = STEPS,
                                     .count = WORKERS,
                                     .rooms = rooms,
                                     .inputs = rooms == 0,
                                     .range = in_ranges ? range : NULL,
                                     .ranges = in_ranges ? RANGES : 0};
}

static bool same_message(const struct sg_message *a, const struct sg_message *b) {
    return a->code == b->code && a->n == b->n && a->count == b->count && a->bytes == b->bytes && a->bits == b->bits &&
           a->known == b->known && (a->index != NULL) == (b->index != NULL) &&
           (a->index == NULL || memcmp(a->index, b->index, a->count * sizeof *a->index) == 0) &&
           memcmp(a->data, b->data, a->bytes) == 0 &&
           memcmp(a->layer_count, b->layer_count, LAYERS * sizeof *a->layer_count) == 0;
}

/* Makes the parts of a worker's message; *sum [D] gets what they say. */
static bool send_ranges(sg_method *m, size_t worker, float *residual, float *sum) {
    struct sg_message part;
    bool fine = true;
    memset(sum, 0, D * sizeof *sum);
    for (size_t i = 0; i < RANGES && fine; i++) {
        const size_t begin = offset[range[order[i]]], end = offset[range[order[i] + 1]];
        fine = sg_method_send_range(m, worker, order[i], g, residual, &part, &err) == SG_OK && part.n == end - begin;
        if (fine)
            sg_message_add(sum + begin, &part, 1, &(struct sg_exec){.threads = 1});
    }
    return fine;
}

/* Is worker 1's message of every step the same in one and in parts? */
static bool is_joined(sg_method *whole, sg_method *parts, bool keeps, bool inputs) {
    static float of_parts[D], of_all[D];
    struct sg_message message[2];
    bool fine = true;
    memset(e, 0, sizeof e);
    for (uint64_t t = 0; t < STEPS && fine; t++) {
        sg_rng rng = sg_rng_open(7, SG_RNG_TEST, 0, t);
        for (size_t i = 0; i < D; i++)
            g[i] = (float)(sg_rng_normal(&rng) / 100);
        sg_method_begin(whole, t, 0.5, NULL);
        sg_method_begin(parts, t, 0.5, NULL);
        fine = sg_method_send(whole, 1, 0, g, keeps ? e[0] : NULL, NULL, &message[0], &err) == SG_OK &&
               sg_method_sends_ranges(parts) && send_ranges(parts, 1, keeps ? e[1] : NULL, of_parts) &&
               sg_method_send(parts, 1, 0, g, keeps ? e[1] : NULL, NULL, &message[1], &err) == SG_OK &&
               same_message(&message[0], &message[1]) && memcmp(e[0], e[1], sizeof *e) == 0 &&
               sg_method_note(whole, 1) == sg_method_note(parts, 1);
        memset(of_all, 0, sizeof of_all);
        if (fine)
            sg_message_add(of_all, &message[1], 1, &(struct sg_exec){.threads = 1});
        fine = fine && memcmp(of_all, of_parts, sizeof of_all) == 0 &&
               (!inputs || memcmp(sg_method_input(whole, 1), sg_method_input(parts, 1), sizeof of_all) == 0);
    }
    return fine;
}

static void test_compressor(const struct sg_compressor_ops *ops, size_t *joined) {
    const struct sg_feedback_rule *const rules[] = {&sg_feedback_update, &sg_feedback_gradient, &sg_feedback_none};
    const struct sg_code *const codes[] = {NULL, &sg_code_fp16, &sg_code_bf16};
    for (size_t i = 0; i < 18; i++) {
        const struct sg_feedback_rule *rule = rules[i % 3];
        const struct sg_code *code = codes[i / 3 % 3];
        const size_t rooms = i / 9; /* one for all workers, or one for each */
        const struct sg_method_config config = config_of(ops, rule, code, true, rooms);
        const char *reason = sg_method_whole_reason(&config);
        sg_method *whole = open_method(config_of(ops, rule, code, false, rooms), &err),
                  *parts = open_method(config, &err);
        if (whole != NULL && parts != NULL && reason == NULL) {
            ok(is_joined(whole, parts, rule->keeps && !sg_method_is_exact(whole), rooms == 0), "%s, %s, %s: in ranges",
               ops->name, rule->name, code != NULL ? code->name : "fp32");
            ++*joined;
        } else if (whole != NULL && parts != NULL) {
            sg_method_begin(parts, 0, 1, NULL);
            ok(!sg_method_sends_ranges(parts), "%s: %s", ops->name, reason);
            i = 18;
        }
        sg_method_close(whole);
        sg_method_close(parts);
    }
}

/* What goes by the whole model says so, or sends all layers at once at the steps that need it. */
static void test_whole(void) {
    static const struct {
        const char *text;
        bool reason;
    } methods[] = {{"topk k=3; error-feedback=momentum", true},
                   {"topk k=3; error-feedback=cser", true},
                   {"ok-topk k=3", true},
                   {"qsgd; error-feedback=none", true},
                   {"randomk k=3", true},
                   {"accordion k-min=1 k-max=4", true},
                   {"hard-threshold; controller=budget total=0.1", true},
                   {"hard-threshold; controller=budget total=0.1 bits=1", false},
                   {"hard-threshold lambda=1e9; error-feedback=none", false}};
    double room[SG_TEXT_NUMBERS];
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        struct sg_method_config config = {
            .layout = {LAYERS, offset, name, NULL}, .steps = STEPS, .range = range, .ranges = RANGES};
        sg_method *m =
            sg_method_read_text(&config, room, methods[i].text, &err) == SG_OK ? open_method(config, NULL) : NULL;
        const char *reason = m != NULL ? sg_method_whole_reason(&config) : NULL;
        ok(m != NULL && (reason != NULL) == methods[i].reason, "%s: %s", methods[i].text,
           reason != NULL ? reason : "in ranges");
        sg_method_close(m);
    }
}

/* Messages in a code of a plug-in are checked against all layers, so they are made of these at once. */
static void test_added(void) {
    static struct sg_code mine;
    mine = sg_code_fp16;
    mine.name = "mine";
    mine.number = SG_CODE_ADDED_FIRST;
    ok(sg_code_add(&mine, &err) == SG_OK, "a code with a width is added");
    const struct sg_method_config config = config_of(sg_compressor_find("topk"), &sg_feedback_gradient, &mine, true, 1);
    sg_method *m = open_method(config, &err);
    const char *reason = sg_method_whole_reason(&config);
    ok(reason != NULL && strstr(reason, "plug-in"), "%s", reason != NULL ? reason : "in ranges");
    sg_method_begin(m, 0, 1, NULL);
    ok(!sg_method_sends_ranges(m), "a method with an added code sends all layers at once");
    sg_method_close(m);
}

/* An element that is not finite is reported with the number that its layer has in the model. */
static void test_nonfinite(void) {
    struct sg_message part;
    sg_method *m = open_method(config_of(sg_compressor_find("topk"), &sg_feedback_gradient, NULL, true, 1), &err);
    memset(g, 0, sizeof g);
    g[4400] = NAN;
    sg_method_begin(m, 2, 1, NULL);
    ok(sg_method_send_range(m, 2, 3, g, e[0], &part, &err) == SG_ERR_NONFINITE && strstr(err.msg, "layer 5 f"), "%s",
       err.msg);
    sg_method_close(m);
}

int main(void) {
    const struct sg_compressor_ops *ops;
    size_t joined = 0;
    for (size_t i = 0; (ops = sg_compressor_at(i)) != NULL; i++)
        test_compressor(ops, &joined);
    ok(joined >= 60, "%zu cases were joined", joined);
    test_whole();
    test_added();
    test_nonfinite();
    return tap_done();
}

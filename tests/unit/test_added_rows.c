/* Rows that are added to the tables of compressors, codes and feedback rules: found by name, number and place, run, and
 * travelling as bytes; and what is refused, with what the message says. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sg_verify.h"
#include "sg_wire.h"
#include "tap.h"

static struct sg_error err;

static size_t compressors(void) {
    size_t n = 0;
    while (sg_compressor_at(n) != NULL)
        n++;
    return n;
}

static void refused(sg_status status, const char *words) {
    ok(status == SG_ERR_ARGUMENT && strstr(err.msg, words) != NULL, "refused: %s", err.msg);
}

static void test_compressors(void) {
    static struct sg_compressor_ops mine;
    static struct sg_rounds rounds = {.count = 2};
    const size_t before = compressors();
    const struct sg_compressor_ops right = *sg_compressor_find("topk");
    const struct sg_parameter twice[] = {right.params[0], right.params[0]};
    const struct sg_parameter preset = {"k", 1, 10, 11, true, "help"}, blank = {"my k", 0, 2, 0, true, "help"},
                              silent = {.name = "k", .max = 1};
    mine = right;
    refused(sg_compressor_add(&mine, &err), "there is a compressor 'topk' already");
    mine.name = "my topk";
    refused(sg_compressor_add(&mine, &err), "'my topk' is no name of a compressor");
    mine.name = NULL;
    refused(sg_compressor_add(&mine, &err), "'' is no name");
    mine.name = "mine";
    mine.also = "none";
    refused(sg_compressor_add(&mine, &err), "there is a compressor 'none' already");
    mine.also = "N O";
    refused(sg_compressor_add(&mine, &err), "no other spelling");
    mine.also = "my-other-topk";
    mine.select = NULL;
    refused(sg_compressor_add(&mine, &err), "exactly one of select, code and encode");
    mine.select = right.select;
    mine.code = &sg_code_fp32;
    refused(sg_compressor_add(&mine, &err), "exactly one of select, code and encode");
    mine.select = NULL;
    mine.code = &sg_code_levels;
    refused(sg_compressor_add(&mine, &err), "parameters of its code");
    mine.select = right.select;
    mine.code = NULL;
    mine.summary = NULL;
    refused(sg_compressor_add(&mine, &err), "has no summary");
    mine.summary = right.summary;
    mine.source = NULL;
    refused(sg_compressor_add(&mine, &err), "has no source");
    mine.source = right.source;
    mine.n_params = 17;
    refused(sg_compressor_add(&mine, &err), "17 parameters");
    mine.n_params = 2;
    mine.params = twice;
    refused(sg_compressor_add(&mine, &err), "two parameters 'k'");
    mine.n_params = 1;
    mine.params = &preset;
    refused(sg_compressor_add(&mine, &err), "between 1 and 10, and 11");
    mine.params = &blank;
    refused(sg_compressor_add(&mine, &err), "no name of a parameter");
    mine.params = &silent;
    refused(sg_compressor_add(&mine, &err), "has no help");
    mine.params = NULL;
    refused(sg_compressor_add(&mine, &err), "has 0 parameters");
    mine.n_params = 0;
    refused(sg_compressor_add(&mine, &err), "a knob that is none of its parameters");
    mine.params = right.params;
    mine.n_params = right.n_params;
    mine.rounds = &rounds;
    refused(sg_compressor_add(&mine, &err), "without 'combine'");
    mine.rounds = NULL;
    ok(compressors() == before, "what is refused is in no table");
    ok(sg_compressor_add(&mine, &err) == SG_OK && compressors() == before + 1 && sg_compressor_at(before) == &mine &&
           sg_compressor_find("mine") == &mine && sg_compressor_find("my-other-topk") == &mine,
       "a compressor that is added stands last, and is found by its names");
    refused(sg_compressor_add(&mine, &err), "there is a compressor 'mine' already");
}

static void test_codes(void) {
    static struct sg_code mine;
    mine = sg_code_fp16;
    mine.name = "mine";
    refused(sg_code_add(&mine, &err), "its number 1 is taken: choose another from 192 to 254");
    mine.number = 191;
    refused(sg_code_add(&mine, &err), "out of range");
    mine.number = 254;
    mine.valid = NULL;
    refused(sg_code_add(&mine, &err), "lacks the function 'valid'");
    mine.valid = sg_code_fp16.valid;
    mine.name = "fp16";
    refused(sg_code_add(&mine, &err), "there is a code 'fp16' already");
    mine.name = "mine";
    ok(sg_code_add(&mine, &err) == SG_OK && sg_code_of(254) == &mine && sg_code_find("mine") == &mine,
       "a code that is added is found by its number and its name");

    static const size_t offset[] = {0, 5};
    const float g[5] = {1, -2, 3, -4, 5};
    double param[2] = {2, NAN};
    uint8_t room[256];
    _Alignas(float) char copy[256];
    struct sg_message m, back;
    struct sg_wire_plan plan;
    struct sg_wire_header header;
    sg_method *method;
    const struct sg_method_config config = {.size = sizeof(struct sg_method_config),
                                            .compressor = sg_compressor_find("mine"),
                                            .param = param,
                                            .layout = {1, offset, NULL, NULL},
                                            .code = &mine,
                                            .feedback = {&sg_feedback_none, 1, {0}},
                                            .count = 1,
                                            .exec = {.threads = 1}};
    uint32_t index[5];
    const bool fine = sg_method_open(&method, &config, &err) == SG_OK &&
                      sg_verify_send(method, (struct sg_verify_at){0, 1, 0, NULL}, g, NULL, &m, &err) == SG_OK &&
                      sg_wire_plan(&plan, NULL, &m, &err) == SG_OK &&
                      sg_wire_encode(room, sizeof room, &plan, &err) == SG_OK &&
                      sg_wire_peek(&header, room, plan.bytes, &err) == SG_OK &&
                      sg_wire_decode(&back, index, copy, &header, room, &err) == SG_OK;
    ok(fine && back.code == &mine && back.count == 2 && back.index[0] == 3, "its messages travel as bytes");
    sg_method_close(method);
}

static void test_rules(void) {
    static struct sg_feedback_rule mine;
    mine = sg_feedback_gradient;
    refused(sg_feedback_add(&mine, &err), "there is a feedback rule 'gradient' already");
    mine.name = "mine";
    mine.worker_vectors = 4;
    refused(sg_feedback_add(&mine, &err), "declares too much");
    mine.worker_vectors = 0;
    ok(sg_feedback_add(&mine, &err) == SG_OK && sg_feedback_find("mine") == &mine, "a rule that is added is found");
}

int main(void) {
    test_compressors();
    test_codes();
    test_rules();
    return tap_done();
}

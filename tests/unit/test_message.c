/* Messages: the table of codes, what `valid` refuses, and the one decoder: any weight, any threads, any mixture. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "message_values.h"
#include "sg_half.h"
#include "sg_rng.h"
#include "tap.h"

enum { NATURAL_8 = 33 }; /* the number of a code of the zoo, which has no numbers that are not finite */
enum { N = 50000, WORKERS = 5 };

static uint32_t index_of[WORKERS][N];
static float value_of[WORKERS][N], data_of[WORKERS][N], sent_of[WORKERS][N];

/* Worker w's message: all elements, or about every third; its numbers in the code. */
static struct sg_message draw(const struct sg_code *code, bool dense, size_t w) {
    sg_rng r = sg_rng_open(5, SG_RNG_TEST, (uint32_t)w, dense);
    size_t count = 0;
    for (size_t i = 0; i < N; i++)
        if (dense || sg_rng_below(&r, 3) == 0) {
            index_of[w][count] = (uint32_t)i;
            value_of[w][count++] = (float)sg_rng_normal(&r);
        }
    double param[8] = {0}, bits;
    for (size_t i = 0; i < code->n_params; i++)
        param[i] = code->params[i].preset;
    const size_t part[] = {count / 3, 0, count - count / 3};
    const struct sg_numbers numbers = {.value = value_of[w],
                                       .count = count,
                                       .part = part,
                                       .parts = 3,
                                       .param = param,
                                       .kernels = sg_kernels_cpu(NULL),
                                       .threads = 1};
    struct sg_message m = {
        .code = code, .n = N, .count = count, .index = dense ? NULL : index_of[w], .data = data_of[w]};
    m.bytes = code->encode(data_of[w], &numbers, &bits);
    code->decode(sent_of[w], &m, 0, count);
    return m;
}

/* What is read back of a number that was written as a float. */
static float sent(const struct sg_code *code, float x) {
    const uint32_t bits = sg_float_bits(x), nearest = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
    return code == &sg_code_fp16 ? sg_half_value(sg_half_of(x)) : code == &sg_code_bf16 ? sg_float_of_bits(nearest) : x;
}

static void test_codes(void) {
    for (size_t i = 0; sg_code_at(i); i++) {
        const struct sg_code *code = sg_code_at(i);
        ok(sg_code_of(code->number) == code && sg_code_find(code->name) == code, "%s is found by number and name",
           code->name);
        struct sg_message m = draw(code, true, 0);
        float out[10];
        code->decode(out, &m, 777, 10);
        bool right = code->valid(&m);
        for (size_t j = 0; j < 10; j++)
            right &= out[j] == (code->width > 0 ? sent(code, value_of[0][777 + j]) : sent_of[0][777 + j]);
        ok(right, "%s is decoded from any number on", code->name);
        m.bytes--;
        ok(!code->valid(&m), "%s: bytes that are too few", code->name);
        m.bytes++;
        memset((char *)data_of[0] + (code->width > 0 ? code->width * 1000 : 32), 0xff, 4);
        bool finite = true;
        for (size_t at = 0; at < N && code->valid(&m); at += 10) {
            code->decode(out, &m, at, 10);
            for (size_t j = 0; j < 10; j++)
                finite &= isfinite(out[j]) != 0;
        }
        ok(finite && (!code->valid(&m) || code->number == NATURAL_8), "%s: a number that is not finite", code->name);
    }
    ok(!sg_code_find("fp64") && !sg_code_of(255), "no other codes");
}

/* Bytes cut off are refused. One bit wrong is refused, or gives finite numbers. The bytes lie in blocks of their own,
 * so that sanitizers see one too many. */
static void test_damage(const struct sg_code *code) {
    enum { FEW = 60 };
    float out[FEW];
    double param[8] = {0}, bits;
    for (size_t i = 0; i < code->n_params; i++)
        param[i] = code->params[i].preset;
    const size_t part[] = {FEW / 3, 0, FEW - FEW / 3};
    const struct sg_numbers numbers = {.value = value_of[0],
                                       .count = FEW,
                                       .part = part,
                                       .parts = 3,
                                       .param = param,
                                       .kernels = sg_kernels_cpu(NULL),
                                       .threads = 1};
    struct sg_message m = {.code = code, .n = FEW, .count = FEW};
    uint8_t *whole = malloc(code->most_bytes(&numbers));
    const size_t size = code->encode(whole, &numbers, &bits);
    size_t accepted = 0;
    bool finite = true;
    for (size_t i = 0; i < 9 * size; i++) {
        m.bytes = i < size ? i : size;
        uint8_t *bytes = malloc(m.bytes + 1);
        memcpy(bytes, whole, m.bytes);
        if (i >= size)
            bytes[(i - size) / 8] ^= (uint8_t)(1U << (i - size) % 8);
        uint8_t *exact = realloc(bytes, m.bytes + !m.bytes);
        m.data = exact;
        if (code->valid(&m)) {
            accepted += i < size;
            code->decode(out, &m, 0, FEW);
            for (size_t j = 0; j < FEW; j++)
                finite &= isfinite(out[j]) != 0;
        }
        free(exact);
    }
    ok(finite && accepted == 0, "%s: cut off bytes and wrong bits do no harm", code->name);
    free(whole);
}

/* A message is cut at several places, also within buckets and next to layers' ends. Each slice is valid, says the same
 * numbers, and lies in a block of its own; all together are as short as promised. */
static void test_cut(const struct sg_code *code) {
    static const size_t at[] = {0, 8, 16, 520, 1024, N / 3 / 8 * 8, N / 3 / 8 * 8 + 8, 40000, N};
    enum { SLICES = sizeof at / sizeof *at - 1 };
    const struct sg_message m = draw(code, true, 2);
    static float out[N];
    size_t bytes = 0;
    bool right = true;
    for (size_t i = 0; i < SLICES; i++) {
        const size_t count = at[i + 1] - at[i];
        struct sg_message slice = {.code = code, .n = count, .count = count};
        uint8_t *room = malloc(m.bytes + SG_CUT_MORE);
        slice.bytes = code->cut(room, &m, at[i], count);
        bytes += slice.bytes;
        slice.data = room = realloc(room, slice.bytes);
        right &= code->valid(&slice);
        code->decode(out, &slice, 0, count);
        right &= memcmp(out, sent_of[2] + at[i], count * sizeof *out) == 0;
        free(room);
    }
    uint8_t none[SG_CUT_MORE];
    const struct sg_message nothing = {.code = code, .data = none, .bytes = code->cut(none, &m, 16, 0)};
    ok(right && bytes <= m.bytes + SLICES * SG_CUT_MORE && code->valid(&nothing), "%s: slices", code->name);
}

static void test_add(const struct sg_code *code, bool dense) {
    static float one[N], many[N];
    const struct sg_message m = draw(code, dense, 1);
    bool right = true;
    for (int threads = 1; threads <= 4; threads++) {
        for (size_t i = 0; i < N; i++)
            one[i] = many[i] = (float)i / 7;
        for (size_t j = 0; j < m.count; j++)
            one[index_of[1][j]] += -0.5F * sent_of[1][j];
        sg_message_add(many, &m, -0.5F, &(struct sg_exec){.threads = threads});
        right &= memcmp(one, many, sizeof one) == 0;
    }
    ok(right, "%s, %s: weight -0.5, the same bits for 1 to 4 threads", code->name, dense ? "all elements" : "some");
}

/* Sums that depend on the order, of messages that are not all alike. */
static void test_add_all(void) {
    static float one[N], many[N];
    struct sg_message m[WORKERS];
    bool right = true;
    for (size_t w = 0; w < WORKERS; w++)
        m[w] = draw(w % 2 || w == 4 ? &sg_code_fp32 : w == 0 ? &sg_code_levels : &sg_code_fp16, w == 3, w);
    memset(one, 0, sizeof one);
    for (size_t w = 0; w < WORKERS; w++)
        for (size_t j = 0; j < m[w].count; j++)
            one[index_of[w][j]] += sent_of[w][j];
    for (int threads = 1; threads <= 4; threads++) {
        memset(many, 0, sizeof many);
        sg_message_add_all(many, N, m, WORKERS, sg_kernels_cpu(NULL), &(struct sg_exec){.threads = threads});
        right &= memcmp(one, many, sizeof one) == 0;
    }
    ok(right, "messages of several codes, in worker order, the same bits for 1 to 4 threads");
}

static void test_values(void) {
    static float room[N];
    const struct sg_kernels *kernels = sg_kernels_cpu(NULL);
    const struct sg_exec exec = {.threads = 1};
    const struct sg_message floats = draw(&sg_code_fp32, false, 0), halves = draw(&sg_code_fp16, false, 1);
    ok(sg_message_values(&floats, NULL, kernels, &exec) == values_of(&floats), "floats are their own values");
    const float *values = sg_message_values(&halves, room, kernels, &exec);
    bool right = values == room;
    for (size_t j = 0; j < halves.count; j++)
        right &= values[j] == sent(&sg_code_fp16, value_of[1][j]);
    ok(right, "halves are decoded into the room");
    const struct sg_message nothing = {.code = &sg_code_fp32, .n = N};
    float zero[1] = {3};
    sg_message_add(zero, &(struct sg_message){.code = &sg_code_fp16, .n = 0}, 1, &exec);
    sg_message_add_all(zero, N, &nothing, 0, kernels, &exec);
    ok(zero[0] == 3, "no messages, and one of nothing");
    static float sum[N];
    const struct sg_message empty = {.code = &sg_code_fp16, .n = N, .data = room};
    for (size_t i = 0; i < N; i++)
        room[i] = 1;
    sg_message_add_all(sum, N, &empty, 1, kernels, &exec);
    right = true;
    for (size_t i = 0; i < N; i++)
        right &= sum[i] == 0;
    ok(right, "an empty message without positions stands for zeros");
}

int main(void) {
    test_codes();
    for (size_t i = 0; sg_code_at(i); i++) {
        test_add(sg_code_at(i), false);
        test_add(sg_code_at(i), true);
        test_damage(sg_code_at(i));
        if (sg_code_at(i)->cut != NULL)
            test_cut(sg_code_at(i));
    }
    test_add_all();
    test_values();
    return tap_done();
}

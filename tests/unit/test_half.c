/* Halves against the definition of the format, and what rounding a message leaves in the residual. */
/* SPDX-License-Identifier: MIT */
#include "method_case.h"
#include "tap.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sg_half.h"
#include "sg_rng.h"

enum { FINITE = 0x7c00, N = 4000, K = 100, STEPS = 5 }; /* halves 0..FINITE-1 are the finite ones of positive sign */

/* By the definition: sign, 5 bits of exponent with bias 15, 10 bits of fraction. */
static double defined_value(unsigned half) {
    const int exponent = half >> 10 & 31, fraction = half & 1023;
    const double magnitude = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return half & 0x8000 ? -magnitude : magnitude;
}

static bool same_bits(float a, float b) {
    return sg_float_bits(a) == sg_float_bits(b);
}

static bool all_patterns(void) {
    bool right = true;
    for (unsigned h = 0; h < 65536; h++) {
        if ((h & 0x7c00) == 0x7c00)
            continue;
        const float x = sg_half_value((uint16_t)h);
        right &= same_bits(x, (float)defined_value(h)) && sg_half_of(x) == h;
    }
    return right;
}

/* Between every two neighbours: the middle goes to the even one, anything nearer to the nearer one. */
static bool neighbours(void) {
    bool right = true;
    for (unsigned h = 0; h + 1 < FINITE; h++)
        for (unsigned sign = 0; sign <= 0x8000; sign += 0x8000) {
            const float middle = (float)((defined_value(h | sign) + defined_value((h + 1) | sign)) / 2);
            right &= sg_half_of(middle) == ((h & 1 ? h + 1 : h) | sign);
            right &= sg_half_of(nextafterf(middle, 0)) == (h | sign);
            right &= sg_half_of(nextafterf(middle, sign ? -INFINITY : INFINITY)) == ((h + 1) | sign);
        }
    return right;
}

/* Any float: no half is nearer. */
static bool nearest(sg_rng *r) {
    for (int i = 0; i < 200000; i++) {
        const float x = ldexpf((float)(sg_rng_uniform(r) * 2 - 1), (int)sg_rng_below(r, 48) - 31);
        const unsigned h = sg_half_of(x), magnitude = h & 0x7fff;
        const double miss = fabs(x - defined_value(h));
        if (magnitude >= FINITE || (magnitude > 0 && fabs(x - defined_value(h - 1)) < miss) ||
            (magnitude + 1 < FINITE && fabs(x - defined_value(h + 1)) < miss)) {
            printf("# %a gives %#x\n", x, h);
            return false;
        }
    }
    return true;
}

/* value [count] <- the halves that its numbers become in a message. If e is not NULL, it gets what they lose. */
static void round_trip(float *value, const uint32_t *index, size_t count, float *e) {
    const struct sg_exec exec = {.threads = 1};
    uint16_t half[4];
    double bits;
    const struct sg_message m = {
        .code = &sg_code_fp16, .n = 8, .count = count, .index = index, .data = half, .bytes = 2 * count};
    sg_code_fp16.encode(half, &(struct sg_numbers){.value = value, .count = count}, &bits);
    if (e)
        sg_message_read(&(struct sg_sink){.kind = SG_SINK_DIFFERENCE, .to = e, .index = index, .value = value}, &m,
                        sg_kernels_cpu("c"), &exec);
    sg_code_fp16.decode(value, &m, 0, count);
}

static void test_round(void) {
    const float before[4] = {1.0003F, -3e-9F, 70000, -1e30F};
    const uint32_t index[4] = {1, 3, 4, 7};
    float value[4], e[8] = {0};
    memcpy(value, before, sizeof value);
    round_trip(value, index, 4, e);
    ok(value[0] == 1 && e[1] == before[0] - 1 && value[1] == 0 && e[3] == before[1],
       "the error of rounding goes to its place in the residual, all of a value too small for a half");
    ok(value[2] == 65504 && e[4] == 70000 - 65504, "what saturation cuts off does too");
    ok(value[3] == -65504 && e[7] == -1e30F + 65504 && e[0] == 0 && e[2] == 0, "and nothing else changes");
    float dense[2] = {2049, -2051}, rest[2] = {0.25F, 0.5F}, lost = 1.0003F;
    round_trip(dense, NULL, 2, rest);
    ok(dense[0] == 2048 && rest[0] == 1.25F && dense[1] == -2052 && rest[1] == 1.5F, "dense: added, ties to even");
    round_trip(&lost, NULL, 1, NULL);
    ok(lost == 1, "without a residual the error is lost");
}

/* Halves of a process for a sum over several: no sum overflows, and half and loss are the number. */
static bool shares(sg_rng *r, size_t processes, bool upper) {
    static float x[N], lost[N], back[N];
    static uint16_t half[N];
    const float limit = upper ? sg_bf16_value(0x7f7f) : 65504, ways = (float)processes;
    bool right = true, full = false;
    for (size_t i = 0; i < N; i++) {
        x[i] = ldexpf((float)(sg_rng_uniform(r) * 2 - 1), (int)sg_rng_below(r, upper ? 220 : 48) - (upper ? 92 : 28));
        lost[i] = 1;
    }
    sg_halves_write(half, NULL, x, N, processes, upper); /* nobody asks for what is lost */
    sg_halves_write(half, lost, x, N, processes, upper);
    sg_halves_read(back, half, N, processes, upper);
    for (size_t i = 0; i < N; i++) {
        const float value = upper ? sg_bf16_value(half[i]) : sg_half_value(half[i]), share = x[i] / ways;
        const bool cut = fabsf(value) < fabsf(share) && fabsf(value) * (1 + 0x1p-7F) * ways > limit;
        right &= cut || half[i] == (upper ? sg_bf16_of(share) : sg_half_of(share));
        right &= same_bits(back[i], value * ways) && fabsf(back[i]) <= limit;
        right &= same_bits(lost[i], 1 + (x[i] - back[i]));
        full |= cut;
    }
    return right && (full || upper); /* the largest float is hardly above bf16's limit */
}

static void test_shares(sg_rng *r) {
    static const size_t processes[] = {1, 2, 3, 7, 64};
    for (size_t i = 0; i < sizeof processes / sizeof *processes; i++)
        ok(shares(r, processes[i], false) && shares(r, processes[i], true),
           "halves of one of %zu processes, whose sum is finite, and what they lose", processes[i]);
}

static sg_method *opened(const char *name, double parameter, const struct sg_code *code) {
    static const size_t offset[] = {0, N / 3, N};
    const double param[8] = {parameter, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    return open_method((struct sg_method_config){.compressor = sg_compressor_find(name),
                                                 .param = param,
                                                 .layout = {2, offset, NULL, NULL},
                                                 .feedback = {&sg_feedback_update, 1, {0}},
                                                 .code = code},
                       NULL);
}

/* One step from the same residual in both precisions: the same entries, and value + residual the same number. */
static bool same_but_rounded(sg_method *whole, sg_method *half, const float *g, float *e, uint64_t step) {
    static float full[N];
    struct sg_message exact, rounded;
    struct sg_error err;
    memcpy(full, e, sizeof full);
    if (sg_verify_send(whole, (struct sg_verify_at){0, 0.1, step, NULL}, g, full, &exact, &err) != SG_OK ||
        sg_verify_send(half, (struct sg_verify_at){0, 0.1, step, NULL}, g, e, &rounded, &err) != SG_OK ||
        exact.count != rounded.count)
        return false;
    const float *sent = sg_method_values(half, 0, &rounded), *p = sg_method_values(whole, 0, &exact);
    bool right = true;
    for (size_t j = 0; j < exact.count; j++) {
        const size_t i = exact.index ? exact.index[j] : j;
        right &= rounded.index == NULL || rounded.index[j] == exact.index[j];
        right &= same_bits(sent[j], sg_half_value(sg_half_of(p[j])));
        right &= sent[j] + e[i] == p[j];
        full[i] = e[i];
    }
    return right && memcmp(full, e, sizeof full) == 0;
}

static void test_compressors(sg_rng *r) {
    static const struct {
        const char *name;
        double parameter;
    } cases[] = {{"topk", K}, {"hard-threshold", 1.5}, {"randomk", K}, {"none", NAN}};
    static float g[N], e[N];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sg_method *whole = opened(cases[i].name, cases[i].parameter, &sg_code_fp32);
        sg_method *half = opened(cases[i].name, cases[i].parameter, &sg_code_fp16);
        bool right = whole != NULL && half != NULL;
        memset(e, 0, sizeof e);
        for (uint64_t step = 0; right && step < STEPS; step++) {
            for (size_t j = 0; j < N; j++)
                g[j] = (float)sg_rng_normal(r);
            right = same_but_rounded(whole, half, g, e, step);
        }
        ok(right, "%s in fp16 sends its fp32 entries rounded, and sent + kept is the same number", cases[i].name);
        sg_method_close(whole);
        sg_method_close(half);
    }
    sg_method *none = opened("none", NAN, &sg_code_fp16);
    struct sg_message m;
    struct sg_error err;
    ok(none && sg_verify_send(none, (struct sg_verify_at){0, 1, 0, NULL}, g, NULL, &m, &err) == SG_ERR_ARGUMENT,
       "an exact compressor in fp16 needs a residual");
    sg_method_close(none);
}

int main(void) {
    sg_rng r = sg_rng_open(16, SG_RNG_TEST, 0, 0);
    ok(all_patterns(), "every finite pattern has its defined value and comes back");
    ok(neighbours(), "rounding between all neighbours, ties to even");
    ok(nearest(&r), "random floats go to the nearest half");
    ok(sg_half_of(65519.996F) == 0x7bff && sg_half_of(65520) == 0x7bff && sg_half_of(FLT_MAX) == 0x7bff &&
           sg_half_of(-FLT_MAX) == 0xfbff,
       "what would round to infinity saturates");
    ok(sg_half_of(0.0F) == 0 && sg_half_of(-0.0F) == 0x8000 && sg_half_of(FLT_TRUE_MIN) == 0 &&
           sg_half_of(-0x1p-25F) == 0x8000,
       "zeros keep their sign");
    test_round();
    test_shares(&r);
    test_compressors(&r);
    return tap_done();
}

/* The code `levels` (QSGD): what is read back is one of the two levels around a number, right in the mean, with the
 * variance that the publication bounds; exact bits. And how the numbers of every code with levels travel in fewer
 * bits. */
/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_wire.h"
#include "sg_rng.h"
#include "tap.h"

enum { MOST = 1 << 16 };

static float value[MOST], out[MOST];

struct setting {
    double levels, bucket, max_norm;
};

static size_t write_into(void *data, size_t count, size_t cut, const struct setting *s, uint64_t step, double *bits) {
    const double param[] = {s->levels, s->bucket, s->max_norm, 0};
    const size_t part[] = {cut, 0, count - cut};
    const struct sg_numbers numbers = {.value = value,
                                       .count = count,
                                       .part = part,
                                       .parts = 3,
                                       .param = param,
                                       .seed = 1,
                                       .step = step,
                                       .worker = 2,
                                       .kernels = sg_kernels_cpu(NULL),
                                       .threads = 1};
    const size_t most = sg_code_levels.most_bytes(&numbers), bytes = sg_code_levels.encode(data, &numbers, bits);
    return bytes <= most ? bytes : 0;
}

static struct sg_message message_of(const void *data, size_t bytes, size_t count) {
    return (struct sg_message){.code = &sg_code_levels, .n = count, .count = count, .data = data, .bytes = bytes};
}

static void fill(int kind, size_t count) {
    sg_rng r = sg_rng_open(1, SG_RNG_TEST, 0, (uint64_t)kind);
    for (size_t i = 0; i < count; i++)
        value[i] = kind == 0   ? (float)sg_rng_normal(&r)
                   : kind == 1 ? 0
                   : kind == 2 ? (i == count / 2 ? -3.0F : 0)
                   : kind == 3 ? -0.25F
                   : kind == 4 ? ldexpf((float)sg_rng_normal(&r), -140) /* denormal */
                   : kind == 5 ? ldexpf(i % 2 ? -1.99F : 1.5F, 127)
                               : ldexpf((float)sg_rng_normal(&r), (int)(i % 60) - 30);
}

/* Norm of the bucket that number i of a part [count] is in, as published. */
static double norm_of(const float *part, size_t count, size_t i, const struct setting *s) {
    const size_t begin = i / (size_t)s->bucket * (size_t)s->bucket;
    double norm = 0;
    for (size_t j = begin; j < count && j < begin + (size_t)s->bucket; j++)
        norm = s->max_norm > 0 ? fmax(norm, fabs((double)part[j])) : norm + (double)part[j] * (double)part[j];
    return s->max_norm > 0 ? norm : sqrt(norm);
}

/* Every number is a neighbouring level. */
static void test_levels(int kind, const struct setting *s) {
    static const size_t counts[] = {1, 2, 7, 31, 512, 1000};
    bool right = true;
    double bits;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        const size_t count = counts[c], cut = count / 3;
        uint8_t *data = malloc(64 + 10 * count);
        fill(kind, count);
        const size_t bytes = write_into(data, count, cut, s, 5, &bits);
        const struct sg_message m = message_of(data, bytes, count);
        const double width = 1 + ceil(log2(s->levels + 1));
        const double buckets = ceil((double)cut / s->bucket) + ceil((double)(count - cut) / s->bucket);
        right &= bytes > 0 && sg_code_levels.valid(&m) && bits == 32 * buckets + width * (double)count;
        right &= 8.0 * (double)bytes - bits <= 8 * (8 + 24 + 8) + 7 * 3; /* parts, padding of each, the end */
        sg_code_levels.decode(out, &m, 0, count);
        for (size_t i = 0; i < count; i++) {
            const float *part = i < cut ? value : value + cut;
            const size_t at = i < cut ? i : i - cut, size = i < cut ? cut : count - cut;
            const double unit = norm_of(part, size, at, s) / s->levels;
            right &= isfinite(out[i]) && fabs((double)out[i] - (double)value[i]) <=
                                             unit * (1 + 1e-6) + DBL_MIN + (kind == 4 ? 0x1p-149 : 0);
            right &= out[i] == 0 || signbit(out[i]) == signbit(value[i]);
        }
        free(data);
    }
    ok(right, "kind %d, %g levels, buckets of %g, %s norm", kind, s->levels, s->bucket,
       s->max_norm > 0 ? "largest" : "Euclidean");
}

/* The mean over many draws within 5 standard deviations, and the variance within the bound. */
static void test_unbiased(const struct setting *s) {
    enum { N = 200, DRAWS = 4096 };
    static double sum[N];
    uint8_t data[64 + 10 * N];
    double square = 0, lost = 0, bits, worst = 0;
    fill(0, N);
    memset(sum, 0, sizeof sum);
    for (uint64_t t = 0; t < DRAWS; t++) {
        const size_t bytes = write_into(data, N, 0, s, t, &bits);
        const struct sg_message m = message_of(data, bytes, N);
        sg_code_levels.decode(out, &m, 0, N);
        for (size_t i = 0; i < N; i++) {
            sum[i] += (double)out[i] - (double)value[i];
            lost += ((double)out[i] - (double)value[i]) * ((double)out[i] - (double)value[i]) / DRAWS;
        }
    }
    for (size_t i = 0; i < N; i++) {
        const double unit = norm_of(value, N, i, s) / s->levels;
        worst = fmax(worst, fabs(sum[i]) / DRAWS / (unit / 2 / sqrt(DRAWS)));
        square += (double)value[i] * (double)value[i];
    }
    const double b = fmin(s->bucket, N), bound = fmin(b / (s->levels * s->levels), sqrt(b) / s->levels);
    ok(worst < 5 && lost / square <= bound && lost > 0,
       "%g levels, %s norm: unbiased (%.2f sigma), variance %.3g <= %.3g", s->levels,
       s->max_norm > 0 ? "largest" : "Euclidean", worst, lost / square, bound);
}

/* Bytes that are cut off or wrong are tried with every compressor and every code (lib/verify, test_message). */
static void test_refused(void) {
    enum { N = 100 };
    const struct setting s = {7, 16, 0};
    uint8_t whole[64 + 10 * N];
    double bits;
    fill(0, N);
    struct sg_message m = message_of(whole, write_into(whole, N, 40, &s, 1, &bits), N);
    const bool right = sg_code_levels.valid(&m);
    m.count = N - 1;
    ok(right && !sg_code_levels.valid(&m), "of another count: refused");
    m.count = N;
    const size_t first = 8 + 3 * 8 + 4 * 3; /* 7 levels are 4 bits: the numbers begin behind 3 heads and 3 + 4 units */
    whole[first] = (uint8_t)((whole[first] & 0xf0) | 0x08);
    ok(!sg_code_levels.valid(&m), "a level 0 with a sign");
}

/* ---- in fewer bits ---- */

/* Plans the message with its numbers in fewer bits. Returns false if it is not what arrives. */
static bool travels(struct sg_wire_plan *plan, const struct sg_message *m, uint8_t **bytes) {
    struct sg_wire_header h;
    struct sg_message back;
    struct sg_error err;
    if (sg_wire_plan(plan, NULL, m, &err) != SG_OK)
        return false;
    const size_t before = plan->bytes;
    sg_wire_shorten(plan);
    uint8_t *in = *bytes = malloc(plan->bytes), *data = malloc(m->bytes);
    const bool right = plan->bytes <= before && plan->shorter == (plan->bytes < before) &&
                       sg_wire_encode(in, plan->bytes, plan, &err) == SG_OK &&
                       sg_wire_peek(&h, in, plan->bytes, &err) == SG_OK && h.bytes == plan->bytes &&
                       h.shorter == plan->shorter && sg_wire_decode(&back, NULL, data, &h, in, &err) == SG_OK &&
                       back.bytes == m->bytes && memcmp(data, m->data, m->bytes) == 0;
    free(data);
    return right;
}

/* The first parameters of each code, more than one setting of each; the others are presets. */
static void test_travel(void) {
    static const size_t counts[] = {0, 1, 2, 31, 513, 5000};
    static const double settings[][2] = {{1, 600}, {7, 64}, {24, 3}, {0.03125, 24}};
    for (size_t c = 0; sg_code_at(c) != NULL; c++) {
        const struct sg_code *code = sg_code_at(c);
        bool right = true;
        size_t shorter = 0;
        for (size_t i = 0; code->layout != NULL && i < 4 * 6 * 7; i++) {
            const size_t count = counts[i % 6], part[] = {count / 3, 0, count - count / 3};
            double param[4], bits;
            for (size_t j = 0; j < code->n_params; j++) {
                const double x = j < 2 ? settings[i / 42][j] : code->params[j].preset;
                param[j] = fmin(fmax(x, code->params[j].min), code->params[j].max);
                param[j] = code->params[j].integer ? floor(param[j]) : param[j];
            }
            fill((int)(i / 6 % 7), count);
            const struct sg_numbers n = {.value = value,
                                         .count = count,
                                         .part = part,
                                         .parts = 3,
                                         .param = param,
                                         .seed = 1,
                                         .kernels = sg_kernels_cpu(NULL),
                                         .threads = 1};
            void *data = malloc(code->most_bytes(&n));
            uint8_t *bytes = NULL;
            struct sg_wire_plan plan;
            const size_t size = code->encode(data, &n, &bits);
            const struct sg_message m = {.code = code, .n = count, .count = count, .data = data, .bytes = size};
            right &= travels(&plan, &m, &bytes);
            shorter += plan.shorter;
            free(bytes);
            free(data);
        }
        if (code->layout != NULL)
            ok(right && shorter > 80, "%s: the same numbers in fewer bits, %zu of 168 times", code->name, shorter);
    }
}

/* The code that is published needs 2.8 n + 32 bits for s = sqrt n, and no more than Theorem 3.2 says. */
static void test_published(void) {
    enum { N = 65536 };
    static const struct setting settings[] = {{1, 512, 0}, {7, 512, 0}, {1, N, 0}, {256, N, 0}};
    uint8_t *data = malloc(64 + 10 * N), *bytes;
    fill(0, N);
    for (size_t i = 0; i < 4; i++) {
        const double s = settings[i].levels, b = settings[i].bucket, root = s + sqrt(b);
        const double bound = i == 3 ? 2.8 * b + 32 : (3 + 1.5 * log2(2 * (s * s + b) / (s * root))) * s * root + 32;
        struct sg_wire_plan plan;
        double bits;
        const struct sg_message m = message_of(data, write_into(data, N, 0, &settings[i], 1, &bits), N);
        const bool right = travels(&plan, &m, &bytes);
        ok(right && 8.0 * (double)plan.bytes <= bound * N / b,
           "%g levels, buckets of %g: %.3f bits a number, at most %.3f", s, b, 8.0 * (double)plan.bytes / N, bound / b);
        free(bytes);
    }
    free(data);
}

/* A message whose numbers travel in fewer bits, with bits changed or cut off: refused, or finite numbers. */
static void test_damaged_travel(void) {
    enum { N = 700 };
    static const struct setting settings[] = {{1, 700, 0}, {7, 64, 0}, {15, 700, 1}};
    uint8_t data[64 + 10 * N], *bytes;
    for (size_t s = 0; s < 3; s++) {
        struct sg_wire_plan plan;
        double bits;
        fill(s == 2 ? 6 : 0, N);
        const struct sg_message m = message_of(data, write_into(data, N, 40, &settings[s], 1, &bits), N);
        bool right = travels(&plan, &m, &bytes) && plan.shorter;
        size_t refused = 0, tried = 0;
        for (size_t bit = 0; bit < 9 * plan.bytes; bit++) {
            const size_t length = bit < 8 * plan.bytes ? plan.bytes : bit - 8 * plan.bytes;
            uint8_t *in = malloc(length + 1), *back;
            struct sg_wire_header h;
            struct sg_message now;
            struct sg_error err;
            memcpy(in, bytes, length);
            if (length == plan.bytes)
                in[bit / 8] ^= (uint8_t)(1U << bit % 8);
            sg_status status = sg_wire_peek(&h, in, length, &err);
            back = status == SG_OK && h.count == N ? malloc(h.data_bytes) : NULL;
            if (back != NULL && h.n == N && sg_wire_decode(&now, NULL, back, &h, in, &err) == SG_OK) {
                now.code->decode(out, &now, 0, N);
                for (size_t i = 0; i < N; i++)
                    right &= isfinite(out[i]);
            } else {
                refused++;
            }
            tried++;
            free(back);
            free(in);
        }
        ok(right && refused > tried / 2, "%g levels in fewer bits, damaged: refused %zu of %zu times, or finite",
           settings[s].levels, refused, tried);
        free(bytes);
    }
}

int main(void) {
    static const struct setting settings[] = {{1, 512, 0}, {7, 512, 1}, {15, 3, 0}, {127, 1e6, 0}, {32767, 64, 1}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        for (int kind = 0; kind < 7; kind++)
            test_levels(kind, &settings[i]);
        test_unbiased(&settings[i]);
    }
    test_refused();
    test_travel();
    test_published();
    test_damaged_travel();
    return tap_done();
}

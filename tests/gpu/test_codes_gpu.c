/* Codes of numbers on a GPU, or emulated: the bytes, bits and floats of the CPU's, for layers of odd sizes, numbers of
 * extreme scales, and everything that may become of a number that is read. */
/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_cuda.h"
#include "sg_device_codes.h"
#include "sg_message.h"
#include "sg_rng.h"
#include "tap.h"

enum { PARAMS = 8, MOST = 9001, MOST_PARTS = 40 };

static sg_cuda_device *device;
static const struct sg_kernels *there, *here;
static struct sg_exec exec = {.threads = 1};

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

enum pattern { SPREAD, ZEROS, DENORMAL, HUGE_ONES, SPARSE, NEGATIVE, PATTERNS };
static const char *const pattern_name[PATTERNS] = {"spread", "zeros", "denormal", "huge", "sparse", "negative"};

static float number(enum pattern p, sg_rng *rng) {
    const float x = (float)sg_rng_normal(rng);
    switch (p) {
    case SPREAD:
        return ldexpf(x, (int)sg_rng_below(rng, 120) - 60);
    case ZEROS:
        return sg_rng_below(rng, 2) ? -0.0F : 0;
    case DENORMAL:
        return x * 0x1p-140F;
    case HUGE_ONES:
        return sg_rng_below(rng, 8) ? fminf(fmaxf(x, -1), 1) * FLT_MAX : copysignf(FLT_MAX, x);
    case SPARSE:
        return sg_rng_below(rng, 50) ? 0 : x;
    default:
        return -fabsf(x) - 1;
    }
}

/* Cuts n numbers into parts, some of which are empty. Returns how many. */
static size_t cut(size_t part[MOST_PARTS], size_t n, unsigned kind, sg_rng *rng) {
    size_t parts = 0, left = n;
    if (kind > 0)
        for (; parts < MOST_PARTS - 1; left -= part[parts++])
            part[parts] = sg_rng_below(rng, 3) ? sg_rng_below(rng, left / (kind == 1 ? 8 : 2) + 1) : 0;
    part[parts++] = left;
    return parts;
}

/* ---- one message ------------------------------------------------------------------------------------------------- */

static struct {
    float value[MOST], want[MOST], got[MOST];
    uint32_t index[MOST];
    uint8_t *message, *other;
    size_t room;
    float *x, *to;
    uint32_t *at;
    void *data;
} m;

/* Reads with the sink on both sides, from vectors that are equal before. */
static bool reads(const struct sg_message *sent, struct sg_sink sink) {
    const size_t n = sent->count;
    const bool indexed = sink.index != NULL, kept = sink.kind == SG_SINK_DIFFERENCE;
    float piece[MOST];
    for (size_t i = 0; i < n; i++)
        m.want[i] = (float)(i % 13) - 6;
    there->put(&exec, m.to, m.want, n * sizeof *m.want);
    sent->code->decode(piece, sent, 0, n);
    for (size_t j = 0; j < n; j++) {
        float *to = &m.want[indexed ? m.index[j] : j];
        *to = kept                         ? *to + (m.value[j] - piece[j])
              : sink.kind == SG_SINK_STORE ? piece[j]
                                           : *to + sink.weight * piece[j];
    }
    struct sg_message device_message = *sent;
    device_message.data = m.data;
    sink.to = m.to;
    sink.index = indexed ? m.at : NULL;
    sink.value = kept ? m.x : NULL;
    sent->code->read_on_gpu(&sink, &device_message, there, &exec);
    return there->get(&exec, m.got, m.to, n * sizeof *m.got) == SG_KERNEL_OK &&
           memcmp(m.got, m.want, n * sizeof *m.got) == 0;
}

static bool same(const struct sg_code *code, const struct sg_numbers *host) {
    struct sg_numbers numbers = *host;
    struct sg_message sent = {.code = code, .n = host->count, .count = host->count, .parts = host->parts};
    size_t bytes = 0;
    double bits = 0;
    sent.data = m.message;
    memset(m.message, 0xa5, m.room);
    sent.bytes = code->encode(m.message, host, &sent.bits);
    numbers.value = m.x;
    numbers.kernels = there;
    numbers.exec = &exec;
    there->put(&exec, m.x, host->value, host->count * sizeof *host->value);
    memset(m.other, 0x5a, m.room);
    there->put(&exec, m.data, m.other, m.room);
    bool right = code->encode_on_gpu(m.data, &numbers, &bytes, &bits) == SG_KERNEL_OK &&
                 there->get(&exec, m.other, m.data, m.room) == SG_KERNEL_OK;
    right = right && bytes == sent.bytes && bits == sent.bits && memcmp(m.other, m.message, bytes) == 0;
    for (size_t i = bytes; i < m.room && right; i++)
        right = m.other[i] == 0x5a; /* nothing is written behind the message */
    right = right && code->valid(&sent);
    return right && reads(&sent, (struct sg_sink){.kind = SG_SINK_STORE}) &&
           reads(&sent, (struct sg_sink){.kind = SG_SINK_ADD, .weight = -1}) &&
           reads(&sent, (struct sg_sink){.kind = SG_SINK_ADD, .weight = 1, .index = m.index}) &&
           reads(&sent, (struct sg_sink){.kind = SG_SINK_DIFFERENCE, .value = m.value, .index = m.index});
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

#if defined(__SANITIZE_ADDRESS__) /* which the emulation's threads are slow with */
static const size_t size[] = {0, 1, 9, 33, 1025};
#else
static const size_t size[] = {0, 1, 7, 8, 9, 31, 33, 1000, 1025, 4095, 4097, MOST};
#endif
enum { SIZES = sizeof size / sizeof *size };

static void test_code(const struct sg_code *code, const double *param, const char *form) {
    double preset[PARAMS] = {0};
    for (size_t i = 0; i < code->n_params; i++)
        preset[i] = param != NULL && !isnan(param[i]) ? param[i] : code->params[i].preset;
    for (enum pattern p = 0; p < PATTERNS; p++) {
        size_t wrong = 0, part[MOST_PARTS];
        for (unsigned kind = 0; kind < 3; kind++)
            for (size_t s = 0; s < SIZES; s++) {
                sg_rng rng = sg_rng_open(11, SG_RNG_TEST, (uint32_t)(s + SIZES * kind), p);
                for (size_t i = 0; i < size[s]; i++)
                    m.value[i] = number(p, &rng);
                double knob[MOST_PARTS];
                const struct sg_numbers numbers = {.value = m.value,
                                                   .count = size[s],
                                                   .part = part,
                                                   .parts = cut(part, size[s], kind, &rng),
                                                   .param = preset,
                                                   .knob = kind == 2 && code->n_params > 0 ? knob : NULL,
                                                   .seed = 7,
                                                   .step = 3 + s,
                                                   .worker = 5,
                                                   .kernels = here,
                                                   .threads = 1};
                for (size_t i = 0; i < numbers.parts; i++)
                    knob[i] = preset[0] + (double)(i % 3);
                m.room = code->most_bytes(&numbers);
                if (!same(code, &numbers) && wrong++ == 0)
                    printf("# %zu numbers, %zu parts\n", size[s], numbers.parts);
            }
        ok(wrong == 0, "%s%s, %s numbers: the CPU's bytes, bits and floats", code->name, form, pattern_name[p]);
    }
}

static void test_levels(void) {
    static const struct {
        const char *form;
        double param[3]; /* levels, bucket, max-norm */
    } with[] = {
        {" of 1, a layer's largest", {1, 4294967295.0, 1}},
        {" of 3, buckets of 5", {3, 5, 0}},
        {" of 255, single numbers", {255, 1, 1}},
        {" of 32760, buckets of 4097", {32760, 4097, 0}},
    };
    for (size_t i = 0; i < sizeof with / sizeof *with; i++)
        test_code(&sg_code_levels, with[i].param, with[i].form);
}

static void test_grid(void) {
    static const struct {
        const char *form;
        double param[3]; /* step, bits, stochastic */
    } with[] = {
        {" of 2 bits", {0.5, 2, 0}},
        {" of 24 bits, at random", {0x1p-12, 24, 1}},
        {" of 7 bits, at random", {0.1, 7, 1}},
        {" of the step 0", {0, 5, 0}},
        {" of a denormal step", {0x1p-146, 9, 1}},
        {" of the largest step", {FLT_MAX, 3, 0}},
        {" of half the largest step", {FLT_MAX / 2, 24, 1}},
    };
    for (size_t i = 0; i < sizeof with / sizeof *with; i++)
        test_code(&sg_code_grid, with[i].param, with[i].form);
}

static void test_dithering(void) {
    static const struct {
        const char *form;
        double param[3]; /* levels, bucket, max-norm */
    } with[] = {
        {" of 1, a layer's largest", {1, 4294967295.0, 1}},
        {" of 3, buckets of 5", {3, 5, 0}},
        {" of 120, single numbers", {120, 1, 1}},
        {" of 125, buckets of 4097", {125, 4097, 0}},
    };
    for (size_t i = 0; i < sizeof with / sizeof *with; i++)
        test_code(&sg_code_dithering, with[i].param, with[i].form);
}

static void test_vote(void) {
    float sum[77];
    bool right = true;
    for (int tie = 0; tie < 2; tie++) {
        for (int i = 0; i < 77; i++)
            sum[i] = i % 4 == 0 ? -0.0F : (float)(i % 5 - 2);
        there->put(&exec, m.to, sum, sizeof sum);
        there->codes->vote(&exec, m.to, 77, 6, tie ? 6 : 0);
        right = there->get(&exec, m.got, m.to, sizeof sum) == SG_KERNEL_OK && right;
        for (int i = 0; i < 77; i++)
            right &= m.got[i] == (sum[i] > 0 ? 6 : sum[i] < 0 ? -6 : tie ? 6 : 0);
    }
    ok(right, "the majority's signs");
}

int main(void) {
    char why[256];
    if (sg_cuda_device_open(&device, -1, 0, why, sizeof why) != SG_KERNEL_OK) {
        tap_no_gpu(why);
        return tap_done();
    }
    enum { ROOM = 16 * MOST + 4096 };
    exec.device = device;
    there = sg_cuda_kernels();
    here = sg_kernels_cpu("c");
    m.message = malloc(ROOM);
    m.other = malloc(ROOM);
    m.data = there->allocate(&exec, ROOM);
    m.x = there->allocate(&exec, sizeof m.value);
    m.to = there->allocate(&exec, sizeof m.value);
    m.at = there->allocate(&exec, sizeof m.index);
    for (size_t i = 0; i < MOST; i++)
        m.index[i] = (uint32_t)i; /* positions of a message that has all */
    there->put(&exec, m.at, m.index, sizeof m.index);
    for (size_t i = 0; sg_code_at(i) != NULL; i++)
        if (sg_code_at(i)->encode_on_gpu != NULL)
            test_code(sg_code_at(i), NULL, "");
    test_levels();
    test_grid();
    test_dithering();
    test_vote();
    there->release(&exec, m.data);
    there->release(&exec, m.x);
    there->release(&exec, m.to);
    there->release(&exec, m.at);
    free(m.message);
    free(m.other);
    sg_cuda_device_close(device);
    return tap_done();
}

/* Every encoding x many sets of positions x both codes of floats: exact sizes, round trips, and hostile bytes. */
/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sg_half.h"
#include "sg_rng.h"
#include "sg_wire.h"

enum { MAX_COUNT = (1 << 16) + 1, D = 11173962 };
static const uint64_t LARGEST_MAP = (uint64_t)1 << 24; /* beyond, bitmaps are sized but not written */

static sg_rng rng;
static uint32_t index_of[MAX_COUNT];
static float value_of[MAX_COUNT];
static float data_of[MAX_COUNT]; /* value_of in the code of the message at hand */

/* ---- sets ---- */

static size_t add_run(size_t count, uint64_t n, uint64_t first, uint64_t length) {
    for (uint64_t i = first; i < first + length && i < n && count < MAX_COUNT; i++)
        index_of[count++] = (uint32_t)i;
    return count;
}

static size_t uniform(uint64_t n, double density) {
    size_t count = 0;
    for (double at = -1; count < MAX_COUNT;) { /* geometric gaps */
        at += 1 + floor(log(1 - sg_rng_uniform(&rng)) / log1p(-density));
        if (at >= (double)n)
            break;
        index_of[count++] = (uint32_t)at;
    }
    return count;
}

enum shape {
    EMPTY,
    FIRST,
    LAST,
    ENDS,
    ALL,
    ALL_BUT_ONE,
    EVEN,
    RUN_START,
    RUN_END,
    CLUSTERS,
    SPARSE,
    MIDDLE,
    DENSE,
    SHAPES
};
static const char *const shape_name[SHAPES] = {"empty",
                                               "first",
                                               "last",
                                               "both ends",
                                               "all",
                                               "all but one",
                                               "every other",
                                               "run at the start",
                                               "run at the end",
                                               "clusters",
                                               "uniform 1/1000",
                                               "uniform 1/20",
                                               "uniform 0.7"};

/* Fills index_of; the count, or -1 if the shape does not fit n. */
static long draw(enum shape shape, uint64_t n) {
    const bool small = n < MAX_COUNT;
    size_t count = 0;
    switch (shape) {
    case EMPTY:
        return 0;
    case FIRST:
        return (long)add_run(0, n, 0, 1);
    case LAST:
        return n ? (long)add_run(0, n, n - 1, 1) : -1;
    case ENDS:
        return n < 2 ? -1 : (long)add_run(add_run(0, n, 0, 1), n, n - 1, 1);
    case ALL:
        return small ? (long)add_run(0, n, 0, n) : -1;
    case ALL_BUT_ONE:
        return small && n > 1 ? (long)add_run(add_run(0, n, 0, n / 2), n, n / 2 + 1, n) : -1;
    case EVEN:
        for (uint64_t i = 0; i < n && count < MAX_COUNT; i += 2)
            index_of[count++] = (uint32_t)i;
        return (long)count;
    case RUN_START:
        return (long)add_run(0, n, 0, n / 3);
    case RUN_END: {
        const uint64_t length = n / 3 < MAX_COUNT ? n / 3 : MAX_COUNT;
        return (long)add_run(0, n, n - length, length);
    }
    case CLUSTERS:
        for (uint64_t i = 0; i < 30; i++)
            count = add_run(count, n / 31 * i + n / 62, n / 31 * i, sg_rng_below(&rng, 100));
        return (long)count;
    case SPARSE:
        return (long)uniform(n, 0.001);
    case MIDDLE:
        return (long)uniform(n, 0.05);
    default:
        return (long)uniform(n, 0.7);
    }
}

/* ---- round trips ---- */

/* The first `count` of value_of, at these positions of n. */
static struct sg_message message_of(const struct sg_code *code, uint64_t n, size_t count, const uint32_t *index) {
    code->encode(data_of, &(struct sg_numbers){.value = value_of, .count = count}, &(double){0});
    return (struct sg_message){
        .code = code, .n = n, .count = count, .index = index, .data = data_of, .bytes = count * code->width};
}

static bool complain(const char *what, const struct sg_message *set, const char *encoding) {
    printf("# %s: %s of %zu in %llu\n", what, encoding, set->count, (unsigned long long)set->n);
    return false;
}

/* Into and out of blocks of exactly the size stated, so that sanitizers see a byte too many. */
static bool round_trip(const struct sg_wire_plan *plan) {
    const struct sg_message *set = &plan->message;
    const char *name = plan->encoding->name;
    struct sg_error err;
    struct sg_wire_header h;
    bool right = false;
    uint8_t *bytes = malloc(plan->bytes);
    uint32_t *index = malloc(set->count * sizeof *index + 1);
    float *value = malloc(set->count * sizeof *value + 1);
    void *data = malloc(set->bytes + 1);
    struct sg_message m;
    if (!bytes || !index || !value || !data)
        goto out;
    right = plan->bytes == plan->header_bytes + plan->index_bytes + set->bytes &&
            plan->bytes <= sg_wire_bound(set->n, set->count, set->bytes);
    if (!right && !complain("size", set, name))
        goto out;
    right = sg_wire_encode(bytes, plan->bytes, plan, &err) == SG_OK &&
            sg_wire_peek(&h, bytes, plan->bytes, &err) == SG_OK && h.encoding == plan->encoding &&
            h.code == set->code && h.parameter == plan->parameter && h.n == set->n && h.count == set->count &&
            h.bytes == plan->bytes && h.index_bytes == plan->index_bytes;
    if (!right && !complain("header", set, name))
        goto out;
    right = sg_wire_decode(&m, index, data, &h, bytes, &err) == SG_OK &&
            memcmp(index, index_of, set->count * sizeof *index) == 0;
    if (right)
        m.code->decode(value, &m, 0, m.count);
    for (size_t j = 0; right && j < set->count; j++) {
        const float sent = set->code == &sg_code_fp16 ? sg_half_value(sg_half_of(value_of[j])) : value_of[j];
        right = sg_float_bits(value[j]) == sg_float_bits(sent);
    }
    if (!right)
        complain("round trip", set, name);
out:
    free(bytes);
    free(index);
    free(value);
    free(data);
    return right;
}

/* No other parameter gives fewer bits, none smaller as few. */
static bool best_parameter(const struct sg_wire_plan *plan) {
    unsigned best = 0;
    uint64_t least = UINT64_MAX;
    for (unsigned b = 0; b < 32; b++) {
        uint64_t bits = (uint64_t)(b + 1) * plan->message.count;
        for (size_t j = 0; j < plan->message.count; j++)
            bits += (index_of[j] - (j ? index_of[j - 1] + 1 : 0)) >> b;
        if (bits < least) {
            least = bits;
            best = b;
        }
    }
    return plan->parameter == best;
}

static bool every_encoding(const struct sg_message *set) {
    struct sg_wire_plan plan, least = {.bytes = SIZE_MAX};
    struct sg_error err;
    for (size_t i = 0; sg_wire_at(i); i++) {
        if (sg_wire_plan(&plan, sg_wire_at(i), set, &err) != SG_OK || plan.encoding != sg_wire_at(i))
            return complain("plan", set, sg_wire_at(i)->name);
        if (plan.bytes < least.bytes)
            least = plan;
        if (strcmp(plan.encoding->name, "rice") == 0 && plan.index_bytes && !best_parameter(&plan))
            return complain("parameter", set, "rice");
        if ((plan.index_bytes <= LARGEST_MAP / 8 || set->n <= LARGEST_MAP) && !round_trip(&plan))
            return false;
    }
    if (sg_wire_plan(&plan, NULL, set, &err) != SG_OK || plan.encoding != least.encoding || plan.bytes != least.bytes)
        return complain("auto", set, least.encoding->name);
    return round_trip(&plan);
}

static void test_round_trips(void) {
    static const uint64_t sizes[] = {0,
                                     1,
                                     2,
                                     7,
                                     8,
                                     9,
                                     31,
                                     32,
                                     33,
                                     63,
                                     64,
                                     65,
                                     127,
                                     128,
                                     129,
                                     1000,
                                     4097,
                                     65536,
                                     65537,
                                     (1 << 20) + 1,
                                     (1 << 24) - 1,
                                     D,
                                     0xffffffff,
                                     0x100000000};
    for (size_t j = 0; j < MAX_COUNT; j++)
        value_of[j] = (float)sg_rng_normal(&rng) * ldexpf(1, (int)sg_rng_below(&rng, 40) - 30);
    for (enum shape shape = EMPTY; shape < SHAPES; shape++) {
        bool right = true;
        int tried = 0;
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            const long count = draw(shape, sizes[s]);
            if (count < 0)
                continue;
            const struct sg_message floats = message_of(&sg_code_fp32, sizes[s], (size_t)count, index_of);
            right &= every_encoding(&floats);
            const struct sg_message halves = message_of(&sg_code_fp16, sizes[s], (size_t)count, index_of);
            right &= every_encoding(&halves);
            tried++;
        }
        ok(right && tried > 10, "every encoding, %s, n up to 2^32: sizes as computed, round trip", shape_name[shape]);
    }
    const struct sg_message all = message_of(&sg_code_fp16, 1000, 1000, NULL);
    struct sg_wire_plan plan;
    struct sg_error err;
    ok(sg_wire_plan(&plan, NULL, &all, &err) == SG_OK && plan.index_bytes == 0 &&
           plan.bytes == plan.header_bytes + 2000,
       "a full message needs no indices, neither given nor written");
}

/* ---- sizes on uniform positions ---- */

enum { ENCODINGS = 5, ENTRIES = 100000 };

/* Mean bits an index of each encoding over as many draws as make about ENTRIES entries. */
static bool mean_bits(double bits[ENCODINGS], size_t count) {
    const size_t draws = 1 + ENTRIES / count;
    uint32_t *index = malloc(count * sizeof *index);
    bool right = index != NULL;
    for (size_t draw = 0; right && draw < draws; draw++) {
        sg_rng_subset(&rng, index, count, D);
        for (size_t e = 0; e < ENCODINGS; e++) {
            const struct sg_message set = {
                .code = &sg_code_fp32, .n = D, .count = count, .index = index, .bytes = 4 * count};
            struct sg_wire_plan plan = {0};
            struct sg_error err;
            right &= sg_wire_plan(&plan, sg_wire_at(e), &set, &err) == SG_OK;
            bits[e] += 8 * (double)plan.index_bytes / (double)(count * draws);
        }
    }
    free(index);
    return right;
}

static void test_sizes(void) {
    static const struct { double density, rice; } cases[] = {{0.01, 8.108}, {0.001, 11.496}, {0.0001, 14.769}};
    for (size_t i = 0; i < 3; i++) {
        const size_t count = (size_t)(D * cases[i].density);
        const double k = (double)count;
        const double limit = (lgamma(D + 1.0) - lgamma(k + 1) - lgamma(D - k + 1)) / log(2) / k;
        double bits[ENCODINGS] = {0};
        const bool planned = mean_bits(bits, count);
        ok(planned && fabs(bits[0] - 32) < 1e-9 && fabs(bits[1] - 8 * ceil(D / 8.0) / k) < 1e-6,
           "raw and bitmap at density %g: %.3f, %.3f bits an index (the limit is %.3f)", cases[i].density, bits[0],
           bits[1], limit);
        ok(bits[2] > limit, "delta-varint at %g: %.3f", cases[i].density, bits[2]);
        ok(fabs(bits[3] - cases[i].rice) <= 0.05 && bits[3] > limit, "rice at %g: %.3f", cases[i].density, bits[3]);
        ok(fabs(bits[4] - (2 + log2(D / k))) <= 0.1, "elias-fano at %g: %.3f", cases[i].density, bits[4]);
    }
}

/* ---- arguments ---- */

static void test_arguments(void) {
    const uint32_t twice[] = {3, 3}, descending[] = {5, 4}, high[] = {0, 10}, fine[] = {1, 9};
    const struct sg_wire_encoding *rice = sg_wire_find("rice");
    struct sg_wire_plan plan = {0};
    struct sg_error err;
    const struct sg_wire_set bad[] = {
        {10, 2, twice}, {10, 2, descending}, {10, 2, high}, {1, 2, fine}, {SG_WIRE_MAX_N + 1, 2, fine}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const struct sg_message m = message_of(&sg_code_fp32, bad[i].n, bad[i].count, bad[i].index);
        ok(sg_wire_plan(&plan, rice, &m, &err) == SG_ERR_ARGUMENT && !plan.encoding, "refused: set %zu", i);
    }
    uint8_t bytes[64];
    const float infinite[] = {1, INFINITY}, nan[] = {NAN, 1};
    struct sg_message m = message_of(&sg_code_fp32, 10, 2, fine);
    m.bytes--;
    ok(sg_wire_plan(&plan, rice, &m, &err) == SG_ERR_ARGUMENT && !plan.encoding, "bytes that are not the code's");
    m.bytes++;
    ok(sg_wire_plan(&plan, rice, &m, &err) == SG_OK &&
           sg_wire_encode(bytes, plan.bytes - 1, &plan, &err) == SG_ERR_ARGUMENT,
       "no room for the last byte");
    plan.message.data = infinite;
    ok(sg_wire_encode(bytes, sizeof bytes, &plan, &err) == SG_ERR_NONFINITE, "values must be finite");
    plan.message.data = nan;
    ok(sg_wire_encode(bytes, sizeof bytes, &plan, &err) == SG_ERR_NONFINITE, "and numbers");
    ok(sg_wire_find("auto") == NULL && sg_wire_find("elias-fano") == sg_wire_at(4) && sg_wire_at(ENCODINGS) == NULL,
       "the table");
}

/* ---- hostile bytes ---- */

/* What decodes must be a message, and the only bytes that mean it. `bytes` is copied to a block of its own. */
static bool harmless(const uint8_t *bytes, size_t length, int *accepted) {
    uint8_t *in = malloc(length + !length), *again = NULL;
    struct sg_wire_header h;
    struct sg_error err = {0};
    bool right = in != NULL;
    if (right && length)
        memcpy(in, bytes, length);
    sg_status status = right ? sg_wire_peek(&h, in, length, &err) : SG_ERR_MEMORY;
    uint32_t *index = NULL;
    float *value = NULL;
    void *data = NULL;
    struct sg_message m;
    if (status == SG_OK) {
        index = malloc(h.count * sizeof *index + 1);
        value = malloc(h.count * sizeof *value + 1);
        data = malloc(h.data_bytes + 1);
        again = calloc(h.index_bytes + 1, 1);
        right = index && value && data && again;
        status = right ? sg_wire_decode(&m, index, data, &h, in, &err) : SG_ERR_MEMORY;
    }
    if (status == SG_OK) {
        ++*accepted;
        m.code->decode(value, &m, 0, m.count);
        for (size_t j = 0; j < h.count; j++)
            right &= index[j] < h.n && (j == 0 || index[j] > index[j - 1]) && isfinite(value[j]);
        const struct sg_wire_set set = {h.n, h.count, index};
        if (right && h.index_bytes)
            h.encoding->encode(again, h.index_bytes, &set, h.parameter);
        right &= memcmp(again, in + h.header_bytes, h.index_bytes) == 0;
    } else {
        right &= status == SG_ERR_FORMAT;
    }
    free(in);
    free(index);
    free(value);
    free(data);
    free(again);
    return right;
}

static void test_hostile(void) {
    enum { COUNT = 40, ROUNDS = 20000 };
    uint8_t bytes[1024], changed[1024];
    for (size_t e = 0; sg_wire_at(e); e++) {
        const char *name = sg_wire_at(e)->name;
        struct sg_wire_plan plan;
        struct sg_error err;
        uint32_t index[COUNT];
        sg_rng_subset(&rng, index, COUNT, 700);
        const struct sg_message m = message_of(e & 1 ? &sg_code_fp16 : &sg_code_fp32, 700, COUNT, index);
        if (!ok(sg_wire_plan(&plan, sg_wire_at(e), &m, &err) == SG_OK &&
                    sg_wire_encode(bytes, sizeof bytes, &plan, &err) == SG_OK,
                "%s encodes", name))
            continue;
        int accepted = 0;
        bool right = true;
        for (size_t length = 0; length < plan.bytes; length++)
            right &= harmless(bytes, length, &accepted);
        ok(right && accepted == 0, "%s: no truncation decodes", name);
        for (size_t bit = 0; bit < 8 * plan.bytes; bit++) {
            memcpy(changed, bytes, plan.bytes);
            changed[bit / 8] ^= (uint8_t)(1 << bit % 8);
            right &= harmless(changed, plan.bytes, &accepted);
        }
        ok(right && accepted > 0, "%s: a flipped bit is refused or gives another message", name);
        for (int round = 0; round < ROUNDS; round++) {
            memcpy(changed, bytes, plan.bytes);
            for (uint64_t k = 1 + sg_rng_below(&rng, 6); k > 0; k--)
                changed[sg_rng_below(&rng, plan.header_bytes + plan.index_bytes)] = (uint8_t)sg_rng_u32(&rng);
            right &= harmless(changed, plan.bytes, &accepted);
        }
        for (int round = 0; round < ROUNDS; round++) { /* behind a true header */
            memcpy(changed, bytes, plan.bytes);
            for (size_t at = plan.header_bytes; at < plan.header_bytes + plan.index_bytes; at++)
                changed[at] = (uint8_t)(sg_rng_u32(&rng) & sg_rng_u32(&rng));
            right &= harmless(changed, plan.bytes, &accepted);
        }
        ok(right, "%s: random bytes do no harm", name);
    }
}

/* Single faults, each in bytes otherwise right: n = 64, two entries, values 0. */
static void test_faults(void) {
    static const struct {
        const char *what;
        uint8_t bytes[24];
        size_t length;
        bool fine;
    } cases[] = {
        {"raw", {0x11, 0, 0, 64, 2, 12, 3, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0}, 18, true},
        {"raw: n is too small", {0x11, 0, 0, 9, 2, 12, 3, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0}, 18, false},
        {"raw: twice the same", {0x11, 0, 0, 64, 2, 12, 9, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0}, 18, false},
        {"raw: a parameter", {0x11, 0, 1, 64, 2, 12, 3, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0}, 18, false},
        {"an infinite half", {0x11, 0, 0, 64, 2, 12, 3, 0, 0, 0, 9, 0, 0, 0, 0, 0x7c, 0, 0}, 18, false},
        {"another version", {0x21, 0, 0, 64, 2, 12, 3, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0}, 18, false},
        {"a code that does not exist", {0x12, 0, 0, 64, 2, 12, 3, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0}, 18, false},
        {"another encoding", {0x11, 9, 0, 64, 2, 12, 3, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0}, 18, false},
        {"a count in two bytes where one will do", {0x11, 0, 0, 64, 0x82, 0, 12, 3, 0, 0, 0, 9}, 19, false},
        {"more entries than n", {0x11, 0, 0, 1, 2, 4, 0, 0, 0, 0}, 10, false},
        {"bitmap", {0x11, 1, 0, 10, 2, 6, 8, 2, 0, 0, 0, 0}, 12, true},
        {"bitmap: a bit behind n", {0x11, 1, 0, 10, 2, 6, 8, 4, 0, 0, 0, 0}, 12, false},
        {"bitmap: three bits", {0x11, 1, 0, 10, 2, 6, 8, 3, 0, 0, 0, 0}, 12, false},
        {"delta-varint", {0x11, 2, 0, 64, 2, 6, 3, 5, 0, 0, 0, 0}, 12, true},
        {"delta-varint: longer than needed", {0x11, 2, 0, 64, 2, 7, 0x83, 0, 5, 0, 0, 0, 0}, 13, false},
        {"delta-varint: cut off in a gap", {0x11, 2, 0, 64, 2, 6, 3, 0x85, 0, 0, 0, 0}, 12, false},
        {"delta-varint: a byte too many", {0x11, 2, 0, 64, 2, 7, 3, 5, 5, 0, 0, 0, 0}, 13, false},
        {"rice, b = 2: gaps 3 and 5", {0x11, 3, 2, 64, 2, 6, 7, 5, 0, 0, 0, 0}, 12, true},
        {"rice: padding of the low bits", {0x11, 3, 2, 64, 2, 6, 0x17, 5, 0, 0, 0, 0}, 12, false},
        {"rice: a third one", {0x11, 3, 2, 64, 2, 6, 7, 7, 0, 0, 0, 0}, 12, false},
        {"rice: zeros at the end", {0x11, 3, 2, 64, 2, 7, 7, 5, 0, 0, 0, 0, 0}, 13, false},
        {"rice: b = 40", {0x11, 3, 40, 64, 2, 6, 7, 5, 0, 0, 0, 0}, 12, false},
        {"elias-fano, l = 5", {0x11, 4, 5, 64, 2, 7, 0x23, 1, 3, 0, 0, 0, 0}, 13, true},
        {"elias-fano: twice the same", {0x11, 4, 5, 64, 2, 7, 0x63, 0, 3, 0, 0, 0, 0}, 13, false},
        {"elias-fano: l = 4", {0x11, 4, 4, 64, 2, 6, 0x93, 3, 0, 0, 0, 0}, 12, false},
        {"all of n = 2", {0x11, 3, 0, 2, 2, 4, 0, 0, 0, 0}, 10, true},
        {"all of n = 2, and index bytes", {0x11, 0, 0, 2, 2, 12, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}, 18, false},
        {"none of n = 2^32", {0x11, 4, 0, 0x80, 0x80, 0x80, 0x80, 0x10, 0, 0}, 10, true},
        {"none of n = 2^32 + 1", {0x11, 4, 0, 0x81, 0x80, 0x80, 0x80, 0x10, 0, 0}, 10, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int accepted = 0;
        ok(harmless(cases[i].bytes, cases[i].length, &accepted) && accepted == cases[i].fine, "%s: %s", cases[i].what,
           cases[i].fine ? "accepted" : "refused");
    }
}

int main(void) {
    rng = sg_rng_open(1, SG_RNG_TEST, 0, 0);
    test_round_trips();
    test_sizes();
    test_arguments();
    test_faults();
    test_hostile();
    return tap_done();
}

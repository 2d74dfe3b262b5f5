/* twin.c: what methods of the library make of vectors, as text for the independent twins in Python beside it. Floats
 * are printed as the 8 hexadecimal digits of their bits.
 *
 *     twin qsgd      lines: case LEVELS BUCKET MAX-NORM STEP SIZE…; then p, data, e of worker 5 with seed 77
 *     twin fields    a line for each message in fewer bits: CODE, its data, its numbers in fewer bits
 *     twin powersgd  lines: case RANK LOCAL RELEASED WORKERS SEED ROWS×COLUMNS…; then for each step g of every worker,
 *                    sum, and e of every worker */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "released.h"
#include "method_private.h"
#include "sg_wire.h"
#include "vectors.h"

enum { MOST = 4000, LAYERS = 3, WORKERS = 3, STEPS = 5 };

static struct sg_error err;

static void die(void) {
    fprintf(stderr, "twin: %s\n", err.msg);
    exit(1);
}

static void print_floats(const char *name, const float *x, size_t n) {
    printf("%s", name);
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        printf(" %08x", (unsigned)bits);
    }
    printf("\n");
}

static void print_bytes(const uint8_t *bytes, size_t n) {
    for (size_t i = 0; i < n; i++)
        printf("%02x", bytes[i]);
}

static void qsgd(void) {
    static const double settings[][4] = {{1, 512, 0},   {7, 512, 1},    {15, 3, 0},
                                         {127, 1e6, 0}, {32767, 64, 1}, {4, 100, 0}};
    static const size_t cuts[][LAYERS + 1] = {{0, 1, 1, 1}, {0, 700, 700, 2000}, {0, 33, 40, 73}};
    static float g[MOST], e[MOST];
    for (size_t s = 0; s < sizeof settings / sizeof *settings; s++)
        for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++)
            for (int kind = 0; kind < 8; kind++) {
                const size_t n = cuts[c][LAYERS];
                const uint64_t step = 1000 * s + (uint64_t)kind;
                sg_rng r = sg_rng_open(1, SG_RNG_TEST, 0, step);
                struct sg_message m;
                sg_method *method;
                const struct sg_method_config config = {.size = sizeof(struct sg_method_config),
                                                        .compressor = sg_compressor_find("qsgd"),
                                                        .param = settings[s],
                                                        .layout = {.n_layers = LAYERS, .offset = cuts[c]},
                                                        .feedback = {.rule = &sg_feedback_gradient, .decay = 1},
                                                        .seed = 77,
                                                        .first = 5,
                                                        .count = 1,
                                                        .inputs = true,
                                                        .exec = {.threads = 2}};
                for (size_t i = 0; i < n; i++) {
                    g[i] = draw(kind, i, n, 0, &r);
                    e[i] = kind == 0 ? (float)sg_rng_normal(&r) : 0;
                }
                if (sg_method_open(&method, &config, &err) != SG_OK)
                    die();
                sg_method_begin(method, step, 0.1, NULL);
                if (sg_method_send(method, 5, 0, g, e, NULL, &m, &err) != SG_OK)
                    die();
                printf("case %g %g %g %llu", settings[s][0], settings[s][1], settings[s][2], (unsigned long long)step);
                for (size_t l = 0; l < LAYERS; l++)
                    printf(" %zu", cuts[c][l + 1] - cuts[c][l]);
                printf("\nbits %.17g\n", m.bits);
                print_floats("p", sg_method_input(method, 5), n);
                printf("data ");
                print_bytes(m.data, m.bytes);
                printf("\n");
                print_floats("e", e, n);
                sg_method_close(method);
            }
}

/* Codes with two of their parameters; of each two layers, and one without numbers between them. */
static void fields(void) {
    static const struct {
        const char *name;
        double param[2];
    } cases[] = {{"levels", {1, 512}},    {"levels", {7, 512}},
                 {"levels", {256, 4000}}, {"levels", {32767, 64}},
                 {"natural", {0}},        {"natural-8", {0}},
                 {"grid", {0.125, 8}},    {"grid", {0.001, 24}},
                 {"8bit", {0}},           {"natural-dithering", {7, 512}},
                 {"int-block", {4, 256}}, {"int-block", {16, 4000}},
                 {"minmax", {4, 512}},    {"fp8", {0}},
                 {"mxfp8", {0}},          {"nvfp4", {0}}};
    static const size_t counts[] = {7, 250, 1500};
    static float x[MOST];
    static uint8_t data[16 * MOST], out[16 * MOST];
    for (size_t i = 0; i < sizeof cases / sizeof *cases * 3 * MADE_UP; i++) {
        const size_t c = i / 3 / MADE_UP, n = counts[i % 3], part[] = {n / 5, 0, n - n / 5};
        const struct sg_code *code = sg_code_find(cases[c].name);
        double param[4] = {cases[c].param[0], cases[c].param[1], 0, 0};
        sg_rng r = sg_rng_open(3, SG_RNG_TEST, 0, i);
        for (size_t j = 0; j < n; j++)
            x[j] = draw((int)(i / 3 % MADE_UP), j, n, 0, &r);
        const struct sg_numbers numbers = {.value = x,
                                           .count = n,
                                           .part = part,
                                           .parts = 3,
                                           .param = param,
                                           .seed = 4,
                                           .kernels = sg_kernels_cpu(NULL),
                                           .threads = 1};
        struct sg_message m = {.code = code, .n = n, .count = n, .data = data};
        struct sg_wire_plan plan;
        m.bytes = code->encode(data, &numbers, &m.bits);
        if (sg_wire_plan(&plan, NULL, &m, &err) != SG_OK)
            die();
        sg_wire_shorten(&plan);
        if (!plan.shorter)
            continue;
        if (sg_wire_encode(out, sizeof out, &plan, &err) != SG_OK)
            die();
        printf("%s ", code->name);
        print_bytes(data, m.bytes);
        printf(" ");
        print_bytes(out + plan.header_bytes, plan.number_bytes);
        printf("\n");
    }
}

static void powersgd(double rank, double local, bool released, float scale) {
    static const size_t offset[] = {0, 12 * 20, 12 * 20 + 7, 12 * 20 + 7 + 30 * 9}, rows[] = {12, 1, 30};
    enum { D = 12 * 20 + 7 + 30 * 9 };
    static float g[WORKERS][D], e[WORKERS][D], sum[D];
    const double param[] = {rank, NAN, local};
    const struct sg_method_config config = {.size = sizeof(struct sg_method_config),
                                            .compressor = sg_compressor_find(released ? "powersgd-grace" : "powersgd"),
                                            .param = param,
                                            .layout = {LAYERS, offset, NULL, rows},
                                            .feedback = {.rule = &sg_feedback_gradient, .decay = 1},
                                            .seed = 78,
                                            .count = WORKERS,
                                            .exec = {.threads = 2}};
    sg_method *m;
    if (sg_method_open(&m, &config, &err) != SG_OK)
        die();
    memset(e, 0, sizeof e);
    printf("case %g %g %d %d 78 12x20 1x7 30x9\n", rank, local, released, WORKERS);
    for (uint64_t t = 0; t < STEPS; t++) {
        struct sg_message message[WORKERS];
        sg_method_begin(m, t, 0.1, NULL);
        for (size_t w = 0; w < WORKERS; w++) {
            sg_rng r = sg_rng_open(2, SG_RNG_TEST, (uint32_t)w, t);
            for (size_t i = 0; i < D; i++) /* at step 2 the first matrix has no gradients */
                g[w][i] = t == 2 && i < 240 ? -e[w][i] : scale * (float)sg_rng_normal(&r);
            print_floats("g", g[w], D);
        }
        for (unsigned round = 0; round < 2; round++) {
            memset(sum, 0, sizeof sum);
            for (size_t w = 0; w < WORKERS; w++)
                if (sg_method_send(m, w, round, round ? NULL : g[w], e[w], NULL, &message[w], &err) != SG_OK)
                    die();
            sg_message_add_all(sum, method_round_length(m, round), message, WORKERS, sg_kernels_cpu(NULL),
                               &(struct sg_exec){.threads = 1});
            method_receive(m, round, sum);
        }
        print_floats("sum", sum, D);
        for (size_t w = 0; w < WORKERS; w++) {
            sg_method_keep(m, w, e[w], sum);
            print_floats("e", e[w], D);
        }
        method_end(m, sum, &(struct sg_spent){0});
    }
    sg_method_close(m);
}

int main(int argc, char **argv) {
    if (released_add(&err) != SG_OK)
        die();
    if (argc == 2 && strcmp(argv[1], "qsgd") == 0)
        qsgd();
    else if (argc == 2 && strcmp(argv[1], "fields") == 0)
        fields();
    else if (argc == 2 && strcmp(argv[1], "powersgd") == 0)
        for (int i = 0; i < 12; i++)
            powersgd(i % 4 < 2 ? 2 : 6, i % 2, i / 4 == 1, i < 8 ? 1 : i % 2 ? 1e20F : 1e-24F);
    else
        return fprintf(stderr, "usage: twin qsgd|fields|powersgd\n"), 2;
    return 0;
}

/* play.c: what a method of the library does with vectors over some steps, as text for the independent twins (play.py).
 *
 *     play COMPRESSOR [KEY=VALUE]... [values=CODE] [values.KEY=VALUE]... [feedback=RULE] [feedback.KEY=VALUE]...
 *          [gamma=RATE] [gamma-factor=F] [workers=N] [steps=N] [file=FILE]
 *
 * KEY is a parameter. The learning rate is multiplied by F after every step. FILE holds gradients as floats of 32 bits;
 * without it there are no cases of real gradients. One case is a layout and a kind of vectors:
 *
 *     case KIND SEED STEP SIZE:ROWS...     the first step's number, and the layers
 *     step T                               then for each worker, from 0 on:
 *     g FLOATS                             its gradient, 8 hexadecimal digits of the bits of each
 *     refused                              the worker's p is not finite; the case ends
 *     p FLOATS                             what is compressed
 *     bits B                               what its messages cost, all rounds together
 *     sent FLOATS                          what its message stands for; absent if there are several rounds
 *     e FLOATS                             its residual, after the last round; absent without error feedback
 *     own FLOATS                           by how much x exceeds its own parameters; absent if they are x
 *     sum FLOATS                           and after all workers the sum, as the last round leaves it */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "released.h"
#include "sg_drive.h"
#include "vectors.h"

enum { MOST = 2000, LAYERS = 3, WORKERS = 8, REAL = MADE_UP, KINDS, SEED = 77, PARAMS = 16 };

static struct sg_error err;

static void die(const char *what) {
    fprintf(stderr, "play: %s\n", what);
    exit(2);
}

static void print_floats(const char *name, const float *x, size_t n) {
    printf("%s ", name);
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        printf("%08x", (unsigned)bits);
    }
    printf("\n");
}

/* ---- vectors ---- */

static const size_t layout_of[][LAYERS + 1] = {{0, 1, 1, 1}, {0, 700, 700, 2000}, {0, 33, 40, 73}};
static const size_t rows_of[][LAYERS] = {{1, 1, 1}, {20, 1, 13}, {3, 7, 11}};
enum { LAYOUTS = sizeof layout_of / sizeof *layout_of };

static float real[MOST * WORKERS];
static size_t n_real;

/* ---- settings ---- */

/* Gives one of the parameters its value. Returns false if there is none of that name. */
static bool set(double *param, const struct sg_parameter *params, size_t n, const char *key, const char *value) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(params[i].name, key) == 0) {
            param[i] = strtod(value, NULL);
            return true;
        }
    return false;
}

static void read_file(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f || (n_real = fread(real, sizeof *real, MOST * WORKERS, f)) == 0)
        die("cannot read the file of gradients");
    fclose(f);
}

struct setting {
    struct sg_method_config config;
    double param[PARAMS], code_param[PARAMS], gamma, gamma_factor;
    size_t workers, steps;
};

static void read_setting(struct setting *s, int argc, char **argv) {
    const struct sg_compressor_ops *ops = argc > 1 ? sg_compressor_find(argv[1]) : NULL;
    if (!ops)
        die("no such compressor");
    s->workers = 2;
    s->steps = 2;
    s->gamma = s->gamma_factor = 1;
    s->config = (struct sg_method_config){.size = sizeof(struct sg_method_config),
                                          .compressor = ops,
                                          .feedback = {.rule = &sg_feedback_gradient, .decay = 1},
                                          .seed = SEED,
                                          .steps_per_epoch = 1,
                                          .inputs = true,
                                          .exec = {.threads = 2}};
    for (size_t i = 0; i < PARAMS; i++)
        s->param[i] = s->code_param[i] = NAN;
    for (size_t i = 0; i < sizeof s->config.feedback.param / sizeof(double); i++)
        s->config.feedback.param[i] = NAN;
    for (int i = 2; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        if (!value)
            die("arguments are KEY=VALUE");
        *value++ = '\0';
        const struct sg_code *code = s->config.code;
        const struct sg_feedback_rule *rule = s->config.feedback.rule;
        if (strcmp(argv[i], "values") == 0)
            s->config.code = sg_code_find(value);
        else if (strcmp(argv[i], "feedback") == 0)
            s->config.feedback.rule = sg_feedback_find(value);
        else if (strcmp(argv[i], "workers") == 0)
            s->workers = (size_t)atoi(value);
        else if (strcmp(argv[i], "steps") == 0)
            s->steps = (size_t)atoi(value);
        else if (strcmp(argv[i], "gamma") == 0)
            s->gamma = strtod(value, NULL);
        else if (strcmp(argv[i], "gamma-factor") == 0)
            s->gamma_factor = strtod(value, NULL);
        else if (strcmp(argv[i], "file") == 0)
            read_file(value);
        else if (!set(s->param, ops->params, ops->n_params, argv[i], value) &&
                 !(strncmp(argv[i], "values.", 7) == 0 && code &&
                   set(s->code_param, code->params, code->n_params, argv[i] + 7, value)) &&
                 !(strncmp(argv[i], "feedback.", 9) == 0 && rule &&
                   set(s->config.feedback.param, rule->params, rule->n_params, argv[i] + 9, value)))
            die(argv[i]);
    }
    if (s->workers < 1 || s->workers > WORKERS || !s->config.feedback.rule)
        die("1 to 8 workers, and a rule of feedback that exists");
    s->config.param = s->param;
    s->config.code_param = s->config.code ? s->code_param : NULL;
    s->config.count = s->workers;
}

/* ---- one case ---- */

static float g[WORKERS][MOST], e[WORKERS][MOST], sent[WORKERS][MOST], sum[MOST], all[MOST];

/* What each worker sent in this step. */
struct seen {
    sg_method *m;
    const struct setting *s;
    size_t d;
    bool keeps;
    double bits[WORKERS];
};

static sg_status see(void *of, size_t w, unsigned round, const struct sg_message *message, struct sg_error *error) {
    struct seen *seen = of;
    (void)round, (void)error;
    seen->bits[w] += message->bits;
    memset(sent[w], 0, sizeof sent[w]);
    if (sg_method_rounds(seen->m) == 1)
        sg_message_add(sent[w], message, 1, &(struct sg_exec){.threads = 1});
    return SG_OK;
}

/* The sum as the workers' messages make it: the optimizer is given another one. */
static void see_sum(void *of) {
    (void)of;
    memcpy(all, sum, sizeof all);
}

static void print_step(const struct seen *seen) {
    for (size_t w = 0; w < seen->s->workers; w++) {
        float *own = seen->keeps ? e[w] : NULL;
        print_floats("p", sg_method_input(seen->m, w), seen->d);
        printf("bits %.17g\n", seen->bits[w]);
        if (sg_method_rounds(seen->m) == 1)
            print_floats("sent", sent[w], seen->d);
        if (seen->keeps)
            print_floats("e", own, seen->d);
        if (sg_method_offset(seen->m, w, own))
            print_floats("own", sg_method_offset(seen->m, w, own), seen->d);
    }
    print_floats("sum", all, seen->d);
}

/* One step; false = refused. */
static bool play_step(sg_method *m, const struct setting *s, uint64_t step, double gamma, size_t d, bool keeps) {
    struct sg_message message[WORKERS];
    struct seen seen = {.m = m, .s = s, .d = d, .keeps = keeps};
    float *to = sum;
    memset(sum, 0, sizeof sum); /* a round may be shorter than d */
    struct sg_play play = {.part = &m,
                           .parts = 1,
                           .d = MOST,
                           .g = *g,
                           .e = keeps ? *e : NULL,
                           .sum = &to,
                           .message = message,
                           .optimizes = true,
                           .sent = see,
                           .arrived = see_sum,
                           .of = &seen};
    if (sg_method_play(&play, step, gamma, &err) != SG_OK) {
        if (err.status != SG_ERR_NONFINITE)
            die(err.msg);
        return false;
    }
    if (sg_method_moves(m)) /* x moves by the mean */
        for (size_t i = 0; i < d; i++)
            sum[i] /= (float)s->workers;
    for (size_t w = 0; w < s->workers && sg_method_moves(m); w++)
        sg_method_merge(m, w, sum);
    print_step(&seen);
    return true;
}

static void play_case(struct setting *s, int layout, int kind) {
    const size_t d = layout_of[layout][LAYERS];
    const uint64_t first = 1000 * (uint64_t)layout + 10 * (uint64_t)kind;
    const bool keeps = s->config.feedback.rule->keeps;
    sg_method *m;
    s->config.layout = (struct sg_layout){LAYERS, layout_of[layout], NULL, rows_of[layout]};
    if (sg_method_open(&m, &s->config, &err) != SG_OK) {
        if (layout > 0) /* the first one is too small for some parameters */
            die(err.msg);
        return;
    }
    memset(e, 0, sizeof e);
    printf("case %d %d %llu", kind, SEED, (unsigned long long)first);
    for (size_t l = 0; l < LAYERS; l++)
        printf(" %zu:%zu", layout_of[layout][l + 1] - layout_of[layout][l], rows_of[layout][l]);
    printf("\n");
    bool going = true;
    double gamma = s->gamma;
    for (uint64_t t = first; going && t < first + s->steps; t++, gamma *= s->gamma_factor) {
        printf("step %llu\n", (unsigned long long)t);
        for (size_t w = 0; w < s->workers; w++) {
            sg_rng r = sg_rng_open(1, SG_RNG_TEST, (uint32_t)w, t);
            for (size_t i = 0; i < d; i++)
                g[w][i] = kind == REAL ? real[(i + MOST * w) % n_real] : draw(kind, i, d, w, &r);
            print_floats("g", g[w], d);
        }
        going = play_step(m, s, t, gamma, d, keeps);
    }
    if (!going)
        printf("refused\n");
    sg_method_close(m);
}

int main(int argc, char **argv) {
    static struct setting s;
    if (released_add(&err) != SG_OK)
        die(err.msg);
    read_setting(&s, argc, argv);
    for (int layout = 0; layout < LAYOUTS; layout++)
        for (int kind = 0; kind < (n_real ? KINDS : REAL); kind++)
            play_case(&s, layout, kind);
    return 0;
}

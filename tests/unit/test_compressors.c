/* Every compressor of the table x every kernel table of this machine x sizes x inputs x layers x feedback rules: what
 * was to be sent is sent or kept, by selectors bit for bit and by coders as p less what the message says; the declared
 * bounds hold, messages are well formed, and the kernel tables agree. Compressors of several rounds: test_rounds.c. */
#include "message_values.h"
#include "one_worker.h"
#include "tap.h"

#include <stdbool.h>
#include <stdlib.h>

#include "patterns.h"

enum {
    MAX_N = (1 << 20) + 1,
    MAX_PARAMS = 8,
    N_VARIANTS = 3,
    STEPS = 3,
    MAX_LAYERS = 4,
    LARGE = 1 << 16,
    LARGE_PATTERNS = 2
};

static const size_t sizes[] = {0, 1, 2, 31, 32, 33, 1000, MAX_N - 2, MAX_N - 1, MAX_N};
enum { N_SIZES = sizeof sizes / sizeof sizes[0] };

struct form {
    const char *name;
    struct sg_feedback feedback;
    double gamma;
};
static const struct form forms[] = {
    {"update", {&sg_feedback_update, 1, {0}}, 0.1},
    {"none", {&sg_feedback_none, 1, {0}}, 0.1},
    {"gradient", {&sg_feedback_gradient, 1, {0}}, 0.1},
    {"update, decay 0.9", {&sg_feedback_update, 0.9, {0}}, 0.3},
    {"gradient, decay 0", {&sg_feedback_gradient, 0, {0}}, 0.1},
};
enum { N_FORMS = sizeof forms / sizeof forms[0] };

static float *gradient[STEPS], *g, *e, *p, *reference_e[STEPS], *reference_value[STEPS];
static uint32_t *reference_index[STEPS];
static size_t reference_count[STEPS];

static bool given(const struct sg_compressor_ops *ops, double *param, const char *name, double value) {
    for (size_t i = 0; i < ops->n_params; i++)
        if (strcmp(ops->params[i].name, name) == 0) {
            param[i] = fmin(value, ops->params[i].max);
            return true;
        }
    return false;
}

/* Three settings of any compressor, from hardly anything sent to much of it; a compressor with other parameters is
 * tested at its presets. */
static void vary(double *param, const struct sg_compressor_ops *ops, int variant) {
    static const double density[N_VARIANTS] = {0, 0.013, 0.6}, lambda[N_VARIANTS] = {1.4, 0.75, 0},
                        levels[N_VARIANTS] = {1, 7, 32767}, bucket[N_VARIANTS] = {512, 33, 1e6},
                        bits[N_VARIANTS] = {2, 3, 16};
    for (size_t i = 0; i < ops->n_params; i++)
        param[i] = NAN;
    if (variant == 0)
        (void)(given(ops, param, "k", 1) || given(ops, param, "density", 1e-3));
    else
        given(ops, param, "density", density[variant]);
    if (given(ops, param, "density-max", variant == 0 ? 0.02 : density[variant]))
        given(ops, param, "density-min", 0.01);
    given(ops, param, "lambda", lambda[variant]);
    given(ops, param, "tau", variant < 2 ? lambda[variant] : 1e-3);
    given(ops, param, "levels", levels[variant]);
    given(ops, param, "bucket", bucket[variant]);
    given(ops, param, "max-norm", variant == 2);
    given(ops, param, "bits", bits[variant]);
    given(ops, param, "step", lambda[variant]);
    given(ops, param, "error-bound", bits[variant] / 1000);
    given(ops, param, "block", bucket[variant]);
    given(ops, param, "stochastic", variant == 1);
    given(ops, param, "least-error", variant == 1);
}

struct run {
    const struct sg_compressor_ops *ops;
    const struct form *form;
    struct sg_layout layout;
    double param[MAX_PARAMS];
    size_t n;
};

static sg_method *open_run(const struct run *run, const struct sg_kernels *kernels) {
    struct sg_error err;
    sg_method *c;
    const struct sg_method_config config = {
        .compressor = run->ops,
        .param = run->param,
        .layout = run->layout,
        .feedback = run->form->feedback,
        .seed = 42,
        .first = 3,
        .count = 1,
        .kernels = kernels,
        .exec = {.threads = 1},
    };
    if (sg_method_open(&c, &config, &err) != SG_OK)
        printf("# %s\n", err.msg);
    return c;
}

/* Ascending indices, each inside its layer. */
static bool well_formed(const struct run *run, const struct sg_message *m) {
    const bool dense = run->ops->traits & SG_TRAIT_DENSE;
    size_t j = 0;
    if (m->n != run->n || (m->index == NULL) != dense || (dense && (m->index != NULL || m->count != m->n)))
        return false;
    for (size_t l = 0; l < run->layout.n_layers; l++) {
        const size_t begin = run->layout.offset[l], end = run->layout.offset[l + 1], upto = j + m->layer_count[l];
        if (upto > m->count || (dense && m->layer_count[l] != end - begin))
            return false;
        for (; j < upto && !dense; j++)
            if (m->index[j] < begin || m->index[j] >= end || (j > 0 && m->index[j] <= m->index[j - 1]))
                return false;
        j = upto;
    }
    if (run->ops->select == NULL) /* positions cost at most 32 bits each */
        return j == m->count && m->code->valid(m) && m->bits >= (double)m->count &&
               m->bits <= 8.0 * (double)m->bytes + (dense ? 0 : 32.0 * (double)m->count);
    const double most = (dense ? 32.0 : 64.0) * (double)m->count;
    const bool cheap = sg_compressor_traits(run->ops, run->param) & SG_TRAIT_CHEAP_POSITIONS;
    return j == m->count && m->bits <= most && m->bits >= (cheap ? 32.0 * (double)m->count : most);
}

/* The coder's message subtracted from p is what was kept, in that one operation. */
static bool rest_is_kept(const struct run *run, const struct sg_message *m) {
    if (run->form->feedback.rule == &sg_feedback_none)
        return true;
    sg_message_add(p, m, -1, &(struct sg_exec){.threads = 1});
    return memcmp(p, e, run->n * sizeof *p) == 0;
}

/* Each p is sent or kept, bit for bit, and the other of the two is +0 (kept nowhere without feedback). */
static bool sent_or_kept(const struct run *run, const struct sg_message *m) {
    const bool feedback = run->form->feedback.rule != &sg_feedback_none;
    for (size_t i = 0, j = 0; i < run->n; i++) {
        const bool sent = j < m->count && (m->index == NULL || m->index[j] == i);
        if (sent && bits_of(values_of(m)[j]) != bits_of(p[i]))
            return false;
        if (feedback && bits_of(e[i]) != (sent ? 0 : bits_of(p[i])))
            return false;
        j += sent;
    }
    return true;
}

/* The declared bound on |p - C(p)|^2 of every layer, with C(p) = value at the message's positions. In the update form the
 * compressor's input is p / gamma. Random compressors promise it in the mean only: see test_random. Slack: p and |p|^2
 * round, 2^-22 covers both; a mean rounds to a multiple of 2^-149, and what is sent to 2^-22 of itself. */
static bool within_bound(const struct run *run, const struct sg_message *m, const float *value) {
    if (run->ops->bound == NULL || sg_compressor_traits(run->ops, run->param) & SG_TRAIT_RANDOM)
        return true;
    const double unit = run->form->feedback.rule->in_updates ? run->form->gamma : 1;
    size_t j = 0;
    for (size_t l = 0; l < run->layout.n_layers; l++) {
        const size_t begin = run->layout.offset[l], end = run->layout.offset[l + 1], upto = j + m->layer_count[l];
        double all = 0, left = 0;
        for (size_t i = begin; i < end; i++) {
            const bool sent = j < upto && (m->index == NULL || m->index[j] == i);
            const double off = (double)p[i] - (sent ? (double)value[j] : 0);
            all += (double)p[i] * (double)p[i];
            left += off * off;
            j += sent;
        }
        const double bound = run->ops->bound(run->param, end - begin);
        const double most = run->ops->traits & SG_TRAIT_RELATIVE ? (1 - bound) * all : bound * unit * unit;
        if (!(left <= most * (1 + 0x1p-22) + all * 0x1p-44 + (double)(end - begin) * 0x1p-298))
            return false;
    }
    return true;
}

static bool same_values(const float *value, const struct sg_message *m) {
    float *decoded = malloc(m->count * sizeof *decoded + 1);
    m->code->decode(decoded, m, 0, m->count);
    const bool same = memcmp(value, decoded, m->count * sizeof *value) == 0;
    free(decoded);
    return same;
}

/* STEPS steps on one kernel table: checked against the definition if it is the first, else against the first. */
static const char *play(const struct run *run, const struct sg_kernels *kernels, bool first) {
    const bool feedback = run->form->feedback.rule != &sg_feedback_none;
    const float decay = (float)run->form->feedback.decay,
                scale = run->form->feedback.rule->in_updates ? (float)run->form->gamma : 1;
    const int steps = run->n > LARGE ? 2 : STEPS;
    const char *trouble = NULL;
    sg_method *c = open_run(run, kernels);
    if (c == NULL)
        return "does not open";
    memset(e, 0, run->n * sizeof *e);
    for (int t = 0; t < steps && trouble == NULL; t++) {
        struct sg_error err;
        struct sg_message m;
        for (size_t i = 0; i < run->n && first; i++)
            p[i] = feedback ? decay * e[i] + scale * gradient[t][i] : gradient[t][i];
        if (one_worker(c, (struct one_step){3, run->form->gamma, (uint64_t)t, NULL}, gradient[t], feedback ? e : NULL,
                       &m, &err) != SG_OK) {
            trouble = "fails";
        } else if (first) {
            const bool selects = run->ops->select != NULL;
            reference_count[t] = m.count;
            m.code->decode(reference_value[t], &m, 0, m.count);
            trouble = !well_formed(run, &m)                               ? "malformed message"
                      : !within_bound(run, &m, reference_value[t])        ? "the declared bound does not hold"
                      : !(selects ? sent_or_kept : rest_is_kept)(run, &m) ? "something is neither sent nor kept"
                                                                          : NULL;
            if (m.index != NULL)
                memcpy(reference_index[t], m.index, m.count * sizeof *m.index);
            memcpy(reference_e[t], e, run->n * sizeof *e);
        } else if (m.count != reference_count[t] || !same_values(reference_value[t], &m) ||
                   (m.index != NULL && memcmp(reference_index[t], m.index, m.count * sizeof *m.index) != 0) ||
                   memcmp(reference_e[t], e, run->n * sizeof *e) != 0) {
            trouble = "not the bits of the plain C kernels";
        }
    }
    sg_method_close(c);
    return trouble;
}

static struct sg_layout cut(size_t n, bool many, size_t offset[MAX_LAYERS + 1]) {
    offset[0] = 0;
    offset[1] = many ? n / 3 : n;
    offset[2] = n / 3; /* an empty layer */
    offset[3] = n / 3 + n / 2;
    offset[4] = n;
    return (struct sg_layout){.n_layers = many ? MAX_LAYERS : 1, .offset = offset};
}

/* All forms, settings and layers for one input; large ones take fewer, and coders one. Adds to *runs and *failed. */
static void play_all(const struct sg_compressor_ops *ops, const struct sg_kernels *kernels[N_KERNELS], size_t n,
                     enum pattern pattern, size_t *runs, size_t *failed) {
    const bool large = n > LARGE;
    for (size_t i = 0; i < (large ? 2 : N_FORMS) * N_VARIANTS * 2; i++) {
        const struct form *form = &forms[i / 2 / N_VARIANTS];
        const int variant = (int)(i / 2) % N_VARIANTS;
        const bool many = i % 2;
        if (large && (many != (variant == 1) || (ops->select == NULL && (variant != 1 || form != forms))))
            continue;
        size_t offset[MAX_LAYERS + 1];
        struct run run = {ops, form, cut(n, many, offset), {0}, n};
        vary(run.param, ops, variant);
        for (int k = 0; k < N_KERNELS; k++) {
            const char *trouble = kernels[k] != NULL ? play(&run, kernels[k], k == 0) : NULL;
            if (trouble != NULL && (*failed)++ < 3)
                printf("# %s, %s, n %zu, %s, form %s, variant %d, %zu layers: %s\n", ops->name, kernel_name[k], n,
                       pattern_name[pattern], form->name, variant, run.layout.n_layers, trouble);
            *runs += kernels[k] != NULL;
        }
    }
}

static void test_everywhere(const struct sg_compressor_ops *ops, const struct sg_kernels *kernels[N_KERNELS],
                            enum pattern pattern) {
    size_t runs = 0, failed = 0;
    for (size_t s = 0; s < N_SIZES && (sizes[s] <= LARGE || (int)pattern < LARGE_PATTERNS); s++)
        if (ops->select != NULL || sizes[s] <= LARGE || (sizes[s] == MAX_N && pattern == NORMAL))
            play_all(ops, kernels, sizes[s], pattern, &runs, &failed);
    ok(failed == 0 && runs > 0, "%s, %s: %zu of %zu runs fail", ops->name, pattern_name[pattern], failed, runs);
}

static void test_nonfinite(const struct sg_compressor_ops *ops, const struct sg_kernels *kernels) {
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    static const char *const name[] = {"conv", "empty", "norm", "head"};
    size_t offset[MAX_LAYERS + 1], missed = 0, unnamed = 0;
    for (size_t f = 0; f < N_FORMS; f++)
        for (size_t v = 0; v < 3; v++)
            for (size_t place = 0; place < 100; place += 9) {
                struct run run = {ops, &forms[f], cut(100, true, offset), {0}, 100};
                struct sg_error err = {.msg = ""};
                struct sg_message m;
                run.layout.name = name;
                vary(run.param, ops, 1);
                sg_method *c = open_run(&run, kernels);
                fill(g, 100, NORMAL, 1);
                memset(e, 0, 100 * sizeof *e);
                g[place] = bad[v];
                float *residual = forms[f].feedback.rule == &sg_feedback_none ? NULL : e;
                missed += one_worker(c, (struct one_step){3, 0.5, 17, NULL}, g, residual, &m, &err) != SG_ERR_NONFINITE;
                unnamed +=
                    strstr(err.msg, "worker 3, step 17") == NULL || strstr(err.msg, place < 33   ? " conv"
                                                                                    : place < 83 ? " norm"
                                                                                                 : " head") == NULL;
                sg_method_close(c);
            }
    ok(missed == 0, "%s, %s: NaN and Inf stop the run (%zu missed)", ops->name, kernels->name, missed);
    ok(unnamed == 0, "%s, %s: the message names worker, step and layer", ops->name, kernels->name);
}

/* A deterministic selector with a bound applied to what it sent sends the same again. Without one it may estimate how
 * much it sends. */
static void test_idempotent(const struct sg_compressor_ops *ops, const struct sg_kernels *kernels) {
    enum { N = 1000 };
    if (ops->traits & SG_TRAIT_RANDOM || ops->select == NULL || ops->bound == NULL)
        return;
    size_t offset[MAX_LAYERS + 1], wrong = 0;
    for (int variant = 0; variant < N_VARIANTS; variant++)
        for (int pattern = 0; pattern < N_PATTERNS; pattern++) {
            struct run run = {ops, &forms[1], cut(N, true, offset), {0}, N};
            struct sg_error err;
            struct sg_message m;
            vary(run.param, ops, variant);
            sg_method *c = open_run(&run, kernels);
            fill(g, N, (enum pattern)pattern, 5);
            wrong += one_worker(c, (struct one_step){3, 1, 0, NULL}, g, NULL, &m, &err) != SG_OK;
            memset(p, 0, N * sizeof *p);
            for (size_t j = 0; j < m.count; j++)
                p[m.index ? m.index[j] : j] = values_of(&m)[j];
            memcpy(g, p, N * sizeof *p);
            memset(p, 0, N * sizeof *p);
            wrong += one_worker(c, (struct one_step){3, 1, 1, NULL}, g, NULL, &m, &err) != SG_OK;
            for (size_t j = 0; j < m.count; j++)
                p[m.index ? m.index[j] : j] = values_of(&m)[j];
            wrong += memcmp(g, p, N * sizeof *p) != 0;
            sg_method_close(c);
        }
    ok(wrong == 0, "%s, %s: idempotent", ops->name, kernels->name);
}

/* What an unbiased compressor sends is x in the mean, and what a random one loses is within its bound in the mean: over
 * DRAWS steps, within five standard deviations of such a mean, which are measured. */
static void test_in_the_mean(const struct sg_compressor_ops *ops) {
    enum { SMALL = 60, DRAWS = 4096 };
    size_t offset[MAX_LAYERS + 1], far = 0, wrong = 0;
    for (int variant = 0; variant < N_VARIANTS; variant++) {
        double sum[SMALL] = {0}, squares[SMALL] = {0}, lost = 0, lost_squares = 0, all = 0;
        float sent[SMALL];
        struct run run = {ops, &forms[1], cut(SMALL, false, offset), {0}, SMALL};
        run.layout.rows = (const size_t[]){6};
        vary(run.param, ops, variant);
        for (size_t i = 0; i < ops->n_params; i++)
            run.param[i] = isnan(run.param[i]) ? ops->params[i].preset : run.param[i];
        given(ops, run.param, "unbiased", 1);
        const unsigned traits = sg_compressor_traits(ops, run.param);
        if (!(traits & (SG_TRAIT_UNBIASED | SG_TRAIT_RANDOM)))
            return;
        sg_method *c = open_run(&run, NULL);
        fill(g, SMALL, NORMAL, 8);
        for (uint64_t t = 0; t < DRAWS; t++) {
            struct sg_error err;
            struct sg_message m = {0};
            double error = 0;
            wrong += one_worker(c, (struct one_step){3, 1, t, NULL}, g, NULL, &m, &err) != SG_OK;
            memset(sent, 0, sizeof sent);
            sg_message_add(sent, &m, 1, &(struct sg_exec){.threads = 1});
            for (size_t i = 0; i < SMALL; i++) {
                sum[i] += (double)sent[i] / DRAWS;
                squares[i] += (double)sent[i] * (double)sent[i] / DRAWS;
                error += ((double)sent[i] - (double)g[i]) * ((double)sent[i] - (double)g[i]);
            }
            lost += error / DRAWS;
            lost_squares += error * error / DRAWS;
        }
        for (size_t i = 0; i < SMALL; i++) {
            const double deviation = sqrt(fmax(0, squares[i] - sum[i] * sum[i]) / DRAWS);
            all += (double)g[i] * (double)g[i];
            far += traits & SG_TRAIT_UNBIASED && !(fabs(sum[i] - (double)g[i]) <= 5 * deviation + 1e-6);
        }
        const double bound = ops->bound != NULL ? ops->bound(run.param, SMALL) : (double)NAN;
        const double most = traits & SG_TRAIT_RELATIVE ? (1 - bound) * all : bound;
        far += !(isnan(bound) || lost <= most * (1 + 1e-6) + 5 * sqrt(fmax(0, lost_squares - lost * lost) / DRAWS));
        sg_method_close(c);
    }
    ok(far == 0 && wrong == 0, "%s: what it sends and loses in the mean (%zu too far off)", ops->name, far);
}

int main(void) {
    const struct sg_kernels *kernels[N_KERNELS];
    const struct sg_compressor_ops *ops;
    g = malloc(MAX_N * sizeof *g);
    e = malloc(MAX_N * sizeof *e);
    p = malloc(MAX_N * sizeof *p);
    for (int t = 0; t < STEPS; t++) {
        gradient[t] = malloc(MAX_N * sizeof *g);
        reference_e[t] = malloc(MAX_N * sizeof *e);
        reference_value[t] = malloc(MAX_N * sizeof *e);
        reference_index[t] = malloc(MAX_N * sizeof **reference_index);
    }
    for (int k = 0; k < N_KERNELS; k++) {
        kernels[k] = sg_kernels_cpu(kernel_name[k]);
        if (kernels[k] == NULL)
            skip("this machine has no %s", kernel_name[k]);
    }
    for (int pattern = 0; pattern < N_PATTERNS; pattern++) {
        for (int t = 0; t < STEPS; t++) /* smaller sizes take its beginning */
            fill(gradient[t], pattern < LARGE_PATTERNS ? MAX_N : LARGE, (enum pattern)pattern, (uint64_t)t);
        for (size_t i = 0; (ops = sg_compressor_at(i)) != NULL; i++)
            if (ops->rounds == NULL)
                test_everywhere(ops, kernels, (enum pattern)pattern);
    }
    for (size_t i = 0; (ops = sg_compressor_at(i)) != NULL; i++) {
        ok(sg_compressor_find(ops->name) == ops && (ops->also == NULL || sg_compressor_find(ops->also) == ops),
           "%s is found by its names", ops->name);
        if (ops->rounds == NULL)
            test_in_the_mean(ops);
        for (int k = 0; k < N_KERNELS; k++)
            if (kernels[k] != NULL && ops->rounds == NULL) {
                test_nonfinite(ops, kernels[k]);
                test_idempotent(ops, kernels[k]);
            }
    }
    free(g);
    free(e);
    free(p);
    for (int t = 0; t < STEPS; t++) {
        free(gradient[t]);
        free(reference_e[t]);
        free(reference_value[t]);
        free(reference_index[t]);
    }
    return tap_done();
}

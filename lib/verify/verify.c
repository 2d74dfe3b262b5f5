/* verify.c: tries a compressor in every way: its settings, the methods that it is opened in, and the list of checks. */
/* SPDX-License-Identifier: MIT */
#include "sg_memory.h"
#include "verify_private.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct sg_verify_meaning sg_verify_meaning[SG_VERIFY_PROPERTIES] = {
    [SG_VERIFY_FORM] = {"form", "messages are well formed, each position in its layer"},
    [SG_VERIFY_BITS] = {"bits", "the bits that a message states are those of its numbers and positions"},
    [SG_VERIFY_CONSERVES] = {"conserves", "what is sent and what is kept are together what was given"},
    [SG_VERIFY_CLASS] = {"class", "the bound that is declared holds for every input"},
    [SG_VERIFY_MEAN] = {"mean", "over 4096 draws within 5 sigma: unbiased, and the bound of a random compressor"},
    [SG_VERIFY_REPEAT] = {"repeat", "a selector that is given what it sent sends the same"},
    [SG_VERIFY_SAME] = {"same-bits", "all kernels, threads and ranks give the same bits"},
    [SG_VERIFY_RESUME] = {"resume", "a run goes on from a checkpoint with the same bits"},
    [SG_VERIFY_EDGES] = {"edges", "one number, and +-2^127: a message of finite numbers, or an error"},
    [SG_VERIFY_NONFINITE] = {"nonfinite", "NaN and Inf stop the run, and the error names worker, step and layer"},
    [SG_VERIFY_DAMAGE] = {"damage", "cut off bytes are refused; wrong bits are refused or give finite numbers"},
};

const char *const verify_table[VERIFY_TABLES] = {"c", "avx2", "avx512"};

void verify_note(struct sg_verdict *v, bool fine, const struct verify_run *run, const char *format, ...) {
    v->runs++;
    if (fine || v->failed++ > 0)
        return;
    size_t used = 0;
    for (size_t i = 0; i < run->ops->n_params && used < sizeof v->example; i++)
        if (!isnan(run->param[i]))
            used += (size_t)snprintf(v->example + used, sizeof v->example - used, "%s=%g ", run->ops->params[i].name,
                                     run->param[i]);
    if (used < sizeof v->example)
        used += (size_t)snprintf(v->example + used, sizeof v->example - used, "n=%zu%s: ", run->n,
                                 run->cut ? " in layers" : "");
    va_list args;
    va_start(args, format);
    if (used < sizeof v->example)
        vsnprintf(v->example + used, sizeof v->example - used, format, args);
    va_end(args);
}

bool verify_give(struct verify_run *run, const char *name, double value) {
    for (size_t i = 0; i < run->ops->n_params; i++)
        if (strcmp(run->ops->params[i].name, name) == 0) {
            run->param[i] = fmin(value, run->ops->params[i].max);
            return true;
        }
    return false;
}

/* A compressor with other parameters is tried with its presets, and with an example where there are none. */
static void vary(struct verify_run *run, int variant) {
    static const double density[VERIFY_VARIANTS] = {0, 0.013, 0.6}, lambda[VERIFY_VARIANTS] = {1.4, 0.75, 0},
                        levels[VERIFY_VARIANTS] = {1, 7, 32767}, bucket[VERIFY_VARIANTS] = {512, 33, 1e6},
                        bits[VERIFY_VARIANTS] = {2, 3, 16};
    for (size_t i = 0; i < run->ops->n_params; i++)
        run->param[i] = NAN;
    if (variant == 0)
        (void)(verify_give(run, "k", 1) || verify_give(run, "density", 1e-3));
    else if (!verify_give(run, "density", density[variant]))
        verify_give(run, "k", variant == 1 ? 7 : 50);
    if (verify_give(run, "density-max", variant == 0 ? 0.02 : density[variant]))
        verify_give(run, "density-min", 0.01);
    verify_give(run, "lambda", lambda[variant]);
    verify_give(run, "tau", variant < 2 ? lambda[variant] : 1e-3);
    verify_give(run, "levels", levels[variant]);
    verify_give(run, "bucket", bucket[variant]);
    verify_give(run, "max-norm", variant == 2);
    verify_give(run, "bits", bits[variant]);
    verify_give(run, "step", lambda[variant]);
    verify_give(run, "error-bound", bits[variant] / 1000);
    verify_give(run, "block", bucket[variant]);
    verify_give(run, "stochastic", variant == 1);
    verify_give(run, "least-error", variant == 1);
    for (size_t i = 0; i < run->ops->n_params; i++)
        run->param[i] =
            isnan(run->param[i]) ? run->ops->params[i].preset : fmax(run->param[i], run->ops->params[i].min);
}

static void cut(struct verify_run *run, size_t n, bool many) {
    run->n = n;
    run->cut = many;
    run->offset[0] = 0;
    run->offset[1] = many ? n / 3 : n;
    run->offset[2] = n / 3; /* an empty layer */
    run->offset[3] = n / 3 + n / 2;
    run->offset[4] = n;
}

static sg_status open_method(sg_method **out, const struct verify_run *run, size_t first, size_t count,
                             const struct sg_kernels *kernels, int threads, struct sg_error *err) {
    static const char *const name[VERIFY_CUTS] = {"conv", "empty", "norm", "head"};
    const size_t rows[VERIFY_CUTS] = {run->rows, run->rows, run->rows, run->rows};
    const struct sg_method_config config = {
        .size = sizeof(struct sg_method_config),
        .compressor = run->ops,
        .param = run->param,
        .layout = {run->cut ? VERIFY_CUTS : 1, run->offset, name, run->rows > 0 ? rows : NULL},
        .feedback = run->feedback,
        .seed = 42,
        .workers = run->workers,
        .first = first,
        .count = count,
        .kernels = kernels,
        .exec = {.threads = threads},
        .steps_per_epoch = 1};
    return sg_method_open(out, &config, err);
}

void verify_set(struct verify_run *run, int variant, size_t n, bool many, size_t workers) {
    struct sg_error err;
    sg_method *m;
    vary(run, variant);
    cut(run, n, many);
    run->workers = workers;
    if (open_method(&m, run, workers - 1, 1, NULL, 1, &err) == SG_OK)
        sg_method_close(m);
    else
        sg_compressor_example(run->ops, 0.1, 2, run->param);
}

sg_method *verify_method(const struct verify_run *run, size_t first, size_t count, const struct sg_kernels *kernels,
                         int threads, struct sg_verdict *v) {
    struct sg_error err;
    sg_method *m;
    if (open_method(&m, run, first, count, kernels, threads, &err) == SG_OK)
        return m;
    verify_note(v, false, run, "it cannot be opened: %s", err.msg);
    return NULL;
}

/* ---- opening, and all checks ---- */

static void allocate(sg_verify *v) {
    v->g = sg_malloc(v->room * sizeof *v->g);
    v->e = sg_malloc(v->room * sizeof *v->e);
    v->p = sg_malloc(v->room * sizeof *v->p);
    v->bytes = sg_malloc(8 * v->room + 4096);
    for (int t = 0; t < VERIFY_STEPS; t++) {
        v->first_e[t] = sg_malloc(v->room * sizeof(float));
        v->first_value[t] = sg_malloc(v->room * sizeof(float));
        v->first_index[t] = sg_malloc(v->room * sizeof(uint32_t));
        for (int pattern = 0; pattern < SG_PATTERNS; pattern++)
            v->gradient[pattern][t] = sg_malloc(v->room * sizeof(float));
    }
}

sg_verify *sg_verify_open(size_t longest) {
    sg_verify *v = sg_calloc(1, sizeof *v);
    v->room = longest;
    allocate(v);
    for (int pattern = 0; pattern < SG_PATTERNS; pattern++)
        for (int t = 0; t < VERIFY_STEPS; t++) /* shorter inputs take the beginning */
            sg_pattern_fill(v->gradient[pattern][t],
                            pattern <= SG_PATTERN_EQUAL || v->room < VERIFY_MORE ? v->room : VERIFY_MORE,
                            (enum sg_pattern)pattern, (uint64_t)t);
    return v;
}

void sg_verify_close(sg_verify *v) {
    if (!v)
        return;
    free(v->g);
    free(v->e);
    free(v->p);
    free(v->bytes);
    for (int t = 0; t < VERIFY_STEPS; t++) {
        free(v->first_e[t]);
        free(v->first_value[t]);
        free(v->first_index[t]);
        for (int pattern = 0; pattern < SG_PATTERNS; pattern++)
            free(v->gradient[pattern][t]);
    }
    free(v);
}

/* A class is tested against its bound, and where there are several rounds no message has one of its own. */
static void find_untested(const struct sg_compressor_ops *ops, struct sg_verdict *v) {
    enum { UNTESTED = 1000 }; /* elements */
    if (v->failed > 0)
        return;
    for (int variant = 0; variant < VERIFY_VARIANTS; variant++) {
        struct verify_run run = {.ops = ops, .feedback = {&sg_feedback_none, 1, {0}}, .gamma = 1};
        verify_set(&run, variant, UNTESTED, false, VERIFY_WORKER + 1);
        const unsigned traits = sg_compressor_traits(ops, run.param);
        const bool relative = traits & SG_TRAIT_RELATIVE, biased = !(traits & SG_TRAIT_UNBIASED);
        const bool tested = !ops->rounds || v->runs > 0;
        const double bound = ops->bound ? ops->bound(run.param, UNTESTED) : (double)NAN;
        if (!(traits & (SG_TRAIT_RELATIVE | SG_TRAIT_ABSOLUTE)) || traits & SG_TRAIT_EXACT ||
            (tested && isfinite(bound) && !(relative && biased && bound <= 0)))
            continue;
        v->untested = true;
        const char *declared = relative ? "relative" : "absolute";
        if (!ops->bound)
            snprintf(v->example, sizeof v->example, "it declares that it is %s, but has no 'bound' to say by how much",
                     declared);
        else if (!tested)
            snprintf(v->example, sizeof v->example, "it declares that it is %s, which no message of a round shows",
                     declared);
        else
            snprintf(v->example, sizeof v->example, "it declares that it is %s, but its 'bound' of %d elements is %g",
                     declared, UNTESTED, bound);
        return;
    }
}

void sg_verify_compressor(sg_verify *v, const struct sg_compressor_ops *ops,
                          struct sg_verdict out[SG_VERIFY_PROPERTIES]) {
    memset(out, 0, SG_VERIFY_PROPERTIES * sizeof *out);
    if (!ops->rounds) {
        verify_messages(v, ops, out);
        if (out[SG_VERIFY_FORM].failed > 0) /* then a step stops with an error, and nothing else can be seen */
            return;
        verify_repeat(v, ops, out);
        verify_damage(v, ops, out);
    }
    verify_class(v, ops, out);
    verify_mean(v, ops, out);
    verify_workers(v, ops, out);
    verify_edges(v, ops, out);
    verify_nonfinite(v, ops, out);
    find_untested(ops, &out[SG_VERIFY_CLASS]);
}

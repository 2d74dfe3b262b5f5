/* tune_advise.c: --advise: which compressor makes the steps of a training faster, and what it loses, from recorded
 * gradients, the times of compression on this machine and a modelled network. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sg_kernels.h"
#include "sg_memory.h"
#include "sg_recording.h"
#include "sg_text.h"
#include "tune_advise.h"

/* As a share of |g|^2: half of a step's gradient may be late or lost. The evidence is in results/ADVICE.md. */
static const double TOLERANCE = 0.5;

/* ---- options ---- */

static sg_status read_options(struct advise *a, struct sg_error *err) {
    const char *from = a->t->candidates ? a->t->candidates : "built-in";
    a->own = strcmp(from, "recipe") == 0;
    if (!a->own && strcmp(from, "built-in") != 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "--candidates=%s: must be built-in or recipe", from);
    const char *by = a->t->error ? a->t->error : advise_error_word(ADVISE_RELATIVE);
    while (a->by < ADVISE_ERRORS && strcmp(by, advise_error_word(a->by)) != 0)
        a->by++;
    if (a->by == ADVISE_ERRORS)
        return sg_fail(err, SG_ERR_ARGUMENT, "--error=%s: must be relative, mean, lag or drift", by);
    const sg_status status = tune_network_read(&a->network, &a->assumed, a->t, err);
    if (status == SG_OK && advise_times_coding(a))
        snprintf(a->network.processor, sizeof a->network.processor, "this machine"); /* for titles */
    return status;
}

/* The share of a run that is recorded, and the largest size of the recording. */
static const double SHARE = 0.1, MOST_BYTES = 4e9;
enum { LEAST_STEPS = 10 };

/* ---- the first tenth of a run ---- */

static bool is_whole(const char *files) {
    struct sg_error unused;
    struct sg_recording r;
    const bool whole = sg_recording_open(&r, files, &unused) == SG_OK;
    if (whole)
        sg_recording_free(&r);
    return whole;
}

/* Runs `steps` steps without compression, and records their gradients if `records`. */
static sg_status run_dense(struct tune_trials *b, struct advise *a, double steps, bool records, struct sg_error *err) {
    struct sg_node methods = {.kind = SG_NODE_LIST};
    struct sg_tune with = *a->t;
    tune_trials_start(b, a->t, NULL);
    tune_change_first(&b->changes, steps);
    tune_change_record(&b->changes, steps, false, "learning-rate");
    advise_push_baseline(&methods, a);
    tune_change_value(&b->changes, "methods", &methods);
    sg_status status = tune_trials_open(b, NULL, NULL, 1, err);
    if (status == SG_OK && records) {
        a->files = sg_format("%s/first-%.0f-steps-%.12s.gradients", with.grid.folder, steps, b->cells[0].key);
        status = SG_OK;
        with.grid.record_gradients = a->files;
        with.grid.fresh = with.grid.fresh || (a->files && !is_whole(a->files));
    }
    SG_DO(status, tune_trials_run(b, &with, true, err));
    return status;
}

/* Runs one step, to find the number of elements and of steps. */
static sg_status record_first(struct advise *a, struct sg_error *err) {
    struct tune_trials b;
    double steps = 0;
    sg_status status = run_dense(&b, a, 1, false, err);
    if (status == SG_OK) {
        const struct sg_run *run = &b.outcomes[0].run;
        const double d = sg_json_number(run->header, "constants.d", NAN),
                     workers = sg_node_number(&a->t->recipe->root, "workers", 1),
                     all = tune_length(&a->t->recipe->root, 1 / sg_run_last(run, "epoch")).steps;
        a->gamma = sg_run_last(run, "learning_rate");
        steps = fmin(fmax(LEAST_STEPS, floor(SHARE * all)), fmax(LEAST_STEPS, floor(MOST_BYTES / (workers * 4 * d))));
        steps = fmin(steps, all);
        a->share = steps / all;
    }
    tune_trials_close(&b);
    SG_DO(status, run_dense(&b, a, steps, true, err));
    tune_trials_close(&b);
    return status;
}

/* ---- the contents of the files ---- */

static sg_status add_squares(struct advise *a, struct sg_error *err) {
    const struct sg_kernels *kernels = sg_kernels_cpu(NULL);
    const struct sg_exec exec = {.threads = 1};
    float *g = sg_malloc(a->d * sizeof *g);
    sg_status status = SG_OK;
    if (!kernels)
        status = sg_fail(err, SG_ERR_UNSUPPORTED, "SG_CPU=%s: this machine has no such kernels (c, avx2, avx512)",
                         getenv("SG_CPU"));
    for (size_t t = 0; status == SG_OK && t < a->steps; t++) {
        for (size_t w = 0; status == SG_OK && w < a->workers; w++) {
            status = sg_gradients_read(a->gradients, t, w, g, err);
            if (status == SG_OK)
                a->square += kernels->sum_squares(&exec, g, a->d) / (double)a->workers;
        }
        if (a->t->grid.stop && a->t->grid.stop())
            status = sg_fail(err, SG_ERR_INTERRUPTED, "stopped while reading the gradients");
        if (a->t->progress)
            a->t->progress("reading the gradients", (double)(t + 1), (double)a->steps);
    }
    free(g);
    if (status == SG_OK && !isfinite(a->square))
        return sg_fail(err, SG_ERR_NONFINITE, "%s: not all gradients are finite", a->files);
    if (status == SG_OK && !(a->square > 0))
        return sg_fail(err, SG_ERR_ARGUMENT, "%s: all gradients are zero, which tells nothing about compressors",
                       a->files);
    return status;
}

static sg_status find_gradients(struct advise *a, struct sg_error *err) {
    const struct sg_node *root = &a->t->recipe->root;
    struct sg_gradients_request request = sg_gradients_requested(sg_node_get(root, "task"));
    sg_status status = SG_OK;
    if (a->recorded_here) {
        status = record_first(a, err);
    } else {
        a->files = sg_strdup(request.files);
        status = SG_OK;
    }
    request.files = a->files;
    if (status == SG_OK && (status = sg_gradients_open(&a->gradients, &request, err)) != SG_OK)
        return sg_prefix(err, "task.files: ");
    if (status != SG_OK)
        return status;
    const struct sg_gradients_facts *f = sg_gradients_look(a->gradients);
    a->workers = (size_t)sg_node_number(root, "workers", 1);
    a->d = f->d;
    if (a->workers > f->workers)
        return sg_fail(err, SG_ERR_ARGUMENT, "%zu workers, and task.files hold the gradients of %zu", a->workers,
                       f->workers);
    const double asked = a->recorded_here ? INFINITY : tune_length(root, (double)f->steps_per_epoch).steps;
    a->steps = asked < (double)f->steps ? (size_t)asked : (size_t)f->steps;
    return add_squares(a, err);
}

/* ---- the replays ---- */

/* The changes of replays, all but the methods. */
static void change_replay(struct advise *a) {
    struct tune_changes *c = &a->trials.changes;
    struct sg_node files = {.kind = SG_NODE_NULL};
    tune_trials_start(&a->trials, a->t, NULL);
    tune_change_length(c, NULL, (double)a->steps);
    tune_change_record(c, 1, true,
                       "error-norm, total-error, density, density-padded, average-density, bits, bytes-sent, "
                       "compression-error, compression-bias, compression-bias-sigma");
    tune_change(c, "{record.layers: true, seeds: [%.0f]}", sg_node_number(&a->t->recipe->root, "seeds.0", 1));
    if (a->recorded_here) {
        tune_change(c, "{batch: null, total-batch: null, task: null, task.kind: recorded}");
        sg_node_set_string(&files, a->files, strlen(a->files));
        tune_change_value(c, "task.files", &files);
        tune_change(c, "{optimizer: null, optimizer.kind: sgd, optimizer.learning-rate: %.17g}", a->gamma);
    }
    a->replay = *a->t;
    a->replay.grid.device = NULL; /* gradients are replayed on the CPU */
    a->replay.grid.launcher = NULL;
}

static const struct advise_candidate unknown = {.bytes = NAN,
                                                .error = {NAN, NAN, NAN, NAN},
                                                .error_over_least = NAN,
                                                .encode_s = NAN,
                                                .add_s = NAN,
                                                .coding_s = NAN,
                                                .exposed_s = NAN,
                                                .step_s = NAN,
                                                .speedup = NAN};

static sg_status run_candidates(struct advise *a, struct sg_error *err) {
    change_replay(a);
    sg_status status = advise_methods(a, err);
    SG_DO(status, tune_trials_open(&a->trials, NULL, NULL, 1, err));
    SG_DO(status, tune_trials_run(&a->trials, &a->replay, false, err));
    if (status != SG_OK)
        return status;
    a->n = a->trials.count;
    a->candidate = sg_calloc(a->n, sizeof *a->candidate);
    a->list = sg_calloc(a->n, sizeof *a->list);
    a->baseline = a->n;
    for (size_t i = 0; i < a->n; i++) {
        struct advise_candidate *c = &a->candidate[i];
        *c = unknown;
        c->cell = &a->trials.cells[i];
        c->outcome = &a->trials.outcomes[i];
        c->baseline = a->baseline == a->n && strcmp(c->cell->name, advise_baseline(a)) == 0;
        if (c->baseline)
            a->baseline = i;
        if (strcmp(sg_grid_status(c->outcome), "ok") != 0)
            snprintf(c->why, sizeof c->why, "its replay diverged");
    }
    return SG_OK;
}

static sg_status measure_candidates(struct advise *a, struct sg_error *err) {
    sg_status status = SG_OK;
    a->threads = a->t->grid.threads > 0 ? a->t->grid.threads : 1;
    for (size_t i = 0; status == SG_OK && i < a->n; i++) {
        struct advise_candidate *c = &a->candidate[i];
        if (a->t->progress)
            a->t->progress(advise_times_coding(a) ? "errors and times of compression" : "errors of compression",
                           (double)i, (double)a->n);
        if (!c->why[0])
            status = advise_replay(a, c, err);
        if (status == SG_OK && !c->why[0])
            status = advise_measure(a, c, err);
    }
    return status;
}

static void close_advise(struct advise *a) {
    sg_gradients_close(a->gradients);
    tune_trials_close(&a->trials);
    free(a->files);
    free(a->price);
    cJSON_Delete(a->left_out);
    for (size_t i = 0; a->candidate && i < a->n; i++)
        free(a->candidate[i].hook);
    free(a->candidate);
    free(a->list);
}

/* The modelled speed-up of a step of the candidate whose label, but for its length, is this one; NaN = none. */
static double speedup_of(const struct advise *a, const struct sg_frame_label *label) {
    for (size_t i = 0; i < a->n; i++) {
        const char *own = a->candidate[i].cell->label;
        const size_t length = strlen(own);
        if (strncmp(label->label, own, length) == 0 &&
            (!label->label[length] || strncmp(label->label + length, " stretch=", 9) == 0))
            return a->candidate[i].speedup;
    }
    return NAN;
}

static sg_status find_price(struct advise *a, struct sg_error *err) {
    struct tune_prices prices;
    const sg_status status = tune_prices_open(&prices, a->t, err);
    double *speedup = sg_calloc(prices.n + 1, sizeof *speedup);
    bool known = false;
    for (size_t i = 0; i < prices.n; i++) {
        speedup[i] = speedup_of(a, prices.price[i].label);
        known = known || !isnan(speedup[i]);
    }
    if (status == SG_OK)
        a->price = tune_price_text(&prices, known ? speedup : NULL, "With the modelled steps below");
    free(speedup);
    tune_prices_close(&prices);
    return status;
}

static sg_status advise(struct advise *a, struct sg_error *err) {
    sg_status status = find_gradients(a, err);
    SG_DO(status, run_candidates(a, err));
    SG_DO(status, measure_candidates(a, err));
    SG_DO(status, advise_rank(a, err));
    SG_DO(status, find_price(a, err));
    SG_DO(status, a->t->emits ? advise_recipe(a, err) : SG_OK);
    if (status == SG_OK)
        advise_document(a);
    return status;
}

sg_status sg_tune_advise(struct sg_tune *t, struct sg_error *err) {
    struct advise a = {.t = t,
                       .tolerance = isnan(t->tolerance) ? TOLERANCE : t->tolerance,
                       .share = NAN,
                       .left_out = cJSON_CreateArray()};
    sg_status status = read_options(&a, err);
    a.recorded_here = strcmp(sg_node_string(&t->recipe->root, "task.kind", ""), "recorded") != 0;
    if (status == SG_OK && t->dry_run) {
        tune_say(t, "%s under %s methods, modelled on %zu workers and the link %s",
                 a.recorded_here ? "gradients of the first tenth of a run"
                                 : sg_node_string(&t->recipe->root, "task.files", ""),
                 a.own ? "the recipe's" : "built-in", a.network.net.workers, a.network.net.between.name);
    } else if (status == SG_OK) {
        status = advise(&a, err);
    }
    close_advise(&a);
    return status;
}

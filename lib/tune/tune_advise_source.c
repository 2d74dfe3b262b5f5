/* tune_advise_source.c: the gradients that --advise uses: those that a recipe of kind `recorded` names, or the first
 * tenth of a run without compression, which it records. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_kernels.h"
#include "sg_recording.h"
#include "sg_text.h"
#include "tune_advise.h"

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
    struct tune_changes c;
    struct sg_node methods = {.kind = SG_NODE_LIST};
    struct sg_tune with = *a->t;
    tune_changes_start(&c, a->t, NULL);
    tune_change_length(&c, NULL, steps);
    tune_change_record(&c, steps, false, "learning-rate");
    c.lost = !advise_push_baseline(&methods, a) || c.lost;
    tune_change_value(&c, "methods", &methods);
    sg_status status = tune_trials_open(b, &c, NULL, NULL, 1, err);
    if (status == SG_OK && records) {
        a->files = sg_format("%s/first-%.0f-steps-%.12s.gradients", with.grid.folder, steps, b->cells[0].key);
        status = a->files ? SG_OK : sg_fail_memory(err, "the recording");
        with.grid.record_gradients = a->files;
        with.grid.fresh = with.grid.fresh || (a->files && !is_whole(a->files));
    }
    SG_DO(status, tune_trials_run(b, &with, true, err));
    tune_changes_free(&c);
    return status;
}

/* Runs one step, to find the number of elements and of steps. */
static sg_status record_first(struct advise *a, struct sg_error *err) {
    struct tune_trials b = {.count = 0};
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
    float *g = malloc(a->d * sizeof *g);
    sg_status status = g ? SG_OK : sg_fail_memory(err, "a gradient");
    if (status == SG_OK && !kernels)
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

sg_status advise_source(struct advise *a, struct sg_error *err) {
    const struct sg_node *root = &a->t->recipe->root;
    const char *layers = sg_node_string(root, "task.layers", NULL);
    const char *layers_file = sg_node_string(root, "task.layers-file", NULL);
    sg_status status = SG_OK;
    if (a->recorded_here) {
        status = record_first(a, err);
    } else {
        a->files = strdup(sg_node_string(root, "task.files", ""));
        status = a->files ? SG_OK : sg_fail_memory(err, "the recording");
    }
    if (status == SG_OK && (status = sg_gradients_open(&a->gradients, a->files, layers, layers_file, err)) != SG_OK)
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

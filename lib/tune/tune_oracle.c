/* tune_oracle.c: --oracle: Lemma 3 of a recorded run (sg_lemma3_oracle.h); --oracle=feedback: on the gradients of a
 * recipe of task `recorded`, the error of each method beside the least for as many entries (sg_feedback_oracle.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_feedback.h"
#include "sg_feedback_oracle.h"
#include "sg_gradients.h"
#include "sg_host.h"
#include "sg_lemma3_oracle.h"
#include "tune_private.h"

/* ---- --oracle=feedback ---- */

struct compared {
    const struct sg_cell *cell;
    const char *reason; /* why the least is not that of this method; NULL = it is */
    double own, mean;   /* over the sum of |g|^2 */
    struct sg_feedback_least least;
};

struct comparison {
    struct tune_trials trials;
    sg_gradients *gradients;
    const char *files;
    struct sg_feedback_gradients source;
    struct compared *method; /* [n] */
    size_t n;
    double square;
};

static sg_status read_gradient(void *of, uint64_t step, size_t worker, float *g, struct sg_error *err) {
    return sg_gradients_read(of, step, worker, g, err);
}

static sg_status open_gradients(struct comparison *c, const struct sg_tune *t, struct sg_error *err) {
    const struct sg_node *root = &t->recipe->root;
    c->files = sg_node_string(root, "task.files", "");
    if (strcmp(sg_node_string(root, "task.kind", ""), "recorded") != 0)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "%s: --oracle=feedback compares methods on given gradients: give a recipe of task recorded, of "
                       "files that sparsetrain --record-gradients or another program wrote",
                       t->recipe->path);
    const struct sg_gradients_request request = sg_gradients_requested(sg_node_get(root, "task"));
    const sg_status status = sg_gradients_open(&c->gradients, &request, err);
    if (status != SG_OK)
        return sg_prefix(err, "task.files: ");
    const struct sg_gradients_facts *f = sg_gradients_look(c->gradients);
    c->source = (struct sg_feedback_gradients){.steps = f->steps,
                                               .workers = (size_t)sg_node_number(root, "workers", 1),
                                               .d = f->d,
                                               .read = read_gradient,
                                               .of = c->gradients};
    return SG_OK;
}

/* Why the least is not that of this method, or NULL. */
static const char *unlike(const struct sg_cell *cell, const struct sg_run *run) {
    const struct sg_node *r = &cell->resolved;
    const struct sg_compressor_ops *compressor = sg_compressor_find(sg_node_string(cell->method, "compressor", ""));
    const struct sg_feedback_rule *rule = sg_feedback_find(sg_node_string(r, "error-feedback.form", "update"));
    const double *rate = sg_run_series(run, "learning_rate");
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < run->n_points; i++) {
        least = fmin(least, rate[i]);
        most = fmax(most, rate[i]);
    }
    return !compressor || !compressor->select ||
                   strcmp(sg_node_string(cell->method, "values.code", "fp32"), "fp32") != 0
               ? "it sends other numbers than entries"
           : !tune_sums_gradients(r)                                  ? "its residual is no sum of gradients"
           : (rule->in_updates || rule->follows_rate) && most > least ? "its learning rate changes"
           : sg_node_number(r, "participation", 1) < 1                ? "not all of its workers take part"
                                                                      : NULL;
}

static void compare(struct compared *m, const struct comparison *c, const struct sg_cell *cell,
                    const struct sg_run *run) {
    const double *step = sg_run_series(run, "step"), *mean = sg_run_series(run, "error_mean_norm");
    const double total = sg_run_last(run, "total_error");
    m->cell = cell;
    m->reason = unlike(cell, run);
    m->own = sg_run_last(run, "error_relative");
    for (size_t i = 0; i < run->n_points; i++)
        m->mean += step[i] > 0 ? mean[i] : 0;
    m->mean *= total > 0 ? m->own / total : 0;
    m->least.sent = (uint64_t)rint(sg_run_last(run, "average_density") * (double)c->source.d * (double)c->source.steps *
                                   (double)c->source.workers);
}

static sg_status play(struct comparison *c, struct sg_tune *t, struct sg_error *err) {
    struct tune_changes *changes = &c->trials.changes;
    tune_trials_start(&c->trials, t, NULL);
    tune_change(changes, "{claims: null, plots: null, network: null}");
    tune_change_record(changes, 1, false,
                       "average-density, total-error, error-relative, error-mean-norm, learning-rate");
    sg_status status = tune_trials_open(&c->trials, NULL, NULL, 1, err);
    SG_DO(status, tune_trials_run(&c->trials, t, true, err));
    if (status != SG_OK)
        return status;
    c->method = calloc(c->trials.count + 1, sizeof *c->method);
    if (!c->method)
        return sg_fail_memory(err, "the oracle");
    for (; status == SG_OK && c->n < c->trials.count; c->n++) {
        const struct sg_run *run = &c->trials.outcomes[c->n].run;
        const double steps = sg_json_number(run->end, "steps", NAN);
        c->source.steps = c->n == 0 ? (uint64_t)steps : c->source.steps;
        if (steps != (double)c->source.steps)
            status = sg_fail(err, SG_ERR_ARGUMENT,
                             "%s: '%s' has %.0f steps and others have %.0f: the least is for one "
                             "length of all methods",
                             t->recipe->path, c->trials.cells[c->n].label, steps, (double)c->source.steps);
        else
            compare(&c->method[c->n], c, &c->trials.cells[c->n], run);
    }
    return status;
}

static sg_status find_least(struct comparison *c, const struct sg_tune *t, struct sg_error *err) {
    const struct sg_feedback_options options = {
        .threads = t->grid.threads > 0 ? t->grid.threads : sg_threads(1), .stop = t->grid.stop, .progress = t->progress};
    struct sg_feedback_least *least = calloc(c->n + 1, sizeof *least);
    size_t n = 0;
    if (!least)
        return sg_fail_memory(err, "the oracle");
    for (size_t i = 0; i < c->n; i++)
        if (!c->method[i].reason)
            least[n++].sent = c->method[i].least.sent;
    const sg_status status = sg_feedback_oracle(least, n, &c->square, &c->source, &options, err);
    n = 0;
    for (size_t i = 0; status == SG_OK && i < c->n; i++)
        if (!c->method[i].reason)
            c->method[i].least = least[n++];
    free(least);
    return status;
}

static cJSON *least_json(const struct comparison *c, const struct sg_feedback_error *e) {
    return SG_OBJECT(SG_NUMBER("bound", e->bound / c->square), SG_NUMBER("bound_price", e->bound_price),
                     SG_NUMBER("attained", e->attained / c->square),
                     SG_NUMBER("attained_sent", (double)e->attained_sent),
                     SG_NUMBER("attained_price", e->attained_price));
}

static cJSON *comparison_json(const struct comparison *c) {
    const struct sg_feedback_gradients *s = &c->source;
    const double entries = (double)s->steps * (double)s->workers * (double)s->d;
    cJSON *methods = cJSON_CreateArray();
    for (size_t i = 0; i < c->n; i++) {
        const struct compared *m = &c->method[i];
        sg_json_push(methods,
                     SG_OBJECT(SG_TEXT("label", m->cell->label), SG_TEXT("left_out", m->reason),
                               SG_NUMBER("sent", m->least.sent), SG_NUMBER("density", (double)m->least.sent / entries),
                               SG_NUMBER("error_relative", m->own), SG_NUMBER("error_mean_relative", m->mean),
                               SG_VALUE("least", m->reason ? NULL : least_json(c, &m->least.own)),
                               SG_VALUE("least_mean", m->reason ? NULL : least_json(c, &m->least.mean))));
    }
    return SG_OBJECT(SG_TEXT("of", "feedback"), SG_TEXT("files", c->files), SG_NUMBER("steps", (double)s->steps),
                     SG_NUMBER("workers", (double)s->workers), SG_NUMBER("d", (double)s->d),
                     SG_NUMBER("gradient_square", c->square), SG_VALUE("methods", methods));
}

static const struct sg_table_column feedback_columns[] = {
    {.head = "method", .weight = SG_TABLE_ALWAYS},
    {.head = "sent, %", .align = SG_TABLE_RIGHT, .weight = SG_TABLE_ALWAYS},
    {.head = "error", .align = SG_TABLE_RIGHT, .weight = 2},
    {.head = "least", .align = SG_TABLE_RIGHT, .weight = 2},
    {.head = "error / least", .align = SG_TABLE_RIGHT, .weight = SG_TABLE_ALWAYS},
    {.head = "of the mean", .align = SG_TABLE_RIGHT, .weight = 2},
    {.head = "found", .align = SG_TABLE_RIGHT, .weight = 2},
    {.head = "bound", .align = SG_TABLE_RIGHT, .weight = 2},
    {.head = "mean / found", .align = SG_TABLE_RIGHT, .weight = SG_TABLE_ALWAYS},
};

static bool put_feedback(FILE *out, const struct sg_tune *t, const void *of) {
    const struct comparison *c = of;
    sg_table *table = sg_table_open(feedback_columns, sizeof feedback_columns / sizeof *feedback_columns);
    const double entries = (double)c->source.steps * (double)c->source.workers * (double)c->source.d;
    fprintf(
        out,
        "# error feedback on %s: %llu steps of %zu workers, %zu parameters\n"
        "# error: sum |e|^2 / sum |g|^2; least: of all choices of as many entries; of the mean: of e over workers\n",
        c->files, (unsigned long long)c->source.steps, c->source.workers, c->source.d);
    for (size_t i = 0; i < c->n; i++) {
        const struct compared *m = &c->method[i];
        const struct sg_feedback_least *l = &m->least;
        const double known = m->reason ? NAN : c->square;
        if (m->reason)
            fprintf(out, "# %s: no least, %s\n", m->cell->label, m->reason);
        sg_table_cell(table, m->cell->label, NULL);
        sg_table_number(table, "%.4g", 100 * (double)l->sent / entries);
        sg_table_number(table, "%.5g", m->own);
        sg_table_number(table, "%.5g", l->own.bound / known);
        sg_table_number(table, "%.4f", m->own / (l->own.bound / known));
        sg_table_number(table, "%.5g", m->mean);
        sg_table_number(table, "%.5g", l->mean.attained / known);
        sg_table_number(table, "%.5g", l->mean.bound / known);
        sg_table_number(table, "%.4f", m->mean / (l->mean.attained / known));
    }
    return tune_put_table(out, table, t);
}

static sg_status compare_feedback(struct sg_tune *t, struct sg_error *err) {
    struct comparison c = {.n = 0};
    sg_status status = open_gradients(&c, t, err);
    if (status == SG_OK && !t->dry_run) {
        status = play(&c, t, err);
        SG_DO(status, find_least(&c, t, err));
        SG_DO(status, tune_show(t, tune_evidence(t, "oracle", comparison_json(&c)), put_feedback, &c, err));
    }
    sg_gradients_close(c.gradients);
    free(c.method);
    tune_trials_close(&c.trials);
    return status;
}

/* ---- --oracle=RECORDING ---- */

static const struct sg_table_column columns[] = {
    {.head = "method", .weight = SG_TABLE_ALWAYS},
    {.head = "sent, %", .align = SG_TABLE_RIGHT, .weight = 2},
    {.head = "error", .align = SG_TABLE_RIGHT, .weight = 2},
    {.head = "least error", .align = SG_TABLE_RIGHT, .weight = 2},
    {.head = "regret", .align = SG_TABLE_RIGHT, .weight = 1},
    {.head = "error / least", .align = SG_TABLE_RIGHT, .weight = SG_TABLE_ALWAYS},
    {.head = "lambda of as many", .align = SG_TABLE_RIGHT, .weight = SG_TABLE_ALWAYS},
};

static bool put_table(FILE *out, const struct sg_tune *t, const void *of) {
    const struct sg_oracle *o = of;
    sg_table *table = sg_table_open(columns, sizeof columns / sizeof *columns);
    const double entries = (double)o->entries;
    fprintf(out,
            "# what '%s', seed %llu, compressed: %llu steps of %zu workers, %zu parameters\n"
            "# sent %llu entries, %.4g %%: lambda %.6g (down to %.6g), least total error %.6g\n",
            o->cell->label, (unsigned long long)o->cell->seed, (unsigned long long)o->steps, o->workers, o->d,
            (unsigned long long)o->best.k, 100 * (double)o->best.k / entries, o->best.kept_last, o->best.lost_most,
            o->best.lost);
    for (size_t i = 0; i < o->n_methods; i++) {
        const struct sg_oracle_method *m = &o->method[i];
        sg_table_cell(table, m->cell->label, NULL);
        sg_table_number(table, "%.4g", 100 * (double)m->sent / entries);
        sg_table_number(table, "%.6g", m->error);
        sg_table_number(table, "%.6g", m->best.lost);
        sg_table_number(table, "%.6g", sg_oracle_regret(m));
        sg_table_number(table, "%.4f", m->best.lost > 0 ? m->error / m->best.lost : 1);
        sg_table_number(table, "%.6g", m->best.kept_last);
    }
    return tune_put_table(out, table, t);
}

sg_status sg_tune_oracle(struct sg_tune *t, struct sg_error *err) {
    struct sg_oracle oracle = {0};
    const struct sg_oracle_options options = {
        .threads = t->grid.threads > 0 ? t->grid.threads : sg_threads(1), .stop = t->grid.stop, .progress = t->progress};
    if (strcmp(t->recording, "feedback") == 0)
        return compare_feedback(t, err);
    if (t->dry_run)
        return SG_OK;
    sg_status status = sg_oracle_run(&oracle, t->recording, t->cells, t->n_cells, &options, err);
    SG_DO(status, tune_show(t, tune_evidence(t, "oracle", sg_oracle_json(&oracle)), put_table, &oracle, err));
    sg_oracle_free(&oracle);
    return status;
}

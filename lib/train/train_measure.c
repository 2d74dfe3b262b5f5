/* train_measure.c: the numbers that are recorded of a step. results/DEFINITIONS.md has their formulas. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sg_debug.h"
#include "sg_json.h"
#include "sg_memory.h"
#include "train_private.h"

/* ---- one worker's, sent along with its message ----------------------------------------------------------------- */

/* |p - C(p)|^2 / |p|^2; 0 for p = 0. With feedback e = p - C(p), so p is e and what was sent. Without it p = g. */
static double compression_error(const struct train *t, size_t w, const float *g, double error_norm) {
    const struct sg_exec *exec = &t->worker_exec;
    const struct sg_message *m = &t->worker[w].message;
    const struct sg_entries sent = {m->index, sg_method_values(t->method, t->first + w, m), m->count};
    const float *e = t->worker[w].residual;
    double lost = error_norm, all;
    if (sg_method_is_exact(t->method))
        return 0;
    if (e) {
        all = error_norm + t->kernels->dot_shifted(exec, &sent, e, 2);
    } else {
        all = t->kernels->sum_squares(exec, g, t->d);
        lost = fmax(0, all + t->kernels->dot_shifted(exec, &sent, g, -2)); /* rounding can make it negative */
    }
    return all > 0 ? lost / all : 0;
}

/* entries [n_layers of the task] += how many of the message lie in each layer. */
static sg_status count_entries(const struct train *t, const struct sg_message *m, double *entries,
                               struct sg_error *err) {
    const struct sg_layout *layout = &t->info->layout;
    const bool whole = t->config.layout.offset == t->whole;
    uint32_t *index = whole && m->index ? sg_malloc(m->count * sizeof *index + 1) : NULL;
    sg_status status = !whole || !m->index ? SG_OK : train_get(t, index, m->index, m->count * sizeof *index, err);
    for (size_t l = 0, j = 0; status == SG_OK && l < layout->n_layers; l++) { /* indices ascend: one walk counts them */
        const size_t before = j;
        while (index && j < m->count && index[j] < layout->offset[l + 1])
            j++;
        entries[l] += (double)(index    ? j - before
                               : !whole ? m->layer_count[l]
                                        : layout->offset[l + 1] - layout->offset[l]);
    }
    free(index);
    return status;
}

/* value [LAYER_COLUMNS][n_layers of the task] <- the norms of local worker w's residual in each layer. */
static void measure_layers(const struct train *t, size_t w, double *value) {
    const struct sg_layout *layout = &t->info->layout;
    const float *e = t->worker[w].residual;
    const size_t n = layout->n_layers;
    for (size_t l = 0; l < n; l++) {
        const size_t begin = layout->offset[l], size = layout->offset[l + 1] - begin;
        value[LAYER_ERROR_NORM * n + l] = e ? t->kernels->sum_squares(&t->worker_exec, e + begin, size) : 0;
        value[LAYER_ERROR_MAX * n + l] = e ? (double)t->kernels->max_abs(&t->worker_exec, e + begin, size) : 0;
    }
}

/* True if this column is recorded after the present step. */
static bool records(const struct train *t, enum sg_column column) {
    return t->series.wants[column] && train_records(t, t->step + 1);
}

/* Measures the residual itself, of all layers together and of each. */
static void measure_residual(struct train *t, size_t w) {
    struct worker *worker = &t->worker[w];
    const float *e = worker->residual;
    const bool squares = t->series.wants[SG_COLUMN_TOTAL_ERROR] || t->series.wants[SG_COLUMN_ERROR_RELATIVE] ||
                         records(t, SG_COLUMN_ERROR_NORM) || records(t, SG_COLUMN_ERROR_COMMON) ||
                         records(t, SG_COLUMN_COMPRESSION_ERROR);
    double *note = worker->note;
    note[NOTE_ERROR_NORM] = 0;
    if (squares && e && records(t, SG_COLUMN_COMPRESSION_ERROR))
        note[NOTE_ERROR_NORM] = t->kernels->sum_squares(&t->worker_exec, e, t->d);
    else if (squares && e)
        t->kernels->sum_squares_later(&t->worker_exec, e, t->d, &note[NOTE_ERROR_NORM]);
    note[NOTE_ERROR_MAX] =
        records(t, SG_COLUMN_ERROR_MAX) && e ? (double)t->kernels->max_abs(&t->worker_exec, e, t->d) : 0;
    if (worker->layers && train_records(t, t->step + 1))
        measure_layers(t, w, worker->layers);
}

void train_measure_residual(struct train *t, size_t w, const float *g) {
    struct worker *worker = &t->worker[w];
    const float *e = worker->residual;
    double *note = worker->note;
    measure_residual(t, w);
    note[NOTE_COMPRESSION_ERROR] = 0;
    if (records(t, SG_COLUMN_COMPRESSION_ERROR)) {
        if (!sg_method_sends(t->method)) /* nothing is compressed */
            note[NOTE_COMPRESSION_ERROR] = (double)NAN;
        else if (!e && t->config.feedback.rule->before &&
                 !sg_method_is_exact(t->method)) /* nobody has p, which is not g */
            note[NOTE_COMPRESSION_ERROR] = (double)NAN;
        else if (sg_method_splits(t->method))
            note[NOTE_COMPRESSION_ERROR] = compression_error(t, w, g, note[NOTE_ERROR_NORM]);
        else if (!e || t->config.feedback.rule->keep ||
                 !sg_method_keeps_late(t->method)) /* the loss cannot be computed */
            note[NOTE_COMPRESSION_ERROR] = (double)NAN;
        else
            note[NOTE_COMPRESSION_ERROR] = worker->input_square > 0 ? note[NOTE_ERROR_NORM] / worker->input_square : 0;
    }
}

void train_measure_absent(struct train *t, size_t w) {
    struct worker *worker = &t->worker[w];
    const size_t n = t->info->layout.n_layers;
    memset(worker->note, 0, sizeof worker->note);
    for (size_t l = 0; worker->layers && l < n; l++)
        worker->layers[LAYER_ENTRIES * n + l] = worker->layers[LAYER_GRADIENT_NORM * n + l] = 0;
    measure_residual(t, w);
}

sg_status train_measure_message(struct train *t, size_t w, unsigned round, struct sg_error *err) {
    SG_ASSERT(w < t->count && t->worker[w].message.code);
    struct worker *worker = &t->worker[w];
    const size_t n = t->info->layout.n_layers;
    const bool layers = worker->layers && train_records(t, t->step + 1);
    if (round == 0) {
        worker->sent = 0;
        worker->note[NOTE_METHOD] = sg_method_note(t->method, t->first + w);
        for (size_t l = 0; layers && l < n; l++)
            worker->layers[LAYER_ENTRIES * n + l] = 0;
    }
    if (sg_method_keeps_late(t->method)) /* the residual still holds what is compressed */
        worker->input_square = records(t, SG_COLUMN_COMPRESSION_ERROR)
                                   ? t->kernels->sum_squares(&t->worker_exec, worker->residual, t->d)
                                   : 0;
    worker->sent += worker->message.count;
    return layers && sg_method_sends(t->method)
               ? count_entries(t, &worker->message, worker->layers + LAYER_ENTRIES * n, err)
               : SG_OK;
}

/* ---- the step's ------------------------------------------------------------------------------------------------- */

/* The mean over `workers`, which are all, or those that take part: the notes of the others are 0 then. */
static double mean_note(const struct train *t, const struct sg_outcome *outcome, enum note which, size_t workers) {
    double sum = 0;
    for (size_t i = 0; i < t->workers; i++)
        sum += outcome->note[i][which];
    return sum / (double)workers;
}

double train_total_error(const struct train *t) {
    return t->config.feedback.rule->keeps ? t->totals.total_error : NAN;
}

void train_account(struct train *t, const struct sg_outcome *outcome, double value[SG_COLUMNS]) {
    const struct sg_volume *v = &outcome->volume;
    const double error = mean_note(t, outcome, NOTE_ERROR_NORM, t->workers), d = (double)t->d;
    t->totals.steps += 1;
    t->totals.bits += v->bits_mean;
    t->totals.values += v->elements_mean;
    t->totals.values_padded += v->elements_max;
    t->totals.bytes += v->bytes_sent;
    t->totals.total_error += error;
    value[SG_COLUMN_BITS] = t->totals.bits;
    value[SG_COLUMN_BITS_VALUES] = 32 * t->totals.values;
    value[SG_COLUMN_DENSITY] = v->elements_mean / d;
    value[SG_COLUMN_AVERAGE_DENSITY] = t->totals.values / t->totals.steps / d;
    value[SG_COLUMN_DENSITY_PADDED] = v->elements_max / d;
    value[SG_COLUMN_AVERAGE_DENSITY_PADDED] = t->totals.values_padded / t->totals.steps / d;
    value[SG_COLUMN_BYTES_SENT] = t->totals.bytes;
    value[SG_COLUMN_ERROR_NORM] = error;
    value[SG_COLUMN_TOTAL_ERROR] = train_total_error(t);
    value[SG_COLUMN_ERROR_MAX] = mean_note(t, outcome, NOTE_ERROR_MAX, t->workers);
    value[SG_COLUMN_COMPRESSION_ERROR] = mean_note(t, outcome, NOTE_COMPRESSION_ERROR, t->present);
    value[SG_COLUMN_TRAIN_LOSS] = t->task_ops->batch_loss ? mean_note(t, outcome, NOTE_TRAIN_LOSS, t->present) : NAN;
    value[SG_COLUMN_LEARNING_RATE] = t->gamma;
    value[SG_COLUMN_LAMBDA] = t->lambda;
}

/* ---- layers, at recorded steps ---------------------------------------------------------------------------------- */

static const char *const layer_name[LAYER_COLUMNS] = {"entries", "error_norm", "error_max", "gradient_norm"};

sg_status train_collect_layers(struct train *t, struct sg_error *err) {
    const size_t n = LAYER_COLUMNS * t->info->layout.n_layers;
    return sg_comm_agree(t->comm, train_collect(t, t->series.layers_mine, n, t->series.layers_all, err), err);
}

cJSON *train_layers_json(const struct train *t) {
    const size_t n = t->info->layout.n_layers, each = LAYER_COLUMNS * n;
    const double *all = t->series.layers_all, *mode = sg_method_modes(t->method);
    cJSON *out = cJSON_CreateObject();
    for (size_t c = 0; c < LAYER_COLUMNS; c++) {
        if (c == LAYER_GRADIENT_NORM && !t->series.wants[SG_COLUMN_GRADIENT_NORM])
            continue;
        const double workers = (double)(c == LAYER_GRADIENT_NORM ? t->present : t->workers);
        cJSON *means = cJSON_CreateArray();
        for (size_t l = 0; l < n; l++) {
            double mean = 0;
            for (size_t w = 0; w < t->workers; w++)
                mean += all[w * each + c * n + l] / workers;
            sg_json_push_number(means, mean);
        }
        sg_json_set(out, layer_name[c], means);
    }
    if (train_errors_layers(t))
        sg_json_set(out, "error_mean_norm", sg_json_numbers(train_errors_layers(t), n));
    sg_json_set(out, "mode", mode ? sg_json_numbers(mode, t->config.layout.n_layers) : NULL);
    if (t->series.wants_workers) {
        cJSON *workers = cJSON_CreateArray();
        for (size_t w = 0; w < t->workers; w++)
            sg_json_push(workers, sg_json_numbers(all + w * each + LAYER_ENTRIES * n, n));
        sg_json_set(out, "workers", workers);
    }
    return out;
}

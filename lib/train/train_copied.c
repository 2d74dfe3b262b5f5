/* train_copied.c: how many entries each worker sends of each layer at each step, copied from the run of another method.
 *
 * The other run recorded what each worker sent (record.workers). Along the axes that are not copied (layers, steps,
 * workers) its numbers are replaced by their mean; over layers every element has the same share. Means are no whole
 * numbers, so each layer of each worker sends floor(C + 1/2) entries up to a step, where C is the sum of the means so
 * far. So the volume of a run is that of the other one, but for half an entry a layer and worker. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sg_json.h"
#include "sg_memory.h"
#include "sg_plugins.h"
#include "sg_result.h"
#include "train_private.h"

/* The place of step t, layer l and worker i in an array that has one of an axis that is not copied. */
static size_t place(const struct train_axes *a, size_t layers, size_t workers, size_t t, size_t l, size_t i) {
    return ((a->steps ? t : 0) * (a->layers ? layers : 1) + (a->layers ? l : 0)) * (a->workers ? workers : 1) +
           (a->workers ? i : 0);
}

void train_spread(uint32_t *k, size_t steps, const struct sg_layout *layout, size_t workers,
                  const struct train_axes *axes) {
    const size_t layers = layout->n_layers, count = steps * layers * workers;
    const double elements = (double)layout->offset[layers];
    const double share = 1 / ((axes->steps ? 1 : (double)steps) * (axes->workers ? 1 : (double)workers));
    double *sum = sg_calloc(count + 1, sizeof *sum);
    for (size_t j = 0; j < count; j++)
        sum[place(axes, layers, workers, j / workers / layers, j / workers % layers, j % workers)] += k[j];
    for (size_t l = 0; l < layers; l++) {
        const double n = (double)(layout->offset[l + 1] - layout->offset[l]);
        const double of_layer = share * (axes->layers ? 1 : n / elements);
        for (size_t i = 0; i < workers; i++) {
            double due = 0.5, sent = 0;
            for (size_t t = 0; t < steps; t++) {
                due += sum[place(axes, layers, workers, t, l, i)] * of_layer;
                const double now = fmin(floor(due) - sent, n);
                k[(t * layers + l) * workers + i] = (uint32_t)now;
                sent += now;
            }
        }
    }
    free(sum);
}

static bool is_count(const cJSON *entries) {
    const double x = cJSON_IsNumber(entries) ? entries->valuedouble : -1;
    return x >= 0 && x <= UINT32_MAX && floor(x) == x;
}

/* k [steps][layers][workers] <- the entries in the records of the run. */
static sg_status read_entries(uint32_t *k, const struct train *t, const struct sg_run *run, struct sg_error *err) {
    const char *path = t->options->k_from;
    const size_t layers = t->info->layout.n_layers, steps = (size_t)t->plan.steps;
    const cJSON *record = run->layers ? run->layers->child : NULL;
    if (run->n_points != steps + 1)
        return sg_fail(err, SG_ERR_MISMATCH, "--k-from: %s has %zu records, and a run of %zu steps has %zu", path,
                       run->n_points, steps, steps + 1);
    for (size_t s = 0; s <= steps && record; s++, record = record->next) {
        const cJSON *all = s > 0 ? sg_json_get(record, "workers") : NULL;
        if (s > 0 && (size_t)cJSON_GetArraySize(all) != t->workers)
            return sg_fail(err, SG_ERR_MISMATCH, "--k-from: record %zu of %s has not what %zu workers sent", s, path,
                           t->workers);
        size_t i = 0;
        for (const cJSON *worker = s > 0 ? all->child : NULL; worker; worker = worker->next, i++) {
            const cJSON *entries = worker->child;
            size_t l = 0;
            for (; l < layers && is_count(entries); l++, entries = entries->next)
                k[((s - 1) * layers + l) * t->workers + i] = (uint32_t)entries->valuedouble;
            if (l < layers || entries)
                return sg_fail(err, SG_ERR_FORMAT,
                               "--k-from: record %zu of %s: what worker %zu sent must be %zu whole numbers, one "
                               "for each layer, and number %zu is none",
                               s, path, i, layers, l + 1);
        }
    }
    return SG_OK;
}

/* Rank 0 reads the other run, which must be the one that the cell's key names, of this program and these data. */
static sg_status read_run(uint32_t *k, const struct train *t, struct sg_error *err) {
    const struct sg_cell *cell = t->options->cell;
    const struct sg_node *section = sg_node_get(cell->method, "k-from");
    char identity[SG_CELL_IDENTITY];
    cJSON *facts = sg_task_describe(t->task);
    struct sg_run run = {0};
    sg_status status = sg_run_read_finished(&run, t->options->k_from,
                                            &(struct sg_run_wanted){.cell_key = cell->source,
                                                                    .identity = sg_cell_identity(identity, cell),
                                                                    .dataset = sg_json_get(facts, "dataset"),
                                                                    .device = t->options->device},
                                            NULL, err);
    if (status != SG_OK)
        sg_prefix(err, "--k-from: ");
    SG_DO(status, read_entries(k, t, &run, err));
    const struct train_axes axes = {.layers = sg_node_bool(section, "layers", true),
                                    .steps = sg_node_bool(section, "steps", true),
                                    .workers = sg_node_bool(section, "workers", true)};
    if (status == SG_OK)
        train_spread(k, (size_t)t->plan.steps, &t->info->layout, t->workers, &axes);
    sg_run_free(&run);
    cJSON_Delete(facts);
    return status;
}

sg_status train_copy_k(struct train *t, struct sg_error *err) {
    const struct sg_node *section = sg_node_get(t->options->cell->method, "k-from");
    const size_t count = (size_t)t->plan.steps * t->info->layout.n_layers * t->workers;
    if (!t->config.copies)
        return !t->options->k_from
                   ? SG_OK
                   : sg_fail(err, SG_ERR_ARGUMENT, "--k-from: method '%s' copies no k", t->options->cell->label);
    if (!t->options->k_from || !t->options->cell->source)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "method '%s' copies k from '%s': run that first and name its series with --k-from, or let "
                       "sparsebench run both",
                       t->options->cell->label, sg_node_string(section, "method", ""));
    uint32_t *k = t->copied = sg_calloc(count, sizeof *k);
    sg_status status = t->lead ? read_run(k, t, err) : SG_OK;
    status = sg_comm_agree(t->comm, status, err);
    SG_DO(status, sg_comm_broadcast(t->comm, k, count * sizeof *k, err));
    t->config.copied = k;
    return status;
}

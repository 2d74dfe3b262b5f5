/* theory_cell.c: cells of a recipe at work in this process: trained and watched, or their methods played on vectors
 * that were recorded. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sg_memory.h"
#include "sg_replay.h"
#include "sg_train.h"
#include "theory_private.h"

sg_status theory_train(double *total_error, const struct sg_theory_options *how, const struct sg_cell *cell,
                       sg_status (*visit)(void *arg, const struct sg_task_ops *ops, sg_task *task, uint64_t step,
                                          uint64_t steps, struct sg_error *err),
                       void *arg, struct sg_error *err) {
    struct sg_train_report report;
    const struct sg_train_options options = {.recipe = how->recipe,
                                             .cell = cell,
                                             .data_dir = how->data_dir,
                                             .device = "cpu",
                                             .threads = how->threads,
                                             .series = fopen("/dev/null", "w"),
                                             .visit = visit,
                                             .visit_arg = arg,
                                             .total_error = total_error != NULL,
                                             .stop = how->stop,
                                             .progress = how->progress,
                                             .notice = how->notice};
    sg_comm *comm = NULL;
    sg_status status =
        options.series ? sg_comm_open(&comm, err) : sg_fail_errno(err, SG_ERR_IO, "cannot write /dev/null");
    if (status == SG_OK && sg_comm_size(comm) > 1)
        status = sg_fail(err, SG_ERR_UNSUPPORTED, "it is watched in one process: start it without mpirun");
    SG_DO(status, sg_train_run(&report, comm, &options, err));
    if (status == SG_OK && total_error)
        *total_error = report.total_error;
    sg_comm_close(comm);
    if (options.series)
        fclose(options.series);
    return status;
}

sg_status theory_parameters(double *gamma, double param[SG_METHOD_NUMBERS], const struct sg_cell *cell,
                            const struct sg_task_info *info, struct sg_error *err) {
    struct sg_constant known[SG_NAMES];
    struct sg_method_config config = {.size = sizeof config};
    const struct sg_node *at;
    size_t n = 0;
    for (; n < info->n_constants && n + 1 < SG_NAMES; n++)
        known[n] = info->constant[n];
    sg_status status =
        sg_expression(gamma, sg_node_get(&cell->resolved, "optimizer.learning-rate")->string, known, n, err);
    known[n++] = (struct sg_constant){"gamma", *gamma};
    SG_DO(status, sg_cell_method(&config, param, cell, known, n, &at, err));
    for (size_t i = 0; status == SG_OK && i < config.compressor->n_params; i++)
        if (isnan(param[i]))
            param[i] = config.compressor->params[i].preset;
    return status;
}

sg_status sg_replay_method(struct sg_method_config *config, struct sg_replay_room *room, const struct sg_cell *cell,
                           const cJSON *constants, struct sg_error *err) {
    struct sg_constant *known = sg_calloc((size_t)cJSON_GetArraySize(constants) + 1, sizeof *known);
    const struct sg_node *at;
    const cJSON *one;
    size_t n = 0;
    cJSON_ArrayForEach(one, constants) known[n++] =
        (struct sg_constant){one->string, cJSON_IsNumber(one) ? one->valuedouble : NAN};
    config->size = sizeof *config;
    config->seed = cell->seed;
    if (strcmp(sg_node_string(&cell->resolved, "scope", "layer"), "model") == 0) {
        room->whole[1] = config->layout.offset[config->layout.n_layers];
        config->layout = (struct sg_layout){.n_layers = 1, .offset = room->whole};
    }
    const sg_status status = sg_cell_method(config, room->number, cell, known, n, &at, err);
    free(known);
    return status;
}

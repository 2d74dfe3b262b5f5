/* train_metrics.c: finds the source of each column that a cell records. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "sg_text.h"
#include "train_private.h"

enum { NAME_CHARS = 64 };

static bool find_column(struct recorded *out, const char *name, const struct sg_task_kind *task) {
    for (size_t i = 0; i < SG_COLUMNS; i++)
        if (sg_task_records(task, (enum sg_column)i) && strcmp(sg_common_metrics[i].name, name) == 0) {
            *out = (struct recorded){&sg_common_metrics[i], false, i};
            return true;
        }
    const struct sg_metric *own = sg_task_metric(task, name);
    if (own)
        *out = (struct recorded){own, true, (size_t)(own - task->metric)};
    return own != NULL;
}

/* The check of the recipe made sure that the task has every series and that none is named twice. */
sg_status train_metrics(struct series *out, const struct sg_cell *cell, const struct sg_task_kind *task,
                        struct sg_error *err) {
    const struct sg_node *series = sg_node_get(&cell->resolved, "record.series");
    const size_t n = series && series->kind == SG_NODE_LIST ? series->count : 0;
    for (out->n_columns = 0; out->n_columns < n; out->n_columns++) {
        char name[NAME_CHARS];
        const char *said = series->child[out->n_columns].string;
        sg_snake(name, sizeof name, said);
        if (out->n_columns == MOST_COLUMNS || !find_column(&out->column[out->n_columns], name, task))
            return sg_fail(err, SG_ERR_ARGUMENT, "record.series: task '%s' cannot record '%s'", task->name, said);
        if (out->column[out->n_columns].from_task)
            out->wants_evaluation = true;
        else
            out->wants[out->column[out->n_columns].index] = true;
    }
    return SG_OK;
}

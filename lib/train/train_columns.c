#include <stdlib.h>
#include <string.h>

#include "sg_text.h"
#include "train_state.h"

const struct sg_metric sg_train_metrics[] = {
    [COLUMN_BITS] = {"bits", "bit per worker",
                     "cumulative nominal bits a worker sent: 32 a value, and 32 an index when sparse", false},
    [COLUMN_BITS_VALUES] = {"bits_values", "bit per worker", "the same without indices: 32 a value", false},
    [COLUMN_DENSITY] = {"density", "", "entries sent / d at this step, mean over workers", false},
    [COLUMN_AVERAGE_DENSITY] = {"average_density", "", "mean of density over the steps so far", false},
    [COLUMN_DENSITY_PADDED] = {"density_padded", "", "entries of the largest message / d at this step", false},
    [COLUMN_BYTES_SENT] = {"bytes_sent", "byte per worker",
                           "cumulative bytes of the messages as encoded, mean over workers", false},
    [COLUMN_ERROR_NORM] = {"error_norm", "", "(1/n) sum_i |e_i|^2 after this step", false},
    [COLUMN_TOTAL_ERROR] = {"total_error", "", "sum of error_norm over all steps so far", false},
    [COLUMN_ERROR_MAX] = {"error_max", "", "(1/n) sum_i max_j |e_ij| after this step", false},
    [COLUMN_COMPRESSION_ERROR] = {"compression_error", "", "(1/n) sum_i |p_i - C(p_i)|^2 / |p_i|^2 at this step",
                                  false},
    [COLUMN_TRAIN_LOSS] = {"train_loss", "", "mean over workers of the loss of this step's batch", false},
    [COLUMN_LEARNING_RATE] = {"learning_rate", "", "gamma_t of this step", false},
    [COLUMN_LAMBDA] = {"lambda", "", "threshold of this step; null where nothing is to be sent, or without one", false},
};
const size_t sg_train_n_metrics = N_COLUMNS;

enum { MAX_NAMES = 64, NAME_CHARS = 64 };

/* A plug-in's task is only known once it is loaded; without losses its column holds null. */
static bool has_column(size_t column, const struct sg_task_kind *task) {
    return column != COLUMN_TRAIN_LOSS || !task->ops || task->ops->batch_loss;
}

static bool find_column(struct recorded *out, const char *name, const struct sg_task_kind *task) {
    for (size_t i = 0; i < N_COLUMNS; i++)
        if (has_column(i, task) && strcmp(sg_train_metrics[i].name, name) == 0) {
            *out = (struct recorded){&sg_train_metrics[i], false, i};
            return true;
        }
    for (size_t i = 0; i < task->n_metrics; i++)
        if (strcmp(task->metric[i].name, name) == 0) {
            *out = (struct recorded){&task->metric[i], true, i};
            return true;
        }
    return false;
}

static sg_status unknown_column(const struct sg_node *node, const char *name, const struct sg_task_kind *task,
                                struct sg_error *err) {
    const char *names[MAX_NAMES];
    size_t n = 0;
    for (size_t i = 0; i < N_COLUMNS; i++)
        if (has_column(i, task))
            names[n++] = sg_train_metrics[i].name;
    for (size_t i = 0; i < task->n_metrics && n < MAX_NAMES; i++)
        names[n++] = task->metric[i].name;
    const char *near = sg_suggest(name, names, n);
    return sg_fail(err, SG_ERR_ARGUMENT, "%d:%d: record.series: task '%s' cannot record '%s'%s%s%s", node->line,
                   node->column, task->name, node->string, near ? " (did you mean '" : "", near ? near : "",
                   near ? "'?)" : "");
}

sg_status train_columns(struct recorded **out, size_t *count, const struct sg_cell *cell,
                        const struct sg_task_kind *task, struct sg_error *err) {
    const struct sg_node *series = sg_node_get(&cell->resolved, "record.series");
    size_t n = series && series->kind == SG_NODE_LIST ? series->count : 0;
    struct recorded *columns = calloc(n ? n : 1, sizeof *columns);
    if (!columns)
        return sg_fail_memory(err, "columns");
    for (size_t i = 0; i < n; i++) {
        char name[NAME_CHARS];
        sg_snake(name, sizeof name, series->child[i].string);
        if (!find_column(&columns[i], name, task)) {
            free(columns);
            return unknown_column(&series->child[i], name, task, err);
        }
        for (size_t k = 0; k < i; k++)
            if (columns[k].metric == columns[i].metric) {
                free(columns);
                return sg_fail(err, SG_ERR_ARGUMENT, "%d:%d: record.series names '%s' twice", series->child[i].line,
                               series->child[i].column, series->child[i].string);
            }
    }
    *out = columns;
    *count = n;
    return SG_OK;
}

sg_status sg_train_check(const struct sg_cell *cell, struct sg_error *err) {
    const struct sg_task_kind *task = sg_task_kind_find(sg_node_string(&cell->resolved, "task.kind", ""));
    struct recorded *columns = NULL;
    size_t n;
    sg_status status =
        task ? train_columns(&columns, &n, cell, task, err)
             : sg_fail(err, SG_ERR_ARGUMENT, "unknown task '%s'", sg_node_string(&cell->resolved, "task.kind", ""));
    free(columns);
    return status;
}

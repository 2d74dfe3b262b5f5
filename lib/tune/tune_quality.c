/* tune_quality.c: the quality of a run: the metric that measures it, and the method with which runs are compared. */
#include <string.h>

#include "sg_task.h"
#include "sg_text.h"
#include "tune_private.h"

const char *tune_baseline(const struct sg_node *methods) {
    for (int any = 0; any < 2; any++)
        for (size_t i = 0; i < methods->count; i++) {
            const struct sg_node *method = &methods->child[i];
            if (tune_compresses_by(method, "none") && (any || sg_node_bool(method, "baseline", false)))
                return sg_node_string(method, "name", "");
        }
    return NULL;
}

sg_status tune_metric(const struct sg_tune *t, char name[TUNE_METRIC_CHARS], bool *higher, struct sg_error *err) {
    const struct sg_node *root = &t->recipe->root, *series = sg_node_get(root, "record.series");
    const struct sg_task_kind *task = sg_task_kind_find(sg_node_string(root, "task.kind", ""));
    sg_snake(name, TUNE_METRIC_CHARS, t->metric ? t->metric : "");
    for (size_t i = 0; !t->metric && i < series->count && !name[0]; i++)
        if (sg_task_metric(task, series->child[i].string))
            sg_snake(name, TUNE_METRIC_CHARS, series->child[i].string);
    if (!name[0] && strcmp(sg_node_string(root, "task.kind", ""), "recorded") == 0)
        return sg_fail(
            err, SG_ERR_ARGUMENT,
            "%s: task 'recorded' has no metric: this needs a task that trains; for recorded gradients there is "
            "--advise",
            t->recipe->path);
    if (!name[0] || !tune_recorded(t, name))
        return sg_fail(err, SG_ERR_ARGUMENT, "%s: record.series has no %s%s", t->recipe->path,
                       name[0] ? "" : "metric of the task", name);
    const struct sg_metric *metric = sg_task_metric(task, name);
    *higher = metric && metric->higher;
    return SG_OK;
}

double tune_tail_median(const struct sg_cell_outcome *o, const char *metric) {
    char why[SG_WHY_CHARS], key[] = "tail-median";
    struct sg_node tail = {.kind = SG_NODE_NUMBER, .key = key, .number = TUNE_TAIL};
    const struct sg_node at = {.kind = SG_NODE_MAP, .child = &tail, .count = 1};
    return sg_grid_value(o, metric, &at, why);
}

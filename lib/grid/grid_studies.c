/* grid_studies.c: which trial is the result of a study, and which study's result is the median of a label. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "grid_private.h"
#include "sg_debug.h"
#include "sg_task.h"
#include "sg_text.h"

double grid_trial_value(const struct grid_frame *g, size_t cell) {
    const struct sg_node *tune = sg_node_get(&g->recipe->root, "tune");
    char why[SG_WHY_CHARS];
    return sg_grid_value(&g->outcomes[cell], sg_node_string(tune, "by", ""), sg_node_get(tune, "at"), why);
}

/* True if a trial of value x beats one of value y. No value, and one that was never reached, are worst. */
static bool beats(const struct grid_frame *g, double x, double y) {
    char by[64];
    const struct sg_metric *metric =
        sg_task_metric(sg_task_kind_find(sg_node_string(&g->recipe->root, "task.kind", "")),
                       sg_snake(by, sizeof by, sg_node_string(&g->recipe->root, "tune.by", "")));
    return isfinite(x) && (!isfinite(y) || (metric && metric->higher ? x > y : x < y));
}

void grid_study_add(const struct grid_frame *g, struct grid_study *study, size_t i) {
    SG_ASSERT(study->trials == 0 || g->cells[i].seed == g->cells[study->cell].seed);
    if (study->trials++ == 0) {
        study->cell = i;
        return;
    }
    const bool ended[] = {sg_run_status_is_finished(sg_grid_status(&g->outcomes[study->cell])),
                          sg_run_status_is_finished(sg_grid_status(&g->outcomes[i]))};
    if (ended[0] && (!ended[1] || beats(g, grid_trial_value(g, i), grid_trial_value(g, study->cell))))
        study->cell = i;
}

/* The place of the seed whose value has as many before it in the order of quality as the median; of equal values the
 * earlier seed comes first. */
static const struct grid_study *median_of(const struct grid_frame *g, const struct sg_frame_label *label) {
    for (size_t i = 0; i < label->n_seeds; i++) {
        const struct grid_study *study = grid_study(g, label, i);
        const double x = grid_trial_value(g, study->cell);
        size_t before = 0;
        for (size_t j = 0; j < label->n_seeds; j++) {
            const double y = grid_trial_value(g, grid_study(g, label, j)->cell);
            before += beats(g, y, x) || (j < i && !beats(g, x, y));
        }
        if (before == (label->n_seeds - 1) / 2)
            return isfinite(x) ? study : NULL;
    }
    return NULL;
}

cJSON *grid_tuned_json(const struct grid_frame *g, const struct sg_frame_label *label) {
    const struct sg_node *tune = sg_node_get(&g->recipe->root, "tune");
    const struct grid_study *median = median_of(g, label);
    const struct sg_cell *cell = median ? &g->cells[median->cell] : NULL;
    char by[64];
    cJSON *winner = cell ? SG_OBJECT(SG_U64("seed", cell->seed), SG_NUMBER("trial", (double)cell->trial),
                                     SG_VALUE("drawn", sg_node_json(&cell->drawn)),
                                     SG_NUMBER("value", grid_trial_value(g, median->cell)))
                         : NULL;
    return SG_OBJECT(SG_TEXT("by", sg_snake(by, sizeof by, sg_node_string(tune, "by", ""))),
                     SG_VALUE("at", sg_node_json(sg_node_get(tune, "at"))),
                     SG_NUMBER("trials", sg_node_number(tune, "trials", NAN)), SG_VALUE("winner", winner));
}

/* tune_price.c: what the quality of no compression costs by step efficiency, for --when, --advise and --reach-baseline:
 * in steps, in data and in modelled time, from finished cells of all lengths of the recipe. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sg_memory.h"
#include "sg_text.h"
#include "tune_private.h"

sg_status tune_prices_open(struct tune_prices *p, const struct sg_tune *t, struct sg_error *err) {
    *p = (struct tune_prices){.t = t, .asked = !sg_node_absent(sg_node_get(&t->recipe->root, "step-efficiency"))};
    if (!p->asked)
        return SG_OK;
    p->outcomes = sg_calloc(t->n_cells, sizeof *p->outcomes);
    sg_status status = sg_grid_look(p->outcomes, t->cells, t->n_cells, &t->grid, err);
    for (size_t i = 0; i < t->n_cells; i++)
        if (status != SG_OK || p->outcomes[i].state != SG_CELL_REUSED)
            return status;
    status = sg_grid_derive(p->outcomes, t->cells, t->n_cells, t->recipe, NULL, err);
    if (status != SG_OK)
        return status;
    sg_grid_document(&p->document, NULL, NULL, t->recipe, NULL, t->cells, p->outcomes, t->n_cells, 1);
    p->price = sg_calloc(p->document.results.n_labels, sizeof *p->price);
    const size_t n = sg_grid_prices(p->price, &p->document);
    for (size_t i = 0; i < n; i++)
        if (sg_json_number(p->price[i].label->swept, "stretch", 1) == 1)
            p->price[p->n++] = p->price[i];
    p->known = true;
    return SG_OK;
}

void tune_prices_close(struct tune_prices *p) {
    if (p->outcomes)
        sg_grid_outcomes_free(p->outcomes, p->t->n_cells);
    free(p->outcomes);
    free(p->price);
    sg_document_free(&p->document);
    *p = (struct tune_prices){.n = 0};
}

/* The modelled seconds of a step of a label, mean over its runs. */
static sg_status step_seconds(double *out, const struct tune_prices *p, const struct sg_frame_label *label,
                              const struct sg_grid_network *network, struct sg_error *err) {
    sg_status status = SG_OK;
    *out = 0;
    for (size_t i = 0; status == SG_OK && i < p->t->n_cells; i++) {
        const struct sg_run *run = &p->outcomes[i].run;
        struct sg_grid_messages *messages;
        double total[SG_NET_TOTALS] = {0};
        if (strcmp(p->t->cells[i].group, label->label) != 0)
            continue;
        sg_grid_messages_open(&messages, &p->t->cells[i], run);
        status = tune_network_seconds(total, messages, network, run->n_points, err);
        *out += total[SG_NET_TIME] / sg_run_last(run, "step") / (double)label->n_seeds;
        sg_grid_messages_free(messages);
    }
    return status;
}

sg_status tune_price_speedups(double *out, const struct tune_prices *p, const struct sg_grid_network *network,
                              struct sg_error *err) {
    sg_status status = SG_OK;
    for (size_t i = 0; status == SG_OK && i < p->n; i++) {
        double own = NAN, base = NAN;
        status = step_seconds(&own, p, p->price[i].label, network, err);
        SG_DO(status, step_seconds(&base, p, p->price[i].base, network, err));
        out[i] = base / own;
    }
    return status;
}

char *tune_price_text(const struct tune_prices *p, const double *speedup, const char *where) {
    const struct sg_grid_price *best = NULL;
    double most = -INFINITY;
    if (!p->asked)
        return NULL;
    if (!p->known)
        return sg_strdup("Step efficiencies are not known before sparsebench has finished all lengths of the recipe.");
    for (size_t i = 0; i < p->n; i++) {
        const double worth = speedup ? speedup[i] / p->price[i].times : 1 / p->price[i].data;
        if (worth > most) { /* false for a NaN */
            most = worth;
            best = &p->price[i];
        }
    }
    if (!best)
        return sg_strdup("At the recipe's own length no step efficiency is known well enough to tell.");
    char *text = sg_grid_price_text(best), *out;
    const double share = best->half / best->times;
    out = speedup ? sg_format("By step efficiency, %s. %s that is %.3g (%.3g to %.3g) times as fast.", text, where,
                              most, most / (1 + share), most / (1 - share))
                  : sg_format("By step efficiency, %s.", text);
    free(text);
    return out;
}

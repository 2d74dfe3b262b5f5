/* plot_unfinished.c: says under figures and tables how far the cells came that are not finished. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "plot_private.h"
#include "sg_memory.h"
#include "sg_text.h"

enum { MOST_TOLD = 6 }; /* of more cells only the numbers are told */

struct tally {
    size_t cells, unfinished, not_begun;
    double least, most; /* share of the planned steps, of those that have begun */
};

static bool is_unfinished(const struct sg_document_cell *cell) {
    return sg_run_status_is_open(sg_or(cell->status, ""));
}

static struct tally count_cells(const struct sg_frame *results) {
    struct tally t = {.least = INFINITY, .most = -INFINITY};
    for (size_t l = 0; l < results->n_labels; l++)
        for (size_t i = 0; i < results->label[l].n_cells; i++) {
            const struct sg_document_cell *cell = &results->label[l].cells[i];
            const double share = cell->steps / cell->planned_steps;
            t.cells++;
            if (!is_unfinished(cell))
                continue;
            t.unfinished++;
            if (isnan(share))
                t.not_begun++;
            t.least = fmin(t.least, share);
            t.most = fmax(t.most, share);
        }
    return t;
}

/* "Top-k, seed 1 at epoch 50 of 300". */
static void put_cell(FILE *out, const char *label, const struct sg_document_cell *cell) {
    const bool steps = isnan(cell->planned_epochs);
    const double done = steps ? cell->steps : cell->epochs;
    fprintf(out, "%s, seed %s ", label, sg_or(cell->seed, "?"));
    if (isnan(done))
        fputs("not begun", out);
    else
        fprintf(out, "at %s %.6g of %.6g", steps ? "step" : "epoch", done,
                steps ? cell->planned_steps : cell->planned_epochs);
}

char *sg_plot_add_unfinished(char *take_footnote, const struct sg_document *document) {
    const struct sg_frame *results = &document->results;
    const struct tally t = count_cells(results);
    const char *before = "";
    char *text = NULL;
    size_t size;
    if (!take_footnote || t.unfinished == 0 || strcmp(sg_or(document->status, ""), "interrupted") != 0)
        return take_footnote;
    FILE *out = sg_memstream(&text, &size);
    fprintf(out, "%s%snot finished: ", take_footnote, take_footnote[0] ? "; " : "");
    if (t.unfinished > MOST_TOLD)
        fprintf(out, "%zu of %zu cells", t.unfinished, t.cells);
    for (size_t l = 0; t.unfinished <= MOST_TOLD && l < results->n_labels; l++)
        for (size_t i = 0; i < results->label[l].n_cells; i++)
            if (is_unfinished(&results->label[l].cells[i])) {
                fputs(before, out);
                put_cell(out, results->label[l].label, &results->label[l].cells[i]);
                before = ", ";
            }
    if (t.unfinished > MOST_TOLD && t.not_begun > 0)
        fprintf(out, ", of which %zu not begun", t.not_begun);
    if (t.unfinished > MOST_TOLD && t.most >= t.least)
        fprintf(out, ", at %.0f to %.0f %% of their steps", floor(100 * t.least), floor(100 * t.most));
    free(take_footnote);
    return sg_stream_text(out, &text);
}

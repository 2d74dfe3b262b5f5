/* grid_view_text.c: makes the text that shows a running grid on a terminal. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sg_grid.h"
#include "sg_text.h"

enum { BAR = 20 };

static void line(FILE *out, const char *text, int width) {
    fprintf(out, "%.*s\n", (int)sg_text_cut(text, (size_t)width), text);
}

static void running_line(FILE *out, const struct sg_cell *cell, const struct sg_cell_outcome *o, int width) {
    char name[128], text[256], *end = name;
    snprintf(name, sizeof name - 32, "%s", cell->label);
    end += sg_text_cut(name, width > 60 ? (size_t)width - 48 : 12);
    snprintf(end, 32, ", seed %llu", (unsigned long long)cell->seed);
    int filled = (int)(o->done * BAR);
    if (o->done > 0)
        snprintf(text, sizeof text, "  [%.*s%.*s] %3.0f %%  %s", filled, "####################", BAR - filled,
                 "....................", floor(100 * o->done), name);
    else
        snprintf(text, sizeof text, "  [%-*s]        %s", BAR, "starting", name);
    line(out, text, width);
}

/* Writes the time left, estimated from the share of work done since the start. */
static void time_left(const struct sg_cell_outcome *o, size_t count, double elapsed_s, char out[48]) {
    double done = 0, open = 0;
    for (size_t i = 0; i < count; i++)
        if (o[i].state == SG_CELL_WAITING || o[i].state == SG_CELL_RUNNING)
            open += 1 - o[i].done;
    for (size_t i = 0; i < count; i++)
        if (o[i].state != SG_CELL_REUSED && o[i].state != SG_CELL_FAILED)
            done += o[i].done;
    out[0] = '\0';
    if (elapsed_s < 1 || done <= 0 || open <= 0)
        return;
    double left = ceil(elapsed_s * open / done);
    if (left < 120)
        snprintf(out, 48, ", about %.0f s left", left);
    else if (left < 7200)
        snprintf(out, 48, ", about %.0f min left", ceil(left / 60));
    else
        snprintf(out, 48, ", about %.1f h left", left / 3600);
}

char *sg_grid_overview(const struct sg_cell *cells, const struct sg_cell_outcome *outcomes, size_t count,
                       double elapsed_s, int width, int rows) {
    char *text = NULL, totals[160], left[48], failed[32] = "";
    size_t size = 0, n[SG_CELL_FAILED + 1] = {0};
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (n[outcomes[i].state]++, outcomes[i].state == SG_CELL_RUNNING && n[SG_CELL_RUNNING] <= (size_t)rows)
            running_line(out, &cells[i], &outcomes[i], width);
    time_left(outcomes, count, elapsed_s, left);
    if (n[SG_CELL_FAILED] > 0)
        snprintf(failed, sizeof failed, ", %zu failed", n[SG_CELL_FAILED]);
    snprintf(totals, sizeof totals, "%zu of %zu cells done, %zu running%s%s",
             n[SG_CELL_DONE] + n[SG_CELL_REUSED] + n[SG_CELL_DIVERGED], count, n[SG_CELL_RUNNING], failed, left);
    line(out, totals, width);
    return sg_stream_text(out, &text);
}

/* grid_view_text.c: makes the text that shows a running grid on a terminal. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sg_grid.h"
#include "sg_memory.h"
#include "sg_text.h"

enum { BAR = 20, SHORT_BAR = 8 };

/* Writes a line of whole words. */
static void line(FILE *out, const char *text, size_t width) {
    fprintf(out, "%.*s\n", (int)(sg_text_width(text) <= width ? strlen(text) : sg_text_line(text, width)), text);
}

/* A bar and the name of a running cell. On a narrow terminal the bar is short, and the name loses its last words. */
static void running_line(FILE *out, const struct sg_cell *cell, const struct sg_cell_outcome *o, size_t width) {
    const size_t bar = width > 60 ? BAR : SHORT_BAR, taken = bar + strlen("  [] 100 %  ");
    char seed[32], text[256];
    snprintf(seed, sizeof seed, ", seed %llu", (unsigned long long)cell->seed);
    const size_t most = width > taken + strlen(seed) ? width - taken - strlen(seed) : 1;
    const size_t name = sg_text_width(cell->label) <= most ? strlen(cell->label) : sg_text_line(cell->label, most);
    const int filled = (int)(o->done * (double)bar);
    if (o->done > 0)
        snprintf(text, sizeof text, "  [%.*s%.*s] %3.0f %%  %.*s%s", filled, "####################", (int)bar - filled,
                 "....................", floor(100 * o->done), (int)name, cell->label, seed);
    else
        snprintf(text, sizeof text, "  [%-*s]        %.*s%s", (int)bar, "starting", (int)name, cell->label, seed);
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
    char *text = NULL, head[64], running[64], totals[256], left[48], failed[32] = "";
    size_t size = 0, n[SG_CELL_FAILED + 1] = {0};
    const size_t columns = width > 0 ? (size_t)width : 1;
    FILE *out = sg_memstream(&text, &size);
    for (size_t i = 0; i < count; i++)
        if (n[outcomes[i].state]++, outcomes[i].state == SG_CELL_RUNNING && n[SG_CELL_RUNNING] <= (size_t)rows)
            running_line(out, &cells[i], &outcomes[i], columns);
    time_left(outcomes, count, elapsed_s, left);
    if (n[SG_CELL_FAILED] > 0)
        snprintf(failed, sizeof failed, ", %zu failed", n[SG_CELL_FAILED]);
    snprintf(head, sizeof head, "%zu of %zu cells done", n[SG_CELL_DONE] + n[SG_CELL_REUSED] + n[SG_CELL_DIVERGED],
             count);
    snprintf(running, sizeof running, ", %zu running", n[SG_CELL_RUNNING]);
    const char *const rest[][3] = {{running, failed, left}, {failed, left, ""}, {left, "", ""}, {failed, "", ""}};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
        snprintf(totals, sizeof totals, "%s%s%s%s", head, rest[i][0], rest[i][1], rest[i][2]);
        if (sg_text_width(totals) <= columns)
            break;
    }
    line(out, totals, columns);
    return sg_stream_text(out, &text);
}

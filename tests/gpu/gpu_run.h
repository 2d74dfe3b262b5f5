/* gpu_run.h: runs of the trainer on a device, and what they wrote. */
#ifndef GPU_RUN_H
#define GPU_RUN_H

#include <stdlib.h>
#include <string.h>

#include "sg_cuda.h"
#include "sg_train.h"
#include "tap.h"
#include "temporary.h"

static struct sg_error err;

/* A run of `method` of the recipe `text`; `set` lists changes of it, ended by NULL. */
static sg_status train_on(const char *device, const char *text, const char *method, const char *const *set,
                          FILE *series, bool resume, int (*stop)(void)) {
    struct sg_recipe recipe;
    struct sg_cell *cells;
    sg_comm *comm = NULL;
    struct sg_train_report report;
    size_t n_set = 0, n = 0, chosen = 0;
    while (set && set[n_set])
        n_set++;
    if (sg_recipe_parse(&recipe, text, strlen(text), "gpu.yaml", set, n_set, &err) != SG_OK ||
        sg_recipe_cells(&recipe, &cells, &n, &err) != SG_OK || sg_comm_open(&comm, &err) != SG_OK) {
        printf("# %s\n", err.msg);
        exit(1);
    }
    while (chosen + 1 < n && strcmp(cells[chosen].label, method) != 0)
        chosen++;
    const struct sg_train_options options = {.recipe = &recipe,
                                             .cell = &cells[chosen],
                                             .device = device,
                                             .threads = 1,
                                             .series = sg_comm_rank(comm) == 0 ? series : NULL,
                                             .checkpoint = temporary_path("ckpt"),
                                             .resume = resume,
                                             .stop = stop};
    const sg_status status = sg_train_run(&report, comm, &options, &err);
    sg_comm_close(comm);
    sg_recipe_cells_free(cells, n);
    sg_recipe_free(&recipe);
    return status;
}

/* What a run wrote, less the record of where and when it ran; the caller frees it. */
static char *content(FILE *series) {
    char *line = NULL, *all = NULL;
    size_t room = 0, length = 0;
    FILE *out = open_memstream(&all, &length);
    rewind(series);
    while (getline(&line, &room, series) > 0)
        if (strncmp(line, "{\"record\":\"run\"", 15) != 0)
            fputs(line, out);
    fclose(out);
    free(line);
    return all;
}

#endif

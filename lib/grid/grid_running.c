/* grid_running.c: reads what cells that still run have written so far. */
#include <stdlib.h>

#include "grid_private.h"
#include "sg_text.h"

/* A run that goes on from a checkpoint cuts its series, so what is read at that moment may not be one series. */
static bool is_series(const struct sg_run *run) {
    const double *step = sg_run_series(run, "step");
    for (size_t i = 1; step && i < run->n_points; i++)
        if (!(step[i - 1] < step[i]))
            return false;
    return run->header && step && run->n_points > 0;
}

void sg_grid_read_running(struct sg_cell_outcome *outcomes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct sg_run *run = &outcomes[i].run;
        struct sg_error unused;
        char *part = outcomes[i].state == SG_CELL_RUNNING ? sg_format("%s.part", outcomes[i].path) : NULL;
        if (part && sg_run_read(run, part, &unused) == SG_OK && !is_series(run))
            sg_run_free(run);
        free(part);
    }
}

void sg_grid_forget_running(struct sg_cell_outcome *outcomes, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (outcomes[i].state == SG_CELL_RUNNING)
            sg_run_free(&outcomes[i].run);
}

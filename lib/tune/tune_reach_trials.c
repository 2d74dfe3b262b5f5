/* tune_reach_trials.c: runs for --reach-baseline, and what one of them is worth: what its search and its evidence share. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tune_reach.h"

bool reach_is_near(const struct reach *r, double value, double base) {
    const double room = r->tolerance * fabs(base);
    return r->higher ? value >= base - room : value <= base + room;
}

bool reach_set_lambdas(struct tune_sets *sets, const struct reach *r, const struct reach_point *p, size_t n) {
    char *list = NULL, text[TUNE_LAMBDA_CHARS];
    size_t size = 0;
    FILE *out = open_memstream(&list, &size);
    for (size_t i = 0; out && i < n; i++) {
        tune_round(p[i].lambda, text);
        fprintf(out, "%s%s", i ? ", " : "", p[i].spelling ? p[i].spelling : text);
    }
    const bool fine = out && fclose(out) == 0 && tune_set_values(sets, r->name, "lambda", list);
    free(list);
    return fine;
}

sg_status reach_run(struct tune_trials *b, struct reach *r, struct tune_sets *sets, const char *name, double steps,
                    size_t seeds, struct sg_error *err) {
    sg_status status =
        isnan(steps) || tune_set_length(sets, &r->length, steps) ? SG_OK : sg_fail_memory(err, "the trials");
    SG_DO(status, tune_trials_open(b, r->t, sets, name, NULL, seeds, err));
    return status == SG_OK ? tune_trials_run(b, r->t, sets, name && name == r->baseline, err) : status;
}

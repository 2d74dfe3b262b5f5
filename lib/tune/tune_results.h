/* tune_results.h: results of sparsebench that an action reads in place of a recipe. */
#ifndef TUNE_RESULTS_H
#define TUNE_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <cjson/cJSON.h>

#include "sg_frame.h"
#include "sg_stats.h"
#include "tune_private.h"

struct tune_source {
    const char *path, *name; /* of the file, and of its recipe */
    cJSON *document;
    struct sg_frame frame;
};

/* Reads a result, - = stdin; the path is borrowed. The caller frees it by tune_source_free, also after an error.
 * SG_ERR_FORMAT: no result of sparsebench. SG_ERR_ARGUMENT: not all of its runs are finished. */
SG_CHECKED sg_status tune_source_read(struct tune_source *source, const char *path, struct sg_error *err);
void tune_source_free(struct tune_source *source);

/* The metric of --metric, or of the result's finding, as results spell it. *sense <- 1: less is better; -1: more is. */
SG_CHECKED sg_status tune_source_metric(char name[TUNE_METRIC_CHARS], double *sense, const struct tune_source *source,
                                        const struct sg_tune *t, struct sg_error *err);

/* *out <- the numbers that a plot has of the runs of a label on the axis "x" or "y", malloc'ed; *n is how many. No
 * plot, or no point of the label: NULL, and 0. False: no memory. */
bool tune_source_points(double **out, size_t *n, const char *label, const cJSON *plot, const char *axis);

/* Appends {"name","reason"} of something that is not compared, once. */
void tune_leave_out(cJSON *list, const char *name, const char *reason);
/* Writes such a list as comments, once for each reason, and the evidence's conclusion. */
void tune_put_conclusion(FILE *out, const cJSON *left_out, const struct sg_tune *t);

/* {"value","low","high"} */
cJSON *tune_interval_json(const struct sg_interval *number);
/* "error curvature" of error_curvature; returns out. */
const char *tune_words(char out[TUNE_METRIC_CHARS], const char *column);

#endif

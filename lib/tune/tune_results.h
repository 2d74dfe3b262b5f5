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

/* metric <- what measures quality: --metric, or what the result's finding is about. *sense <- +1: less is better; -1:
 * more is. SG_ERR_ARGUMENT: there is neither. */
SG_CHECKED sg_status tune_source_metric(char metric[TUNE_METRIC_CHARS], double *sense, const struct tune_source *source,
                                        const struct sg_tune *t, struct sg_error *err);

/* *out [*n] <- the numbers of a label's seeds, NaN where there is none, malloc'ed: those that a plot has on the axis
 * "x" or "y", or if the plot is NULL the last ones of a column. No column, or no point of the label: *n is 0. False: no
 * memory. */
bool tune_label_numbers(double **out, size_t *n, const struct sg_frame_label *label, const cJSON *plot,
                        const char *axis, const char *column);

/* Appends {"name","reason"} of something that is not compared, once. */
void tune_leave_out(cJSON *list, const char *name, const char *reason);
/* Writes such a list as comments, once for each reason, and the evidence's conclusion. */
void tune_put_conclusion(FILE *out, const cJSON *left_out, const struct sg_tune *t);
/* A method as a label of a result. */
cJSON *tune_label_json(const char *name, const char *compressor, cJSON *take_seeds, cJSON *take_series,
                       cJSON *take_final);

/* {"value","low","high"} */
cJSON *tune_interval_json(const struct sg_interval *number);
/* "error curvature" of error_curvature; returns out. */
const char *tune_words(char out[TUNE_METRIC_CHARS], const char *column);

#endif

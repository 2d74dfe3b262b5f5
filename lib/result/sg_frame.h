/* sg_frame.h: a result in numbers: labels x seeds x columns.
 *
 * A grid makes a frame of its runs, and figures, tables and comparisons read one back from a result's JSON. Only this
 * file defines the value of a column in a run (sg_run_value), the statistics over the seeds of a label
 * (sg_frame_spread), and the JSON of both. The formulas are in results/DEFINITIONS.md. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_FRAME_H
#define SG_FRAME_H

#include <stdbool.h>
#include <stddef.h>

#include "sg_fields.h"
#include "sg_node.h"
#include "sg_result.h"

/* ---- one run ---- */

/* The last number in x [n]; NaN if there is none. */
double sg_last_number(const double *x, size_t n);
/* The last number of a run's column; NaN if there is none, or no such column. */
double sg_run_last(const struct sg_run *run, const char *column);

/* The series or constant `metric` of a run, reduced as `at` says; at NULL = the last number. NaN: there is no such
 * number. +inf: `at` has a `when` that never comes true, and `why` has SG_NEVER in it. In both cases `why` gives the
 * reason; else it is "". */
enum { SG_WHY_CHARS = 200 };
#define SG_NEVER "is never at or below"
double sg_run_value(const struct sg_run *run, const char *metric, const struct sg_node *at, char why[SG_WHY_CHARS]);

/* Adds a value to a run whose series have no more than its ends: that of `metric`, reduced as the JSON `at` says.
 * sg_run_value then knows no other values than these, the last numbers and the constants. */
void sg_run_know(struct sg_run *run, const char *metric, const cJSON *at, double value);

/* The status of a run as results spell it: "ok", "diverged", "failed", "interrupted", "not_run", "running". A run is
 * finished if it ended by itself, even by diverging, and open if it has not ended. */
bool sg_run_status_is_finished(const char *status);
bool sg_run_status_is_open(const char *status);

/* ---- the seeds of a label ---- */

enum sg_statistic { SG_MEAN, SG_STD, SG_COUNT, SG_Q1, SG_MEDIAN, SG_Q3, SG_STATISTICS };

/* A run of a label. */
struct sg_frame_seed {
    const char *status;
    const struct sg_run *run;    /* its header is NULL if nothing was read */
    const struct sg_node *drawn; /* a map of what its trial drew, as in sg_cell; NULL = none */
};

/* One column of one label. */
struct sg_frame_column {
    const char *name;
    bool in_series, in_final;
    size_t n_points;
    double *curve[SG_STATISTICS]; /* [n_points] at each point; NULL = not there. An axis has SG_MEAN alone */
    double final[SG_STATISTICS];  /* where the runs ended; NaN = not known */
    size_t n_values;
    double *value; /* [n_values] the final one of each seed; NULL = not known */
};

/* True for step and epoch, which are the position of a record in a run and not a result. */
bool sg_frame_is_axis(const char *column);

/* A label: a method with its parameters. The last members are not in JSON; series and final are made of the columns. */
struct sg_frame_label {
    const cJSON *from;
    const char *label;               /* "Top-k k=4" */
    const char *method;              /* its name in the recipe: "Top-k" */
    const char *compressor;          /* topk; null = not known */
    bool baseline;                   /* the recipe's line without compression */
    const cJSON *parameters;         /* of the compressor */
    const cJSON *swept;              /* its values of the other keys that are lists of the recipe, if there are any */
    struct sg_document_tuned *tuned; /* where it has a range */
    const cJSON *constants;          /* of its first run */
    double times_less;               /* than the baseline sent after as many steps; null = not known */
    struct sg_text_list seeds;       /* in the order of all values of seeds */
    size_t n_cells;
    struct sg_document_cell *cells; /* its runs */

    size_t n_seeds, n_columns;
    struct sg_frame_column *column;   /* [n_columns] */
    const struct sg_frame_seed *seed; /* [n_seeds] its runs; NULL = read from JSON */
    const struct sg_node *lists;      /* of runs: the values that the label has of the recipe's lists; NULL = none */
};

struct sg_frame {
    size_t n_labels;
    struct sg_frame_label *label; /* [n_labels] */
};

/* The label of this text; NULL = there is none. */
const struct sg_frame_label *sg_frame_label(const struct sg_frame *frame, const char *label);
/* The name of a label's seed s; "?" = there is none. */
const char *sg_frame_seed_name(const struct sg_frame_label *label, size_t s);
void sg_frame_free_columns(struct sg_frame *frame);

/* The value of a seed, like sg_run_value. It is NaN, with a reason in `why`, also if the run is not "ok". */
double sg_frame_value(const struct sg_frame_seed *seed, const char *metric, const struct sg_node *at,
                      char why[SG_WHY_CHARS]);

/* value [n_seeds] <- a metric of each seed, reduced as `at` says, or the label's value if `metric` is a list of the
 * recipe, or what the seed's trial drew for it; an expression of the learning rate is the run's gamma. Unfinished runs
 * have a value only if no run is finished. The statistics are those of the seeds that have one. */
bool sg_frame_spread(double out[SG_STATISTICS], double *value, const struct sg_frame_label *label, const char *metric,
                     const struct sg_node *at);

/* Fills in the columns of a label of runs: those of its first run, or step and epoch without a point, and finals of
 * what trials drew. Points are the steps of all its runs, thinned to at most `most` (0 = all): the last is kept, and so
 * are points with evaluations as long as there is room. Finals use every record. Quartiles are kept for columns for
 * which `quartiles` returns true. */
bool sg_frame_fill(struct sg_frame_label *label, size_t most, bool (*quartiles)(const void *arg, const char *column),
                   const void *arg);

/* ---- JSON ---- */

/* A member of an object, by sg_same_name; NULL = there is none. */
const cJSON *sg_frame_member(const cJSON *object, const char *name);
/* A column of a label, by sg_same_name; NULL = there is none. */
const struct sg_frame_column *sg_frame_column(const struct sg_frame_label *label, const char *name);

/* The numbers of a label in JSON:
 *   series  {"step":[…],"epoch":[…],"<column>":{"mean":[…],"std":[…],"n":[…]}}, also "q1","median","q3" if kept
 *   final   {"<column>":{"mean","std","n","values":[…]}} */
cJSON *sg_frame_series_json(const void *label);
cJSON *sg_frame_final_json(const void *label);
/* Reads the columns of a label back from its JSON, `from`, also columns that are plain arrays and finals that are plain
 * numbers. SG_ERR_FORMAT: series or finals are no objects, or statistics differ in length. */
SG_CHECKED sg_status sg_frame_read_columns(struct sg_frame_label *label, const char *name, struct sg_error *err);

#endif

/* sg_frame.h: a result in numbers: labels x seeds x columns.
 *
 * A grid makes a frame of its runs, and figures, tables and comparisons read one back from a result's JSON. Only this
 * file defines the value of a column in a run (sg_run_value), the statistics over the seeds of a label
 * (sg_frame_spread), and the JSON of both. The formulas are in results/DEFINITIONS.md. */
#ifndef SG_FRAME_H
#define SG_FRAME_H

#include <stdbool.h>
#include <stddef.h>

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

struct sg_frame_label {
    const char *label, *method, *compressor; /* compressor NULL = not known */
    bool baseline;
    size_t n_seeds, n_columns;
    struct sg_frame_column *column;   /* [n_columns] */
    const struct sg_frame_seed *seed; /* [n_seeds]; NULL = read from JSON */
    const struct sg_node *swept;      /* of runs: the values that the label has of the recipe's lists; NULL = none */
    const cJSON *json;                /* what it was read from, an item of "results"; NULL = of runs */
};

struct sg_frame {
    size_t n_labels;
    struct sg_frame_label *label; /* [n_labels] */
};

/* The label of this text; NULL = there is none. */
const struct sg_frame_label *sg_frame_label(const struct sg_frame *frame, const char *label);
/* The name of seed s of a label that was read from JSON; "?" = there is none. */
const char *sg_frame_seed_name(const struct sg_frame_label *label, size_t s);
/* Frees all columns and the labels, and zeroes the frame. */
void sg_frame_free(struct sg_frame *frame);

/* The value of a seed, like sg_run_value. It is NaN, with a reason in `why`, also if the run is not "ok". */
double sg_frame_value(const struct sg_frame_seed *seed, const char *metric, const struct sg_node *at,
                      char why[SG_WHY_CHARS]);

/* value [n_seeds] <- a metric of each seed, reduced as `at` says, or the label's value if `metric` is a list of the
 * recipe, or what the seed's trial drew for it; an expression of the learning rate is the run's gamma. Unfinished runs
 * have a value only if no run is finished. The statistics are those of the seeds that have one. False: no memory. */
bool sg_frame_spread(double out[SG_STATISTICS], double *value, const struct sg_frame_label *label, const char *metric,
                     const struct sg_node *at);

/* Fills in the columns of a label of runs: those of its first run, or step and epoch without a point, and finals of
 * what trials drew. Points are the steps of all its runs, thinned to at most `most` (0 = all): the last is kept, and so
 * are points with evaluations as long as there is room. Finals use every record. Quartiles are kept for columns for
 * which `quartiles` returns true. False: no memory. */
bool sg_frame_fill(struct sg_frame_label *label, size_t most, bool (*quartiles)(const void *arg, const char *column),
                   const void *arg);

/* ---- JSON ---- */

/* Sets the members of one of "results" that hold its numbers:
 *   "series":{"step":[…],"epoch":[…],"<column>":{"mean":[…],"std":[…],"n":[…]}}, also "q1","median","q3" if kept,
 *   "final":{"<column>":{"mean","std","n","values":[…]}} */
void sg_frame_put(cJSON *result, const struct sg_frame_label *label);
/* {"mean","std","n","values":[…]} */
cJSON *sg_frame_spread_json(const double statistic[SG_STATISTICS], const double *value, size_t n);
/* The same of value [n], whose statistics are those of its finite numbers. */
cJSON *sg_frame_values_json(const double *value, size_t n);

/* Reads "results" back, also those whose columns are plain arrays and whose finals are plain numbers. Names are
 * borrowed from them. Deviations of a single seed are left out. SG_ERR_FORMAT: a result without a label, two of one
 * label, series or finals that are no objects, or statistics of different lengths. `name` begins messages. */
SG_CHECKED sg_status sg_frame_read(struct sg_frame *out, const cJSON *results, const char *name, struct sg_error *err);
/* Reads what sg_frame_spread_json wrote, or a plain number; NULL gives NaNs. */
void sg_frame_read_spread(double out[SG_STATISTICS], const cJSON *spread, size_t n_seeds);
/* The numbers of a JSON array, NaN for what is none; malloc'ed, NULL = no memory. */
double *sg_frame_numbers(const cJSON *array);
/* A member of an object, by sg_same_name; NULL = there is none. */
const cJSON *sg_frame_member(const cJSON *object, const char *name);
/* A column of a label, by sg_same_name; NULL = there is none. */
const struct sg_frame_column *sg_frame_column(const struct sg_frame_label *label, const char *name);

#endif

/* tune_explain.h: shared by the files of --explain: results as a table of methods, seeds and errors, and how well each
 * error orders the methods by quality. results/WHY.md has the definitions. */
#ifndef TUNE_EXPLAIN_H
#define TUNE_EXPLAIN_H

#include "sg_stats.h"
#include "tune_private.h"
#include "tune_results.h"

enum { EXPLAIN_FEWEST = 4, EXPLAIN_COLUMNS = 17 };

/* Two methods of a seed that an error does not put in the order of their quality. */
struct explain_wrong {
    size_t seed, better, worse; /* the better and the worse method by quality */
    bool overlap;               /* over the seeds, the qualities of the two methods have values in common */
};

/* The quality of the methods, or an error. */
struct explain_column {
    const char *column;
    bool mean;                      /* the number of a run is the mean over its records; else the last */
    double sense;                   /* +1: more is worse; -1: less is worse, as of what is sent */
    double *value;                  /* [n_methods][n_seeds]; NaN = none */
    size_t n_methods;               /* that have a value and a quality */
    struct sg_interval correlation; /* Spearman's, of sense * value with that of the quality, over methods */
    struct sg_interval behind;      /* by how much the first error's correlation is above this one's */
    size_t n_pairs, n_wrong;        /* of methods of a seed whose qualities differ */
    struct explain_wrong *wrong;    /* [n_wrong] */
};

struct explain_method {
    char *name;                         /* its label, behind which the result's name stands if that is there twice */
    const struct sg_frame_label *label; /* in the first result that has it */
};

struct explain {
    struct tune_source source[SG_TUNE_RESULTS];
    size_t n_sources;
    char metric[TUNE_METRIC_CHARS];
    const cJSON *at; /* how a run's quality is read from its series; NULL = its last number */
    size_t n_methods, n_seeds, n_columns;
    struct explain_method *method;
    const char **seed;                             /* [n_seeds] */
    struct explain_column column[EXPLAIN_COLUMNS]; /* the quality, and behind it the errors */
    double *values;                                /* [n_columns][n_methods][n_seeds] of all columns */
    size_t first;                                  /* the error of the largest correlation; 0 = there is none */
    cJSON *left_out; /* [{"name","reason"}] of methods and columns that are not compared */
};

/* Reads the results. SG_ERR_ARGUMENT: they are not of one setting or metric, or nothing in them can be compared. */
SG_CHECKED sg_status explain_read(struct explain *out, const struct sg_tune *t, struct sg_error *err);
void explain_free(struct explain *e);

/* "orders", "orders in reverse" or "cannot tell". */
const char *explain_verdict(const struct explain_column *error);
/* Against the first error: "first", "ties", "cannot tell", "behind" or "ahead". */
const char *explain_rank(const struct explain *e, const struct explain_column *error);

/* The evidence, which sparseplot-export draws as a scatter of the methods for each error; NULL = no memory. */
cJSON *explain_json(const struct explain *e);
tune_put_fn explain_put_table;

#endif

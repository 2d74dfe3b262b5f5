/* tune_profile.h: shared by the files of --profile: results as tasks, and what each setting of a method costs there. */
#ifndef TUNE_PROFILE_H
#define TUNE_PROFILE_H

#include "sg_profile.h"
#include "tune_private.h"
#include "tune_results.h"

/* A result. Strings are borrowed from it. */
struct profile_task {
    struct tune_source source;
    char metric[TUNE_METRIC_CHARS]; /* of quality, as results spell it */
    const cJSON *at;                /* how a run's quality is taken from its series; NULL = its last number */
    double sense;                   /* +1: less is better; -1: more is better */
    struct tune_margin margin;
    const cJSON *when; /* a plot's point of a run has its cost when the metric first reaches this; NULL = at the end */
    const struct sg_frame_label *baseline;
    const char *unit;                    /* of the cost; NULL = none */
    const struct sg_frame_label **label; /* [settings] grouped by method */
    size_t *first;                       /* as in struct sg_profile_task, as are the costs */
    double *cost;
    size_t seeds;
};

struct profile {
    char cost[TUNE_METRIC_CHARS]; /* a column of results */
    bool quality;                 /* methods are ranked by their quality instead */
    size_t tasks, methods;
    struct profile_task task[SG_TUNE_RESULTS];
    const char **method;             /* [methods] names */
    const char *uncompressed;        /* the name of the method without compression */
    struct sg_profile_method *found; /* [methods] */
    struct sg_profile_cell *cell;    /* [methods][tasks] */
    cJSON *left_out;
};

/* Reads the results and finds the costs of the methods that are in all of them. SG_ERR_ARGUMENT: a result lacks a
 * baseline, the quality of each seed or the column, or fewer than two methods are in all. */
SG_CHECKED sg_status profile_read(struct profile *out, const struct sg_tune *t, struct sg_error *err);
void profile_free(struct profile *p);

/* The evidence, which sparseplot-export draws and tabulates; NULL = no memory. */
cJSON *profile_json(const struct profile *p);
tune_put_fn profile_put_table; /* of the struct profile */

#endif

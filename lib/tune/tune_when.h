/* tune_when.h: what the files of --when share: whether compression reaches a target sooner, on modelled networks. */
/* SPDX-License-Identifier: MIT */
#ifndef TUNE_WHEN_H
#define TUNE_WHEN_H

#include "sg_grid_network.h"
#include "tune_private.h"

static const double GBIT = 1e9; /* bits; bandwidths are bits/s inside and Gbit/s for readers */

enum { WHEN_BANDWIDTHS = 32, WHEN_CLUSTERS = 12, WHEN_WINDOW = 5 };

/* The records of one seed's run up to the target. */
struct when_run {
    uint64_t seed;
    struct sg_grid_messages *messages;
    size_t records; /* number of records up to the first that attains the target; 0 = none attains it */
    double steps;   /* that record's */
};

/* The cells of one label. */
struct when_method {
    const struct sg_cell *cell; /* the first of them */
    struct when_run *run;       /* [seeds] */
    char why[200];              /* why the method is excluded; "" = it attains the target at every seed */
};

/* A method at one bandwidth and number of workers. */
struct when_time {
    double mean_s;       /* modelled seconds to the target, mean over the seeds; NaN = the method is excluded */
    double compute_s;    /* the part of mean_s in forward and backward passes and coding */
    double speedup;      /* mean_s of the baseline over this mean_s */
    double least, most;  /* minimum and maximum of the speed-ups at single seeds */
    bool may_be_fastest; /* at some seed it is no slower than the method with the least mean */
};

/* The bandwidths at which a method gains, that is, has a speed-up above 1. */
struct when_gain {
    bool at_lowest, at_highest; /* true if it gains at the lowest, at the highest bandwidth of the list */
    double from;                /* the lowest one at which a loss turns into a gain, bits/s; NaN = none */
    double to;                  /* the highest one at which a gain turns into a loss; NaN = none */
};

struct when {
    struct sg_tune *t;
    struct sg_grid_network network;
    bool assumed; /* the recipe has no network, so this one is assumed */
    char metric[TUNE_METRIC_CHARS];
    bool higher; /* larger values of it are better */
    double target;
    struct tune_margin margin;
    bool given;      /* the target is from --target */
    double attained; /* tune_tail_median of the baseline at its worst seed */
    double d;        /* numbers of the model that the runs train */
    size_t n_bandwidths, n_clusters;
    double bandwidth[WHEN_BANDWIDTHS]; /* bits/s, ascending */
    size_t workers[WHEN_CLUSTERS];     /* ascending */
    size_t seeds, n_methods, baseline; /* baseline: its index among the methods */
    struct when_method *method;        /* [n_methods] */
    struct when_run *run;              /* [n_methods][seeds] those of all methods */
    struct when_time *time;            /* [n_clusters][n_bandwidths][n_methods] */
    struct when_gain *gain;            /* [n_clusters][n_methods] */
    double *seed_s;                    /* work space: [n_methods][seeds] */
    char *price[WHEN_CLUSTERS];        /* tune_price_text at the bandwidth of the sentences */
};

static inline struct when_time *when_times(const struct when *w, size_t cluster, size_t bandwidth) {
    return w->time + (cluster * w->n_bandwidths + bandwidth) * w->n_methods;
}

/* The first record whose running median is no worse than the target: the median of WHEN_WINDOW values, with as many
 * before as behind, and fewer at the ends of the run. NaN = the record has no value. n = there is no such record. */
size_t when_attained(const double *value, size_t n, double target, bool higher);

/* time [n_methods] <- all methods at one bandwidth and number of workers. */
SG_CHECKED sg_status when_compare(struct when_time *time, const struct when *w, double bits_per_s, size_t workers,
                                  struct sg_error *err);
/* The method with the least mean of time [n_methods]; the baseline if none is faster than it. */
size_t when_fastest(const struct when *w, const struct when_time *time);
/* The speed-up over the baseline of messages that cost no time, with as many steps: the baseline's time over its
 * compute time. Infinite if its compute time is 0. */
double when_free(const struct when *w, const struct when_time *time);

/* The index of the bandwidth in the list that is nearest to the bandwidth of the link. */
size_t when_own_bandwidth(const struct when *w);

/* Fills in w->gain from w->time. A crossing between two bandwidths is found by bisection of log bandwidth. */
SG_CHECKED sg_status when_find_gains(struct when *w, struct sg_error *err);

/* Makes the evidence and the table. */
void when_document(const struct when *w, const struct tune_trials *b);
/* "test accuracy 0.51"; returns out. */
enum { WHEN_TEXT = 256 };
const char *when_target_text(const struct when *w, char out[WHEN_TEXT]);
/* The conclusions in sentences, and the assumptions behind them; arrays of strings. */
cJSON *when_answer_json(const struct when *w);
cJSON *when_assumptions_json(const struct when *w);
/* Writes the table for readers; `of` is the struct when. */
tune_put_fn when_put_table;
/* Where the method gains: "always", "never", "below" (`to`), "above" (`from`), "between" (both) or "outside" (both). */
const char *when_where(const struct when_gain *gain);

#endif

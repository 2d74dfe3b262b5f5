/* sg_document.h: a result of sparsebench as one structure, which is the schema of its JSON.
 *
 * A grid fills it, and figures, tables, pages, audits and searches read its members. Members are written in their
 * order, and names are keys (sg_fields.h). results/SCHEMA.md is made from this header and from the structure of a
 * label in sg_frame.h. The formulas of the numbers are in results/DEFINITIONS.md. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_DOCUMENT_H
#define SG_DOCUMENT_H

#include "sg_fields.h"
#include "sg_frame.h"
#include "sg_status.h"

/* ---- where the numbers come from ---- */

/* The program that made the result. It also has its name, compiler, flags and plug-ins. */
struct sg_document_program {
    const cJSON *from;
    const char *version; /* 0.1.0 */
    const char *commit;  /* of the sources */
    bool dirty;          /* the sources were not those of the commit */
};

/* The recipe, as the command read it. */
struct sg_document_recipe {
    const cJSON *from;
    const char *path;        /* its file */
    const char *sha256;      /* of its text, without a first line for editors */
    struct sg_text_list set; /* what --set changed */
    const char *name;        /* its name */
    const char *title;       /* its title */
    const cJSON *resolved;   /* every key with its value */
};

/* The command that made the result, and its moment. */
struct sg_document_run {
    const cJSON *from;
    struct sg_text_list argv;          /* its words */
    const char *started_at;            /* in UTC */
    double elapsed_s;                  /* until the result was made */
    double jobs;                       /* cells at once */
    double threads;                    /* of each cell; null: sparsetrain's choice */
    const char *launcher;              /* of each cell */
    const char *folder;                /* of the cells */
    struct sg_text_list set;           /* --set */
    struct sg_text_list methods;       /* --method */
    struct sg_text_list seeds;         /* --seed */
    const char *part;                  /* --part */
    struct sg_document_recipe *recipe; /* of a run of sparsetrain alone */
};

/* The data that the cells read. It also has the checksums, or what made them. */
struct sg_document_dataset {
    const cJSON *from;
    const char *name;       /* of the set */
    const char *source;     /* file or generated */
    const char *generator;  /* of data that are generated */
    const char *train_file; /* the file of the set that was trained on */
};

/* The network whose time is modelled. It also has the section of the recipe (sg_grid_network.h). */
struct sg_document_network {
    const cJSON *from;
    const char *model; /* the network in a sentence */
    const char *error; /* how far the model is from measurements */
};

/* ---- labels: a label is a method with its parameters ---- */

/* A run of a label: one seed, or one trial of a study. */
struct sg_document_cell {
    const cJSON *from;
    const char *seed;            /* of the run */
    const char *status;          /* ok, diverged, failed, interrupted, not_run or running */
    const char *message;         /* why it is not ok */
    const char *file;            /* its series */
    double elapsed_s;            /* what the run took */
    double steps;                /* that it took; null if nothing was read */
    double planned_steps;        /* that it was to take */
    double epochs;               /* the same in passes over the data */
    double planned_epochs;       /* the same in passes over the data */
    struct sg_text_list devices; /* the processors that it was on, in their order; null = not known */
    enum sg_flag reused;         /* its series was there before the command */
    double trial;                /* of its study, from 1, where the method has a range */
    const cJSON *drawn;          /* what the trial drew */
    double value;                /* that of tune.by */
    enum sg_flag won;            /* the trial is the best of its study */
    enum sg_flag fresh; /* in the place of `won`: it is the run of the winner, which is the label's at this seed */
};

/* The run that stands for a label that was tuned: of the study whose run is the median over the studies, of an even
 * number the better of the two in the middle. */
struct sg_document_winner {
    const cJSON *from;
    const char *seed;   /* of the run */
    double trial;       /* from 1 */
    const cJSON *drawn; /* what it drew */
    double value;       /* that of tune.by */
};

/* In how many studies the trial won that drew the least value of a key, or the greatest. */
struct sg_document_edge {
    const cJSON *from;
    const char *name; /* of the key, which has this object */
    double least;     /* studies in which the least draw won */
    double greatest;  /* studies in which the greatest draw won */
};

/* How a label was tuned. */
struct sg_document_tuned {
    const cJSON *from;
    const char *by;                    /* the metric */
    const cJSON *at;                   /* where in a run it counts */
    double trials;                     /* of each study */
    struct sg_document_winner *winner; /* null = no study has a value */
    size_t n_edges;
    struct sg_document_edge *edges; /* by key */
};

/* ---- claims ---- */

/* The bound of a claim is times x + plus, with x of another label or metric. A bound that is a number is `plus`, and
 * the others are null. */
struct sg_document_bound {
    const cJSON *from;
    const char *metric; /* of x */
    const cJSON *at;    /* where in a run x counts */
    const char *of;     /* the label of x */
    double times;       /* a factor */
    double plus;        /* a summand */
};

/* How far the values lie beyond the bound, on the scale of the metric and positive where the claim is true. */
struct sg_document_margin {
    const cJSON *from;
    const char *scale; /* difference or logarithm */
    double mean;       /* over the seeds */
    double half_width; /* half of Student's 95 % interval of that mean */
};

/* A claim at one seed. */
struct sg_document_seed {
    const cJSON *from;
    const char *seed; /* its number */
    double value;     /* what the claim is about */
    double other;     /* the x of the bound */
    double bound;     /* what the value is held against */
    double ratio;     /* value / bound */
    const char *note; /* why a number is missing or infinite */
};

/* A claim about times of kernels in one case. */
struct sg_document_case {
    const cJSON *from;
    const char *case_; /* size, distribution, density and threads */
    double value;      /* the median time */
    double bound;      /* what it is held against */
    double ratio;      /* the median of value / bound */
    double ratio_q1;   /* its lower quartile */
    double ratio_q3;   /* its upper quartile */
};

/* A claim of the recipe, and the verdict on it. results/DEFINITIONS.md has the rule under Claims. */
struct sg_document_claim {
    const cJSON *from;
    const char *text;                  /* the claim in words */
    bool descriptive;                  /* it was written after its result */
    const char *note;                  /* what the recipe says of it */
    const char *verdict;               /* as above */
    const char *metric;                /* the series or constant that it is about */
    const cJSON *at;                   /* where in a run that counts; null = at its end */
    const char *of;                    /* the label */
    const char *sense;                 /* at-most or at-least */
    struct sg_document_bound *bound;   /* what the value is held against */
    const char *reason;                /* why it does not hold; null where it does */
    struct sg_document_margin *margin; /* how far it is from the bound */
    size_t n_seeds;
    struct sg_document_seed *seeds; /* its numbers */
    size_t n_cases;
    struct sg_document_case *cases; /* the same of times of kernels */
};

/* ---- plots ---- */

/* A number over the seeds of a label. */
struct sg_document_spread {
    const cJSON *from;
    double mean;                  /* over the seeds that have one */
    double std;                   /* their standard deviation */
    double n;                     /* their number */
    struct sg_number_list values; /* that of each seed */
};

/* The point of a label in a plot that has one for each. */
struct sg_document_point {
    const cJSON *from;
    const char *label;            /* which */
    struct sg_document_spread *x; /* its place */
    struct sg_document_spread *y; /* its place */
};

/* A plot of the recipe, with names in snake_case. */
struct sg_document_plot {
    const cJSON *from;
    const char *x;                 /* the column of the axis */
    const char *y;                 /* the column of the axis */
    const char *log;               /* none, x, y or xy */
    const char *title;             /* its own */
    const char *kind;              /* curves, points or ranking */
    const char *band;              /* auto, std, quartiles or none */
    double smooth;                 /* over so many records */
    struct sg_number_list x_range; /* the view: from, to */
    struct sg_number_list y_range; /* the view: from, to */
    struct sg_text_list methods;   /* that it shows; null = all */
    const cJSON *x_at;             /* where in a run x counts */
    const cJSON *y_at;             /* where in a run y counts */
    size_t n_points;
    struct sg_document_point *points; /* null for curves */
};

/* ---- what was found ---- */

/* The column by which traffic is compared. */
struct sg_document_traffic {
    const cJSON *from;
    const char *column;   /* bytes_sent, bits or bits_values */
    const char *baseline; /* the label with which others are compared, or its method */
    bool other_steps;     /* some took other numbers of steps, and are not compared */
};

/* Methods that send about as much: the best one, and the best one of another method. */
struct sg_document_level {
    const cJSON *from;
    double times_less;  /* than the baseline */
    const char *first;  /* label */
    const char *second; /* label */
    double lead;        /* of the first, in the unit of the summary */
    bool beyond_noise;  /* its 95 % interval leaves out 0 */
};

/* A label beside the label without compression that has its other settings. */
struct sg_document_method {
    const cJSON *from;
    const char *label;            /* which */
    const char *baseline;         /* the label without compression; null = there is none */
    double value;                 /* of the metric, mean over the seeds */
    double std;                   /* over the seeds */
    struct sg_number_list values; /* of each seed */
    double loss;                  /* against the baseline, paired by seed, in the unit of the summary */
    double low;                   /* of its 95 % interval */
    double high;                  /* of its 95 % interval */
    double pairs;                 /* seeds that both have */
    const char *verdict;          /* reaches, loses, not shown, or null */
    enum sg_flag reaches;         /* the interval lies within the margin */
    double times_less;            /* than the baseline sent */
};

/* The methods at equal traffic, and which of them are as good as no compression. */
struct sg_document_summary {
    const cJSON *from;
    const char *text;             /* in sentences; null if there is nothing to compare */
    const char *reason;           /* why there is no text */
    const char *baseline;         /* the label without compression */
    const char *metric;           /* of quality */
    const cJSON *at;              /* where in a run it counts */
    const char *better;           /* higher or lower */
    double within;                /* the margin of "as good", in `unit` */
    const char *unit;             /* of losses */
    double value;                 /* of the baseline, mean over the seeds */
    double start;                 /* before the first step */
    double std;                   /* of the baseline over the seeds */
    struct sg_number_list values; /* of the baseline at each seed */
    size_t n_equal_traffic;
    struct sg_document_level *equal_traffic; /* by traffic */
    size_t n_methods;
    struct sg_document_method *methods; /* null if there is nothing to compare */
};

/* In how many studies the least and the greatest draw of a key won. */
struct sg_document_key {
    const cJSON *from;
    const char *name; /* of the key, which has this object */
    double studies;   /* in all */
    double least;     /* in which the least draw won */
    double greatest;  /* in which the greatest draw won */
    bool at_edge;     /* these are most of them: the range is too small */
};

/* The keys that were tuned, over all labels. */
struct sg_document_tuning {
    const cJSON *from;
    size_t n_keys;
    struct sg_document_key *keys; /* by key */
    const char *text;             /* which are at the edge of their range */
};

/* How evidence wants to be tabulated. */
struct sg_document_table {
    const cJSON *from;
    struct sg_text_list columns; /* the i-th for the i-th plot */
    const char *footnote;        /* below the table */
};

/* ---- the result ---- */

/* A result. The last members are of other documents that are read like one: times of kernels, evidence of sparsetune, a
 * run of sparsetrain. */
struct sg_document {
    const cJSON *from;
    const char *schema;                  /* sparsebench/1 */
    const char *status;                  /* the worst of the cells: ok, diverged, failed or interrupted */
    struct sg_document_program *program; /* that made it */
    struct sg_document_run *run;         /* the command */
    struct sg_document_recipe *recipe;   /* what was asked for */
    struct sg_document_dataset *dataset; /* what the cells read */
    struct sg_text_list identities;      /* of the programs that ran the cells, each once */
    const cJSON *host;                   /* the machine */
    const cJSON *libraries;              /* of the cells */
    const cJSON *units;                  /* of columns, by name */
    struct sg_document_network *network; /* whose time is modelled */
    struct sg_document_traffic *traffic; /* null = not known */
    struct sg_frame results;             /* a label each */
    size_t n_claims;
    struct sg_document_claim *claims; /* of the recipe */
    size_t n_plots;
    struct sg_document_plot *plots;      /* of the recipe */
    struct sg_document_summary *summary; /* what was found */
    struct sg_document_tuning *tuning;   /* where keys are tuned */
    const char *kind;                    /* kernels: `results` are rows of times; when: evidence */
    const char *name;                    /* of a run of sparsetrain: its recipe's */
    const char *title;                   /* of a run of sparsetrain: its recipe's */
    const char *method;                  /* of a run of sparsetrain: its method */
    const char *over;                    /* what the values of a label are of, in the place of seeds */
    struct sg_document_table *table;     /* how it wants to be tabulated */

    struct sg_arena memory; /* of all that it points to, but for the columns of results */
    const cJSON *rows;      /* "results" of times of kernels; else NULL */
};

/* The shapes of what a program makes as JSON elsewhere and takes into a document. */
extern const struct sg_shape sg_document_program_shape, sg_document_recipe_shape, sg_document_run_shape,
    sg_document_dataset_shape, sg_document_network_shape, sg_document_claim_shape;

/* Reads a result, which it takes over, also on failure. SG_ERR_FORMAT: "results" are no list, a result has no label, or
 * two have the same, series or finals are no objects, or statistics differ in length. `name` begins messages. It does
 * not look at the schema. Deviations of a single seed are left out. */
SG_CHECKED sg_status sg_document_read(struct sg_document *out, cJSON *take_json, const char *name,
                                      struct sg_error *err);
/* The result as JSON. */
cJSON *sg_document_json(const struct sg_document *document);
/* Makes all its texts fit to be shown. */
void sg_document_clean(struct sg_document *document);
void sg_document_free(struct sg_document *document); /* zeroes it */

/* ---- looking up ---- */

/* The kind of task of its recipe; "" = not known. */
const char *sg_document_task(const struct sg_document *document);
/* True for times of kernels. */
bool sg_document_is_kernels(const struct sg_document *document);
/* The point of this label; NULL = the plot has none, or is NULL. */
const struct sg_document_point *sg_document_point(const struct sg_document_plot *plot, const char *label);
/* The mean, deviation and number of a spread, the others NaN. The deviation of a single seed is left out. */
void sg_document_spread(double out[SG_STATISTICS], const struct sg_document_spread *spread, size_t n_seeds);

#endif

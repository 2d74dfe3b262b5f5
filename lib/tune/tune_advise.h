/* tune_advise.h: what the files of --advise share: which compressor pays on recorded gradients, and what it loses. */
#ifndef TUNE_ADVISE_H
#define TUNE_ADVISE_H

#include "sg_gradients.h"
#include "sg_grid_network.h"
#include "tune_search.h"

enum { ADVISE_REASON = 160 };

/* Steps whose times differ by less count as equally long. */
#define ADVISE_ALIKE 0.05

/* What may go wrong with a method, in the order in which tables name it. */
enum advise_caution {
    ADVISE_BIASED,   /* what it does not send is lost for good, and not at random */
    ADVISE_NOISE,    /* unbiased, and without feedback */
    ADVISE_GROWS,    /* the residual is still growing when the recording ends */
    ADVISE_STARVED,  /* some layers sent nothing in the whole recording */
    ADVISE_UNEVEN,   /* some steps send much more than others */
    ADVISE_WORKERS,  /* some workers send much more than others */
    ADVISE_GATHERED, /* its messages cannot be added up on their way */
    ADVISE_CONSTANT, /* it depends on a constant on the gradients' own scale */
    ADVISE_SLOW,     /* compression takes longer than the exchange that it leaves */
    ADVISE_CAUTIONS
};

/* A method with its parameters, and what it did on the recording. */
struct advise_candidate {
    const struct sg_cell *cell;
    const struct sg_cell_outcome *outcome;
    char why[ADVISE_REASON]; /* it is left out, and why, and the numbers below are NaN; "" = they are known */
    bool baseline;           /* the one without compression that others are compared with */
    double bytes;            /* that a worker sends at a step, mean over workers and steps */
    double error;            /* sum of |p - C(p)|^2 over the sum of |g|^2, on the gradient's scale */
    double error_over_least; /* the first sum over the least that as many bits of entries allow; NaN = that is 0 */
    double encode_s, add_s;  /* of a worker's message, measured here; of adding one message to the sum */
    double coding_s;         /* both, of a step on the network */
    double step_s;           /* modelled, of a step: all of it */
    double exposed_s;        /* its waiting for exchanges */
    double speedup;          /* step_s of the baseline over its own */
    bool caution[ADVISE_CAUTIONS];
    size_t starved, layers; /* that sent nothing, of how many; 0 = not known */
    double uneven;          /* standard deviation over mean of the entries of steps */
    double longest;         /* the longest message over the mean */
    bool within;            /* the tolerance */
    size_t rank;            /* in the list, from 1; 0 = it is not in it */
};

struct advise {
    struct sg_tune *t;
    struct sg_grid_network network;
    bool assumed;     /* the recipe has no network */
    bool own;         /* the candidates are the recipe's methods */
    double tolerance; /* on `error` */

    /* Where the gradients come from. */
    char *files;             /* as task.files */
    bool recorded_here;      /* this action recorded them, the begin of a run of the recipe */
    double share;            /* of a run of the recipe that they are; NaN = not known */
    double gamma;            /* learning rate of the replays, where recorded_here */
    sg_gradients *gradients; /* of `files` */
    size_t steps, workers, d;
    double square; /* sum over steps of the mean over workers of |g|^2 */

    struct tune_changes changes;        /* of the replays */
    struct sg_tune replay;              /* *t with the identity of replays */
    struct tune_trials trials;          /* the candidates' runs */
    int threads;                        /* that compression is timed with */
    struct advise_candidate *candidate; /* [n] */
    size_t n, baseline;                 /* baseline: its index */
    size_t *list, listed;               /* [n] the ranked ones */
    cJSON *left_out;                    /* [{"method","reason"}] of the built-in candidates, before any run */
};

/* Where the gradients are, and how many: files and layers of a task `recorded`; of another task the first tenth of a run
 * without compression is recorded, if it is not there already. Opens them and adds up their squares. */
SG_CHECKED sg_status advise_source(struct advise *a, struct sg_error *err);

/* Appends a candidate's method to a list of methods, under its label, without what is absent or refused by a replay;
 * false = no memory. And the text of that entry, {name: …, compressor: …}; NULL = no memory. */
bool advise_push_candidate(struct sg_node *out, const struct advise *a, const struct advise_candidate *c);
char *advise_candidate_text(const struct advise *a, const struct advise_candidate *c);
/* The methods of the replays, as a change: those of the recipe, or the built-in ones, for whose hard threshold it runs
 * trials. Always with one without compression. */
SG_CHECKED sg_status advise_methods(struct advise *a, struct sg_error *err);
/* The name of the method without compression. */
const char *advise_baseline(const struct advise *a);
/* Appends that method to a list; false = no memory. */
bool advise_push_baseline(struct sg_node *out, const struct advise *a);

/* Replays the gradients in this process, twice, to see what a method is given: fills in error, least, encode_s and
 * add_s. */
SG_CHECKED sg_status advise_replay(struct advise *a, struct advise_candidate *c, struct sg_error *err);

/* What the runs tell: bytes, error, cautions; times on the network; the list. */
SG_CHECKED sg_status advise_measure(struct advise *a, struct advise_candidate *c, struct sg_error *err);
SG_CHECKED sg_status advise_rank(struct advise *a, struct sg_error *err);
/* Is a compressor's result added up on the way, so that every message has the length of one? */
bool advise_sums(const struct sg_cell *cell);

const char *advise_caution_word(enum advise_caution which);
/* What a caution says of a method; out has ADVISE_REASON characters. Returns out. */
char *advise_caution_text(char out[ADVISE_REASON], const struct advise_candidate *c, enum advise_caution which);
bool advise_pays(const struct advise *a);              /* is the first of the list faster than no compression? */
bool advise_is_open(const struct advise_candidate *c); /* does it compress, and is its replay whole? */
char *advise_answer(const struct advise *a);           /* a sentence or two; NULL = no memory */
cJSON *advise_assumptions(const struct advise *a);     /* sentences */
tune_put_fn advise_put_table;                          /* `of` is the struct advise */
SG_CHECKED sg_status advise_document(const struct advise *a, struct sg_error *err);

/* t->text <- the recipe with the methods of the list beside the one without compression, without claims and plots. */
SG_CHECKED sg_status advise_recipe(const struct advise *a, struct sg_error *err);

#endif

/* tune_advise.h: what the files of --advise share: which compressor pays on recorded gradients, and what it loses. */
/* SPDX-License-Identifier: MIT */
#ifndef TUNE_ADVISE_H
#define TUNE_ADVISE_H

#include "sg_gradients.h"
#include "sg_grid_network.h"
#include "tune_search.h"

enum { ADVISE_REASON = 160 };

/* Two steps count as equally long if their times differ by less than this share. */
#define ADVISE_ALIKE 0.05

/* What may go wrong with a method, in the order in which tables name it. */
enum advise_caution {
    ADVISE_BIASED,   /* biased and without feedback: what is not sent is lost, and not at random */
    ADVISE_NOISE,    /* unbiased, and without feedback */
    ADVISE_GROWS,    /* the residual is still growing when the recording ends */
    ADVISE_STARVED,  /* some layers sent nothing in the whole recording */
    ADVISE_UNEVEN,   /* some steps send much more than others */
    ADVISE_WORKERS,  /* some workers send much more than others */
    ADVISE_GATHERED, /* every worker gets the messages of all others */
    ADVISE_CONSTANT, /* it has a constant that depends on the scale of the gradients */
    ADVISE_SLOW,     /* compression takes longer than the remaining exchange */
    ADVISE_CAUTIONS
};

/* What a method loses, in one number. Let l_i = p_i - C(p_i) on the gradient's scale, and mean l, mean g the means over
 * workers. All are sums over the steps, divided by sums over the steps. */
enum advise_error {
    ADVISE_RELATIVE, /* mean |l_i|^2 / mean |g_i|^2 */
    ADVISE_MEAN,     /* |mean l|^2 / |mean g|^2: only the mean moves the parameters */
    ADVISE_LAG,      /* <mean l, mean g of the next step> / |mean g|^2, without its sign */
    ADVISE_DRIFT,    /* |sum so far of mean g less what the optimizer was given|^2 / |mean g|^2 */
    ADVISE_ERRORS
};

/* A method with its parameters, and what it did on the recording. */
struct advise_candidate {
    const struct sg_cell *cell;
    const struct sg_cell_outcome *outcome;
    char *hook;              /* advise_hook_text of the method */
    char why[ADVISE_REASON]; /* why it is left out, the numbers below are then NaN; "" = it is measured */
    bool baseline;           /* the one without compression that others are compared with */
    double bytes;            /* that a worker sends at a step of the model meant, mean over workers and steps */
    double error[ADVISE_ERRORS];
    double error_over_least; /* sum of |p - C(p)|^2 over its minimum for that many bits; NaN = that is 0 */
    double encode_s, add_s;  /* of a worker's recorded message, where timed: to make it, to add it to the sum */
    double coding_s;         /* encoding and decoding of a step on the network */
    double step_s;           /* modelled duration of a step */
    double exposed_s;        /* of step_s, the time spent waiting for exchanges */
    double speedup;          /* step_s of the baseline over this step_s */
    bool caution[ADVISE_CAUTIONS];
    size_t starved, layers; /* layers that sent nothing; number of layers, 0 = not known */
    double uneven;          /* standard deviation over mean of the number of entries per step */
    double longest;         /* the longest message of a step over its mean message, mean over steps */
    bool within;            /* the relative error is within the tolerance */
    size_t rank;            /* position in the ranked list, from 1; 0 = not in the list */
};

struct advise {
    struct sg_tune *t;
    struct sg_grid_network network;
    bool assumed;         /* the recipe has no network, so the network is assumed */
    bool own;             /* the candidates are the recipe's methods */
    double tolerance;     /* upper bound on the relative error */
    enum advise_error by; /* the error that decides among methods with equally fast steps */

    /* Where the gradients come from. */
    char *files;             /* as task.files */
    bool recorded_here;      /* this action recorded them, from the first steps of a run of the recipe */
    double share;            /* of a run of the recipe that was recorded; NaN = not known */
    double gamma;            /* learning rate of the replays, where recorded_here */
    sg_gradients *gradients; /* of `files` */
    size_t steps, workers, d;
    double square; /* sum over steps of the mean over workers of |g|^2 */

    struct sg_tune replay;              /* *t with the identity of replays */
    struct tune_trials trials;          /* the candidates' runs */
    int threads;                        /* number of threads while compression is timed */
    struct advise_candidate *candidate; /* [n] */
    size_t n, baseline;                 /* baseline: its index */
    size_t *list, listed;               /* [n] the ranked ones */
    char *price;                        /* tune_price_text of the recipe; NULL = it has none */
    cJSON *left_out;                    /* [{"method","reason"}] of the built-in candidates, before any run */
};

/* A candidate's method, named by its label, without absent keys and keys that a replay refuses, as the text {name: …,
 * compressor: …}. */
char *advise_candidate_text(const struct advise *a, const struct advise_candidate *c);
/* A method as the text of sg_flat.h, which the hook for PyTorch takes; NULL = the hook refuses it. The
 * text cannot say that the whole model is one layer. */
char *advise_hook_text(const struct sg_method_config *config);
/* Puts the methods of the replays into the changes: those of the recipe, or the built-in ones. It runs trials to find
 * the hard thresholds of the built-in ones. The list always contains a method without compression. */
SG_CHECKED sg_status advise_methods(struct advise *a, struct sg_error *err);
/* The name of the method without compression. */
const char *advise_baseline(const struct advise *a);
/* Appends the method without compression to a list. */
void advise_push_baseline(struct sg_node *out, const struct advise *a);

/* Replays the gradients twice in this process, to read the vectors that the method compresses. Fills in the errors,
 * error_over_least, hook, and where coding is timed encode_s and add_s. */
SG_CHECKED sg_status advise_replay(struct advise *a, struct advise_candidate *c, struct sg_error *err);

/* Fills in bytes and cautions from the runs, computes the times on the network, and ranks the list. */
SG_CHECKED sg_status advise_measure(struct advise *a, struct advise_candidate *c, struct sg_error *err);
SG_CHECKED sg_status advise_rank(struct advise *a, struct sg_error *err);

/* The name of an error as an option; NULL for ADVISE_ERRORS. */
const char *advise_error_word(enum advise_error which);
bool advise_times_coding(const struct advise *a); /* the times of coding are those of the replays on this machine */
bool advise_pays(const struct advise *a);         /* true if the first of the list is faster than no compression */
bool advise_is_open(const struct advise_candidate *c); /* true if the method compresses and its replay is complete */
/* Makes the evidence and the table. */
void advise_document(const struct advise *a);

/* t->text <- the recipe with the methods of the list beside the one without compression, without claims and plots. */
SG_CHECKED sg_status advise_recipe(const struct advise *a, struct sg_error *err);

#endif

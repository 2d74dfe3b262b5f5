/* sg_lemma3_oracle.h: how far a run's methods are from the best that its budget allows (Lemma 3, section 4.4).
 *
 * Lemma 3 is about a FIXED sequence. Here it is what one recorded run compressed: a_{i,t} = p_{i,t} / gamma_t (p in the
 * gradient form) of all workers i and steps t, stacked. The budget K is what that run sent. Every method of the recipe
 * is applied to each a_{i,t} as it is, without error feedback of its own, because that would change the sequence:
 *   error    the sum over i and t of |a - C(a)|^2
 *   optimal  the error of the hard threshold that sends exactly as much: the squares of all but the K_m largest entries
 *   regret   error - optimal; a value that rounding makes negative counts as 0
 * For the recorded method these are the errors of its run, up to entries within a rounding of the threshold. ACCORDION
 * uses norms of a, because norms of g are not recorded. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_LEMMA3_ORACLE_H
#define SG_LEMMA3_ORACLE_H

#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "sg_magnitude_ranks.h"
#include "sg_recipe.h"
#include "sg_status.h"

struct sg_oracle_method {
    const struct sg_cell *cell;
    uint64_t sent; /* K_m: the entries sent, over all workers and steps */
    double error;
    /* The rank K_m: a threshold in (lost_most, kept_last] is optimal, and `lost` is its error. */
    struct sg_magnitude_rank best;
};

struct sg_oracle {
    char *recording;            /* path */
    const struct sg_cell *cell; /* the recorded cell */
    uint64_t steps, entries;    /* entries = n T d */
    size_t workers, d;
    struct sg_magnitude_rank best;   /* the rank K, the run's own budget */
    struct sg_oracle_method *method; /* [n_methods] the methods of the recipe in its order, at the recording's seed */
    size_t n_methods;
};

struct sg_oracle_options {
    int threads;       /* >= 1; has no influence on results */
    int (*stop)(void); /* returns the number of a pending signal or 0; may be NULL */
    void (*progress)(const char *what, double done, double total); /* may be NULL */
};

/* Reads `recording` twice, step by step. It needs memory for one step, and 8 bytes an element for every method and
 * worker. The cells are borrowed. SG_ERR_MISMATCH: none of them is the recorded one. */
SG_CHECKED sg_status sg_oracle_run(struct sg_oracle *out, const char *recording, const struct sg_cell *cells,
                                   size_t count, const struct sg_oracle_options *options, struct sg_error *err);
double sg_oracle_regret(const struct sg_oracle_method *method);
/* {"recording","method","seed","steps","workers","d","entries","budget","density","lambda","lambda_above",
 * "optimal_error","methods":[{"label","sent","density","error","optimal_error","regret","ratio","lambda"}]}. NULL = no
 * memory. */
cJSON *sg_oracle_json(const struct sg_oracle *oracle);
void sg_oracle_free(struct sg_oracle *oracle); /* zeroes it */

#endif

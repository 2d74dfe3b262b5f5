/* sg_ratings.h: ratings of items by users, split for training and testing, and the examples that both take from them.
 *
 * Known sets are MovieLens in its publisher's files: ml-100k (u.data: user, item, rating, timestamp between tabs), ml-1m
 * (ratings.dat: the same between "::") and ml-20m and ml-25m (ratings.csv, columns by the names in its first line), and
 * others in the format of one of these: a set named ml-100k-SOMETHING has a u.data of any length. Files are looked for as
 * sg_dataset.h says. */
#ifndef SG_RATINGS_H
#define SG_RATINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "sg_dataset.h"
#include "sg_rng.h"
#include "sg_status.h"

enum { SG_RATINGS_LEAST = 20, SG_RATINGS_MOST_ID = (1 << 24) - 1 };

/* A line of a file. What the rating was is checked and forgotten: that there is one is what is learned. */
struct sg_rating {
    uint32_t user, item; /* the publisher's numbers, 1..SG_RATINGS_MOST_ID */
    int64_t time;        /* seconds, >= 0 */
};

/* Users and items by numbers from 0. One rating of each user is for testing, the others are for training. */
struct sg_ratings {
    size_t users, items, count; /* count: ratings to train on */
    size_t *start;              /* [users + 1] where a user's begin; owned, as all below */
    uint32_t *user, *item;      /* [count] by user, then by item */
    uint32_t *test;             /* [users] the item that is for testing; not among the user's others */
};

/* Parse a file of the format of set `format` ("ml-100k", ...) into *out [*count], malloc'ed, in the file's order. `name`
 * is for messages, which give the line. SG_ERR_FORMAT: a missing or repeated column; too few columns; an id that is no
 * whole number in its range, a rating that is no number from 0.5 to 5, a timestamp that is none; a last line without
 * its end (truncated); no ratings. Lines may end in CR LF. */
SG_CHECKED sg_status sg_ratings_parse(struct sg_rating **out, size_t *count, const char *text, size_t length,
                                      const char *format, const char *name, struct sg_error *err);

/* Of several ratings of one item by one user the latest counts. Users with fewer than SG_RATINGS_LEAST items are left
 * out; of the others `most_users` are kept, chosen at random but always the same (0 = all). Each one's latest rating is
 * for testing. The later of two ratings is the one with the larger timestamp; of equal ones that which comes later in
 * `rating`. Users and items that are left get numbers in the order of the publisher's. No user left: SG_ERR_FORMAT. */
SG_CHECKED sg_status sg_ratings_split(struct sg_ratings *out, const struct sg_rating *rating, size_t count,
                                      size_t most_users, struct sg_error *err);
void sg_ratings_free(struct sg_ratings *r); /* zeroes it */

struct sg_ratings_request {
    struct sg_dataset_request set;
    size_t most_users; /* 0 = all */
};

/* Find, read and split a set. A missing one with the stand-in "ratings-like" is generated with the set's own numbers of
 * users, items and ratings; without one it is SG_ERR_MISSING and the message names every remedy. Where the set is
 * known by its full name, another number of ratings is SG_ERR_FORMAT. A file that differs from what datasets/fetch
 * recorded beside it is SG_ERR_MISMATCH; one that merely is not the publisher's is used, and `from->verified` tells. */
SG_CHECKED sg_status sg_ratings_load(struct sg_ratings *out, struct sg_provenance *from,
                                     const struct sg_ratings_request *request, struct sg_error *err);

/* What would be loaded, as sg_dataset_identify says it. */
SG_CHECKED sg_status sg_ratings_identify(struct sg_provenance *from, const struct sg_ratings_request *request,
                                         struct sg_error *err);

/* The provenance, "users", "items" and "train_ratings", for a result's header; NULL = no memory. */
cJSON *sg_ratings_json(const struct sg_ratings *r, const struct sg_provenance *from);

/* ---- examples ------------------------------------------------------------------------------------------------------
 * An epoch's examples are the ratings, labelled 1, and `negatives` times as many pairs labelled 0: each rating's user
 * again with an item drawn uniformly from all, anew every epoch (it may be one that the user did rate). They are shuffled
 * and cut into one batch a step and worker; what does not fill a step is dropped. So a batch is a function of (seed,
 * worker, step), whichever process asks for it and when: nothing is kept, and resuming needs no state. */
struct sg_examples {
    const struct sg_ratings *ratings;
    size_t workers, batch, negatives;
    uint64_t seed;
    /* The paper's code cuts the list, ratings first, into one part a worker before it shuffles each part: with 4 negatives
     * and 8 workers the first sees ratings only and the last six none. */
    bool cut_first;
};

uint64_t sg_examples_steps(const struct sg_examples *e); /* per epoch; 0 = fewer examples than one step needs */

/* The batch of `worker` (0..workers-1) at `step`, counted from 0 over all epochs: all three are [batch]. */
void sg_examples_get(const struct sg_examples *e, size_t worker, uint64_t step, uint32_t *user, uint32_t *item,
                     float *label);

/* item [count] <- what competes with a user's test item: each drawn uniformly from the items that the user has no rating
 * to train on; they may repeat and may be the test item. A function of (seed, user). */
void sg_ratings_rivals(const struct sg_ratings *r, uint64_t seed, uint32_t user, uint32_t *item, size_t count);

/* ---- stand-in ------------------------------------------------------------------------------------------------------
 * "ratings-like": item j is tried with a probability that falls as its rank to the power -4/5, and chosen with one that
 * grows with the product of 4 numbers of the user and 4 of the item; users have 20 ratings and then few or many. What
 * user u does is a function of (seed, u, items), the same on every machine. *count comes close to `ratings`. */
enum { SG_RATINGS_GENERATOR_REVISION = 1 };
SG_CHECKED sg_status sg_ratings_generate(struct sg_rating **out, size_t *count, size_t users, size_t items,
                                         size_t ratings, uint64_t seed, struct sg_error *err);

#endif

/* sg_ratings.h: ratings of items by users, split for training and testing, and the examples that both take from them.
 *
 * The known sets are MovieLens in its publisher's files: ml-100k (u.data: user, item, rating, timestamp between tabs),
 * ml-1m (ratings.dat: the same between "::"), ml-20m and ml-25m (ratings.csv: columns by the names in its first line).
 * A set named ml-100k-SOMETHING has a u.data of any length, and so for the others. Files are looked for as sg_dataset.h
 * says. */
/* SPDX-License-Identifier: MIT */
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

/* A line of a file. The rating itself is checked and then dropped: only the fact that the user rated the item is
 * learned. */
struct sg_rating {
    uint32_t user, item; /* the publisher's numbers, 1..SG_RATINGS_MOST_ID */
    int64_t time;        /* seconds, >= 0 */
};

/* Users and items have numbers from 0. One rating of each user is for testing, perhaps one for validation, and the
 * others are for training. */
struct sg_ratings {
    size_t users, items, count; /* count: of training ratings */
    size_t *start;              /* [users + 1] where the ratings of a user begin; all arrays are owned */
    uint32_t *user, *item;      /* [count] by user, then by item */
    uint32_t *test;             /* [users] each user's test item, which is not among the user's others */
    uint32_t *validation;       /* [users] the same for validation; NULL = there is none */
};

/* Parses a file in the format of set `format` ("ml-100k", ...) into *out [*count] in the file's order; the caller frees
 * it. `name` begins messages, which give the line. Lines may end in CR LF. SG_ERR_FORMAT: a missing or repeated column;
 * too few columns; an id that is no whole number in its range; a rating that is no number from 0.5 to 5; a malformed
 * timestamp; a last line without its end (it was truncated); no ratings. */
SG_CHECKED sg_status sg_ratings_parse(struct sg_rating **out, size_t *count, const char *text, size_t length,
                                      const char *format, const char *name, struct sg_error *err);

/* Splits ratings. Of several ratings of one item by one user the latest counts. Users with fewer than SG_RATINGS_LEAST
 * items are dropped; of the others at most `most_users` random ones are kept, the same in every run (0 = all). Each
 * user's latest rating is for testing and, with `validation`, the latest of the others for validation. The later of two
 * ratings has the larger timestamp; of equal ones it is the one that comes later in `rating`. The remaining users and
 * items are numbered in the order of the publisher's numbers. SG_ERR_FORMAT: no user is left. */
SG_CHECKED sg_status sg_ratings_split(struct sg_ratings *out, const struct sg_rating *rating, size_t count,
                                      size_t most_users, bool validation, struct sg_error *err);
void sg_ratings_free(struct sg_ratings *r); /* zeroes it */

struct sg_ratings_request {
    struct sg_dataset_request set;
    size_t most_users; /* 0 = all */
    bool validation;   /* a rating of each user is held out of training for it */
};

/* Finds, reads and splits a set. A missing set with the stand-in "ratings-like" is generated with the set's own numbers
 * of users, items and ratings; without one it is SG_ERR_MISSING, and the message names every remedy. SG_ERR_FORMAT: a
 * set known by its full name has another number of ratings. SG_ERR_MISMATCH: a file differs from what datasets/fetch
 * recorded beside it. A file that only differs from the publisher's is used, and `from->verified` shows it. */
SG_CHECKED sg_status sg_ratings_load(struct sg_ratings *out, struct sg_provenance *from,
                                     const struct sg_ratings_request *request, struct sg_error *err);

/* Identifies what would be loaded, like sg_dataset_identify. */
SG_CHECKED sg_status sg_ratings_identify(struct sg_provenance *from, const struct sg_ratings_request *request,
                                         struct sg_error *err);

/* The provenance, "users", "items" and "train_ratings", for a result's header. */
cJSON *sg_ratings_json(const struct sg_ratings *r, const struct sg_provenance *from);

/* ---- examples ------------------------------------------------------------------------------------------------------
 * The examples of an epoch are the ratings, labelled 1, and `negatives` times as many pairs labelled 0. Such a pair is
 * a rating's user with an item drawn uniformly from all, anew every epoch; the user may have rated it. The examples are
 * shuffled and cut into one batch a step and worker, and those that do not fill a step are dropped. So a batch is a
 * function of (seed, worker, step) alone, and resuming needs no state. */
struct sg_examples {
    const struct sg_ratings *ratings;
    size_t workers, batch, negatives;
    uint64_t seed;
    int threads; /* of sg_examples_get, whose output does not depend on them; 0 = the caller's only */
    /* As the paper's code does: first cut the list, whose head are the ratings, into one part a worker, then shuffle
     * each part. With 4 negatives and 8 workers the first worker sees only ratings and the last six see none. */
    bool cut_first;
};

/* Steps per epoch; 0 = there are fewer examples than one step needs. */
uint64_t sg_examples_steps(const struct sg_examples *e);

/* Writes the batch of `worker` (0..workers-1) at `step`, counted from 0 over all epochs; all three arrays are [batch].
 */
void sg_examples_get(const struct sg_examples *e, size_t worker, uint64_t step, uint32_t *user, uint32_t *item,
                     float *label);

/* item [count] <- the items that a user's test item is ranked against. Each is drawn uniformly from the items that the
 * user has no training rating of. They may repeat and may be the test item. They are a function of (seed, user). */
void sg_ratings_rivals(const struct sg_ratings *r, uint64_t seed, uint32_t user, uint32_t *item, size_t count);

/* ---- stand-in ------------------------------------------------------------------------------------------------------
 * "ratings-like": a user tries item j with a probability that falls as the item's rank to the power -4/5, and chooses
 * it with one that grows with the product of 4 numbers of the user and 4 of the item. A user has 20 ratings and then
 * few or many more. What user u does is a function of (seed, u, items), the same on every machine. *count comes close
 * to `ratings`. The caller frees *out. */
enum { SG_RATINGS_GENERATOR_REVISION = 1 };
SG_CHECKED sg_status sg_ratings_generate(struct sg_rating **out, size_t *count, size_t users, size_t items,
                                         size_t ratings, uint64_t seed, struct sg_error *err);

#endif

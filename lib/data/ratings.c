/* ratings.c: splits ratings for training and testing, and draws examples from them. */
/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <string.h>

#include "sg_debug.h"
#include "sg_memory.h"
#include "sg_ratings.h"

/* A set of ids that gives each its number: how many smaller ones are in the set. It takes 3/16 of a byte for each id up
 * to the largest, at most 3 MB. */
struct id_set {
    uint64_t *member; /* [words] a bit an id */
    uint32_t *before; /* [words] members in the words before */
    size_t words, count;
};

static void id_set_free(struct id_set *s) {
    free(s->member);
    free(s->before);
}

static void id_set_make(struct id_set *s, uint32_t largest) {
    s->words = largest / 64 + 1;
    s->member = sg_calloc(s->words, sizeof *s->member);
    s->before = sg_malloc(s->words * sizeof *s->before);
}

static void id_set_add(struct id_set *s, uint32_t id) {
    SG_ASSERT(id / 64 < s->words);
    s->member[id / 64] |= (uint64_t)1 << id % 64;
}

/* Counts the members; called once all ids are in. */
static void id_set_count(struct id_set *s) {
    s->count = 0;
    for (size_t w = 0; w < s->words; w++) {
        s->before[w] = (uint32_t)s->count;
        s->count += (size_t)__builtin_popcountll(s->member[w]);
    }
}

static uint32_t id_set_number(const struct id_set *s, uint32_t id) {
    SG_ASSERT(id / 64 < s->words && (s->member[id / 64] >> id % 64 & 1));
    const uint64_t smaller = s->member[id / 64] & (((uint64_t)1 << id % 64) - 1);
    return s->before[id / 64] + (uint32_t)__builtin_popcountll(smaller);
}

enum { TEST, VALIDATION, HELD_OUT };

/* Ratings on their way from a file's order to the split. */
struct sorting {
    struct id_set user, item;
    struct sg_rating *rating; /* [count] sorted by user; `user` becomes the index among that user's ratings */
    size_t users;             /* who are in the file */
    size_t *start;            /* [users + 1] of every user, with the rating for testing */
    size_t *kept,             /* [users] a user's remaining ratings; 0 = the user is dropped */
        *held_out;            /* [users][HELD_OUT] index of the one for testing, and of the one for validation */
};

static bool later(const struct sg_rating *a, const struct sg_rating *b) {
    return a->time != b->time ? a->time > b->time : a->user > b->user;
}

static int by_item_and_time(const void *a, const void *b) {
    const struct sg_rating *x = a, *y = b;
    return x->item != y->item ? (x->item > y->item) - (x->item < y->item) : later(x, y) - later(y, x);
}

static void number_ids(struct sorting *s, const struct sg_rating *rating, size_t count) {
    uint32_t last_user = 0, last_item = 0;
    for (size_t i = 0; i < count; i++) {
        last_user = rating[i].user > last_user ? rating[i].user : last_user;
        last_item = rating[i].item > last_item ? rating[i].item : last_item;
    }
    id_set_make(&s->user, last_user);
    id_set_make(&s->item, last_item);
    for (size_t i = 0; i < count; i++)
        id_set_add(&s->user, rating[i].user);
    id_set_count(&s->user);
    s->users = s->user.count;
}

static void group_by_user(struct sorting *s, const struct sg_rating *rating, size_t count) {
    s->rating = sg_malloc(count * sizeof *s->rating);
    s->start = sg_calloc(s->users + 2, sizeof *s->start);
    s->kept = sg_calloc(s->users, sizeof *s->kept);
    s->held_out = sg_calloc(s->users, HELD_OUT * sizeof *s->held_out);
    size_t *next = s->start + 1; /* counts, then where the next goes, which ends where the following user starts */
    for (size_t i = 0; i < count; i++)
        next[id_set_number(&s->user, rating[i].user) + 1]++;
    for (size_t u = 0; u < s->users; u++)
        next[u + 1] += next[u];
    for (size_t i = 0; i < count; i++)
        s->rating[next[id_set_number(&s->user, rating[i].user)]++] = rating[i];
}

/* The latest of n ratings but the one at `but`. */
static size_t latest(const struct sg_rating *r, size_t n, size_t but) {
    size_t found = but == 0;
    for (size_t i = found + 1; i < n; i++)
        found = i != but && later(&r[i], &r[found]) ? i : found;
    return found;
}

/* Sorts one user's ratings by item and keeps the latest of each item; returns how many. */
static size_t settle(struct sg_rating *r, size_t n, size_t held_out[HELD_OUT]) {
    SG_ASSERT(n > 0);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        r[i].user = (uint32_t)i;
    qsort(r, n, sizeof *r, by_item_and_time);
    for (size_t i = 0; i < n; i++) {
        kept -= kept > 0 && r[kept - 1].item == r[i].item;
        r[kept++] = r[i];
    }
    held_out[TEST] = latest(r, kept, SIZE_MAX);
    held_out[VALIDATION] = latest(r, kept, held_out[TEST]);
    SG_ASSERT(kept > 0 && held_out[TEST] < kept);
    return kept;
}

static size_t settle_all(struct sorting *s) {
    size_t users = 0;
#pragma omp parallel for schedule(dynamic, 64) reduction(+ : users)
    for (size_t u = 0; u < s->users; u++) {
        s->kept[u] = settle(s->rating + s->start[u], s->start[u + 1] - s->start[u], s->held_out + u * HELD_OUT);
        if (s->kept[u] < SG_RATINGS_LEAST)
            s->kept[u] = 0;
        users += s->kept[u] > 0;
    }
    return users;
}

/* Keeps at most `most` random ones of the remaining `users`. */
static void choose_users(struct sorting *s, size_t users, size_t most) {
    uint32_t *rank = sg_malloc(users * sizeof *rank + 1);
    sg_rng rng = sg_rng_open(0, SG_RNG_SHARD, 0, UINT64_MAX); /* no run's seed, no epoch: always the same users */
    sg_rng_permutation(&rng, rank, users);
    for (size_t u = 0, i = 0; u < s->users; u++)
        if (s->kept[u] > 0 && rank[i++] >= most)
            s->kept[u] = 0;
    free(rank);
}

/* Numbers the items among the ratings that are left; returns how many. */
static size_t number_items(struct sorting *s) {
    for (size_t u = 0; u < s->users; u++)
        for (size_t i = 0; i < s->kept[u]; i++)
            id_set_add(&s->item, s->rating[s->start[u] + i].item);
    id_set_count(&s->item);
    return s->item.count;
}

static void split(struct sg_ratings *out, const struct sorting *s) {
    size_t user = 0, at = 0;
    for (size_t u = 0; u < s->users; u++) {
        if (s->kept[u] == 0)
            continue;
        const struct sg_rating *r = s->rating + s->start[u];
        out->start[user] = at;
        for (size_t i = 0; i < s->kept[u]; i++) {
            const uint32_t item = id_set_number(&s->item, r[i].item);
            if (i == s->held_out[u * HELD_OUT + TEST]) {
                out->test[user] = item;
            } else if (out->validation && i == s->held_out[u * HELD_OUT + VALIDATION]) {
                out->validation[user] = item;
            } else {
                out->user[at] = (uint32_t)user;
                out->item[at++] = item;
            }
        }
        user++;
    }
    out->start[user] = at;
    SG_ASSERT(user == out->users && at == out->count);
}

sg_status sg_ratings_split(struct sg_ratings *out, const struct sg_rating *rating, size_t count, size_t most_users,
                           bool validation, struct sg_error *err) {
    struct sorting s = {0};
    struct sg_ratings r = {0};
    sg_status status = SG_OK;
    number_ids(&s, rating, count);
    group_by_user(&s, rating, count);
    r.users = settle_all(&s);
    if (r.users == 0) {
        status =
            sg_fail(err, SG_ERR_FORMAT, "no user rated %d items or more, as those must who are kept", SG_RATINGS_LEAST);
        goto out;
    }
    if (most_users > 0 && most_users < r.users) {
        choose_users(&s, r.users, most_users);
        r.users = most_users;
    }
    r.items = number_items(&s);
    for (size_t u = 0; u < s.users; u++)
        r.count += s.kept[u];
    r.count -= (validation ? 2 : 1) * r.users;
    r.start = sg_malloc((r.users + 1) * sizeof *r.start);
    r.user = sg_malloc(r.count * sizeof *r.user);
    r.item = sg_malloc(r.count * sizeof *r.item);
    r.test = sg_malloc(r.users * sizeof *r.test);
    r.validation = validation ? sg_malloc(r.users * sizeof *r.validation) : NULL;
    split(&r, &s);
    *out = r;
    r = (struct sg_ratings){0};
out:
    sg_ratings_free(&r);
    free(s.rating);
    free(s.start);
    free(s.kept);
    free(s.held_out);
    id_set_free(&s.user);
    id_set_free(&s.item);
    return status;
}

void sg_ratings_free(struct sg_ratings *r) {
    free(r->start);
    free(r->user);
    free(r->item);
    free(r->test);
    free(r->validation);
    *r = (struct sg_ratings){0};
}

/* ---- examples ---------------------------------------------------------------------------------------------------- */

static uint64_t examples(const struct sg_examples *e) {
    return (uint64_t)e->ratings->count * (1 + e->negatives);
}

uint64_t sg_examples_steps(const struct sg_examples *e) {
    return examples(e) / e->workers / e->batch;
}

/* Example i of an epoch: the ratings, then each rating's user again, as often as there are negatives. */
static void example(const struct sg_examples *e, uint64_t epoch, uint64_t i, uint32_t *user, uint32_t *item,
                    float *label) {
    SG_ASSERT(i < examples(e));
    const struct sg_ratings *r = e->ratings;
    const uint64_t rating = i % r->count;
    *user = r->user[rating];
    *label = i < r->count;
    if (i < r->count) {
        *item = r->item[rating];
        return;
    }
    sg_rng rng = sg_rng_open(e->seed, SG_RNG_NEGATIVE, 0, epoch * examples(e) + i);
    *item = (uint32_t)sg_rng_below(&rng, r->items);
}

void sg_examples_get(const struct sg_examples *e, size_t worker, uint64_t step, uint32_t *user, uint32_t *item,
                     float *label) {
    SG_ASSERT(worker < e->workers && sg_examples_steps(e) > 0);
    const uint64_t steps = sg_examples_steps(e), epoch = step / steps, now = step % steps, all = examples(e);
    const uint64_t part =
        all / e->workers; /* with cut_first: the examples of one worker, of which some are left over */
    const struct sg_shuffle shuffle = e->cut_first
                                          ? sg_shuffle_open(e->seed, SG_RNG_SHARD, (uint32_t)worker, epoch, part)
                                          : sg_shuffle_open(e->seed, SG_RNG_SHARD, 0, epoch, all);
    const uint64_t from = e->cut_first ? now * e->batch : (now * e->workers + worker) * e->batch;
#pragma omp parallel for schedule(static) num_threads(e->threads > 1 ? e->threads : 1)
    for (size_t i = 0; i < e->batch; i++) {
        const uint64_t place = sg_shuffle_at(&shuffle, from + i);
        example(e, epoch, e->cut_first ? worker * part + place : place, &user[i], &item[i], &label[i]);
    }
}

/* The n-th item, from 0, that is not among rated [count], which ascends. */
static uint32_t unrated(const uint32_t *rated, size_t count, uint32_t n) {
    SG_ASSERT(sg_ascending_below(rated, count, UINT32_MAX));
    size_t low = 0,
           high = count; /* how many of the rated come before it: rated[i] has rated[i] - i unrated before it */
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (rated[middle] - middle <= n)
            low = middle + 1;
        else
            high = middle;
    }
    return n + (uint32_t)low;
}

void sg_ratings_rivals(const struct sg_ratings *r, uint64_t seed, uint32_t user, uint32_t *item, size_t count) {
    SG_ASSERT(user < r->users && r->start[user + 1] - r->start[user] < r->items);
    const size_t begin = r->start[user], rated = r->start[user + 1] - begin;
    sg_rng rng = sg_rng_open(seed, SG_RNG_NEGATIVE, 1, user);
    for (size_t i = 0; i < count; i++)
        item[i] = unrated(r->item + begin, rated, (uint32_t)sg_rng_below(&rng, r->items - rated));
}

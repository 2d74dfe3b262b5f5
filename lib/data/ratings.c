#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sg_ratings.h"

/* Ratings on their way from a file's order to the split. */
struct sorting {
    struct sg_rating *rating; /* [count] by user; in it `user` becomes the place among the user's */
    size_t *start;            /* [ids + 1] of every user id, with the rating for testing */
    size_t *kept, *latest; /* [ids] ratings left of a user's, 0 = the user is left out; place of the one for testing */
    uint32_t *item;        /* [SG_RATINGS_MOST_ID + 1] number of an item id + 1; 0 = there is none */
    size_t ids;
};

static bool later(const struct sg_rating *a, const struct sg_rating *b) {
    return a->time != b->time ? a->time > b->time : a->user > b->user;
}

static int by_item_and_time(const void *a, const void *b) {
    const struct sg_rating *x = a, *y = b;
    return x->item != y->item ? (x->item > y->item) - (x->item < y->item) : later(x, y) - later(y, x);
}

static sg_status group_by_user(struct sorting *s, const struct sg_rating *rating, size_t count, struct sg_error *err) {
    for (size_t i = 0; i < count; i++)
        s->ids = rating[i].user >= s->ids ? (size_t)rating[i].user + 1 : s->ids;
    s->rating = malloc(count * sizeof *s->rating);
    s->start = calloc(s->ids + 2, sizeof *s->start);
    s->kept = calloc(s->ids, sizeof *s->kept);
    s->latest = calloc(s->ids, sizeof *s->latest);
    s->item = calloc(SG_RATINGS_MOST_ID + 1, sizeof *s->item);
    if (!s->rating || !s->start || !s->kept || !s->latest || !s->item)
        return sg_fail(err, SG_ERR_MEMORY, "out of memory for %zu ratings", count);
    size_t *next = s->start + 1; /* counts, then where the next goes, which ends where the following user starts */
    for (size_t i = 0; i < count; i++)
        next[rating[i].user + 1]++;
    for (size_t u = 0; u < s->ids; u++)
        next[u + 1] += next[u];
    for (size_t i = 0; i < count; i++)
        s->rating[next[rating[i].user]++] = rating[i];
    return SG_OK;
}

/* One user's ratings in the order of items, of each item the latest; returns how many. */
static size_t settle(struct sg_rating *r, size_t n, size_t *latest) {
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        r[i].user = (uint32_t)i;
    qsort(r, n, sizeof *r, by_item_and_time);
    *latest = 0;
    for (size_t i = 0; i < n; i++) {
        kept -= kept > 0 && r[kept - 1].item == r[i].item;
        r[kept++] = r[i];
    }
    for (size_t i = 1; i < kept; i++)
        *latest = later(&r[i], &r[*latest]) ? i : *latest;
    return kept;
}

static size_t settle_all(struct sorting *s) {
    size_t users = 0;
#pragma omp parallel for schedule(dynamic, 64) reduction(+ : users)
    for (size_t u = 0; u < s->ids; u++) {
        s->kept[u] = settle(s->rating + s->start[u], s->start[u + 1] - s->start[u], &s->latest[u]);
        if (s->kept[u] < SG_RATINGS_LEAST)
            s->kept[u] = 0;
        users += s->kept[u] > 0;
    }
    return users;
}

/* Of `users` that are left keep `most`. */
static sg_status choose_users(struct sorting *s, size_t users, size_t most, struct sg_error *err) {
    uint32_t *rank = malloc(users * sizeof *rank + 1);
    if (!rank)
        return sg_fail_memory(err, "choosing users");
    sg_rng rng = sg_rng_open(0, SG_RNG_SHARD, 0, UINT64_MAX); /* no run's seed, no epoch: always the same users */
    sg_rng_permutation(&rng, rank, users);
    for (size_t u = 0, i = 0; u < s->ids; u++)
        if (s->kept[u] > 0 && rank[i++] >= most)
            s->kept[u] = 0;
    free(rank);
    return SG_OK;
}

/* Numbers from 1 in the order of ids. */
static size_t number_items(struct sorting *s) {
    size_t items = 0;
    for (size_t u = 0; u < s->ids; u++)
        for (size_t i = 0; i < s->kept[u]; i++)
            s->item[s->rating[s->start[u] + i].item] = 1;
    for (size_t id = 0; id <= SG_RATINGS_MOST_ID; id++)
        if (s->item[id])
            s->item[id] = (uint32_t)++items;
    return items;
}

static void split(struct sg_ratings *out, const struct sorting *s) {
    size_t user = 0, at = 0;
    for (size_t u = 0; u < s->ids; u++) {
        if (s->kept[u] == 0)
            continue;
        const struct sg_rating *r = s->rating + s->start[u];
        out->start[user] = at;
        for (size_t i = 0; i < s->kept[u]; i++) {
            const uint32_t item = s->item[r[i].item] - 1;
            if (i == s->latest[u]) {
                out->test[user] = item;
                continue;
            }
            out->user[at] = (uint32_t)user;
            out->item[at++] = item;
        }
        user++;
    }
    out->start[user] = at;
}

sg_status sg_ratings_split(struct sg_ratings *out, const struct sg_rating *rating, size_t count, size_t most_users,
                           struct sg_error *err) {
    struct sorting s = {0};
    struct sg_ratings r = {0};
    sg_status status = group_by_user(&s, rating, count, err);
    if (status)
        goto out;
    r.users = settle_all(&s);
    if (r.users == 0) {
        status =
            sg_fail(err, SG_ERR_FORMAT, "no user rated %d items or more, as those must who are kept", SG_RATINGS_LEAST);
        goto out;
    }
    if (most_users > 0 && most_users < r.users) {
        status = choose_users(&s, r.users, most_users, err);
        r.users = most_users;
    }
    if (status)
        goto out;
    r.items = number_items(&s);
    for (size_t u = 0; u < s.ids; u++)
        r.count += s.kept[u];
    r.count -= r.users;
    r.start = malloc((r.users + 1) * sizeof *r.start);
    r.user = malloc(r.count * sizeof *r.user);
    r.item = malloc(r.count * sizeof *r.item);
    r.test = malloc(r.users * sizeof *r.test);
    if (!r.start || !r.user || !r.item || !r.test) {
        status = sg_fail(err, SG_ERR_MEMORY, "out of memory for %zu ratings", r.count);
        goto out;
    }
    split(&r, &s);
    *out = r;
    r = (struct sg_ratings){0};
out:
    sg_ratings_free(&r);
    free(s.rating);
    free(s.start);
    free(s.kept);
    free(s.latest);
    free(s.item);
    return status;
}

void sg_ratings_free(struct sg_ratings *r) {
    free(r->start);
    free(r->user);
    free(r->item);
    free(r->test);
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
    const uint64_t steps = sg_examples_steps(e), epoch = step / steps, now = step % steps, all = examples(e);
    const uint64_t part =
        all / e->workers; /* where the list is cut first: a worker's examples, of which some are left */
    const struct sg_shuffle shuffle = e->cut_first
                                          ? sg_shuffle_open(e->seed, SG_RNG_SHARD, (uint32_t)worker, epoch, part)
                                          : sg_shuffle_open(e->seed, SG_RNG_SHARD, 0, epoch, all);
    const uint64_t from = e->cut_first ? now * e->batch : (now * e->workers + worker) * e->batch;
    for (size_t i = 0; i < e->batch; i++) {
        const uint64_t place = sg_shuffle_at(&shuffle, from + i);
        example(e, epoch, e->cut_first ? worker * part + place : place, &user[i], &item[i], &label[i]);
    }
}

/* The n-th item, from 0, that is not among rated [count], which ascends. */
static uint32_t unrated(const uint32_t *rated, size_t count, uint32_t n) {
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
    const size_t begin = r->start[user], rated = r->start[user + 1] - begin;
    sg_rng rng = sg_rng_open(seed, SG_RNG_NEGATIVE, 1, user);
    for (size_t i = 0; i < count; i++)
        item[i] = unrated(r->item + begin, rated, (uint32_t)sg_rng_below(&rng, r->items - rated));
}

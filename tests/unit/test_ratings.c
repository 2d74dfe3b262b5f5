/* Ratings: what is read, what is refused, who is left after the split, and the examples of training and testing. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "sg_json.h"
#include "sg_ratings.h"
#include "sg_threads.h"
#include "tap.h"
#include "temporary.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct sg_error err;

static sg_status parse(struct sg_rating **out, size_t *count, const char *format, const char *text) {
    return sg_ratings_parse(out, count, text, strlen(text), format, "file", &err);
}

/* Few ratings with the largest ids there are take little memory; called before anything else takes some. */
static void test_memory(void) {
    struct sg_rating rating[2 * SG_RATINGS_LEAST];
    struct sg_ratings r;
    struct rusage before, after;
    for (uint32_t i = 0; i < COUNT(rating); i++)
        rating[i] = (struct sg_rating){
            .user = SG_RATINGS_MOST_ID - i % 2, .item = SG_RATINGS_MOST_ID - 700 * (i / 2), .time = (int64_t)i};
    getrusage(RUSAGE_SELF, &before);
    ok(sg_ratings_split(&r, rating, COUNT(rating), 0, false, &err) == SG_OK && r.users == 2 &&
           r.items == SG_RATINGS_LEAST && r.start[1] == SG_RATINGS_LEAST - 1 && r.test[0] == 0 && r.test[1] == 0 &&
           r.item[0] == 1 && r.item[SG_RATINGS_LEAST - 2] == SG_RATINGS_LEAST - 1,
       "the largest ids get small numbers in their order");
    getrusage(RUSAGE_SELF, &after);
    ok(after.ru_maxrss - before.ru_maxrss < 16 << 10, "and take little memory: %ld KiB",
       after.ru_maxrss - before.ru_maxrss);
    sg_ratings_free(&r);
}

static void test_formats(void) {
    static const struct {
        const char *format, *text;
    } same[] = {
        {"ml-100k", "3\t7\t5\t100\n16777215\t1\t0.5\t0\n"},
        {"ml-100k", "3\t7\t5\t100\r\n16777215\t1\t0.5\t0\r\n"},
        {"ml-1m", "3::7::4::100\n16777215::1::1::0\n"},
        {"ml-20m", "userId,movieId,rating,timestamp\n3,7,3.5,100\n16777215,1,5.0,0\n"},
        {"ml-25m", "userId,movieId,rating,timestamp\r\n3,7,3.5,100\r\n16777215,1,5.0,0\r\n"},
        {"ml-20m-mine", "why,timestamp,rating,movieId,userId,more\nx,100,4,7,3,y\n,0,4.25,1,16777215,\n"},
    };
    for (size_t i = 0; i < COUNT(same); i++) {
        struct sg_rating *r;
        size_t count;
        if (!ok(parse(&r, &count, same[i].format, same[i].text) == SG_OK, "%s: format %zu is read", same[i].format,
                i)) {
            printf("#   got '%s'\n", err.msg);
            continue;
        }
        ok(count == 2 && r[0].user == 3 && r[0].item == 7 && r[0].time == 100 && r[1].user == 16777215 &&
               r[1].item == 1 && r[1].time == 0,
           "%s: its two lines", same[i].format);
        free(r);
    }
}

static void test_refused(void) {
    static const struct {
        const char *format, *text, *message;
    } bad[] = {
        {"ml-100k", "", "no ratings"},
        {"ml-20m", "userId,movieId,rating,timestamp\n", "no ratings"},
        {"ml-100k", "1\t2\t3\t4", "no ratings"},
        {"ml-100k", "1\t2\t3\t4\n1\t2\t3\t4", "file:2: the last line has no end"},
        {"ml-100k", "1\t2\t3\t4\n1\t2\t3\n", "file:2: 3 columns, but there must be 4"},
        {"ml-100k", "1\t2\t3\t4\n\n", "file:2: userId ''"},
        {"ml-100k", "1 2 3 4\n", "file:1: userId '1 2 3 4'"},
        {"ml-100k", "1\t2\t3\t4\t5\n", "file:1: more than 4 columns"},
        {"ml-100k", "0\t2\t3\t4\n", "file:1: userId '0' is not a whole number from 1 to 16777215"},
        {"ml-100k", "1\t16777216\t3\t4\n", "file:1: movieId '16777216'"},
        {"ml-100k", "1\t99999999999999999999\t3\t4\n", "file:1: movieId '99999999999999999999'"},
        {"ml-100k", "1\tx\t3\t4\n", "file:1: movieId 'x'"},
        {"ml-100k", "-1\t2\t3\t4\n", "file:1: userId '-1'"},
        {"ml-100k", "1\t2\t5.5\t4\n", "file:1: rating '5.5' is not a number from 0.5 to 5"},
        {"ml-100k", "1\t2\t0\t4\n", "file:1: rating '0'"},
        {"ml-100k", "1\t2\t0.4\t4\n", "file:1: rating '0.4'"},
        {"ml-100k", "1\t2\t.\t4\n", "file:1: rating '.'"},
        {"ml-100k", "1\t2\t3.\t4\n", "file:1: rating '3.'"},
        {"ml-100k", "1\t2\tgood\t4\n", "file:1: rating 'good'"},
        {"ml-100k", "1\t2\t3\t-4\n", "file:1: timestamp '-4'"},
        {"ml-1m", "1::2:3::4\n", "file:1: movieId '2:3'"},
        {"ml-1m", "1::2::3\n", "file:1: 3 columns"},
        {"ml-20m", "1,2,3,4\n5,6,7,8\n", "file:1: no column 'userId'"},
        {"ml-20m", "userId,movieId,rating\n1,2,3\n", "file:1: no column 'timestamp'"},
        {"ml-20m", "userId,userId,movieId,rating,timestamp\n1,1,2,3,4\n", "file:1: column 'userId' comes twice"},
        {"ml-20m", "userId,movieId,rating,timestamp\n1,2,3\n", "file:2: 3 columns"},
        {"netflix", "1,2\n", "unknown format 'netflix'"},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct sg_rating *r;
        size_t count;
        ok(parse(&r, &count, bad[i].format, bad[i].text) != SG_OK && strstr(err.msg, bad[i].message), "%s refuses: %s",
           bad[i].format, err.msg);
    }
    struct sg_rating *r;
    size_t count;
    ok(sg_ratings_parse(&r, &count, "1\t2\0\t3\t4\n", 9, "ml-100k", "file", &err) == SG_ERR_FORMAT &&
           strstr(err.msg, "movieId '2\\x00'"),
       "a NUL byte: %s", err.msg);
}

/* Users 5 (20 items, one of them twice), 6 (19 items, one twice) and 900 (25), lines in turn. */
static size_t some(struct sg_rating out[70]) {
    size_t n = 0;
    for (uint32_t i = 0; i < 25; i++) {
        out[n++] = (struct sg_rating){900, 1000 + 10 * i, 7}; /* all at one time */
        if (i < 20)
            out[n++] = (struct sg_rating){5, 3000 - 10 * i, i == 4 ? 500 : i};
        if (i < 19)
            out[n++] = (struct sg_rating){6, 40 + i, i};
    }
    out[n++] = (struct sg_rating){6, 40, 3};
    out[n++] = (struct sg_rating){5, 3000, 400}; /* rated first at 0 */
    return n;
}

static void test_split(void) {
    struct sg_rating rating[70];
    struct sg_ratings r;
    const size_t n = some(rating);
    if (!ok(sg_ratings_split(&r, rating, n, 0, false, &err) == SG_OK, "a split"))
        return;
    ok(r.users == 2 && r.items == 45 && r.count == 19 + 24, "%zu users, %zu items, %zu ratings", r.users, r.items,
       r.count);
    ok(r.start[0] == 0 && r.start[1] == 19 && r.start[2] == 43, "where users start");
    bool ordered = true, disjoint = true;
    for (size_t u = 0; u < r.users; u++)
        for (size_t i = r.start[u]; i < r.start[u + 1]; i++) {
            ordered &= r.user[i] == u && (i == r.start[u] || r.item[i] > r.item[i - 1]) && r.item[i] < r.items;
            disjoint &= r.item[i] != r.test[u];
        }
    ok(ordered && disjoint, "a user's items ascend, without the test item");
    /* Items by number: 1000, 1010 ... 1240 are 0..24, 2810 ... 3000 are 25..44. */
    ok(r.test[0] == 25 + 15, "the latest rating is for testing: %u", r.test[0]);
    ok(r.test[1] == 24, "of ratings at one time the last line: %u", r.test[1]);
    const uint32_t test[2] = {r.test[0], r.test[1]};
    sg_ratings_free(&r);
    ok(sg_ratings_split(&r, rating, n, 0, true, &err) == SG_OK && r.count == 18 + 23 && r.start[1] == 18 &&
           r.test[0] == test[0] && r.test[1] == test[1],
       "with validation each user trains on one less, and the test is the same");
    bool held = r.validation[0] != r.test[0] && r.validation[1] != r.test[1];
    for (size_t i = 0; i < r.count; i++)
        held = held && r.item[i] != r.validation[r.user[i]];
    ok(held && r.validation[0] == 25 + 19 && r.validation[1] == 23, "the last but one rating is held out: %u, %u",
       r.validation[0], r.validation[1]);
    sg_ratings_free(&r);

    rating[n - 1].time = 600;
    ok(sg_ratings_split(&r, rating, n, 0, false, &err) == SG_OK && r.test[0] == 44 && r.count == 43,
       "of an item rated twice the later rating counts");
    sg_ratings_free(&r);
    uint32_t kept = 2;
    bool one = sg_ratings_split(&r, rating, n, 1, false, &err) == SG_OK && r.users == 1;
    if (one) {
        kept = r.items == 25;
        sg_ratings_free(&r);
    }
    one = one && sg_ratings_split(&r, rating, n, 1, false, &err) == SG_OK && r.users == 1 && (r.items == 25) == kept;
    ok(one, "one user is kept, the same again");
    if (one)
        sg_ratings_free(&r);
    ok(sg_ratings_split(&r, rating, 20, 0, false, &err) == SG_ERR_FORMAT && strstr(err.msg, "no user rated 20"),
       "nobody is left: %s", err.msg);
}

/* ---- examples ---------------------------------------------------------------------------------------------------- */

static bool generate(struct sg_ratings *out, size_t users, size_t items, size_t ratings) {
    struct sg_rating *rating;
    size_t count;
    if (sg_ratings_generate(&rating, &count, users, items, ratings, 1, &err) != SG_OK)
        return false;
    const bool good = sg_ratings_split(out, rating, count, 0, false, &err) == SG_OK;
    free(rating);
    return good;
}

/* An epoch's batches hold every rating once, as often negatives of its user, and none twice. */
static void test_epoch(const struct sg_ratings *r) {
    enum { BATCH = 7, WORKERS = 3, NEGATIVES = 4 };
    struct sg_examples e = {.ratings = r, .workers = WORKERS, .batch = BATCH, .negatives = NEGATIVES, .seed = 9};
    const uint64_t steps = sg_examples_steps(&e);
    ok(steps == r->count * (1 + NEGATIVES) / (BATCH * WORKERS), "%d steps an epoch", (int)steps);
    const size_t places = r->users * r->items;
    uint8_t *rated = calloc(places, 1), *seen = calloc(places, 1);
    uint32_t user[BATCH], item[BATCH], again[BATCH];
    float label[BATCH];
    size_t positive = 0, negative = 0, wrong = 0, twice = 0, moved = 0;
    double items = 0;
    for (size_t i = 0; rated && i < r->count; i++)
        rated[r->user[i] * r->items + r->item[i]] = 1;
    for (uint64_t s = 0; rated && seen && s < steps; s++)
        for (size_t w = 0; w < WORKERS; w++) {
            sg_examples_get(&e, w, s, user, item, label);
            for (size_t i = 0; i < BATCH; i++) {
                const size_t place = user[i] * r->items + item[i];
                wrong += user[i] >= r->users || item[i] >= r->items || (label[i] == 1 && !rated[place]);
                twice += label[i] == 1 && seen[place]++;
                positive += label[i] == 1;
                negative += label[i] == 0;
                items += label[i] == 0 ? item[i] : 0;
            }
            sg_examples_get(&e, w, s + steps, user, again, label); /* the next epoch's */
            for (size_t i = 0; i < BATCH; i++)
                moved += again[i] != item[i];
        }
    const size_t left = r->count * (1 + NEGATIVES) - (size_t)steps * BATCH * WORKERS;
    ok(wrong == 0 && twice == 0 && positive + left >= r->count && positive + negative + left == r->count * 5,
       "every rating once: %zu, and %zu negatives", positive, negative);
    const double n = (double)negative, mean = (double)(r->items - 1) / 2, deviation = (double)r->items / sqrt(12 * n);
    ok(fabs(items / n - mean) <= 5 * deviation, "negatives are uniform: mean item %.1f of %.1f", items / n, mean);
    ok((double)moved >= 0.9 * (n + (double)positive), "another epoch has others");
    free(rated);
    free(seen);
}

static void test_example_threads(const struct sg_ratings *r) {
    enum { BATCH = 100, WORKERS = 2 };
    struct sg_examples e = {.ratings = r, .workers = WORKERS, .batch = BATCH, .negatives = 4, .seed = 3};
    uint32_t user[2][BATCH], item[2][BATCH];
    float label[2][BATCH];
    bool same = sg_examples_steps(&e) > 0;
    for (size_t w = 0; same && w < WORKERS; w++) {
        for (int i = 0; i < 2; i++) {
            e.threads = 1 + 2 * i;
            sg_examples_get(&e, w, 1, user[i], item[i], label[i]);
        }
        same = memcmp(user[0], user[1], sizeof *user) == 0 && memcmp(item[0], item[1], sizeof *item) == 0 &&
               memcmp(label[0], label[1], sizeof *label) == 0;
    }
    ok(same, "a batch is the same on three threads");
}

static void test_cut_first(const struct sg_ratings *r) {
    enum { BATCH = 8, WORKERS = 8 };
    struct sg_examples e = {.ratings = r, .workers = WORKERS, .batch = BATCH, .negatives = 4, .seed = 9};
    uint32_t user[BATCH], item[BATCH];
    float label[BATCH];
    e.cut_first = true;
    const uint64_t steps = sg_examples_steps(&e);
    size_t positive[WORKERS] = {0}, all = (size_t)steps * BATCH;
    for (uint64_t s = 0; s < steps; s++)
        for (size_t w = 0; w < WORKERS; w++) {
            sg_examples_get(&e, w, s, user, item, label);
            for (size_t i = 0; i < BATCH; i++)
                positive[w] += label[i] == 1;
        }
    size_t late = 0;
    for (size_t w = 2; w < WORKERS; w++)
        late += positive[w];
    ok(positive[0] == all && positive[1] > all / 2 && positive[1] < 7 * all / 10 && late == 0,
       "cut before the shuffle: %zu, %zu and %zu ratings of %zu examples a worker", positive[0], positive[1], late,
       all);
}

static void test_rivals(const struct sg_ratings *r) {
    enum { RIVALS = 100 };
    uint32_t first[RIVALS], again[RIVALS], other[RIVALS];
    size_t rated = 0, same = 0;
    for (uint32_t u = 0; u < r->users; u++) {
        sg_ratings_rivals(r, 4, u, first, RIVALS);
        sg_ratings_rivals(r, 4, u, again, RIVALS);
        sg_ratings_rivals(r, 5, u, other, RIVALS);
        rated += memcmp(first, again, sizeof first) != 0;
        for (size_t i = 0; i < RIVALS; i++) {
            same += first[i] == other[i];
            for (size_t j = r->start[u]; j < r->start[u + 1]; j++)
                rated += first[i] == r->item[j] || first[i] >= r->items;
        }
    }
    ok(rated == 0, "rivals are items without a rating to train on, and the seed's");
    ok(same <= 5 * RIVALS * r->users / (r->items - 100), "another seed has others");

    /* Items 0..5 of which 1, 2 and 5 are rated, 3 being the test item: each of 0, 3 and 4 a third of the time. */
    size_t start[2] = {0, 3}, count[6] = {0};
    uint32_t item[3] = {1, 2, 5}, test[1] = {3}, user[3] = {0};
    const struct sg_ratings few = {
        .users = 1, .items = 6, .count = 3, .start = start, .user = user, .item = item, .test = test};
    for (uint64_t seed = 0; seed < 30; seed++) {
        sg_ratings_rivals(&few, seed, 0, first, RIVALS);
        for (size_t i = 0; i < RIVALS; i++)
            count[first[i] % 6]++;
    }
    const double off = fmax(fabs((double)count[0] - 1000), fabs((double)count[4] - 1000));
    ok(count[0] + count[3] + count[4] == 3000 && off <= 5 * sqrt(3000 * 2.0 / 9), "uniform over them: %zu %zu %zu",
       count[0], count[3], count[4]);
}

/* ---- sets -------------------------------------------------------------------------------------------------------- */

static void test_generate(void) {
    struct sg_rating *a, *b;
    size_t one, two;
    omp_set_num_threads(1);
    const bool first = sg_ratings_generate(&a, &one, 943, 1682, 100000, 1, &err) == SG_OK;
    omp_set_num_threads(3);
    if (!ok(first && sg_ratings_generate(&b, &two, 943, 1682, 100000, 1, &err) == SG_OK, "ratings-like, twice"))
        return;
    ok(one == two && memcmp(a, b, one * sizeof *a) == 0, "the same bytes for any number of threads");
    ok(fabs((double)one - 100000) <= 20000, "%zu ratings, close to 100000", one);
    size_t top = 0, few = 0, least = 0;
    for (size_t i = 0, run = 0; i < one; i++) {
        top += a[i].item <= 168;
        few += a[i].item > 841;
        run = i > 0 && a[i].user == a[i - 1].user ? run + 1 : 1;
        least += run == SG_RATINGS_LEAST;
    }
    ok(least == 943, "all users have enough");
    ok(top > one / 4 && few < one / 3 && few > one / 50, "a tenth of the items has %zu ratings, the lower half %zu",
       top, few);
    free(a);
    free(b);
    ok(sg_ratings_generate(&a, &one, 943, 59, 1, 1, &err) == SG_ERR_ARGUMENT, "too few items: %s", err.msg);
}

static sg_status load(struct sg_ratings *out, struct sg_provenance *from, const char *name, const char *stand_in,
                      size_t users) {
    const struct sg_ratings_request request = {.set = {.name = name, .stand_in = stand_in, .data_dir = temporary},
                                               .most_users = users};
    return sg_ratings_load(out, from, &request, &err);
}

static void test_load(void) {
    struct sg_ratings r;
    struct sg_provenance from;
    char text[2000];
    size_t at = 0;
    for (int i = 1; i <= 25; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%d\t%d\t3\t%d\n", 8, i, i);
    mkdir(temporary_path("ml-100k-tiny"), 0777);
    temporary_write("ml-100k-tiny/u.data", text, at);
    if (ok(load(&r, &from, "ml-100k-tiny", NULL, 0) == SG_OK, "a set in MovieLens' format")) {
        cJSON *json = sg_ratings_json(&r, &from);
        ok(sg_json_number(json, "users", 0) == 1 && sg_json_number(json, "items", 0) == 25 &&
               sg_json_number(json, "train_ratings", 0) == 24 &&
               strcmp(sg_json_string(json, "source", ""), "file") == 0 && strlen(from.sha256) == 64,
           "its provenance as JSON");
        cJSON_Delete(json);
        sg_ratings_free(&r);
        sg_provenance_free(&from);
    }
    ok(load(&r, &from, "ml-1m-none", NULL, 0) == SG_ERR_MISSING && strstr(err.msg, "datasets/cache/ml-1m-none/") &&
           !strstr(err.msg, "datasets/fetch") && strstr(err.msg, "ratings-like"),
       "a missing set: where to put it, and the stand-in");
    ok(load(&r, &from, "ml-1m-none", "cifar-like", 0) == SG_ERR_ARGUMENT && strstr(err.msg, "ratings-like"),
       "an unknown stand-in");
    ok(load(&r, &from, "netflix", NULL, 0) == SG_ERR_ARGUMENT && strstr(err.msg, "ml-25m"), "an unknown set");
    if (ok(load(&r, &from, "ml-1m-none", "ratings-like", 50) == SG_OK && r.users == 50, "50 users of a stand-in")) {
        ok(strcmp(from.source, "generated") == 0 && strcmp(from.generator, "ratings-like") == 0, "it says so");
        sg_ratings_free(&r);
        sg_provenance_free(&from);
    }
    mkdir(temporary_path("ml-100k"), 0777);
    temporary_write("ml-100k/u.data", text, at);
    ok(load(&r, &from, "ml-100k", "ratings-like", 0) == SG_ERR_FORMAT && strstr(err.msg, "25 ratings, but") &&
           strstr(err.msg, "truncated"),
       "a set that is cut off: %s", err.msg);
    temporary_write("ml-100k-tiny/u.data", text, 15);
    ok(load(&r, &from, "ml-100k-tiny", NULL, 0) == SG_ERR_FORMAT && strstr(err.msg, "ml-100k-tiny/u.data:2: "),
       "a line that is cut off: %s", err.msg);
}

/* The real set, where it is at hand. */
static void test_real(void) {
    const char *shared = getenv("SPARSE_SHARED_DATA");
    char folder[512];
    struct stat st;
    struct sg_ratings r;
    struct sg_provenance from;
    snprintf(folder, sizeof folder, "%s", shared ? shared : "../shared/data");
    if (stat(folder, &st) != 0) {
        skip("%s is not there", folder);
        return;
    }
    const struct sg_ratings_request request = {.set = {.name = "ml-100k", .data_dir = folder}};
    if (!ok(sg_ratings_load(&r, &from, &request, &err) == SG_OK, "MovieLens-100K is read")) {
        printf("#   got '%s'\n", err.msg);
        return;
    }
    ok(r.users == 943 && r.items == 1682 && r.count == 99057, "%zu users, %zu items, %zu ratings to train on", r.users,
       r.items, r.count);
    ok(from.verified == SG_VERIFIED_SAME, "it is the publisher's");
    sg_ratings_free(&r);
    sg_provenance_free(&from);
}

int main(void) {
    temporary_make();
    test_memory();
    test_formats();
    test_refused();
    test_split();
    struct sg_ratings r;
    if (ok(generate(&r, 60, 400, 3000), "ratings to draw from")) {
        test_epoch(&r);
        test_example_threads(&r);
        test_cut_first(&r);
        test_rivals(&r);
        sg_ratings_free(&r);
    }
    test_generate();
    test_load();
    test_real();
    return tap_done();
}

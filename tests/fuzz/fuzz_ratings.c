/* Ratings from hostile files in every format, and what is accepted through the split. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "replay.h"
#include "sg_ratings.h"

static void check(const struct sg_ratings *r) {
    if (r->users == 0 || r->start[0] != 0 || r->start[r->users] != r->count)
        abort();
    for (size_t u = 0; u < r->users; u++) {
        if (r->start[u + 1] < r->start[u] + SG_RATINGS_LEAST - 1 || r->test[u] >= r->items)
            abort();
        for (size_t i = r->start[u]; i < r->start[u + 1]; i++)
            if (r->user[i] != u || r->item[i] >= r->items || r->item[i] == r->test[u] ||
                (i > r->start[u] && r->item[i] <= r->item[i - 1]))
                abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const format[] = {"ml-100k", "ml-1m", "ml-20m"};
    for (size_t f = 0; f < 3; f++) {
        struct sg_error err;
        struct sg_rating *rating;
        struct sg_ratings r;
        size_t count;
        if (sg_ratings_parse(&rating, &count, (const char *)data, size, format[f], "fuzz", &err) != SG_OK)
            continue;
        if (sg_ratings_split(&r, rating, count, 0, false, &err) == SG_OK) {
            check(&r);
            sg_ratings_free(&r);
        }
        free(rating);
    }
    return 0;
}

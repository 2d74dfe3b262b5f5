/* movielens.h: the files of the MovieLens sets; private to lib/data. */
#ifndef MOVIELENS_H
#define MOVIELENS_H

#include <stdbool.h>
#include <stddef.h>

struct movielens_format {
    const char *name, *file, *separator;
    bool header;                  /* the first line names the columns */
    size_t users, items, ratings; /* of the whole set, users with enough ratings only */
};

/* By a set's name: one of the known, or one of these and "-SOMETHING". NULL: neither. */
const struct movielens_format *movielens_find(const char *set);

#endif

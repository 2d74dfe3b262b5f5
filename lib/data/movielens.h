/* movielens.h: the files of the MovieLens sets; private to lib/data. */
/* SPDX-License-Identifier: MIT */
#ifndef MOVIELENS_H
#define MOVIELENS_H

#include <stdbool.h>
#include <stddef.h>

struct movielens_format {
    const char *name, *file, *separator;
    bool header;                  /* the first line names the columns */
    size_t users, items, ratings; /* of the whole set, users with enough ratings only */
};

/* Finds the format by a set's name: a known name, or one followed by "-SOMETHING". NULL = the name is neither. */
const struct movielens_format *movielens_find(const char *set);

#endif

/* data_text.h: the bytes of a data file, unpacked; private to lib/data. */
#ifndef DATA_TEXT_H
#define DATA_TEXT_H

#include <stddef.h>

#include "sg_status.h"

/* A private mapping, not to be written to. An empty file has at == NULL. */
struct data_text {
    char *at;
    size_t length, bytes; /* bytes: of the mapping */
};

/* Maps a regular file; .gz, .bz2 and .xz are piped through gzip, bzip2, xz -dc (an error names a missing package). */
SG_CHECKED sg_status data_text_open(struct data_text *out, const char *path, struct sg_error *err);
void data_text_free(struct data_text *t); /* zeroes it */

#endif

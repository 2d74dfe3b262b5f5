/* sg_tar.h: several files in one, a tar archive in the format ustar (POSIX.1-2001, pax, "ustar Interchange Format").
 *
 * The same members give the same bytes: plain files of mode 0644 in ascending order of their names, without owner,
 * group or time, and two blocks of zeros behind them. Reading accepts exactly what writing makes, so every bit of an
 * archive is either that of a name, a length or a content, or is checked here. */
#ifndef SG_TAR_H
#define SG_TAR_H

#include <stddef.h>
#include <stdio.h>

#include "sg_status.h"

enum { SG_TAR_NAME = 99 }; /* the longest name in bytes */

struct sg_tar_member {
    char name[SG_TAR_NAME + 1];
    const char *data; /* [length], borrowed; it ends in no NUL */
    size_t length;
};

/* Sorts member [n] by name and writes them to `out`. The caller checks the stream for errors. SG_ERR_ARGUMENT: two have
 * one name. */
SG_CHECKED sg_status sg_tar_write(FILE *out, struct sg_tar_member *member, size_t n, struct sg_error *err);

/* Splits text [length] into members, whose data point into it; the caller frees *out. `path` begins messages.
 * SG_ERR_FORMAT: a byte differs from what sg_tar_write makes of these members. */
SG_CHECKED sg_status sg_tar_parse(struct sg_tar_member **out, size_t *n, const char *text, size_t length,
                                  const char *path, struct sg_error *err);

#endif

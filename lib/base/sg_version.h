/* sg_version.h: what this build is. All strings are static. */
#ifndef SG_VERSION_H
#define SG_VERSION_H

#include <cjson/cJSON.h>

const char *sg_version_sources(void); /* 12 digits of a hash of all sources */
/* Identity of the program that decides whether a finished cell of a task of this kind may be reused: the version and a
 * hash of the code that can change its numbers, which is what all tasks share and what this one has of its own. Comments
 * and layout do not count, nor do plots, programs or other tasks; of a task that needs libtorch, that library's version
 * does. A kind that is NULL or unknown gives the hash of all sources. */
const char *sg_version_identity(const char *task_kind);

/* The "program" of results: {"name","version","commit","dirty","identity","compiler","cflags"}, with the identity for
 * tasks of this kind. NULL = no memory. */
cJSON *sg_version_json(const char *program, const char *task_kind);

#endif

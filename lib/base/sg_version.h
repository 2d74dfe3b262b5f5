/* sg_version.h: what this build is. All strings are static. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_VERSION_H
#define SG_VERSION_H

#include <cjson/cJSON.h>

const char *sg_version_sources(void); /* 12 digits of a hash of all sources */
/* The identity of the program for tasks of this kind. A finished cell is reused only by a program of the same identity.
 * It is the version and a hash of the code that can change the cell's numbers: what all tasks share and what this kind
 * has of its own. Comments, layout, plots, programs and other tasks do not count. For a task that needs libtorch the
 * library's version counts. If the kind is NULL or unknown, the hash is that of all sources. */
const char *sg_version_identity(const char *task_kind);

/* The "program" of results: {"name","version","commit","dirty","identity","compiler","cflags"}, with the identity for
 * tasks of this kind. */
cJSON *sg_version_json(const char *program, const char *task_kind);

#endif

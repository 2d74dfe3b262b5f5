/* sg_version.h: what this build is. Strings are static. */
#ifndef SG_VERSION_H
#define SG_VERSION_H

#include <cjson/cJSON.h>
#include <stdbool.h>

const char *sg_version(void);        /* "0.1.0" */
const char *sg_version_commit(void); /* short hash or "unknown" */
bool sg_version_dirty(void);         /* the tree had uncommitted changes */
const char *sg_version_compiler(void);
const char *sg_version_cflags(void);
bool sg_feature_mpi(void);
bool sg_feature_torch(void);
bool sg_feature_cuda(void);
/* Identity of the program that decides whether a finished cell may be reused: version and a hash of all sources,
 * so that edits of documents or tests do not throw results away. */
const char *sg_version_identity(void);

/* {"name","version","commit","dirty","identity","compiler","cflags"} as it goes into results. */
cJSON *sg_version_json(const char *program);

#endif

/* sg_result.h: what results look like on disk.
 *
 * A run (one method, one seed) is a series, one JSON object a line:
 *   {"record":"header","schema":"sparsetrain/1","name":…,"title":…,"method":…,"seed":"1","cell_key":…,
 *    "program":{"name","version","commit","dirty","identity","compiler","cflags"},"recipe":{"resolved":{…}},
 *    "dataset":{…},"constants":{…},"columns":[…],"units":{…},"layers":null|[{"name","elements"}]}
 *   {"record":"step","step":10,"epoch":0.03,"bits":640,…}        keys = columns, always all of them; with record.layers
 *    also "layers":null|{"entries":[…],"error_norm":[…],"error_max":[…],"mode":null|[…]}
 *   {"record":"run","started_at":…,"elapsed_s":…,"setup_s":…,"phase_s":null|{"gradient","compression",
 *    "exchange","update"},"ranks":…,"threads":…,"device":…,"kernels":…,
 *    "recipe":{"path","sha256","set":["workers=4"]},"dataset_path":…,"host":{…},"libraries":{…}}
 *   {"record":"end","status":"ok"|"diverged"|"interrupted"|"failed","message":null,"steps":3000,"parameters_sha256":…}
 * No end record = truncated. Everything but the `run` record is a function of recipe, method, seed, data and
 * program: the same bytes for every rank count, thread count and interruption.
 *
 * sparsetrain --json folds the same into one object with "series": {column: [values]}. */
#ifndef SG_RESULT_H
#define SG_RESULT_H

#include <stddef.h>
#include <stdint.h>

#include "sg_json.h"
#include "sg_status.h"

#define SG_SCHEMA_TRAIN  "sparsetrain/1"
#define SG_SCHEMA_BENCH  "sparsebench/1"
#define SG_SCHEMA_TUNE   "sparsetune/1"
#define SG_SCHEMA_INPUTS "sparsetrain-inputs/1"

/* {"name","cpu","cores","memory_bytes","gpu","driver"} of this machine. */
cJSON *sg_result_host(void);

/* {"argv","started_at","elapsed_s"} of this command; NULL = no memory. */
cJSON *sg_result_command(int argc, char **argv, const char *started_at, double elapsed_s);

/* A run read back. Folded, what steps say of layers is "layer_series": [one a step]. */
struct sg_series {
    char *name;    /* "suboptimality" */
    double *value; /* [n_points], NaN for null */
};

struct sg_run {
    cJSON *header, *run, *end; /* end NULL = truncated; run NULL = absent */
    struct sg_series *series;  /* [n_series] in column order */
    size_t n_series, n_points;
    cJSON *layers; /* array [n_points] of the steps' "layers"; NULL = not recorded */
};

/* Read a run from NDJSON or from the folded JSON. A schema number above ours is SG_ERR_UNSUPPORTED and says so;
 * a truncated series is not an error (end == NULL), a torn last line is dropped. */
SG_CHECKED sg_status sg_run_read(struct sg_run *out, const char *path, struct sg_error *err);
SG_CHECKED sg_status sg_run_parse(struct sg_run *out, const char *text, size_t length, const char *name,
                                  struct sg_error *err);
/* The same for a run that ended by itself ("ok" or "diverged"), with this cell key and written by the program
 * of this identity (NULL = any); SG_ERR_MISMATCH says which of these it is not. */
SG_CHECKED sg_status sg_run_read_finished(struct sg_run *out, const char *path, const char *cell_key,
                                          const char *identity, struct sg_error *err);
void sg_run_free(struct sg_run *run); /* zeroes it */

/* Column by name, NULL if absent. */
const double *sg_run_series(const struct sg_run *run, const char *name);

/* The folded form; NULL = no memory. */
cJSON *sg_run_json(const struct sg_run *run);

/* SG_OK when schema is "<kind>/<n>" with 1 <= n <= ours; SG_ERR_UNSUPPORTED with advice when newer. */
SG_CHECKED sg_status sg_schema_check(const char *schema, const char *ours, const char *name, struct sg_error *err);

#endif

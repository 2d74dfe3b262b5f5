/* sg_result.h: what results look like on disk.
 *
 * A run (one method, one seed) is a series, one JSON object a line:
 *   {"record":"header","schema":"sparsetrain/1","name":…,"title":…,"method":…,"seed":"1","cell_key":…,
 *    "program":{"name","version","commit","dirty","identity","compiler","cflags"},"recipe":{"resolved":{…}},
 *        and, if the run uses plug-ins, "plugins":[{"file","sha256"}] in "program"
 *    "dataset":{…},"constants":{…},"columns":[…],"units":{…},"layers":null|[{"name","elements"}]}
 *   {"record":"step","step":10,"epoch":0.03,"bits":640,…}        keys = columns, always all of them; with record.layers
 *    also "layers":null|{"entries":[…],"error_norm":[…],"error_max":[…],"mode":null|[…]}, which with record.workers
 *    has "workers":[[…],…], too: the entries of each layer that each worker sent
 *   {"record":"run","started_at":…,"elapsed_s":…,"setup_s":…,"phase_s":null|{"gradient","compression",
 *    "exchange","update"},"ranks":…,"threads":…,"device":…,"kernels":…,
 *    "recipe":{"path","sha256","set":["workers=4"]},"dataset_path":…,"host":{…},"libraries":{…},"planned_steps":…,
 *    "steps_per_epoch":…,"segments":[{"from_step","to_step","started_at","elapsed_s","host","device","processor",
 *    "cuda","kernels","ranks","threads"}],"sha256":…}: a segment is what one process did of the run, the last one is
 *    this; the checksum is that of the file without this last member, and series of older programs have none
 *   {"record":"end","status":"ok"|"diverged"|"interrupted"|"failed","message":null,"steps":3000,"parameters_sha256":…}
 * A file without an end record is truncated. All records but `run` are a function of recipe, method, seed, data and
 * program: they have the same bytes for every number of ranks and threads and after any interruption.
 *
 * sparsetrain --json folds the same into one object with "series": {column: [values]}, without the checksum. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_RESULT_H
#define SG_RESULT_H

#include <stddef.h>
#include <stdint.h>

#include "sg_file.h"
#include "sg_json.h"
#include "sg_status.h"

#define SG_SCHEMA_TRAIN     "sparsetrain/1"
#define SG_SCHEMA_BENCH     "sparsebench/1"
#define SG_SCHEMA_TUNE      "sparsetune/1"
#define SG_SCHEMA_INPUTS    "sparsetrain-inputs/2"
#define SG_SCHEMA_GRADIENTS "sparsetrain-gradients/2"

/* This machine: {"name","cpu","cores","memory_bytes","gpu","driver"}. */
cJSON *sg_result_host(void);

/* This command: {"argv","started_at","elapsed_s"}. */
cJSON *sg_result_command(int argc, char **argv, const char *started_at, double elapsed_s);

/* A column of a run that was read back. */
struct sg_series {
    char *name;    /* "suboptimality" */
    double *value; /* [n_points], NaN for null */
};

struct sg_run {
    cJSON *header, *run, *end; /* end = NULL: the file is truncated; run = NULL: it has no such record */
    struct sg_series *series;  /* [n_series] in column order */
    size_t n_series, n_points;
    bool damaged; /* it has a checksum that does not match its bytes */
    /* Array [n_points] of the steps' "layers", "layer_series" in the folded form; NULL = not recorded. */
    cJSON *layers;
    cJSON *values; /* of a run that is known by some values alone (sg_run_know); NULL = by its series */
};

/* Reads a run from NDJSON, or only its records, without series and layers, from the folded JSON. A truncated series is
 * no error (end == NULL), and a torn last line is dropped. SG_ERR_UNSUPPORTED: the schema number is above ours. */
SG_CHECKED sg_status sg_run_read(struct sg_run *out, const char *path, struct sg_error *err);
SG_CHECKED sg_status sg_run_parse(struct sg_run *out, const char *text, size_t length, const char *name,
                                  struct sg_error *err);
void sg_run_free(struct sg_run *run); /* zeroes it */

/* What decides whether a finished series is the one that a run would write now. */
struct sg_run_wanted {
    const char *cell_key;
    const char *identity; /* of the program and its plug-ins; NULL = of any version */
    const cJSON *dataset; /* the header's "dataset" as it would be now; NULL = the data are missing, and any match */
    const char *device;   /* only its kind counts (cpu, cuda); NULL = any */
};
enum sg_run_part {
    SG_RUN_WHOLE,
    SG_RUN_RECIPE,
    SG_RUN_PROGRAM,
    SG_RUN_DATA,
    SG_RUN_DEVICE,
    SG_RUN_BYTES,
    SG_RUN_PARTS
};
struct sg_run_unlike {
    enum sg_run_part part; /* the first part that differs; WHOLE = none differs, or there is no series */
    char has[160];         /* that part of the series: an identity, data as sg_run_data_text, a device, or its path */
};
/* Reads a run that ended by itself ("ok" or "diverged") and is as wanted. SG_ERR_FORMAT: it is damaged or did not end
 * so. SG_ERR_MISMATCH: another part differs. *unlike, if not NULL, gets the part in any case. */
SG_CHECKED sg_status sg_run_read_finished(struct sg_run *out, const char *path, const struct sg_run_wanted *wanted,
                                          struct sg_run_unlike *unlike, struct sg_error *err);

/* What identifies data, made from the "dataset" of a result's header: "file" and the SHA-256, or "generated" and the
 * generator. Equal texts mean that a cell of the same program gets the same data. Returns out. */
enum { SG_DATASET_IDENTITY = 88 };
char *sg_dataset_identity(char out[SG_DATASET_IDENTITY], const cJSON *dataset);
/* Data for people: "own.libsvm, SHA-256 0123456789ab". Returns out. */
char *sg_run_data_text(char out[160], const cJSON *dataset);

/* The lines of the records `run` and `end`, the former with the checksum; `before` is the hash of all lines before
 * them. */
char *sg_run_seal(sg_sha256 before, const char *run, const char *end);
/* True if this series has a checksum that does not match its bytes. */
bool sg_run_is_damaged(const char *text, size_t length);

/* The device, borrowed, of the first segment that ran on another kind (cpu, cuda) than `device`; NULL = none did. */
const char *sg_run_other_device(const struct sg_run *run, const char *device);

/* The values [n_points] of a column, borrowed; NULL = there is no such column. */
const double *sg_run_series(const struct sg_run *run, const char *name);

/* Appends a column that was computed from recorded ones; value [n_points] is taken over, also on failure. */
void sg_run_add_series(struct sg_run *run, const char *name, const char *unit, double *take_value);

/* The folded form. */
cJSON *sg_run_json(const struct sg_run *run);

/* SG_OK if schema is "<kind>/<n>" with 1 <= n <= ours; SG_ERR_UNSUPPORTED with advice if n is newer. */
SG_CHECKED sg_status sg_schema_check(const char *schema, const char *ours, const char *name, struct sg_error *err);

#endif

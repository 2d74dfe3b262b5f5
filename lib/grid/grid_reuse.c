/* grid_reuse.c: which cells of a grid are finished, and whether they may be reused. */
#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "grid_private.h"
#include "sg_dataset.h"
#include "sg_plugins.h"
#include "sg_task.h"
#include "sg_text.h"
#include "sg_train.h"

enum { KEY_PREFIX = 12, DATA_TEXT = 160 }; /* digits of a cell's key in its file's name */

/* A label as part of a file name: a blank becomes '_', what is not plain becomes %XX. Different labels stay different.
 */
static void label_text(const char *label, char out[128]) {
    size_t n = 0;
    for (const char *c = label; *c && n + 4 < 128; c++) {
        bool letter = (*c >= '0' && *c <= '9') || (*c >= 'A' && *c <= 'Z') || (*c >= 'a' && *c <= 'z');
        if (letter || strchr("-=", *c) || (*c == '.' && n > 0))
            out[n++] = *c;
        else if (*c == ' ')
            out[n++] = '_';
        else
            n += (size_t)snprintf(out + n, 4, "%%%02X", (unsigned char)*c);
    }
    out[n] = '\0';
}

static char *cell_path(const struct sg_cell *cell, const char *folder) {
    char label[128];
    label_text(cell->label, label);
    return sg_format("%s/%s-seed%llu-%.*s.ndjson", folder, label, (unsigned long long)cell->seed, KEY_PREFIX,
                     cell->key);
}

static char *data_text(char out[DATA_TEXT], const cJSON *dataset) {
    const char *sha256 = sg_json_string(dataset, "sha256", "");
    if (strcmp(sg_json_string(dataset, "source", ""), "generated") == 0)
        snprintf(out, DATA_TEXT, "%.63s, generated%s%.12s", sg_json_string(dataset, "generator", "?"),
                 *sha256 ? ", SHA-256 " : "", sha256);
    else
        snprintf(out, DATA_TEXT, "%.63s, SHA-256 %.12s", sg_json_string(dataset, "name", "?"),
                 *sha256 ? sha256 : "unknown");
    return out;
}

/* What a finished cell must have to be reused. */
struct wanted {
    bool any_version;     /* of the program and of plug-ins */
    const cJSON *dataset; /* NULL = the data are not here, and any will do */
    const char *device;   /* NULL = any will do */
};

/* May a finished cell with this header be reused by the program of `identity` (NULL = of any version) if `dataset`
 * would be read now (NULL = the data are not here, and any will do)? */
static enum sg_cell_stale stale_of(const cJSON *header, const char *identity, const cJSON *dataset) {
    char now[SG_DATASET_IDENTITY], then[SG_DATASET_IDENTITY];
    if (identity && strcmp(sg_json_string(header, "program.identity", ""), identity) != 0)
        return SG_STALE_VERSION;
    sg_dataset_identity(now, dataset);
    sg_dataset_identity(then, sg_json_get(header, "dataset"));
    return dataset && strcmp(now, then) != 0 ? SG_STALE_DATA : SG_STALE_NOT;
}

/* Remembers why a series is not reused (`why` may be SG_STALE_NOT), and what it has instead. */
static void set_stale(struct sg_cell_outcome *outcome, enum sg_cell_stale why, const char *has) {
    free(outcome->stale_of);
    outcome->stale = why;
    outcome->stale_of = why == SG_STALE_NOT ? NULL : strdup(has);
}

/* If this is the cell's finished series, it is reused and the path is taken over. */
static bool take_finished(struct sg_cell_outcome *outcome, const struct sg_cell *cell, char *take_path,
                          const struct wanted *wanted) {
    struct sg_error unfit;
    struct sg_run run;
    char data[DATA_TEXT], identity[SG_CELL_IDENTITY];
    const sg_status readable = sg_run_read_finished(&run, take_path, cell->key, NULL, &unfit);
    if (readable == SG_ERR_FORMAT)
        set_stale(outcome, SG_STALE_DAMAGED, take_path);
    if (readable != SG_OK)
        return false;
    sg_cell_identity(identity, cell);
    const char *other_device = wanted->device ? sg_run_other_device(&run, wanted->device) : NULL;
    enum sg_cell_stale stale = stale_of(run.header, wanted->any_version ? NULL : identity, wanted->dataset);
    stale = stale == SG_STALE_NOT && other_device ? SG_STALE_DEVICE : stale;
    set_stale(outcome, stale,
              stale == SG_STALE_VERSION  ? sg_json_string(run.header, "program.identity", "?")
              : stale == SG_STALE_DEVICE ? other_device
                                         : data_text(data, sg_json_get(run.header, "dataset")));
    if (stale != SG_STALE_NOT) {
        sg_run_free(&run);
        return false;
    }
    if (take_path != outcome->path)
        free(outcome->path);
    outcome->path = take_path;
    outcome->run = run;
    outcome->state = SG_CELL_REUSED;
    outcome->unchecked = !wanted->dataset;
    outcome->on_gpu = !wanted->device && sg_run_other_device(&run, "cpu");
    outcome->done = 1;
    return true;
}

/* Looks for the same run under another label. */
static sg_status find_by_key(struct sg_cell_outcome *outcomes, const struct sg_cell *cells, size_t count,
                             const char *folder_path, const struct wanted *wanted, struct sg_error *err) {
    DIR *folder = opendir(folder_path);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        for (size_t i = 0; i < count; i++) {
            char ending[64], *path;
            const size_t length = strlen(entry->d_name);
            const size_t tail = (size_t)snprintf(ending, sizeof ending, "-seed%llu-%.*s.ndjson",
                                                 (unsigned long long)cells[i].seed, KEY_PREFIX, cells[i].key);
            if (outcomes[i].state != SG_CELL_WAITING || length < tail ||
                strcmp(entry->d_name + length - tail, ending) != 0)
                continue;
            if (asprintf(&path, "%s/%s", folder_path, entry->d_name) < 0) {
                closedir(folder);
                return sg_fail_memory(err, "a path");
            }
            if (!take_finished(&outcomes[i], &cells[i], path, wanted))
                free(path);
        }
    if (folder)
        closedir(folder);
    return SG_OK;
}

/* Is there a stopped run of the cell, with its partial series? */
static sg_status find_checkpoint(struct sg_cell_outcome *o, const struct sg_cell *cell, const cJSON *dataset,
                                 struct sg_error *err) {
    char *part = NULL, *checkpoint = NULL;
    sg_status status = SG_OK;
    if (asprintf(&part, "%s.part", o->path) < 0 || asprintf(&checkpoint, "%s.ckpt", o->path) < 0)
        status = sg_fail_memory(err, "a path");
    else if (access(part, F_OK) == 0)
        status = sg_train_resumable(&o->resumable, checkpoint, cell, dataset, err);
    free(part);
    free(checkpoint);
    return status;
}

static sg_status look(struct sg_cell_outcome *outcomes, const struct sg_cell *cells, size_t count,
                      const struct sg_grid_options *o, const struct wanted *wanted, struct sg_error *err) {
    size_t missing = 0;
    for (size_t i = 0; i < count; i++) {
        outcomes[i].path = cell_path(&cells[i], o->folder);
        if (!outcomes[i].path)
            return sg_fail_memory(err, "cells");
        struct stat info;
        outcomes[i].file = stat(outcomes[i].path, &info) == 0 ? info.st_ino : 0;
        const bool there = !o->fresh && outcomes[i].file != 0;
        missing += !there || !take_finished(&outcomes[i], &cells[i], outcomes[i].path, wanted);
    }
    if (missing == 0 || o->fresh)
        return SG_OK;
    sg_status status = find_by_key(outcomes, cells, count, o->folder, wanted, err);
    for (size_t i = 0; i < count && status == SG_OK; i++)
        if (outcomes[i].state == SG_CELL_WAITING)
            status = find_checkpoint(&outcomes[i], &cells[i], wanted->dataset, err);
    return status;
}

sg_status sg_grid_look(struct sg_cell_outcome *outcomes, const struct sg_cell *cells, size_t count,
                       const struct sg_grid_options *o, struct sg_error *err) {
    cJSON *dataset = NULL;
    sg_status status = count > 0 && !o->fresh ? sg_task_dataset(&dataset, &cells[0].resolved, o->data_dir, err) : SG_OK;
    const struct wanted wanted = {o->any_version, dataset, o->device};
    SG_DO(status, look(outcomes, cells, count, o, &wanted, err));
    cJSON_Delete(dataset);
    return status;
}

const char *sg_grid_action(const struct sg_cell_outcome *outcome) {
    return outcome->state == SG_CELL_REUSED ? "reuse" : outcome->resumable ? "resume" : "run";
}

/* Compares data. For generated data it compares the bytes too, which the cells know. */
static bool same_data(const cJSON *a, const cJSON *b) {
    char one[SG_DATASET_IDENTITY], other[SG_DATASET_IDENTITY];
    return strcmp(sg_dataset_identity(one, a), sg_dataset_identity(other, b)) == 0 &&
           strcmp(sg_json_string(a, "sha256", ""), sg_json_string(b, "sha256", "")) == 0;
}

sg_status sg_grid_same_data(const struct sg_cell *cells, const struct sg_cell_outcome *outcomes, size_t count,
                            struct sg_error *err) {
    const cJSON *first = NULL;
    char one[DATA_TEXT], other[DATA_TEXT];
    size_t of = 0;
    for (size_t i = 0; i < count; i++) {
        const cJSON *dataset = sg_json_get(outcomes[i].run.header, "dataset");
        if (dataset && !first) {
            first = dataset;
            of = i;
        }
        if (dataset && !same_data(first, dataset))
            return sg_fail(err, SG_ERR_MISMATCH,
                           "cells of different data have no means: %s, seed %" PRIu64 " (%.200s) read %s, "
                           "but %s, seed %" PRIu64 " (%.200s) read %s: run them with --fresh, or remove "
                           "the files of one",
                           cells[of].label, cells[of].seed, outcomes[of].path, data_text(one, first), cells[i].label,
                           cells[i].seed, outcomes[i].path, data_text(other, dataset));
    }
    return SG_OK;
}

cJSON *sg_grid_identities(const struct sg_cell_outcome *outcomes, size_t count) {
    cJSON *out = cJSON_CreateArray(), *known;
    for (size_t i = 0; i < count; i++) {
        const char *identity = sg_json_string(outcomes[i].run.header, "program.identity", NULL);
        bool found = identity == NULL;
        cJSON_ArrayForEach(known, out) found = found || strcmp(known->valuestring, identity) == 0;
        if (!found)
            sg_json_push_string(out, identity);
    }
    return out;
}

void sg_grid_outcomes_free(struct sg_cell_outcome *outcomes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        free(outcomes[i].path);
        free(outcomes[i].message);
        free(outcomes[i].stale_of);
        sg_run_free(&outcomes[i].run);
    }
}

size_t sg_grid_count_others(const char *folder, const struct sg_cell_outcome *outcomes, size_t count) {
    static const char ending[] = ".ndjson";
    size_t others = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        const size_t length = strlen(entry->d_name), ends = strlen(ending);
        bool ours = length < ends || strcmp(entry->d_name + length - ends, ending) != 0;
        for (size_t i = 0; i < count && !ours; i++) {
            const char *slash = strrchr(outcomes[i].path, '/');
            ours = strcmp(slash ? slash + 1 : outcomes[i].path, entry->d_name) == 0;
        }
        others += !ours;
    }
    if (dir)
        closedir(dir);
    return others;
}

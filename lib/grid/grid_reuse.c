/* grid_reuse.c: which cells of a grid are finished, and whether they may be reused. */
/* SPDX-License-Identifier: MIT */
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

enum { KEY_PREFIX = 12 }; /* digits of a cell's key in its file's name */

/* A label as part of a file name: a blank becomes '_', a special character %XX. Different labels stay different.
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

/* If the file is the cell's finished series, the cell becomes REUSED and gets the path. */
static bool take_finished(struct sg_cell_outcome *outcome, const struct sg_cell *cell, char *take_path,
                          struct sg_run_wanted wanted, bool any_version) {
    struct sg_error unfit;
    struct sg_run_unlike unlike;
    char identity[SG_CELL_IDENTITY];
    wanted.cell_key = cell->key;
    wanted.identity = any_version ? NULL : sg_cell_identity(identity, cell);
    const bool taken = sg_run_read_finished(&outcome->run, take_path, &wanted, &unlike, &unfit) == SG_OK;
    if (taken || (unlike.part != SG_RUN_WHOLE && unlike.part != SG_RUN_RECIPE))
        outcome->unlike = unlike;
    if (!taken)
        return false;
    if (take_path != outcome->path)
        free(outcome->path);
    outcome->path = take_path;
    outcome->state = SG_CELL_REUSED;
    outcome->unchecked = !wanted.dataset;
    outcome->on_gpu = !wanted.device && sg_run_other_device(&outcome->run, "cpu");
    outcome->done = 1;
    return true;
}

/* Looks for a finished run with the cell's key under another label. */
static void find_by_key(struct sg_cell_outcome *outcomes, const struct sg_cell *cells, size_t count,
                        const struct sg_grid_options *o, const struct sg_run_wanted *wanted) {
    DIR *folder = opendir(o->folder);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        for (size_t i = 0; i < count; i++) {
            char ending[64];
            const size_t length = strlen(entry->d_name);
            const size_t tail = (size_t)snprintf(ending, sizeof ending, "-seed%llu-%.*s.ndjson",
                                                 (unsigned long long)cells[i].seed, KEY_PREFIX, cells[i].key);
            if (outcomes[i].state != SG_CELL_WAITING || length < tail ||
                strcmp(entry->d_name + length - tail, ending) != 0)
                continue;
            char *path = sg_format("%s/%s", o->folder, entry->d_name);
            if (!take_finished(&outcomes[i], &cells[i], path, *wanted, o->any_version))
                free(path);
        }
    if (folder)
        closedir(folder);
}

/* Finds out if there is a stopped run of the cell, with its partial series. */
static sg_status find_checkpoint(struct sg_cell_outcome *o, const struct sg_cell *cell, const cJSON *dataset,
                                 struct sg_error *err) {
    char *part = sg_format("%s.part", o->path), *checkpoint = sg_format("%s.ckpt", o->path);
    sg_status status = SG_OK;
    o->stopped = access(part, F_OK) == 0;
    if (o->stopped)
        status = sg_train_resumable(&o->resumable, checkpoint, cell, dataset, err);
    free(part);
    free(checkpoint);
    return status;
}

static sg_status look(struct sg_cell_outcome *outcomes, const struct sg_cell *cells, size_t count,
                      const struct sg_grid_options *o, const struct sg_run_wanted *wanted, struct sg_error *err) {
    size_t missing = 0;
    for (size_t i = 0; i < count; i++) {
        outcomes[i].path = cell_path(&cells[i], o->folder);
        struct stat info;
        outcomes[i].file = stat(outcomes[i].path, &info) == 0 ? info.st_ino : 0;
        const bool there = !o->fresh && outcomes[i].file != 0;
        missing += !there || !take_finished(&outcomes[i], &cells[i], outcomes[i].path, *wanted, o->any_version);
    }
    if (missing == 0 || o->fresh)
        return SG_OK;
    find_by_key(outcomes, cells, count, o, wanted);
    sg_status status = SG_OK;
    for (size_t i = 0; i < count && status == SG_OK; i++)
        if (outcomes[i].state == SG_CELL_WAITING)
            status = find_checkpoint(&outcomes[i], &cells[i], wanted->dataset, err);
    return status;
}

sg_status sg_grid_look(struct sg_cell_outcome *outcomes, const struct sg_cell *cells, size_t count,
                       const struct sg_grid_options *o, struct sg_error *err) {
    cJSON *dataset = NULL;
    sg_status status = count > 0 && !o->fresh ? sg_task_dataset(&dataset, &cells[0].resolved, o->data_dir, err) : SG_OK;
    const struct sg_run_wanted wanted = {.dataset = dataset, .device = o->device};
    SG_DO(status, look(outcomes, cells, count, o, &wanted, err));
    cJSON_Delete(dataset);
    return status;
}

const char *sg_grid_action(const struct sg_cell_outcome *outcome) {
    return outcome->state == SG_CELL_REUSED ? "reuse" : outcome->resumable ? "resume" : "run";
}

bool grid_same_data(const cJSON *one, const cJSON *other) {
    char first[SG_DATASET_IDENTITY], second[SG_DATASET_IDENTITY];
    return strcmp(sg_dataset_identity(first, one), sg_dataset_identity(second, other)) == 0 &&
           strcmp(sg_json_string(one, "sha256", ""), sg_json_string(other, "sha256", "")) == 0;
}

sg_status sg_grid_same_data(const struct sg_cell *cells, const struct sg_cell_outcome *outcomes, size_t count,
                            struct sg_error *err) {
    const cJSON *first = NULL;
    char one[160], other[160];
    size_t of = 0;
    for (size_t i = 0; i < count; i++) {
        const cJSON *dataset = sg_json_get(outcomes[i].run.header, "dataset");
        if (dataset && !first) {
            first = dataset;
            of = i;
        }
        if (dataset && !grid_same_data(first, dataset))
            return sg_fail(err, SG_ERR_MISMATCH,
                           "cells of different data have no means: %s, seed %" PRIu64 " (%.200s) read %s, "
                           "but %s, seed %" PRIu64 " (%.200s) read %s: run them with --fresh, or remove "
                           "the files of one",
                           cells[of].label, cells[of].seed, outcomes[of].path, sg_run_data_text(one, first),
                           cells[i].label, cells[i].seed, outcomes[i].path, sg_run_data_text(other, dataset));
    }
    return SG_OK;
}

void sg_grid_outcomes_free(struct sg_cell_outcome *outcomes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        free(outcomes[i].path);
        free(outcomes[i].message);
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

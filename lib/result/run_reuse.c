/* run_reuse.c: whether a finished series is the one that a run would write now, and the series' checksum. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "sg_debug.h"
#include "sg_file.h"
#include "sg_result.h"
#include "sg_text.h"

/* The last member of the record `run`, with 64 digits between: the SHA-256 of the file without this member. */
static const char seal_begin[] = ",\"sha256\":\"", seal_end[] = "\"}\n";
enum { BEGIN_CHARS = sizeof seal_begin - 1, DIGITS = 64, SEAL_CHARS = BEGIN_CHARS + DIGITS + 1 };

char *sg_run_seal(sg_sha256 before, const char *run, const char *end) {
    char hex[65];
    sg_sha256_add(&before, run, strlen(run));
    sg_sha256_add(&before, end, strlen(end));
    sg_sha256_end(&before, hex);
    return sg_format("%.*s%s%s%s%s", (int)strcspn(run, "\n") - 1, run, seal_begin, hex, seal_end, end);
}

bool sg_run_is_damaged(const char *text, size_t length) {
    static const char run[] = "\n{\"record\":\"run\"";
    const char *line = memmem(text, length, run, sizeof run - 1);
    const char *stop = line ? memchr(line + 1, '\n', length - (size_t)(line + 1 - text)) : NULL;
    if (!stop || stop - line < SEAL_CHARS + 2 || memcmp(stop - 1 - SEAL_CHARS, seal_begin, BEGIN_CHARS) != 0)
        return false;
    const char *seal = stop - 1 - SEAL_CHARS, *rest = stop - 1;
    char hex[65];
    sg_sha256 hash;
    sg_sha256_start(&hash);
    sg_sha256_add(&hash, text, (size_t)(seal - text));
    sg_sha256_add(&hash, rest, length - (size_t)(rest - text));
    sg_sha256_end(&hash, hex);
    return memcmp(hex, seal + BEGIN_CHARS, DIGITS) != 0;
}

const char *sg_run_other_device(const struct sg_run *run, const char *device) {
    const size_t kind = strcspn(device, ":");
    const cJSON *segment;
    cJSON_ArrayForEach(segment, sg_json_get(run->run, "segments")) {
        const char *then = sg_json_string(segment, "device", device);
        if (strcspn(then, ":") != kind || strncmp(then, device, kind) != 0)
            return then;
    }
    return NULL;
}

/* Generated data are identified by their generator, because hashing them would require generating them. The generator's
 * revision is part of the program's identity, and how much was asked for is part of the cell's key. */
char *sg_dataset_identity(char out[SG_DATASET_IDENTITY], const cJSON *dataset) {
    const char *source = sg_json_string(dataset, "source", "");
    snprintf(out, SG_DATASET_IDENTITY, "%.15s %.64s", source,
             sg_json_string(dataset, strcmp(source, "generated") == 0 ? "generator" : "sha256", ""));
    return out;
}

char *sg_run_data_text(char out[160], const cJSON *dataset) {
    const char *sha256 = sg_json_string(dataset, "sha256", "");
    const bool generated = strcmp(sg_json_string(dataset, "source", ""), "generated") == 0;
    snprintf(out, 160, "%.63s%s%s%.12s", sg_json_string(dataset, generated ? "generator" : "name", "?"),
             generated ? ", generated" : "", generated && !*sha256 ? "" : ", SHA-256 ",
             generated || *sha256 ? sha256 : "unknown");
    return out;
}

static sg_status unlike_at(struct sg_run_unlike *unlike, enum sg_run_part part, const char *has, sg_status status) {
    unlike->part = part;
    snprintf(unlike->has, sizeof unlike->has, "%s", has);
    return status;
}

/* Finds the first part that differs from the wanted one. */
static sg_status compare(struct sg_run_unlike *unlike, const struct sg_run *run, const char *path,
                         const struct sg_run_wanted *w, struct sg_error *err) {
    char then[SG_DATASET_IDENTITY], now[SG_DATASET_IDENTITY], had[160], has[160];
    const char *end = sg_json_string(run->end, "status", "");
    const char *program = sg_json_string(run->header, "program.identity", "unknown");
    const cJSON *dataset = sg_json_get(run->header, "dataset");
    const char *device = w->device ? sg_run_other_device(run, w->device) : NULL;
    sg_run_data_text(had, dataset);
    if (run->damaged)
        return unlike_at(unlike, SG_RUN_BYTES, path,
                         sg_fail(err, SG_ERR_FORMAT, "%s is damaged: its bytes do not have the checksum in it", path));
    if (strcmp(end, "ok") != 0 && strcmp(end, "diverged") != 0)
        return unlike_at(unlike, SG_RUN_BYTES, path, sg_fail(err, SG_ERR_FORMAT, "%s is not a finished series", path));
    if (strcmp(sg_json_string(run->header, "cell_key", ""), w->cell_key) != 0)
        return unlike_at(unlike, SG_RUN_RECIPE, "",
                         sg_fail(err, SG_ERR_MISMATCH, "%s is the series of another recipe, method or seed", path));
    if (w->identity && strcmp(program, w->identity) != 0)
        return unlike_at(unlike, SG_RUN_PROGRAM, program,
                         sg_fail(err, SG_ERR_MISMATCH, "%s was written by another build (%s, this is %s)", path,
                                 program, w->identity));
    if (w->dataset && strcmp(sg_dataset_identity(now, w->dataset), sg_dataset_identity(then, dataset)) != 0)
        return unlike_at(unlike, SG_RUN_DATA, had,
                         sg_fail(err, SG_ERR_MISMATCH, "%s was made from other data (%s; now it would read %s)", path,
                                 had, sg_run_data_text(has, w->dataset)));
    if (device)
        return unlike_at(unlike, SG_RUN_DEVICE, device,
                         sg_fail(err, SG_ERR_MISMATCH, "%s ran on %s and not on %s", path, device, w->device));
    return SG_OK;
}

sg_status sg_run_read_finished(struct sg_run *out, const char *path, const struct sg_run_wanted *wanted,
                               struct sg_run_unlike *unlike, struct sg_error *err) {
    SG_ASSERT(wanted->cell_key);
    struct sg_run_unlike unused;
    struct sg_run run;
    unlike = unlike ? unlike : &unused;
    *unlike = (struct sg_run_unlike){.part = SG_RUN_WHOLE};
    sg_status status = sg_run_read(&run, path, err);
    if (status != SG_OK)
        return status == SG_ERR_FORMAT ? unlike_at(unlike, SG_RUN_BYTES, path, status) : status;
    status = compare(unlike, &run, path, wanted, err);
    if (status == SG_OK)
        *out = run;
    else
        sg_run_free(&run);
    return status;
}

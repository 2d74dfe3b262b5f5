/* recording.c: writes and reads the inputs of a run's compressors, or its gradients. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sg_debug.h"
#include "sg_file.h"
#include "sg_memory.h"
#include "sg_recording.h"
#include "sg_result.h"
#include "sg_text.h"

enum { HEADER_BYTES = 1 << 24 }; /* a longer first line is no header */
enum { HASH_DIGITS = 64 };       /* of the SHA-256 of all before it, at the end of the file */
static const uint64_t MOST_BYTES = (uint64_t)1 << 62;

static uint64_t worker_bytes(const struct sg_recording *r) {
    return sizeof(uint64_t) + r->d * sizeof(float);
}

static uint64_t record_bytes(const struct sg_recording *r) {
    return sizeof(double) + r->workers * worker_bytes(r);
}

/* A whole number in [1, 2^53]; 0 = it is not. */
static uint64_t whole(const cJSON *number) {
    const double x = cJSON_IsNumber(number) ? number->valuedouble : 0;
    return x >= 1 && x <= 9007199254740992.0 && x == floor(x) ? (uint64_t)x : 0;
}

/* Reads rows and names of the layers, which recordings of gradients have. */
static sg_status take_layers(struct sg_recording *r, struct sg_error *err) {
    const cJSON *rows = sg_json_get(r->header, "rows"), *names = sg_json_get(r->header, "names"), *one;
    bool right = true;
    size_t l = 0;
    r->rows = rows ? sg_calloc(r->n_layers + 1, sizeof *r->rows) : NULL;
    r->name = names ? sg_calloc(r->n_layers + 1, sizeof *r->name) : NULL;
    right = (!rows || (cJSON_IsArray(rows) && (size_t)cJSON_GetArraySize(rows) == r->n_layers)) &&
            (!names || (cJSON_IsArray(names) && (size_t)cJSON_GetArraySize(names) == r->n_layers));
    for (one = right && rows ? rows->child : NULL; one; one = one->next, l++) {
        r->rows[l] = whole(one);
        right &= r->rows[l] > 0 && (r->offset[l + 1] - r->offset[l]) % r->rows[l] == 0;
    }
    l = 0;
    for (one = right && names ? names->child : NULL; one; one = one->next)
        right &= (r->name[l++] = cJSON_GetStringValue(one)) != NULL;
    return right ? SG_OK : sg_fail(err, SG_ERR_FORMAT, "%s: its header makes no sense", r->path);
}

/* Reads the shape from the header. Its limits keep sizes below 2^62 bytes, so they do not overflow. */
static sg_status take_shape(struct sg_recording *r, struct sg_error *err) {
    const char *schema = sg_json_string(r->header, "schema", "");
    r->gradients = strncmp(schema, SG_SCHEMA_GRADIENTS, strcspn(SG_SCHEMA_GRADIENTS, "/")) == 0;
    sg_status status = sg_schema_check(schema, r->gradients ? SG_SCHEMA_GRADIENTS : SG_SCHEMA_INPUTS, r->path, err);
    const cJSON *layers = sg_json_get(r->header, "layers"), *layer;
    if (status != SG_OK)
        return status;
    r->steps = whole(sg_json_get(r->header, "steps"));
    r->workers = whole(sg_json_get(r->header, "workers"));
    r->steps_per_epoch = whole(sg_json_get(r->header, "steps_per_epoch"));
    r->offset = sg_calloc((size_t)cJSON_GetArraySize(layers) + 1, sizeof *r->offset);
    bool right = cJSON_IsArray(layers) && cJSON_IsObject(sg_json_get(r->header, "constants")) && r->steps &&
                 r->workers && r->steps_per_epoch;
    cJSON_ArrayForEach(layer, layers) {
        const uint64_t elements = whole(layer);
        right &= elements > 0 && elements <= UINT32_MAX;
        r->offset[r->n_layers + 1] = r->offset[r->n_layers] + elements;
        r->n_layers++;
    }
    r->d = r->offset[r->n_layers];
    right = right && r->d > 0 && r->d <= UINT32_MAX && r->workers <= UINT32_MAX &&
            r->workers <= MOST_BYTES / worker_bytes(r) && r->steps <= MOST_BYTES / record_bytes(r);
    SG_ASSERT(sg_are_offsets(r->offset, r->n_layers) || !right);
    return right ? take_layers(r, err) : sg_fail(err, SG_ERR_FORMAT, "%s: its header makes no sense", r->path);
}

static void put(struct sg_recording *r, const void *data, size_t bytes) {
    SG_ASSERT(r->file);
    fwrite(data, 1, bytes, r->file);
    sg_sha256_add(&r->hash, data, bytes);
}

static const char remedy[] = "start again with --force instead of --resume, or go on without recording it";

static sg_status lacks(const struct sg_recording *r, uint64_t step, struct sg_error *err) {
    return sg_fail(err, SG_ERR_MISMATCH,
                   "%s does not hold the %llu steps before the checkpoint, and a recording has all steps: %s", r->part,
                   (unsigned long long)step, remedy);
}

/* Hashes the file up to the offset at which it will be cut, so that hashing can continue from there. */
static sg_status check_begin(struct sg_recording *r, off_t at, const char *sha256, struct sg_error *err) {
    enum { CHUNK_BYTES = 1 << 16 };
    char hex[65], *chunk = sg_malloc(CHUNK_BYTES);
    rewind(r->file);
    sg_sha256_start(&r->hash);
    for (size_t got = 1; at > 0 && got > 0; at -= (off_t)got) {
        got = fread(chunk, 1, at < CHUNK_BYTES ? (size_t)at : CHUNK_BYTES, r->file);
        sg_sha256_add(&r->hash, chunk, got);
    }
    free(chunk);
    sg_recording_hash(r, hex);
    return at == 0 && strcmp(hex, sha256) == 0
               ? SG_OK
               : sg_fail(err, SG_ERR_MISMATCH, "%s was changed since the checkpoint or is damaged: %s", r->part,
                         remedy);
}

/* Cuts an earlier part, whose header must be the same, back to `step`. */
static sg_status go_on(struct sg_recording *r, const char *header, uint64_t step, const char *sha256,
                       struct sg_error *err) {
    SG_ASSERT(step > 0 && sha256);
    const size_t length = strlen(header);
    char *theirs = sg_malloc(length);
    const off_t at = (off_t)length + (off_t)(step * record_bytes(r));
    const bool same = fread(theirs, 1, length, r->file) == length && memcmp(theirs, header, length) == 0;
    free(theirs);
    if (!same || *sha256 == '\0' || fseeko(r->file, 0, SEEK_END) != 0 || ftello(r->file) < at)
        return lacks(r, step, err);
    sg_status status = check_begin(r, at, sha256, err);
    if (status == SG_OK && !sg_file_is_still(r->file, r->part) && rename(r->path, r->part) != 0)
        status = sg_fail_errno(err, SG_ERR_IO, "cannot write %s", r->part);
    if (status == SG_OK && (ftruncate(fileno(r->file), at) != 0 || fseeko(r->file, at, SEEK_SET) != 0))
        status = sg_fail_errno(err, SG_ERR_IO, "cannot cut %s back to the checkpoint", r->part);
    return status;
}

/* Opens PATH.part. If a run was killed after renaming its recording and before writing its result, this is PATH. */
static sg_status open_part(struct sg_recording *r, uint64_t step, struct sg_error *err) {
    sg_status status = sg_file_hold(&r->file, r->part, step == 0, err);
    if (status == SG_ERR_MISSING)
        status = sg_file_hold(&r->file, r->path, false, err);
    if (status == SG_ERR_MISSING)
        status = lacks(r, step, err);
    if (status == SG_OK && step == 0 && ftruncate(fileno(r->file), 0) != 0)
        status = sg_fail_errno(err, SG_ERR_IO, "cannot write %s", r->part);
    return status;
}

sg_status sg_recording_begin(struct sg_recording *out, const char *path, cJSON *take_header, uint64_t step,
                             const char *sha256, struct sg_error *err) {
    struct sg_recording r = {.path = sg_strdup(path), .part = sg_format("%s.part", path)};
    char *text = sg_json_text(take_header, false);
    cJSON_Delete(take_header);
    sg_sha256_start(&r.hash);
    /* parse the text that was written, as a reader will */
    sg_status status = sg_json_parse(&r.header, text, strlen(text), path, err);
    SG_DO(status, take_shape(&r, err));
    SG_DO(status, open_part(&r, step, err));
    if (status == SG_OK && step)
        status = go_on(&r, text, step, sha256, err);
    else if (status == SG_OK)
        put(&r, text, strlen(text));
    free(text);
    if (status == SG_OK)
        *out = r;
    else
        sg_recording_free(&r);
    return status;
}

void sg_recording_hash(const struct sg_recording *r, char hex[65]) {
    sg_sha256 copy = r->hash;
    sg_sha256_end(&copy, hex);
}

void sg_recording_put_step(struct sg_recording *r, double gamma) {
    put(r, &gamma, sizeof gamma);
}

sg_status sg_recording_put_worker(struct sg_recording *r, uint64_t sent, const float *a, struct sg_error *err) {
    SG_ASSERT(sent <= r->d);
    put(r, &sent, sizeof sent);
    put(r, a, r->d * sizeof *a);
    return ferror(r->file) ? sg_fail_errno(err, SG_ERR_IO, "cannot write %s", r->part) : SG_OK;
}

sg_status sg_recording_sync(struct sg_recording *r, struct sg_error *err) {
    return fflush(r->file) == 0 && !ferror(r->file) && fsync(fileno(r->file)) == 0
               ? SG_OK
               : sg_fail_errno(err, SG_ERR_IO, "cannot write %s", r->part);
}

sg_status sg_recording_end(struct sg_recording *r, struct sg_error *err) {
    SG_ASSERT(r->file && r->part);
    char hex[65];
    sg_recording_hash(r, hex);
    fwrite(hex, 1, HASH_DIGITS, r->file); /* a failed write shows in the next line */
    return sg_file_publish(r->file, r->part, r->path, err);
}

static sg_status read_header(struct sg_recording *r, struct sg_error *err) {
    char *line = sg_malloc(HEADER_BYTES);
    sg_status status = SG_OK;
    if (!fgets(line, HEADER_BYTES, r->file) || !strchr(line, '\n') || strncmp(line, "{\"schema\"", 9) != 0)
        status = sg_fail(err, SG_ERR_FORMAT,
                         "%s is not a recording of a run (sparsetrain --record-inputs or --record-gradients)", r->path);
    SG_DO(status, sg_json_parse(&r->header, line, strlen(line), r->path, err));
    free(line);
    return status == SG_OK ? take_shape(r, err) : status;
}

/* Checks that the file has the length that its header gives, and the right checksum. */
static sg_status check_records(struct sg_recording *r, struct sg_error *err) {
    struct stat info;
    const bool sealed = !sg_ends_in(sg_json_string(r->header, "schema", ""), "/1");
    const off_t end = r->begin + (off_t)(r->steps * record_bytes(r)), wanted = end + (sealed ? HASH_DIGITS : 0);
    char hex[HASH_DIGITS + 1] = "";
    if (fstat(fileno(r->file), &info) != 0)
        return sg_fail_errno(err, SG_ERR_IO, "cannot read %s", r->path);
    if (info.st_size != wanted)
        return sg_fail(err, SG_ERR_FORMAT, "%s: %lld bytes where %llu steps make %lld: it is damaged", r->path,
                       (long long)info.st_size, (unsigned long long)r->steps, (long long)wanted);
    if (!sealed)
        return SG_OK;
    sg_status status = sg_file_read_at(fileno(r->file), hex, HASH_DIGITS, end, r->path, err);
    if (status == SG_OK && (status = check_begin(r, end, hex, err)) == SG_ERR_MISMATCH)
        return sg_fail(err, SG_ERR_FORMAT, "%s: its bytes do not have the checksum at its end: it is damaged", r->path);
    return status;
}

sg_status sg_recording_open(struct sg_recording *out, const char *path, struct sg_error *err) {
    int fd;
    sg_status status = sg_file_open(&fd, path, err);
    if (status == SG_ERR_ARGUMENT)
        return sg_fail(err, status, "%s is not a plain file: a recording is read twice", path);
    if (status != SG_OK)
        return status;
    struct sg_recording r = {.path = sg_strdup(path), .file = fdopen(fd, "rb")};
    if (!r.file) {
        status = sg_fail_errno(err, SG_ERR_IO, "cannot read %s", path);
        close(fd);
    }
    SG_DO(status, read_header(&r, err));
    r.begin = status == SG_OK ? ftell(r.file) : 0;
    SG_DO(status, check_records(&r, err));
    if (status != SG_OK) {
        sg_recording_free(&r);
        return status;
    }
    *out = r;
    return SG_OK;
}

sg_status sg_recording_read(const struct sg_recording *r, uint64_t step, size_t worker, float *a,
                            struct sg_error *err) {
    SG_ASSERT(step < r->steps && worker < r->workers);
    const off_t at = (off_t)r->begin +
                     (off_t)(step * record_bytes(r) + sizeof(double) + worker * worker_bytes(r) + sizeof(uint64_t));
    return sg_file_read_at(fileno(r->file), a, r->d * sizeof *a, at, r->path, err);
}

sg_status sg_recording_step(const struct sg_recording *r, uint64_t step, double *gamma, uint64_t *sent, float *a,
                            struct sg_error *err) {
    const int fd = fileno(r->file);
    off_t at = (off_t)r->begin + (off_t)(step * record_bytes(r));
    sg_status status = sg_file_read_at(fd, gamma, sizeof *gamma, at, r->path, err);
    bool sound = status == SG_OK && isfinite(*gamma);
    at += (off_t)sizeof *gamma;
    for (size_t w = 0; w < r->workers && status == SG_OK; w++, at += (off_t)worker_bytes(r)) {
        status = sg_file_read_at(fd, &sent[w], sizeof *sent, at, r->path, err);
        SG_DO(status, sg_recording_read(r, step, w, a + w * r->d, err));
        sound = sound && status == SG_OK && sent[w] <= r->d;
        for (size_t j = 0; j < r->d && sound; j++)
            sound = isfinite(a[w * r->d + j]);
    }
    if (status == SG_OK && !sound)
        status = sg_fail(err, SG_ERR_NONFINITE, "%s: step %llu holds numbers that no run records: it is damaged",
                         r->path, (unsigned long long)step);
    return status;
}

void sg_recording_free(struct sg_recording *r) {
    if (r->file)
        fclose(r->file);
    cJSON_Delete(r->header);
    free(r->offset);
    free(r->rows);
    free(r->name);
    free(r->path);
    free(r->part);
    *r = (struct sg_recording){0};
}

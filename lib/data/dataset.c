/* dataset.c: finds labelled matrices, verifies them, keeps them as binary caches, or generates them. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "checksum.h"
#include "dataset_find.h"
#include "dataset_descriptor.h"
#include "sg_dataset.h"
#include "sg_debug.h"
#include "sg_matrix.h"

/* Part of a cache's key; raised when the reader makes something else of a text. */
enum { READER_REVISION = 1 };

/* Where the matrix of a data file is kept. */
static sg_status file_cache(struct sg_cache *out, const struct sg_provenance *from, const char *path, size_t features,
                            const char *data_dir, struct sg_error *err) {
    struct stat st;
    char what[64];
    if (stat(path, &st) != 0)
        return sg_fail_errno(err, SG_ERR_IO, "%s", path);
    snprintf(what, sizeof what, "text %d, %zu features", READER_REVISION, features);
    return dataset_file_cache(out, data_dir, from->name, what, path, &st, err);
}

/* Keeps a fresh matrix and replaces it by the mapped copy, which other processes share. If there is no cache, the matrix
 * stays as it is. */
static void remember(struct sg_matrix *a, const struct sg_cache *cache, const char *sha256) {
    struct sg_error unused;
    struct sg_matrix mapped;
    char again[65];
    if (sg_matrix_keep(a, cache, sha256) && sg_matrix_map(&mapped, cache, again, &unused) == SG_OK) {
        sg_matrix_free(a);
        *a = mapped;
    }
}

/* Maps the cache; a damaged one is told of and counts as absent, so that it is made again. */
static bool recall(struct sg_matrix *out, const struct sg_cache *cache, char sha256[65],
                   const struct sg_dataset_request *request) {
    struct sg_error trouble;
    const bool good = sg_matrix_map(out, cache, sha256, &trouble) == SG_OK;
    if (!good)
        sg_cache_tell(&trouble, request->notice);
    return good;
}

static sg_status load_file(struct sg_matrix *out, struct sg_provenance *from, const char *path,
                           const struct descriptor *descriptor, const struct sg_dataset_request *request,
                           struct sg_error *err) {
    const char *set = from->name;
    struct sg_matrix a = {0};
    struct sg_cache cache = {0};
    sg_status status = file_cache(&cache, from, path, descriptor->features, request->data_dir, err);
    if (status)
        return status;
    bool cached = recall(&a, &cache, from->sha256, request);
    if (!cached)
        status = sg_libsvm_read(&a, path, descriptor->features, from->sha256, err);
    if (status == SG_OK)
        status =
            dataset_verify(&from->verified, path, set, descriptor, descriptor->file[0].name, from->sha256, true, err);
    if (status == SG_OK) {
        if (!cached)
            remember(&a, &cache, from->sha256);
        from->path = strdup(path);
        if (!from->path)
            status = sg_fail_memory(err, path);
    }
    if (status == SG_OK) {
        snprintf(from->source, sizeof from->source, "file");
        *out = a;
    } else {
        sg_matrix_free(&a);
    }
    sg_cache_close(&cache);
    return status;
}

static sg_status load_generated(struct sg_matrix *out, struct sg_provenance *from,
                                const struct sg_dataset_request *request, struct sg_error *err) {
    const char *generator = request->stand_in;
    const uint64_t seed = request->seed;
    struct sg_matrix a = {0};
    struct sg_cache cache = {0};
    char question[128], sha256[65];
    snprintf(question, sizeof question, "generated %d\n%.64s\n%" PRIu64 "\n", SG_GENERATOR_REVISION, generator, seed);
    sg_status status = sg_cache_open(&cache, request->data_dir, generator, NULL, question, err);
    if (status == SG_OK && !recall(&a, &cache, sha256, request)) {
        status = sg_generate(&a, generator, seed, err);
        if (status == SG_OK && (status = sg_matrix_sha256(&a, sha256, err)) == SG_OK)
            remember(&a, &cache, sha256);
    }
    if (status == SG_OK) {
        dataset_generated_identify(from, generator);
        memcpy(from->sha256, sha256, sizeof from->sha256);
        *out = a;
    } else {
        sg_matrix_free(&a);
    }
    sg_cache_close(&cache);
    return status;
}

/* Finds what to read and its description. *path = NULL: it is not here. */
static sg_status locate(char **path, struct descriptor *descriptor, const struct sg_dataset_request *request,
                        struct sg_error *err) {
    if (strchr(request->name, '/')) {
        *path = strdup(request->name);
        return *path ? SG_OK : sg_fail_memory(err, request->name);
    }
    sg_status status = descriptor_find(descriptor, request->name, err);
    if (status)
        return status;
    if (descriptor->format[0] && strcmp(descriptor->format, "libsvm") != 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "data set '%s' has format %s, not libsvm: it is for another kind of task",
                       request->name, descriptor->format);
    return dataset_find_file(path, request, descriptor->file[0].name, err);
}

/* The generator whose data resemble the set; NULL = there is none. */
static const char *stand_in_of(const char *set) {
    return strncmp(set, "gisette", 7) == 0 ? "gisette-like" : strcmp(set, "two-clouds") == 0 ? set : NULL;
}

static sg_status fail_missing(const struct sg_dataset_request *request, const struct descriptor *descriptor,
                              struct sg_error *err) {
    const struct dataset_remedies remedies = {.stand_in = stand_in_of(request->name), .path = true};
    return dataset_fail_missing(request, descriptor->file[0].name, &remedies, err);
}

/* What both callers below begin with: the set's name, what to read, and its description. */
static sg_status begin(struct sg_provenance *found, char **path, struct descriptor *descriptor,
                       const struct sg_dataset_request *request, struct sg_error *err) {
    const char *slash = strrchr(request->name, '/');
    snprintf(found->name, sizeof found->name, "%.63s", slash ? slash + 1 : request->name);
    sg_status status = request->stand_in ? sg_generator_check(request->stand_in, err) : SG_OK;
    return status == SG_OK ? locate(path, descriptor, request, err) : status;
}

sg_status sg_dataset_load(struct sg_matrix *out, struct sg_provenance *from, const struct sg_dataset_request *request,
                          struct sg_error *err) {
    struct descriptor descriptor = {0};
    struct sg_provenance found = {0};
    char *path = NULL;
    sg_status status = begin(&found, &path, &descriptor, request, err);
    if (status == SG_OK && path)
        status = load_file(out, &found, path, &descriptor, request, err);
    else if (status == SG_OK && request->stand_in)
        status = load_generated(out, &found, request, err);
    else if (status == SG_OK)
        status = fail_missing(request, &descriptor, err);
    if (status == SG_OK)
        *from = found;
    SG_TRACE(1, "data set %s from %s: status %d", request->name, path ? path : "no file", (int)status);
    free(path);
    return status;
}

sg_status sg_dataset_identify(struct sg_provenance *from, const struct sg_dataset_request *request,
                              struct sg_error *err) {
    struct descriptor descriptor = {0};
    struct sg_provenance found = {0};
    char *path = NULL;
    sg_status status = begin(&found, &path, &descriptor, request, err);
    if (status == SG_OK && path)
        status = dataset_file_identify(&found, path, found.name, &descriptor, descriptor.file[0].name, true,
                                       request->data_dir, err);
    else if (status == SG_OK && request->stand_in)
        dataset_generated_identify(&found, request->stand_in);
    else if (status == SG_OK)
        status = fail_missing(request, &descriptor, err);
    if (status == SG_OK)
        *from = found;
    free(path);
    return status;
}

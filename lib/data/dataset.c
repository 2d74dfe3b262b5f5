/* dataset.c: finds labelled matrices, verifies them, keeps them as binary caches, or generates them. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "checksum.h"
#include "dataset_walk.h"
#include "matrix_layout.h"
#include "sg_dataset.h"
#include "sg_matrix.h"
#include "sg_memory.h"
#include "sg_text.h"

/* Part of a cache's key; raised when the reader makes another matrix of the same text. */
enum { READER_REVISION = 1 };

/* A set while it is loaded. */
struct rows_loading {
    struct dataset set;
    struct sg_cache cache;
    bool cached;  /* `out` is what the cache holds */
    bool unended; /* the last row of the text has no newline */
    struct sg_matrix out;
};

/* Where the matrix of a data file is kept. */
static sg_status open_file_cache(struct rows_loading *l, const char *path, struct sg_error *err) {
    struct stat st;
    char what[64];
    if (stat(path, &st) != 0)
        return sg_fail_errno(err, SG_ERR_IO, "%s", path);
    snprintf(what, sizeof what, "text %d, %zu features", READER_REVISION, l->set.descriptor.features);
    dataset_file_cache(&l->cache, l->set.request->data_dir, l->set.from.name, what, path, &st);
    return SG_OK;
}

/* Maps the cache. A damaged one is reported and counts as absent, so that it is made again. */
static bool recall(struct rows_loading *l, char sha256[65]) {
    struct sg_error trouble;
    l->cached = sg_matrix_map(&l->out, &l->cache, sha256, &trouble) == SG_OK;
    if (!l->cached)
        sg_cache_tell(&trouble, l->set.request->notice);
    return l->cached;
}

/* Keeps a fresh matrix and replaces it by the mapped copy, which other processes share. If there is no cache, the
 * matrix stays as it is. */
static void remember(struct rows_loading *l) {
    struct sg_error unused;
    struct sg_matrix mapped;
    char again[65];
    if (!l->cached && sg_matrix_keep(&l->out, &l->cache, l->set.from.sha256) &&
        sg_matrix_map(&mapped, &l->cache, again, &unused) == SG_OK) {
        sg_matrix_free(&l->out);
        l->out = mapped;
    }
}

static void tell_of_labels(const struct rows_loading *l) {
    size_t row = 1;
    while (row < l->out.m && l->out.label[row] == l->out.label[0])
        row++;
    if (row >= l->out.m)
        sg_notify(l->set.request->notice, "all rows of '%s' have one label: there is nothing to tell apart",
                  l->set.request->name);
}

static sg_status read_file(struct dataset *d, struct dataset_part *part, struct sg_error *err) {
    struct rows_loading *l = (struct rows_loading *)d;
    sg_status status = open_file_cache(l, part->path, err);
    if (status != SG_OK || recall(l, part->sha256))
        return status;
    const size_t features = d->descriptor.features;
    struct data_text *text = &part->text;
    status = dataset_part_open(part, err); /* computes the checksum first, because parsing releases the text */
    l->unended = status == SG_OK && text->at && text->at[text->length - 1] != '\n';
    if (l->unended)
        sg_notify(d->request->notice,
                  "%s: the last row does not end in a newline: if the file was cut, the last number is wrong",
                  part->path);
    if (status == SG_OK && text->at)
        status = sg_libsvm_consume(&l->out, text->at, text->length, features, part->path, err);
    else if (status == SG_OK)
        status = sg_libsvm_parse(&l->out, "", 0, features, part->path, err);
    data_text_free(text);
    return status;
}

static sg_status keep_rows(struct dataset *d, struct sg_error *err) {
    struct rows_loading *l = (struct rows_loading *)d;
    (void)err;
    if (!l->unended) /* every run warns of it */
        remember(l);
    return SG_OK;
}

static sg_status generate(struct dataset *d, struct sg_error *err) {
    struct rows_loading *l = (struct rows_loading *)d;
    const char *generator = d->request->stand_in;
    char question[128];
    snprintf(question, sizeof question, "generated %d\n%.64s\n%" PRIu64 "\n", SG_GENERATOR_REVISION, generator,
             d->request->seed);
    sg_cache_open(&l->cache, d->request->data_dir, generator, NULL, question);
    sg_status status = SG_OK;
    if (!recall(l, d->from.sha256)) {
        status = sg_generate(&l->out, generator, d->request->seed, err);
        if (status == SG_OK) {
            sg_matrix_sha256(&l->out, d->from.sha256);
            remember(l);
        }
    }
    return status;
}

static const struct dataset_kind rows_kind = {.what = "rows",
                                              .format = "libsvm",
                                              .strict = true,
                                              .by_path = "a LIBSVM file with a '/' in it, as ./own.libsvm",
                                              .read = read_file,
                                              .finish = keep_rows,
                                              .generate = generate};

/* The generator whose data resemble the set; NULL = there is none. */
static const char *stand_in_of(const char *set) {
    return strncmp(set, "gisette", 7) == 0 ? "gisette-like" : strcmp(set, "two-clouds") == 0 ? set : NULL;
}

static sg_status begin(struct rows_loading *l, const struct sg_dataset_request *request, struct sg_error *err) {
    struct dataset *d = &l->set;
    *l = (struct rows_loading){.set.parts = 1};
    sg_status status = request->stand_in ? sg_generator_check(request->stand_in, err) : SG_OK;
    SG_DO(status, dataset_open(d, &rows_kind, request, err));
    d->stand_in = stand_in_of(request->name);
    memcpy(d->part[0].file, d->descriptor.file[0].name, sizeof d->part[0].file);
    if (status == SG_OK && strchr(request->name, '/'))
        d->part[0].path = sg_strdup(request->name);
    return status;
}

sg_status sg_dataset_load(struct sg_matrix *out, struct sg_provenance *from, const struct sg_dataset_request *request,
                          struct sg_error *err) {
    struct rows_loading l;
    sg_status status = begin(&l, request, err);
    SG_DO(status, dataset_load(&l.set, from, err));
    if (status == SG_OK) {
        tell_of_labels(&l);
        *out = l.out;
    } else
        sg_matrix_free(&l.out);
    sg_cache_close(&l.cache);
    return status;
}

sg_status sg_dataset_identify(struct sg_provenance *from, const struct sg_dataset_request *request,
                              struct sg_error *err) {
    struct rows_loading l;
    sg_status status = begin(&l, request, err);
    return status == SG_OK ? dataset_identify(&l.set, from, err) : status;
}

/* dataset_walk.c: finds a data set of any kind by its name, and loads its files or generates its stand-in. */
/* SPDX-License-Identifier: MIT */
#include "dataset_walk.h"

#include <stdio.h>
#include <string.h>

#include "checksum.h"
#include "sg_debug.h"
#include "sg_file.h"
#include "sg_memory.h"

sg_status dataset_open(struct dataset *d, const struct dataset_kind *kind, const struct sg_dataset_request *request,
                       struct sg_error *err) {
    const char *slash = strrchr(request->name, '/');
    d->kind = kind;
    d->request = request;
    d->stand_in = kind->stand_in;
    snprintf(d->from.name, sizeof d->from.name, "%.63s", slash ? slash + 1 : request->name);
    if (kind->stand_in && request->stand_in && strcmp(request->stand_in, kind->stand_in) != 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "unknown stand-in '%s' for %s: there is %s", request->stand_in, kind->what,
                       kind->stand_in);
    if (kind->by_path && slash)
        return SG_OK;
    sg_status status = descriptor_find(&d->descriptor, request->name, err);
    if (status == SG_OK && kind->format && d->descriptor.format[0] && strcmp(d->descriptor.format, kind->format) != 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "data set '%s' has format %s, not %s: it is for another kind of task",
                       request->name, d->descriptor.format, kind->format);
    return status;
}

/* Either all files are found, or none is and there is a stand-in. */
static sg_status find_parts(struct dataset *d, struct sg_error *err) {
    const char *absent = NULL;
    size_t found = 0;
    SG_ASSERT(d->parts > 0);
    for (size_t i = 0; i < d->parts; i++) {
        sg_status status =
            d->part[i].path ? SG_OK : dataset_find_file(&d->part[i].path, d->request, d->part[i].file, err);
        if (status != SG_OK)
            return status;
        if (d->part[i].path)
            found++;
        else if (!absent)
            absent = d->part[i].file;
    }
    return !absent || (found == 0 && d->request->stand_in) ? SG_OK : dataset_fail_missing(d, absent, err);
}

/* Reads all files, or only finds out their checksums. */
static sg_status read_parts(struct dataset *d, bool load, struct sg_error *err) {
    sg_status status[DESCRIPTOR_FILES];
    struct sg_error trouble[DESCRIPTOR_FILES];
#pragma omp parallel for schedule(dynamic, 1) if (d->parts > 1)
    for (size_t i = 0; i < d->parts; i++) {
        struct dataset_part *part = &d->part[i];
        status[i] = load ? d->kind->read(d, part, &trouble[i])
                         : dataset_checksum(part->sha256, part->path, d->request->data_dir, &trouble[i]);
        SG_DO(status[i], dataset_verify(d, part, &trouble[i]));
    }
    for (size_t i = 0; i < d->parts; i++)
        if (status[i] != SG_OK) {
            *err = trouble[i];
            return status[i];
        }
    return SG_OK;
}

static void describe_files(struct sg_provenance *from, const struct dataset *d) {
    bool same = true, different = false;
    sg_sha256 all;
    sg_sha256_start(&all);
    for (size_t i = 0; i < d->parts; i++) {
        char line[256];
        int length = snprintf(line, sizeof line, "%s  %s\n", d->part[i].sha256, d->part[i].file);
        sg_sha256_add(&all, line, (size_t)length);
        same &= d->part[i].verified == SG_VERIFIED_SAME;
        different |= d->part[i].verified == SG_VERIFIED_DIFFERENT;
    }
    sg_sha256_end(&all, from->sha256);
    if (d->parts == 1)
        memcpy(from->sha256, d->part[0].sha256, sizeof from->sha256);
    from->verified = different ? SG_VERIFIED_DIFFERENT : same ? SG_VERIFIED_SAME : SG_VERIFIED_NOT;
    snprintf(from->source, sizeof from->source, "file");
    from->path = sg_strdup(d->part[0].path);
}

static sg_status walk(struct dataset *d, struct sg_provenance *from, bool load, struct sg_error *err) {
    sg_status status = find_parts(d, err);
    const bool files = status == SG_OK && d->part[0].path;
    if (files) {
        status = read_parts(d, load, err);
        if (status == SG_OK)
            describe_files(&d->from, d);
    } else if (status == SG_OK) {
        snprintf(d->from.source, sizeof d->from.source, "generated");
        snprintf(d->from.generator, sizeof d->from.generator, "%.63s", d->request->stand_in);
    }
    if (load)
        SG_DO(status, (files ? d->kind->finish : d->kind->generate)(d, err));
    SG_TRACE(1, "data set %s from %s: status %d", d->request->name, files ? d->part[0].path : "no file", (int)status);
    if (status == SG_OK)
        *from = d->from;
    else
        sg_provenance_free(&d->from);
    for (size_t i = 0; i < d->parts; i++) {
        free(d->part[i].path);
        data_text_free(&d->part[i].text);
    }
    return status;
}

sg_status dataset_load(struct dataset *d, struct sg_provenance *from, struct sg_error *err) {
    return walk(d, from, true, err);
}

sg_status dataset_identify(struct dataset *d, struct sg_provenance *from, struct sg_error *err) {
    return walk(d, from, false, err);
}

sg_status dataset_part_open(struct dataset_part *part, struct sg_error *err) {
    sg_status status = data_text_open(&part->text, part->path, err);
    if (status == SG_OK)
        sg_sha256_of(part->text.at ? part->text.at : "", part->text.length, part->sha256);
    return status;
}

bool dataset_is_like(const char *set, const char *known) {
    const size_t length = strlen(known);
    return strncmp(set, known, length) == 0 && (set[length] == '\0' || set[length] == '-');
}

size_t dataset_at_most(size_t count, size_t most) {
    return most && most < count ? most : count;
}

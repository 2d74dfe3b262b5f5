/* dataset_parts.c: finds and verifies data sets that consist of several files. */
#include "dataset_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checksum.h"
#include "sg_debug.h"
#include "sg_file.h"

sg_status dataset_parts_find(struct dataset_part *part, size_t n, const struct sg_dataset_request *request,
                             const char *stand_in, struct sg_error *err) {
    const char *absent = NULL;
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        sg_status status = dataset_find_file(&part[i].path, request, part[i].file, err);
        if (status)
            return status;
        if (part[i].path)
            found++;
        else if (!absent)
            absent = part[i].file;
    }
    if (!absent || (found == 0 && request->stand_in))
        return SG_OK;
    return dataset_fail_missing(request, absent, &(struct dataset_remedies){.stand_in = stand_in}, err);
}

sg_status dataset_part_verify(struct dataset_part *part, const char *set, const struct descriptor *descriptor,
                              struct sg_error *err) {
    sg_sha256_of(part->text.at, part->text.length, part->sha256);
    return dataset_verify(&part->verified, part->path, set, descriptor, part->file, part->sha256, false, err);
}

sg_status dataset_parts_describe(struct sg_provenance *from, const struct dataset_part *part, size_t n,
                                 struct sg_error *err) {
    SG_ASSERT(n > 0 && part[0].path != NULL);
    bool same = true, different = false;
    sg_sha256 all;
    sg_sha256_start(&all);
    for (size_t i = 0; i < n; i++) {
        char line[256];
        int length = snprintf(line, sizeof line, "%s  %s\n", part[i].sha256, part[i].file);
        sg_sha256_add(&all, line, (size_t)length);
        same &= part[i].verified == SG_VERIFIED_SAME;
        different |= part[i].verified == SG_VERIFIED_DIFFERENT;
    }
    sg_sha256_end(&all, from->sha256);
    from->verified = different ? SG_VERIFIED_DIFFERENT : same ? SG_VERIFIED_SAME : SG_VERIFIED_NOT;
    snprintf(from->source, sizeof from->source, "file");
    from->path = strdup(part[0].path);
    return from->path ? SG_OK : sg_fail_memory(err, part[0].path);
}

static sg_status identify_files(struct sg_provenance *from, struct dataset_part *part, size_t n,
                                const struct sg_dataset_request *request, struct sg_error *err) {
    struct descriptor descriptor;
    sg_status status = descriptor_find(&descriptor, request->name, err);
    for (size_t i = 0; i < n && status == SG_OK; i++) {
        status = dataset_checksum(part[i].sha256, part[i].path, request->data_dir, err);
        SG_DO(status, dataset_verify(&part[i].verified, part[i].path, request->name, &descriptor, part[i].file,
                                     part[i].sha256, false, err));
    }
    return status == SG_OK ? dataset_parts_describe(from, part, n, err) : status;
}

sg_status dataset_parts_identify(struct sg_provenance *from, struct dataset_part *part, size_t n,
                                 const struct sg_dataset_request *request, const char *stand_in, struct sg_error *err) {
    sg_status status = dataset_parts_find(part, n, request, stand_in, err);
    if (status == SG_OK && part[0].path)
        return identify_files(from, part, n, request, err);
    if (status == SG_OK)
        dataset_generated_identify(from, stand_in);
    return status;
}

void dataset_parts_free(struct dataset_part *part, size_t n) {
    for (size_t i = 0; i < n; i++) {
        free(part[i].path);
        data_text_free(&part[i].text);
    }
}

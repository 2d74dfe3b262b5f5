/* image_set.c: a set of images from its files or from the generator, with where it comes from. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cifar.h"
#include "dataset_parts.h"
#include "images_private.h"
#include "sg_file.h"
#include "sg_json.h"

static const char stand_in_name[] = "cifar-like";

static size_t file_count(const struct cifar_format *format) {
    return format->train_files + 1;
}

/* Opens and checks one file; *count receives its images. */
static sg_status read_part(struct dataset_part *p, size_t *count, const struct cifar_format *format,
                           const struct cifar_file *file, const char *set, const struct descriptor *descriptor,
                           struct sg_error *err) {
    bool whole = strcmp(set, format->name) == 0;
    sg_status status = data_text_open(&p->text, p->path, err);
    SG_DO(status, cifar_check(count, format, p->text.at, p->text.length, whole ? file->records : 0, p->path, err));
    return status == SG_OK ? dataset_part_verify(p, set, descriptor, err) : status;
}

static sg_status read_parts(struct dataset_part *part, size_t *count, const struct cifar_format *format,
                            const char *set, const struct descriptor *descriptor, struct sg_error *err) {
    sg_status status[CIFAR_FILES];
    struct sg_error trouble[CIFAR_FILES];
#pragma omp parallel for schedule(dynamic, 1)
    for (size_t i = 0; i < file_count(format); i++)
        status[i] = read_part(&part[i], &count[i], format, &format->file[i], set, descriptor, &trouble[i]);
    for (size_t i = 0; i < file_count(format); i++)
        if (status[i] != SG_OK) {
            *err = trouble[i];
            return status[i];
        }
    return SG_OK;
}

static sg_status join(struct sg_images *out, const struct dataset_part *part, const size_t *count, size_t parts,
                      const struct cifar_format *format, size_t most, struct sg_error *err) {
    struct sg_images images;
    size_t total = 0, at = 0;
    for (size_t p = 0; p < parts; p++)
        total += count[p];
    sg_status status = images_allocate(&images, total, format->classes, err);
    if (status)
        return status;
    for (size_t p = 0; p < parts; p++)
        for (size_t i = 0; i < count[p]; i++, at++)
            cifar_record(images.pixel + at * SG_IMAGE_VALUES, &images.label[at], format, part[p].text.at, i);
    if ((status = images_keep(&images, most, err)) == SG_OK)
        *out = images;
    else
        sg_images_free(&images);
    return status;
}

static sg_status load_files(struct sg_image_set *out, struct dataset_part *part, const struct cifar_format *format,
                            const struct sg_image_request *request, struct sg_error *err) {
    struct descriptor descriptor;
    const size_t tests = format->train_files;
    size_t count[CIFAR_FILES];
    sg_status status = descriptor_find(&descriptor, request->set.name, err);
    SG_DO(status, read_parts(part, count, format, request->set.name, &descriptor, err));
    SG_DO(status, join(&out->train, part, count, tests, format, request->most_train, err));
    SG_DO(status, join(&out->test, part + tests, count + tests, 1, format, request->most_test, err));
    return status == SG_OK ? dataset_parts_describe(&out->from, part, file_count(format), err) : status;
}

static void hash_images(sg_sha256 *s, const struct sg_images *images) {
    sg_sha256_add(s, images->label, images->count);
    sg_sha256_add(s, images->pixel, images->count * SG_IMAGE_VALUES);
}

static size_t at_most(size_t count, size_t most) {
    return most && most < count ? most : count;
}

static sg_status load_generated(struct sg_image_set *out, const struct cifar_format *format,
                                const struct sg_image_request *request, struct sg_error *err) {
    size_t train = 0;
    for (size_t i = 0; i < format->train_files; i++)
        train += format->file[i].records;
    sg_status status = sg_images_generate(&out->train, at_most(train, request->most_train), format->classes,
                                          request->set.seed, 0, err);
    SG_DO(status, sg_images_generate(&out->test, at_most(format->file[format->train_files].records, request->most_test),
                                     format->classes, request->set.seed, 1, err));
    if (status != SG_OK)
        return status;
    sg_sha256 all;
    sg_sha256_start(&all);
    hash_images(&all, &out->train);
    hash_images(&all, &out->test);
    sg_sha256_end(&all, out->from.sha256);
    dataset_generated_identify(&out->from, stand_in_name);
    return SG_OK;
}

/* The format of a set that is asked for, and the names of its files. */
static sg_status find_format(const struct cifar_format **out, struct dataset_part part[CIFAR_FILES],
                             const struct sg_image_request *request, struct sg_error *err) {
    const char *name = request->set.name, *stand_in = request->set.stand_in;
    const struct cifar_format *format = cifar_format_find(name);
    if (!format)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "unknown image set '%s': there are cifar-10, cifar-100 and subsets of them, named as "
                       "cifar-100-SOMETHING",
                       name);
    if (stand_in && strcmp(stand_in, stand_in_name) != 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "unknown stand-in '%s' for images: there is %s", stand_in, stand_in_name);
    for (size_t i = 0; i < file_count(format); i++)
        part[i].file = format->file[i].name;
    *out = format;
    return SG_OK;
}

sg_status sg_image_set_load(struct sg_image_set *out, const struct sg_image_request *request, struct sg_error *err) {
    const struct cifar_format *format;
    struct dataset_part part[CIFAR_FILES] = {0};
    sg_status status = find_format(&format, part, request, err);
    if (status != SG_OK)
        return status;
    struct sg_image_set set = {.scale = format->scale, .augmentation = format->augmentation};
    snprintf(set.from.name, sizeof set.from.name, "%s", request->set.name);
    status = dataset_parts_find(part, file_count(format), &request->set, stand_in_name, err);
    if (status == SG_OK)
        status =
            part[0].path ? load_files(&set, part, format, request, err) : load_generated(&set, format, request, err);
    if (status == SG_OK)
        *out = set;
    else
        sg_image_set_free(&set);
    dataset_parts_free(part, CIFAR_FILES);
    return status;
}

sg_status sg_image_set_identify(struct sg_provenance *from, const struct sg_image_request *request,
                                struct sg_error *err) {
    const struct cifar_format *format;
    struct dataset_part part[CIFAR_FILES] = {0};
    struct sg_provenance found = {0};
    sg_status status = find_format(&format, part, request, err);
    if (status != SG_OK)
        return status;
    snprintf(found.name, sizeof found.name, "%s", request->set.name);
    status = dataset_parts_identify(&found, part, file_count(format), &request->set, stand_in_name, err);
    if (status == SG_OK)
        *from = found;
    dataset_parts_free(part, CIFAR_FILES);
    return status;
}

void sg_image_set_free(struct sg_image_set *set) {
    sg_images_free(&set->train);
    sg_images_free(&set->test);
    sg_provenance_free(&set->from);
    *set = (struct sg_image_set){0};
}

cJSON *sg_image_set_json(const struct sg_image_set *set) {
    cJSON *object = sg_provenance_json(&set->from);
    sg_json_set_number(object, "classes", (double)set->train.classes);
    sg_json_set_number(object, "train_images", (double)set->train.count);
    sg_json_set_number(object, "test_images", (double)set->test.count);
    return object;
}

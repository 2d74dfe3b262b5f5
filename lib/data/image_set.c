/* image_set.c: a set of images from its files or from the generator, with where it comes from. */
/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "dataset_walk.h"
#include "images_private.h"
#include "sg_file.h"
#include "sg_json.h"

/* A set while it is loaded. */
struct image_loading {
    struct dataset set;
    const struct sg_image_request *request;
    const struct cifar_format *format;
    size_t count[CIFAR_FILES]; /* images in each file */
    struct sg_image_set out;
};

/* Opens and checks one file. */
static sg_status read_file(struct dataset *d, struct dataset_part *part, struct sg_error *err) {
    struct image_loading *l = (struct image_loading *)d;
    const size_t file = (size_t)(part - d->part);
    const bool whole = strcmp(d->request->name, l->format->name) == 0;
    sg_status status = dataset_part_open(part, err);
    SG_DO(status, cifar_check(&l->count[file], l->format, part->text.at, part->text.length,
                              whole ? l->format->file[file].records : 0, part->path, err));
    return status;
}

/* Reads files, keeps at most `most` images in *out, and holds some of the others out, into *rest. */
static sg_status join(struct sg_images *out, struct sg_images *rest, const struct image_loading *l, size_t first,
                      size_t files, size_t most, size_t held, struct sg_error *err) {
    struct sg_images images;
    size_t total = 0, at = 0;
    for (size_t p = first; p < first + files; p++)
        total += l->count[p];
    sg_status status = images_allocate(&images, total, l->format->classes, err);
    if (status)
        return status;
    for (size_t p = first; p < first + files; p++)
        for (size_t i = 0; i < l->count[p]; i++, at++)
            cifar_record(images.pixel + at * SG_IMAGE_VALUES, &images.label[at], l->format, l->set.part[p].text.at, i);
    if ((status = images_keep(&images, most, rest, held, err)) == SG_OK)
        *out = images;
    else
        sg_images_free(&images);
    return status;
}

static sg_status join_files(struct dataset *d, struct sg_error *err) {
    struct image_loading *l = (struct image_loading *)d;
    sg_status status = join(&l->out.train, &l->out.validation, l, 0, l->format->train_files, l->request->most_train,
                            l->request->validation, err);
    SG_DO(status, join(&l->out.test, NULL, l, l->format->train_files, 1, l->request->most_test, 0, err));
    return status;
}

static void hash_images(sg_sha256 *s, const struct sg_images *images) {
    sg_sha256_add(s, images->label, images->count);
    sg_sha256_add(s, images->pixel, images->count * SG_IMAGE_VALUES);
}

static sg_status generate(struct dataset *d, struct sg_error *err) {
    struct image_loading *l = (struct image_loading *)d;
    const struct cifar_format *format = l->format;
    const uint64_t seed = d->request->seed;
    size_t train = 0, test = dataset_at_most(format->file[format->train_files].records, l->request->most_test);
    for (size_t i = 0; i < format->train_files; i++)
        train += format->file[i].records;
    train = dataset_at_most(train, l->request->most_train);
    sg_status status = sg_images_generate(&l->out.train, train, format->classes, seed, 0, err);
    if (l->request->validation > 0) /* as many new ones, because the generator does not run out of them */
        SG_DO(status, sg_images_generate(&l->out.validation, l->request->validation, format->classes, seed, 2, err));
    SG_DO(status, sg_images_generate(&l->out.test, test, format->classes, seed, 1, err));
    if (status != SG_OK)
        return status;
    sg_sha256 all;
    sg_sha256_start(&all);
    hash_images(&all, &l->out.train);
    hash_images(&all, &l->out.test);
    hash_images(&all, &l->out.validation);
    sg_sha256_end(&all, d->from.sha256);
    return SG_OK;
}

static const struct dataset_kind image_kind = {
    .what = "images", .stand_in = "cifar-like", .read = read_file, .finish = join_files, .generate = generate};

/* The format of a set that is asked for, and the names of its files. */
static sg_status begin(struct image_loading *l, const struct sg_image_request *request, struct sg_error *err) {
    const struct cifar_format *format = cifar_format_find(request->set.name);
    if (!format)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "unknown image set '%s': there are cifar-10, cifar-100 and subsets of them, named as "
                       "cifar-100-SOMETHING",
                       request->set.name);
    *l = (struct image_loading){.request = request,
                                .format = format,
                                .set.parts = format->train_files + 1,
                                .out = {.scale = format->scale, .augmentation = format->augmentation}};
    for (size_t i = 0; i < l->set.parts; i++)
        snprintf(l->set.part[i].file, sizeof l->set.part[i].file, "%s", format->file[i].name);
    return dataset_open(&l->set, &image_kind, &request->set, err);
}

sg_status sg_image_set_load(struct sg_image_set *out, const struct sg_image_request *request, struct sg_error *err) {
    struct image_loading l = {0};
    sg_status status = begin(&l, request, err);
    SG_DO(status, dataset_load(&l.set, &l.out.from, err));
    if (status == SG_OK)
        *out = l.out;
    else
        sg_image_set_free(&l.out);
    return status;
}

sg_status sg_image_set_identify(struct sg_provenance *from, const struct sg_image_request *request,
                                struct sg_error *err) {
    struct image_loading l;
    sg_status status = begin(&l, request, err);
    return status == SG_OK ? dataset_identify(&l.set, from, err) : status;
}

void sg_image_set_free(struct sg_image_set *set) {
    sg_images_free(&set->train);
    sg_images_free(&set->test);
    sg_images_free(&set->validation);
    sg_provenance_free(&set->from);
    *set = (struct sg_image_set){0};
}

cJSON *sg_image_set_json(const struct sg_image_set *set) {
    cJSON *out = SG_SET(sg_provenance_json(&set->from), SG_NUMBER("classes", set->train.classes),
                        SG_NUMBER("train_images", set->train.count), SG_NUMBER("test_images", set->test.count));
    if (set->validation.count > 0)
        SG_SET(out, SG_NUMBER("validation_images", set->validation.count));
    return out;
}

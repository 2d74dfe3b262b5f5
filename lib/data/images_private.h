/* images_private.h: images in memory, from their files and on their way into a batch; private to lib/data. */
/* SPDX-License-Identifier: MIT */
#ifndef IMAGES_PRIVATE_H
#define IMAGES_PRIVATE_H

#include <stddef.h>
#include <stdint.h>

#include "sg_images.h"
#include "sg_status.h"

/* Allocates `count` images, not initialised. */
SG_CHECKED sg_status images_allocate(struct sg_images *out, size_t count, size_t classes, struct sg_error *err);

/* Keeps at most `most` images, always the same ones of a set, in their order; a larger `most` only adds some. 0 = all.
 * *rest gets `held` of the others; with 0 it is left as it is. SG_ERR_ARGUMENT: no image would be left. */
SG_CHECKED sg_status images_keep(struct sg_images *images, size_t most, struct sg_images *rest, size_t held,
                                 struct sg_error *err);

/* ---- image_augment.c ---- */

/* out [32][32][3] <- the floats of an image. */
void image_convert(float *out, const uint8_t *pixel, const struct sg_image_table *table);

/* out [SG_IMAGE_VALUES] <- pixel, augmented as image `index` in epoch `epoch` of a run with this seed. */
void image_augment(uint8_t *out, const uint8_t *pixel, enum sg_augmentation kind, uint64_t seed, uint64_t epoch,
                   size_t index);

/* ---- cifar.c: the records of the CIFAR sets' binary version ---- */

enum { CIFAR_FILES = 6 };

/* A record is [coarse label] label pixels[3072], the labels one byte each. */
struct cifar_format {
    const char *name;
    size_t classes;
    size_t groups; /* coarse labels; 0 = records have none */
    size_t train_files;
    struct cifar_file {
        const char *name; /* the training files, the test file, then NULL */
        size_t records;   /* of the whole set */
    } file[CIFAR_FILES + 1];
    enum sg_augmentation augmentation;
    struct sg_image_scale scale;
};

/* The format of a set's files by its name: "cifar-10", "cifar-100", or one of these followed by "-SOMETHING", a subset.
 * NULL = the name is neither. */
const struct cifar_format *cifar_format_find(const char *set);

size_t cifar_record_bytes(const struct cifar_format *format);

/* Checks a file's text: a whole number of records, exactly `records` of them where that is not 0, labels in range,
 * every class in one group. `name` is for messages. *count receives how many. */
SG_CHECKED sg_status cifar_check(size_t *count, const struct cifar_format *format, const void *text, size_t length,
                                 size_t records, const char *name, struct sg_error *err);

/* Record i of a checked text. */
void cifar_record(uint8_t pixel[SG_IMAGE_VALUES], uint8_t *label, const struct cifar_format *format, const void *text,
                  size_t i);

#endif

/* cifar.c: the records of CIFAR-10 and CIFAR-100 in their publisher's binary version. */
/* SPDX-License-Identifier: MIT */
#include "images_private.h"

#include <string.h>

#include "dataset_walk.h"
#include "sg_debug.h"

static const struct cifar_format formats[] = {
    {
        .name = "cifar-10",
        .classes = 10,
        .train_files = 5,
        .file = {{"data_batch_1.bin", 10000},
                 {"data_batch_2.bin", 10000},
                 {"data_batch_3.bin", 10000},
                 {"data_batch_4.bin", 10000},
                 {"data_batch_5.bin", 10000},
                 {"test_batch.bin", 10000}},
        .augmentation = SG_AUGMENT_CROP_FLIP,
        .scale = {{0.4914f, 0.4822f, 0.4465f}, {0.2023f, 0.1994f, 0.2010f}},
    },
    {
        .name = "cifar-100",
        .classes = 100,
        .groups = 20,
        .train_files = 1,
        .file = {{"train.bin", 50000}, {"test.bin", 10000}},
        .augmentation = SG_AUGMENT_CROP_FLIP_ROTATE,
        .scale = {{0.50708f, 0.48655f, 0.44092f}, {0.26733f, 0.25644f, 0.27615f}},
    },
};

const struct cifar_format *cifar_format_find(const char *set) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (dataset_is_like(set, formats[i].name))
            return &formats[i];
    return NULL;
}

static size_t label_bytes(const struct cifar_format *format) {
    return format->groups ? 2 : 1;
}

size_t cifar_record_bytes(const struct cifar_format *format) {
    return label_bytes(format) + SG_IMAGE_VALUES;
}

/* Checks record i, counted from 0. `group` holds the coarse label of each class seen so far; 255 = not seen. */
static sg_status check_labels(const struct cifar_format *format, const uint8_t *record, size_t i, uint8_t group[256],
                              const char *name, struct sg_error *err) {
    const uint8_t label = record[label_bytes(format) - 1];
    if (label >= format->classes)
        return sg_fail(err, SG_ERR_FORMAT, "%s: record %zu: label %d, but %s has classes 0 to %zu", name, i + 1, label,
                       format->name, format->classes - 1);
    if (!format->groups)
        return SG_OK;
    if (record[0] >= format->groups)
        return sg_fail(err, SG_ERR_FORMAT, "%s: record %zu: coarse label %d, but %s has 0 to %zu", name, i + 1,
                       record[0], format->name, format->groups - 1);
    if (group[label] == 255)
        group[label] = record[0];
    if (group[label] != record[0])
        return sg_fail(err, SG_ERR_FORMAT, "%s: record %zu: label %d with coarse label %d, but %d in earlier records",
                       name, i + 1, label, record[0], group[label]);
    return SG_OK;
}

sg_status cifar_check(size_t *count, const struct cifar_format *format, const void *text, size_t length, size_t records,
                      const char *name, struct sg_error *err) {
    const size_t bytes = cifar_record_bytes(format), n = length / bytes;
    uint8_t group[256];
    if (records && length != records * bytes)
        return sg_fail(err, SG_ERR_FORMAT, "%s: %zu bytes, but a file of %s has %zu (%zu records of %zu): %s", name,
                       length, format->name, records * bytes, records, bytes,
                       length < records * bytes ? "it is truncated" : "it is another file");
    if (length % bytes != 0 || n == 0)
        return sg_fail(err, SG_ERR_FORMAT, "%s: %zu bytes are not a whole number of %s's records of %zu bytes", name,
                       length, format->name, bytes);
    memset(group, 255, sizeof group);
    for (size_t i = 0; i < n; i++) {
        sg_status status = check_labels(format, (const uint8_t *)text + i * bytes, i, group, name, err);
        if (status)
            return status;
    }
    *count = n;
    return SG_OK;
}

void cifar_record(uint8_t pixel[SG_IMAGE_VALUES], uint8_t *label, const struct cifar_format *format, const void *text,
                  size_t i) {
    const uint8_t *record = (const uint8_t *)text + i * cifar_record_bytes(format);
    *label = record[label_bytes(format) - 1];
    SG_ASSERT(*label < format->classes);
    memcpy(pixel, record + label_bytes(format), SG_IMAGE_VALUES);
}

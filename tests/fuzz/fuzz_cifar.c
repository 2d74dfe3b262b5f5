/* Image files from hostile hands, as both formats, with and without a fixed number of records. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "images_private.h"
#include "replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const set[] = {"cifar-10", "cifar-100"};
    struct sg_error err;
    for (size_t s = 0; s < 2; s++)
        for (size_t records = 0; records <= 2; records++) {
            const struct cifar_format *format = cifar_format_find(set[s]);
            size_t count = SIZE_MAX;
            if (cifar_check(&count, format, data, size, records, "fuzz", &err) != SG_OK)
                continue;
            if (count == 0 || (records && count != records) || count * cifar_record_bytes(format) != size)
                abort();
            for (size_t i = 0; i < count; i++) {
                uint8_t pixel[SG_IMAGE_VALUES], label;
                cifar_record(pixel, &label, format, data, i);
                if (label >= format->classes)
                    abort();
            }
        }
    return 0;
}

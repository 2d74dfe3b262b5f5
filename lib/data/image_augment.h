/* image_augment.h: bytes of an image to floats, on the way through augmentation; private to lib/data. */
#ifndef IMAGE_AUGMENT_H
#define IMAGE_AUGMENT_H

#include "sg_images.h"

/* out [SG_IMAGE_VALUES] in the given order. */
void image_convert(float *out, const uint8_t *pixel, const struct sg_image_table *table, enum sg_image_order order);

/* out [SG_IMAGE_VALUES] <- pixel, augmented as image `index` in epoch `epoch` of a run with this seed. */
void image_augment(uint8_t *out, const uint8_t *pixel, enum sg_augmentation kind, uint64_t seed, uint64_t epoch,
                   size_t index);

#endif

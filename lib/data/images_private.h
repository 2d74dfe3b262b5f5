/* images_private.h: memory of images; private to lib/data. */
#ifndef IMAGES_PRIVATE_H
#define IMAGES_PRIVATE_H

#include "sg_images.h"

/* Allocates `count` images, not initialised. */
SG_CHECKED sg_status images_allocate(struct sg_images *out, size_t count, size_t classes, struct sg_error *err);

/* Keeps at most `most` images, always the same ones of a set, in their order; a larger `most` only adds some. 0 =
 * all. */
SG_CHECKED sg_status images_keep(struct sg_images *images, size_t most, struct sg_error *err);

#endif

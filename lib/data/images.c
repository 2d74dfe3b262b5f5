/* images.c: allocates images, keeps random ones of them, and cuts them among workers. */
/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "images_private.h"
#include "sg_debug.h"
#include "sg_memory.h"
#include "sg_rng.h"

sg_status images_allocate(struct sg_images *out, size_t count, size_t classes, struct sg_error *err) {
    SG_ASSERT(classes >= 1 && classes <= 256);
    size_t bytes;
    bool fits = !__builtin_mul_overflow(count, (size_t)SG_IMAGE_VALUES, &bytes);
    if (!fits)
        return sg_fail(err, SG_ERR_MEMORY, "out of memory for %zu images of %d bytes", count, SG_IMAGE_VALUES);
    *out = (struct sg_images){.count = count, .classes = classes, .pixel = sg_malloc(bytes), .label = sg_malloc(count)};
    return SG_OK;
}

void sg_images_free(struct sg_images *images) {
    free(images->pixel);
    free(images->label);
    *images = (struct sg_images){0};
}

static void copy_image(struct sg_images *to, size_t at, const struct sg_images *from, size_t i) {
    to->label[at] = from->label[i];
    memmove(to->pixel + at * SG_IMAGE_VALUES, from->pixel + i * SG_IMAGE_VALUES, SG_IMAGE_VALUES);
}

sg_status images_keep(struct sg_images *images, size_t most, struct sg_images *rest, size_t held,
                      struct sg_error *err) {
    if (held >= images->count && held > 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "%zu images for validation of %zu for training: some must be left", held,
                       images->count);
    most = most == 0 || most > images->count - held ? images->count - held : most;
    if (most == images->count)
        return SG_OK;
    uint32_t *rank = sg_malloc(images->count * sizeof *rank);
    sg_status status = SG_OK;
    if (held > 0)
        SG_DO(status, images_allocate(rest, held, images->classes, err));
    if (status != SG_OK) {
        free(rank);
        return status;
    }
    sg_rng rng = sg_rng_open(0, SG_RNG_SHARD, 0, UINT64_MAX); /* no run's seed, no epoch: always the same images */
    sg_rng_permutation(&rng, rank, images->count);
    size_t kept = 0, out = 0;
    for (size_t i = 0; i < images->count; i++)
        if (rank[i] < most)
            copy_image(images, kept++, images, i);
        else if (rank[i] < most + held)
            copy_image(rest, out++, images, i);
    free(rank);
    SG_ASSERT(kept == most && out == held);
    images->count = kept;
    uint8_t *smaller = sg_realloc(images->pixel, kept * SG_IMAGE_VALUES);
    images->pixel = smaller;
    return SG_OK;
}

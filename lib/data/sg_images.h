/* sg_images.h: sets of small colour images, and the batches that training and evaluation take from them.
 *
 * The known sets are cifar-10 and cifar-100 in their publisher's binary version. cifar-10 has data_batch_1.bin to
 * data_batch_5.bin and test_batch.bin; cifar-100 has train.bin and test.bin, of which the fine labels are read. A set
 * named cifar-100-SOMETHING has the files of cifar-100 with any number of records. Files are looked for as sg_dataset.h
 * says. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_IMAGES_H
#define SG_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "sg_dataset.h"
#include "sg_status.h"

enum { SG_IMAGE_CHANNELS = 3, SG_IMAGE_SIDE = 32, SG_IMAGE_VALUES = SG_IMAGE_CHANNELS * SG_IMAGE_SIDE * SG_IMAGE_SIDE };

struct sg_images {
    size_t count, classes; /* classes <= 256 */
    uint8_t *pixel;        /* [count][3][32][32], owned */
    uint8_t *label;        /* [count], < classes, owned */
};

/* What is done to a training image, in this order. CROP: 4 black pixels are added on each side and a random 32 x 32
 * part is taken. FLIP: left and right are swapped half of the time. ROTATE: the image is turned by -15 to 15 degrees
 * about its centre, with the nearest pixel, and black outside. */
enum sg_augmentation { SG_AUGMENT_NONE, SG_AUGMENT_CROP_FLIP, SG_AUGMENT_CROP_FLIP_ROTATE };

/* A byte v becomes (v / 255 - mean) / deviation, in float arithmetic. The table has what each byte of each channel
 * becomes. */
struct sg_image_scale {
    float mean[SG_IMAGE_CHANNELS], deviation[SG_IMAGE_CHANNELS];
};
struct sg_image_table {
    float value[SG_IMAGE_CHANNELS][256];
};
void sg_image_table_fill(struct sg_image_table *table, const struct sg_image_scale *scale);

struct sg_image_set {
    struct sg_images train, test;
    struct sg_images validation;       /* training images that are not in `train`; count 0 = none are asked for */
    struct sg_image_scale scale;       /* the usual constants of the set */
    enum sg_augmentation augmentation; /* the usual one for the set */
    struct sg_provenance from; /* path: the first file; sha256: of the lines that sha256sum prints for all files */
};

struct sg_image_request {
    struct sg_dataset_request set;
    size_t most_train, most_test; /* use at most so many random images, the same in each run; 0 = all */
    size_t validation;            /* hold so many out of the training images, before most_train is taken of the rest */
};

/* Loads training and test images. A missing set with a stand-in is generated in the set's own numbers of images and
 * classes; without one it is SG_ERR_MISSING, and the message names every remedy. A set of which only some files are
 * there is an error either way. SG_ERR_FORMAT, naming file, record and value: a file is truncated or too long, or a
 * label is out of range. SG_ERR_MISMATCH: a file differs from what datasets/fetch recorded beside it. A file that only
 * differs from the publisher's is used, and `from.verified` shows it. */
SG_CHECKED sg_status sg_image_set_load(struct sg_image_set *out, const struct sg_image_request *request,
                                       struct sg_error *err);
/* Identifies what would be loaded, like sg_dataset_identify. */
SG_CHECKED sg_status sg_image_set_identify(struct sg_provenance *from, const struct sg_image_request *request,
                                           struct sg_error *err);
void sg_image_set_free(struct sg_image_set *set); /* zeroes it */

/* The provenance, "classes", "train_images" and "test_images", and "validation_images" where there are any, for a
 * result's header. */
cJSON *sg_image_set_json(const struct sg_image_set *set);

/* Converts the images from..from+count-1 without augmentation, into pixel [count][32][32][3] and label [count]. */
void sg_images_convert(float *pixel, int64_t *label, const struct sg_images *images, size_t from, size_t count,
                       const struct sg_image_scale *scale);

/* ---- batches ------------------------------------------------------------------------------------------------------
 * In epoch e a random permutation of all images, drawn from (seed, e), is cut into one block of floor(images / workers)
 * images a worker. A worker's batches follow each other in its block, and images that do not fill a batch are dropped.
 * With shards (sg_shards.h) each worker's block is a permutation of its own shard, drawn from (seed, worker, e). The
 * augmentation of an image is drawn from (seed, e, index of the image). So a batch is a function of (seed, worker,
 * step) alone, and resuming needs no state.
 *
 * A thread, which blocks all signals, prepares batches ahead in the order (step, worker). Any other batch may be
 * requested too, and the thread continues from it. Only one thread at a time may call functions of a sg_batches. */
typedef struct sg_batches sg_batches;

struct sg_batches_config {
    const struct sg_images *images; /* must outlive the batches */
    const uint32_t *shards;         /* [images] as sg_shards_deal orders them, outliving them too; NULL = no shards */
    size_t workers;                 /* of the run */
    size_t first, count;            /* the workers whose batches are used: first..first+count-1 */
    size_t batch;                   /* images of one worker at one step */
    uint64_t seed;
    enum sg_augmentation augmentation;
    struct sg_image_scale scale;
    bool bytes; /* images stay bytes after augmentation, [batch][3][32][32]; scale is not used then */
};

/* Steps per epoch: floor(floor(images / workers) / batch). 0 = there are fewer images than one step of all workers
 * needs. */
uint64_t sg_batches_steps(size_t images, size_t workers, size_t batch);

/* The memory that batches of `config` take, in bytes. */
size_t sg_batches_bytes(const struct sg_batches_config *config);

/* Starts the thread. SG_ERR_ARGUMENT if sg_batches_steps is 0. */
SG_CHECKED sg_status sg_batches_open(sg_batches **out, const struct sg_batches_config *config, struct sg_error *err);

/* Gives the batch of `worker` (first..first+count-1) at `step`, counted from 0 over all epochs: *pixel is
 * [batch][32][32][3], *label [batch]. It waits for the thread if need be. The batch is borrowed until the next call. */
void sg_batches_get(sg_batches *b, size_t worker, uint64_t step, const float **pixel, const int64_t **label);
/* Like sg_batches_get, for batches of bytes. */
void sg_batches_get_bytes(sg_batches *b, size_t worker, uint64_t step, const uint8_t **pixel, const int64_t **label);

void sg_batches_close(sg_batches *b); /* NULL is fine */

/* ---- stand-in ------------------------------------------------------------------------------------------------------
 * "cifar-like": a class is a texture, that is, a grating with its own direction, wave length and colour. An image shows
 * it through a soft window at a random place, with random phase and strength, over another grating without meaning and
 * noise. The mean image of a class does not identify the class. Image i is a function of (seed, part, i), the same on
 * every machine. `part` tells sets of the same classes apart (0 training, 1 test, 2 validation).
 * 1 <= classes <= 256. */
enum { SG_IMAGE_GENERATOR_REVISION = 1 };
SG_CHECKED sg_status sg_images_generate(struct sg_images *out, size_t count, size_t classes, uint64_t seed,
                                        unsigned part, struct sg_error *err);
void sg_images_free(struct sg_images *images); /* zeroes it */

#endif

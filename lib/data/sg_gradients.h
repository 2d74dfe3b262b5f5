/* sg_gradients.h: gradients of any training, read back from files step by step.
 *
 * `files` is the path of a file, or of many: {step} and {worker} stand for their numbers, which count from 0, and
 * {step:6} for the number filled up with zeros to 6 digits. An array lacks the dimension that its name gives:
 *
 *   NAME.npy                  an array (steps, workers, d); of a single worker (steps, d) is fine too
 *   NAME-{worker}.npy         an array (steps, d) for each worker
 *   NAME-{step}.npy           an array (workers, d) for each step; of a single worker (d) is fine too
 *   NAME-{step}-{worker}.npy  an array (d) for each step and worker
 *   NAME.safetensors          one step of one worker: a tensor is a layer; {step} and {worker} as above
 *   any other name            a recording of sparsetrain (sg_recording.h) of gradients or inputs; all steps and workers
 *
 * Numbers are float32, float16, or bfloat16 (in .npy as uint16, because NumPy has no such type), little-endian. With
 * {step} or {worker} in the name, the folder is read for the numbers that there are. A number that is missing between
 * others is an error. All files must hold what the first holds; tensors of .safetensors files are found by their names.
 *
 * Numbers are read on demand and not cached, so files may be larger than the memory. They are not mapped: truncating a
 * mapped file would kill the program, while a failed read returns an error. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_GRADIENTS_H
#define SG_GRADIENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdint.h>

#include "sg_dataset.h"
#include "sg_node.h"
#include "sg_status.h"

typedef struct sg_gradients sg_gradients;

/* Which gradients are read. Zeros, but for `files`, are the defaults. */
struct sg_gradients_request {
    const char *files;
    /* The shapes of the layers in the order of the elements, "64x3x3x3,64,10x64", of .npy files. layers_file: a text
     * file in its place, up to 1 MiB, with a line for each layer: its shape, or its name and its shape between blanks
     * ("conv1.weight 64x3x7x7"), one kind in the whole file. Names are of printable ASCII characters. What follows a #
     * is a comment, and empty lines are skipped. Both NULL = one layer. */
    const char *layers, *layers_file;
    /* The number of step i in names is first + i every; every 0 = 1. Files of other numbers are left out. */
    uint64_t first, every;
};
/* The request of a section `task` of the kind recorded. Its texts belong to the section. */
struct sg_gradients_request sg_gradients_requested(const struct sg_node *task);

/* What the files hold. Pointers are borrowed and last as long as the files are open. */
struct sg_gradients_facts {
    uint64_t steps;
    uint64_t steps_per_epoch; /* that of the run in a recording, else `steps` */
    size_t workers, d;
    size_t n_layers;
    const size_t *offset;    /* [n_layers + 1] as in sg_layout */
    const size_t *rows;      /* [n_layers]; NULL = all layers are plain vectors */
    const char *const *name; /* [n_layers]; NULL = they have no names */
    const char *format;      /* "npy float16", "recording of gradients" */
    bool integers;           /* the type in the file is of integers, which are taken for bfloat16 */
    size_t others;           /* files whose names fit and whose steps the request leaves out */
};

/* A message about layers begins with "layers: " or "layers-file: ".
 * SG_ERR_MISSING: there is no such file. SG_ERR_FORMAT: a file is damaged, or contradicts its name. SG_ERR_ARGUMENT:
 * the name or the layers are malformed, or do not match the files. SG_ERR_UNSUPPORTED: the files have an unknown type
 * of numbers. */
SG_CHECKED sg_status sg_gradients_open(sg_gradients **out, const struct sg_gradients_request *request,
                                       struct sg_error *err);
const struct sg_gradients_facts *sg_gradients_look(const sg_gradients *g);
/* out [d] <- the gradient of `worker` at `step`, both below the counts in the facts. NaN and infinity are copied like
 * other numbers. Several threads may read at once. */
SG_CHECKED sg_status sg_gradients_read(const sg_gradients *g, uint64_t step, size_t worker, float *out,
                                       struct sg_error *err);
void sg_gradients_close(sg_gradients *g); /* NULL is fine */

/* Identifies what would be read, like sg_dataset_identify. For one file, `sha256` is that of the file. For several it
 * is that of a text with one line per file, step by step: the file's SHA-256, two blanks, STEP-WORKER. Each file is
 * read once for it, and its checksum is cached as for data sets. With a file of layers, it is that of two lines: the
 * SHA-256 so far and "gradients", the SHA-256 of that file and "layers", with two blanks between them. */
SG_CHECKED sg_status sg_gradients_identify(struct sg_provenance *from, const struct sg_gradients_request *request,
                                           const char *data_dir, struct sg_error *err);

#endif

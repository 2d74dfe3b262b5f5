/* sg_gradients.h: gradients of any training, read back from files step by step.
 *
 * `files` is the path of a file, or of many: {step} and {worker} stand for their numbers, which count from 0, and
 * {step:6} for the number filled up with zeros to 6 digits. What the name says, the files do not hold:
 *
 *   NAME.npy                  an array (steps, workers, d); of a single worker (steps, d) is fine too
 *   NAME-{worker}.npy         an array (steps, d) for each worker
 *   NAME-{step}.npy           an array (workers, d) for each step; of a single worker (d) is fine too
 *   NAME-{step}-{worker}.npy  an array (d) for each step and worker
 *   NAME.safetensors          one step of one worker: a tensor is a layer; {step} and {worker} as above
 *   any other name            a recording of sparsetrain (sg_recording.h) of gradients or inputs; all steps and workers
 *
 * Numbers are float32, float16, or bfloat16 (in .npy as uint16, because NumPy has no such type), little-endian. The
 * steps and workers of a name with {step} or {worker} are as many as there are files without a gap. All files must have
 * the same shape as the first.
 *
 * Numbers are read where they are asked for and never kept, so files may be larger than the memory. They are not
 * mapped: a mapped file that somebody cuts would kill the program, where a read fails with a message. */
#ifndef SG_GRADIENTS_H
#define SG_GRADIENTS_H

#include <stddef.h>
#include <stdint.h>

#include "sg_dataset.h"
#include "sg_status.h"

typedef struct sg_gradients sg_gradients;

/* What the files hold. Pointers are borrowed and last as long as the files are open. */
struct sg_gradients_facts {
    uint64_t steps;
    uint64_t steps_per_epoch; /* of a recording, that of its run; else `steps` */
    size_t workers, d;
    size_t n_layers;
    const size_t *offset;    /* [n_layers + 1] as in sg_layout */
    const size_t *rows;      /* [n_layers]; NULL = all layers are plain vectors */
    const char *const *name; /* [n_layers]; NULL = they have no names */
    const char *format;      /* "npy float16", "recording of gradients" */
};

/* layers: the shapes of the layers in the order of the elements, "64x3x3x3,64,10x64", of .npy files; NULL = one layer.
 * SG_ERR_MISSING: there is no such file. SG_ERR_FORMAT: a file is damaged, or not what its name says. SG_ERR_ARGUMENT:
 * the name or the layers make no sense, or do not go with the files. SG_ERR_UNSUPPORTED: a type of numbers that is not
 * read. */
SG_CHECKED sg_status sg_gradients_open(sg_gradients **out, const char *files, const char *layers, struct sg_error *err);
const struct sg_gradients_facts *sg_gradients_look(const sg_gradients *g);
/* out [d] <- the gradient of `worker` at `step`, which must be among the facts'. Numbers are as the file has them, NaN
 * and infinity included. Threads may read at once. */
SG_CHECKED sg_status sg_gradients_read(const sg_gradients *g, uint64_t step, size_t worker, float *out,
                                       struct sg_error *err);
void sg_gradients_close(sg_gradients *g); /* NULL is fine */

/* Tells what would be read, as sg_dataset_identify. Of one file `sha256` is its own. Of many it is that of a line for
 * each, step by step: its own, two blanks, and STEP-WORKER. All files are read for it once; what they were is
 * remembered as for data sets. */
SG_CHECKED sg_status sg_gradients_identify(struct sg_provenance *from, const char *files, const char *data_dir,
                                           struct sg_error *err);

#endif

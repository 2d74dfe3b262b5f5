/* gradients_private.h: the heads of files that hold gradients; private to lib/data. */
#ifndef GRADIENTS_PRIVATE_H
#define GRADIENTS_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sg_status.h"

/* *out <- the name of the file of this step and worker, which the caller frees. *by_step and *by_worker <- does `files`
 * have {step} and {worker}? Both may be NULL. */
SG_CHECKED sg_status gradient_file(char **out, const char *files, uint64_t step, size_t worker, bool *by_step,
                                   bool *by_worker, struct sg_error *err);
/* How many files follow each other from number 0 on: by step, else by worker. */
SG_CHECKED sg_status gradient_files_count(uint64_t *count, const char *files, bool by_step, struct sg_error *err);

/* How a number is written. */
enum gradient_number { GRADIENT_FLOAT32, GRADIENT_FLOAT16, GRADIENT_BFLOAT16 };
enum { GRADIENT_NUMBERS = GRADIENT_BFLOAT16 + 1 };
extern const char *const gradient_number_name[GRADIENT_NUMBERS]; /* "float32" */
size_t gradient_number_bytes(enum gradient_number number);

/* out [count] <- the numbers at the offset `at` of the file. Threads may read one file at once. */
SG_CHECKED sg_status gradient_read(int fd, const char *path, enum gradient_number number, off_t at, size_t count,
                                   float *out, struct sg_error *err);

/* A .npy file: its array, whose numbers follow each other, the last index the fastest. */
struct npy_head {
    enum gradient_number number;
    unsigned rank; /* 1 .. NPY_RANK */
    uint64_t shape[3];
    off_t begin; /* where the first number is */
};
enum { NPY_RANK = 3 };
/* Reads the head, and checks that the file is exactly as long as it says. No number of the shape is 0. */
SG_CHECKED sg_status npy_read_head(struct npy_head *out, int fd, const char *path, struct sg_error *err);

/* A .safetensors file: its tensors in the order of their numbers, which lie without gaps. */
struct safetensors_head {
    off_t begin; /* where the first number is */
    size_t count;
    struct safetensor {
        char *name;
        enum gradient_number number;
        size_t elements, rows; /* rows: the first dimension of a tensor of several, else 1 */
        uint64_t from, to;     /* bytes after `begin` */
    } * tensor;                /* [count] */
};
/* Reads the head, and checks that the file is exactly as long as it says. Tensors without elements are left out. There is
 * at least one other, and all together have at most 2^32 - 1 elements. */
SG_CHECKED sg_status safetensors_read_head(struct safetensors_head *out, int fd, const char *path,
                                           struct sg_error *err);
void safetensors_free(struct safetensors_head *head); /* zeroes it */

#endif

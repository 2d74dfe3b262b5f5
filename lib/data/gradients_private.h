/* gradients_private.h: the heads of files that hold gradients; private to lib/data. */
/* SPDX-License-Identifier: MIT */
#ifndef GRADIENTS_PRIVATE_H
#define GRADIENTS_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sg_gradients.h"

/* The files of a request: which numbers their names have, and how many steps and workers there are. */
struct gradient_files {
    const struct sg_gradients_request *request;
    bool by_step, by_worker; /* `files` has {step}, {worker} */
    uint64_t steps, workers; /* 1 of what the name does not have */
    size_t others;           /* as in struct sg_gradients_facts */
};
/* Reads the folders. SG_ERR_MISSING: there are no such files. SG_ERR_FORMAT: some are missing between others. */
SG_CHECKED sg_status gradient_files_find(struct gradient_files *out, const struct sg_gradients_request *request,
                                         struct sg_error *err);
/* The name of the file of this step, counted from 0, and worker, which the caller frees. */
char *gradient_file(const struct sg_gradients_request *request, uint64_t step, uint64_t worker);

/* The layers of a gradient; all arrays are malloc'ed. */
struct gradient_layers {
    size_t n;
    size_t *offset, *rows; /* [n + 1], [n] as in struct sg_gradients_facts */
    const char **name;     /* [n]; NULL = they have no names */
    char *text;            /* where the names are, if they are from a file */
};
/* Allocates the arrays for n layers, which the caller fills; `named`: also the one of names. */
void gradient_layers_allocate(struct gradient_layers *l, size_t n, bool named);
/* Reads a list of shapes, or a file of layers; sg_gradients_open says what they look like. One of both is not NULL. */
SG_CHECKED sg_status gradient_layers_read(struct gradient_layers *out, const char *shapes, const char *file,
                                          struct sg_error *err);
void gradient_layers_free(struct gradient_layers *l); /* zeroes it */

/* How a number is written. */
enum gradient_number { GRADIENT_FLOAT32, GRADIENT_FLOAT16, GRADIENT_BFLOAT16 };
enum { GRADIENT_NUMBERS = GRADIENT_BFLOAT16 + 1 };
extern const char *const gradient_number_name[GRADIENT_NUMBERS]; /* "float32" */
size_t gradient_number_bytes(enum gradient_number number);

/* out [count] <- the numbers at the offset `at` of the file. Threads may read one file at once. */
SG_CHECKED sg_status gradient_read(int fd, const char *path, enum gradient_number number, off_t at, size_t count,
                                   float *out, struct sg_error *err);

/* The head of a file: which numbers it holds, and where. */
enum { NPY_RANK = 3 };
struct gradient_head {
    off_t begin;   /* where the first number is */
    unsigned rank; /* of the array of a .npy file, 1 .. NPY_RANK; else 0 */
    bool integers; /* as in struct sg_gradients_facts */
    uint64_t shape[NPY_RANK];
    /* The tensors of one gradient, which lie behind one another without gaps. A .npy file has one, without a name, and
     * gradients of that length to its end. */
    size_t count;
    struct gradient_tensor {
        char *name;
        enum gradient_number number;
        size_t elements, rows; /* rows: the first dimension of a tensor of several, else 1 */
        uint64_t from, to;     /* bytes after `begin` */
    } * tensor;                /* [count] */
};
void gradient_head_free(struct gradient_head *head); /* zeroes it */

/* Both read the head, and check that the file has exactly the length that follows from it. A gradient has 1 to 2^32 - 1
 * elements. The numbers of an array follow each other, the last index the fastest, and no number of its shape is 0.
 * Tensors of a .safetensors file are in the order of their numbers, those without elements left out. */
SG_CHECKED sg_status npy_read_head(struct gradient_head *out, int fd, const char *path, struct sg_error *err);
SG_CHECKED sg_status safetensors_read_head(struct gradient_head *out, int fd, const char *path, struct sg_error *err);

#endif

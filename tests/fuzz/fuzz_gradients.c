/* Gradients from hostile .npy and .safetensors files: what is accepted has the shape that it says, and is read
 * whole. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gradients_private.h"
#include "replay.h"

/* Reads all gradients of the file. */
static void follow(const struct gradient_head *h, int fd, size_t size, bool npy) {
    struct sg_error err = {0};
    uint64_t at = 0, gradients = 1;
    if (npy != (h->rank >= 1) || h->rank > NPY_RANK || h->count == 0 || (npy && h->count != 1))
        abort();
    for (unsigned i = 0; i + 1 < h->rank; i++)
        gradients *= h->shape[i];
    for (size_t i = 0; i < h->count; i++) {
        const struct gradient_tensor *s = &h->tensor[i];
        const uint64_t n = gradients * s->elements;
        float *out = malloc(n * sizeof *out);
        if (!out || !s->name != npy || n == 0 || n > size || s->elements % s->rows != 0 || s->from != at ||
            gradient_read(fd, "fuzz", s->number, h->begin + (off_t)at, n, out, &err) != SG_OK)
            abort();
        if (i + 1 == h->count &&
            (gradient_read(fd, "fuzz", s->number, h->begin + (off_t)at + 1, n, out, &err) != SG_ERR_IO ||
             err.msg[0] == '\0'))
            abort();
        at = s->to;
        free(out);
    }
    if ((size_t)h->begin + gradients * at != size)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int fd = memfd_create("fuzz", 0);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    for (int npy = 0; npy < 2; npy++) {
        struct sg_error err = {0};
        struct gradient_head head;
        if ((npy ? npy_read_head : safetensors_read_head)(&head, fd, "fuzz", &err) == SG_OK) {
            follow(&head, fd, size, npy);
            gradient_head_free(&head);
        } else if (err.msg[0] == '\0') {
            abort();
        }
    }
    close(fd);
    return 0;
}

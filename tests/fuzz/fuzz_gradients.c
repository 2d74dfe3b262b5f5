/* Gradients from hostile .npy and .safetensors files: what is accepted has the shape that it says, and is read whole. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gradients_private.h"
#include "replay.h"

static void follow_npy(const struct npy_head *h, int fd, size_t size) {
    struct sg_error err = {0};
    uint64_t n = 1;
    for (unsigned i = 0; i < h->rank; i++)
        n *= h->shape[i];
    if (h->rank < 1 || h->rank > NPY_RANK || n == 0 || n > size ||
        (size_t)h->begin + n * gradient_number_bytes(h->number) != size)
        abort();
    float *out = malloc(n * sizeof *out);
    if (!out || gradient_read(fd, "fuzz", h->number, h->begin, n, out, &err) != SG_OK ||
        gradient_read(fd, "fuzz", h->number, h->begin + 1, n, out, &err) != SG_ERR_IO || err.msg[0] == '\0')
        abort();
    free(out);
}

static void follow_safetensors(const struct safetensors_head *h, int fd, size_t size) {
    struct sg_error err = {0};
    uint64_t at = 0;
    for (size_t i = 0; i < h->count; i++) {
        const struct safetensor *s = &h->tensor[i];
        float *out = malloc(s->elements * sizeof *out);
        if (!out || !s->name || s->elements == 0 || s->elements > size || s->elements % s->rows != 0 || s->from != at ||
            gradient_read(fd, "fuzz", s->number, h->begin + (off_t)at, s->elements, out, &err) != SG_OK)
            abort();
        at = s->to;
        free(out);
    }
    if (h->count == 0 || (size_t)h->begin + at != size)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sg_error err = {0};
    struct npy_head npy;
    struct safetensors_head tensors;
    int fd = memfd_create("fuzz", 0);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    if (npy_read_head(&npy, fd, "fuzz", &err) == SG_OK)
        follow_npy(&npy, fd, size);
    else if (err.msg[0] == '\0')
        abort();
    err.msg[0] = '\0';
    if (safetensors_read_head(&tensors, fd, "fuzz", &err) == SG_OK) {
        follow_safetensors(&tensors, fd, size);
        safetensors_free(&tensors);
    } else if (err.msg[0] == '\0') {
        abort();
    }
    close(fd);
    return 0;
}

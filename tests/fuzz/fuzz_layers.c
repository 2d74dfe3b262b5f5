/* Shapes of layers from hostile text, as a list in a recipe and as a file: what is accepted has layers whose elements
 * follow each other and whose rows divide them. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gradients_private.h"
#include "replay.h"

static void try(const char *shapes, const char *file) {
    struct gradient_layers l = {0};
    struct sg_error err = {0};
    if (gradient_layers_read(&l, shapes, file, &err) == SG_OK) {
        if (l.n == 0 || l.offset[0] != 0 || (l.name && !file))
            abort();
        for (size_t i = 0; i < l.n; i++)
            if (l.offset[i + 1] <= l.offset[i] || l.rows[i] == 0 || (l.offset[i + 1] - l.offset[i]) % l.rows[i] != 0 ||
                (l.name && (!l.name[i] || !l.name[i][0])))
                abort();
    } else if (!err.msg[0]) {
        abort();
    }
    gradient_layers_free(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64], *text = strndup((const char *)data, size);
    const int fd = memfd_create("fuzz", 0);
    if (!text || fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    try(text, NULL);
    try(NULL, path);
    close(fd);
    free(text);
    return 0;
}

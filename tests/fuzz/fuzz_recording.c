/* Recordings from hostile files: what is accepted has the shape that it says, and is read to its end. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "replay.h"
#include "sg_recording.h"

static void follow(struct sg_recording *r, size_t size) {
    struct sg_error err = {0};
    sg_status status = SG_OK;
    const cJSON *constant;
    if (r->d > size || r->workers > size || r->workers * r->d * sizeof(float) > size || r->offset[r->n_layers] != r->d)
        abort();
    cJSON_ArrayForEach(constant, sg_json_get(r->header, "constants")) if (!constant->string) abort();
    uint64_t *sent = malloc(r->workers * sizeof *sent);
    float *a = malloc(r->workers * r->d * sizeof *a);
    double gamma;
    if (!sent || !a)
        abort();
    for (uint64_t t = 0; t < r->steps && status == SG_OK; t++)
        status = sg_recording_step(r, t, &gamma, sent, a, &err);
    if (status != SG_OK && status != SG_ERR_NONFINITE)
        abort(); /* its length was checked */
    if (sg_recording_read(r, r->steps - 1, r->workers - 1, a, &err) != SG_OK)
        abort();
    for (size_t l = 0; l < r->n_layers; l++)
        if ((r->rows && (r->offset[l + 1] - r->offset[l]) % r->rows[l] != 0) || (r->name && !r->name[l]))
            abort();
    free(sent);
    free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64];
    struct sg_error err = {0};
    struct sg_recording r;
    int fd = memfd_create("fuzz", 0);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (sg_recording_open(&r, path, &err) == SG_OK) {
        follow(&r, size);
        sg_recording_free(&r);
    } else if (err.msg[0] == '\0') {
        abort();
    }
    close(fd);
    return 0;
}

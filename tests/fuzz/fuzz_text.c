/* A method's text from hostile hands: refused with a message, or it makes two steps of two workers with finite sums. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "sg_flat.h"

enum { D = 50, WORKERS = 2, MOST = 300 };

static void make_steps(sg_method *m) {
    float g[WORKERS][D], e[WORKERS][D] = {{0}}, sum[D];
    const float *const gradient[WORKERS] = {g[0], g[1]};
    float *const residual[WORKERS] = {e[0], e[1]}, *const none[WORKERS] = {NULL, NULL};
    struct sg_error err;
    for (size_t i = 0; i < D; i++)
        g[0][i] = g[1][i] = (float)(i * 37 % 23) / 8 - 1;
    for (uint64_t step = 0; step < 2; step++)
        if (sg_method_step(m, step, 0.125, gradient, sg_method_has_residuals(m) ? residual : none, sum, NULL, NULL,
                           &err) != SG_OK)
            break;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const size_t offset[] = {0, 24, 24, D}, rows[] = {4, 1, 2};
    const struct sg_layout layout = {3, offset, NULL, rows};
    struct sg_error err;
    sg_method *m;
    if (size > MOST)
        return 0;
    char *text = strndup((const char *)data, size);
    memset(&err, 'x', sizeof err);
    if (sg_method_open_text(&m, text, &layout, WORKERS, 0, WORKERS, &err) == SG_OK) {
        make_steps(m);
        sg_method_close(m);
    } else if (memchr(err.msg, 0, sizeof err.msg) == NULL || err.msg[0] == '\0') {
        abort();
    }
    free(text);
    return 0;
}

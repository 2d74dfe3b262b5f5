/* LIBSVM text from hostile files, with d from the text and with d = 20, and what is accepted once more through the
 * cache's own checks of shape. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "replay.h"
#include "sg_matrix.h"

static void check(const struct sg_matrix *a) {
    if (!a->i16 + !a->f32 + !a->f64 + !a->csr_value != 3 || a->m == 0 || a->d == 0)
        abort();
    for (size_t i = 0; i < a->m; i++)
        if (a->label[i] != 1 && a->label[i] != -1)
            abort();
    for (size_t i = 0; a->csr_start && i < a->m; i++)
        for (size_t j = (size_t)a->csr_start[i]; j < (size_t)a->csr_start[i + 1]; j++)
            if (a->csr_column[j] >= a->d || a->csr_value[j] == 0 ||
                (j > (size_t)a->csr_start[i] && a->csr_column[j] <= a->csr_column[j - 1]))
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sg_error err;
    struct sg_matrix a;
    for (size_t d = 0; d <= 20; d += 20)
        if (sg_libsvm_parse(&a, (const char *)data, size, d, "fuzz", &err) == SG_OK) {
            check(&a);
            sg_matrix_free(&a);
        }
    return 0;
}

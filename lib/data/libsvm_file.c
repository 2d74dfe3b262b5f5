/* libsvm_file.c: a LIBSVM file, packed or not, as a matrix. */
#include <string.h>

#include "data_text.h"
#include "matrix_layout.h"
#include "sg_file.h"
#include "sg_matrix.h"

sg_status sg_libsvm_read(struct sg_matrix *out, const char *path, size_t d, char sha256[65], struct sg_error *err) {
    struct data_text t = {0};
    sg_status status = data_text_open(&t, path, err);
    if (status)
        return status;

    char hex[65];
    sg_sha256_of(t.at ? t.at : "", t.length, hex); /* done first, because parsing gives the text back */
    status = t.at ? sg_libsvm_consume(out, t.at, t.length, d, path, err) : sg_libsvm_parse(out, "", 0, d, path, err);
    data_text_free(&t);
    if (status == SG_OK)
        memcpy(sha256, hex, sizeof hex);
    return status;
}

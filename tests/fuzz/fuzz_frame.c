/* A result from hostile hands, as --audit and --compare read it: refused with a message, or its labels and
 * columns can be asked for. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "sg_bundle.h"
#include "sg_document.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sg_document result = {0};
    struct sg_error err = {0};
    char *text = malloc(size > 0 ? size : 1); /* so that a sanitizer sees the end */
    memcpy(text, data, size);
    sg_status status = sg_bundle_result(&result, text, size, "fuzz", &err);
    for (size_t i = 0; status == SG_OK && i < result.results.n_labels; i++)
        if (result.results.label[i].label == NULL ||
            sg_frame_column(&result.results.label[i], "no such column") != NULL)
            abort();
    if (status != SG_OK && err.msg[0] == '\0')
        abort();
    sg_document_free(&result);
    free(text);
    return 0;
}

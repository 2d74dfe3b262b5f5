/* A result from hostile hands, as --audit and --compare read it: refused with a message, or its labels and
 * columns can be asked for. */
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "sg_bundle.h"
#include "sg_frame.h"
#include "sg_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cJSON *result = NULL;
    struct sg_error err = {0};
    struct sg_frame frame = {0};
    char *text = malloc(size > 0 ? size : 1); /* so that a sanitizer sees the end */
    memcpy(text, data, size);
    sg_status status = sg_bundle_result(&result, text, size, "fuzz", &err);
    SG_DO(status, sg_frame_read(&frame, sg_json_get(result, "results"), "fuzz", &err));
    for (size_t i = 0; status == SG_OK && i < frame.n_labels; i++)
        if (frame.label[i].label == NULL || sg_frame_column(&frame.label[i], "no such column") != NULL)
            abort();
    if (status == SG_OK)
        sg_frame_free(&frame);
    else if (err.msg[0] == '\0')
        abort();
    cJSON_Delete(result);
    free(text);
    return 0;
}

/* Encoded messages from hostile bytes: several may follow each other, as between ranks. What is accepted must be a
 * message, and the only bytes that mean it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "sg_wire.h"

static void require(int condition) {
    if (!condition)
        abort();
}

static void check_message(const struct sg_wire_header *h, const uint8_t *in, const uint32_t *index,
                          const float *value) {
    for (size_t j = 0; j < h->count; j++)
        require(index[j] < h->n && (j == 0 || index[j] > index[j - 1]) && isfinite(value[j]));
    uint8_t *again = calloc(h->bytes, 1);
    require(again != NULL);
    struct sg_error err;
    const struct sg_wire_plan plan = {.encoding = h->encoding,
                                      .precision = h->precision,
                                      .parameter = h->parameter,
                                      .set = {h->n, h->count, index},
                                      .header_bytes = h->header_bytes,
                                      .index_bytes = h->index_bytes,
                                      .value_bytes = h->value_bytes,
                                      .bytes = h->bytes};
    require(sg_wire_encode(again, h->bytes, &plan, value, &err) == SG_OK && memcmp(again, in, h->bytes) == 0);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sg_wire_header h;
    struct sg_error err = {0};
    while (sg_wire_peek(&h, data, size, &err) == SG_OK) {
        require(h.bytes <= size && h.count <= h.bytes / 2);
        uint32_t *index = malloc(h.count * sizeof *index + 1);
        float *value = malloc(h.count * sizeof *value + 1);
        require(index != NULL && value != NULL);
        sg_status status = sg_wire_decode(index, value, &h, data, &err);
        if (status == SG_OK)
            check_message(&h, data, index, value);
        else
            require(status == SG_ERR_FORMAT && err.msg[0] != '\0');
        free(index);
        free(value);
        data += h.bytes;
        size -= h.bytes;
    }
    require(err.status == SG_ERR_FORMAT && err.msg[0] != '\0');
    return 0;
}

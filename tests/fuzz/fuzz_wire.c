/* Encoded messages from hostile bytes: several may follow each other, as between ranks. What is accepted must be a
 * message, and the only bytes that mean it; in fewer bits, where bytes may be as well written otherwise, it must be the
 * same message when it is written and read again. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "sg_wire.h"

static void require(int condition) {
    if (!condition)
        abort();
}

static void check_again(const struct sg_wire_header *h, const struct sg_message *m) {
    struct sg_wire_plan plan;
    struct sg_wire_header other;
    struct sg_message read;
    struct sg_error err;
    require(sg_wire_plan(&plan, h->encoding, m, &err) == SG_OK);
    sg_wire_shorten(&plan);
    uint8_t *bytes = malloc(plan.bytes), *data = malloc(m->bytes);
    uint32_t *index = malloc(m->count * sizeof *index + 1);
    require(bytes != NULL && data != NULL && index != NULL);
    require(sg_wire_encode(bytes, plan.bytes, &plan, &err) == SG_OK);
    require(sg_wire_peek(&other, bytes, plan.bytes, &err) == SG_OK && other.shorter == plan.shorter);
    require(sg_wire_decode(&read, index, data, &other, bytes, &err) == SG_OK && read.bytes == m->bytes);
    require(memcmp(data, m->data, m->bytes) == 0);
    free(bytes);
    free(data);
    free(index);
}

static void check_message(const struct sg_wire_header *h, const uint8_t *in, const struct sg_message *m, float *value) {
    m->code->decode(value, m, 0, m->count);
    for (size_t j = 0; j < h->count; j++)
        require(m->index[j] < h->n && (j == 0 || m->index[j] > m->index[j - 1]) && isfinite(value[j]));
    struct sg_error err;
    if (h->shorter) {
        check_again(h, m);
        return;
    }
    uint8_t *again = calloc(h->bytes, 1);
    require(again != NULL);
    const struct sg_wire_plan plan = {.encoding = h->encoding,
                                      .parameter = h->parameter,
                                      .message = *m,
                                      .header_bytes = h->header_bytes,
                                      .index_bytes = h->index_bytes,
                                      .number_bytes = h->number_bytes,
                                      .bytes = h->bytes};
    require(sg_wire_encode(again, h->bytes, &plan, &err) == SG_OK && memcmp(again, in, h->bytes) == 0);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sg_wire_header h;
    struct sg_error err = {0};
    while (sg_wire_peek(&h, data, size, &err) == SG_OK) {
        require(h.bytes <= size && (h.count <= 8 * (h.bytes + h.data_bytes) || h.code == &sg_code_factors) &&
                h.data_bytes <= 1024 * h.bytes);
        if (h.count > 8 * (h.bytes + h.data_bytes) + (1 << 20)) /* products of few numbers; who decodes has the room */
            return 0;
        uint32_t *index = malloc(h.count * sizeof *index + 1);
        float *value = malloc(h.count * sizeof *value + 1);
        void *numbers = malloc(h.data_bytes + 1);
        struct sg_message m;
        require(index != NULL && value != NULL && numbers != NULL);
        sg_status status = sg_wire_decode(&m, index, numbers, &h, data, &err);
        if (status == SG_OK)
            check_message(&h, data, &m, value);
        else
            require(status == SG_ERR_FORMAT && err.msg[0] != '\0');
        free(index);
        free(value);
        free(numbers);
        data += h.bytes;
        size -= h.bytes;
    }
    require(err.status == SG_ERR_FORMAT && err.msg[0] != '\0');
    return 0;
}

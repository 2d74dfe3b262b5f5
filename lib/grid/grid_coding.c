/* grid_coding.c: the times of encoding and decoding that a modelled network goes by. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "grid_private.h"
#include "sg_compressor.h"
#include "sg_file.h"
#include "sg_text.h"

static const size_t MOST_BYTES = 1 << 24;

/* Rows of a result of kernels, one a compressor, of its first case in which it sent numbers. What a step takes beside
 * decoding is encoding. */
static size_t read_rows(struct sg_coding *out, const cJSON *document) {
    const cJSON *row;
    size_t n = 0;
    cJSON_ArrayForEach(row, sg_json_get(document, "results")) {
        const struct sg_compressor_ops *ops = sg_compressor_find(sg_json_string(row, "compressor", ""));
        const double step_s = sg_json_number(row, "time_s.median", NAN),
                     decode_s = sg_json_number(row, "decode_s", NAN);
        const double elements = sg_json_number(row, "n", NAN), numbers = sg_json_number(row, "k", NAN);
        bool known = !ops || isnan(step_s) || isnan(decode_s) || !(elements > 0) || !(numbers > 0);
        for (size_t i = 0; !known && i < n; i++)
            known = strcmp(out[i].compressor, ops->name) == 0;
        if (!known && n + 1 < SG_GRID_CODINGS)
            out[n++] = (struct sg_coding){.compressor = ops->name,
                                          .element_ns = 1e9 * fmax(0, step_s - decode_s) / elements,
                                          .number_ns = 1e9 * decode_s / numbers};
    }
    return n;
}

sg_status grid_coding_read(struct sg_grid_network *out, const char *name, struct sg_error *err) {
    const struct sg_processor *known = sg_processor_find(name);
    cJSON *document = NULL;
    size_t n = 0;
    snprintf(out->processor, sizeof out->processor, "%s", name);
    memset(out->coding, 0, sizeof out->coding);
    for (const struct sg_coding *row = known ? known->row : NULL; row && row->compressor && n + 1 < SG_GRID_CODINGS;
         row++)
        out->coding[n++] = *row;
    if (known)
        return SG_OK;
    char *text = NULL;
    size_t length;
    sg_status status = sg_file_read_regular(&text, &length, name, MOST_BYTES, err);
    SG_DO(status, sg_json_parse(&document, text, length, name, err));
    free(text);
    if (status == SG_OK && read_rows(out->coding, document) == 0)
        status = sg_fail(err, SG_ERR_FORMAT,
                         "%s: it has no times of compressors (write it with sparsebench "
                         "--measure-coding)",
                         name);
    cJSON_Delete(document);
    return status == SG_OK ? status : sg_prefix(err, "network.processor: ");
}

char *sg_grid_coding_text(const struct sg_grid_network *n) {
    const struct sg_processor *known = sg_processor_find(n->processor);
    if (!isnan(n->coding_s))
        return n->coding_s > 0 ? sg_format("Encoding and decoding take %.4g ns for each number of the model "
                                           "(network.coding).",
                                           n->coding_s * 1e9)
                               : sg_format("Encoding and decoding are taken to cost nothing (network.coding is 0).");
    if (known && !known->row)
        return sg_format("Encoding and decoding are taken to cost nothing (network.processor: free).");
    if (known)
        return sg_format(
            "Encoding and decoding take the times of %s (network.processor: %s; %s); compressors without one "
            "are taken as onebit if they send all numbers, else as dgc.",
            known->summary, known->name, known->source);
    return sg_format("Encoding and decoding take the times that were measured in %s (network.processor).",
                     n->processor);
}

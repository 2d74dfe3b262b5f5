/* bench_table.c: the results of the kernel benchmark as a table for a terminal. */
#include <math.h>

#include "sg_bench.h"
#include "sg_table.h"

static const char *output_of(const cJSON *r) {
    const char *reason = sg_json_string(r, "reason", NULL);
    return reason ? reason : sg_json_bool(r, "verified", false) ? "right" : "WRONG";
}

static double either(const cJSON *r, const char *key, const char *other) {
    return sg_json_number(r, key, sg_json_number(r, other, NAN));
}

static bool is_compressor(const cJSON *r) {
    return sg_json_string(r, "compressor", NULL) != NULL;
}

static size_t count_rows(const cJSON *results, bool of_compressors) {
    const cJSON *r;
    size_t count = 0;
    cJSON_ArrayForEach(r, results) count += is_compressor(r) == of_compressors;
    return count;
}

#define LEFT(head, unit, weight)                                                                                       \
    { head, unit, SG_TABLE_LEFT, weight, 0 }
#define RIGHT(head, unit, weight)                                                                                      \
    { head, unit, SG_TABLE_RIGHT, weight, 0 }

static const struct sg_table_column operation_columns[] = {
    LEFT("operation", NULL, SG_TABLE_ALWAYS),
    LEFT("back-end", NULL, SG_TABLE_ALWAYS),
    RIGHT("threads", NULL, 20),
    LEFT("size", NULL, 12),
    RIGHT("n", NULL, 19),
    LEFT("distribution", NULL, 17),
    RIGHT("density", NULL, 18),
    LEFT("cache", NULL, 10),
    RIGHT("k", NULL, 1),
    RIGHT("median", "ms", SG_TABLE_ALWAYS),
    RIGHT("p10", "ms", 2),
    RIGHT("p90", "ms", 2),
    RIGHT("min", "ms", 3),
    RIGHT("bandwidth", "GB/s", 9),
    RIGHT("of add/copy", "median", SG_TABLE_ALWAYS),
    RIGHT("of add/copy", "min", 2),
    RIGHT("of threshold", "median", 3),
    RIGHT("of threshold", "min", 1),
    RIGHT("of libtorch", "median", 3),
    RIGHT("of libtorch", "min", 1),
    RIGHT("index", "bits", 2),
    {"output", NULL, SG_TABLE_WORDS, SG_TABLE_ALWAYS, 0},
};

static void add_operation(sg_table *t, const cJSON *r) {
    const char *operation = sg_json_string(r, "operation", "?"), *encoding = sg_json_string(r, "encoding", NULL);
    if (encoding)
        sg_table_format(t, "%s-%s-%s", operation, encoding, sg_json_string(r, "values", ""));
    else
        sg_table_cell(t, operation, NULL);
    sg_table_cell(t, sg_json_string(r, "back_end", "?"), NULL);
    sg_table_number(t, "%.0f", sg_json_number(r, "threads", NAN));
    sg_table_cell(t, sg_json_string(r, "size", "?"), NULL);
    sg_table_number(t, "%.0f", sg_json_number(r, "n", NAN));
    sg_table_cell(t, sg_json_string(r, "distribution", "?"), NULL);
    sg_table_number(t, "%g", sg_json_number(r, "density", NAN));
    sg_table_cell(t, sg_json_string(r, "cache", "?"), NULL);
    sg_table_number(t, "%.0f", sg_json_number(r, "k", NAN));
    sg_table_number(t, "%.4f", 1e3 * sg_json_number(r, "time_s.median", NAN));
    sg_table_number(t, "%.4f", 1e3 * sg_json_number(r, "time_s.p10", NAN));
    sg_table_number(t, "%.4f", 1e3 * sg_json_number(r, "time_s.p90", NAN));
    sg_table_number(t, "%.4f", 1e3 * sg_json_number(r, "time_s.min", NAN));
    sg_table_number(t, "%.1f", 1e-9 * sg_json_number(r, "bytes_per_s", NAN));
    sg_table_number(t, "%.2f", either(r, "ratio_to_add", "ratio_to_copy"));
    sg_table_number(t, "%.2f", either(r, "ratio_to_add_min", "ratio_to_copy_min"));
    sg_table_number(t, "%.2f", sg_json_number(r, "times_threshold", NAN));
    sg_table_number(t, "%.2f", sg_json_number(r, "times_threshold_min", NAN));
    sg_table_number(t, "%.2f", sg_json_number(r, "times_torch", NAN));
    sg_table_number(t, "%.2f", sg_json_number(r, "times_torch_min", NAN));
    sg_table_number(t, "%.2f", sg_json_number(r, "bits_per_index", NAN));
    sg_table_cell(t, output_of(r), NULL);
}

static const struct sg_table_column compressor_columns[] = {
    LEFT("compressor", NULL, SG_TABLE_ALWAYS),
    LEFT("back-end", NULL, SG_TABLE_ALWAYS),
    RIGHT("threads", NULL, 20),
    RIGHT("workers", NULL, 3),
    LEFT("size", NULL, 19),
    RIGHT("n", NULL, 9),
    LEFT("distribution", NULL, 17),
    RIGHT("density", NULL, 18),
    RIGHT("median", "ms", SG_TABLE_ALWAYS),
    RIGHT("min", "ms", 3),
    RIGHT("decode", "ms", 6),
    RIGHT("of add", NULL, SG_TABLE_ALWAYS),
    RIGHT("of Top-k", NULL, 8),
    RIGHT("samples", NULL, 1),
    RIGHT("entries", NULL, 2),
    RIGHT("bytes", NULL, 4),
    RIGHT("bits per element", NULL, 7),
    RIGHT("of target", NULL, 2),
    RIGHT("layers off", NULL, 2),
    {"output", NULL, SG_TABLE_WORDS, SG_TABLE_ALWAYS, 0},
};

static void add_compressor(sg_table *t, const cJSON *r) {
    const cJSON *samples = sg_json_get(r, "time_s.samples");
    sg_table_cell(t, sg_json_string(r, "compressor", "?"), NULL);
    sg_table_cell(t, sg_json_string(r, "back_end", "?"), NULL);
    sg_table_number(t, "%.0f", sg_json_number(r, "threads", NAN));
    sg_table_number(t, "%.0f", sg_json_number(r, "workers", NAN));
    sg_table_cell(t, sg_json_string(r, "size", "?"), NULL);
    sg_table_number(t, "%.0f", sg_json_number(r, "n", NAN));
    sg_table_cell(t, sg_json_string(r, "distribution", "?"), NULL);
    sg_table_number(t, "%g", sg_json_number(r, "density", NAN));
    sg_table_number(t, "%.4f", 1e3 * sg_json_number(r, "time_s.median", NAN));
    sg_table_number(t, "%.4f", 1e3 * sg_json_number(r, "time_s.min", NAN));
    sg_table_number(t, "%.4f", 1e3 * sg_json_number(r, "decode_s", NAN));
    sg_table_number(t, "%.2f", sg_json_number(r, "times_add", NAN));
    sg_table_number(t, "%.2f", sg_json_number(r, "times_topk", NAN));
    sg_table_number(t, "%.0f", samples ? (double)cJSON_GetArraySize(samples) : NAN);
    sg_table_number(t, "%.0f", sg_json_number(r, "k", NAN));
    sg_table_number(t, "%.0f", sg_json_number(r, "message_bytes", NAN));
    sg_table_number(t, "%.4f", sg_json_number(r, "bits_per_element", NAN));
    sg_table_number(t, "%.3f", sg_json_number(r, "of_target", NAN));
    sg_table_number(t, "%.2f", sg_json_number(r, "layer_factor", NAN));
    sg_table_cell(t, output_of(r), NULL);
}

static sg_status print_rows(FILE *out, const cJSON *results, bool of_compressors, size_t width, struct sg_error *err) {
    const struct sg_table_column *column = of_compressors ? compressor_columns : operation_columns;
    const size_t n = of_compressors ? sizeof compressor_columns / sizeof *compressor_columns
                                    : sizeof operation_columns / sizeof *operation_columns;
    sg_table *t = sg_table_open(column, n);
    const cJSON *r;
    cJSON_ArrayForEach(r, results) {
        if (is_compressor(r) == of_compressors)
            (of_compressors ? add_compressor : add_operation)(t, r);
    }
    const sg_status status = sg_table_write_lines(out, t, &(struct sg_table_lines){.width = width, .mark = "# "}, err);
    sg_table_free(t);
    return status;
}

sg_status sg_bench_table(FILE *out, const cJSON *results, size_t width, struct sg_error *err) {
    static const char note[] = "One worker's step with error feedback: p is formed, the message made, the residual "
                               "kept, and the message added to the sum (decode). Of several rounds all are timed, "
                               "among so many workers in this process. Slow ones have fewer samples. Bytes: of the "
                               "message, encoded as is shortest.";
    sg_status status = SG_OK;
    if (count_rows(results, false) > 0)
        status = print_rows(out, results, false, width, err);
    if (status != SG_OK || count_rows(results, true) == 0)
        return status;
    sg_put_wrapped(out, note, width, "# ", "# ");
    return print_rows(out, results, true, width, err);
}

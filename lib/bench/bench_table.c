/* bench_table.c: the results of the kernel benchmark as a table. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sg_bench.h"

/* A column, and the member of a result that it shows: a text; with a format a number, or the length of an array. */
struct shown {
    const char *head, *unit;
    int weight; /* as in sg_table_column */
    const char *path, *format;
    double scale;      /* 0 = 1 */
    const char *other; /* a member in its place, where the first is not there */
};

static const struct shown operation[] = {
    {"operation", NULL, SG_TABLE_ALWAYS, "operation"},
    {"back-end", NULL, SG_TABLE_ALWAYS, "back_end"},
    {"threads", NULL, 20, "threads", "%.0f"},
    {"size", NULL, 12, "size"},
    {"n", NULL, 19, "n", "%.0f"},
    {"distribution", NULL, 17, "distribution"},
    {"density", NULL, 18, "density", "%g"},
    {"cache", NULL, 10, "cache"},
    {"k", NULL, 1, "k", "%.0f"},
    {"median", "ms", SG_TABLE_ALWAYS, "time_s.median", "%.4f", .scale = 1e3},
    {"p10", "ms", 2, "time_s.p10", "%.4f", .scale = 1e3},
    {"p90", "ms", 2, "time_s.p90", "%.4f", .scale = 1e3},
    {"min", "ms", 3, "time_s.min", "%.4f", .scale = 1e3},
    {"bandwidth", "GB/s", 9, "bytes_per_s", "%.1f", .scale = 1e-9},
    {"of add/copy", "median", SG_TABLE_ALWAYS, "ratio_to_add", "%.2f", .other = "ratio_to_copy"},
    {"of add/copy", "min", 2, "ratio_to_add_min", "%.2f", .other = "ratio_to_copy_min"},
    {"of threshold", "median", 3, "times_threshold", "%.2f"},
    {"of threshold", "min", 1, "times_threshold_min", "%.2f"},
    {"of libtorch", "median", 3, "times_torch", "%.2f"},
    {"of libtorch", "min", 1, "times_torch_min", "%.2f"},
    {"index", "bits", 2, "bits_per_index", "%.2f"},
};

static const struct shown compressor[] = {
    {"compressor", NULL, SG_TABLE_ALWAYS, "compressor"},
    {"back-end", NULL, SG_TABLE_ALWAYS, "back_end"},
    {"threads", NULL, 20, "threads", "%.0f"},
    {"workers", NULL, 3, "workers", "%.0f"},
    {"size", NULL, 19, "size"},
    {"n", NULL, 9, "n", "%.0f"},
    {"distribution", NULL, 17, "distribution"},
    {"density", NULL, 18, "density", "%g"},
    {"median", "ms", SG_TABLE_ALWAYS, "time_s.median", "%.4f", .scale = 1e3},
    {"min", "ms", 3, "time_s.min", "%.4f", .scale = 1e3},
    {"decode", "ms", 6, "decode_s", "%.4f", .scale = 1e3},
    {"of add", NULL, SG_TABLE_ALWAYS, "times_add", "%.2f"},
    {"of Top-k", NULL, 8, "times_topk", "%.2f"},
    {"samples", NULL, 1, "time_s.samples", "%.0f"},
    {"entries", NULL, 2, "k", "%.0f"},
    {"bytes", NULL, 4, "message_bytes", "%.0f"},
    {"bits per element", NULL, 7, "bits_per_element", "%.4f"},
    {"of target", NULL, 2, "of_target", "%.3f"},
    {"layers off", NULL, 2, "layer_factor", "%.2f"},
};

const char sg_bench_note[] = "One worker's step with error feedback: p is formed, the message made, the residual "
                             "kept, and the message added to the sum (decode). Of several rounds all are timed, "
                             "among so many workers in this process. Slow ones have fewer samples. Bytes: of the "
                             "message, encoded as is shortest.";

static double number_of(const cJSON *r, const struct shown *column) {
    const cJSON *item = sg_json_get(r, column->path);
    const double other = column->other ? sg_json_number(r, column->other, NAN) : NAN;
    return (column->scale > 0 ? column->scale : 1) * (cJSON_IsArray(item)    ? (double)cJSON_GetArraySize(item)
                                                      : cJSON_IsNumber(item) ? item->valuedouble
                                                                             : other);
}

/* Adds the text of a result; that of "operation" has the code that it tries. */
static void add_text(sg_table *t, const cJSON *r, const struct shown *column) {
    const char *text = sg_json_string(r, column->path, "?"), *encoding = sg_json_string(r, "encoding", NULL);
    if (encoding && strcmp(column->path, "operation") == 0)
        sg_table_format(t, "%s-%s-%s", text, encoding, sg_json_string(r, "values", ""));
    else
        sg_table_cell(t, text, NULL);
}

static const char *output_of(const cJSON *r) {
    const char *reason = sg_json_string(r, "reason", NULL);
    return reason ? reason : sg_json_bool(r, "verified", false) ? "right" : "WRONG";
}

static void add_row(sg_table *t, const cJSON *r, const struct shown *column, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (column[i].format)
            sg_table_number(t, column[i].format, number_of(r, &column[i]));
        else
            add_text(t, r, &column[i]);
    sg_table_cell(t, output_of(r), NULL);
}

size_t sg_bench_rows(sg_table **out, const cJSON *results, bool of_compressors) {
    const struct shown *column = of_compressors ? compressor : operation;
    const size_t n = of_compressors ? sizeof compressor / sizeof *compressor : sizeof operation / sizeof *operation;
    size_t rows = 0;
    const cJSON *r;
    *out = sg_table_open(NULL, 0);
    for (size_t i = 0; i < n; i++)
        sg_table_column(*out, &(struct sg_table_column){.head = column[i].head,
                                                        .unit = column[i].unit,
                                                        .align = column[i].format ? SG_TABLE_RIGHT : SG_TABLE_LEFT,
                                                        .weight = column[i].weight,
                                                        .names = i == 0});
    sg_table_column(*out,
                    &(struct sg_table_column){.head = "output", .align = SG_TABLE_WORDS, .weight = SG_TABLE_ALWAYS});
    cJSON_ArrayForEach(r, results) {
        if ((sg_json_string(r, "compressor", NULL) != NULL) != of_compressors)
            continue;
        add_row(*out, r, column, n);
        rows++;
    }
    return rows;
}

void sg_bench_table(FILE *out, const cJSON *results, size_t width) {
    for (int compressors = 0; compressors < 2; compressors++) {
        sg_table *t;
        if (sg_bench_rows(&t, results, compressors) > 0) {
            sg_put_wrapped(out, compressors ? sg_bench_note : "", width, "# ", "# ");
            sg_table_write_lines(out, t, &(struct sg_table_lines){.width = width, .mark = "# "});
        }
        sg_table_free(t);
    }
}

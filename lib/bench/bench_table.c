/* bench_table.c: the results of the kernel benchmark as a table for a terminal. */
#include <math.h>

#include "sg_bench.h"

/* "-" for what was not measured. */
static void print_number(FILE *out, int width, const char *format, double x) {
    char text[32] = "-";
    if (!isnan(x))
        snprintf(text, sizeof text, format, x);
    fprintf(out, "  %*s", width, text);
}

static void print_output(FILE *out, const cJSON *r) {
    const char *reason = sg_json_string(r, "reason", NULL);
    fprintf(out, "  %s\n", reason ? reason : sg_json_bool(r, "verified", false) ? "right" : "WRONG");
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

static void print_operations(FILE *out, const cJSON *results) {
    fprintf(
        out,
        "# operation               back-end   threads  size      n          distribution   density  cache    k         "
        "   median       p10       p90       min  bandwidth  of add/copy   of threshold   of libtorch   index   "
        "output\n");
    fprintf(
        out,
        "#                                                                                                            "
        "       ms        ms        ms        ms       GB/s   median   min   median   min    median   min    bits\n");
    const cJSON *r;
    cJSON_ArrayForEach(r, results) {
        if (is_compressor(r))
            continue;
        char name[48];
        const char *operation = sg_json_string(r, "operation", "?"), *encoding = sg_json_string(r, "encoding", NULL);
        if (encoding)
            snprintf(name, sizeof name, "%s-%s-%s", operation, encoding, sg_json_string(r, "values", ""));
        else
            snprintf(name, sizeof name, "%s", operation);
        fprintf(out, "%-24s  %-9s  %7.0f  %-8s  %-9.0f  %-13s  %7g  %-7s", name, sg_json_string(r, "back_end", "?"),
                sg_json_number(r, "threads", NAN), sg_json_string(r, "size", "?"), sg_json_number(r, "n", NAN),
                sg_json_string(r, "distribution", "?"), sg_json_number(r, "density", NAN),
                sg_json_string(r, "cache", "?"));
        print_number(out, -8, "%.0f", sg_json_number(r, "k", NAN));
        print_number(out, 9, "%.4f", 1e3 * sg_json_number(r, "time_s.median", NAN));
        print_number(out, 8, "%.4f", 1e3 * sg_json_number(r, "time_s.p10", NAN));
        print_number(out, 8, "%.4f", 1e3 * sg_json_number(r, "time_s.p90", NAN));
        print_number(out, 8, "%.4f", 1e3 * sg_json_number(r, "time_s.min", NAN));
        print_number(out, 9, "%.1f", 1e-9 * sg_json_number(r, "bytes_per_s", NAN));
        print_number(out, 6, "%.2f", either(r, "ratio_to_add", "ratio_to_copy"));
        print_number(out, 4, "%.2f", either(r, "ratio_to_add_min", "ratio_to_copy_min"));
        print_number(out, 7, "%.2f", sg_json_number(r, "times_threshold", NAN));
        print_number(out, 4, "%.2f", sg_json_number(r, "times_threshold_min", NAN));
        print_number(out, 7, "%.2f", sg_json_number(r, "times_torch", NAN));
        print_number(out, 4, "%.2f", sg_json_number(r, "times_torch_min", NAN));
        print_number(out, 5, "%.2f", sg_json_number(r, "bits_per_index", NAN));
        print_output(out, r);
    }
}

static void print_compressors(FILE *out, const cJSON *results) {
    fprintf(
        out,
        "# One worker's step with error feedback: p is formed, the message made, the residual kept, and the message\n"
        "# added to the sum (decode). Of several rounds all are timed, among so many workers in this process.\n"
        "# Slow ones have fewer samples. Bytes: of the message, encoded as is shortest.\n");
    fprintf(out,
            "# compressor         back-end  threads  workers  size            n          distribution   density   "
            "  median       min    decode   of add   of Top-k  samples    entries       bytes  bits per   of target"
            "  layers off   output\n");
    fprintf(out, "#                                                                                                   "
                 "      ms        ms        ms        1          1                              element           1"
                 "           1\n");
    const cJSON *r;
    cJSON_ArrayForEach(r, results) {
        if (!is_compressor(r))
            continue;
        fprintf(out, "%-19s  %-8s  %7.0f  %7.0f  %-14s  %-9.0f  %-13s  %7g", sg_json_string(r, "compressor", "?"),
                sg_json_string(r, "back_end", "?"), sg_json_number(r, "threads", NAN),
                sg_json_number(r, "workers", NAN), sg_json_string(r, "size", "?"), sg_json_number(r, "n", NAN),
                sg_json_string(r, "distribution", "?"), sg_json_number(r, "density", NAN));
        const cJSON *samples = sg_json_get(r, "time_s.samples");
        print_number(out, 9, "%.4f", 1e3 * sg_json_number(r, "time_s.median", NAN));
        print_number(out, 8, "%.4f", 1e3 * sg_json_number(r, "time_s.min", NAN));
        print_number(out, 8, "%.4f", 1e3 * sg_json_number(r, "decode_s", NAN));
        print_number(out, 7, "%.2f", sg_json_number(r, "times_add", NAN));
        print_number(out, 9, "%.2f", sg_json_number(r, "times_topk", NAN));
        print_number(out, 7, "%.0f", samples ? (double)cJSON_GetArraySize(samples) : NAN);
        print_number(out, 9, "%.0f", sg_json_number(r, "k", NAN));
        print_number(out, 10, "%.0f", sg_json_number(r, "message_bytes", NAN));
        print_number(out, 8, "%.4f", sg_json_number(r, "bits_per_element", NAN));
        print_number(out, 10, "%.3f", sg_json_number(r, "of_target", NAN));
        print_number(out, 10, "%.2f", sg_json_number(r, "layer_factor", NAN));
        print_output(out, r);
    }
}

void sg_bench_table(FILE *out, const cJSON *results) {
    if (count_rows(results, false) > 0)
        print_operations(out, results);
    if (count_rows(results, true) > 0)
        print_compressors(out, results);
}

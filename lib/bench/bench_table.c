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

static double either(const cJSON *r, const char *key, const char *other) {
    return sg_json_number(r, key, sg_json_number(r, other, NAN));
}

void sg_bench_table(FILE *out, const cJSON *results) {
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
        const char *reason = sg_json_string(r, "reason", NULL);
        fprintf(out, "  %s\n", reason ? reason : sg_json_bool(r, "verified", false) ? "right" : "WRONG");
    }
}

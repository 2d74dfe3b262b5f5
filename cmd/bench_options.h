/* bench_options.h: the options of sparsebench. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include "sg_options.h"

extern struct bench_opt {
    const char *output, *html, *color, *network, *part, *sort, *bundle;
    bool force, json, table, compare, dry_run, strict, judge, corrupt, verify, measure_coding, audit;
    int64_t points;
    double time_limit, share;
    struct sg_option_list methods, seeds;
} opt;

extern const struct sg_program program;

#endif

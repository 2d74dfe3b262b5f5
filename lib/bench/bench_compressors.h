/* bench_compressors.h: the section `compressors` of a kernel recipe. */
#ifndef BENCH_COMPRESSORS_H
#define BENCH_COMPRESSORS_H

#include "bench_private.h"

/* How many rows the section asks for; 0 = the recipe has none. */
size_t compressors_total(const struct sg_node *recipe);

/* Adds them to `rows`, of which `done` of `total` are there; *verified becomes false if an output is wrong. */
SG_CHECKED sg_status compressors_run(cJSON *rows, bool *verified, const struct sg_node *recipe,
                                     const struct sg_bench_options *options, size_t done, size_t total,
                                     struct sg_error *err);

#endif

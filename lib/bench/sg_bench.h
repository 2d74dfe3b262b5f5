/* sg_bench.h: the kernel benchmark, recipes of `kind: kernels`.
 *
 * Every combination of threads, size, distribution and density is one case. Of a case, all operations on all back-ends
 * and an in-place `e += g` loop are timed in turn, sample after sample, so that a change of the machine's speed meets
 * all of them alike. Before it is timed, an operation's output is compared with plain C on one thread. */
#ifndef SG_BENCH_H
#define SG_BENCH_H

#include <stdbool.h>
#include <stdio.h>

#include "sg_json.h"
#include "sg_recipe.h"
#include "sg_status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sg_bench_options {
    bool corrupt;      /* spoil every output before it is compared (test of the comparison) */
    int (*stop)(void); /* non-zero = stop; NULL = never */
    void (*begin)(const char *what, size_t done, size_t total); /* before each case; NULL = nothing */
    void (*warn)(const char *text);                             /* NULL = nothing */
};

/* Run them all. *results is the "results" array of sparsebench/1 (see results/README.md), also after
 * SG_ERR_INTERRUPTED: what was finished. *verified is false if any output was wrong. */
SG_CHECKED sg_status sg_bench_run(cJSON **results, bool *verified, const struct sg_recipe *recipe,
                                  const struct sg_bench_options *options, struct sg_error *err);

/* Results as a table, one row each. */
void sg_bench_table(FILE *out, const cJSON *results);

#ifdef __cplusplus
}
#endif
#endif

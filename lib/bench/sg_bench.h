/* sg_bench.h: the kernel benchmark, for recipes of `kind: kernels`.
 *
 * A case is a combination of threads, size, distribution and density. Within a case all operations on all back-ends,
 * and an in-place `e += g` loop, are timed in turn, sample after sample, so that a change of the machine's speed
 * affects all of them alike. Before an operation is timed, its output is compared with plain C on one thread. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_BENCH_H
#define SG_BENCH_H

#include <stdbool.h>
#include <stdio.h>

#include "sg_json.h"
#include "sg_recipe.h"
#include "sg_status.h"
#include "sg_table.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sg_bench_options {
    bool corrupt; /* spoil every output before it is compared (tests the comparison) */
    /* "results" of a run that was interrupted, with this recipe, program and machine: its cases are taken over and not
     * run. NULL = none. Cases of compressors are run again. */
    const cJSON *earlier;
    int (*stop)(void); /* called between samples; non-zero = stop; NULL = never stop */
    void (*begin)(const char *what, size_t done, size_t total); /* called before each case, or NULL */
    void (*warn)(const char *text); /* called with a reason why times are unreliable, or NULL */
};

/* Runs all cases. *results is the "results" array of sparsebench/1 (see results/BENCHMARKS.md); after
 * SG_ERR_INTERRUPTED it holds the finished cases. *verified is false if any output was wrong. */
SG_CHECKED sg_status sg_bench_run(cJSON **results, bool *verified, const struct sg_recipe *recipe,
                                  const struct sg_bench_options *options, struct sg_error *err);

/* "claims" of a recipe, of what sg_bench_run gave, judged in every case that has the operations:
 *   [{"text","descriptive","note","verdict","metric","at","of","sense","bound":{…},"reason",
 *     "cases":[{"case","back_end","value","other","bound","ratio","ratio_q1","ratio_q3","note"}]}].
 * Times are those on the last back-end of the case. `value`, `other` and `bound` are medians. The ratios are median and
 * quartiles of value / bound over the pairs of samples that were timed in turn; a case is true or false if both
 * quartiles say so. The verdict is "holds" if every case is true, "fails" if some case is false, and else "undecided",
 * also if a time is missing; SG_NOT_JUDGED if there is no case. */
cJSON *sg_bench_claims(const struct sg_recipe *recipe, const cJSON *results);

/* The results about operations, or about compressors, as a table with one row each, which the caller frees. Returns how
 * many there are. sg_bench_note says what those of compressors mean. */
size_t sg_bench_rows(sg_table **out, const cJSON *results, bool of_compressors);
extern const char sg_bench_note[];
/* Prints the results as tables with one row each, in lines of at most `width` characters. */
void sg_bench_table(FILE *out, const cJSON *results, size_t width);

#ifdef __cplusplus
}
#endif
#endif

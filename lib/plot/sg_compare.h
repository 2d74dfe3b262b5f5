/* sg_compare.h: what differs between two results of sparsebench, beyond the noise of their seeds. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_COMPARE_H
#define SG_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "sg_document.h"
#include "sg_status.h"

enum sg_difference {
    SG_SAME,         /* every pair is equal */
    SG_WITHIN_NOISE, /* the interval has zero in it */
    SG_BEYOND_NOISE,
    SG_ONE_SEED /* there is one pair, and so no interval */
};

const char *sg_difference_word(enum sg_difference difference); /* "beyond noise" */

/* Two means over n pairs. Student's 95 % interval for the mean of b - a, with normal differences, is `difference` ±
 * `half`. `half` is NaN for one pair. */
struct sg_comparison {
    size_t pairs;
    double a, b, difference, half;
    enum sg_difference verdict;
};

/* a, b [n], n >= 1, finite. */
struct sg_comparison sg_compare_pairs(const double *a, const double *b, size_t n);

/* Compares two documents of sg_plot_parse. *out is a document of schema sparsebench-compare/1 (results/DEFINITIONS.md),
 * which the caller deletes. */
SG_CHECKED sg_status sg_compare(cJSON **out, const struct sg_document *a, const struct sg_document *b,
                                struct sg_error *err);

/* Reads two files and compares them by sg_compare. */
SG_CHECKED sg_status sg_compare_files(cJSON **out, const char *a, const char *b, struct sg_error *err);

/* How many final values differ beyond noise. */
size_t sg_compare_changes(const cJSON *comparison);

/* Prints a comparison as text: the differences, or with `all` every value, and a sentence at the end. Lines have at
 * most `width` characters; 0 = no limit. */
void sg_compare_print(FILE *out, const cJSON *comparison, bool all, size_t width);

#endif

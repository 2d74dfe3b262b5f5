/* sg_verify_report.h: the verdicts on compressors as JSON and as a table, for sparsebench --verify-compressors. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_VERIFY_REPORT_H
#define SG_VERIFY_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "sg_json.h"
#include "sg_status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sg_verify_options {
    const char *const *name; /* [count] compressors */
    size_t count;            /* 0 = all of the table, with those of plug-ins */
    int (*stop)(void);       /* called between compressors; returns the number of a pending signal, 0 = none */
    /* Called before each compressor; may be NULL. */
    void (*begin)(const char *name, size_t done, size_t total);
};

/* Tests the compressors, each in a process of its own. *out is an array, freed by the caller, of
 * {"compressor","passed","ended","properties":[{"property","runs","failed","untested","example"}]}. A property with 0
 * runs does not apply, or "untested" is true because the compressor lacks what the test needs. "example" is the first
 * failure, what is missing, or null. "ended" is null, or how the process ended too early: "killed by signal 11
 * (Segmentation fault)"; then "passed" is false, and properties are those tested so far. *passed: nothing failed.
 * SG_ERR_ARGUMENT, with a suggestion: an unknown name. After SG_ERR_INTERRUPTED *out has the results so far. */
SG_CHECKED sg_status sg_verify_report(cJSON **out, bool *passed, const struct sg_verify_options *options,
                                      struct sg_error *err);

/* Prints that array as text: all properties for a few compressors; for many, those that failed or were not tested.
 * `width`: columns of the terminal; 0 = the output is no terminal. */
void sg_verify_print(FILE *out, const cJSON *results, size_t width);

#ifdef __cplusplus
}
#endif
#endif

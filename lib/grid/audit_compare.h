/* audit_compare.h: the comparison of a run with what it was, private to the audit. */
/* SPDX-License-Identifier: MIT */
#ifndef AUDIT_COMPARE_H
#define AUDIT_COMPARE_H

#include "sg_json.h"
#include "sg_result.h"

enum audit_verdict { AUDIT_SAME, AUDIT_WITHIN, AUDIT_DIFFERS, AUDIT_OTHER_DATA, AUDIT_NOT_RUN, AUDIT_VERDICTS };
extern const char *const audit_word[AUDIT_VERDICTS]; /* "same bits" */

/* What was found so far, and where: the value that differs first, or is farthest off while all are within tolerance. */
struct audit_found {
    enum audit_verdict verdict;
    char path[160]; /* a column, or a path in the result */
    size_t layer;   /* counted from 1; 0 = none */
    double step;    /* NaN = of the whole run */
    double then, now;
    double largest; /* |now - then| as a share of the largest magnitude of the column */
    char message[200];
};

/* `tolerance` as in sg_audit.h; NULL = every bit must come back. */
struct audit_compare {
    const cJSON *tolerance;
    struct audit_found found;
};

/* Compares two runs of one cell, record by record. */
void audit_compare_runs(struct audit_compare *c, const struct sg_run *then, const struct sg_run *now);

#endif

/* audit_tree.h: compares a result with the one that its evidence makes, node by node; private to the audit. */
/* SPDX-License-Identifier: MIT */
#ifndef AUDIT_TREE_H
#define AUDIT_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "sg_json.h"

/* What a document was made again from. What one of them cannot know is in the table of audit_apart.c. */
enum audit_source {
    AUDIT_CELLS = 1,  /* the series of all cells, which are in a bundle */
    AUDIT_FINALS = 2, /* the values of every seed that a result has */
    AUDIT_RUNS = 4,   /* runs of now whose bits must be those of then */
    AUDIT_NEAR = 8    /* runs of now that may be off by a tolerance */
};

/* A comparison. It compares every node of both trees: values, keys that only one of them has, lengths of
 * lists. Objects of a list that have labels are compared by label. */
struct audit_tree {
    enum audit_source source;
    const cJSON *tolerance; /* of AUDIT_NEAR, as in sg_audit.h */
    bool other_program;     /* another program wrote the result: keys of `later` in audit_apart.c are notes */
    bool partial;           /* `now` has some of the labels only: all that follows from others is left out */
    bool without_results;   /* "results" are compared elsewhere */
    bool edited;            /* the recipe has another text now: only numbers of labels that both have are compared */
    cJSON *differences;     /* [{"path","step","then","now"}], at most AUDIT_MOST of them */
    cJSON *notes;           /* paths that the result does not have because its program was older, each once */
    cJSON *seen;            /* the same of those that it has */
    size_t count;           /* of all differences */
    size_t open_claims;     /* claims, and whether the summary, whose values could not be computed again */
    bool open_summary;
    double largest;     /* of what is within the tolerance, as a share of the column's largest magnitude */
    char farthest[160]; /* its path */
};
enum { AUDIT_MOST = 50 };

/* Compares two trees whose place is `path`, "" at the root. */
void audit_tree_compare(struct audit_tree *t, const char *path, const cJSON *then, const cJSON *now);

void audit_tree_free(struct audit_tree *t); /* what it points to */

/* Adds a difference that was found otherwise. then, now: what to show, copied; NULL = absent. */
void audit_tree_differ(struct audit_tree *t, const char *path, const cJSON *then, const cJSON *now);

/* ---- the tables of audit_apart.c ---- */

/* True if the path is at or below this place, "results[].cells[].file": [] stands for any index. */
bool audit_is_at(const char *place, const char *path);
/* True if a document of this source knows the node at the path: else it is not compared. */
bool audit_is_known(enum audit_source source, const char *path);
/* True if the node is one that programs have added since the first published result. */
bool audit_is_later(const char *path);

/* ---- numbers ---- */

/* Two numbers of the same bits; all NaNs are the same. */
bool audit_same_bits(double a, double b);

/* How far a value of this column may be off, as a share of the column's largest magnitude. */
double audit_allowed(const cJSON *tolerance, const char *column);

#endif

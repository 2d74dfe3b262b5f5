/* sg_audit.h: says whether a result follows from its evidence, and runs a random share of its cells again.
 *
 * A result is a function of its recipe, its cells and a few options of the command. So it is made again and compared
 * node by node, but for what is of a machine or a moment (the table in audit_apart.c):
 *   a bundle   (sg_bundle.h) has every cell's series, and all of the result is made from them. Cells are drawn one by
 *              one, and of each all records, layers, constants and the SHA-256 of the final parameters are compared.
 *   a result   alone has the final values of every seed, and claims and plots have others. Means, deviations, claims,
 *              the summary and what the recipe says are made from these. Labels are drawn, with all of their cells; the
 *              new runs make their part of the result, and all of it if all labels are drawn. If one cell of a label
 *              cannot be compared, the others have no verdict.
 *
 * Of tasks without libtorch every bit must come back: their code gives the same bits on any number of threads and
 * ranks, with any instruction set. libtorch chooses its kernels by the processor, and sums in another order end in
 * other last bits, which training makes larger. For tasks with it `tolerance` says how far a value of a column may be
 * from what it was, as a share of the column's largest magnitude; grid_tolerance.c says where the numbers come from.
 * Where a bundle declares a smaller one, that counts. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_AUDIT_H
#define SG_AUDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sg_bundle.h"
#include "sg_grid.h"

#define SG_SCHEMA_AUDIT "sparsebench-audit/1"

/* The tolerance of a kind of task: {"test_accuracy":0.16,…,"other":0.25}; `other` is that of columns that are not
 * named. NULL = every bit must come back. */
cJSON *sg_audit_tolerance_json(const char *task);

struct audit_tree;

/* The evidence, and the cells that were drawn from it. */
struct sg_audit {
    char *path;
    struct sg_bundle bundle; /* n = 0: it is a result */
    struct sg_document result;
    cJSON *tolerance; /* NULL = every bit must come back */
    struct sg_recipe recipe;
    bool edited;           /* the recipe's file has another text than the result had; keys decide about cells */
    struct sg_cell *cells; /* [total] of the recipe; first [all] that the command chose, of these first [drawn] */
    const struct sg_document_cell **then; /* [all] each cell in the result; NULL = it has none that can be run again */
    size_t total, all, drawn;
    size_t claimed, changed; /* finished cells of the result; of these, what the recipe of today does not have */
    double took_s;           /* what the drawn cells took, by the result */
    struct audit_tree *tree; /* what does not follow from the evidence */
};

struct sg_audit_draw {
    double share;                         /* 0 < share <= 1; at least one cell, or label, is drawn */
    uint64_t seed;                        /* of the draw, which it decides together with the evidence */
    const struct sg_option_list *methods; /* only these (sg_grid_choose); NULL or empty = all */
    const char *data_dir;                 /* --data, or NULL */
    const struct sg_option_list *allowed; /* other folders in which the evidence may name files; NULL = none */
};

/* Reads a bundle, which is a folder, or a result, checks it, and draws. With take_bundle, which is taken over also on
 * failure, nothing is read, and `path` is its name in messages. SG_ERR_FORMAT: a bundle is damaged, or it is neither.
 * SG_ERR_MISSING: the recipe of a result is not there. SG_ERR_ARGUMENT: the recipe has mistakes or no such method, or
 * it names a file outside of the working folder, that of the evidence, that of the data, and those allowed. */
SG_CHECKED sg_status sg_audit_open(struct sg_audit *out, const char *path, struct sg_bundle *take_bundle,
                                   const struct sg_audit_draw *draw, struct sg_error *err);
void sg_audit_close(struct sg_audit *audit); /* zeroes it */

/* What of the result does not follow from its evidence: a list as of "differences" below; NULL = all does. */
const cJSON *sg_audit_differences(const struct sg_audit *audit);

/* The verdicts, after cells [drawn] were run into outcomes [drawn], to which columns may be added:
 *   {"file","kind","sha256","name","set","recipe_cells","recipe_edited","program_then","identities_then",
 *    "identities_now","cells","changed","drawn","run_now","earlier","tolerance","same_bits","within","differs",
 *    "other_data","not_run","claims","claims_open","summary_open","differences":[{"path","step","then","now"}],
 *    "differences_count","older":[paths],
 *    "results":[{"label","seed","verdict","path","layer","step","then","now","largest","message"}]}
 * verdict: "same bits", "within tolerance", "differs", "other data" or "not run". The value named is the first that
 * differs, or of "within tolerance" the one that is farthest; `largest` is its distance as a share of the largest
 * magnitude of its column. results/DEFINITIONS.md has the rest. */
SG_CHECKED sg_status sg_audit_judge(cJSON **out, struct sg_audit *audit, struct sg_cell_outcome *outcomes,
                                    struct sg_error *err);

/* Prints audits, an array of what sg_audit_judge made, as a table and a line for each cell that is not the same. */
void sg_audit_print(FILE *out, const cJSON *audits, size_t width);

#endif

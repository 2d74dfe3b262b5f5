/* sg_audit.h: runs a random share of the cells of a result again and says which numbers come back.
 *
 * What a new run is held against depends on what there is:
 *   a bundle   (sg_bundle.h) has every cell's series. Cells are drawn one by one, and of each all records, layers,
 *              constants and the SHA-256 of the final parameters are compared. Before that the result's numbers and
 *              verdicts are computed again from the series of all its cells.
 *   a result   has the final values of every seed, and series as statistics over the seeds. Labels are drawn, with all
 *              of their cells. A cell has the same bits if its final values and its label's statistics have them, and
 *              a trial if the value by which it was judged has them, too; if one cell of a label cannot be compared,
 *              the others have no verdict.
 * Columns that a grid adds to finished runs (the modelled time of a network) are not compared.
 *
 * Of tasks without libtorch every bit must come back: their code gives the same bits on any number of threads and
 * ranks, with any instruction set. libtorch chooses its kernels by the processor, and sums in another order end in
 * other last bits, which training makes larger. For tasks with it `tolerance` says how far a value of a column may be
 * from what it was, as a share of the column's largest magnitude; grid_tolerance.c says where the numbers come from. */
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
 * named. NULL = every bit must come back, or no memory. */
cJSON *sg_audit_tolerance_json(const char *task);

/* The evidence, and the cells that were drawn from it. */
struct sg_audit {
    char *path;
    struct sg_bundle bundle;   /* n = 0: it is a result */
    cJSON *result, *tolerance; /* tolerance NULL = every bit must come back */
    struct sg_recipe recipe;
    bool edited;           /* the recipe's file has another text than the result had; keys decide about cells */
    struct sg_cell *cells; /* [all] of the recipe; those that were drawn come first, [drawn] */
    const cJSON **then;    /* [all] each cell's entry in the result; NULL = it has none that can be run again */
    size_t all, drawn;
    size_t claimed, changed; /* finished cells of the result; of these, what the recipe of today does not have */
    double took_s;           /* what the drawn cells took, by the result */
    cJSON *follows;          /* of a bundle: what does not follow from the series, a list; else NULL */
};

struct sg_audit_draw {
    double share;                         /* 0 < share <= 1; at least one cell, or label, is drawn */
    uint64_t seed;                        /* of the draw, which it decides together with the evidence */
    const struct sg_option_list *methods; /* only these (sg_grid_choose); NULL or empty = all */
};

/* Reads a bundle, which is a folder, or a result, checks it, and draws. With take_bundle, which is taken over also on
 * failure, nothing is read, and `path` is its name in messages. SG_ERR_FORMAT: a bundle is damaged, or it is neither.
 * SG_ERR_MISSING: the recipe of a result is not there. SG_ERR_ARGUMENT: the recipe has mistakes, or no such method. */
SG_CHECKED sg_status sg_audit_open(struct sg_audit *out, const char *path, struct sg_bundle *take_bundle,
                                   const struct sg_audit_draw *draw, struct sg_error *err);
void sg_audit_close(struct sg_audit *audit); /* zeroes it */

/* The verdicts, after cells [drawn] were run into outcomes [drawn]:
 *   {"file","kind","sha256","name","recipe_edited","identities_then","identities_now","cells","changed","drawn",
 *    "tolerance","earlier","same_bits","within","differs","other_data","not_run","follows",
 *    "results":[{"label","seed","verdict","column","statistic","layer","step","then","now","largest","message"}]}
 * verdict: "same bits", "within tolerance", "differs", "other data" or "not run". The value named is the first that
 * differs, or of "within tolerance" the one that is farthest; `largest` is its distance as a share of the largest
 * magnitude of its column. results/DEFINITIONS.md has the rest. */
SG_CHECKED sg_status sg_audit_judge(cJSON **out, const struct sg_audit *audit, const struct sg_cell_outcome *outcomes,
                                    struct sg_error *err);

/* Prints audits, an array of what sg_audit_judge made, as a table and a line for each cell that is not the same. */
SG_CHECKED sg_status sg_audit_print(FILE *out, const cJSON *audits, size_t width, struct sg_error *err);

#endif

/* audit_evidence.h: what the parts of the audit share about its evidence; private to the audit. */
/* SPDX-License-Identifier: MIT */
#ifndef AUDIT_EVIDENCE_H
#define AUDIT_EVIDENCE_H

#include "audit_compare.h"
#include "audit_tree.h"
#include "grid_private.h"
#include "sg_audit.h"

/* chosen [a->total] <- whether the result should have the cell: its command chose it, or it does have it. Of an edited
 * recipe, and of a part, only the latter. */
SG_CHECKED sg_status audit_choose(bool *chosen, const struct sg_audit *a, struct sg_error *err);

/* Reads the series of a cell from a bundle; *file, if not NULL, gets its name there. */
SG_CHECKED sg_status audit_read_cell(struct sg_run *out, const struct sg_audit *a, const struct sg_cell *cell,
                                     const char **file, struct sg_error *err);

/* What became of a cell by the evidence: its series in a bundle, else the values of its seed. *file as above. */
SG_CHECKED sg_status audit_outcome(struct sg_cell_outcome *out, const struct sg_audit *a, size_t cell,
                                   const char **file, struct sg_error *err);

/* The result of these cells [n], with the options of the command that made the first one, but without its program, its
 * command and its machine. series: the outcomes have series, to which columns of modelled time are added. */
SG_CHECKED sg_status audit_document(cJSON **out, const struct sg_audit *a, const struct sg_cell *cells,
                                    struct sg_cell_outcome *outcomes, size_t n, bool series, struct sg_error *err);

/* SG_ERR_ARGUMENT: the path leads out of the folders in which the evidence may name files. `what` is it in messages. */
SG_CHECKED sg_status audit_allow_path(const struct sg_audit *a, const struct sg_audit_draw *draw, const char *what,
                                      const char *path, struct sg_error *err);
/* The same of every file and folder that the recipe names. */
SG_CHECKED sg_status audit_allow_recipe(const struct sg_audit *a, const struct sg_audit_draw *draw,
                                        struct sg_error *err);

#endif

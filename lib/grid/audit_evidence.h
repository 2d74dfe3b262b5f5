/* audit_evidence.h: what the parts of the audit share about its evidence; private to the audit. */
#ifndef AUDIT_EVIDENCE_H
#define AUDIT_EVIDENCE_H

#include "audit_compare.h"
#include "grid_private.h"
#include "sg_audit.h"

/* True if an entry of the cell's label, in a result or a bundle, has its seed and its trial. */
bool audit_is_cell(const cJSON *entry, const struct sg_cell *cell);

/* Reads the series of a cell from a bundle. */
SG_CHECKED sg_status audit_read_cell(struct sg_run *out, const struct sg_audit *a, const struct sg_cell *cell,
                                     struct sg_error *err);

/* Compares the value by which a cell was judged, if it is a trial, with that in its entry of the result. */
void audit_compare_trial(struct audit_compare *c, const struct grid_frame *g, size_t cell, const cJSON *entry);

/* True if the label was not tuned, or its best trial is that of the result. */
bool audit_same_best(const struct grid_frame *g, const struct sg_frame_label *then, const struct sg_frame_label *runs);

/* Fills in the columns of a label of runs, with all points and statistics. False: no memory. */
bool audit_fill_label(struct sg_frame_label *label);

#endif

/* audit_evidence.h: what the parts of the audit share about its evidence; private to the audit. */
#ifndef AUDIT_EVIDENCE_H
#define AUDIT_EVIDENCE_H

#include "sg_audit.h"

/* Reads the series of a cell from a bundle. */
SG_CHECKED sg_status audit_read_cell(struct sg_run *out, const struct sg_audit *a, const char *label, const char *seed,
                                     struct sg_error *err);

/* Fills in the columns of a label of runs, with all points and statistics. False: no memory. */
bool audit_fill_label(struct sg_frame_label *label);

#endif

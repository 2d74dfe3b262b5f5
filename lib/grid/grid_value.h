/* grid_value.h: one number out of a run. Private to lib/grid; the rules are in results/README.md. */
#ifndef GRID_VALUE_H
#define GRID_VALUE_H

#include "sg_grid.h"

enum { SG_WHY_CHARS = 200 };

/* The series or constant `metric` of a finished cell, reduced as `at` says (NULL: the last record). NaN with the reason
 * in `why` when there is no such number; +inf, also with a reason, for a `when` that never comes. Else why is "". */
double sg_grid_value(const struct sg_cell_outcome *outcome, const char *metric, const struct sg_node *at,
                     char why[SG_WHY_CHARS]);

#endif

/* bench_data.h: the arrays of a case. */
#ifndef BENCH_DATA_H
#define BENCH_DATA_H

#include "bench_private.h"

/* Allocates the arrays; the caller draws g. data_close must follow, also after a failure. */
SG_CHECKED sg_status data_open(struct data *d, const struct layers *layers, struct sg_error *err);
void data_close(struct data *d);

/* Sets what depends on g and the density: k, thresholds, positions. */
SG_CHECKED sg_status data_set_density(struct data *d, double density, struct sg_error *err);

/* e <- a residual that looks like g; every compared call starts from it. */
void data_fill_residual(struct data *d);

#endif

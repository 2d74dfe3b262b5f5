/* bench_link.h: sparsebench --measure-link. */
#ifndef BENCH_LINK_H
#define BENCH_LINK_H

/* Measures the link between the first two ranks of a launcher, and prints it on rank 0: as the section `network` of a
 * recipe, or with --json also every time. Returns the exit code. */
int measure_link(void);

#endif

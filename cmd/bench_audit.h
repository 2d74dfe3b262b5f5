/* bench_audit.h: sparsebench --bundle and --audit. */
#ifndef BENCH_AUDIT_H
#define BENCH_AUDIT_H

#include <stddef.h>

/* Both return the code to exit with. path [n] are the operands. */
int make_bundle(const char *const *path, size_t n);
int audit_results(const char *const *path, size_t n, int argc, char **argv, double launched_s);

#endif

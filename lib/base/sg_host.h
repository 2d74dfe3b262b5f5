/* sg_host.h: the memory and the cores that this host, or the control group of this process, still has, and what the
 * process uses of them. Linux only, as /proc and /sys/fs/cgroup tell it. For tests, $SPARSE_HOST_ROOT names a folder
 * that holds `proc` and `sys` in the place of "/". */
/* SPDX-License-Identifier: MIT */
#ifndef SG_HOST_H
#define SG_HOST_H

/* Bytes that processes can still take before the kernel must end one of them: MemAvailable of /proc/meminfo, or less
 * where a control group of this process, or one above it, has a limit (memory.max of version 2, memory.limit_in_bytes
 * of version 1, without the part of its page cache that is easily given up). INFINITY = the host does not tell. */
double sg_memory_available(void);

/* Bytes of memory that this process has now, and the most that it has had; NaN = the host does not tell. */
double sg_memory_resident(void);
double sg_memory_peak(void);

/* "1.25 GB": bytes in SI units with three digits. Returns out. */
char *sg_memory_text(char out[24], double bytes);

/* The cores that this process may use if `processes` like it share the host; at least 1. Its affinity counts, and the
 * quota of its control groups, rounded up (cpu.max of version 2, cpu.cfs_quota_us of version 1). */
int sg_cores(int processes);

/* The threads that a process should begin, if nobody says how many: one for each such core, or fewer where
 * OMP_NUM_THREADS says so. */
int sg_threads(int processes);

#endif

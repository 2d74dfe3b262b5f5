/* sg_host_memory.h: the memory that this host, or the control group of this process, still has, and what the process
 * uses of it. Linux only, as /proc and /sys/fs/cgroup tell it. */
#ifndef SG_HOST_MEMORY_H
#define SG_HOST_MEMORY_H

/* Bytes that processes can still take before the kernel must end one of them: MemAvailable of /proc/meminfo, or less
 * where a control group of this process, or one above it, has a limit (memory.max of version 2, memory.limit_in_bytes
 * of version 1, without the part of its page cache that is easily given up). INFINITY = the host does not tell. For
 * tests, $SPARSE_HOST_ROOT names a folder that holds `proc` and `sys` in the place of "/". */
double sg_memory_available(void);

/* Bytes of memory that this process has now, and the most that it has had; NaN = the host does not tell. */
double sg_memory_resident(void);
double sg_memory_peak(void);

/* "1.25 GB": bytes in SI units with three digits. Returns out. */
char *sg_memory_text(char out[24], double bytes);

#endif

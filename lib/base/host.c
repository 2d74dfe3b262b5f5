/* host.c: reads from /proc and /sys/fs/cgroup how much memory is left and used, and how many cores there are. */
/* SPDX-License-Identifier: MIT */
#include "sg_host.h"

#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sg_memory.h"
#include "sg_text.h"

enum { PATH = 4352 };

/* The number behind `key` in a file of lines "key 123" or "key: 123 kB"; NaN = there is none. An empty key takes the
 * first number of the file. */
static double number_of(const char *path, const char *key) {
    char line[512], unit[8];
    double value = NAN;
    const size_t length = strlen(key);
    FILE *in = fopen(path, "re");
    while (in && isnan(value) && fgets(line, sizeof line, in)) {
        const char *at = line + length;
        if (strncmp(line, key, length) != 0 || (length > 0 && !strchr(" :\t", *at)))
            continue;
        at += strspn(at, ": \t");
        char *end;
        const double found = strtod(at, &end);
        if (end != at && *at != 'm') /* "max" is no limit */
            value = sscanf(end, "%7s", unit) == 1 && strcmp(unit, "kB") == 0 ? 1024 * found : found;
    }
    if (in)
        fclose(in);
    return value;
}

static double number_in(const char *folder, const char *file, const char *key) {
    char path[PATH + 64];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    return number_of(path, key);
}

/* The memory that a control group has left; INFINITY = it has no limit, or is not there. */
static double memory_of(const char *folder, bool second) {
    const double limit = number_in(folder, second ? "memory.max" : "memory.limit_in_bytes", "");
    const double used = number_in(folder, second ? "memory.current" : "memory.usage_in_bytes", "");
    const double cache = number_in(folder, "memory.stat", second ? "inactive_file" : "total_inactive_file");
    return isnan(limit) || isnan(used) ? INFINITY : fmax(0, limit - used + (isnan(cache) ? 0 : cache));
}

/* The cores whose time a control group may use, which need not be a whole number; INFINITY = it has no quota. */
static double cores_of(const char *folder, bool second) {
    char path[PATH + 64];
    double quota = 0, period = 0;
    if (second) { /* "150000 100000", or "max 100000" */
        snprintf(path, sizeof path, "%s/cpu.max", folder);
        FILE *in = fopen(path, "re");
        if (in && fscanf(in, "%lf %lf", &quota, &period) != 2)
            quota = 0;
        if (in)
            fclose(in);
    } else {
        quota = number_in(folder, "cpu.cfs_quota_us", ""); /* -1 = none */
        period = number_in(folder, "cpu.cfs_period_us", "");
    }
    return quota > 0 && period > 0 ? quota / period : INFINITY;
}

/* The least that the group at `path` and those above it allow, up to the root of the mounted tree. In a container the
 * path may be one of the host, and then only the root is there. */
static double least_up(const char *mount, const char *path, bool second,
                       double (*of)(const char *folder, bool second)) {
    char folder[PATH];
    double least = INFINITY;
    if ((size_t)snprintf(folder, sizeof folder, "%s%s", mount, path) >= sizeof folder)
        return least;
    for (size_t end = strlen(folder), top = strlen(mount);; folder[end] = '\0') {
        least = fmin(least, of(folder, second));
        if (end <= top)
            return least;
        while (end > top && folder[--end] != '/')
            ;
    }
}

/* True if a list such as "cpu,cpuacct" has the controller. */
static bool lists(const char *names, const char *controller) {
    const size_t length = strlen(controller);
    for (; *names; names += strcspn(names, ","), names += *names == ',')
        if (strcspn(names, ",") == length && strncmp(names, controller, length) == 0)
            return true;
    return false;
}

static const char *host_root(void) {
    const char *root = getenv("SPARSE_HOST_ROOT");
    return root ? root : "";
}

/* The least that the control groups of this process allow. */
static double least_of_groups(const char *controller, double (*of)(const char *folder, bool second)) {
    char path[PATH], mount[PATH], line[PATH];
    double least = INFINITY;
    snprintf(path, sizeof path, "%.4000s/proc/self/cgroup", host_root());
    FILE *in = fopen(path, "re");
    while (in && fgets(line, sizeof line, in)) { /* "0::/user.slice" or "4:cpu,cpuacct:/jobs/17" */
        char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        group[strcspn(group, "\n")] = '\0';
        const bool second = names[1] == '\0';
        if (!second && !lists(names + 1, controller))
            continue;
        snprintf(mount, sizeof mount, "%.4000s/sys/fs/cgroup%s%s", host_root(), second ? "" : "/",
                 second ? "" : controller);
        least = fmin(least, least_up(mount, strcmp(group, "/") == 0 ? "" : group, second, of));
    }
    if (in)
        fclose(in);
    return least;
}

double sg_memory_available(void) {
    char path[PATH];
    snprintf(path, sizeof path, "%.4000s/proc/meminfo", host_root());
    const double free_bytes = number_of(path, "MemAvailable");
    return fmin(isnan(free_bytes) ? INFINITY : free_bytes, least_of_groups("memory", memory_of));
}

/* A launcher may have bound this process to its share of the cores, or left all cores to every process. */
int sg_cores(int processes) {
    cpu_set_t set;
    const double quota = ceil(least_of_groups("cpu", cores_of)); /* of all processes of the group */
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    long share = (quota < (double)online ? (long)quota : online) / processes;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) < share)
        share = CPU_COUNT(&set);
    return share > 1 ? (int)share : 1;
}

int sg_threads(int processes) {
    const char *wanted = getenv("OMP_NUM_THREADS"); /* "4", or "4,2" for parallel regions within others */
    char first[12];
    int64_t most;
    const int cores = sg_cores(processes);
    snprintf(first, sizeof first, "%.*s", wanted ? (int)strcspn(wanted, ",") : 0, wanted ? wanted : "");
    return sg_parse_integer(&most, first, 1, cores) ? (int)most : cores;
}

double sg_memory_resident(void) {
    return number_of("/proc/self/status", "VmRSS");
}

double sg_memory_peak(void) {
    return number_of("/proc/self/status", "VmHWM");
}

char *sg_memory_text(char out[24], double bytes) {
    static const char *const unit[] = {"bytes", "kB", "MB", "GB", "TB"};
    size_t u = 0;
    for (; bytes >= 999.5 && u + 1 < sizeof unit / sizeof *unit; u++)
        bytes /= 1000;
    snprintf(out, 24, u == 0 ? "%.0f %s" : "%.3g %s", bytes, unit[u]);
    return out;
}

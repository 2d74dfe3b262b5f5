/* host_memory.c: reads from /proc and /sys/fs/cgroup how much memory is left, and how much this process uses. */
#include "sg_host_memory.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* What a control group has left; INFINITY = it has no limit, or is not there. */
static double left_in_group(const char *folder, bool second) {
    const double limit = number_in(folder, second ? "memory.max" : "memory.limit_in_bytes", "");
    const double used = number_in(folder, second ? "memory.current" : "memory.usage_in_bytes", "");
    const double cache = number_in(folder, "memory.stat", second ? "inactive_file" : "total_inactive_file");
    return isnan(limit) || isnan(used) ? INFINITY : fmax(0, limit - used + (isnan(cache) ? 0 : cache));
}

/* The least that the group at `path` and those above it have left, up to the root of the mounted tree. In a container
 * the path may be one of the host, and then only the root is there. */
static double left_in_groups(const char *mount, const char *path, bool second) {
    char folder[PATH];
    double least = INFINITY;
    if ((size_t)snprintf(folder, sizeof folder, "%s%s", mount, path) >= sizeof folder)
        return least;
    for (size_t end = strlen(folder), top = strlen(mount);; folder[end] = '\0') {
        least = fmin(least, left_in_group(folder, second));
        if (end <= top)
            return least;
        while (end > top && folder[--end] != '/')
            ;
    }
}

double sg_memory_available(void) {
    char path[PATH], mount[PATH], line[PATH];
    const char *root = getenv("SPARSE_HOST_ROOT"), *at = root ? root : "";
    snprintf(path, sizeof path, "%.4000s/proc/meminfo", at);
    const double free_bytes = number_of(path, "MemAvailable");
    double least = isnan(free_bytes) ? INFINITY : free_bytes;
    snprintf(path, sizeof path, "%.4000s/proc/self/cgroup", at);
    FILE *in = fopen(path, "re");
    while (in && fgets(line, sizeof line, in)) { /* "0::/user.slice" or "4:memory:/jobs/17" */
        char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        group[strcspn(group, "\n")] = '\0';
        const bool second = names[1] == '\0';
        if (!second && strcmp(names + 1, "memory") != 0)
            continue;
        snprintf(mount, sizeof mount, "%.4000s/sys/fs/cgroup%s", at, second ? "" : "/memory");
        least = fmin(least, left_in_groups(mount, strcmp(group, "/") == 0 ? "" : group, second));
    }
    if (in)
        fclose(in);
    return least;
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

/* kill_behind_rename.c: preloaded, it kills the process right behind its DIE_AT-th rename: a checkpoint got its
 * name. */
/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

int rename(const char *from, const char *to) {
    static long count;
    int (*real)(const char *, const char *);
    *(void **)&real = dlsym(RTLD_NEXT, "rename");
    const int result = real(from, to);
    const char *at = getenv("DIE_AT");
    if (at && ++count == atol(at))
        raise(SIGKILL);
    return result;
}

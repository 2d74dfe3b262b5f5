/* plugin_guard.c: protects the program's results from side effects of loading a shared object: a mode of arithmetic,
 * such as the flushing of small numbers to zero by -ffast-math, a locale, and output on stdout. */
/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sg_memory.h"
#include "recipe_private.h"

enum { FAR = 200 }; /* a descriptor that nobody closes by guessing */

/* True if this thread computes by IEEE 754: it rounds to the nearest, and keeps numbers below 2^-126. */
static bool is_plain(void) {
    volatile float least = 0x1p-130F, third = 3, one = 1;
    volatile double up = 1;
    return least * 0.5F == 0x1p-131F && one / third == 0x1.555556p-2F && up + 0x1p-60 == 1 && up - 0x1p-60 == 1;
}

void plugin_guard_begin(struct plugin_guard *g) {
    const char *locale = setlocale(LC_ALL, NULL);
    g->locale = locale ? sg_strdup(locale) : NULL;
    fegetenv(&g->arithmetic);
    fflush(stdout);
    g->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, FAR);
    if (g->out >= 0)
        dup2(STDERR_FILENO, STDOUT_FILENO);
}

const char *plugin_guard_end(struct plugin_guard *g) {
    const char *locale = setlocale(LC_ALL, NULL), *changed = NULL;
    fflush(stdout);
    if (g->out >= 0) {
        dup2(g->out, STDOUT_FILENO);
        close(g->out);
    }
    if (g->locale && locale && strcmp(locale, g->locale) != 0) {
        changed = "the locale";
        setlocale(LC_ALL, g->locale);
    }
    free(g->locale);
    if (!is_plain())
        changed = "how floats are rounded or small ones kept (compile it without -Ofast and -ffast-math)";
    fesetenv(&g->arithmetic);
    return changed;
}

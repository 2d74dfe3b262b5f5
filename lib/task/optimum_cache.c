/* optimum_cache.c: L and x* of a data set, computed once and kept in caches. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>

#include "sg_cache.h"
#include "sg_debug.h"
#include "sg_memory.h"
#include "sg_optimum.h"

/* The question names what is asked, in which version, about which data, at which l2. */
static struct sg_cache open_cache(const struct sg_optimum_options *o, const char *what, double l2) {
    struct sg_cache cache;
    char question[256];
    SG_ASSERT(o->sha256 && o->threads >= 1);
    snprintf(question, sizeof question, "sparsegrad 1\n%s\n%s\n%a\n", what, o->sha256, l2);
    sg_cache_open(&cache, o->data_dir, what, NULL, question);
    return cache;
}

void sg_optimum_lipschitz(struct sg_logreg_constants *out, const struct sg_matrix *a,
                          const struct sg_optimum_options *o) {
    struct sg_cache cache = open_cache(o, "constants", 0);
    struct sg_logreg_constants c;
    if (!sg_cache_recall(&cache, &c, sizeof c, o->notice)) {
        if (o->progress)
            o->progress("measuring L", 0, 1);
        sg_logreg_measure(&c, a, o->threads);
        sg_cache_keep(&cache, &(struct sg_cache_part){&c, sizeof c}, 1);
    }
    *out = c;
    sg_cache_close(&cache);
}

/* |grad f| falls by about fifteen orders of magnitude. */
struct watch {
    void (*progress)(const char *what, double done, double total);
    double first;
};

static void watch_step(void *arg, int step, double gradient_norm) {
    struct watch *w = arg;
    if (step == 0)
        w->first = gradient_norm;
    if (w->progress)
        w->progress("solving for x*", fmin(15, log10(w->first / gradient_norm)), 15);
}

sg_status sg_optimum_solve(struct sg_optimum *out, const struct sg_matrix *a, double l2,
                           const struct sg_optimum_options *o, struct sg_error *err) {
    struct sg_cache cache = open_cache(o, "optimum", l2);
    struct watch watch = {.progress = o->progress};
    const size_t bytes = (a->d + 2) * sizeof(double); /* x, f(x), |grad f(x)| */
    double *record = sg_malloc(bytes);
    sg_status status = SG_OK;
    if (!sg_cache_recall(&cache, record, bytes, o->notice)) {
        status = sg_logreg_solve(record, record + a->d, record + a->d + 1, a, l2, o->threads, watch_step, &watch, err);
        if (status == SG_OK)
            sg_cache_keep(&cache, &(struct sg_cache_part){record, bytes}, 1);
    }
    if (status == SG_OK)
        *out = (struct sg_optimum){.x = record, .value = record[a->d], .gradient_norm = record[a->d + 1]};
    else
        free(record);
    sg_cache_close(&cache);
    return status;
}

void sg_optimum_free(struct sg_optimum *best) {
    free(best->x);
    *best = (struct sg_optimum){0};
}

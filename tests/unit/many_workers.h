/* many_workers.h: a step of methods that share the workers of a run, as ranks do, for tests of several rounds. */
#ifndef MANY_WORKERS_H
#define MANY_WORKERS_H

#include <stdlib.h>
#include <string.h>

#include "sg_method.h"

enum { MANY_WORKERS = 16, MANY_LAYERS = 16 };

/* Methods part [parts], of which part[i] has count[i] workers. One step's gradients g [workers][d] and residuals e
 * [workers][d] (NULL = none) give the sum [d] and what it cost, *bits. False: something fails, or ranks do not agree. */
static inline bool many_step(sg_method **part, const size_t *count, size_t parts, uint64_t t, double gamma,
                             const float *g, float *e, size_t d, float *sum, double *bits) {
    struct sg_message m[MANY_WORKERS];
    struct sg_error err;
    const struct sg_exec exec = {.threads = 1};
    double square[MANY_LAYERS];
    const bool leads = sg_method_leads(part[0], t, gamma);
    size_t workers = 0;
    bool alike = true;
    if (leads)
        sg_method_lead(part[0], g, square);
    for (size_t p = 0; p < parts; p++)
        sg_method_begin(part[p], t, gamma, leads ? square : NULL);
    const unsigned rounds = sg_method_rounds(part[0]);
    const bool sends = sg_method_sends(part[0]);
    *bits = 0;
    for (unsigned r = 0; r < rounds; r++) {
        const size_t n = sends ? sg_method_length(part[0], r) : d, given = r + 1 == rounds ? d : 0;
        float *theirs = malloc((d + 1) * sizeof *theirs), *first = malloc((d + 1) * sizeof *first);
        workers = 0;
        for (size_t p = 0; p < parts; p++)
            for (size_t i = 0; i < count[p]; i++, workers++) {
                float *own = e ? e + workers * d : NULL;
                if (sg_method_send(part[p], workers, r, r == 0 ? g + workers * d : NULL, own, NULL, &m[workers],
                                   &err) != SG_OK ||
                    m[workers].n != n)
                    return false;
                *bits += m[workers].bits;
            }
        for (size_t p = 0; p < parts; p++) { /* every rank has the sum */
            float *to = p == 0 ? first : theirs;
            memset(to, 0, d * sizeof *to);
            sg_message_add_all(to, n, m, workers, sg_kernels_cpu(NULL), &exec);
            if (sends && sg_method_hears(part[p]))
                sg_method_hear(part[p], m);
            if (sends)
                sg_method_receive(part[p], r, to);
            alike &= memcmp(first, to, given * sizeof *to) == 0;
        }
        memcpy(sum, first, given * sizeof *sum);
        free(theirs);
        free(first);
    }
    for (size_t p = 0, w = 0; p < parts; p++) {
        for (size_t i = 0; sends && i < count[p]; i++, w++)
            sg_method_keep(part[p], w, e ? e + w * d : NULL, sum);
        sg_method_end(part[p], NULL, &(struct sg_spent){0});
    }
    return alike;
}

/* Saves what a checkpoint has of `from`, whose workers are first .. first + count - 1, and loads it into `to`. */
static inline void copy_state(sg_method *to, const sg_method *from, size_t first, size_t count) {
    void *common = malloc(sg_method_common_bytes(from) + 1);
    sg_method_common_save(from, common);
    sg_method_common_load(to, common);
    free(common);
    for (size_t w = first; w < first + count; w++) {
        void *mine = malloc(sg_method_worker_bytes(from, w) + 1);
        sg_method_worker_save(from, w, mine);
        sg_method_worker_load(to, w, mine);
        free(mine);
    }
}

#endif

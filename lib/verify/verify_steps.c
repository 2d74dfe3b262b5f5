/* verify_steps.c: steps of a method with one worker, and of methods that share the workers of a run. */
#include <stdlib.h>
#include <string.h>

#include "sg_verify.h"

sg_status sg_verify_send(sg_method *m, struct sg_verify_at at, const float *g, float *e, struct sg_message *out,
                         struct sg_error *err) {
    sg_method_begin(m, at.step, at.gamma, NULL);
    return sg_method_send(m, at.worker, 0, g, e, at.touched, out, err);
}

/* The messages of all workers in a round, m [workers]; *bits grows by what they cost. Returns the number of workers, or 0. */
static size_t send_all(struct sg_message *m, sg_method **part, const size_t *count, size_t parts, unsigned round,
                       size_t n, const float *g, float *e, size_t d, double *bits) {
    struct sg_error err;
    size_t workers = 0;
    for (size_t p = 0; p < parts; p++)
        for (size_t i = 0; i < count[p]; i++, workers++) {
            float *own = e != NULL ? e + workers * d : NULL;
            if (sg_method_send(part[p], workers, round, round == 0 ? g + workers * d : NULL, own, NULL, &m[workers],
                               &err) != SG_OK ||
                m[workers].n != n)
                return 0;
            *bits += m[workers].bits;
        }
    return workers;
}

bool sg_verify_step(sg_method **part, const size_t *count, size_t parts, uint64_t step, double gamma, const float *g,
                    float *e, size_t d, float *sum, double *bits) {
    struct sg_message m[SG_VERIFY_WORKERS];
    const struct sg_exec exec = {.threads = 1};
    double square[SG_VERIFY_LAYERS];
    const bool leads = sg_method_leads(part[0], step, gamma);
    float *theirs = malloc((d + 1) * sizeof *theirs), *first = malloc((d + 1) * sizeof *first);
    bool alike = theirs != NULL && first != NULL;
    if (leads)
        sg_method_lead(part[0], g, square);
    for (size_t p = 0; p < parts; p++)
        sg_method_begin(part[p], step, gamma, leads ? square : NULL);
    const unsigned rounds = sg_method_rounds(part[0]);
    const bool sends = sg_method_sends(part[0]);
    *bits = 0;
    for (unsigned r = 0; alike && r < rounds; r++) {
        const size_t n = sends ? sg_method_length(part[0], r) : d, given = r + 1 == rounds ? d : 0;
        const size_t workers = send_all(m, part, count, parts, r, n, g, e, d, bits);
        alike = workers > 0;
        for (size_t p = 0; alike && p < parts; p++) { /* every rank has the sum */
            float *to = p == 0 ? first : theirs;
            memset(to, 0, d * sizeof *to);
            sg_message_add_all(to, n, m, workers, sg_kernels_cpu(NULL), &exec);
            if (sends && sg_method_hears(part[p]))
                sg_method_hear(part[p], m);
            if (sends)
                sg_method_receive(part[p], r, to);
            alike = memcmp(first, to, given * sizeof *to) == 0;
        }
        if (alike)
            memcpy(sum, first, given * sizeof *sum);
    }
    for (size_t p = 0, w = 0; alike && p < parts; p++) {
        for (size_t i = 0; sends && i < count[p]; i++, w++)
            sg_method_keep(part[p], w, e != NULL ? e + w * d : NULL, sum);
        sg_method_end(part[p], NULL, &(struct sg_spent){0});
    }
    free(theirs);
    free(first);
    return alike;
}

bool sg_verify_copy_state(sg_method *to, const sg_method *from, size_t first, size_t count) {
    size_t most = sg_method_common_bytes(from);
    for (size_t w = first; w < first + count; w++)
        most = sg_method_worker_bytes(from, w) > most ? sg_method_worker_bytes(from, w) : most;
    void *bytes = malloc(most + 1);
    if (bytes == NULL)
        return false;
    sg_method_common_save(from, bytes);
    sg_method_common_load(to, bytes);
    for (size_t w = first; w < first + count; w++) {
        sg_method_worker_save(from, w, bytes);
        sg_method_worker_load(to, w, bytes);
    }
    free(bytes);
    return true;
}

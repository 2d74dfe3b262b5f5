/* optimum_cache.c: L and x* of a data set, computed once and kept in files with a checksum. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sg_debug.h"
#include "sg_file.h"
#include "sg_optimum.h"

/* A stored result: `count` doubles under a key. On disk the header, then the doubles, in native byte order. */
struct header {
    char magic[8]; /* "SGDOUBL\n" */
    uint64_t count;
    char key[64];
    char check[64]; /* SHA-256 of the doubles */
};

struct stored {
    char *path; /* NULL = it is not kept */
    char key[65];
};

/* The key names the whole question: what is asked, in which version, about which data, at which l2. */
static void stored_open(struct stored *m, const struct sg_optimum_options *o, const char *what, double l2) {
    char question[256];
    int length = snprintf(question, sizeof question, "sparsegrad 1\n%s\n%s\n%a\n", what, o->sha256, l2);
    sg_sha256_of(question, (size_t)length, m->key);
    if (!o->folder || asprintf(&m->path, "%s/%s-%.16s.bin", o->folder, what, m->key) < 0)
        m->path = NULL;
}

/* Is the file of this length the answer to this question, whole and unchanged? */
static bool is_sound(const struct stored *m, const char *file, size_t length, size_t count) {
    struct header h;
    char check[65];
    if (length != sizeof h + count * sizeof(double))
        return false;
    memcpy(&h, file, sizeof h);
    sg_sha256_of(file + sizeof h, length - sizeof h, check);
    return memcmp(h.magic, "SGDOUBL\n", sizeof h.magic) == 0 && h.count == count &&
           memcmp(h.key, m->key, sizeof h.key) == 0 && memcmp(h.check, check, sizeof h.check) == 0;
}

static bool stored_read(const struct stored *m, double *value, size_t count, const struct sg_optimum_options *o) {
    struct sg_error unused;
    char *file = NULL, message[512];
    size_t length = 0;
    sg_status status = SG_ERR_MISSING;
    if (m->path)
        status = sg_file_read_regular(&file, &length, m->path, sizeof(struct header) + count * sizeof *value, &unused);
    const bool good = status == SG_OK && is_sound(m, file, length, count);
    if (good)
        memcpy(value, file + sizeof(struct header), count * sizeof *value);
    else if (status != SG_ERR_MISSING && o->notice) {
        snprintf(message, sizeof message, "%s: damaged: what it holds is computed anew", m->path);
        o->notice(message);
    }
    free(file);
    return good;
}

/* Ignores errors: a file that cannot be written only costs time in the next run. If something else than a file is in
 * its place, such as a named pipe, nothing is written. */
static void stored_write(const struct stored *m, const double *value, size_t count) {
    struct header h = {.count = count};
    struct sg_error unused;
    size_t length = sizeof h + count * sizeof *value;
    char *text = m->path ? malloc(length) : NULL, check[65];
    if (!text)
        return;
    sg_sha256_of(value, count * sizeof *value, check);
    memcpy(h.magic, "SGDOUBL\n", sizeof h.magic);
    memcpy(h.key, m->key, sizeof h.key);
    memcpy(h.check, check, sizeof h.check);
    memcpy(text, &h, sizeof h);
    memcpy(text + sizeof h, value, count * sizeof *value);
    sg_status ignored = sg_file_replace(m->path, text, length, &unused);
    (void)ignored;
    free(text);
}

sg_status sg_optimum_lipschitz(struct sg_logreg_constants *out, const struct sg_matrix *a,
                               const struct sg_optimum_options *o, struct sg_error *err) {
    struct stored m;
    SG_ASSERT(o->sha256 != NULL && o->threads >= 1);
    double value[3];
    sg_status status = SG_OK;
    stored_open(&m, o, "constants", 0);
    if (stored_read(&m, value, 3, o)) {
        *out = (struct sg_logreg_constants){value[0], value[1], value[2]};
    } else {
        if (o->progress)
            o->progress("measuring L", 0, 1);
        status = sg_logreg_measure(out, a, o->threads, err);
        if (status == SG_OK)
            stored_write(&m, (const double[]){out->lipschitz, out->row_mean, out->row_max}, 3);
    }
    free(m.path);
    return status;
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
    struct stored m;
    SG_ASSERT(o->sha256 != NULL && o->threads >= 1);
    struct watch watch = {.progress = o->progress};
    sg_status status = SG_OK;
    double *record = malloc((a->d + 2) * sizeof *record); /* x, f(x), |grad f(x)| */
    if (!record)
        return sg_fail_memory(err, "the optimum");
    stored_open(&m, o, "optimum", l2);
    if (!stored_read(&m, record, a->d + 2, o)) {
        status = sg_logreg_solve(record, record + a->d, record + a->d + 1, a, l2, o->threads, watch_step, &watch, err);
        if (status == SG_OK)
            stored_write(&m, record, a->d + 2);
    }
    if (status == SG_OK)
        *out = (struct sg_optimum){.x = record, .value = record[a->d], .gradient_norm = record[a->d + 1]};
    else
        free(record);
    free(m.path);
    return status;
}

void sg_optimum_free(struct sg_optimum *best) {
    free(best->x);
    *best = (struct sg_optimum){0};
}

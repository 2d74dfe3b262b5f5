/* integer_sum.c: what compressors share whose workers send integers that are added exactly, after they agreed on a
 * scale. */
/* SPDX-License-Identifier: MIT */
#include "sg_compressor_parts.h"

#include <float.h>
#include <math.h>

#include "sg_philox.h"
#include "sg_rng.h"

double sg_integers_most(const struct sg_shared *s) {
    return floor((exp2(s->param[0] - 1) - 1) / (double)s->workers);
}

sg_status sg_integers_open(const struct sg_worker *w, size_t agreed, bool fits, const char *name,
                           struct sg_error *err) {
    const size_t workers = w->shared->workers, d = method_elements(w->shared);
    if (!fits)
        return sg_fail(err, SG_ERR_ARGUMENT, "%s: %g bits are too few for the sum of %zu workers", name,
                       w->shared->param[0], workers);
    return (double)agreed * (double)workers <= (double)d
               ? SG_OK
               : sg_fail(err, SG_ERR_ARGUMENT,
                         "%s: %zu workers agree on %zu numbers, which needs more than %zu parameters", name, workers,
                         agreed, d);
}

size_t sg_integers_bytes(const struct sg_shared *s) {
    const double param[] = {1, 24, 0};
    return sg_code_grid.most_bytes(&(struct sg_numbers){.count = method_elements(s), .parts = 1, .param = param});
}

/* In the code grid: a step of 1, to the nearest. */
static void write_integers(const struct sg_worker *w, size_t count, unsigned bits, struct sg_message *out) {
    const double param[] = {1, bits, 0};
    const struct sg_numbers numbers = {.value = w->value,
                                       .count = count,
                                       .parts = 1,
                                       .part = &count,
                                       .param = param,
                                       .kernels = w->shared->kernels,
                                       .threads = w->shared->exec.threads};
    out->code = &sg_code_grid;
    out->count = count;
    out->data = w->data;
    out->bytes = sg_code_grid.encode(w->data, &numbers, &out->bits);
    out->bits = (double)bits * (double)count;
    out->summed = true;
}

/* Places are not elements of layers. */
static void count_none(const struct sg_worker *w) {
    for (size_t l = 0; l < w->shared->layout.n_layers; l++)
        w->count[l] = 0;
}

void sg_integers_write(const struct sg_worker *w, size_t n, unsigned bits, struct sg_message *out) {
    if (n > 0)
        method_count_all(w);
    else
        count_none(w);
    *out = (struct sg_message){.n = n, .layer_count = w->count};
    write_integers(w, n, bits, out);
}

void sg_integers_agree(const struct sg_worker *w, size_t agreed, unsigned bits, struct sg_message *out) {
    for (size_t i = 0; i < agreed; i++)
        w->index[i] = (uint32_t)(w->number * agreed + i);
    count_none(w);
    method_send_floats(w, w->shared->workers * agreed, agreed, w->index, w->value, 32.0 * (double)agreed, out);
    if (bits > 0)
        write_integers(w, agreed, bits, out);
}

float sg_integers_agreed(const struct sg_shared *s, const float *sum, size_t agreed, size_t i) {
    float largest = sum[i];
    for (size_t w = 1; w < s->workers; w++)
        largest = fmaxf(largest, sum[w * agreed + i]);
    return largest;
}

float sg_integers_value(double x) {
    return (float)fmax(-(double)FLT_MAX, fmin(x, (double)FLT_MAX));
}

void sg_integers_round(const struct sg_worker *w, float *q, const float *p, size_t first, size_t n, double factor,
                       double most) {
    const sg_rng rng = sg_rng_open(w->shared->seed, SG_RNG_COMPRESS, w->number, w->shared->step);
    uint32_t room[SG_PHILOX_ROOM];
    for (size_t at = 0, now; at < n; at += now) {
        now = n - at < SG_PHILOX_PIECE ? n - at : SG_PHILOX_PIECE;
        const uint32_t *draw = sg_philox_draws(room, rng.key, rng.counter, first + at, now);
        for (size_t j = 0; j < now; j++) {
            const double a = fmin(fabs((double)p[at + j]) * factor, most), whole = floor(a);
            const double rounded = fmin(whole + (0x1p-24 * (double)(int32_t)(draw[j] >> 8) < a - whole), most);
            q[at + j] = (float)(p[at + j] < 0 ? -rounded : rounded);
        }
    }
}

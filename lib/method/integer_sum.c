/* integer_sum.c: what compressors share whose workers send integers that are added exactly, after they agreed on a scale. */
#include "method_private.h"

#include <math.h>
#include <stdlib.h>

#include "sg_philox.h"
#include "sg_rng.h"

static const double whole_numbers[] = {1, 0, 0}; /* the code grid's: a step of 1, bits, to the nearest */

static struct sg_numbers numbers_of(const struct sg_worker *w, const double *param, const size_t *count) {
    return (struct sg_numbers){.count = *count,
                               .parts = 1,
                               .part = count,
                               .param = param,
                               .kernels = w->shared->kernels,
                               .threads = w->shared->exec.threads};
}

sg_status sg_integers_open(struct sg_worker *w, size_t agreed, const char *name, struct sg_error *err) {
    const struct sg_layout *layout = &w->shared->layout;
    const size_t layers = layout->n_layers, d = layout->offset[layers];
    const double param[] = {1, 24, 0};
    const struct sg_numbers all = numbers_of(w, param, &d);
    if ((double)agreed * (double)w->shared->workers > (double)d)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "%s: %zu workers agree on %zu numbers, which needs more than %zu parameters", name,
                       w->shared->workers, agreed, d);
    struct sg_integers *room = malloc(sizeof *room + layers * sizeof *room->count + d * sizeof *room->q +
                                      d * sizeof *room->index + sg_code_grid.most_bytes(&all));
    if (room == NULL)
        return sg_fail_memory(err, name);
    room->count = (size_t *)(room + 1);
    room->q = (float *)(room->count + layers);
    room->index = (uint32_t *)(room->q + d);
    room->data = room->index + d;
    w->scratch = room;
    return SG_OK;
}

static void write_integers(const struct sg_worker *w, size_t count, unsigned bits, struct sg_message *out) {
    const struct sg_integers *room = w->scratch;
    const double param[] = {whole_numbers[0], bits, whole_numbers[2]};
    struct sg_numbers numbers = numbers_of(w, param, &count);
    numbers.value = room->q;
    out->code = &sg_code_grid;
    out->count = count;
    out->data = room->data;
    out->bytes = sg_code_grid.encode(room->data, &numbers, &out->bits);
    out->bits = (double)bits * (double)count;
    out->summed = true;
}

void sg_integers_write(const struct sg_worker *w, size_t n, unsigned bits, struct sg_message *out) {
    const struct sg_layout *layout = &w->shared->layout;
    const struct sg_integers *room = w->scratch;
    for (size_t l = 0; l < layout->n_layers; l++)
        room->count[l] = n > 0 ? layout->offset[l + 1] - layout->offset[l] : 0;
    *out = (struct sg_message){.n = n, .layer_count = room->count};
    write_integers(w, n, bits, out);
}

void sg_integers_agree(const struct sg_worker *w, size_t agreed, unsigned bits, struct sg_message *out) {
    const struct sg_integers *room = w->scratch;
    for (size_t i = 0; i < agreed; i++)
        room->index[i] = (uint32_t)(w->number * agreed + i);
    for (size_t l = 0; l < w->shared->layout.n_layers; l++)
        room->count[l] = 0; /* places are not elements of layers */
    *out = (struct sg_message){.n = w->shared->workers * agreed,
                               .count = agreed,
                               .index = room->index,
                               .layer_count = room->count,
                               .code = &sg_code_fp32,
                               .data = room->q,
                               .bytes = agreed * sizeof *room->q,
                               .bits = 32.0 * (double)agreed};
    if (bits > 0)
        write_integers(w, agreed, bits, out);
}

float sg_integers_agreed(const struct sg_shared *s, const float *sum, size_t agreed, size_t i) {
    float largest = sum[i];
    for (size_t w = 1; w < s->workers; w++)
        largest = fmaxf(largest, sum[w * agreed + i]);
    return largest;
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

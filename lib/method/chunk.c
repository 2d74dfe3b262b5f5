/* chunk.c: layers that are cut into chunks, and means over the workers that sent a number. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sg_compressor_parts.h"

static size_t divisor(size_t n, size_t most) {
    size_t found = 1;
    for (size_t i = 2; i <= most && i <= n; i++)
        found = n % i == 0 ? i : found;
    return found;
}

struct method_chunks method_chunks_of(const struct sg_shared *s, size_t l, size_t most) {
    const size_t begin = s->layout.offset[l], n = s->layout.offset[l + 1] - begin;
    const size_t rows = method_rows(s, l), columns = n / rows;
    struct method_chunks c = {
        .begin = begin, .columns = columns, .height = divisor(rows, most), .width = divisor(columns, most)};
    c.across = columns / c.width;
    c.chunks = n / (c.height * c.width);
    return c;
}

size_t method_chunk_at(const struct method_chunks *c, size_t chunk) {
    return c->begin + chunk / c->across * c->height * c->columns + chunk % c->across * c->width;
}

/* Takes the k largest |x| of n, of equal ones the first, by ascending position: index <- begin + i. Returns k. */
static size_t take_largest(uint32_t *index, float *value, const float *x, size_t n, size_t k, size_t begin) {
    struct sg_largest of = sg_largest_of(x, n, k);
    size_t taken = 0;
    for (size_t i = 0; i < n; i++) {
        if (!sg_is_largest(&of, x[i]))
            continue;
        index[taken] = (uint32_t)(begin + i);
        value[taken++] = x[i];
    }
    return taken;
}

size_t method_take_chunks(struct sg_worker *w, const float *p, size_t most, method_chunk_fn *numbers,
                          double *positions) {
    const struct sg_shared *s = w->shared;
    size_t count = 0;
    *positions = 0;
    for (size_t l = 0; l < s->layout.n_layers; l++) {
        const struct method_chunks c = method_chunks_of(s, l, most);
        const size_t n = c.height * c.width, before = count, k = s->knob[l] < (double)n ? (size_t)s->knob[l] : n;
        for (size_t chunk = 0; chunk < c.chunks; chunk++) {
            float x[METHOD_CHUNK * METHOD_CHUNK];
            numbers(x, s, &c, chunk, p);
            count += take_largest(w->index + count, w->value + count, x, n, k, c.begin + chunk * n);
        }
        w->count[l] = count - before;
        *positions += ceil(log2((double)n)) * (double)w->count[l];
    }
    return count;
}

void method_count_senders(const struct sg_shared *s, uint32_t *senders) {
    memset(senders, 0, s->layout.offset[s->layout.n_layers] * sizeof *senders);
    for (size_t w = 0; w < s->workers; w++)
        for (size_t j = 0; j < s->heard[w].count; j++)
            senders[method_position(&s->heard[w], j)]++;
}

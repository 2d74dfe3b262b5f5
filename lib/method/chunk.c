/* chunk.c: layers that are cut into chunks, and means over the workers that sent a number. */
#include <string.h>

#include "method_private.h"

static size_t divisor(size_t n, size_t most) {
    size_t found = 1;
    for (size_t i = 2; i <= most && i <= n; i++)
        found = n % i == 0 ? i : found;
    return found;
}

struct method_chunks method_chunks_of(const struct sg_shared *s, size_t l, size_t most) {
    const size_t begin = s->layout.offset[l], n = s->layout.offset[l + 1] - begin;
    const size_t rows = s->layout.rows != NULL && n > 0 ? s->layout.rows[l] : 1, columns = n / rows;
    struct method_chunks c = {
        .begin = begin, .columns = columns, .height = divisor(rows, most), .width = divisor(columns, most)};
    c.across = columns / c.width;
    c.chunks = n / (c.height * c.width);
    return c;
}

size_t method_chunk_at(const struct method_chunks *c, size_t chunk) {
    return c->begin + chunk / c->across * c->height * c->columns + chunk % c->across * c->width;
}

size_t method_take_largest(uint32_t *index, float *value, const float *x, size_t n, size_t k, size_t begin) {
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

void method_count_senders(const struct sg_shared *s, uint32_t *senders) {
    memset(senders, 0, s->layout.offset[s->layout.n_layers] * sizeof *senders);
    for (size_t w = 0; w < s->workers; w++)
        for (size_t j = 0; j < s->heard[w].count; j++)
            senders[method_position(&s->heard[w], j)]++;
}

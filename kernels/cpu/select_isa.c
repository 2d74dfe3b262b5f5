/* select_isa.c: the kernels of sg_kernels.h but Top-k and sums. Compiled once per instruction set. kernels/LADDER.md
 * says what each version changed and gave. */
/* SPDX-License-Identifier: MIT */
#include "select_scan.h"

#include <stdlib.h>

/* ---- pieces --------------------------------------------------------------------------------------------------- */

bool pieces_open(struct pieces *out, const struct sg_select *s) {
    SG_ASSERT(s->exec->threads >= 1 && !s->exec->device);
    SG_ASSERT(sg_are_offsets(s->offset, s->n_layers) && (uint64_t)s->offset[s->n_layers] <= (uint64_t)UINT32_MAX + 1);
    SG_ASSERT(!s->e || s->g + s->offset[s->n_layers] <= s->e || s->e + s->offset[s->n_layers] <= s->g);
    size_t count = 0;
    for (size_t l = 0; l < s->n_layers; l++)
        count += (s->offset[l + 1] - s->offset[l] + PIECE - 1) / PIECE;
    out->piece = count <= LOCAL_PIECES ? out->local : malloc(count * sizeof *out->piece);
    if (!out->piece)
        return false;
    struct scan_piece *p = out->piece;
    for (size_t l = 0; l < s->n_layers; l++)
        for (size_t at = s->offset[l], end = s->offset[l + 1]; at < end; at += PIECE)
            *p++ = (struct scan_piece){.layer = l, .begin = at, .end = end - at < PIECE ? end : at + PIECE};
    SG_ASSERT(p == out->piece + count);
    out->count = count;
    out->threads = s->offset[s->n_layers] > PIECE ? s->exec->threads : 1;
    return true;
}

void pieces_close(struct pieces *p) {
    if (p->piece != p->local)
        free(p->piece);
}

size_t first_nonfinite(const struct pieces *p, size_t n_layers) {
    for (size_t i = 0; i < p->count; i++)
        if (!p->piece[i].finite)
            return p->piece[i].layer;
    return n_layers;
}

/* ---- hard threshold ------------------------------------------------------------------------------------------- */

__attribute__((always_inline)) static inline void threshold_scan(struct scan_piece *p, const struct sg_select *s,
                                                                 enum source source, struct found *found,
                                                                 int32_t floor) {
    const size_t whole = p->end - (p->end - p->begin) % SCAN;
    bool finite = true;
    for (size_t at = p->begin; at < whole; at += CHUNK)
        finite &= scan_chunk(found, s, source, at, whole - at < CHUNK ? whole - at : CHUNK, floor, floor);
    finite &= scan_part(found, s, source, whole, p->end - whole, floor, floor);
    p->finite = finite;
}

/* Found entries go to `out` in the output arrays. */
static void threshold_piece(struct scan_piece *p, const struct sg_select *s, const float *tau, size_t out) {
    SG_ASSERT(tau[p->layer] >= 0);
    struct found found = {.index = s->index + out, .value = s->value + out};
    const int32_t floor = magnitude(tau[p->layer]);
    if (s->e)
        threshold_scan(p, s, FROM_BOTH, &found, floor);
    else
        threshold_scan(p, s, FROM_GRADIENT, &found, floor);
    p->count = found.count;
    SG_ASSERT(p->count <= p->end - p->begin);
}

struct threshold {
    const struct sg_select *s;
    const float *tau;
};

static void threshold_apart(struct scan_piece *p, const void *arg) {
    const struct threshold *t = arg;
    threshold_piece(p, t->s, t->tau, p->begin);
}

/* One thread writes each piece's entries behind the last one's; several write them in their own room, to be moved. */
static int select_threshold(const struct sg_select *s, const float *tau) {
    struct pieces pieces;
    if (!pieces_open(&pieces, s))
        return SG_KERNEL_MEMORY;
    const bool apart = pieces.threads > 1;
    if (apart)
        for_pieces(&pieces, 0, pieces.count, threshold_apart, &(struct threshold){s, tau});
    size_t sent = 0;
    for (size_t l = 0; l < s->n_layers; l++)
        s->count[l] = 0;
    for (size_t i = 0; i < pieces.count; i++) {
        struct scan_piece *p = &pieces.piece[i];
        if (apart)
            move_entries(s, sent, p->begin, p->count);
        else
            threshold_piece(p, s, tau, sent);
        s->count[p->layer] += p->count;
        sent += p->count;
    }
    const size_t bad = first_nonfinite(&pieces, s->n_layers);
    SG_ASSERT(bad < s->n_layers || sg_ascending_below(s->index, sent, s->offset[s->n_layers]));
    SG_TRACE(3, "%zu of %zu elements reach the threshold", sent, s->offset[s->n_layers]);
    pieces_close(&pieces);
    return bad < s->n_layers ? nonfinite(s, bad) : SG_KERNEL_OK;
}

/* ---- given positions, everything ------------------------------------------------------------------------------ */

struct positions {
    const struct sg_select *s;
    const uint32_t *position;
    size_t total;
};

/* p of the piece's positions, block by block: a position is looked at while its block is in the cache. */
static void positions_piece(struct scan_piece *piece, const void *arg) {
    const struct positions *q = arg;
    const struct sg_select *s = q->s;
    size_t j = first_at_least(q->position, q->total, piece->begin);
    piece->finite = true;
    for (size_t at = piece->begin; at < piece->end; at += SCAN) {
        float buffer[SCAN];
        const float *p;
        const size_t n = piece->end - at < SCAN ? piece->end - at : SCAN;
        prefetch_block(s, first_source(s), at);
        if (form(&p, buffer, s, first_source(s), at, n) >= FLT_INF_BITS)
            piece->finite = false;
        for (; j < q->total && q->position[j] < at + n; j++) {
            s->value[j] = p[q->position[j] - at];
            if (s->index != q->position) /* else other threads are searching it */
                s->index[j] = q->position[j];
            if (s->e)
                s->e[q->position[j]] = 0;
        }
    }
}

static int select_positions(const struct sg_select *s, const uint32_t *position) {
    struct pieces pieces;
    struct positions q = {.s = s, .position = position};
    if (!pieces_open(&pieces, s))
        return SG_KERNEL_MEMORY;
    for (size_t l = 0; l < s->n_layers; l++)
        q.total += s->count[l];
    SG_ASSERT(sg_ascending_below(position, q.total, s->offset[s->n_layers]));
    for_pieces(&pieces, 0, pieces.count, positions_piece, &q);
    const size_t bad = first_nonfinite(&pieces, s->n_layers);
    pieces_close(&pieces);
    return bad < s->n_layers ? nonfinite(s, bad) : SG_KERNEL_OK;
}

/* All p of a block into value, nothing kept. Returns the largest magnitude. */
static int32_t send_block(const struct sg_select *s, size_t at, size_t n) {
    SG_ASSERT(s->e && at + n <= s->offset[s->n_layers]);
    const float decay = s->decay, scale = s->scale;
    const float *restrict g = s->g + at;
    float *restrict value = s->value + at, *restrict e = s->e + at;
    int32_t max = 0;
    for (size_t i = 0; i < n; i++) {
        const float p = decay * e[i] + scale * g[i];
        value[i] = p;
        e[i] = 0;
        max = larger(max, magnitude(p));
    }
    return max;
}

static void all_piece(struct scan_piece *piece, const void *arg) {
    const struct sg_select *s = arg;
    const size_t n = piece->end - piece->begin;
    const float *p;
    const int32_t max =
        s->e ? send_block(s, piece->begin, n) : form(&p, s->value + piece->begin, s, FROM_GRADIENT, piece->begin, n);
    piece->finite = max < FLT_INF_BITS;
}

static int select_all(const struct sg_select *s) {
    struct pieces pieces;
    if (!pieces_open(&pieces, s))
        return SG_KERNEL_MEMORY;
    for_pieces(&pieces, 0, pieces.count, all_piece, s);
    const size_t bad = first_nonfinite(&pieces, s->n_layers);
    pieces_close(&pieces);
    for (size_t l = 0; l < s->n_layers; l++)
        s->count[l] = s->offset[l + 1] - s->offset[l];
    return bad < s->n_layers ? nonfinite(s, bad) : SG_KERNEL_OK;
}

static void sum_squares_later(const struct sg_exec *exec, const float *x, size_t n, double *sum) {
    *sum = ISA_NAME(sum_squares_)(exec, x, n);
}

static void update(const struct sg_exec *exec, const struct sg_update *u) {
    cpu_update(exec, u, &ISA_NAME(sg_products_));
}

const struct sg_kernels ISA_NAME(sg_kernels_table_) = {
    .name = ISA_STRING,
    .allocate = cpu_allocate,
    .release = cpu_release,
    .zero = cpu_zero,
    .put = cpu_put,
    .get = cpu_get,
    .select_threshold = select_threshold,
    .select_topk = ISA_NAME(select_topk_),
    .select_positions = select_positions,
    .select_all = select_all,
    .scatter_add = ISA_NAME(scatter_add_),
    .sum_squares = ISA_NAME(sum_squares_),
    .scatter_add_messages = ISA_NAME(scatter_add_messages_),
    .add_messages = ISA_NAME(scatter_add_messages_),
    .max_abs = ISA_NAME(max_abs_),
    .dot_shifted = cpu_dot_shifted,
    .running_mean = cpu_running_mean,
    .mix = cpu_mix,
    .add_quotient = cpu_add_quotient,
    .copy = cpu_copy,
    .zero_at = cpu_zero_at,
    .keep_mask = ISA_NAME(keep_mask_),
    .has_optimizer = cpu_has_optimizer,
    .update = update,
    .sum_squares_later = sum_squares_later,
    .get_later = cpu_get_later,
    .wait = cpu_wait,
    .loops = &ISA_NAME(sg_code_kernels_),
    .dense = &ISA_NAME(sg_dense_table_),
    .products = &ISA_NAME(sg_products_),
};

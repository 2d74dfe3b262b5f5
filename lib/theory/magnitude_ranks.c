/* magnitude_ranks.c: the exact k-th largest magnitude of all numbers of a run, in two passes and bounded memory. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "sg_debug.h"
#include "sg_half.h"
#include "sg_magnitude_ranks.h"
#include "sg_memory.h"

enum { COARSE_BITS = 15, FINE_BITS = 16, COARSE = 1 << COARSE_BITS, FINE = 1 << FINE_BITS };

/* One coarse bin, entry by entry. */
struct refined {
    uint32_t bin;
    uint64_t count[FINE];
};

struct rank {
    uint64_t k;
    const struct refined *kept, *lost; /* the bins of A_(k) and A_(k+1); NULL = there is no such element */
};

struct sg_magnitudes {
    uint64_t count[COARSE], total;
    double squares[COARSE];
    struct refined **refined; /* [n_refined] */
    size_t n_refined;
    struct refined *of_bin[COARSE]; /* NULL = no rank lies in this bin */
    struct rank *rank;              /* [n_ranks] */
    size_t n_ranks;
};

static uint32_t magnitude_bits(float x) {
    return sg_float_bits(x) & 0x7fffffff;
}

static double magnitude_of(uint32_t bin, uint32_t fine) {
    return (double)sg_float_of_bits(bin << FINE_BITS | fine);
}

void sg_magnitudes_open(sg_magnitudes **out) {
    *out = sg_calloc(1, sizeof **out);
}

void sg_magnitudes_close(sg_magnitudes *m) {
    for (size_t i = 0; m && i < m->n_refined; i++)
        free(m->refined[i]);
    if (m) {
        free(m->refined);
        free(m->rank);
    }
    free(m);
}

void sg_magnitudes_count(sg_magnitudes *m, const float *x, size_t n) {
    SG_ASSERT(!m->rank && sg_all_finite(x, n));
    for (size_t i = 0; i < n; i++) {
        const uint32_t bin = magnitude_bits(x[i]) >> FINE_BITS;
        m->count[bin]++;
        m->squares[bin] += (double)x[i] * (double)x[i];
    }
    m->total += n;
}

uint64_t sg_magnitudes_total(const sg_magnitudes *m) {
    return m->total;
}

/* *out <- the bin of A_(k), which the second pass is to count; NULL if k = 0 or k > N. */
static void look_into(const struct refined **out, sg_magnitudes *m, uint64_t k) {
    uint64_t above = 0;
    uint32_t bin = COARSE;
    *out = NULL;
    if (k == 0 || k > m->total)
        return;
    while (above < k)
        above += m->count[--bin];
    if (!m->of_bin[bin]) {
        struct refined *r = sg_calloc(1, sizeof *r);
        r->bin = bin;
        m->refined[m->n_refined++] = m->of_bin[bin] = r;
    }
    *out = m->of_bin[bin];
}

sg_status sg_magnitudes_ask(sg_magnitudes *m, const uint64_t *k, size_t n_ranks, struct sg_error *err) {
    SG_ASSERT(!m->rank);
    m->rank = sg_calloc(n_ranks + 1, sizeof *m->rank);
    m->refined = sg_calloc(2 * n_ranks + 1, sizeof *m->refined);
    for (size_t i = 0; i < n_ranks; i++) {
        struct rank *r = &m->rank[m->n_ranks++];
        r->k = k[i];
        if (k[i] > m->total)
            return sg_fail(err, SG_ERR_ARGUMENT, "the %llu-th largest of %llu entries", (unsigned long long)k[i],
                           (unsigned long long)m->total);
        look_into(&r->kept, m, k[i]);
        look_into(&r->lost, m, k[i] + 1);
    }
    return SG_OK;
}

void sg_magnitudes_refine(sg_magnitudes *m, const float *x, size_t n) {
    SG_ASSERT(m->rank);
    for (size_t i = 0; i < n; i++) {
        const uint32_t bits = magnitude_bits(x[i]);
        struct refined *r = m->of_bin[bits >> FINE_BITS];
        if (r)
            r->count[bits & (FINE - 1)]++;
    }
}

/* Returns A_(k), which lies in bin r. *lost <- the sum of A_(i)^2 over i > k, in r and all bins below. */
static double value_at(const sg_magnitudes *m, const struct refined *r, uint64_t k, double *lost) {
    SG_ASSERT(k >= 1 && k <= m->total);
    uint64_t above = 0;
    double below = 0;
    for (uint32_t bin = COARSE; --bin > r->bin;)
        above += m->count[bin];
    uint32_t fine = FINE;
    while (above < k)
        above += r->count[--fine];
    SG_ASSERT(r->count[fine] > 0 && above >= k);
    const double value = magnitude_of(r->bin, fine);
    for (uint32_t bin = 0; bin < r->bin; bin++)
        below += m->squares[bin];
    for (uint32_t f = 0; f < fine; f++) {
        const double v = magnitude_of(r->bin, f);
        below += (double)r->count[f] * v * v;
    }
    *lost = below + (double)(above - k) * value * value; /* elements equal to A_(k) with i > k are lost too */
    return value;
}

struct sg_magnitude_rank sg_magnitudes_rank(const sg_magnitudes *m, size_t i) {
    SG_ASSERT(i < m->n_ranks);
    const struct rank *r = &m->rank[i];
    struct sg_magnitude_rank out = {.k = r->k, .kept_last = INFINITY};
    double unused;
    if (r->kept)
        out.kept_last = value_at(m, r->kept, r->k, &out.lost);
    else
        for (uint32_t bin = 0; bin < COARSE; bin++)
            out.lost += m->squares[bin];
    if (r->lost)
        out.lost_most = value_at(m, r->lost, r->k + 1, &unused);
    else
        out.lost = 0;
    SG_ASSERT(out.kept_last >= out.lost_most);
    return out;
}

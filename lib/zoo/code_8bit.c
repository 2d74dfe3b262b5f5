/* code_8bit.c: numbers as a sign and the nearest of 128 fractions of their part's largest magnitude (8-bit
 * approximation with a dynamic tree, Dettmers, ICLR 2016).
 *
 * Six decades share the fractions, and the decade from 10^(j-6) on has 2^j cells of equal width in its first half, from
 * 1 to 4.5, and as many in its second, from 4.5 to 10. A fraction is the middle of a cell. There is one more before the
 * first, and one behind the last. No fraction is 0, so a part is 0 only as a whole.
 *
 * The layout is that of sg_wire_buckets.h. The setting is 8, and the scalar of a part its largest magnitude. A field
 * has 7 bits for the number of the fraction, and above them 1 if the number is below 0. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "sg_wire_buckets.h"
#include "zoo_private.h"

enum { BITS = 8, FRACTIONS = SG_RANKS, DECADES = 6 };

/* The fractions, ascending, and which of them stands for a number: what every message needs, so it is made once.
 *
 * The middle of two fractions belongs to the lower one. A place is a stretch of numbers whose doubles have the same
 * exponent and the same first bits behind it, and holds one such middle at most. */
static struct tree {
    double fraction[FRACTIONS];
    struct sg_ranks ranks;
} tree;

static void make_fractions(double *fraction) {
    static const double decade[DECADES] = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1};
    size_t at = 0;
    fraction[at++] = 1.5e-6;
    for (unsigned j = 0; j < DECADES; j++)
        for (unsigned half = 0; half < 2; half++)
            for (unsigned cell = 0; cell < 1U << j; cell++) {
                const double begin = half ? 4.5 : 1, width = (half ? 5.5 : 3.5) / (1U << j);
                fraction[at++] = decade[j] * (begin + width * (cell + 0.5));
            }
    fraction[at++] = 0.99570298;
    SG_ASSERT(at == FRACTIONS);
}

static void make_ranks(struct sg_ranks *r) {
    for (uint32_t place = 0, below = 0; place < SG_RANK_PLACES; place++) {
        while (r->edge[below] < sg_rank_place_begin(place))
            below++;
        SG_ASSERT(place + 1 == SG_RANK_PLACES || r->edge[below + 1] >= sg_rank_place_begin(place + 1));
        r->below[place] = below;
    }
}

__attribute__((constructor)) static void make_tree(void) {
    make_fractions(tree.fraction);
    for (size_t i = 0; i < FRACTIONS; i++)
        tree.ranks.edge[i] = i + 1 < FRACTIONS ? (tree.fraction[i] + tree.fraction[i + 1]) / 2 : INFINITY;
    make_ranks(&tree.ranks);
}

static void measure(float *scalar, const float *x, size_t count, const struct wire_part *p,
                    const struct sg_numbers *n) {
    (void)p;
    *scalar = n->kernels->max_abs(&(struct sg_exec){.threads = 1}, x, count);
}

static void write_fractions(const struct sg_code_kernels *kernels, uint32_t *field, const float *x, size_t count,
                            const float *scalar, uint32_t setting, const uint32_t *draw) {
    (void)setting, (void)draw;
    if (*scalar > 0)
        kernels->write_ranks(field, x, count, *scalar, &tree.ranks, BITS);
    else
        memset(field, 0, count * sizeof *field);
}

static void read_fractions(const struct sg_code_kernels *kernels, float *out, const uint32_t *field, size_t count,
                           const float *scalar, uint32_t setting) {
    (void)setting;
    kernels->read_ranks(out, field, count, *scalar, tree.fraction, BITS);
}

static const struct wire_buckets fractions = {
    .layout = {.scalars = 1, .least_setting = BITS, .most_setting = BITS},
    .measure = measure,
    .write = write_fractions,
    .read = read_fractions,
};
WIRE_BUCKETS_FUNCTIONS(fractions)

const struct sg_code sg_code_8bit = {
    .name = "8bit",
    .summary = "8 bits: a sign and one of 128 fractions of the layer's largest (Dettmers)",
    .number = 35,
    WIRE_BUCKETS_CODE(fractions),
};

/* code_quantile.c: numbers as the mean of the 64th of their bucket that they are in (SketchML, Jiang et al., SIGMOD
 * 2018, as GRACE has it: without sketches of positions, by exact quantiles).
 *
 * The edges of a bucket of c numbers are its quantiles k / 64, k = 1 .. 63: with the numbers in ascending order, that
 * at the place (c - 1) k / 64, between two of them linearly. A number is in bin k if k edges are not above it.
 *
 * The layout is that of sg_wire_buckets.h. The setting is 6, the scalars of a bucket are the means of its bins, 0 for
 * an empty one, and a field is the bin. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "sg_half.h"
#include "sg_wire_buckets.h"
#include "zoo_private.h"

enum { BUCKET, PARAMS };
enum { FIELD_BITS = 6, BINS = 1 << FIELD_BITS, MOST_BUCKET = 16384 };

static size_t bucket_of(const struct sg_numbers *n) {
    return (size_t)n->param[BUCKET];
}

static void read_bins(const struct sg_code_kernels *kernels, float *out, const uint32_t *field, size_t count,
                      const float *scalar, uint32_t setting) {
    (void)kernels, (void)setting;
    for (size_t j = 0; j < count; j++)
        out[j] = scalar[field[j]];
}

static bool valid_means(const float *scalar, uint32_t setting) {
    uint32_t wrong = 0;
    (void)setting;
    for (size_t k = 0; k < BINS; k++)
        wrong |= isfinite(scalar[k]) ? 0 : 1U;
    return !wrong;
}

static int ascending(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* edge [BINS - 1] of the numbers x [count], which ascend. */
static void find_edges(double *edge, const float *x, size_t count) {
    for (size_t k = 1; k < BINS; k++) {
        const size_t place = (count - 1) * k, at = place / BINS;
        const double low = (double)x[at], high = (double)x[at + 1 < count ? at + 1 : at];
        edge[k - 1] = low + (high - low) * ((double)(place % BINS) / BINS);
    }
}

static uint32_t bin_of(double x, const double *edge) {
    uint32_t bin = 0;
    for (uint32_t step = BINS / 2; step > 0; step /= 2)
        bin += (uint32_t)(x >= edge[bin + step - 1]) * step;
    return bin;
}

static void write_bucket(uint8_t *scalars, struct wire_packer *packer, const float *x, size_t count) {
    float sorted[MOST_BUCKET];
    double edge[BINS], sum[BINS] = {0};
    size_t members[BINS] = {0};
    memcpy(sorted, x, count * sizeof *x);
    qsort(sorted, count, sizeof *sorted, ascending);
    find_edges(edge, sorted, count);
    for (size_t j = 0; j < count; j++) {
        const uint32_t bin = bin_of((double)sorted[j], edge);
        sum[bin] += (double)sorted[j];
        members[bin]++;
        wire_pack(packer, bin_of((double)x[j], edge), FIELD_BITS);
    }
    for (size_t k = 0; k < BINS; k++)
        wire_store32(scalars + 4 * k, sg_float_bits(members[k] > 0 ? (float)(sum[k] / (double)members[k]) : 0));
}

static void write_buckets(uint8_t *data, const struct sg_numbers *n, const struct wire_part *p, size_t begin,
                          size_t end) {
    struct wire_packer packer = {.out = data + p->at + begin * p->bits / 8};
    for (size_t at = begin; at < end; at += p->bucket)
        write_bucket(data + p->scalar_at + 4 * BINS * (at / p->bucket), &packer, n->value + p->first + at,
                     end - at < p->bucket ? end - at : p->bucket);
    wire_pack_flush(&packer);
}

static const struct wire_buckets quantile = {
    .layout = {.scalars = BINS, .least_setting = FIELD_BITS, .most_setting = FIELD_BITS},
    .bucket = bucket_of,
    .write_stretch = write_buckets,
    .read = read_bins,
    .valid_scalars = valid_means,
};
WIRE_BUCKETS_FUNCTIONS(quantile)

const struct sg_parameter sg_code_quantile_params[PARAMS] = {
    [BUCKET] = {"bucket", 1, MOST_BUCKET, 4096, true, "neighbours that share 64 means of 32 bits"},
};

const struct sg_code sg_code_quantile = {
    .name = "sketch-quantile",
    .summary = "6 bits: the mean of one of 64 quantile bins of a bucket (SketchML)",
    .number = 40,
    .params = sg_code_quantile_params,
    .n_params = PARAMS,
    .most_bytes = quantile_most,
    .encode = quantile_encode,
    .decode = quantile_decode,
    .cut = quantile_cut,
    .valid = quantile_valid, /* without a layout: bins stay as they are */
};

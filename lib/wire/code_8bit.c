/* code_8bit.c: numbers as a sign and the nearest of 128 fractions of their part's largest magnitude (8-bit approximation
 * with a dynamic tree, Dettmers, ICLR 2016).
 *
 * Six decades share the fractions, and the decade from 10^(j-6) on has 2^j cells of equal width in its first half, from 1
 * to 4.5, and as many in its second, from 4.5 to 10. A fraction is the middle of a cell. There is one more before the
 * first, and one behind the last. No fraction is 0, so a part is 0 only as a whole.
 *
 * GRACE takes the same fractions as the bounds of 127 bins, and reads a number back as the lower bound of its bin. It
 * gives the number of the bin the sign, so that what is in bin 0 becomes 0. What is outside all bins is NaN there, of
 * which it makes an integer without a defined value; here it is in the nearest bin.
 *
 * The layout is that of wire_buckets.h. The setting is 8, or 9 for GRACE's bins, and the scalar of a part its largest
 * magnitude. A field has 7 bits for the number of the fraction, and above them 1 if the number is below 0. */
#include <math.h>

#include "sg_half.h"
#include "wire_buckets.h"

enum { BITS = 8, BINS, FRACTIONS = 128, DECADES = 6 }; /* the settings, and more */

static unsigned bits_of(uint32_t setting) {
    (void)setting;
    return BITS;
}

static uint32_t setting_of(const struct sg_numbers *n, size_t part) {
    (void)part;
    return n->param[0] > 0 ? BINS : BITS;
}

/* fraction [FRACTIONS], ascending */
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

static void measure(float *scalar, const float *x, size_t count, size_t part, const struct sg_numbers *n) {
    (void)part;
    *scalar = n->kernels->max_abs(&(struct sg_exec){.threads = 1}, x, count);
}

/* Between two fractions, the middle belongs to the lower one; in a bin, its end to the next one but for the last. */
static void write_fractions(uint32_t *field, const float *x, size_t count, const float *scalar, uint32_t setting,
                            const uint32_t *draw, const struct sg_numbers *n) {
    double fraction[FRACTIONS], largest[FRACTIONS]; /* that the fraction stands for */
    (void)draw, (void)n;
    make_fractions(fraction);
    for (size_t i = 0; i + 1 < FRACTIONS; i++)
        largest[i] = setting == BITS     ? (fraction[i] + fraction[i + 1]) / 2
                     : i + 2 < FRACTIONS ? nextafter(fraction[i + 1], 0)
                                         : INFINITY;
    for (size_t j = 0; j < count; j++) {
        const double a = *scalar > 0 ? fabs((double)x[j]) / (double)*scalar : 0;
        uint32_t at = 0;
        for (uint32_t step = FRACTIONS / 2; step > 0; step /= 2)
            at += (uint32_t)(a > largest[at + step - 1]) * step;
        field[j] = at | (uint32_t)(*scalar > 0 && x[j] < 0) << (BITS - 1);
    }
}

static void read_fractions(float *out, const uint32_t *field, size_t count, const float *scalar, uint32_t setting) {
    double fraction[FRACTIONS];
    make_fractions(fraction);
    fraction[0] = setting == BINS ? 0 : fraction[0];
    for (size_t j = 0; j < count; j++) {
        const float magnitude = (float)((double)*scalar * fraction[field[j] % FRACTIONS]);
        out[j] = field[j] / FRACTIONS ? -magnitude : magnitude;
    }
}

static bool valid_scalar(const float *scalar, uint32_t setting) {
    (void)setting;
    return isfinite(*scalar) && !signbit(*scalar);
}

static bool valid_fields(const uint32_t *field, size_t count, uint32_t setting) {
    (void)field, (void)count, (void)setting;
    return true;
}

static const struct wire_buckets tree = {
    .layout = {.scalars = 1, .least_setting = BITS, .most_setting = BINS, .bits = bits_of},
    .setting = setting_of,
    .measure = measure,
    .write = write_fractions,
    .read = read_fractions,
    .valid_scalars = valid_scalar,
    .valid_fields = valid_fields,
};
WIRE_BUCKETS_FUNCTIONS(tree, tree)

const struct sg_parameter sg_code_8bit_params[1] = {
    SG_QUIRK_PARAMETER("none|grace", 1, "grace: as GRACE, which takes the lower fraction, and 0 for the first"),
};

const struct sg_code sg_code_8bit = {
    .name = "8bit",
    .summary = "8 bits a value: a sign and one of 128 fractions of the layer's largest magnitude (Dettmers)",
    .number = 35,
    .params = sg_code_8bit_params,
    .n_params = 1,
    .most_bytes = tree_most,
    .encode = tree_encode,
    .decode = tree_decode,
    .valid = tree_valid,
};

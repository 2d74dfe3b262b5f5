/* released_coders.c: numbers as released code rounds them, or factors and integers as it makes them, where it departs
 * from its publication. What is read back is written as floats, and costs what the released format would. */
/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <math.h>
#include <string.h>

#include "released.h"
#include "sg_half.h"
#include "sg_philox.h"
#include "sg_wire_buckets.h"

/* out <- the numbers w->value of all elements. */
static void send_values(const struct sg_worker *w, double bits, struct sg_message *out) {
    const size_t d = method_count_all(w);
    method_send_floats(w, d, d, NULL, w->value, bits, out);
}

/* ---- ATOMO's version of QSGD ----
 *
 * With a number of a units, its level is floor(a), and one more with the probability 1 - (a - floor(a)). A number that
 * is not 0 but far below the unit becomes a unit that way, and one of s units always s + 1, which its packing reads
 * back as 0. */

enum { LEVELS, BUCKET, MAX_NORM };

static void round_bucket(float *to, const float *x, size_t n, float unit, uint32_t levels, const uint32_t *draw) {
    for (size_t j = 0; j < n; j++) {
        const float a = unit > 0 ? fminf(fabsf(x[j]) / unit, (float)levels) : 0, part = (a - floorf(a)) * 0x1p24F;
        const uint32_t level = (uint32_t)a + ((float)(draw[j] >> 8) > part);
        const bool lost = x[j] == 0 || level > levels;
        to[j] = lost ? 0 : copysignf((float)level * unit, x[j]);
    }
}

void released_encode_atomo_qsgd(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    const struct sg_shared *s = w->shared;
    const sg_rng rng = sg_rng_open(s->seed, SG_RNG_CODE, w->number, s->step);
    const size_t bucket = (size_t)s->param[BUCKET];
    uint32_t room[SG_PHILOX_ROOM];
    double bits = 0;
    (void)round;
    for (size_t l = 0; l < s->layout.n_layers; l++) {
        const uint32_t levels = (uint32_t)s->knob[l];
        for (size_t at = s->layout.offset[l], end = s->layout.offset[l + 1], n; at < end; at += n) {
            n = end - at < bucket ? end - at : bucket;
            const double norm = s->param[MAX_NORM] > 0 ? (double)s->kernels->max_abs(&s->exec, p + at, n)
                                                       : sqrt(s->kernels->sum_squares(&s->exec, p + at, n));
            const float unit = wire_unit(norm, levels);
            for (size_t j = 0, some; j < n; j += some) {
                some = n - j < SG_PHILOX_PIECE ? n - j : SG_PHILOX_PIECE;
                round_bucket(w->value + at + j, p + at + j, some, unit, levels,
                             sg_philox_draws(room, rng.key, rng.counter, at + j, some));
            }
            bits += 32 + (double)n * (1 + ceil(log2(levels + 1.0)));
        }
    }
    send_values(w, bits, out);
}

/* ---- GRACE's 8 bits ----
 *
 * Dettmers' fractions are the bounds of 127 bins, and a number is read back as the lower bound of its bin; what is in
 * bin 0 becomes 0. What is outside all bins is NaN there, of which it makes an integer without a defined value; here it
 * is in the nearest bin. */

enum { FRACTIONS = 128, DECADES = 6 };

static void make_fractions(double fraction[FRACTIONS]) {
    static const double decade[DECADES] = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1};
    size_t at = 0;
    fraction[at++] = 0; /* which the first bin stands for */
    for (unsigned j = 0; j < DECADES; j++)
        for (unsigned cell = 0; cell < 2U << j; cell++) {
            const double begin = cell >> j ? 4.5 : 1, width = (cell >> j ? 5.5 : 3.5) / (1U << j);
            fraction[at++] = decade[j] * (begin + width * ((cell & ((1U << j) - 1)) + 0.5));
        }
    fraction[at++] = 0.99570298;
    SG_ASSERT(at == FRACTIONS);
}

void released_encode_u8bit(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    const struct sg_shared *s = w->shared;
    double fraction[FRACTIONS], bits = 0;
    (void)round;
    make_fractions(fraction);
    for (size_t l = 0; l < s->layout.n_layers; l++) {
        const size_t begin = s->layout.offset[l], end = s->layout.offset[l + 1];
        const double norm = (double)s->kernels->max_abs(&s->exec, p + begin, end - begin);
        for (size_t i = begin; i < end; i++) {
            const double a = norm > 0 ? fabs((double)p[i]) / norm : 0;
            size_t bin = 0;
            while (bin + 2 < FRACTIONS && a >= fraction[bin + 1])
                bin++;
            w->value[i] = copysignf((float)(norm * fraction[bin]), p[i]);
        }
        bits += 8 * (double)(end - begin) + (end > begin ? 32 : 0);
    }
    send_values(w, bits, out);
}

/* ---- GRACE's INCEPTIONN ----
 *
 * The exponent of x alone sets the bits. With t = 2^trunc(log10(bound / 2)) and m = 2^(half of that power, rounded up),
 * |x| becomes x itself from 1 on, floor(2^14 |x|) / 2^14 in 16 bits from m on, floor(2^6 |x|) / 2^6 in 8 bits from t
 * on, and 0 below. A quotient of 0 is read back as half of the least one, 2^-15 or 2^-7. */

void released_encode_inceptionn(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    const struct sg_layout *layout = &w->shared->layout;
    const int least = (int)(log(w->shared->param[0] * w->unit / 2) / log(10)), middle = least - (least - 1) / 2;
    double bits = 0;
    (void)round;
    for (size_t i = 0; i < layout->offset[layout->n_layers]; i++) {
        const int exponent = (int)(sg_float_bits(p[i]) >> 23 & 255) - 127;
        const int shift = exponent >= middle ? 14 : 6;
        const float quotient = floorf(ldexpf(fabsf(p[i]), shift));
        w->value[i] = exponent >= 0      ? p[i]
                      : exponent < least ? 0
                                         : copysignf(ldexpf(quotient > 0 ? quotient : 0.5F, -shift), p[i]);
        bits += 2 + (exponent >= 0 ? 32 : exponent >= middle ? 16 : exponent >= least ? 8 : 0);
    }
    send_values(w, bits, out);
}

/* ---- ATOMO ----
 *
 * Released code takes probabilities of r |x| / sum |x|, or 1 if that is more, of which less than r are expected. It
 * draws all of them again until any triplet is chosen (the authors), or exactly r are (the PowerSGD authors' version,
 * which stops with an error after TRIES; here the last draws count). */

enum { TRIES = 1001 };

static size_t choose_again(const struct sg_worker *w, size_t layer, struct sg_triplets *x, sg_rng *rng, double *scale,
                           bool exact) {
    const double knob = fmax(1, floor(w->shared->knob[layer]));
    const size_t rank = knob < (double)x->m ? (size_t)knob : x->m;
    double sum = 0;
    for (size_t i = 0; i < x->m; i++) {
        float *size = &x->size[x->order[i]];
        *size = *size < 0x1p-40F * x->size[x->order[0]] ? 0 : *size;
        sum += (double)*size;
    }
    const double level = sum > 0 ? sum / (double)rank : (double)INFINITY;
    for (size_t try = 0; sum > 0 && try + 1 < TRIES; try++) {
        sg_rng ahead = *rng;
        size_t chosen = 0;
        for (size_t i = 0; i < x->m; i++)
            chosen += (double)(sg_rng_u32(&ahead) >> 8) * 0x1p-24 < fmin(1, (double)x->size[x->order[i]] / level);
        if (exact ? chosen == rank : chosen > 0)
            break;
        *rng = ahead;
    }
    return sg_triplets_draw(x, level, rng, scale);
}

static size_t choose_any(const struct sg_worker *w, size_t layer, struct sg_triplets *x, sg_rng *rng, double *scale) {
    return choose_again(w, layer, x, rng, scale, false);
}

static size_t choose_exactly(const struct sg_worker *w, size_t layer, struct sg_triplets *x, sg_rng *rng,
                             double *scale) {
    return choose_again(w, layer, x, rng, scale, true);
}

void released_encode_atomo(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    (void)round;
    sg_triplets_encode(w, p, out, choose_any, true);
}

void released_encode_epfml(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    (void)round;
    sg_triplets_encode(w, p, out, choose_exactly, true);
}

/* ---- PowerSGD, where GRACE for PyTorch begins every step with an orthonormal basis of a new random Q ---- */

enum { RANK, LEAST };

/* As the publication's compressor begins. Streams are numbered: 0 is that of the first Q. */
static void draw_q(const struct sg_shared *s, uint64_t number) {
    float *q = s->memory; /* of one layer behind that of another */
    sg_rng rng = sg_rng_open(s->seed, SG_RNG_START, 0, number);
    for (size_t l = 0; l < s->layout.n_layers; l++) {
        const size_t begin = s->layout.offset[l], n = s->layout.offset[l + 1] - begin;
        const size_t rows = s->layout.rows != NULL && n > 0 ? s->layout.rows[l] : 1, columns = n / rows;
        size_t rank = (size_t)fmax(1, s->knob[l]);
        rank = rank < rows ? rank : rows;
        rank = rank < columns ? rank : columns;
        if (rows < 2 || columns < 2 || s->param[LEAST] * (double)(rank * (rows + columns)) >= (double)n)
            rank = 0;
        for (size_t i = 0; i < n; i++) { /* a number for each element, whatever the rank */
            const float x = (float)sg_rng_normal(&rng);
            if (i < rank * columns)
                q[i] = x;
        }
        if (rank > 0)
            sg_orthonormalize(q, rank, columns);
        q += rank * columns;
    }
}

static void start_new(const struct sg_shared *s) {
    draw_q(s, 0);
}

static void combine_new(const struct sg_shared *s, unsigned round, float *sum) {
    sg_compress_powersgd.rounds->combine(s, round, sum);
    if (round == 1)
        draw_q(s, s->step + 1);
}

const struct sg_rounds *released_new_q(void) {
    static struct sg_rounds rounds;
    rounds = *sg_compress_powersgd.rounds;
    rounds.start = start_new;
    rounds.combine = combine_new;
    return &rounds;
}

/* ---- the reducer HINT of IntSGD's code, which stands for SwitchML there ----
 *
 * Its exponent E is smaller by one than SwitchML's. So q of numbers from 2^E on is too large and is clamped, to
 * floor(L / P) or to -floor((L + 1) / P). Bits are at most 24 here, so that floats hold every sum. Memory: E of each
 * block. */

enum { BITS, BLOCK };

static size_t blocks_of(const struct sg_shared *s) {
    size_t n = 0;
    for (size_t l = 0; l < s->layout.n_layers; l++)
        n += wire_bucket_count(s->layout.offset[l + 1] - s->layout.offset[l], (size_t)s->param[BLOCK]);
    return n;
}

static size_t length(const struct sg_shared *s, unsigned round) {
    return round == 0 ? s->workers * blocks_of(s) : s->layout.offset[s->layout.n_layers];
}

/* Calls `each` for every block of x. */
static void for_blocks(const struct sg_shared *s, float *to, const float *x,
                       void (*each)(const struct sg_shared *s, size_t block, float *to, const float *x, size_t n)) {
    size_t block = 0;
    for (size_t l = 0; l < s->layout.n_layers; l++)
        for (size_t at = s->layout.offset[l], end = s->layout.offset[l + 1], n; at < end; at += n) {
            n = end - at < (size_t)s->param[BLOCK] ? end - at : (size_t)s->param[BLOCK];
            each(s, block++, to + at, x + at, n);
        }
}

static double scale_of(const struct sg_shared *s, size_t block) {
    return (exp2(s->param[BITS] - 1) - 1) / (double)s->workers * exp2(-(double)s->memory[block]);
}

static double unit_of(const struct sg_shared *s, float p, double scale) {
    const double q = floor(fabs((double)p) * scale + 0.5), largest = exp2(s->param[BITS] - 1);
    return p < 0 ? -fmin(q, floor(largest / (double)s->workers)) : fmin(q, floor((largest - 1) / (double)s->workers));
}

static float value_of(double q, double scale) {
    return (float)fmax(-(double)FLT_MAX, fmin(q / scale, (double)FLT_MAX));
}

static void to_units(const struct sg_shared *s, size_t block, float *to, const float *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        to[i] = (float)unit_of(s, x[i], scale_of(s, block));
}

static void from_units(const struct sg_shared *s, size_t block, float *to, const float *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        to[i] = value_of((double)x[i], scale_of(s, block));
}

static void take_away(const struct sg_shared *s, size_t block, float *to, const float *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        to[i] -= value_of(unit_of(s, x[i], scale_of(s, block)), scale_of(s, block));
}

/* The exponents are found by the publication's compressor. */
void released_encode_hint(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    if (round == 0) {
        sg_compress_switchml.encode(w, round, p, out);
        return;
    }
    for_blocks(w->shared, w->value, p, to_units);
    sg_integers_write(w, length(w->shared, round), (unsigned)w->shared->param[BITS], out);
}

static void combine_hint(const struct sg_shared *s, unsigned round, float *sum) {
    for (size_t i = 0; round == 0 && i < blocks_of(s); i++)
        s->memory[i] = sg_integers_agreed(s, sum, blocks_of(s), i);
    if (round == 1)
        for_blocks(s, sum, sum, from_units);
}

static void keep_hint(struct sg_worker *w, float *e, const float *sum) {
    (void)sum;
    for_blocks(w->shared, e, e, take_away);
}

sg_status released_check_hint(const double *param, size_t d, struct sg_error *err) {
    (void)d;
    return param[BITS] <= 24 ? SG_OK : sg_fail(err, SG_ERR_ARGUMENT, "'bits' is %g: at most 24", param[BITS]);
}

const struct sg_rounds released_hint = {
    .count = 2, .length = length, .floats = method_elements, .combine = combine_hint, .keep = keep_hint};

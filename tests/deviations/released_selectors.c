/* released_selectors.c: elements as released code selects them where it departs from its publication. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "released.h"

static bool is_density(const struct sg_worker *w) {
    return sg_share_knob(w->shared->param) == SG_SHARE_DENSITY;
}

/* ---- GRACE's versions of deep gradient compression ----
 *
 * They sample floor(n / 100) numbers, drawn one by one, and send all that reach the threshold:
 *
 *             compares   too many            too few             rounds
 *     grace   >=         t * 1.3 > 1.3 k     t * 0.7 < 0.7 k     10
 *     tf      >          t * 1.25 > 1.25 k   t * 0.9 < 0.8 k     20, and t * 0.8 if none is above in the end */

enum { SAMPLE = SG_SHARE_PARAMS, REPAIRS = 10 };

/* The least of the top largest of `samples` numbers that are drawn one by one; `tried` [samples] is room. */
static float sampled(float *tried, const float *x, size_t n, size_t samples, size_t top, sg_rng *rng) {
    for (size_t i = 0; i < samples; i++)
        tried[i] = x[sg_rng_below(rng, n)];
    return sg_kth_magnitude(tried, samples, 1, top);
}

/* How many are above t, or at least t; writes their positions. */
static size_t write_reaching(const float *x, size_t n, float t, bool above, size_t begin, uint32_t *to) {
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        const float a = fabsf(x[i]);
        to[found] = (uint32_t)(begin + i);
        found += above ? a > t : a >= t;
    }
    return found;
}

/* The draws of the sample are put where the positions will be, which are as large. There is room for one more. */
static size_t choose_sampled(const struct sg_worker *w, size_t layer, const float *x, size_t n, size_t begin,
                             sg_rng *rng, uint32_t *to, bool tf) {
    const double knob = w->shared->knob[layer], all = (double)n;
    const double share = is_density(w) ? knob : knob / all, aim = tf ? fmax(1, floor(all * share)) : all * share;
    const double samples = fmax(1, floor(all * w->shared->param[SAMPLE]));
    const double top = fmin(samples, fmax(1, floor(all * share * w->shared->param[SAMPLE])));
    const double high = tf ? 1.25 : 1.3, low = tf ? 0.8 : 0.7;
    const float raise = tf ? 1.25F : 1.3F, lower = tf ? 0.9F : 0.7F;
    float t = sampled((float *)to, x, n, (size_t)samples, (size_t)top, rng);
    size_t found = write_reaching(x, n, t, tf, begin, to);
    for (size_t i = 0; i < (tf ? 2 : 1) * (size_t)REPAIRS; i++) {
        if ((double)found <= high * aim && (double)found >= low * aim)
            break;
        t *= (double)found > high * aim ? raise : lower;
        found = write_reaching(x, n, t, tf, begin, to);
    }
    return tf && found == 0 ? write_reaching(x, n, 0.8F * t, tf, begin, to) : found;
}

static size_t choose_grace(const struct sg_worker *w, size_t layer, const float *x, size_t n, size_t begin, sg_rng *rng,
                           uint32_t *to) {
    return choose_sampled(w, layer, x, n, begin, rng, to, false);
}

static size_t choose_tf(const struct sg_worker *w, size_t layer, const float *x, size_t n, size_t begin, sg_rng *rng,
                        uint32_t *to) {
    return choose_sampled(w, layer, x, n, begin, rng, to, true);
}

int released_select_dgc_grace(struct sg_worker *w, struct sg_select *s) {
    return sg_positions_select(w, s, choose_grace);
}

int released_select_dgc_tf(struct sg_worker *w, struct sg_select *s) {
    return sg_positions_select(w, s, choose_tf);
}

/* ---- random positions that are drawn one by one: GRACE for torch.distributed, and GraVAC ----
 *
 * GraVAC never draws the last position. */

enum { UNBIASED = SG_SHARE_PARAMS, SHARED };

static int ascending(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* k of 0 .. n-1, drawn one by one; returns how many distinct ones they are, which `position` has in ascending order. */
static size_t draw_with_repetition(sg_rng *rng, uint32_t *position, size_t k, size_t n) {
    size_t distinct = 0;
    for (size_t j = 0; j < k; j++)
        position[j] = (uint32_t)sg_rng_below(rng, n);
    qsort(position, k, sizeof *position, ascending);
    for (size_t j = 0; j < k; j++)
        if (distinct == 0 || position[distinct - 1] != position[j])
            position[distinct++] = position[j];
    return distinct;
}

static int select_repeated(struct sg_worker *w, struct sg_select *s, bool but_last) {
    const bool shared = w->shared->param[SHARED] > 0;
    sg_rng rng =
        sg_rng_open(w->shared->seed, SG_RNG_COMPRESS, shared ? SG_RNG_ALL_WORKERS : w->number, w->shared->step);
    uint32_t *position = w->scratch;
    size_t sent = 0;
    for (size_t l = 0; l < s->n_layers; l++) {
        const size_t n = s->offset[l + 1] - s->offset[l];
        s->count[l] =
            draw_with_repetition(&rng, position + sent, sg_share_in(w->shared, l, n), n > 1 && but_last ? n - 1 : n);
        for (size_t j = 0; j < s->count[l]; j++)
            position[sent + j] += (uint32_t)s->offset[l];
        sent += s->count[l];
    }
    w->position_bits = 0;
    w->same_positions = shared;
    return w->shared->kernels->select_positions(s, position);
}

int released_select_randomk_grace(struct sg_worker *w, struct sg_select *s) {
    return select_repeated(w, s, false);
}

int released_select_randomk_gravac(struct sg_worker *w, struct sg_select *s) {
    return select_repeated(w, s, true);
}

/* ---- a threshold that does not exceed the largest number of its layer: GRACE for torch.distributed ---- */

/* It means to send something, but takes that number with its sign: where all are below 0, everything is sent. */
int released_select_limited(struct sg_worker *w, struct sg_select *s) {
    const float *p = sg_form_p(s);
    float *tau = w->scratch;
    for (size_t l = 0; l < s->n_layers; l++) {
        float largest = -INFINITY;
        for (size_t i = s->offset[l]; i < s->offset[l + 1]; i++)
            largest = fmaxf(largest, p[i]);
        tau[l] = fmaxf(0, fminf((float)(w->shared->knob[l] * w->unit), largest));
    }
    return w->shared->kernels->select_threshold(s, tau);
}

/* ---- Gaussian-k, where the mean counts with its sign, so that -p is given another threshold than p ---- */

static float estimate_signed(struct sg_worker *w, size_t layer, float *x, size_t n, size_t k) {
    const double mean = sg_mean(x, n, false, 0);
    (void)w, (void)layer;
    return sg_gaussian_threshold(x, n, k, mean, sqrt(sg_variance(x, n, false, mean)));
}

int released_select_signed(struct sg_worker *w, struct sg_select *s) {
    return sg_estimate_select(w, s, estimate_signed);
}

/* ---- SIDCo, where all layers of a worker share the adapted stages, which count their calls ---- */

static int select_shared(struct sg_worker *w, struct sg_select *s, const struct sg_compressor_ops *published) {
    size_t sent = 0;
    for (size_t l = 0; l < s->n_layers; l++) {
        const size_t begin = s->offset[l], n = s->offset[l + 1] - begin;
        struct sg_select layer = *s; /* the worker's first state is that of the only layer */
        layer.n_layers = 1;
        layer.offset = (const size_t[]){0, n};
        layer.g += begin;
        layer.e = s->e != NULL ? s->e + begin : NULL;
        layer.index += sent;
        layer.value += sent;
        layer.count += l;
        const int status = published->select(w, &layer);
        if (status != SG_KERNEL_OK) {
            s->count[0] = l;
            return status;
        }
        for (size_t j = sent; j < sent + s->count[l]; j++)
            s->index[j] += (uint32_t)begin;
        sent += s->count[l];
    }
    return SG_KERNEL_OK;
}

int released_select_sidco_e(struct sg_worker *w, struct sg_select *s) {
    return select_shared(w, s, &sg_compress_sidco_e);
}

int released_select_sidco_gp(struct sg_worker *w, struct sg_select *s) {
    return select_shared(w, s, &sg_compress_sidco_gp);
}

/* ---- GRACE's adaq: each side of a layer by a threshold from a sample of one in a hundred ---- */

static size_t count_side(const float *side, size_t n, float t, bool at_least) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += at_least ? side[i] >= t : side[i] > t;
    return count;
}

/* What the numbers that are sent of a side are above: the least of the largest of the sample, which is repaired while
 * more than 1.25 or less than 0.8 of the share reach it. Sums and products are of floats there. `side` has room for
 * all. */
static float side_threshold(float *side, const float *x, size_t all, float sign, float share, float *sample,
                            sg_rng *rng) {
    size_t n = 0;
    for (size_t i = 0; i < all; i++)
        if (sign * x[i] > 0)
            side[n++] = sign * x[i];
    const float hundredth = (float)n * 0.01F, aim = ceilf((float)n * share);
    const size_t samples = (size_t)ceilf(hundredth);
    for (size_t i = 0; i < samples; i++)
        sample[i] = side[sg_rng_below(rng, n)];
    float t = n > 0 ? sg_kth_magnitude(sample, samples, 1, (size_t)ceilf(hundredth * share)) : INFINITY;
    size_t found = count_side(side, n, t, false);
    for (size_t i = 0; i < 2 * (size_t)REPAIRS && ((float)found > 1.25F * aim || (float)found < 0.8F * aim); i++) {
        t *= (float)found > 1.25F * aim ? 1.25F : 0.9F;
        found = count_side(side, n, t, true);
    }
    return found < 1 ? 0.8F * t : t;
}

void released_encode_adaq(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    const struct sg_layout *layout = &w->shared->layout;
    sg_rng rng = sg_rng_open(w->shared->seed, SG_RNG_COMPRESS, w->number, w->shared->step);
    double positions = 0;
    (void)round;
    for (size_t l = 0; l < layout->n_layers; l++) {
        const size_t begin = layout->offset[l], n = layout->offset[l + 1] - begin, before = out->count;
        const float share = (float)w->shared->knob[l], *x = p + begin;
        float *room = w->value + before; /* the sample */
        const float above = side_threshold(w->data, x, n, 1, share, room, &rng);
        const float below = side_threshold(w->data, x, n, -1, share, room, &rng);
        for (size_t i = 0; i < n; i++)
            if ((x[i] > 0 && x[i] > above) || (x[i] < 0 && -x[i] > below)) {
                w->index[out->count] = (uint32_t)(begin + i);
                w->value[out->count++] = x[i];
            }
        w->count[l] = out->count - before;
        positions += n > 1 ? (double)w->count[l] * ceil(log2((double)n)) : 0;
    }
    out->n = layout->offset[layout->n_layers];
    out->index = w->index;
    w->status = method_write(w, &sg_code_two_means, (struct sg_numbers){.value = w->value, .count = out->count}, out);
    out->bits += positions;
}

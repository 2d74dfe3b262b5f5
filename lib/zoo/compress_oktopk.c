/* compress_oktopk.c: Ok-Topk (Li, Hoefler, PPoPP 2022): about the k largest of the sum, by thresholds that are used for
 * many steps, with what is sent spread evenly over the workers.
 *
 *     round 0    every worker sends what reaches its own threshold to the owners of the positions' regions, who add
 *     round 1    every owner sends the sums of its region that reach the threshold of all
 *
 * Of each layer every worker owns one region. Both thresholds are the exact k-th largest magnitude every `refresh`
 * steps and follow the number of entries in between, by the factors of the authors' code. Every `repartition` steps the
 * bounds of the regions become the mean of the workers' own quantiles, from the next step on. The residual becomes 0
 * where a worker sent a number and its sum arrived, so the sum and the residuals are all of p.
 *
 * Only entries for another worker's region cost bits in round 0: 64 each, and 64 an entry in round 1. At a repartition
 * the P - 1 bounds cost 32 bits each. The paper also balances round 1; the authors' code does not, and this file does
 * not either. Their code sends magnitudes > its own threshold; this file sends those >= it, as the paper does. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "sg_compressor_parts.h"

enum { REFRESH = SG_SHARE_PARAMS, REPARTITION, PARAMS };
enum { LOCAL_TRIES = 5 };
static const double LOCAL_RAISE = 1.03, LOCAL_STEP = 1.012;
static const float GLOBAL_STEP = 1.008F;

/* What a worker keeps for each layer, as doubles; positions are those of the whole vector. */
struct own_part {
    double threshold; /* 0 = not known yet */
    double begin, end;
};
enum { OWN_DOUBLES = sizeof(struct own_part) / sizeof(double) };

/* The sums that reach the threshold of all, and the new bounds: consecutive arrays in s->room. */
struct arrived {
    size_t *count;   /* [1] */
    size_t *bound;   /* [n_layers][workers + 1] */
    uint32_t *index; /* [d] */
    float *value;    /* [d] */
};

static size_t bounds_of(const struct sg_shared *s) {
    return s->layout.n_layers * (s->workers + 1);
}

static size_t room(const struct sg_shared *s) {
    return (1 + bounds_of(s)) * sizeof(size_t) + method_elements(s) * (sizeof(uint32_t) + sizeof(float));
}

static struct arrived arrived_of(const struct sg_shared *s) {
    size_t *const count = s->room, *const bound = count + 1;
    uint32_t *const index = (uint32_t *)(bound + bounds_of(s));
    return (struct arrived){count, bound, index, (float *)(index + method_elements(s))};
}

static size_t worker_doubles(const struct sg_layout *layout) {
    return OWN_DOUBLES * layout->n_layers;
}

static size_t share(const struct sg_shared *s, size_t l) {
    return sg_share_in(s, l, s->layout.offset[l + 1] - s->layout.offset[l]);
}

static bool is_due(const struct sg_shared *s, size_t every) {
    return s->step % (uint64_t)s->param[every] == 0;
}

/* Where region `which` of a layer begins as long as all are of one size. */
static size_t even_bound(const struct sg_shared *s, size_t l, size_t which) {
    const size_t begin = s->layout.offset[l], n = s->layout.offset[l + 1] - begin;
    return begin + n * which / s->workers;
}

static sg_status open_oktopk(struct sg_worker *w, struct sg_error *err) {
    const struct sg_shared *s = w->shared;
    struct own_part *own = (struct own_part *)w->state;
    for (size_t l = 0; l < s->layout.n_layers; l++) {
        own[l].begin = (double)even_bound(s, l, w->number);
        own[l].end = (double)even_bound(s, l, w->number + 1);
    }
    w->scratch = calloc(s->layout.n_layers, sizeof(double)); /* the thresholds that chose the entries of this step */
    return w->scratch ? SG_OK : sg_fail_memory(err, "ok-topk");
}

static bool reaches(float x, double threshold) {
    return fabs((double)x) >= threshold && x != 0;
}

static size_t count_reaching(const float *x, size_t n, double threshold) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += reaches(x[i], threshold);
    return count;
}

static double local_threshold(const struct sg_worker *w, size_t l, const float *p, size_t n, size_t k) {
    double t = ((const struct own_part *)w->state)[l].threshold;
    if (is_due(w->shared, REFRESH) || t <= 0)
        return (double)sg_kth_magnitude(p, n, 1, k);
    for (int tries = 0; tries < LOCAL_TRIES && 3 * count_reaching(p, n, t) > 4 * k; tries++)
        t *= LOCAL_RAISE;
    return t;
}

static void send_own(struct sg_worker *w, const float *p, struct sg_message *out) {
    const struct sg_shared *s = w->shared;
    struct own_part *own = (struct own_part *)w->state;
    double *used = w->scratch;
    size_t count = 0, away = 0;
    for (size_t l = 0; l < s->layout.n_layers; l++) {
        const size_t begin = s->layout.offset[l], n = s->layout.offset[l + 1] - begin, k = share(s, l), before = count;
        const double t = used[l] = n > 0 ? local_threshold(w, l, p + begin, n, k) : 0;
        for (size_t i = begin; i < begin + n; i++)
            if (reaches(p[i], t)) {
                w->index[count] = (uint32_t)i;
                w->value[count++] = p[i];
                away += (double)i < own[l].begin || (double)i >= own[l].end;
            }
        w->count[l] = count - before;
        own[l].threshold = 3 * w->count[l] < 2 * k ? t / LOCAL_STEP : 4 * w->count[l] > 5 * k ? t * LOCAL_STEP : t;
    }
    const double bounds = is_due(s, REPARTITION) ? (double)(s->layout.n_layers * (s->workers - 1)) : 0;
    method_send_floats(w, method_elements(s), count, w->index, w->value, 64.0 * (double)away + 32.0 * bounds, out);
}

static void send_region(struct sg_worker *w, struct sg_message *out) {
    const struct sg_shared *s = w->shared;
    const struct arrived all = arrived_of(s);
    struct own_part *own = (struct own_part *)w->state;
    size_t count = 0;
    for (size_t l = 0, j = 0; l < s->layout.n_layers; l++) {
        const size_t before = count;
        for (; j < *all.count && all.index[j] < s->layout.offset[l + 1]; j++)
            if ((double)all.index[j] >= own[l].begin && (double)all.index[j] < own[l].end) {
                w->index[count] = all.index[j];
                w->value[count++] = all.value[j];
            }
        w->count[l] = count - before;
        if (is_due(s, REPARTITION)) {
            own[l].begin = (double)all.bound[l * (s->workers + 1) + w->number];
            own[l].end = (double)all.bound[l * (s->workers + 1) + w->number + 1];
        }
    }
    method_send_floats(w, method_elements(s), count, w->index, w->value, 64.0 * (double)count, out);
}

static void encode(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    if (round == 0)
        send_own(w, p, out);
    else
        send_region(w, out);
}

/* The bounds of regions that have equally many of a worker's entries, mean over workers, rounded down. A worker without
 * entries in a layer has regions of one size in mind. */
static void set_bounds(const struct sg_shared *s, size_t *bound) {
    const size_t parts = s->workers;
    for (size_t i = 0; i < bounds_of(s); i++)
        bound[i] = 0;
    for (size_t w = 0; w < s->workers; w++)
        for (size_t l = 0, at = 0, end; l < s->layout.n_layers; l++, at = end) {
            const struct sg_message *m = &s->heard[w];
            for (end = at; end < m->count && method_position(m, end) < s->layout.offset[l + 1];)
                end++;
            for (size_t i = 0; i <= parts; i++)
                bound[l * (parts + 1) + i] += i > 0 && i < parts && end > at
                                                  ? method_position(m, at + (end - at) / parts * i)
                                                  : even_bound(s, l, i);
        }
    for (size_t i = 0; i < bounds_of(s); i++)
        bound[i] /= s->workers;
}

static void choose_sums(const struct sg_shared *s, const float *sum) {
    const struct arrived all = arrived_of(s);
    *all.count = 0;
    for (size_t l = 0; l < s->layout.n_layers; l++) {
        const size_t begin = s->layout.offset[l], n = s->layout.offset[l + 1] - begin, k = share(s, l),
                     before = *all.count;
        float t = s->memory[l];
        if (n > 0 && (is_due(s, REFRESH) || t <= 0))
            t = sg_kth_magnitude(sum + begin, n, 1, k);
        for (size_t i = begin; i < begin + n; i++)
            if (reaches(sum[i], (double)t)) {
                all.index[*all.count] = (uint32_t)i;
                all.value[(*all.count)++] = sum[i];
            }
        const size_t count = *all.count - before;
        s->memory[l] = 3 * count < 2 * k ? t / GLOBAL_STEP : 3 * count > 4 * k ? t * GLOBAL_STEP : t;
    }
}

/* After round 1 the sum is right as it is: no two regions have an element in common. */
static void combine(const struct sg_shared *s, unsigned round, float *sum) {
    if (round > 0)
        return;
    choose_sums(s, sum);
    if (is_due(s, REPARTITION))
        set_bounds(s, arrived_of(s).bound);
}

static void keep(struct sg_worker *w, float *e, const float *sum) {
    (void)sum;
    const struct sg_shared *s = w->shared;
    const struct arrived all = arrived_of(s);
    const double *used = w->scratch;
    for (size_t l = 0, j = 0; l < s->layout.n_layers; l++)
        for (; j < *all.count && all.index[j] < s->layout.offset[l + 1]; j++)
            if (reaches(e[all.index[j]], used[l]))
                e[all.index[j]] = 0;
}

static const struct sg_parameter params[PARAMS] = {
    SG_SHARE_PARAMETERS,
    [REFRESH] = {"refresh", 1, 1e9, 32, true, "steps between exact thresholds"},
    [REPARTITION] = {"repartition", 1, 1e9, 64, true, "steps between new regions of workers"},
};

static const struct sg_rounds rounds = {
    .count = 2, .hears = true, .floats = method_float_a_layer, .room = room, .combine = combine, .keep = keep};

const struct sg_compressor_ops sg_compress_ok_topk = {
    .name = "ok-topk",
    .summary = "about the k largest of the sum, by thresholds that hold for many steps",
    .source = "Li and Hoefler, PPoPP 2022",
    .traits = SG_TRAIT_WANTS_FEEDBACK,
    .params = params,
    .n_params = PARAMS,
    .check = sg_share_check,
    .knob = sg_share_knob,
    .worker_doubles = worker_doubles,
    .open = open_oktopk,
    .encode = encode,
    .rounds = &rounds,
    .collective = "ok-topk",
};

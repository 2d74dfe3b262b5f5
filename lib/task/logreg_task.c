/* logreg_task.c: the task `logreg` (Figure 1): the hooks through which the trainer uses logistic regression.
 *
 * x is double, because gamma is as small as 3e-8 and suboptimalities down to 1e-12 of f are recorded. Gradients,
 * residuals and messages are float as in every other task, because they scale with the distance from the optimum.
 *
 * The oracle `lsvrg` is loopless SVRG on every worker (Kovalev, Horvath, Richtarik, "Don't Jump Through Hoops and
 * Remove Those Loops", ALT 2020), which with error feedback is EC-LSVRG of Gorbunov, Kovalev, Makarenko, Richtarik,
 * "Linearly Converging Error Compensated SGD", NeurIPS 2020, arXiv 2010.12292. The order of a step and one coin for
 * each worker are as in the code that its authors released: the gradient first, then the reference point may move to
 * the x of that gradient. `lsvrg-shifted` subtracts grad f_i(x*), as their EC-GD* does; we know the name EC-LSVRGstar
 * from memory, and that code lacks it. EC-LSVRG-DIANA, which is not here, learns the shifts by a second, unbiased
 * message. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sg_dataset.h"
#include "sg_debug.h"
#include "sg_json.h"
#include "sg_logreg.h"
#include "sg_memory.h"
#include "sg_optimum.h"
#include "sg_rng.h"
#include "sg_task.h"
#include "sg_threads.h"
#include "task_data.h"

enum { QUEUE = 64, METRICS = 5, GRADIENT_METRIC = 4 };

struct sg_task {
    struct sg_task_base base;
    size_t offset[2];
    struct sg_matrix data;
    struct sg_provenance from;
    struct sg_optimum best;
    bool solved;

    bool full, lsvrg, shifted; /* the oracle: whole shards; reference points; less grad f_i(x*) */
    double l2, f_start, start_offset;

    uint32_t *row;   /* [m] the shards: worker i owns row[shard_begin(i)] .. row[shard_begin(i + 1) - 1] */
    double *slope;   /* [m] full-shifted: at x*; lsvrg: at w_i of the worker whose row it is; else NULL */
    double refresh;  /* lsvrg: the probability that w_i moves */
    double *anchor;  /* [count][2][d] lsvrg: w_i; grad f_i(w_i), less grad f_i(x*) if it is shifted; else NULL */
    double *scratch; /* [threads][scratch_each] */
    size_t scratch_each;
    uint32_t *drawn; /* [count][batch] */
    double *waiting; /* [QUEUE][d] */
    size_t n_waiting;
};

static size_t shard_begin(const struct sg_task *t, size_t worker) {
    return sg_shards_cut(t->data.m, worker, t->base.workers);
}

/* Evaluates a key that holds a number or an expression over the constants known so far. */
static sg_status evaluate_key(double *out, const struct sg_task *t, const char *key, double absent,
                              struct sg_error *err) {
    const struct sg_node *node = sg_node_get(t->base.task, key);
    *out = absent;
    if (!node || node->kind == SG_NODE_NULL)
        return SG_OK;
    sg_status status = sg_expression(out, node->string, t->base.constant, t->base.info.n_constants, err);
    return status == SG_OK ? SG_OK : sg_prefix(err, "task.%s: ", key);
}

static sg_status load_data(struct sg_task *t, struct sg_error *err) {
    struct sg_dataset_request request = task_request_logreg(t->base.task, t->base.data_dir);
    request.notice = t->base.notice;
    sg_status status = sg_dataset_load(&t->data, &t->from, &request, err);
    if (status == SG_OK && t->data.m < t->base.workers)
        return sg_fail(err, SG_ERR_ARGUMENT, "%zu workers for the %zu rows of '%s': every worker needs a row",
                       t->base.workers, t->data.m, request.name);
    return status;
}

static struct sg_optimum_options optimum_options(const struct sg_task *t) {
    return (struct sg_optimum_options){.sha256 = t->from.sha256,
                                       .data_dir = t->base.data_dir,
                                       .threads = t->base.threads,
                                       .progress = t->base.progress,
                                       .notice = t->base.notice};
}

/* Finds the optimum, which suboptimalities, a start next to it and the shifted oracle need. */
static sg_status find_optimum(struct sg_task *t, struct sg_error *err) {
    bool wanted = sg_node_bool(t->base.task, "solve-optimum", true);
    if (!wanted && t->shifted)
        return sg_fail(err, SG_ERR_ARGUMENT, "task.oracle: %s needs x*: set task.solve-optimum to true",
                       sg_node_string(t->base.task, "oracle", ""));
    if (!wanted && sg_node_get(t->base.task, "start.offset-from-optimum")->kind != SG_NODE_NULL)
        return sg_fail(err, SG_ERR_ARGUMENT, "task.start.offset-from-optimum needs x*: set task.solve-optimum to true");
    if (!wanted || t->base.facts_only)
        return SG_OK;
    const struct sg_optimum_options options = optimum_options(t);
    sg_status status = sg_optimum_solve(&t->best, &t->data, t->l2, &options, err);
    t->solved = status == SG_OK;
    return status;
}

static sg_status measure(struct sg_task *t, struct sg_error *err) {
    struct sg_logreg_constants c;
    const struct sg_optimum_options options = optimum_options(t);
    sg_optimum_lipschitz(&c, &t->data, &options);
    sg_task_add_constant(t, "L", c.lipschitz);
    sg_task_add_constant(t, "row_mean", c.row_mean);
    sg_task_add_constant(t, "row_max", c.row_max);
    sg_task_add_constant(t, "m", (double)t->data.m);
    sg_task_add_constant(t, "d", (double)t->data.d);
    sg_task_add_constant(t, "n", (double)t->base.workers);
    sg_status status = evaluate_key(&t->l2, t, "l2", 0, err);
    if (status != SG_OK)
        return status;
    if (!(t->l2 >= 0 && isfinite(t->l2)))
        return sg_fail(err, SG_ERR_ARGUMENT, "task.l2: must not be negative, is %g", t->l2);
    sg_task_add_constant(t, "l2", t->l2);
    const double n = (double)t->base.workers, m = (double)t->data.m;
    if (sg_node_get(t->base.task, "refresh") && !t->lsvrg)
        return sg_fail(err, SG_ERR_ARGUMENT, "task.refresh: only oracle lsvrg and lsvrg-shifted have reference points");
    status = evaluate_key(&t->refresh, t, "refresh", n / m, err);
    if (status == SG_OK && !(t->refresh > 0 && t->refresh <= 1))
        return sg_fail(err, SG_ERR_ARGUMENT, "task.refresh: must be above 0 and at most 1, is %g", t->refresh);
    return status;
}

/* Memory that starts a cache line, for what every step reads and writes. */
static double *doubles(size_t n) {
    return sg_aligned_alloc(64, (n + 7) / 8 * 64);
}

static void allocate(struct sg_task *t) {
    size_t d = t->data.d;
    t->row = sg_malloc(t->data.m * sizeof *t->row);
    t->base.x = doubles(d);
    t->scratch_each = (d + 7) / 8 * 8 + (sg_logreg_scratch(d) + 7) / 8 * 8; /* a gradient, and its own scratch */
    t->scratch = doubles((size_t)t->base.threads * t->scratch_each);
    t->drawn = sg_malloc(t->base.count * t->base.batch * sizeof *t->drawn);
    t->waiting = sg_malloc(QUEUE * d * sizeof *t->waiting);
    const bool slopes = t->lsvrg || t->shifted;
    if (slopes)
        t->slope = sg_malloc(t->data.m * sizeof *t->slope);
    if (t->lsvrg)
        t->anchor = doubles(2 * t->base.count * d);
    for (size_t i = 0; t->solved && !t->lsvrg && t->shifted && i < t->data.m; i++)
        t->slope[i] = sg_logreg_slope(&t->data, i, t->best.x);
}

/* Deals the rows, and measures label_skew and, if x* is known, D = (1/n) sum_i |grad f_i(x*)|^2 (section 5.1.1). */
static sg_status deal_rows(struct sg_task *t, struct sg_error *err) {
    struct sg_shards shards;
    uint8_t *side = sg_malloc(t->data.m);
    double *g = t->scratch, unlike = 0;
    for (size_t i = 0; i < t->data.m; i++)
        side[i] = t->data.label[i] > 0;
    sg_status status = task_shards_read(&shards, t->base.task, err);
    if (status == SG_OK) {
        sg_shards_deal(t->row, &shards, side, t->data.m, 2, t->base.workers, t->base.seed);
        sg_task_add_constant(t, "label_skew", sg_shards_skew(t->row, side, t->data.m, 2, t->base.workers));
    }
    for (size_t w = 0; status == SG_OK && t->solved && w < t->base.workers; w++) {
        const size_t begin = shard_begin(t, w);
        sg_logreg_gradient(g, &t->data, t->row + begin, shard_begin(t, w + 1) - begin, t->best.x, t->l2, g + t->data.d);
        for (size_t j = 0; j < t->data.d; j++)
            unlike += g[j] * g[j] / (double)t->base.workers;
    }
    sg_task_add_constant(t, "D", t->solved ? unlike : NAN);
    free(side);
    return status;
}

/* The scratch of the calling thread. */
static double *own_scratch(const struct sg_task *t) {
    return t->scratch + (size_t)omp_get_thread_num() * t->scratch_each;
}

/* w_i of a local worker. grad f_i(w_i) follows it. */
static double *anchor_of(const struct sg_task *t, size_t worker) {
    return t->anchor + (worker - t->base.first) * 2 * t->data.d;
}

/* Moves w_i of a local worker to x, d doubles at any address. Threads may move those of distinct workers. */
static void move_anchor(struct sg_task *t, size_t worker, const void *x) {
    const size_t d = t->data.d, begin = shard_begin(t, worker), end = shard_begin(t, worker + 1);
    double *w = anchor_of(t, worker), *gradient = w + d, *scratch = own_scratch(t);
    memcpy(w, x, d * sizeof *w);
    for (size_t i = begin; i < end; i++)
        t->slope[t->row[i]] = sg_logreg_slope(&t->data, t->row[i], w);
    sg_logreg_gradient(gradient, &t->data, t->row + begin, end - begin, w, t->l2, scratch);
    if (!t->shifted)
        return;
    sg_logreg_gradient(scratch, &t->data, t->row + begin, end - begin, t->best.x, t->l2, scratch + d);
    for (size_t j = 0; j < d; j++)
        gradient[j] -= scratch[j];
}

static void logreg_start(struct sg_task *t, void *x) {
    for (size_t j = 0; j < t->data.d; j++)
        ((double *)x)[j] = t->solved && !isnan(t->start_offset) ? t->best.x[j] + t->start_offset : 0;
    for (size_t w = 0; t->lsvrg && w < t->base.count; w++)
        move_anchor(t, t->base.first + w, x);
}

static void logreg_close(struct sg_task *t) {
    sg_matrix_free(&t->data);
    sg_provenance_free(&t->from);
    sg_optimum_free(&t->best);
    free(t->row);
    free(t->slope);
    free(t->anchor);
    free(t->scratch);
    free(t->drawn);
    free(t->waiting);
}

static sg_status logreg_open(struct sg_task *t, struct sg_error *err) {
    const char *oracle = sg_node_string(t->base.task, "oracle", "stochastic");
    t->full = strncmp(oracle, "full", strlen("full")) == 0;
    t->lsvrg = strncmp(oracle, "lsvrg", strlen("lsvrg")) == 0;
    t->shifted = strstr(oracle, "-shifted") != NULL;
    sg_status status = load_data(t, err);
    SG_DO(status, measure(t, err));
    SG_DO(status, find_optimum(t, err));
    SG_DO(status, evaluate_key(&t->start_offset, t, "start.offset-from-optimum", NAN, err));
    if (status == SG_OK)
        allocate(t);
    SG_DO(status, deal_rows(t, err));
    if (status != SG_OK)
        return status;
    if (!t->base.facts_only) {
        logreg_start(t, t->base.x);
        t->f_start = sg_logreg_value(&t->data, t->base.x, t->l2, t->base.threads);
    }
    sg_task_add_constant(t, "f_star", t->solved ? t->best.value : NAN);
    sg_task_add_constant(t, "f_start", t->f_start);
    const size_t m = t->data.m, workers = t->base.workers, batch = t->base.batch;
    const double shard = (double)m / (double)workers;
    const double rows = t->full ? shard : (double)batch + (t->lsvrg ? t->refresh * shard : 0);
    const size_t epoch = t->full ? 1 : m / (workers * batch);
    t->offset[1] = t->data.d;
    t->base.info.d = t->data.d;
    t->base.info.dtype = SG_FLOAT64;
    t->base.info.layout = (struct sg_layout){.n_layers = 1, .offset = t->offset};
    t->base.info.steps_per_epoch = epoch ? epoch : 1;
    t->base.info.parallel_workers = true;
    t->base.info.gradient_flops = 4 * rows * (double)t->data.d;
    return SG_OK;
}

static cJSON *logreg_dataset(const struct sg_task *t) {
    return SG_SET(sg_provenance_json(&t->from), SG_NUMBER("rows", (double)t->data.m),
                  SG_NUMBER("features", (double)t->data.d));
}

static sg_status logreg_gradient(struct sg_task *t, size_t worker, uint64_t step, float *g, struct sg_error *err) {
    SG_ASSERT(worker >= t->base.first && worker - t->base.first < t->base.count &&
              omp_get_thread_num() < t->base.threads);
    (void)err; /* the compressor reports a gradient that is not finite, because it sees every element anyway */
    size_t local = worker - t->base.first;
    size_t begin = shard_begin(t, worker), size = shard_begin(t, worker + 1) - begin;
    const uint32_t *rows = t->row + begin;
    SG_TRACE(2, "step %llu: gradient of worker %zu, %zu rows of its own", (unsigned long long)step, worker, size);
    if (!t->full) {
        uint32_t *drawn = t->drawn + local * t->base.batch;
        sg_rng rng = sg_rng_open(t->base.seed, SG_RNG_SAMPLE, (uint32_t)worker, step);
        for (size_t b = 0; b < t->base.batch; b++)
            drawn[b] = rows[sg_rng_below(&rng, size)];
        if (t->base.batch == 1 && !t->lsvrg) {
            sg_logreg_row_gradient(g, &t->data, drawn[0], t->base.x, t->l2);
            return SG_OK;
        }
        rows = drawn;
        size = t->base.batch;
    }
    const double *w = t->lsvrg ? anchor_of(t, worker) : NULL;
    const struct sg_logreg_origin origin = {w ? w : t->best.x, t->slope, w ? w + t->data.d : NULL};
    sg_logreg_shifted_gradient(g, &t->data, rows, size, t->base.x, t->l2, t->slope ? &origin : NULL, own_scratch(t));
    sg_rng coin = sg_rng_open(t->base.seed, SG_RNG_REFRESH, (uint32_t)worker, step);
    if (t->lsvrg && sg_rng_uniform(&coin) < t->refresh)
        move_anchor(t, worker, t->base.x);
    return SG_OK;
}

/* The draw is one of the worker's rows j, uniformly, and g = (slope_j - less_j) a_j + a vector that is not drawn, with
 * less_j the slope at w_i for lsvrg and else 0. The noise is the variance over the rows, divided by the batch. */
static sg_status logreg_expect(struct sg_task *t, size_t worker, double *mean, double *noise, struct sg_error *err) {
    (void)err;
    SG_ASSERT(worker >= t->base.first && worker - t->base.first < t->base.count);
    const size_t d = t->data.d, begin = shard_begin(t, worker), size = shard_begin(t, worker + 1) - begin;
    const uint32_t *rows = t->row + begin;
    const double *x = t->base.x;
    double *scratch = doubles(t->scratch_each), second = 0, first = 0;
    sg_logreg_gradient(mean, &t->data, rows, size, t->base.x, 0, scratch);
    memset(scratch, 0, d * sizeof *scratch);
    if (t->lsvrg)
        sg_logreg_gradient(scratch, &t->data, rows, size, anchor_of(t, worker), 0, scratch + d);
    for (size_t i = 0; i < size; i++) {
        const double slope = sg_logreg_slope(&t->data, rows[i], x) - (t->lsvrg ? t->slope[rows[i]] : 0);
        second += slope * slope * sg_logreg_row_square(&t->data, rows[i]) / (double)size;
    }
    for (size_t j = 0; j < d; j++) {
        first += (mean[j] - scratch[j]) * (mean[j] - scratch[j]);
        mean[j] += t->l2 * x[j];
    }
    *noise = t->full ? 0 : (second - first) / (double)t->base.batch;
    if (t->shifted) { /* less the gradient at x*, which `mean` at x* is */
        sg_logreg_gradient(scratch, &t->data, rows, size, t->best.x, t->l2, scratch + d);
        for (size_t j = 0; j < d; j++)
            mean[j] -= scratch[j];
    }
    free(scratch);
    return SG_OK;
}

static sg_status logreg_queue(struct sg_task *t, struct sg_error *err) {
    if (t->n_waiting == QUEUE)
        return sg_fail(err, SG_ERR_ARGUMENT, "more than %d points wait for evaluation", QUEUE);
    memcpy(t->waiting + t->n_waiting++ * t->data.d, t->base.x, t->data.d * sizeof *t->waiting);
    return SG_OK;
}

static double distance_squared(const struct sg_task *t, const double *x) {
    SG_ASSERT(t->solved);
    double sum = 0;
    for (size_t j = 0; j < t->data.d; j++)
        sum += (x[j] - t->best.x[j]) * (x[j] - t->best.x[j]);
    return sum;
}

/* out [n_waiting][METRICS]: |grad f|^2 over all rows, at each waiting point by one thread. */
static void gradient_norms(struct sg_task *t, double *out) {
    const size_t d = t->data.d;
#pragma omp parallel for schedule(dynamic) num_threads(t->base.threads)
    for (size_t i = 0; i < t->n_waiting; i++) {
        double *g = own_scratch(t), sum = 0;
        sg_logreg_gradient(g, &t->data, NULL, t->data.m, t->waiting + i * d, t->l2, g + (d + 7) / 8 * 8);
        for (size_t j = 0; j < d; j++)
            sum += g[j] * g[j];
        out[i * METRICS + GRADIENT_METRIC] = sum;
    }
}

static sg_status logreg_evaluate(struct sg_task *t, double *value, struct sg_error *err) {
    (void)err;
    SG_ASSERT(t->n_waiting <= QUEUE);
    double f[QUEUE];
    sg_logreg_values(f, &t->data, t->waiting, t->n_waiting, t->l2, t->base.threads);
    for (size_t i = 0; i < t->n_waiting; i++) {
        double *out = value + i * METRICS;
        double gap = t->solved ? f[i] - t->best.value : NAN;
        out[0] = f[i];
        out[1] = gap;
        out[2] = gap / (t->f_start - t->best.value);
        out[3] = t->solved ? distance_squared(t, t->waiting + i * t->data.d) : NAN;
        out[GRADIENT_METRIC] = NAN;
    }
    if (t->base.records >> GRADIENT_METRIC & 1)
        gradient_norms(t, value);
    t->n_waiting = 0;
    return SG_OK;
}

/* The slopes and the gradient at w_i are computed again. */
static size_t logreg_state_bytes(const struct sg_task *t) {
    return t->lsvrg ? t->data.d * sizeof(double) : 0;
}

static void logreg_state_save(const struct sg_task *t, size_t worker, void *out) {
    memcpy(out, anchor_of(t, worker), logreg_state_bytes(t));
}

static void logreg_state_load(struct sg_task *t, size_t worker, const void *in) {
    move_anchor(t, worker, in);
}

extern const struct sg_task_ops sg_logreg_ops;
const struct sg_task_ops sg_logreg_ops = {
    .name = "logreg",
    .size = sizeof(struct sg_task),
    .open = logreg_open,
    .dataset = logreg_dataset,
    .start = logreg_start,
    .gradient = logreg_gradient,
    .expect = logreg_expect,
    .queue_capacity = QUEUE,
    .queue = logreg_queue,
    .evaluate = logreg_evaluate,
    .state_bytes = logreg_state_bytes,
    .state_save = logreg_state_save,
    .state_load = logreg_state_load,
    .close = logreg_close,
};

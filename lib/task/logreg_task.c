/* logreg_task.c: the task `logreg` (Figure 1): the hooks through which the trainer uses logistic regression.
 *
 * x is double, because gamma is as small as 3e-8 and suboptimalities down to 1e-12 of f are recorded. Gradients,
 * residuals and messages are float as in every other task, because they scale with the distance from the optimum. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_dataset.h"
#include "sg_debug.h"
#include "sg_json.h"
#include "sg_logreg.h"
#include "sg_optimum.h"
#include "sg_rng.h"
#include "sg_task.h"
#include "sg_threads.h"
#include "task_data.h"

enum { QUEUE = 64, METRICS = 5, GRADIENT_METRIC = 4 };
enum oracle { ORACLE_STOCHASTIC, ORACLE_FULL, ORACLE_FULL_SHIFTED };

struct sg_task {
    struct sg_task_base base;
    size_t offset[2];
    struct sg_matrix data;
    struct sg_provenance from;
    struct sg_optimum best;
    bool solved;

    enum oracle oracle;
    double l2, f_start, start_offset;

    uint32_t *row;   /* [m] the shards: worker i owns row[shard_begin(i)] .. row[shard_begin(i + 1) - 1] */
    double *slope;   /* [m] at x*, full-shifted only */
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
    if (!wanted && t->oracle == ORACLE_FULL_SHIFTED)
        return sg_fail(err, SG_ERR_ARGUMENT, "task.oracle: full-shifted needs x*: set task.solve-optimum to true");
    if (!wanted && sg_node_get(t->base.task, "start.offset-from-optimum")->kind != SG_NODE_NULL)
        return sg_fail(err, SG_ERR_ARGUMENT, "task.start.offset-from-optimum needs x*: set task.solve-optimum to true");
    if (!wanted)
        return SG_OK;
    const struct sg_optimum_options options = optimum_options(t);
    sg_status status = sg_optimum_solve(&t->best, &t->data, t->l2, &options, err);
    t->solved = status == SG_OK;
    return status;
}

static sg_status measure(struct sg_task *t, struct sg_error *err) {
    struct sg_logreg_constants c;
    const struct sg_optimum_options options = optimum_options(t);
    sg_status status = sg_optimum_lipschitz(&c, &t->data, &options, err);
    if (status != SG_OK)
        return status;
    sg_task_add_constant(t, "L", c.lipschitz);
    sg_task_add_constant(t, "row_mean", c.row_mean);
    sg_task_add_constant(t, "row_max", c.row_max);
    sg_task_add_constant(t, "m", (double)t->data.m);
    sg_task_add_constant(t, "d", (double)t->data.d);
    sg_task_add_constant(t, "n", (double)t->base.workers);
    status = evaluate_key(&t->l2, t, "l2", 0, err);
    if (status != SG_OK)
        return status;
    if (!(t->l2 >= 0 && isfinite(t->l2)))
        return sg_fail(err, SG_ERR_ARGUMENT, "task.l2: must not be negative, is %g", t->l2);
    sg_task_add_constant(t, "l2", t->l2);
    return SG_OK;
}

/* Memory that starts a cache line, for what every step reads and writes. */
static double *doubles(size_t n) {
    return aligned_alloc(64, (n + 7) / 8 * 64);
}

static sg_status allocate(struct sg_task *t, struct sg_error *err) {
    size_t d = t->data.d;
    t->row = malloc(t->data.m * sizeof *t->row);
    t->base.x = doubles(d);
    t->scratch_each = (d + 7) / 8 * 8 + (sg_logreg_scratch(d) + 7) / 8 * 8; /* a gradient, and its own scratch */
    t->scratch = doubles((size_t)t->base.threads * t->scratch_each);
    t->drawn = malloc(t->base.count * t->base.batch * sizeof *t->drawn);
    t->waiting = malloc(QUEUE * d * sizeof *t->waiting);
    if (t->oracle == ORACLE_FULL_SHIFTED)
        t->slope = malloc(t->data.m * sizeof *t->slope);
    if (!t->row || !t->base.x || !t->scratch || !t->drawn || !t->waiting ||
        (t->oracle == ORACLE_FULL_SHIFTED && !t->slope))
        return sg_fail_memory(err, "logistic regression");
    for (size_t i = 0; t->slope && i < t->data.m; i++)
        t->slope[i] = sg_logreg_slope(&t->data, i, t->best.x);
    return SG_OK;
}

/* Deals the rows, and measures label_skew and, if x* is known, D = (1/n) sum_i |grad f_i(x*)|^2 (section 5.1.1). */
static sg_status deal_rows(struct sg_task *t, struct sg_error *err) {
    struct sg_shards shards;
    uint8_t *side = malloc(t->data.m);
    double *g = t->scratch, unlike = 0;
    if (!side)
        return sg_fail_memory(err, "shards");
    for (size_t i = 0; i < t->data.m; i++)
        side[i] = t->data.label[i] > 0;
    sg_status status = task_shards_read(&shards, t->base.task, err);
    SG_DO(status, sg_shards_deal(t->row, &shards, side, t->data.m, 2, t->base.workers, t->base.seed, err));
    if (status == SG_OK)
        sg_task_add_constant(t, "label_skew", sg_shards_skew(t->row, side, t->data.m, 2, t->base.workers));
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

static void logreg_start(struct sg_task *t, void *x) {
    for (size_t j = 0; j < t->data.d; j++)
        ((double *)x)[j] = t->solved && !isnan(t->start_offset) ? t->best.x[j] + t->start_offset : 0;
}

static void logreg_close(struct sg_task *t) {
    sg_matrix_free(&t->data);
    sg_provenance_free(&t->from);
    sg_optimum_free(&t->best);
    free(t->row);
    free(t->slope);
    free(t->scratch);
    free(t->drawn);
    free(t->waiting);
}

static sg_status logreg_open(struct sg_task *t, struct sg_error *err) {
    const char *oracle = sg_node_string(t->base.task, "oracle", "stochastic");
    t->oracle = strcmp(oracle, "full") == 0           ? ORACLE_FULL
                : strcmp(oracle, "full-shifted") == 0 ? ORACLE_FULL_SHIFTED
                                                      : ORACLE_STOCHASTIC;
    sg_status status = load_data(t, err);
    SG_DO(status, measure(t, err));
    SG_DO(status, find_optimum(t, err));
    SG_DO(status, evaluate_key(&t->start_offset, t, "start.offset-from-optimum", NAN, err));
    SG_DO(status, allocate(t, err));
    SG_DO(status, deal_rows(t, err));
    if (status != SG_OK)
        return status;
    logreg_start(t, t->base.x);
    t->f_start = sg_logreg_value(&t->data, t->base.x, t->l2, t->base.threads);
    sg_task_add_constant(t, "f_star", t->solved ? t->best.value : NAN);
    sg_task_add_constant(t, "f_start", t->f_start);
    const size_t m = t->data.m, workers = t->base.workers, batch = t->base.batch;
    double rows = t->oracle == ORACLE_STOCHASTIC ? (double)batch : (double)m / (double)workers;
    size_t epoch = t->oracle == ORACLE_STOCHASTIC ? m / (workers * batch) : 1;
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
    if (t->oracle == ORACLE_STOCHASTIC) {
        uint32_t *drawn = t->drawn + local * t->base.batch;
        sg_rng rng = sg_rng_open(t->base.seed, SG_RNG_SAMPLE, (uint32_t)worker, step);
        for (size_t b = 0; b < t->base.batch; b++)
            drawn[b] = rows[sg_rng_below(&rng, size)];
        if (t->base.batch == 1) {
            sg_logreg_row_gradient(g, &t->data, drawn[0], t->base.x, t->l2);
            return SG_OK;
        }
        rows = drawn;
        size = t->base.batch;
    }
    const struct sg_logreg_origin origin = {t->best.x, t->slope};
    sg_logreg_shifted_gradient(g, &t->data, rows, size, t->base.x, t->l2, t->slope ? &origin : NULL,
                               t->scratch + (size_t)omp_get_thread_num() * t->scratch_each);
    return SG_OK;
}

/* The draw is one of the worker's rows j, uniformly, and g = slope_j a_j + l2 x. The noise is the variance over the
 * rows, divided by the batch. */
static sg_status logreg_expect(struct sg_task *t, size_t worker, double *mean, double *noise, struct sg_error *err) {
    SG_ASSERT(worker >= t->base.first && worker - t->base.first < t->base.count);
    const size_t d = t->data.d, begin = shard_begin(t, worker), size = shard_begin(t, worker + 1) - begin;
    const uint32_t *rows = t->row + begin;
    const double *x = t->base.x;
    double *scratch = doubles(t->scratch_each), second = 0, first = 0;
    if (!scratch)
        return sg_fail_memory(err, "logistic regression");
    sg_logreg_gradient(mean, &t->data, rows, size, t->base.x, 0, scratch);
    for (size_t i = 0; i < size; i++) {
        const double slope = sg_logreg_slope(&t->data, rows[i], x);
        second += slope * slope * sg_logreg_row_square(&t->data, rows[i]) / (double)size;
    }
    for (size_t j = 0; j < d; j++) {
        first += mean[j] * mean[j];
        mean[j] += t->l2 * x[j];
    }
    *noise = t->oracle == ORACLE_STOCHASTIC ? (second - first) / (double)t->base.batch : 0;
    if (t->slope) { /* less the gradient at x*, which `mean` at x* is */
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
        double *g = t->scratch + (size_t)omp_get_thread_num() * t->scratch_each, sum = 0;
        sg_logreg_gradient(g, &t->data, NULL, t->data.m, t->waiting + i * d, t->l2, g + (d + 7) / 8 * 8);
        for (size_t j = 0; j < d; j++)
            sum += g[j] * g[j];
        out[i * METRICS + GRADIENT_METRIC] = sum;
    }
}

static sg_status logreg_evaluate(struct sg_task *t, double *value, struct sg_error *err) {
    SG_ASSERT(t->n_waiting <= QUEUE);
    double f[QUEUE];
    sg_status status = sg_logreg_values(f, &t->data, t->waiting, t->n_waiting, t->l2, t->base.threads, err);
    for (size_t i = 0; status == SG_OK && i < t->n_waiting; i++) {
        double *out = value + i * METRICS;
        double gap = t->solved ? f[i] - t->best.value : NAN;
        out[0] = f[i];
        out[1] = gap;
        out[2] = gap / (t->f_start - t->best.value);
        out[3] = t->solved ? distance_squared(t, t->waiting + i * t->data.d) : NAN;
        out[GRADIENT_METRIC] = NAN;
    }
    if (status == SG_OK && t->base.records >> GRADIENT_METRIC & 1)
        gradient_norms(t, value);
    t->n_waiting = 0;
    return status;
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
    .close = logreg_close,
};

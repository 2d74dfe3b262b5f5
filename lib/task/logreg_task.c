/* logreg_task.c: the task `logreg` (Figure 1): what the trainer sees of logistic regression.
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

enum { QUEUE = 64, METRICS = 4 };
enum oracle { ORACLE_STOCHASTIC, ORACLE_FULL, ORACLE_FULL_SHIFTED };

struct sg_task {
    struct sg_task_info info;
    struct sg_constant constant[16];
    size_t offset[2];
    struct sg_matrix data;
    struct sg_provenance from;
    struct sg_optimum best;
    bool solved;

    enum oracle oracle;
    size_t workers, first, count, batch;
    uint64_t seed;
    int threads;
    double l2, f_start, start_offset;

    uint32_t *row;   /* [m] the shards: worker i owns row[shard_begin(i)] .. row[shard_begin(i + 1) - 1] */
    double *x;       /* [d] */
    double *slope;   /* [m] at x*, full-shifted only */
    double *scratch; /* [threads][scratch_each] */
    size_t scratch_each;
    uint32_t *drawn; /* [count][batch] */
    double *waiting; /* [QUEUE][d] */
    size_t n_waiting;
};

static size_t shard_begin(const struct sg_task *t, size_t worker) {
    SG_ASSERT(worker <= t->workers);
    return worker * t->data.m / t->workers;
}

static void set_constant(struct sg_task *t, const char *name, double value) {
    SG_ASSERT(t->info.n_constants < sizeof t->constant / sizeof *t->constant);
    t->constant[t->info.n_constants++] = (struct sg_constant){name, value};
}

/* Evaluates a key that holds a number or an expression over the constants known so far. */
static sg_status evaluate_key(double *out, const struct sg_task *t, const struct sg_node *task, const char *key,
                              double absent, struct sg_error *err) {
    const struct sg_node *node = sg_node_get(task, key);
    *out = absent;
    if (!node || node->kind == SG_NODE_NULL)
        return SG_OK;
    sg_status status = sg_expression(out, node->string, t->constant, t->info.n_constants, err);
    return status == SG_OK ? SG_OK : sg_prefix(err, "task.%s: ", key);
}

static sg_status load_data(struct sg_task *t, const struct sg_task_config *config, struct sg_error *err) {
    struct sg_dataset_request request = task_request_logreg(config->task, config->data_dir);
    request.notice = config->notice;
    if (config->progress)
        config->progress("loading", 0, 1);
    sg_status status = sg_dataset_load(&t->data, &t->from, &request, err);
    if (status == SG_OK && t->data.m < t->workers)
        return sg_fail(err, SG_ERR_ARGUMENT, "%zu workers for the %zu rows of '%s': every worker needs a row",
                       t->workers, t->data.m, request.name);
    return status;
}

static struct sg_optimum_options optimum_options(const struct sg_task *t, const struct sg_task_config *config) {
    return (struct sg_optimum_options){.sha256 = t->from.sha256,
                                       .data_dir = config->data_dir,
                                       .threads = t->threads,
                                       .progress = config->progress,
                                       .notice = config->notice};
}

/* Finds the optimum, which suboptimalities, a start next to it and the shifted oracle need. */
static sg_status find_optimum(struct sg_task *t, const struct sg_task_config *config, struct sg_error *err) {
    bool wanted = sg_node_bool(config->task, "solve-optimum", true);
    if (!wanted && t->oracle == ORACLE_FULL_SHIFTED)
        return sg_fail(err, SG_ERR_ARGUMENT, "task.oracle: full-shifted needs x*: set task.solve-optimum to true");
    if (!wanted && sg_node_get(config->task, "start.offset-from-optimum")->kind != SG_NODE_NULL)
        return sg_fail(err, SG_ERR_ARGUMENT, "task.start.offset-from-optimum needs x*: set task.solve-optimum to true");
    if (!wanted)
        return SG_OK;
    const struct sg_optimum_options options = optimum_options(t, config);
    sg_status status = sg_optimum_solve(&t->best, &t->data, t->l2, &options, err);
    t->solved = status == SG_OK;
    return status;
}

static sg_status measure(struct sg_task *t, const struct sg_task_config *config, struct sg_error *err) {
    struct sg_logreg_constants c;
    const struct sg_optimum_options options = optimum_options(t, config);
    sg_status status = sg_optimum_lipschitz(&c, &t->data, &options, err);
    if (status != SG_OK)
        return status;
    set_constant(t, "L", c.lipschitz);
    set_constant(t, "row_mean", c.row_mean);
    set_constant(t, "row_max", c.row_max);
    set_constant(t, "m", (double)t->data.m);
    set_constant(t, "d", (double)t->data.d);
    set_constant(t, "n", (double)t->workers);
    status = evaluate_key(&t->l2, t, config->task, "l2", 0, err);
    if (status != SG_OK)
        return status;
    if (!(t->l2 >= 0 && isfinite(t->l2)))
        return sg_fail(err, SG_ERR_ARGUMENT, "task.l2: must not be negative, is %g", t->l2);
    set_constant(t, "l2", t->l2);
    return SG_OK;
}

/* Memory that starts a cache line, for what every step reads and writes. */
static double *doubles(size_t n) {
    return aligned_alloc(64, (n + 7) / 8 * 64);
}

static sg_status allocate(struct sg_task *t, struct sg_error *err) {
    size_t d = t->data.d;
    t->row = malloc(t->data.m * sizeof *t->row);
    t->x = doubles(d);
    t->scratch_each = (d + 7) / 8 * 8 + (sg_logreg_scratch(d) + 7) / 8 * 8; /* a gradient, and its own scratch */
    t->scratch = doubles((size_t)t->threads * t->scratch_each);
    t->drawn = malloc(t->count * t->batch * sizeof *t->drawn);
    t->waiting = malloc(QUEUE * d * sizeof *t->waiting);
    if (t->oracle == ORACLE_FULL_SHIFTED)
        t->slope = malloc(t->data.m * sizeof *t->slope);
    if (!t->row || !t->x || !t->scratch || !t->drawn || !t->waiting || (t->oracle == ORACLE_FULL_SHIFTED && !t->slope))
        return sg_fail_memory(err, "logistic regression");
    for (size_t i = 0; t->slope && i < t->data.m; i++)
        t->slope[i] = sg_logreg_slope(&t->data, i, t->best.x);
    return SG_OK;
}

/* Deals the rows, and measures label_skew and, if x* is known, D = (1/n) sum_i |grad f_i(x*)|^2 (section 5.1.1). */
static sg_status deal_rows(struct sg_task *t, const struct sg_task_config *config, struct sg_error *err) {
    struct sg_shards shards;
    uint8_t *side = malloc(t->data.m);
    double *g = t->scratch, unlike = 0;
    if (!side)
        return sg_fail_memory(err, "shards");
    for (size_t i = 0; i < t->data.m; i++)
        side[i] = t->data.label[i] > 0;
    sg_status status = task_shards_read(&shards, config->task, err);
    SG_DO(status, sg_shards_deal(t->row, &shards, side, t->data.m, 2, t->workers, t->seed, err));
    if (status == SG_OK)
        set_constant(t, "label_skew", sg_shards_skew(t->row, side, t->data.m, 2, t->workers));
    for (size_t w = 0; status == SG_OK && t->solved && w < t->workers; w++) {
        const size_t begin = shard_begin(t, w);
        sg_logreg_gradient(g, &t->data, t->row + begin, shard_begin(t, w + 1) - begin, t->best.x, t->l2, g + t->data.d);
        for (size_t j = 0; j < t->data.d; j++)
            unlike += g[j] * g[j] / (double)t->workers;
    }
    set_constant(t, "D", t->solved ? unlike : NAN);
    free(side);
    return status;
}

static void start_at(struct sg_task *t) {
    for (size_t j = 0; j < t->data.d; j++)
        t->x[j] = t->solved && !isnan(t->start_offset) ? t->best.x[j] + t->start_offset : 0;
}

static void logreg_close(struct sg_task *t) {
    if (!t)
        return;
    sg_matrix_free(&t->data);
    sg_provenance_free(&t->from);
    sg_optimum_free(&t->best);
    free(t->row);
    free(t->x);
    free(t->slope);
    free(t->scratch);
    free(t->drawn);
    free(t->waiting);
    free(t);
}

static sg_status logreg_open(struct sg_task **out, const struct sg_task_config *config, struct sg_error *err) {
    if (strcmp(config->device, "cpu") != 0)
        return sg_fail(err, SG_ERR_UNSUPPORTED, "--device %s: task logreg runs on the CPU; use --device cpu",
                       config->device);
    struct sg_task *t = calloc(1, sizeof *t);
    if (!t)
        return sg_fail_memory(err, "logistic regression");
    const char *oracle = sg_node_string(config->task, "oracle", "stochastic");
    t->oracle = strcmp(oracle, "full") == 0           ? ORACLE_FULL
                : strcmp(oracle, "full-shifted") == 0 ? ORACLE_FULL_SHIFTED
                                                      : ORACLE_STOCHASTIC;
    t->workers = config->workers;
    t->first = config->first;
    t->count = config->count;
    t->batch = config->batch;
    t->seed = config->seed;
    t->threads = config->threads;
    sg_status status = load_data(t, config, err);
    SG_DO(status, measure(t, config, err));
    SG_DO(status, find_optimum(t, config, err));
    SG_DO(status, evaluate_key(&t->start_offset, t, config->task, "start.offset-from-optimum", NAN, err));
    SG_DO(status, allocate(t, err));
    SG_DO(status, deal_rows(t, config, err));
    if (status != SG_OK) {
        logreg_close(t);
        return status;
    }
    start_at(t);
    t->f_start = sg_logreg_value(&t->data, t->x, t->l2, t->threads);
    set_constant(t, "f_star", t->solved ? t->best.value : NAN);
    set_constant(t, "f_start", t->f_start);
    double rows = t->oracle == ORACLE_STOCHASTIC ? (double)t->batch : (double)t->data.m / (double)t->workers;
    size_t epoch = t->oracle == ORACLE_STOCHASTIC ? t->data.m / (t->workers * t->batch) : 1;
    t->offset[1] = t->data.d;
    t->info.d = t->data.d;
    t->info.dtype = SG_FLOAT64;
    t->info.layout = (struct sg_layout){.n_layers = 1, .offset = t->offset};
    t->info.steps_per_epoch = epoch ? epoch : 1;
    t->info.parallel_workers = true;
    t->info.gradient_flops = 4 * rows * (double)t->data.d;
    t->info.constant = t->constant;
    *out = t;
    return SG_OK;
}

static const struct sg_task_info *logreg_info(const struct sg_task *t) {
    return &t->info;
}

static cJSON *logreg_describe(const struct sg_task *t) {
    cJSON *facts = cJSON_CreateObject(), *dataset = sg_provenance_json(&t->from);
    sg_json_set_number(dataset, "rows", (double)t->data.m);
    sg_json_set_number(dataset, "features", (double)t->data.d);
    sg_json_set(facts, "dataset", dataset);
    return facts;
}

static sg_status logreg_start(struct sg_task *t, struct sg_error *err) {
    (void)err;
    start_at(t);
    return SG_OK;
}

static sg_status logreg_gradient(struct sg_task *t, size_t worker, uint64_t step, float *g, struct sg_error *err) {
    SG_ASSERT(worker >= t->first && worker - t->first < t->count && omp_get_thread_num() < t->threads);
    (void)err; /* the compressor reports a gradient that is not finite, because it sees every element anyway */
    size_t local = worker - t->first;
    size_t begin = shard_begin(t, worker), size = shard_begin(t, worker + 1) - begin;
    const uint32_t *rows = t->row + begin;
    SG_TRACE(2, "step %llu: gradient of worker %zu, %zu rows of its own", (unsigned long long)step, worker, size);
    if (t->oracle == ORACLE_STOCHASTIC) {
        uint32_t *drawn = t->drawn + local * t->batch;
        sg_rng rng = sg_rng_open(t->seed, SG_RNG_SAMPLE, (uint32_t)worker, step);
        for (size_t b = 0; b < t->batch; b++)
            drawn[b] = rows[sg_rng_below(&rng, size)];
        if (t->batch == 1) {
            sg_logreg_row_gradient(g, &t->data, drawn[0], t->x, t->l2);
            return SG_OK;
        }
        rows = drawn;
        size = t->batch;
    }
    const struct sg_logreg_origin origin = {t->best.x, t->slope};
    sg_logreg_shifted_gradient(g, &t->data, rows, size, t->x, t->l2, t->slope ? &origin : NULL,
                               t->scratch + (size_t)omp_get_thread_num() * t->scratch_each);
    return SG_OK;
}

/* The draw is one of the worker's rows j, uniformly, and g = slope_j a_j + l2 x. The noise is the variance over the
 * rows, divided by the batch. */
static sg_status logreg_expect(struct sg_task *t, size_t worker, double *mean, double *noise, struct sg_error *err) {
    SG_ASSERT(worker >= t->first && worker - t->first < t->count);
    const size_t d = t->data.d, begin = shard_begin(t, worker), size = shard_begin(t, worker + 1) - begin;
    const uint32_t *rows = t->row + begin;
    double *scratch = doubles(t->scratch_each), second = 0, first = 0;
    if (!scratch)
        return sg_fail_memory(err, "logistic regression");
    sg_logreg_gradient(mean, &t->data, rows, size, t->x, 0, scratch);
    for (size_t i = 0; i < size; i++) {
        const double slope = sg_logreg_slope(&t->data, rows[i], t->x);
        second += slope * slope * sg_logreg_row_square(&t->data, rows[i]) / (double)size;
    }
    for (size_t j = 0; j < d; j++) {
        first += mean[j] * mean[j];
        mean[j] += t->l2 * t->x[j];
    }
    *noise = t->oracle == ORACLE_STOCHASTIC ? (second - first) / (double)t->batch : 0;
    if (t->slope) { /* less the gradient at x*, which `mean` at x* is */
        sg_logreg_gradient(scratch, &t->data, rows, size, t->best.x, t->l2, scratch + d);
        for (size_t j = 0; j < d; j++)
            mean[j] -= scratch[j];
    }
    free(scratch);
    return SG_OK;
}

static void *logreg_parameters(struct sg_task *t) {
    return t->x;
}

static sg_status logreg_queue(struct sg_task *t, struct sg_error *err) {
    if (t->n_waiting == QUEUE)
        return sg_fail(err, SG_ERR_ARGUMENT, "more than %d points wait for evaluation", QUEUE);
    memcpy(t->waiting + t->n_waiting++ * t->data.d, t->x, t->data.d * sizeof *t->x);
    return SG_OK;
}

static double distance_squared(const struct sg_task *t, const double *x) {
    SG_ASSERT(t->solved);
    double sum = 0;
    for (size_t j = 0; j < t->data.d; j++)
        sum += (x[j] - t->best.x[j]) * (x[j] - t->best.x[j]);
    return sum;
}

static sg_status logreg_evaluate(struct sg_task *t, double *value, struct sg_error *err) {
    SG_ASSERT(t->n_waiting <= QUEUE);
    double f[QUEUE];
    sg_status status = sg_logreg_values(f, &t->data, t->waiting, t->n_waiting, t->l2, t->threads, err);
    for (size_t i = 0; status == SG_OK && i < t->n_waiting; i++) {
        double *out = value + i * METRICS;
        double gap = t->solved ? f[i] - t->best.value : NAN;
        out[0] = f[i];
        out[1] = gap;
        out[2] = gap / (t->f_start - t->best.value);
        out[3] = t->solved ? distance_squared(t, t->waiting + i * t->data.d) : NAN;
    }
    t->n_waiting = 0;
    return status;
}

extern const struct sg_task_ops sg_logreg_ops;
const struct sg_task_ops sg_logreg_ops = {
    .name = "logreg",
    .open = logreg_open,
    .info = logreg_info,
    .describe = logreg_describe,
    .start = logreg_start,
    .gradient = logreg_gradient,
    .expect = logreg_expect,
    .parameters = logreg_parameters,
    .queue_capacity = QUEUE,
    .queue = logreg_queue,
    .evaluate = logreg_evaluate,
    .close = logreg_close,
};

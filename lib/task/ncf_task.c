/* ncf_task.c: the task `ncf` (Figure 2c): which item a user chooses next, by NeuMF on the ratings of MovieLens.
 *
 * A gradient runs on one thread, whatever the machine has, and workers run in parallel. So sums have one order, and
 * results do not depend on threads or ranks. Every worker evaluates its part of the users. On a GPU workers take turns,
 * and gradients are those of whole tables. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ncf_net.h"
#include "sg_debug.h"
#include "sg_json.h"
#include "sg_ratings.h"
#include "sg_task.h"
#include "sg_threads.h"
#include "task_evaluate_workers.h"
#include "task_data.h"

/* What a worker contributes to an evaluation. */
enum { SHARE_USERS, SHARE_HITS, SHARE_NDCG, SHARES };
enum { CUTOFF = 10 };

/* A thread's batch. */
struct batch {
    uint32_t *user, *item; /* [batch] */
    float *label;
    bool *seen; /* [users + items] in the batch; all false between gradients */
};

struct sg_task {
    struct sg_task_info info;
    struct sg_constant constant[5];
    struct ncf_net net;
    struct sg_ratings ratings;
    struct sg_provenance from;
    struct sg_examples examples;
    size_t first, count, rivals; /* rivals: test negatives of a user */
    uint64_t seed;
    int threads; /* that gradients and evaluations run on; 1 on a GPU */
    const struct sg_kernels *kernels;
    struct sg_exec exec;
    sg_scope **scope;          /* [threads] */
    struct ncf_room *room;     /* [threads] */
    struct batch *batch;       /* [threads] */
    float *batch_loss;         /* [count][ncf_net_chunks] in the kernels' memory */
    float *loss;               /* [count][ncf_net_chunks], those that have arrived */
    struct sg_range **range;   /* [count][most_ranges] of their last gradients; NULL on a GPU */
    struct sg_ranges *touched; /* [count] */
    float *x;                  /* [d] in the kernels' memory */
};

static void ncf_close(struct sg_task *t) {
    if (!t)
        return;
    for (int i = 0; i < t->threads; i++) {
        if (t->scope)
            sg_scope_close(t->scope[i]);
        if (t->room)
            ncf_room_close(&t->room[i]);
        if (t->batch) {
            free(t->batch[i].user);
            free(t->batch[i].item);
            free(t->batch[i].label);
            free(t->batch[i].seen);
        }
    }
    for (size_t w = 0; t->range && w < t->count; w++)
        free(t->range[w]);
    void *const owned[] = {t->scope, t->room, t->batch, t->range, t->touched, t->loss};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    t->kernels->release(&t->exec, t->batch_loss);
    t->kernels->release(&t->exec, t->x);
    sg_ratings_free(&t->ratings);
    sg_provenance_free(&t->from);
    free(t);
}

static sg_status load_ratings(struct sg_task *t, const struct sg_task_config *config, struct sg_error *err) {
    const struct sg_ratings_request request = task_request_ncf(config->task, config->data_dir);
    if (config->progress)
        config->progress("loading", 0, 1);
    sg_status status = sg_ratings_load(&t->ratings, &t->from, &request, err);
    if (status == SG_OK && t->ratings.users < config->workers)
        status = sg_fail(err, SG_ERR_ARGUMENT, "%zu workers for %zu users: every worker evaluates one or more",
                         config->workers, t->ratings.users);
    return status;
}

static sg_status open_net(struct sg_task *t, const struct sg_task_config *config, struct sg_error *err) {
    t->net = (struct ncf_net){.users = t->ratings.users,
                              .items = t->ratings.items,
                              .factors = (size_t)sg_node_number(config->task, "factors", 64),
                              .dropout = sg_node_number(config->task, "dropout", 0.5),
                              .dense = config->exec.device != NULL};
    sg_status status = ncf_net_open(&t->net, sg_node_string(config->task, "mlp", ""), config->batch, err);
    t->examples = (struct sg_examples){
        .ratings = &t->ratings,
        .workers = config->workers,
        .batch = config->batch,
        .negatives = (size_t)sg_node_number(config->task, "negatives", 4),
        .seed = config->seed,
        .threads = config->exec.device ? config->threads : 1, /* a CPU's threads have a worker each */
        .cut_first = strcmp(sg_node_string(config->task, "sharding", "global"), "reference") == 0,
    };
    if (status == SG_OK && sg_examples_steps(&t->examples) == 0)
        status =
            sg_fail(err, SG_ERR_ARGUMENT, "%zu ratings with %zu negatives each are too few for %zu workers with %zu",
                    t->ratings.count, t->examples.negatives, config->workers, config->batch);
    return status;
}

/* The most ranges that a gradient touches: rows of four tables, where neighbours share a range, and all that is no
 * table. The number of rows and the number of examples limit it. */
static size_t most_ranges(const struct sg_task *t, size_t batch) {
    const size_t rows = t->net.users + t->net.items + NCF_TABLES;
    return 1 + (rows < NCF_TABLES * batch ? rows : NCF_TABLES * batch);
}

static sg_status allocate(struct sg_task *t, const struct sg_task_config *config, struct sg_error *err) {
    t->scope = calloc((size_t)t->threads, sizeof *t->scope);
    t->room = calloc((size_t)t->threads, sizeof *t->room);
    t->batch = calloc((size_t)t->threads, sizeof *t->batch);
    const size_t losses = t->count * ncf_net_chunks(&t->net, config->batch);
    t->loss = calloc(losses, sizeof *t->loss);
    t->batch_loss = t->kernels->allocate(&t->exec, losses * sizeof *t->batch_loss);
    t->range = calloc(t->count, sizeof *t->range);
    t->touched = calloc(t->count, sizeof *t->touched);
    t->x = t->kernels->allocate(&t->exec, t->net.d * sizeof *t->x);
    if (!t->scope || !t->room || !t->batch || !t->loss || !t->batch_loss || !t->range || !t->touched || !t->x)
        return sg_fail_memory(err, "the network");
    for (size_t w = 0; w < t->count && !t->net.dense; w++)
        if (!(t->range[w] = malloc(most_ranges(t, config->batch) * sizeof **t->range)))
            return sg_fail_memory(err, "a gradient's rows");
    for (int i = 0; i < t->threads; i++) {
        struct batch *b = &t->batch[i];
        *b = (struct batch){malloc(config->batch * sizeof *b->user), malloc(config->batch * sizeof *b->item),
                            malloc(config->batch * sizeof *b->label),
                            calloc(t->net.users + t->net.items, sizeof *b->seen)};
        if (!b->user || !b->item || !b->label || !b->seen)
            return sg_fail_memory(err, "a batch");
        sg_status status = ncf_room_open(&t->room[i], &t->net, err);
        if (status == SG_OK)
            status =
                sg_scope_open(&t->scope[i], config->device, sg_node_string(config->task, "precision", "fp32"), err);
        if (status != SG_OK)
            return status;
        sg_scope_use(t->scope[i], t->kernels, t->exec.device);
    }
    return SG_OK;
}

/* The start values are drawn on the CPU, whatever the device is. */
static sg_status ncf_start(struct sg_task *t, struct sg_error *err) {
    float *x = malloc(t->net.d * sizeof *x);
    if (!x)
        return sg_fail_memory(err, "the first weights");
    ncf_net_start(&t->net, t->seed, x);
    t->kernels->put(&t->exec, t->x, x, t->net.d * sizeof *x);
    free(x);
    return SG_OK;
}

static sg_status ncf_open(struct sg_task **out, const struct sg_task_config *config, struct sg_error *err) {
    struct sg_task *t = calloc(1, sizeof *t);
    if (!t)
        return sg_fail_memory(err, "the network");
    t->first = config->first;
    t->count = config->count;
    t->seed = config->seed;
    t->threads = config->exec.device ? 1 : config->threads;
    t->kernels = config->kernels;
    t->exec = config->exec;
    t->rivals = (size_t)sg_node_number(config->task, "test-negatives", 100);
    sg_status status = load_ratings(t, config, err);
    SG_DO(status, open_net(t, config, err));
    SG_DO(status, allocate(t, config, err));
    if (status != SG_OK) {
        ncf_close(t);
        return status;
    }
    const struct sg_constant constant[] = {{"d", (double)t->net.d},
                                           {"n", (double)config->workers},
                                           {"users", (double)t->ratings.users},
                                           {"items", (double)t->ratings.items},
                                           {"ratings", (double)t->ratings.count}};
    memcpy(t->constant, constant, sizeof constant);
    t->info = (struct sg_task_info){
        .d = t->net.d,
        .dtype = SG_FLOAT32,
        .layout = {t->net.n_layers, t->net.offset, t->net.name, t->net.rows},
        .steps_per_epoch = sg_examples_steps(&t->examples),
        .parallel_workers = t->exec.device == NULL,
        .gradient_flops = 3 * t->net.example_flops * (double)config->batch, /* backward is twice the work of forward */
        .evaluation = SG_EVALUATE_SHARED,
        .n_shares = SHARES,
        .constant = t->constant,
        .n_constants = sizeof constant / sizeof *constant,
    };
    *out = t;
    return SG_OK;
}

static const struct sg_task_info *ncf_info(const struct sg_task *t) {
    return &t->info;
}

static cJSON *ncf_describe(const struct sg_task *t) {
    cJSON *facts = cJSON_CreateObject();
    sg_json_set(facts, "dataset", sg_ratings_json(&t->ratings, &t->from));
    sg_json_set_string(facts, "model", "neumf");
    sg_json_set_string(facts, "libtorch", sg_tensor_library());
    return facts;
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

/* Notes what the gradient wrote: the rows of the batch's users and items in the tables, and all that is no table. */
static void note_touched(struct sg_task *t, size_t local, const struct batch *b) {
    const struct ncf_net *net = &t->net;
    struct sg_range *range = t->range[local];
    size_t n = 0;
    for (size_t i = 0; i < t->examples.batch; i++)
        b->seen[b->user[i]] = b->seen[net->users + b->item[i]] = true;
    for (size_t l = 0; l < NCF_TABLES; l++) {
        const bool users = l % 2 == 0, *seen = users ? b->seen : b->seen + net->users;
        const size_t rows = users ? net->users : net->items, width = (net->offset[l + 1] - net->offset[l]) / rows;
        for (size_t r = 0; r < rows; r++) {
            if (!seen[r])
                continue;
            const size_t begin = net->offset[l] + r * width;
            if (r == 0 || !seen[r - 1])
                range[n++].begin = begin;
            range[n - 1].end = begin + width;
        }
    }
    range[n++] = (struct sg_range){net->offset[NCF_TABLES], net->d};
    t->touched[local] = (struct sg_ranges){range, n};
    for (size_t i = 0; i < t->examples.batch; i++)
        b->seen[b->user[i]] = b->seen[net->users + b->item[i]] = false;
}

static const struct sg_ranges *ncf_touched(const struct sg_task *t, size_t worker) {
    return t->net.dense ? NULL : &t->touched[worker - t->first];
}

static sg_status ncf_gradient(struct sg_task *t, size_t worker, uint64_t step, float *g, struct sg_error *err) {
    SG_ASSERT(worker >= t->first && omp_get_thread_num() < t->threads);
    SG_TRACE(2, "step %llu: gradient of worker %zu", (unsigned long long)step, worker);
    const int thread = omp_get_thread_num();
    const struct batch *b = &t->batch[thread];
    sg_rng dropout = sg_rng_open(t->seed, SG_RNG_DROPOUT, (uint32_t)worker, step);
    const struct ncf_pass pass = {&t->net, &t->room[thread], t->scope[thread], t->x, &dropout};
    const size_t chunks = ncf_net_chunks(&t->net, t->examples.batch), first = (worker - t->first) * chunks;
    sg_examples_get(&t->examples, worker, step, b->user, b->item, b->label);
    if (t->net.dense)
        t->kernels->zero(&t->exec, g, t->net.d * sizeof *g);
    else
        note_touched(t, worker - t->first, b);
    sg_status status =
        ncf_net_gradient(&pass, b->user, b->item, b->label, t->examples.batch, g, t->batch_loss + first, err);
    if (status == SG_OK)
        t->kernels->get_later(&t->exec, &t->loss[first], t->batch_loss + first, chunks * sizeof *t->loss);
    return status == SG_OK ? SG_OK : sg_prefix(err, "worker %zu, step %llu: ", worker, (unsigned long long)step);
}

static double ncf_batch_loss(const struct sg_task *t, size_t worker) {
    const size_t chunks = ncf_net_chunks(&t->net, t->examples.batch);
    double sum = 0;
    for (size_t i = 0; i < chunks; i++)
        sum += (double)t->loss[(worker - t->first) * chunks + i];
    return sum;
}

static void *ncf_parameters(struct sg_task *t) {
    return t->x;
}

/* ---- evaluation -------------------------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The test item, then the user's rivals, each once and without the test item; returns how many. The rivals' order does not
 * matter to a rank. */
static size_t candidates(const struct sg_task *t, uint32_t user, uint32_t *item) {
    const uint32_t wanted = t->ratings.test[user];
    size_t n = 1;
    item[0] = wanted;
    sg_ratings_rivals(&t->ratings, t->seed, user, item + 1, t->rivals);
    qsort(item + 1, t->rivals, sizeof *item, ascending);
    for (size_t i = 1; i <= t->rivals; i++)
        if (item[i] != wanted && (n == 1 || item[i] != item[n - 1]))
            item[n++] = item[i];
    SG_ASSERT(n >= 1 && n <= 1 + t->rivals && item[0] == wanted);
    return n;
}

/* The rank is 1 + how many rivals score as high or higher. Of equal scores the test item's counts as the worst, so a
 * model without an opinion hits nothing. A score that is NaN, on either side, counts against the test item. */
static size_t rank_of_first(const float *score, size_t n) {
    size_t rank = 1;
    for (size_t i = 1; i < n; i++)
        rank += !(score[i] < score[0]);
    return rank;
}

/* Evaluates the users from..to-1, as many at a time as fill a chunk. */
static sg_status worker_share(struct sg_task *t, size_t worker, double *share, struct sg_error *err) {
    const size_t users = t->ratings.users, workers = t->examples.workers;
    const size_t from = users * worker / workers, to = users * (worker + 1) / workers;
    const int thread = omp_get_thread_num();
    const struct ncf_pass pass = {&t->net, &t->room[thread], t->scope[thread], t->x, NULL};
    const size_t most = 1 + t->rivals, group = most < t->net.chunk ? t->net.chunk / most : 1;
    uint32_t *user = malloc(group * most * sizeof *user), *item = malloc(group * most * sizeof *item);
    float *score = malloc(group * most * sizeof *score);
    size_t *begin = malloc((group + 1) * sizeof *begin);
    sg_status status = user && item && score && begin ? SG_OK : sg_fail_memory(err, "the evaluation");
    share[SHARE_USERS] = (double)(to - from);
    share[SHARE_HITS] = share[SHARE_NDCG] = 0;
    for (size_t at = from, now; at < to && status == SG_OK; at += now) {
        now = to - at < group ? to - at : group;
        begin[0] = 0;
        for (size_t i = 0; i < now; i++) {
            begin[i + 1] = begin[i] + candidates(t, (uint32_t)(at + i), item + begin[i]);
            for (size_t j = begin[i]; j < begin[i + 1]; j++)
                user[j] = (uint32_t)(at + i);
        }
        status = ncf_net_score(&pass, user, item, begin[now], score, err);
        for (size_t i = 0; i < now && status == SG_OK; i++) {
            const size_t rank = rank_of_first(score + begin[i], begin[i + 1] - begin[i]);
            share[SHARE_HITS] += rank <= CUTOFF;
            share[SHARE_NDCG] += rank <= CUTOFF ? 1 / log2((double)rank + 1) : 0;
        }
    }
    free(user);
    free(item);
    free(score);
    free(begin);
    return status;
}

static sg_status ncf_evaluate_shares(struct sg_task *t, double *share, struct sg_error *err) {
    return task_evaluate_workers(t, worker_share, t->first, t->count, SHARES, t->threads, share, err);
}

static void ncf_conclude(const struct sg_task *t, const double *share, double *value) {
    double sum[SHARES] = {0};
    for (size_t w = 0; w < t->examples.workers; w++)
        for (size_t i = 0; i < SHARES; i++)
            sum[i] += share[w * SHARES + i];
    SG_ASSERT(sum[SHARE_USERS] == (double)t->ratings.users);
    value[0] = sum[SHARE_HITS] / sum[SHARE_USERS];
    value[1] = sum[SHARE_NDCG] / sum[SHARE_USERS];
}

extern const struct sg_task_ops sg_ncf_ops;
const struct sg_task_ops sg_ncf_ops = {
    .name = "ncf",
    .open = ncf_open,
    .info = ncf_info,
    .describe = ncf_describe,
    .start = ncf_start,
    .gradient = ncf_gradient,
    .touched = ncf_touched,
    .batch_loss = ncf_batch_loss,
    .parameters = ncf_parameters,
    .evaluate_shares = ncf_evaluate_shares,
    .conclude = ncf_conclude,
    .close = ncf_close,
};

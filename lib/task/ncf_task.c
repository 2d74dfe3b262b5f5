/* ncf_task.c: the task `ncf` (Figure 2c): which item a user chooses next, by NeuMF on the ratings of MovieLens.
 * Every worker evaluates its part of the users. On a GPU gradients are those of whole tables. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "ncf_net.h"
#include "sg_debug.h"
#include "sg_memory.h"
#include "sg_ratings.h"
#include "task_data.h"
#include "task_net.h"

/* A worker's sums for an evaluation. */
enum { SHARE_USERS, SHARE_HITS, SHARE_NDCG, SHARES };
enum { CUTOFF = 10 };

/* A thread's batch. */
struct batch {
    uint32_t *user, *item; /* [batch] */
    float *label;
    bool *seen; /* [users + items] in the batch; all false between gradients */
};

struct sg_task {
    struct sg_task_base base;
    struct ncf_net net;
    struct sg_ratings ratings;
    struct sg_provenance from;
    struct sg_examples examples;
    const uint32_t *wanted;    /* [users] the item that each is tested for: of the test or of the validation part */
    size_t rivals;             /* test negatives of a user */
    struct ncf_room *room;     /* [threads] */
    struct batch *batch;       /* [threads] */
    struct sg_range **range;   /* [count][most_ranges] of their last gradients; NULL on a GPU */
    struct sg_ranges *touched; /* [count] */
};

static void ncf_close(struct sg_task *t) {
    for (int i = 0; i < t->base.threads; i++) {
        if (t->room)
            ncf_room_close(&t->room[i]);
        if (t->batch) {
            free(t->batch[i].user);
            free(t->batch[i].item);
            free(t->batch[i].label);
            free(t->batch[i].seen);
        }
    }
    for (size_t w = 0; t->range && w < t->base.count; w++)
        free(t->range[w]);
    void *const owned[] = {t->room, t->batch, t->range, t->touched};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    task_net_close(t);
    sg_ratings_free(&t->ratings);
    sg_provenance_free(&t->from);
}

static sg_status load_ratings(struct sg_task *t, struct sg_error *err) {
    const struct sg_ratings_request request = task_request_ncf(t->base.task, t->base.data_dir);
    bool validation = false;
    sg_status status = sg_ratings_load(&t->ratings, &t->from, &request, err);
    SG_DO(status, task_judge_read(&validation, t->base.task, t->ratings.validation != NULL, err));
    t->wanted = validation ? t->ratings.validation : t->ratings.test;
    if (status == SG_OK && t->ratings.users < t->base.workers)
        status = sg_fail(err, SG_ERR_ARGUMENT, "%zu workers for %zu users: every worker evaluates one or more",
                         t->base.workers, t->ratings.users);
    return status;
}

static sg_status open_net(struct sg_task *t, struct sg_error *err) {
    const struct sg_node *task = t->base.task;
    t->net = (struct ncf_net){.users = t->ratings.users,
                              .items = t->ratings.items,
                              .factors = (size_t)sg_node_number(task, "factors", 64),
                              .dropout = sg_node_number(task, "dropout", 0.5),
                              .dense = t->base.exec.device != NULL};
    sg_status status = ncf_net_open(&t->net, sg_node_string(task, "mlp", ""), t->base.batch, err);
    t->examples = (struct sg_examples){
        .ratings = &t->ratings,
        .workers = t->base.workers,
        .batch = t->base.batch,
        .negatives = (size_t)sg_node_number(task, "negatives", 4),
        .seed = t->base.seed,
        .threads = t->base.exec.device ? t->base.exec.threads : 1, /* a CPU's threads have a worker each */
        .cut_first = strcmp(sg_node_string(task, "sharding", "global"), "reference") == 0,
    };
    if (status == SG_OK && sg_examples_steps(&t->examples) == 0)
        status =
            sg_fail(err, SG_ERR_ARGUMENT, "%zu ratings with %zu negatives each are too few for %zu workers with %zu",
                    t->ratings.count, t->examples.negatives, t->base.workers, t->base.batch);
    if (status != SG_OK)
        return status;
    return task_net_open(t, &t->net.layers, SHARES, ncf_net_chunks(&t->net, t->base.batch), err);
}

/* The most ranges that a gradient touches: rows of four tables, where neighbours share a range, and all that is no
 * table. The number of rows and the number of examples limit it. */
static size_t most_ranges(const struct sg_task *t, size_t batch) {
    const size_t rows = t->net.users + t->net.items + NCF_TABLES;
    return 1 + (rows < NCF_TABLES * batch ? rows : NCF_TABLES * batch);
}

static void open_batch(struct sg_task *t, int thread) {
    const size_t n = t->base.batch;
    struct batch *b = &t->batch[thread];
    *b = (struct batch){sg_malloc(n * sizeof *b->user), sg_malloc(n * sizeof *b->item), sg_malloc(n * sizeof *b->label),
                        sg_calloc(t->net.users + t->net.items, sizeof *b->seen)};
    ncf_room_open(&t->room[thread], &t->net);
}

static void allocate(struct sg_task *t) {
    const size_t threads = (size_t)t->base.threads, count = t->base.count;
    t->room = sg_calloc(threads, sizeof *t->room);
    t->batch = sg_calloc(threads, sizeof *t->batch);
    t->range = sg_calloc(count, sizeof *t->range);
    t->touched = sg_calloc(count, sizeof *t->touched);
    for (size_t w = 0; w < count && !t->net.dense; w++)
        t->range[w] = sg_malloc(most_ranges(t, t->base.batch) * sizeof **t->range);
    for (int i = 0; i < t->base.threads; i++)
        open_batch(t, i);
}

static void ncf_start(struct sg_task *t, void *x) {
    ncf_net_start(&t->net, t->base.seed, x);
}

static sg_status ncf_open(struct sg_task *t, struct sg_error *err) {
    struct sg_task_info *info = &t->base.info;
    t->rivals = (size_t)sg_node_number(t->base.task, "test-negatives", 100);
    t->base.model = "neumf";
    sg_status status = load_ratings(t, err);
    SG_DO(status, open_net(t, err));
    if (status == SG_OK)
        allocate(t);
    if (status != SG_OK)
        return status;
    sg_task_add_constant(t, "users", (double)t->ratings.users);
    sg_task_add_constant(t, "items", (double)t->ratings.items);
    sg_task_add_constant(t, "ratings", (double)t->ratings.count);
    info->steps_per_epoch = sg_examples_steps(&t->examples);
    info->gradient_flops = 3 * t->net.example_flops * (double)t->base.batch; /* backward is twice the work of forward */
    return SG_OK;
}

static cJSON *ncf_dataset(const struct sg_task *t) {
    return sg_ratings_json(&t->ratings, &t->from);
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

/* Records what the gradient wrote: the rows of the batch's users and items in the tables, and all that is no table. */
static void note_touched(struct sg_task *t, size_t local, const struct batch *b) {
    const struct ncf_net *net = &t->net;
    struct sg_range *range = t->range[local];
    size_t n = 0;
    for (size_t i = 0; i < t->examples.batch; i++)
        b->seen[b->user[i]] = b->seen[net->users + b->item[i]] = true;
    for (size_t l = 0; l < NCF_TABLES; l++) {
        const bool users = l % 2 == 0, *seen = users ? b->seen : b->seen + net->users;
        const size_t rows = users ? net->users : net->items,
                     width = (net->layers.offset[l + 1] - net->layers.offset[l]) / rows;
        for (size_t r = 0; r < rows; r++) {
            if (!seen[r])
                continue;
            const size_t begin = net->layers.offset[l] + r * width;
            if (r == 0 || !seen[r - 1])
                range[n++].begin = begin;
            range[n - 1].end = begin + width;
        }
    }
    range[n++] = (struct sg_range){net->layers.offset[NCF_TABLES], net->d};
    t->touched[local] = (struct sg_ranges){range, n};
    for (size_t i = 0; i < t->examples.batch; i++)
        b->seen[b->user[i]] = b->seen[net->users + b->item[i]] = false;
}

static const struct sg_ranges *ncf_touched(const struct sg_task *t, size_t worker) {
    return t->net.dense ? NULL : &t->touched[worker - t->base.first];
}

static sg_status ncf_gradient(struct sg_task *t, const struct task_turn *turn, float *g, float *loss,
                              struct sg_error *err) {
    const struct batch *b = &t->batch[turn->thread];
    sg_rng dropout = sg_rng_open(t->base.seed, SG_RNG_DROPOUT, (uint32_t)turn->worker, turn->step);
    const struct ncf_pass pass = {&t->net, &t->room[turn->thread], turn->scope, t->base.x, &dropout};
    sg_examples_get(&t->examples, turn->worker, turn->step, b->user, b->item, b->label);
    if (!t->net.dense)
        note_touched(t, turn->local, b);
    return ncf_net_gradient(&pass, b->user, b->item, b->label, t->base.batch, g, loss, err);
}

/* ---- evaluation -------------------------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The test item, then the user's rivals, each once and without the test item; returns how many. The rivals' order does
 * not matter to a rank. */
static size_t candidates(const struct sg_task *t, uint32_t user, uint32_t *item) {
    const uint32_t wanted = t->wanted[user];
    size_t n = 1;
    item[0] = wanted;
    sg_ratings_rivals(&t->ratings, t->base.seed, user, item + 1, t->rivals);
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
static sg_status ncf_share(struct sg_task *t, const struct task_turn *turn, double *share, struct sg_error *err) {
    const size_t users = t->ratings.users, workers = t->base.workers;
    const size_t from = sg_shards_cut(users, turn->worker, workers),
                 to = sg_shards_cut(users, turn->worker + 1, workers);
    const struct ncf_pass pass = {&t->net, &t->room[turn->thread], turn->scope, t->base.x, NULL};
    const size_t most = 1 + t->rivals, group = most < t->net.chunk ? t->net.chunk / most : 1;
    uint32_t *user = sg_malloc(group * most * sizeof *user), *item = sg_malloc(group * most * sizeof *item);
    float *score = sg_malloc(group * most * sizeof *score);
    size_t *begin = sg_malloc((group + 1) * sizeof *begin);
    sg_status status = SG_OK;
    share[SHARE_USERS] = (double)(to - from);
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

static void ncf_conclude(const struct sg_task *t, const double *share, double *value) {
    double sum[SHARES];
    task_net_sum_shares(t, share, sum);
    SG_ASSERT(sum[SHARE_USERS] == (double)t->ratings.users);
    value[0] = sum[SHARE_HITS] / sum[SHARE_USERS];
    value[1] = sum[SHARE_NDCG] / sum[SHARE_USERS];
}

static const struct task_net_ops own = {ncf_gradient, ncf_share};
extern const struct sg_task_ops sg_ncf_ops;
const struct sg_task_ops sg_ncf_ops = {
    .name = "ncf",
    TASK_NET_OPS(own),
    .open = ncf_open,
    .dataset = ncf_dataset,
    .start = ncf_start,
    .touched = ncf_touched,
    .evaluate_shares = task_net_evaluate_shares,
    .conclude = ncf_conclude,
    .close = ncf_close,
};

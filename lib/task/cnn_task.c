/* cnn_task.c: the task `cnn` (Figures 2a and 3, Table 1): image classification on CIFAR by the networks of
 * cnn_models.c. Every worker keeps its own batch-norm statistics and evaluates its part of the test set with them. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "cnn_net.h"
#include "sg_debug.h"
#include "sg_images.h"
#include "sg_memory.h"
#include "task_data.h"
#include "task_net.h"

/* A worker's sums for an evaluation, for the current model and for the running average. */
enum { SHARE_IMAGES, SHARE_LOSS, SHARE_CORRECT, SHARE_AVERAGE_LOSS, SHARE_AVERAGE_CORRECT, SHARES };
/* Images of one pass of an evaluation: few enough for a cache of a CPU, as many as a worker's share of CIFAR-10 on a
 * GPU, which waits after each pass. */
enum { TEST_BATCH = 250, TEST_BATCH_GPU = 1250 };

struct sg_task {
    struct sg_task_base base;
    struct cnn_net net;
    struct sg_image_set data;
    const struct sg_images *judged; /* what evaluations are on: the test or the validation part of data */
    uint32_t *shards;               /* [training images]; NULL = they are dealt anew in every epoch */
    double skew;
    sg_batches **batches; /* [count] */
    /* In the kernels' memory: */
    float *table;              /* [3][256] what bytes of images become; NULL = batches hold floats, as on a CPU */
    float *statistics;         /* [count][n_statistics] of batch-norm */
    float *fixed;              /* [n_statistics] those of the worker whose pass a graph computes; NULL = no graph */
    bool averages;             /* the running-average model is kept: */
    uint64_t evaluations;      /* points it is the mean of */
    float *average;            /* [d] */
    float *average_statistics; /* [count][n_statistics] */
};

static void cnn_close(struct sg_task *t) {
    for (size_t w = 0; t->batches && w < t->base.count; w++)
        sg_batches_close(t->batches[w]);
    float *const vector[] = {t->table, t->statistics, t->fixed, t->average, t->average_statistics};
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++)
        t->base.kernels->release(&t->base.exec, vector[i]);
    task_net_close(t);
    free(t->batches);
    free(t->shards);
    sg_image_set_free(&t->data);
}

static sg_status load_images(struct sg_task *t, struct sg_error *err) {
    const struct sg_image_request request = task_request_cnn(t->base.task, t->base.data_dir);
    bool validation = false;
    sg_status status = sg_image_set_load(&t->data, &request, err);
    SG_DO(status, task_judge_read(&validation, t->base.task, t->data.validation.count > 0, err));
    t->judged = validation ? &t->data.validation : &t->data.test;
    if (status == SG_OK && t->judged->count < t->base.workers)
        status = sg_fail(err, SG_ERR_ARGUMENT, "%zu workers for %zu test images: every worker needs one",
                         t->base.workers, t->judged->count);
    return status;
}

static sg_status deal_images(struct sg_task *t, struct sg_error *err) {
    const struct sg_images *images = &t->data.train;
    const size_t workers = t->base.workers;
    struct sg_shards shards;
    sg_status status = task_shards_read(&shards, t->base.task, err);
    if (status != SG_OK || shards.kind == SG_SHARD_IID)
        return status;
    t->shards = sg_malloc((images->count + 1) * sizeof *t->shards);
    sg_shards_deal(t->shards, &shards, images->label, images->count, images->classes, workers, t->base.seed);
    t->skew = sg_shards_skew(t->shards, images->label, images->count, images->classes, workers);
    return SG_OK;
}

static sg_status open_batches(struct sg_task *t, struct sg_error *err) {
    const char *augment = sg_node_string(t->base.task, "augment", "usual");
    struct sg_batches_config batches = {.images = &t->data.train,
                                        .shards = t->shards,
                                        .workers = t->base.workers,
                                        .count = 1,
                                        .batch = t->base.batch,
                                        .seed = t->base.seed,
                                        .augmentation = t->data.augmentation,
                                        .scale = t->data.scale,
                                        .bytes = t->table != NULL};
    if (strcmp(augment, "usual") != 0)
        batches.augmentation = strcmp(augment, "none") == 0        ? SG_AUGMENT_NONE
                               : strcmp(augment, "crop-flip") == 0 ? SG_AUGMENT_CROP_FLIP
                                                                   : SG_AUGMENT_CROP_FLIP_ROTATE;
    sg_status status = SG_OK;
    t->base.info.worker_bytes =
        (double)(sg_batches_bytes(&batches) + (t->averages ? 2 : 1) * t->net.n_statistics * sizeof *t->statistics);
    for (size_t w = 0; w < t->base.count && status == SG_OK; w++) {
        batches.first = t->base.first + w;
        status = sg_batches_open(&t->batches[w], &batches, err);
    }
    return status;
}

/* Images go to a GPU as bytes, a quarter of the floats, and become the same floats there. */
static void put_table(struct sg_task *t) {
    struct sg_image_table table;
    const size_t n = sizeof table / sizeof *t->table;
    sg_image_table_fill(&table, &t->data.scale);
    t->table = task_net_floats(t, n);
    task_net_put(t, t->table, &table, n);
}

static void allocate(struct sg_task *t) {
    const size_t n = t->base.count * t->net.n_statistics;
    t->batches = sg_calloc(t->base.count, sizeof *t->batches);
    t->statistics = task_net_floats(t, n);
    if (t->averages) {
        t->average = task_net_floats(t, t->net.d);
        t->average_statistics = task_net_floats(t, n);
    }
    if (t->base.exec.device)
        put_table(t);
}

/* The first passes set up what libraries keep, and a graph is recorded after them. */
static sg_status open_graph(struct sg_task *t, struct sg_error *err) {
    enum { PASSES_BEFORE = 3 };
    if (!sg_node_bool(t->base.task, "graph", false))
        return SG_OK;
    if (t->net.dropout)
        return sg_fail(err, SG_ERR_UNSUPPORTED, "task.graph: %s draws masks of dropout, which a graph would repeat",
                       t->net.model->name);
    if (!t->base.exec.device)
        return SG_OK; /* only checked here, for runs on a GPU */
    t->fixed = task_net_floats(t, t->net.n_statistics);
    return sg_scope_use_graph(t->base.net->scope[0], PASSES_BEFORE, err) == SG_OK ? SG_OK
                                                                                  : sg_prefix(err, "task.graph: ");
}

/* x first holds the start values of the statistics, because no network has more of these than parameters. */
static void cnn_start(struct sg_task *t, void *x) {
    const size_t n = t->net.n_statistics;
    SG_ASSERT(n <= t->net.d);
    cnn_net_start_statistics(&t->net, x);
    for (size_t w = 0; w < t->base.count; w++)
        task_net_put(t, t->statistics + w * n, x, n);
    cnn_net_start(&t->net, t->base.seed, x);
}

static size_t test_batch(const struct sg_task *t) {
    return t->base.exec.device ? TEST_BATCH_GPU : TEST_BATCH;
}

static sg_status cnn_open(struct sg_task *t, struct sg_error *err) {
    const struct sg_images *images = &t->data.train;
    struct sg_task_info *info = &t->base.info;
    t->averages = sg_node_bool(t->base.task, "average-model", true);
    sg_status status = load_images(t, err);
    if (status == SG_OK)
        status = cnn_model_open(&t->net, sg_node_string(t->base.task, "model", ""),
                                sg_node_number(t->base.task, "width", 1), (int64_t)images->classes, err);
    SG_DO(status, task_net_open(t, &t->net.layers, SHARES, 1, err));
    if (status == SG_OK)
        allocate(t);
    SG_DO(status, open_graph(t, err));
    SG_DO(status, deal_images(t, err));
    SG_DO(status, open_batches(t, err));
    if (status != SG_OK)
        return status;
    t->base.model = t->net.model->name;
    sg_task_add_constant(t, "images", (double)images->count);
    sg_task_add_constant(t, "classes", (double)images->classes);
    sg_task_add_constant(t, "label_skew", t->skew);
    info->steps_per_epoch = sg_batches_steps(images->count, t->base.workers, t->base.batch);
    info->gradient_flops = 3 * t->net.image_flops * (double)t->base.batch; /* backward is twice the work of forward */
    /* Measured: activations and a tenth, and three copies of the weights in the order that convolutions take. An
     * evaluation keeps a layer's input while it makes the output, but hardly ever on all threads at once. */
    const double weights = sizeof(float) * (double)t->net.d;
    const double images_each = ceil((double)t->judged->count / (double)t->base.workers);
    info->gradient_bytes = 1.1 * sizeof(float) * (double)t->base.batch * t->net.image_values + 3 * weights;
    info->evaluation_bytes =
        1.5 * sizeof(float) * fmin((double)test_batch(t), images_each) * t->net.most_values + weights;
    info->no_decay = t->net.no_decay;
    info->by_parts = t->base.exec.device == NULL;
    return SG_OK;
}

static cJSON *cnn_dataset(const struct sg_task *t) {
    return sg_image_set_json(&t->data);
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

/* Of images and their labels. */
static sg_tensor *batch_loss(void *of, sg_tensor *const *input) {
    struct cnn_pass *pass = of;
    return sg_cross_entropy(pass->scope, cnn_net_forward(pass, input[0]), input[1]);
}

static sg_status cnn_gradient(struct sg_task *t, const struct task_turn *turn, float *g, float *loss,
                              struct sg_error *err) {
    const struct sg_exec exec = {.threads = 1, .device = t->base.exec.device};
    const size_t n = t->net.n_statistics;
    float *statistics = t->statistics + turn->local * n;
    sg_batches *batches = t->batches[turn->local];
    const float *pixels = NULL;
    const uint8_t *bytes = NULL;
    const int64_t *label;
    if (t->table)
        sg_batches_get_bytes(batches, turn->worker, turn->step, &bytes, &label);
    else
        sg_batches_get(batches, turn->worker, turn->step, &pixels, &label);
    struct cnn_pass pass = {.net = &t->net,
                            .scope = turn->scope,
                            .x = t->base.x,
                            .g = g,
                            .statistics = t->fixed ? t->fixed : statistics,
                            .training = true,
                            .count = (int64_t)t->base.batch,
                            .dropout = sg_rng_open(t->base.seed, SG_RNG_DROPOUT, (uint32_t)turn->worker, turn->step)};
    sg_scope_begin(pass.scope, 1, true);
    task_net_watch(t, turn);
    sg_tensor *const input[] = {t->table ? cnn_net_image_bytes(&pass, bytes, t->table) : cnn_net_images(&pass, pixels),
                                sg_tensor_ids(pass.scope, label, &pass.count, 1)};
    if (t->fixed)
        t->base.kernels->copy(&exec, t->fixed, statistics, n);
    sg_tensor *mean = sg_pass(pass.scope, batch_loss, &pass, input, 2, g);
    if (t->fixed)
        t->base.kernels->copy(&exec, statistics, t->fixed, n);
    return sg_tensor_store(pass.scope, mean, loss, 1, err);
}

/* ---- evaluation -------------------------------------------------------------------------------------------------- */

/* Adds the cross-entropy of one row of logits to *loss, and 1 to *correct if the first largest is the label's. */
static void judge(const float *logit, size_t classes, int64_t label, double *loss, double *correct) {
    SG_ASSERT(label >= 0 && (size_t)label < classes);
    size_t best = 0;
    double sum = 0;
    for (size_t c = 1; c < classes; c++)
        best = logit[c] > logit[best] ? c : best;
    for (size_t c = 0; c < classes; c++)
        sum += exp((double)logit[c] - (double)logit[best]);
    *loss += log(sum) - ((double)logit[label] - (double)logit[best]);
    *correct += best == (size_t)label;
}

/* Loss and correct answers of model x with batch-norm statistics, summed over test images from..to-1. */
static sg_status test_images(struct sg_task *t, sg_scope *scope, float *x, float *statistics, size_t from, size_t to,
                             double *loss, double *correct, struct sg_error *err) {
    SG_ASSERT(from <= to && to <= t->judged->count);
    const size_t classes = t->judged->classes;
    const size_t most = test_batch(t);
    float *pixels = t->table ? NULL : sg_malloc(most * SG_IMAGE_VALUES * sizeof *pixels),
          *logits = sg_malloc(most * classes * sizeof *logits);
    int64_t label[TEST_BATCH];
    struct cnn_pass pass = {.net = &t->net, .scope = scope, .x = x, .statistics = statistics};
    sg_status status = SG_OK;
    *loss = *correct = 0;
    for (size_t at = from, now; at < to && status == SG_OK; at += now) {
        now = to - at < most ? to - at : most;
        const uint8_t *bytes = t->judged->pixel + at * SG_IMAGE_VALUES;
        if (!t->table)
            sg_images_convert(pixels, label, t->judged, at, now, &t->data.scale);
        pass.count = (int64_t)now;
        sg_scope_begin(pass.scope, 1, false);
        sg_tensor *images = t->table ? cnn_net_image_bytes(&pass, bytes, t->table) : cnn_net_images(&pass, pixels);
        status = sg_tensor_read(pass.scope, cnn_net_forward(&pass, images), logits, now * classes, err);
        for (size_t i = 0; i < now && status == SG_OK; i++)
            judge(logits + i * classes, classes, t->judged->label[at + i], loss, correct);
    }
    free(pixels);
    free(logits);
    return status;
}

static sg_status cnn_share(struct sg_task *t, const struct task_turn *turn, double *share, struct sg_error *err) {
    const size_t n = t->net.n_statistics, images = t->judged->count;
    const size_t from = sg_shards_cut(images, turn->worker, t->base.workers);
    const size_t to = sg_shards_cut(images, turn->worker + 1, t->base.workers);
    float *statistics = t->statistics + turn->local * n;
    share[SHARE_IMAGES] = (double)(to - from);
    share[SHARE_AVERAGE_LOSS] = share[SHARE_AVERAGE_CORRECT] = NAN;
    sg_status status =
        test_images(t, turn->scope, t->base.x, statistics, from, to, &share[SHARE_LOSS], &share[SHARE_CORRECT], err);
    if (status != SG_OK || !t->averages)
        return status;
    const struct sg_exec exec = {.threads = 1, .device = t->base.exec.device};
    float *average = t->average_statistics + turn->local * n;
    t->base.kernels->running_mean(&exec, average, statistics, n, 1 / (double)t->evaluations);
    return test_images(t, turn->scope, t->average, average, from, to, &share[SHARE_AVERAGE_LOSS],
                       &share[SHARE_AVERAGE_CORRECT], err);
}

static sg_status cnn_evaluate_shares(struct sg_task *t, double *share, struct sg_error *err) {
    t->evaluations++;
    if (t->averages)
        t->base.kernels->running_mean(&t->base.exec, t->average, t->base.x, t->net.d, 1 / (double)t->evaluations);
    return task_net_evaluate_shares(t, share, err);
}

static void cnn_conclude(const struct sg_task *t, const double *share, double *value) {
    double sum[SHARES];
    task_net_sum_shares(t, share, sum);
    SG_ASSERT(sum[SHARE_IMAGES] == (double)t->judged->count);
    for (size_t i = SHARE_LOSS; i < SHARES; i++)
        value[i - SHARE_LOSS] = sum[i] / sum[SHARE_IMAGES];
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

static size_t cnn_common_bytes(const struct sg_task *t) {
    return sizeof t->evaluations + (t->averages ? t->net.d * sizeof *t->average : 0);
}

static void cnn_common_save(const struct sg_task *t, void *out) {
    memcpy(out, &t->evaluations, sizeof t->evaluations);
    if (t->averages)
        task_net_get(t, (char *)out + sizeof t->evaluations, t->average, t->net.d);
}

static void cnn_common_load(struct sg_task *t, const void *in) {
    memcpy(&t->evaluations, in, sizeof t->evaluations);
    if (t->averages)
        task_net_put(t, t->average, (const char *)in + sizeof t->evaluations, t->net.d);
}

static size_t cnn_state_bytes(const struct sg_task *t) {
    return (t->averages ? 2 : 1) * t->net.n_statistics * sizeof *t->statistics;
}

static void cnn_state_save(const struct sg_task *t, size_t worker, void *out) {
    const size_t n = t->net.n_statistics, at = (worker - t->base.first) * n;
    task_net_get(t, out, t->statistics + at, n);
    if (t->averages)
        task_net_get(t, (float *)out + n, t->average_statistics + at, n);
}

static void cnn_state_load(struct sg_task *t, size_t worker, const void *in) {
    const size_t n = t->net.n_statistics, at = (worker - t->base.first) * n;
    task_net_put(t, t->statistics + at, in, n);
    if (t->averages)
        task_net_put(t, t->average_statistics + at, (const float *)in + n, n);
}

static const struct task_net_ops own = {cnn_gradient, cnn_share};
extern const struct sg_task_ops sg_cnn_ops;
const struct sg_task_ops sg_cnn_ops = {
    .name = "cnn",
    TASK_NET_OPS(own),
    .open = cnn_open,
    .dataset = cnn_dataset,
    .start = cnn_start,
    .evaluate_shares = cnn_evaluate_shares,
    .conclude = cnn_conclude,
    .common_bytes = cnn_common_bytes,
    .common_save = cnn_common_save,
    .common_load = cnn_common_load,
    .state_bytes = cnn_state_bytes,
    .state_save = cnn_state_save,
    .state_load = cnn_state_load,
    .close = cnn_close,
};

/* cnn_task.c: the task `cnn` (Figures 2a and 3, Table 1): image classification on CIFAR by the networks of
 * cnn_models.c.
 *
 * A gradient runs on one thread, whatever the machine has, and workers run in parallel. So sums have one order, and
 * results do not depend on threads or ranks. Every worker keeps its own batch-norm statistics and evaluates its part of
 * the test set with them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cnn_net.h"
#include "sg_debug.h"
#include "sg_images.h"
#include "sg_json.h"
#include "sg_task.h"
#include "sg_threads.h"
#include "task_evaluate_workers.h"
#include "task_data.h"

/* What a worker contributes to an evaluation, of the model as it is and of the running average. */
enum { SHARE_IMAGES, SHARE_LOSS, SHARE_CORRECT, SHARE_AVERAGE_LOSS, SHARE_AVERAGE_CORRECT, SHARES };
enum { TEST_BATCH = 250 };

struct sg_task {
    struct sg_task_info info;
    struct sg_constant constant[5];
    struct cnn_net net;
    struct sg_image_set data;
    uint32_t *shards; /* [training images] */
    double skew;
    size_t workers, first, count, batch;
    uint64_t seed;
    int threads; /* that gradients and evaluations run on; 1 on a GPU */
    const struct sg_kernels *kernels;
    struct sg_exec exec;
    sg_scope **scope;          /* [threads] */
    sg_batches **batches;      /* [count] */
    float *loss;               /* [count] of the last batches */
    float *batch_loss;         /* [count] the same in the kernels' memory, as all that follows: */
    float *x;                  /* [d] */
    float *table;              /* [3][256] what bytes of images become; NULL = batches hold floats, as on a CPU */
    float *statistics;         /* [count][n_statistics] of batch-norm */
    bool averages;             /* the running-average model is kept: */
    uint64_t evaluations;      /* points it is the mean of */
    float *average;            /* [d] */
    float *average_statistics; /* [count][n_statistics] */
};

static void cnn_close(struct sg_task *t) {
    if (!t)
        return;
    for (size_t w = 0; t->batches && w < t->count; w++)
        sg_batches_close(t->batches[w]);
    for (int i = 0; t->scope && i < t->threads; i++)
        sg_scope_close(t->scope[i]);
    float *const vector[] = {t->batch_loss, t->x, t->table, t->statistics, t->average, t->average_statistics};
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++)
        t->kernels->release(&t->exec, vector[i]);
    free(t->scope);
    free(t->loss);
    free(t->batches);
    free(t->shards);
    sg_image_set_free(&t->data);
    cnn_net_free(&t->net);
    free(t);
}

static sg_status load_images(struct sg_task *t, const struct sg_task_config *config, struct sg_error *err) {
    const struct sg_image_request request = task_request_cnn(config->task, config->data_dir);
    if (config->progress)
        config->progress("loading", 0, 1);
    sg_status status = sg_image_set_load(&t->data, &request, err);
    if (status == SG_OK && t->data.test.count < t->workers)
        status = sg_fail(err, SG_ERR_ARGUMENT, "%zu workers for %zu test images: every worker needs one", t->workers,
                         t->data.test.count);
    return status;
}

static sg_status deal_images(struct sg_task *t, const struct sg_task_config *config, struct sg_error *err) {
    const struct sg_images *images = &t->data.train;
    struct sg_shards shards;
    t->shards = malloc((images->count + 1) * sizeof *t->shards);
    if (!t->shards)
        return sg_fail_memory(err, "shards");
    sg_status status = task_shards_read(&shards, config->task, err);
    if (status == SG_OK && shards.kind == SG_SHARD_IID) { /* dealt anew in every epoch */
        free(t->shards);
        t->shards = NULL;
    } else if (status == SG_OK) {
        status =
            sg_shards_deal(t->shards, &shards, images->label, images->count, images->classes, t->workers, t->seed, err);
        t->skew = sg_shards_skew(t->shards, images->label, images->count, images->classes, t->workers);
    }
    return status;
}

static sg_status open_batches(struct sg_task *t, const struct sg_task_config *config, struct sg_error *err) {
    const char *augment = sg_node_string(config->task, "augment", "usual");
    struct sg_batches_config batches = {.images = &t->data.train,
                                        .shards = t->shards,
                                        .workers = t->workers,
                                        .count = 1,
                                        .batch = t->batch,
                                        .seed = t->seed,
                                        .augmentation = t->data.augmentation,
                                        .scale = t->data.scale,
                                        .order = SG_IMAGE_NHWC,
                                        .bytes = t->table != NULL};
    if (strcmp(augment, "usual") != 0)
        batches.augmentation = strcmp(augment, "none") == 0        ? SG_AUGMENT_NONE
                               : strcmp(augment, "crop-flip") == 0 ? SG_AUGMENT_CROP_FLIP
                                                                   : SG_AUGMENT_CROP_FLIP_ROTATE;
    sg_status status = SG_OK;
    for (size_t w = 0; w < t->count && status == SG_OK; w++) {
        batches.first = t->first + w;
        status = sg_batches_open(&t->batches[w], &batches, err);
    }
    return status;
}

static float *vector(const struct sg_task *t, size_t n) {
    return t->kernels->allocate(&t->exec, n * sizeof(float));
}

/* Images go to a GPU as bytes, a quarter of the floats, and become the same floats there. */
static sg_status put_table(struct sg_task *t, struct sg_error *err) {
    struct sg_image_table table;
    sg_image_table_fill(&table, &t->data.scale);
    t->table = t->kernels->allocate(&t->exec, sizeof table);
    if (!t->table)
        return sg_fail_memory(err, "the network");
    t->kernels->put(&t->exec, t->table, &table, sizeof table);
    return SG_OK;
}

static sg_status allocate(struct sg_task *t, const struct sg_task_config *config, struct sg_error *err) {
    t->scope = calloc((size_t)t->threads, sizeof *t->scope);
    t->batches = calloc(t->count, sizeof *t->batches);
    t->loss = calloc(t->count, sizeof *t->loss);
    t->batch_loss = vector(t, t->count);
    t->x = vector(t, t->net.d);
    t->statistics = vector(t, t->count * t->net.n_statistics);
    if (t->averages) {
        t->average = vector(t, t->net.d);
        t->average_statistics = vector(t, t->count * t->net.n_statistics);
    }
    if (!t->scope || !t->batches || !t->loss || !t->batch_loss || !t->x || !t->statistics ||
        (t->averages && (!t->average || !t->average_statistics)))
        return sg_fail_memory(err, "the network");
    sg_status status = t->exec.device ? put_table(t, err) : SG_OK;
    for (int i = 0; i < t->threads && status == SG_OK; i++)
        if ((status = sg_scope_open(&t->scope[i], config->device, sg_node_string(config->task, "precision", "fp32"),
                                    err)) == SG_OK)
            sg_scope_use(t->scope[i], t->kernels, t->exec.device);
    return status;
}

/* The start values are drawn on the CPU, whatever the device is. */
static sg_status cnn_start(struct sg_task *t, struct sg_error *err) {
    const size_t n = t->net.n_statistics;
    float *x = malloc((t->net.d > n ? t->net.d : n) * sizeof *x);
    if (!x)
        return sg_fail_memory(err, "the first weights");
    cnn_net_start(&t->net, t->seed, x);
    t->kernels->put(&t->exec, t->x, x, t->net.d * sizeof *x);
    cnn_net_start_statistics(&t->net, x);
    for (size_t w = 0; w < t->count; w++)
        t->kernels->put(&t->exec, t->statistics + w * n, x, n * sizeof *x);
    free(x);
    return SG_OK;
}

static sg_status cnn_open(struct sg_task **out, const struct sg_task_config *config, struct sg_error *err) {
    const bool on_gpu = config->exec.device != NULL;
    struct sg_task *t = calloc(1, sizeof *t);
    if (!t)
        return sg_fail_memory(err, "the network");
    t->workers = config->workers;
    t->first = config->first;
    t->count = config->count;
    t->batch = config->batch;
    t->seed = config->seed;
    t->threads = on_gpu ? 1 : config->threads;
    t->kernels = config->kernels;
    t->exec = config->exec;
    t->averages = sg_node_bool(config->task, "average-model", true);
    sg_status status = load_images(t, config, err);
    if (status == SG_OK)
        status =
            cnn_model_open(&t->net, sg_node_string(config->task, "model", ""), (int64_t)t->data.train.classes, err);
    SG_DO(status, allocate(t, config, err));
    SG_DO(status, deal_images(t, config, err));
    SG_DO(status, open_batches(t, config, err));
    if (status != SG_OK) {
        cnn_close(t);
        return status;
    }
    const struct sg_constant constant[] = {{"d", (double)t->net.d},
                                           {"n", (double)t->workers},
                                           {"images", (double)t->data.train.count},
                                           {"classes", (double)t->data.train.classes},
                                           {"label_skew", t->skew}};
    memcpy(t->constant, constant, sizeof constant);
    t->info = (struct sg_task_info){
        .d = t->net.d,
        .dtype = SG_FLOAT32,
        .layout = {t->net.n_layers, t->net.offset, t->net.name, t->net.rows},
        .steps_per_epoch = sg_batches_steps(t->data.train.count, t->workers, t->batch),
        .parallel_workers = !on_gpu,
        .gradient_flops = 3 * t->net.image_flops * (double)t->batch, /* backward is twice the work of forward */
        .evaluation = SG_EVALUATE_SHARED,
        .n_shares = SHARES,
        .no_decay = t->net.no_decay,
        .constant = t->constant,
        .n_constants = sizeof constant / sizeof *constant,
    };
    *out = t;
    return SG_OK;
}

static const struct sg_task_info *cnn_info(const struct sg_task *t) {
    return &t->info;
}

static cJSON *cnn_describe(const struct sg_task *t) {
    cJSON *facts = cJSON_CreateObject(), *set = sg_image_set_json(&t->data);
    if (facts && set && cJSON_AddItemToObject(facts, "dataset", set) &&
        cJSON_AddStringToObject(facts, "model", t->net.model->name) &&
        cJSON_AddStringToObject(facts, "libtorch", sg_tensor_library()))
        return facts;
    if (!facts || cJSON_GetObjectItemCaseSensitive(facts, "dataset") == NULL)
        cJSON_Delete(set);
    cJSON_Delete(facts);
    return NULL;
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

static sg_scope *scope_of_thread(const struct sg_task *t) {
    return t->scope[omp_get_thread_num()];
}

static sg_status cnn_gradient(struct sg_task *t, size_t worker, uint64_t step, float *g, struct sg_error *err) {
    SG_ASSERT(worker >= t->first && worker - t->first < t->count);
    const size_t local = worker - t->first;
    SG_TRACE(2, "step %llu: gradient of worker %zu", (unsigned long long)step, worker);
    const float *pixels = NULL;
    const uint8_t *bytes = NULL;
    const int64_t *label;
    if (t->table)
        sg_batches_get_bytes(t->batches[local], worker, step, &bytes, &label);
    else
        sg_batches_get(t->batches[local], worker, step, &pixels, &label);
    t->kernels->zero(&t->exec, g, t->net.d * sizeof *g);
    struct cnn_pass pass = {.net = &t->net,
                            .scope = scope_of_thread(t),
                            .x = t->x,
                            .g = g,
                            .statistics = t->statistics + local * t->net.n_statistics,
                            .training = true,
                            .count = (int64_t)t->batch,
                            .dropout = sg_rng_open(t->seed, SG_RNG_DROPOUT, (uint32_t)worker, step)};
    sg_scope_begin(pass.scope, 1, true);
    sg_tensor *images = t->table ? cnn_net_image_bytes(&pass, bytes, t->table) : cnn_net_images(&pass, pixels);
    sg_tensor *loss = sg_cross_entropy(pass.scope, cnn_net_forward(&pass, images), label);
    sg_status status = sg_backward(pass.scope, loss, err);
    SG_DO(status, sg_tensor_store(pass.scope, loss, t->batch_loss + local, 1, err));
    if (status == SG_OK)
        t->kernels->get_later(&t->exec, &t->loss[local], t->batch_loss + local, sizeof *t->loss);
    sg_scope_begin(pass.scope, 1, false); /* frees the tensors of the last pass */
    return status == SG_OK ? SG_OK : sg_prefix(err, "worker %zu, step %llu: ", worker, (unsigned long long)step);
}

static double cnn_batch_loss(const struct sg_task *t, size_t worker) {
    return (double)t->loss[worker - t->first];
}

static void *cnn_parameters(struct sg_task *t) {
    return t->x;
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
static sg_status test_images(struct sg_task *t, float *x, float *statistics, size_t from, size_t to, double *loss,
                             double *correct, struct sg_error *err) {
    SG_ASSERT(from <= to && to <= t->data.test.count);
    const size_t classes = t->data.test.classes;
    float *pixels = malloc(TEST_BATCH * SG_IMAGE_VALUES * sizeof *pixels),
          *logits = malloc(TEST_BATCH * classes * sizeof *logits);
    int64_t label[TEST_BATCH];
    struct cnn_pass pass = {.net = &t->net, .scope = scope_of_thread(t), .x = x, .statistics = statistics};
    sg_status status = pixels && logits ? SG_OK : sg_fail_memory(err, "the evaluation");
    *loss = *correct = 0;
    for (size_t at = from, now; at < to && status == SG_OK; at += now) {
        now = to - at < TEST_BATCH ? to - at : TEST_BATCH;
        const uint8_t *bytes = t->data.test.pixel + at * SG_IMAGE_VALUES;
        if (!t->table)
            sg_images_convert(pixels, label, &t->data.test, at, now, &t->data.scale, SG_IMAGE_NHWC);
        pass.count = (int64_t)now;
        sg_scope_begin(pass.scope, 1, false);
        sg_tensor *images = t->table ? cnn_net_image_bytes(&pass, bytes, t->table) : cnn_net_images(&pass, pixels);
        status = sg_tensor_read(pass.scope, cnn_net_forward(&pass, images), logits, now * classes, err);
        for (size_t i = 0; i < now && status == SG_OK; i++)
            judge(logits + i * classes, classes, t->data.test.label[at + i], loss, correct);
    }
    sg_scope_begin(pass.scope, 1, false);
    free(pixels);
    free(logits);
    return status;
}

static sg_status worker_share(struct sg_task *t, size_t worker, double *share, struct sg_error *err) {
    const size_t n = t->net.n_statistics, local = worker - t->first;
    const size_t from = sg_images_cut(t->data.test.count, worker, t->workers);
    const size_t to = sg_images_cut(t->data.test.count, worker + 1, t->workers);
    share[SHARE_IMAGES] = (double)(to - from);
    share[SHARE_AVERAGE_LOSS] = share[SHARE_AVERAGE_CORRECT] = NAN;
    sg_status status =
        test_images(t, t->x, t->statistics + local * n, from, to, &share[SHARE_LOSS], &share[SHARE_CORRECT], err);
    if (status != SG_OK || !t->averages)
        return status;
    const struct sg_exec exec = {.threads = 1, .device = t->exec.device};
    t->kernels->running_mean(&exec, t->average_statistics + local * n, t->statistics + local * n, n,
                             1 / (double)t->evaluations);
    return test_images(t, t->average, t->average_statistics + local * n, from, to, &share[SHARE_AVERAGE_LOSS],
                       &share[SHARE_AVERAGE_CORRECT], err);
}

static sg_status cnn_evaluate_shares(struct sg_task *t, double *share, struct sg_error *err) {
    t->evaluations++;
    if (t->averages)
        t->kernels->running_mean(&t->exec, t->average, t->x, t->net.d, 1 / (double)t->evaluations);
    return task_evaluate_workers(t, worker_share, t->first, t->count, SHARES, t->threads, share, err);
}

static void cnn_conclude(const struct sg_task *t, const double *share, double *value) {
    double sum[SHARES] = {0};
    for (size_t w = 0; w < t->workers; w++)
        for (size_t i = 0; i < SHARES; i++)
            sum[i] += share[w * SHARES + i];
    SG_ASSERT(sum[SHARE_IMAGES] == (double)t->data.test.count);
    for (size_t i = SHARE_LOSS; i < SHARES; i++)
        value[i - SHARE_LOSS] = sum[i] / sum[SHARE_IMAGES];
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

static size_t cnn_common_bytes(const struct sg_task *t) {
    return sizeof t->evaluations + (t->averages ? t->net.d * sizeof *t->average : 0);
}

/* An error of the device is ignored here: the trainer, which reads its own vectors too, finds it. */
static void get(const struct sg_task *t, void *host, const float *from, size_t n) {
    (void)t->kernels->get(&t->exec, host, from, n * sizeof *from);
}

static void put(const struct sg_task *t, float *to, const void *host, size_t n) {
    t->kernels->put(&t->exec, to, host, n * sizeof *to);
}

static void cnn_common_save(const struct sg_task *t, void *out) {
    memcpy(out, &t->evaluations, sizeof t->evaluations);
    if (t->averages)
        get(t, (char *)out + sizeof t->evaluations, t->average, t->net.d);
}

static void cnn_common_load(struct sg_task *t, const void *in) {
    memcpy(&t->evaluations, in, sizeof t->evaluations);
    if (t->averages)
        put(t, t->average, (const char *)in + sizeof t->evaluations, t->net.d);
}

static size_t cnn_state_bytes(const struct sg_task *t) {
    return (t->averages ? 2 : 1) * t->net.n_statistics * sizeof *t->statistics;
}

static void cnn_state_save(const struct sg_task *t, size_t worker, void *out) {
    const size_t n = t->net.n_statistics, at = (worker - t->first) * n;
    get(t, out, t->statistics + at, n);
    if (t->averages)
        get(t, (float *)out + n, t->average_statistics + at, n);
}

static void cnn_state_load(struct sg_task *t, size_t worker, const void *in) {
    const size_t n = t->net.n_statistics, at = (worker - t->first) * n;
    put(t, t->statistics + at, in, n);
    if (t->averages)
        put(t, t->average_statistics + at, (const float *)in + n, n);
}

extern const struct sg_task_ops sg_cnn_ops;
const struct sg_task_ops sg_cnn_ops = {
    .name = "cnn",
    .open = cnn_open,
    .info = cnn_info,
    .describe = cnn_describe,
    .start = cnn_start,
    .gradient = cnn_gradient,
    .batch_loss = cnn_batch_loss,
    .parameters = cnn_parameters,
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

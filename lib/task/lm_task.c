/* lm_task.c: the task `lm` (Figure 2b): a language model of LSTM layers, trained by truncated back-propagation through
 * time.
 *
 * The text is cut into workers x batch columns of equal length that lie side by side. A worker reads `batch` of them,
 * bptt tokens a step, and predicts each next token. It carries the hidden state of its columns from step to step, not
 * its gradient; an epoch begins with zeros. The test text is read the same way. A gradient runs on one thread and
 * workers run in parallel, as in cnn_task.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lm_net.h"
#include "sg_debug.h"
#include "sg_json.h"
#include "sg_task.h"
#include "sg_threads.h"
#include "task_evaluate_workers.h"
#include "sg_tokens.h"
#include "task_data.h"

/* What a worker contributes to an evaluation. */
enum { SHARE_TOKENS, SHARE_LOSS, SHARE_BATCHES, SHARE_PERPLEXITY, SHARES };

/* What a thread works with. */
struct room {
    sg_scope *scope;
    int64_t *id, *label; /* [bptt][batch] */
    float *spare;        /* [n_state] in the kernels' memory */
};

struct sg_task {
    struct sg_task_info info;
    struct sg_constant constant[4];
    struct lm_net net;
    struct sg_token_set data;
    size_t workers, first, count, batch, bptt;
    uint64_t seed;
    int threads; /* that gradients and evaluations run on; 1 on a GPU */
    double dropout, clip;
    const struct sg_kernels *kernels;
    struct sg_exec exec;
    size_t n_state;    /* numbers that a worker carries: batch column_state */
    struct room *room; /* [threads] */
    float *loss;       /* [count] of the last batches */
    float **state;     /* [count] of [n_state], in the kernels' memory as all that follows */
    float *batch_loss; /* [count] */
    float *x;          /* [d] */
};

static void lm_close(struct sg_task *t) {
    if (!t)
        return;
    for (int i = 0; t->room && i < t->threads; i++) {
        sg_scope_close(t->room[i].scope);
        free(t->room[i].id);
        free(t->room[i].label);
        t->kernels->release(&t->exec, t->room[i].spare);
    }
    for (size_t w = 0; t->state && w < t->count; w++)
        t->kernels->release(&t->exec, t->state[w]);
    t->kernels->release(&t->exec, t->batch_loss);
    t->kernels->release(&t->exec, t->x);
    free(t->loss);
    free(t->room);
    free(t->state);
    sg_token_set_free(&t->data);
    lm_net_free(&t->net);
    free(t);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

/* Tokens of one column; the last one is only predicted. */
static size_t column_length(const struct sg_task *t, const struct sg_tokens *text) {
    return text->count / (t->workers * t->batch);
}

static sg_status load_text(struct sg_task *t, const struct sg_task_config *config, struct sg_error *err) {
    const struct sg_token_request request = task_request_lm(config->task, config->data_dir);
    if (config->progress)
        config->progress("loading", 0, 1);
    sg_status status = sg_token_set_load(&t->data, &request, err);
    if (status != SG_OK)
        return status;
    if (column_length(t, &t->data.train) < t->bptt + 1)
        return sg_fail(
            err, SG_ERR_ARGUMENT,
            "%zu tokens for %zu workers of %zu columns: a column has %zu, and one step of bptt %zu takes %zu",
            t->data.train.count, t->workers, t->batch, column_length(t, &t->data.train), t->bptt, t->bptt + 1);
    if (column_length(t, &t->data.test) < 2)
        return sg_fail(err, SG_ERR_ARGUMENT, "%zu test tokens for %zu workers of %zu columns: every column needs 2",
                       t->data.test.count, t->workers, t->batch);
    return SG_OK;
}

static sg_status open_net(struct sg_task *t, const struct sg_node *task, struct sg_error *err) {
    const double embedding = sg_node_number(task, "embedding", 0);
    const struct lm_shape shape = {.vocabulary = (int64_t)t->data.vocabulary,
                                   .embedding = (int64_t)embedding,
                                   .hidden = (int64_t)sg_node_number(task, "hidden", embedding),
                                   .layers = (size_t)sg_node_number(task, "layers", 0)};
    sg_status status = lm_net_open(&t->net, &shape, err);
    t->n_state = t->batch * t->net.column_state;
    return status;
}

static float *vector(const struct sg_task *t, size_t n) {
    return t->kernels->allocate(&t->exec, n * sizeof(float));
}

static sg_status open_room(struct sg_task *t, struct room *room, const struct sg_task_config *config,
                           struct sg_error *err) {
    const size_t tokens = t->bptt * t->batch;
    room->id = calloc(tokens, sizeof *room->id);
    room->label = calloc(tokens, sizeof *room->label);
    room->spare = vector(t, t->n_state);
    if (!room->id || !room->label || !room->spare)
        return sg_fail_memory(err, "a batch");
    sg_status status =
        sg_scope_open(&room->scope, config->device, sg_node_string(config->task, "precision", "fp32"), err);
    if (status == SG_OK)
        sg_scope_use(room->scope, t->kernels, t->exec.device);
    return status;
}

static sg_status allocate(struct sg_task *t, const struct sg_task_config *config, struct sg_error *err) {
    t->room = calloc((size_t)t->threads, sizeof *t->room);
    t->state = calloc(t->count, sizeof *t->state);
    t->loss = calloc(t->count, sizeof *t->loss);
    t->batch_loss = vector(t, t->count);
    t->x = vector(t, t->net.d);
    bool whole = t->room && t->state && t->loss && t->batch_loss && t->x;
    for (size_t w = 0; w < t->count && whole; w++)
        whole = (t->state[w] = vector(t, t->n_state)) != NULL;
    sg_status status = whole ? SG_OK : sg_fail_memory(err, "the network");
    for (int i = 0; i < t->threads && status == SG_OK; i++)
        status = open_room(t, &t->room[i], config, err);
    return status;
}

static void fill_info(struct sg_task *t) {
    const struct sg_constant constant[] = {{"d", (double)t->net.d},
                                           {"n", (double)t->workers},
                                           {"V", (double)t->data.vocabulary},
                                           {"tokens", (double)t->data.train.count}};
    _Static_assert(sizeof constant == sizeof t->constant, "all constants have room");
    memcpy(t->constant, constant, sizeof constant);
    t->info = (struct sg_task_info){
        .d = t->net.d,
        .dtype = SG_FLOAT32,
        .layout = {t->net.n_layers, t->net.offset, t->net.name, t->net.rows},
        .steps_per_epoch = (column_length(t, &t->data.train) - 1) / t->bptt,
        .parallel_workers = t->exec.device == NULL,
        .gradient_flops = 3 * t->net.token_flops * (double)(t->bptt * t->batch), /* backward: twice the forward work */
        .evaluation = SG_EVALUATE_SHARED,
        .n_shares = SHARES,
        .constant = t->constant,
        .n_constants = sizeof constant / sizeof *constant,
    };
}

static sg_status lm_open(struct sg_task **out, const struct sg_task_config *config, struct sg_error *err) {
    struct sg_task *t = calloc(1, sizeof *t);
    if (!t)
        return sg_fail_memory(err, "the network");
    t->kernels = config->kernels;
    t->exec = config->exec;
    t->workers = config->workers;
    t->first = config->first;
    t->count = config->count;
    t->batch = config->batch;
    t->seed = config->seed;
    t->threads = config->exec.device ? 1 : config->threads;
    t->bptt = (size_t)sg_node_number(config->task, "bptt", 1);
    t->dropout = sg_node_number(config->task, "dropout", 0);
    t->clip = sg_node_number(config->task, "clip", 0);
    sg_status status = load_text(t, config, err);
    SG_DO(status, open_net(t, config->task, err));
    SG_DO(status, allocate(t, config, err));
    if (status != SG_OK) {
        lm_close(t);
        return status;
    }
    fill_info(t);
    *out = t;
    return SG_OK;
}

static const struct sg_task_info *lm_info(const struct sg_task *t) {
    return &t->info;
}

static cJSON *lm_describe(const struct sg_task *t) {
    cJSON *facts = cJSON_CreateObject();
    sg_json_set(facts, "dataset", sg_token_set_json(&t->data));
    sg_json_set_string(facts, "model", "lstm");
    sg_json_set_string(facts, "libtorch", sg_tensor_library());
    return facts;
}

/* The start values are drawn on the CPU, whatever the device is. */
static sg_status lm_start(struct sg_task *t, struct sg_error *err) {
    float *x = malloc(t->net.d * sizeof *x);
    if (!x)
        return sg_fail_memory(err, "the first weights");
    lm_net_start(&t->net, t->seed, x);
    t->kernels->put(&t->exec, t->x, x, t->net.d * sizeof *x);
    free(x);
    return SG_OK;
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

static struct room *room_of_thread(const struct sg_task *t) {
    return &t->room[omp_get_thread_num()];
}

/* Tokens at..at+steps-1 of the worker's columns, and those that follow each. */
static void read_columns(const struct sg_task *t, struct room *room, const struct sg_tokens *text, size_t worker,
                         size_t at, size_t steps) {
    const size_t length = column_length(t, text);
    for (size_t c = 0; c < t->batch; c++) {
        const uint32_t *id = text->id + (worker * t->batch + c) * length + at;
        for (size_t s = 0; s < steps; s++) {
            room->id[s * t->batch + c] = id[s];
            room->label[s * t->batch + c] = id[s + 1];
        }
    }
}

static struct lm_pass pass_of(struct sg_task *t, struct room *room, size_t steps, float *state) {
    return (struct lm_pass){.net = &t->net,
                            .scope = room->scope,
                            .x = t->x,
                            .steps = (int64_t)steps,
                            .batch = (int64_t)t->batch,
                            .id = room->id,
                            .state = state};
}

/* Does what PyTorch's clip_grad_norm_ does. A gradient that is not finite stays so. */
static sg_status clip_norm(const struct sg_task *t, sg_scope *scope, float *g, struct sg_error *err) {
    const struct sg_exec exec = {.threads = 1, .device = t->exec.device};
    const double factor = t->clip / (sqrt(t->kernels->sum_squares(&exec, g, t->net.d)) + 1e-6);
    if (factor >= 1)
        return SG_OK;
    sg_scope_begin(scope, 1, false);
    sg_scale(scope, sg_tensor_view(scope, g, (const int64_t[]){(int64_t)t->net.d}, 1), factor);
    return sg_scope_status(scope, err);
}

/* The window of bptt tokens to read at a step, from 0: windows follow each other; if steps are to be independent, it is
 * a random one. */
static size_t window_of(const struct sg_task *t, size_t worker, uint64_t step) {
    if (step < SG_STEP_BEYOND)
        return (size_t)(step % t->info.steps_per_epoch);
    sg_rng rng = sg_rng_open(t->seed, SG_RNG_SAMPLE, (uint32_t)worker, step);
    return (size_t)sg_rng_below(&rng, t->info.steps_per_epoch);
}

static sg_status lm_gradient(struct sg_task *t, size_t worker, uint64_t step, float *g, struct sg_error *err) {
    SG_ASSERT(worker >= t->first && worker - t->first < t->count);
    const size_t local = worker - t->first, at = window_of(t, worker, step);
    struct room *room = room_of_thread(t);
    SG_TRACE(2, "step %llu: gradient of worker %zu, from window %zu", (unsigned long long)step, worker, at);
    if (at == 0)
        t->kernels->zero(&t->exec, t->state[local], t->n_state * sizeof(float));
    t->kernels->zero(&t->exec, g, t->net.d * sizeof *g);
    read_columns(t, room, &t->data.train, worker, at * t->bptt, t->bptt);
    struct lm_pass pass = pass_of(t, room, t->bptt, t->state[local]);
    pass.g = g;
    pass.dropout = t->dropout;
    pass.rng = sg_rng_open(t->seed, SG_RNG_DROPOUT, (uint32_t)worker, step);
    sg_scope_begin(pass.scope, 1, true);
    sg_tensor *loss = sg_cross_entropy(pass.scope, lm_net_forward(&pass), room->label);
    sg_status status = lm_net_carry(&pass, room->spare, err); /* the backward pass still reads the old state */
    SG_DO(status, sg_backward(pass.scope, loss, err));
    SG_DO(status, sg_tensor_store(pass.scope, loss, t->batch_loss + local, 1, err));
    if (status == SG_OK)
        t->kernels->get_later(&t->exec, &t->loss[local], t->batch_loss + local, sizeof *t->loss);
    if (status == SG_OK && t->clip > 0)
        status = clip_norm(t, pass.scope, g, err);
    sg_scope_begin(pass.scope, 1, false); /* frees the tensors of the last pass */
    if (status != SG_OK)
        return sg_prefix(err, "worker %zu, step %llu: ", worker, (unsigned long long)step);
    float *before = t->state[local];
    t->state[local] = room->spare;
    room->spare = before;
    return SG_OK;
}

static double lm_batch_loss(const struct sg_task *t, size_t worker) {
    return (double)t->loss[worker - t->first];
}

static void *lm_parameters(struct sg_task *t) {
    return t->x;
}

/* ---- evaluation -------------------------------------------------------------------------------------------------- */

/* Adds the loss of one batch of the test text. room->spare holds the state that its columns carry. */
static sg_status test_batch(struct sg_task *t, struct room *room, size_t steps, float *loss, struct sg_error *err) {
    struct lm_pass pass = pass_of(t, room, steps, room->spare);
    sg_scope_begin(pass.scope, 1, false);
    sg_tensor *mean = sg_cross_entropy(pass.scope, lm_net_forward(&pass), room->label);
    sg_status status = lm_net_carry(&pass, room->spare, err);
    return status == SG_OK ? sg_tensor_read(pass.scope, mean, loss, 1, err) : status;
}

static sg_status worker_share(struct sg_task *t, size_t worker, double *share, struct sg_error *err) {
    const size_t targets = column_length(t, &t->data.test) - 1;
    struct room *room = room_of_thread(t);
    sg_status status = SG_OK;
    float loss = NAN;
    memset(share, 0, SHARES * sizeof *share);
    t->kernels->zero(&t->exec, room->spare, t->n_state * sizeof *room->spare);
    for (size_t at = 0, steps; at < targets && status == SG_OK; at += steps) {
        steps = targets - at < t->bptt ? targets - at : t->bptt;
        read_columns(t, room, &t->data.test, worker, at, steps);
        status = test_batch(t, room, steps, &loss, err);
        share[SHARE_TOKENS] += (double)(steps * t->batch);
        share[SHARE_LOSS] += (double)loss * (double)(steps * t->batch);
        share[SHARE_BATCHES]++;
        share[SHARE_PERPLEXITY] += exp((double)loss);
    }
    sg_scope_begin(room->scope, 1, false);
    return status;
}

static sg_status lm_evaluate_shares(struct sg_task *t, double *share, struct sg_error *err) {
    return task_evaluate_workers(t, worker_share, t->first, t->count, SHARES, t->threads, share, err);
}

static void lm_conclude(const struct sg_task *t, const double *share, double *value) {
    double sum[SHARES] = {0};
    for (size_t w = 0; w < t->workers; w++)
        for (size_t i = 0; i < SHARES; i++)
            sum[i] += share[w * SHARES + i];
    const double loss = sum[SHARE_LOSS] / sum[SHARE_TOKENS];
    value[0] = sum[SHARE_PERPLEXITY] / sum[SHARE_BATCHES];
    value[1] = loss;
    value[2] = exp(loss);
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

static size_t lm_state_bytes(const struct sg_task *t) {
    return t->n_state * sizeof(float);
}

/* An error of the device is ignored here: the trainer, which reads its own vectors too, finds it. */
static void lm_state_save(const struct sg_task *t, size_t worker, void *out) {
    (void)t->kernels->get(&t->exec, out, t->state[worker - t->first], lm_state_bytes(t));
}

static void lm_state_load(struct sg_task *t, size_t worker, const void *in) {
    t->kernels->put(&t->exec, t->state[worker - t->first], in, lm_state_bytes(t));
}

extern const struct sg_task_ops sg_lm_ops;
const struct sg_task_ops sg_lm_ops = {
    .name = "lm",
    .open = lm_open,
    .info = lm_info,
    .describe = lm_describe,
    .start = lm_start,
    .gradient = lm_gradient,
    .batch_loss = lm_batch_loss,
    .parameters = lm_parameters,
    .evaluate_shares = lm_evaluate_shares,
    .conclude = lm_conclude,
    .state_bytes = lm_state_bytes,
    .state_save = lm_state_save,
    .state_load = lm_state_load,
    .close = lm_close,
};

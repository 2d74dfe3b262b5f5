/* lm_task.c: the task `lm` (Figure 2b): a language model of LSTM layers, trained by truncated back-propagation through
 * time.
 *
 * The text is cut into workers x batch columns of equal length that lie side by side. A worker reads `batch` of them,
 * bptt tokens a step, and predicts each next token. It carries the hidden state of its columns from step to step, not
 * its gradient; an epoch begins with zeros. The test text is read the same way. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "lm_net.h"
#include "sg_memory.h"
#include "sg_tokens.h"
#include "task_data.h"
#include "task_net.h"

/* A worker's sums for an evaluation. */
enum { SHARE_TOKENS, SHARE_LOSS, SHARE_BATCHES, SHARE_PERPLEXITY, SHARES };

/* The buffers of one thread. */
struct room {
    int64_t *id, *label; /* [bptt][batch] */
    float *spare;        /* [n_state] in the kernels' memory */
};

struct sg_task {
    struct sg_task_base base;
    struct lm_net net;
    struct sg_token_set data;
    size_t bptt;
    double dropout, clip;
    size_t n_state;    /* numbers that a worker carries: batch column_state */
    struct room *room; /* [threads] */
    float **state;     /* [count] of [n_state], in the kernels' memory */
};

static void lm_close(struct sg_task *t) {
    for (int i = 0; t->room && i < t->base.threads; i++) {
        free(t->room[i].id);
        free(t->room[i].label);
        t->base.kernels->release(&t->base.exec, t->room[i].spare);
    }
    for (size_t w = 0; t->state && w < t->base.count; w++)
        t->base.kernels->release(&t->base.exec, t->state[w]);
    task_net_close(t);
    free(t->room);
    free(t->state);
    sg_token_set_free(&t->data);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

/* Tokens of one column; the last one is only predicted. */
static size_t column_length(const struct sg_task *t, const struct sg_tokens *text) {
    return text->count / (t->base.workers * t->base.batch);
}

static sg_status load_text(struct sg_task *t, struct sg_error *err) {
    const struct sg_token_request request = task_request_lm(t->base.task, t->base.data_dir);
    const size_t workers = t->base.workers, batch = t->base.batch;
    sg_status status = sg_token_set_load(&t->data, &request, err);
    if (status != SG_OK)
        return status;
    if (column_length(t, &t->data.train) < t->bptt + 1)
        return sg_fail(
            err, SG_ERR_ARGUMENT,
            "%zu tokens for %zu workers of %zu columns: a column has %zu, and one step of bptt %zu takes %zu",
            t->data.train.count, workers, batch, column_length(t, &t->data.train), t->bptt, t->bptt + 1);
    if (column_length(t, &t->data.test) < 2)
        return sg_fail(err, SG_ERR_ARGUMENT, "%zu test tokens for %zu workers of %zu columns: every column needs 2",
                       t->data.test.count, workers, batch);
    return SG_OK;
}

static sg_status open_net(struct sg_task *t, struct sg_error *err) {
    const struct sg_node *task = t->base.task;
    const double embedding = sg_node_number(task, "embedding", 0);
    const struct lm_shape shape = {.vocabulary = (int64_t)t->data.vocabulary,
                                   .embedding = (int64_t)embedding,
                                   .hidden = (int64_t)sg_node_number(task, "hidden", embedding),
                                   .layers = (size_t)sg_node_number(task, "layers", 0)};
    sg_status status = lm_net_open(&t->net, &shape, err);
    if (status != SG_OK)
        return status;
    t->n_state = t->base.batch * t->net.column_state;
    return task_net_open(t, &t->net.layers, SHARES, 1, err);
}

static void open_room(struct sg_task *t, struct room *room) {
    const size_t tokens = t->bptt * t->base.batch;
    room->id = sg_calloc(tokens, sizeof *room->id);
    room->label = sg_calloc(tokens, sizeof *room->label);
    room->spare = task_net_floats(t, t->n_state);
}

static void allocate(struct sg_task *t) {
    t->room = sg_calloc((size_t)t->base.threads, sizeof *t->room);
    t->state = sg_calloc(t->base.count, sizeof *t->state);
    for (size_t w = 0; w < t->base.count; w++)
        t->state[w] = task_net_floats(t, t->n_state);
    for (int i = 0; i < t->base.threads; i++)
        open_room(t, &t->room[i]);
}

static sg_status lm_open(struct sg_task *t, struct sg_error *err) {
    const struct sg_tokens *text = &t->data.train;
    struct sg_task_info *info = &t->base.info;
    t->bptt = (size_t)sg_node_number(t->base.task, "bptt", 1);
    t->dropout = sg_node_number(t->base.task, "dropout", 0);
    t->clip = sg_node_number(t->base.task, "clip", 0);
    t->base.model = "lstm";
    sg_status status = load_text(t, err);
    SG_DO(status, open_net(t, err));
    if (status == SG_OK)
        allocate(t);
    if (status != SG_OK)
        return status;
    sg_task_add_constant(t, "V", (double)t->data.vocabulary);
    sg_task_add_constant(t, "tokens", (double)text->count);
    info->steps_per_epoch = (column_length(t, text) - 1) / t->bptt;
    /* Logits, their probabilities and their gradient; the gates and states of the layers. */
    info->gradient_bytes = sizeof(float) * (double)(t->bptt * t->base.batch) *
                           (3 * (double)t->data.vocabulary +
                            12 * sg_node_number(t->base.task, "layers", 0) *
                                sg_node_number(t->base.task, "hidden", sg_node_number(t->base.task, "embedding", 0)));
    info->evaluation_bytes = info->gradient_bytes;
    info->worker_bytes = (double)t->n_state * sizeof(float);
    info->gradient_flops = 3 * t->net.token_flops * (double)(t->bptt * t->base.batch); /* backward: twice forward's */
    return SG_OK;
}

static cJSON *lm_dataset(const struct sg_task *t) {
    return sg_token_set_json(&t->data);
}

static void lm_start(struct sg_task *t, void *x) {
    lm_net_start(&t->net, t->base.seed, x);
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

/* Tokens at..at+steps-1 of the worker's columns, and those that follow each. */
static void read_columns(const struct sg_task *t, struct room *room, const struct sg_tokens *text, size_t worker,
                         size_t at, size_t steps) {
    const size_t length = column_length(t, text);
    for (size_t c = 0; c < t->base.batch; c++) {
        const uint32_t *id = text->id + (worker * t->base.batch + c) * length + at;
        for (size_t s = 0; s < steps; s++) {
            room->id[s * t->base.batch + c] = id[s];
            room->label[s * t->base.batch + c] = id[s + 1];
        }
    }
}

static struct lm_pass pass_of(struct sg_task *t, const struct task_turn *turn, size_t steps, float *state) {
    const struct room *room = &t->room[turn->thread];
    return (struct lm_pass){.net = &t->net,
                            .scope = turn->scope,
                            .x = t->base.x,
                            .steps = (int64_t)steps,
                            .batch = (int64_t)t->base.batch,
                            .id = room->id,
                            .state = state};
}

/* The window of bptt tokens to read at a step, from 0: windows follow each other; if steps are to be independent, it is
 * a random one. */
static size_t window_of(const struct sg_task *t, size_t worker, uint64_t step) {
    if (step < SG_STEP_BEYOND)
        return (size_t)(step % t->base.info.steps_per_epoch);
    sg_rng rng = sg_rng_open(t->base.seed, SG_RNG_SAMPLE, (uint32_t)worker, step);
    return (size_t)sg_rng_below(&rng, t->base.info.steps_per_epoch);
}

static sg_tensor *cross_entropy(struct lm_pass *pass, const int64_t *label) {
    const int64_t tokens = pass->steps * pass->batch;
    return sg_cross_entropy(pass->scope, lm_net_forward(pass), sg_tensor_ids(pass->scope, label, &tokens, 1));
}

static sg_status lm_gradient(struct sg_task *t, const struct task_turn *turn, float *g, float *loss,
                             struct sg_error *err) {
    const size_t at = window_of(t, turn->worker, turn->step);
    struct room *room = &t->room[turn->thread];
    float **state = &t->state[turn->local];
    if (at == 0)
        t->base.kernels->zero(&t->base.exec, *state, t->n_state * sizeof **state);
    read_columns(t, room, &t->data.train, turn->worker, at * t->bptt, t->bptt);
    struct lm_pass pass = pass_of(t, turn, t->bptt, *state);
    pass.g = g;
    pass.dropout = t->dropout;
    pass.rng = sg_rng_open(t->base.seed, SG_RNG_DROPOUT, (uint32_t)turn->worker, turn->step);
    sg_scope_begin(pass.scope, 1, true);
    sg_tensor *mean = cross_entropy(&pass, room->label);
    sg_status status = lm_net_carry(&pass, room->spare, err); /* the backward pass still reads the old state */
    SG_DO(status, sg_backward(pass.scope, mean, err));
    SG_DO(status, sg_tensor_store(pass.scope, mean, loss, 1, err));
    if (status == SG_OK && t->clip > 0)
        status = task_net_clip(t, pass.scope, g, t->clip, err);
    if (status == SG_OK) {
        float *before = *state;
        *state = room->spare;
        room->spare = before;
    }
    return status;
}

/* ---- evaluation -------------------------------------------------------------------------------------------------- */

/* Reads the loss of one batch of the test text. The thread's `spare` holds the state that its columns carry. */
static sg_status test_batch(struct sg_task *t, const struct task_turn *turn, size_t steps, float *loss,
                            struct sg_error *err) {
    const struct room *room = &t->room[turn->thread];
    struct lm_pass pass = pass_of(t, turn, steps, room->spare);
    sg_scope_begin(pass.scope, 1, false);
    sg_tensor *mean = cross_entropy(&pass, room->label);
    sg_status status = lm_net_carry(&pass, room->spare, err);
    return status == SG_OK ? sg_tensor_read(pass.scope, mean, loss, 1, err) : status;
}

static sg_status lm_share(struct sg_task *t, const struct task_turn *turn, double *share, struct sg_error *err) {
    const size_t targets = column_length(t, &t->data.test) - 1;
    struct room *room = &t->room[turn->thread];
    sg_status status = SG_OK;
    float loss = NAN;
    t->base.kernels->zero(&t->base.exec, room->spare, t->n_state * sizeof *room->spare);
    for (size_t at = 0, steps; at < targets && status == SG_OK; at += steps) {
        steps = targets - at < t->bptt ? targets - at : t->bptt;
        read_columns(t, room, &t->data.test, turn->worker, at, steps);
        status = test_batch(t, turn, steps, &loss, err);
        share[SHARE_TOKENS] += (double)(steps * t->base.batch);
        share[SHARE_LOSS] += (double)loss * (double)(steps * t->base.batch);
        share[SHARE_BATCHES]++;
        share[SHARE_PERPLEXITY] += exp((double)loss);
    }
    return status;
}

static void lm_conclude(const struct sg_task *t, const double *share, double *value) {
    double sum[SHARES];
    task_net_sum_shares(t, share, sum);
    const double loss = sum[SHARE_LOSS] / sum[SHARE_TOKENS];
    value[0] = sum[SHARE_PERPLEXITY] / sum[SHARE_BATCHES];
    value[1] = loss;
    value[2] = exp(loss);
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

static size_t lm_state_bytes(const struct sg_task *t) {
    return t->n_state * sizeof(float);
}

static void lm_state_save(const struct sg_task *t, size_t worker, void *out) {
    task_net_get(t, out, t->state[worker - t->base.first], t->n_state);
}

static void lm_state_load(struct sg_task *t, size_t worker, const void *in) {
    task_net_put(t, t->state[worker - t->base.first], in, t->n_state);
}

static const struct task_net_ops own = {lm_gradient, lm_share};
extern const struct sg_task_ops sg_lm_ops;
const struct sg_task_ops sg_lm_ops = {
    .name = "lm",
    .in_sequence = true, /* the hidden state is that of the window before */
    TASK_NET_OPS(own),
    .open = lm_open,
    .dataset = lm_dataset,
    .start = lm_start,
    .evaluate_shares = task_net_evaluate_shares,
    .conclude = lm_conclude,
    .state_bytes = lm_state_bytes,
    .state_save = lm_state_save,
    .state_load = lm_state_load,
    .close = lm_close,
};

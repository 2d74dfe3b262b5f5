/* gpt_task.c: the task `gpt`: a language model of transformer blocks.
 *
 * A worker draws `batch` windows of `context` tokens at random positions of the training text, as nanoGPT does, and
 * predicts each next token; it keeps nothing from step to step. The test text is cut into windows that lie one behind
 * the other, of which worker i of n evaluates the i-th, the (i + n)-th and so on. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "gpt_net.h"
#include "sg_memory.h"
#include "sg_tokens.h"
#include "task_data.h"
#include "task_net.h"

/* A worker's sums for an evaluation. */
enum { SHARE_TOKENS, SHARE_LOSS, SHARES };

/* The buffers of one thread. */
struct room {
    int64_t *id, *label; /* [batch][context] */
};

struct sg_task {
    struct sg_task_base base;
    struct gpt_net net;
    struct sg_token_set data;
    size_t context;
    double dropout, clip;
    struct room *room; /* [threads] */
};

static void gpt_close(struct sg_task *t) {
    for (int i = 0; t->room && i < t->base.threads; i++) {
        free(t->room[i].id);
        free(t->room[i].label);
    }
    task_net_close(t);
    free(t->room);
    sg_token_set_free(&t->data);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static sg_status load_text(struct sg_task *t, struct sg_error *err) {
    const struct sg_token_request request = task_request_gpt(t->base.task, t->base.data_dir);
    sg_status status = sg_token_set_load(&t->data, &request, err);
    if (status != SG_OK)
        return status;
    if (t->data.train.count < t->context + 1)
        return sg_fail(err, SG_ERR_ARGUMENT, "%zu tokens to train on: a window of context %zu takes %zu",
                       t->data.train.count, t->context, t->context + 1);
    if (t->data.test.count < 2)
        return sg_fail(err, SG_ERR_ARGUMENT, "%zu test tokens: there must be 2", t->data.test.count);
    return SG_OK;
}

static void allocate(struct sg_task *t) {
    const size_t tokens = t->base.batch * t->context;
    t->room = sg_calloc((size_t)t->base.threads, sizeof *t->room);
    for (int i = 0; i < t->base.threads; i++)
        t->room[i] = (struct room){sg_calloc(tokens, sizeof(int64_t)), sg_calloc(tokens, sizeof(int64_t))};
}

/* Floats at work for each token: what a block keeps for the backward pass and the gradients of its widest part; logits,
 * their logarithms and gradients. Measured. */
static double token_floats(const struct gpt_shape *s, double dropout) {
    const double width = (double)s->width, weights = (double)(s->heads * s->context), masks = dropout > 0;
    return (double)s->layers * ((18 + 4 * masks) * width + (2 + 2 * masks) * weights) + 10 * width +
           4 * (double)s->vocabulary;
}

static sg_status gpt_open(struct sg_task *t, struct sg_error *err) {
    const struct sg_node *task = t->base.task;
    struct sg_task_info *info = &t->base.info;
    t->context = (size_t)sg_node_number(task, "context", 1);
    t->dropout = sg_node_number(task, "dropout", 0);
    t->clip = sg_node_number(task, "clip", 0);
    t->base.model = "gpt";
    sg_status status = load_text(t, err);
    const struct gpt_shape shape = {.vocabulary = (int64_t)t->data.vocabulary,
                                    .width = (int64_t)sg_node_number(task, "width", 0),
                                    .heads = (int64_t)sg_node_number(task, "heads", 0),
                                    .context = (int64_t)t->context,
                                    .layers = (size_t)sg_node_number(task, "layers", 0)};
    SG_DO(status, gpt_net_open(&t->net, &shape, err));
    SG_DO(status, task_net_open(t, &t->net.layers, SHARES, 1, err));
    if (status == SG_OK)
        allocate(t);
    if (status != SG_OK)
        return status;
    const double tokens = (double)(t->base.batch * t->context);
    sg_task_add_constant(t, "V", (double)t->data.vocabulary);
    sg_task_add_constant(t, "tokens", (double)t->data.train.count);
    info->steps_per_epoch = (uint64_t)fmax(1, floor((double)t->data.train.count / ((double)t->base.workers * tokens)));
    info->no_decay = t->net.no_decay;
    info->by_parts = !t->base.exec.device && t->clip == 0;
    info->gradient_bytes = /* the embedding has two gradients before they are added, as input and as head */
        sizeof(float) * (tokens * token_floats(&shape, t->dropout) + 2 * (double)(shape.vocabulary * shape.width));
    info->evaluation_bytes = info->gradient_bytes;
    info->gradient_flops = 3 * t->net.token_flops * tokens; /* backward: twice forward's */
    return SG_OK;
}

static cJSON *gpt_dataset(const struct sg_task *t) {
    return sg_token_set_json(&t->data);
}

static void gpt_start(struct sg_task *t, void *x) {
    gpt_net_start(&t->net, t->base.seed, x);
}

/* ---- passes ------------------------------------------------------------------------------------------------------ */

/* Puts `length` tokens from `at` on, and those that follow each, into row `row` of the room. */
static void read_window(const struct room *room, const struct sg_tokens *text, size_t row, size_t at, size_t length) {
    for (size_t i = 0; i < length; i++) {
        room->id[row * length + i] = text->id[at + i];
        room->label[row * length + i] = text->id[at + i + 1];
    }
}

static struct gpt_pass pass_of(struct sg_task *t, const struct task_turn *turn, size_t batch, size_t length) {
    return (struct gpt_pass){.net = &t->net,
                             .scope = turn->scope,
                             .x = t->base.x,
                             .batch = (int64_t)batch,
                             .length = (int64_t)length,
                             .id = t->room[turn->thread].id};
}

static sg_tensor *cross_entropy(struct gpt_pass *pass, const int64_t *label) {
    const int64_t tokens = pass->batch * pass->length;
    return sg_cross_entropy(pass->scope, gpt_net_forward(pass), sg_tensor_ids(pass->scope, label, &tokens, 1));
}

static sg_status gpt_gradient(struct sg_task *t, const struct task_turn *turn, float *g, float *loss,
                              struct sg_error *err) {
    const struct room *room = &t->room[turn->thread];
    const struct sg_tokens *text = &t->data.train;
    sg_rng rng = sg_rng_open(t->base.seed, SG_RNG_SAMPLE, (uint32_t)turn->worker, turn->step);
    for (size_t i = 0; i < t->base.batch; i++)
        read_window(room, text, i, (size_t)sg_rng_below(&rng, text->count - t->context), t->context);
    struct gpt_pass pass = pass_of(t, turn, t->base.batch, t->context);
    pass.g = g;
    pass.dropout = t->dropout;
    pass.rng = sg_rng_open(t->base.seed, SG_RNG_DROPOUT, (uint32_t)turn->worker, turn->step);
    sg_scope_begin(pass.scope, 1, true);
    task_net_watch(t, turn);
    sg_tensor *mean = cross_entropy(&pass, room->label);
    sg_status status = sg_backward(pass.scope, mean, err);
    SG_DO(status, sg_tensor_store(pass.scope, mean, loss, 1, err));
    return status == SG_OK && t->clip > 0 ? task_net_clip(t, pass.scope, g, t->clip, err) : status;
}

/* Adds the losses of `batch` windows of the test text, the room's, to the worker's share. */
static sg_status test_windows(struct sg_task *t, const struct task_turn *turn, size_t batch, size_t length,
                              double *share, struct sg_error *err) {
    const double tokens = (double)(batch * length);
    float loss = NAN;
    if (batch == 0)
        return SG_OK;
    struct gpt_pass pass = pass_of(t, turn, batch, length);
    sg_scope_begin(pass.scope, 1, false);
    sg_tensor *mean = cross_entropy(&pass, t->room[turn->thread].label);
    sg_status status = sg_tensor_read(pass.scope, mean, &loss, 1, err);
    share[SHARE_TOKENS] += tokens;
    share[SHARE_LOSS] += (double)loss * tokens;
    return status;
}

/* Whole windows in batches; the last window, which may be shorter, by itself. */
static sg_status gpt_share(struct sg_task *t, const struct task_turn *turn, double *share, struct sg_error *err) {
    const struct room *room = &t->room[turn->thread];
    const size_t targets = t->data.test.count - 1, stride = t->base.workers * t->context;
    sg_status status = SG_OK;
    size_t batch = 0, at = turn->worker * t->context;
    for (; at + t->context <= targets && status == SG_OK; at += stride) {
        read_window(room, &t->data.test, batch++, at, t->context);
        if (batch == t->base.batch) {
            status = test_windows(t, turn, batch, t->context, share, err);
            batch = 0;
        }
    }
    SG_DO(status, test_windows(t, turn, batch, t->context, share, err));
    if (status != SG_OK || at >= targets)
        return status;
    read_window(room, &t->data.test, 0, at, targets - at);
    return test_windows(t, turn, 1, targets - at, share, err);
}

static void gpt_conclude(const struct sg_task *t, const double *share, double *value) {
    double sum[SHARES];
    task_net_sum_shares(t, share, sum);
    value[0] = sum[SHARE_LOSS] / sum[SHARE_TOKENS];
    value[1] = exp(value[0]);
}

static const struct task_net_ops own = {gpt_gradient, gpt_share};
extern const struct sg_task_ops sg_gpt_ops;
const struct sg_task_ops sg_gpt_ops = {
    .name = "gpt",
    TASK_NET_OPS(own),
    .open = gpt_open,
    .dataset = gpt_dataset,
    .start = gpt_start,
    .evaluate_shares = task_net_evaluate_shares,
    .conclude = gpt_conclude,
    .close = gpt_close,
};

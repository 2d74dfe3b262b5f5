/* NeuMF: its sizes, PyTorch's loss, gradient and outputs (tests/golden/ncf_golden.py), rows gathered or looked up by
 * libtorch, and the rows that a gradient of the task touches. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../golden/ncf_golden.h"
#include "ncf_net.h"
#include "open_task.h"
#include "tap.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct sg_error err;

static void sizes(void) {
    struct ncf_net net = {.users = 138493, .items = 26744, .factors = 64};
    if (!ok(ncf_net_open(&net, "256-256-128-64", 1, &err) == SG_OK, "the paper's network opens"))
        return;
    ok(net.d == 31832577 && net.layers.n == 12, "MovieLens-20M: %zu parameters in %zu layers", net.d, net.layers.n);
    static const struct {
        const char *name;
        size_t size;
    } layer[] = {
        {"mf_user.weight", 138493 * 64},
        {"mf_item.weight", 26744 * 64},
        {"mlp_user.weight", 138493 * 128},
        {"mlp_item.weight", 26744 * 128},
        {"mlp.0.weight", 256 * 256},
        {"mlp.0.bias", 256},
        {"mlp.1.weight", 256 * 128},
        {"mlp.1.bias", 128},
        {"mlp.2.weight", 128 * 64},
        {"mlp.2.bias", 64},
        {"final.weight", 128},
        {"final.bias", 1},
    };
    for (size_t i = 0; i < COUNT(layer); i++)
        ok(strcmp(net.layers.text[i], layer[i].name) == 0 &&
               net.layers.offset[i + 1] - net.layers.offset[i] == layer[i].size,
           "%s of %zu", layer[i].name, layer[i].size);

    static const char *const refused[] = {"", "256", "256-", "-256", "7-4", "8-x", "8-0", "2-2-2-2-2-2-2-2-2"};
    for (size_t i = 0; i < COUNT(refused); i++) {
        net = (struct ncf_net){.users = 1, .items = 1, .factors = 1};
        ok(ncf_net_open(&net, refused[i], 1, &err) == SG_ERR_ARGUMENT && strstr(err.msg, "task.mlp"), "mlp '%s': %s",
           refused[i], err.msg);
    }
}

/* What draws a start: deviations of the tables, bounds of the rest. */
static void starts(void) {
    struct ncf_net net = {.users = 200, .items = 300, .factors = 32};
    if (ncf_net_open(&net, "64-48-16", 1, &err) != SG_OK)
        return;
    float *x = malloc(net.d * sizeof *x);
    if (!x)
        return;
    ncf_net_start(&net, 3, x);
    const double bound[] = {sqrt(6.0 / (64 + 48)), 1 / 8.0,          sqrt(6.0 / (48 + 16)), 1 / sqrt(48),
                            sqrt(3.0 / (16 + 32)), 1 / sqrt(16 + 32)};
    for (size_t l = 0; l < net.layers.n; l++) {
        double squares = 0, largest = 0;
        const double n = (double)(net.layers.offset[l + 1] - net.layers.offset[l]);
        for (size_t j = net.layers.offset[l]; j < net.layers.offset[l + 1]; j++) {
            squares += pow((double)x[j], 2);
            largest = fmax(largest, fabs((double)x[j]));
        }
        const double deviation = sqrt(squares / n);
        if (l < NCF_TABLES) /* the relative error of a deviation is 1/sqrt(2n) */
            ok(fabs(deviation / 0.01 - 1) <= 5 / sqrt(2 * n), "%s: deviation %.5f", net.layers.text[l], deviation);
        else
            ok(largest <= bound[l - NCF_TABLES] && (n < 10 || largest >= 0.7 * bound[l - NCF_TABLES]),
               "%s: up to %.4f of %.4f", net.layers.text[l], largest, bound[l - NCF_TABLES]);
    }
    free(x);
}

/* ---- against PyTorch --------------------------------------------------------------------------------------------- */

struct run {
    struct ncf_net net;
    struct ncf_room room;
    sg_scope *scope;
    float *x, *g;
};

static bool open_run(struct run *r) {
    *r = (struct run){
        .net = {.users = GOLDEN_USERS, .items = GOLDEN_ITEMS, .factors = GOLDEN_FACTORS, .dropout = GOLDEN_DROPOUT}};
    if (ncf_net_open(&r->net, GOLDEN_MLP, 1, &err) != SG_OK || sg_scope_open(&r->scope, "cpu", "fp32", &err) != SG_OK)
        return false;
    ncf_room_open(&r->room, &r->net);
    sg_scope_use(r->scope, sg_kernels_cpu(NULL), NULL);
    r->x = malloc(r->net.d * sizeof *r->x);
    r->g = calloc(r->net.d, sizeof *r->g);
    if (!r->x || !r->g)
        return false;
    ncf_net_start(&r->net, GOLDEN_SEED, r->x);
    for (size_t j = 0; j < r->net.layers.offset[NCF_TABLES]; j++)
        r->x[j] *= 100;
    return true;
}

static void close_run(struct run *r) {
    ncf_room_close(&r->room);
    sg_scope_close(r->scope);
    free(r->x);
    free(r->g);
}

/* Example i of the golden batch, over and over. */
static void batch(uint32_t *user, uint32_t *item, float *label, size_t count) {
    for (size_t j = 0; j < count; j++) {
        const size_t i = j % GOLDEN_COUNT;
        user[j] = (uint32_t)(i * 2 % GOLDEN_USERS % 4);
        item[j] = (uint32_t)(i * i % GOLDEN_ITEMS);
        label[j] = i % 3 == 0;
    }
}

/* |a - b| / |b|. */
static double distance(const float *a, const double *b, size_t n) {
    double difference = 0, length = 0;
    for (size_t i = 0; i < n; i++) {
        difference += pow((double)a[i] - b[i], 2);
        length += pow(b[i], 2);
    }
    return length > 0 ? sqrt(difference / length) : difference;
}

/* ncf_net_gradient, with the loss of the whole batch. */
static sg_status gradient(const struct ncf_pass *pass, const uint32_t *user, const uint32_t *item, const float *label,
                          size_t count, float *g, double *loss) {
    float part[8];
    const size_t chunks = ncf_net_chunks(pass->net, count);
    *loss = 0;
    if (chunks > COUNT(part))
        return SG_ERR_ARGUMENT;
    sg_status status = ncf_net_gradient(pass, user, item, label, count, g, part, &err);
    for (size_t i = 0; i < chunks && status == SG_OK; i++)
        *loss += (double)part[i];
    return status;
}

static void against_pytorch(struct run *r) {
    uint32_t user[GOLDEN_COUNT], item[GOLDEN_COUNT];
    float label[GOLDEN_COUNT], logit[GOLDEN_COUNT];
    double loss, worst = 0;
    sg_rng rng = sg_rng_open(GOLDEN_SEED, SG_RNG_DROPOUT, 0, 0);
    struct ncf_pass pass = {&r->net, &r->room, r->scope, r->x, &rng};
    batch(user, item, label, GOLDEN_COUNT);
    if (!ok(r->net.d == COUNT(golden_gradient), "%zu parameters", r->net.d) ||
        !ok(gradient(&pass, user, item, label, GOLDEN_COUNT, r->g, &loss) == SG_OK, "a gradient"))
        return;
    ok(fabs(loss / golden_loss - 1) <= 1e-5, "the loss is PyTorch's, off by %.1e", fabs(loss / golden_loss - 1));
    for (size_t l = 0; l < r->net.layers.n; l++) {
        const size_t at = r->net.layers.offset[l];
        const double off = distance(r->g + at, golden_gradient + at, r->net.layers.offset[l + 1] - at);
        worst = !(off <= worst) ? off : worst;
    }
    ok(worst <= 1e-5, "so is every layer's gradient, off by %.1e at most", worst);
    pass.dropout = NULL;
    ok(ncf_net_score(&pass, user, item, GOLDEN_COUNT, logit, &err) == SG_OK, "an evaluation");
    const double off = distance(logit, golden_tested, GOLDEN_COUNT);
    ok(off <= 1e-5, "so are the logits in evaluation, off by %.1e", off);
}

/* A batch of the same examples many times has the gradient of one, however it is cut into chunks; one of several chunks
 * is added to what is there. */
static void in_chunks(struct run *r) {
    enum { MANY = 2 * NCF_CHUNK / GOLDEN_COUNT * GOLDEN_COUNT + GOLDEN_COUNT };
    static uint32_t user[MANY], item[MANY];
    static float label[MANY], logit[MANY];
    const struct ncf_pass pass = {&r->net, &r->room, r->scope, r->x, NULL};
    const size_t d = r->net.d;
    float *many = malloc(d * sizeof *many);
    double *one = malloc(d * sizeof *one), few, all;
    batch(user, item, label, MANY);
    if (many && one) {
        memset(r->g, 0, d * sizeof *r->g);
        sg_status status = gradient(&pass, user, item, label, GOLDEN_COUNT, r->g, &few);
        for (size_t j = 0; j < d; j++) {
            many[j] = 1;
            one[j] = 1 + (double)r->g[j];
        }
        SG_DO(status, gradient(&pass, user, item, label, MANY, many, &all));
        /* A thousand additions to 1 round by up to 2^-25 each. */
        ok(status == SG_OK && fabs(all / few - 1) <= 1e-5 && distance(many, one, d) <= 3e-5,
           "%d examples in chunks: off by %.1e", MANY, distance(many, one, d));
        status = ncf_net_score(&pass, user, item, MANY, logit, &err);
        bool same = status == SG_OK;
        for (size_t i = GOLDEN_COUNT; i < MANY; i++) /* matrix products of other sizes may round in another way */
            same &= fabs((double)logit[i] - (double)logit[i - GOLDEN_COUNT]) <= 1e-6;
        ok(same, "their scores repeat");
    }
    free(many);
    free(one);
}

/* What a GPU does, here: libtorch looks rows up in whole tables. In chunks of the same length it gives the bits of
 * gathered rows, but for the gradients of several chunks, which are added in another order. A whole batch in one chunk,
 * with the same masks, adds in yet another order; one mask of another example would be a thousand times as far off. */
static void in_whole_tables(struct run *r) {
    enum { MANY = NCF_CHUNK + 100 };
    static uint32_t user[MANY], item[MANY];
    static float label[MANY], logit[2][MANY];
    static const size_t counts[] = {1, GOLDEN_COUNT, NCF_CHUNK, MANY};
    struct ncf_net whole = r->net, big = r->net;
    struct ncf_room room = {0}, big_room = {0};
    float *g = calloc(r->net.d, sizeof *g);
    double *wanted = malloc(r->net.d * sizeof *wanted);
    whole.dense = true;
    big.dense = true;
    bool ready = ncf_net_open(&big, GOLDEN_MLP, MANY, &err) == SG_OK && g && wanted;
    ncf_room_open(&room, &whole);
    ncf_room_open(&big_room, &big);
    batch(user, item, label, MANY);
    for (size_t i = 0; i < COUNT(counts) && ok(ready, "%zu examples", counts[i]); i++) {
        const size_t count = counts[i], bytes = r->net.d * sizeof *g;
        sg_rng rng[2] = {sg_rng_open(1, SG_RNG_DROPOUT, 0, i), sg_rng_open(1, SG_RNG_DROPOUT, 0, i)};
        struct ncf_pass rows = {&r->net, &r->room, r->scope, r->x, &rng[0]};
        struct ncf_pass tables = {&whole, &room, r->scope, r->x, &rng[1]};
        double loss[2];
        memset(r->g, 0, bytes);
        memset(g, 0, bytes);
        ready = gradient(&rows, user, item, label, count, r->g, &loss[0]) == SG_OK &&
                gradient(&tables, user, item, label, count, g, &loss[1]) == SG_OK;
        for (size_t j = 0; j < r->net.d; j++)
            wanted[j] = (double)r->g[j];
        ok(ready && loss[0] == loss[1] &&
               (count > NCF_CHUNK ? distance(g, wanted, r->net.d) <= 1e-6 : memcmp(g, r->g, bytes) == 0),
           "whole tables: the same loss and gradient, off by %.1e", distance(g, wanted, r->net.d));
        sg_rng third = sg_rng_open(1, SG_RNG_DROPOUT, 0, i);
        const struct ncf_pass at_once = {&big, &big_room, r->scope, r->x, &third};
        memset(g, 0, bytes);
        ready &= gradient(&at_once, user, item, label, count, g, &loss[1]) == SG_OK;
        ok(ready && ncf_net_chunks(&big, count) == 1 && fabs(loss[1] / loss[0] - 1) <= 1e-6 &&
               distance(g, wanted, r->net.d) <= 2e-6,
           "in one chunk: loss off by %.1e, gradient by %.1e", fabs(loss[1] / loss[0] - 1),
           distance(g, wanted, r->net.d));
        rows.dropout = tables.dropout = NULL;
        ready = ncf_net_score(&rows, user, item, count, logit[0], &err) == SG_OK &&
                ncf_net_score(&tables, user, item, count, logit[1], &err) == SG_OK;
        ok(ready && memcmp(logit[0], logit[1], count * sizeof **logit) == 0, "the same scores");
    }
    ncf_room_close(&room);
    ncf_room_close(&big_room);
    free(g);
    free(wanted);
}

/* ---- the task ---------------------------------------------------------------------------------------------------- */

extern const struct sg_task_ops sg_ncf_ops;

/* One g that only goes back to 0 where the task touched it, one that is all cleared before: the same bits; and the rows
 * of no more users and items than the batch has. */
static void touched_rows(void) {
    enum { WORKERS = 2, BATCH = 40, WIDTH = 4 };
    struct sg_node key[] = {{.kind = SG_NODE_STRING, .key = "dataset", .string = "ml-100k-none"},
                            {.kind = SG_NODE_STRING, .key = "stand-in", .string = "ratings-like"},
                            {.kind = SG_NODE_NUMBER, .key = "users", .number = 60},
                            {.kind = SG_NODE_NUMBER, .key = "factors", .number = WIDTH},
                            {.kind = SG_NODE_STRING, .key = "mlp", .string = "8-4"}};
    const struct sg_node root = {.kind = SG_NODE_MAP, .child = key, .count = COUNT(key)};
    sg_task *t;
    if (!ok(open_task(&t, &sg_ncf_ops, &root, WORKERS, BATCH, &err) == SG_OK, "the task opens"))
        return;
    const size_t d = sg_task_info(t)->d, tables = sg_task_info(t)->layout.offset[NCF_TABLES];
    float *kept = calloc(d, sizeof *kept), *fresh = calloc(d, sizeof *fresh);
    bool same = kept && fresh, ordered = true, few = true, some = false;
    for (uint64_t step = 0; same && step < 20; step++)
        for (size_t w = 0; same && w < WORKERS; w++) {
            memset(fresh, 0, d * sizeof *fresh);
            same = sg_ncf_ops.gradient(t, w, step, kept, &err) == SG_OK &&
                   sg_ncf_ops.gradient(t, w, step, fresh, &err) == SG_OK && memcmp(kept, fresh, d * sizeof *kept) == 0;
            const struct sg_ranges *touched = sg_ncf_ops.touched(t, w);
            size_t rows = 0, end = 0;
            for (size_t i = 0; i < touched->count; i++) {
                const struct sg_range range = touched->range[i];
                ordered &= range.begin >= end && range.end > range.begin && range.end <= d;
                rows += range.end <= tables ? (range.end - range.begin) / WIDTH : 0;
                end = range.end;
                memset(kept + range.begin, 0, (range.end - range.begin) * sizeof *kept);
            }
            few &= rows <= 4 * BATCH;
            for (size_t j = 0; j < tables; j++)
                some |= fresh[j] != 0;
        }
    ok(same, "a gradient in the zeros that the last one left is that in zeros everywhere");
    ok(ordered && few && some, "it touches the rows of its batch, in order");
    free(kept);
    free(fresh);
    sg_task_close(t);
}

int main(void) {
    sizes();
    starts();
    struct run r;
    if (ok(open_run(&r), "the golden network opens")) {
        against_pytorch(&r);
        in_chunks(&r);
        in_whole_tables(&r);
    }
    close_run(&r);
    touched_rows();
    return tap_done();
}

/* ncf_net.c: the layers of NeuMF, their start values and its forward pass. */
/* SPDX-License-Identifier: MIT */
#include "ncf_net.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sg_debug.h"
#include "sg_memory.h"
#include "sg_text.h"

/* ---- layers ------------------------------------------------------------------------------------------------------ */

enum table { MF_USER, MF_ITEM, MLP_USER, MLP_ITEM };
static const char *const table_name[NCF_TABLES] = {"mf_user", "mf_item", "mlp_user", "mlp_item"};

static size_t table_rows(const struct ncf_net *net, enum table table) {
    return table == MF_USER || table == MLP_USER ? net->users : net->items;
}

static size_t table_width(const struct ncf_net *net, enum table table) {
    return table == MF_USER || table == MF_ITEM ? net->factors : net->mlp[0] / 2;
}

static sg_status read_sizes(struct ncf_net *net, const char *mlp, struct sg_error *err) {
    for (const char *at = mlp;; at++) {
        char word[16];
        int64_t size;
        const size_t length = strcspn(at, "-");
        snprintf(word, sizeof word, "%.*s", length < sizeof word ? (int)length : 0, at);
        if (net->n_mlp == NCF_MOST_MLP || !sg_parse_integer(&size, word, 1, 65536))
            return sg_fail(err, SG_ERR_ARGUMENT, "task.mlp: '%s' is not 2 to %d sizes from 1 to 65536 joined by '-'",
                           mlp, NCF_MOST_MLP);
        net->mlp[net->n_mlp++] = (size_t)size;
        at += length;
        if (*at == '\0')
            break;
    }
    if (net->n_mlp < 2)
        return sg_fail(err, SG_ERR_ARGUMENT, "task.mlp: '%s' has no layer after the input", mlp);
    if (net->mlp[0] % 2 != 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "task.mlp: the input's size %zu is not even, but users and items share it",
                       net->mlp[0]);
    return SG_OK;
}

static void add_linear(struct ncf_net *net, size_t in, size_t out, const char *name) {
    task_layers_add(&net->layers, out, in, "%s.weight", name);
    task_layers_add(&net->layers, 1, out, "%s.bias", name);
    net->example_flops += 2 * (double)(in * out);
}

static size_t last_width(const struct ncf_net *net) {
    return net->factors + net->mlp[net->n_mlp - 1];
}

static size_t chunks_of(size_t length, size_t count) {
    return (count + length - 1) / length;
}

sg_status ncf_net_open(struct ncf_net *out, const char *mlp, size_t batch, struct sg_error *err) {
    struct ncf_net net = {.users = out->users,
                          .items = out->items,
                          .factors = out->factors,
                          .dropout = out->dropout,
                          .dense = out->dense,
                          .chunk = NCF_CHUNK};
    sg_status status = read_sizes(&net, mlp, err);
    if (status)
        return status;
    for (size_t t = 0; t < NCF_TABLES; t++) {
        task_layers_add(&net.layers, table_rows(&net, (enum table)t), table_width(&net, (enum table)t), "%s.weight",
                        table_name[t]);
        task_layers_outer(&net.layers, t);
    }
    for (size_t i = 1; i < net.n_mlp; i++) {
        char name[16];
        snprintf(name, sizeof name, "mlp.%zu", i - 1);
        add_linear(&net, net.mlp[i - 1], net.mlp[i], name);
    }
    add_linear(&net, last_width(&net), 1, "final");
    net.d = net.layers.offset[net.layers.n];
    if (net.dense && batch > NCF_CHUNK)
        net.chunk = chunks_of(NCF_CHUNK, batch) * NCF_CHUNK;
    *out = net;
    return SG_OK;
}

void ncf_net_start(const struct ncf_net *net, uint64_t seed, float *x) {
    const size_t *offset = net->layers.offset;
    for (size_t t = 0; t < NCF_TABLES; t++)
        task_layers_draw_normal(&net->layers, t, 0.01, seed, x);
    for (size_t l = NCF_TABLES; l < net->layers.n; l += 2) {
        const bool last = l + 2 == net->layers.n;
        const double outputs = (double)net->layers.rows[l], inputs = (double)(offset[l + 1] - offset[l]) / outputs;
        task_layers_draw(&net->layers, l, last ? sqrt(3 / inputs) : sqrt(6 / (inputs + outputs)), seed, x);
        task_layers_draw(&net->layers, l + 1, 1 / sqrt(inputs), seed, x);
    }
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

size_t ncf_net_row(const struct ncf_net *net) {
    return 2 * net->factors + net->mlp[0];
}

void ncf_room_open(struct ncf_room *out, const struct ncf_net *net) {
    const size_t bytes = net->chunk * ncf_net_row(net) * sizeof(float), ids = net->chunk * sizeof(int64_t);
    *out = net->dense ? (struct ncf_room){.user = sg_malloc(ids), .item = sg_malloc(ids)}
                      : (struct ncf_room){.rows = sg_malloc(bytes), .gradient = sg_malloc(bytes)};
}

void ncf_room_close(struct ncf_room *room) {
    free(room->rows);
    free(room->gradient);
    free(room->user);
    free(room->item);
    *room = (struct ncf_room){0};
}

/* room->rows holds the rows of mf_user, those of mf_item, and those of mlp_user and mlp_item side by side. */
struct place {
    size_t first, stride; /* index of the first example's row, and distance to the next row */
};

static struct place place_of(const struct ncf_net *net, enum table table, size_t count) {
    const size_t mlp = 2 * count * net->factors;
    return table == MF_USER    ? (struct place){0, net->factors}
           : table == MF_ITEM  ? (struct place){count * net->factors, net->factors}
           : table == MLP_USER ? (struct place){mlp, net->mlp[0]}
                               : (struct place){mlp + net->mlp[0] / 2, net->mlp[0]};
}

static const uint32_t *row_numbers(enum table table, const uint32_t *user, const uint32_t *item) {
    return table == MF_USER || table == MLP_USER ? user : item;
}

static void gather(const struct ncf_pass *p, const uint32_t *user, const uint32_t *item, size_t count) {
    SG_ASSERT(count <= p->net->chunk && !p->net->dense);
    for (size_t t = 0; t < NCF_TABLES; t++) {
        const struct place to = place_of(p->net, (enum table)t, count);
        const uint32_t *row = row_numbers((enum table)t, user, item);
        const size_t width = table_width(p->net, (enum table)t);
        const float *table = p->x + p->net->layers.offset[t];
        for (size_t i = 0; i < count; i++)
            memcpy(p->room->rows + to.first + i * to.stride, table + row[i] * width, width * sizeof *table);
    }
}

static void prepare(const struct ncf_pass *p, const uint32_t *user, const uint32_t *item, size_t count) {
    if (!p->net->dense) {
        gather(p, user, item, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        p->room->user[i] = user[i];
        p->room->item[i] = item[i];
    }
}

static void scatter(const struct ncf_pass *p, const uint32_t *user, const uint32_t *item, size_t count, float *g) {
    for (size_t t = 0; t < NCF_TABLES; t++) {
        const struct place from = place_of(p->net, (enum table)t, count);
        const uint32_t *row = row_numbers((enum table)t, user, item);
        const size_t width = table_width(p->net, (enum table)t);
        for (size_t i = 0; i < count; i++) {
            SG_ASSERT(row[i] < table_rows(p->net, (enum table)t));
            float *restrict to = g + p->net->layers.offset[t] + row[i] * width;
            const float *restrict add = p->room->gradient + from.first + i * from.stride;
            for (size_t j = 0; j < width; j++)
                to[j] += add[j];
        }
    }
}

/* ---- passes ------------------------------------------------------------------------------------------------------ */

/* Layer l of the perceptron and its bias. */
static sg_tensor *linear(const struct ncf_pass *p, sg_tensor *in, float *g, size_t l) {
    const struct task_layers *layers = &p->net->layers;
    SG_ASSERT(l >= NCF_TABLES && l + 2 <= layers->n);
    const int64_t outputs = (int64_t)layers->rows[l], numbers = (int64_t)(layers->offset[l + 1] - layers->offset[l]);
    sg_tensor *w = task_layers_tensor(layers, l, p->scope, p->x, g, outputs, numbers / outputs);
    return sg_linear(p->scope, in, w, task_layers_tensor(layers, l + 1, p->scope, p->x, g, outputs, 0));
}

/* The rows of a batch from the tables: [count, factors] twice, [count, mlp[0]]. */
struct inputs {
    sg_tensor *user, *item, *deep;
};

/* A tensor of rows of `width` numbers each, which begin at room->rows[at]. */
static sg_tensor *in_room(const struct ncf_pass *p, size_t at, size_t rows, size_t width, const float *g) {
    const int64_t shape[2] = {(int64_t)rows, (int64_t)width};
    return sg_tensor_parameter(p->scope, p->room->rows + at, g ? p->room->gradient + at : NULL, shape, 2);
}

static struct inputs gathered(const struct ncf_pass *p, size_t count, float *g) {
    const struct ncf_net *net = p->net;
    return (struct inputs){in_room(p, 0, count, net->factors, g),
                           in_room(p, place_of(net, MF_ITEM, count).first, count, net->factors, g),
                           in_room(p, place_of(net, MLP_USER, count).first, count, net->mlp[0], g)};
}

static sg_tensor *look_up(const struct ncf_pass *p, enum table table, sg_tensor *row, float *g) {
    sg_tensor *all = task_layers_tensor(&p->net->layers, table, p->scope, p->x, g, (int64_t)table_rows(p->net, table),
                                        (int64_t)table_width(p->net, table));
    return sg_embedding(p->scope, all, row);
}

static struct inputs looked_up(const struct ncf_pass *p, size_t count, float *g) {
    const int64_t shape[1] = {(int64_t)count};
    sg_tensor *user = sg_tensor_ids(p->scope, p->room->user, shape, 1);
    sg_tensor *item = sg_tensor_ids(p->scope, p->room->item, shape, 1);
    sg_tensor *const deep[2] = {look_up(p, MLP_USER, user, g), look_up(p, MLP_ITEM, item, g)};
    return (struct inputs){look_up(p, MF_USER, user, g), look_up(p, MF_ITEM, item, g), sg_cat(p->scope, deep, 2)};
}

/* Random numbers that the masks of an example use in the first `layers` layers of the perceptron. */
static size_t mask_numbers(const struct ncf_net *net, size_t layers) {
    size_t sum = 0;
    for (size_t i = 1; i <= layers; i++)
        sum += net->mlp[i];
    return sum;
}

/* Logits [count, 1] of the rows that `prepare` put into p->room; g as for sg_tensor_parameter. */
static sg_tensor *forward(const struct ncf_pass *p, size_t count, float *g) {
    const struct ncf_net *net = p->net;
    const struct inputs in = net->dense ? looked_up(p, count, g) : gathered(p, count, g);
    sg_tensor *deep = in.deep;
    struct sg_chunks masks = {.rows = NCF_CHUNK, .all = mask_numbers(net, net->n_mlp - 1)};
    size_t l = NCF_TABLES;
    for (size_t i = 0; i + 1 < net->n_mlp; i++, l += 2) {
        deep = sg_relu(p->scope, linear(p, deep, g, l));
        masks.before = mask_numbers(net, i);
        if (p->dropout && net->dropout > 0)
            deep = sg_dropout_chunks(p->scope, deep, net->dropout, p->dropout, &masks);
    }
    if (p->dropout && net->dropout > 0)
        sg_rng_skip(p->dropout, count * masks.all);
    sg_tensor *const both[2] = {sg_mul(p->scope, in.user, in.item), deep};
    return linear(p, sg_cat(p->scope, both, 2), g, l);
}

sg_status ncf_net_score(const struct ncf_pass *p, const uint32_t *user, const uint32_t *item, size_t count,
                        float *logit, struct sg_error *err) {
    sg_status status = SG_OK;
    for (size_t at = 0, now; at < count && status == SG_OK; at += now) {
        now = count - at < p->net->chunk ? count - at : p->net->chunk;
        prepare(p, user + at, item + at, now);
        sg_scope_begin(p->scope, 1, false);
        status = sg_tensor_read(p->scope, forward(p, now, NULL), logit + at, now, err);
    }
    sg_scope_begin(p->scope, 1, false); /* frees the tensors of the last pass */
    return status;
}

static sg_status chunk_gradient(const struct ncf_pass *p, const uint32_t *user, const uint32_t *item,
                                const float *label, size_t count, size_t batch, float *g, float *loss,
                                struct sg_error *err) {
    SG_ASSERT(count > 0 && count <= p->net->chunk && count <= batch);
    prepare(p, user, item, count);
    if (!p->net->dense)
        memset(p->room->gradient, 0, count * ncf_net_row(p->net) * sizeof *p->room->gradient);
    sg_scope_begin(p->scope, 1, true);
    sg_tensor *part = sg_binary_cross_entropy(p->scope, forward(p, count, g), label, (double)batch);
    sg_status status = sg_tensor_store(p->scope, part, loss, 1, err);
    SG_DO(status, sg_backward(p->scope, part, err));
    if (status == SG_OK && !p->net->dense)
        scatter(p, user, item, count, g);
    return status;
}

size_t ncf_net_chunks(const struct ncf_net *net, size_t count) {
    return chunks_of(net->chunk, count);
}

sg_status ncf_net_gradient(const struct ncf_pass *p, const uint32_t *user, const uint32_t *item, const float *label,
                           size_t count, float *g, float *loss, struct sg_error *err) {
    sg_status status = SG_OK;
    for (size_t at = 0, now; at < count && status == SG_OK; at += now) {
        now = count - at < p->net->chunk ? count - at : p->net->chunk;
        status = chunk_gradient(p, user + at, item + at, label + at, now, count, g, loss++, err);
    }
    sg_scope_begin(p->scope, 1, false);
    return status;
}

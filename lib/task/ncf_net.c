/* ncf_net.c: the layers of NeuMF, their start values and its forward pass. */
#include "ncf_net.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sg_debug.h"
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

/* rows = 1: a vector. */
static void add_layer(struct ncf_net *net, size_t rows, size_t columns, const char *name, const char *part) {
    SG_ASSERT(net->n_layers < NCF_LAYERS && rows > 0 && columns > 0);
    const size_t i = net->n_layers++;
    snprintf(net->text[i], sizeof net->text[i], "%s.%s", name, part);
    net->rows[i] = rows;
    net->offset[i + 1] = net->offset[i] + rows * columns;
}

static void add_linear(struct ncf_net *net, size_t in, size_t out, const char *name) {
    add_layer(net, out, in, name, "weight");
    add_layer(net, 1, out, name, "bias");
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
    for (size_t t = 0; t < NCF_TABLES; t++)
        add_layer(&net, table_rows(&net, (enum table)t), table_width(&net, (enum table)t), table_name[t], "weight");
    for (size_t i = 1; i < net.n_mlp; i++) {
        char name[16];
        snprintf(name, sizeof name, "mlp.%zu", i - 1);
        add_linear(&net, net.mlp[i - 1], net.mlp[i], name);
    }
    add_linear(&net, last_width(&net), 1, "final");
    net.d = net.offset[net.n_layers];
    if (net.dense && batch > NCF_CHUNK)
        net.chunk = chunks_of(NCF_CHUNK, batch) * NCF_CHUNK;
    *out = net;
    for (size_t i = 0; i < net.n_layers; i++)
        out->name[i] = out->text[i];
    return SG_OK;
}

static void uniform(float *x, size_t n, double bound, sg_rng *rng) {
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(bound * (2 * sg_rng_uniform(rng) - 1));
}

void ncf_net_start(const struct ncf_net *net, uint64_t seed, float *x) {
    for (size_t t = 0; t < NCF_TABLES; t++) {
        sg_rng rng = sg_rng_open(seed, SG_RNG_INIT, (uint32_t)t, 0);
        for (size_t j = net->offset[t]; j < net->offset[t + 1]; j++)
            x[j] = (float)(0.01 * sg_rng_normal(&rng));
    }
    for (size_t l = NCF_TABLES; l < net->n_layers; l += 2) {
        const bool last = l + 2 == net->n_layers;
        const size_t bias = net->offset[l + 1], outputs = net->offset[l + 2] - bias,
                     inputs = (bias - net->offset[l]) / outputs;
        sg_rng weights = sg_rng_open(seed, SG_RNG_INIT, (uint32_t)l, 0);
        sg_rng biases = sg_rng_open(seed, SG_RNG_INIT, (uint32_t)l + 1, 0);
        uniform(x + net->offset[l], bias - net->offset[l],
                last ? sqrt(3 / (double)inputs) : sqrt(6 / (double)(inputs + outputs)), &weights);
        uniform(x + bias, outputs, 1 / sqrt((double)inputs), &biases);
    }
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

size_t ncf_net_row(const struct ncf_net *net) {
    return 2 * net->factors + net->mlp[0];
}

sg_status ncf_room_open(struct ncf_room *out, const struct ncf_net *net, struct sg_error *err) {
    const size_t bytes = net->chunk * ncf_net_row(net) * sizeof(float), ids = net->chunk * sizeof(int64_t);
    struct ncf_room room = net->dense ? (struct ncf_room){.user = malloc(ids), .item = malloc(ids)}
                                      : (struct ncf_room){.rows = malloc(bytes), .gradient = malloc(bytes)};
    if (net->dense ? !room.user || !room.item : !room.rows || !room.gradient) {
        ncf_room_close(&room);
        return sg_fail_memory(err, "a batch");
    }
    *out = room;
    return SG_OK;
}

void ncf_room_close(struct ncf_room *room) {
    free(room->rows);
    free(room->gradient);
    free(room->user);
    free(room->item);
    *room = (struct ncf_room){0};
}

/* In the room lie the rows of mf_user, of mf_item, and those of mlp_user and mlp_item side by side. */
struct place {
    size_t first, stride; /* where the first example's row is, and how far it is to the next one's */
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
        const float *table = p->x + p->net->offset[t];
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
            float *restrict to = g + p->net->offset[t] + row[i] * width;
            const float *restrict add = p->room->gradient + from.first + i * from.stride;
            for (size_t j = 0; j < width; j++)
                to[j] += add[j];
        }
    }
}

/* ---- passes ------------------------------------------------------------------------------------------------------ */

static sg_tensor *parameter(const struct ncf_pass *p, float *x, float *g, size_t at, size_t rows, size_t columns) {
    const int64_t shape[2] = {(int64_t)rows, (int64_t)columns};
    return sg_tensor_parameter(p->scope, x + at, g ? g + at : NULL, shape, 2);
}

/* Layer l, of `columns` inputs to `outputs`. */
static sg_tensor *linear(const struct ncf_pass *p, sg_tensor *in, float *g, size_t l) {
    SG_ASSERT(l >= NCF_TABLES && l + 2 <= p->net->n_layers);
    const size_t bias = p->net->offset[l + 1], outputs = p->net->offset[l + 2] - bias;
    const int64_t shape[1] = {(int64_t)outputs};
    sg_tensor *w = parameter(p, p->x, g, p->net->offset[l], outputs, (bias - p->net->offset[l]) / outputs);
    sg_tensor *b = sg_tensor_parameter(p->scope, p->x + bias, g ? g + bias : NULL, shape, 1);
    return sg_linear(p->scope, in, w, b);
}

/* What a batch takes from the tables: [count, factors] twice, [count, mlp[0]]. */
struct inputs {
    sg_tensor *user, *item, *deep;
};

static struct inputs gathered(const struct ncf_pass *p, size_t count, float *g) {
    const struct ncf_net *net = p->net;
    float *rows = p->room->rows, *gradient = g ? p->room->gradient : NULL;
    const size_t mf_item = place_of(net, MF_ITEM, count).first, mlp = place_of(net, MLP_USER, count).first;
    return (struct inputs){parameter(p, rows, gradient, 0, count, net->factors),
                           parameter(p, rows, gradient, mf_item, count, net->factors),
                           parameter(p, rows, gradient, mlp, count, net->mlp[0])};
}

static sg_tensor *look_up(const struct ncf_pass *p, enum table table, sg_tensor *row, float *g) {
    const struct ncf_net *net = p->net;
    sg_tensor *all = parameter(p, p->x, g, net->offset[table], table_rows(net, table), table_width(net, table));
    return sg_embedding(p->scope, all, row);
}

static struct inputs looked_up(const struct ncf_pass *p, size_t count, float *g) {
    const int64_t shape[1] = {(int64_t)count};
    sg_tensor *user = sg_tensor_ids(p->scope, p->room->user, shape, 1);
    sg_tensor *item = sg_tensor_ids(p->scope, p->room->item, shape, 1);
    sg_tensor *const deep[2] = {look_up(p, MLP_USER, user, g), look_up(p, MLP_ITEM, item, g)};
    return (struct inputs){look_up(p, MF_USER, user, g), look_up(p, MF_ITEM, item, g), sg_cat(p->scope, deep, 2)};
}

/* Numbers that the masks of an example take in the first `layers` layers of the perceptron. */
static size_t mask_numbers(const struct ncf_net *net, size_t layers) {
    size_t sum = 0;
    for (size_t i = 1; i <= layers; i++)
        sum += net->mlp[i];
    return sum;
}

/* Logits [count, 1] of what `prepare` put into the room; g as for sg_tensor_parameter. */
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

/* bench_compress.c: a worker's share of a step of every compressor that the section `compressors` of a recipe names, on
 * drawn gradients or on those of a recording. Each is a group of its own: all at once would not fit into memory. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "bench_private.h"
#include "sg_clock.h"
#include "sg_memory.h"

enum { WORKERS = 4, PART = 32 };
#define MOST_S 5.0 /* a step that would take longer is timed on a part of the layers, a PART-th of all elements */

/* ---- the section ---- */

static const struct sg_node *names(const struct compressors *c) {
    return sg_node_get(c->keys, "names");
}

sg_status compressors_open(struct compressors *c, const struct sg_node *recipe, struct sg_error *err) {
    const struct sg_node *back_ends = sg_node_get(recipe, "back-ends");
    *c = (struct compressors){.keys = sg_node_get(recipe, "compressors")};
    for (size_t i = 0; i < back_ends->count; i++)
        if (sg_kernels_cpu(back_ends->child[i].string))
            c->kernels = sg_kernels_cpu(back_ends->child[i].string);
    if (!c->keys)
        return SG_OK;
    if (!c->kernels)
        return sg_fail(err, SG_ERR_ARGUMENT, "compressors: they need a back-end of the CPU");
    for (size_t i = 0; i < names(c)->count; i++) {
        const char *name = names(c)->child[i].string;
        if (strcmp(name, "all") != 0 && !sg_compressor_find(name))
            return sg_fail(err, SG_ERR_ARGUMENT, "compressors.names: unknown compressor '%s'", name);
    }
    return SG_OK;
}

bool compressors_at(const struct compressors *c, size_t i, const struct sg_compressor_ops **ops) {
    *ops = sg_compressor_at(i);
    for (size_t n = 0; *ops && n < names(c)->count; n++) {
        const char *name = names(c)->child[n].string;
        if (strcmp(name, "all") == 0 || sg_compressor_find(name) == *ops)
            return true;
    }
    return false;
}

size_t compressors_count(const struct compressors *c) {
    const struct sg_compressor_ops *ops;
    size_t count = 0, i = 0;
    if (!c->keys)
        return 0;
    do
        count += compressors_at(c, i++, &ops);
    while (ops);
    return count;
}

bool is_recorded(const struct sg_node *size) {
    return size->kind == SG_NODE_STRING && strncmp(size->string, "recording", 9) == 0;
}

/* ---- gradients and layers ---- */

/* The layers of recorded gradients, or all of them as one. */
static sg_status open_recording(struct compressors *c, struct layers *layers, size_t *workers, bool flat,
                                struct sg_error *err) {
    const char *path = sg_node_string(c->keys, "recording", NULL);
    if (!path)
        return sg_fail(err, SG_ERR_ARGUMENT, "compressors.sizes: recording needs compressors.recording");
    sg_status status = sg_gradients_open(&c->recording, &(struct sg_gradients_request){.files = path}, err);
    if (status != SG_OK)
        return status;
    const struct sg_gradients_facts *facts = sg_gradients_look(c->recording);
    const size_t whole[] = {0, facts->d};
    *workers = facts->workers;
    if (flat)
        layers_cut(layers, "recording-flat", whole, 1);
    else
        layers_cut(layers, "recording", facts->offset, facts->n_layers);
    if (!flat && facts->rows)
        memcpy(layers->rows, facts->rows, facts->n_layers * sizeof *facts->rows);
    return SG_OK;
}

sg_status compressors_layers(struct compressors *c, struct layers *layers, size_t *workers, const struct sg_node *size,
                             struct sg_error *err) {
    *workers = WORKERS;
    if (is_recorded(size))
        return open_recording(c, layers, workers, strcmp(size->string, "recording-flat") == 0, err);
    return layers_open(layers, size, err);
}

/* Makes the part: the first layers that fit into a PART-th of all elements, or one layer of that size. */
sg_status compressors_size(struct compressors *c, const struct data *data, struct sg_error *err) {
    const struct layers *all = data->layers;
    const size_t most = all->n / PART > 0 ? all->n / PART : 1;
    const struct sg_node flat = {.kind = SG_NODE_NUMBER, .number = (double)most};
    size_t count = 0;
    while (count < all->count && all->offset[count + 1] <= most)
        count++;
    sg_status status = SG_OK;
    if (count > 0) {
        layers_cut(&c->part, all->name, all->offset, count);
        memcpy(c->part.rows, all->rows, count * sizeof *all->rows);
    } else {
        status = layers_open(&c->part, &flat, err);
    }
    c->part_k = sg_calloc(c->part.count + 1, sizeof *c->part_k);
    return status;
}

void compressors_case(struct compressors *c, const struct data *data) {
    for (size_t l = 0; l < c->part.count; l++)
        c->part_k[l] = elements_of(data->density, c->part.offset[l + 1] - c->part.offset[l]);
    c->part_data = *data;
    c->part_data.layers = &c->part;
    c->part_data.k = c->part_k;
}

void compressors_close_size(struct compressors *c) {
    free(c->part_k);
    layers_close(&c->part);
    sg_gradients_close(c->recording);
    c->part_k = NULL;
    c->recording = NULL;
}

/* ---- one compressor ---- */

static struct job job_of(const struct compressors *c, const struct sg_compressor_ops *ops, struct data *data,
                         int threads) {
    return (struct job){.operation = find_operation("compress"),
                        .kernels = c->kernels,
                        .exec = {.threads = threads},
                        .data = data,
                        .compressor = ops,
                        .workers = c->recording || ops->rounds ? data->workers : 1};
}

/* True if a step of all workers exceeds MOST_S. The faster of two counts, because the first may wait for memory. */
static bool is_slow(struct compressors *c, const struct sg_compressor_ops *ops, const struct bench_case *of) {
    struct job job = job_of(c, ops, &c->part_data, of->threads);
    struct sg_error ignored;
    double least = INFINITY;
    sg_status status = method_job_open(&job, 1, &ignored);
    memset(job.data->e, 0, job.workers * c->part.n * sizeof *job.data->e);
    for (int i = 0; i < 2 && status == SG_OK; i++) {
        const double start = sg_clock_s();
        run_compress(&job);
        least = fmin(least, sg_clock_s() - start);
        status = job.status == SG_KERNEL_OK ? SG_OK : job.error.status;
    }
    method_job_close(&job);
    return status == SG_OK && least * (double)of->data->layers->n > MOST_S * (double)c->part.n;
}

sg_status compressors_run(struct compressors *c, const struct sg_compressor_ops *ops, struct group *g, cJSON *rows,
                          bool *verified, struct sg_error *err) {
    struct data *all = g->of->data;
    struct sg_error why;
    const bool part = !c->recording && is_slow(c, ops, g->of);
    const struct job job = job_of(c, ops, part ? &c->part_data : all, g->of->threads);
    g->right[0] = false;
    sg_status status = group_add(g, &job, &why);
    SG_DO(status, group_run(g, verified, &why));
    const bool ends = status == SG_ERR_MEMORY || status == SG_ERR_INTERRUPTED || status == SG_ERR_IO;
    if (ends)
        *err = why;
    else
        group_report(g, status != SG_OK ? why.msg : NULL, rows);
    group_close(g);
    return ends ? status : SG_OK;
}

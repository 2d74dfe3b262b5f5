/* bench_compressors.c: times a worker's share of a step for every compressor that the recipe names, on drawn gradients or
 * on those of a recording. The compressors take turns with `e += g` one by one: all at once would not fit into memory. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench_compressors.h"
#include "bench_share.h"
#include "sg_clock.h"
#include "sg_gradients.h"

enum { WORKERS = 4, PART = 32 };
#define MOST_S 5.0 /* a step that would take longer is timed on a part of the layers, a PART-th of all elements */

struct run {
    const struct sg_node *recipe, *keys; /* the whole, and its section `compressors` */
    const struct sg_bench_options *options;
    cJSON *rows;
    size_t done, total;
    bool verified;

    const struct sg_kernels *kernels;
    int threads;
    struct data data;
    struct layers part; /* the first of the layers */
    size_t *part_k;     /* [part.count] */
    const char *distribution;
    sg_gradients *recording; /* NULL = gradients are drawn */
    struct share_source from;
    double topk; /* Top-k's time in this case, in units of add; NaN = not timed so far */
};

static const struct sg_node *list(const struct run *r, const char *key) {
    return sg_node_get(r->keys, key);
}

/* ---- the compressors ---- */

static bool is_named(const struct run *r, const struct sg_compressor_ops *ops) {
    const struct sg_node *names = list(r, "names");
    for (size_t i = 0; i < names->count; i++) {
        const char *name = names->child[i].string;
        if (strcmp(name, "all") == 0 || sg_compressor_find(name) == ops)
            return true;
    }
    return false;
}

static size_t count_compressors(const struct run *r) {
    const struct sg_compressor_ops *ops;
    size_t count = 0;
    for (size_t i = 0; (ops = sg_compressor_at(i)) != NULL; i++)
        count += is_named(r, ops);
    return count;
}

static sg_status check_names(const struct run *r, struct sg_error *err) {
    const struct sg_node *names = list(r, "names");
    for (size_t i = 0; i < names->count; i++) {
        const char *name = names->child[i].string;
        if (strcmp(name, "all") != 0 && !sg_compressor_find(name))
            return sg_fail(err, SG_ERR_ARGUMENT, "compressors.names: unknown compressor '%s'", name);
    }
    return SG_OK;
}

/* In its case, or on the part of its layers. */
static struct share_setting setting_of(const struct run *r, const struct sg_compressor_ops *ops, bool part) {
    return (struct share_setting){.compressor = ops,
                                  .layers = part ? &r->part : r->data.layers,
                                  .k = part ? r->part_k : r->data.k,
                                  .density = r->data.density,
                                  .threshold = (double)r->data.tau[0],
                                  .workers = r->recording || ops->rounds ? r->from.workers : 1,
                                  .decay = 1,
                                  .kernels = r->kernels,
                                  .exec = {.threads = r->threads}};
}

/* Would a step of all workers take too long? The faster of two says so, for the first one may wait for memory. */
static sg_status is_slow(const struct run *r, const struct sg_compressor_ops *ops, bool *slow, struct sg_error *err) {
    const struct share_setting setting = setting_of(r, ops, true);
    struct share s;
    double least = INFINITY;
    sg_status status = share_open(&s, &setting, err);
    for (int i = 0; i < 2 && status == SG_OK; i++) {
        const double start = sg_clock_s();
        status = share_step(&s, r->from.g, err);
        least = fmin(least, sg_clock_s() - start);
    }
    *slow = least * (double)r->data.layers->n > MOST_S * (double)r->part.n;
    share_close(&s);
    return status;
}

/* ---- rows ---- */

static double wanted_of(const struct share_setting *s) {
    size_t wanted = 0;
    for (size_t l = 0; l < s->layers->count; l++)
        wanted += s->k[l];
    return (double)wanted;
}

/* Is there a number of entries that it was asked for? */
static bool has_target(const struct sg_compressor_ops *ops) {
    for (size_t i = 0; i < ops->n_params; i++)
        if (strncmp(ops->params[i].name, "density", 7) == 0)
            return true;
    return ops->select != NULL && !(ops->traits & SG_TRAIT_DENSE);
}

static void report(struct run *r, const struct share_measured *m, bool right, const char *reason) {
    const struct share_setting *setting = &m->setting;
    const struct sg_compressor_ops *ops = setting->compressor;
    const double n = (double)setting->layers->n;
    const bool timed = m->own.sample != NULL, sparse = timed && has_target(ops);
    const double ratio = timed ? m->own.median / m->add.median : (double)NAN;
    const struct row_case c = {.layers = setting->layers,
                               .distribution = r->distribution,
                               .density = r->data.density,
                               .cache_bytes = cpu_cache_bytes()};
    const struct row_times times = {.own = &m->own,
                                    .add = &m->add,
                                    .k = timed ? m->entries : (double)NAN,
                                    .bytes = timed ? 12 * n + 2 * m->bytes + 8 * m->entries : (double)NAN,
                                    .add_bytes = 12 * n,
                                    .right = right,
                                    .missing = reason};
    if (strcmp(ops->name, "topk") == 0)
        r->topk = ratio;
    const struct row_compressor own = {.name = ops->name,
                                       .workers = (double)setting->workers,
                                       .message_bytes = timed ? m->bytes : (double)NAN,
                                       .decode_s = timed ? m->decode.median : (double)NAN,
                                       .bits_per_element = timed ? m->bits / n : (double)NAN,
                                       .times_topk = setting->layers == r->data.layers ? ratio / r->topk : (double)NAN,
                                       .of_target = sparse ? m->entries / wanted_of(setting) : (double)NAN,
                                       .layer_factor = sparse ? exp(m->off) : (double)NAN};
    cJSON *row = row_begin(&c, "compress", r->kernels->name, r->threads);
    row_times(row, &c, &times);
    row_end(row, NULL, &own, reason);
    cJSON_AddItemToArray(r->rows, row);
}

/* A compressor that refuses these layers has a row that says why. */
static sg_status run_compressor(struct run *r, const struct sg_compressor_ops *ops, struct sg_error *err) {
    struct share_measured m = {.setting = setting_of(r, ops, false)};
    struct sg_error why;
    bool right = false, slow = false;
    char what[120];
    snprintf(what, sizeof what, "%s, %s of %zu, %s, density %g, %d thread%s", ops->name, r->data.layers->name,
             r->data.layers->n, r->distribution, r->data.density, r->threads, r->threads > 1 ? "s" : "");
    if (r->options->begin)
        r->options->begin(what, r->done++, r->total);
    sg_status status = SG_OK;
    if (!r->recording && is_slow(r, ops, &slow, &why) == SG_OK && slow)
        m.setting = setting_of(r, ops, true);
    status = share_verify(&m.setting, &r->from, r->options->corrupt, &right, &why);
    if (status == SG_OK && right)
        status = share_measure(&m, &r->from, &why);
    if (status == SG_ERR_MEMORY || status == SG_ERR_INTERRUPTED || status == SG_ERR_IO) {
        *err = why;
    } else {
        if (status != SG_OK)
            share_measured_free(&m);
        report(r, &m, right, status != SG_OK ? why.msg : NULL);
        r->verified = r->verified && (right || status != SG_OK);
        status = SG_OK;
    }
    share_measured_free(&m);
    return status;
}

/* ---- the cases ---- */

static sg_status run_densities(struct run *r, struct sg_error *err) {
    const struct sg_node *shares = list(r, "densities"), *threads = sg_node_get(r->recipe, "threads");
    const struct sg_compressor_ops *ops;
    sg_status status = SG_OK;
    for (size_t j = 0; status == SG_OK && j < shares->count; j++)
        for (size_t t = 0; status == SG_OK && t < threads->count; t++) {
            r->threads = (int)threads->child[t].number;
            r->topk = NAN;
            memcpy(r->data.g, r->from.g, r->data.layers->n * sizeof *r->from.g);
            status = data_set_density(&r->data, shares->child[j].number, err);
            for (size_t l = 0; l < r->part.count; l++)
                r->part_k[l] = elements_of(r->data.density, r->part.offset[l + 1] - r->part.offset[l]);
            for (size_t i = 0; status == SG_OK && (ops = sg_compressor_at(i)) != NULL; i++)
                if (is_named(r, ops))
                    status = run_compressor(r, ops, err);
        }
    return status;
}

static sg_status run_drawn(struct run *r, struct sg_error *err) {
    const struct sg_node *kinds = list(r, "distributions");
    sg_status status = SG_OK;
    for (size_t i = 0; status == SG_OK && i < kinds->count; i++) {
        r->distribution = kinds->child[i].string;
        for (size_t w = 0; w < r->from.workers; w++)
            draw_gradient(r->from.g + w * r->data.layers->n, r->data.layers, r->distribution, (uint32_t)w);
        status = run_densities(r, err);
    }
    return status;
}

static sg_status run_recorded(struct run *r, struct sg_error *err) {
    r->distribution = "recorded";
    const sg_status status = share_read(&r->from, 0, err);
    return status == SG_OK ? run_densities(r, err) : status;
}

/* The part: as many of the first layers as a PART-th of all elements has, or one layer of so many. */
static sg_status open_part(struct run *r, struct sg_error *err) {
    const struct layers *all = r->data.layers;
    const size_t most = all->n / PART > 0 ? all->n / PART : 1;
    const struct sg_node flat = {.kind = SG_NODE_NUMBER, .number = (double)most};
    size_t count = 0;
    while (count < all->count && all->offset[count + 1] <= most)
        count++;
    sg_status status = layers_open(&r->part, &flat, err);
    if (status == SG_OK && count > 0) {
        layers_close(&r->part);
        status = layers_cut(&r->part, all->name, all->offset, count, err);
        if (status == SG_OK)
            memcpy(r->part.rows, all->rows, count * sizeof *all->rows);
    }
    if (status == SG_OK && !(r->part_k = calloc(r->part.count, sizeof *r->part_k)))
        status = sg_fail_memory(err, "layers");
    return status;
}

/* The layers of recorded gradients, or all of them as one. */
static sg_status open_recording(struct run *r, struct layers *layers, bool flat, struct sg_error *err) {
    const char *path = sg_node_string(r->keys, "recording", NULL);
    if (!path)
        return sg_fail(err, SG_ERR_ARGUMENT, "compressors.sizes: recording needs compressors.recording");
    sg_status status = sg_gradients_open(&r->recording, path, NULL, err);
    if (status != SG_OK)
        return status;
    const struct sg_gradients_facts *facts = sg_gradients_look(r->recording);
    r->from.workers = facts->workers;
    r->from.recording = r->recording;
    const size_t whole[] = {0, facts->d};
    status = flat ? layers_cut(layers, "recording-flat", whole, 1, err)
                  : layers_cut(layers, "recording", facts->offset, facts->n_layers, err);
    if (status == SG_OK && !flat && facts->rows)
        memcpy(layers->rows, facts->rows, facts->n_layers * sizeof *facts->rows);
    return status;
}

static sg_status run_size(struct run *r, const struct sg_node *size, struct sg_error *err) {
    const char *name = size->kind == SG_NODE_STRING ? size->string : "";
    const bool recorded = strncmp(name, "recording", 9) == 0;
    struct layers layers = {0};
    r->from.workers = WORKERS;
    sg_status status = recorded ? open_recording(r, &layers, strcmp(name, "recording-flat") == 0, err)
                                : layers_open(&layers, size, err);
    SG_DO(status, data_open(&r->data, &layers, err));
    SG_DO(status, open_part(r, err));
    if (status == SG_OK) {
        r->from.g = malloc(r->from.workers * layers.n * sizeof *r->from.g);
        status = r->from.g ? SG_OK : sg_fail_memory(err, "gradients");
    }
    SG_DO(status, recorded ? run_recorded(r, err) : run_drawn(r, err));
    free(r->from.g);
    free(r->part_k);
    r->from.g = NULL;
    r->part_k = NULL;
    layers_close(&r->part);
    data_close(&r->data);
    layers_close(&layers);
    sg_gradients_close(r->recording);
    r->recording = NULL;
    r->from.recording = NULL;
    return status;
}

static struct run open_run(const struct sg_node *recipe) {
    const struct sg_node *tables = sg_node_get(recipe, "back-ends");
    struct run r = {.recipe = recipe, .keys = sg_node_get(recipe, "compressors"), .verified = true};
    for (size_t i = 0; i < tables->count; i++)
        if (sg_kernels_cpu(tables->child[i].string))
            r.kernels = sg_kernels_cpu(tables->child[i].string);
    return r;
}

size_t compressors_total(const struct sg_node *recipe) {
    const struct run r = open_run(recipe);
    if (!r.keys)
        return 0;
    size_t kinds = 0;
    for (size_t i = 0; i < list(&r, "sizes")->count; i++) {
        const struct sg_node *size = &list(&r, "sizes")->child[i];
        const bool recorded = size->kind == SG_NODE_STRING && strncmp(size->string, "recording", 9) == 0;
        kinds += recorded ? 1 : list(&r, "distributions")->count;
    }
    return kinds * list(&r, "densities")->count * sg_node_get(recipe, "threads")->count * count_compressors(&r);
}

sg_status compressors_run(cJSON *rows, bool *verified, const struct sg_node *recipe,
                          const struct sg_bench_options *options, size_t done, size_t total, struct sg_error *err) {
    struct run r = open_run(recipe);
    if (!r.keys)
        return SG_OK;
    r.rows = rows;
    r.options = options;
    r.from.stop = options->stop;
    r.from.samples = (size_t)sg_node_number(recipe, "samples", 20);
    r.done = done;
    r.total = total;
    if (!r.kernels)
        return sg_fail(err, SG_ERR_ARGUMENT, "compressors: they need a back-end of the CPU");
    sg_status status = check_names(&r, err);
    for (size_t i = 0; status == SG_OK && i < list(&r, "sizes")->count; i++)
        status = run_size(&r, &list(&r, "sizes")->child[i], err);
    *verified = *verified && r.verified;
    return status;
}

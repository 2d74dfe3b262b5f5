/* bench_run.c: runs the cases of a recipe and makes its results. A case is a size, a distribution, a density and a
 * number of threads; its operations are one group of jobs, and each compressor is one. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "bench_private.h"
#include "sg_cuda.h"
#include "sg_debug.h"
#include "sg_memory.h"

struct bench {
    const struct sg_node *recipe;
    struct bench_case of;
    struct data data;
    struct group group;
    struct compressors compressors;
    const struct sg_kernels *cuda; /* names the back-end cuda; NULL = they are those of the CPU */
    size_t done, total;
    cJSON *results;
    bool verified;
};

static const struct sg_node *list(const struct bench *b, const char *key) {
    return sg_node_get(b->recipe, key);
}

const struct operation *find_operation(const char *name) {
    for (size_t i = 0; i < n_operations; i++)
        if (strcmp(operations[i].name, name) == 0)
            return &operations[i];
    return NULL;
}

/* ---- the operations of a case ---- */

/* True if only back-end "c" runs this operation, because others have no form of it. */
static bool of_c_alone(const struct operation *operation) {
    return operation->one_thread || operation->rival;
}

static sg_status add_kernel_jobs(struct bench *b, const struct operation *operation, struct sg_error *err) {
    const struct sg_node *tables = list(b, "back-ends");
    sg_status status = SG_OK;
    for (size_t t = 0; status == SG_OK && t < tables->count; t++) {
        const struct sg_kernels *kernels = b->cuda ? b->cuda : sg_kernels_cpu(tables->child[t].string);
        if (!kernels || (of_c_alone(operation) && strcmp(kernels->name, "c") != 0))
            continue;
        const int threads = operation->one_thread ? 1 : b->of.threads;
        const struct job job = {.operation = operation, .kernels = kernels, .exec = {.threads = threads}};
        status = group_add(&b->group, &job, err);
    }
    return status;
}

static sg_status add_wire_jobs(struct bench *b, const struct operation *operation, struct sg_error *err) {
    const struct sg_node *encodings = list(b, "encodings"), *values = list(b, "values");
    sg_status status = SG_OK;
    for (size_t i = 0; i < encodings->count; i++)
        for (size_t v = 0; status == SG_OK && v < values->count; v++) {
            const struct job job = {.operation = operation,
                                    .exec = {.threads = 1},
                                    .encoding = encodings->child[i].string,
                                    .format = {.encoding = sg_wire_find(encodings->child[i].string),
                                               .code = sg_code_find(values->child[v].string)}};
            status = group_add(&b->group, &job, err);
        }
    return status;
}

/* Operations are the outer loop and back-ends the inner one, so that results list one operation on all back-ends. */
static sg_status add_jobs(struct bench *b, struct sg_error *err) {
    const struct sg_node *ops = list(b, "operations");
    sg_status status = SG_OK;
    for (size_t o = 0; status == SG_OK && o < ops->count; o++) {
        const struct operation *operation = find_operation(ops->child[o].string);
        if (!operation)
            return sg_fail(err, SG_ERR_ARGUMENT, "unknown operation '%s'", ops->child[o].string);
        if (b->cuda ? of_c_alone(operation) || operation->wire || operation->coder : operation->device_only)
            return sg_fail(err, SG_ERR_ARGUMENT, "operations: %s does not run on %s", operation->name,
                           b->cuda ? "cuda" : "the CPU's back-ends");
        status = operation->wire ? add_wire_jobs(b, operation, err) : add_kernel_jobs(b, operation, err);
    }
    return status;
}

/* ---- the cases ---- */

/* Reports the case that begins; the name of a compressor stands before it. */
static void say_begin(struct bench *b, const char *compressor, double density) {
    char what[120];
    snprintf(what, sizeof what, "%s%s%s of %zu, %s, density %g, %d thread%s", compressor ? compressor : "",
             compressor ? ", " : "", b->data.layers->name, b->data.layers->n, b->of.distribution, density,
             b->of.threads, b->of.threads > 1 ? "s" : "");
    SG_TRACE(2, "case %zu of %zu: %s", b->done + 1, b->total, what);
    if (b->of.options->begin)
        b->of.options->begin(what, b->done, b->total);
    b->done++;
}

static bool begins_case(const struct bench *b, const cJSON *row, double density) {
    return is_reference(row) && strcmp(sg_json_string(row, "size", ""), b->data.layers->name) == 0 &&
           sg_json_number(row, "n", -1) == (double)b->data.layers->n &&
           strcmp(sg_json_string(row, "distribution", ""), b->of.distribution) == 0 &&
           sg_json_number(row, "density", -1) == density && sg_json_number(row, "threads", -1) == b->of.threads;
}

/* Copies the rows of a case that an earlier, interrupted run has finished. Returns whether there are any. */
static bool take_earlier(struct bench *b, double density) {
    const cJSON *row = b->of.options->earlier ? b->of.options->earlier->child : NULL;
    while (row && !begins_case(b, row, density))
        row = row->next;
    const bool found = row != NULL;
    for (bool mine = found; mine; mine = row && !is_reference(row) && !sg_json_string(row, "compressor", NULL)) {
        b->verified = b->verified && sg_json_bool(row, "verified", true);
        sg_json_push(b->results, sg_json_copy(row));
        row = row->next;
    }
    return found;
}

static sg_status run_operations(struct bench *b, double density, struct sg_error *err) {
    if (take_earlier(b, density)) {
        b->done++;
        return SG_OK;
    }
    say_begin(b, NULL, density);
    sg_status status = data_set_density(&b->data, density, err);
    if (status == SG_OK && b->cuda)
        status = gpu_times()->open(&b->of.device, &b->data, err);
    SG_DO(status, add_jobs(b, err));
    SG_DO(status, group_run(&b->group, &b->verified, err));
    if (status == SG_OK)
        group_report(&b->group, NULL, b->results);
    group_close(&b->group);
    if (b->of.device)
        gpu_times()->close(b->of.device);
    b->of.device = NULL;
    return status;
}

static sg_status run_compressors(struct bench *b, double density, struct sg_error *err) {
    const struct sg_compressor_ops *ops;
    sg_status status = data_set_density(&b->data, density, err);
    size_t i = 0;
    compressors_case(&b->compressors, &b->data);
    b->group.topk = NAN;
    while (status == SG_OK) {
        const bool named = compressors_at(&b->compressors, i++, &ops);
        if (!ops)
            break;
        if (!named)
            continue;
        say_begin(b, ops->name, density);
        status = compressors_run(&b->compressors, ops, &b->group, b->results, &b->verified, err);
    }
    return status;
}

/* All densities and threads of a size and a distribution, for operations or for compressors. */
static sg_status run_densities(struct bench *b, const struct sg_node *keys, struct sg_error *err) {
    const struct sg_node *shares = sg_node_get(keys, "densities"), *threads = list(b, "threads");
    sg_status (*const run)(struct bench *, double, struct sg_error *) =
        keys == b->recipe ? run_operations : run_compressors;
    sg_status status = SG_OK;
    for (size_t j = 0; status == SG_OK && j < shares->count; j++)
        for (size_t t = 0; status == SG_OK && t < threads->count; t++) {
            b->of.threads = (int)threads->child[t].number;
            if (b->data.recording)
                status = data_read(&b->data, 0, err);
            SG_DO(status, run(b, shares->child[j].number, err));
        }
    return status;
}

static sg_status run_distributions(struct bench *b, const struct sg_node *keys, struct sg_error *err) {
    const struct sg_node *kinds = sg_node_get(keys, "distributions");
    sg_status status = SG_OK;
    b->of.distribution = "recorded";
    if (b->data.recording)
        return run_densities(b, keys, err);
    for (size_t i = 0; status == SG_OK && i < kinds->count; i++) {
        b->of.distribution = kinds->child[i].string;
        for (size_t w = 0; w < b->data.workers; w++)
            draw_gradient(b->data.g + w * b->data.layers->n, b->data.layers, b->of.distribution, (uint32_t)w);
        status = run_densities(b, keys, err);
    }
    return status;
}

/* keys: the recipe, for its operations, or its section `compressors`. */
static sg_status run_size(struct bench *b, const struct sg_node *keys, const struct sg_node *size,
                          struct sg_error *err) {
    const bool steps = keys != b->recipe;
    struct compressors *c = &b->compressors;
    struct layers layers = {0};
    size_t workers = 1;
    sg_status status = steps ? compressors_layers(c, &layers, &workers, size, err) : layers_open(&layers, size, err);
    if (status == SG_OK)
        data_open(&b->data, &layers, workers);
    b->data.recording = c->recording;
    if (status == SG_OK && steps)
        status = compressors_size(c, &b->data, err);
    SG_DO(status, run_distributions(b, keys, err));
    data_close(&b->data);
    compressors_close_size(c);
    layers_close(&layers);
    return status;
}

static sg_status run_sizes(struct bench *b, const struct sg_node *keys, struct sg_error *err) {
    const struct sg_node *sizes = sg_node_get(keys, "sizes");
    sg_status status = SG_OK;
    for (size_t i = 0; status == SG_OK && i < sizes->count; i++)
        status = run_size(b, keys, &sizes->child[i], err);
    return status;
}

/* Sizes, distributions, densities and threads; recorded gradients have one distribution. */
static size_t count_cases(const struct bench *b, const struct sg_node *keys) {
    const struct sg_node *sizes = sg_node_get(keys, "sizes");
    size_t kinds = 0;
    for (size_t i = 0; i < sizes->count; i++)
        kinds += is_recorded(&sizes->child[i]) ? 1 : sg_node_get(keys, "distributions")->count;
    return kinds * sg_node_get(keys, "densities")->count * list(b, "threads")->count;
}

/* ---- the run ---- */

/* Back-ends of the CPU and cuda have different references, so one recipe cannot have both. */
static sg_status find_cuda(struct bench *b, struct sg_error *err) {
    const struct sg_node *tables = list(b, "back-ends");
    char why[256];
    size_t others = 0;
    for (size_t t = 0; t < tables->count; t++)
        others += strcmp(tables->child[t].string, "cuda") != 0;
    if (others == tables->count)
        return SG_OK;
    if (others > 0)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "back-ends: cuda is compared with e += g on the device, the others with "
                       "e += g on the CPU: give cuda a recipe of its own");
    b->cuda = sg_cuda_kernels();
    if (!b->cuda)
        return sg_fail(err, SG_ERR_UNSUPPORTED, "back-end cuda: this build has no CUDA: rebuild with WITH_CUDA=1");
    if (!gpu_times())
        return sg_fail(err, SG_ERR_UNSUPPORTED, "back-end cuda: %s", gpu_times_missing());
    return gpu_times()->available(why, sizeof why) ? SG_OK : sg_fail(err, SG_ERR_UNSUPPORTED, "back-end cuda: %s", why);
}

static void warn_missing(const struct bench *b) {
    const struct sg_node *tables = list(b, "back-ends"), *ops = list(b, "operations");
    bool plain = false;
    for (size_t t = 0; t < tables->count; t++)
        plain = plain || strcmp(tables->child[t].string, "c") == 0;
    for (size_t o = 0; b->of.options->warn && !b->cuda && !plain && o < ops->count; o++) {
        const struct operation *operation = find_operation(ops->child[o].string);
        char text[120];
        snprintf(text, sizeof text, "%s is timed beside the back-end c alone: left out (add c to back-ends)",
                 ops->child[o].string);
        if (operation && of_c_alone(operation))
            b->of.options->warn(text);
    }
    for (size_t t = 0; b->of.options->warn && !b->cuda && t < tables->count; t++) {
        char text[80];
        snprintf(text, sizeof text, "this machine has no %s: left out", tables->child[t].string);
        if (!sg_kernels_cpu(tables->child[t].string))
            b->of.options->warn(text);
    }
}

static sg_status run_all(struct bench *b, struct sg_error *err) {
    const struct sg_node *section = list(b, "compressors");
    const bool operates = list(b, "operations")->count > 0;
    sg_status status = find_cuda(b, err);
    SG_DO(status, compressors_open(&b->compressors, b->recipe, err));
    if (status != SG_OK)
        return status;
    warn_missing(b);
    b->total = operates ? count_cases(b, b->recipe) : 0;
    if (section)
        b->total += count_cases(b, section) * compressors_count(&b->compressors);
    if (operates)
        status = run_sizes(b, b->recipe, err);
    return status == SG_OK && section ? run_sizes(b, section, err) : status;
}

sg_status sg_bench_run(cJSON **results, bool *verified, const struct sg_recipe *recipe,
                       const struct sg_bench_options *options, struct sg_error *err) {
    struct bench *b = sg_calloc(1, sizeof *b);
    cJSON *rows = cJSON_CreateArray();
    b->recipe = &recipe->root;
    b->of = (struct bench_case){
        .options = options, .data = &b->data, .samples = (size_t)sg_node_number(&recipe->root, "samples", 20)};
    b->group.of = &b->of;
    b->results = rows;
    b->verified = true;
    const sg_status status = run_all(b, err);
    if (status == SG_OK || status == SG_ERR_INTERRUPTED) {
        *results = rows;
        *verified = b->verified;
        rows = NULL;
    }
    cJSON_Delete(rows);
    free(b);
    return status;
}

/* bench_run.c: runs the cases of a recipe and makes its results. */
#include "bench_compressors.h"
#include "bench_device.h"
#include "sg_cuda.h"
#include "sg_debug.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_JOBS = 64, MOST_OPERATIONS = 32 };

struct bench {
    const struct sg_node *recipe;
    const struct sg_bench_options *options;
    struct data data;
    struct expected expected[MOST_OPERATIONS]; /* by the number of the operation that defines the output */
    struct job job[MOST_JOBS];
    struct timed timed[MOST_JOBS + 1]; /* the first one is the reference */
    bool right[MOST_JOBS];
    size_t jobs, done, total;
    const char *distribution;
    int threads;
    const struct sg_kernels *cuda; /* names the back-end cuda; NULL = they are those of the CPU */
    struct device *device;         /* this case's; NULL on a CPU */
    cJSON *results;
    bool verified;
};

static const struct sg_node *list(const struct bench *b, const char *key) {
    return sg_node_get(b->recipe, key);
}

/* ---- the jobs of a case ---- */

static void call_reference(void *arg) {
    const struct bench *b = arg;
    add_in_place(b->data.e, b->data.g, b->data.layers->n, b->threads);
}

static double measure_copy(void *arg, size_t calls) {
    return device_time_copy(((struct bench *)arg)->device, calls);
}

static double measure_job(void *arg, size_t calls) {
    return device_time(arg, calls);
}

static void call_job(void *arg) {
    struct job *job = arg;
    job->operation->run(job);
}

static const struct operation *find_operation(const char *name) {
    for (size_t i = 0; i < n_operations; i++)
        if (strcmp(operations[i].name, name) == 0)
            return &operations[i];
    return NULL;
}

/* Adds a job. free_jobs frees it, also one that is half open. */
static sg_status add_job(struct bench *b, const struct job *like, struct sg_error *err) {
    if (b->jobs == MOST_JOBS)
        return sg_fail(err, SG_ERR_ARGUMENT, "%s: more than %d operations times back-ends and encodings",
                       like->operation->name, MOST_JOBS);
    struct job *job = &b->job[b->jobs++];
    SG_ASSERT(like->operation->wire || like->kernels != NULL);
    *job = *like;
    job->data = &b->data;
    job->device = b->device;
    if (like->operation->wire)
        return wire_job_open(job, err);
    if (like->operation->coder)
        return coder_job_open(job, err);
    job->guess = malloc(b->data.layers->count * sizeof *job->guess);
    return job->guess ? SG_OK : sg_fail_memory(err, "guesses");
}

/* Is it the work of one back-end, c, of which others have no form of their own? */
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
        const int threads = operation->one_thread ? 1 : b->threads;
        const struct job job = {.operation = operation, .kernels = kernels, .exec = {.threads = threads}};
        status = add_job(b, &job, err);
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
            status = add_job(b, &job, err);
        }
    return status;
}

/* Operations are the outer loop and back-ends the inner one, so that results list one operation on all back-ends. */
static sg_status choose_jobs(struct bench *b, struct sg_error *err) {
    const struct sg_node *ops = list(b, "operations");
    sg_status status = SG_OK;
    b->jobs = 0;
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

static void free_jobs(struct bench *b) {
    for (size_t i = 0; i < b->jobs; i++) {
        free(b->job[i].guess);
        free(b->job[i].message);
        free(b->job[i].coded);
        sg_method_close(b->job[i].method);
    }
    device_close(b->device);
    b->device = NULL;
    for (size_t i = 0; i <= MOST_JOBS; i++)
        timing_free(&b->timed[i].timing);
    b->jobs = 0;
}

/* Compares the outputs of all operations; wrong ones are not timed. */
static sg_status verify_jobs(struct bench *b, struct sg_error *err) {
    for (size_t i = 0; i < b->jobs; i++) {
        struct job *job = &b->job[i];
        const size_t like = job->operation->compared_with;
        if (job->operation->wire) {
            b->right[i] = round_trips(job, b->options->corrupt);
            b->verified = b->verified && b->right[i];
            continue;
        }
        struct expected *x = &b->expected[like];
        SG_ASSERT(like < sizeof b->expected / sizeof *b->expected && like < n_operations);
        if (!x->e) {
            sg_status status = expected_open(x, b->data.layers, err);
            SG_DO(status, expect(x, &operations[like], &b->data, err));
            if (status != SG_OK)
                return status;
        }
        if (rival_missing(job->operation)) {
            b->right[i] = false;
            continue;
        }
        b->right[i] = gives_expected(x, job, b->options->corrupt);
        if (job->operation->rival)
            expected_close(x);
        b->verified = b->verified && b->right[i];
    }
    return SG_OK;
}

static void forget_expected(struct bench *b) {
    for (size_t i = 0; i < sizeof b->expected / sizeof *b->expected; i++)
        expected_close(&b->expected[i]);
}

/* ---- results ---- */

static struct row_case case_of(const struct bench *b) {
    return (struct row_case){.layers = b->data.layers,
                             .distribution = b->distribution,
                             .density = b->data.density,
                             .on_device = b->device != NULL,
                             .cache_bytes = b->device ? device_cache_bytes(b->device) : cpu_cache_bytes()};
}

/* The timing of an operation in this case, on the same back-end unless `kernels` is NULL; NULL = it was not timed. */
static const struct timing *timing_of(const struct bench *b, const char *operation, const struct sg_kernels *kernels) {
    for (size_t i = 0; i < b->jobs; i++)
        if (strcmp(b->job[i].operation->name, operation) == 0 && (!kernels || b->job[i].kernels == kernels))
            return b->timed[i + 1].timing.sample ? &b->timed[i + 1].timing : NULL;
    return NULL;
}

static void report(struct bench *b) {
    const struct row_case c = case_of(b);
    const struct timing *add = &b->timed[0].timing;
    const double add_bytes = (b->device ? 8.0 : 12.0) * (double)b->data.layers->n; /* a copy reads and writes */
    struct row_times times = {
        .own = add, .add = add, .k = NAN, .bytes = add_bytes, .add_bytes = add_bytes, .right = true};
    cJSON *row = row_begin(&c, b->device ? "copy" : "add", "reference", b->threads);
    row_times(row, &c, &times);
    row_end(row, NULL, NULL, NULL);
    cJSON_AddItemToArray(b->results, row);
    for (size_t i = 0; i < b->jobs; i++) {
        const struct job *job = &b->job[i];
        const struct timing *t = &b->timed[i + 1].timing;
        const char *missing = rival_missing(job->operation);
        const char *back_end = job->operation->rival ? "c++" : job->operation->wire ? "c" : job->kernels->name;
        times.own = t;
        times.k = (double)job->sent;
        times.bytes = job->operation->bytes(job);
        times.threshold = job->kernels ? timing_of(b, operations[0].name, job->kernels) : NULL;
        times.torch = job->operation->torch ? timing_of(b, job->operation->torch, NULL) : NULL;
        times.right = b->right[i];
        times.missing = missing;
        row = row_begin(&c, job->operation->name, back_end, job->exec.threads);
        row_times(row, &c, &times);
        row_end(row, job, NULL, missing);
        cJSON_AddItemToArray(b->results, row);
        if (b->options->warn && t->sample && t->outliers > t->samples / 10) {
            char text[160];
            snprintf(text, sizeof text,
                     "%s, %s, %s: %zu of %zu samples are outliers: close other programs, or ask for more samples",
                     job->operation->name, job->operation->wire ? job->encoding : back_end, b->data.layers->name,
                     t->outliers, t->samples);
            b->options->warn(text);
        }
    }
}

/* ---- the cases ---- */

/* Wrong outputs are left out of the timing. */
static sg_status time_jobs(struct bench *b, struct sg_error *err) {
    struct timed chosen[MOST_JOBS + 1];
    size_t count = 1;
    chosen[0] = (struct timed){.call = call_reference, .measure = b->device ? measure_copy : NULL, .arg = b};
    for (size_t i = 0; i < b->jobs; i++)
        if (b->right[i])
            chosen[count++] =
                (struct timed){.call = call_job, .measure = b->device ? measure_job : NULL, .arg = &b->job[i]};
    memset(b->data.e, 0, b->data.layers->n * sizeof *b->data.e);
    sg_status status =
        time_in_turn(chosen, count, (size_t)sg_node_number(b->recipe, "samples", 20), b->options->stop, err);
    b->timed[0] = chosen[0];
    SG_ASSERT(count <= MOST_JOBS + 1);
    for (size_t i = 0, c = 1; i < b->jobs; i++)
        if (b->right[i])
            b->timed[i + 1] = chosen[c++];
    return status;
}

static sg_status run_case(struct bench *b, double density, struct sg_error *err) {
    char what[120];
    snprintf(what, sizeof what, "%s of %zu, %s, density %g, %d thread%s", b->data.layers->name, b->data.layers->n,
             b->distribution, density, b->threads, b->threads > 1 ? "s" : "");
    struct row_case c = case_of(b);
    c.density = density;
    if (earlier_take(b->results, &b->verified, b->options->earlier, &c, b->threads)) {
        b->done++;
        return SG_OK;
    }
    SG_TRACE(2, "case %zu of %zu: %s", b->done + 1, b->total, what);
    if (b->options->begin)
        b->options->begin(what, b->done++, b->total);
    sg_status status = data_set_density(&b->data, density, err);
    if (status == SG_OK && b->cuda)
        status = device_open(&b->device, &b->data, err);
    SG_DO(status, choose_jobs(b, err));
    SG_DO(status, verify_jobs(b, err));
    forget_expected(b);
    SG_DO(status, time_jobs(b, err));
    if (status == SG_OK)
        report(b);
    free_jobs(b);
    return status;
}

static sg_status run_size(struct bench *b, const struct layers *layers, struct sg_error *err) {
    const struct sg_node *kinds = list(b, "distributions"), *shares = list(b, "densities"),
                         *threads = list(b, "threads");
    sg_status status = data_open(&b->data, layers, err);
    for (size_t i = 0; status == SG_OK && i < kinds->count; i++) {
        b->distribution = kinds->child[i].string;
        draw_gradient(b->data.g, layers, b->distribution, 0);
        for (size_t j = 0; status == SG_OK && j < shares->count; j++)
            for (size_t t = 0; status == SG_OK && t < threads->count; t++) {
                b->threads = (int)threads->child[t].number;
                status = run_case(b, shares->child[j].number, err);
            }
    }
    data_close(&b->data);
    return status;
}

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
                       "back-ends: cuda is compared with a copy on the device, the others with "
                       "e += g on the CPU: give cuda a recipe of its own");
    if (!device_available(why, sizeof why))
        return sg_fail(err, SG_ERR_UNSUPPORTED, "back-end cuda: %s", why);
    b->cuda = sg_cuda_kernels();
    return SG_OK;
}

static void warn_missing(const struct bench *b) {
    const struct sg_node *tables = list(b, "back-ends"), *ops = list(b, "operations");
    bool plain = false;
    for (size_t t = 0; t < tables->count; t++)
        plain = plain || strcmp(tables->child[t].string, "c") == 0;
    for (size_t o = 0; b->options->warn && !b->cuda && !plain && o < ops->count; o++) {
        const struct operation *operation = find_operation(ops->child[o].string);
        char text[120];
        snprintf(text, sizeof text, "%s is timed beside the back-end c alone: left out (add c to back-ends)",
                 ops->child[o].string);
        if (operation && of_c_alone(operation))
            b->options->warn(text);
    }
    for (size_t t = 0; b->options->warn && !b->cuda && t < tables->count; t++) {
        char text[80];
        snprintf(text, sizeof text, "this machine has no %s: left out", tables->child[t].string);
        if (!sg_kernels_cpu(tables->child[t].string))
            b->options->warn(text);
    }
}

sg_status sg_bench_run(cJSON **results, bool *verified, const struct sg_recipe *recipe,
                       const struct sg_bench_options *options, struct sg_error *err) {
    const struct sg_node *root = &recipe->root, *sizes = sg_node_get(root, "sizes");
    struct bench *b = calloc(1, sizeof *b);
    cJSON *rows = cJSON_CreateArray();
    size_t cases = 0;
    sg_status status = b && rows ? SG_OK : sg_fail_memory(err, "the benchmark");
    if (status == SG_OK) {
        b->recipe = root;
        b->options = options;
        b->results = rows;
        b->verified = true;
        if (list(b, "operations")->count > 0)
            b->total = sizes->count * list(b, "distributions")->count * list(b, "densities")->count *
                       list(b, "threads")->count;
        cases = b->total;
        b->total += compressors_total(root);
        status = find_cuda(b, err);
        if (status == SG_OK)
            warn_missing(b);
    }
    for (size_t i = 0; status == SG_OK && cases > 0 && i < sizes->count; i++) {
        struct layers layers = {0};
        status = layers_open(&layers, &sizes->child[i], err);
        SG_DO(status, run_size(b, &layers, err));
        layers_close(&layers);
    }
    SG_DO(status, compressors_run(rows, &b->verified, root, options, cases, b->total, err));
    if (status == SG_OK || status == SG_ERR_INTERRUPTED) {
        *results = rows;
        *verified = b->verified;
        rows = NULL;
    }
    cJSON_Delete(rows);
    free(b);
    return status;
}

/* bench_report.c: makes the rows of the results, which all have the same keys (results/BENCHMARKS.md). */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "bench_private.h"

/* ---- the case ---- */

static double cpu_cache_bytes(void) {
    const long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE), l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return l3 > 0 ? (double)l3 : l2 > 0 ? (double)l2 : NAN;
}

/* True if g and e stay in the last-level cache from call to call. */
static const char *cache_state(const struct bench_case *c, const struct layers *layers) {
    const double cache = c->device ? gpu_times()->cache_bytes(c->device) : cpu_cache_bytes(),
                 bytes = 8.0 * (double)layers->n;
    return isnan(cache) ? "unknown" : bytes <= cache / 2 ? "warm" : bytes >= 4 * cache ? "cold" : "partly";
}

static const char *back_end_of(const struct job *job) {
    return !job ? "reference" : job->operation->rival ? "c++" : job->operation->wire ? "c" : job->kernels->name;
}

/* ---- times ---- */

static cJSON *time_json(const struct timing *t) {
    return SG_OBJECT(SG_NUMBER("median", t->median), SG_NUMBER("p10", t->p10), SG_NUMBER("p90", t->p90),
                     SG_NUMBER("min", t->min), SG_VALUE("samples", sg_json_numbers(t->sample, t->samples)),
                     SG_NUMBER("calls_per_sample", t->calls), SG_NUMBER("outliers", t->outliers));
}

/* The timing of an operation in this case, on the same back-end unless `kernels` is NULL; NULL = it was not timed. */
static const struct timing *timing_of(const struct group *g, const char *operation, const struct sg_kernels *kernels) {
    for (size_t i = 0; operation && i < g->jobs; i++)
        if (strcmp(g->job[i].operation->name, operation) == 0 && (!kernels || g->job[i].kernels == kernels))
            return g->timed[i + 1].timing.sample ? &g->timed[i + 1].timing : NULL;
    return NULL;
}

/* Sets how many times as long as another operation this one takes; null where one of the two was not timed. */
static void set_times(cJSON *row, const char *key, const char *key_min, const struct timing *t,
                      const struct timing *other) {
    const bool both = t->sample && other;
    sg_json_set_number(row, key, both ? t->median / other->median : NAN);
    sg_json_set_number(row, key_min, both ? t->min / other->min : NAN);
}

/* One of the job's counts for a step; NaN if no step was timed. */
static double per_step(const struct group *g, const struct job *job, double count) {
    return g->timed[1 + (job - g->job)].timing.sample ? count / job->counts.steps : (double)NAN;
}

static void add_times(cJSON *row, const struct group *g, const struct job *job, const char *missing) {
    const struct timing *add = &g->timed[0].timing, *t = job ? &g->timed[1 + (job - g->job)].timing : add;
    const bool timed = t->sample != NULL, steps = job && job->operation->steps;
    const size_t n = (job ? job->data : g->of->data)->layers->n;
    const double add_bytes = 12.0 * (double)n;
    const double bytes = job ? job->operation->bytes(job) : add_bytes;
    const double sent = !job ? NAN : steps ? per_step(g, job, job->counts.entries) : (double)job->sent;
    const double ratio = timed ? bytes / t->median / (add_bytes / add->median) : NAN;
    const double ratio_min = timed ? bytes / t->min / (add_bytes / add->min) : NAN;
    SG_SET(row, SG_NUMBER("k", sent), SG_VALUE("time_s", timed ? time_json(t) : NULL), SG_NUMBER("bytes", bytes),
           SG_NUMBER("bytes_per_s", timed ? bytes / t->median : NAN), SG_NUMBER("ratio_to_add", ratio),
           SG_NUMBER("ratio_to_add_min", ratio_min), SG_NUMBER("times_add", timed ? t->median / add->median : NAN));
    const bool kernel = job && job->kernels && !steps;
    set_times(row, "times_threshold", "times_threshold_min", t,
              kernel ? timing_of(g, operations[0].name, job->kernels) : NULL);
    set_times(row, "times_torch", "times_torch_min", t, job ? timing_of(g, job->operation->torch, NULL) : NULL);
    sg_json_set(row, "verified", missing ? NULL : cJSON_CreateBool(!job || g->right[job - g->job]));
}

/* ---- compressors ---- */

/* True if the compressor is given a number of entries to send. */
static bool has_target(const struct sg_compressor_ops *ops) {
    for (size_t i = 0; i < ops->n_params; i++)
        if (strncmp(ops->params[i].name, "density", 7) == 0)
            return true;
    return ops->select && !(ops->traits & SG_TRAIT_DENSE);
}

static double wanted_of(const struct data *d) {
    size_t wanted = 0;
    for (size_t l = 0; l < d->layers->count; l++)
        wanted += d->k[l];
    return (double)wanted;
}

/* Sets the members that only steps of compressors have; job NULL = the row is of something else. */
static void add_steps(cJSON *row, struct group *g, const struct job *job) {
    const struct step_counts c = job ? job->counts : (struct step_counts){0};
    const struct timed *timed = &g->timed[1];
    const bool is_timed = job && timed->timing.sample;
    const double target = job && has_target(job->compressor) ? 1 : NAN;
    const double times = is_timed ? timed->timing.median / g->timed[0].timing.median : (double)NAN;
    if (job && strcmp(job->compressor->name, "topk") == 0)
        g->topk = times;
    SG_SET(row, SG_TEXT("compressor", job ? job->compressor->name : NULL),
           SG_NUMBER("workers", job ? (double)job->workers : NAN),
           SG_NUMBER("decode_s", is_timed ? timed->part.median : NAN),
           SG_NUMBER("bits_per_element", job ? per_step(g, job, c.bits) / (double)job->data->layers->n : NAN),
           SG_NUMBER("times_topk", job && job->data == g->of->data ? times / g->topk : NAN),
           SG_NUMBER("of_target", job ? target * per_step(g, job, c.entries) / wanted_of(job->data) : NAN),
           SG_NUMBER("layer_factor", job ? target * exp(per_step(g, job, c.off)) : NAN));
}

/* ---- rows ---- */

bool is_reference(const cJSON *row) {
    return strcmp(sg_json_string(row, "back_end", ""), "reference") == 0;
}

static void warn_outliers(const struct group *g, const struct job *job) {
    const struct timing *t = &g->timed[1 + (job - g->job)].timing;
    char text[160];
    if (!g->of->options->warn || !t->sample || t->outliers <= t->samples / 10)
        return;
    snprintf(text, sizeof text,
             "%s, %s, %s: %zu of %zu samples are outliers: close other programs, or ask for more samples",
             job->operation->name, job->operation->wire ? job->encoding : back_end_of(job), job->data->layers->name,
             t->outliers, t->samples);
    g->of->options->warn(text);
}

/* job NULL = the row of the reference; missing: why the job did not run, NULL = it did. */
static void add_row(cJSON *rows, struct group *g, const struct job *job, const char *missing) {
    const struct bench_case *of = g->of;
    const struct layers *layers = (job ? job->data : of->data)->layers;
    const bool steps = job && job->operation->steps, wire = job && job->operation->wire;
    const double message_bytes = steps ? per_step(g, job, job->counts.bytes) : wire ? (double)job->message_bytes : NAN;
    cJSON *row = SG_OBJECT(
        SG_TEXT("operation", job ? job->operation->name : "add"), SG_TEXT("back_end", back_end_of(job)),
        SG_NUMBER("threads", job ? job->exec.threads : of->threads), SG_TEXT("size", layers->name),
        SG_NUMBER("n", layers->n), SG_NUMBER("layers", layers->count), SG_TEXT("distribution", of->distribution),
        SG_NUMBER("density", of->data->density), SG_TEXT("cache", cache_state(of, layers)));
    add_times(row, g, job, missing);
    SG_SET(row, SG_TEXT("encoding", wire ? job->encoding : NULL),
           SG_TEXT("values", wire ? job->format.code->name : NULL), SG_NUMBER("message_bytes", message_bytes),
           SG_NUMBER("bits_per_index", wire ? 8.0 * (double)job->index_bytes / (double)job->sent : NAN));
    add_steps(row, g, steps ? job : NULL);
    sg_json_set_string(row, "reason", missing);
    sg_json_push(rows, row);
}

void group_report(struct group *g, const char *failure, cJSON *rows) {
    const bool steps = times_steps(g);
    if (!steps)
        add_row(rows, g, NULL, NULL);
    for (size_t i = 0; i < g->jobs; i++) {
        add_row(rows, g, &g->job[i], steps ? failure : rival_missing(g->job[i].operation));
        if (!steps)
            warn_outliers(g, &g->job[i]);
    }
}

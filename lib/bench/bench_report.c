/* bench_report.c: makes the rows of the results, which all have the same keys. */
#include <math.h>
#include <unistd.h>

#include "bench_private.h"

double cpu_cache_bytes(void) {
    const long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE), l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return l3 > 0 ? (double)l3 : l2 > 0 ? (double)l2 : NAN;
}

/* Do g and e stay in the last cache from call to call? */
static const char *cache_state(const struct row_case *c) {
    const double bytes = 8.0 * (double)c->layers->n;
    return isnan(c->cache_bytes)         ? "unknown"
           : bytes <= c->cache_bytes / 2 ? "warm"
           : bytes >= 4 * c->cache_bytes ? "cold"
                                         : "partly";
}

cJSON *row_begin(const struct row_case *c, const char *operation, const char *back_end, int threads) {
    cJSON *out = cJSON_CreateObject();
    sg_json_set_string(out, "operation", operation);
    sg_json_set_string(out, "back_end", back_end);
    sg_json_set_number(out, "threads", threads);
    sg_json_set_string(out, "size", c->layers->name);
    sg_json_set_number(out, "n", (double)c->layers->n);
    sg_json_set_number(out, "layers", (double)c->layers->count);
    sg_json_set_string(out, "distribution", c->distribution);
    sg_json_set_number(out, "density", c->density);
    sg_json_set_string(out, "cache", cache_state(c));
    return out;
}

static cJSON *time_json(const struct timing *t) {
    cJSON *out = cJSON_CreateObject();
    sg_json_set_number(out, "median", t->median);
    sg_json_set_number(out, "p10", t->p10);
    sg_json_set_number(out, "p90", t->p90);
    sg_json_set_number(out, "min", t->min);
    sg_json_set(out, "samples", sg_json_numbers(t->sample, t->samples));
    sg_json_set_number(out, "calls_per_sample", (double)t->calls);
    sg_json_set_number(out, "outliers", (double)t->outliers);
    return out;
}

/* NaN where one of the two was not timed. */
static double of_median(const struct timing *t, const struct timing *other) {
    return t->sample && other ? t->median / other->median : NAN;
}

static double of_min(const struct timing *t, const struct timing *other) {
    return t->sample && other ? t->min / other->min : NAN;
}

void row_times(cJSON *out, const struct row_case *c, const struct row_times *x) {
    const struct timing *t = x->own, *add = x->add;
    const bool timed = t->sample != NULL;
    sg_json_set_number(out, "k", x->k);
    sg_json_set(out, "time_s", timed ? time_json(t) : NULL);
    sg_json_set_number(out, "bytes", x->bytes);
    sg_json_set_number(out, "bytes_per_s", timed ? x->bytes / t->median : NAN);
    const double ratio = timed ? x->bytes / t->median / (x->add_bytes / add->median) : NAN;
    const double ratio_min = timed ? x->bytes / t->min / (x->add_bytes / add->min) : NAN;
    sg_json_set_number(out, "ratio_to_add", c->on_device ? NAN : ratio);
    sg_json_set_number(out, "ratio_to_add_min", c->on_device ? NAN : ratio_min);
    sg_json_set_number(out, "ratio_to_copy", c->on_device ? ratio : NAN);
    sg_json_set_number(out, "ratio_to_copy_min", c->on_device ? ratio_min : NAN);
    sg_json_set_number(out, "times_add", c->on_device ? (double)NAN : of_median(t, add));
    sg_json_set_number(out, "times_threshold", of_median(t, x->threshold));
    sg_json_set_number(out, "times_threshold_min", of_min(t, x->threshold));
    sg_json_set_number(out, "times_torch", of_median(t, x->torch));
    sg_json_set_number(out, "times_torch_min", of_min(t, x->torch));
    sg_json_set(out, "verified", x->missing ? NULL : cJSON_CreateBool(x->right));
}

void row_end(cJSON *out, const struct job *job, const struct row_compressor *compressor, const char *missing) {
    static const struct row_compressor none = {NULL, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    const struct row_compressor *c = compressor ? compressor : &none;
    const bool wire = job && job->operation->wire;
    sg_json_set_string(out, "encoding", wire ? job->encoding : NULL);
    sg_json_set_string(out, "values", !wire ? NULL : job->format.code->name);
    sg_json_set_number(out, "message_bytes", wire ? (double)job->message_bytes : c->message_bytes);
    sg_json_set_number(out, "bits_per_index", wire ? 8.0 * (double)job->index_bytes / (double)job->sent : NAN);
    sg_json_set_string(out, "compressor", c->name);
    sg_json_set_number(out, "workers", c->workers);
    sg_json_set_number(out, "decode_s", c->decode_s);
    sg_json_set_number(out, "bits_per_element", c->bits_per_element);
    sg_json_set_number(out, "times_topk", c->times_topk);
    sg_json_set_number(out, "of_target", c->of_target);
    sg_json_set_number(out, "layer_factor", c->layer_factor);
    sg_json_set_string(out, "reason", missing);
}

/* train_segments.c: the segments of a run. A segment is the part that one process ran, from the start or a checkpoint
 * to the next stop. Each may run on another machine, so the run records the machine of every segment. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "sg_clock.h"
#include "sg_json.h"
#include "sg_text.h"
#include "train_private.h"

/* This process's segment so far. "processor" computes the gradients: the GPU, or the CPU's model. */
static cJSON *present_segment(const struct train *t) {
    cJSON *host = train_host_json(t);
    cJSON *out = SG_OBJECT(SG_NUMBER("from_step", (double)t->first_step), SG_NUMBER("to_step", (double)t->step),
                           SG_TEXT("started_at", t->started_at), SG_NUMBER("elapsed_s", sg_clock_s() - t->loop_s),
                           SG_TEXT("host", sg_json_string(host, "name", NULL)), SG_TEXT("device", t->device.name),
                           SG_TEXT("processor", sg_json_string(host, t->device.gpu ? "gpu" : "cpu", NULL)),
                           SG_VALUE("cuda", train_cuda_json(t)), SG_TEXT("kernels", t->kernels->name),
                           SG_NUMBER("ranks", sg_comm_size(t->comm)), SG_NUMBER("threads", t->threads));
    cJSON_Delete(host);
    return out;
}

cJSON *train_segments_json(const struct train *t) {
    cJSON *out = t->segments ? sg_json_copy(t->segments) : cJSON_CreateArray();
    sg_json_push(out, present_segment(t));
    return out;
}

static bool alike(const cJSON *a, const cJSON *b, const char *key) {
    return strcmp(sg_json_string(a, key, ""), sg_json_string(b, key, "")) == 0;
}

/* The CPU's kernels give the same bits on every CPU. A GPU's libraries and libtorch may sum in another order
 * elsewhere. */
static void tell_change(const struct train *t) {
    cJSON *then = cJSON_GetArrayItem(t->segments, cJSON_GetArraySize(t->segments) - 1), *now = present_segment(t);
    cJSON *facts = sg_task_describe(t->task);
    const char *from = sg_json_string(then, "processor", "?"), *to = sg_json_string(now, "processor", "?");
    const bool gpu = t->device.gpu || strncmp(sg_json_string(then, "device", ""), "cuda", 4) == 0;
    const bool same = alike(then, now, "processor") && alike(then, now, "cuda");
    if (then && !same && (gpu || sg_json_string(facts, "libtorch", NULL)))
        sg_notify(t->options->notice,
                  "the run comes from %.100s and goes on on %.100s after step %llu: its last digits may be those of "
                  "neither. The result names both",
                  from, to, (unsigned long long)t->step);
    cJSON_Delete(facts);
    cJSON_Delete(now);
}

sg_status train_segments_take(struct train *t, const char *text, size_t length, struct sg_error *err) {
    sg_status status = sg_json_parse(&t->segments, text, length, t->options->checkpoint, err);
    t->first_step = t->step;
    if (status == SG_OK && cJSON_IsArray(t->segments))
        tell_change(t);
    return status;
}

int train_stop_asked(const struct train *t) {
    const int signal_number = t->options->stop ? t->options->stop() : 0;
    const double until_s = t->options->stop_at_s;
    if (signal_number || until_s == 0)
        return signal_number;
    /* The rest of this step and the next one take at most twice as long as the longest step. */
    return sg_clock_s() + 2 * t->longest_step_s + t->save_s >= until_s ? TRAIN_TIME_UP : 0;
}

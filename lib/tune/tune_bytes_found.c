/* tune_bytes_found.c: what --match-bytes keeps of its searches: values with comments, evidence, and what failed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tune_bytes.h"

#define ACTION "sparsetune --match-bytes: "

bool bytes_hits(const struct search *s, const struct goal *goal, double bytes) {
    return fabs(bytes / goal->target - 1) <= s->tolerance;
}

cJSON *bytes_json(const struct search *s, const char *failed) {
    cJSON *out = cJSON_CreateObject(), *targets = cJSON_CreateArray();
    for (size_t i = 0; !failed && i < s->n; i++) {
        const struct goal *goal = &s->goal[i];
        cJSON *entry = cJSON_CreateObject();
        sg_json_set_number(entry, "budget", s->budget[i]);
        sg_json_set_number(entry, "value", goal->value);
        sg_json_set_number(entry, "bytes", goal->bytes * s->length.steps);
        sg_json_set_number(entry, "difference", goal->bytes / goal->target - 1);
        sg_json_set_bool(entry, "within", bytes_hits(s, goal, goal->bytes));
        sg_json_push(targets, entry);
    }
    sg_json_set_string(out, "method", s->name);
    sg_json_set_string(out, "key", s->key);
    sg_json_set(out, "targets", targets);
    sg_json_set_string(out, "failed", failed);
    sg_json_set_number(out, "run_steps", s->length.steps);
    sg_json_set_number(out, "pilot_steps", s->pilot_steps);
    sg_json_set(out, "trials", s->trials);
    return out;
}

static void say_nearest(const struct search *s, size_t i) {
    const struct goal *goal = &s->goal[i];
    char text[256];
    snprintf(text, sizeof text, "%s: no %s comes within %g %% of the budget %g; %.10g is the nearest, %+.1f %%",
             s->name, s->key, 100 * s->tolerance, s->budget[i], goal->value, 100 * (goal->bytes / goal->target - 1));
    if (s->t->say)
        s->t->say(text);
}

sg_status bytes_keep(struct tune_found *f, const struct search *s, struct sg_error *err) {
    f->name = s->name;
    f->key = s->key;
    f->value = calloc(s->n, sizeof *f->value);
    f->how = calloc(s->n, sizeof *f->how);
    if (!f->value || !f->how)
        return sg_fail_memory(err, "the result");
    for (size_t i = 0; i < s->n; i++) {
        const struct goal *goal = &s->goal[i];
        size_t at = 0;
        if (!bytes_hits(s, goal, goal->bytes))
            say_nearest(s, i);
        while (at < f->n && f->value[at] != goal->value)
            at++;
        if (at < f->n) /* a recipe has each value once */
            continue;
        f->value[f->n++] = goal->value;
        snprintf(f->how[at], sizeof f->how[at],
                 ACTION "%s %.10g sends %.4g MB, %+.1f %% of the budget %g (%zu seed%s)%s", s->key, goal->value,
                 goal->bytes * s->length.steps / 1e6, 100 * (goal->bytes / goal->target - 1), s->budget[i], s->seeds,
                 s->seeds == 1 ? "" : "s", bytes_hits(s, goal, goal->bytes) ? "" : ": the nearest");
    }
    return SG_OK;
}

sg_status bytes_keep_failed(struct tune_found *f, const struct search *s, const struct sg_node *method,
                            const char *reason, struct sg_error *err) {
    char text[TUNE_LAMBDA_CHARS];
    *f = (struct tune_found){.name = s->name, .key = s->key, .failed = true};
    f->value = calloc(1, sizeof *f->value);
    f->how = calloc(1, sizeof *f->how);
    if (!f->value || !f->how)
        return sg_fail_memory(err, "the result");
    f->n = sg_node_get(method, s->key)->kind == SG_NODE_STRING;
    f->value[0] = tune_round(s->start, text);
    snprintf(f->how[0], sizeof f->how[0], ACTION "no %s was found: %.180s", s->key, reason);
    return SG_OK;
}

sg_status bytes_judge(struct sg_tune *t, const struct tune_found *found, size_t n, struct sg_error *err) {
    size_t failed = 0, first = n;
    for (size_t i = 0; i < n; i++) {
        failed += found[i].failed;
        first = found[i].failed && first == n ? i : first;
    }
    if (n == 0)
        return sg_fail(
            err, SG_ERR_ARGUMENT,
            "%s: no method has a number to find, as the density of topk, the lambda of hard-threshold or the "
            "levels of qsgd, to start from",
            t->recipe->path);
    if (failed == n)
        return sg_fail(err, SG_ERR_NONFINITE, "%s: %s", found[0].name, found[0].how[0] + strlen(ACTION));
    if (failed > 0)
        snprintf(t->failed, sizeof t->failed, "%s: %s (the other %zu methods are in the recipe%s)", found[first].name,
                 found[first].how[0] + strlen(ACTION), n - 1, failed > 1 ? ", the comments of which name more" : "");
    return SG_OK;
}

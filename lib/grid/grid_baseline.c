/* grid_baseline.c: reads the rows of a result's document: what each sent and how good it became, beside the row without
 * compression that has its other settings, as learning rate, shards, workers and steps. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "grid_summary.h"
#include "sg_stats.h"
#include "sg_text.h"

/* ---- the settings of a row that are not its compression ---- */

/* The object of this text in a list. */
static const cJSON *find(const cJSON *list, const char *key, const char *text) {
    const cJSON *item;
    cJSON_ArrayForEach(item, list) if (strcmp(sg_json_string(item, key, ""), text) == 0) return item;
    return NULL;
}

static const cJSON *method_of(const struct summary *s, const struct summary_row *r) {
    return find(sg_json_get(s->document, "recipe.resolved.methods"), "name", r->label->method);
}

static const cJSON *swept(const struct summary_row *r, const char *key) {
    return sg_json_get(sg_json_get(r->label->json, "swept"), key);
}

static bool is_given(const cJSON *value) {
    return value && !cJSON_IsNull(value);
}

/* The row's value of a key that methods may override. */
static const cJSON *setting(const struct summary *s, const struct summary_row *r, const char *key, const char *common) {
    const cJSON *own = sg_json_get(method_of(s, r), key), *drawn = swept(r, key);
    if (is_given(own) && !cJSON_IsArray(own))
        return own;
    return drawn ? drawn : common && !is_given(own) ? sg_json_get(s->document, common) : NULL;
}

static bool same_setting(const struct summary *s, const struct summary_row *a, const struct summary_row *b,
                         const char *key, const char *common) {
    const cJSON *one = setting(s, a, key, common), *other = setting(s, b, key, common);
    return is_given(one) == is_given(other) && (!is_given(one) || cJSON_Compare(one, other, true));
}

/* True if the row `b` without compression differs from `a` in compression alone. */
static bool same_settings(const struct summary *s, const struct summary_row *a, const struct summary_row *b) {
    static const char *const common[][2] = {{"learning_rate", "recipe.resolved.optimizer.learning_rate"},
                                            {"epochs", "recipe.resolved.epochs"},
                                            {"steps", "recipe.resolved.steps"},
                                            {"shards", NULL},
                                            {"sharding", NULL},
                                            {"optimizer", NULL}};
    const cJSON *key;
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        if (!same_setting(s, a, b, common[i][0], common[i][1]))
            return false;
    cJSON_ArrayForEach(key, sg_json_get(b->label->json, "swept")) { /* lists of the recipe, which all rows have */
        const cJSON *own = swept(a, key->string);
        if (own ? !cJSON_Compare(own, key, true) : strcmp(key->string, "learning_rate") != 0)
            return false;
    }
    return true;
}

/* True if the row trains without compression, so that others can be compared with it. */
static bool is_uncompressed(const struct summary *s, const struct summary_row *r) {
    static const char *const also[] = {"error_feedback", "controller", "values", "message", "k_from"};
    const cJSON *method = method_of(s, r);
    bool plain = r->label->compressor && strcmp(r->label->compressor, "none") == 0;
    for (size_t i = 0; i < sizeof also / sizeof *also; i++)
        plain = plain && !is_given(sg_json_get(method, also[i]));
    return r->label->baseline || plain;
}

static void find_baselines(struct summary *s) {
    for (size_t i = 0; i < s->n; i++)
        if (is_uncompressed(s, &s->row[i]))
            s->row[i].base = &s->row[i];
    for (int declared = 1; declared >= 0; declared--) /* the recipe's baselines go first */
        for (size_t i = 0; i < s->n; i++)
            for (size_t b = 0; !s->row[i].base && b < s->n; b++)
                if (s->row[b].base == &s->row[b] && s->row[b].label->baseline == declared &&
                    same_settings(s, &s->row[i], &s->row[b]))
                    s->row[i].base = &s->row[b];
}

/* ---- cells ---- */

static bool is_chosen(const cJSON *cell) {
    return sg_json_bool(cell, "won", true);
}

/* The steps of all of its runs; NaN if they differ. */
static double steps_of(const struct summary_row *r) {
    const cJSON *cell;
    double steps = NAN;
    bool first = true;
    cJSON_ArrayForEach(cell, sg_json_get(r->label->json, "cells")) {
        const double own = sg_json_number(cell, "steps", NAN);
        if (!is_chosen(cell))
            continue;
        steps = first || own == steps ? own : NAN;
        first = false;
    }
    return steps;
}

bool summary_other_steps(const struct summary_row *a, const struct summary_row *b) {
    return a->steps < b->steps || a->steps > b->steps; /* false for a NaN */
}

/* False if the run of the seed diverged or failed. */
static bool ended_well(const struct summary_row *r, const char *seed) {
    const cJSON *cell;
    cJSON_ArrayForEach(cell, sg_json_get(r->label->json, "cells")) {
        if (is_chosen(cell) && strcmp(sg_json_string(cell, "seed", ""), seed) == 0)
            return strcmp(sg_json_string(cell, "status", "ok"), "ok") == 0;
    }
    return true;
}

/* ---- traffic ---- */

/* The mean over the seeds of a final column; NaN unless every seed has a number. */
static double final_mean(const struct summary_row *r, const char *name) {
    const struct sg_frame_column *c = sg_frame_column(r->label, name);
    return !c ? NAN : c->value ? sg_stats_mean(c->value, c->n_values) : c->final[SG_MEAN];
}

static void find_traffic(struct summary *s) {
    static const char *const column[] = {"bytes_sent", "bits", "bits_values"};
    for (size_t i = 0; i < s->n && !s->column; i++)
        for (size_t c = 0; s->row[i].label->baseline && !s->column && c < sizeof column / sizeof *column; c++) {
            s->one = s->one ? s->one : &s->row[i];
            if (final_mean(&s->row[i], column[c]) > 0) {
                s->column = column[c];
                s->one = &s->row[i];
            }
        }
    for (size_t i = 0; i < s->n; i++) {
        struct summary_row *r = &s->row[i];
        r->steps = steps_of(r);
        r->sent = s->column ? final_mean(r, s->column) : NAN;
    }
    for (size_t i = 0; i < s->n; i++) {
        struct summary_row *r = &s->row[i];
        const struct summary_row *base = r->base ? r->base : s->one;
        r->times_less = base && base != r && r->sent > 0 && !summary_other_steps(r, base) ? base->sent / r->sent : NAN;
    }
}

/* ---- quality ---- */

/* True if `at` selects a value at the end of the run or the best value, and not an intermediate value. */
static bool is_ending(const cJSON *at, bool higher) {
    if (!is_given(at) || sg_json_bool(at, "final", false))
        return true;
    return sg_json_get(at, "tail_median") || sg_json_get(at, "tail_mean") ||
           sg_json_bool(at, higher ? "max" : "min", false);
}

/* Chooses the metric of the first claim about the final quality of a model; else the y of the first plot that shows
 * it. */
static void choose_quality(struct summary *s) {
    static const char *const where[][3] = {{"claims", "metric", "at"}, {"plots", "y", "y_at"}};
    const struct sg_task_kind *kind = sg_task_kind_find(sg_json_string(s->document, "recipe.resolved.task.kind", ""));
    for (size_t w = 0; w < 2; w++) {
        const cJSON *item;
        size_t i = 0;
        cJSON_ArrayForEach(item, sg_json_get(s->document, where[w][0])) {
            const struct sg_metric *metric = sg_task_metric(kind, sg_json_string(item, where[w][1], ""));
            const cJSON *at = sg_json_get(item, where[w][2]);
            if (metric && !isnan(sg_quantity_kinds[metric->quantity].margin) && is_ending(at, metric->higher)) {
                s->metric = metric;
                s->at = is_given(at) ? at : NULL;
                s->list = where[w][0];
                s->item = i;
                return;
            }
            i++;
        }
    }
}

static bool same_at(const struct summary *s, const cJSON *at) {
    static const char last[] = "{\"final\":true}";
    cJSON *final = cJSON_Parse(last);
    const bool same = cJSON_Compare(s->at ? s->at : final, is_given(at) ? at : final, true);
    cJSON_Delete(final);
    return same;
}

/* Copies numbers of an array of a row's seeds, and says whether there were any. */
static bool copy_values(struct summary_row *r, const cJSON *values) {
    const cJSON *item;
    size_t i = 0;
    bool any = false;
    if ((size_t)cJSON_GetArraySize(values) != r->label->n_seeds)
        return false;
    cJSON_ArrayForEach(item, values) {
        r->value[i] = sg_json_number(item, "", NAN);
        any = any || !isnan(r->value[i]);
        i++;
    }
    return any;
}

/* What a summary of an earlier version of the document has of the row; NULL = nothing. */
static const cJSON *earlier(const struct summary *s, const struct summary_row *r) {
    const cJSON *found = sg_json_get(s->document, "summary");
    if (strcmp(sg_json_string(found, "metric", ""), s->metric->name) != 0 || !same_at(s, sg_json_get(found, "at")))
        return NULL;
    return strcmp(sg_json_string(found, "baseline", ""), r->label->label) == 0
               ? found
               : find(sg_json_get(found, "methods"), "label", r->label->label);
}

/* Takes the values of seeds from a claim that has them, of its value or of its bound. */
static bool copy_claim(const struct summary *s, struct summary_row *r, const cJSON *claim) {
    const cJSON *bound = sg_json_get(claim, "bound"), *seed;
    const double times = sg_json_number(bound, "times", 1), plus = sg_json_number(bound, "plus", 0);
    const bool value = strcmp(sg_json_string(claim, "of", ""), r->label->label) == 0 &&
                       strcmp(sg_json_string(claim, "metric", ""), s->metric->name) == 0 &&
                       same_at(s, sg_json_get(claim, "at"));
    const bool other = strcmp(sg_json_string(bound, "of", ""), r->label->label) == 0 &&
                       strcmp(sg_json_string(bound, "metric", ""), s->metric->name) == 0 &&
                       same_at(s, sg_json_get(bound, "at")) && times != 0;
    bool any = false;
    for (size_t i = 0; (value || other) && i < r->label->n_seeds; i++) {
        seed = find(sg_json_get(claim, "seeds"), "seed", sg_frame_seed_name(r->label, i));
        const double limit = (sg_json_number(seed, "bound", NAN) - plus) / times;
        r->value[i] = value ? sg_json_number(seed, "value", NAN) : sg_json_number(seed, "other", limit);
        any = any || !isnan(r->value[i]);
    }
    return any;
}

/* The values of a document without its runs: of an earlier summary, the final ones, those of points, of claims. */
static void read_document(const struct summary *s, struct summary_row *r) {
    const cJSON *item, *before = earlier(s, r);
    char final[96];
    snprintf(final, sizeof final, "final.%s.values", s->metric->name);
    if (copy_values(r, sg_json_get(before, "values")) ||
        (same_at(s, NULL) && copy_values(r, sg_json_get(r->label->json, final))))
        return;
    cJSON_ArrayForEach(item, sg_json_get(s->document, "plots")) {
        const cJSON *point = find(sg_json_get(item, "points"), "label", r->label->label);
        for (int x = 0; x < 2; x++)
            if (strcmp(sg_json_string(item, x ? "x" : "y", ""), s->metric->name) == 0 &&
                same_at(s, sg_json_get(item, x ? "x_at" : "y_at")) &&
                copy_values(r, sg_json_get(point, x ? "x.values" : "y.values")))
                return;
    }
    cJSON_ArrayForEach(item, sg_json_get(s->document, "claims")) if (copy_claim(s, r, item)) return;
    r->mean = sg_json_number(before, "value", NAN);
    r->std = sg_json_number(before, "std", NAN);
}

static void read_runs(const struct summary *s, struct summary_row *r, size_t l) {
    char why[SG_WHY_CHARS];
    const struct sg_node *list = sg_node_get(&s->runs->recipe->root, s->list);
    const bool plots = strcmp(s->list, "plots") == 0;
    const struct sg_node *at = sg_node_get(&list->child[s->item], plots ? "y-at" : "at");
    const struct sg_frame_label *label = &s->runs->frame.label[l];
    for (size_t i = 0; i < label->n_seeds; i++)
        r->value[i] = sg_frame_value(&label->seed[i], s->metric->name, at && !sg_node_absent(at) ? at : NULL, why);
}

static bool read_quality(struct summary *s, size_t l) {
    struct summary_row *r = &s->row[l];
    const size_t n = r->label->n_seeds;
    r->value = malloc((n + 1) * sizeof *r->value);
    for (size_t i = 0; r->value && i < n; i++)
        r->value[i] = NAN;
    r->mean = r->std = NAN;
    if (r->value && s->metric && s->runs)
        read_runs(s, r, l);
    else if (r->value && s->metric)
        read_document(s, r);
    if (r->value && isnan(r->mean)) {
        for (size_t i = 0; i < n; i++)
            if (!ended_well(r, sg_frame_seed_name(r->label, i)))
                r->value[i] = NAN;
        r->mean = sg_stats_mean(r->value, n);
        r->std = sg_stats_stddev(r->value, n);
    }
    return r->value;
}

/* ---- comparison ---- */

double summary_loss(double *half, size_t *pairs, const struct summary *s, const struct summary_row *a,
                    const struct summary_row *b) {
    double *loss = malloc((a->label->n_seeds + 1) * sizeof *loss), mean = NAN;
    size_t n = 0;
    *half = NAN;
    for (size_t i = 0; loss && i < a->label->n_seeds; i++)
        for (size_t j = 0; j < b->label->n_seeds; j++)
            if (strcmp(sg_frame_seed_name(a->label, i), sg_frame_seed_name(b->label, j)) == 0)
                loss[n++] = sg_metric_loss(s->metric, a->value[i], b->value[j]);
    if (loss && n > 0)
        mean = sg_stats_mean(loss, n);
    if (loss && n > 1)
        *half = sg_stats_half_interval(loss, n);
    free(loss);
    *pairs = n;
    if (isnan(mean)) /* of single seeds nothing is known: then the means alone are compared */
        mean = sg_metric_loss(s->metric, a->mean, b->mean);
    return mean;
}

static void compare(const struct summary *s, struct summary_row *r) {
    const double margin = s->metric ? sg_quantity_kinds[s->metric->quantity].margin : NAN;
    r->loss = r->half = NAN;
    if (!s->metric || !r->base || r->base == r || isnan(r->mean) || isnan(r->base->mean))
        return;
    r->loss = summary_loss(&r->half, &r->pairs, s, r, r->base);
    if (!isnan(r->loss))
        r->verdict = r->loss + r->half <= margin  ? SUMMARY_REACHES
                     : r->loss - r->half > margin ? SUMMARY_LOSES
                                                  : SUMMARY_NOT_SHOWN; /* also where half is NaN */
}

bool summary_open(struct summary *out, cJSON *document, const struct grid_frame *runs) {
    struct sg_error unused;
    *out = (struct summary){.document = document, .runs = runs};
    if (sg_frame_read(&out->frame, sg_json_get(document, "results"), "the result", &unused) != SG_OK)
        return false;
    out->n = out->frame.n_labels;
    out->row = calloc(out->n + 1, sizeof *out->row);
    bool fine = out->row != NULL;
    for (size_t i = 0; fine && i < out->n; i++)
        out->row[i].label = &out->frame.label[i];
    if (fine) {
        choose_quality(out);
        find_baselines(out);
        find_traffic(out);
    }
    for (size_t i = 0; fine && i < out->n; i++)
        fine = read_quality(out, i);
    for (size_t i = 0; fine && i < out->n; i++)
        compare(out, &out->row[i]);
    if (!fine)
        summary_close(out);
    return fine;
}

void summary_close(struct summary *s) {
    for (size_t i = 0; s->row && i < s->n; i++)
        free(s->row[i].value);
    free(s->row);
    sg_frame_free(&s->frame);
    *s = (struct summary){0};
}

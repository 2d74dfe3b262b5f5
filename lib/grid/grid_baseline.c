/* grid_baseline.c: reads the rows of a result's document: what each sent and how good it became, beside the row without
 * compression that has its other settings, as learning rate, shards, workers and length. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "grid_summary.h"
#include "sg_memory.h"
#include "sg_stats.h"
#include "sg_text.h"

/* ---- the settings of a row that are not its compression ---- */

/* The recipe with all of its keys; NULL = it is not in the document. */
static const cJSON *recipe_of(const struct summary *s) {
    return s->document->recipe ? s->document->recipe->resolved : NULL;
}

static const cJSON *method_named(const cJSON *methods, const char *name) {
    const cJSON *item;
    cJSON_ArrayForEach(item, methods) {
        if (strcmp(sg_json_string(item, "name", ""), name) == 0)
            return item;
    }
    return NULL;
}

/* The row's method in the recipe. */
static const cJSON *method_of(const struct summary *s, const struct summary_row *r) {
    return method_named(sg_json_get(recipe_of(s), "methods"), r->label->method);
}

static bool is_given(const cJSON *value) {
    return value && !cJSON_IsNull(value);
}

/* The row's value of a key that methods may override; a run that is stretched by 1 is not stretched. */
static const cJSON *setting(const struct summary *s, const struct summary_row *r, const char *key, const char *common) {
    const cJSON *own = sg_json_get(method_of(s, r), key), *value = own;
    if (!is_given(own) || cJSON_IsArray(own))
        value = sg_json_get(r->label->swept, key);
    if (!value && common && !is_given(own))
        value = sg_json_get(recipe_of(s), common);
    return strcmp(key, "stretch") == 0 && sg_json_number(value, "", NAN) == 1 ? NULL : value;
}

static bool same_setting(const struct summary *s, const struct summary_row *a, const struct summary_row *b,
                         const char *key, const char *common) {
    const cJSON *one = setting(s, a, key, common), *other = setting(s, b, key, common);
    return is_given(one) == is_given(other) && (!is_given(one) || cJSON_Compare(one, other, true));
}

/* True if the row `b` without compression differs from `a` in compression alone. */
static bool same_settings(const struct summary *s, const struct summary_row *a, const struct summary_row *b) {
    static const char *const common[][2] = {{"learning_rate", "optimizer.learning_rate"},
                                            {"epochs", "epochs"},
                                            {"steps", "steps"},
                                            {"stretch", "stretch"},
                                            {"shards", NULL},
                                            {"sharding", NULL},
                                            {"optimizer", NULL}};
    const cJSON *key;
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        if (!same_setting(s, a, b, common[i][0], common[i][1]))
            return false;
    cJSON_ArrayForEach(key, b->label->swept) { /* lists of the recipe, which all rows have */
        const cJSON *own = sg_json_get(a->label->swept, key->string);
        const bool compared = strcmp(key->string, "learning_rate") == 0 || strcmp(key->string, "stretch") == 0;
        if (own ? !cJSON_Compare(own, key, true) : !compared)
            return false;
    }
    return true;
}

bool grid_is_uncompressed(const cJSON *methods, const char *name, const char *compressor, bool baseline) {
    static const char *const also[] = {"error_feedback", "controller", "values", "message", "k_from"};
    const cJSON *method = method_named(methods, name);
    bool plain = compressor && strcmp(compressor, "none") == 0;
    for (size_t i = 0; i < sizeof also / sizeof *also; i++)
        plain = plain && !is_given(sg_json_get(method, also[i]));
    return baseline || plain;
}

static void find_baselines(struct summary *s) {
    for (size_t i = 0; i < s->n; i++) {
        const struct sg_frame_label *label = s->row[i].label;
        if (grid_is_uncompressed(sg_json_get(recipe_of(s), "methods"), label->method, label->compressor,
                                 label->baseline))
            s->row[i].base = &s->row[i];
    }
    for (int declared = 1; declared >= 0; declared--) /* the recipe's baselines go first */
        for (size_t i = 0; i < s->n; i++)
            for (size_t b = 0; !s->row[i].base && b < s->n; b++)
                if (s->row[b].base == &s->row[b] && s->row[b].label->baseline == declared &&
                    same_settings(s, &s->row[i], &s->row[b]))
                    s->row[i].base = &s->row[b];
}

/* ---- cells ---- */

static bool is_chosen(const struct sg_document_cell *cell) {
    return cell->won != SG_FLAG_NO;
}

/* The steps of all of its runs; NaN if they differ. */
static double steps_of(const struct summary_row *r) {
    double steps = NAN;
    bool first = true;
    for (size_t i = 0; i < r->label->n_cells; i++) {
        const double own = r->label->cells[i].steps;
        if (!is_chosen(&r->label->cells[i]))
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
    for (size_t i = 0; i < r->label->n_cells; i++) {
        const struct sg_document_cell *cell = &r->label->cells[i];
        if (is_chosen(cell) && strcmp(sg_or(cell->seed, ""), seed) == 0)
            return strcmp(sg_or(cell->status, "ok"), "ok") == 0;
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

/* Takes the metric of an entry of a list for quality, if it is one and `at` is the end of a run. */
static bool take_quality(struct summary *s, const char *list, size_t item, const char *name, const cJSON *at) {
    const struct sg_metric *metric = sg_task_metric(sg_task_kind_find(sg_document_task(s->document)), sg_or(name, ""));
    if (!metric || isnan(sg_quantity_kinds[metric->quantity].margin) || !is_ending(at, metric->higher))
        return false;
    s->metric = metric;
    s->at = at;
    s->list = list;
    s->item = item;
    return true;
}

/* Chooses the metric of the first claim about the final quality of a model; else the y of the first plot that shows
 * it. */
static void choose_quality(struct summary *s) {
    const struct sg_document *d = s->document;
    for (size_t i = 0; i < d->n_claims; i++)
        if (take_quality(s, "claims", i, d->claims[i].metric, d->claims[i].at))
            return;
    for (size_t i = 0; i < d->n_plots; i++)
        if (take_quality(s, "plots", i, d->plots[i].y, d->plots[i].y_at))
            return;
}

static bool same_at(const struct summary *s, const cJSON *at) {
    static const char last[] = "{\"final\":true}";
    cJSON *final = cJSON_Parse(last);
    const bool same = cJSON_Compare(s->at ? s->at : final, at ? at : final, true);
    cJSON_Delete(final);
    return same;
}

/* True if this name and `at` are those of the quality. */
static bool is_quality(const struct summary *s, const char *metric, const cJSON *at) {
    return strcmp(sg_or(metric, ""), s->metric->name) == 0 && same_at(s, at);
}

/* Copies the values of a row's seeds, and says whether there were any. */
static bool copy_values(struct summary_row *r, const double *value, size_t n) {
    bool any = false;
    for (size_t i = 0; n == r->label->n_seeds && i < n; i++) {
        r->value[i] = value[i];
        any = any || !isnan(value[i]);
    }
    return any;
}

/* Takes the values of seeds from a claim that has them, of its value or of its bound. */
static bool copy_claim(const struct summary *s, struct summary_row *r, const struct sg_document_claim *claim) {
    const struct sg_document_bound *bound = claim->bound;
    const char *label = r->label->label;
    const double times = bound && !isnan(bound->times) ? bound->times : 1,
                 plus = bound && !isnan(bound->plus) ? bound->plus : 0;
    const bool value = strcmp(sg_or(claim->of, ""), label) == 0 && is_quality(s, claim->metric, claim->at);
    const bool other =
        bound && strcmp(sg_or(bound->of, ""), label) == 0 && is_quality(s, bound->metric, bound->at) && times != 0;
    bool any = false;
    for (size_t i = 0; (value || other) && i < r->label->n_seeds; i++) {
        const char *name = sg_frame_seed_name(r->label, i);
        r->value[i] = NAN;
        for (size_t k = 0; k < claim->n_seeds; k++) {
            const struct sg_document_seed *seed = &claim->seeds[k];
            if (strcmp(sg_or(seed->seed, ""), name) != 0)
                continue;
            const double limit = (seed->bound - plus) / times;
            r->value[i] = value ? seed->value : isnan(seed->other) ? limit : seed->other;
            break;
        }
        any = any || !isnan(r->value[i]);
    }
    return any;
}

/* Takes what a summary of an earlier version of the document has of the row; false = no values of seeds. */
static bool copy_earlier(const struct summary *s, struct summary_row *r) {
    const struct sg_document_summary *found = s->document->summary;
    if (!found || !is_quality(s, found->metric, found->at))
        return false;
    if (strcmp(sg_or(found->baseline, ""), r->label->label) == 0) {
        r->mean = found->value;
        r->std = found->std;
        return copy_values(r, found->values.x, found->values.n);
    }
    for (size_t i = 0; i < found->n_methods; i++) {
        const struct sg_document_method *method = &found->methods[i];
        if (strcmp(sg_or(method->label, ""), r->label->label) != 0)
            continue;
        r->mean = method->value;
        r->std = method->std;
        return copy_values(r, method->values.x, method->values.n);
    }
    return false;
}

static bool copy_point(struct summary_row *r, const struct sg_document_spread *of) {
    return of && copy_values(r, of->values.x, of->values.n);
}

/* Finds the values of seeds in a document without its runs: those of an earlier summary, the final ones, those of
 * points, of claims. False: it has none. */
static bool find_values(const struct summary *s, struct summary_row *r) {
    const struct sg_document *d = s->document;
    const struct sg_frame_column *final = sg_frame_column(r->label, s->metric->name);
    if (copy_earlier(s, r) ||
        (same_at(s, NULL) && final && final->value && copy_values(r, final->value, final->n_values)))
        return true;
    for (size_t i = 0; i < d->n_plots; i++) {
        const struct sg_document_plot *plot = &d->plots[i];
        const struct sg_document_point *point = sg_document_point(plot, r->label->label);
        if (point && ((is_quality(s, plot->y, plot->y_at) && copy_point(r, point->y)) ||
                      (is_quality(s, plot->x, plot->x_at) && copy_point(r, point->x))))
            return true;
    }
    for (size_t i = 0; i < d->n_claims; i++)
        if (copy_claim(s, r, &d->claims[i]))
            return true;
    return false;
}

/* The values of a document without its runs. Where no seed has one, the mean and the deviation of an earlier summary
 * stay. */
static void read_document(const struct summary *s, struct summary_row *r) {
    if (find_values(s, r))
        r->mean = r->std = NAN; /* they follow from these */
}

static void read_runs(const struct summary *s, struct summary_row *r, size_t l) {
    char why[SG_WHY_CHARS];
    const struct sg_node *list = sg_node_get(&s->runs->recipe->root, s->list);
    const bool plots = strcmp(s->list, "plots") == 0;
    const struct sg_node *at = sg_node_get(&list->child[s->item], plots ? "y-at" : "at");
    const struct sg_frame_label *label = &s->runs->frame->label[l];
    for (size_t i = 0; i < label->n_seeds; i++)
        r->value[i] = sg_frame_value(&label->seed[i], s->metric->name, at && !sg_node_absent(at) ? at : NULL, why);
}

static void read_quality(struct summary *s, size_t l) {
    struct summary_row *r = &s->row[l];
    const size_t n = r->label->n_seeds;
    r->value = sg_arena_get(&s->document->memory, n * sizeof *r->value);
    for (size_t i = 0; i < n; i++)
        r->value[i] = NAN;
    r->mean = r->std = NAN;
    if (s->metric && s->runs)
        read_runs(s, r, l);
    else if (s->metric)
        read_document(s, r);
    if (isnan(r->mean)) {
        for (size_t i = 0; i < n; i++)
            if (!ended_well(r, sg_frame_seed_name(r->label, i)))
                r->value[i] = NAN;
        r->mean = sg_stats_mean(r->value, n);
        r->std = sg_stats_stddev(r->value, n);
    }
}

/* ---- comparison ---- */

double summary_loss(double *half, size_t *pairs, const struct summary *s, const struct summary_row *a,
                    const struct summary_row *b) {
    double *loss = sg_malloc((a->label->n_seeds + 1) * sizeof *loss), mean = NAN;
    size_t n = 0;
    *half = NAN;
    for (size_t i = 0; i < a->label->n_seeds; i++)
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

struct summary summary_of(struct sg_document *document, const struct grid_frame *runs) {
    struct summary s = {.document = document, .runs = runs, .n = document->results.n_labels};
    s.row = sg_arena_get(&document->memory, s.n * sizeof *s.row);
    for (size_t i = 0; i < s.n; i++)
        s.row[i].label = &document->results.label[i];
    choose_quality(&s);
    find_baselines(&s);
    find_traffic(&s);
    for (size_t i = 0; i < s.n; i++)
        read_quality(&s, i);
    for (size_t i = 0; i < s.n; i++)
        compare(&s, &s.row[i]);
    return s;
}

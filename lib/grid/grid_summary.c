/* grid_summary.c: the finding of a grid, in numbers and in one sentence: the methods that reach the baseline's quality,
 * and their savings in traffic. The rules are in results/DEFINITIONS.md. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grid_private.h"
#include "sg_task.h"
#include "sg_text.h"

static const double WITHIN = 0.05; /* as a share of the baseline's value */

enum { TEXT = 160 };

/* The sum over the seeds of a label, in the order of the seeds as in all published summaries; NaN unless every seed has
 * a finite value. */
static double label_sum(const struct sg_frame_label *label, const char *metric, const struct sg_node *at, double from,
                        int power) {
    char why[SG_WHY_CHARS];
    double sum = 0;
    for (size_t i = 0; i < label->n_seeds; i++)
        sum += pow(sg_frame_value(&label->seed[i], metric, at, why) - from, power);
    return isfinite(sum) && label->n_seeds > 0 ? sum : NAN;
}

static double label_mean(const struct sg_frame_label *label, const char *metric, const struct sg_node *at) {
    return label_sum(label, metric, at, 0, 1) / (double)label->n_seeds;
}

/* The sample standard deviation over the seeds of a label; 0 for one seed. */
static double label_std(const struct sg_frame_label *label, const char *metric, const struct sg_node *at, double mean) {
    const double sum = label_sum(label, metric, at, mean, 2);
    return label->n_seeds > 1 || isnan(mean) ? sqrt(sum / (double)(label->n_seeds - 1)) : 0;
}

/* The mean over the seeds of the metric before the first step. */
static double label_start(const struct sg_frame_label *label, const char *metric) {
    double sum = 0;
    for (size_t i = 0; i < label->n_seeds; i++) {
        const struct sg_run *run = label->seed[i].run;
        const double *step = sg_run_series(run, "step"), *value = sg_run_series(run, metric);
        sum += step && value && run->n_points > 0 && step[0] == 0 ? value[0] : NAN;
    }
    return isfinite(sum) && label->n_seeds > 0 ? sum / (double)label->n_seeds : NAN;
}

/* ---- traffic ---- */

struct grid_traffic grid_traffic(const struct sg_frame *frame) {
    static const char *const column[] = {"bytes_sent", "bits", "bits_values"};
    struct grid_traffic t = {.sent = NAN, .frame = frame};
    for (size_t l = 0; l < frame->n_labels; l++) {
        const struct sg_frame_label *label = &frame->label[l];
        for (size_t c = 0; label->baseline && c < sizeof column / sizeof *column; c++) {
            t.sent = label_mean(label, column[c], NULL);
            if (t.sent > 0) {
                t.column = column[c];
                t.baseline = label->swept->count > 0 ? label->method : label->label;
                return t;
            }
        }
    }
    return t;
}

static bool same_swept(const struct sg_node *a, const struct sg_node *b) {
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++) {
        const struct sg_node *x = &a->child[i], *y = &b->child[i];
        same = strcmp(x->key, y->key) == 0 && x->kind == y->kind && x->number == y->number &&
               x->boolean == y->boolean && (x->kind != SG_NODE_STRING || strcmp(x->string, y->string) == 0);
    }
    return same;
}

double grid_times_less(const struct grid_traffic *t, const struct sg_frame_label *label) {
    if (!t->baseline || label->baseline)
        return NAN;
    double of_baseline = t->sent;
    const double sent = label_mean(label, t->column, NULL);
    for (size_t l = 0; label->swept->count > 0 && l < t->frame->n_labels; l++) {
        const struct sg_frame_label *other = &t->frame->label[l];
        if (other->baseline && same_swept(other->swept, label->swept)) {
            of_baseline = label_mean(other, t->column, NULL);
            break;
        }
    }
    return sent > 0 ? of_baseline / sent : NAN;
}

/* ---- quality ---- */

struct quality {
    const struct sg_metric *metric; /* NULL = the recipe names none */
    const struct sg_node *at;       /* NULL = the last record */
};

static const struct sg_metric *find_metric(const struct sg_recipe *recipe, const char *name) {
    char snake[64];
    return sg_task_metric(sg_task_kind_find(sg_node_string(&recipe->root, "task.kind", "")),
                          sg_snake(snake, sizeof snake, name));
}

/* True if `at` selects a value at the end of the run or the best value, and not an intermediate value. */
static bool is_ending(const struct sg_node *at, bool higher) {
    if (!at || at->kind == SG_NODE_NULL || sg_node_bool(at, "final", false))
        return true;
    return !isnan(sg_node_number(at, "tail-median", NAN)) || !isnan(sg_node_number(at, "tail-mean", NAN)) ||
           sg_node_bool(at, higher ? "max" : "min", false);
}

/* Chooses the metric of the first claim about the final quality of a model; else the y of the first plot that shows
 * it. */
static struct quality choose_quality(const struct sg_recipe *recipe) {
    static const char *const where[][3] = {{"claims", "metric", "at"}, {"plots", "y", "y-at"}};
    for (size_t w = 0; w < 2; w++) {
        const struct sg_node *list = sg_node_get(&recipe->root, where[w][0]);
        for (size_t i = 0; list && i < list->count; i++) {
            const struct sg_metric *metric = find_metric(recipe, sg_node_string(&list->child[i], where[w][1], ""));
            const struct sg_node *at = sg_node_get(&list->child[i], where[w][2]);
            if (metric && is_ending(at, metric->higher))
                return (struct quality){metric, at && at->kind != SG_NODE_NULL ? at : NULL};
        }
    }
    return (struct quality){0};
}

/* ---- methods against the baseline ---- */

struct method {
    const char *label;
    double value, std, times_less;
    bool reaches;
};

struct comparison {
    struct quality quality;
    const char *baseline;
    double base, base_std; /* the baseline's, mean and deviation */
    double start;          /* the baseline's before its first step, NaN = not recorded */
    struct method *method; /* [n] without the baseline */
    size_t n;
};

static cJSON *methods_json(const struct comparison *c) {
    cJSON *out = cJSON_CreateArray();
    for (size_t i = 0; i < c->n; i++) {
        const struct method *m = &c->method[i];
        sg_json_push(out, SG_OBJECT(SG_TEXT("label", m->label), SG_NUMBER("value", m->value), SG_NUMBER("std", m->std),
                                    SG_NUMBER("ratio", m->value / c->base),
                                    SG_VALUE("reaches", isnan(m->value) ? NULL : cJSON_CreateBool(m->reaches)),
                                    SG_NUMBER("times_less", m->times_less)));
    }
    return out;
}

/* ---- the sentence ---- */

/* How many times less, as "693", "3.6" or "1.04"; returns out. */
static const char *times_text(double x, char out[32]) {
    snprintf(out, 32, x >= 100 ? "%.0f" : x >= 1.995 ? "%.3g" : "%.2f", x);
    return out;
}

/* "with 693 times less traffic", "" where it is not known. */
static const char *traffic_text(const struct method *m, char out[TEXT]) {
    char times[32];
    if (!(m->times_less > 0))
        out[0] = '\0';
    else if (m->times_less >= 1.005)
        snprintf(out, TEXT, " with %s times less traffic", times_text(m->times_less, times));
    else if (m->times_less > 0.995)
        snprintf(out, TEXT, " with as much traffic");
    else
        snprintf(out, TEXT, " with %s times the traffic", times_text(1 / m->times_less, times));
    return out;
}

/* "is 4.6 times above it", "is 12 % below it". */
static const char *distance_text(const struct comparison *c, const struct method *m, char out[TEXT]) {
    char times[32];
    const char *side = c->quality.metric->higher ? "below" : "above";
    const double ratio = c->quality.metric->higher ? c->base / m->value : m->value / c->base;
    const double share = fabs(m->value - c->base) / fabs(c->base);
    if (ratio >= 2 && isfinite(ratio))
        snprintf(out, TEXT, "is %s times %s it", times_text(ratio, times), side);
    else if (share > 0 && isfinite(share))
        snprintf(out, TEXT, "is %.2g %% %s it", 100 * share, side);
    else
        snprintf(out, TEXT, "does not reach it");
    return out;
}

/* True if `a` ranks before `b`: methods that reach the baseline first, by less traffic, then others by their value. */
static bool says_more(const struct comparison *c, const struct method *a, const struct method *b) {
    if (a->reaches != b->reaches)
        return a->reaches;
    if (a->reaches)
        return a->times_less > b->times_less || (isnan(b->times_less) && !isnan(a->times_less));
    return c->quality.metric->higher ? a->value > b->value : a->value < b->value;
}

static const struct method *best(const struct comparison *c, bool reaching) {
    const struct method *found = NULL;
    for (size_t i = 0; i < c->n; i++)
        if (c->method[i].reaches == reaching && !isnan(c->method[i].value) &&
            (!found || says_more(c, &c->method[i], found)))
            found = &c->method[i];
    return found;
}

/* " (median of the last 20 %)": the part of a run from which the values are; "" = its end. */
static void at_text(char out[TEXT], const struct sg_node *at) {
    const double median = at ? sg_node_number(at, "tail-median", NAN) : NAN;
    const double mean = at ? sg_node_number(at, "tail-mean", NAN) : NAN;
    if (!isnan(median) || !isnan(mean))
        snprintf(out, TEXT, " (%s of the last %g %%)", isnan(mean) ? "median" : "mean",
                 100 * (isnan(mean) ? median : mean));
    else
        snprintf(out, TEXT, "%s",
                 !at                              ? ""
                 : sg_node_bool(at, "max", false) ? " (the highest)"
                 : sg_node_bool(at, "min", false) ? " (the lowest)"
                                                  : "");
}

static void put_method(FILE *out, const struct comparison *c, const struct method *m, const char *it) {
    char text[TEXT];
    if (isnan(m->value))
        fprintf(out, "%s has no value at every seed", m->label);
    else if (m->reaches)
        fprintf(out, "%s reaches %s%s", m->label, it, traffic_text(m, text));
    else
        fprintf(out, "%s %s", m->label, distance_text(c, m, text));
}

/* Writes the sentence. It names all methods if they are few, the best first; else the best one that reaches the
 * baseline and the nearest of the others. */
static void put_sentence(FILE *out, const struct comparison *c) {
    enum { FEW = 3 };
    char it[2 * TEXT], quality[64], at[TEXT], text[TEXT], sent[TEXT];
    snprintf(quality, sizeof quality, "%s", c->quality.metric->name);
    for (char *p = quality; *p; p++)
        *p = *p == '_' ? ' ' : *p;
    at_text(at, c->quality.at);
    snprintf(it, sizeof it, "%.60s's %s%s", c->baseline, quality, at);
    const struct method *first = best(c, true), *near = best(c, false);
    size_t others = 0;
    for (size_t i = 0; i < c->n; i++)
        others += !c->method[i].reaches;
    if (!first && near) {
        fprintf(out, "No method reaches %s within %.0f %%: %s %s%s", it, 100 * WITHIN, near->label,
                distance_text(c, near, text), traffic_text(near, sent));
        first = near;
    } else if (first) {
        put_method(out, c, first, it);
    } else {
        fprintf(out, "No method has a %s at every seed", quality);
        return;
    }
    if (c->n <= FEW) {
        for (size_t i = 0; i < 2 * c->n; i++) { /* first those that reach it, then the others */
            const struct method *m = &c->method[i % c->n];
            if (m != first && m->reaches == (i < c->n)) {
                fputs("; ", out);
                put_method(out, c, m, "it");
            }
        }
    } else if (others == 0) {
        fprintf(out, "; all %zu methods do", c->n);
    } else if (near && near != first) {
        fprintf(out, "; %zu of %zu methods do not, the nearest, %s, %s", others, c->n, near->label,
                distance_text(c, near, text));
    }
}

/* Warns if training made the baseline worse, because reaching such a baseline means nothing. */
static void put_warning(FILE *out, const struct comparison *c) {
    const double worse = c->quality.metric->higher ? c->start - c->base : c->base - c->start;
    if (worse > WITHIN * fabs(c->start))
        fprintf(out,
                "; but %.60s itself ends worse than it begins, at %.3g after %.3g: is its learning rate too large?",
                c->baseline, c->base, c->start);
}

static char *sentence(const struct comparison *c) {
    size_t size;
    char *text;
    FILE *out = open_memstream(&text, &size);
    if (out) {
        put_sentence(out, c);
        put_warning(out, c);
    }
    return sg_stream_text(out, &text);
}

/* ---- the summary ---- */

/* Starts the comparison. Returns the reason why there is nothing to compare, or NULL. */
static const char *begin(struct comparison *c, const struct grid_frame *g) {
    size_t baselines = 0;
    bool open = false;
    c->quality = choose_quality(g->recipe);
    for (size_t i = 0; i < g->n_seeds; i++)
        open = open || sg_run_status_is_open(g->seed[i].status);
    for (size_t l = 0; l < g->frame.n_labels; l++) {
        const struct sg_frame_label *label = &g->frame.label[l];
        baselines += label->baseline;
        c->n += !label->baseline;
        if (label->baseline && c->quality.metric) {
            c->baseline = label->label;
            c->base = label_mean(label, c->quality.metric->name, c->quality.at);
            c->start = label_start(label, c->quality.metric->name);
            c->base_std = label_std(label, c->quality.metric->name, c->quality.at, c->base);
        }
    }
    return baselines == 0       ? "no method is a baseline to compare with"
           : baselines > 1      ? "there are several baselines to compare with"
           : !c->quality.metric ? "neither a claim nor a plot is about the quality of a model"
           : open               ? "not all cells are finished"
           : isnan(c->base)     ? "the baseline has no value at every seed"
           : c->n == 0          ? "there is no method beside the baseline"
                                : NULL;
}

cJSON *grid_summary_json(const struct grid_frame *g, const struct grid_traffic *traffic) {
    struct comparison c = {.base = NAN, .start = NAN};
    const char *reason = begin(&c, g);
    const struct sg_metric *metric = c.quality.metric;
    size_t k = 0;
    c.method = calloc(c.n + 1, sizeof *c.method);
    for (size_t l = 0; c.method && !reason && l < g->frame.n_labels; l++) {
        const struct sg_frame_label *label = &g->frame.label[l];
        if (label->baseline)
            continue;
        const double value = label_mean(label, metric->name, c.quality.at);
        c.method[k++] =
            (struct method){label->label, value, label_std(label, metric->name, c.quality.at, value),
                            grid_times_less(traffic, label), sg_reaches(value, c.base, WITHIN, metric->higher)};
    }
    char *text = c.method && !reason ? sentence(&c) : NULL;
    cJSON *out =
        SG_OBJECT(SG_TEXT("text", text), SG_TEXT("reason", reason), SG_TEXT("baseline", reason ? NULL : c.baseline),
                  SG_TEXT("metric", metric ? metric->name : NULL),
                  SG_VALUE("at", c.quality.at ? sg_node_json(c.quality.at) : NULL),
                  SG_TEXT("better", !metric          ? NULL
                                    : metric->higher ? "higher"
                                                     : "lower"),
                  SG_NUMBER("within", WITHIN), SG_NUMBER("value", reason ? NAN : c.base),
                  SG_NUMBER("start", reason ? NAN : c.start), SG_NUMBER("std", reason ? NAN : c.base_std),
                  SG_VALUE("methods", reason ? NULL : methods_json(&c)));
    free(text);
    free(c.method);
    return out;
}

/* grid_summary.c: the finding of a grid, in numbers and in sentences: the methods at equal traffic, and which of them
 * are as good as no compression. It is made from the document alone, so that published results get it again. The rules
 * are in results/DEFINITIONS.md. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grid_summary.h"
#include "sg_text.h"

enum { FEW = 3 };

/* ---- words ---- */

/* " (median of the last 20 %)": the part of a run from which the values are; "" = its end. */
static void at_text(char out[SUMMARY_TEXT], const cJSON *at) {
    const double median = sg_json_number(at, "tail_median", NAN), mean = sg_json_number(at, "tail_mean", NAN);
    if (!isnan(median) || !isnan(mean))
        snprintf(out, SUMMARY_TEXT, " (%s of the last %g %%)", isnan(mean) ? "median" : "mean",
                 100 * (isnan(mean) ? median : mean));
    else
        snprintf(out, SUMMARY_TEXT, "%s",
                 sg_json_bool(at, "max", false)   ? " (the highest)"
                 : sg_json_bool(at, "min", false) ? " (the lowest)"
                                                  : "");
}

/* ---- the sentence on no compression ---- */

/* True if `a` is named before `b`: what reaches the baseline, by less traffic, then what loses least. */
static bool says_more(const struct summary_row *a, const struct summary_row *b) {
    const bool one = a->verdict == SUMMARY_REACHES, other = b->verdict == SUMMARY_REACHES;
    if (one != other)
        return one;
    if (one && a->times_less != b->times_less && !(isnan(a->times_less) && isnan(b->times_less)))
        return a->times_less > b->times_less || isnan(b->times_less);
    return a->loss < b->loss;
}

/* The row's loss in words: "loses 4.2 ± 1.8 points", "gains 0.3 points", "ends at 4.2 (2.1 to 8.3) times it"; below a
 * baseline that has reached the floor, the value itself. */
static void put_loss(FILE *out, const struct summary *s, const struct summary_row *r) {
    const struct sg_quantity_kind *kind = &sg_quantity_kinds[s->metric->quantity];
    const bool ratio = strcmp(kind->unit, "times") == 0;
    char text[SUMMARY_TEXT];
    summary_loss_text(s, ratio ? r->loss : fabs(r->loss), r->half, r->mean, r->base->mean, text);
    if (ratio && r->base->mean < kind->floor && r->mean > kind->floor)
        fprintf(out, "ends at %.2g, where %s is below %g, the floor of float32 residuals", r->mean,
                r->base->label->label, kind->floor);
    else if (ratio)
        fprintf(out, "ends at %s it", text);
    else
        fprintf(out, "%s %s", r->loss >= 0 ? "loses" : "gains", text);
    if (isnan(r->half))
        fputs(r->pairs == 1 ? ", at one seed" : ", and the values of its seeds are not known", out);
}

/* "reaches it with 693 times less traffic (loses at most 0.4 points)", "is 4.2 ± 1.8 points behind it". */
static void put_row(FILE *out, const struct summary *s, const struct summary_row *r, const char *it, bool traffic) {
    static const char *const verb[SUMMARY_VERDICTS] = {[SUMMARY_REACHES] = "reaches",
                                                       [SUMMARY_LOSES] = "does not reach",
                                                       [SUMMARY_NOT_SHOWN] = "is not shown to reach"};
    const bool ratio = strcmp(sg_quantity_kinds[s->metric->quantity].unit, "times") == 0;
    char sent[SUMMARY_TEXT], most[SG_LOSS_CHARS];
    summary_traffic_text(traffic ? r->times_less : NAN, sent);
    fprintf(out, "%s %s %s%s%s (", r->label->label, verb[r->verdict], it, *sent ? " with " : "", sent);
    if (r->verdict == SUMMARY_REACHES && r->loss + r->half > 0) {
        sg_loss_text(most, s->metric->quantity, r->loss + r->half, NAN);
        fprintf(out, ratio ? "ends at most at %s it, %zu seeds" : "loses at most %s, %zu seeds", most, r->pairs);
    } else {
        put_loss(out, s, r);
    }
    fputc(')', out);
}

/* How many compressed rows have this verdict. */
static size_t count(const struct summary *s, enum summary_verdict verdict) {
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        n += s->row[i].base && s->row[i].base != &s->row[i] && s->row[i].verdict == verdict;
    return n;
}

static void put_rows(FILE *out, const struct summary *s, const struct summary_row *first, const char *it) {
    const struct summary_row *named[FEW] = {first};
    for (size_t n = 1; n < FEW; n++) { /* the others in their order */
        for (size_t i = 0; i < s->n; i++) {
            const struct summary_row *r = &s->row[i];
            bool is_new = summary_is_compared(r) && (!named[n] || says_more(r, named[n]));
            for (size_t k = 0; k < n; k++)
                is_new = is_new && r != named[k];
            named[n] = is_new ? r : named[n];
        }
        if (!named[n])
            break;
        fputs("; ", out);
        put_row(out, s, named[n], it, false);
    }
}

static void put_against_baseline(FILE *out, const struct summary *s) {
    char it[3 * SUMMARY_TEXT], quality[64], at[SUMMARY_TEXT], margin[SG_LOSS_CHARS];
    const struct summary_row *first = NULL;
    size_t rows = 0, baselines = 0, alone = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct summary_row *r = &s->row[i];
        if (summary_is_compared(r) && (!first || says_more(r, first)))
            first = r;
        rows += summary_is_compared(r);
        alone += !r->base;
        for (size_t j = 0; r->base == r && j < s->n; j++) /* a baseline that is some row's */
            if (summary_is_compared(&s->row[j]) && s->row[j].base == r) {
                baselines++;
                break;
            }
    }
    snprintf(quality, sizeof quality, "%s", s->metric->name);
    for (char *p = quality; *p; p++)
        *p = *p == '_' ? ' ' : *p;
    at_text(at, s->at);
    if (!first) {
        fprintf(out, "No method has a %s at every seed", quality);
        return;
    }
    if (baselines > 1)
        snprintf(it, sizeof it, "the %s%s of no compression with its own settings", quality, at);
    else
        snprintf(it, sizeof it, "%.60s's %s%s", first->base->label->label, quality, at);
    put_row(out, s, first, it, true);
    if (rows <= FEW) {
        put_rows(out, s, first, "it");
    } else {
        sg_loss_text(margin, s->metric->quantity, sg_quantity_kinds[s->metric->quantity].margin, NAN);
        fprintf(out, "; of %zu methods and settings %zu reach it within %s, %zu do not, and of %zu neither is shown",
                rows, count(s, SUMMARY_REACHES), margin, count(s, SUMMARY_LOSES), count(s, SUMMARY_NOT_SHOWN));
    }
    if (count(s, SUMMARY_UNKNOWN) > 0)
        fprintf(out, "; %zu without a value at every seed", count(s, SUMMARY_UNKNOWN));
    if (alone > 0)
        fprintf(out, "; %zu of other settings than any run without compression %s not compared", alone,
                alone == 1 ? "is" : "are");
}

/* ---- the summary ---- */

/* The mean over the seeds of the metric before the first step; NaN = not recorded. */
static double start_of(const struct summary *s) {
    char mean[128];
    snprintf(mean, sizeof mean, "series.%s.mean", s->metric->name);
    const cJSON *json = s->one->label->json, *at = sg_json_get(json, mean);
    const cJSON *step = sg_json_get(json, "series.step");
    snprintf(mean, sizeof mean, "series.%s", s->metric->name);
    at = at ? at : sg_json_get(json, mean); /* of one seed it is an array */
    return step && step->child && sg_json_number(step->child, "", NAN) == 0 && at && at->child
               ? sg_json_number(at->child, "", NAN)
               : NAN;
}

/* Warns if training made the baseline worse, because reaching such a baseline means nothing. */
static void put_warning(FILE *out, const struct summary *s, double start) {
    const double margin = sg_quantity_kinds[s->metric->quantity].margin;
    if (sg_metric_loss(s->metric, s->one->mean, start) > margin)
        fprintf(out,
                "; but %.60s itself ends worse than it begins, at %.3g after %.3g: is its learning rate too large?",
                s->one->label->label, s->one->mean, start);
}

static char *sentence(const struct summary *s, double start, cJSON *levels) {
    size_t size;
    char *text;
    FILE *out = open_memstream(&text, &size);
    if (out) {
        if (summary_put_equal_traffic(out, levels, s))
            fputs(". ", out);
        put_against_baseline(out, s);
        put_warning(out, s, start);
    }
    return sg_stream_text(out, &text);
}

static bool is_open(const struct summary *s) {
    const cJSON *cell;
    bool open = false;
    for (size_t i = 0; i < s->n; i++)
        cJSON_ArrayForEach(cell, sg_json_get(s->row[i].label->json, "cells")) open =
            open || sg_run_status_is_open(sg_json_string(cell, "status", ""));
    for (size_t i = 0; s->runs && i < s->runs->n_seeds; i++)
        open = open || sg_run_status_is_open(s->runs->seed[i].status);
    return open;
}

/* The reason why there is nothing to compare, or NULL. */
static const char *reason_of(const struct summary *s) {
    size_t rows = 0, with = 0, values = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct summary_row *r = &s->row[i];
        rows += r->base != r;
        with += r->base && r->base != r;
        values += r->base && r->base != r && !isnan(r->base->mean);
    }
    return !s->one       ? "no method is a baseline to compare with"
           : !s->metric  ? "neither a claim nor a plot is about the quality of a model"
           : is_open(s)  ? "not all cells are finished"
           : rows == 0   ? "there is no method beside the baseline"
           : with == 0   ? "no method has the learning rate, shards, workers and steps of a run without compression"
           : values == 0 ? "the baseline has no value at every seed"
                         : NULL;
}

static const char *const verdict_words[SUMMARY_VERDICTS] = {
    [SUMMARY_REACHES] = "reaches", [SUMMARY_LOSES] = "loses", [SUMMARY_NOT_SHOWN] = "not shown"};

static cJSON *methods_json(const struct summary *s) {
    cJSON *out = cJSON_CreateArray();
    for (size_t i = 0; i < s->n; i++) {
        const struct summary_row *r = &s->row[i];
        const enum sg_quantity q = s->metric->quantity;
        const bool compared = summary_is_compared(r);
        if (r == s->one)
            continue;
        sg_json_push(out,
                     SG_OBJECT(SG_TEXT("label", r->label->label),
                               SG_TEXT("baseline", r->base && r->base != r ? r->base->label->label : NULL),
                               SG_NUMBER("value", r->mean), SG_NUMBER("std", r->std),
                               SG_VALUE("values", sg_json_numbers(r->value, r->label->n_seeds)),
                               SG_NUMBER("loss", compared ? sg_quantity_amount(q, r->loss) : NAN),
                               SG_NUMBER("low", compared ? sg_quantity_amount(q, r->loss - r->half) : NAN),
                               SG_NUMBER("high", compared ? sg_quantity_amount(q, r->loss + r->half) : NAN),
                               SG_NUMBER("pairs", r->pairs), SG_TEXT("verdict", verdict_words[r->verdict]),
                               SG_VALUE("reaches", compared ? cJSON_CreateBool(r->verdict == SUMMARY_REACHES) : NULL),
                               SG_NUMBER("times_less", r->times_less)));
    }
    return out;
}

static cJSON *summary_json(const struct summary *s) {
    const char *reason = reason_of(s);
    const enum sg_quantity q = s->metric ? s->metric->quantity : SG_QUANTITY_AMOUNT;
    const double start = reason ? NAN : start_of(s);
    cJSON *levels = cJSON_CreateArray();
    char *text = reason ? NULL : sentence(s, start, levels);
    cJSON *out = SG_OBJECT(
        SG_TEXT("text", text), SG_TEXT("reason", reason), SG_TEXT("baseline", reason ? NULL : s->one->label->label),
        SG_TEXT("metric", s->metric ? s->metric->name : NULL), SG_VALUE("at", sg_json_copy(s->at)),
        SG_TEXT("better", !s->metric          ? NULL
                          : s->metric->higher ? "higher"
                                              : "lower"),
        SG_NUMBER("within", s->metric ? sg_quantity_amount(q, sg_quantity_kinds[q].margin) : NAN),
        SG_TEXT("unit", s->metric ? sg_quantity_kinds[q].unit : NULL), SG_NUMBER("value", reason ? NAN : s->one->mean),
        SG_NUMBER("start", start), SG_NUMBER("std", reason ? NAN : s->one->std),
        SG_VALUE("values", reason ? NULL : sg_json_numbers(s->one->value, s->one->label->n_seeds)),
        SG_VALUE("equal_traffic", levels), SG_VALUE("methods", reason ? NULL : methods_json(s)));
    free(text);
    return out;
}

static cJSON *number_json(double x) {
    char text[SG_NUMBER_CHARS];
    return isfinite(x) ? cJSON_CreateRaw(sg_number_text(x, text)) : cJSON_CreateNull();
}

static void replace(cJSON *object, const char *key, cJSON *take_value) {
    if (cJSON_GetObjectItemCaseSensitive(object, key))
        cJSON_ReplaceItemInObjectCaseSensitive(object, key, take_value);
    else
        sg_json_set(object, key, take_value);
}

void grid_summarize(cJSON *document, const struct grid_frame *runs) {
    struct summary s;
    cJSON *result;
    size_t i = 0;
    bool other = false;
    if (!summary_open(&s, document, runs)) {
        sg_json_lost();
        return;
    }
    cJSON *summary = summary_json(&s);
    cJSON_ArrayForEach(result, cJSON_GetObjectItemCaseSensitive(document, "results")) {
        const struct summary_row *r = &s.row[i++];
        replace(result, "times_less", number_json(r->times_less));
        other = other || (s.one && summary_other_steps(r, r->base ? r->base : s.one));
    }
    replace(document, "traffic",
            s.column ? SG_OBJECT(SG_TEXT("column", s.column),
                                 SG_TEXT("baseline", sg_json_get(s.one->label->json, "swept") ? s.one->label->method
                                                                                              : s.one->label->label),
                                 SG_BOOL("other_steps", other))
                     : cJSON_CreateNull());
    replace(document, "summary", summary);
    summary_close(&s);
}

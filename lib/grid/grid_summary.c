/* grid_summary.c: the finding of a grid, in numbers and in sentences: the methods at equal traffic, and which of them
 * are as good as no compression. It is made from the document alone, so that published results get it again. The rules
 * are in results/DEFINITIONS.md. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "grid_summary.h"
#include "sg_memory.h"
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
    sg_spaced(quality);
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
    const struct sg_frame_column *step = sg_frame_column(s->one->label, "step"),
                                 *metric = sg_frame_column(s->one->label, s->metric->name);
    const double *steps = step ? step->curve[SG_MEAN] : NULL, *mean = metric ? metric->curve[SG_MEAN] : NULL;
    return steps && mean && step->n_points > 0 && metric->n_points > 0 && steps[0] == 0 ? mean[0] : NAN;
}

/* Warns if training made the baseline worse, because reaching such a baseline means nothing. */
static void put_warning(FILE *out, const struct summary *s, double start) {
    const double margin = sg_quantity_kinds[s->metric->quantity].margin;
    if (sg_metric_loss(s->metric, s->one->mean, start) > margin)
        fprintf(out,
                "; but %.60s itself ends worse than it begins, at %.3g after %.3g: is its learning rate too large?",
                s->one->label->label, s->one->mean, start);
}

static char *sentence(struct sg_document_summary *found, const struct summary *s) {
    size_t size;
    char *text;
    FILE *out = sg_memstream(&text, &size);
    if (summary_put_equal_traffic(out, found, s))
        fputs(". ", out);
    put_against_baseline(out, s);
    put_warning(out, s, found->start);
    summary_put_price(out, s);
    return sg_stream_text(out, &text);
}

static bool is_open(const struct summary *s) {
    bool open = false;
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < s->row[i].label->n_cells; k++)
            open = open || sg_run_status_is_open(sg_or(s->row[i].label->cells[k].status, ""));
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

/* Fills in the rows but for the baseline's own. */
static void fill_methods(struct sg_document_summary *out, const struct summary *s) {
    const enum sg_quantity q = s->metric->quantity;
    out->methods = sg_arena_get(&s->document->memory, s->n * sizeof *out->methods);
    for (size_t i = 0; i < s->n; i++) {
        const struct summary_row *r = &s->row[i];
        const bool compared = summary_is_compared(r);
        if (r != s->one)
            out->methods[out->n_methods++] =
                (struct sg_document_method){.label = r->label->label,
                                            .baseline = r->base && r->base != r ? r->base->label->label : NULL,
                                            .value = r->mean,
                                            .std = r->std,
                                            .values = {r->label->n_seeds, r->value},
                                            .loss = compared ? sg_quantity_amount(q, r->loss) : NAN,
                                            .low = compared ? sg_quantity_amount(q, r->loss - r->half) : NAN,
                                            .high = compared ? sg_quantity_amount(q, r->loss + r->half) : NAN,
                                            .pairs = (double)r->pairs,
                                            .verdict = verdict_words[r->verdict],
                                            .reaches = !compared                       ? SG_FLAG_UNKNOWN
                                                       : r->verdict == SUMMARY_REACHES ? SG_FLAG_YES
                                                                                       : SG_FLAG_NO,
                                            .times_less = r->times_less};
    }
}

static struct sg_document_summary *find_summary(const struct summary *s) {
    struct sg_arena *memory = &s->document->memory;
    struct sg_document_summary *out = sg_arena_get(memory, sizeof *out);
    const struct sg_metric *metric = s->metric;
    const struct sg_quantity_kind *kind = metric ? &sg_quantity_kinds[metric->quantity] : NULL;
    *out = (struct sg_document_summary){.reason = reason_of(s),
                                        .metric = metric ? metric->name : NULL,
                                        .at = s->at,
                                        .better = !metric          ? NULL
                                                  : metric->higher ? "higher"
                                                                   : "lower",
                                        .within = metric ? sg_quantity_amount(metric->quantity, kind->margin) : NAN,
                                        .unit = metric ? kind->unit : NULL,
                                        .value = NAN,
                                        .start = NAN,
                                        .std = NAN,
                                        .equal_traffic = sg_arena_get(memory, 0)};
    if (out->reason)
        return out;
    out->baseline = s->one->label->label;
    out->value = s->one->mean;
    out->start = start_of(s);
    out->std = s->one->std;
    out->values = (struct sg_number_list){s->one->label->n_seeds, s->one->value};
    fill_methods(out, s);
    char *text = sentence(out, s);
    out->text = sg_arena_take_text(memory, text);
    return out;
}

void grid_summarize(struct sg_document *document, const struct grid_frame *runs) {
    struct summary s = summary_of(document, runs);
    bool other = false;
    document->summary = find_summary(&s); /* the earlier one has been read */
    for (size_t i = 0; i < s.n; i++) {
        s.row[i].label->times_less = s.row[i].times_less;
        other = other || (s.one && summary_other_steps(&s.row[i], s.row[i].base ? s.row[i].base : s.one));
    }
    document->traffic = s.column ? sg_arena_get(&document->memory, sizeof *document->traffic) : NULL;
    if (s.column)
        *document->traffic =
            (struct sg_document_traffic){.column = s.column,
                                         .baseline = s.one->label->swept ? s.one->label->method : s.one->label->label,
                                         .other_steps = other};
}

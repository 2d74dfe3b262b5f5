/* tune_when_table.c: the results of --when for readers: the conclusion in sentences, its assumptions, and a table. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sg_memory.h"
#include "sg_net.h"
#include "sg_text.h"
#include "tune_when.h"

enum { TEXT = WHEN_TEXT };

static const char *label_of(const struct when *w, size_t method) {
    return w->method[method].cell->label;
}

static bool competes(const struct when *w, size_t method) {
    return method != w->baseline && !w->method[method].why[0];
}

const char *when_where(const struct when_gain *g) {
    const bool turns = !isnan(g->from) || !isnan(g->to);
    return g->at_lowest ? (!g->at_highest ? "below"
                           : turns        ? "outside"
                                          : "always")
                        : (g->at_highest ? "above"
                           : turns       ? "between"
                                         : "never");
}

/* ---- sentences ---- */

const char *when_target_text(const struct when *w, char out[WHEN_TEXT]) {
    snprintf(out, WHEN_TEXT, "%s %.4g", w->metric, w->target);
    return sg_spaced(out);
}

/* How many times sooner, as "129", "5.12" or "1.004"; returns out. */
static const char *times_text(double x, char out[32]) {
    snprintf(out, 32, x < 1.1 ? "%.4g" : "%.3g", x);
    return out;
}

size_t when_own_bandwidth(const struct when *w) {
    const double own = log(8 / w->network.net.between.byte_s);
    size_t nearest = 0;
    for (size_t b = 1; b < w->n_bandwidths; b++)
        if (fabs(log(w->bandwidth[b]) - own) < fabs(log(w->bandwidth[nearest]) - own))
            nearest = b;
    return nearest;
}

/* Writes the methods that cannot be distinguished from the best one within the noise of the seeds. */
static void put_rivals(FILE *out, const struct when *w, const struct when_time *time, size_t best, const char *before,
                       const char *between) {
    for (size_t m = 0; m < w->n_methods; m++)
        if (m != best && time[m].may_be_fastest) {
            fprintf(out, "%s%s", before, label_of(w, m));
            before = between;
        }
}

/* Writes above which bandwidth no method gains, or the gain at the highest one. told: index of the one in the text. */
static void put_limit(FILE *out, const struct when *w, size_t cluster, size_t told) {
    const size_t last = w->n_bandwidths - 1;
    const struct when_time *highest = when_times(w, cluster, last);
    const size_t best = when_fastest(w, highest);
    char times[32];
    double to = 0;
    for (size_t m = 0; m < w->n_methods; m++)
        if (competes(w, m))
            to = fmax(to, w->gain[cluster * w->n_methods + m].to); /* fmax ignores a NaN */
    if (best == w->baseline && to > 0)
        fprintf(out, "; above %.3g Gbit/s no method gains", to / GBIT);
    else if (best == w->baseline)
        fprintf(out, "; no method gains at any bandwidth from %.3g to %.3g Gbit/s", w->bandwidth[0] / GBIT,
                w->bandwidth[last] / GBIT);
    else if (told < last)
        fprintf(out, "; at %.3g Gbit/s, the most looked at, %s is still %s times sooner", w->bandwidth[last] / GBIT,
                label_of(w, best), times_text(highest[best].speedup, times));
}

static char *cluster_text(const struct when *w, size_t cluster) {
    const size_t b = when_own_bandwidth(w);
    const struct when_time *time = when_times(w, cluster, b);
    const size_t best = when_fastest(w, time);
    const double free_one = when_free(w, time);
    char *text = NULL, target[TEXT], times[32], model[TUNE_MODEL_CHARS];
    size_t size;
    FILE *out = sg_memstream(&text, &size);
    if (cluster == 0)
        fprintf(out, "For %s: ", tune_model_text(model, &w->network, w->d));
    fprintf(out, cluster == 0 ? "with %zu workers at %.3g Gbit/s, " : "With %zu workers at %.3g Gbit/s, ",
            w->workers[cluster], w->bandwidth[b] / GBIT);
    if (best == w->baseline)
        fprintf(out, "no method reaches the target, %s, sooner than no compression", when_target_text(w, target));
    else
        fprintf(out, "%s reaches the target, %s, %s times sooner than no compression", label_of(w, best),
                when_target_text(w, target), times_text(time[best].speedup, times));
    put_rivals(out, w, time, best, ", within the noise of the seeds from ", " and ");
    if (free_one < 1.005)
        fputs("; free compression could gain nothing in the steps of no compression", out);
    else if (isfinite(free_one))
        fprintf(out, "; even free compression could be at most %s times sooner in the steps of no compression",
                times_text(free_one, times));
    put_limit(out, w, cluster, b);
    fputs(".", out);
    return sg_stream_text(out, &text);
}

cJSON *when_answer_json(const struct when *w) {
    cJSON *out = cJSON_CreateArray();
    for (size_t c = 0; c < w->n_clusters; c++) {
        char *text = cluster_text(w, c);
        if (text)
            sg_json_push_string(out, text);
        if (w->price[c])
            sg_json_push_string(out, w->price[c]);
        free(text);
    }
    return out;
}

cJSON *when_assumptions_json(const struct when *w) {
    const struct sg_grid_network *n = &w->network;
    cJSON *out = cJSON_CreateArray();
    char *model = sg_grid_network_text(n), target[TEXT], margin[TUNE_MARGIN_CHARS];
    tune_sentence(out, "All times are modelled and none was measured: %s.", model ? model : "");
    if (n->net.between.alpha_s == sg_link_find(n->net.between.name)->alpha_s)
        tune_sentence(out, "A message takes %.4g us beside its bytes at every bandwidth, as on %s.",
                      1e6 * n->net.between.alpha_s, n->net.between.name);
    else
        tune_sentence(out, "A message takes %.4g us beside its bytes at every bandwidth (network.latency).",
                      1e6 * n->net.between.alpha_s);
    tune_say_network(out, n, w->d, w->assumed,
                     "so these are times of communication alone, and what free compression could give has no bound");
    tune_sentence_taken(out, sg_grid_coding_text(n));
    tune_sentence(
        out,
        "Steps to the target are those of the runs with %.0f workers, whose messages are repeated on larger clusters.",
        sg_node_number(&w->method[w->baseline].cell->resolved, "workers", 1));
    if (w->given)
        tune_sentence(out, "The target, %s, is the one that was given.", when_target_text(w, target));
    else
        tune_sentence(
            out, "The target, %s, is within %s of what %s has at its worst seed: %.4g, the median of the last %g %%.",
            when_target_text(w, target), tune_margin_text(margin, &w->margin), label_of(w, w->baseline), w->attained,
            100 * TUNE_TAIL);
    tune_sentence(
        out,
        "A run reaches the target at the first evaluation where the median of %d, with as many before as behind it, is "
        "as good.",
        WHEN_WINDOW);
    tune_sentence(out,
                  w->seeds > 1
                      ? "Times are means over %zu seeds, and methods are within noise of each other where another "
                        "one is faster at some seed."
                      : "There is %zu seed, which does not tell what is within noise.",
                  w->seeds);
    for (size_t m = 0; m < w->n_methods; m++)
        tune_say_left_out(out, label_of(w, m), w->method[m].why);
    tune_sentence_taken(out, sg_grid_error_text(n, w->t->recipe));
    free(model);
    return out;
}

/* ---- the table ---- */

static const char *gain_text(const struct when_gain *g, char out[TEXT]) {
    const char *where = when_where(g);
    const double from = g->from / GBIT, to = g->to / GBIT;
    if (strcmp(where, "below") == 0)
        snprintf(out, TEXT, "below %.3g", to);
    else if (strcmp(where, "above") == 0)
        snprintf(out, TEXT, "above %.3g", from);
    else if (strcmp(where, "between") == 0)
        snprintf(out, TEXT, "%.3g to %.3g", from, to);
    else if (strcmp(where, "outside") == 0)
        snprintf(out, TEXT, "not %.3g to %.3g", to, from);
    else
        snprintf(out, TEXT, "%s", where);
    return out;
}

static const struct sg_table_column point_columns[] = {
    {.head = "workers", .align = SG_TABLE_RIGHT},
    {.head = "Gbit/s", .align = SG_TABLE_RIGHT, .weight = SG_TABLE_ALWAYS},
    {.head = "fastest", .weight = SG_TABLE_ALWAYS},
    {.head = "speed-up", .align = SG_TABLE_RIGHT, .weight = SG_TABLE_ALWAYS},
    {.head = "worst seed", .align = SG_TABLE_RIGHT, .weight = 3},
    {.head = "free, at most", .align = SG_TABLE_RIGHT, .weight = 2},
    {.head = "no compression, s", .align = SG_TABLE_RIGHT, .weight = 1},
    {.head = "within noise", .align = SG_TABLE_WORDS, .weight = SG_TABLE_ALWAYS},
};

static void add_point(sg_table *t, const struct when *w, size_t c, size_t b) {
    const struct when_time *time = when_times(w, c, b);
    const size_t best = when_fastest(w, time);
    const double free_one = when_free(w, time);
    char *rivals = NULL;
    size_t size;
    FILE *out = sg_memstream(&rivals, &size);
    put_rivals(out, w, time, best, "", ", ");
    sg_stream_text(out, &rivals);
    sg_table_format(t, "%zu", w->workers[c]);
    sg_table_number(t, "%.4g", w->bandwidth[b] / GBIT);
    sg_table_cell(t, label_of(w, best), NULL);
    sg_table_number(t, "%.4g", time[best].speedup);
    sg_table_number(t, "%.4g", time[best].least);
    sg_table_number(t, "%.4g", isfinite(free_one) ? free_one : NAN);
    sg_table_number(t, "%.4g", time[w->baseline].mean_s);
    sg_table_cell(t, rivals, NULL);
    free(rivals);
}

static void put_points(FILE *out, const struct when *w) {
    sg_table *t = sg_table_open(point_columns, sizeof point_columns / sizeof *point_columns);
    for (size_t c = 0; c < w->n_clusters; c++)
        for (size_t b = 0; b < w->n_bandwidths; b++)
            add_point(t, w, c, b);
    tune_put_table(out, t, w->t);
}

static void put_gains(FILE *out, const struct when *w) {
    sg_table *t = sg_table_open(&(struct sg_table_column){.head = "workers"}, 1);
    char text[TEXT];
    fputs("#\n# at which bandwidths it gains over no compression, Gbit/s\n", out);
    for (size_t c = 0; c < w->n_clusters; c++) {
        snprintf(text, sizeof text, "%zu", w->workers[c]);
        sg_table_column(t, &(struct sg_table_column){.head = text, .align = SG_TABLE_RIGHT});
    }
    for (size_t m = 0; m < w->n_methods; m++) {
        if (!competes(w, m))
            continue;
        sg_table_cell(t, label_of(w, m), NULL);
        for (size_t c = 0; c < w->n_clusters; c++)
            sg_table_cell(t, gain_text(&w->gain[c * w->n_methods + m], text), NULL);
    }
    tune_put_table(out, t, w->t);
}

void when_put_table(FILE *out, const struct sg_tune *t, const void *of) {
    const cJSON *sentence;
    tune_put_assumptions(out, t);
    put_points(out, of);
    put_gains(out, of);
    fputc('\n', out);
    cJSON_ArrayForEach(sentence, sg_json_get(t->evidence, "tune.answer"))
        sg_put_wrapped(out, sentence->valuestring, t->columns, "", "");
}

/* tune_when_evidence.c: the results of --when as JSON that sparseplot-export draws: a panel for each number of workers,
 * a line for each method. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sg_memory.h"
#include "sg_text.h"
#include "tune_when.h"

enum { COLUMN = 48 };

static char *speedup_column(char out[COLUMN], size_t workers) {
    snprintf(out, COLUMN, "speedup_with_%zu_workers", workers);
    return out;
}

static char *gains_column(char out[COLUMN], size_t workers) {
    snprintf(out, COLUMN, "gains_up_to_with_%zu_workers", workers);
    return out;
}

static bool is_out(const struct when *w, size_t m) {
    return w->method[m].why[0] != '\0';
}

/* ---- results and plots ---- */

static cJSON *seeds_json(const struct when *w) {
    cJSON *out = cJSON_CreateArray();
    for (size_t s = 0; s < w->seeds; s++) {
        char text[24];
        snprintf(text, sizeof text, "%llu", (unsigned long long)w->method[w->baseline].run[s].seed);
        sg_json_push_string(out, text);
    }
    return out;
}

/* One line of every panel. method n_methods: the speed-up of compression that costs no time (when_free). */
static cJSON *series_json(const struct when *w, size_t method) {
    cJSON *out = cJSON_CreateObject(), *x = cJSON_CreateArray();
    char name[COLUMN];
    for (size_t b = 0; b < w->n_bandwidths; b++)
        sg_json_push_number(x, w->bandwidth[b] / GBIT);
    sg_json_set(out, "bandwidth", x);
    for (size_t c = 0; c < w->n_clusters; c++) {
        cJSON *y = cJSON_CreateArray();
        for (size_t b = 0; b < w->n_bandwidths; b++) {
            const struct when_time *time = when_times(w, c, b);
            sg_json_push_number(y, method < w->n_methods ? time[method].speedup : when_free(w, time));
        }
        sg_json_set(out, speedup_column(name, w->workers[c]), y);
    }
    return out;
}

/* The largest bandwidth of the list at which a method gains; 0 = none. */
static cJSON *final_json(const struct when *w, size_t method) {
    cJSON *out = cJSON_CreateObject();
    char name[COLUMN];
    for (size_t c = 0; c < w->n_clusters; c++) {
        const struct when_gain *g = &w->gain[c * w->n_methods + method];
        const double to = g->at_highest ? w->bandwidth[w->n_bandwidths - 1] : isnan(g->to) ? 0 : g->to;
        sg_json_set_number(out, gains_column(name, w->workers[c]), to / GBIT);
    }
    return out;
}

static cJSON *result_json(const struct when *w, size_t method) {
    const bool free_one = method == w->n_methods, baseline = free_one || method == w->baseline;
    const struct sg_cell *cell = free_one ? NULL : w->method[method].cell;
    return SG_OBJECT(SG_TEXT("label", free_one ? "free compression, at most" : cell->label),
                     SG_TEXT("method", free_one ? "free compression, at most" : cell->name),
                     SG_TEXT("compressor", free_one ? NULL : sg_node_string(cell->method, "compressor", NULL)),
                     SG_BOOL("baseline", baseline), SG_VALUE("seeds", seeds_json(w)),
                     SG_VALUE("series", series_json(w, method)),
                     SG_VALUE("final", baseline ? NULL : final_json(w, method)));
}

static cJSON *results_json(const struct when *w) {
    cJSON *out = cJSON_CreateArray();
    for (size_t m = 0; m < w->n_methods; m++)
        if (!is_out(w, m))
            sg_json_push(out, result_json(w, m));
    if (isfinite(when_free(w, when_times(w, 0, 0))))
        sg_json_push(out, result_json(w, w->n_methods));
    return out;
}

static cJSON *units_json(const struct when *w, const char *model) {
    cJSON *out = cJSON_CreateObject();
    char name[COLUMN], *unit = sg_format("Gbit/s; %s", model);
    sg_json_set_string(out, "bandwidth", unit);
    for (size_t c = 0; c < w->n_clusters; c++) {
        sg_json_set_string(out, speedup_column(name, w->workers[c]), "modelled");
        sg_json_set_string(out, gains_column(name, w->workers[c]), "Gbit/s, modelled");
    }
    free(unit);
    return out;
}

/* The recipe's network. Its name in titles ends in "compute 0.1 s". */
static cJSON *network_json(const struct when *w, const char *model) {
    const double compute_s = w->network.compute_s;
    char *name =
        compute_s > 0 ? sg_format("%s, compute %.4g s", model, compute_s) : sg_format("%s, communication alone", model);
    cJSON *out = sg_grid_network_json(&w->network, w->t->recipe, name);
    free(name);
    return out;
}

/* The columns that tables show instead of the lines of the plots. */
static cJSON *table_json(const struct when *w) {
    cJSON *columns = cJSON_CreateArray();
    char name[COLUMN], target[WHEN_TEXT], *text;
    for (size_t c = 0; c < w->n_clusters; c++)
        sg_json_push_string(columns, gains_column(name, w->workers[c]));
    text = sg_format("Modelled: the bandwidth up to which a method reaches %s sooner than no compression, of %.3g to "
                     "%.3g Gbit/s that were looked at; 0: at none",
                     when_target_text(w, target), w->bandwidth[0] / GBIT, w->bandwidth[w->n_bandwidths - 1] / GBIT);
    cJSON *out = SG_OBJECT(SG_VALUE("columns", columns), SG_TEXT("footnote", text));
    free(text);
    return out;
}

static cJSON *plots_json(const struct when *w) {
    cJSON *out = cJSON_CreateArray();
    for (size_t c = 0; c < w->n_clusters; c++) {
        char y[COLUMN], title[COLUMN];
        snprintf(title, sizeof title, "%zu worker%s", w->workers[c], w->workers[c] == 1 ? "" : "s");
        sg_json_push(out, SG_OBJECT(SG_TEXT("x", "bandwidth"), SG_TEXT("y", speedup_column(y, w->workers[c])),
                                    SG_TEXT("log", "xy"), SG_TEXT("title", title), SG_TEXT("kind", "curves")));
    }
    return out;
}

/* ---- the action and its results ---- */

static cJSON *methods_json(const struct when *w) {
    cJSON *out = cJSON_CreateArray();
    for (size_t m = 0; m < w->n_methods; m++) {
        const struct when_method *of = &w->method[m];
        cJSON *seeds = cJSON_CreateArray();
        for (size_t s = 0; !is_out(w, m) && s < w->seeds; s++)
            sg_json_push(seeds, SG_OBJECT(SG_U64("seed", of->run[s].seed), SG_NUMBER("step", of->run[s].steps)));
        sg_json_push(out, SG_OBJECT(SG_TEXT("label", of->cell->label), SG_BOOL("reaches", !is_out(w, m)),
                                    SG_TEXT("reason", is_out(w, m) ? of->why : NULL), SG_VALUE("seeds", seeds)));
    }
    return out;
}

static cJSON *points_json(const struct when *w) {
    cJSON *out = cJSON_CreateArray();
    for (size_t c = 0; c < w->n_clusters; c++)
        for (size_t b = 0; b < w->n_bandwidths; b++) {
            const struct when_time *time = when_times(w, c, b);
            const size_t best = when_fastest(w, time);
            cJSON *noise = cJSON_CreateArray();
            for (size_t m = 0; m < w->n_methods; m++)
                if (m != best && time[m].may_be_fastest)
                    sg_json_push_string(noise, w->method[m].cell->label);
            sg_json_push(
                out, SG_OBJECT(SG_NUMBER("workers", w->workers[c]),
                               SG_NUMBER("bandwidth_gbit_per_s", w->bandwidth[b] / GBIT),
                               SG_NUMBER("baseline_s", time[w->baseline].mean_s),
                               SG_TEXT("fastest", w->method[best].cell->label),
                               SG_NUMBER("fastest_s", time[best].mean_s), SG_NUMBER("speedup", time[best].speedup),
                               SG_NUMBER("speedup_least", time[best].least), SG_NUMBER("speedup_most", time[best].most),
                               SG_VALUE("within_noise", noise), SG_NUMBER("speedup_free", when_free(w, time))));
        }
    return out;
}

static cJSON *gains_json(const struct when *w) {
    cJSON *out = cJSON_CreateArray();
    for (size_t c = 0; c < w->n_clusters; c++)
        for (size_t m = 0; m < w->n_methods; m++) {
            const struct when_gain *g = &w->gain[c * w->n_methods + m];
            if (m == w->baseline || is_out(w, m))
                continue;
            sg_json_push(out, SG_OBJECT(SG_NUMBER("workers", w->workers[c]), SG_TEXT("label", w->method[m].cell->label),
                                        SG_TEXT("gains", when_where(g)), SG_NUMBER("from_gbit_per_s", g->from / GBIT),
                                        SG_NUMBER("to_gbit_per_s", g->to / GBIT)));
        }
    return out;
}

static cJSON *tune_json(const struct when *w, cJSON *take_answer, cJSON *take_assumptions) {
    char margin[TUNE_MARGIN_CHARS];
    return SG_OBJECT(SG_TEXT("action", "when"), SG_BOOL("modelled", true), SG_BOOL("network_assumed", w->assumed),
                     SG_TEXT("metric", w->metric), SG_TEXT("better", w->higher ? "higher" : "lower"),
                     SG_NUMBER("target", w->target), SG_BOOL("target_given", w->given),
                     SG_NUMBER("tolerance", w->margin.share), SG_TEXT("margin", tune_margin_text(margin, &w->margin)),
                     SG_NUMBER("window", WHEN_WINDOW), SG_TEXT("baseline", w->method[w->baseline].cell->label),
                     SG_NUMBER("baseline_value", w->attained), SG_VALUE("methods", methods_json(w)),
                     SG_VALUE("points", points_json(w)), SG_VALUE("gains", gains_json(w)),
                     SG_VALUE("assumptions", take_assumptions), SG_VALUE("answer", take_answer));
}

/* The sentences as the finding of a result. */
static cJSON *summary_json(const cJSON *answer) {
    const cJSON *sentence;
    char *text = NULL;
    size_t size;
    FILE *stream = sg_memstream(&text, &size);
    cJSON_ArrayForEach(sentence, answer) /* whoever shows it ends it with a full stop */
        fprintf(stream, "%s%.*s", sentence == answer->child ? "" : " ",
                (int)strlen(sentence->valuestring) - (sentence->next == NULL), sentence->valuestring);
    text = sg_stream_text(stream, &text);
    cJSON *out = SG_OBJECT(SG_TEXT("text", text));
    free(text);
    return out;
}

void when_document(const struct when *w, const struct tune_trials *b) {
    const struct sg_run *first = &b->outcomes[0].run;
    struct sg_arena memory = {0};
    const struct sg_text_list identities = sg_grid_identities(b->outcomes, b->count, &memory);
    char *model = sg_grid_network_text(&w->network);
    cJSON *answer = when_answer_json(w), *tune = tune_json(w, answer, when_assumptions_json(w));
    cJSON *evidence =
        SG_OBJECT(SG_TEXT("schema", SG_SCHEMA_BENCH), SG_TEXT("kind", "when"), SG_TEXT("status", "ok"),
                  SG_VALUE("program", NULL), SG_VALUE("run", NULL), SG_VALUE("recipe", sg_recipe_json(&b->recipe)),
                  SG_VALUE("dataset", cJSON_Duplicate(sg_json_get(first->header, "dataset"), true)),
                  SG_VALUE("identities", sg_text_list_json(&identities)), SG_VALUE("units", units_json(w, model)),
                  SG_VALUE("network", network_json(w, model)), SG_VALUE("results", results_json(w)),
                  SG_VALUE("claims", cJSON_CreateArray()), SG_VALUE("plots", plots_json(w)),
                  SG_VALUE("table", table_json(w)), SG_VALUE("summary", summary_json(answer)), SG_VALUE("tune", tune));
    free(model);
    sg_arena_free(&memory);
    tune_show(w->t, evidence, when_put_table, w);
}

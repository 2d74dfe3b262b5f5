/* tune_when_evidence.c: what --when found, as JSON that sparseplot-export draws: a panel for each number of workers, a
 * line for each method. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* One line of every panel. method n_methods: what free compression could give. */
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

/* Up to which of the bandwidths that were looked at a method gains; 0 = at none. */
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
    cJSON *out = cJSON_CreateObject();
    const bool free_one = method == w->n_methods, baseline = free_one || method == w->baseline;
    const struct sg_cell *cell = free_one ? NULL : w->method[method].cell;
    sg_json_set_string(out, "label", free_one ? "free compression, at most" : cell->label);
    sg_json_set_string(out, "method", free_one ? "free compression, at most" : cell->name);
    sg_json_set_string(out, "compressor", free_one ? NULL : sg_node_string(cell->method, "compressor", NULL));
    sg_json_set_bool(out, "baseline", baseline);
    sg_json_set(out, "seeds", seeds_json(w));
    sg_json_set(out, "series", series_json(w, method));
    sg_json_set(out, "final", baseline ? NULL : final_json(w, method));
    return out;
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
    cJSON *out = sg_grid_network_json(&w->network, name);
    free(name);
    return out;
}

/* What tables show in place of the lines of the plots. */
static cJSON *table_json(const struct when *w) {
    cJSON *out = cJSON_CreateObject(), *columns = cJSON_CreateArray();
    char name[COLUMN], target[WHEN_TEXT], *text;
    for (size_t c = 0; c < w->n_clusters; c++)
        sg_json_push_string(columns, gains_column(name, w->workers[c]));
    text = sg_format("Modelled: the bandwidth up to which a method reaches %s sooner than no compression, of %.3g to "
                     "%.3g Gbit/s that were looked at; 0: at none",
                     when_target_text(w, target), w->bandwidth[0] / GBIT, w->bandwidth[w->n_bandwidths - 1] / GBIT);
    sg_json_set(out, "columns", columns);
    sg_json_set_string(out, "footnote", text);
    free(text);
    return out;
}

static cJSON *plots_json(const struct when *w) {
    cJSON *out = cJSON_CreateArray();
    for (size_t c = 0; c < w->n_clusters; c++) {
        cJSON *plot = cJSON_CreateObject();
        char name[COLUMN];
        sg_json_set_string(plot, "x", "bandwidth");
        sg_json_set_string(plot, "y", speedup_column(name, w->workers[c]));
        sg_json_set_string(plot, "log", "xy");
        snprintf(name, sizeof name, "%zu worker%s", w->workers[c], w->workers[c] == 1 ? "" : "s");
        sg_json_set_string(plot, "title", name);
        sg_json_set_string(plot, "kind", "curves");
        sg_json_push(out, plot);
    }
    return out;
}

/* ---- what was done and found ---- */

static cJSON *methods_json(const struct when *w) {
    cJSON *out = cJSON_CreateArray();
    for (size_t m = 0; m < w->n_methods; m++) {
        const struct when_method *of = &w->method[m];
        cJSON *method = cJSON_CreateObject(), *seeds = cJSON_CreateArray();
        for (size_t s = 0; !is_out(w, m) && s < w->seeds; s++) {
            cJSON *seed = cJSON_CreateObject();
            sg_json_set_u64(seed, "seed", of->run[s].seed);
            sg_json_set_number(seed, "step", of->run[s].steps);
            sg_json_push(seeds, seed);
        }
        sg_json_set_string(method, "label", of->cell->label);
        sg_json_set_bool(method, "reaches", !is_out(w, m));
        sg_json_set_string(method, "reason", is_out(w, m) ? of->why : NULL);
        sg_json_set(method, "seeds", seeds);
        sg_json_push(out, method);
    }
    return out;
}

static cJSON *points_json(const struct when *w) {
    cJSON *out = cJSON_CreateArray();
    for (size_t c = 0; c < w->n_clusters; c++)
        for (size_t b = 0; b < w->n_bandwidths; b++) {
            const struct when_time *time = when_times(w, c, b);
            const size_t best = when_fastest(w, time);
            cJSON *point = cJSON_CreateObject(), *noise = cJSON_CreateArray();
            for (size_t m = 0; m < w->n_methods; m++)
                if (m != best && time[m].may_be_fastest)
                    sg_json_push_string(noise, w->method[m].cell->label);
            sg_json_set_number(point, "workers", (double)w->workers[c]);
            sg_json_set_number(point, "bandwidth_gbit_per_s", w->bandwidth[b] / GBIT);
            sg_json_set_number(point, "baseline_s", time[w->baseline].mean_s);
            sg_json_set_string(point, "fastest", w->method[best].cell->label);
            sg_json_set_number(point, "fastest_s", time[best].mean_s);
            sg_json_set_number(point, "speedup", time[best].speedup);
            sg_json_set_number(point, "speedup_least", time[best].least);
            sg_json_set_number(point, "speedup_most", time[best].most);
            sg_json_set(point, "within_noise", noise);
            sg_json_set_number(point, "speedup_free", when_free(w, time));
            sg_json_push(out, point);
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
            cJSON *gain = cJSON_CreateObject();
            sg_json_set_number(gain, "workers", (double)w->workers[c]);
            sg_json_set_string(gain, "label", w->method[m].cell->label);
            sg_json_set_string(gain, "gains", when_where(g));
            sg_json_set_number(gain, "from_gbit_per_s", g->from / GBIT);
            sg_json_set_number(gain, "to_gbit_per_s", g->to / GBIT);
            sg_json_push(out, gain);
        }
    return out;
}

static cJSON *tune_json(const struct when *w, cJSON *take_answer, cJSON *take_assumptions) {
    cJSON *out = cJSON_CreateObject();
    sg_json_set_string(out, "action", "when");
    sg_json_set_bool(out, "modelled", true);
    sg_json_set_bool(out, "network_assumed", w->assumed);
    sg_json_set_string(out, "metric", w->metric);
    sg_json_set_string(out, "better", w->higher ? "higher" : "lower");
    sg_json_set_number(out, "target", w->target);
    sg_json_set_bool(out, "target_given", w->given);
    sg_json_set_number(out, "tolerance", w->tolerance);
    sg_json_set_number(out, "window", WHEN_WINDOW);
    sg_json_set_string(out, "baseline", w->method[w->baseline].cell->label);
    sg_json_set_number(out, "baseline_value", w->attained);
    sg_json_set(out, "methods", methods_json(w));
    sg_json_set(out, "points", points_json(w));
    sg_json_set(out, "gains", gains_json(w));
    sg_json_set(out, "assumptions", take_assumptions);
    sg_json_set(out, "answer", take_answer);
    return out;
}

/* The sentences as the finding of a result. */
static cJSON *summary_json(const cJSON *answer) {
    cJSON *out = cJSON_CreateObject();
    const cJSON *sentence;
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    cJSON_ArrayForEach(sentence, answer) if (stream) /* whoever shows it ends it with a full stop */
        fprintf(stream, "%s%.*s", sentence == answer->child ? "" : " ",
                (int)strlen(sentence->valuestring) - (sentence->next == NULL), sentence->valuestring);
    text = sg_stream_text(stream, &text);
    sg_json_set_string(out, "text", text);
    free(text);
    return out;
}

sg_status when_document(const struct when *w, const struct tune_trials *b, struct sg_error *err) {
    const struct sg_run *first = &b->outcomes[0].run;
    char *model = when_model_text(w);
    cJSON *out = cJSON_CreateObject(), *answer = when_answer_json(w), *assumptions = when_assumptions_json(w);
    if (!model || !out || !answer || !assumptions) {
        free(model);
        cJSON_Delete(out);
        cJSON_Delete(answer);
        cJSON_Delete(assumptions);
        return sg_fail_memory(err, "the evidence");
    }
    w->t->table = when_table(w, answer, assumptions);
    sg_json_set_string(out, "schema", SG_SCHEMA_BENCH);
    sg_json_set_string(out, "kind", "when");
    sg_json_set_string(out, "status", "ok");
    sg_json_set(out, "program", NULL);
    sg_json_set(out, "run", NULL);
    sg_json_set(out, "recipe", sg_recipe_json(&b->recipe));
    sg_json_set(out, "dataset", cJSON_Duplicate(sg_json_get(first->header, "dataset"), true));
    sg_json_set(out, "identities", sg_grid_identities(b->outcomes, b->count));
    sg_json_set(out, "units", units_json(w, model));
    sg_json_set(out, "network", network_json(w, model));
    sg_json_set(out, "results", results_json(w));
    sg_json_set(out, "claims", cJSON_CreateArray());
    sg_json_set(out, "plots", plots_json(w));
    sg_json_set(out, "table", table_json(w));
    sg_json_set(out, "summary", summary_json(answer));
    sg_json_set(out, "tune", tune_json(w, answer, assumptions));
    w->t->evidence = out;
    free(model);
    return w->t->table ? SG_OK : sg_fail_memory(err, "the table");
}

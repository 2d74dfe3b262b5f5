/* audit_document.c: makes a result again: from the series in a bundle, from the values of every seed that a result
 * has, or from new runs. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audit_evidence.h"
#include "sg_text.h"

/* ---- the options of the command that made the result ---- */

/* The number of points of --points; by default as of sparsebench. */
static size_t points_of(const cJSON *argv) {
    const cJSON *word;
    int64_t most = 600;
    cJSON_ArrayForEach(word, argv) {
        const char *text = cJSON_IsString(word) ? word->valuestring : "";
        if (strncmp(text, "--points=", 9) == 0)
            text += 9;
        else if (strcmp(text, "--points") == 0 && cJSON_IsString(word->next))
            text = word->next->valuestring;
        else
            continue;
        if (!sg_parse_integer(&most, text, 0, INT64_MAX))
            most = 600;
    }
    return (size_t)most;
}

/* Why the command judged nothing; NULL = it judged. */
static const char *unjudged(const cJSON *run) {
    const cJSON *word;
    const char *why = sg_json_string(run, "part", NULL) ? "--part was given" : NULL;
    cJSON_ArrayForEach(word, sg_json_get(run, "argv")) {
        if (!why && cJSON_IsString(word) && strcmp(word->valuestring, "--no-judge") == 0)
            why = "--no-judge was given";
    }
    return why;
}

/* Adds the strings of a list of the result's "run" to the words of an option. */
static sg_status read_words(struct sg_option_list *out, const struct sg_audit *a, const char *key,
                            struct sg_error *err) {
    const cJSON *word;
    cJSON_ArrayForEach(word, sg_json_get(a->result, key)) {
        if (!cJSON_IsString(word) || out->count == sizeof out->item / sizeof *out->item)
            return sg_fail(err, SG_ERR_FORMAT, "%s: \"%s\" is no list of at most 64 texts", a->path, key);
        out->item[out->count++] = word->valuestring;
    }
    return SG_OK;
}

static bool has_seed(const struct sg_cell *cell, const char *seed) {
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, cell->study);
    return strcmp(text, seed) == 0;
}

sg_status audit_choose(bool *chosen, const struct sg_audit *a, struct sg_error *err) {
    struct sg_option_list methods = {.count = 0}, seeds = methods;
    const bool part = sg_json_string(a->result, "run.part", NULL);
    sg_status status = read_words(&methods, a, "run.methods", err);
    SG_DO(status, read_words(&seeds, a, "run.seeds", err));
    for (size_t i = 0; i < a->total && status == SG_OK; i++)
        chosen[i] = a->then[i] ||
                    (!a->edited && !part && !a->cells[i].winner && grid_is_listed(&methods, &a->cells[i], sg_cell_is) &&
                     grid_is_listed(&seeds, &a->cells[i], has_seed));
    return status;
}

/* ---- a run of which values alone are known ---- */

/* The place of the seed among the label's; -1 = it is none of them. */
static int seed_index(const cJSON *label, const char *seed) {
    const cJSON *item;
    int i = 0;
    cJSON_ArrayForEach(item, sg_json_get(label, "seeds")) {
        if (cJSON_IsString(item) && strcmp(item->valuestring, seed) == 0)
            return i;
        i++;
    }
    return -1;
}

/* The value of a column before the first step, of which a result has the mean over the seeds. */
static double start_of(const cJSON *series, const char *column) {
    const cJSON *first = cJSON_GetArrayItem(sg_json_get(series, "step"), 0), *curve = sg_json_get(series, column);
    const cJSON *mean = cJSON_IsArray(curve) ? curve : sg_json_get(curve, "mean");
    return sg_json_number(first, "", NAN) == 0 ? sg_json_number(cJSON_GetArrayItem(mean, 0), "", NAN) : NAN;
}

/* Gives the run a record for each final value of this seed, behind one for where it began. */
static sg_status add_finals(struct sg_run *run, const cJSON *label, int seed, struct sg_error *err) {
    const cJSON *column, *final = sg_json_get(label, "final");
    sg_status status = SG_OK;
    run->n_points = 2;
    cJSON_ArrayForEach(column, final) {
        double *value = malloc(2 * sizeof *value);
        if (!value)
            return sg_fail_memory(err, "the final values");
        value[1] = sg_json_number(cJSON_GetArrayItem(sg_json_get(column, "values"), seed), "", NAN);
        value[0] = isnan(value[1]) ? NAN : start_of(sg_json_get(label, "series"), column->string);
        SG_DO(status, sg_run_add_series(run, column->string, "", value, err));
    }
    return status;
}

/* What claims and plots say of the label at this seed: values whose `at` is not the end of the run. */
static void add_values(struct sg_run *run, const cJSON *result, const char *label, const char *seed, int index) {
    static const char *const term[][4] = {{"of", "metric", "at", "value"},
                                          {"bound.of", "bound.metric", "bound.at", "other"}};
    static const char *const axis[][3] = {{"x", "x_at", "x.values"}, {"y", "y_at", "y.values"}};
    const cJSON *claim, *plot, *item;
    cJSON_ArrayForEach(claim, sg_json_get(result, "claims")) {
        for (size_t k = 0; k < 2; k++) {
            if (strcmp(sg_json_string(claim, term[k][0], ""), label) != 0)
                continue;
            cJSON_ArrayForEach(item, sg_json_get(claim, "seeds")) {
                if (strcmp(sg_json_string(item, "seed", ""), seed) == 0)
                    sg_run_know(run, sg_json_string(claim, term[k][1], ""), sg_json_get(claim, term[k][2]),
                                sg_json_number(item, term[k][3], NAN));
            }
        }
    }
    cJSON_ArrayForEach(plot, sg_json_get(result, "plots")) {
        cJSON_ArrayForEach(item, sg_json_get(plot, "points")) {
            for (size_t k = 0; k < 2 && strcmp(sg_json_string(item, "label", ""), label) == 0; k++) {
                const char *metric = sg_json_string(plot, axis[k][0], "");
                const bool rate = sg_same_name(metric, strlen(metric), "learning_rate");
                sg_run_know(run, rate ? "gamma" : metric, sg_json_get(plot, axis[k][1]),
                            sg_json_number(cJSON_GetArrayItem(sg_json_get(item, axis[k][2]), index), "", NAN));
            }
        }
    }
}

/* Makes the run of a cell from what the result says of it. Of a trial it is only the value by which it was judged. */
static sg_status run_of_values(struct sg_run *run, const struct sg_audit *a, size_t cell, struct sg_error *err) {
    const cJSON *entry = a->then[cell], *label = NULL, *item;
    const char *seed = sg_json_string(entry, "seed", ""), *by = sg_node_string(&a->recipe.root, "tune.by", "");
    const bool trial = a->cells[cell].trial > 0, chosen = !trial || a->cells[cell].winner;
    cJSON_ArrayForEach(item, sg_json_get(a->result, "results")) {
        if (strcmp(sg_json_string(item, "label", ""), a->cells[cell].group) == 0)
            label = item;
    }
    const int index = seed_index(label, seed);
    run->values = cJSON_CreateObject();
    run->header = SG_OBJECT(SG_VALUE("constants", index == 0 ? sg_json_copy(sg_json_get(label, "constants")) : NULL));
    run->end = SG_OBJECT(SG_TEXT("status", sg_json_string(entry, "status", "")));
    if (trial) {
        cJSON *at = sg_node_json(sg_node_get(&a->recipe.root, "tune.at"));
        sg_run_know(run, by, at, sg_json_number(entry, "value", NAN));
        cJSON_Delete(at);
    }
    if (chosen)
        add_values(run, a->result, a->cells[cell].group, seed, index);
    return chosen ? add_finals(run, label, index, err) : SG_OK;
}

/* ---- documents ---- */

sg_status audit_outcome(struct sg_cell_outcome *o, const struct sg_audit *a, size_t cell, const char **file,
                        struct sg_error *err) {
    const cJSON *entry = a->then[cell];
    const char *status = sg_json_string(entry, "status", "not_run"), *message = sg_json_string(entry, "message", NULL);
    o->path = strdup(sg_json_string(entry, "file", ""));
    if (sg_run_status_is_finished(status)) {
        o->state = SG_CELL_REUSED;
        return a->bundle.n > 0 ? audit_read_cell(&o->run, a, &a->cells[cell], file, err)
                               : run_of_values(&o->run, a, cell, err);
    }
    o->state = strcmp(status, "failed") == 0    ? SG_CELL_FAILED
               : strcmp(status, "running") == 0 ? SG_CELL_RUNNING
                                                : SG_CELL_WAITING;
    if (strcmp(status, "not_run") != 0)
        o->message = strdup(message ? message : "interrupted");
    return SG_OK;
}

sg_status audit_document(cJSON **out, const struct sg_audit *a, const struct sg_cell *cells,
                         struct sg_cell_outcome *outcomes, size_t n, bool series, struct sg_error *err) {
    struct sg_grid_network network;
    bool modelled;
    const cJSON *run = sg_json_get(a->result, "run");
    sg_status status = sg_grid_network_read(&network, &modelled, &a->recipe, err);
    if (status == SG_OK && modelled && series)
        status = sg_grid_network(outcomes, cells, n, &a->recipe, &network, err);
    if (status != SG_OK)
        return status;
    *out = sg_grid_document(NULL, NULL, &a->recipe, modelled ? &network : NULL, cells, outcomes, n,
                            points_of(sg_json_get(run, "argv")));
    if (!*out || sg_json_is_lost())
        return sg_fail_memory(err, a->path);
    if (unjudged(run))
        sg_grid_unjudge(*out, unjudged(run));
    return SG_OK;
}

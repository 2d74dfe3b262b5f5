/* tune_explain_output.c: what --explain found, as JSON that sparseplot-export draws, and as a table with sentences. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_json.h"
#include "sg_result.h"
#include "sg_stats.h"
#include "sg_text.h"
#include "tune_explain.h"

static const char *number_of(const struct explain_column *error) {
    return error->mean ? "mean over records" : "last record";
}

static const char *better_is(const struct explain *e) {
    return e->column[0].sense < 0 ? "higher" : "lower";
}

/* ---- JSON ---- */

static cJSON *wrong_json(const struct explain *e, const struct explain_column *error) {
    cJSON *out = cJSON_CreateArray();
    for (size_t i = 0; i < error->n_wrong; i++) {
        const struct explain_wrong *w = &error->wrong[i];
        sg_json_push(out, SG_OBJECT(SG_TEXT("seed", e->seed[w->seed]), SG_TEXT("better", e->method[w->better].name),
                                    SG_TEXT("worse", e->method[w->worse].name), SG_BOOL("overlap", w->overlap)));
    }
    return out;
}

static cJSON *errors_json(const struct explain *e) {
    cJSON *out = cJSON_CreateArray();
    for (size_t i = 1; i < e->n_columns; i++) {
        const struct explain_column *error = &e->column[i];
        sg_json_push(
            out, SG_OBJECT(SG_TEXT("column", error->column), SG_TEXT("number", number_of(error)),
                           SG_TEXT("worse", error->sense > 0 ? "more" : "less"), SG_NUMBER("methods", error->n_methods),
                           SG_VALUE("correlation", tune_interval_json(&error->correlation)),
                           SG_TEXT("verdict", explain_verdict(error)),
                           SG_VALUE("behind_first", tune_interval_json(&error->behind)),
                           SG_TEXT("against_first", explain_rank(e, error)), SG_NUMBER("pairs", error->n_pairs),
                           SG_NUMBER("pairs_right", error->n_pairs - error->n_wrong),
                           SG_VALUE("pairs_wrong", wrong_json(e, error))));
    }
    return out;
}

/* The columns that stand so to the first error, with commas between them; NULL = there are none, or no memory. */
static char *list_of(const struct explain *e, const char *rank) {
    char *text = NULL, name[TUNE_METRIC_CHARS];
    size_t size, n = 0;
    FILE *out = open_memstream(&text, &size);
    for (size_t i = 1; out && i < e->n_columns; i++)
        if (strcmp(explain_rank(e, &e->column[i]), rank) == 0)
            fprintf(out, "%s%s", n++ ? ", " : "", tune_words(name, e->column[i].column));
    if (!out || fclose(out) != 0 || n == 0) {
        free(text);
        return NULL;
    }
    return text;
}

static cJSON *conclusion_json(const struct explain *e) {
    static const char *const rank[] = {"ties", "cannot tell", "behind", "ahead"};
    static const char *const text[] = {"Every draw gives the same order by", "Cannot be told from it:", "Behind it:",
                                       "Ahead of it over the methods that have both:"};
    cJSON *out = cJSON_CreateArray();
    char name[TUNE_METRIC_CHARS], metric[TUNE_METRIC_CHARS];
    if (e->first == 0) {
        tune_sentence(out, "No error differs between the methods: cannot tell.");
        return out;
    }
    const struct explain_column *first = &e->column[e->first];
    tune_sentence(out,
                  "Over %zu methods and %zu seed%s, the highest rank correlation with %s is that of %s, %.2f (%.2f to "
                  "%.2f); it orders %zu of %zu pairs of a seed.%s",
                  first->n_methods, e->n_seeds, e->n_seeds == 1 ? "" : "s", tune_words(metric, e->metric),
                  tune_words(name, first->column), first->correlation.value, first->correlation.low,
                  first->correlation.high, first->n_pairs - first->n_wrong, first->n_pairs,
                  strcmp(explain_verdict(first), "cannot tell") != 0 ? ""
                  : first->n_methods < EXPLAIN_FEWEST ? " So few methods may have this order by chance: cannot tell."
                                                      : " That may be chance: cannot tell.");
    for (size_t i = 0; i < sizeof rank / sizeof *rank; i++) {
        char *list = list_of(e, rank[i]);
        if (list)
            tune_sentence(out, "%s %s.", text[i], list);
        free(list);
    }
    return out;
}

/* The methods as labels of a result, which have finals alone. */
static cJSON *results_json(const struct explain *e) {
    cJSON *out = cJSON_CreateArray();
    for (size_t m = 0; m < e->n_methods; m++) {
        const struct explain_method *method = &e->method[m];
        cJSON *seeds = cJSON_CreateArray(), *final = cJSON_CreateObject();
        for (size_t s = 0; s < e->n_seeds; s++)
            sg_json_push_string(seeds, e->seed[s]);
        for (size_t i = 0; i < e->n_columns; i++)
            sg_json_set(final, e->column[i].column,
                        sg_frame_values_json(e->column[i].value + m * e->n_seeds, e->n_seeds));
        sg_json_push(out, tune_label_json(method->name, method->label->compressor, seeds, cJSON_CreateObject(), final));
    }
    return out;
}

/* True if a log axis shows these numbers better: all are positive, and they span a factor of ten. */
static bool wants_log(const double *value, size_t n) {
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < n; i++) {
        least = fmin(least, value[i]);
        most = fmax(most, value[i]);
    }
    return least > 0 && most >= 10 * least;
}

/* A panel of points for each error. */
static cJSON *plots_json(const struct explain *e) {
    cJSON *out = cJSON_CreateArray();
    bool y = true;
    for (size_t m = 0; m < e->n_methods; m++)
        y = y && wants_log(e->column[0].value + m * e->n_seeds, e->n_seeds);
    for (size_t i = 1; i < e->n_columns; i++) {
        const bool x = wants_log(e->column[i].value, e->n_methods * e->n_seeds);
        cJSON *at = e->column[i].mean ? SG_OBJECT(SG_BOOL("mean", true)) : SG_OBJECT(SG_BOOL("final", true));
        sg_json_push(out, SG_OBJECT(SG_TEXT("x", e->column[i].column), SG_TEXT("y", e->metric),
                                    SG_TEXT("log", x && y ? "xy"
                                                   : x    ? "x"
                                                   : y    ? "y"
                                                          : "none"),
                                    SG_TEXT("title", NULL), SG_TEXT("kind", "points"), SG_VALUE("x_at", at),
                                    SG_VALUE("y_at", sg_json_copy(e->at)), SG_VALUE("points", NULL)));
    }
    return out;
}

cJSON *explain_json(const struct explain *e) {
    const cJSON *document = e->source[0].document;
    cJSON *paths = cJSON_CreateArray();
    for (size_t i = 0; i < e->n_sources; i++)
        sg_json_push_string(paths, e->source[i].path);
    return SG_OBJECT(
        SG_TEXT("schema", SG_SCHEMA_BENCH), SG_TEXT("status", "ok"), SG_VALUE("program", NULL), SG_VALUE("run", NULL),
        SG_VALUE("recipe", SG_OBJECT(SG_TEXT("name", e->source[0].name),
                                     SG_TEXT("title", sg_json_string(document, "recipe.title", NULL)))),
        SG_VALUE("dataset", sg_json_copy(sg_json_get(document, "dataset"))),
        SG_VALUE("units", sg_json_copy(sg_json_get(document, "units"))), SG_VALUE("results", results_json(e)),
        SG_VALUE("claims", cJSON_CreateArray()), SG_VALUE("plots", plots_json(e)),
        SG_VALUE("tune",
                 SG_OBJECT(SG_TEXT("action", "explain"), SG_VALUE("results", paths), SG_TEXT("metric", e->metric),
                           SG_VALUE("at", sg_json_copy(e->at)), SG_TEXT("better", better_is(e)),
                           SG_NUMBER("draws", SG_BOOTSTRAP_DRAWS), SG_U64("seed", SG_BOOTSTRAP_SEED),
                           SG_NUMBER("confidence", 0.95), SG_VALUE("left_out", sg_json_copy(e->left_out)),
                           SG_VALUE("errors", errors_json(e)), SG_VALUE("conclusion", conclusion_json(e)))));
}

/* ---- the table ---- */

static const struct sg_table_column heads[] = {
    {.head = "error", .weight = SG_TABLE_ALWAYS},
    {.head = "number of a run", .weight = 1},
    {.head = "methods", .align = SG_TABLE_RIGHT, .weight = 2},
    {.head = "rank correlation", .align = SG_TABLE_RIGHT, .weight = SG_TABLE_ALWAYS, .head_most = 11},
    {.head = "95 %", .weight = SG_TABLE_ALWAYS},
    {.head = "verdict", .weight = SG_TABLE_ALWAYS},
    {.head = "against the first", .weight = 4, .head_most = 11},
    {.head = "by 95 %", .weight = 3},
    {.head = "pairs right", .align = SG_TABLE_RIGHT, .weight = SG_TABLE_ALWAYS, .head_most = 8},
};

static void put_interval(sg_table *table, const struct sg_interval *number) {
    if (isnan(number->low))
        sg_table_cell(table, "-", NULL);
    else
        sg_table_format(table, "%.2f to %.2f", number->low, number->high);
}

/* Writes the pairs of methods that an error gets wrong, each with how many seeds. Where they are many it names some,
 * first those whose qualities do not overlap, and of these the ones of most seeds. */
static void put_wrong(FILE *out, const struct explain *e, const struct explain_column *error, const struct sg_tune *t) {
    enum { MOST = 6 };
    size_t *seeds = calloc(e->n_methods * e->n_methods, sizeof *seeds), size, pairs = 0;
    char *text = NULL, name[TUNE_METRIC_CHARS];
    FILE *line = seeds && error->n_wrong > 0 ? open_memstream(&text, &size) : NULL;
    for (size_t i = 0; line && i < error->n_wrong; i++)
        pairs += seeds[error->wrong[i].better * e->n_methods + error->wrong[i].worse]++ == 0;
    for (size_t k = 0; line && k < pairs && k < MOST; k++) {
        const struct explain_wrong *next = NULL;
        size_t most = 0;
        for (size_t i = 0; i < error->n_wrong; i++) {
            const struct explain_wrong *w = &error->wrong[i];
            const size_t n = seeds[w->better * e->n_methods + w->worse];
            if (n > 0 && (!next || (next->overlap && !w->overlap) || (next->overlap == w->overlap && n > most))) {
                next = w;
                most = n;
            }
        }
        fprintf(line, "%s%s before %s (%zu seed%s%s)", k > 0 ? "; " : "", e->method[next->better].name,
                e->method[next->worse].name, most, most == 1 ? "" : "s", next->overlap ? ", they overlap" : "");
        seeds[next->better * e->n_methods + next->worse] = 0;
    }
    if (line && pairs > MOST)
        fprintf(line, "; and %zu more", pairs - MOST);
    if (sg_stream_text(line, &text)) {
        char *whole = sg_format("%s gets wrong: %s", tune_words(name, error->column), text);
        if (whole)
            tune_put_comment(out, whole, t);
        free(whole);
    }
    free(text);
    free(seeds);
}

bool explain_put_table(FILE *out, const struct sg_tune *t, const void *of) {
    const struct explain *e = of;
    sg_table *table = sg_table_open(heads, sizeof heads / sizeof *heads);
    char metric[TUNE_METRIC_CHARS];
    fprintf(out, "# which error orders methods by %s, %s is better\n", tune_words(metric, e->metric), better_is(e));
    for (size_t i = 1; i < e->n_columns; i++) {
        const struct explain_column *error = &e->column[i];
        sg_table_cell(table, error->column, NULL);
        sg_table_cell(table, number_of(error), NULL);
        sg_table_format(table, "%zu", error->n_methods);
        sg_table_number(table, "%.2f", error->correlation.value);
        put_interval(table, &error->correlation);
        sg_table_cell(table, explain_verdict(error), NULL);
        sg_table_cell(table, explain_rank(e, error), NULL);
        put_interval(table, &error->behind);
        sg_table_format(table, "%zu of %zu", error->n_pairs - error->n_wrong, error->n_pairs);
    }
    if (!tune_put_table(out, table, t))
        return false;
    fputs("#\n", out);
    for (size_t i = 1; i < e->n_columns; i++)
        put_wrong(out, e, &e->column[i], t);
    tune_put_conclusion(out, e->left_out, t);
    return true;
}

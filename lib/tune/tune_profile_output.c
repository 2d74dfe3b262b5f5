/* tune_profile_output.c: what --profile found, as JSON that sparseplot-export draws, and as tables with sentences. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_json.h"
#include "sg_result.h"
#include "sg_text.h"
#include "tune_profile.h"

static const struct profile_task *task_of(const struct profile *p, size_t t) {
    return &p->task[t];
}

static const struct sg_profile_cell *cell_of(const struct profile *p, size_t m, size_t t) {
    return &p->cell[m * p->tasks + t];
}

/* What a method is compared by, as a clause; malloc'ed, NULL = no memory. */
static char *cost_text(const struct profile *p) {
    char cost[TUNE_METRIC_CHARS], margin[TUNE_MARGIN_CHARS], own[TUNE_MARGIN_CHARS];
    bool target = true, end = true;
    tune_margin_text(margin, &task_of(p, 0)->margin);
    for (size_t t = 0; t < p->tasks; t++) {
        target = target && task_of(p, t)->when;
        end = end && !task_of(p, t)->when;
        if (strcmp(tune_margin_text(own, &task_of(p, t)->margin), margin) != 0)
            strcpy(margin, "the margin of their metric");
    }
    tune_words(cost, p->cost);
    return p->quality ? strdup("quality")
           : target   ? sg_format("%s until the target", cost)
           : end      ? sg_format("%s of runs that end within %s of no compression's quality", cost, margin)
                 : sg_format("%s until the target, or of runs that end within %s of no compression's quality", cost,
                             margin);
}

/* The methods in the order of their mean ranks; malloc'ed [methods], NULL = no memory. */
static size_t *sorted(const struct profile *p) {
    size_t *order = malloc(p->methods * sizeof *order);
    for (size_t i = 0; order && i < p->methods; i++) {
        size_t k = i;
        for (; k > 0 && p->found[order[k - 1]].rank.value > p->found[i].rank.value; k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    return order;
}

/* ---- JSON ---- */

/* The costs that the statistics are of: with them, and the stream of the draws, everything can be computed again. */
static cJSON *tasks_json(const struct profile *p) {
    cJSON *out = cJSON_CreateArray();
    for (size_t t = 0; t < p->tasks; t++) {
        const struct profile_task *task = task_of(p, t);
        const cJSON *document = task->source.document;
        char margin[TUNE_MARGIN_CHARS];
        cJSON *settings = cJSON_CreateArray();
        for (size_t m = 0; m < p->methods; m++)
            for (size_t i = task->first[m]; i < task->first[m + 1]; i++) {
                cJSON *cost = cJSON_CreateArray();
                for (size_t s = 0; s < task->seeds; s++)
                    sg_json_push_number(cost, task->cost[i * task->seeds + s]);
                sg_json_push(settings, SG_OBJECT(SG_TEXT("method", p->method[m]),
                                                 SG_TEXT("label", task->label[i]->label), SG_VALUE("cost", cost)));
            }
        sg_json_push(
            out,
            SG_OBJECT(SG_TEXT("name", task->source.name), SG_TEXT("path", task->source.path),
                      SG_TEXT("metric", task->metric), SG_TEXT("margin", tune_margin_text(margin, &task->margin)),
                      SG_TEXT("better", task->sense < 0 ? "higher" : "lower"), SG_VALUE("at", sg_json_copy(task->at)),
                      SG_VALUE("target", sg_json_copy(task->when)), SG_TEXT("baseline", task->baseline->label),
                      SG_TEXT("unit", task->unit), SG_TEXT("network", sg_json_string(document, "network.model", NULL)),
                      SG_VALUE("seeds", sg_json_copy(sg_json_get(task->baseline->json, "seeds"))),
                      SG_VALUE("settings", settings)));
    }
    return out;
}

static cJSON *methods_json(const struct profile *p) {
    cJSON *out = cJSON_CreateArray();
    for (size_t m = 0; m < p->methods; m++) {
        const struct sg_profile_method *found = &p->found[m];
        cJSON *tasks = cJSON_CreateArray();
        for (size_t t = 0; t < p->tasks; t++) {
            const struct sg_profile_cell *cell = cell_of(p, m, t);
            const struct profile_task *task = task_of(p, t);
            sg_json_push(tasks,
                         SG_OBJECT(SG_TEXT("task", task->source.name),
                                   SG_TEXT("label", isinf(cell->cost) ? NULL : task->label[cell->setting]->label),
                                   SG_NUMBER("settings", task->first[m + 1] - task->first[m]),
                                   SG_NUMBER("cost", cell->cost), SG_NUMBER("ratio", p->quality ? NAN : cell->ratio),
                                   SG_NUMBER("rank", cell->rank)));
        }
        sg_json_push(out, SG_OBJECT(SG_TEXT("method", p->method[m]), SG_NUMBER("reached", found->reached),
                                    SG_VALUE("score", p->quality ? NULL : tune_interval_json(&found->score)),
                                    SG_VALUE("rank", tune_interval_json(&found->rank)),
                                    SG_VALUE("place", tune_interval_json(&found->place)), SG_VALUE("tasks", tasks)));
    }
    return out;
}

/* How often intervals of nominal 95 % held the truth in the simulations of tests/unit/test_profile.c, by tasks. */
static const struct {
    size_t tasks;
    int score, rank;
} coverage[] = {{2, 64, 64}, {4, 82, 88}, {8, 89, 91}, {32, 94, 95}};

static void put_settings(cJSON *out, const struct profile *p) {
    size_t least = SIZE_MAX, most = 0;
    for (size_t t = 0; t < p->tasks; t++)
        for (size_t m = 0; m < p->methods; m++) {
            const size_t n = task_of(p, t)->first[m + 1] - task_of(p, t)->first[m];
            least = n < least ? n : least;
            most = n > most ? n : most;
        }
    if (least < most)
        tune_sentence(out,
                      "The methods have %zu to %zu settings on a task, of which the best counts: more settings look "
                      "better even where all are alike.",
                      least, most);
}

static void put_same_tasks(cJSON *out, const struct profile *p) {
    for (size_t t = 1; t < p->tasks; t++)
        for (size_t u = 0; u < t; u++)
            if (cJSON_Compare(sg_json_get(task_of(p, t)->source.document, "recipe.resolved.task"),
                              sg_json_get(task_of(p, u)->source.document, "recipe.resolved.task"), true))
                tune_sentence(out, "%s and %s train the same model on the same data: they are no independent tasks.",
                              task_of(p, u)->source.name, task_of(p, t)->source.name);
}

static cJSON *conclusion_json(const struct profile *p) {
    cJSON *out = cJSON_CreateArray();
    char *cost = cost_text(p), place[SG_PLACES_CHARS];
    size_t *order = sorted(p), shown = 0, i = 0;
    if (!cost || !order)
        sg_json_lost();
    while (i + 1 < sizeof coverage / sizeof *coverage && coverage[i + 1].tasks <= p->tasks)
        i++;
    for (; order && shown < 3 && shown < p->methods; shown++) {
        const struct sg_profile_method *found = &p->found[order[shown]];
        char score[96] = "";
        if (!p->quality)
            snprintf(score, sizeof score, ", score %.2f (%.2f to %.2f)", found->score.value, found->score.low,
                     found->score.high);
        tune_sentence(out, "%s: mean rank %.2f of %zu methods, place %.0f (%s, 95 %%)%s.", p->method[order[shown]],
                      found->rank.value, p->methods, found->place.value, sg_profile_places_text(place, &found->place),
                      score);
    }
    put_settings(out, p);
    put_same_tasks(out, p);
    tune_sentence(out,
                  "The methods are compared by %s. Intervals are of a bootstrap over seeds and %zu task%s; simulated "
                  "with %zu, such an interval held the true score in %d %% and the true mean rank in %d %% of cases.",
                  cost ? cost : "", p->tasks, p->tasks == 1 ? "" : "s", coverage[i].tasks, coverage[i].score,
                  coverage[i].rank);
    free(cost);
    free(order);
    return out;
}

/* {"mean","std","n","values"} of a number of each task. */
static cJSON *spread_of(const struct profile *p, size_t m, bool rank) {
    double value[SG_TUNE_RESULTS];
    for (size_t t = 0; t < p->tasks; t++) {
        const struct sg_profile_cell *cell = cell_of(p, m, t);
        value[t] = rank ? cell->rank : fmax(0, SG_PROFILE_MOST - cell->ratio) / (SG_PROFILE_MOST - 1);
    }
    return sg_frame_values_json(value, p->tasks);
}

/* Where the profiles are drawn up to: past the largest finite ratio. */
static double largest_ratio(const struct profile *p) {
    double most = SG_PROFILE_MOST;
    for (size_t i = 0; i < p->methods * p->tasks; i++)
        most = isfinite(p->cell[i].ratio) ? fmax(most, p->cell[i].ratio) : most;
    return 1.1 * most;
}

/* The profile of a method as a line: two points at each of its ratios, one before and one behind the step. */
static cJSON *profile_series(const struct profile *p, size_t m) {
    cJSON *x = cJSON_CreateArray(), *y = cJSON_CreateArray();
    double ratio[SG_TUNE_RESULTS], share = 0, at = 1;
    for (size_t t = 0; t < p->tasks; t++)
        ratio[t] = cell_of(p, m, t)->ratio;
    sg_json_push_number(x, at);
    sg_json_push_number(y, sg_profile_share(ratio, p->tasks, at));
    for (share = sg_profile_share(ratio, p->tasks, at); isfinite(at);) {
        double next = INFINITY;
        for (size_t t = 0; t < p->tasks; t++)
            next = ratio[t] > at && ratio[t] < next ? ratio[t] : next;
        at = next;
        sg_json_push_number(x, isfinite(at) ? at : largest_ratio(p));
        sg_json_push_number(y, share);
        if (isfinite(at)) {
            share = sg_profile_share(ratio, p->tasks, at);
            sg_json_push_number(x, at);
            sg_json_push_number(y, share);
        }
    }
    return SG_OBJECT(SG_VALUE("cost_ratio", x), SG_VALUE("share_of_tasks", y));
}

/* The methods as labels of a result, whose seeds are the tasks, the best first. */
static cJSON *results_json(const struct profile *p) {
    cJSON *out = cJSON_CreateArray();
    size_t *order = sorted(p);
    if (!order)
        sg_json_lost();
    for (size_t i = 0; order && i < p->methods; i++) {
        const size_t m = order[i];
        const struct sg_profile_method *found = &p->found[m];
        cJSON *seeds = cJSON_CreateArray(), *final = cJSON_CreateObject();
        for (size_t t = 0; t < p->tasks; t++)
            sg_json_push_string(seeds, task_of(p, t)->source.name);
        if (!p->quality)
            SG_SET(final, SG_NUMBER("tasks_reached", found->reached), SG_VALUE("score", spread_of(p, m, false)));
        SG_SET(final, SG_VALUE("rank", spread_of(p, m, true)), SG_NUMBER("place", found->place.value),
               SG_NUMBER("place_from", floor(found->place.low)), SG_NUMBER("place_to", ceil(found->place.high)));
        sg_json_push(out, tune_label_json(p->method[m], task_of(p, 0)->label[task_of(p, 0)->first[m]]->compressor,
                                          seeds, p->quality ? cJSON_CreateObject() : profile_series(p, m), final));
    }
    free(order);
    return out;
}

static cJSON *plot_json(const char *x, const char *y, const char *log, const char *title, const char *kind) {
    return SG_OBJECT(SG_TEXT("x", x), SG_TEXT("y", y), SG_TEXT("log", log), SG_TEXT("title", title),
                     SG_TEXT("kind", kind), SG_TEXT("band", "none"), SG_VALUE("points", NULL));
}

static cJSON *plots_json(const struct profile *p) {
    cJSON *out = cJSON_CreateArray();
    if (!p->quality)
        sg_json_push(out, plot_json("cost_ratio", "share_of_tasks", "x", "performance profiles", "curves"));
    sg_json_push(out, plot_json("place", "rank", "none", "rank on each task", "ranking"));
    return out;
}

static cJSON *table_json(const struct profile *p) {
    static const char *const column[] = {"tasks_reached", "score", "rank", "place", "place_from", "place_to"};
    cJSON *columns = cJSON_CreateArray();
    for (size_t i = p->quality ? 2 : 0; i < sizeof column / sizeof *column; i++)
        sg_json_push_string(columns, column[i]);
    char *cost = cost_text(p);
    char *note =
        sg_format("Mean ± standard deviation over %zu task%s; places by mean rank, with the interval that holds "
                  "95 %% of bootstrap draws of seeds and tasks; cost: %s",
                  p->tasks, p->tasks == 1 ? "" : "s", cost ? cost : "");
    cJSON *out = SG_OBJECT(SG_VALUE("columns", columns), SG_TEXT("footnote", note));
    free(cost);
    free(note);
    return out;
}

/* The names of the tasks with commas between them; malloc'ed, NULL = no memory. */
static char *task_names(const struct profile *p) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (size_t t = 0; out && t < p->tasks; t++)
        fprintf(out, "%s%s", t > 0 ? ", " : "", task_of(p, t)->source.name);
    return sg_stream_text(out, &text);
}

cJSON *profile_json(const struct profile *p) {
    cJSON *paths = cJSON_CreateArray();
    for (size_t t = 0; t < p->tasks; t++)
        sg_json_push_string(paths, task_of(p, t)->source.path);
    char *cost = cost_text(p), *names = task_names(p);
    char *title = cost ? sg_format("%s on %zu tasks", cost, p->tasks) : NULL;
    if (!title || !names)
        sg_json_lost();
    else if (title[0] >= 'a' && title[0] <= 'z')
        title[0] = (char)(title[0] - 'a' + 'A');
    cJSON *out = SG_OBJECT(
        SG_TEXT("schema", SG_SCHEMA_BENCH), SG_TEXT("status", "ok"), SG_VALUE("program", NULL), SG_VALUE("run", NULL),
        SG_VALUE("recipe", SG_OBJECT(SG_TEXT("name", "profile"), SG_TEXT("title", title))),
        SG_VALUE("dataset", SG_OBJECT(SG_TEXT("name", names), SG_TEXT("source", "results"))), SG_TEXT("over", "tasks"),
        SG_VALUE("units", SG_OBJECT(SG_TEXT("cost_ratio", "of the least"))), SG_VALUE("results", results_json(p)),
        SG_VALUE("claims", cJSON_CreateArray()), SG_VALUE("plots", plots_json(p)), SG_VALUE("table", table_json(p)),
        SG_VALUE("tune",
                 SG_OBJECT(SG_TEXT("action", "profile"), SG_VALUE("results", paths), SG_TEXT("cost", p->cost),
                           SG_NUMBER("tolerance", p->task[0].margin.share), SG_NUMBER("draws", SG_BOOTSTRAP_DRAWS),
                           SG_U64("seed", SG_BOOTSTRAP_SEED), SG_NUMBER("confidence", 0.95),
                           SG_NUMBER("most_ratio", SG_PROFILE_MOST), SG_VALUE("tasks", tasks_json(p)),
                           SG_VALUE("methods", methods_json(p)), SG_VALUE("left_out", sg_json_copy(p->left_out)),
                           SG_VALUE("conclusion", conclusion_json(p)))));
    free(cost);
    free(names);
    free(title);
    return out;
}

/* ---- the tables ---- */

/* The columns of the scores, which quality lacks, come behind the first. */
static const struct sg_table_column heads[] = {
    {.head = "method", .weight = SG_TABLE_ALWAYS},
    {.head = "reached", .weight = 3},
    {.head = "score", .align = SG_TABLE_RIGHT, .weight = SG_TABLE_ALWAYS},
    {.head = "95 %", .weight = 2},
    {.head = "mean rank", .align = SG_TABLE_RIGHT, .weight = SG_TABLE_ALWAYS, .head_most = 5},
    {.head = "95 %", .weight = 1},
    {.head = "place", .align = SG_TABLE_RIGHT, .weight = SG_TABLE_ALWAYS},
    {.head = "95 %", .weight = SG_TABLE_ALWAYS},
};
enum { SCORES = 3 };

static void put_interval(sg_table *table, const struct sg_interval *number) {
    sg_table_number(table, "%.2f", number->value);
    sg_table_format(table, "%.2f to %.2f", number->low, number->high);
}

/* How many times the least cost each method has on each task. */
static bool put_ratios(FILE *out, const struct profile *p, const size_t *order, const struct sg_tune *t) {
    sg_table *table = sg_table_open(heads, 1);
    for (size_t i = 0; i < p->tasks; i++)
        sg_table_column(table, &(struct sg_table_column){.head = task_of(p, i)->source.name, .align = SG_TABLE_RIGHT});
    for (size_t i = 0; i < p->methods; i++) {
        sg_table_cell(table, p->method[order[i]], NULL);
        for (size_t k = 0; k < p->tasks; k++) {
            const double ratio = cell_of(p, order[i], k)->ratio;
            if (isinf(ratio))
                sg_table_cell(table, "not reached", NULL);
            else
                sg_table_number(table, "%.3g", ratio);
        }
    }
    fputs("#\n# times the least cost of a task\n", out);
    return tune_put_table(out, table, t);
}

bool profile_put_table(FILE *out, const struct sg_tune *t, const void *of) {
    const struct profile *p = of;
    sg_table *table = sg_table_open(heads, 1);
    for (size_t i = p->quality ? 1 + SCORES : 1; i < sizeof heads / sizeof *heads; i++)
        sg_table_column(table, &heads[i]);
    size_t *order = sorted(p);
    char *cost = cost_text(p), place[SG_PLACES_CHARS];
    fprintf(out, "# %zu methods on %zu task%s by %s\n", p->methods, p->tasks, p->tasks == 1 ? "" : "s",
            cost ? cost : "");
    for (size_t i = 0; order && i < p->methods; i++) {
        const struct sg_profile_method *found = &p->found[order[i]];
        sg_table_cell(table, p->method[order[i]], NULL);
        if (!p->quality) {
            sg_table_format(table, "%zu of %zu", found->reached, p->tasks);
            put_interval(table, &found->score);
        }
        put_interval(table, &found->rank);
        sg_table_number(table, "%.0f", found->place.value);
        sg_table_cell(table, sg_profile_places_text(place, &found->place), NULL);
    }
    bool fine = tune_put_table(out, table, t) && order && cost;
    fine = fine && (p->quality || put_ratios(out, p, order, t));
    free(cost);
    free(order);
    if (!fine)
        return false;
    fputs("#\n", out);
    tune_put_conclusion(out, p->left_out, t);
    return true;
}

/* recipe_names.c: checks the series and constants that a recipe names against those of its task and those that it
 * records. Recipes spell them with '-', tables of tasks and results with '_'. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "recipe_private.h"
#include "sg_json.h"
#include "sg_net.h"
#include "sg_task.h"
#include "sg_text.h"

enum { NAME_CHARS = 48 };

/* Names as recipes spell them. */
struct names {
    char text[SG_NAMES][NAME_CHARS];
    const char *at[SG_NAMES];
    size_t n;
};

static void add(struct names *names, const char *name) {
    if (names->n == SG_NAMES)
        return;
    char *text = names->text[names->n];
    snprintf(text, NAME_CHARS, "%s", name);
    for (char *c = text; *c != '\0'; c++)
        *c = *c == '_' ? '-' : *c;
    names->at[names->n++] = text;
}

static bool has(const struct names *names, const char *name) {
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(names->at[i], name) == 0)
            return true;
    return false;
}

/* The kind of the recipe's task; NULL = not known, because the task has a problem. */
static const struct sg_task_kind *task_of(const struct sg_check *c) {
    return c->root ? sg_task_kind_find(sg_node_string(c->root, "task.kind", "")) : NULL;
}

static void add_recordable(struct names *names, const struct sg_task_kind *task) {
    for (size_t i = 0; i < SG_COLUMNS; i++)
        if (sg_task_records(task, (enum sg_column)i))
            add(names, sg_common_metrics[i].name);
    for (size_t i = 0; i < task->n_metrics; i++)
        add(names, task->metric[i].name);
}

static void add_bursts(struct names *names) {
    for (size_t i = 0; i < SG_BURSTS; i++) {
        add(names, sg_burst_table[i].series);
        add(names, sg_burst_table[i].of_workers);
    }
}

/* Adds what every run of the recipe records, and what is modelled from it. */
static void add_recorded(struct names *names, const struct sg_node *root) {
    const struct sg_node *series = sg_node_get(root, "record.series");
    add(names, "step");
    add(names, "epoch");
    for (size_t i = 0; sg_node_member(root, "network") && i < SG_NET_SERIES; i++)
        add(names, sg_net_series[i].name);
    if (sg_node_bool(root, "network.bursts", false))
        add_bursts(names);
    if (sg_node_member(root, "step-efficiency"))
        add(names, "step-efficiency");
    for (size_t i = 0; i < series->count; i++)
        add(names, series->child[i].string);
}

/* True if the row is an axis of a plot, which can be a key that is a list. */
static bool is_axis(const struct sg_schema_row *row) {
    return strncmp(row->path, "plots[]", 7) == 0;
}

static void add_swept(struct names *names, const struct sg_check *c) {
    for (size_t i = 0; i < c->swept.count; i++)
        add(names, c->swept.child[i].key);
}

static void add_constants(struct names *names, const struct sg_task_kind *task) {
    for (size_t i = 0; i < task->n_constants; i++)
        add(names, task->constant[i].name);
    for (size_t i = 0; i < SG_COMMON_CONSTANTS; i++)
        add(names, sg_common_constants[i].name);
}

static void check_recordable(struct sg_check *c, const struct sg_task_kind *task, const struct sg_node *raw) {
    struct names names = {.n = 0};
    char name[SG_EXCERPT], list[SG_LIST_CHARS];
    add_recordable(&names, task);
    if (has(&names, raw->string))
        return;
    const char *near = sg_suggest(raw->string, names.at, names.n);
    sg_excerpt(name, raw->string);
    if (near)
        SG_PROBLEM(c, raw, "record.series: task '%s' cannot record '%s' (did you mean '%s'?)", task->name, name, near);
    else
        SG_PROBLEM(c, raw, "record.series: task '%s' cannot record '%s'; it has %s", task->name, name,
                   sg_list_text(list, names.at, names.n));
}

/* True if this key can be a list of values, one for each cell. */
static bool may_be_swept(const struct sg_check *c, const char *key) {
    for (size_t i = 0; i < c->schema.count; i++)
        if (c->schema.row[i].grid && !c->schema.row[i].in_method && strcmp(sg_row_key(&c->schema.row[i]), key) == 0)
            return true;
    return false;
}

/* Why a name that exists is not valid here; NULL = the name does not exist. */
static const char *why_not(const struct sg_check *c, const struct sg_schema_row *row, const struct names *recordable,
                           const struct sg_task_kind *task, const char *name) {
    struct names modelled = {.n = 0}, bursts = {.n = 0}, constants = {.n = 0};
    for (size_t i = 0; i < SG_NET_SERIES; i++)
        add(&modelled, sg_net_series[i].name);
    add_bursts(&bursts);
    add_constants(&constants, task);
    return is_axis(row) && may_be_swept(c, name) ? "'%s' is the same for all cells (make it a list, or name a series)"
           : has(recordable, name)               ? "series '%s' is not recorded (add it to record.series)"
           : has(&modelled, name) ? "series '%s' is modelled, and there is no network (add a section 'network')"
           : has(&bursts, name)
               ? "series '%s' is modelled if the network's bursts are asked for (add network.bursts: true)"
           : has(&constants, name) ? "'%s' is a constant, and a series is needed here"
                                   : NULL;
}

/* Adds the problem of a name that is not valid here: it exists elsewhere, or it is misspelt. */
static void note_unknown(struct sg_check *c, const struct sg_schema_row *row, const struct sg_task_kind *task,
                         const struct names *known, const struct sg_node *raw) {
    struct names recordable = {.n = 0}, all = *known;
    char name[SG_EXCERPT], list[SG_LIST_CHARS], why[160];
    if (is_axis(row) && may_be_swept(c, raw->string) && c->problems->count > 0)
        return; /* one of the other problems may be why it is no list */
    sg_excerpt(name, raw->string);
    add_recordable(&recordable, task);
    for (size_t i = 0; i < recordable.n; i++)
        add(&all, recordable.at[i]);
    const char *format = why_not(c, row, &recordable, task, raw->string);
    const char *near = sg_suggest(raw->string, all.at, all.n);
    if (format) {
        snprintf(why, sizeof why, format, name);
        SG_PROBLEM(c, raw, "%s: %s", sg_row_key(row), why);
    } else if (near) {
        SG_PROBLEM(c, raw, "%s: unknown series '%s' (did you mean '%s'%s?)", sg_row_key(row), name, near,
                   has(known, near) ? "" : ", which would have to be in record.series");
    } else {
        SG_PROBLEM(c, raw, "%s: unknown series '%s'; there are %s", sg_row_key(row), name,
                   sg_list_text(list, known->at, known->n));
    }
}

void sg_check_series(struct sg_check *c, const struct sg_schema_row *row, const struct sg_node *raw) {
    const struct sg_task_kind *task = task_of(c);
    const struct sg_node *series = c->root ? sg_node_get(c->root, "record.series") : NULL;
    if (raw->kind != SG_NODE_STRING || raw->string[0] == '\0' || strlen(raw->string) >= NAME_CHARS ||
        (!task && strchr(raw->string, '_'))) {
        sg_note_wrong(c, row, raw, "a series name, words joined by '-'");
        return;
    }
    if (!task)
        return;
    if (strcmp(row->path, "record.series") == 0) {
        check_recordable(c, task, raw);
        return;
    }
    if (!c->series_right || !series)
        return;
    struct names known = {.n = 0};
    add_recorded(&known, c->root);
    if (row->constant)
        add_constants(&known, task);
    if (is_axis(row))
        add_swept(&known, c);
    if (!has(&known, raw->string))
        note_unknown(c, row, task, &known, raw);
}

void sg_check_series_once(struct sg_check *c, const struct sg_node *series) {
    for (size_t i = 0; i < series->count; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(series->child[i].string, series->child[j].string) == 0) {
                struct names once = {.n = 0};
                add(&once, series->child[i].string);
                SG_PROBLEM(c, &series->child[i], "record.series names '%s' twice", once.at[0]);
                return;
            }
    c->series_right = true;
}

void sg_check_axes(struct sg_check *c, const struct sg_node *plot) {
    const char *const axis[] = {"x", "y"};
    if (!task_of(c) || !c->series_right || strcmp(sg_node_string(plot, "kind", ""), "curves") != 0)
        return;
    for (size_t i = 0; i < 2; i++) {
        const struct sg_node *name = sg_node_get(plot, axis[i]);
        struct names recorded = {.n = 0}, spelt = {.n = 0};
        add_recorded(&recorded, c->root);
        add(&spelt, name->string);
        if (!has(&recorded, spelt.at[0]))
            SG_PROBLEM(c, name, "%s: '%s' is a constant; a plot of kind 'curves' needs a series (or kind: points)",
                       axis[i], spelt.at[0]);
    }
}

/* True if the method's compressor is absolute, so that its runs have the constant error-bound. */
static bool is_bounded(const struct sg_node *method) {
    const struct sg_compressor_ops *ops = sg_compressor_find(sg_node_string(method, "compressor", ""));
    return ops->traits & SG_TRAIT_ABSOLUTE && ops->bound && !sg_node_member(method, "controller");
}

void sg_check_bound_constant(struct sg_check *c, const struct sg_node *term) {
    const char *of = sg_node_string(term, "of", "");
    const struct sg_node *metric = sg_node_get(term, "metric");
    if (!metric || metric->kind != SG_NODE_STRING ||
        strcmp(metric->string, sg_common_constants[SG_CONSTANT_ERROR_BOUND].name) != 0)
        return;
    for (size_t i = 0; i < c->n_runs; i++) {
        const struct sg_recipe_run *run = &c->run[i];
        const bool same = strcmp(run->label, of) == 0 || (sg_is_swept_label(c, of) && sg_is_variant_of(run, of));
        if (same && !is_bounded(run->method)) {
            char name[SG_EXCERPT];
            SG_PROBLEM(c, metric,
                       "metric: method '%s' has no 'error-bound', which is a constant of absolute compressors "
                       "(hard-threshold)",
                       sg_excerpt(name, of));
            return;
        }
    }
}

/* Appends a name, as recipes spell it, that is not in the array yet. */
static void push_once(cJSON *out, const char *name) {
    struct names one = {.n = 0};
    const cJSON *other;
    add(&one, name);
    cJSON_ArrayForEach(other, out) if (strcmp(other->valuestring, one.at[0]) == 0) return;
    sg_json_push_string(out, one.at[0]);
}

cJSON *sg_series_names(const struct sg_schema_row *row) {
    const bool recorded = strcmp(row->path, "record.series") == 0;
    const struct sg_task_kind *task;
    struct names bursts = {.n = 0};
    if (is_axis(row))
        return NULL;
    cJSON *out = cJSON_CreateArray();
    for (size_t i = 0; i < SG_COLUMNS; i++)
        push_once(out, sg_common_metrics[i].name);
    for (size_t k = 0; (task = sg_task_kind_at(k)) != NULL; k++)
        for (size_t i = 0; i < task->n_metrics; i++)
            push_once(out, task->metric[i].name);
    if (recorded)
        return out;
    push_once(out, "step");
    push_once(out, "epoch");
    push_once(out, "step-efficiency");
    for (size_t i = 0; i < SG_NET_SERIES; i++)
        push_once(out, sg_net_series[i].name);
    add_bursts(&bursts);
    for (size_t i = 0; i < bursts.n; i++)
        push_once(out, bursts.at[i]);
    for (size_t i = 0; row->constant && i < SG_COMMON_CONSTANTS; i++)
        push_once(out, sg_common_constants[i].name);
    for (size_t k = 0; row->constant && (task = sg_task_kind_at(k)) != NULL; k++)
        for (size_t i = 0; i < task->n_constants; i++)
            push_once(out, task->constant[i].name);
    return out;
}

size_t sg_expression_names(const struct sg_check *c, const struct sg_schema_row *row, const char *name[SG_NAMES]) {
    const struct sg_task_kind *task = task_of(c);
    const bool of_task = strncmp(row->path, "task.", 5) == 0;
    /* A task's own keys are checked before its section is complete. */
    const struct sg_task_kind *kind = of_task && row->owner ? sg_task_kind_find(row->owner) : task;
    size_t n = 0;
    if (!kind)
        return 0;
    for (size_t most = of_task ? row->constants : kind->n_constants; n < most && n < SG_NAMES - 1; n++)
        name[n] = kind->constant[n].name;
    if (row->in_method)
        name[n++] = sg_common_constants[SG_CONSTANT_GAMMA].name;
    return n;
}

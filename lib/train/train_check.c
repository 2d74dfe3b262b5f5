/* train_check.c: checks cells against their data before the first of them runs, so that a mistake is found once and not
 * by every cell. */
/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <string.h>

#include "sg_host.h"
#include "sg_json.h"
#include "train_private.h"
#include "sg_memory.h"
#include "sg_text.h"

/* A problem and the cells that have it. */
struct finding {
    char *text;
    size_t *cell; /* [n_cells] */
    size_t n_cells;
};

struct check {
    const struct sg_cell *cells;
    size_t count, n_labels;
    const struct sg_train_check_options *options;
    char **task; /* [count] the sections that decide the task, as text */
    bool *done;  /* [count] */
    struct finding *finding;
    size_t n_findings;
};

/* True if this cell is the first of its label. Cells that differ only in their seed are neighbours. */
static bool first_of_label(const struct check *c, size_t i) {
    return i == 0 || strcmp(c->cells[i].label, c->cells[i - 1].label) != 0;
}

static char *task_text(const struct sg_cell *cell) {
    cJSON *json = cJSON_CreateObject();
    const char *const key[] = {"task", "workers", "batch"};
    for (size_t i = 0; i < sizeof key / sizeof *key; i++)
        sg_json_set(json, key[i], sg_node_json(sg_node_get(&cell->resolved, key[i])));
    char *text = sg_json_text(json, false);
    cJSON_Delete(json);
    return text;
}

static void add_finding(struct check *c, size_t cell, const struct sg_node *at, const char *message) {
    char place[512], *text;
    sg_node_place(place, sizeof place, c->options->recipe, at);
    text = sg_format("%s%s", place, message);
    struct finding *f = NULL;
    for (size_t i = 0; i < c->n_findings && !f; i++)
        f = strcmp(c->finding[i].text, text) == 0 ? &c->finding[i] : NULL;
    if (f) {
        free(text);
    } else {
        f = &c->finding[c->n_findings]; /* there are at most as many as cells */
        f->text = text;
        f->cell = sg_calloc(c->n_labels, sizeof *f->cell);
        c->n_findings++;
    }
    f->cell[f->n_cells++] = cell;
}

/* The recipe's value that caused the error of opening a task. Its message may begin with the key at fault, "task.l2:
 * …", or with the number of workers if there are too many. */
static const struct sg_node *place_of_task(const struct sg_node *cell, const struct sg_error *why) {
    if (strncmp(why->msg, "task.", 5) == 0) {
        char key[64];
        snprintf(key, sizeof key, "%.*s", (int)strcspn(why->msg, ": "), why->msg);
        const struct sg_node *at = sg_node_get(cell, key);
        return at ? at : sg_node_get(cell, "task");
    }
    if (isdigit((unsigned char)why->msg[0]) && strstr(why->msg, " workers"))
        return sg_node_get(cell, "workers");
    const bool data = why->status == SG_ERR_MISSING || why->status == SG_ERR_FORMAT || why->status == SG_ERR_IO;
    return sg_node_get(cell, data ? "task.dataset" : why->status == SG_ERR_UNSUPPORTED ? "task.kind" : "task");
}

/* Checks a cell whose task is open, and writes the mistake into why. */
static sg_status judge(const struct check *c, struct train *t, struct sg_error *why) {
    const struct sg_train_check_options *o = c->options;
    sg_status status = train_choose(t, why);
    if (status != SG_OK)
        return status;
    if (o->threads == 0 && o->at_once > 1) /* the cells share the cores */
        t->threads = sg_threads((int)o->at_once);
    status = train_memory_estimate(t, why); /* it opens the method */
    t->at = sg_method_place(t->options->cell->method, status != SG_OK ? why->msg : "");
    if (status != SG_OK)
        return sg_prefix(why, "method '%s': ", t->options->cell->label);
    if (o->memory)
        o->memory(o->arg, t->options->cell, &t->memory);
    return o->at_once > 0 ? sg_train_memory_fits(&t->memory, o->at_once, why) : SG_OK;
}

/* Checks all cells that have the task of cell `from`. */
static sg_status check_task(struct check *c, size_t from, struct sg_error *err) {
    struct sg_train_options how = {.recipe = c->options->recipe,
                                   .cell = &c->cells[from],
                                   .data_dir = c->options->data_dir,
                                   .device = c->options->device ? c->options->device : "cpu",
                                   .notice = c->options->notice,
                                   .progress = c->options->progress};
    struct train t = {.options = &how,
                      .workers = (size_t)sg_node_number(&c->cells[from].resolved, "workers", 1),
                      .lead = true,
                      .facts_only = c->options->facts_only,
                      .threads = c->options->threads > 0 ? c->options->threads : sg_threads(1)};
    t.count = t.workers;
    struct sg_error why;
    train_choose_cpu(&t);
    sg_status status = SG_OK, opened = train_find_task(&t, &why);
    SG_DO(opened, train_open_task(&t, &why));
    if (opened == SG_ERR_MEMORY)
        status = sg_fail(err, SG_ERR_MEMORY, "%s", why.msg);
    for (size_t i = from; i < c->count && status == SG_OK; i++) {
        if (c->done[i] || strcmp(c->task[i], c->task[from]) != 0)
            continue;
        c->done[i] = true;
        if (!first_of_label(c, i))
            continue;
        how.cell = &c->cells[i];
        if (opened == SG_OK)
            train_read_task_facts(&t); /* removes the constants of the previous cell */
        const sg_status judged = opened == SG_OK ? judge(c, &t, &why) : opened;
        if (judged == SG_ERR_MEMORY)
            status = sg_fail(err, SG_ERR_MEMORY, "%s", why.msg);
        else if (judged != SG_OK)
            add_finding(c, i, opened == SG_OK ? t.at : place_of_task(&how.cell->resolved, &why), why.msg);
    }
    train_teardown(&t);
    return status;
}

/* Reports a problem as one text, with the methods that have it unless all do or the text already names its method. */
static void tell(const struct check *c, const struct finding *f) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = sg_memstream(&text, &size);
    fputs(f->text, out);
    if (f->n_cells < c->n_labels && !strstr(f->text, "method '")) {
        for (size_t i = 0; i < f->n_cells; i++)
            fprintf(out, "%s'%s'", i ? ", " : f->n_cells > 1 ? " (methods " : " (method ", c->cells[f->cell[i]].label);
        fputc(')', out);
    }
    c->options->problem(c->options->arg, sg_stream_text(out, &text));
    free(text);
}

sg_status sg_train_check(const struct sg_cell *cells, size_t count, const struct sg_train_check_options *options,
                         struct sg_error *err) {
    struct check c = {.cells = cells, .count = count, .options = options};
    sg_status status = SG_OK;
    for (size_t i = 0; i < count; i++)
        c.n_labels += first_of_label(&c, i);
    c.task = sg_calloc(count + 1, sizeof *c.task);
    c.done = sg_calloc(count + 1, sizeof *c.done);
    c.finding = sg_calloc(c.n_labels + 1, sizeof *c.finding);
    for (size_t i = 0; i < count; i++)
        c.task[i] = task_text(&cells[i]);
    for (size_t i = 0; i < count && status == SG_OK; i++)
        if (!c.done[i])
            status = check_task(&c, i, err);
    for (size_t i = 0; i < c.n_findings && status == SG_OK; i++)
        tell(&c, &c.finding[i]);
    if (status == SG_OK && c.n_findings > 0)
        status = sg_fail(err, SG_ERR_ARGUMENT, "%zu problem%s with the recipe: nothing was run", c.n_findings,
                         c.n_findings == 1 ? "" : "s");
    for (size_t i = 0; i < c.n_findings; i++) {
        free(c.finding[i].text);
        free(c.finding[i].cell);
    }
    for (size_t i = 0; i < count; i++)
        free(c.task[i]);
    free(c.task);
    free(c.done);
    free(c.finding);
    return status;
}

/* recipe_reference.c: prints the reference of all keys from the schema rows, in Markdown that reads well on a
 * terminal. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "recipe_private.h"
#include "sg_json.h"
#include "sg_task.h"

static const char example[] = "schema: 1\n"
                              "name: example\n"
                              "title: \"Top-k and hard-threshold on two generated clouds\"\n"
                              "# What is trained: a data set of datasets/, or a file of your own, as ./own.libsvm.\n"
                              "task: {kind: logreg, dataset: two-clouds, stand-in: two-clouds, l2: L/100}\n"
                              "workers: 4\n"
                              "batch: 1\n"
                              "epochs: 20\n"
                              "optimizer: {kind: sgd, learning-rate: 0.1/(L+l2)}\n"
                              "error-feedback: update\n"
                              "seeds: 1..3\n"
                              "record: {every: 10, series: [relative-suboptimality, error-norm, bits, density]}\n"
                              "# What is compared: each method, and each value in a list, at every seed.\n"
                              "methods:\n"
                              "  - {name: SGD, compressor: none, baseline: true}\n"
                              "  - {name: Top-k, compressor: topk, k: [1, 4]}\n"
                              "  - {name: Hard-threshold, compressor: hard-threshold, lambda: 0.05/gamma}\n"
                              "# What is expected, judged at every seed.\n"
                              "claims:\n"
                              "  - text: Hard-threshold needs a third of SGD's bits\n"
                              "    metric: bits\n"
                              "    at: {when: relative-suboptimality, below: 0.1}\n"
                              "    of: Hard-threshold\n"
                              "    at-most: {times: 0.33, of: SGD}\n"
                              "plots:\n"
                              "  - {x: epoch, y: relative-suboptimality, log: y}\n"
                              "  - {x: epoch, y: error-norm, methods: [Top-k k=1, Top-k k=4, Hard-threshold]}\n";

/* The names that a value can have, "a|b|c". */
static void put_variants(FILE *out, enum sg_value_type type) {
    const char *name;
    for (size_t i = 0; (name = sg_variant_at(type, i).name) != NULL; i++)
        fprintf(out, "%s%s", i ? "|" : "", name);
}

/* NULL: one of the names that put_variants lists. */
static const char *type_text(const struct sg_schema_row *row) {
    static const char *const text[] = {[SG_VALUE_TEXT] = "text",
                                       [SG_VALUE_NAME] = "identifier",
                                       [SG_VALUE_SERIES] = "series",
                                       [SG_VALUE_METHOD] = "method",
                                       [SG_VALUE_NUMBER] = "number",
                                       [SG_VALUE_INTEGER] = "integer",
                                       [SG_VALUE_SIZE] = "bytes or size",
                                       [SG_VALUE_BOOLEAN] = "true|false",
                                       [SG_VALUE_EXPRESSION] = "number or expression",
                                       [SG_VALUE_MAP] = "section",
                                       [SG_VALUE_ENCODING] = NULL};
    return row->type == SG_VALUE_CHOICE                                      ? row->choices
           : row->type == SG_VALUE_SERIES && row->constant && row->most == 0 ? "series or constant"
           : row->in_method && row->type == SG_VALUE_EXPRESSION              ? row->whole ? "integer" : "number"
           : row->type == SG_VALUE_MAP && row->or_number                     ? "number or section"
           : row->type == SG_VALUE_MAP && row->shorthand                     ? "value or section"
           : (size_t)row->type < sizeof text / sizeof *text                  ? text[row->type]
                                                                             : NULL;
}

/* "list of integers"; a choice has no plural. Parameters of methods have all forms, as the head says. */
static void put_type(FILE *out, const struct sg_schema_row *row) {
    const char *type = type_text(row);
    const bool list = row->most > 0, word = type && !strchr(type, '|');
    fputs(list ? "list of " : "", out);
    if (!type)
        put_variants(out, row->type);
    else
        fputs(type, out);
    if (row->type == SG_VALUE_CHOICE && row->or_number)
        fputs(" or integer", out);
    fputs(list && word && type[strlen(type) - 1] != 's' ? "s" : "", out);
    fputs(row->grid && !row->in_method ? "*" : "", out);
}

/* "1..65536", "0..1, not 0", "1.."; nothing where every number is valid. */
static void put_range(FILE *out, const struct sg_schema_row *row) {
    const double most = 9007199254740992.0; /* 2^53 is the bound of doubles, which says nothing about the key */
    char min[SG_NUMBER_CHARS], max[SG_NUMBER_CHARS];
    const bool low = isfinite(row->min), high = row->max < most;
    sg_number_text(row->min, min);
    sg_number_text(row->max, max);
    if (low && high && row->min == row->max)
        fprintf(out, "; %s", min);
    else if (low && high)
        fprintf(out, "; %s..%s%s%s", min, max, row->above ? ", not " : "", row->above ? min : "");
    else if (low)
        fprintf(out, row->above ? "; > %s" : "; %s..", min);
    else if (high)
        fprintf(out, "; <= %s", max);
}

/* "* `batch` (integer*; 1..; samples; =1):", and what it means in the next line. */
static void print_row(FILE *out, const struct sg_schema_row *row) {
    const bool empty = row->preset[0] == '\0' || strcmp(row->preset, "{}") == 0 || strcmp(row->preset, "[]") == 0;
    fprintf(out, "* `%s` (", sg_row_key(row));
    put_type(out, row);
    if (sg_is_number_type(row->type))
        put_range(out, row);
    if (row->unit && row->unit[0] != '\0')
        fprintf(out, "; %s", row->unit);
    if (row->required)
        fputs("; required", out);
    else if (!empty)
        fprintf(out, "; =%s", row->preset);
    fprintf(out, "):\n  %s\n", row->help);
}

static void print_heading(FILE *out, const char *title, const char *summary) {
    fprintf(out, "\n### %s\n\n%s%s", title, summary, summary[0] ? "\n\n" : "");
}

/* True if the row has this owner; NULL = no owner. */
static bool owned(const struct sg_schema_row *row, const char *owner) {
    return !owner ? row->owner == NULL : row->owner && strcmp(row->owner, owner) == 0;
}

static bool has_rows(const struct sg_schema *schema, const char *section, const char *owner) {
    for (size_t i = 0; i < schema->count; i++)
        if (owned(&schema->row[i], owner) && sg_row_in(&schema->row[i], section))
            return true;
    return false;
}

static bool same_text(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_number(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

/* True if two rows of different owners differ in their defaults at most. */
static bool say_the_same(const struct sg_schema_row *a, const struct sg_schema_row *b) {
    return a->owner && b->owner && (strcmp(a->owner, b->owner) != 0 || strcmp(a->path, b->path) != 0) &&
           a->type == b->type && a->whole == b->whole && strcmp(sg_row_key(a), sg_row_key(b)) == 0 &&
           same_number(a->min, b->min) && same_number(a->max, b->max) && strcmp(a->help, b->help) == 0 &&
           same_text(a->choices, b->choices) && same_text(a->like, b->like);
}

/* The first row of another task, compressor, code … that says the same of the same key; NULL = this is the first. A row
 * with the same default is preferred. If there is none, the default of a number may differ: it is printed. */
static const struct sg_schema_row *said_before(const struct sg_schema *schema, const struct sg_schema_row *row) {
    const struct sg_schema_row *other = NULL;
    for (const struct sg_schema_row *r = schema->row; r < row; r++) {
        if (!say_the_same(r, row))
            continue;
        if (strcmp(r->preset, row->preset) == 0)
            return r;
        if (!other && sg_is_number_type(row->type) && r->preset[0] != '\0' && row->preset[0] != '\0')
            other = r;
    }
    return other;
}

/* What the owner of a row is: "compressor", "task". */
static const char *kind_of_owner(const struct sg_schema_row *row) {
    for (size_t i = 0; i < SG_OWNERS; i++)
        if (sg_row_in(row, sg_owners[i].section))
            return sg_owners[i].what;
    return "task";
}

/* ": as in `topk`", with the kind of the other owner where it is another. */
static void put_shared(FILE *out, const struct sg_schema_row *shared, const struct sg_schema_row *row) {
    const char *kind = kind_of_owner(shared);
    const bool same = strcmp(kind, kind_of_owner(row)) == 0;
    fprintf(out, ": as in %s%s`%s`\n", same ? "" : kind, same ? "" : " ", shared->owner);
}

/* The rows of a section. Those that another owner has had before are named with it: "* `k`, `density`: as in compressor
 * `topk`". A default of their own stands behind the name: "* `momentum` (=0.9): as in `sgd`". */
static void print_rows(FILE *out, const struct sg_schema *schema, const char *section, const char *owner) {
    const struct sg_schema_row *shared = NULL, *last = NULL;
    for (size_t i = 0; i < schema->count; i++) {
        const struct sg_schema_row *row = &schema->row[i], *before = said_before(schema, row);
        if (!owned(row, owner) || !sg_row_in(row, section))
            continue;
        const bool goes_on = shared && before && shared->owner == before->owner;
        if (shared && !goes_on)
            put_shared(out, shared, last);
        if (before)
            fprintf(out, "%s `%s`", goes_on ? "," : "*", sg_row_key(row));
        if (before && strcmp(before->preset, row->preset) != 0)
            fprintf(out, " (=%s)", row->preset);
        if (!before)
            print_row(out, row);
        shared = before;
        last = row;
    }
    if (shared)
        put_shared(out, shared, last);
}

/* Sections below the top level or below an owner's section, whose key has said what they are. */
static void print_sub_sections(FILE *out, const struct sg_schema *schema, const char *owner) {
    for (size_t i = 0; i < schema->count; i++) {
        const struct sg_schema_row *row = &schema->row[i];
        char section[64], title[80];
        sg_row_section(row, section);
        if (!owned(row, owner) || row->like || !has_rows(schema, section, owner) || said_before(schema, row))
            continue;
        snprintf(title, sizeof title, "`%s`", section);
        print_heading(out, title, "");
        print_rows(out, schema, section, owner);
    }
}

static void print_owner(FILE *out, const struct sg_schema *schema, const char *what, const char *section,
                        const char *name, const char *summary) {
    char title[96];
    snprintf(title, sizeof title, "%s `%s`", what, name);
    if (has_rows(schema, section, name)) {
        print_heading(out, title, summary);
        print_rows(out, schema, section, name);
        print_sub_sections(out, schema, name);
    } else {
        fprintf(out, "\n### %s\n\n%s\n", title, summary);
    }
}

/* ---- series and constants ---- */

/* Converts a name of a table to the spelling of recipes. */
static const char *kebab(const char *name, char out[64]) {
    snprintf(out, 64, "%s", name);
    for (char *c = out; *c != '\0'; c++)
        *c = *c == '_' ? '-' : *c;
    return out;
}

static void print_fact(FILE *out, const char *name, const char *unit, const char *help) {
    fprintf(out, "* `%s`%s%s: %s\n", name, unit[0] != '\0' ? ", in " : "", unit, help);
}

static void print_series(FILE *out, const struct sg_metric *metric, size_t n) {
    char name[64];
    for (size_t i = 0; i < n; i++)
        print_fact(out, kebab(metric[i].name, name), metric[i].unit, metric[i].help);
}

static void print_constants(FILE *out, const struct sg_constant_kind *constant, size_t n) {
    for (size_t i = 0; i < n; i++)
        print_fact(out, constant[i].name, "", constant[i].help);
}

/* The first task before this one that has the same constant; NULL = there is none. */
static const struct sg_task_kind *constant_before(const struct sg_task_kind *task,
                                                  const struct sg_constant_kind *constant) {
    const struct sg_task_kind *t;
    for (size_t i = 0; (t = sg_task_kind_at(i)) != NULL && t != task; i++)
        for (size_t k = 0; k < t->n_constants; k++)
            if (same_text(t->constant[k].name, constant->name) && same_text(t->constant[k].help, constant->help))
                return t;
    return NULL;
}

/* The constants of a task. Those of an earlier task are named with it: "* `d`, `n`: as in `cnn`". */
static void print_constants_of(FILE *out, const struct sg_task_kind *task) {
    const struct sg_task_kind *shared = NULL;
    for (size_t i = 0; i < task->n_constants; i++) {
        const struct sg_task_kind *before = constant_before(task, &task->constant[i]);
        if (shared && shared != before)
            fprintf(out, ": as in `%s`\n", shared->name);
        if (before)
            fprintf(out, "%s `%s`", shared == before ? "," : "*", task->constant[i].name);
        else
            print_constants(out, &task->constant[i], 1);
        shared = before;
    }
    if (shared)
        fprintf(out, ": as in `%s`\n", shared->name);
}

/* What record.series, claims, plots and expressions can name in every recipe. */
static void print_common_names(FILE *out) {
    print_heading(out, "Series of every task", "");
    fputs("record.series lists them and the series of the task, below. Claims and plots may name what is listed, and\n"
          "step and epoch. Values are of the recorded step, residuals e those after it. results/DEFINITIONS.md has\n"
          "the formulas.\n\n",
          out);
    for (size_t i = 0; i < SG_COLUMNS; i++) {
        print_series(out, &sg_common_metrics[i], 1);
        for (size_t k = 0; sg_task_kind_at(k); k++)
            if (!sg_task_records(sg_task_kind_at(k), (enum sg_column)i))
                fprintf(out, "  (not of task %s)\n", sg_task_kind_at(k)->name);
    }
    print_heading(out, "Constants of every task", "");
    fputs("Numbers that are known once the data are open, beside the task's, below. Expressions of the task and of\n"
          "learning-rate may use the task's constants, those of a method also gamma. Claims and plots of kind points\n"
          "may name all. Names have '_' in expressions, as f_star, and '-' in claims, as f-star.\n\n",
          out);
    print_constants(out, sg_common_constants, SG_COMMON_CONSTANTS);
}

static void print_owners(FILE *out, const struct sg_schema *schema) {
    const struct sg_task_kind *task;
    for (size_t i = 0; (task = sg_task_kind_at(i)) != NULL; i++) {
        print_owner(out, schema, "task", "task", task->name, task->summary);
        if (task->n_metrics > 0)
            fprintf(out, "\nIts series:\n\n");
        print_series(out, task->metric, task->n_metrics);
        fprintf(out, "\nIts constants:\n\n");
        print_constants_of(out, task);
    }
    for (size_t i = 0; i < SG_OWNERS; i++) {
        struct sg_row owner;
        for (size_t j = 0; (owner = sg_variant_at(sg_owners[i].type, j)).name != NULL; j++)
            print_owner(out, schema, sg_owners[i].what, sg_owners[i].section, owner.name, owner.summary);
    }
}

void sg_recipe_reference(FILE *out) {
    struct sg_schema schema;
    sg_schema_open(&schema);
    fputs("# Keys of a recipe\n\nPrinted by `--help-recipe` from the programs' table of keys.\n\n", out);
    fputs("This recipe runs anywhere within seconds, by\n"
          "sparsebench example.yaml | sparseplot-export --format svg > example.svg:\n\n",
          out);
    fprintf(out, "```yaml\n%s```\n\n", example);
    fputs(
        "A recipe is one YAML file of at most 1 MiB, without anchors, aliases, tags or a second document. Only true\n"
        "and false are booleans. Numbers are decimal, quoted values are text, and null means absent. Series have '-'\n"
        "in their names here and '_' in results. Expressions know + - * / ( ) sqrt() and constants. --set changes a\n"
        "key on the command line: --set workers=4, --set methods.Top-k.k=5, --set 'workers=[4, 8]'.\n\n"
        "Brackets behind a key hold its type, range, unit and, behind '=', its default. A list gives a cell for each\n"
        "value of a type with a star, and of all parameters of compressors, controllers and codes, which may be\n"
        "expressions, too. Where a list is expected, a single value is a list of one.\n\n"
        "Several lists give a cell for each combination. The label of a cell ends with its values: 'Top-k k=1\n"
        "workers=4'. Claims, plots and --method use such labels. A claim or plot that leaves values out, as 'Top-k\n"
        "k=1', is made once for each of them.\n\n"
        "A number of the optimizer, the feedback or a method may be a range: learning-rate: log 1e-3..1, or linear\n"
        "0..1. The section tune then finds its value at every seed, by trials, and trains once more with the best.\n"
        "results/DEFINITIONS.md says how.\n",
        out);
    print_heading(out, "Top level", "");
    print_rows(out, &schema, "", NULL);
    print_sub_sections(out, &schema, NULL);
    print_owner(out, &schema, "recipe kind", "", "kernels",
                "Times the compressors' kernels in one process; beside these keys only schema, name, title, kind "
                "and claims.");
    print_common_names(out);
    print_owners(out, &schema);
    sg_schema_close(&schema);
}

/* recipe_reference.c: prints the reference of all keys from the schema rows, in Markdown that reads well on a
 * terminal. */
#include <math.h>
#include <string.h>

#include "recipe_internal.h"
#include "sg_task.h"

static const char example[] =
    "schema: 1\n"
    "name: example\n"
    "title: \"Top-k and hard-threshold on two generated clouds\"\n"
    "# What is trained. A data set's name is looked up in datasets/; ./own.libsvm would be a file of your own.\n"
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
    "  - text: Hard-threshold sends a third of the bits of SGD, or fewer, until the relative suboptimality is 0.1\n"
    "    metric: bits\n"
    "    at: {when: relative-suboptimality, below: 0.1}\n"
    "    of: Hard-threshold\n"
    "    at-most: {times: 0.33, of: SGD}\n"
    "  - text: Its error stays below the bound\n"
    "    metric: error-norm\n"
    "    at: {max: true}\n"
    "    of: Hard-threshold\n"
    "    at-most: {metric: error-bound}\n"
    "plots:\n"
    "  - {x: epoch, y: relative-suboptimality, log: y}\n"
    "  - {x: bits, y: relative-suboptimality, log: xy}\n"
    "  - {x: epoch, y: error-norm, methods: [Top-k k=1, Top-k k=4, Hard-threshold]}\n";

/* Local training as it was published. DiLoCo has the constants of its paper, the others those of the authors' code. */
static const char local_training[] =
    "optimizer: {kind: adamw, learning-rate: 4e-4, weight-decay: 0.1, warm-up-epochs: 0.1, warm-up-from: 0.01, "
    "decay: cosine}\n"
    "methods:\n"
    "  - {name: AdamW, compressor: none, error-feedback: none, baseline: true}\n"
    "  - {name: DiLoCo, compressor: none, error-feedback: {form: diloco, steps: 500}}\n"
    "  - name: SparseLoCo\n"
    "    compressor: sparseloco\n"
    "    error-feedback: {form: local-steps, steps: 30, decay: 0.95, outer: {learning-rate: 0.4}}\n"
    "  - name: DeMo\n"
    "    compressor: demo\n"
    "    optimizer: {kind: sgd, learning-rate: 4e-4, weight-decay: 0.1, warm-up-epochs: 0.1, warm-up-from: 0.01, "
    "decay: cosine}\n"
    "    error-feedback: {form: lr-correction, decay: 0.999}\n";

static const char *const deviations[] = {
    "Figure 1: the paper says a 6,000-parameter model; gisette has 5000 features and 6000 samples, so d = 5000.",
    "Figure 1: lambda is 5e-3/gamma = 4.2148, as the authors' code thresholds; the paper's text rounds it to 4.2.",
    "Figure 1 and madelon: the split and the draws of rows are unseeded in the authors' code; here they are functions "
    "of the seed, and curves are compared as bands over seeds.",
    "x* is solved to the limit of double precision, the authors' is a stored inexact one: f* and f(x0) differ from "
    "theirs in the 9th digit.",
    "Volume is counted three ways: density (mean over workers), density-padded (the largest worker, as the authors' "
    "equal-size all-gather counts; their Figure 2 has its average, average-density-padded, on the axis) and "
    "bytes-sent. Nominal bits are 32 a value and 32 an index, whatever `message` says.",
    "error-feedback has the paper's form (update) and the one of its DNN code (gradient), by name.",
    "Figure 2b: words are split at white space; the authors' tokenizer gave them V = 28,869 words and d = 28,949,319. "
    "The constants V and d of a result are this one's.",
    "Figure 2b: the paper's learning rate is 1.25, 20 at its peak; the authors' code applies its Nesterov rule with "
    "momentum 0, which steps along g + g, so fig2b has 2.5, 40 at its peak.",
    "Figure 2b: thresholds are picked by hand; mini/fig2b trains on the validation file, evaluates on the test file.",
};

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
                                       [SG_VALUE_INTEGER] = "whole number",
                                       [SG_VALUE_SIZE] = "bytes or size",
                                       [SG_VALUE_BOOLEAN] = "true|false",
                                       [SG_VALUE_EXPRESSION] = "number or expression",
                                       [SG_VALUE_MAP] = "section",
                                       [SG_VALUE_ENCODING] = NULL};
    return row->type == SG_VALUE_CHOICE                                      ? row->choices
           : row->type == SG_VALUE_SERIES && row->constant && row->most == 0 ? "series or constant"
           : row->type == SG_VALUE_EXPRESSION && row->whole                  ? "whole number or expression"
           : row->type == SG_VALUE_MAP && row->or_number                     ? "number or section"
           : row->type == SG_VALUE_MAP && row->shorthand                     ? "value or section"
           : (size_t)row->type < sizeof text / sizeof *text                  ? text[row->type]
                                                                             : NULL;
}

/* "list of whole numbers"; a choice has no plural. */
static void put_type(FILE *out, const struct sg_schema_row *row) {
    const char *type = type_text(row);
    const bool list = row->most > 0, word = type != NULL && strchr(type, '|') == NULL;
    fputs(list ? "list of " : "", out);
    if (type == NULL)
        put_variants(out, row->type);
    else
        fputs(type, out);
    if (row->type == SG_VALUE_CHOICE && row->or_number)
        fputs(" or whole number", out);
    fputs(list && word && type[strlen(type) - 1] != 's' ? "s" : "", out);
    fputs(row->grid ? ", or a list" : "", out);
}

/* "* `batch` (whole number, or a list; at least 1; in samples; default 1):", and what it means in the next line. */
static void print_row(FILE *out, const struct sg_schema_row *row) {
    const bool empty = row->preset[0] == '\0' || strcmp(row->preset, "{}") == 0 || strcmp(row->preset, "[]") == 0;
    char range[SG_RANGE];
    struct sg_schema_row shown = *row;
    if (shown.max >= 9007199254740992.0) /* 2^53 is the bound of doubles, which says nothing about the key */
        shown.max = INFINITY;
    fprintf(out, "* `%s` (", sg_row_key(row));
    put_type(out, row);
    range[0] = '\0';
    if (sg_is_number_type(row->type))
        sg_range_text(&shown, range);
    if (range[0] != '\0')
        fprintf(out, "; %s", range);
    if (row->unit != NULL && row->unit[0] != '\0')
        fprintf(out, "; in %s", row->unit);
    if (row->required)
        fputs("; required", out);
    else if (!empty)
        fprintf(out, "; default %s", row->preset);
    fprintf(out, "):\n  %s\n", row->help);
}

static void print_heading(FILE *out, const char *title, const char *summary) {
    fprintf(out, "\n### %s\n\n%s%s", title, summary, summary[0] ? "\n\n" : "");
}

/* True if the row has this owner; NULL = no owner. */
static bool owned(const struct sg_schema_row *row, const char *owner) {
    return owner == NULL ? row->owner == NULL : row->owner != NULL && strcmp(row->owner, owner) == 0;
}

static bool has_rows(const struct sg_schema *schema, const char *section, const char *owner) {
    for (size_t i = 0; i < schema->count; i++)
        if (owned(&schema->row[i], owner) && sg_row_in(&schema->row[i], section))
            return true;
    return false;
}

static void print_rows(FILE *out, const struct sg_schema *schema, const char *section, const char *owner) {
    for (size_t i = 0; i < schema->count; i++)
        if (owned(&schema->row[i], owner) && sg_row_in(&schema->row[i], section))
            print_row(out, &schema->row[i]);
}

/* Sections below the top level or below an owner's section. */
static void print_sub_sections(FILE *out, const struct sg_schema *schema, const char *owner) {
    for (size_t i = 0; i < schema->count; i++) {
        const struct sg_schema_row *row = &schema->row[i];
        char section[64], title[80];
        sg_row_section(row, section);
        if (!owned(row, owner) || row->like != NULL || !has_rows(schema, section, owner))
            continue;
        snprintf(title, sizeof title, "`%s`", section);
        print_heading(out, title, row->help);
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
        fprintf(out, "\n### %s\n\n%s; no keys of its own.\n", title, summary);
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

/* What record.series, claims, plots and expressions can name in every recipe. */
static void print_common_names(FILE *out) {
    print_heading(out, "Series of every task", "");
    fputs("What record.series can list, beside the series of the task's own, below. Claims and plots name what is "
          "listed\n"
          "there, and step and epoch, which every run records. results/DEFINITIONS.md has the formulas in full.\n\n",
          out);
    for (size_t i = 0; i < SG_COLUMNS; i++) {
        print_series(out, &sg_common_metrics[i], 1);
        for (size_t k = 0; sg_task_kind_at(k) != NULL; k++)
            if (!sg_task_records(sg_task_kind_at(k), (enum sg_column)i))
                fprintf(out, "  (not of task %s)\n", sg_task_kind_at(k)->name);
    }
    print_heading(out, "Constants of every task", "");
    fputs(
        "Numbers that are known once the data are open, beside the constants of the task's own, below. Expressions of\n"
        "`learning-rate` may use the task's; the parameters of compressors, controllers and codes these and gamma;\n"
        "claims, and plots of kind points, name any of them. '-' is minus in an expression, so that names are spelt\n"
        "with '_' there: f_star; in claims and plots f-star.\n\n",
        out);
    print_constants(out, sg_common_constants, SG_COMMON_CONSTANTS);
}

static void print_owners(FILE *out, const struct sg_schema *schema) {
    const struct sg_task_kind *task;
    for (size_t i = 0; (task = sg_task_kind_at(i)) != NULL; i++) {
        print_owner(out, schema, "task", "task", task->name, task->summary);
        fprintf(out, "\nSeries of its own:\n\n");
        print_series(out, task->metric, task->n_metrics);
        fprintf(out, "\nConstants of its own:\n\n");
        print_constants(out, task->constant, task->n_constants);
    }
    for (size_t i = 0; i < SG_OWNERS; i++) {
        struct sg_row owner;
        for (size_t j = 0; (owner = sg_variant_at(sg_owners[i].type, j)).name != NULL; j++)
            print_owner(out, schema, sg_owners[i].what, sg_owners[i].section, owner.name, owner.summary);
    }
}

void sg_recipe_reference(FILE *out) {
    struct sg_schema schema;
    if (!sg_schema_open(&schema))
        return;
    fputs("# Keys of a recipe\n\nGenerated from the schema of the programs by `--help-recipe`.\n\n", out);
    fputs("A complete recipe, which runs as it stands, anywhere and within seconds, by\n"
          "sparsebench example.yaml | sparseplot-export --format svg > example.svg:\n\n",
          out);
    fprintf(out, "```yaml\n%s```\n\n", example);
    fputs(
        "A recipe is one YAML file of at most 1 MiB: no anchors, aliases, tags or second document; only true and "
        "false\n"
        "are booleans, numbers are decimal, quoted values are text, null says as if absent. Series are written with "
        "'-'\n"
        "here and with '_' in results. Expressions know + - * / ( ) sqrt() and constants. On the command line,\n"
        "--set key=value changes one key: --set workers=4, --set methods.Top-k.k=5, --set seeds=1,2,\n"
        "--set methods.Top-k.controller.high=8.\n\n"
        "A key whose type says 'or a list' takes several values: workers: [4, 8], or --set 'workers=[4, 8]'. Every\n"
        "method is then run with each of them, several lists with each combination. The label of a cell tells its\n"
        "values, those of the method's parameters first: 'Top-k k=1 workers=4'. Claims, plots and --method name it "
        "so;\n"
        "a claim or a plot that leaves the lists out, 'Top-k k=1', is one for each of their values. A plot of kind\n"
        "points may have the key on an axis, x: workers: it joins the cells that differ in that key\n"
        "alone. A cell is the same run as that of a recipe with single values, and is not run again. An expression of\n"
        "learning-rate is drawn at its value. Where a list is expected, a single number or word is a list of one.\n\n"
        "A number of the optimizer, the feedback or a method may be a range, which is tuned: learning-rate: log\n"
        "1e-3..1, or linear 0..1, with a section tune: {trials: 5, by: test-accuracy}. Every seed is then a study of\n"
        "so many trials. A trial is a run with values drawn from the ranges, a cell of the label 'Top-k trial=2', at\n"
        "the seed and 1000. Each fifth of a range has one of five trials. If task.validation holds data out, trials\n"
        "are evaluated on these. The values of the best trial run once more at the seed itself, which took part in no\n"
        "choice, as 'Top-k winner=2', and this run is the result. Claims, tables and plots so have the tuned method\n"
        "under its own name, with all seeds. All methods have as many trials, and one that gives a value in place of\n"
        "the range, as learning-rate: 0.1, is not tuned. A draw depends on the seed, the number of the trial, that of\n"
        "all trials and the key's path: methods share them. The values that won, in tables and legends, are those of\n"
        "the study that is the median over the seeds (results/DEFINITIONS.md).\n",
        out);
    fprintf(out,
            "\nLocal training as its publications have it: `optimizer` is that of each worker's own steps, and its\n"
            "schedule counts every one of them; `outer` moves what all workers share. DeMo has no local steps: its\n"
            "residual is its momentum, and its optimizer steps along signs. Any compressor, code and controller may\n"
            "stand in the place of these:\n\n```\n%s```\n",
            local_training);
    print_heading(out, "Top level", "");
    print_rows(out, &schema, "", NULL);
    print_sub_sections(out, &schema, NULL);
    print_owner(out, &schema, "recipe kind", "", "kernels",
                "Times the kernels of the compressors in one process; beside these keys only schema, name, title, kind "
                "and claims.");
    print_common_names(out);
    print_owners(out, &schema);
    fputs("\n## Deviations from the paper\n\n", out);
    for (size_t i = 0; i < sizeof deviations / sizeof *deviations; i++)
        fprintf(out, "* %s\n", deviations[i]);
    sg_schema_close(&schema);
}

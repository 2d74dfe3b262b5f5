/* recipe_compressors.c: all compressors for --help-compressors, as a table or as JSON: what each promises, and what it
 * costs on an example. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sg_drive.h"
#include "sg_json.h"
#include "sg_memory.h"
#include "sg_recipe.h"
#include "sg_rng.h"
#include "sg_table.h"
#include "sg_text.h"

enum { ROWS = 64, D = ROWS * ROWS, PARAMS = 16 };

/* The bits per element of a worker's messages at one step, for a matrix of normal numbers; NaN = cannot be computed. */
static double bits_of(const struct sg_compressor_ops *ops, float *g, float *sum) {
    static const size_t offset[] = {0, D}, rows[] = {ROWS};
    double param[PARAMS];
    sg_method *m = NULL;
    struct sg_error err;
    if (ops->n_params > PARAMS)
        return NAN;
    sg_compressor_example(ops, 0.01, 2, param);
    const struct sg_method_config config = {.size = sizeof(struct sg_method_config),
                                            .compressor = ops,
                                            .param = param,
                                            .layout = {1, offset, NULL, rows},
                                            .feedback = {&sg_feedback_none, 1, {0}},
                                            .seed = 1,
                                            .count = 1,
                                            .steps_per_epoch = 1,
                                            .exec = {.threads = 1}};
    if (sg_method_open(&m, &config, &err) != SG_OK)
        return NAN;
    struct sg_message message;
    struct sg_play play = {.part = &m, .parts = 1, .d = D, .g = g, .sum = &sum, .message = &message};
    const sg_status status = sg_method_play(&play, 0, 1, &err);
    sg_method_close(m);
    return status == SG_OK ? play.bits / D : NAN;
}

static const char *kind_of(const struct sg_compressor_ops *ops) {
    return ops->select ? "selector" : ops->code ? "code" : ops->rounds ? "rounds" : "coder";
}

static const char *class_of(const struct sg_compressor_ops *ops) {
    return ops->traits & SG_TRAIT_EXACT      ? "exact"
           : ops->traits & SG_TRAIT_UNBIASED ? "unbiased"
           : ops->traits & SG_TRAIT_ABSOLUTE ? "absolute"
           : ops->traits & SG_TRAIT_RELATIVE ? "relative"
                                             : "-";
}

/* The names of the codes or rules that a GPU has. */
static cJSON *names_on_gpu(bool rules) {
    cJSON *out = cJSON_CreateArray();
    for (size_t i = 0; !rules && sg_code_at(i); i++)
        if (sg_code_on_gpu(sg_code_at(i)))
            sg_json_push_string(out, sg_code_at(i)->name);
    for (size_t i = 0; rules && sg_feedback_at(i); i++)
        if (sg_feedback_at(i)->on_gpu)
            sg_json_push_string(out, sg_feedback_at(i)->name);
    return out;
}

/* Explains the column GPU, and lists the codes and feedback rules on a GPU, which have no column. */
static void print_on_gpu(FILE *out, size_t width) {
    static const char *const words[] = {
        "GPU: it runs with --device cuda, as presets are. The values of a selector may be in these codes there:",
        "and error-feedback may have these forms:"};
    for (int rules = 0; rules < 2; rules++) {
        cJSON *names = names_on_gpu(rules != 0);
        const cJSON *name;
        size_t size;
        char *text = NULL;
        FILE *line = sg_memstream(&text, &size);
        cJSON_ArrayForEach(name, names) fprintf(line, "%s%s", name == names->child ? "" : " ", name->valuestring);
        sg_stream_text(line, &text);
        sg_put_wrapped(out, words[rules], width, "# ", "# ");
        sg_put_wrapped(out, text, width, "# ", "# ");
        free(text);
        cJSON_Delete(names);
    }
}

static void add_row(sg_table *t, const struct sg_compressor_ops *ops, double bits) {
    sg_table_cell(t, ops->name, NULL);
    sg_table_cell(t, kind_of(ops), NULL);
    sg_table_cell(t, class_of(ops), NULL);
    sg_table_cell(t, ops->traits & SG_TRAIT_RANDOM ? "yes" : "no", NULL);
    sg_table_cell(t, ops->traits & SG_TRAIT_WANTS_FEEDBACK ? "wanted" : "-", NULL);
    sg_table_number(t, "%.3g", bits);
    sg_table_cell(t, ops->traits & SG_TRAIT_GPU ? "yes" : "-", NULL);
    sg_table_cell(t, sg_compressor_is_zoo(ops) ? "yes" : "-", NULL);
    sg_table_cell(t, ops->source, NULL);
}

static cJSON *parameters_json(const struct sg_compressor_ops *ops) {
    cJSON *out = cJSON_CreateArray();
    for (size_t i = 0; i < ops->n_params; i++) {
        const struct sg_parameter *p = &ops->params[i];
        sg_json_push(out,
                     SG_OBJECT(SG_TEXT("name", p->name), SG_BOOL("integer", p->integer), SG_NUMBER("min", p->min),
                               SG_NUMBER("max", p->max), SG_NUMBER("default", p->preset), SG_TEXT("help", p->help)));
    }
    return out;
}

/* The row of the table, in which "-" is false or null, with the summary and the parameters. */
static cJSON *row_json(const struct sg_compressor_ops *ops, double bits) {
    const char *class = class_of(ops);
    return SG_OBJECT(SG_TEXT("compressor", ops->name), SG_TEXT("also", ops->also), SG_TEXT("summary", ops->summary),
                     SG_TEXT("kind", kind_of(ops)), SG_TEXT("class", strcmp(class, "-") == 0 ? NULL : class),
                     SG_BOOL("draws", ops->traits & SG_TRAIT_RANDOM),
                     SG_BOOL("feedback_wanted", ops->traits & SG_TRAIT_WANTS_FEEDBACK),
                     SG_NUMBER("bits_per_element", bits), SG_BOOL("gpu", ops->traits & SG_TRAIT_GPU),
                     SG_BOOL("zoo", sg_compressor_is_zoo(ops)), SG_TEXT("source", ops->source),
                     SG_VALUE("parameters", parameters_json(ops)));
}

static void put_table(FILE *out, const double *bits, size_t width) {
    enum { NOTES = 110 };
    static const struct sg_table_column columns[] = {{.head = "compressor", .weight = SG_TABLE_ALWAYS},
                                                     {.head = "kind", .weight = SG_TABLE_ALWAYS},
                                                     {.head = "class", .weight = SG_TABLE_ALWAYS},
                                                     {.head = "draws", .weight = SG_TABLE_ALWAYS},
                                                     {.head = "feedback", .weight = SG_TABLE_ALWAYS},
                                                     {.head = "bits", .unit = "/element", .weight = SG_TABLE_ALWAYS},
                                                     {.head = "GPU", .weight = SG_TABLE_ALWAYS},
                                                     {.head = "zoo", .weight = SG_TABLE_ALWAYS},
                                                     {"source", NULL, SG_TABLE_WORDS, SG_TABLE_ALWAYS, 0}};
    static const char *const notes[] = {
        "A selector sends elements as they are, a code writes all of them, a coder has a message of its own, and one "
        "with rounds exchanges more than that. Class: what of Definitions 2 and 3 it promises for every input of "
        "normal floats below 2^127; it and draws are those of the presets. Zoo: a build with ZOO=0 lacks it.",
        "Bits: of one step on 4096 normal numbers, with presets, 1 % of the elements, and 2 for what has no preset."};
    sg_table *t = sg_table_open(columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; sg_compressor_at(i); i++)
        add_row(t, sg_compressor_at(i), bits[i]);
    sg_table_write_lines(out, t, &(struct sg_table_lines){.width = width, .mark = "# "});
    sg_table_free(t);
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        sg_put_wrapped(out, notes[i], width > 0 ? width : NOTES, "# ", "# ");
    print_on_gpu(out, width > 0 ? width : NOTES);
}

static void put_json(FILE *out, const double *bits) {
    cJSON *rows = cJSON_CreateArray();
    for (size_t i = 0; sg_compressor_at(i); i++)
        sg_json_push(rows, row_json(sg_compressor_at(i), bits[i]));
    cJSON *all = SG_OBJECT(SG_TEXT("schema", "sparsegrad-compressors/1"), SG_VALUE("compressors", rows),
                           SG_VALUE("values_on_gpu", names_on_gpu(false)),
                           SG_VALUE("error_feedback_on_gpu", names_on_gpu(true)));
    char *text = sg_json_text(all, true);
    fputs(text, out);
    free(text);
    cJSON_Delete(all);
}

void sg_recipe_compressors(FILE *out, bool json, size_t width) {
    float *g = sg_malloc(D * sizeof *g), *sum = sg_malloc(D * sizeof *sum);
    double *bits = NULL;
    sg_rng rng = sg_rng_open(1, SG_RNG_TEST, 0, 0);
    for (size_t i = 0; i < D; i++)
        g[i] = (float)sg_rng_normal(&rng);
    for (size_t i = 0; sg_compressor_at(i); i++) {
        bits = sg_realloc(bits, (i + 1) * sizeof *bits);
        bits[i] = bits_of(sg_compressor_at(i), g, sum);
    }
    if (json)
        put_json(out, bits);
    else
        put_table(out, bits, width);
    free(bits);
    free(g);
    free(sum);
}

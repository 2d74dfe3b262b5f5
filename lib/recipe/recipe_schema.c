/* recipe_schema.c: every key of a recipe. This table gives the parser, --set, --help-recipe (recipes/REFERENCE.md) and
 * the resolved copy. */
/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <math.h>
#include <string.h>

#include "recipe_private.h"
#include "sg_json.h"
#include "sg_memory.h"
#include "sg_task.h"

#define WHOLE_MAX 9007199254740992.0 /* 2^53: every whole number up to here is a double */
#define MAP(p, ...)                                                                                                    \
    { .path = p, .type = SG_VALUE_MAP, __VA_ARGS__ }
#define TEXT(p, longest, ...)                                                                                          \
    { .path = p, .type = SG_VALUE_TEXT, .max = longest, __VA_ARGS__ }
#define CHOICE(p, c, ...)                                                                                              \
    { .path = p, .type = SG_VALUE_CHOICE, .choices = c, __VA_ARGS__ }
#define INTEGER(p, lo, hi, ...)                                                                                        \
    { .path = p, .type = SG_VALUE_INTEGER, .min = lo, .max = hi, __VA_ARGS__ }
#define NUMBER(p, lo, hi, ...)                                                                                         \
    { .path = p, .type = SG_VALUE_NUMBER, .min = lo, .max = hi, __VA_ARGS__ }
#define TRUE_ONLY(p, ...)                                                                                              \
    { .path = p, .type = SG_VALUE_BOOLEAN, __VA_ARGS__ }
#define SERIES(p, ...)                                                                                                 \
    { .path = p, .type = SG_VALUE_SERIES, __VA_ARGS__ }
#define METHOD(p, ...)                                                                                                 \
    { .path = p, .type = SG_VALUE_METHOD, __VA_ARGS__ }
#define KERNELS                .owner = "kernels"
#define SG_BENCH_DISTRIBUTIONS "gaussian|laplace|heavy-tailed|one-hot-layer|all-equal"
#define ABOVE(p, lo, hi, ...)  NUMBER(p, lo, hi, .above = true, __VA_ARGS__)
#define OUTER                                                                                                          \
    "optimizer of the common x, with the messages' mean as gradient, by default x <- x - mean; `optimizer` makes "     \
    "each "                                                                                                            \
    "worker's own steps"

static const struct sg_schema_row static_row[] = {
    INTEGER("schema", 1, 1, .required = true, .help = "format version; must be the first key"),
    {"name", SG_VALUE_NAME, .required = true, .max = 64,
     .help = "lower-case words joined by '-'; names the files of results"},
    TEXT("title", 200, .help = "title of the figure"),
    {"kind", SG_VALUE_KIND, .preset = "training", .help = "what is measured"},

    /* kind: kernels */
    CHOICE("operations", SG_BENCH_OPERATIONS, KERNELS, .required = true, .least = 0, .most = 32,
           .help = "what is timed"),
    CHOICE("sizes", "resnet18|lstm|ncf", KERNELS, .required = true, .least = 1, .most = 64, .or_number = true, .min = 1,
           .max = 1e9, .help = "a model's layers, or one layer of so many elements"),
    ABOVE("densities", 0, 1, KERNELS, .preset = "[0.001]", .least = 1, .most = 16, .help = "fraction of elements sent"),
    CHOICE("distributions", SG_BENCH_DISTRIBUTIONS, KERNELS, .preset = "[gaussian]", .least = 1, .most = 8,
           .help = "how the gradient's elements are drawn"),
    CHOICE("back-ends", "c|avx2|avx512|cuda", KERNELS, .preset = "[c, avx2, avx512]", .least = 1, .most = 8,
           .help = "kernel tables; what the machine lacks is left out, with a warning. cuda stands alone"),
    {"encodings", SG_VALUE_ENCODING, KERNELS, .preset = "[auto]", .least = 1, .most = 8,
     .help = "of the operations encode and decode"},
    {"values", SG_VALUE_PLAIN_CODE, KERNELS, .preset = "[fp32, fp16]", .least = 1, .most = 2,
     .help = "of the operations encode and decode"},
    MAP("compressors", KERNELS, .when_given = true,
        .help = "whole compressors: a worker's part of a step with error feedback, on the last back-end"),
    TEXT("compressors.names", 64, KERNELS, .preset = "[all]", .least = 1, .most = 256, .help = "the compressors"),
    CHOICE("compressors.sizes", "resnet18|lstm|ncf|recording|recording-flat", KERNELS, .preset = "[resnet18]",
           .least = 1, .most = 16, .or_number = true, .min = 1, .max = 1e9,
           .help = "as sizes above. recording: a recording's layers; recording-flat: the same as one layer"),
    ABOVE("compressors.densities", 0, 1, KERNELS, .preset = "[0.01]", .least = 1, .most = 16,
          .help = "density of compressors; sets thresholds, too"),
    CHOICE("compressors.distributions", SG_BENCH_DISTRIBUTIONS, KERNELS, .preset = "[gaussian]", .least = 1, .most = 8,
           .help = "as distributions above"),
    TEXT("compressors.recording", 400, KERNELS, .help = "gradients, as task.files of the task recorded"),
    INTEGER("threads", 1, 1024, KERNELS, .preset = "[1]", .least = 1, .most = 16, .help = "threads inside a kernel"),
    INTEGER("samples", 20, 10000, KERNELS, .preset = "30",
            .help = "timed samples of an operation, each 1 ms or longer"),

    /* kind: training */

    MAP("task", .training = true, .required = true, .help = "what is trained; the kind decides the other keys"),
    {"task.kind", SG_VALUE_TASK, .required = true, .help = "kind of task"},

    INTEGER("workers", 1, 65536, .training = true, .preset = "1", .grid = true,
            .help = "n, the algorithm's workers; any number of processes runs them"),
    ABOVE("participation", 0, 1, .training = true, .preset = "1", .grid = true, .when_given = true,
          .help = "fraction of workers that take part, drawn for every message. Others keep residuals and momenta"),
    INTEGER("batch", 1, 2147483647, .training = true, .preset = "1", .unit = "samples", .grid = true,
            .help = "a worker's samples at a step"),
    INTEGER("total-batch", 1, 2147483647, .training = true, .when_given = true, .unit = "samples",
            .help = "all workers' samples at a step; the cell is that of batch: total-batch / workers"),
    ABOVE("epochs", 0, INFINITY, .training = true, .grid = true, .help = "passes over the data, in place of steps"),
    INTEGER("steps", 1, WHOLE_MAX, .training = true, .grid = true, .help = "steps of a run, in place of epochs"),
    ABOVE("stretch", 0, INFINITY, .training = true, .grid = true, .when_given = true,
          .help = "factor on the length and on the optimizer's schedule, which keeps its shape"),

    MAP("optimizer", .training = true, .required = true, .help = "how the mean of the messages moves the parameters"),
    {"optimizer.kind", SG_VALUE_OPTIMIZER, .preset = "sgd", .help = "kind of optimizer"},
    {"optimizer.learning-rate", SG_VALUE_EXPRESSION, .required = true, .min = 0, .max = INFINITY, .above = true,
     .grid = true, .help = "gamma. Expressions may use the task's constants, as 1/(L+l2)"},
    ABOVE("optimizer.scale", 0, INFINITY, .preset = "1", .grid = true,
          .help = "factor on the learning rate after the warm-up"),
    NUMBER("optimizer.warm-up-epochs", 0, INFINITY, .preset = "0", .unit = "epochs", .grid = true,
           .help = "linear rise of the factor from warm-up-from to scale"),
    ABOVE("optimizer.warm-up-from", 0, INFINITY, .preset = "1", .grid = true, .when_given = true,
          .help = "factor at the warm-up's first step"),
    CHOICE("optimizer.decay", "steps|cosine", .preset = "steps", .grid = true, .when_given = true,
           .help = "steps: the rate falls at decay-at. cosine: along half a cosine from warm-up to end"),
    NUMBER("optimizer.decay-to", 0, 1, .preset = "0", .grid = true, .when_given = true,
           .help = "fraction of the rate at a cosine's end"),
    ABOVE("optimizer.decay-at", 0, INFINITY, .preset = "[]", .least = 0, .most = 64, .unit = "epochs",
          .help = "ascending epochs at which decay-factor multiplies the rate"),
    NUMBER("optimizer.decay-factor", 0, 1, .above = true, .preset = "0.1", .grid = true,
           .help = "factor at each of decay-at"),

    MAP("error-feedback", .training = true, .preset = "update", .shorthand = "form",
        .help = "what becomes of a gradient's unsent part"),
    {"error-feedback.form", SG_VALUE_FEEDBACK, .preset = "update",
     .help = "the rule, with its keys beside it. update, cser, local-steps, diloco and "
             "dynamic-averaging send updates, with the learning rate in them; others send gradients"},
    MAP("error-feedback.outer", .owner = "diloco", .like = "optimizer",
        .preset = "{kind: nesterov, learning-rate: 0.7}", .help = "as in `local-steps`"),
    MAP("error-feedback.outer", .owner = "local-steps", .like = "optimizer", .when_given = true, .help = OUTER),
    MAP("error-feedback.outer", .owner = "dynamic-averaging", .like = "optimizer", .when_given = true, .help = OUTER),
    NUMBER("error-feedback.decay", 0, 1, .preset = "1", .grid = true,
           .help = "factor on the old residual; 1 in the paper"),
    CHOICE("scope", "layer|model", .training = true, .preset = "layer", .grid = true,
           .help = "layer: compresses each parameter tensor by itself. model: all as one vector"),
    MAP("message", .training = true, .preset = "raw", .shorthand = "encoding",
        .help = "how messages are written; bytes-sent counts it"),
    {"message.encoding", SG_VALUE_ENCODING, .preset = "raw", .grid = true,
     .help =
         "how positions are written. auto: the shortest for each message, with a prefix code for levels where shorter"},
    {"message.values", SG_VALUE_PLAIN_CODE, .preset = "fp32", .grid = true,
     .help =
         "fp16: IEEE halves, at most 65504. bf16: the upper half of a float. The residual keeps the rounding error"},

    MAP("exchange", .training = true, .when_given = true, .help = "when ranks exchange messages; changes no result"),
    {"exchange.buckets", SG_VALUE_SIZE,
     .help = "size of a bucket of layers in floats, as 25MB or 25MiB. Under MPI cnn and, without clip, gpt exchange "
             "buckets during the backward pass of a rank's last worker, unless a method needs the whole model"},

    INTEGER("seeds", 0, WHOLE_MAX, .training = true, .preset = "[1]", .least = 1, .most = 1000,
            .help = "each gives a cell of every method. Also 1..10, or {first, count}"),
    INTEGER("seeds.first", 0, WHOLE_MAX, .preset = "1", .help = "the first seed"),
    INTEGER("seeds.count", 1, 1000, .required = true, .help = "how many follow each other"),

    MAP("network", .training = true, .when_given = true,
        .help = "a modelled network; adds modelled times and peak-bandwidth to finished runs"),
    INTEGER("network.workers", 1, 65536, .help = "by default the recipe's, whose messages are repeated"),
    INTEGER("network.elements", 1, 1e15,
            .help = "parameters, by default the run's; messages and compression count in proportion"),
    {"network.link", SG_VALUE_LINK, .preset = "10gbe-tcp", .help = "link between nodes"},
    {"network.collective", SG_VALUE_SUM, .preset = "auto",
     .help = "exchange of messages that add up: none, fp16, bf16, randomk with shared, powersgd, integers"},
    {"network.gather", SG_VALUE_EXCHANGE,
     .help = "exchange of all other messages. auto: the publication's for gtopk and ok-topk, auto-two-round for codes "
             "of every element, else auto-gather"},
    {"network.overlap", SG_VALUE_OVERLAP, .preset = "fused",
     .help = "how exchanges overlap the backward pass; layer and priority need record.layers"},
    NUMBER("network.bucket", 0, 1e6, .preset = "25", .unit = "MiB",
           .help = "with fused: uncompressed size of a bucket of layers; the first has 1 MiB, as in PyTorch. 0: "
                   "buckets that end earliest"),
    INTEGER("network.nodes", 1, 65536,
            .help = "machines with equally many workers, by default one each; for hierarchical collectives and nccl"),
    {"network.link-within", SG_VALUE_LINK, .preset = "nvlink-a100", .help = "link within a node"},
    INTEGER("network.ports", 1, 64, .preset = "1", .help = "ports of a node"),
    INTEGER(
        "network.share", 1, 65536, .preset = "1",
        .help =
            "processes that divide the bandwidth of a link between nodes, as a machine's GPUs do; `nodes` does not"),
    INTEGER("network.servers", 1, 65536,
            .help = "servers of parameter-server, by default one a worker. For star: the server's link as a multiple "
                    "of a worker's, by default 1"),
    ABOVE("network.bandwidth", 0, 1e6, .unit = "Gbit/s", .help = "replaces the link's bus bandwidth"),
    NUMBER("network.latency", 0, 1e9, .unit = "us", .help = "replaces the link's time for an empty message"),
    NUMBER("network.compute", 0, 1e6, .preset = "0", .unit = "seconds",
           .help = "a step's forward and backward pass, a third of it forward; layers take it by their elements"),
    TEXT("network.processor", 200,
         .help = "whose times of compression count: v100 (published; the default), cpu (an AMD EPYC, measured), free, "
                 "or a file by sparsebench --measure-coding. --advise measures this machine"),
    NUMBER("network.coding", 0, 1e6, .unit = "ns", .help = "time to compress one parameter; replaces processor"),
    {"network.bursts", SG_VALUE_BOOLEAN, .when_given = true,
     .help = "adds the cost of uneven steps as burst-linear, burst-union and others; needs record.every: 1 and "
             "record.workers"},

    MAP("record", .training = true, .required = true, .help = "what a run records"),
    INTEGER("record.every", 1, WHOLE_MAX, .preset = "1", .unit = "steps", .help = "steps between records"),
    NUMBER("record.evaluate", 0, INFINITY, .unit = "epochs",
           .help = "epochs between evaluations of the task's columns, by default 1, for logreg every record; 0: the "
                   "last step only"),
    {"record.layers", SG_VALUE_BOOLEAN, .preset = "false",
     .help = "entries sent, error-norm and error-max of every layer"},
    {"record.workers", SG_VALUE_BOOLEAN, .when_given = true,
     .help = "with layers: also each worker's entries, for modelled times"},
    SERIES("record.series", .required = true, .least = 1, .most = 64, .help = "columns beside step and epoch"),

    MAP("tune", .training = true, .when_given = true,
        .help = "how keys with a range are tuned: each method by itself, anew at every seed"),
    INTEGER("tune.trials", 1, 1000, .required = true,
            .help = "runs with values from the ranges, one from each of so many equal parts"),
    SERIES("tune.by", .required = true,
           .help = "series that chooses the best trial: the largest accuracy or hit rate, else the smallest"),
    MAP("tune.at", .preset = "{final: true}", .like = "claims[].at", .help = "which value of it counts"),

    MAP("step-efficiency", .training = true, .when_given = true, .shorthand = "of",
        .help = "adds the series step-efficiency: the fraction of a run's steps that no compression needs to become as "
                "good. A method without compression has a list of stretch for it"),
    SERIES("step-efficiency.of", .required = true, .help = "series of the quality"),
    MAP("step-efficiency.at", .preset = "{final: true}", .like = "claims[].at", .help = "which value of it counts"),

    MAP("methods", .training = true, .required = true, .least = 1, .most = 256, .help = "what is compared"),
    TEXT("methods[].name", 64, .required = true, .help = "name in results and figures"),
    {"methods[].compressor", SG_VALUE_COMPRESSOR, .required = true,
     .help = "the compressor, with its parameters beside it: numbers, expressions of constants, `match` where "
             "sparsetune finds the value, or lists of these"},
    MAP("methods[].controller", .shorthand = "kind", .when_given = true,
        .help = "what changes a parameter of the compressor, its knob, during training"),
    {"methods[].controller.kind", SG_VALUE_CONTROLLER, .required = true,
     .help = "the controller, with its parameters beside it"},
    MAP("methods[].values", .shorthand = "code", .when_given = true,
        .help = "code of a selector's values; replaces message.values"),
    {"methods[].values.code", SG_VALUE_CODE, .required = true,
     .help = "the code, with its parameters beside it. The residual keeps the rounding error"},
    MAP("methods[].k-from", .shorthand = "method", .when_given = true,
        .help = "gives topk the entries that another method sent at the seed; needs scope: layer and record: {every: "
                "1, layers: true, workers: true}"),
    TEXT("methods[].k-from.method", 128, .required = true, .help = "label of the other method's cell"),
    {"methods[].k-from.layers", SG_VALUE_BOOLEAN, .preset = "true", .grid = true,
     .help = "copies the numbers by layer; else divides them by size"},
    {"methods[].k-from.steps", SG_VALUE_BOOLEAN, .preset = "true", .grid = true,
     .help = "copies them by step; else takes the mean"},
    {"methods[].k-from.workers", SG_VALUE_BOOLEAN, .preset = "true", .grid = true,
     .help = "copies them by worker; else takes the mean"},
    MAP("methods[].optimizer", .like = "optimizer", .help = "replaces the recipe's whole section"),
    MAP("methods[].error-feedback", .shorthand = "form", .like = "error-feedback", .help = "replaces the recipe's"),
    CHOICE("methods[].scope", "layer|model", .grid = true, .help = "replaces the recipe's"),
    MAP("methods[].message", .shorthand = "encoding", .like = "message", .help = "replaces the recipe's"),
    MAP("methods[].shards", .shorthand = "kind", .help = "replaces task.shards"),
    CHOICE("methods[].shards.kind", "iid|sorted|dirichlet", .required = true, .grid = true,
           .help = "as task.shards.kind"),
    NUMBER("methods[].shards.alpha", 1e-6, 1e6, .grid = true, .help = "as task.shards.alpha"),
    CHOICE("methods[].sharding", "global|reference", .grid = true, .help = "replaces task.sharding"),
    ABOVE("methods[].epochs", 0, INFINITY, .grid = true, .help = "replaces the recipe's, if --set does not"),
    INTEGER("methods[].steps", 1, WHOLE_MAX, .grid = true, .help = "replaces the recipe's, if --set does not"),
    ABOVE("methods[].stretch", 0, INFINITY, .grid = true, .help = "replaces the recipe's"),
    {"methods[].learning-rate", SG_VALUE_EXPRESSION, .min = 0, .max = INFINITY, .above = true, .grid = true,
     .help = "replaces the optimizer's"},
    {"methods[].exchange", SG_VALUE_EXCHANGE, .help = "replaces network.collective and network.gather"},
    {"methods[].baseline", SG_VALUE_BOOLEAN, .preset = "false", .help = "what others are compared with; a dashed line"},

    /* both kinds */
    MAP("claims", .preset = "[]", .least = 0, .most = 256,
        .help = "sentences judged at every seed, for kernels in every case"),
    TEXT("claims[].text", 300, .required = true, .help = "the sentence"),
    {"claims[].descriptive", SG_VALUE_BOOLEAN, .preset = "false",
     .help = "written after the result; tests no expectation"},
    TEXT("claims[].note", 300, .help = "remark behind the numbers, as a bound's source"),
    SERIES("claims[].metric", .required = true, .constant = true, .help = "what is compared; for kernels `time`"),
    METHOD("claims[].of", .required = true, .help = "method or cell's label; for kernels an operation"),
    MAP("claims[].at", .training = true, .preset = "{final: true}",
        .help = "how a series becomes a number: a key below, or when with below"),
    TRUE_ONLY("claims[].at.final", .help = "the last record"),
    ABOVE("claims[].at.tail-median", 0, 1, .help = "median of this last fraction of records"),
    ABOVE("claims[].at.tail-mean", 0, 1, .help = "mean of this last fraction of records"),
    TRUE_ONLY("claims[].at.max", .help = "the largest record"),
    TRUE_ONLY("claims[].at.min", .help = "the smallest record"),
    TRUE_ONLY("claims[].at.mean", .help = "the mean of records"),
    TRUE_ONLY("claims[].at.sum", .help = "the sum of records"),
    NUMBER("claims[].at.epoch", 0, INFINITY, .help = "the first record from this epoch on"),
    INTEGER("claims[].at.step", 0, WHOLE_MAX, .help = "the first record from this step on"),
    SERIES("claims[].at.when", .help = "the first record where this series is at most `below`; +inf without one"),
    NUMBER("claims[].at.below", -INFINITY, INFINITY, .help = "goes with when"),
    MAP("claims[].at-most", .or_number = true,
        .help = "upper bound: a number, or times x + plus with x the metric of a method"),
    NUMBER("claims[].at-most.times", -INFINITY, INFINITY, .preset = "1", .help = "factor on the other value"),
    NUMBER("claims[].at-most.plus", -INFINITY, INFINITY, .preset = "0", .help = "summand"),
    METHOD("claims[].at-most.of", .help = "method of the other value, by default the claim's"),
    SERIES("claims[].at-most.metric", .constant = true, .help = "its series or constant, by default the claim's"),
    MAP("claims[].at-most.at", .training = true, .like = "claims[].at",
        .help = "its place in the series, by default the claim's"),
    MAP("claims[].at-least", .or_number = true, .like = "claims[].at-most", .help = "lower bound, in the same forms"),

    MAP("plots", .training = true, .preset = "[]", .least = 0, .most = 64, .help = "panels of the figure"),
    SERIES("plots[].x", .required = true, .constant = true,
           .help = "series of the horizontal axis; for points also a constant or listed key"),
    SERIES("plots[].y", .required = true, .constant = true, .help = "the same of the vertical axis"),
    CHOICE("plots[].log", "none|x|y|xy", .preset = "none", .help = "logarithmic axes"),
    TEXT("plots[].title", 200, .help = "title of the panel"),
    NUMBER("plots[].x-range", -INFINITY, INFINITY, .least = 2, .most = 2,
           .help = "[from, to]. Cells of a ranking must lie in it"),
    NUMBER("plots[].y-range", -INFINITY, INFINITY, .least = 2, .most = 2, .help = "[from, to]"),
    CHOICE("plots[].kind", "curves|points|ranking", .preset = "curves",
           .help = "curves: y over x along runs. points: one a cell. ranking: cells within x-range by y"),
    CHOICE("plots[].band", "auto|std|quartiles|none", .preset = "auto",
           .help = "of curves: mean ± standard deviation, or median and quartiles. auto: quartiles on a logarithmic y "
                   "axis, else std"),
    INTEGER("plots[].smooth", 1, 9999, .preset = "1", .unit = "records",
            .help = "of curves: mean of so many records, geometric on a logarithmic y axis"),
    METHOD("plots[].methods", .least = 1, .most = 256, .help = "methods or labels of cells, by default all"),
    MAP("plots[].x-at", .preset = "{final: true}", .like = "claims[].at",
        .help = "of points and rankings: which x of a run"),
    MAP("plots[].y-at", .preset = "{final: true}", .like = "claims[].at",
        .help = "of points and rankings: which y of a run"),
};

enum { STATIC_ROWS = sizeof static_row / sizeof *static_row };

/* ---- rows that tasks, optimizers, compressors … contribute ---- */

static void append(struct sg_schema *s, const struct sg_schema_row *row) {
    s->row = sg_realloc(s->row, (s->count + 1) * sizeof *s->row);
    s->row[s->count++] = *row;
}

static void append_parameters(struct sg_schema *s, const struct sg_owners *owners) {
    struct sg_row owner;
    for (size_t i = 0; (owner = sg_variant_at(owners->type, i)).name != NULL; i++)
        for (size_t j = 0; j < owner.n_params; j++) {
            const struct sg_parameter *p = &owner.params[j];
            struct sg_schema_row row = {.min = p->min,
                                        .max = p->max,
                                        .help = p->help,
                                        .owner = owner.name,
                                        .in_method = owners->in_method,
                                        .grid = true};
            row.type = row.in_method ? SG_VALUE_EXPRESSION : p->integer ? SG_VALUE_INTEGER : SG_VALUE_NUMBER;
            row.whole = row.in_method && p->integer;
            snprintf(row.path, sizeof row.path, "%s.%s", owners->section, p->name);
            char text[SG_NUMBER_CHARS];
            snprintf(row.preset, sizeof row.preset, "%s", isnan(p->preset) ? "" : sg_number_text(p->preset, text));
            append(s, &row);
        }
}

static const enum sg_value_type type_of_key[] = {
    [SG_KEY_STRING] = SG_VALUE_TEXT,     [SG_KEY_CHOICE] = SG_VALUE_CHOICE,   [SG_KEY_NUMBER] = SG_VALUE_NUMBER,
    [SG_KEY_INTEGER] = SG_VALUE_INTEGER, [SG_KEY_BOOLEAN] = SG_VALUE_BOOLEAN, [SG_KEY_EXPRESSION] = SG_VALUE_EXPRESSION,
};

/* Appends, once, the map in which a dotted key lies. It stands in resolved recipes as that key does. */
static void append_sub_map(struct sg_schema *s, const struct sg_key *key, const char *owner) {
    size_t length = strcspn(key->name, ".");
    if (key->name[length] == '\0')
        return;
    struct sg_schema_row row = {
        .type = SG_VALUE_MAP, .preset = "{}", .help = "below", .when_given = key->when_given, .owner = owner};
    snprintf(row.path, sizeof row.path, "task.%.*s", (int)length, key->name);
    for (size_t i = 0; i < s->count; i++)
        if (s->row[i].owner == owner && strcmp(s->row[i].path, row.path) == 0)
            return;
    append(s, &row);
}

static void append_tasks(struct sg_schema *s) {
    const struct sg_task_kind *kind;
    for (size_t i = 0; (kind = sg_task_kind_at(i)) != NULL; i++)
        for (size_t j = 0; j < kind->n_keys; j++) {
            const struct sg_key *key = &kind->key[j];
            struct sg_schema_row row = {.type = type_of_key[key->type],
                                        .help = key->help,
                                        .unit = key->unit,
                                        .choices = key->choices,
                                        .min = key->min,
                                        .max = key->max,
                                        .required = key->required,
                                        .when_given = key->when_given,
                                        .constants = key->constants,
                                        .grid = !key->data,
                                        .owner = kind->name};
            if (row.type == SG_VALUE_EXPRESSION) {
                row.min = -INFINITY;
                row.max = INFINITY;
            } else if (row.type == SG_VALUE_TEXT) {
                row.max = key->max > 0 ? key->max : 400;
            }
            snprintf(row.path, sizeof row.path, "task.%s", key->name);
            snprintf(row.preset, sizeof row.preset, "%s", key->preset ? key->preset : "");
            append_sub_map(s, key, kind->name);
            append(s, &row);
        }
}

/* Each row is followed by those of the parameters that it chooses. */
void sg_schema_open(struct sg_schema *out) {
    *out = (struct sg_schema){0};
    for (size_t row = 0; row < STATIC_ROWS; row++) {
        append(out, &static_row[row]);
        if (static_row[row].type == SG_VALUE_TASK)
            append_tasks(out);
        for (size_t i = 0; i < SG_OWNERS; i++)
            if (sg_owners[i].type == static_row[row].type)
                append_parameters(out, &sg_owners[i]);
    }
}

void sg_schema_close(struct sg_schema *schema) {
    free(schema->row);
    *schema = (struct sg_schema){0};
}

/* ---- reading a row ---- */

const char *sg_row_key(const struct sg_schema_row *row) {
    const char *dot = strrchr(row->path, '.');
    return dot ? dot + 1 : row->path;
}

bool sg_row_in(const struct sg_schema_row *row, const char *section) {
    const char *dot = strrchr(row->path, '.');
    size_t length = dot ? (size_t)(dot - row->path) : 0;
    return strlen(section) == length && memcmp(row->path, section, length) == 0;
}

void sg_row_section(const struct sg_schema_row *row, char out[64]) {
    if (row->like)
        snprintf(out, 64, "%s", row->like);
    else
        snprintf(out, 64, "%.61s%s", row->path, row->most > 0 && row->type == SG_VALUE_MAP ? "[]" : "");
}

char *sg_range_text(const struct sg_schema_row *row, char out[SG_RANGE]) {
    bool low = row->min > -DBL_MAX, high = row->max < DBL_MAX;
    char min[SG_NUMBER_CHARS], max[SG_NUMBER_CHARS];
    sg_number_text(row->min, min);
    sg_number_text(row->max, max);
    if (low && high && row->min == row->max)
        snprintf(out, SG_RANGE, "%s", min);
    else if (low && high && row->above)
        snprintf(out, SG_RANGE, "greater than %s and at most %s", min, max);
    else if (low && high)
        snprintf(out, SG_RANGE, "between %s and %s", min, max);
    else if (low)
        snprintf(out, SG_RANGE, "%s %s", row->above ? "greater than" : "at least", min);
    else if (high)
        snprintf(out, SG_RANGE, "at most %s", max);
    else
        out[0] = '\0';
    return out;
}

/* recipe_schema.c: every key of a recipe. This table gives the parser, --set, --help-recipe, recipes/README.md and the
 * resolved copy. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "recipe_internal.h"
#include "sg_json.h"
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
    "the optimizer of what all workers share, whose gradient is the mean of what is sent, with the keys of "           \
    "`optimizer`; that is then the optimizer of each worker's own steps. Absent: x <- x - mean"

static const struct sg_schema_row static_row[] = {
    INTEGER("schema", 1, 1, .required = true, .help = "format version; must be the first key"),
    {"name", SG_VALUE_NAME, .required = true, .max = 64,
     .help = "identifier: lower-case words joined by '-'; names result files"},
    TEXT("title", 200, .help = "title of the figure"),
    {"kind", SG_VALUE_KIND, .preset = "training", .help = "what is measured: training runs or kernels"},

    /* kind: kernels */
    CHOICE("operations", SG_BENCH_OPERATIONS, KERNELS, .required = true, .least = 0, .most = 32,
           .help = "what is timed; a list"),
    CHOICE("sizes", "resnet18|lstm|ncf", KERNELS, .required = true, .least = 1, .most = 64, .or_number = true, .min = 1,
           .max = 1e9, .help = "the layers of a model, or a whole number: one layer of so many elements; a list"),
    ABOVE("densities", 0, 1, KERNELS, .preset = "[0.001]", .least = 1, .most = 16,
          .help = "fraction of the elements that is sent; a list"),
    CHOICE("distributions", SG_BENCH_DISTRIBUTIONS, KERNELS, .preset = "[gaussian]", .least = 1, .most = 8,
           .help = "how the gradient's elements are drawn; a list"),
    CHOICE("back-ends", "c|avx2|avx512|cuda", KERNELS, .preset = "[c, avx2, avx512]", .least = 1, .most = 8,
           .help =
               "kernel tables; those that the machine lacks are left out with a warning, cuda stands alone; a list"),
    {"encodings", SG_VALUE_ENCODING, KERNELS, .preset = "[auto]", .least = 1, .most = 8,
     .help = "encodings that encode and decode are timed with; a list"},
    {"values", SG_VALUE_PLAIN_CODE, KERNELS, .preset = "[fp32, fp16]", .least = 1, .most = 2,
     .help = "values that encode and decode are timed with; a list"},
    MAP("compressors", KERNELS, .when_given = true,
        .help =
            "a worker's share of a step of whole compressors, which are timed with error feedback at their presets; "
            "threads, samples and the last back-end that the machine has hold here too"),
    TEXT("compressors.names", 64, KERNELS, .preset = "[all]", .least = 1, .most = 256,
         .help = "compressors, or all of the table; a list"),
    CHOICE("compressors.sizes", "resnet18|lstm|ncf|recording|recording-flat", KERNELS, .preset = "[resnet18]",
           .least = 1, .most = 16, .or_number = true, .min = 1, .max = 1e9,
           .help = "as sizes; recording: the layers of a recording, recording-flat: all of it as one layer; a list"),
    ABOVE("compressors.densities", 0, 1, KERNELS, .preset = "[0.01]", .least = 1, .most = 16,
          .help = "density of those that have one; it sets the threshold of others; a list"),
    CHOICE("compressors.distributions", SG_BENCH_DISTRIBUTIONS, KERNELS, .preset = "[gaussian]", .least = 1, .most = 8,
           .help = "as distributions; a list"),
    TEXT("compressors.recording", 400, KERNELS,
         .help = "gradients as task.files of the task recorded, which are given to the compressors step by step"),
    INTEGER("threads", 1, 1024, KERNELS, .preset = "[1]", .least = 1, .most = 16,
            .help = "threads inside a kernel; a list"),
    INTEGER("samples", 20, 10000, KERNELS, .preset = "30", .help = "timed samples of each operation, 1 ms or longer"),

    /* kind: training */

    MAP("task", .training = true, .required = true, .help = "what is trained; its kind decides the keys"),
    {"task.kind", SG_VALUE_TASK, .required = true, .help = "kind of task"},

    INTEGER("workers", 1, 65536, .training = true, .preset = "1", .grid = true,
            .help = "n, the algorithm's workers, however many processes run them"),
    ABOVE("participation", 0, 1, .training = true, .preset = "1", .grid = true, .when_given = true,
          .help = "the share of the workers that take part in a step, at least one, drawn anew for every message; the "
                  "others send nothing, and all that is kept of them stays as it is"),
    INTEGER("batch", 1, 2147483647, .training = true, .preset = "1", .unit = "samples", .grid = true,
            .help = "samples a worker draws a step"),
    INTEGER("total-batch", 1, 2147483647, .training = true, .when_given = true, .unit = "samples",
            .help = "in place of batch: samples that all workers draw a step together, of which each draws its share; "
                    "every number of workers must divide it. A cell is that of the batch that it comes to"),
    ABOVE("epochs", 0, INFINITY, .training = true, .grid = true,
          .help = "length of a run in passes over the data; give this or steps"),
    INTEGER("steps", 1, WHOLE_MAX, .training = true, .grid = true,
            .help = "length of a run in steps; give this or epochs"),

    MAP("optimizer", .training = true, .required = true, .help = "how the aggregated gradient moves the parameters"),
    {"optimizer.kind", SG_VALUE_OPTIMIZER, .preset = "sgd", .help = "kind of optimizer"},
    {"optimizer.learning-rate", SG_VALUE_EXPRESSION, .required = true, .min = 0, .max = INFINITY, .above = true,
     .grid = true, .help = "gamma: a number or an expression over the task's constants, as 1/(L+l2)"},
    ABOVE("optimizer.scale", 0, INFINITY, .preset = "1", .grid = true,
          .help = "factor on the learning rate that the warm-up ends with; without a warm-up it holds from the start"),
    NUMBER("optimizer.warm-up-epochs", 0, INFINITY, .preset = "0", .unit = "epochs", .grid = true,
           .help = "the factor rises from warm-up-from to scale in a straight line, step by step, over these"),
    ABOVE("optimizer.warm-up-from", 0, INFINITY, .preset = "1", .grid = true, .when_given = true,
          .help = "factor on the learning rate that the warm-up begins with"),
    CHOICE("optimizer.decay", "steps|cosine", .preset = "steps", .grid = true, .when_given = true,
           .help = "steps: the learning rate falls at decay-at; cosine: from the end of the warm-up to that of the run "
                   "it falls along half a cosine"),
    NUMBER("optimizer.decay-to", 0, 1, .preset = "0", .grid = true, .when_given = true,
           .help = "share of the learning rate that a cosine ends with"),
    ABOVE("optimizer.decay-at", 0, INFINITY, .preset = "[]", .least = 0, .most = 64, .unit = "epochs",
          .help = "at each of these the learning rate is multiplied by decay-factor; an ascending list"),
    NUMBER("optimizer.decay-factor", 0, 1, .above = true, .preset = "0.1", .grid = true, .help = "0.1: divided by 10"),

    MAP("error-feedback", .training = true, .preset = "update", .shorthand = "form",
        .help = "what happens to what was not sent"),
    {"error-feedback.form", SG_VALUE_FEEDBACK, .preset = "update",
     .help = "the rule, whose own keys stand beside it: update is Algorithm 1; update, cser, local-steps, diloco and "
             "dynamic-averaging send updates, which have the learning rate; with every other form it comes after "
             "aggregation"},
    MAP("error-feedback.outer", .owner = "diloco", .like = "optimizer",
        .preset = "{kind: nesterov, learning-rate: 0.7}", .help = OUTER),
    MAP("error-feedback.outer", .owner = "local-steps", .like = "optimizer", .when_given = true, .help = OUTER),
    MAP("error-feedback.outer", .owner = "dynamic-averaging", .like = "optimizer", .when_given = true, .help = OUTER),
    NUMBER("error-feedback.decay", 0, 1, .preset = "1", .grid = true,
           .help = "factor on the old residual; 1 = the paper's"),
    CHOICE("scope", "layer|model", .training = true, .preset = "layer", .grid = true,
           .help = "compress each parameter tensor by itself, or all as one vector"),
    MAP("message", .training = true, .preset = "raw", .shorthand = "encoding",
        .help = "how messages travel, which bytes-sent counts"),
    {"message.encoding", SG_VALUE_ENCODING, .preset = "raw", .grid = true,
     .help = "how the indices of a sparse message are written; auto: the smallest for each message, and levels of "
             "quantizers in a prefix code where that is smaller. No encoding changes what is received"},
    {"message.values", SG_VALUE_PLAIN_CODE, .preset = "fp32", .grid = true,
     .help = "fp16: values are rounded to IEEE halves (beyond 65504 to 65504); bf16: to the upper half of a float. The "
             "error "
             "goes into the residual"},

    MAP("exchange", .training = true, .when_given = true, .help = "when ranks exchange messages; results are the same"),
    {"exchange.buckets", SG_VALUE_SIZE,
     .help = "under MPI, exchange the layers in buckets of so many bytes of floats, as 25MB or 25MiB, the last layers "
             "first, "
             "while the backward pass computes the gradients of others. The tasks cnn and, without clip, gpt do so; of "
             "several workers of a rank, it is the last one's pass that hides exchanges. What goes by the whole model "
             "travels as a whole, and the run says so"},

    INTEGER("seeds", 0, WHOLE_MAX, .training = true, .preset = "[1]", .least = 1, .most = 1000,
            .help = "one cell a method and seed; a list or one of them, also as 1,2 or 1..10, or {first, count}"),
    INTEGER("seeds.first", 0, WHOLE_MAX, .preset = "1", .help = "first seed of a range"),
    INTEGER("seeds.count", 1, 1000, .required = true, .help = "how many seeds follow each other"),

    MAP("network", .training = true, .when_given = true,
        .help = "a modelled network: results get the series time, exposed-time and compute-time, which are computed "
                "from what finished runs sent; no run depends on it"),
    INTEGER("network.workers", 1, 65536,
            .help = "P of the network; absent: the recipe's. The messages of the recipe's workers are repeated"),
    INTEGER("network.elements", 1, 1e15,
            .help =
                "numbers of the model that is meant, where a run or a recording has fewer: every layer's messages, and "
                "what compressing them takes, count in proportion. Absent: the run's own"),
    {"network.link", SG_VALUE_LINK, .preset = "10gbe-tcp", .help = "link between nodes"},
    {"network.collective", SG_VALUE_SUM, .preset = "auto",
     .help = "how messages travel that are added up on their way: those of `none`, fp16 and bf16, of randomk with "
             "shared, and of compressors whose rounds add shorter vectors (powersgd, integers)"},
    {"network.gather", SG_VALUE_EXCHANGE,
     .help = "how all other messages travel; absent or auto: as the method's publication has it (gtopk, ok-topk), else "
             "auto-two-round for codes of every element and auto-gather for the rest"},
    {"network.overlap", SG_VALUE_OVERLAP, .preset = "fused",
     .help = "how exchanges hide behind the backward pass; layer and priority need record.layers"},
    NUMBER("network.bucket", 0, 1e6, .preset = "25", .unit = "MiB",
           .help = "of fused: layers are collected until they have so many bytes without compression, the first time 1 "
                   "MiB, as PyTorch's DistributedDataParallel does; 0: the buckets that end all exchanges first"),
    INTEGER("network.nodes", 1, 65536,
            .help =
                "machines, each with as many workers; absent: one for each worker. Only hierarchical collectives and "
                "nccl use it"),
    {"network.link-within", SG_VALUE_LINK, .preset = "nvlink-a100", .help = "link within a node"},
    INTEGER("network.ports", 1, 64, .preset = "1", .help = "network ports of a node"),
    INTEGER("network.share", 1, 65536, .preset = "1",
            .help =
                "processes that share one link between nodes, as several GPUs of a node do or workers of one shaped "
                "machine: each gets that part of the bandwidth. `nodes` does not divide it, because a ring crosses "
                "from node to node once"),
    INTEGER("network.servers", 1, 65536,
            .help =
                "K of parameter-server, absent: as many as workers; and of star, whose server's link is as wide as K "
                "workers', absent: 1"),
    ABOVE("network.bandwidth", 0, 1e6, .unit = "Gbit/s", .help = "in place of the link's bus bandwidth"),
    NUMBER("network.latency", 0, 1e9, .unit = "us", .help = "in place of the link's time for a message without bytes"),
    NUMBER("network.compute", 0, 1e6, .preset = "0", .unit = "seconds",
           .help = "forward and backward pass of a step; a third is forward, and layers take their share of the "
                   "elements. 0: times are those of communication alone"),
    TEXT("network.processor", 200,
         .help = "whose time encoding and decoding take: v100 (published figures), cpu (this library on an AMD EPYC, "
                 "measured), free, or a .json file that sparsebench --measure-coding wrote; `none` takes no time. "
                 "Absent: v100, and for --advise this machine"),
    NUMBER("network.coding", 0, 1e6, .unit = "ns",
           .help = "encoding and decoding of one number of the model, in place of network.processor"),
    {"network.bursts", SG_VALUE_BOOLEAN, .when_given = true,
     .help = "also burst-linear, burst-union and others: what it costs, in several ways, that steps send different "
             "amounts; needs record.every: 1 and record.workers"},

    MAP("record", .training = true, .required = true, .help = "what a run writes down"),
    INTEGER("record.every", 1, WHOLE_MAX, .preset = "1", .unit = "steps", .help = "steps between two records"),
    NUMBER("record.evaluate", 0, INFINITY, .unit = "epochs",
           .help =
               "epochs between evaluations of the task's columns, null elsewhere, and always after the last step; 0 = "
               "never; absent: with every record where that is cheap (logreg), else 1"),
    {"record.layers", SG_VALUE_BOOLEAN, .preset = "false",
     .help = "entries sent, error-norm and error-max of every layer with each record, as arrays"},
    {"record.workers", SG_VALUE_BOOLEAN, .when_given = true,
     .help = "with layers: also the entries of every layer that each worker sent, which a modelled network goes by"},
    SERIES("record.series", .required = true, .least = 1, .most = 64, .help = "columns beside step and epoch; a list"),

    MAP("tune", .training = true, .when_given = true,
        .help = "how the keys that have a range are tuned, each method by itself with the same number of trials; every "
                "seed is a study of its own"),
    INTEGER("tune.trials", 1, 1000, .required = true,
            .help =
                "trials of a study: runs with values drawn from the ranges, one of each part of a range that is cut "
                "into so many"),
    SERIES("tune.by", .required = true,
           .help = "series that decides: the trial with the best value wins its study, the largest of an accuracy "
                   "or a hit rate, else the smallest"),
    MAP("tune.at", .preset = "{final: true}", .like = "claims[].at", .help = "which value of a run decides"),

    MAP("methods", .training = true, .required = true, .least = 1, .most = 256, .help = "what is compared; a list"),
    TEXT("methods[].name", 64, .required = true, .help = "label in results and figures"),
    {"methods[].compressor", SG_VALUE_COMPRESSOR, .required = true,
     .help =
         "name of a compressor; its parameters stand beside it, each a number, an expression over the task's constants "
         "and gamma, `match` where sparsetune is to find it, or a list of these (one cell each)"},
    MAP("methods[].controller", .shorthand = "kind", .when_given = true,
        .help = "what changes one parameter of the compressor, its knob, as training goes on"),
    {"methods[].controller.kind", SG_VALUE_CONTROLLER, .required = true,
     .help = "name of a controller; its parameters stand beside it, in the forms of a compressor's"},
    MAP("methods[].values", .shorthand = "code", .when_given = true,
        .help = "how the values of a selector are written; overrides message.values"),
    {"methods[].values.code", SG_VALUE_CODE, .required = true,
     .help = "name of a code; its parameters stand beside it, in the forms of a compressor's. What it rounds off goes "
             "into the residual"},
    MAP("methods[].k-from", .shorthand = "method", .when_given = true,
        .help = "in place of topk's k or density: what another method of the recipe sent at the same seed, along the "
                "axes below; along the others the mean, so that the volume of the run is the same. Needs scope: layer "
                "and record: {every: 1, layers: true, workers: true}; the other method runs first"),
    TEXT("methods[].k-from.method", 128, .required = true, .help = "label of the other method's cell"),
    {"methods[].k-from.layers", SG_VALUE_BOOLEAN, .preset = "true", .grid = true,
     .help = "each layer's own number; else the layers' share of their sum, by their sizes"},
    {"methods[].k-from.steps", SG_VALUE_BOOLEAN, .preset = "true", .grid = true,
     .help = "each step's own number; else the mean over the steps"},
    {"methods[].k-from.workers", SG_VALUE_BOOLEAN, .preset = "true", .grid = true,
     .help = "each worker's own number; else the mean over the workers"},
    MAP("methods[].optimizer", .like = "optimizer", .help = "replaces the recipe's as a whole"),
    MAP("methods[].error-feedback", .shorthand = "form", .like = "error-feedback", .help = "overrides the recipe's"),
    CHOICE("methods[].scope", "layer|model", .grid = true, .help = "overrides the recipe's"),
    MAP("methods[].message", .shorthand = "encoding", .like = "message", .help = "overrides the recipe's"),
    MAP("methods[].shards", .shorthand = "kind", .help = "overrides task.shards, where the task has that"),
    CHOICE("methods[].shards.kind", "iid|sorted|dirichlet", .required = true, .grid = true,
           .help = "as task.shards.kind"),
    NUMBER("methods[].shards.alpha", 1e-6, 1e6, .grid = true, .help = "as task.shards.alpha"),
    CHOICE("methods[].sharding", "global|reference", .grid = true,
           .help = "overrides task.sharding, where the task has that"),
    ABOVE("methods[].epochs", 0, INFINITY, .grid = true,
          .help = "overrides the recipe's length, unless --set gives that"),
    INTEGER("methods[].steps", 1, WHOLE_MAX, .grid = true,
            .help = "overrides the recipe's length, unless --set gives that"),
    {"methods[].learning-rate", SG_VALUE_EXPRESSION, .min = 0, .max = INFINITY, .above = true, .grid = true,
     .help = "overrides the optimizer's"},
    {"methods[].exchange", SG_VALUE_EXCHANGE,
     .help = "how the method's messages travel on a modelled network, in place of network.collective and "
             "network.gather; no run depends on it"},
    {"methods[].baseline", SG_VALUE_BOOLEAN, .preset = "false",
     .help = "drawn dashed, as the paper's no-compression line"},

    /* both kinds */
    MAP("claims", .preset = "[]", .least = 0, .most = 256,
        .help =
            "the paper's sentences as checks; a list. Of training each is judged at every seed, of kernels in every "
            "case (results/DEFINITIONS.md)"),
    TEXT("claims[].text", 300, .required = true, .help = "the sentence"),
    {"claims[].descriptive", SG_VALUE_BOOLEAN, .preset = "false",
     .help = "written after its result: it keeps what was found and tests no expectation; tables and pages say so"},
    TEXT("claims[].note", 300, .help = "shown behind the numbers, as where a bound comes from"),
    SERIES("claims[].metric", .required = true, .constant = true,
           .help = "series or constant of a run that is looked at; of kernels `time`, the seconds of a call"),
    METHOD("claims[].of", .required = true,
           .help = "method, or label of its cell when it has lists; of kernels an operation, on the last back-end that "
                   "the machine has"),
    MAP("claims[].at", .training = true, .preset = "{final: true}",
        .help = "how a series becomes one number: one of the keys below (when and below go together)"),
    TRUE_ONLY("claims[].at.final", .help = "the last record"),
    ABOVE("claims[].at.tail-median", 0, 1, .help = "median of this last fraction of the records"),
    ABOVE("claims[].at.tail-mean", 0, 1, .help = "mean of this last fraction of the records"),
    TRUE_ONLY("claims[].at.max", .help = "the largest record"),
    TRUE_ONLY("claims[].at.min", .help = "the smallest record"),
    TRUE_ONLY("claims[].at.mean", .help = "the mean over the records"),
    TRUE_ONLY("claims[].at.sum", .help = "the sum over the records"),
    NUMBER("claims[].at.epoch", 0, INFINITY, .help = "the first record at or after this epoch"),
    INTEGER("claims[].at.step", 0, WHOLE_MAX, .help = "the first record at or after this step"),
    SERIES("claims[].at.when", .help = "the first record where this series is at or below `below`; +inf if never"),
    NUMBER("claims[].at.below", -INFINITY, INFINITY, .help = "goes with `when`"),
    MAP("claims[].at-most", .or_number = true,
        .help = "upper bound: a number, or times x (a metric of a method) + plus; a claim has this or at-least"),
    NUMBER("claims[].at-most.times", -INFINITY, INFINITY, .preset = "1", .help = "factor on the other value"),
    NUMBER("claims[].at-most.plus", -INFINITY, INFINITY, .preset = "0", .help = "added to it"),
    METHOD("claims[].at-most.of", .help = "method of the other value; absent: the claim's"),
    SERIES("claims[].at-most.metric", .constant = true, .help = "its series or constant; absent: the claim's"),
    MAP("claims[].at-most.at", .training = true, .like = "claims[].at",
        .help = "its place in the series; absent: the claim's"),
    MAP("claims[].at-least", .or_number = true, .like = "claims[].at-most", .help = "lower bound, in the same forms"),

    MAP("plots", .training = true, .preset = "[]", .least = 0, .most = 64, .help = "panels of the figure; a list"),
    SERIES("plots[].x", .required = true, .constant = true,
           .help = "series on the horizontal axis; points may have a constant or a key that is a list there"),
    SERIES("plots[].y", .required = true, .constant = true, .help = "series on the vertical axis; likewise"),
    CHOICE("plots[].log", "none|x|y|xy", .preset = "none", .help = "logarithmic axes"),
    TEXT("plots[].title", 200, .help = "title of the panel"),
    NUMBER("plots[].x-range", -INFINITY, INFINITY, .least = 2, .most = 2,
           .help = "[from, to]; absent: automatic. Of a ranking: which cells are in it; absent: all"),
    NUMBER("plots[].y-range", -INFINITY, INFINITY, .least = 2, .most = 2, .help = "[from, to]; absent: automatic"),
    CHOICE("plots[].kind", "curves|points|ranking", .preset = "curves",
           .help =
               "curves: y over x along each run; points: one point a cell, as quality against density; ranking: the "
               "cells whose x is within x-range sorted by y, the best at the top, each with its seeds, and a line "
               "where the baseline is, as quality at equal bytes"),
    CHOICE("plots[].band", "auto|std|quartiles|none", .preset = "auto",
           .help = "curves: mean ± 1 standard deviation over the seeds, or median and quartiles; auto: these on a "
                   "logarithmic y axis, else std"),
    INTEGER("plots[].smooth", 1, 9999, .preset = "1", .unit = "records",
            .help = "curves: each record shows the mean of so many around it, geometric on a logarithmic y axis"),
    METHOD("plots[].methods", .least = 1, .most = 256,
           .help = "methods, or labels of cells, that are shown; absent: all"),
    MAP("plots[].x-at", .preset = "{final: true}", .like = "claims[].at",
        .help = "points and rankings: which x of a run"),
    MAP("plots[].y-at", .preset = "{final: true}", .like = "claims[].at",
        .help = "points and rankings: which y of a run"),
};

enum { STATIC_ROWS = sizeof static_row / sizeof *static_row };

/* ---- rows that tasks, optimizers, compressors … contribute ---- */

static bool append(struct sg_schema *s, const struct sg_schema_row *row) {
    struct sg_schema_row *grown = realloc(s->row, (s->count + 1) * sizeof *grown);
    if (grown == NULL)
        return false;
    s->row = grown;
    s->row[s->count++] = *row;
    return true;
}

static bool append_parameters(struct sg_schema *s, const struct sg_owners *owners) {
    struct sg_row owner;
    bool fine = true;
    for (size_t i = 0; (owner = sg_variant_at(owners->type, i)).name != NULL; i++)
        for (size_t j = 0; fine && j < owner.n_params; j++) {
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
            fine = append(s, &row);
        }
    return fine;
}

static const enum sg_value_type type_of_key[] = {
    [SG_KEY_STRING] = SG_VALUE_TEXT,     [SG_KEY_CHOICE] = SG_VALUE_CHOICE,   [SG_KEY_NUMBER] = SG_VALUE_NUMBER,
    [SG_KEY_INTEGER] = SG_VALUE_INTEGER, [SG_KEY_BOOLEAN] = SG_VALUE_BOOLEAN, [SG_KEY_EXPRESSION] = SG_VALUE_EXPRESSION,
};

/* Appends, once, the map in which a dotted key lies. It stands in resolved recipes as that key does. */
static bool append_sub_map(struct sg_schema *s, const struct sg_key *key, const char *owner) {
    size_t length = strcspn(key->name, ".");
    if (key->name[length] == '\0')
        return true;
    struct sg_schema_row row = {.type = SG_VALUE_MAP,
                                .preset = "{}",
                                .help = "a section of its own, below",
                                .when_given = key->when_given,
                                .owner = owner};
    snprintf(row.path, sizeof row.path, "task.%.*s", (int)length, key->name);
    for (size_t i = 0; i < s->count; i++)
        if (s->row[i].owner == owner && strcmp(s->row[i].path, row.path) == 0)
            return true;
    return append(s, &row);
}

static bool append_tasks(struct sg_schema *s) {
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
            if (!append_sub_map(s, key, kind->name) || !append(s, &row))
                return false;
        }
    return true;
}

/* Appends the rows that follow a key of this type. */
static bool append_owned(struct sg_schema *s, enum sg_value_type type) {
    bool fine = type != SG_VALUE_TASK || append_tasks(s);
    for (size_t i = 0; i < SG_OWNERS; i++)
        fine = fine && (sg_owners[i].type != type || append_parameters(s, &sg_owners[i]));
    return fine;
}

bool sg_schema_open(struct sg_schema *out) {
    struct sg_schema s = {0};
    bool fine = true;
    for (size_t i = 0; fine && i < STATIC_ROWS; i++)
        fine = append(&s, &static_row[i]) && append_owned(&s, static_row[i].type);
    if (fine)
        *out = s;
    else
        sg_schema_close(&s);
    return fine;
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
    if (row->like != NULL)
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

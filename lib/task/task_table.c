/* task_table.c: the task kinds and their recipe keys. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "sg_memory.h"
#include "sg_plugin.h"
#include "sg_task.h"
#include "sg_task_plugin.h"
#include "sg_version.h"
#include "task_data.h"

extern const struct sg_task_ops sg_logreg_ops, sg_recorded_ops;

#define SHARD_KEYS                                                                                                     \
    {"shards.kind", SG_KEY_CHOICE, .choices = "iid|sorted|dirichlet", .preset = "iid",                                 \
     .help = "a worker's samples. iid: random. sorted: of one class or few. dirichlet: fractions of classes drawn "    \
             "for each worker"},                                                                                       \
    {                                                                                                                  \
        .name = "shards.alpha", .type = SG_KEY_NUMBER, .min = 1e-6, .max = 1e6,                                        \
        .help = "concentration of dirichlet; large: near iid, small: near one class each"                              \
    }

#define PRECISION_KEY                                                                                                  \
    {                                                                                                                  \
        "precision", SG_KEY_CHOICE,                                                                                    \
            .choices = "fp32|tf32|bf16", .preset = "fp32", .when_given = true,                                         \
            .help = "of convolutions and matrix products. tf32: factors of 11 significant bits; bf16: factors and "    \
                    "results of 8; both are faster and need --device cuda"                                             \
    }

#define EVALUATE_ON_KEY                                                                                                \
    {                                                                                                                  \
        "evaluate-on", SG_KEY_CHOICE, .choices = "test|validation", .preset = "test", .when_given = true,              \
                                      .help = "data of test series; trials of tune use validation"                     \
    }

enum { LOGREG_L2_MAY_USE = 6, LOGREG_START_MAY_USE = 7 }; /* of the constants below */

static const struct sg_constant_kind logreg_constant[] = {
    {"L", "sigma_max(A)^2 / (4 m), the largest curvature without l2"},
    {"row_mean", "mean_j |a_j|^2 / 4"},
    {"row_max", "max_j |a_j|^2 / 4"},
    {"m", "rows of the data, of d features"},
    {"d", "parameters of the model"},
    {"n", "workers"},
    {"l2", "task.l2"},
    {"label_skew", "mean over workers of (1/2) sum_c |fraction of class c in the shard - in all data|"},
    {"D", "(1/n) sum_i |grad f_i(x*)|^2, null without x*"},
    {"f_star", "f(x*), null without x*"},
    {"f_start", "f(x0)"},
};

static const struct sg_key logreg_key[] = {
    {"dataset", SG_KEY_STRING, .data = true, .required = true,
     .help = "a name in datasets/, or a LIBSVM file's path with a '/'"},
    {"stand-in", SG_KEY_STRING, .data = true,
     .help = "generator for missing data: gisette-like, two-clouds. Results say so"},
    {"l2", SG_KEY_EXPRESSION, .preset = "L/10000", .constants = LOGREG_L2_MAY_USE,
     .help = "weight of (l2/2)|x|^2. May use L, row_mean, row_max, m, d, n"},
    {"oracle", SG_KEY_CHOICE, .choices = "stochastic|full|full-shifted|lsvrg|lsvrg-shifted", .preset = "stochastic",
     .help = "stochastic: batch random rows of the shard. full: grad f_i(x) of the whole shard. full-shifted: that "
             "less grad f_i(x*) (GD*). lsvrg: grad f_ij(x) - grad f_ij(w_i) + grad f_i(w_i) for random rows j "
             "(EC-LSVRG). lsvrg-shifted: that less grad f_i(x*) (EC-LSVRGstar)"},
    {"refresh", SG_KEY_EXPRESSION, .when_given = true, .constants = LOGREG_L2_MAY_USE, .preset = "n/m",
     .help = "of lsvrg: probability above 0 that w_i moves to x at a step. May use l2's constants"},
    {"start.offset-from-optimum", SG_KEY_EXPRESSION, .constants = LOGREG_START_MAY_USE,
     .help = "c: x0 = x* + c in every coordinate, by default zeros"},
    {"solve-optimum", SG_KEY_BOOLEAN, .preset = "true", .help = "false: without x* and the series that need it"},
    SHARD_KEYS,
};

static const struct sg_metric logreg_metric[] = {
    {"loss", "", "f(x) = mean_i log(1 + exp(-y_i a_i.x)) + (l2/2)|x|^2 over all rows", .symbol = "f(x)",
     .quantity = SG_QUANTITY_LOSS},
    {"suboptimality", "", "f(x) - f(x*)", .symbol = "f(x) − f*", .quantity = SG_QUANTITY_SUBOPTIMALITY},
    {"relative_suboptimality", "", "(f(x) - f(x*)) / (f(x0) - f(x*))", .axis = "suboptimality",
     .symbol = "(f(x) − f*) / (f(x⁰) − f*)", .quantity = SG_QUANTITY_SUBOPTIMALITY},
    {"distance_squared", "", "|x - x*|^2", .title = "squared distance", .axis = "distance", .symbol = "‖x − x*‖²"},
    {"full_gradient_norm", "", "|grad f(x)|^2 over all rows; costs a pass over the data",
     .title = "squared norm of the full gradient", .axis = "full gradient", .symbol = "‖∇f(x)‖²"},
};

static const struct sg_constant_kind cnn_constant[] = {
    {"d", "parameters of the model"},
    {"n", "workers"},
    {"images", "training images"},
    {"classes", "classes of the data"},
    {"label_skew", "mean over workers of (1/2) sum_c |fraction of class c in the shard - in all data|"},
};

static const struct sg_key cnn_key[] = {
    {"model", SG_KEY_CHOICE, .choices = "resnet8|resnet20|resnet18|googlenet|googlenet-deep|senet18|seresnet18",
     .required = true, .help = "resnet8 and resnet20 have 16, 32, 64 channels"},
    {"width", SG_KEY_NUMBER, .when_given = true, .min = 0.01, .max = 16, .preset = "1",
     .help = "factor on the channels, rounded"},
    {"dataset", SG_KEY_STRING, .data = true, .required = true,
     .help = "cifar-10, cifar-100, or a subset cifar-100-NAME"},
    {"stand-in", SG_KEY_STRING, .data = true, .help = "generator for missing data: cifar-like. Results say so"},
    {"augment", SG_KEY_CHOICE, .choices = "usual|none|crop-flip|crop-flip-rotate", .preset = "usual",
     .help = "usual: crop-flip for CIFAR-10, crop-flip-rotate for CIFAR-100"},
    {"train-images", SG_KEY_INTEGER, .data = true, .min = 0, .max = 1e9, .preset = "0", .unit = "images",
     .help = "training images, the same random ones always; 0: all"},
    {"test-images", SG_KEY_INTEGER, .data = true, .min = 0, .max = 1e9, .preset = "0", .unit = "images",
     .help = "test images, likewise; 0: all"},
    {"average-model", SG_KEY_BOOLEAN, .preset = "true",
     .help = "also evaluates the running average of models, in as much time again"},
    PRECISION_KEY,
    {"graph", SG_KEY_BOOLEAN, .when_given = true, .preset = "false",
     .help = "repeats a worker's pass as a CUDA graph; needs --device cuda and a model without dropout"},
    SHARD_KEYS,
    {"validation", SG_KEY_INTEGER, .when_given = true, .data = true, .min = 1, .max = 1e9, .unit = "images",
     .help = "held-out training images that evaluate trials of tune"},
    EVALUATE_ON_KEY,
};

static const struct sg_metric cnn_metric[] = {
    {"test_loss", "",
     .help = "mean cross-entropy over the test set; each worker evaluates a part with its batch-norm statistics",
     .quantity = SG_QUANTITY_LOSS},
    {"test_accuracy", "", "fraction of test images whose largest logit is right", .higher = true,
     .quantity = SG_QUANTITY_SHARE},
    {"test_loss_averaged", "", .help = "test_loss of the mean of models and statistics over evaluations so far",
     .quantity = SG_QUANTITY_LOSS},
    {"test_accuracy_averaged", "", "test_accuracy of that mean", .higher = true, .quantity = SG_QUANTITY_SHARE},
};

static const struct sg_constant_kind lm_constant[] = {
    {"d", "parameters of the model"},
    {"n", "workers"},
    {"V", "words of the vocabulary"},
    {"tokens", "training tokens"},
};

#define TEXT_KEYS                                                                                                      \
    {"dataset", SG_KEY_STRING, .data = true, .required = true,                                                         \
     .help = "wikitext-2, another set of train.txt, valid.txt and test.txt, or a text's path with a '/', its last "    \
             "tenth the test"},                                                                                        \
        {"stand-in", SG_KEY_STRING, .data = true, .help = "generator for missing data: text-like. Results say so"},    \
        {"train-file",      SG_KEY_CHOICE,                                                                             \
         .data = true,      .choices = "train|valid|test",                                                             \
         .preset = "train", .help = "file of training; its words are the vocabulary"},                                 \
        {"test-file",       SG_KEY_CHOICE,                                                                             \
         .data = true,      .choices = "train|valid|test",                                                             \
         .preset = "valid", .help = "file of evaluation; valid for the paper's perplexity"},                           \
        {"train-tokens", SG_KEY_INTEGER, .data = true,     .min = 0,                                                   \
         .max = 1e9,     .preset = "0",  .unit = "tokens", .help = "training tokens, from the start; 0: all"},         \
        {"test-tokens", SG_KEY_INTEGER, .data = true,     .min = 0,                                                    \
         .max = 1e9,    .preset = "0",  .unit = "tokens", .help = "test tokens, from the start; 0: all"},              \
        {"lower-case", SG_KEY_BOOLEAN, .data = true, .preset = "true", .help = "turns letters to lower case"}, {       \
        "vocabulary", SG_KEY_INTEGER, .data = true, .min = 0, .max = 1e9, .preset = "0", .unit = "words",              \
                                      .help = "the most frequent words; others become <unk>. 0: all"                   \
    }

static const struct sg_key lm_key[] = {
    TEXT_KEYS,
    {"embedding", SG_KEY_INTEGER, .min = 1, .max = 65536, .preset = "650", .help = "width of a word"},
    {"hidden", SG_KEY_INTEGER, .min = 1, .max = 65536,
     .help = "width of LSTM layers but the last, by default a word's"},
    {"layers", SG_KEY_INTEGER, .min = 1, .max = 16, .preset = "3", .help = "LSTM layers"},
    {"dropout", SG_KEY_NUMBER, .min = 0, .max = 0.99, .preset = "0.4",
     .help = "fraction of embedding, layers and output that a step leaves out"},
    {"bptt", SG_KEY_INTEGER, .min = 1, .max = 65536, .preset = "30", .unit = "tokens",
     .help = "tokens of a column that a step back-propagates through"},
    {"clip", SG_KEY_NUMBER, .min = 0, .max = 1e9, .preset = "0.4",
     .help = "largest norm of a worker's gradient before error feedback; 0: any"},
    PRECISION_KEY,
};

static const struct sg_metric lm_metric[] = {
    {"test_perplexity", "", .help = "mean over workers' batches of exp(mean cross-entropy), as in the paper's code",
     .quantity = SG_QUANTITY_PERPLEXITY},
    {"test_loss", "", .help = "mean cross-entropy of a test token", .quantity = SG_QUANTITY_LOSS},
    {"test_perplexity_corpus", "", .help = "exp(test_loss), of the whole text", .quantity = SG_QUANTITY_PERPLEXITY},
};

static const struct sg_key gpt_key[] = {
    TEXT_KEYS,
    {"tokens", SG_KEY_CHOICE, .data = true, .choices = "words|bytes", .preset = "words",
     .help = "what a token is. bytes: one of 256, without vocabulary and lower-case"},
    {"layers", SG_KEY_INTEGER, .min = 1, .max = 24, .preset = "4", .help = "transformer blocks"},
    {"heads", SG_KEY_INTEGER, .min = 1, .max = 1024, .preset = "4",
     .help = "attention heads of a block; a divisor of width"},
    {"width", SG_KEY_INTEGER, .min = 1, .max = 65536, .preset = "128", .help = "numbers of a token"},
    {"context", SG_KEY_INTEGER, .min = 1, .max = 65536, .preset = "128", .unit = "tokens",
     .help = "tokens of a window"},
    {"dropout", SG_KEY_NUMBER, .min = 0, .max = 0.99, .preset = "0",
     .help = "fraction of embedding, attention and branches that a step leaves out"},
    {"clip", SG_KEY_NUMBER, .min = 0, .max = 1e9, .preset = "1",
     .help = "largest norm of a worker's gradient before error feedback; 0: any"},
    PRECISION_KEY,
};

static const struct sg_metric gpt_metric[] = {
    {"test_loss", "", .help = "mean cross-entropy of a test token, in windows of the context's length",
     .quantity = SG_QUANTITY_LOSS},
    {"test_perplexity_corpus", "", .help = "exp(test_loss), of the whole text", .quantity = SG_QUANTITY_PERPLEXITY},
};

static const struct sg_constant_kind ncf_constant[] = {
    {"d", "parameters of the model"},   {"n", "workers"},
    {"users", "users of the data"},     {"items", "items of the data"},
    {"ratings", "ratings of the data"},
};

static const struct sg_key ncf_key[] = {
    {"dataset", SG_KEY_STRING, .data = true, .required = true,
     .help = "ml-100k, ml-1m, ml-20m, ml-25m, or another in their formats, as ml-100k-NAME"},
    {"stand-in", SG_KEY_STRING, .data = true, .help = "generator for missing data: ratings-like. Results say so"},
    {"users", SG_KEY_INTEGER, .data = true, .min = 0, .max = 1e9, .preset = "0", .unit = "users",
     .help = "users kept, always the same random ones; 0: all"},
    {"factors", SG_KEY_INTEGER, .min = 1, .max = 4096, .preset = "64",
     .help = "numbers of a user and of an item in the matrix factorisation"},
    {"mlp", SG_KEY_STRING, .preset = "256-256-128-64",
     .help = "sizes of the perceptron's input, half the user's, and layers"},
    {"dropout", SG_KEY_NUMBER, .min = 0, .max = 0.999, .preset = "0.5",
     .help = "rate after each of the perceptron's layers"},
    {"negatives", SG_KEY_INTEGER, .min = 1, .max = 1000, .preset = "4",
     .help = "pairs labelled 0 for each rating of an epoch: its user, a random item"},
    {"test-negatives", SG_KEY_INTEGER, .min = 1, .max = 100000, .preset = "100", .unit = "items",
     .help = "unrated items with which a user's test item competes"},
    {"sharding", SG_KEY_CHOICE, .choices = "global|reference", .preset = "global",
     .help = "global: shuffles an epoch's examples together. reference, as the paper's code: each worker shuffles its "
             "part of a list, ratings first"},
    PRECISION_KEY,
    {"validation", SG_KEY_BOOLEAN, .when_given = true, .data = true, .preset = "false",
     .help = "holds out each user's last rating but one, to evaluate trials of tune"},
    EVALUATE_ON_KEY,
};

static const struct sg_metric ncf_metric[] = {
    {"hit_rate", "", "Hit-Rate@10: fraction of users whose test item is among the 10 best", .higher = true,
     .quantity = SG_QUANTITY_SHARE},
    {"ndcg", "", "NDCG@10: mean over users of 1 / log2(rank + 1) up to rank 10, else 0", .higher = true,
     .quantity = SG_QUANTITY_SHARE},
};

static const struct sg_constant_kind recorded_constant[] = {
    {"d", "elements of a gradient"},
    {"n", "workers"},
    {"steps", "steps in the files"},
};

static const struct sg_key recorded_key[] = {
    {"files", SG_KEY_STRING, .data = true, .required = true,
     .help = "path of a .npy array (steps, workers, d), .safetensors files, or a file by sparsetrain "
             "--record-gradients; {step} and {worker} in the name count from 0. See recipes/OWN-GRADIENTS.md"},
    {"steps-at.first", SG_KEY_INTEGER, .max = 1e15, .when_given = true, .data = true,
     .help = "first step in the names of files"},
    {"steps-at.every", SG_KEY_INTEGER, .min = 1, .max = 1e15, .when_given = true, .data = true,
     .help = "distance of steps in the names"},
    {"layers", SG_KEY_STRING, .max = 65536, .help = "layers of .npy files, as 64x3x3x3,64,10x64; by default one"},
    {"layers-file", SG_KEY_STRING, .when_given = true, .data = true,
     .help = "text file, a line for each layer: its shape, or name and shape, as conv1.weight 64x3x7x7"},
    {"steps-per-epoch", SG_KEY_INTEGER, .min = 1, .max = 1e15, .unit = "steps",
     .help = "epoch of schedules, by default that of sparsetrain's run, else all steps"},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))
/* The members of a kind that are named after it: its lists, and its `identify`. */
#define OF(kind)                                                                                                       \
    .key = kind##_key, .n_keys = COUNT(kind##_key), .constant = kind##_constant,                                       \
    .n_constants = COUNT(kind##_constant), .identify = task_identify_##kind
#define METRICS(kind) .metric = kind##_metric, .n_metrics = COUNT(kind##_metric)

static const struct sg_task_kind task_kind[] = {
    {"logreg", "logistic regression with l2 regularisation", OF(logreg), METRICS(logreg), .ops = &sg_logreg_ops},
    {"cnn", "image classification by a convolutional network (needs libtorch)", OF(cnn), METRICS(cnn)},
    {"lm", "language model of LSTM layers (needs libtorch); batch: a worker's columns of text", OF(lm), METRICS(lm)},
    {"gpt", "language model of transformer blocks, as GPT-2 (needs libtorch); batch: a worker's windows of text",
     .key = gpt_key, .n_keys = COUNT(gpt_key), .constant = lm_constant, .n_constants = COUNT(lm_constant),
     .identify = task_identify_gpt, METRICS(gpt)},
    {"ncf", "recommendation by neural collaborative filtering, NeuMF (needs libtorch)", OF(ncf), METRICS(ncf)},
    {"recorded", "gradients of any training, from files; no loss", OF(recorded), .ops = &sg_recorded_ops},
};

const struct sg_task_kind *sg_task_kind_at(size_t i) {
    return i < COUNT(task_kind) ? &task_kind[i] : NULL;
}

const struct sg_task_kind *sg_task_kind_find(const char *name) {
    for (size_t i = 0; i < COUNT(task_kind); i++)
        if (strcmp(task_kind[i].name, name) == 0)
            return &task_kind[i];
    return NULL;
}

static sg_status load_plugin(const struct sg_task_ops **out, const char *name, struct sg_error *err) {
    void *symbol;
    sg_task_plugin_fn *plugin;
    sg_status status = sg_plugin_symbol(&symbol, SG_TASK_PLUGIN, SG_TASK_PLUGIN_SYMBOL, err);
    if (status == SG_ERR_MISSING)
        return sg_fail(err, SG_ERR_UNSUPPORTED,
                       "task kind '%s' needs libtorch, which this build lacks: apt-get install libtorch-dev "
                       "libopenblas0-pthread g++ (or set TORCH_DIR=) and rebuild with make WITH_TORCH=1",
                       name);
    if (status != SG_OK)
        return sg_prefix(err, "task kind '%s': ", name);
    memcpy(&plugin, &symbol, sizeof plugin);
    *out = plugin(name, sg_version_sources(), sg_memory_end);
    return *out
               ? SG_OK
               : sg_fail(err, SG_ERR_UNSUPPORTED,
                         "task kind '%s': %s is of another build: run make again (make install, where it is installed)",
                         name, SG_TASK_PLUGIN);
}

sg_status sg_task_load(const struct sg_task_ops **out, const char *name, struct sg_error *err) {
    const struct sg_task_kind *kind = sg_task_kind_find(name);
    if (!kind)
        return sg_fail(err, SG_ERR_ARGUMENT, "unknown task kind '%s'", name);
    if (!kind->ops)
        return load_plugin(out, name, err);
    *out = kind->ops;
    return SG_OK;
}

sg_status sg_task_dataset(cJSON **out, const struct sg_node *resolved, const char *data_dir, struct sg_error *err) {
    const struct sg_task_kind *kind = sg_task_kind_find(sg_node_string(resolved, "task.kind", ""));
    struct sg_provenance from;
    *out = NULL;
    if (!kind)
        return sg_fail(err, SG_ERR_ARGUMENT, "unknown task kind '%s'", sg_node_string(resolved, "task.kind", ""));
    sg_status status = kind->identify(&from, sg_node_get(resolved, "task"), data_dir, err);
    if (status != SG_OK)
        return status == SG_ERR_MISSING ? SG_OK : status;
    *out = sg_provenance_json(&from);
    sg_provenance_free(&from);
    return SG_OK;
}

/* task_table.c: the task kinds and their recipe keys. */
#include <string.h>

#include "sg_plugin.h"
#include "sg_task.h"
#include "sg_task_plugin.h"
#include "sg_version.h"
#include "task_data.h"

extern const struct sg_task_ops sg_logreg_ops, sg_recorded_ops;

#define SHARD_KEYS                                                                                                     \
    {"shards.kind", SG_KEY_CHOICE, .choices = "iid|sorted|dirichlet", .preset = "iid",                                 \
     .help = "which samples a worker has. iid: a random part; sorted: by class, one class or few; dirichlet: shares "  \
             "of classes drawn for each worker"},                                                                      \
    {                                                                                                                  \
        .name = "shards.alpha", .type = SG_KEY_NUMBER, .min = 1e-6, .max = 1e6,                                        \
        .help = "concentration of dirichlet: large is near iid, small is one class each"                               \
    }

#define PRECISION_KEY                                                                                                  \
    {                                                                                                                  \
        "precision", SG_KEY_CHOICE, .choices = "fp32|tf32", .preset = "fp32", .when_given = true,                      \
                                    .help = "of convolutions and matrix products on a GPU. tf32: their factors are "   \
                                            "rounded to 11 significant bits, "                                         \
                                            "which is faster; it needs --device cuda"                                  \
    }

#define EVALUATE_ON_KEY                                                                                                \
    {                                                                                                                  \
        "evaluate-on", SG_KEY_CHOICE, .choices = "test|validation", .preset = "test", .when_given = true,              \
                                      .help = "part of the data that the test series are of; trials of `tune` "        \
                                              "have validation by themselves"                                          \
    }

enum { LOGREG_L2_MAY_USE = 6, LOGREG_START_MAY_USE = 7 }; /* of the constants below */

static const struct sg_constant_kind logreg_constant[] = {
    {"L", "sigma_max(A)^2 / (4 m), the largest curvature of the loss without l2"},
    {"row_mean", "mean_j |a_j|^2 / 4"},
    {"row_max", "max_j |a_j|^2 / 4"},
    {"m", "rows of the data set"},
    {"d", "parameters: features of the data set"},
    {"n", "workers"},
    {"l2", "the value of task.l2"},
    {"label_skew", "mean over workers of (1/2) sum_c |share of class c in the shard - in all data|"},
    {"D", "(1/n) sum_i |grad f_i(x*)|^2, null without x*"},
    {"f_star", "f(x*), null without x*"},
    {"f_start", "f(x0)"},
};

static const struct sg_key logreg_key[] = {
    {"dataset", SG_KEY_STRING, .data = true, .required = true,
     .help = "name of a data set in datasets/, or the path of a LIBSVM file (with a '/' in it)"},
    {"stand-in", SG_KEY_STRING, .data = true,
     .help = "generator to use where the data set is missing: gisette-like, two-clouds; results say so"},
    {"l2", SG_KEY_EXPRESSION, .preset = "L/10000", .constants = LOGREG_L2_MAY_USE,
     .help = "weight of (l2/2)|x|^2; may use L, row_mean, row_max, m, d, n"},
    {"oracle", SG_KEY_CHOICE, .choices = "stochastic|full|full-shifted|lsvrg|lsvrg-shifted", .preset = "stochastic",
     .help = "stochastic: `batch` rows of the worker's shard drawn uniformly with replacement; full: the gradient of "
             "the whole shard; full-shifted: grad f_i(x) - grad f_i(x*), written GD*; lsvrg: rows j drawn as for "
             "stochastic, grad f_ij(x) - grad f_ij(w_i) + grad f_i(w_i) with a reference point w_i that moves to x at "
             "random (loopless SVRG; EC-LSVRG with error feedback); lsvrg-shifted: that less grad f_i(x*) "
             "(EC-LSVRGstar)"},
    {"refresh", SG_KEY_EXPRESSION, .when_given = true, .constants = LOGREG_L2_MAY_USE, .preset = "n/m",
     .help = "probability, above 0 and at most 1, that a worker's reference point moves to x at a step; only for "
             "oracle lsvrg and lsvrg-shifted; may use L, row_mean, row_max, m, d, n"},
    {"start.offset-from-optimum", SG_KEY_EXPRESSION, .constants = LOGREG_START_MAY_USE,
     .help = "c: start at x0 = x* + c in every coordinate; absent: at zeros"},
    {"solve-optimum", SG_KEY_BOOLEAN, .preset = "true",
     .help = "false: do not solve for x*; series that need it are then unavailable"},
    SHARD_KEYS,
};

static const struct sg_metric logreg_metric[] = {
    {"loss", "", "f(x) = mean_i log(1 + exp(-y_i a_i.x)) + (l2/2)|x|^2 over all rows", .symbol = "f(x)",
     .quantity = SG_QUANTITY_LOSS},
    {"suboptimality", "", "f(x) - f(x*)", .symbol = "f(x) − f*", .quantity = SG_QUANTITY_SUBOPTIMALITY},
    {"relative_suboptimality", "", "(f(x) - f(x*)) / (f(x0) - f(x*))", .axis = "suboptimality",
     .symbol = "(f(x) − f*) / (f(x⁰) − f*)", .quantity = SG_QUANTITY_SUBOPTIMALITY},
    {"distance_squared", "", "|x - x*|^2", .title = "squared distance", .axis = "distance", .symbol = "‖x − x*‖²"},
    {"full_gradient_norm", "", "|grad f(x)|^2 over all rows; costs a pass over the data where it is recorded",
     .title = "squared norm of the full gradient", .axis = "full gradient", .symbol = "‖∇f(x)‖²"},
};

static const struct sg_constant_kind cnn_constant[] = {
    {"d", "parameters of the network"},
    {"n", "workers"},
    {"images", "images in the training set"},
    {"classes", "classes of the data set"},
    {"label_skew", "mean over workers of (1/2) sum_c |share of class c in the shard - in all data|"},
};

static const struct sg_key cnn_key[] = {
    {"model", SG_KEY_CHOICE, .choices = "resnet8|resnet20|resnet18|googlenet|googlenet-deep|senet18|seresnet18",
     .required = true, .help = "the network; resnet8 and resnet20 have 16-32-64 channels"},
    {"width", SG_KEY_NUMBER, .when_given = true, .min = 0.01, .max = 16, .preset = "1",
     .help = "multiple of the network's channels, each rounded to a whole number"},
    {"dataset", SG_KEY_STRING, .data = true, .required = true,
     .help = "cifar-10, cifar-100, or a subset cifar-100-NAME"},
    {"stand-in", SG_KEY_STRING, .data = true,
     .help = "generator to use where the data set is missing: cifar-like; results say so"},
    {"augment", SG_KEY_CHOICE, .choices = "usual|none|crop-flip|crop-flip-rotate", .preset = "usual",
     .help = "usual: crop-flip for CIFAR-10, crop-flip-rotate for CIFAR-100"},
    {"train-images", SG_KEY_INTEGER, .data = true, .min = 0, .max = 1e9, .preset = "0", .unit = "images",
     .help = "train on so many, chosen at random but always the same; 0 = all"},
    {"test-images", SG_KEY_INTEGER, .data = true, .min = 0, .max = 1e9, .preset = "0", .unit = "images",
     .help = "evaluate on so many, chosen the same way; 0 = all"},
    {"average-model", SG_KEY_BOOLEAN, .preset = "true",
     .help = "evaluate the running average of the model as well, which doubles the time of an evaluation"},
    PRECISION_KEY,
    SHARD_KEYS,
    {"validation", SG_KEY_INTEGER, .when_given = true, .data = true, .min = 1, .max = 1e9, .unit = "images",
     .help = "hold so many of the training images out for validation, on which the trials of `tune` are evaluated"},
    EVALUATE_ON_KEY,
};

static const struct sg_metric cnn_metric[] = {
    {"test_loss", "",
     .help = "mean cross-entropy over the test set, each worker its part with its own batch-norm statistics",
     .quantity = SG_QUANTITY_LOSS},
    {"test_accuracy", "", "share of the test images whose largest logit is their class's, the same way", .higher = true,
     .quantity = SG_QUANTITY_SHARE},
    {"test_loss_averaged", "",
     .help = "test_loss of the mean of the models at the evaluations so far, statistics averaged too",
     .quantity = SG_QUANTITY_LOSS},
    {"test_accuracy_averaged", "", "test_accuracy of that mean", .higher = true, .quantity = SG_QUANTITY_SHARE},
};

static const struct sg_constant_kind lm_constant[] = {
    {"d", "parameters of the network"},
    {"n", "workers"},
    {"V", "words of the vocabulary"},
    {"tokens", "tokens of the training text"},
};

#define TEXT_KEYS                                                                                                      \
    {"dataset", SG_KEY_STRING, .data = true, .required = true,                                                         \
     .help = "wikitext-2, another set of the files train.txt, valid.txt and test.txt, or the path of a text (with a "  \
             "'/' in it), of which the last tenth is the test: words between white space"},                            \
        {"stand-in", SG_KEY_STRING, .data = true,                                                                      \
         .help = "generator to use where the data set is missing: text-like; results say so"},                         \
        {"train-file",      SG_KEY_CHOICE,                                                                             \
         .data = true,      .choices = "train|valid|test",                                                             \
         .preset = "train", .help = "the file to train on, and whose words are the vocabulary"},                       \
        {"test-file",       SG_KEY_CHOICE,                                                                             \
         .data = true,      .choices = "train|valid|test",                                                             \
         .preset = "valid", .help = "the file to evaluate on; the paper's perplexity is that of valid"},               \
        {"train-tokens", SG_KEY_INTEGER, .data = true,     .min = 0,                                                   \
         .max = 1e9,     .preset = "0",  .unit = "tokens", .help = "train on so many, from the start; 0 = all"},       \
        {"test-tokens", SG_KEY_INTEGER, .data = true,     .min = 0,                                                    \
         .max = 1e9,    .preset = "0",  .unit = "tokens", .help = "evaluate on so many, from the start; 0 = all"},     \
        {"lower-case", SG_KEY_BOOLEAN, .data = true, .preset = "true",                                                 \
         .help = "turn all letters to lower case first"},                                                              \
    {                                                                                                                  \
        "vocabulary", SG_KEY_INTEGER,                                                                                  \
            .data = true, .min = 0, .max = 1e9, .preset = "0", .unit = "words",                                        \
            .help = "keep so many, the most frequent, <unk> and <eos> among them; others are read as <unk>; 0 = all"   \
    }

static const struct sg_key lm_key[] = {
    TEXT_KEYS,
    {"embedding", SG_KEY_INTEGER, .min = 1, .max = 65536, .preset = "650", .help = "width of a word"},
    {"hidden", SG_KEY_INTEGER, .min = 1, .max = 65536,
     .help = "width of the LSTM layers but the last, which is as wide as a word; absent: the same"},
    {"layers", SG_KEY_INTEGER, .min = 1, .max = 16, .preset = "3", .help = "LSTM layers"},
    {"dropout", SG_KEY_NUMBER, .min = 0, .max = 0.99, .preset = "0.4",
     .help = "share of the embedding's, of every layer's and of the output's numbers that a step leaves out"},
    {"bptt", SG_KEY_INTEGER, .min = 1, .max = 65536, .preset = "30", .unit = "tokens",
     .help = "tokens of a column that a step reads and back-propagates through; `batch` counts a worker's columns"},
    {"clip", SG_KEY_NUMBER, .min = 0, .max = 1e9, .preset = "0.4",
     .help = "largest norm of a worker's gradient, which is scaled down to it before error feedback; 0 = no limit"},
    PRECISION_KEY,
};

static const struct sg_metric lm_metric[] = {
    {"test_perplexity", "",
     .help = "mean of exp(mean cross-entropy of a batch) over all workers' batches of bptt steps, as the paper's code",
     .quantity = SG_QUANTITY_PERPLEXITY},
    {"test_loss", "",
     .help = "mean cross-entropy of a token of the test text, each worker its columns, state carried along them",
     .quantity = SG_QUANTITY_LOSS},
    {"test_perplexity_corpus", "", .help = "exp(test_loss), the perplexity of the text as one",
     .quantity = SG_QUANTITY_PERPLEXITY},
};

static const struct sg_key gpt_key[] = {
    TEXT_KEYS,
    {"tokens", SG_KEY_CHOICE, .data = true, .choices = "words|bytes", .preset = "words",
     .help = "what a token is; bytes: one of 256, whatever the text, without `vocabulary` and `lower-case`"},
    {"layers", SG_KEY_INTEGER, .min = 1, .max = 24, .preset = "4", .help = "transformer blocks"},
    {"heads", SG_KEY_INTEGER, .min = 1, .max = 1024, .preset = "4",
     .help = "heads of each block's attention; they must divide the width"},
    {"width", SG_KEY_INTEGER, .min = 1, .max = 65536, .preset = "128", .help = "numbers of a token"},
    {"context", SG_KEY_INTEGER, .min = 1, .max = 65536, .preset = "128", .unit = "tokens",
     .help = "tokens of a window, of which a worker draws `batch` a step"},
    {"dropout", SG_KEY_NUMBER, .min = 0, .max = 0.99, .preset = "0",
     .help = "share of the embedding's, of attention's and of every branch's numbers that a step leaves out"},
    {"clip", SG_KEY_NUMBER, .min = 0, .max = 1e9, .preset = "1",
     .help = "largest norm of a worker's gradient, which is scaled down to it before error feedback; 0 = no limit"},
    PRECISION_KEY,
};

static const struct sg_metric gpt_metric[] = {
    {"test_loss", "",
     .help = "mean cross-entropy of a token of the test text in nats, in windows of the context's length",
     .quantity = SG_QUANTITY_LOSS},
    {"test_perplexity_corpus", "", .help = "exp(test_loss), the perplexity of the text as one",
     .quantity = SG_QUANTITY_PERPLEXITY},
};

static const struct sg_constant_kind ncf_constant[] = {
    {"d", "parameters of the network"},     {"n", "workers"},
    {"users", "users of the data set"},     {"items", "items of the data set"},
    {"ratings", "ratings of the data set"},
};

static const struct sg_key ncf_key[] = {
    {"dataset", SG_KEY_STRING, .data = true, .required = true,
     .help = "ml-100k, ml-1m, ml-20m, ml-25m, or another in the format of one of these, named as ml-100k-NAME"},
    {"stand-in", SG_KEY_STRING, .data = true,
     .help = "generator to use where the data set is missing: ratings-like; results say so"},
    {"users", SG_KEY_INTEGER, .data = true, .min = 0, .max = 1e9, .preset = "0", .unit = "users",
     .help = "keep so many, chosen at random but always the same; 0 = all"},
    {"factors", SG_KEY_INTEGER, .min = 1, .max = 4096, .preset = "64",
     .help = "numbers that a user and an item have in the matrix factorisation"},
    {"mlp", SG_KEY_STRING, .preset = "256-256-128-64",
     .help = "sizes of the perceptron's input, half of which a user and an item have each, and of its layers"},
    {"dropout", SG_KEY_NUMBER, .min = 0, .max = 0.999, .preset = "0.5",
     .help = "rate after each of the perceptron's layers, in training"},
    {"negatives", SG_KEY_INTEGER, .min = 1, .max = 1000, .preset = "4",
     .help = "pairs labelled 0 that an epoch has for each rating: its user with an item drawn from all"},
    {"test-negatives", SG_KEY_INTEGER, .min = 1, .max = 100000, .preset = "100", .unit = "items",
     .help = "items without a rating that a user's test item competes with"},
    {"sharding", SG_KEY_CHOICE, .choices = "global|reference", .preset = "global",
     .help =
         "global: an epoch's examples are shuffled together; reference: as in the paper's code, each worker shuffles "
         "its part of a list with the ratings first, so that most workers see none of them"},
    PRECISION_KEY,
    {"validation", SG_KEY_BOOLEAN, .when_given = true, .data = true, .preset = "false",
     .help = "true: hold the last but one rating of each user out of training, on which the trials of `tune` are "
             "evaluated"},
    EVALUATE_ON_KEY,
};

static const struct sg_metric ncf_metric[] = {
    {"hit_rate", "",
     "Hit-Rate@10: share of the users whose test item is among the 10 best of it and the test negatives",
     .higher = true, .quantity = SG_QUANTITY_SHARE},
    {"ndcg", "",
     "NDCG@10: mean over the users of 1 / log2(rank + 1) where the test item's rank is 10 or better, else 0",
     .higher = true, .quantity = SG_QUANTITY_SHARE},
};

static const struct sg_constant_kind recorded_constant[] = {
    {"d", "elements of a gradient"},
    {"n", "workers"},
    {"steps", "steps that the files hold"},
};

static const struct sg_key recorded_key[] = {
    {"files", SG_KEY_STRING, .data = true, .required = true,
     .help =
         "path of gradients that a training wrote: a .npy file (steps, workers, d), a .safetensors file for each "
         "step and worker, or a file by `sparsetrain --record-gradients`; {step} and {worker} in the name stand for "
         "numbers from 0 on, and the arrays then lack that dimension; recipes/OWN-GRADIENTS.md has examples"},
    {"steps-at.first", SG_KEY_INTEGER, .max = 1e15, .when_given = true, .data = true,
     .help = "the number of the first step in the names of files; absent: 0"},
    {"steps-at.every", SG_KEY_INTEGER, .min = 1, .max = 1e15, .when_given = true, .data = true,
     .help = "how far the numbers of steps in the names are apart, as 10 of gradients that were written at every tenth "
             "step; files of other steps are left out; absent: 1"},
    {"layers", SG_KEY_STRING, .max = 65536,
     .help = "of .npy files, the shapes of the layers one after the other, as 64x3x3x3,64,10x64, up to 64 KiB; absent: "
             "one layer"},
    {"layers-file", SG_KEY_STRING, .when_given = true, .data = true,
     .help = "in the place of `layers`, path of a text file with a line for each layer: its shape, or its name and its "
             "shape, as conv1.weight 64x3x7x7"},
    {"steps-per-epoch", SG_KEY_INTEGER, .min = 1, .max = 1e15, .unit = "steps",
     .help = "what an epoch is for schedules; absent: that of the run if sparsetrain wrote the file, else all steps"},
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
    {"lm", "language model of LSTM layers (needs libtorch); batch counts the columns of text that a worker reads",
     OF(lm), METRICS(lm)},
    {"gpt",
     "language model of transformer blocks, as GPT-2 (needs libtorch); batch counts the windows of text that a "
     "worker reads",
     .key = gpt_key, .n_keys = COUNT(gpt_key), .constant = lm_constant, .n_constants = COUNT(lm_constant),
     .identify = task_identify_gpt, METRICS(gpt)},
    {"ncf", "recommendation by neural collaborative filtering, NeuMF (needs libtorch)", OF(ncf), METRICS(ncf)},
    {"recorded", "gradients of any training, read from files; all that needs no loss is measured on them", OF(recorded),
     .ops = &sg_recorded_ops},
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
    *out = plugin(name, sg_version_sources());
    return *out
               ? SG_OK
               : sg_fail(err, SG_ERR_UNSUPPORTED,
                         "task kind '%s': %s is of another build: run make again (make install, where it is installed)",
                         name, SG_TASK_PLUGIN);
}

sg_status sg_task_load(const struct sg_task_ops **out, const char *name, struct sg_error *err) {
    const struct sg_task_kind *kind = sg_task_kind_find(name);
    if (kind == NULL)
        return sg_fail(err, SG_ERR_ARGUMENT, "unknown task kind '%s'", name);
    if (kind->ops == NULL)
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
    return *out ? SG_OK : sg_fail_memory(err, "the data set's description");
}

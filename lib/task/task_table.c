/* The task kinds and their recipe keys. */
#include <string.h>

#include "sg_task.h"

extern const struct sg_task_ops sg_logreg_ops;

static const struct sg_key logreg_key[] = {
    {.name = "dataset",
     .type = SG_KEY_STRING,
     .required = true,
     .help = "name of a data set in datasets/, or the path of a LIBSVM file (with a '/' in it)"},
    {.name = "stand-in",
     .type = SG_KEY_STRING,
     .help = "generator to use where the data set is missing: gisette-like, two-clouds; results say so"},
    {.name = "l2", .type = SG_KEY_EXPRESSION, .preset = "L/10000", .help = "weight of (l2/2)|x|^2; may use L, d, m, n"},
    {.name = "oracle",
     .type = SG_KEY_CHOICE,
     .choices = "stochastic|full|full-shifted",
     .preset = "stochastic",
     .help = "stochastic: `batch` rows of the worker's shard drawn uniformly with replacement; full: the gradient of "
             "the whole "
             "shard; full-shifted: grad f_i(x) - grad f_i(x*), written GD*"},
    {.name = "start.offset-from-optimum",
     .type = SG_KEY_EXPRESSION,
     .help = "c: start at x0 = x* + c in every coordinate; absent: at zeros"},
    {.name = "solve-optimum",
     .type = SG_KEY_BOOLEAN,
     .preset = "true",
     .help = "false: do not solve for x*; series that need it are then unavailable"},
};

static const struct sg_metric logreg_metric[] = {
    {"loss", "", "f(x) = mean_i log(1 + exp(-y_i a_i.x)) + (l2/2)|x|^2 over all rows"},
    {"suboptimality", "", "f(x) - f(x*)"},
    {"relative_suboptimality", "", "(f(x) - f(x*)) / (f(x0) - f(x*))"},
    {"distance_squared", "", "|x - x*|^2"},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct sg_task_kind task_kind[] = {
    {.name = "logreg",
     .summary = "logistic regression with l2 regularisation",
     .key = logreg_key,
     .n_keys = COUNT(logreg_key),
     .metric = logreg_metric,
     .n_metrics = COUNT(logreg_metric),
     .ops = &sg_logreg_ops},
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

sg_status sg_task_load(const struct sg_task_ops **out, const char *name, struct sg_error *err) {
    const struct sg_task_kind *kind = sg_task_kind_find(name);
    if (kind == NULL)
        return sg_fail(err, SG_ERR_ARGUMENT, "unknown task kind '%s'", name);
    if (kind->ops == NULL)
        return sg_fail(err, SG_ERR_UNSUPPORTED, "task kind '%s' needs libtorch, which this build lacks", name);
    *out = kind->ops;
    return SG_OK;
}

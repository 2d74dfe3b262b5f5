/* sg_task.h: what is being trained.
 *
 * A task owns the data, the parameters x and everything a logical worker carries between steps. The trainer only asks
 * for gradients, moves the parameters and queues evaluations. Adding a task: one file with a `const struct
 * sg_task_ops`, one row in task_table.c with its recipe keys. Tasks that need libtorch live in a shared object that is
 * loaded on demand. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_TASK_H
#define SG_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "sg_compressor.h"
#include "sg_expression.h"
#include "sg_node.h"
#include "sg_optimizer.h"
#include "sg_status.h"

typedef struct sg_task sg_task;
struct sg_provenance;

/* A key that a task adds to the recipe's `task:` section. */
enum sg_key_type { SG_KEY_STRING, SG_KEY_CHOICE, SG_KEY_NUMBER, SG_KEY_INTEGER, SG_KEY_BOOLEAN, SG_KEY_EXPRESSION };
struct sg_key {
    const char *name; /* kebab-case; a dot makes a sub-map: "start.offset-from-optimum" */
    enum sg_key_type type;
    const char *choices; /* "a|b", CHOICE only */
    double min, max;     /* NUMBER, INTEGER; max of a STRING: bytes, 0 = 400 */
    const char *preset;  /* the default as text; NULL = there is none, and the value is null if absent */
    size_t constants;    /* EXPRESSION: how many of the kind's constants, from the first on, it may use */
    bool required;
    bool when_given;  /* absent from a resolved recipe that does not give it, so that older cells keep their keys */
    bool data;        /* selects the data, so it has one value for all cells of a recipe */
    const char *unit; /* "" = none */
    const char *help;
};

/* What kind of quantity a column is, which says how two values of it are compared. */
enum sg_quantity {
    SG_QUANTITY_AMOUNT, /* what is counted or squared: bits, densities, errors, times */
    SG_QUANTITY_SIGNED, /* of either sign */
    SG_QUANTITY_SHARE,  /* of a test set: accuracy, hit rate */
    SG_QUANTITY_LOSS,   /* a mean of negative logarithms of probabilities */
    SG_QUANTITY_PERPLEXITY,
    SG_QUANTITY_SUBOPTIMALITY,
    SG_QUANTITIES
};
struct sg_quantity_kind {
    bool logarithm;   /* two values are as far apart as their logarithms; false: as they are themselves */
    const char *unit; /* of such a distance; "times" = the distance of logarithms is shown as a ratio */
    double per_unit;  /* the distance that is one unit: 0.01 for points; not for "times" */
    /* Of a quality: the largest distance by which a method may be worse than the baseline and still reach it. NaN = the
     * quantity is no quality. */
    double margin;
    double floor; /* all values below it are equally good, because the residuals are float32; 0 = there is none */
};
extern const struct sg_quantity_kind sg_quantity_kinds[SG_QUANTITIES];
/* How far `value` lies above `other` on the scale of its kind. The logarithm of 0 is -Inf. NaN if the scale does not
 * have a value, or both lie at one infinity. */
double sg_quantity_distance(enum sg_quantity quantity, double value, double other);

/* A column of a run's series, described in full except for its formula, which is in results/DEFINITIONS.md. */
struct sg_metric {
    const char *name; /* snake_case, as in results: "suboptimality" */
    const char *unit; /* "" = dimensionless */
    const char *help; /* formula */
    bool higher;      /* larger values are better */
    bool of_step;     /* describes the last step, so it is null at step 0; only in sg_common_metrics */
    enum sg_quantity quantity;
    /* Its names in tables and figures, if they differ from its name with its unit. */
    const char *title;  /* in a heading; NULL = the name */
    const char *axis;   /* on an axis; NULL = the title */
    const char *symbol; /* a formula shown instead of the unit, in characters that sg_markup.h can write; NULL = none */
};

/* How much worse a value is than a baseline's, on the scale of the metric's quantity: a loss above 0 is worse. Values
 * below the floor count as the floor. NaN as sg_quantity_distance. */
double sg_metric_loss(const struct sg_metric *metric, double value, double baseline);
/* The value that is worse than the baseline's by this loss. */
double sg_metric_worse(const struct sg_metric *metric, double baseline, double loss);
/* A distance in the unit of its quantity: 0.042 of an accuracy is 4.2 points, and that of logarithms a ratio, where the
 * unit is "times". */
double sg_quantity_amount(enum sg_quantity quantity, double distance);
/* "4.2 ± 1.8 points", "4.2 (2.1 to 8.3) times"; a half width that is NaN or 0 is left out. Returns out. */
enum { SG_LOSS_CHARS = 96 };
char *sg_loss_text(char out[SG_LOSS_CHARS], enum sg_quantity quantity, double loss, double half);

/* A constant of the task, known once its data are open. */
struct sg_constant_kind {
    const char *name; /* as in results: "f_star"; recipes' claims say f-star */
    const char *help; /* formula */
};

/* The columns that every run can record beside those of its task, in the order of sg_common_metrics. Their formulas are
 * in results/DEFINITIONS.md. */
enum sg_column {
    SG_COLUMN_BITS,
    SG_COLUMN_BITS_VALUES,
    SG_COLUMN_DENSITY,
    SG_COLUMN_AVERAGE_DENSITY,
    SG_COLUMN_DENSITY_PADDED,
    SG_COLUMN_AVERAGE_DENSITY_PADDED,
    SG_COLUMN_BYTES_SENT,
    SG_COLUMN_ERROR_NORM,
    SG_COLUMN_TOTAL_ERROR,
    SG_COLUMN_ERROR_MAX,
    SG_COLUMN_COMPRESSION_ERROR,
    SG_COLUMN_TRAIN_LOSS,
    SG_COLUMN_LEARNING_RATE,
    SG_COLUMN_LAMBDA,
    SG_COLUMN_AVERAGE_COMPRESSION_ERROR, /* from here to BIAS_SIGMA by train_monitor.c */
    SG_COLUMN_COMPRESSION_BIAS,
    SG_COLUMN_COMPRESSION_BIAS_SIGMA,
    SG_COLUMN_GRADIENT_NORM, /* from here by train_errors.c */
    SG_COLUMN_ERROR_RELATIVE,
    SG_COLUMN_ERROR_MEAN_NORM,
    SG_COLUMN_ERROR_COMMON,
    SG_COLUMN_ERROR_BY_LAYER,
    SG_COLUMN_ERROR_WEIGHED,
    SG_COLUMN_ERROR_LAG,
    SG_COLUMN_ERROR_CURVATURE,
    SG_COLUMNS
};
extern const struct sg_metric sg_common_metrics[SG_COLUMNS];

/* The constants that the trainer adds to the task's. gamma may stand in the parameters of compressors. error_bound
 * exists only for methods with an absolute bound, and only claims can name it. */
enum { SG_CONSTANT_GAMMA, SG_CONSTANT_ERROR_BOUND, SG_COMMON_CONSTANTS };
extern const struct sg_constant_kind sg_common_constants[SG_COMMON_CONSTANTS];

/* Which ranks evaluate. QUEUED: rank 0 alone. The trainer calls `queue` at every recorded step, and `evaluate` when
 * many points wait. SHARED: every worker evaluates its part of the test set with its own state (batch-norm statistics).
 * The trainer calls `evaluate_shares` and `conclude` at the steps that the recipe's `record.evaluate` gives. */
enum sg_evaluation { SG_EVALUATE_QUEUED = 0, SG_EVALUATE_SHARED = 1 };

/* The properties of an open task that the trainer uses. */
struct sg_task_info {
    size_t d;                 /* parameters */
    enum sg_dtype dtype;      /* of x */
    struct sg_layout layout;  /* layers, borrowed */
    uint64_t steps_per_epoch; /* of steps at which each worker draws `batch` samples */
    uint64_t most_steps;      /* how many steps the task has gradients for; 0 = any number */
    bool by_parts;            /* `gradient` says when parts are complete, while it computes others; false on a GPU */
    bool parallel_workers;    /* `gradient` may run for several workers at once; false on a GPU */
    double gradient_flops;    /* of one gradient; decides how many threads pay off; 0 = unknown */
    /* Bytes on a host that a thread uses while it computes a gradient, and while it evaluates; 0 = about none. */
    double gradient_bytes, evaluation_bytes;
    double worker_bytes;           /* that the task keeps for each worker; 0 = about none */
    enum sg_evaluation evaluation; /* who evaluates */
    size_t n_shares;               /* SHARED: the sums and counts that one worker contributes */
    const bool *no_decay;          /* [n_layers] layers that weight decay skips (batch-norm); NULL = none */
    const bool *hidden;            /* [n_layers] matrices that are neither embedding nor head; NULL = none */
    /* [n_constants] in the order of the kind's list, for expressions and the result's header. */
    const struct sg_constant *constant;
    size_t n_constants;
};

/* Every run has fewer steps than this. Measurements draw samples at larger step numbers. */
#define SG_STEP_BEYOND ((uint64_t)1 << 40)

/* What every task begins with: the `struct sg_task` of a NAME_task.c has it as its first member, `base`. */
enum { SG_TASK_CONSTANTS = 16 };
struct sg_task_base {
    /* Set by the caller of sg_task_open. */
    const struct sg_node *task; /* the resolved `task` section; lives as long as the task */
    size_t workers;             /* n */
    size_t first, count;        /* the workers of this rank: first..first+count-1 */
    size_t batch;               /* rows or samples a worker draws a step */
    uint64_t seed;
    const char *data_dir;
    const char *device;               /* "cpu" or "cuda:1", for sg_scope_open and messages */
    const struct sg_kernels *kernels; /* x, g and all else that every step uses lie in their memory; NULL = none */
    struct sg_exec exec;              /* for calls of the kernels, on all threads; exec.device is NULL on the CPU */
    uint32_t records;                 /* bit i: metric i of its kind is recorded. Else the task may leave it NaN */
    bool facts_only; /* only `info` is asked for: no optimum is searched, no file read whole for its identity */
    void (*progress)(const char *what, double done, double total); /* may be NULL */
    void (*notice)(const char *message);                           /* called with a message for the user; may be NULL */
    /* Called within `gradient`, on its thread, when a part [n] of the worker's gradient is complete; every element
     * belongs to one part. Only if info.by_parts is true; NULL = nobody asks. */
    void (*part)(void *of, size_t worker, const float *gradient, size_t n);
    void *part_of;
    /* Set by the task's `open`. */
    struct sg_task_info info;
    struct sg_constant constant[SG_TASK_CONSTANTS]; /* those of info; sg_task_add_constant adds one */
    const char *model, *library; /* the network and the version of libtorch, static; NULL = there is none */
    struct task_net *net;        /* further state of a task that trains a network with libtorch; else NULL */
    void *x; /* the parameters: [info.d] of info.dtype in the kernels' memory; sg_task_open allocates what is NULL */
    /* Set by sg_task_open. */
    int threads; /* that gradients and evaluations run on: those of exec; 1 on a GPU, where workers take turns */
    const struct sg_task_ops *ops;
};

struct sg_task_ops {
    const char *name;               /* "logreg" */
    size_t size;                    /* of its struct sg_task */
    bool gpu;                       /* it can run on a GPU */
    const struct task_net_ops *net; /* hooks of a task that trains a network with libtorch (task_net.h); else NULL */
    bool in_sequence;               /* a gradient starts from what the worker's gradient of the step before left */
    bool replays; /* gradients come from an earlier training, whatever x is; there are no batches or losses */
    /* Opens the data and fills in `base`; all else is zeros. After a failure `close` is called. */
    sg_status (*open)(sg_task *t, struct sg_error *err);
    /* The data set that it reads, for the result's header. */
    cJSON *(*dataset)(const sg_task *t);
    /* Writes x0 [d], which is zeros on entry, into host memory, and sets each worker's state to its start. NULL = x0 is
     * zeros. */
    void (*start)(sg_task *t, void *x);
    /* g [d] <- the stochastic gradient of worker `worker` (first..first+count-1) at the current x; steps count from 0.
     * From SG_STEP_BEYOND on, samples of steps at least an epoch apart are independent. On a GPU the call may return
     * before the gradient is computed. */
    sg_status (*gradient)(sg_task *t, size_t worker, uint64_t step, float *g, struct sg_error *err);
    /* The ranges that `worker`'s last gradient wrote; valid until its next gradient. A task with this hook gets g
     * filled with zeros and may write only those ranges; the trainer clears them afterwards. If the hook is NULL or
     * returns NULL, as on a GPU, g may hold anything on entry and `gradient` must write all of it. */
    const struct sg_ranges *(*touched)(const sg_task *t, size_t worker);
    /* The exact distribution that `gradient` draws from, at the current x: mean [d] <- grad f_i of worker `worker`,
     * *noise <- E|g_i - grad f_i|^2. NULL = the task cannot compute it. */
    sg_status (*expect)(sg_task *t, size_t worker, double *mean, double *noise, struct sg_error *err);
    /* The mean training loss of the batch behind worker `worker`'s last gradient. It is called after a wait for the
     * kernels, so that `gradient` may ask for the loss by get_later. NULL = the task cannot compute its losses. */
    double (*batch_loss)(const sg_task *t, size_t worker);
    /* QUEUED: keeps a copy of the current x for evaluation. At most `queue_capacity` copies may wait. */
    size_t queue_capacity;
    sg_status (*queue)(sg_task *t, struct sg_error *err);
    /* QUEUED, rank 0 only: evaluates all waiting points, oldest first, into value [waiting][n_metrics of its kind]. A
     * value does not depend on the other points. */
    sg_status (*evaluate)(sg_task *t, double *value, struct sg_error *err);
    /* SHARED, on every rank, once per evaluation point: writes share [count][n_shares] of the local workers at the
     * current x. */
    sg_status (*evaluate_shares)(sg_task *t, double *share, struct sg_error *err);
    /* SHARED: makes value [n_metrics of its kind] from all workers' shares [workers][n_shares], in worker order. */
    void (*conclude)(const sg_task *t, const double *share, double *value);
    /* State beside x that all workers share (the averaged model) and that is the same on every rank. A checkpoint holds
     * it once. bytes 0 = there is none. */
    size_t (*common_bytes)(const sg_task *t);
    void (*common_save)(const sg_task *t, void *out);
    void (*common_load)(sg_task *t, const void *in);
    /* State of one local worker, for the checkpoint; bytes 0 = there is none. */
    size_t (*state_bytes)(const sg_task *t);
    void (*state_save)(const sg_task *t, size_t worker, void *out);
    void (*state_load)(sg_task *t, size_t worker, const void *in);
    void (*close)(sg_task *t); /* releases what is not in `base` */
};

/* Opens a task. *config holds the caller's members of `base`, and is copied. SG_ERR_UNSUPPORTED: it cannot run on a
 * GPU, or this machine has not the kernels of SG_CPU, which is what `kernels` NULL means. */
SG_CHECKED sg_status sg_task_open(sg_task **out, const struct sg_task_ops *ops, const struct sg_task_base *config,
                                  struct sg_error *err);
void sg_task_close(sg_task *t); /* NULL-safe */
/* The pointer is valid until the task is closed. */
const struct sg_task_info *sg_task_info(const sg_task *t);
/* The parameters, at an address that is fixed until the task is closed. The trainer may overwrite them with a worker's
 * own parameters for one call of `gradient`, and then restores x. */
void *sg_task_x(const sg_task *t);
size_t sg_task_x_bytes(const sg_task *t);
/* Sets x to x0. Called once after open, unless a checkpoint is restored. */
void sg_task_start(sg_task *t);
/* {"dataset": …} and other facts for the result's header. */
cJSON *sg_task_describe(const sg_task *t);
/* For `open`: adds a constant. Constants have the order of the kind's list. */
void sg_task_add_constant(sg_task *t, const char *name, double value);

/* A row of the table of tasks. It is enough for recipes and help, so that the task need not be loaded. */
struct sg_task_kind {
    const char *name, *summary;
    const struct sg_key *key;
    size_t n_keys;
    const struct sg_metric *metric; /* what evaluation gives, in this order */
    size_t n_metrics;
    const struct sg_constant_kind *constant; /* in the order in which they become known */
    size_t n_constants;
    const struct sg_task_ops *ops; /* NULL = it is in the plug-in of libtorch tasks */
    /* Identifies the data that opening a task with this resolved `task` section would read now, like
     * sg_dataset_identify and without libtorch. */
    sg_status (*identify)(struct sg_provenance *from, const struct sg_node *task, const char *data_dir,
                          struct sg_error *err);
};
const struct sg_task_kind *sg_task_kind_at(size_t i);
const struct sg_task_kind *sg_task_kind_find(const char *name);

/* The metric of this name that evaluation in tasks of this kind computes; NULL = there is none, or kind is NULL. */
const struct sg_metric *sg_task_metric(const struct sg_task_kind *kind, const char *name);
/* The column of this name, common to all tasks or of some task; NULL = there is none. */
const struct sg_metric *sg_column_find(const char *name);

/* The "dataset" of a header as a run of this resolved cell would write it now, to be compared by sg_dataset_identity.
 * It loads no plug-in. *out = NULL: the data are not here, neither as a file nor as a stand-in. */
SG_CHECKED sg_status sg_task_dataset(cJSON **out, const struct sg_node *resolved, const char *data_dir,
                                     struct sg_error *err);

/* True if tasks of this kind can record the column. It is always true for a task in the plug-in, which would have to be
 * loaded to find out; if such a task has no losses, the column of losses holds null. */
bool sg_task_records(const struct sg_task_kind *kind, enum sg_column column);

/* The operations of task `name`; loads the plug-in if needed. SG_ERR_UNSUPPORTED says what to install or rebuild. */
SG_CHECKED sg_status sg_task_load(const struct sg_task_ops **out, const char *name, struct sg_error *err);

#endif

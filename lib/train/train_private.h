/* train_private.h: the state of one run, and the functions on it; private to lib/train. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_TRAIN_PRIVATE_H
#define SG_TRAIN_PRIVATE_H

#include <string.h>

#include "sg_cuda.h"
#include "sg_file.h"
#include "sg_method.h"
#include "sg_optimizer.h"
#include "sg_recording.h"
#include "sg_row.h"
#include "sg_stats.h"
#include "sg_train.h"
#include "sg_train_memory.h"

/* The numbers of a worker that the exchange brings to all ranks. */
enum note { NOTE_ERROR_NORM, NOTE_ERROR_MAX, NOTE_COMPRESSION_ERROR, NOTE_TRAIN_LOSS, NOTE_METHOD, NOTE_GRADIENT_NORM };

/* What `record.layers` adds to a recorded step for every layer of the task. */
enum layer_column { LAYER_ENTRIES, LAYER_ERROR_NORM, LAYER_ERROR_MAX, LAYER_GRADIENT_NORM, LAYER_COLUMNS };

/* The source of a recorded column. */
struct recorded {
    const struct sg_metric *metric;
    bool from_task;
    size_t index; /* enum sg_column, or the task's metric */
};

/* Sums over steps. All are doubles, so that a checkpoint copies them. */
struct totals {
    double steps, bits, values, values_padded, bytes, total_error;
};

/* gamma_t = base x factor. The factor moves in a straight line from `warm_up_from` to `scale` over the warm-up. It is
 * multiplied by `decay_factor` at each of the epochs decay_at. If `cosine`, it falls from the end of the warm-up to
 * that of the run along half a cosine, to `decay_to` times what it was (Loshchilov and Hutter, ICLR 2017, without
 * restarts). */
struct train_schedule {
    double base, scale, warm_up_from, warm_up_epochs, decay_factor, decay_to;
    double epochs; /* of the run */
    bool cosine;
    const struct sg_node *decay_at; /* a list of numbers, ascending; NULL = there is none */
};

/* How many elements the update works on at a time. */
enum { PIECE_ELEMENTS = 1 << 14 };

/* Where the time of a step goes. Gradients and compressions of several workers may run at the same time. */
enum phase { PHASE_GRADIENT, PHASE_COMPRESSION, PHASE_EXCHANGE, PHASE_UPDATE, PHASES };

/* A recorded point; its evaluation may not be known yet. */
struct row {
    uint64_t step;
    bool evaluated;
    cJSON *layers; /* NULL = not asked for, or no step was taken yet */
    double value[SG_COLUMNS];
};

/* One worker of this rank. Its residual lies in the kernels' memory or in the file, and so does its message. */
struct worker {
    float *residual;            /* [d]; NULL = there is no feedback, or it never keeps anything */
    struct sg_message message;  /* of this step */
    const float *g;             /* its gradient, while that is computed and sent in buckets */
    double note[SG_COMM_NOTES]; /* what all ranks learn about the worker at this step */
    struct sg_error error;      /* of this step */
    /* Seconds since the run began. What belongs to no worker is charged to the first one of the rank. */
    double spent[PHASES];
    uint64_t sent;       /* numbers in the messages of this step, all rounds together */
    double input_square; /* |p|^2 of this step, if residuals are complete only after the exchange */
    float *recorded;     /* [d] a copy of its gradient of this step; NULL = neither a recording nor a column needs it */
    float *shifted;      /* [d] its gradient of this step at x less the mean residual; NULL = no column needs it */
    bool gradient_not_finite; /* at x, or at x less the mean residual */
    float *state;             /* [floats] of its own optimizer; NULL = it has none */
    uint64_t steps;           /* how many that optimizer made */
    double *layers; /* [LAYER_COLUMNS][n_layers of the task] at this step, in layers_mine; NULL = not recorded */
};

/* How long the run is, and what is done at which step. */
struct plan {
    uint64_t steps, every;
    double evaluate_epochs; /* epochs between evaluations; NaN = with every record */
};

struct device {
    char name[24];       /* "cpu", "cuda:1" */
    sg_cuda_device *gpu; /* the GPU behind the kernels; NULL = they are a CPU's */
};

/* What a section `optimizer` of the recipe says. */
struct optimizer {
    const struct sg_optimizer_ops *ops;
    double param[SG_ROW_PARAMS];
    size_t floats; /* of a state */
    struct train_schedule schedule;
};

/* How many columns a run can have: the task's are few. */
enum { MOST_COLUMNS = SG_COLUMNS + 16 };

/* The series of the run: its columns, and the rows that wait to be written, oldest first. */
struct series {
    struct recorded column[MOST_COLUMNS];
    size_t n_columns;
    bool wants_evaluation, wants[SG_COLUMNS], wants_layers, wants_workers;
    bool keeps_layers;   /* layers are measured, for the record or for a column */
    double *layers_mine; /* [count][LAYER_COLUMNS][n_layers of the task] of this rank's workers; NULL = not recorded */
    double *layers_all;  /* [workers] the same of all workers, on rank 0 */
    struct row *row;     /* [capacity] */
    size_t n_rows, capacity;
    double *evaluated; /* [capacity][n_metrics of the task] values of the rows that are evaluated */
    size_t n_evaluated;
    double last_flush_s;
    sg_sha256 hash; /* of all bytes written so far */
};

struct train {
    const struct sg_train_options *options;
    sg_comm *comm;
    bool lead; /* rank 0 */
    size_t workers, first, count;
    size_t present;   /* how many of the workers take part in a step */
    bool *absent;     /* [workers] of this step; all false if every worker takes part */
    uint32_t *chosen; /* [present] the workers that do, ascending; scratch */
    int threads;

    const struct sg_task_kind *task_kind;
    const struct sg_task_ops *task_ops;
    sg_task *task;
    const struct sg_task_info *info;
    size_t d;
    struct sg_constant constant[SG_TASK_CONSTANTS + SG_COMMON_CONSTANTS]; /* for expressions and the header */
    size_t n_constants;

    /* The value of the cell that train_choose read last: the position of an error. */
    const struct sg_node *at;
    struct plan plan;
    double parameter[SG_METHOD_NUMBERS]; /* to which config points */
    struct sg_method_config config;      /* from the cell; train_open_method adds the rest */
    uint32_t *copied; /* [steps][n_layers of the task][workers] k of another run; NULL = k is the method's own */
    size_t whole[2];  /* the offsets of the one layer in `model` scope */
    const struct sg_wire_encoding *encoding; /* for positions; NULL = auto */
    struct optimizer optimizer, outer;       /* outer.ops is NULL if the recipe has none */
    const struct optimizer *of_x;            /* the one that updates what all workers share; NULL = x <- x - mean */
    /* The one by which each worker takes steps of its own; NULL = these are gamma times its gradient. */
    const struct optimizer *of_workers;
    float *state;           /* [of_x->floats] in the kernels' memory */
    struct sg_piece *piece; /* [n_pieces] of all d parameters */
    size_t n_pieces;
    size_t *rows;             /* [n_layers of the task] for compressors, if the optimizer takes steps; else NULL */
    struct sg_weight *weight; /* [n_weights] matrices of hidden layers; NULL = the task has none */
    size_t n_weights;
    struct sg_piece *moving; /* [n_pieces] and [n_weights] those of a fragment of layers; NULL = all layers move */
    struct sg_weight *moving_weight;
    float *scratch;   /* of an optimizer that moves these as a whole; else NULL */
    uint64_t updates; /* how often x was updated; without local steps that is the number of finished steps */

    struct device device;
    const struct sg_kernels *kernels;
    struct sg_exec exec;        /* with all threads of the rank */
    struct sg_exec worker_exec; /* for the compression of one worker */

    sg_method *method;             /* of this rank's workers */
    sg_method *probe;              /* of one worker, only while memory is estimated */
    bool facts_only;               /* the task is opened for its facts alone */
    struct sg_train_memory memory; /* the estimate of this rank, on a CPU */
    struct worker *worker;         /* [count] */
    /* [n_gradients] one for each part of the workers that runs on a thread of its own; one if all take turns. */
    float **gradient;
    size_t n_gradients;
    float *sum;     /* [d] */
    void *shared_x; /* a copy of x while the task's x holds one worker's parameters; NULL = all workers share x */

    uint64_t step;                 /* how many steps are finished */
    uint64_t first_step;           /* how many were finished when this process began */
    int stop;                      /* why the run stopped, on any rank, as train_stop_asked returns it */
    char started_at[21];           /* this process, in UTC */
    double loop_s;                 /* when its first step began */
    double longest_step_s, save_s; /* seconds of the longest step so far, and of the last checkpoint */
    cJSON *segments;               /* the segments before this process, from the checkpoint; NULL = none */
    double gamma;                  /* learning rate of this step */
    bool led;                      /* worker 0 is on this rank and already has its gradient of this step */
    struct sg_control mine;        /* what this rank sends with the exchanges of this step */
    struct sg_outcome *outcome;    /* of this step's last exchange */
    struct sg_volume volume;       /* of all its exchanges */
    double lambda;                 /* threshold of this step; NaN = there is none */
    struct totals totals;

    struct series series;
    struct buckets *buckets;       /* of layers that are exchanged during the gradients; NULL = there are none */
    struct errors *errors;         /* of gradients and of the mean residual (train_errors.c); NULL = not recorded */
    struct monitor *monitor;       /* of what compressors lose (train_monitor.c); NULL = it is not recorded */
    struct sg_recording recording; /* rank 0 */
    char inputs_sha256[65]; /* of the recording up to the checkpoint from which the run goes on; "" = there is none */
};

/* train_buckets.c: the recipe's `exchange: {buckets: …}`. Messages are then made and exchanged bucket by bucket, on a
 * thread of its own, while the gradients of other layers are computed. train_buckets_choose cuts the layers once the
 * method's config is chosen, and notifies the user if the cell's messages travel as a whole, and why.
 *
 * Within the first exchange of a step: train_buckets_begin returns true if the step goes by buckets; every worker that
 * takes part then calls train_buckets_gradient when its gradient is there or failed, with its status; train_buckets_end
 * waits until t->sum is complete, or all ranks know of a failure. Its own failure is one of the exchange.
 * train_buckets_part is the task's hook. */
bool train_wants_buckets(const struct train *t);
sg_status train_buckets_choose(struct train *t, struct sg_error *err);
sg_status train_buckets_open(struct train *t, struct sg_error *err);
void train_buckets_close(struct train *t);
bool train_buckets_begin(struct train *t);
void train_buckets_part(void *train, size_t worker, const float *gradient, size_t n);
void train_buckets_gradient(struct train *t, size_t w);
sg_status train_buckets_end(struct train *t, struct sg_error *err);

/* train_participation.c: which workers take part in a step. participation_choose checks what the cell asks for,
 * participation_open allocates, participation_draw draws for the step to come: the workers of its message, if some
 * steps send none. participation_divisor: by how many workers the sum of a step is divided. */
sg_status participation_choose(struct train *t, struct sg_error *err);
void participation_open(struct train *t);
void participation_draw(struct train *t);
float participation_divisor(const struct train *t);

/* True if this rank hosts the worker. */
static inline bool train_hosts(const struct train *t, size_t worker) {
    return worker >= t->first && worker < t->first + t->count;
}

/* True if the run is to be on a GPU, also while its cell is checked on the CPU. */
static inline bool train_wants_gpu(const struct train *t) {
    return strcmp(t->options->device, "cpu") != 0;
}

/* Set-up is collective, and all ranks return its failure. Teardown also frees a run that is set up in part. */
sg_status train_setup(struct train *t, struct sg_error *err);
void train_teardown(struct train *t);
/* The parts of set-up that concern this rank only, in their order: choose the CPU's kernels; find the task's table and
 * the columns to record; open the task; read its facts and constants; check the cell against them. Then open the
 * method, for the first `count` workers of this rank. */
void train_choose_cpu(struct train *t);
sg_status train_find_task(struct train *t, struct sg_error *err);
sg_status train_open_task(struct train *t, struct sg_error *err);
void train_read_task_facts(struct train *t);
bool train_moves_weights(const struct train *t); /* whether an optimizer moves matrices as a whole */
sg_status train_choose(struct train *t, struct sg_error *err);
/* Tells the user at the end of a run that workers which decide when to send did something after their last message. */
void train_tell_unsent(const struct train *t);
/* train_copied.c: gives the method what another run sent, if it copies k (`k-from`). Collective. */
sg_status train_copy_k(struct train *t, struct sg_error *err);
/* The axes along which k is copied; along the others it is the mean. */
struct train_axes {
    bool layers, steps, workers;
};
/* k [steps][n_layers][workers] <- the numbers that are copied from these. */
void train_spread(uint32_t *k, size_t steps, const struct sg_layout *layout, size_t workers,
                  const struct train_axes *axes);
size_t train_parts(const struct train *t); /* of this rank's workers; the parts run in parallel */
sg_status train_open_method(sg_method **out, const struct train *t, size_t count, struct sg_error *err);
/* The vectors of a worker, which open, close and the forecast of memory walk. */
struct worker_vector {
    float **at;
    size_t floats; /* 0 = the worker has no such vector */
    bool of_kernels;
};
enum { WORKER_VECTORS = 4 };
void train_worker_vectors(const struct train *t, struct worker *w, struct worker_vector out[WORKER_VECTORS]);
const sg_method *train_method(const struct train *t); /* or the method of one worker, while memory is estimated */
/* Estimates the memory of this rank, and refuses a run that this host cannot hold; on a GPU they do nothing. The second
 * only sets t->memory, once the method's config is chosen (train_memory.c). */
sg_status train_memory(struct train *t, struct sg_error *err);
sg_status train_memory_estimate(struct train *t, struct sg_error *err);
/* Copies out of the kernels' memory. Its error is that of a device that failed. */
sg_status train_get(const struct train *t, void *host, const void *from, size_t bytes, struct sg_error *err);
/* Waits for the results of the kernels' calls named `later`. */
sg_status train_wait(const struct train *t, struct sg_error *err);
sg_status train_x_hash(const struct train *t, char hex[65], struct sg_error *err);

/* train_ranks.c. train_ranks_agree checks that all ranks run the same cell, with the same program and plug-ins, on the
 * same data and kind of device; train_ranks_verify that all have the same x after the run. The error names a rank that
 * differs from rank 0, and what differs. Both are collective. The ranks must still agree on the status of
 * train_ranks_agree. */
sg_status train_ranks_agree(struct train *t, struct sg_error *err);
sg_status train_ranks_verify(struct train *t, struct sg_error *err);

/* train_gpu.c: the device of a run. train_gpu_open chooses a GPU and its kernels. train_fail_device returns the error
 * of a device that failed. */
sg_status train_gpu_open(struct train *t, struct sg_error *err);
sg_status train_fail_device(const struct train *t, struct sg_error *err);
/* Where a run is made: this host with its GPU, and the version of CUDA, NULL without a GPU. */
cJSON *train_host_json(const struct train *t);
cJSON *train_cuda_json(const struct train *t);

/* The schedule of the learning rate, from the recipe's section `optimizer`, which must outlive it; its rate at an epoch
 * (with a fraction), and its largest rate. */
struct train_schedule train_schedule_read(const struct sg_node *optimizer, double base, double epochs);
double train_schedule_rate(const struct train_schedule *s, double epoch);
double train_schedule_largest(const struct train_schedule *s);

/* Copies x to `copy`, and then subtracts factor times offset [d] from it. On a CPU. */
void train_shift_x(const struct train *t, void *copy, const float *offset, double factor);

/* Takes one step; collective. save: 1 = this rank wants a checkpoint. `earlier`: the status of its last record. */
sg_status train_step(struct train *t, int save, sg_status earlier, struct sg_outcome *outcome, struct sg_error *err);

/* Measurements for records. train_measure_message measures local worker w after each message, and
 * train_measure_residual after its residual is complete; g is its gradient, NULL if a step has several rounds. Its
 * notes are valid after train_wait. train_measure_absent measures one that takes no part. train_account makes the
 * trainer's columns from what all workers did. */
sg_status train_measure_message(struct train *t, size_t w, unsigned round, struct sg_error *err);
void train_measure_residual(struct train *t, size_t w, const float *g);
void train_measure_absent(struct train *t, size_t w);
void train_account(struct train *t, const struct sg_outcome *outcome, double value[SG_COLUMNS]);
/* The sum so far; NaN where feedback keeps no residual, because 0 would mean that nothing was lost. */
double train_total_error(const struct train *t);
/* Collective: sets layers_all of rank 0. train_layers_json makes JSON of it and of the modes of layers. */
sg_status train_collect_layers(struct train *t, struct sg_error *err);
cJSON *train_layers_json(const struct train *t);

/* The measured error of compressors; without a recorded column about it (train_monitored) the functions do nothing.
 * train_monitor_begin is called before each step, and train_monitor_measure within it, after the last exchange of
 * messages and before residuals are completed. At recorded steps train_monitor_record, which is collective, gets rank
 * 0's columns from all workers. */
bool train_monitored(const struct train *t);
void train_monitor_open(struct train *t);
void train_monitor_close(struct train *t);
void train_monitor_begin(struct train *t);
void train_monitor_measure(struct train *t);
sg_status train_monitor_record(struct train *t, double value[SG_COLUMNS], struct sg_error *err);

/* What the columns of gradients and of the mean residual keep, for open and for the forecast of memory. */
struct error_needs {
    bool residual, means, lag, curvature; /* a residual, and which groups of columns of it are recorded */
    bool sum, before, recorded;           /* two vectors of the rank, and the gradient of each worker */
};
struct error_needs train_error_needs(const struct train *t);
size_t train_state_bytes(const struct train *t); /* that a task keeps of each worker */
/* Gradients and the mean residual; without a recorded column of theirs the functions do nothing. train_errors_begin is
 * called before the gradients of a step, train_errors_gradient after each of them, and train_errors_record after every
 * step, behind train_account; begin and record are collective. train_errors_layers: |(1/n) sum_i e_i|^2 in each layer
 * of the task at this step; NULL = it is not recorded. */
sg_status train_errors_open(struct train *t, struct sg_error *err);
void train_errors_close(struct train *t);
sg_status train_errors_begin(struct train *t, struct sg_error *err);
bool train_errors_need_gradients(const struct train *t); /* true: columns of this step need copies of them */
void train_errors_gradient(struct train *t, size_t w, const float *g);
sg_status train_errors_record(struct train *t, const struct sg_outcome *outcome, double value[SG_COLUMNS],
                              struct sg_error *err);
/* On rank 0 at recorded steps, behind train_collect_layers: the columns error-by-layer and error-weighed. */
void train_errors_weigh_layers(struct train *t, double value[SG_COLUMNS]);
const double *train_errors_layers(const struct train *t);

/* The first recorded column of from .. to; NULL = there is none. */
const struct recorded *train_recorded(const struct train *t, enum sg_column from, enum sg_column to);
/* True if there is a record after `step` steps, or one with the task's columns. Every rank returns the same. */
bool train_records(const struct train *t, uint64_t step);
bool train_evaluates(const struct train *t, uint64_t step);
/* Collective: brings the numbers mine [count][n] of this rank's workers to all [workers][n] on rank 0. */
sg_status train_collect(struct train *t, const double *mine, size_t n, double *all, struct sg_error *err);
/* Evaluates the present x by the shares of all workers; collective. Rank 0 gets the task's columns of the next row. */
sg_status train_evaluate_shares(struct train *t, struct sg_error *err);

/* The series, on rank 0; on other ranks these do nothing. train_series_go_on cuts it back to its first `bytes`, whose
 * hash must be `sha256` (64 digits); with 0 bytes the hash is ignored. train_record owns `take_layers` from then on. */
sg_status train_series_go_on(struct train *t, uint64_t bytes, const char *sha256, struct sg_error *err);
void train_series_hash(const struct train *t, char hex[65]);
sg_status train_header(struct train *t, struct sg_error *err);
sg_status train_record(struct train *t, const double value[SG_COLUMNS], cJSON *take_layers, struct sg_error *err);
sg_status train_flush(struct train *t, struct sg_error *err); /* evaluates and writes the rows that wait */
sg_status train_ending(struct train *t, const struct sg_train_report *report, const char *message,
                       struct sg_error *err);

/* The columns that the cell asks for. */
sg_status train_metrics(struct series *out, const struct sg_cell *cell, const struct sg_task_kind *task,
                        struct sg_error *err);

/* A recording of what the compressors are given, or of the gradients. It is opened when the next step is known, gets
 * the data of all workers after each step, and is written to the disk before a checkpoint. recording_hash
 * gives rank 0's hash of the file so far, 64 digits; "" = there is none. Functions that return a status are collective.
 * All do nothing if there is no recording. */
const char *recording_path(const struct train *t); /* NULL = none is asked for */
sg_status recording_open(struct train *t, struct sg_error *err);
sg_status recording_write(struct train *t, struct sg_error *err);
sg_status recording_sync(struct train *t, struct sg_error *err);
void recording_hash(const struct train *t, char hex[65]);
sg_status recording_end(struct train *t, struct sg_error *err);
void recording_close(struct train *t);

/* Segments of a run (train_segments.c). train_segments_json: the earlier ones, and this one so far. train_segments_take
 * reads them from the checkpoint's text, and notifies the user if another machine can change the bytes. */
cJSON *train_segments_json(const struct train *t);
sg_status train_segments_take(struct train *t, const char *text, size_t length, struct sg_error *err);

/* Why this rank must stop after this step: the number of a signal, TRAIN_TIME_UP, or 0 = it need not. */
enum { TRAIN_TIME_UP = 1000 };
int train_stop_asked(const struct train *t);

/* What a checkpoint holds of the columns: parts of the host's memory. Each function sets its own ones in `out`, and
 * returns how many these are; on all ranks they have the same sizes. */
struct part {
    void *memory;
    size_t bytes;
};
enum { TRAIN_PARTS = 3 }; /* of both together, at most */
size_t train_monitor_parts(const struct train *t, struct part *out);
size_t train_errors_parts(const struct train *t, struct part *out);

/* Checkpoints; collective. *found is false if there is none to resume from. train_checkpoint_bytes: the size of one; 0
 * = none is written. */
size_t train_checkpoint_bytes(const struct train *t);
sg_status train_save(struct train *t, struct sg_error *err);
sg_status train_load(struct train *t, bool *found, struct sg_error *err);

#endif

/* train_state.h: private to lib/train. One run in flight. */
#ifndef SG_TRAIN_STATE_H
#define SG_TRAIN_STATE_H

#include "sg_cuda.h"
#include "sg_file.h"
#include "sg_method.h"
#include "sg_optimizer.h"
#include "sg_recording.h"
#include "sg_stats.h"
#include "sg_train.h"

/* Slots of a worker's note in the exchange. */
enum note { NOTE_ERROR_NORM, NOTE_ERROR_MAX, NOTE_COMPRESSION_ERROR, NOTE_TRAIN_LOSS, NOTE_METHOD };

/* What `record.layers` adds to a recorded step for every layer of the task. */
enum layer_column { LAYER_ENTRIES, LAYER_ERROR_NORM, LAYER_ERROR_MAX, LAYER_COLUMNS };

/* Where a recorded column comes from. */
struct recorded {
    const struct sg_metric *metric;
    bool from_task;
    size_t index; /* enum sg_column, or the task's metric */
};

/* Running sums over steps; doubles so that a checkpoint is a plain copy. */
struct totals {
    double steps, bits, values, elements, bytes, total_error;
};

/* gamma_t = base x factor: from 1 to `scale` in a straight line over the warm-up, then down by `decay_factor` at each
 * of the epochs decay_at. */
struct train_schedule {
    double base, scale, warm_up_epochs, decay_factor;
    double *decay_at; /* [n_decays] ascending */
    size_t n_decays;
};

/* Elements that the update works on at a time. */
enum { PIECE_ELEMENTS = 1 << 14 };

/* Where the time of a step goes. A worker's gradient and compression may run beside other workers'. */
enum phase { PHASE_GRADIENT, PHASE_COMPRESSION, PHASE_EXCHANGE, PHASE_UPDATE, PHASES };

/* A recorded point, perhaps before its evaluation is known. */
struct row {
    uint64_t step;
    bool evaluated;
    cJSON *layers; /* NULL = not asked for, or before the first step */
    double value[SG_COLUMNS];
};

/* One worker of this rank. Vectors lie in the memory of the kernels, unless it says otherwise. */
struct worker {
    float *residual;            /* [d] NULL without feedback, and where nothing is ever kept */
    struct sg_message message;  /* of this step */
    double note[SG_COMM_NOTES]; /* what all ranks learn of the worker at this step */
    struct sg_error error;      /* of this step */
    double spent[PHASES];       /* seconds since the run began; what is no worker's is the first one's of the rank */
    uint64_t sent;              /* numbers written down at this step, in all rounds */
    double input_square;        /* |p|^2 of this step, where residuals are complete only after the exchange */
    double *layers;             /* [LAYER_COLUMNS][n_layers of the task] of this step; NULL = not recorded */
};

/* How long the run is, and what is done at which step. */
struct plan {
    uint64_t steps, every;
    double evaluate_epochs; /* between evaluations; NaN = with every record */
    struct train_schedule schedule;
};

struct device {
    char name[24];       /* "cpu", "cuda:1" */
    sg_cuda_device *gpu; /* behind the kernels, unless they are a CPU's */
};

struct optimizer {
    const struct sg_optimizer_ops *ops;
    double *param;
    float *state; /* [floats] */
    size_t floats;
    struct sg_piece *piece; /* [n_pieces] of the d parameters */
    size_t n_pieces;
};

/* The series of the run: its columns, and the rows that wait to be written, oldest first. */
struct series {
    struct recorded *column;
    size_t n_columns;
    bool wants_evaluation, wants[SG_COLUMNS], wants_layers;
    double *layers_now; /* [LAYER_COLUMNS][n_layers of the task], the mean over all workers; rank 0 */
    struct row *row;    /* [capacity] */
    size_t n_rows, capacity;
    double *evaluated; /* [capacity][n_metrics of the task] of those rows that are evaluated */
    size_t n_evaluated;
    double last_flush_s;
    sg_sha256 hash; /* of all bytes written so far */
};

struct train {
    const struct sg_train_options *options;
    sg_comm *comm;
    bool lead; /* rank 0 */
    size_t workers, first, count;
    int threads;

    const struct sg_task_kind *task_kind;
    const struct sg_task_ops *task_ops;
    sg_task *task;
    const struct sg_task_info *info;
    size_t d;
    struct sg_constant *constant; /* the task's and ours, for expressions and the header */
    size_t n_constants;

    const struct sg_node *at; /* the value of the cell that was looked at last: where an error of train_choose stands */
    struct plan plan;
    struct sg_method_config config;          /* what the cell says of the method; train_open_method adds the rest */
    size_t whole[2];                         /* offsets of the single layer in `model` scope */
    const struct sg_wire_encoding *encoding; /* of positions; NULL = auto */
    struct optimizer optimizer;

    struct device device;
    const struct sg_kernels *kernels;
    struct sg_exec exec;        /* of all threads */
    struct sg_exec worker_exec; /* of one worker's compression */

    sg_method *method;     /* of this rank's workers */
    struct worker *worker; /* [count] */
    double *lead_square;   /* [n_layers of the method] of worker 0, where the controller asks for it */
    float **gradient;      /* [n_gradients]: one a thread if workers run in parallel */
    size_t n_gradients;
    float *sum; /* [d] */

    uint64_t step; /* steps finished */
    double gamma;  /* learning rate of this step */
    double lambda; /* threshold of this step; NaN = the compressor has none */
    struct totals totals;

    struct series series;
    struct sg_recording recording; /* rank 0 */
    char inputs_sha256[65];        /* of the recording up to the checkpoint that the run goes on from; "" = none */
};

/* Set-up: a failure is known to all ranks. Teardown takes what there is. */
sg_status train_setup(struct train *t, struct sg_error *err);
void train_teardown(struct train *t);
/* Parts of set-up that are this rank's alone, in their order: kernels; the task's table and the columns to record; the
 * task opened; its facts and constants; what the cell asks for, against these. Then the method, of the
 * first `count` workers of this rank. */
sg_status train_choose_kernels(struct train *t, struct sg_error *err);
sg_status train_find_task(struct train *t, struct sg_error *err);
sg_status train_open_task(struct train *t, struct sg_error *err);
sg_status train_know_task(struct train *t, struct sg_error *err);
sg_status train_add_constant(struct train *t, const char *name, double value, struct sg_error *err);
sg_status train_choose(struct train *t, struct sg_error *err);
void train_forget_choice(struct train *t);
sg_status train_open_method(sg_method **out, const struct train *t, size_t count, struct sg_error *err);
size_t train_x_bytes(const struct train *t); /* of the parameters */
/* Out of the kernels' memory; the error of a device that failed. */
sg_status train_get(const struct train *t, void *host, const void *from, size_t bytes, struct sg_error *err);
sg_status train_x_hash(const struct train *t, char hex[65], struct sg_error *err);

/* train_gpu.c: the device of a run. train_gpu_open chooses a GPU and its kernels. train_gpu_check_task fails if the task
 * cannot run there. train_fail_device says what a device failed with. */
sg_status train_gpu_open(struct train *t, struct sg_error *err);
sg_status train_gpu_check_task(const struct train *t, struct sg_error *err);
sg_status train_fail_device(const struct train *t, struct sg_error *err);
void train_gpu_describe(const struct train *t, cJSON *host, cJSON *libraries);

/* Learning rate at an epoch, a fractional one; its largest value. The schedule owns decay_at. */
sg_status train_schedule_read(struct train_schedule *out, const struct sg_node *optimizer, double base,
                              struct sg_error *err);
double train_schedule_rate(const struct train_schedule *s, double epoch);
double train_schedule_largest(const struct train_schedule *s);

/* One step, collective. */
sg_status train_step(struct train *t, int save, sg_status earlier, struct sg_outcome *outcome, struct sg_error *err);

/* Local worker w's part of the record: of its message, once it is made, and of its residual, once that is complete; g is
 * its gradient, not needed where a step has several rounds. Then what all workers did, as the trainer's columns. */
sg_status train_measure_message(struct train *t, size_t w, unsigned round, struct sg_error *err);
void train_measure_residual(struct train *t, size_t w, const float *g);
void train_account(struct train *t, const struct sg_outcome *outcome, double value[SG_COLUMNS]);
/* Collective: layers_now of rank 0, and these and the layers' modes as JSON. */
sg_status train_collect_layers(struct train *t, struct sg_error *err);
cJSON *train_layers_json(const struct train *t);

/* After how many steps there is a record, and one with the task's columns: the same answer on every rank. */
bool train_records(const struct train *t, uint64_t step);
bool train_evaluates(const struct train *t, uint64_t step);
/* SHARED evaluation of the current x, collective: rank 0 gets the task's columns of the row that comes next. */
sg_status train_evaluate_shares(struct train *t, struct sg_error *err);

/* Series (rank 0; on other ranks these do nothing). A record takes `layers`. Go on: cut the series back to its first
 * `bytes`, whose hash (64 digits) must be this; 0 bytes have any. */
sg_status train_series_go_on(struct train *t, uint64_t bytes, const char *sha256, struct sg_error *err);
void train_series_hash(const struct train *t, char hex[65]);
sg_status train_header(struct train *t, struct sg_error *err);
sg_status train_record(struct train *t, const double value[SG_COLUMNS], cJSON *take_layers, struct sg_error *err);
sg_status train_flush(struct train *t, struct sg_error *err); /* evaluate and write what waits */
sg_status train_ending(struct train *t, const struct sg_train_report *report, const char *started_at,
                       const char *message, struct sg_error *err);

/* Columns the cell asks for. */
sg_status train_metrics(struct recorded **out, size_t *count, const struct sg_cell *cell,
                        const struct sg_task_kind *task, struct sg_error *err);

/* A recording of what the compressors are given: opened once it is known which step comes next; all workers' part once
 * the step is done; to the disk before a checkpoint, and rank 0's hash of it so far, 64 digits, "" where there is none;
 * its end. All but `hash` are collective, and do nothing where no recording is asked for. */
sg_status recording_open(struct train *t, struct sg_error *err);
sg_status recording_write(struct train *t, struct sg_error *err);
sg_status recording_sync(struct train *t, struct sg_error *err);
void recording_hash(const struct train *t, char hex[65]);
sg_status recording_end(struct train *t, struct sg_error *err);
void recording_close(struct train *t);

/* Checkpoint: collective. Load finds nothing: *found = false. */
sg_status train_save(struct train *t, struct sg_error *err);
sg_status train_load(struct train *t, bool *found, struct sg_error *err);

#endif

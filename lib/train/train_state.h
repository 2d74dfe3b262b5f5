/* train_state.h: private to lib/train. One run in flight. */
#ifndef SG_TRAIN_STATE_H
#define SG_TRAIN_STATE_H

#include "sg_optimizer.h"
#include "sg_stats.h"
#include "sg_train.h"

/* Columns of the trainer itself, in the order of sg_train_metrics. */
enum column {
    COLUMN_BITS,
    COLUMN_BITS_VALUES,
    COLUMN_DENSITY,
    COLUMN_AVERAGE_DENSITY,
    COLUMN_DENSITY_PADDED,
    COLUMN_BYTES_SENT,
    COLUMN_ERROR_NORM,
    COLUMN_TOTAL_ERROR,
    N_COLUMNS
};

/* Where a recorded column comes from. */
struct recorded {
    const struct sg_metric *metric;
    bool from_task;
    size_t index; /* enum column, or the task's metric */
};

/* Running sums over steps; doubles so that a checkpoint is a plain copy. */
struct totals {
    double steps, bits, values, elements, bytes, total_error;
};

struct train {
    const struct sg_train_options *options;
    sg_comm *comm;
    const struct sg_task_ops *task_ops;
    const struct sg_task_kind *task_kind;
    sg_task *task;
    const struct sg_task_info *info;

    struct sg_feedback feedback;
    enum sg_precision precision; /* of the values sent */
    struct sg_layout layout;
    size_t whole[2]; /* offsets of the single layer in `model` scope */
    const struct sg_compressor_ops *compressor_ops;
    double *compressor_param;
    sg_compressor **compressor; /* [count] of this rank */
    const struct sg_kernels *kernels;
    float **residual;           /* [count], NULL entries without feedback */
    struct sg_message *message; /* [count] */
    double (*note)[SG_COMM_NOTES];
    struct sg_error *worker_error; /* [count] */
    float **gradient;              /* [threads] */
    float *sum;                    /* [d] */

    const struct sg_optimizer_ops *optimizer_ops;
    double *optimizer_param;
    size_t optimizer_floats;
    float *optimizer_state;

    size_t workers, first, count, d;
    int threads;
    uint64_t steps, every;
    double gamma;

    struct sg_constant *constant; /* the task's and ours, for expressions and the header */
    size_t n_constants;

    struct recorded *column;
    size_t n_columns;
    bool wants_evaluation, wants_error;

    /* Rows waiting for the task's evaluation, oldest first. */
    struct row *row; /* [capacity] */
    size_t n_rows, capacity;
    double *evaluated; /* [capacity][n_metrics of the task] */
    double last_flush_s;

    struct totals totals;
    uint64_t step; /* steps finished */
};

/* A recorded point before its evaluation is known. */
struct row {
    uint64_t step;
    double value[N_COLUMNS];
};

size_t train_x_bytes(const struct train *t); /* of the parameters */

/* Series (rank 0; on other ranks these do nothing). */
sg_status train_header(const struct train *t, struct sg_error *err);
sg_status train_record(struct train *t, const double value[N_COLUMNS], struct sg_error *err);
sg_status train_flush(struct train *t, struct sg_error *err); /* evaluate and write what waits */
sg_status train_ending(struct train *t, const struct sg_train_report *report, const char *started_at,
                       const char *message, struct sg_error *err);

/* Columns the cell asks for; also used by sg_train_check. */
sg_status train_columns(struct recorded **out, size_t *count, const struct sg_cell *cell,
                        const struct sg_task_kind *task, struct sg_error *err);

/* Checkpoint: collective. Load finds nothing: *found = false. */
sg_status train_save(struct train *t, struct sg_error *err);
sg_status train_load(struct train *t, bool *found, struct sg_error *err);

#endif

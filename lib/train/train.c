/* train.c: the loop of one run: set-up, steps, records, checkpoints, and how it ends. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "sg_clock.h"
#include "sg_file.h"
#include "train_private.h"

static const double CHECKPOINT_EVERY_S = 60;
static const double SAVE_BYTES_PER_S = 1e8; /* a slow disk's, until a checkpoint was timed */

/* The columns before a step is measured: null, or 0 for a column that counts what was sent so far. */
static void clear_columns(double value[SG_COLUMNS]) {
    for (size_t i = 0; i < SG_COLUMNS; i++)
        value[i] = sg_common_metrics[i].of_step ? NAN : 0;
}

/* Records the point before the first step: nothing was sent, and there are no densities, losses or rates yet. */
static sg_status record_start(struct train *t, struct sg_error *err) {
    double value[SG_COLUMNS];
    clear_columns(value);
    value[SG_COLUMN_TOTAL_ERROR] = train_total_error(t);
    return train_record(t, value, NULL, err);
}

/* Records the step that just ended. The returned status is the same on all ranks; *recorded is this rank's own. */
static sg_status record(struct train *t, const struct sg_outcome *outcome, sg_status *recorded, struct sg_error *err) {
    double value[SG_COLUMNS];
    sg_status status = SG_OK;
    clear_columns(value); /* columns that nothing below measures stay null */
    train_account(t, outcome, value);
    status = train_errors_record(t, outcome, value, err);
    if (status != SG_OK || !train_records(t, t->step))
        return status;
    if (t->info->evaluation == SG_EVALUATE_SHARED && train_evaluates(t, t->step))
        status = train_evaluate_shares(t, err);
    SG_DO(status, train_monitor_record(t, value, err));
    if (status == SG_OK && t->series.keeps_layers)
        status = train_collect_layers(t, err);
    if (status == SG_OK && t->lead)
        train_errors_weigh_layers(t, value);
    if (status == SG_OK)
        *recorded = train_record(t, value, t->lead && t->series.wants_layers ? train_layers_json(t) : NULL, err);
    return status;
}

static sg_status visit(struct train *t, struct sg_error *err) {
    const struct sg_train_options *o = t->options;
    return o->visit ? o->visit(o->visit_arg, t->task_ops, t->task, t->step, t->plan.steps, err) : SG_OK;
}

static sg_status loop(struct train *t, struct sg_error *err) {
    double saved_s = sg_clock_s();
    sg_status recorded = SG_OK;
    if (t->options->stop_at_s > 0)
        t->save_s = (double)train_checkpoint_bytes(t) / SAVE_BYTES_PER_S;
    while (t->step < t->plan.steps && !t->stop) {
        const double begun_s = sg_clock_s();
        bool due = t->options->checkpoint_every ? (t->step + 1) % t->options->checkpoint_every == 0
                                                : sg_clock_s() - saved_s > CHECKPOINT_EVERY_S;
        struct sg_outcome outcome;
        sg_status status = visit(t, err);
        train_monitor_begin(t);
        SG_DO(status, train_step(t, due && t->lead, recorded, &outcome, err));
        SG_DO(status, recording_write(t, err));
        SG_DO(status, record(t, &outcome, &recorded, err));
        if (status != SG_OK)
            return status;
        t->stop = outcome.stop;
        const double ended_s = sg_clock_s();
        t->longest_step_s = fmax(t->longest_step_s, ended_s - begun_s);
        if ((outcome.save || t->stop) && t->step < t->plan.steps) {
            status = sg_comm_agree(t->comm, recorded, err);
            SG_DO(status, train_save(t, err));
            if (status != SG_OK)
                return status;
            saved_s = sg_clock_s();
            t->save_s = saved_s - ended_s;
        }
        if (t->options->progress)
            t->options->progress("", (double)t->step, (double)t->plan.steps);
    }
    recorded = sg_comm_agree(t->comm, recorded, err);
    if (recorded == SG_OK && t->step < t->plan.steps) {
        char why[32] = "at the time limit";
        if (t->stop != TRAIN_TIME_UP)
            snprintf(why, sizeof why, "by signal %d", t->stop);
        return sg_fail(err, SG_ERR_INTERRUPTED, "stopped %s after step %llu of %llu", why, (unsigned long long)t->step,
                       (unsigned long long)t->plan.steps);
    }
    if (recorded == SG_OK)
        train_tell_unsent(t);
    return recorded == SG_OK ? visit(t, err) : recorded;
}

static const char *word_for(sg_status status) {
    return status == SG_OK                ? "ok"
           : status == SG_ERR_NONFINITE   ? "diverged"
           : status == SG_ERR_INTERRUPTED ? "interrupted"
                                          : "failed";
}

sg_status sg_train_run(struct sg_train_report *report, sg_comm *comm, const struct sg_train_options *options,
                       struct sg_error *err) {
    struct train t = {.options = options, .comm = comm};
    sg_clock_utc(t.started_at);
    double start_s = sg_clock_s();
    *report = (struct sg_train_report){0};
    sg_sha256_start(&t.series.hash);
    bool resumed = false, header = false;
    sg_status status = train_setup(&t, err);
    SG_DO(status, train_load(&t, &resumed, err));
    if (status == SG_OK && !resumed) {
        sg_task_start(t.task);
        if (options->series)
            status = train_header(&t, err);
        SG_DO(status, record_start(&t, err));
        status = sg_comm_agree(comm, status, err);
    }
    header = status == SG_OK;
    SG_DO(status, recording_open(&t, err));
    t.loop_s = t.series.last_flush_s = sg_clock_s();
    report->setup_s = t.loop_s - start_s;
    SG_DO(status, loop(&t, err));
    SG_DO(status, train_ranks_verify(&t, err));
    SG_DO(status, sg_comm_agree(comm, recording_end(&t, err), err));
    if (header) {
        struct sg_error trouble; /* the first error wins, but a failed write of a good run is one */
        sg_status last = train_flush(&t, &trouble);
        report->elapsed_s = sg_clock_s() - t.loop_s;
        report->steps = t.step;
        snprintf(report->status, sizeof report->status, "%s", word_for(status));
        SG_DO(last, train_ending(&t, report, status == SG_OK ? NULL : err->msg, &trouble));
        if (status == SG_OK && last != SG_OK) {
            *err = trouble;
            status = last;
        }
    }
    snprintf(report->status, sizeof report->status, "%s", word_for(status));
    report->signal = t.stop == TRAIN_TIME_UP ? 0 : t.stop;
    report->budget = header ? sg_method_budget(t.method) : NAN;
    report->sent = t.totals.values;
    report->total_error = header && t.series.wants[SG_COLUMN_TOTAL_ERROR] ? train_total_error(&t) : NAN;
    train_teardown(&t);
    return status;
}

/* train_monitor.c: measures at recorded steps what compressors lose, whatever the feedback rule.
 * results/DEFINITIONS.md has the formulas of the columns.
 *
 * Every worker's numbers go to rank 0, which adds them up in the order of the workers. So they have the same bits for
 * any number of ranks. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "sg_memory.h"
#include "train_private.h"

/* What a worker measures of all layers: |p|^2, |p - C(p)|^2 and <C(p) - p, p>. */
enum measure { SQUARE, LOST, ALONG, MEASURES };

/* Mean and sum of squared deviations of one number over recorded steps. */
struct tally {
    double mean, squares;
};

/* The state that lasts from step to step. All members are doubles, so that a checkpoint copies them. */
struct sums {
    double steps;
    struct tally error, bias;
};

struct monitor {
    float *lost;      /* [d] */
    double *mine;     /* [workers of this rank][MEASURES] */
    double *all;      /* [workers][MEASURES], on rank 0 */
    struct sums sums; /* only rank 0's are used; other ranks keep those of their checkpoint */
};

bool train_monitored(const struct train *t) {
    return train_recorded(t, SG_COLUMN_AVERAGE_COMPRESSION_ERROR, SG_COLUMN_COMPRESSION_BIAS_SIGMA) != NULL;
}

size_t train_monitor_parts(const struct train *t, struct part *out) {
    if (!t->monitor)
        return 0;
    *out = (struct part){&t->monitor->sums, sizeof t->monitor->sums};
    return 1;
}

void train_monitor_open(struct train *t) {
    if (!train_monitored(t))
        return;
    struct monitor *m = t->monitor = sg_calloc(1, sizeof *m);
    if (m) {
        m->lost = sg_malloc((t->d + 1) * sizeof *m->lost);
        m->mine = sg_calloc(t->count * MEASURES, sizeof *m->mine);
        m->all = sg_calloc(t->workers * MEASURES, sizeof *m->all);
    }
}

void train_monitor_close(struct train *t) {
    struct monitor *m = t->monitor;
    if (!m)
        return;
    free(m->lost);
    free(m->mine);
    free(m->all);
    free(m);
    t->monitor = NULL;
}

/* ---- each worker's part ----------------------------------------------------------------------------------------- */

void train_monitor_begin(struct train *t) {
    if (t->monitor)
        sg_method_keep_inputs(t->method, t->options->record_inputs || train_records(t, t->step + 1));
}

/* Adds what belongs to a layer of n numbers. */
static void measure_layer(double out[MEASURES], const float *p, const float *lost, size_t n) {
    double square = 0, left = 0, along = 0;
    for (size_t i = 0; i < n; i++) {
        square += (double)p[i] * (double)p[i];
        left += (double)lost[i] * (double)lost[i];
        along -= (double)lost[i] * (double)p[i];
    }
    out[SQUARE] += square;
    out[LOST] += left;
    out[ALONG] += along;
}

void train_monitor_measure(struct train *t) {
    struct monitor *m = t->monitor;
    const struct sg_layout *layout = &t->config.layout;
    if (!m || !train_records(t, t->step + 1) || !sg_method_sends_input(t->method))
        return;
    for (size_t w = 0; w < t->count; w++) {
        double *out = m->mine + w * MEASURES;
        if (t->absent[t->first + w])
            continue;
        const float *p = sg_method_input(t->method, t->first + w);
        sg_method_lost(t->method, t->first + w, &t->worker[w].message, t->sum, m->lost);
        out[SQUARE] = out[LOST] = out[ALONG] = 0;
        for (size_t l = 0; l < layout->n_layers; l++)
            measure_layer(out, p + layout->offset[l], m->lost + layout->offset[l],
                          layout->offset[l + 1] - layout->offset[l]);
    }
}

/* ---- all workers' ------------------------------------------------------------------------------------------------ */

static void tally_add(struct tally *s, double steps, double x) {
    const double off = x - s->mean;
    s->mean += off / steps;
    s->squares += off * (x - s->mean);
}

/* The standard error of the mean. */
static double sigma_of(const struct tally *s, double steps) {
    return steps > 1 ? sqrt(s->squares / (steps - 1) / steps) : (double)NAN;
}

static double ratio(double part, double whole) {
    return whole > 0 ? part / whole : 0;
}

sg_status train_monitor_record(struct train *t, double value[SG_COLUMNS], struct sg_error *err) {
    struct monitor *m = t->monitor;
    if (!m || !sg_method_sends_input(t->method)) /* then all columns stay null */
        return SG_OK;
    struct sums *s = &m->sums;
    const double workers = (double)t->present;
    double error = 0, bias = 0;
    s->steps += 1;
    const sg_status status = train_collect(t, m->mine, MEASURES, m->all, err);
    if (status != SG_OK || !t->lead)
        return status;
    for (size_t w = 0; w < t->workers; w++) {
        const double *theirs = m->all + w * MEASURES;
        if (t->absent[w])
            continue;
        error += ratio(theirs[LOST], theirs[SQUARE]) / workers;
        bias += ratio(theirs[ALONG], theirs[SQUARE]) / workers;
    }
    tally_add(&s->error, s->steps, error);
    tally_add(&s->bias, s->steps, bias);
    value[SG_COLUMN_AVERAGE_COMPRESSION_ERROR] = s->error.mean;
    value[SG_COLUMN_COMPRESSION_BIAS] = s->bias.mean;
    value[SG_COLUMN_COMPRESSION_BIAS_SIGMA] = sigma_of(&s->bias, s->steps);
    return SG_OK;
}

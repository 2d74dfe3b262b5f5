/* frame_runs.c: the runs of a label together: their values at the end, and their series as mean and deviation over the
 * seeds at each recorded step. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sg_debug.h"
#include "sg_frame.h"
#include "sg_memory.h"
#include "sg_stats.h"
#include "sg_text.h"

static const size_t NO_POINT = SIZE_MAX;

static void spread(double out[SG_STATISTICS], double *value, size_t n) {
    size_t known = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(value[i]))
            value[known++] = value[i];
    out[SG_MEAN] = sg_stats_mean(value, known);
    out[SG_STD] = sg_stats_stddev(value, known);
    out[SG_COUNT] = (double)known;
    for (size_t q = 0; q < 3; q++)
        out[SG_Q1 + q] = sg_stats_quantile(value, known, 0.25 * (double)(q + 1));
}

/* The number that a map of swept or drawn values has under this name; NaN = it has none. */
static double number_of(const struct sg_node *map, const struct sg_run *run, const char *name) {
    char why[SG_WHY_CHARS];
    for (size_t i = 0; map && i < map->count; i++) {
        const struct sg_node *value = &map->child[i];
        if (!sg_same_name(name, strlen(name), value->key))
            continue;
        if (value->kind == SG_NODE_STRING && sg_same_name("learning_rate", strlen("learning_rate"), name))
            return sg_run_value(run, "gamma", NULL, why);
        return value->kind == SG_NODE_NUMBER ? value->number : NAN;
    }
    return NAN;
}

bool sg_frame_spread(double out[SG_STATISTICS], double *value, const struct sg_frame_label *label, const char *metric,
                     const struct sg_node *at) {
    char why[SG_WHY_CHARS];
    double *copy = sg_malloc((label->n_seeds + 1) * sizeof *copy);
    bool all_open = true;
    for (size_t i = 0; i < label->n_seeds; i++)
        all_open = all_open && sg_run_status_is_open(label->seed[i].status);
    for (size_t i = 0; i < label->n_seeds; i++) {
        const struct sg_frame_seed *seed = &label->seed[i];
        value[i] = number_of(label->lists, seed->run, metric);
        if (isnan(value[i]))
            value[i] = number_of(seed->drawn, seed->run, metric);
        if (isnan(value[i]))
            value[i] = all_open ? sg_run_value(seed->run, metric, at, why) : sg_frame_value(seed, metric, at, why);
        copy[i] = value[i];
    }
    spread(out, copy, label->n_seeds);
    free(copy);
    return true;
}

/* ---- points of a label: the recorded steps of all its runs ---- */

struct points {
    size_t n, seeds;
    double *step;     /* [n] ascending */
    size_t *index;    /* [n][seeds]: place of this step in a seed's series, or NO_POINT */
    const double **x; /* [seeds] the series of one column; NULL = the run has none */
    double *value;    /* [seeds] its numbers at one point */
};

static void points_free(struct points *p) {
    free(p->step);
    free(p->index);
    free(p->x);
    free(p->value);
}

static void choose_column(struct points *p, const struct sg_frame_label *label, const char *name) {
    for (size_t i = 0; i < p->seeds; i++)
        p->x[i] = sg_run_series(label->seed[i].run, name);
}

/* Gathers the numbers of the chosen column at one point into p->value; returns how many. */
static size_t gather(const struct points *p, size_t point) {
    SG_ASSERT(point < p->n);
    size_t n = 0;
    for (size_t i = 0; i < p->seeds; i++) {
        const size_t at = p->index[point * p->seeds + i];
        if (p->x[i] && at != NO_POINT && isfinite(p->x[i][at]))
            p->value[n++] = p->x[i][at];
    }
    return n;
}

/* Merges the steps of the seeds. Usually all seeds have the same steps; a run that diverged ends early. */
static bool points_merge(struct points *p, const struct sg_frame_label *label) {
    size_t most = 1, *next = sg_calloc(label->n_seeds + 1, sizeof *next);
    p->seeds = label->n_seeds;
    for (size_t i = 0; i < p->seeds; i++)
        most += label->seed[i].run->n_points;
    p->step = sg_malloc(most * sizeof *p->step);
    p->index = sg_malloc(most * p->seeds * sizeof *p->index);
    p->x = sg_malloc(p->seeds * sizeof *p->x);
    p->value = sg_malloc(p->seeds * sizeof *p->value);
    const bool fine = next && p->step && p->index && p->x && p->value;
    if (fine)
        choose_column(p, label, "step");
    for (; fine; p->n++) {
        double least = INFINITY;
        for (size_t i = 0; i < p->seeds; i++)
            if (p->x[i] && next[i] < label->seed[i].run->n_points && p->x[i][next[i]] < least)
                least = p->x[i][next[i]];
        if (least == INFINITY)
            break;
        SG_ASSERT(p->n == 0 || p->step[p->n - 1] < least);
        p->step[p->n] = least;
        for (size_t i = 0; i < p->seeds; i++) {
            const bool here = p->x[i] && next[i] < label->seed[i].run->n_points && p->x[i][next[i]] == least;
            p->index[p->n * p->seeds + i] = here ? next[i]++ : NO_POINT;
        }
    }
    free(next);
    return fine;
}

/* rare [n] <- whether a point has a value of a column that has values at no more than half of the points. Such columns
 * are evaluations, and their points should be kept. */
static void find_rare(bool *rare, struct points *p, const struct sg_frame_label *label) {
    for (size_t c = 0; c < label->n_columns; c++) {
        size_t known = 0;
        choose_column(p, label, label->column[c].name);
        for (size_t j = 0; j < p->n; j++)
            known += gather(p, j) > 0;
        for (size_t j = 0; 2 * known <= p->n && j < p->n; j++)
            rare[j] = rare[j] || gather(p, j) > 0;
    }
}

/* Keeps at most `most` points (0 = all): every k-th rare point, every k'-th of the others, and the last. k is the
 * smallest that fits, and then k' is. */
static bool points_thin(struct points *p, const struct sg_frame_label *label, size_t most) {
    if (most < 2 || p->n <= most)
        return true;
    bool *rare = sg_calloc(p->n, sizeof *rare);
    size_t n[2] = {0}, stride[2], seen[2] = {0}, kept = 0;
    find_rare(rare, p, label);
    for (size_t j = 0; j + 1 < p->n; j++)
        n[rare[j]]++;
    const size_t room = most - 1;
    stride[1] = n[1] ? (n[1] - 1) / room + 1 : 1;
    const size_t left = room - (n[1] + stride[1] - 1) / stride[1];
    stride[0] = left ? (n[0] ? (n[0] - 1) / left + 1 : 1) : SIZE_MAX;
    for (size_t j = 0; j < p->n; j++) {
        const bool last = j + 1 == p->n, kind = !last && rare[j];
        if (last || (seen[kind]++ % stride[kind] == 0 && stride[kind] < SIZE_MAX)) {
            p->step[kept] = p->step[j];
            memmove(p->index + kept * p->seeds, p->index + j * p->seeds, p->seeds * sizeof *p->index);
            kept++;
        }
    }
    SG_ASSERT(kept <= most);
    p->n = kept;
    free(rare);
    return true;
}

/* ---- columns ---- */

bool sg_frame_is_axis(const char *column) {
    return strcmp(column, "step") == 0 || strcmp(column, "epoch") == 0;
}

/* The columns of the first run, step and epoch before all others. */
static bool name_columns(struct sg_frame_label *label) {
    const struct sg_run *first = NULL;
    for (size_t i = 0; i < label->n_seeds && !first; i++)
        first = label->seed[i].run->header ? label->seed[i].run : NULL;
    const struct sg_node *drawn = label->n_seeds > 0 ? label->seed[0].drawn : NULL;
    label->column = sg_calloc((first ? first->n_series : 0) + (drawn ? drawn->count : 0) + 2, sizeof *label->column);
    label->column[label->n_columns++].name = "step";
    label->column[label->n_columns++].name = "epoch";
    for (size_t c = 0; first && c < first->n_series; c++)
        if (!sg_frame_is_axis(first->series[c].name))
            label->column[label->n_columns++].name = first->series[c].name;
    for (size_t c = 0; c < label->n_columns; c++) {
        label->column[c].in_series = true;
        label->column[c].in_final = first && sg_run_series(first, label->column[c].name);
    }
    for (size_t i = 0; drawn && i < drawn->count; i++) {
        size_t c = 0;
        while (c < label->n_columns && strcmp(label->column[c].name, drawn->child[i].key) != 0)
            c++;
        label->n_columns += c == label->n_columns; /* a series may have that name, as learning_rate */
        label->column[c].name = drawn->child[i].key;
        label->column[c].in_final = true;
    }
    return true;
}

/* The curves of an axis, which is the same for all seeds, or of another column. */
static bool fill_curves(struct sg_frame_column *column, const struct points *p, bool quartiles) {
    const size_t kinds = sg_frame_is_axis(column->name) ? 1 : quartiles ? SG_STATISTICS : SG_COUNT + 1;
    double at[SG_STATISTICS];
    column->n_points = p->n;
    for (size_t s = 0; s < kinds; s++)
        if (!(column->curve[s] = sg_malloc((p->n + 1) * sizeof(double))))
            return false;
    for (size_t j = 0; j < p->n; j++) {
        const size_t n = gather(p, j);
        const double first = n > 0 ? p->value[0] : NAN;
        spread(at, p->value, n);
        for (size_t s = 0; s < kinds; s++)
            column->curve[s][j] = kinds == 1 ? first : at[s];
    }
    return true;
}

static bool fill_final(struct sg_frame_column *column, const struct sg_frame_label *label) {
    column->n_values = label->n_seeds;
    column->value = sg_malloc((label->n_seeds + 1) * sizeof *column->value);
    return column->value && sg_frame_spread(column->final, column->value, label, column->name, NULL);
}

bool sg_frame_fill(struct sg_frame_label *label, size_t most, bool (*quartiles)(const void *arg, const char *column),
                   const void *arg) {
    struct points p = {0};
    SG_ASSERT(label->n_columns == 0);
    bool fine = name_columns(label) && points_merge(&p, label) && points_thin(&p, label, most);
    for (size_t c = 0; fine && c < label->n_columns; c++) {
        struct sg_frame_column *column = &label->column[c];
        choose_column(&p, label, column->name);
        fine = fill_curves(column, &p, label->n_seeds > 1 && quartiles(arg, column->name)) &&
               (!column->in_final || fill_final(column, label));
    }
    points_free(&p);
    return fine;
}

const struct sg_frame_label *sg_frame_label(const struct sg_frame *frame, const char *label) {
    for (size_t l = 0; l < frame->n_labels; l++)
        if (strcmp(frame->label[l].label, label) == 0)
            return &frame->label[l];
    return NULL;
}

const char *sg_frame_seed_name(const struct sg_frame_label *label, size_t s) {
    return s < label->seeds.n && label->seeds.item[s] ? label->seeds.item[s] : "?";
}

void sg_frame_free_columns(struct sg_frame *frame) {
    for (size_t l = 0; l < frame->n_labels; l++) {
        struct sg_frame_label *label = &frame->label[l];
        for (size_t c = 0; c < label->n_columns; c++) {
            for (size_t s = 0; s < SG_STATISTICS; s++)
                free(label->column[c].curve[s]);
            free(label->column[c].value);
        }
        free(label->column);
        label->column = NULL;
        label->n_columns = 0;
    }
}

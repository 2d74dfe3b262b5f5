/* grid_efficiency.c: step efficiency: how many of a run's steps no compression needs to become as good.
 *
 * The runs without compression of one seed that differ in their length alone are a curve: quality over the logarithm of
 * steps, made monotone by least squares. A run of T steps that becomes as good as the curve is at T_eff steps has the
 * efficiency T_eff / T. Between two lengths the curve is a straight line on the scale of the quality (sg_metric_loss).
 * Outside of the curve there is no efficiency. Its own runs have 1. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "grid_summary.h"
#include "sg_json.h"
#include "sg_memory.h"
#include "sg_stats.h"
#include "sg_task.h"
#include "sg_text.h"

static const char name[] = "step_efficiency";

/* A finished run: what it has in common with the runs that it is compared with, and its end. */
struct end {
    char *setting; /* its resolved recipe without method, length and schedule, with the seed; NULL = not finished */
    bool plain;    /* it is without compression */
    double steps, value;
};

struct knot {
    double steps, loss;
};

/* Runs without compression by their lengths, the shortest first. */
struct curve {
    struct knot *knot; /* [n] */
    size_t n;
    double longest; /* the value of the longest run, against which losses count */
};

static char *setting_of(const struct sg_cell *cell) {
    static const char *const own[] = {"method", "epochs", "steps", "error_feedback", "scope", "message", "record"},
                             *const schedule[] = {"warm_up_epochs", "decay_at"};
    cJSON *setting = sg_node_json(&cell->resolved), *optimizer = cJSON_GetObjectItemCaseSensitive(setting, "optimizer");
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        cJSON_DeleteItemFromObjectCaseSensitive(setting, own[i]);
    for (size_t i = 0; i < sizeof schedule / sizeof *schedule; i++)
        cJSON_DeleteItemFromObjectCaseSensitive(optimizer, schedule[i]);
    char *text = sg_json_text(setting, false);
    cJSON_Delete(setting);
    return text;
}

static struct end end_of(const struct sg_cell *cell, const struct sg_cell_outcome *outcome, const cJSON *methods,
                         const struct sg_metric *metric, const struct sg_node *at) {
    char why[SG_WHY_CHARS];
    const struct sg_run *run = &outcome->run;
    const bool done = outcome->state == SG_CELL_DONE || outcome->state == SG_CELL_REUSED;
    if (!done || run->n_points == 0 || (cell->trial > 0 && !cell->winner))
        return (struct end){0};
    return (struct end){.setting = setting_of(cell),
                        .plain = grid_is_uncompressed(methods, cell->name,
                                                      sg_node_string(cell->method, "compressor", NULL), cell->baseline),
                        .steps = sg_run_series(run, "step")[run->n_points - 1],
                        .value = sg_grid_value(outcome, metric->name, at, why)};
}

static int by_steps(const void *a, const void *b) {
    const struct knot *x = a, *y = b;
    return (x->steps > y->steps) - (x->steps < y->steps);
}

/* Makes the losses fall with the steps by least squares: neighbours in the wrong order get their mean. */
static void make_monotone(struct knot *knot, size_t n) {
    for (size_t i = 1, from, to; i < n; i++)
        for (from = to = i; from > 0 && knot[from - 1].loss < knot[from].loss;) {
            const double before = knot[from - 1].loss;
            size_t first = from - 1;
            while (first > 0 && knot[first - 1].loss == before)
                first--;
            const double mean =
                (before * (double)(from - first) + knot[to].loss * (double)(to - from + 1)) / (double)(to - first + 1);
            for (size_t j = first; j <= to; j++)
                knot[j].loss = mean;
            from = first;
        }
}

/* Sets the curve of the runs without compression that have the setting of `of`, each length once. */
static void draw(struct curve *c, const struct end *of, const struct end *end, size_t count,
                 const struct sg_metric *metric) {
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (end[i].setting && end[i].plain && isfinite(end[i].value) && strcmp(end[i].setting, of->setting) == 0)
            c->knot[n++] = (struct knot){end[i].steps, end[i].value};
    qsort(c->knot, n, sizeof *c->knot, by_steps);
    c->n = 0;
    for (size_t i = 0; i < n; i++)
        if (c->n == 0 || c->knot[c->n - 1].steps < c->knot[i].steps)
            c->knot[c->n++] = c->knot[i];
    c->longest = c->n > 0 ? c->knot[c->n - 1].loss : NAN;
    for (size_t i = 0; i < c->n; i++)
        c->knot[i].loss = sg_metric_loss(metric, c->knot[i].loss, c->longest);
    make_monotone(c->knot, c->n);
}

/* The steps at which the curve reaches a loss; NaN = it never has it. */
static double steps_at(const struct curve *c, double loss) {
    size_t i = 0;
    while (i < c->n && c->knot[i].loss > loss)
        i++;
    if (c->n < 2 || i == c->n || isnan(loss) || (i == 0 && c->knot[0].loss < loss))
        return NAN;
    const struct knot *at = &c->knot[i];
    if (i == 0 || at->loss == loss)
        return at->steps;
    return at[-1].steps * pow(at->steps / at[-1].steps, (at[-1].loss - loss) / (at[-1].loss - at->loss));
}

void grid_add_efficiency(struct sg_cell_outcome *outcomes, const struct sg_cell *cells, size_t count,
                         const struct sg_recipe *recipe) {
    const char *by = sg_node_string(&recipe->root, "step-efficiency.of", NULL);
    const struct sg_metric *metric = by ? sg_column_find(by) : NULL;
    if (!metric)
        return;
    struct end *end = sg_calloc(count + 1, sizeof *end);
    struct curve curve = {.knot = sg_calloc(count + 1, sizeof *curve.knot)};
    cJSON *methods = sg_node_json(sg_node_get(&recipe->root, "methods"));
    for (size_t i = 0; i < count; i++)
        end[i] = end_of(&cells[i], &outcomes[i], methods, metric, sg_node_get(&recipe->root, "step-efficiency.at"));
    cJSON_Delete(methods);
    for (size_t i = 0; i < count; i++) {
        struct sg_run *run = &outcomes[i].run;
        if (!run->header)
            continue;
        double *column = sg_malloc((run->n_points + 1) * sizeof *column);
        for (size_t r = 0; r <= run->n_points; r++)
            column[r] = NAN;
        if (end[i].setting) {
            draw(&curve, &end[i], end, count, metric);
            const double loss = sg_metric_loss(metric, end[i].value, curve.longest);
            column[run->n_points - 1] = end[i].plain && curve.n > 1 ? 1 : steps_at(&curve, loss) / end[i].steps;
        }
        sg_run_add_series(run, name, "", column);
    }
    for (size_t i = 0; i < count; i++)
        free(end[i].setting);
    free(end);
    free(curve.knot);
}

/* ---- what the quality of no compression costs ---- */

/* An interval of a price may be this share of it to either side; a wider one cannot tell. */
static const double CLEAR = 0.25;

/* The price of a row at the length of its runs. False: it has none that is clear. */
static bool find_price(struct sg_grid_price *out, const struct summary_row *r) {
    const struct sg_frame_column *column = sg_frame_column(r->label, name);
    const size_t n = column && column->value ? column->n_values : 0;
    if (!r->base || r->base == r || n == 0 || n != r->label->n_seeds || isnan(r->steps) || isnan(r->times_less))
        return false;
    double *times = sg_calloc(n, sizeof *times);
    for (size_t i = 0; i < n; i++)
        times[i] = 1 / column->value[i]; /* NaN: the seed has no efficiency */
    *out = (struct sg_grid_price){.label = r->label,
                                  .base = r->base->label,
                                  .steps = r->steps,
                                  .times = sg_stats_mean(times, n),
                                  .half = sg_stats_half_interval(times, n)};
    out->data = out->times / r->times_less;
    free(times);
    return out->half <= CLEAR * out->times; /* false for a NaN */
}

size_t sg_grid_prices(struct sg_grid_price *out, struct sg_document *document) {
    const struct summary s = summary_of(document, NULL);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += find_price(&out[n], &s.row[i]);
    return n;
}

char *sg_grid_price_text(const struct sg_grid_price *p) {
    char half[32] = "";
    if (p->half > 0)
        snprintf(half, sizeof half, " ± %.2g", p->half);
    return sg_format("%s is after %.0f steps as good as no compression after %.0f: it needs %.3g%s times the steps and "
                     "%.2g of the data",
                     p->label->label, p->steps, p->steps / p->times, p->times, half, p->data);
}

void summary_put_price(FILE *out, const struct summary *s) {
    struct sg_grid_price least = {.data = NAN}, own;
    for (size_t i = 0; i < s->n; i++)
        if (find_price(&own, &s->row[i]) && !(own.data >= least.data))
            least = own;
    char *text = least.label ? sg_grid_price_text(&least) : NULL;
    if (text)
        fprintf(out, ". By step efficiency, %s", text);
    free(text);
}

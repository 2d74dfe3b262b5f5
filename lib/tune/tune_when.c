/* tune_when.c: --when: at which bandwidths and numbers of workers compression reaches a target sooner than no
 * compression, by the model of networks, from finished runs. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "sg_memory.h"
#include "tune_when.h"

static const char default_bandwidths[] = "0.1,0.3,1,3,10,30,100", default_clusters[] = "4,16,64,256";

/* ---- options ---- */

static sg_status read_options(struct when *w, struct sg_error *err) {
    const struct sg_tune *t = w->t;
    double workers[WHEN_CLUSTERS] = {0};
    sg_status status =
        tune_read_list(w->bandwidth, &w->n_bandwidths, WHEN_BANDWIDTHS, "bandwidths",
                       t->bandwidths ? t->bandwidths : default_bandwidths, 1e6, true, "bandwidths in Gbit/s", err);
    SG_DO(status, tune_read_list(workers, &w->n_clusters, WHEN_CLUSTERS, "clusters",
                                 t->clusters ? t->clusters : default_clusters, 65536, true, "numbers of workers", err));
    for (size_t b = 0; b < w->n_bandwidths; b++)
        w->bandwidth[b] *= 1e9;
    for (size_t c = 0; status == SG_OK && c < w->n_clusters; c++) {
        w->workers[c] = (size_t)workers[c];
        if ((double)w->workers[c] != workers[c])
            status =
                sg_fail(err, SG_ERR_ARGUMENT, "--clusters=%s: %g is no number of workers", t->clusters, workers[c]);
    }
    return status;
}

/* Checks that every number of workers fills whole nodes of the network. */
static sg_status check_clusters(const struct when *w, struct sg_error *err) {
    struct sg_grid_network unused;
    sg_status status = SG_OK;
    for (size_t c = 0; status == SG_OK && c < w->n_clusters; c++)
        status = sg_grid_network_change(&unused, &w->network, w->bandwidth[0], w->workers[c], err);
    return status;
}

/* ---- the runs ---- */

/* Finds the labels; the cells of a label are neighbours in b->cells. */
static sg_status find_methods(struct when *w, const struct tune_trials *b, struct sg_error *err) {
    const char *baseline = tune_baseline(sg_node_get(&b->recipe.root, "methods"));
    w->seeds = sg_node_get(&b->recipe.root, "seeds")->count;
    w->n_methods = b->count / w->seeds;
    w->method = sg_calloc(w->n_methods, sizeof *w->method);
    w->run = sg_calloc(b->count, sizeof *w->run);
    w->baseline = w->n_methods;
    for (size_t m = 0; m < w->n_methods; m++) {
        w->method[m].cell = &b->cells[m * w->seeds];
        w->method[m].run = &w->run[m * w->seeds];
        if (w->baseline == w->n_methods && baseline && strcmp(w->method[m].cell->name, baseline) == 0)
            w->baseline = m;
    }
    return w->baseline < w->n_methods
               ? SG_OK
               : sg_fail(err, SG_ERR_ARGUMENT, "%s: --when needs a method with compressor: none to compare with",
                         b->recipe.path);
}

/* Sets the target that the run without compression attains at every seed, within the margin. */
static sg_status choose_target(struct when *w, const struct tune_trials *b, struct sg_error *err) {
    double worst = NAN;
    for (size_t s = 0; s < w->seeds; s++) {
        const double value = tune_tail_median(&b->outcomes[w->baseline * w->seeds + s], w->metric);
        if (isnan(value))
            return sg_fail(err, SG_ERR_ARGUMENT, "'%s': %s has no value at the end of its run with seed %" PRIu64,
                           w->metric, w->method[w->baseline].cell->label, b->cells[w->baseline * w->seeds + s].seed);
        worst = w->higher ? fmin(worst, value) : fmax(worst, value);
    }
    w->attained = worst;
    if (!w->given)
        w->target = tune_worst(&w->margin, worst);
    return SG_OK;
}

static sg_status read_run(struct when_run *r, struct when_method *m, const struct when *w, const struct sg_cell *cell,
                          const struct sg_cell_outcome *o, struct sg_error *err) {
    const double *value = sg_run_series(&o->run, w->metric), *step = sg_run_series(&o->run, "step");
    const size_t n = o->run.n_points, at = value && step ? when_attained(value, n, w->target, w->higher) : n;
    r->seed = cell->seed;
    r->steps = at < n ? step[at] : NAN;
    if (strcmp(sg_grid_status(o), "ok") != 0)
        snprintf(m->why, sizeof m->why, "its run with seed %" PRIu64 " diverged", cell->seed);
    else if (at == n)
        snprintf(m->why, sizeof m->why, "it does not reach the target at seed %" PRIu64, cell->seed);
    else if (!(r->steps > 0))
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "%s has reached a %s of %.4g before its first step, at seed %" PRIu64
                       ": give a --target %s %.4g, where it begins%s",
                       cell->label, w->metric, w->target, cell->seed, w->higher ? "above" : "below", value[at],
                       sg_node_absent(sg_node_get(&cell->resolved, "task.start"))
                           ? ""
                           : ", or begin further away, as with --set task.start.offset-from-optimum=10");
    if (m->why[0])
        return SG_OK;
    r->records = at + 1;
    sg_grid_messages_open(&r->messages, cell, &o->run);
    return SG_OK;
}

static sg_status read_runs(struct when *w, const struct tune_trials *b, struct sg_error *err) {
    sg_status status = choose_target(w, b, err);
    w->d = sg_json_number(b->outcomes[0].run.header, "constants.d", NAN);
    for (size_t m = 0; m < w->n_methods; m++)
        for (size_t s = 0; status == SG_OK && !w->method[m].why[0] && s < w->seeds; s++) {
            const size_t i = m * w->seeds + s;
            status = read_run(&w->method[m].run[s], &w->method[m], w, &b->cells[i], &b->outcomes[i], err);
        }
    if (status == SG_OK && w->method[w->baseline].why[0])
        return sg_fail(err, SG_ERR_ARGUMENT, "%s is the run without compression to compare with, and %s (%s %.4g)",
                       w->method[w->baseline].cell->label, w->method[w->baseline].why, w->metric, w->target);
    const size_t points = w->n_clusters * w->n_bandwidths;
    w->seed_s = sg_calloc(w->n_methods * w->seeds, sizeof *w->seed_s);
    w->time = sg_calloc(points * w->n_methods, sizeof *w->time);
    w->gain = sg_calloc(w->n_clusters * w->n_methods, sizeof *w->gain);
    return status;
}

/* ---- the action ---- */

/* Finds what step efficiency says of the clusters. */
static sg_status find_prices(struct when *w, struct sg_error *err) {
    const double bandwidth = w->bandwidth[when_own_bandwidth(w)];
    struct tune_prices prices;
    struct sg_grid_network network;
    char where[WHEN_TEXT];
    sg_status status = tune_prices_open(&prices, w->t, err);
    double *speedup = sg_calloc(prices.n + 1, sizeof *speedup);
    for (size_t c = 0; status == SG_OK && c < w->n_clusters; c++) {
        snprintf(where, sizeof where, "With %zu workers at %.3g Gbit/s", w->workers[c], bandwidth / GBIT);
        status = sg_grid_network_change(&network, &w->network, bandwidth, w->workers[c], err);
        SG_DO(status, tune_price_speedups(speedup, &prices, &network, err));
        w->price[c] = status == SG_OK ? tune_price_text(&prices, speedup, where) : NULL;
    }
    free(speedup);
    tune_prices_close(&prices);
    return status;
}

static sg_status model(struct when *w, struct sg_error *err) {
    const double points = (double)(w->n_clusters * w->n_bandwidths);
    sg_status status = SG_OK;
    for (size_t c = 0; c < w->n_clusters; c++)
        for (size_t b = 0; status == SG_OK && b < w->n_bandwidths; b++) {
            status = when_compare(when_times(w, c, b), w, w->bandwidth[b], w->workers[c], err);
            if (w->t->progress)
                w->t->progress("model", (double)(c * w->n_bandwidths + b + 1), points);
        }
    return status == SG_OK ? when_find_gains(w, err) : status;
}

static void close_when(struct when *w) {
    for (size_t i = 0; w->run && i < w->n_methods * w->seeds; i++)
        sg_grid_messages_free(w->run[i].messages);
    free(w->run);
    free(w->method);
    free(w->seed_s);
    free(w->time);
    free(w->gain);
    for (size_t c = 0; c < w->n_clusters; c++)
        free(w->price[c]);
}

sg_status sg_tune_when(struct sg_tune *t, struct sg_error *err) {
    struct when w = {.t = t, .given = !isnan(t->target), .target = t->target};
    struct tune_trials b;
    tune_trials_start(&b, t, NULL);
    sg_status status = read_options(&w, err);
    SG_DO(status, tune_metric(t, w.metric, &w.higher, err));
    w.margin = tune_margin_of(t, sg_node_string(&t->recipe->root, "task.kind", ""), w.metric);
    SG_DO(status, tune_network_read(&w.network, &w.assumed, t, err));
    if (w.assumed)
        tune_change_network(&b.changes);
    SG_DO(status, tune_trials_open(&b, NULL, NULL, SIZE_MAX, err));
    SG_DO(status, check_clusters(&w, err));
    SG_DO(status, find_methods(&w, &b, err));
    if (status == SG_OK && t->dry_run) {
        tune_say(t,
                 "%zu methods at %zu seeds: modelled times until they reach the %s of %s, at %zu bandwidths on "
                 "clusters of %zu sizes",
                 w.n_methods, w.seeds, w.metric, w.method[w.baseline].cell->label, w.n_bandwidths, w.n_clusters);
    } else if (status == SG_OK) {
        status = tune_trials_run(&b, t, false, err);
        SG_DO(status, read_runs(&w, &b, err));
        SG_DO(status, model(&w, err));
        SG_DO(status, find_prices(&w, err));
        if (status == SG_OK)
            when_document(&w, &b);
    }
    close_when(&w);
    tune_trials_close(&b);
    return status;
}

/* grid_bursts.c: the cost of bursts in finished cells, that is, of sending more at some steps than at others. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "grid_private.h"
#include "sg_memory.h"
#include "sg_net.h"
#include "sg_stats.h"

/* The bytes of each worker at each step, and the number of layers of which any worker sent entries. */
struct history {
    size_t steps, senders, layers;
    double entry;            /* bytes of an entry, times how many the model that is meant has for each of the run's */
    double dense;            /* bytes of a vector without compression */
    size_t *record;          /* [steps], the record of each */
    double *bytes;           /* [steps][senders] */
    double *messages, *ever; /* [steps], at this step; up to it */
    bool *now, *before;      /* [layers] */
};

/* Returns the number of layers in `now`; *ever <- the number of layers up to this step. Empties `now`. */
static size_t count_layers(bool *now, bool *before, size_t layers, double *ever) {
    size_t found = 0, known = 0;
    for (size_t l = 0; l < layers; l++) {
        before[l] = before[l] || now[l];
        found += now[l];
        known += before[l];
        now[l] = false;
    }
    *ever = (double)known;
    return found;
}

/* Appends the step of record i, whose "layers" these are; a record without each worker's entries is no step. */
static void append(struct history *h, const cJSON *layers, size_t i) {
    const cJSON *workers = sg_json_get(layers, "workers"), *of = workers ? workers->child : NULL;
    double *bytes = &h->bytes[h->steps * h->senders];
    if ((size_t)cJSON_GetArraySize(workers) < h->senders)
        return;
    for (size_t w = 0; w < h->senders; w++, of = of->next) {
        const cJSON *item = of->child;
        for (size_t l = 0; l < h->layers && item; l++, item = item->next) {
            bytes[w] += h->entry * item->valuedouble;
            h->now[l] = h->now[l] || item->valuedouble > 0;
        }
    }
    h->messages[h->steps] = (double)count_layers(h->now, h->before, h->layers, &h->ever[h->steps]);
    h->record[h->steps++] = i;
}

static void close_history(struct history *h) {
    free(h->record);
    free(h->bytes);
    free(h->messages);
    free(h->ever);
    free(h->now);
    free(h->before);
}

static void open_history(struct history *h, const struct sg_grid_network *network, const struct sg_run *run) {
    const cJSON *names = sg_json_get(run->header, "layers"), *layers = run->layers ? run->layers->child : NULL;
    const size_t room = run->n_points + 1;
    const double d = sg_json_number(run->header, "constants.d", 0), scale = grid_scale(network, d);
    size_t workers = 0;
    for (const cJSON *at = layers; at && workers == 0; at = at->next)
        workers = (size_t)cJSON_GetArraySize(sg_json_get(at, "workers"));
    *h = (struct history){.senders = workers < network->net.workers ? workers : network->net.workers,
                          .layers = (size_t)cJSON_GetArraySize(names),
                          .entry = 8 * scale,
                          .dense = 4 * scale * d};
    h->record = sg_calloc(room, sizeof *h->record);
    h->bytes = sg_calloc(room * (h->senders + 1), sizeof *h->bytes);
    h->messages = sg_calloc(room, sizeof *h->messages);
    h->ever = sg_calloc(room, sizeof *h->ever);
    h->now = sg_calloc(h->layers + 1, sizeof *h->now);
    h->before = sg_calloc(h->layers + 1, sizeof *h->before);
    for (size_t i = 0; h->senders > 0 && h->dense > 0 && layers && i < run->n_points; i++, layers = layers->next)
        append(h, layers, i);
}

/* The costs of single steps, and the mean of those so far. */
struct costs {
    double *of_means, *of_workers; /* [steps]: all send the workers' mean; each sends its own */
    double *of_mean;               /* [steps]: all send the mean over the steps so far */
    double *gap;                   /* [steps] */
};

static void find_costs(struct costs *c, const struct sg_burst_cost *cost, const struct sg_net *net,
                       const struct history *h) {
    struct sg_sum sum = {0, 0};
    for (size_t t = 0; t < h->steps; t++) {
        const double *bytes = &h->bytes[t * h->senders];
        const struct sg_traffic own = sg_traffic_of(bytes, h->senders, h->senders, h->dense);
        const double mean = own.sum / (double)h->senders;
        sg_sum_add(&sum, mean);
        const struct sg_traffic all = sg_traffic_of(bytes, h->senders, net->workers, h->dense),
                                even = sg_traffic_equal(mean, net->workers, h->dense),
                                so_far = sg_traffic_equal(sg_sum_total(&sum) / (double)(t + 1), net->workers, h->dense);
        c->of_workers[t] = cost->seconds(net, &all, h->messages[t]);
        c->of_means[t] = cost->seconds(net, &even, h->messages[t]);
        c->of_mean[t] = cost->seconds(net, &so_far, h->ever[t]);
    }
}

static void add_column(struct sg_run *run, const struct history *h, const char *name, const double *gap) {
    double *column = sg_malloc((run->n_points + 1) * sizeof *column);
    for (size_t i = 0; i < run->n_points; i++)
        column[i] = NAN;
    for (size_t t = 0; t < h->steps; t++)
        column[h->record[t]] = gap[t];
    sg_run_add_series(run, name, "modelled", column);
}

void grid_add_bursts(const struct sg_grid_network *network, struct sg_run *run) {
    struct history h;
    const struct sg_net net = grid_net(network);
    open_history(&h, network, run);
    double *memory = sg_calloc(4 * h.steps + 1, sizeof *memory);
    for (size_t i = 0; i < SG_BURSTS; i++) {
        const struct sg_burst_cost *cost = &sg_burst_table[i];
        struct costs c = {memory, memory + h.steps, memory + 2 * h.steps, memory + 3 * h.steps};
        find_costs(&c, cost, &net, &h);
        sg_burst_gaps(c.gap, c.of_means, c.of_mean, h.steps, cost->hidden);
        add_column(run, &h, cost->series, c.gap);
        sg_burst_gaps(c.gap, c.of_workers, c.of_mean, h.steps, cost->hidden);
        add_column(run, &h, cost->of_workers, c.gap);
    }
    free(memory);
    close_history(&h);
}

/* tune_advise_rank.c: measures of each method from the replays of --advise, times on the network, the ranked list. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sg_compressor.h"
#include "sg_memory.h"
#include "sg_stats.h"
#include "sg_text.h"
#include "tune_advise.h"

/* The thresholds above which cautions are given. */
static const double UNEVEN = 0.5, LONGEST = 1.5, GROWTH = 1.25, LATE = 0.1, BIAS = 0.01, SIGMAS = 3;
enum { GROWTH_STEPS = 12 }; /* fewer steps show no trend */

static const struct sg_compressor_ops *ops_of(const struct sg_cell *cell) {
    return sg_compressor_find(sg_node_string(cell->method, "compressor", ""));
}

/* ---- measures of the run ---- */

/* Counts the layers of which no worker sent an entry. */
static void count_starved(struct advise_candidate *c) {
    const cJSON *record;
    const struct sg_run *run = &c->outcome->run;
    c->layers = (size_t)cJSON_GetArraySize(sg_json_get(run->header, "layers"));
    double *sent = sg_calloc(c->layers + 1, sizeof *sent);
    if (!sent) {
        c->layers = 0;
        return;
    }
    cJSON_ArrayForEach(record, run->layers) {
        const cJSON *entry = sg_json_get(record, "entries");
        entry = entry ? entry->child : NULL;
        for (size_t l = 0; entry && l < c->layers; l++, entry = entry->next)
            sent[l] += cJSON_IsNumber(entry) ? entry->valuedouble : 0;
    }
    for (size_t l = 0; l < c->layers; l++)
        c->starved += sent[l] == 0;
    free(sent);
}

/* The index of the record of the first step: 1 if record 0 is the state before the first step, else 0. */
static size_t first_step(const struct sg_run *run) {
    return run->n_points > 0 && sg_run_series(run, "step")[0] == 0 ? 1 : 0;
}

static void look_at_volume(struct advise_candidate *c) {
    const struct sg_run *run = &c->outcome->run;
    const double *density = sg_run_series(run, "density"), *padded = sg_run_series(run, "density_padded");
    const size_t first = first_step(run), n = run->n_points - first;
    double longest = 0;
    for (size_t i = first; i < run->n_points; i++)
        longest += density[i] > 0 ? padded[i] / density[i] / (double)n : 1 / (double)n;
    c->uneven = sg_stats_stddev(density + first, n) / sg_stats_mean(density + first, n);
    c->longest = longest;
    c->caution[ADVISE_UNEVEN] = c->uneven > UNEVEN;
    c->caution[ADVISE_WORKERS] = c->longest > LONGEST;
}

/* True if the mean of the last quarter is above that of the quarter before. */
static bool grows(const struct sg_run *run) {
    const double *error = sg_run_series(run, "error_norm");
    const size_t n = run->n_points, quarter = (n - first_step(run)) / 4;
    return 4 * quarter >= GROWTH_STEPS &&
           sg_stats_mean(error + n - quarter, quarter) > GROWTH * sg_stats_mean(error + n - 2 * quarter, quarter);
}

/* True if a parameter of the method is on the scale of the gradients. */
static bool has_constant(const struct sg_cell *cell) {
    static const char *const absolute[] = {"lambda", "tau", "step", "error-bound"};
    for (size_t i = 0; i < sizeof absolute / sizeof *absolute; i++)
        if (!isnan(sg_node_number(cell->method, absolute[i], NAN)))
            return true;
    return false;
}

/* True if the compressor declares that it is unbiased, or the run measured it. */
static bool is_unbiased(const struct sg_compressor_ops *ops, const struct sg_run *run) {
    const double bias = fabs(sg_run_last(run, "compression_bias")), sigma = sg_run_last(run, "compression_bias_sigma");
    return (ops && ops->traits & SG_TRAIT_UNBIASED) || bias <= fmax(BIAS, SIGMAS * sigma);
}

static void look_at_kind(struct advise_candidate *c) {
    const struct sg_compressor_ops *ops = ops_of(c->cell);
    const bool feedback = strcmp(sg_node_string(&c->cell->resolved, "error-feedback.form", "none"), "none") != 0;
    const bool exact = !ops || ops->traits & SG_TRAIT_EXACT;
    const bool unbiased = is_unbiased(ops, &c->outcome->run);
    c->caution[ADVISE_BIASED] = !exact && !feedback && !unbiased;
    c->caution[ADVISE_NOISE] = !exact && !feedback && unbiased;
    c->caution[ADVISE_CONSTANT] = has_constant(c->cell);
    c->caution[ADVISE_STARVED] = c->starved > 0;
    c->caution[ADVISE_GROWS] = feedback && c->error[ADVISE_RELATIVE] > LATE && grows(&c->outcome->run);
}

/* ---- times ---- */

bool advise_times_coding(const struct advise *a) {
    return isnan(a->network.coding_s) && !a->network.processor_given;
}

static sg_status find_times(struct advise *a, struct advise_candidate *c, struct sg_error *err) {
    const struct sg_run *run = &c->outcome->run;
    struct sg_grid_network network = a->network;
    struct sg_grid_messages *messages = NULL;
    double total[SG_NET_TOTALS];
    const double steps = sg_run_last(run, "step");
    const struct sg_grid_exchange x = sg_grid_exchange_of(&network, c->cell->method, c->cell->exchange);
    const double encoded = sg_collective_encoded(x.collective, &network.net);
    const double decoded = sg_collective_decoded(x.collective, &network.net);
    c->caution[ADVISE_GATHERED] = x.collective->decodes == SG_DECODES_ALL;
    if (advise_times_coding(a))
        network.coding_s = (encoded * c->encode_s + decoded * c->add_s) / (double)a->d;
    sg_grid_messages_open(&messages, c->cell, run);
    sg_status status = tune_network_seconds(total, messages, &network, run->n_points, err);
    if (status == SG_OK) {
        c->step_s = total[SG_NET_TIME] / steps;
        c->coding_s = total[SG_NET_CODING_TIME] / steps;
        c->exposed_s = total[SG_NET_EXPOSED_TIME] / steps;
        c->caution[ADVISE_SLOW] = c->coding_s > c->exposed_s;
    }
    sg_grid_messages_free(messages);
    return status;
}

sg_status advise_measure(struct advise *a, struct advise_candidate *c, struct sg_error *err) {
    const struct sg_run *run = &c->outcome->run;
    c->bytes = sg_run_last(run, "bytes_sent") / sg_run_last(run, "step") *
               (tune_elements(&a->network, (double)a->d) / (double)a->d);
    count_starved(c);
    look_at_volume(c);
    look_at_kind(c);
    c->within = c->error[ADVISE_RELATIVE] <= a->tolerance;
    return find_times(a, c, err);
}

/* ---- the list ---- */

bool advise_pays(const struct advise *a) {
    return a->listed > 0 && a->candidate[a->list[0]].speedup > 1;
}

bool advise_is_open(const struct advise_candidate *c) {
    return !c->why[0] && !tune_compresses_by(c->cell->method, "none");
}

/* Chooses the fastest open method, or among those about as fast the one with the smallest error that ranks. Returns its
 * index; n = there is none. */
static size_t choose(const struct advise *a, const bool *open) {
    double fastest = INFINITY;
    size_t best = a->n;
    for (size_t i = 0; i < a->n; i++)
        if (open[i])
            fastest = fmin(fastest, a->candidate[i].step_s);
    for (size_t i = 0; i < a->n; i++)
        if (open[i] && a->candidate[i].step_s <= (1 + ADVISE_ALIKE) * fastest &&
            (best == a->n || a->candidate[i].error[a->by] < a->candidate[best].error[a->by]))
            best = i;
    return best;
}

/* A method is in the list once, with its first setting. */
static void make_list(struct advise *a, bool *open) {
    for (size_t best; (best = choose(a, open)) < a->n;) {
        a->list[a->listed++] = best;
        a->candidate[best].rank = a->listed;
        for (size_t i = 0; i < a->n; i++)
            open[i] = open[i] && strcmp(a->candidate[i].cell->name, a->candidate[best].cell->name) != 0;
    }
}

sg_status advise_rank(struct advise *a, struct sg_error *err) {
    const struct advise_candidate *baseline = &a->candidate[a->baseline];
    if (baseline->why[0])
        return sg_fail(err, SG_ERR_NONFINITE, "%s: %s", baseline->cell->label, baseline->why);
    bool *open = sg_calloc(a->n, sizeof *open);
    for (size_t i = 0; i < a->n; i++) {
        struct advise_candidate *c = &a->candidate[i];
        c->speedup = c->why[0] ? NAN : baseline->step_s / c->step_s;
        open[i] = advise_is_open(c) && c->within;
    }
    make_list(a, open);
    free(open);
    return SG_OK;
}

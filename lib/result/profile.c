/* profile.c: performance profiles, scores and ranks of methods over tasks, with bootstrap intervals. */
#include "sg_profile.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sg_debug.h"
#include "sg_rng.h"

double sg_profile_cost(size_t *setting, const struct sg_profile_task *task, size_t method, const size_t *seed, size_t n,
                       double *scratch) {
    double least = INFINITY;
    size_t best = task->first[method];
    for (size_t i = task->first[method]; i < task->first[method + 1]; i++) {
        for (size_t s = 0; s < n; s++)
            scratch[s] = task->cost[i * task->seeds + seed[s]];
        const double cost = sg_stats_median(scratch, n);
        if (cost < least) {
            least = cost;
            best = i;
        }
    }
    if (setting)
        *setting = best;
    return least;
}

double sg_profile_share(const double *ratio, size_t n, double tau) {
    size_t within = 0;
    for (size_t t = 0; t < n; t++)
        within += ratio[t] <= tau;
    return (double)within / (double)n;
}

/* What tasks and seeds were drawn, and what it gives. */
struct draw {
    size_t methods, tasks;
    size_t *seed;                 /* [the most seeds of a task] */
    double *scratch;              /* likewise */
    double *cost;                 /* [methods] on a task */
    double *score, *rank, *place; /* [methods] over the tasks */
};

static void start(struct draw *d) {
    for (size_t m = 0; m < d->methods; m++)
        d->score[m] = d->rank[m] = 0;
}

/* Adds a task with n drawn seeds; cell [methods][tasks] at this task, or NULL. */
static void add_task(struct draw *d, const struct sg_profile_task *task, struct sg_profile_cell *cell) {
    double least = INFINITY;
    for (size_t m = 0; m < d->methods; m++) {
        size_t setting;
        d->cost[m] = sg_profile_cost(&setting, task, m, d->seed, task->seeds, d->scratch);
        SG_ASSERT(!isnan(d->cost[m]));
        least = d->cost[m] < least ? d->cost[m] : least;
        if (cell)
            cell[m * d->tasks].setting = setting;
    }
    for (size_t m = 0; m < d->methods; m++) {
        const double ratio = isinf(d->cost[m]) ? INFINITY : d->cost[m] == least ? 1 : d->cost[m] / least;
        const double rank = sg_stats_rank(d->cost, d->methods, m);
        d->score[m] += fmax(0, SG_PROFILE_MOST - ratio) / (SG_PROFILE_MOST - 1) / (double)d->tasks;
        d->rank[m] += rank;
        if (cell)
            cell[m * d->tasks] = (struct sg_profile_cell){cell[m * d->tasks].setting, d->cost[m], ratio, rank};
    }
}

/* Ranks are multiples of 1/2, so their sums are exact and equal ones share a place. */
static void finish(struct draw *d) {
    for (size_t m = 0; m < d->methods; m++) {
        d->place[m] = 1;
        for (size_t other = 0; other < d->methods; other++)
            d->place[m] += d->rank[other] < d->rank[m];
    }
    for (size_t m = 0; m < d->methods; m++)
        d->rank[m] /= (double)d->tasks;
}

static void set_values(struct sg_profile_method *method, struct sg_profile_cell *cell, struct draw *d,
                       const struct sg_profile_task *task) {
    start(d);
    for (size_t t = 0; t < d->tasks; t++) {
        for (size_t s = 0; s < task[t].seeds; s++)
            d->seed[s] = s;
        add_task(d, &task[t], cell + t);
    }
    finish(d);
    for (size_t m = 0; m < d->methods; m++) {
        method[m] = (struct sg_profile_method){
            .score.value = d->score[m], .rank.value = d->rank[m], .place.value = d->place[m]};
        for (size_t t = 0; t < d->tasks; t++)
            method[m].reached += isfinite(cell[m * d->tasks + t].cost) ? 1 : 0;
    }
}

/* found [methods][3][draws] */
static void resample(double *found, struct draw *d, const struct sg_profile_task *task, size_t draws, uint64_t seed) {
    for (size_t r = 0; r < draws; r++) {
        sg_rng rng = sg_rng_open(seed, SG_RNG_BOOTSTRAP, SG_RNG_ALL_WORKERS, r);
        start(d);
        for (size_t i = 0; i < d->tasks; i++) {
            const struct sg_profile_task *drawn = &task[sg_rng_below(&rng, d->tasks)];
            for (size_t s = 0; s < drawn->seeds; s++)
                d->seed[s] = (size_t)sg_rng_below(&rng, drawn->seeds);
            add_task(d, drawn, NULL);
        }
        finish(d);
        for (size_t m = 0; m < d->methods; m++) {
            found[(3 * m + 0) * draws + r] = d->score[m];
            found[(3 * m + 1) * draws + r] = d->rank[m];
            found[(3 * m + 2) * draws + r] = d->place[m];
        }
    }
}

sg_status sg_profile(struct sg_profile_method *method, struct sg_profile_cell *cell, const struct sg_profile_task *task,
                     size_t tasks, size_t methods, size_t draws, uint64_t seed, struct sg_error *err) {
    SG_ASSERT(tasks > 0 && methods > 0 && draws > 0);
    size_t most = 0;
    for (size_t t = 0; t < tasks; t++)
        most = task[t].seeds > most ? task[t].seeds : most;
    struct draw d = {.methods = methods, .tasks = tasks, .seed = calloc(most, sizeof *d.seed)};
    double *room = calloc(most + 4 * methods, sizeof *room), *found = calloc(3 * methods * draws, sizeof *found);
    const bool fine = d.seed && room && found;
    if (fine) {
        d.scratch = room;
        d.cost = room + most;
        d.score = d.cost + methods;
        d.rank = d.score + methods;
        d.place = d.rank + methods;
        set_values(method, cell, &d, task);
        resample(found, &d, task, draws, seed);
    }
    for (size_t m = 0; fine && m < methods; m++) {
        sg_stats_interval(&method[m].score, found + (3 * m + 0) * draws, draws);
        sg_stats_interval(&method[m].rank, found + (3 * m + 1) * draws, draws);
        sg_stats_interval(&method[m].place, found + (3 * m + 2) * draws, draws);
    }
    free(d.seed);
    free(room);
    free(found);
    return fine ? SG_OK : sg_fail_memory(err, "the bootstrap");
}

/* The sign-flip test of how much a method costs more than another at the same seeds; scratch [seeds]. 1: it does not
 * cost more. Where a cost is infinite, the signs alone are tested. */
static double test_pair(const double *cost, const double *other, size_t seeds, double *scratch) {
    bool finite = true;
    double sum = 0;
    for (size_t s = 0; s < seeds; s++)
        finite = finite && isfinite(cost[s]) && isfinite(other[s]);
    for (size_t s = 0; s < seeds; s++) {
        scratch[s] = finite ? cost[s] - other[s] : (cost[s] > other[s]) - (cost[s] < other[s]);
        sum += scratch[s];
    }
    return sum > 0 ? sg_stats_sign_flip(scratch, seeds) : 1;
}

sg_status sg_profile_places(struct sg_standing *place, const double *cost, size_t methods, size_t seeds,
                            struct sg_error *err) {
    double *median = malloc((methods + 1) * sizeof *median), *scratch = malloc((seeds + 1) * sizeof *scratch);
    size_t *order = malloc((methods + 1) * sizeof *order);
    const bool fine = median && scratch && order;
    for (size_t m = 0; fine && m < methods; m++) {
        memcpy(scratch, cost + m * seeds, seeds * sizeof *scratch);
        median[m] = sg_stats_median(scratch, seeds);
        size_t at = m;
        for (; at > 0 && median[order[at - 1]] > median[m]; at--)
            order[at] = order[at - 1];
        order[at] = m;
    }
    for (size_t i = 0, first = 0; fine && i < methods; i++) {
        struct sg_standing *p = &place[order[i]];
        *p = (struct sg_standing){.order = i + 1, .p = NAN};
        if (i > 0)
            p->p = fmin(test_pair(cost + order[i] * seeds, cost + order[first] * seeds, seeds, scratch),
                        test_pair(cost + order[i] * seeds, cost + order[i - 1] * seeds, seeds, scratch));
        first = p->p <= SG_PLACE_LEVEL ? i : first;
        p->first = first + 1;
        for (size_t k = first; k <= i; k++)
            place[order[k]].last = i + 1;
    }
    free(median);
    free(scratch);
    free(order);
    return fine ? SG_OK : sg_fail_memory(err, "the places");
}

const char *sg_profile_places_text(char out[SG_PLACES_CHARS], const struct sg_interval *place) {
    static const char *const ending[] = {"th", "st", "nd", "rd"};
    const unsigned n[2] = {(unsigned)floor(place->low), (unsigned)ceil(place->high)};
    char text[2][16];
    for (size_t i = 0; i < 2; i++)
        snprintf(text[i], sizeof text[i], "%u%s", n[i], ending[n[i] % 10 < 4 && (n[i] / 10) % 10 != 1 ? n[i] % 10 : 0]);
    snprintf(out, SG_PLACES_CHARS, n[0] == n[1] ? "%s" : "%s to %s", text[0], text[1]);
    return out;
}

/* tune_explain.c: --explain: which error orders the methods of results by their quality. Spearman's rank correlation
 * with bootstrap intervals over seeds and methods, and the pairs of methods of a seed that an error gets wrong. */
#include "tune_explain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_rng.h"
#include "sg_stats.h"

/* ---- pairs ---- */

/* True if over the seeds some quality of the worse method is at least as good as some of the better one. */
static bool overlaps(const struct explain *e, size_t better, size_t worse) {
    const double sign = e->higher ? 1 : -1;
    double least = INFINITY, most = -INFINITY;
    for (size_t s = 0; s < e->n_seeds; s++) { /* fmin and fmax ignore a NaN */
        least = fmin(least, sign * e->method[better].quality[s]);
        most = fmax(most, sign * e->method[worse].quality[s]);
    }
    return most >= least;
}

/* Counts a pair of methods of a seed. Equal qualities are no pair; equal errors of different qualities are wrong. */
static void judge_pair(const struct explain *e, struct explain_error *of, size_t seed, size_t a, size_t b) {
    const double sign = e->higher ? 1 : -1, *value = of->value + seed;
    const double gain = sign * (e->method[a].quality[seed] - e->method[b].quality[seed]);
    const size_t better = gain > 0 ? a : b, worse = gain > 0 ? b : a;
    const double gap = of->sense * (value[worse * e->n_seeds] - value[better * e->n_seeds]);
    if (isnan(gain) || isnan(gap) || gain == 0)
        return;
    of->n_pairs++;
    if (!(gap > 0))
        of->wrong[of->n_wrong++] = (struct explain_wrong){seed, better, worse, overlaps(e, better, worse)};
}

static bool judge_pairs(const struct explain *e, struct explain_error *of) {
    of->wrong = calloc(e->n_seeds * e->n_methods * e->n_methods + 1, sizeof *of->wrong);
    for (size_t a = 0; of->wrong && a < e->n_methods; a++)
        for (size_t b = a + 1; b < e->n_methods; b++)
            for (size_t s = 0; s < e->n_seeds; s++)
                judge_pair(e, of, s, a, b);
    return of->wrong;
}

/* ---- correlation over a draw of seeds and methods ---- */

struct draw {
    size_t *seed, *method; /* [n_seeds], [n_methods] of the draw */
    double *bad;           /* [n_methods] minus the quality, or the quality if lower is better: mean over drawn seeds */
    double *error;         /* [n_errors][n_methods] sense * error, likewise */
    double *x, *y;         /* [n_methods] */
    double *found;         /* [2 * n_errors][EXPLAIN_DRAWS] correlations, and how far the first is above each */
};

static double mean_of(const double *value, const size_t *seed, size_t n) {
    double sum = 0;
    size_t known = 0;
    for (size_t s = 0; s < n; s++)
        if (isfinite(value[seed[s]])) {
            sum += value[seed[s]];
            known++;
        }
    return known > 0 ? sum / (double)known : NAN;
}

static void take_means(struct draw *d, const struct explain *e) {
    for (size_t m = 0; m < e->n_methods; m++) {
        d->bad[m] = (e->higher ? -1 : 1) * mean_of(e->method[m].quality, d->seed, e->n_seeds);
        for (size_t i = 0; i < e->n_errors; i++)
            d->error[i * e->n_methods + m] =
                e->error[i].sense * mean_of(e->error[i].value + m * e->n_seeds, d->seed, e->n_seeds);
    }
}

/* The correlation of error i over the drawn methods that have a value of it and of error j; *n is how many. */
static double correlate(struct draw *d, const struct explain *e, size_t i, size_t j, size_t *n) {
    const double *value = d->error + i * e->n_methods, *other = d->error + j * e->n_methods;
    *n = 0;
    for (size_t k = 0; k < e->n_methods; k++) {
        const size_t m = d->method[k];
        if (isnan(d->bad[m]) || isnan(value[m]) || isnan(other[m]))
            continue;
        d->x[*n] = value[m];
        d->y[(*n)++] = d->bad[m];
    }
    return sg_stats_spearman(d->x, d->y, *n);
}

static double above(struct draw *d, const struct explain *e, size_t i) {
    size_t n;
    return correlate(d, e, e->first, i, &n) - correlate(d, e, i, e->first, &n);
}

/* The 95 % in the middle of the draws in which the number is defined. */
static void set_interval(struct explain_number *number, double *found) {
    size_t n = 0;
    for (size_t r = 0; r < EXPLAIN_DRAWS; r++)
        if (!isnan(found[r]))
            found[n++] = found[r];
    number->low = sg_stats_quantile(found, n, 0.025);
    number->high = sg_stats_quantile(found, n, 0.975);
}

static void measure(struct draw *d, struct explain *e) {
    size_t unused;
    for (size_t s = 0; s < e->n_seeds; s++)
        d->seed[s] = s;
    for (size_t m = 0; m < e->n_methods; m++)
        d->method[m] = m;
    take_means(d, e);
    e->first = e->n_errors;
    for (size_t i = 0; i < e->n_errors; i++) {
        struct explain_error *of = &e->error[i];
        of->correlation.value = correlate(d, e, i, i, &of->n_methods);
        if (e->first == e->n_errors ? !isnan(of->correlation.value)
                                    : of->correlation.value > e->error[e->first].correlation.value)
            e->first = i;
    }
    if (e->first == e->n_errors)
        return;
    for (size_t i = 0; i < e->n_errors; i++)
        e->error[i].behind.value = above(d, e, i);
    for (size_t r = 0; r < EXPLAIN_DRAWS; r++) {
        sg_rng rng = sg_rng_open(EXPLAIN_SEED, SG_RNG_BOOTSTRAP, SG_RNG_ALL_WORKERS, r);
        for (size_t s = 0; s < e->n_seeds; s++)
            d->seed[s] = (size_t)sg_rng_below(&rng, e->n_seeds);
        for (size_t m = 0; m < e->n_methods; m++)
            d->method[m] = (size_t)sg_rng_below(&rng, e->n_methods);
        take_means(d, e);
        for (size_t i = 0; i < e->n_errors; i++) {
            d->found[2 * i * EXPLAIN_DRAWS + r] = correlate(d, e, i, i, &unused);
            d->found[(2 * i + 1) * EXPLAIN_DRAWS + r] = above(d, e, i);
        }
    }
    for (size_t i = 0; i < e->n_errors; i++) {
        set_interval(&e->error[i].correlation, d->found + 2 * i * EXPLAIN_DRAWS);
        set_interval(&e->error[i].behind, d->found + (2 * i + 1) * EXPLAIN_DRAWS);
    }
}

sg_status explain_measure(struct explain *e, struct sg_error *err) {
    struct draw d = {.seed = calloc(e->n_seeds, sizeof *d.seed),
                     .method = calloc(e->n_methods, sizeof *d.method),
                     .bad = calloc(e->n_methods, sizeof *d.bad),
                     .error = calloc(e->n_errors * e->n_methods, sizeof *d.error),
                     .x = calloc(e->n_methods, sizeof *d.x),
                     .y = calloc(e->n_methods, sizeof *d.y),
                     .found = calloc(2 * e->n_errors * EXPLAIN_DRAWS, sizeof *d.found)};
    bool fine = d.seed && d.method && d.bad && d.error && d.x && d.y && d.found;
    if (fine)
        measure(&d, e);
    for (size_t i = 0; fine && i < e->n_errors; i++)
        fine = judge_pairs(e, &e->error[i]);
    free(d.seed);
    free(d.method);
    free(d.bad);
    free(d.error);
    free(d.x);
    free(d.y);
    free(d.found);
    return fine ? SG_OK : sg_fail_memory(err, "the bootstrap");
}

const char *explain_verdict(const struct explain_error *error) {
    const bool enough = error->n_methods >= EXPLAIN_FEWEST;
    return enough && error->correlation.low > 0    ? "orders"
           : enough && error->correlation.high < 0 ? "orders in reverse"
                                                   : "cannot tell";
}

const char *explain_rank(const struct explain *e, const struct explain_error *error) {
    const struct explain_number *behind = &error->behind;
    return error == &e->error[e->first]                                  ? "first"
           : behind->value == 0 && behind->low == 0 && behind->high == 0 ? "ties"
           : behind->low > 0                                             ? "behind"
           : behind->high < 0                                            ? "ahead"
                                                                         : "cannot tell";
}

sg_status sg_tune_explain(struct sg_tune *t, struct sg_error *err) {
    struct explain e = {0};
    sg_status status = explain_read(&e, t, err);
    SG_DO(status, explain_measure(&e, err));
    if (status == SG_OK && (t->evidence = explain_json(&e)) == NULL)
        status = sg_fail_memory(err, "the evidence");
    SG_DO(status, tune_write_table(t, explain_put_table, &e, err));
    explain_free(&e);
    return status;
}

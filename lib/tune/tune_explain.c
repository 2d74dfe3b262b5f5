/* tune_explain.c: --explain: which error orders the methods of results by their quality. Spearman's rank correlation
 * with bootstrap intervals over seeds and methods, and the pairs of methods of a seed that an error gets wrong. */
#include "tune_explain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_rng.h"
#include "sg_stats.h"

/* ---- pairs ---- */

static double value_of(const struct explain *e, size_t column, size_t method, size_t seed) {
    const struct explain_column *c = &e->column[column];
    return c->sense * c->value[method * e->n_seeds + seed];
}

/* True if over the seeds some quality of the worse method is at least as good as some of the better one. */
static bool overlaps(const struct explain *e, size_t better, size_t worse) {
    double most = -INFINITY, least = INFINITY; /* of how bad the better one is, and the worse one */
    for (size_t s = 0; s < e->n_seeds; s++) {  /* fmin and fmax ignore a NaN */
        most = fmax(most, value_of(e, 0, better, s));
        least = fmin(least, value_of(e, 0, worse, s));
    }
    return least <= most;
}

/* Counts a pair of methods of a seed. Equal qualities are no pair; equal errors of different qualities are wrong. */
static void judge_pair(struct explain *e, size_t error, size_t seed, size_t a, size_t b) {
    struct explain_column *of = &e->column[error];
    const double gain = value_of(e, 0, b, seed) - value_of(e, 0, a, seed);
    const size_t better = gain > 0 ? a : b, worse = gain > 0 ? b : a;
    const double gap = value_of(e, error, worse, seed) - value_of(e, error, better, seed);
    if (isnan(gain) || isnan(gap) || gain == 0)
        return;
    of->n_pairs++;
    if (!(gap > 0))
        of->wrong[of->n_wrong++] = (struct explain_wrong){seed, better, worse, overlaps(e, better, worse)};
}

static bool judge_pairs(struct explain *e, size_t error) {
    struct explain_wrong *wrong = calloc(e->n_seeds * e->n_methods * e->n_methods + 1, sizeof *wrong);
    e->column[error].wrong = wrong;
    for (size_t a = 0; wrong && a < e->n_methods; a++)
        for (size_t b = a + 1; b < e->n_methods; b++)
            for (size_t s = 0; s < e->n_seeds; s++)
                judge_pair(e, error, s, a, b);
    return wrong;
}

/* ---- correlation over a draw of seeds and methods ---- */

struct draw {
    size_t *seed, *method; /* [n_seeds], [n_methods] of the draw */
    double *mean;          /* [n_columns][n_methods] sense * value: mean over the drawn seeds */
    double *x, *y;         /* [n_methods] */
    double *found;         /* [n_columns][2][SG_BOOTSTRAP_DRAWS] correlations, and how far the first is above each */
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
    for (size_t c = 0; c < e->n_columns; c++)
        for (size_t m = 0; m < e->n_methods; m++)
            d->mean[c * e->n_methods + m] =
                e->column[c].sense * mean_of(e->column[c].value + m * e->n_seeds, d->seed, e->n_seeds);
}

/* The correlation of error i over the drawn methods that have a value of it and of error j; *n is how many. */
static double correlate(struct draw *d, const struct explain *e, size_t i, size_t j, size_t *n) {
    const double *bad = d->mean, *value = d->mean + i * e->n_methods, *other = d->mean + j * e->n_methods;
    *n = 0;
    for (size_t k = 0; k < e->n_methods; k++) {
        const size_t m = d->method[k];
        if (isnan(bad[m]) || isnan(value[m]) || isnan(other[m]))
            continue;
        d->x[*n] = value[m];
        d->y[(*n)++] = bad[m];
    }
    return sg_stats_spearman(d->x, d->y, *n);
}

static double above(struct draw *d, const struct explain *e, size_t i) {
    size_t n;
    return correlate(d, e, e->first, i, &n) - correlate(d, e, i, e->first, &n);
}

static void measure(struct draw *d, struct explain *e) {
    size_t unused;
    for (size_t s = 0; s < e->n_seeds; s++)
        d->seed[s] = s;
    for (size_t m = 0; m < e->n_methods; m++)
        d->method[m] = m;
    take_means(d, e);
    for (size_t i = 1; i < e->n_columns; i++) {
        const double value = correlate(d, e, i, i, &e->column[i].n_methods);
        e->column[i].correlation.value = value;
        if (e->first == 0 ? !isnan(value) : value > e->column[e->first].correlation.value)
            e->first = i;
    }
    for (size_t i = 1; e->first > 0 && i < e->n_columns; i++)
        e->column[i].behind.value = above(d, e, i);
    for (size_t r = 0; e->first > 0 && r < SG_BOOTSTRAP_DRAWS; r++) {
        sg_rng rng = sg_rng_open(SG_BOOTSTRAP_SEED, SG_RNG_BOOTSTRAP, SG_RNG_ALL_WORKERS, r);
        for (size_t s = 0; s < e->n_seeds; s++)
            d->seed[s] = (size_t)sg_rng_below(&rng, e->n_seeds);
        for (size_t m = 0; m < e->n_methods; m++)
            d->method[m] = (size_t)sg_rng_below(&rng, e->n_methods);
        take_means(d, e);
        for (size_t i = 1; i < e->n_columns; i++) {
            d->found[2 * i * SG_BOOTSTRAP_DRAWS + r] = correlate(d, e, i, i, &unused);
            d->found[(2 * i + 1) * SG_BOOTSTRAP_DRAWS + r] = above(d, e, i);
        }
    }
    for (size_t i = 1; e->first > 0 && i < e->n_columns; i++) {
        sg_stats_interval(&e->column[i].correlation, d->found + 2 * i * SG_BOOTSTRAP_DRAWS, SG_BOOTSTRAP_DRAWS);
        sg_stats_interval(&e->column[i].behind, d->found + (2 * i + 1) * SG_BOOTSTRAP_DRAWS, SG_BOOTSTRAP_DRAWS);
    }
}

static sg_status find_correlations(struct explain *e, struct sg_error *err) {
    const size_t n = e->n_methods;
    size_t *drawn = calloc(e->n_seeds + n, sizeof *drawn);
    double *room = calloc((e->n_columns + 2) * n + 2 * e->n_columns * SG_BOOTSTRAP_DRAWS, sizeof *room);
    bool fine = drawn && room;
    if (fine) {
        double *const x = room + e->n_columns * n;
        measure(&(struct draw){drawn, drawn + e->n_seeds, room, x, x + n, x + 2 * n}, e);
    }
    for (size_t i = 1; fine && i < e->n_columns; i++)
        fine = judge_pairs(e, i);
    free(drawn);
    free(room);
    return fine ? SG_OK : sg_fail_memory(err, "the bootstrap");
}

const char *explain_verdict(const struct explain_column *error) {
    const bool enough = error->n_methods >= EXPLAIN_FEWEST;
    return enough && error->correlation.low > 0    ? "orders"
           : enough && error->correlation.high < 0 ? "orders in reverse"
                                                   : "cannot tell";
}

const char *explain_rank(const struct explain *e, const struct explain_column *error) {
    const struct sg_interval *behind = &error->behind;
    return error == &e->column[e->first]                                 ? "first"
           : behind->value == 0 && behind->low == 0 && behind->high == 0 ? "ties"
           : behind->low > 0                                             ? "behind"
           : behind->high < 0                                            ? "ahead"
                                                                         : "cannot tell";
}

sg_status sg_tune_explain(struct sg_tune *t, struct sg_error *err) {
    struct explain e = {0};
    sg_status status = explain_read(&e, t, err);
    SG_DO(status, find_correlations(&e, err));
    SG_DO(status, tune_show(t, explain_json(&e), explain_put_table, &e, err));
    explain_free(&e);
    return status;
}

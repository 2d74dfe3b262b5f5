/* train_monitor.c: measures the error of compressors at recorded steps, and checks it against the class that they
 * declare. results/DEFINITIONS.md has the formulas of the columns, lib/FORMULAS.md the rules by which a class is left.
 *
 * Every worker's numbers go to rank 0, which adds them up in the order of the workers. So they have the same bits for
 * any number of ranks. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_json.h"
#include "train_state.h"

/* What a worker measures in each layer: |p|^2, |p - C(p)|^2, <C(p) - p, p> and max_j |p_j - C(p)_j|. */
enum measure { SQUARE, LOST, ALONG, LARGEST, MEASURES };

static const double SIGMAS = 5;
static const double LEAST_STEPS = 30; /* with fewer, the estimated deviation is too uncertain */
static const double RARE = 15;        /* exp(-15) is as unlikely as 5 sigmas */
static const double SLACK = 0x1p-20;  /* what rounding to floats may add, a share of what is allowed */
/* Errors that are rounding only: a share of |p|^2, and for every number the square of the smallest normal float, below
 * which floats have too few bits to meet the bound of a class. */
static const double NOTHING = 0x1p-40, LEAST_SQUARE = 0x1p-252;

/* Statistics of one number over recorded steps: mean, sum of squared deviations, and the largest (possible) value. */
struct tally {
    double mean, squares, most;
};

/* The ways in which a compressor can violate its class. */
enum departure { BEYOND_BOUND, BEYOND_BOUND_IN_MEAN, BIASED, DEPARTURES };

/* The first violation of a class. step = 0: there was none. */
struct finding {
    double step, steps, layer, worker, value, sigma; /* steps: how many were recorded by then */
};

/* The state that lasts from step to step. All members are doubles, so that a checkpoint copies them. */
struct sums {
    double steps;
    struct tally error, bias; /* of all layers together */
    struct finding found[DEPARTURES];
    struct tally layer[]; /* [2][layers] the share of what is allowed that is lost; the bias */
};

struct monitor {
    size_t layers;        /* of the method */
    float *lost;          /* [d] */
    double *mine;         /* [workers of this rank][MEASURES][layers] */
    double *all;          /* [workers][MEASURES][layers], on rank 0 */
    double *share, *bias; /* [layers] of this step, means over workers */
    struct sums *sums;    /* only rank 0's are used; other ranks keep those of their checkpoint */
};

bool train_monitored(const struct train *t) {
    return train_recorded(t, SG_COLUMN_COMPRESSION_ERROR_MAX, SG_COLUMN_BOUND_SHARE) != NULL;
}

static size_t sums_bytes(const struct monitor *m) {
    return sizeof *m->sums + 2 * m->layers * sizeof(struct tally);
}

size_t train_monitor_parts(const struct train *t, struct part *out) {
    if (!t->monitor)
        return 0;
    *out = (struct part){t->monitor->sums, sums_bytes(t->monitor)};
    return 1;
}

sg_status train_monitor_open(struct train *t, struct sg_error *err) {
    if (!train_monitored(t))
        return SG_OK;
    struct monitor *m = t->monitor = calloc(1, sizeof *m);
    if (!m)
        return sg_fail_memory(err, "what compressors lose");
    m->layers = t->config.layout.n_layers;
    m->lost = malloc((t->d + 1) * sizeof *m->lost);
    m->mine = calloc(t->count * MEASURES * m->layers, sizeof *m->mine);
    m->all = calloc(t->workers * MEASURES * m->layers, sizeof *m->all);
    m->share = calloc(m->layers, sizeof *m->share);
    m->bias = calloc(m->layers, sizeof *m->bias);
    m->sums = calloc(1, sums_bytes(m));
    return m->lost && m->mine && m->all && m->share && m->bias && m->sums
               ? SG_OK
               : sg_fail_memory(err, "what compressors lose");
}

void train_monitor_close(struct train *t) {
    struct monitor *m = t->monitor;
    if (!m)
        return;
    void *const owned[] = {m->lost, m->mine, m->all, m->share, m->bias, m->sums, m};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    t->monitor = NULL;
}

/* ---- each worker's part ----------------------------------------------------------------------------------------- */

void train_monitor_begin(struct train *t) {
    if (t->monitor)
        sg_method_keep_inputs(t->method, t->options->record_inputs || train_records(t, t->step + 1));
}

static void measure_layer(const float *p, const float *lost, size_t n, double *out, size_t stride) {
    double square = 0, left = 0, along = 0, largest = 0;
    for (size_t i = 0; i < n; i++) {
        square += (double)p[i] * (double)p[i];
        left += (double)lost[i] * (double)lost[i];
        along -= (double)lost[i] * (double)p[i];
        largest = fmax(largest, fabs((double)lost[i]));
    }
    out[SQUARE * stride] = square;
    out[LOST * stride] = left;
    out[ALONG * stride] = along;
    out[LARGEST * stride] = largest;
}

void train_monitor_measure(struct train *t) {
    struct monitor *m = t->monitor;
    const size_t *offset = t->config.layout.offset;
    if (!m || !train_records(t, t->step + 1) || !sg_method_sends_input(t->method))
        return;
    for (size_t w = 0; w < t->count; w++) {
        if (t->absent[t->first + w])
            continue;
        const float *p = sg_method_input(t->method, t->first + w);
        sg_method_lost(t->method, t->first + w, &t->worker[w].message, t->sum, m->lost);
        for (size_t l = 0; l < m->layers; l++)
            measure_layer(p + offset[l], m->lost + offset[l], offset[l + 1] - offset[l],
                          m->mine + w * MEASURES * m->layers + l, m->layers);
    }
}

/* ---- all workers' ------------------------------------------------------------------------------------------------ */

static void tally_add(struct tally *s, double steps, double x) {
    const double off = x - s->mean;
    s->mean += off / steps;
    s->squares += off * (x - s->mean);
    s->most = fmax(s->most, fabs(x));
}

/* The standard error of the mean. */
static double sigma_of(const struct tally *s, double steps) {
    return steps > 1 ? sqrt(s->squares / (steps - 1) / steps) : (double)NAN;
}

static double ratio(double part, double whole) {
    return whole > 0 ? part / whole : 0;
}

static void say(char out[512], const struct train *t, enum departure kind) {
    const struct finding *f = &t->monitor->sums->found[kind];
    const char *const *names = t->config.layout.name;
    char layer[128], sigma[64];
    snprintf(layer, sizeof layer, "layer %.0f%s%s", f->layer, names ? " " : "", names ? names[(size_t)f->layer] : "");
    snprintf(sigma, sizeof sigma, "%.4g, standard error %.2g, over %.0f recorded steps", f->value, f->sigma, f->steps);
    if (kind == BEYOND_BOUND)
        snprintf(out, 512,
                 "%s left the class that it declares: at step %.0f worker %.0f lost %.7g times the most of %s",
                 t->config.compressor->name, f->step, f->worker, f->value, layer);
    else if (kind == BEYOND_BOUND_IN_MEAN)
        snprintf(out, 512, "%s left the class that it declares: of %s it lost in the mean %s times the most",
                 t->config.compressor->name, layer, sigma);
    else
        snprintf(out, 512, "%s is declared unbiased, and the mean of <C(p) - p, p> / |p|^2 in %s is %s",
                 t->config.compressor->name, layer, sigma);
}

static void find(struct train *t, enum departure kind, size_t layer, size_t worker, double value, double sigma) {
    struct sums *s = t->monitor->sums;
    if (s->found[kind].step > 0)
        return;
    s->found[kind] = (struct finding){(double)t->step, s->steps, (double)layer, (double)worker, value, sigma};
    char text[512];
    say(text, t, kind);
    if (t->options->warning)
        t->options->warning(text);
}

/* Adds one worker's numbers to those of the step. */
static void add_worker(struct train *t, size_t worker, double value[SG_COLUMNS], double *error, double *bias) {
    struct monitor *m = t->monitor;
    const size_t n = m->layers;
    const double *theirs = m->all + worker * MEASURES * n, *square = theirs + SQUARE * n, *lost = theirs + LOST * n,
                 *along = theirs + ALONG * n, *largest = theirs + LARGEST * n;
    const double workers = (double)t->present, unit = sg_method_unit(t->method);
    const bool random = sg_method_traits(t->method) & SG_TRAIT_RANDOM;
    double all[MEASURES] = {0};
    for (size_t l = 0; l < n; l++) {
        const double elements = (double)(t->config.layout.offset[l + 1] - t->config.layout.offset[l]);
        const double allowed = sg_method_allowed(t->method, l, square[l]);
        const double rounding = fmax(NOTHING * square[l], elements * LEAST_SQUARE);
        const double share = lost[l] <= rounding && !isnan(allowed) ? 0 : lost[l] / allowed;
        all[SQUARE] += square[l];
        all[LOST] += lost[l];
        all[ALONG] += along[l];
        m->share[l] += share / workers;
        m->bias[l] += lost[l] <= elements * LEAST_SQUARE ? 0 : ratio(along[l], square[l]) / workers;
        m->sums->layer[n + l].most = fmax(m->sums->layer[n + l].most, ratio(allowed, square[l]));
        value[SG_COLUMN_BOUND_SHARE] = fmax(value[SG_COLUMN_BOUND_SHARE], share);
        value[SG_COLUMN_ELEMENT_ERROR_MAX] = fmax(value[SG_COLUMN_ELEMENT_ERROR_MAX], largest[l] / unit);
        if (share > 1 + SLACK && (!random || isinf(share)))
            find(t, BEYOND_BOUND, l, worker, share, 0);
    }
    *error += ratio(all[LOST], all[SQUARE]) / workers;
    *bias += ratio(all[ALONG], all[SQUARE]) / workers;
    value[SG_COLUMN_COMPRESSION_ERROR_MAX] =
        fmax(value[SG_COLUMN_COMPRESSION_ERROR_MAX], ratio(all[LOST], all[SQUARE]));
}

/* Checks the means so far against the declared class. A draw of probability 1/R may have a value of order R, so a mean
 * is far off until one has occurred; RARE allows for that. */
static void judge_means(struct train *t) {
    const struct monitor *m = t->monitor;
    const struct sums *s = m->sums;
    const unsigned traits = sg_method_traits(t->method);
    for (size_t l = 0; l < m->layers && s->steps >= LEAST_STEPS; l++) {
        const struct tally *share = &s->layer[l], *bias = &s->layer[m->layers + l];
        const double share_sigma = sigma_of(share, s->steps), bias_sigma = sigma_of(bias, s->steps);
        if (traits & SG_TRAIT_RANDOM && share->mean > 1 + SLACK + SIGMAS * share_sigma)
            find(t, BEYOND_BOUND_IN_MEAN, l, 0, share->mean, share_sigma);
        if (traits & SG_TRAIT_UNBIASED &&
            fabs(bias->mean) > SLACK + SIGMAS * bias_sigma + RARE * (1 + bias->most) / s->steps)
            find(t, BIASED, l, 0, bias->mean, bias_sigma);
    }
}

sg_status train_monitor_record(struct train *t, double value[SG_COLUMNS], struct sg_error *err) {
    struct monitor *m = t->monitor;
    if (!m || !sg_method_sends_input(t->method)) /* then all columns stay null */
        return SG_OK;
    const size_t n = m->layers;
    struct sums *s = m->sums;
    double error = 0, bias = 0;
    memset(m->share, 0, n * sizeof *m->share);
    memset(m->bias, 0, n * sizeof *m->bias);
    s->steps += 1;
    value[SG_COLUMN_COMPRESSION_ERROR_MAX] = value[SG_COLUMN_ELEMENT_ERROR_MAX] = 0;
    value[SG_COLUMN_BOUND_SHARE] = NAN;
    const sg_status status = train_collect(t, m->mine, MEASURES * n, m->all, err);
    if (status != SG_OK || !t->lead)
        return status;
    for (size_t w = 0; w < t->workers; w++)
        if (!t->absent[w])
            add_worker(t, w, value, &error, &bias);
    for (size_t l = 0; l < n; l++) {
        tally_add(&s->layer[l], s->steps, m->share[l]);
        tally_add(&s->layer[n + l], s->steps, m->bias[l]);
    }
    tally_add(&s->error, s->steps, error);
    tally_add(&s->bias, s->steps, bias);
    value[SG_COLUMN_AVERAGE_COMPRESSION_ERROR] = s->error.mean;
    value[SG_COLUMN_COMPRESSION_BIAS] = s->bias.mean;
    value[SG_COLUMN_COMPRESSION_BIAS_SIGMA] = sigma_of(&s->bias, s->steps);
    judge_means(t);
    return SG_OK;
}

cJSON *train_monitor_warnings(const struct train *t) {
    static const char *const name[DEPARTURES] = {"bound", "bound_in_the_mean", "bias"};
    cJSON *out = NULL;
    for (size_t k = 0; t->monitor && k < DEPARTURES; k++) {
        const struct finding *f = &t->monitor->sums->found[k];
        char text[512];
        if (!(f->step > 0))
            continue;
        say(text, t, (enum departure)k);
        out = out ? out : cJSON_CreateArray();
        sg_json_push(out, SG_OBJECT(SG_TEXT("kind", name[k]), SG_NUMBER("step", f->step), SG_NUMBER("layer", f->layer),
                                    SG_NUMBER("value", f->value), SG_NUMBER("sigma", f->sigma), SG_TEXT("text", text)));
    }
    return out;
}

/* feedback_oracle.c: the least error under error feedback, by dynamic programming for each entry and a price for what
 * is sent. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_debug.h"
#include "sg_feedback_oracle.h"

/* LANES: entries that are computed together. ROUNDS: of prices. GRID: prices of the first round, STEP apart. */
enum { LANES = 16, ROUNDS = 6, GRID = 5, CURVES = 3 };
enum { OWN, JUMPS, RULE }; /* the curves; both of the mean residual are below its bound and above its least */

static const double ROOM = 256 * 1048576.0, STEP = 8, NEAR = 0.98, ALIKE = 0.01;

/* What a price makes of all entries. */
struct point {
    double price, sent, error; /* error: on the scale of the sum over workers for OWN, else of the mean */
};

struct curve {
    struct point *point; /* [n], of which the first `done` are whole */
    size_t n, done;
};

/* Memory of one thread, of LANES entries. */
struct scratch {
    double (*sum)[LANES], (*cost)[LANES], (*level)[LANES], (*count)[LANES]; /* [steps + 1] */
    double (*e)[LANES];                                                     /* [workers] */
};

struct feedback_oracle {
    const struct sg_feedback_gradients *g;
    const struct sg_feedback_options *options;
    size_t steps, part; /* entries of a worker that are in memory at once, a multiple of LANES */
    float *x;           /* [steps][workers][part] */
    float *row;         /* [d] */
    struct scratch *scratch;
    double (*sent)[CURVES], (*error)[CURVES]; /* of the blocks of a part [workers * part / LANES] */
    struct curve curve[CURVES];
    double square;
};

/* ---- LANES entries at one price ---------------------------------------------------------------------------------- */

/* best, count <- of the last message a as well, if that is cheaper. */
static void cheaper(double best[LANES], double count[LANES], const struct scratch *s, size_t a) {
    for (size_t l = 0; l < LANES; l++) {
        const bool less = s->cost[a][l] < best[l];
        best[l] = less ? s->cost[a][l] : best[l];
        count[l] = less ? s->count[a][l] : count[l];
    }
}

static void begin(const struct scratch *s) {
    memset(s->sum[0], 0, sizeof s->sum[0]);
    memset(s->cost[0], 0, sizeof s->cost[0]);
    memset(s->count[0], 0, sizeof s->count[0]);
}

static void begin_step(double best[LANES], double count[LANES]) {
    for (size_t l = 0; l < LANES; l++) {
        best[l] = INFINITY;
        count[l] = 0;
    }
}

static void add_message(const struct scratch *s, size_t t, const double best[LANES], const double count[LANES],
                        double price) {
    for (size_t l = 0; l < LANES; l++) {
        s->cost[t][l] = best[l] + price;
        s->count[t][l] = count[l] + 1;
    }
}

static void add_up(double *sent, double *error, const struct scratch *s, size_t steps, double price) {
    double best[LANES], count[LANES];
    begin_step(best, count);
    for (size_t a = 0; a <= steps; a++)
        cheaper(best, count, s, a);
    for (size_t l = 0; l < LANES; l++) {
        *sent += count[l];
        *error += best[l] - (count[l] > 0 ? price * count[l] : 0);
    }
}

/* x: the first of LANES entries, `stride` apart from step to step. The state is the step a of the last message, 0 =
 * none yet; cost[a] is the least cost of all that came before and since. */
static void send_own(double *sent, double *error, const struct scratch *s, const float *x, size_t stride, size_t steps,
                     double price) {
    begin(s);
    for (size_t t = 1; t <= steps; t++, x += stride) {
        double best[LANES], count[LANES];
        begin_step(best, count);
        for (size_t l = 0; l < LANES; l++)
            s->sum[t][l] = s->sum[t - 1][l] + (double)x[l];
        for (size_t a = 0; a < t; a++) {
            cheaper(best, count, s, a);
            for (size_t l = 0; l < LANES; l++) {
                const double e = s->sum[t][l] - s->sum[a][l];
                s->cost[a][l] += e * e;
            }
        }
        add_message(s, t, best, count, price);
    }
    add_up(sent, error, s, steps, price);
}

/* The same of the mean of n workers, `part` apart, where a message may set the mean residual to anything: the sum of
 * the mean gradients is approximated by one level from message to message, and by 0 before the first. */
static void send_jumps(double *sent, double *error, const struct scratch *s, const float *x, size_t part, size_t n,
                       size_t steps, double price) {
    begin(s);
    for (size_t t = 1; t <= steps; t++, x += n * part) {
        double best[LANES], count[LANES], *sum = s->sum[t];
        begin_step(best, count);
        cheaper(best, count, s, 0);
        for (size_t l = 0; l < LANES; l++) {
            double all = 0;
            for (size_t w = 0; w < n; w++)
                all += (double)x[w * part + l];
            sum[l] = s->sum[t - 1][l] + all / (double)n;
            s->cost[0][l] += sum[l] * sum[l];
        }
        for (size_t a = 1; a < t; a++) {
            const double seen = (double)(t - a), share = 1 / (seen + 1);
            cheaper(best, count, s, a);
            for (size_t l = 0; l < LANES; l++) {
                const double off = sum[l] - s->level[a][l];
                s->cost[a][l] += off * off * seen * share;
                s->level[a][l] += off * share;
            }
        }
        add_message(s, t, best, count, price);
        memcpy(s->level[t], sum, sizeof s->level[t]);
    }
    add_up(sent, error, s, steps, price);
}

/* The rule of the mean residual; price: how much smaller its square must become. */
static void send_by_rule(double *sent, double *error, const struct scratch *s, const float *x, size_t part, size_t n,
                         size_t steps, double price) {
    const double least = price * (double)n * (double)n;
    memset(s->e, 0, n * sizeof *s->e);
    for (size_t t = 0; t < steps; t++, x += n * part)
        for (size_t l = 0; l < LANES; l++) {
            double all = 0;
            for (size_t w = 0; w < n; w++)
                all += s->e[w][l] += (double)x[w * part + l];
            for (size_t turn = 0; turn < n; turn++) {
                size_t best = 0;
                double gain = -INFINITY;
                for (size_t w = 0; w < n; w++) {
                    const double e = s->e[w][l], here = e * (2 * all - e);
                    best = here > gain ? w : best;
                    gain = fmax(gain, here);
                }
                if (!(gain > 0) || !(gain >= least))
                    break;
                all -= s->e[best][l];
                s->e[best][l] = 0;
                *sent += 1;
            }
            *error += all / (double)n * (all / (double)n);
        }
}

/* ---- all entries at the new prices ------------------------------------------------------------------------------- */

/* Reads the entries from `first` on, as many as fit; zeros behind the last. */
static sg_status load(struct feedback_oracle *o, size_t first, bool squares, struct sg_error *err) {
    const struct sg_feedback_gradients *g = o->g;
    const size_t count = first + o->part <= g->d ? o->part : g->d - first;
    for (size_t t = 0; t < o->steps; t++)
        for (size_t w = 0; w < g->workers; w++) {
            float *to = o->x + (t * g->workers + w) * o->part;
            const sg_status status = g->read(g->of, t, w, o->row, err);
            if (status != SG_OK)
                return status;
            memcpy(to, o->row + first, count * sizeof *to);
            memset(to + count, 0, (o->part - count) * sizeof *to);
            for (size_t j = 0; squares && j < count; j++)
                o->square += (double)to[j] * (double)to[j] / (double)g->workers;
            if (squares && !isfinite(o->square))
                return sg_fail(err, SG_ERR_NONFINITE, "the gradient of worker %zu at step %zu is not finite", w, t);
        }
    return SG_OK;
}

/* The part in memory at one price of one curve. */
static void try_part(struct feedback_oracle *o, int which, struct point *p) {
    const size_t n = o->g->workers, part = o->part, blocks = part / LANES * (which == OWN ? n : 1);
    const int threads = o->options->threads;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int k = 0; k < threads; k++)
        for (size_t b = (size_t)k; b < blocks; b += (size_t)threads) {
            const struct scratch *s = &o->scratch[k];
            const float *x = o->x + b * LANES; /* the workers' entries lie behind each other */
            double *sent = &o->sent[b][which], *error = &o->error[b][which];
            *sent = *error = 0;
            if (which == OWN)
                send_own(sent, error, s, x, n * part, o->steps, p->price);
            else if (which == JUMPS)
                send_jumps(sent, error, s, x, part, n, o->steps, p->price);
            else
                send_by_rule(sent, error, s, x, part, n, o->steps, p->price);
        }
    for (size_t b = 0; b < blocks; b++) {
        p->sent += o->sent[b][which];
        p->error += o->error[b][which];
    }
}

static sg_status try_prices(struct feedback_oracle *o, int round, struct sg_error *err) {
    const size_t parts = (o->g->d + o->part - 1) / o->part;
    double all = 0, done = 0;
    sg_status status = SG_OK;
    for (int c = 0; c < CURVES; c++)
        all += (double)(o->curve[c].n - o->curve[c].done) * (double)parts;
    for (size_t i = 0; status == SG_OK && i < parts; i++) {
        if (round == 0 || parts > 1)
            status = load(o, i * o->part, round == 0, err);
        for (int c = 0; c < CURVES; c++)
            for (size_t p = o->curve[c].done; status == SG_OK && p < o->curve[c].n; p++) {
                try_part(o, c, &o->curve[c].point[p]);
                if (o->options->stop && o->options->stop())
                    status = sg_fail(err, SG_ERR_INTERRUPTED, "stopped while looking for the least error");
                if (o->options->progress)
                    o->options->progress("least error", round + ++done / all, ROUNDS);
            }
    }
    for (int c = 0; c < CURVES; c++)
        o->curve[c].done = o->curve[c].n;
    return status;
}

/* ---- prices ------------------------------------------------------------------------------------------------------ */

/* Adds a price, unless there is one that is nearly the same and has not been tried yet. */
static void add_price(struct curve *c, double price) {
    for (size_t i = 0; i < c->n; i++)
        if (fabs(c->point[i].price / price - 1) < (i < c->done ? 0 : ALIKE) || c->point[i].price == price)
            return;
    c->point[c->n++] = (struct point){.price = price};
}

/* The point that sends most of those that send K or less; the first sends nothing. */
static const struct point *below(const struct curve *c, double k) {
    const struct point *best = &c->point[0];
    for (size_t i = 1; i < c->n; i++)
        if (c->point[i].sent <= k && c->point[i].sent >= best->sent)
            best = &c->point[i];
    return best;
}

/* Adds a price between the two points around K, unless one of them is near. */
static void refine(struct curve *c, double k) {
    const struct point *low = below(c, k), *high = NULL;
    for (size_t i = 0; i < c->done; i++)
        if (c->point[i].sent > k && (!high || c->point[i].sent < high->sent))
            high = &c->point[i];
    if (low->sent >= NEAR * k)
        return;
    if (high && low->sent > 0) {
        const double share = log(high->sent / (k * (1 + NEAR) / 2)) / log(high->sent / low->sent);
        add_price(c, high->price * pow(low->price / high->price, share));
    } else if (high) {
        add_price(c, high->price * STEP);
    } else {
        double least = INFINITY;
        for (size_t i = 0; i < c->done; i++)
            least = fmin(least, c->point[i].price);
        add_price(c, least / STEP);
    }
}

/* The first prices: an infinite one, and those around where a random walk with the gradients' variance v would send a
 * share V of the entries, v / (6 V^2). */
static void start(struct feedback_oracle *o, const struct sg_feedback_least *least, size_t n) {
    const double workers = (double)o->g->workers, all = workers * (double)o->g->d * (double)o->steps;
    double k = 1;
    for (size_t i = 0; i < n; i++)
        k = fmax(k, (double)least[i].sent);
    const double v = o->square > 0 ? o->square * workers / all : 1, middle = v / 6 * pow(all / k, 2);
    for (int c = 0; c < CURVES; c++)
        for (int i = 0; i < GRID; i++)
            add_price(&o->curve[c], middle / (c == OWN ? 1 : workers * workers) * pow(STEP, i - GRID / 2));
}

static struct sg_feedback_error find(const struct curve *bound, const struct curve *attained, double k, double scale) {
    const struct point *p = below(attained, k);
    struct sg_feedback_error out = {
        .attained = p->error / scale, .attained_sent = (uint64_t)p->sent, .attained_price = p->price};
    for (size_t i = 0; i < bound->n; i++) {
        const struct point *q = &bound->point[i];
        const double here = (q->error + (q->sent == k ? 0 : q->price * (q->sent - k))) / scale;
        if (here > out.bound) {
            out.bound = here;
            out.bound_price = q->price;
        }
    }
    return out;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static sg_status allocate(struct feedback_oracle *o, size_t n, struct sg_error *err) {
    const size_t workers = o->g->workers, d = o->g->d, rows = o->steps * workers, states = o->steps + 1;
    const size_t fits = (size_t)fmin((double)d, ROOM / (double)(rows * sizeof(float)));
    o->part = fits < LANES ? LANES : (fits + LANES - 1) / LANES * LANES;
    o->x = calloc(rows, o->part * sizeof *o->x);
    o->row = calloc(d, sizeof *o->row);
    o->sent = calloc(workers * o->part / LANES, sizeof *o->sent);
    o->error = calloc(workers * o->part / LANES, sizeof *o->error);
    o->scratch = calloc((size_t)o->options->threads, sizeof *o->scratch);
    bool whole = o->x && o->row && o->sent && o->error && o->scratch;
    for (int k = 0; whole && k < o->options->threads; k++) {
        struct scratch *s = &o->scratch[k];
        s->sum = calloc(states, sizeof *s->sum);
        s->cost = calloc(states, sizeof *s->cost);
        s->level = calloc(states, sizeof *s->level);
        s->count = calloc(states, sizeof *s->count);
        s->e = calloc(workers, sizeof *s->e);
        whole = s->sum && s->cost && s->level && s->count && s->e;
    }
    for (int c = 0; whole && c < CURVES; c++) {
        o->curve[c].point = calloc(1 + GRID + ROUNDS * n, sizeof *o->curve[c].point);
        whole = o->curve[c].point != NULL;
    }
    return whole ? SG_OK : sg_fail_memory(err, "the oracle");
}

static void oracle_free(struct feedback_oracle *o) {
    for (int k = 0; o->scratch && k < o->options->threads; k++) {
        const struct scratch *s = &o->scratch[k];
        void *const owned[] = {s->sum, s->cost, s->level, s->count, s->e};
        for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
            free(owned[i]);
    }
    for (int c = 0; c < CURVES; c++)
        free(o->curve[c].point);
    void *const owned[] = {o->x, o->row, o->sent, o->error, o->scratch};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
}

sg_status sg_feedback_oracle(struct sg_feedback_least *least, size_t n, double *square,
                             const struct sg_feedback_gradients *gradients, const struct sg_feedback_options *options,
                             struct sg_error *err) {
    SG_ASSERT(options->threads >= 1 && gradients->workers >= 1 && gradients->d >= 1 && gradients->steps >= 1);
    struct feedback_oracle o = {.g = gradients, .options = options, .steps = (size_t)gradients->steps};
    sg_status status = allocate(&o, n, err);
    for (int round = 0; status == SG_OK && round < ROUNDS; round++) {
        for (int c = 0; c < CURVES; c++) {
            if (round == 0)
                add_price(&o.curve[c], 1e300); /* nothing is sent */
            for (size_t i = 0; round > 1 && i < n; i++)
                refine(&o.curve[c], (double)least[i].sent);
        }
        if (round == 1)
            start(&o, least, n);
        status = try_prices(&o, round, err);
    }
    for (size_t i = 0; status == SG_OK && i < n; i++) {
        const double k = (double)least[i].sent;
        least[i].own = find(&o.curve[OWN], &o.curve[OWN], k, (double)gradients->workers);
        least[i].mean = find(&o.curve[JUMPS], &o.curve[RULE], k, 1);
    }
    if (status == SG_OK)
        *square = o.square;
    oracle_free(&o);
    return status;
}

/* gradient_noise.c: how noisy gradients are: sigma^2 and M of the theory, fitted along a run. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sg_debug.h"
#include "sg_json.h"
#include "sg_gradient_noise.h"
#include "sg_memory.h"

/* ---- measuring --------------------------------------------------------------------------------------------------- */

enum { A = SG_NOISE_HALF_A, B = SG_NOISE_HALF_B, ALL = SG_NOISE_ALL, PARTS = SG_NOISE_PARTS };

struct scratch {
    float *g;           /* [d] one draw */
    double *mean, *all; /* of one worker [PARTS][d]; the mean over the workers, likewise */
    char *state;        /* of a worker */
    size_t state_bytes, draws[PARTS];
};

static double square(const double *x, size_t d) {
    double sum = 0;
    for (size_t j = 0; j < d; j++)
        sum += x[j] * x[j];
    return sum;
}

/* Draws the worker's gradients: mean [PARTS][d] and s^2. The worker's state is put back before every draw. `index`
 * names the point at `at`. */
static sg_status draw(double noise[PARTS], struct scratch *s, const struct sg_task_ops *ops, sg_task *task,
                      size_t worker, uint64_t at, size_t index, struct sg_error *err) {
    const struct sg_task_info *info = sg_task_info(task);
    const size_t d = info->d, repeats = s->draws[ALL];
    double second[PARTS] = {0};
    sg_status status = SG_OK;
    memset(s->mean, 0, PARTS * d * sizeof *s->mean);
    if (s->state_bytes)
        ops->state_save(task, worker, s->state);
    for (size_t r = 0; r < repeats && status == SG_OK; r++) {
        const uint64_t step =
            ops->replays ? at + r : SG_STEP_BEYOND + (index * repeats + r) * (info->steps_per_epoch + 1);
        const size_t half = r < s->draws[A] ? A : B;
        if (ops->touched) /* it writes only what it touches, so g must be zeros */
            memset(s->g, 0, d * sizeof *s->g);
        status = ops->gradient(task, worker, step, s->g, err);
        if (s->state_bytes)
            ops->state_load(task, worker, s->state);
        for (size_t j = 0; j < d; j++) {
            second[half] += (double)s->g[j] * (double)s->g[j];
            s->mean[half * d + j] += (double)s->g[j];
        }
    }
    for (size_t j = 0; j < d; j++)
        s->mean[ALL * d + j] = s->mean[j] + s->mean[d + j];
    second[ALL] = second[A] + second[B];
    for (size_t part = 0; part < PARTS; part++) {
        const double n = (double)s->draws[part];
        for (size_t j = 0; j < d; j++)
            s->mean[part * d + j] /= n;
        SG_ASSERT(s->draws[part] >= 2);
        noise[part] = fmax(0, (second[part] - n * square(s->mean + part * d, d)) / (n - 1));
    }
    if (status == SG_OK && !isfinite(second[ALL]))
        return sg_fail(err, SG_ERR_NONFINITE, "worker %zu: a gradient is NaN or Inf", worker);
    return status;
}

/* The same without draws: each part is the whole. */
static sg_status expect(double noise[PARTS], struct scratch *s, const struct sg_task_ops *ops, sg_task *task,
                        size_t worker, struct sg_error *err) {
    const size_t d = sg_task_info(task)->d;
    const sg_status status = ops->expect(task, worker, s->mean, &noise[0], err);
    for (size_t part = 1; part < PARTS; part++) {
        memcpy(s->mean + part * d, s->mean, d * sizeof *s->mean);
        noise[part] = noise[0];
    }
    return status;
}

/* variance: that of a mean of so many draws, as a multiple of the noise. */
static void take_worker(struct sg_noise_estimate *e, double *all, const double *mean, size_t d, size_t worker,
                        size_t workers, double noise, double variance) {
    SG_ASSERT(worker < workers);
    e->noise[worker] = noise;
    e->gradient[worker] = square(mean, d) - variance * noise;
    for (size_t j = 0; j < d; j++)
        all[j] += mean[j] / (double)workers;
}

static void conclude(struct sg_noise_estimate *e, const double *all, size_t d, size_t workers, double variance) {
    const double n = (double)workers;
    double noise = 0, gradient = 0;
    for (size_t w = 0; w < workers; w++) {
        noise += e->noise[w] / n;
        gradient += e->gradient[w] / n;
    }
    e->mean_gradient = square(all, d) - variance * noise / n;
    e->dissimilarity = gradient - e->mean_gradient;
}

static sg_status measure(struct sg_noise_point *p, struct scratch *s, const struct sg_task_ops *ops, sg_task *task,
                         size_t workers, size_t index, struct sg_error *err) {
    const size_t d = sg_task_info(task)->d;
    double noise[PARTS], variance[PARTS];
    sg_status status = SG_OK;
    memset(s->all, 0, PARTS * d * sizeof *s->all);
    for (size_t part = 0; part < PARTS; part++)
        variance[part] = s->draws[ALL] ? 1 / (double)s->draws[part] : 0;
    for (size_t w = 0; w < workers && status == SG_OK; w++) {
        status =
            s->draws[ALL] ? draw(noise, s, ops, task, w, p->step, index, err) : expect(noise, s, ops, task, w, err);
        for (size_t part = 0; part < PARTS && status == SG_OK; part++)
            take_worker(&p->part[part], s->all + part * d, s->mean + part * d, d, w, workers, noise[part],
                        variance[part]);
    }
    for (size_t part = 0; part < PARTS && status == SG_OK; part++)
        conclude(&p->part[part], s->all + part * d, d, workers, variance[part]);
    return status;
}

static struct sg_noise_point point_open(size_t workers, uint64_t step) {
    double *block = sg_malloc((2 * PARTS * workers + 1) * sizeof *block);
    struct sg_noise_point p = {.step = step};
    for (size_t part = 0; part < PARTS; part++) {
        p.part[part].gradient = block + 2 * part * workers; /* that of the first part owns the block */
        p.part[part].noise = block + (2 * part + 1) * workers;
    }
    return p;
}

static void point_free(struct sg_noise_point *p) {
    free(p->part[0].gradient);
}

sg_status sg_noise_measure(struct sg_noise_points *points, const struct sg_task_ops *ops, sg_task *task, size_t workers,
                           uint64_t step, size_t repeats, struct sg_error *err) {
    SG_ASSERT(points->count == 0 || points->workers == workers);
    if (repeats > 0 && repeats < SG_NOISE_REPEATS)
        return sg_fail(err, SG_ERR_ARGUMENT, "%zu draws of a gradient: each half needs a variance: %d or more", repeats,
                       SG_NOISE_REPEATS);
    if (!repeats && !ops->expect)
        return sg_fail(err, SG_ERR_UNSUPPORTED, "task '%s' has no exact expectations: its gradients must be drawn",
                       ops->name);
    const size_t d = sg_task_info(task)->d;
    struct scratch s = {.state_bytes = ops->state_bytes ? ops->state_bytes(task) : 0,
                        .draws = {repeats / 2, repeats - repeats / 2, repeats}};
    struct sg_noise_point p = point_open(workers, step);
    points->point = sg_realloc(points->point, (points->count + 1) * sizeof *points->point);
    s.g = sg_malloc((d + 1) * sizeof *s.g);
    s.mean = sg_malloc((PARTS * d + 1) * sizeof *s.mean);
    s.all = sg_malloc((PARTS * d + 1) * sizeof *s.all);
    s.state = sg_malloc(s.state_bytes + 1);
    sg_status status = measure(&p, &s, ops, task, workers, points->count, err);
    free(s.g);
    free(s.mean);
    free(s.all);
    free(s.state);
    if (status != SG_OK) {
        point_free(&p);
        return status;
    }
    points->workers = workers;
    points->point[points->count++] = p;
    return SG_OK;
}

void sg_noise_free(struct sg_noise_points *points) {
    for (size_t i = 0; i < points->count; i++)
        point_free(&points->point[i]);
    free(points->point);
    *points = (struct sg_noise_points){0};
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* Sums for a line through points that were measured twice, independently. A product takes its factors from different
 * measurements. The errors of one measurement correlate, and products within it would make the line too flat. */
struct moments {
    double n, x[PARTS], y[PARTS], xx, xy;
};

static void add(struct moments *m, const double x[PARTS], const double y[PARTS]) {
    m->n += 1;
    for (size_t part = 0; part < PARTS; part++) {
        m->x[part] += x[part];
        m->y[part] += y[part];
    }
    m->xx += x[A] * x[B];
    m->xy += (x[A] * y[B] + x[B] * y[A]) / 2;
}

/* The line that is not held at 0; NaN if the x do not differ by more than their errors. */
static struct sg_noise_line free_line(const struct moments *m) {
    const double spread = m->xx - m->x[A] * m->x[B] / m->n;
    const double slope =
        spread > 0 ? (m->xy - (m->x[A] * m->y[B] + m->x[B] * m->y[A]) / (2 * m->n)) / spread : (double)NAN;
    const double level = (m->y[ALL] - slope * m->x[ALL]) / m->n;
    return (struct sg_noise_line){slope, level, slope, level, NAN, NAN};
}

/* Fit with slope >= 0 and level >= 0. Where the free fit has a negative slope, the slope is 0 and the level is fitted
 * alone; where it has a negative level, the level is 0 and the slope is fitted alone. */
static struct sg_noise_line bounded_line(const struct moments *m) {
    struct sg_noise_line out = free_line(m);
    if (!(out.slope >= 0)) {
        out.slope = 0;
        out.level = m->y[ALL] / m->n;
    } else if (!(out.level >= 0)) {
        out.slope = m->xx > 0 ? m->xy / m->xx : 0;
        out.level = 0;
    }
    out.slope = fmax(0, out.slope);
    out.level = fmax(0, out.level);
    return out;
}

enum line { NOISE, DISSIMILARITY };

static struct moments moments_at(const struct sg_noise_points *points, enum line which, size_t i) {
    SG_ASSERT(i < points->count);
    const struct sg_noise_estimate *e = points->point[i].part;
    struct moments m = {0};
    if (which == DISSIMILARITY)
        add(&m, (double[]){e[A].mean_gradient, e[B].mean_gradient, e[ALL].mean_gradient},
            (double[]){e[A].dissimilarity, e[B].dissimilarity, e[ALL].dissimilarity});
    for (size_t w = 0; which == NOISE && w < points->workers; w++)
        add(&m, (double[]){e[A].gradient[w], e[B].gradient[w], e[ALL].gradient[w]},
            (double[]){e[A].noise[w], e[B].noise[w], e[ALL].noise[w]});
    return m;
}

/* into += sign * m */
static void combine(struct moments *into, const struct moments *m, double sign) {
    into->n += sign * m->n;
    for (size_t part = 0; part < PARTS; part++) {
        into->x[part] += sign * m->x[part];
        into->y[part] += sign * m->y[part];
    }
    into->xx += sign * m->xx;
    into->xy += sign * m->xy;
}

/* The line that is not held at 0, through all points but one. */
static struct sg_noise_line line_without(const struct sg_noise_points *points, enum line which, size_t i,
                                         struct moments all) {
    const struct moments own = moments_at(points, which, i);
    combine(&all, &own, -1);
    return free_line(&all);
}

/* A point is left out with all of its workers, because workers at one x are not independent. The errors are those of
 * the line that is not held at 0; they are not 0 where a bound holds the line. */
static struct sg_noise_line fit(const struct sg_noise_points *points, enum line which) {
    SG_ASSERT(points->count > 0);
    const size_t n = points->count;
    struct moments all = {0};
    for (size_t i = 0; i < n; i++) {
        const struct moments own = moments_at(points, which, i);
        combine(&all, &own, 1);
    }
    struct sg_noise_line out = bounded_line(&all);
    if (n < 3)
        return out;
    double slope = 0, level = 0, slopes = 0, levels = 0;
    for (size_t i = 0; i < n; i++) {
        const struct sg_noise_line without = line_without(points, which, i, all);
        slope += without.slope / (double)n;
        level += without.level / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        const struct sg_noise_line without = line_without(points, which, i, all);
        slopes += (without.slope - slope) * (without.slope - slope);
        levels += (without.level - level) * (without.level - level);
    }
    out.slope_error = sqrt(slopes * (double)(n - 1) / (double)n);
    out.level_error = sqrt(levels * (double)(n - 1) / (double)n);
    return out;
}

struct sg_noise_constants sg_noise_fit(const struct sg_noise_points *points) {
    return (struct sg_noise_constants){.noise = fit(points, NOISE), .dissimilarity = fit(points, DISSIMILARITY)};
}

struct sg_noise_constants sg_noise_cover(const struct sg_noise_points *points, const struct sg_noise_constants *line) {
    struct sg_noise_constants out = {.noise = {.slope = line->noise.slope},
                                     .dissimilarity = {.slope = line->dissimilarity.slope}};
    for (size_t i = 0; i < points->count; i++) {
        const struct sg_noise_estimate *p = &points->point[i].part[ALL];
        out.dissimilarity.level =
            fmax(out.dissimilarity.level, p->dissimilarity - out.dissimilarity.slope * p->mean_gradient);
        for (size_t w = 0; w < points->workers; w++)
            out.noise.level = fmax(out.noise.level, p->noise[w] - out.noise.slope * p->gradient[w]);
    }
    return out;
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static cJSON *estimate(double value, double unbounded, double error) {
    return SG_OBJECT(SG_NUMBER("value", value), SG_NUMBER("unbounded", unbounded), SG_NUMBER("standard_error", error));
}

cJSON *sg_noise_json(const struct sg_noise_points *points, const struct sg_noise_constants *line) {
    cJSON *out = cJSON_CreateObject(), *all = cJSON_CreateArray();
    SG_SET(out, SG_VALUE("M", estimate(line->noise.slope, line->noise.free_slope, line->noise.slope_error)),
           SG_VALUE("sigma_squared", estimate(line->noise.level, line->noise.free_level, line->noise.level_error)),
           SG_VALUE("C", estimate(line->dissimilarity.slope, line->dissimilarity.free_slope,
                                  line->dissimilarity.slope_error)),
           SG_VALUE("zeta_squared", estimate(line->dissimilarity.level, line->dissimilarity.free_level,
                                             line->dissimilarity.level_error)));
    for (size_t i = 0; i < points->count; i++) {
        const struct sg_noise_estimate *p = &points->point[i].part[ALL];
        sg_json_push(all, SG_OBJECT(SG_NUMBER("step", points->point[i].step),
                                    SG_VALUE("gradient", sg_json_numbers(p->gradient, points->workers)),
                                    SG_VALUE("noise", sg_json_numbers(p->noise, points->workers)),
                                    SG_NUMBER("mean_gradient", p->mean_gradient),
                                    SG_NUMBER("dissimilarity", p->dissimilarity)));
    }
    sg_json_set(out, "points", all);
    return out;
}

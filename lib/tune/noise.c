#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_json.h"
#include "sg_noise.h"

static const uint64_t FAR = (uint64_t)1 << 40; /* steps; no run is that long */

/* ---- measuring --------------------------------------------------------------------------------------------------- */

struct scratch {
    float *g;           /* [d] one draw */
    double *mean, *all; /* [d] of a worker; summed over workers */
    char *state;        /* of a worker */
    size_t state_bytes;
};

static double square(const double *x, size_t d) {
    double sum = 0;
    for (size_t j = 0; j < d; j++)
        sum += x[j] * x[j];
    return sum;
}

/* mean [d] and s^2 of the worker's draws; its state is put back before every one. */
static sg_status draw(double *noise, struct scratch *s, const struct sg_task_ops *ops, sg_task *task, size_t worker,
                      size_t index, size_t repeats, struct sg_error *err) {
    const struct sg_task_info *info = ops->info(task);
    const size_t d = info->d;
    double second = 0;
    sg_status status = SG_OK;
    memset(s->mean, 0, d * sizeof *s->mean);
    if (s->state_bytes)
        ops->state_save(task, worker, s->state);
    for (size_t r = 0; r < repeats && status == SG_OK; r++) {
        const uint64_t step = FAR + (index * repeats + r) * (info->steps_per_epoch + 1);
        if (ops->touched) /* it writes what it touches, into zeros */
            memset(s->g, 0, d * sizeof *s->g);
        status = ops->gradient(task, worker, step, s->g, err);
        if (s->state_bytes)
            ops->state_load(task, worker, s->state);
        for (size_t j = 0; j < d; j++) {
            second += (double)s->g[j] * (double)s->g[j];
            s->mean[j] += (double)s->g[j] / (double)repeats;
        }
    }
    *noise = fmax(0, (second - (double)repeats * square(s->mean, d)) / (double)(repeats - 1));
    if (status == SG_OK && !isfinite(second))
        return sg_fail(err, SG_ERR_NONFINITE, "worker %zu: a gradient is NaN or Inf", worker);
    return status;
}

static sg_status measure(struct sg_noise_point *p, struct scratch *s, const struct sg_task_ops *ops, sg_task *task,
                         size_t workers, size_t index, size_t repeats, struct sg_error *err) {
    const size_t d = ops->info(task)->d;
    const double n = (double)workers, variance = repeats ? 1 / (double)repeats : 0; /* of a mean, in noises */
    double squares = 0, noises = 0;
    sg_status status = SG_OK;
    memset(s->all, 0, d * sizeof *s->all);
    for (size_t w = 0; w < workers && status == SG_OK; w++) {
        status = repeats ? draw(&p->noise[w], s, ops, task, w, index, repeats, err)
                         : ops->expect(task, w, s->mean, &p->noise[w], err);
        const double all = square(s->mean, d);
        squares += all;
        noises += p->noise[w];
        p->gradient[w] = all - variance * p->noise[w];
        for (size_t j = 0; j < d; j++)
            s->all[j] += s->mean[j] / n;
    }
    const double mean = square(s->all, d);
    p->mean_gradient = mean - variance * noises / (n * n);
    p->dissimilarity = squares / n - mean - variance * (1 - 1 / n) * noises / n;
    return status;
}

sg_status sg_noise_measure(struct sg_noise_points *points, const struct sg_task_ops *ops, sg_task *task, size_t workers,
                           uint64_t step, size_t repeats, struct sg_error *err) {
    if (!repeats && !ops->expect)
        return sg_fail(err, SG_ERR_UNSUPPORTED, "task '%s' has no exact expectations: its gradients must be drawn",
                       ops->name);
    const size_t d = ops->info(task)->d;
    struct scratch s = {.state_bytes = ops->state_bytes ? ops->state_bytes(task) : 0};
    struct sg_noise_point *grown = realloc(points->point, (points->count + 1) * sizeof *grown);
    if (grown)
        points->point = grown;
    struct sg_noise_point p = {.step = step,
                               .gradient = malloc((workers + 1) * sizeof *p.gradient),
                               .noise = malloc((workers + 1) * sizeof *p.noise)};
    s.g = malloc((d + 1) * sizeof *s.g);
    s.mean = malloc((d + 1) * sizeof *s.mean);
    s.all = malloc((d + 1) * sizeof *s.all);
    s.state = malloc(s.state_bytes + 1);
    sg_status status = SG_OK;
    if (!grown || !p.gradient || !p.noise || !s.g || !s.mean || !s.all || !s.state)
        status = sg_fail_memory(err, "measuring the noise");
    if (status == SG_OK)
        status = measure(&p, &s, ops, task, workers, points->count, repeats, err);
    free(s.g);
    free(s.mean);
    free(s.all);
    free(s.state);
    if (status != SG_OK) {
        free(p.gradient);
        free(p.noise);
        return status;
    }
    points->workers = workers;
    points->point[points->count++] = p;
    return SG_OK;
}

void sg_noise_free(struct sg_noise_points *points) {
    for (size_t i = 0; i < points->count; i++) {
        free(points->point[i].gradient);
        free(points->point[i].noise);
    }
    free(points->point);
    *points = (struct sg_noise_points){0};
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* Sums for a line through (x, y). */
struct moments {
    double n, x, y, xx, xy;
};

static void add(struct moments *m, double x, double y) {
    m->n += 1;
    m->x += x;
    m->y += y;
    m->xx += x * x;
    m->xy += x * y;
}

/* Least squares with both at or above 0: at its border the other one alone. */
static struct sg_noise_line line_of(const struct moments *m) {
    struct sg_noise_line out = {.slope_error = NAN, .level_error = NAN};
    const double spread = m->xx - m->x * m->x / m->n;
    if (spread > 0)
        out.slope = (m->xy - m->x * m->y / m->n) / spread;
    out.level = (m->y - out.slope * m->x) / m->n;
    if (!(out.slope >= 0)) {
        out.slope = 0;
        out.level = m->y / m->n;
    } else if (!(out.level >= 0)) {
        out.slope = m->xx > 0 ? m->xy / m->xx : 0;
        out.level = 0;
    }
    out.slope = fmax(0, out.slope);
    out.level = fmax(0, out.level);
    return out;
}

enum line { NOISE, DISSIMILARITY };

/* Of all points but one (except = count: of all). */
static struct sg_noise_line through(const struct sg_noise_points *points, enum line which, size_t except) {
    struct moments m = {0};
    for (size_t i = 0; i < points->count; i++) {
        const struct sg_noise_point *p = &points->point[i];
        if (i == except)
            continue;
        if (which == DISSIMILARITY)
            add(&m, p->mean_gradient, p->dissimilarity);
        for (size_t w = 0; which == NOISE && w < points->workers; w++)
            add(&m, p->gradient[w], p->noise[w]);
    }
    return line_of(&m);
}

/* Points are left out whole, for workers at one x move together. */
static struct sg_noise_line fit(const struct sg_noise_points *points, enum line which) {
    const size_t n = points->count;
    struct sg_noise_line out = through(points, which, n);
    if (n < 3)
        return out;
    double slope = 0, level = 0, slopes = 0, levels = 0;
    for (size_t i = 0; i < n; i++) {
        const struct sg_noise_line without = through(points, which, i);
        slope += without.slope / (double)n;
        level += without.level / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        const struct sg_noise_line without = through(points, which, i);
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
    struct sg_noise_constants out = {.noise = {line->noise.slope, 0, NAN, NAN},
                                     .dissimilarity = {line->dissimilarity.slope, 0, NAN, NAN}};
    for (size_t i = 0; i < points->count; i++) {
        const struct sg_noise_point *p = &points->point[i];
        out.dissimilarity.level =
            fmax(out.dissimilarity.level, p->dissimilarity - out.dissimilarity.slope * p->mean_gradient);
        for (size_t w = 0; w < points->workers; w++)
            out.noise.level = fmax(out.noise.level, p->noise[w] - out.noise.slope * p->gradient[w]);
    }
    return out;
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static cJSON *estimate(double value, double error) {
    cJSON *out = cJSON_CreateObject();
    sg_json_set_number(out, "value", value);
    sg_json_set_number(out, "standard_error", error);
    return out;
}

cJSON *sg_noise_json(const struct sg_noise_points *points, const struct sg_noise_constants *line) {
    cJSON *out = cJSON_CreateObject(), *all = cJSON_CreateArray();
    sg_json_set(out, "M", estimate(line->noise.slope, line->noise.slope_error));
    sg_json_set(out, "sigma_squared", estimate(line->noise.level, line->noise.level_error));
    sg_json_set(out, "C", estimate(line->dissimilarity.slope, line->dissimilarity.slope_error));
    sg_json_set(out, "zeta_squared", estimate(line->dissimilarity.level, line->dissimilarity.level_error));
    for (size_t i = 0; i < points->count; i++) {
        const struct sg_noise_point *p = &points->point[i];
        cJSON *row = cJSON_CreateObject();
        sg_json_set_number(row, "step", (double)p->step);
        sg_json_set(row, "gradient", sg_json_numbers(p->gradient, points->workers));
        sg_json_set(row, "noise", sg_json_numbers(p->noise, points->workers));
        sg_json_set_number(row, "mean_gradient", p->mean_gradient);
        sg_json_set_number(row, "dissimilarity", p->dissimilarity);
        sg_json_push(all, row);
    }
    sg_json_set(out, "points", all);
    return out;
}

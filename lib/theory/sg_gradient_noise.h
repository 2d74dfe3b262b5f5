/* sg_gradient_noise.h: noise and dissimilarity of the workers' gradients: the constants of Assumptions 3 and 4.
 *
 *   3: E|xi_i|^2 <= M |grad f_i(x)|^2 + sigma^2                        noise of worker i's draws around its own mean
 *   4: (1/n) sum_i |grad f_i(x) - grad f(x)|^2 <= C |grad f(x)|^2 + zeta^2      the workers' means around their mean
 *
 * They are measured at points x along a run. From R draws of each worker these estimates have no bias:
 *   E|xi_i|^2        s_i^2 = sum_r |g_ir - mean_i|^2 / (R - 1)
 *   |grad f_i|^2     |mean_i|^2 - s_i^2 / R
 *   |grad f|^2       |mean|^2 - sum_i s_i^2 / (R n^2)
 *   dissimilarity    (1/n) sum_i |mean_i - mean|^2 - (1 - 1/n) (1/n) sum_i s_i^2 / R
 * If the task can compute them exactly (sg_task_ops.expect), they need no draws.
 *
 * The constants are a line y = slope x + level through the points of all workers. A least-squares line would be too
 * flat, because x is noisy and because x and y of the same draws err together. So x and y are also estimated from each
 * half of the draws, A and B, and with cov over all points (and workers)
 *   slope = (cov(x_A, y_B) + cov(x_B, y_A)) / (2 cov(x_A, x_B)),   level = mean y - slope mean x of all draws
 * Both are clipped at 0. Their standard errors are those of the unclipped line, by jackknife over points. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_GRADIENT_NOISE_H
#define SG_GRADIENT_NOISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sg_status.h"
#include "sg_task.h"

struct sg_noise_estimate {
    double *gradient; /* [workers] |grad f_i|^2; an estimate may be below 0 if the noise is large */
    double *noise;    /* [workers] E|xi_i|^2 */
    double mean_gradient, dissimilarity;
};

/* The draws that an estimate uses: the first R/2, the others, or all. The three are equal if the task is exact. */
enum { SG_NOISE_HALF_A, SG_NOISE_HALF_B, SG_NOISE_ALL, SG_NOISE_PARTS };

/* The measurement at one x. */
struct sg_noise_point {
    uint64_t step;
    struct sg_noise_estimate part[SG_NOISE_PARTS];
};

struct sg_noise_points {
    size_t workers, count;
    struct sg_noise_point *point; /* [count] */
};

enum { SG_NOISE_REPEATS = 4 }; /* the fewest draws: each half needs two for a variance */

/* Measures at the task's current x and appends a point. All workers must be on this rank. repeats: R, the draws of each
 * worker, at least SG_NOISE_REPEATS; 0 = exactly, and SG_ERR_UNSUPPORTED if the task cannot. x and the workers' state
 * do not change. The draws are those of steps from SG_STEP_BEYOND on, more than an epoch apart and derived from the
 * point's index: the samples of training, in new batches. (For lm they are random windows of the text, each after the
 * hidden state that the worker has at this x.) A task that replays gradients has one gradient of a worker at each step:
 * its draws are those of the R steps from `step` on, so the noise includes the change of the gradient meanwhile. */
SG_CHECKED sg_status sg_noise_measure(struct sg_noise_points *points, const struct sg_task_ops *ops, sg_task *task,
                                      size_t workers, uint64_t step, size_t repeats, struct sg_error *err);
void sg_noise_free(struct sg_noise_points *points); /* zeroes it */

/* y = slope x + level, both >= 0. */
struct sg_noise_line {
    double slope, level;
    /* The line before it was clipped at 0. NaN if slope_error is NaN because the x do not spread. */
    double free_slope, free_level;
    double slope_error, level_error; /* NaN for fewer than 3 points, or if the x differ by no more than their noise */
};

struct sg_noise_constants {
    struct sg_noise_line noise;         /* slope M, level sigma^2 */
    struct sg_noise_line dissimilarity; /* slope C, level zeta^2 */
};
struct sg_noise_constants sg_noise_fit(const struct sg_noise_points *points);

/* With these slopes, the smallest levels for which the assumptions hold at every point. The errors are NaN. */
struct sg_noise_constants sg_noise_cover(const struct sg_noise_points *points, const struct sg_noise_constants *fit);

/* {"points":[{"step","gradient","noise","mean_gradient","dissimilarity"}],"M":{"value","unbounded","standard_error"},
 * "sigma_squared":…,"C":…,"zeta_squared":…}. "unbounded" is the value before it was clipped at 0. */
cJSON *sg_noise_json(const struct sg_noise_points *points, const struct sg_noise_constants *fit);

#endif

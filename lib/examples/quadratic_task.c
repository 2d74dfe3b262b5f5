/* quadratic_task.c: the smallest task that trains, `quadratic`. Worker i pulls x towards its own random point c_i.
 *
 * A task lies in the tree: copy this file to lib/task, and add these lines to lib/task/task_table.c, the last one to
 * task_kind[]:
 *
 *     extern const struct sg_task_ops sg_quadratic_ops;
 *     extern task_identify_fn task_identify_quadratic;
 *     static const struct sg_key quadratic_key[] = {
 *         {"d", SG_KEY_INTEGER, .min = 1, .max = 1e6, .preset = "10", .help = "parameters"},
 *     };
 *     static const struct sg_metric quadratic_metric[] = {{"loss", "", "mean over workers of |x - c_i|^2 / 2"}};
 *     static const struct sg_constant_kind quadratic_constant[] = {{"d", "parameters"}};
 *     {"quadratic", "each worker has a point of its own", OF(quadratic), METRICS(quadratic), .ops = &sg_quadratic_ops},
 *
 * A key with `.data = true` decides which data are read, and is the same for all cells of a recipe. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include <sg_dataset.h>
#include <sg_rng.h>
#include <sg_task.h>
#include <task_data.h>

struct sg_task {
    struct sg_task_base base; /* what every task has: what it is asked, its facts, x */
    size_t offset[2];
    struct sg_provenance from;
    float *c, *waiting; /* [workers][d], [d] */
};

extern task_identify_fn task_identify_quadratic;
/* Which data a run reads: no file. */
sg_status task_identify_quadratic(struct sg_provenance *from, const struct sg_node *task, const char *data_dir,
                                  struct sg_error *err) {
    (void)task, (void)data_dir, (void)err;
    *from = (struct sg_provenance){.name = "quadratic", .source = "generated", .generator = "quadratic"};
    return SG_OK;
}

static void quadratic_close(sg_task *t) {
    free(t->c);
    free(t->waiting);
}

static sg_status quadratic_open(sg_task *t, struct sg_error *err) {
    const size_t d = (size_t)sg_node_number(t->base.task, "d", 10);
    t->offset[1] = d;
    t->base.info = (struct sg_task_info){.d = d,
                                         .dtype = SG_FLOAT32,
                                         .layout = {.n_layers = 1, .offset = t->offset},
                                         .steps_per_epoch = 1,
                                         .parallel_workers = true};
    sg_task_add_constant(t, "d", (double)d);
    t->c = malloc(t->base.workers * d * sizeof *t->c);
    t->waiting = malloc(d * sizeof *t->waiting);
    if (!t->c || !t->waiting)
        return sg_fail_memory(err, "quadratic"); /* quadratic_close is called */
    for (size_t i = 0; i < t->base.workers; i++) {
        sg_rng rng = sg_rng_open(t->base.seed, SG_RNG_GENERATE, (uint32_t)i, 0);
        for (size_t j = 0; j < d; j++)
            t->c[i * d + j] = (float)sg_rng_normal(&rng);
    }
    return task_identify_quadratic(&t->from, t->base.task, t->base.data_dir, err);
}

static cJSON *quadratic_dataset(const sg_task *t) {
    return sg_provenance_json(&t->from);
}

static sg_status quadratic_gradient(sg_task *t, size_t worker, uint64_t step, float *g, struct sg_error *err) {
    const float *x = t->base.x; /* zeros at first, as there is no `start` */
    (void)step, (void)err;
    for (size_t j = 0; j < t->base.info.d; j++)
        g[j] = x[j] - t->c[worker * t->base.info.d + j];
    return SG_OK;
}

static sg_status quadratic_queue(sg_task *t, struct sg_error *err) {
    (void)err;
    memcpy(t->waiting, t->base.x, t->base.info.d * sizeof *t->waiting);
    return SG_OK;
}

static sg_status quadratic_evaluate(sg_task *t, double *value, struct sg_error *err) {
    const size_t d = t->base.info.d, workers = t->base.workers;
    (void)err;
    value[0] = 0;
    for (size_t i = 0; i < workers; i++)
        for (size_t j = 0; j < d; j++) {
            const double off = (double)t->waiting[j] - (double)t->c[i * d + j];
            value[0] += off * off / 2 / (double)workers;
        }
    return SG_OK;
}

extern const struct sg_task_ops sg_quadratic_ops;
const struct sg_task_ops sg_quadratic_ops = {
    .name = "quadratic",
    .size = sizeof(struct sg_task),
    .open = quadratic_open,
    .dataset = quadratic_dataset,
    .gradient = quadratic_gradient,
    .queue_capacity = 1,
    .queue = quadratic_queue,
    .evaluate = quadratic_evaluate,
    .close = quadratic_close,
};

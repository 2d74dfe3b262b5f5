/* bench_share.c: a step of any compressor with all its rounds. The workers run one after another in this process; the
 * clock runs for worker 0 and for what every rank does with the sum. */
#include "bench_share.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_clock.h"
#include "sg_drive.h"

enum { MOST_PARAMS = 16 };

sg_status share_open(struct share *s, const struct share_setting *setting, struct sg_error *err) {
    const struct layers *layers = setting->layers;
    double param[MOST_PARAMS];
    *s = (struct share){.setting = *setting,
                        .e = calloc(setting->workers * layers->n, sizeof *s->e),
                        .sum = calloc(layers->n, sizeof *s->sum),
                        .message = calloc(setting->workers, sizeof *s->message)};
    if (!s->e || !s->sum || !s->message)
        return sg_fail_memory(err, "workers");
    if (setting->compressor->n_params > MOST_PARAMS)
        return sg_fail(err, SG_ERR_UNSUPPORTED, "more than %d parameters", MOST_PARAMS);
    sg_compressor_example(setting->compressor, setting->density, setting->threshold, param);
    const struct sg_method_config config = {.compressor = setting->compressor,
                                            .param = param,
                                            .layout = {layers->count, layers->offset, NULL, layers->rows},
                                            .feedback = {&sg_feedback_gradient, setting->decay, {0}},
                                            .seed = 1,
                                            .workers = setting->workers,
                                            .count = setting->workers,
                                            .steps_per_epoch = 1,
                                            .kernels = setting->kernels,
                                            .exec = setting->exec};
    return sg_method_open(&s->method, &config, err);
}

void share_close(struct share *s) {
    sg_method_close(s->method);
    free(s->e);
    free(s->sum);
    free(s->message);
    *s = (struct share){0};
}

static double log_ratio(size_t sent, size_t wanted) {
    return fabs(log((double)(sent > 0 ? sent : 1) / (double)wanted));
}

static sg_status count_message(void *of, size_t worker, unsigned round, const struct sg_message *m,
                               struct sg_error *err) {
    struct share *s = of;
    const struct layers *layers = s->setting.layers;
    struct sg_wire_plan plan;
    double off = 0;
    size_t large = 0;
    (void)worker, (void)round;
    sg_status status = sg_wire_plan(&plan, NULL, m, err);
    if (status != SG_OK)
        return status;
    s->bytes += (double)plan.bytes / (double)s->setting.workers;
    for (size_t l = 0; m->layer_count && l < layers->count; l++)
        if (layers->offset[l + 1] - layers->offset[l] >= SHARE_LARGE) {
            off += log_ratio(m->layer_count[l], s->setting.k[l]);
            large++;
        }
    s->off += (large > 0 ? off / (double)large : (double)NAN) / (double)s->setting.workers;
    return SG_OK;
}

sg_status share_step(struct share *s, const float *g, struct sg_error *err) {
    struct sg_play play = {.part = &s->method,
                           .parts = 1,
                           .d = s->setting.layers->n,
                           .g = g,
                           .e = s->e,
                           .sum = &s->sum,
                           .message = s->message,
                           .optimizes = true,
                           .sent = count_message,
                           .of = s,
                           .clock_s = sg_clock_s};
    s->bytes = s->off = 0;
    const sg_status status = sg_method_play(&play, s->step++, 1, err);
    s->encode_s = play.encode_s;
    s->decode_s = play.decode_s;
    s->bits = play.bits / (double)s->setting.workers;
    s->entries = play.entries / (double)s->setting.workers;
    return status;
}

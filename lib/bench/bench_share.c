/* bench_share.c: a step of any compressor with all its rounds. The workers run one after another in this process; the
 * clock runs for worker 0 and for what every rank does with the sum. */
#include "bench_share.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_clock.h"

enum { MOST_PARAMS = 16 };

sg_status share_open(struct share *s, const struct share_setting *setting, struct sg_error *err) {
    const struct layers *layers = setting->layers;
    double param[MOST_PARAMS];
    *s = (struct share){.setting = *setting,
                        .e = calloc(setting->workers * layers->n, sizeof *s->e),
                        .sum = calloc(layers->n, sizeof *s->sum),
                        .square = calloc(layers->count, sizeof *s->square),
                        .message = calloc(setting->workers, sizeof *s->message)};
    if (!s->e || !s->sum || !s->square || !s->message)
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
    free(s->square);
    free(s->message);
    *s = (struct share){0};
}

static double log_ratio(size_t sent, size_t wanted) {
    return fabs(log((double)(sent > 0 ? sent : 1) / (double)wanted));
}

static sg_status count_message(struct share *s, const struct sg_message *m, struct sg_error *err) {
    const struct layers *layers = s->setting.layers;
    struct sg_wire_plan plan;
    double off = 0;
    size_t large = 0;
    sg_status status = sg_wire_plan(&plan, NULL, m, err);
    if (status != SG_OK)
        return status;
    s->bits += m->bits;
    s->bytes += (double)plan.bytes;
    s->entries += (double)m->count;
    for (size_t l = 0; m->layer_count && l < layers->count; l++)
        if (layers->offset[l + 1] - layers->offset[l] >= SHARE_LARGE) {
            off += log_ratio(m->layer_count[l], s->setting.k[l]);
            large++;
        }
    s->off += large > 0 ? off / (double)large : (double)NAN;
    return SG_OK;
}

static sg_status run_round(struct share *s, unsigned round, const float *g, struct sg_error *err) {
    const size_t n = s->setting.layers->n, length = sg_method_length(s->method, round);
    sg_status status = SG_OK;
    memset(s->sum, 0, length * sizeof *s->sum);
    for (size_t w = 0; w < s->setting.workers && status == SG_OK; w++) {
        struct sg_message *m = &s->message[w];
        const double start = sg_clock_s();
        status = sg_method_send(s->method, w, round, round == 0 ? g + w * n : NULL, s->e + w * n, NULL, m, err);
        const double sent = sg_clock_s();
        if (status != SG_OK)
            return status;
        sg_message_add_all(s->sum, length, m, 1, s->setting.kernels, &s->setting.exec);
        s->encode_s += w == 0 ? sent - start : 0;
        s->decode_s += w == 0 ? sg_clock_s() - sent : 0;
        status = count_message(s, m, err);
    }
    if (sg_method_hears(s->method))
        sg_method_hear(s->method, s->message);
    const double start = sg_clock_s();
    sg_method_receive(s->method, round, s->sum);
    s->encode_s += sg_clock_s() - start;
    return status;
}

sg_status share_step(struct share *s, const float *g, struct sg_error *err) {
    const size_t n = s->setting.layers->n;
    const bool leads = sg_method_leads(s->method, s->step, 1);
    const double workers = (double)s->setting.workers;
    double largest = 0;
    sg_status status = SG_OK;
    s->encode_s = s->decode_s = s->bits = s->bytes = s->entries = s->off = 0;
    if (leads)
        sg_method_lead(s->method, g, s->square);
    sg_method_begin(s->method, s->step++, 1, leads ? s->square : NULL);
    for (unsigned round = 0; round < sg_method_rounds(s->method) && status == SG_OK; round++)
        status = run_round(s, round, g, err);
    if (status != SG_OK)
        return status;
    for (size_t w = 0; w < s->setting.workers; w++) {
        const double start = sg_clock_s();
        sg_method_keep(s->method, w, s->e + w * n, s->sum);
        s->encode_s += w == 0 ? sg_clock_s() - start : 0;
        largest = fmax(largest, sg_method_note(s->method, w));
    }
    s->bits /= workers;
    s->bytes /= workers;
    s->entries /= workers;
    s->off /= workers;
    sg_method_end(s->method, s->sum, &(struct sg_spent){s->entries, s->bits, largest});
    return SG_OK;
}

/* net_step.c: the time line of one step of training. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "net_private.h"
#include "sg_debug.h"
#include "sg_row.h"

static const void *const overlaps[] = {
    &(const struct sg_overlap){"none", "one exchange after the backward pass", "bulk-synchronous training",
                               SG_OVERLAP_NONE},
    &(const struct sg_overlap){"layer",
                               "one exchange a layer as soon as its gradient is there (wait-free backpropagation)",
                               "Zhang et al., Poseidon, ATC 2017", SG_OVERLAP_LAYER},
    &(const struct sg_overlap){"fused", "layers merged where starting another exchange costs more than waiting",
                               "Shi, Chu and Li, MG-WFBP, INFOCOM 2019", SG_OVERLAP_FUSED},
    &(const struct sg_overlap){"priority", "the foremost layer first, and the next forward pass waits layer by layer",
                               "Peng et al., ByteScheduler, SOSP 2019, with whole layers as parts",
                               SG_OVERLAP_PRIORITY},
};
static const struct sg_rows overlap_rows = SG_ROWS(overlaps);

const struct sg_overlap *sg_overlap_at(size_t i) {
    return sg_row_at(&overlap_rows, i);
}

const struct sg_overlap *sg_overlap_find(const char *name) {
    return sg_row_find(&overlap_rows, name);
}

const struct sg_net_series sg_net_series[SG_NET_SERIES] = {
    [SG_NET_TIME] = {"time", "s", "steps, from the forward pass to the last decoded message"},
    [SG_NET_EXPOSED_TIME] = {"exposed_time", "s", "what workers wait for messages"},
    [SG_NET_COMPUTE_TIME] = {"compute_time", "s", "forward and backward passes, encoding and decoding"},
    [SG_NET_PEAK] = {"peak_bandwidth", "bit/s", "the longest message over the time that computation can hide of it"},
};

enum { ROWS = 3 }; /* numbers a layer in the work space */

size_t sg_net_work(size_t layers, size_t senders) {
    return senders + ROWS * layers;
}

struct run {
    const struct sg_net *net;
    const struct sg_collective *collective;
    const struct sg_net_step *step;
    double *ready_s, *end_s;        /* [layers] */
    double *sum;                    /* [senders], bytes of a bucket */
    double *pass_s;                 /* [layers] */
    struct sg_layer_time *timeline; /* or NULL */
    struct sg_step_time *out;
};

static struct run open_run(const struct sg_net *net, const struct sg_collective *collective,
                           const struct sg_net_step *step, double *work) {
    const size_t layers = step->layers;
    SG_ASSERT(layers > 0 && step->senders > 0 && step->senders <= net->workers);
    return (struct run){.net = net,
                        .collective = collective,
                        .step = step,
                        .ready_s = work,
                        .end_s = work + layers,
                        .pass_s = work + 2 * layers,
                        .sum = work + 3 * layers};
}

static double or_zero(const double *x, size_t l) {
    return x ? x[l] : 0;
}

static const double *messages(const struct run *r, size_t l) {
    return r->step->bytes + l * r->step->senders;
}

/* Seconds of an exchange of messages with so many bytes [senders]; dense: of one without compression. */
static double exchange_s(const struct run *r, const double *bytes, double dense) {
    struct sg_traffic t = sg_traffic_of(bytes, r->step->senders, r->net->workers, dense);
    t.unions = r->step->unions;
    return t.most > 0 ? r->collective->seconds(r->net, &t) : 0;
}

/* Seconds of the exchange of layers [first, last] in one message. */
static double bucket_s(const struct run *r, size_t first, size_t last) {
    const size_t senders = r->step->senders;
    const double *bytes = messages(r, first);
    double dense = or_zero(r->step->dense, first);
    if (last > first) {
        memcpy(r->sum, bytes, senders * sizeof *r->sum);
        for (size_t l = first + 1; l <= last; l++) {
            const double *more = messages(r, l);
            for (size_t w = 0; w < senders; w++)
                r->sum[w] += more[w];
            dense += or_zero(r->step->dense, l);
        }
        bytes = r->sum;
    }
    return exchange_s(r, bytes, dense);
}

static void note_exchange(struct run *r, size_t bucket, size_t first, size_t last, double start_s, double took_s) {
    r->out->communication_s += took_s;
    r->out->exchanges += took_s > 0;
    for (size_t l = first; l <= last; l++) {
        r->end_s[l] = start_s + took_s;
        if (r->timeline)
            r->timeline[l] = (struct sg_layer_time){r->ready_s[l], start_s, start_s + took_s, bucket};
    }
}

/* Buckets go one after the other, each as soon as all its layers are ready. */
static void in_order(struct run *r, const struct sg_overlap *overlap) {
    const size_t layers = r->step->layers;
    double free_s = 0;
    for (size_t first = 0, bucket = 0, end; first < layers; first = end, bucket++) {
        end = overlap->kind == SG_OVERLAP_NONE ? layers : first + 1;
        while (overlap->kind == SG_OVERLAP_FUSED && end < layers && r->step->bucket[end] == r->step->bucket[first])
            end++;
        const double start_s = fmax(free_s, r->ready_s[end - 1]), took_s = bucket_s(r, first, end - 1);
        free_s = start_s + took_s;
        note_exchange(r, bucket, first, end - 1, start_s, took_s);
    }
}

/* The foremost of the layers that wait is the one that became ready last, so those that wait are a stack. */
static void foremost_first(struct run *r) {
    const size_t layers = r->step->layers;
    double *const stack = r->pass_s, free_s = 0;
    size_t waiting = 0, next = 0;
    while (waiting > 0 || next < layers) {
        if (waiting == 0)
            free_s = fmax(free_s, r->ready_s[next]);
        while (next < layers && r->ready_s[next] <= free_s)
            stack[waiting++] = (double)next++;
        const size_t l = (size_t)stack[--waiting];
        const double took_s = bucket_s(r, l, l);
        note_exchange(r, l, l, l, free_s, took_s);
        free_s += took_s;
    }
}

void sg_net_step_time(struct sg_step_time *out, struct sg_layer_time *timeline, const struct sg_net *net,
                      const struct sg_collective *collective, const struct sg_overlap *overlap,
                      const struct sg_net_step *step, double *work) {
    struct run r = open_run(net, collective, step, work);
    double forward_s = 0, now_s = 0;
    r.timeline = timeline;
    r.out = out;
    *out = (struct sg_step_time){0};
    for (size_t l = 0; l < step->layers; l++) {
        forward_s += step->forward_s[l];
        out->compute_s += step->forward_s[l] + step->backward_s[l];
        out->coding_s += or_zero(step->encode_s, l) + or_zero(step->decode_s, l);
    }
    now_s = forward_s;
    for (size_t l = 0; l < step->layers; l++)
        r.ready_s[l] = now_s += step->backward_s[l] + or_zero(step->encode_s, l);
    if (overlap->kind == SG_OVERLAP_PRIORITY) {
        foremost_first(&r);
        for (size_t l = step->layers; l-- > 0;) /* the next forward pass */
            now_s = fmax(now_s, r.end_s[l]) + or_zero(step->decode_s, l) + step->forward_s[l];
        now_s -= forward_s;
    } else {
        in_order(&r, overlap);
        for (size_t l = 0; l < step->layers; l++)
            now_s = fmax(now_s, r.end_s[l]) + or_zero(step->decode_s, l);
    }
    out->step_s = now_s;
    out->exposed_s = fmax(0, now_s - out->compute_s - out->coding_s);
    out->hidden_s = fmax(0, out->communication_s - out->exposed_s);
}

/* The shortest way to end all exchanges: end_s of layers up to l is the least, over the first layer of the bucket that
 * ends with l, of when that bucket can start plus what it takes. `first` is kept in bucket [layers]. */
size_t sg_net_plan(size_t *bucket, const struct sg_net *net, const struct sg_collective *collective,
                   const struct sg_net_step *step, double *work) {
    const struct run r = open_run(net, collective, step, work);
    const size_t layers = step->layers, senders = step->senders;
    double ready_s = 0;
    for (size_t last = 0; last < layers; last++) {
        double dense = 0;
        ready_s += step->backward_s[last] + or_zero(step->encode_s, last);
        r.end_s[last] = INFINITY;
        memset(r.sum, 0, senders * sizeof *r.sum);
        for (size_t first = last + 1; first-- > 0;) {
            const double *more = messages(&r, first);
            for (size_t w = 0; w < senders; w++)
                r.sum[w] += more[w];
            dense += or_zero(step->dense, first);
            const double end_s = fmax(first > 0 ? r.end_s[first - 1] : 0, ready_s) + exchange_s(&r, r.sum, dense);
            if (end_s < r.end_s[last]) {
                r.end_s[last] = end_s;
                bucket[last] = first;
            }
        }
    }
    size_t count = 0;
    for (size_t end = layers; end > 0; count++) { /* from the last bucket on, whose number is 0 for now */
        const size_t first = bucket[end - 1];
        for (size_t l = first; l < end; l++)
            bucket[l] = count;
        end = first;
    }
    for (size_t l = 0; l < layers; l++)
        bucket[l] = count - 1 - bucket[l];
    return count;
}

size_t sg_net_fill(size_t *bucket, size_t layers, const double *dense, double most) {
    static const double first = 1 << 20;
    size_t at = 0;
    double filled = 0;
    for (size_t l = 0; l < layers; l++) {
        bucket[l] = at;
        filled += dense[l];
        if (filled >= fmin(at == 0 ? first : most, most) && l + 1 < layers) {
            at++;
            filled = 0;
        }
    }
    return at + 1;
}

/* net_bursts.c: the extra cost of sending different numbers of entries at different steps, instead of equal ones. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "net_private.h"
#include "sg_stats.h"

enum { ENTRY_BYTES = 8 }; /* a float and its position */

static double vector_elements(const struct sg_traffic *t) {
    return t->dense / 4;
}

static double all_gather_seconds(const struct sg_net *net, const struct sg_traffic *t, double messages) {
    (void)messages;
    return net_all_gather.seconds(net, t);
}

static double dense_switch_seconds(const struct sg_net *net, const struct sg_traffic *t, double messages) {
    const struct sg_traffic dense = sg_traffic_equal(t->dense, net->workers, t->dense);
    (void)messages;
    return fmin(net_all_gather.seconds(net, t), sg_collective_find("ring")->seconds(net, &dense));
}

/* Positions that any worker sent are d (1 - prod (1 - k_w / d)) if they are independent. */
double net_union_bytes(const struct sg_net *net, const struct sg_traffic *t) {
    const double d = vector_elements(t);
    double log_empty = 0;
    for (size_t w = 0; w < t->senders; w++) {
        const size_t alike = net->workers / t->senders + (w < net->workers % t->senders);
        const double k = (t->bytes ? t->bytes[w] : t->most) / ENTRY_BYTES;
        log_empty += (double)alike * log1p(-fmin(1, k / d));
    }
    return -d * expm1(log_empty) * ENTRY_BYTES;
}

static double union_seconds(const struct sg_net *net, const struct sg_traffic *t, double messages) {
    (void)messages;
    return net->between.alpha_s + net_union_bytes(net, t) * net->between.byte_s;
}

static double sparcml_seconds(const struct sg_net *net, const struct sg_traffic *t, double messages) {
    (void)messages;
    return net_sparcml.seconds(net, t);
}

/* log2 of the number of ways to choose k of d positions is at most k log2(e d / k). */
static double entropy_seconds(const struct sg_net *net, const struct sg_traffic *t, double messages) {
    static const double log2_e = 1.4426950408889634;
    const double k = t->most / ENTRY_BYTES, d = vector_elements(t);
    const double bits = k > 0 ? k * (32 + log2(d / k) + log2_e) : 0;
    const struct sg_traffic coded = sg_traffic_equal(bits / 8, net->workers, t->dense);
    (void)messages;
    return net_all_gather.seconds(net, &coded);
}

static double messages_seconds(const struct sg_net *net, const struct sg_traffic *t, double messages) {
    (void)net, (void)t;
    return messages;
}

#define SERIES(name) "burst_" name, "burst_" name "_workers"
const struct sg_burst_cost sg_burst_table[SG_BURSTS] = {
    {SERIES("linear"), "an all-gather, none of it hidden", 0, 0, all_gather_seconds},
    {SERIES("half_hidden"), "an all-gather, of which computation hides half of the mean step's", 1, 0.5,
     all_gather_seconds},
    {SERIES("hidden"), "an all-gather, of which computation hides all of the mean step's", 1, 1, all_gather_seconds},
    {SERIES("dense_switch"), "an all-gather, or a ring of dense vectors where that is shorter", -1, 0,
     dense_switch_seconds},
    {SERIES("union"), "one message with the positions of all workers, each once", -1, 0, union_seconds},
    {SERIES("sparcml"), "sums of sparse messages, pair by pair, dense where that is shorter", -1, 0, sparcml_seconds},
    {SERIES("entropy"), "an all-gather of floats and entropy-coded positions", -1, 0, entropy_seconds},
    {SERIES("messages"), "exchanges of single layers, which are left out if nobody has entries", -1, 0,
     messages_seconds},
};

void sg_burst_gaps(double *gap, const double *seconds, const double *of_mean, size_t steps, double hidden) {
    static const double rounding = 1e-12;
    const double window_s = steps > 0 ? hidden * of_mean[steps - 1] : 0;
    struct sg_sum sum = {0, 0};
    for (size_t t = 0; t < steps; t++) {
        sg_sum_add(&sum, fmax(0, seconds[t] - window_s));
        const double of_bursts = sg_sum_total(&sum) / (double)(t + 1), even = fmax(0, of_mean[t] - window_s);
        gap[t] = of_mean[t] > 0 ? (of_bursts - even) / of_mean[t] : 0;
        gap[t] = fabs(gap[t]) < rounding ? 0 : gap[t];
    }
}

/* net_nccl.c: NCCL's own estimate of the time of an all-reduce, by which it chooses among its algorithms.
 *
 * The constants and rules are those of src/graph/tuning.cc, commit 5067397, for Ampere and Intel's processors; times
 * there are in microseconds and bandwidths in GB/s. Left out are NVLS, CollNet, PAT, NVLSTree, Power and the network
 * plug-in's own latency. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "net_private.h"

static const double base_us[SG_NCCL_ALGORITHMS][SG_NCCL_PROTOCOLS] = {{6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}};

enum hop { NVLINK, PCIE, NETWORK };
static const double hop_us[][SG_NCCL_ALGORITHMS][SG_NCCL_PROTOCOLS] = {
    [NVLINK] = {{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}},
    [PCIE] = {{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}},
    [NETWORK] = {{5.0, 8.5, 14}, {2.7, 4.0, 14.0}},
};

/* Caps in GB/s, for one, two and more nodes; that of LL128 is a channel's. */
static const double ll_cap[] = {87.7, 39.0, 20.4}, tree_cap[] = {24.0, 23.6, 17.8}, ll128_cap = 20.0;

/* What trees reach of their bandwidth, from 64 bytes on in powers of two. */
enum { TREE_SIZES = 23 };
static const double tree_share[SG_NCCL_PROTOCOLS][TREE_SIZES] = {
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9},
};

/* The rate in GB/s at which the vector's own bytes are reduced. */
static double rate(const struct sg_nccl *m, enum sg_nccl_algorithm a, enum sg_nccl_protocol p) {
    const size_t size = m->nodes <= 2 ? m->nodes - 1 : 2;
    const double channels = (double)m->channels, ranks = (double)m->ranks;
    double bus = channels * m->channel_bytes_per_s / 1e9;
    if (a == SG_NCCL_RING) {
        if (p == SG_NCCL_LL)
            bus = fmin(ll_cap[size], bus / 2);
        if (p == SG_NCCL_LL128)
            bus = fmin(bus * 0.92, channels * ll128_cap);
        return bus * ranks / (2 * (ranks - 1));
    }
    bus = fmin(bus * 0.92, channels * tree_cap[size]);
    if (p == SG_NCCL_LL)
        bus = fmin(bus / 3.8, ll_cap[size]);
    if (p == SG_NCCL_LL128)
        bus = fmin(bus * (m->nodes == 1 ? 7.0 / 9 : 120.0 / 128), channels * ll128_cap);
    return bus / 2;
}

static double latency_us(const struct sg_nccl *m, enum sg_nccl_algorithm a, enum sg_nccl_protocol p) {
    const double each = (double)m->ranks / (double)m->nodes;
    double within = hop_us[m->nvlink ? NVLINK : PCIE][a][p];
    /* With one GPU a node, nothing hides the network's latency, and all algorithms have that of trees. */
    const double between = hop_us[NETWORK][m->ranks == m->nodes ? SG_NCCL_TREE : a][p];
    if (a == SG_NCCL_TREE)
        return base_us[a][p] + 2 * ((floor(each) - 1) * within + net_log2_floor(m->nodes) * between);
    const double steps = 2 * (double)(m->ranks - 1), crossing = 2 * (double)(m->nodes - 1);
    if (m->nodes > 1) /* a ring launches every step */
        within = fmax(within, p == SG_NCCL_SIMPLE ? 3 : 1);
    return base_us[a][p] + (steps - crossing) * within + crossing * between;
}

double sg_nccl_seconds(const struct sg_nccl *m, enum sg_nccl_algorithm a, enum sg_nccl_protocol p, double bytes) {
    double gbyte_per_s = rate(m, a, p), us = latency_us(m, a, p);
    const int size = bytes >= 64 ? (int)floor(log2(bytes / 64)) : 0; /* NCCL's log2i(0) is 0 */
    if (a == SG_NCCL_TREE && size < TREE_SIZES)
        gbyte_per_s *= tree_share[p][size];
    if (a == SG_NCCL_RING && p == SG_NCCL_SIMPLE && m->nodes > 1 && bytes / (double)(m->channels * m->ranks) >= 64)
        us *= 1.4;
    return us * 1e-6 + bytes / (gbyte_per_s * 1e9);
}

double sg_nccl_fastest(const struct sg_nccl *machine, double bytes) {
    double least = INFINITY;
    for (int a = 0; a < SG_NCCL_ALGORITHMS; a++)
        for (int p = 0; p < SG_NCCL_PROTOCOLS; p++)
            least = fmin(least, sg_nccl_seconds(machine, (enum sg_nccl_algorithm)a, (enum sg_nccl_protocol)p, bytes));
    return least;
}

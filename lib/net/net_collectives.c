/* net_collectives.c: the costs of collectives in which all messages have one length. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "net_private.h"
#include "sg_debug.h"
#include "sg_row.h"

/* The largest of x [n] and their sum. */
static void survey(const double *x, size_t n, double *largest, double *sum) {
    enum { PARTS = 8 };
    double most[PARTS] = {0}, total[PARTS] = {0};
    const size_t whole = n - n % PARTS;
    for (size_t i = 0; i < whole; i += PARTS)
        for (size_t p = 0; p < PARTS; p++) {
            most[p] = x[i + p] > most[p] ? x[i + p] : most[p];
            total[p] += x[i + p];
        }
    for (size_t i = whole; i < n; i++) {
        most[0] = x[i] > most[0] ? x[i] : most[0];
        total[0] += x[i];
    }
    *largest = *sum = 0;
    for (size_t p = 0; p < PARTS; p++) {
        *largest = fmax(*largest, most[p]);
        *sum += total[p];
    }
}

struct sg_traffic sg_traffic_of(const double *bytes, size_t senders, size_t workers, double dense) {
    struct sg_traffic out = {.bytes = bytes, .senders = senders, .dense = dense};
    double unused, rest = 0;
    SG_ASSERT(senders >= 1 && senders <= workers);
    survey(bytes, senders, &out.most, &out.sum);
    if (workers % senders != 0)
        survey(bytes, workers % senders, &unused, &rest);
    out.sum = out.sum * (double)(workers / senders) + rest;
    return out;
}

struct sg_traffic sg_traffic_equal(double bytes, size_t workers, double dense) {
    return (struct sg_traffic){.most = bytes, .sum = bytes * (double)workers, .dense = dense, .senders = 1};
}

unsigned net_log2_floor(size_t n) {
    unsigned out = 0;
    while (n >>= 1)
        out++;
    return out;
}

unsigned net_log2_ceil(size_t n) {
    return net_log2_floor(n) + ((n & (n - 1)) != 0);
}

/* Seconds of a message of `bytes` bytes. */
static double sent(const struct sg_link *link, double bytes) {
    return link->alpha_s + bytes * link->byte_s;
}

static double ring_of(const struct sg_link *link, double workers, double bytes, double sum_s) {
    return (workers - 1) * (2 * sent(link, bytes / workers) + bytes / workers * sum_s);
}

static double ring_seconds(const struct sg_net *net, const struct sg_traffic *t) {
    return ring_of(&net->between, (double)net->workers, t->most, net->sum_s);
}

static double reduce_scatter_seconds(const struct sg_net *net, const struct sg_traffic *t) {
    const double part = t->most / (double)net->workers;
    return (double)(net->workers - 1) * (sent(&net->between, part) + part * net->sum_s);
}

/* Workers beyond a power of two give their message to another one first, and get the sum at the end. */
static double folded(const struct sg_net *net, double bytes, double exchanges) {
    const bool whole = (net->workers & (net->workers - 1)) == 0;
    return exchanges + (whole ? 0 : 2 * sent(&net->between, bytes) + bytes * net->sum_s);
}

static double doubling_seconds(const struct sg_net *net, const struct sg_traffic *t) {
    return folded(net, t->most, net_log2_floor(net->workers) * (sent(&net->between, t->most) + t->most * net->sum_s));
}

static double rabenseifner_seconds(const struct sg_net *net, const struct sg_traffic *t) {
    const double p = ldexp(1, (int)net_log2_floor(net->workers)), moved = (p - 1) / p * t->most;
    return folded(net, t->most,
                  2 * (log2(p) * net->between.alpha_s + moved * net->between.byte_s) + moved * net->sum_s);
}

static double pat_seconds(const struct sg_net *net, const struct sg_traffic *t) {
    const double p = (double)net->workers, moved = (p - 1) / p * t->most;
    return 2 * (net_log2_ceil(net->workers) * net->between.alpha_s + moved * net->between.byte_s) + moved * net->sum_s;
}

/* Half of the vector goes up and down each of two trees, in which everyone's links are busy both ways. A worker that is
 * inside one tree gets two halves from its children and one from above, and another one as a leaf of the other tree.
 * Two workers have no one inside and get one vector in all, three get one and a half. */
static double tree_seconds(const struct sg_net *net, const struct sg_traffic *t) {
    static const double efficiency = 0.92; /* of NCCL's model */
    return net->workers == 1 ? 0
                             : 2 * net_log2_ceil(net->workers) * net->between.alpha_s +
                                   fmin(2, (double)net->workers / 2) * t->most * net->between.byte_s / efficiency +
                                   t->most * net->sum_s;
}

static double two_rings_seconds(const struct sg_net *net, const struct sg_traffic *t) {
    const struct sg_traffic half = sg_traffic_equal(t->most / 2, net->workers, t->dense / 2);
    return 2 * ring_seconds(net, &half);
}

static double two_round_seconds(const struct sg_net *net, const struct sg_traffic *t) {
    return ring_of(&net->between, (double)net->workers, t->most, 0);
}

static double gtopk_seconds(const struct sg_net *net, const struct sg_traffic *t) {
    return 2 * net_log2_ceil(net->workers) * sent(&net->between, t->most);
}

static double oktopk_seconds(const struct sg_net *net, const struct sg_traffic *t) {
    const double p = (double)net->workers;
    return net->workers == 1
               ? 0
               : (2 * p + 2 * log2(p)) * net->between.alpha_s + 3 * (p - 1) / p * (t->sum / p) * net->between.byte_s;
}

/* K: all workers are servers unless a number is given, and one server is no worker. */
static double servers(const struct sg_net *net, bool outside) {
    return net->servers > 0 ? (double)net->servers : outside ? 1 : (double)net->workers;
}

/* Messages of `up` bytes to a server in so many turns, and `down` bytes back. */
static double served(const struct sg_net *net, double turns, double up, double down) {
    return 2 * turns * net->between.alpha_s + (up + down) * net->between.byte_s + up * net->sum_s;
}

static double server_seconds(const struct sg_net *net, const struct sg_traffic *t) {
    const double others = (double)(net->workers - 1), part = t->most / servers(net, false);
    return served(net, others, others * part, others * part);
}

/* Every worker has a link to the server and sends at once, so start-ups count once. The server's link is as wide as K
 * of them and carries all messages, and the sum P times. */
static double star_seconds(const struct sg_net *net, const struct sg_traffic *t) {
    const double k = servers(net, true);
    const double sum = t->unions ? fmin(net_union_bytes(net, t), t->dense) : t->most;
    return net->workers == 1 ? 0 : served(net, 1, fmax(t->most, t->sum / k), (double)net->workers * sum / k);
}

/* Sums within nodes, between nodes, and back. */
static void levels(const struct sg_net *net, double bytes, double *within_s, double *between_s) {
    const double nodes = (double)net->nodes, gpus = (double)net->workers / nodes;
    const double ports = fmin((double)net->ports, gpus);
    SG_ASSERT(net->nodes > 0 && net->workers % net->nodes == 0 && net->ports > 0);
    *within_s = ring_of(&net->within, gpus, bytes, net->sum_s);
    /* The node's workers send their parts at the same time, through its ports. */
    *between_s = (nodes - 1) * (2 * sent(&net->between, bytes / nodes / ports) + bytes / nodes / gpus * net->sum_s);
}

static double hierarchical_seconds(const struct sg_net *net, const struct sg_traffic *t) {
    double within_s, between_s;
    levels(net, t->most, &within_s, &between_s);
    return within_s + between_s;
}

static double pipelined_seconds(const struct sg_net *net, const struct sg_traffic *t) {
    double within_s, between_s;
    levels(net, t->most, &within_s, &between_s);
    return fmax(within_s, between_s);
}

static double nccl_seconds(const struct sg_net *net, const struct sg_traffic *t) {
    enum { CHANNELS = 2 }; /* for one network port; only the caps of NCCL's trees depend on it */
    const bool alone = net->nodes == 1;
    const double slowest_byte_s =
        alone ? net->within.byte_s : fmax(net->within.byte_s, net->between.byte_s / (double)net->ports);
    const struct sg_nccl machine = {
        .ranks = net->workers,
        .nodes = net->nodes,
        .nvlink = net->within.byte_s < 1 / 40e9, /* PCIe 4 has 31 GB/s */
        .channels = CHANNELS,
        .channel_bytes_per_s = 1 / slowest_byte_s / CHANNELS,
    };
    return net->workers == 1 ? 0 : sg_nccl_fastest(&machine, t->most);
}

double sg_net_pieces_seconds(const struct sg_net_piece *piece, size_t n, double bytes) {
    size_t i = 0;
    while (i + 1 < n && piece[i + 1].bytes <= bytes)
        i++;
    return piece[i].alpha_s + bytes * piece[i].byte_s;
}

static double measured_seconds(const struct sg_net *net, const struct sg_traffic *t) {
    return net->workers == 1 ? 0 : sg_net_pieces_seconds(net->piece, net->n_pieces, t->most);
}

#define THAKUR "Thakur, Rabenseifner and Gropp, IJHPCA 2005"

const struct sg_collective net_ring = {
    .name = "ring",
    .summary = "all-reduce by a ring",
    .source = THAKUR,
    .formula = "2(P-1)(alpha + S/P beta) + (P-1)/P S gamma",
    .sums = true,
    .seconds = ring_seconds,
};
const struct sg_collective net_recursive_doubling = {
    .name = "recursive-doubling",
    .summary = "all-reduce by recursive doubling, for small vectors",
    .source = THAKUR,
    .formula = "log2(P) (alpha + S beta + S gamma)",
    .sums = true,
    .seconds = doubling_seconds,
};
const struct sg_collective net_pat = {
    .name = "pat",
    .summary = "all-reduce as reduce-scatter and all-gather by parallel aggregated trees, for any number of workers",
    .source = "Jeaugey, arXiv 2506.20252, for NCCL 2.23; the formula is ours, from its abstract",
    .formula = "2 ceil(log2(P)) alpha + 2(P-1)/P S beta + (P-1)/P S gamma",
    .sums = true,
    .seconds = pat_seconds,
};
const struct sg_collective net_tree = {
    .name = "tree",
    .summary = "all-reduce by two binary trees",
    .source = "Sanders, Speck and Traeff, Parallel Computing 2009; NCCL's tuning.cc",
    .formula = "2 log2(P) alpha + min(2, P/2) S beta / 0.92 + S gamma",
    .sums = true,
    .seconds = tree_seconds,
};
const struct sg_collective net_two_round = {
    .name = "two-round",
    .summary = "each worker adds up one part of compressed vectors and sends it compressed again",
    .source = "Tang et al., 1-bit Adam, ICML 2021",
    .formula = "2(P-1)(alpha + m/P beta)",
    .sums = true,
    .decodes = SG_DECODES_TWICE,
    .seconds = two_round_seconds,
};

static const void *const collectives[] = {
    &net_auto,
    &net_auto_gather,
    &net_auto_two_round,
    &net_ring,
    &net_recursive_doubling,
    &(const struct sg_collective){
        .name = "rabenseifner",
        .summary = "all-reduce by recursive halving and doubling",
        .source = THAKUR,
        .formula = "2 log2(P) alpha + 2(P-1)/P S beta + (P-1)/P S gamma",
        .sums = true,
        .seconds = rabenseifner_seconds,
    },
    &net_pat,
    &net_tree,
    &(const struct sg_collective){
        .name = "reduce-scatter",
        .summary = "each worker gets the sum of one part, by a ring",
        .source = THAKUR,
        .formula = "(P-1)(alpha + S/P (beta + gamma))",
        .sums = true,
        .partial = true,
        .seconds = reduce_scatter_seconds,
    },
    &net_all_gather,
    &net_all_gather_doubling,
    &net_all_gather_bruck,
    &net_all_gather_padded,
    &net_sparcml,
    &(const struct sg_collective){
        .name = "gtopk",
        .summary = "a tree that keeps k entries at every merge, and a broadcast",
        .source = "Shi et al., gTop-k, ICDCS 2019",
        .formula = "2 log2(P) (alpha + m beta)",
        .sums = true,
        .decodes = SG_DECODES_LOG,
        .seconds = gtopk_seconds,
    },
    &(const struct sg_collective){
        .name = "ok-topk",
        .summary = "balanced sparse reduce-scatter and all-gather, at most",
        .source = "Li and Hoefler, Ok-Topk, PPoPP 2022",
        .formula = "(2P + 2 log2(P)) alpha + 3(P-1)/P m beta, m the mean message",
        .decodes = SG_DECODES_TWICE,
        .seconds = oktopk_seconds,
    },
    &net_two_round,
    &(const struct sg_collective){
        .name = "two-rings",
        .summary = "two all-reduces, of which the second needs the first, as PowerSGD's",
        .source = "Vogels, Karimireddy and Jaggi, NeurIPS 2019",
        .formula = "4(P-1) alpha + 2(P-1)/P m beta + (P-1)/P m gamma",
        .sums = true,
        .seconds = two_rings_seconds,
    },
    &(const struct sg_collective){
        .name = "parameter-server",
        .summary = "K servers among the workers gather and send back one part each",
        .source = "Bai et al., HiPress, SOSP 2021",
        .formula = "(P-1)(2 alpha + S/K (2 beta + gamma))",
        .sums = true,
        .decodes = SG_DECODES_SERVED,
        .seconds = server_seconds,
    },
    &(const struct sg_collective){
        .name = "star",
        .summary =
            "a server outside the workers, whose link is as wide as K workers' (1 if servers is absent), gets all "
            "messages and sends the sum to each worker",
        .source =
            "the set-up of Xu et al., DeepReduce, NeurIPS 2021; the formula is ours, that of parameter-server with "
            "messages of P workers, not P-1, and start-ups at the same time",
        .formula = "2 alpha + max(max_w m_w, sum_w m_w / K) beta + P u / K beta, u the union of the messages",
        .sums = true,
        .outside = true,
        .decodes = SG_DECODES_SERVED,
        .seconds = star_seconds,
    },
    &(const struct sg_collective){
        .name = "hierarchical",
        .summary = "all-reduce within nodes, between nodes, and back, one after the other",
        .source = "Cho et al., BlueConnect, MLSys 2019",
        .formula = "ring(G, S) within + ring(N, S/ports) between",
        .sums = true,
        .seconds = hierarchical_seconds,
    },
    &(const struct sg_collective){
        .name = "hierarchical-pipelined",
        .summary = "the same with all levels busy at once, the least it can take",
        .source = "the larger of the two terms of hierarchical",
        .formula = "max of the two",
        .sums = true,
        .seconds = pipelined_seconds,
    },
    &(const struct sg_collective){
        .name = "nccl",
        .summary = "all-reduce with the algorithm and protocol that NCCL's own model thinks fastest",
        .source = "NCCL's src/graph/tuning.cc, commit 5067397",
        .formula = "min over tree and ring, LL, LL128 and Simple",
        .sums = true,
        .seconds = nccl_seconds,
    },
    &net_open_mpi,
    &net_open_mpi_gather,
    &(const struct sg_collective){
        .name = "measured",
        .summary = "all-reduce whose measured times are given as straight pieces",
        .source = "the user's own measurement",
        .formula = "alpha_i + S beta_i",
        .sums = true,
        .partial = true,
        .seconds = measured_seconds,
    },
};
static const struct sg_rows collective_rows = SG_ROWS(collectives);

const struct sg_collective *sg_collective_at(size_t i) {
    return sg_row_at(&collective_rows, i);
}

const struct sg_collective *sg_collective_find(const char *name) {
    return sg_row_find(&collective_rows, name);
}

double sg_collective_decoded(const struct sg_collective *collective, const struct sg_net *net) {
    switch (collective->decodes) {
    case SG_DECODES_ALL:
        return (double)net->workers;
    case SG_DECODES_LOG:
        return fmax(1, net_log2_ceil(net->workers));
    case SG_DECODES_TWICE:
        return 2;
    case SG_DECODES_SERVED:
        return 1 + (double)net->workers / servers(net, collective->outside);
    default:
        return 1;
    }
}

double sg_collective_encoded(const struct sg_collective *collective, const struct sg_net *net) {
    return collective->decodes == SG_DECODES_TWICE    ? 1 + 1 / (double)net->workers
           : collective->decodes == SG_DECODES_SERVED ? 1 + 1 / servers(net, collective->outside)
                                                      : 1;
}

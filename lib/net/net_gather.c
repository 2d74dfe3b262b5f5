/* net_gather.c: the costs of collectives in which messages differ in length. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "net_private.h"

static double length(const struct sg_traffic *t, size_t worker) {
    return t->bytes ? t->bytes[worker < t->senders ? worker : worker % t->senders] : t->most;
}

/* Every message passes through every worker but one. The largest one needs (P-1) hops, each as long as any step, so no
 * order of sending is faster unless messages are cut. */
static double ring_seconds(const struct sg_net *net, const struct sg_traffic *t) {
    return (double)(net->workers - 1) * (net->between.alpha_s + t->most * net->between.byte_s);
}

/* Block i of a worker's room goes to the worker i before it, twice as many at every step. */
static double bruck_seconds(const struct sg_net *net, const struct sg_traffic *t) {
    return net_log2_ceil(net->workers) * net->between.alpha_s +
           (double)(net->workers - 1) * t->most * net->between.byte_s;
}

/* Lengths first, as 8 bytes of each worker, then all messages as long as the largest. */
static double padded_seconds(const struct sg_net *net, const struct sg_traffic *t) {
    const struct sg_traffic lengths = sg_traffic_equal(8, net->workers, 8);
    return ring_seconds(net, &lengths) + ring_seconds(net, t);
}

/* A group of workers that all have each other's messages, from ready_s on. */
struct group {
    double ready_s;
    double bytes; /* of all its messages */
    double empty; /* the share of positions that no message has, if positions are drawn independently */
};

/* The properties of an exchange that its cost depends on. */
struct exchange {
    double alpha_s, byte_s;
    double dense; /* bytes of a vector without compression */
    bool unions;  /* messages are added up on their way: 8 bytes an entry, or a dense vector where that is shorter */
};

static inline double larger(double a, double b) { /* unlike fmax, one instruction */
    return a > b ? a : b;
}

static inline double sent_bytes(const struct exchange *x, double bytes, double empty) {
    const double sparse = 2 * x->dense * (1 - empty);
    return !x->unions ? bytes : sparse < x->dense ? sparse : x->dense;
}

/* Both send at the same time, so the longer message counts. */
static inline struct group joined(const struct exchange *x, struct group a, struct group b) {
    const double longer = larger(sent_bytes(x, a.bytes, a.empty), sent_bytes(x, b.bytes, b.empty));
    return (struct group){
        .ready_s = larger(a.ready_s, b.ready_s) + x->alpha_s + longer * x->byte_s,
        .bytes = a.bytes + b.bytes,
        .empty = a.empty * b.empty,
    };
}

enum { BLOCK = 256 };
struct groups {
    double ready_s[BLOCK], bytes[BLOCK], empty[BLOCK];
};

static struct group of_groups(const struct groups *g, size_t i) {
    return (struct group){g->ready_s[i], g->bytes[i], g->empty[i]};
}

/* Neighbours of the n groups in `from` exchange what they have. */
static void pair_up(const struct exchange *x, const struct groups *restrict from, struct groups *restrict to,
                    size_t n) {
    for (size_t i = 0; i < n / 2; i++) {
        const struct group g = joined(x, of_groups(from, 2 * i), of_groups(from, 2 * i + 1));
        to->ready_s[i] = g.ready_s;
        to->bytes[i] = g.bytes;
        to->empty[i] = g.empty;
    }
}

/* n neighbours, a power of two up to BLOCK. A worker of the second half of all may have given its message before. */
static struct group block(const struct exchange *x, const struct sg_net *net, const struct sg_traffic *t, size_t whole,
                          size_t first, size_t n) {
    struct groups room[2];
    const double entries = t->dense > 0 ? 1 / (2 * t->dense) : 0;
    for (size_t i = 0; i < n; i++) {
        room[0].ready_s[i] = 0;
        room[0].bytes[i] = length(t, first + i);
        room[0].empty[i] = larger(0, 1 - length(t, first + i) * entries);
    }
    for (size_t w = first + whole; w < net->workers && w < first + n + whole; w++) {
        const double bytes = length(t, w), empty = larger(0, 1 - bytes * entries);
        room[0].ready_s[w - first - whole] = x->alpha_s + sent_bytes(x, bytes, empty) * x->byte_s;
        room[0].bytes[w - first - whole] += bytes;
        room[0].empty[w - first - whole] *= empty;
    }
    size_t now = 0;
    for (; n > 1; n /= 2, now = !now)
        pair_up(x, &room[now], &room[!now], n);
    return of_groups(&room[now], 0);
}

/* All groups joined, of messages that differ: in blocks, whose groups wait for their neighbours, one a level. */
static struct group distinct(const struct exchange *x, const struct sg_net *net, const struct sg_traffic *t,
                             size_t whole) {
    struct group waiting[8 * sizeof(size_t)] = {{0}};
    const size_t n = whole < BLOCK ? whole : BLOCK;
    unsigned level = 0;
    for (size_t b = 0; b < whole / n; b++) {
        struct group g = block(x, net, t, whole, b * n, n);
        level = 0;
        for (size_t left = b; left & 1; left >>= 1, level++)
            g = joined(x, waiting[level], g);
        waiting[level] = g;
    }
    return waiting[level];
}

/* One worker as a group, with the message of the worker `behind` it unless that is 0. */
static struct group alone(const struct exchange *x, const struct sg_traffic *t, size_t first, size_t behind) {
    const double entries = t->dense > 0 ? 1 / (2 * t->dense) : 0, own = length(t, first);
    const struct group g = {0, own, larger(0, 1 - own * entries)};
    if (behind == 0)
        return g;
    const double other = length(t, first + behind), empty = larger(0, 1 - other * entries);
    return (struct group){x->alpha_s + sent_bytes(x, other, empty) * x->byte_s, own + other, g.empty * empty};
}

/* Next level of a cycle: the group that begins at worker w is that of the cycle's entry w mod n. */
static void cycle_up(const struct exchange *x, struct group *cycle, size_t n, size_t apart) {
    struct group before[BLOCK];
    memcpy(before, cycle, n * sizeof *cycle);
    for (size_t i = 0, other = apart % n; i < n; i++, other = other + 1 < n ? other + 1 : 0)
        cycle[i] = joined(x, before[i], before[other]);
}

/* The same for messages that repeat after t->senders workers, up to BLOCK. At every level, a group is one
 * of as many as there are senders, by its first worker: `single` if none of its workers has got another's message,
 * `both` if all have. `mixed` is the one group in which the first ones have. */
static struct group repeated(const struct exchange *x, const struct sg_net *net, const struct sg_traffic *t,
                             size_t whole) {
    struct group single[BLOCK], both[BLOCK];
    const size_t n = t->senders, extra = net->workers - whole;
    for (size_t i = 0; i < n; i++) {
        single[i] = alone(x, t, i, 0);
        both[i] = alone(x, t, i, extra > 0 ? whole : 0);
    }
    struct group mixed = single[extra % n]; /* it begins with the first worker that has none */
    for (size_t apart = 1; apart < whole; apart *= 2) {
        const size_t begin = extra / (2 * apart) * (2 * apart), middle = begin + apart;
        mixed = extra >= middle ? joined(x, both[begin % n], mixed) : joined(x, mixed, single[middle % n]);
        cycle_up(x, single, n, apart);
        if (extra > 0)
            cycle_up(x, both, n, apart);
    }
    return mixed;
}

/* The time when the last worker has everything: at level i, groups of 2^i neighbours exchange what they have. Workers
 * beyond the largest power of two give theirs to one of the others before, and get everything at the end. */
static double doubling(const struct sg_net *net, const struct sg_traffic *t, bool unions) {
    const struct exchange x = {net->between.alpha_s, net->between.byte_s, t->dense, unions};
    const size_t whole = (size_t)1 << net_log2_floor(net->workers);
    const bool repeats = t->senders <= BLOCK && t->senders < whole / 2;
    const struct group all = repeats ? repeated(&x, net, t, whole) : distinct(&x, net, t, whole);
    return all.ready_s + (whole < net->workers ? x.alpha_s + sent_bytes(&x, all.bytes, all.empty) * x.byte_s : 0);
}

static double doubling_seconds(const struct sg_net *net, const struct sg_traffic *t) {
    return doubling(net, t, false);
}

static double sparcml_seconds(const struct sg_net *net, const struct sg_traffic *t) {
    return doubling(net, t, true);
}

const struct sg_collective net_all_gather = {
    .name = "all-gather",
    .summary = "every worker gets every message, by a ring; the largest message counts",
    .source = "Thakur, Rabenseifner and Gropp, IJHPCA 2005, with messages of unequal length",
    .formula = "(P-1)(alpha + max_w m_w beta)",
    .decodes = SG_DECODES_ALL,
    .seconds = ring_seconds,
};
const struct sg_collective net_all_gather_doubling = {
    .name = "all-gather-doubling",
    .summary = "every worker gets every message, by recursive doubling",
    .source = "Thakur, Rabenseifner and Gropp, IJHPCA 2005, with messages of unequal length",
    .formula = "log2(P) alpha + (P-1) m beta; the critical path if messages differ",
    .decodes = SG_DECODES_ALL,
    .seconds = doubling_seconds,
};
const struct sg_collective net_all_gather_bruck = {
    .name = "all-gather-bruck",
    .summary =
        "every worker gets every message in log2(P) steps, for any number of workers; the largest message counts",
    .source = "Thakur, Rabenseifner and Gropp, IJHPCA 2005",
    .formula = "ceil(log2(P)) alpha + (P-1) max_w m_w beta",
    .decodes = SG_DECODES_ALL,
    .seconds = bruck_seconds,
};
const struct sg_collective net_all_gather_padded = {
    .name = "all-gather-padded",
    .summary = "lengths first, then messages padded to the largest one, as frameworks do",
    .source = "torch.distributed.all_gather needs equal lengths",
    .formula = "(P-1)(2 alpha + (8 + max_w m_w) beta)",
    .decodes = SG_DECODES_ALL,
    .seconds = padded_seconds,
};
const struct sg_collective net_sparcml = {
    .name = "sparcml",
    .summary = "sparse sums by recursive doubling, dense once that is shorter; positions as if drawn independently",
    .source = "Renggli et al., SparCML, SC 2019",
    .formula = "log2(P) alpha + sum_i min(8 u_i, 4 d) beta, u_i the union after i merges",
    .decodes = SG_DECODES_ALL,
    .seconds = sparcml_seconds,
};

/* net_auto.c: collectives that a library chooses by the length of the messages, as NCCL and MPI do: the fastest of
 * several ways to do the same exchange. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "net_private.h"

static double fastest(const struct sg_collective *const *of, const struct sg_net *net, const struct sg_traffic *t) {
    double least_s = INFINITY;
    for (; *of; of++)
        least_s = fmin(least_s, (*of)->seconds(net, t));
    return least_s;
}

static double sum_seconds(const struct sg_net *net, const struct sg_traffic *t) {
    static const struct sg_collective *const of[] = {&net_ring, &net_recursive_doubling, &net_tree, &net_pat, NULL};
    return fastest(of, net, t);
}

static double gather_seconds(const struct sg_net *net, const struct sg_traffic *t) {
    static const struct sg_collective *const of[] = {&net_all_gather, &net_all_gather_doubling, &net_all_gather_bruck,
                                                     NULL};
    return fastest(of, net, t);
}

/* Two rounds with a logarithmic number of messages are those of such an all-reduce, without its sums. */
static double two_round_seconds(const struct sg_net *net, const struct sg_traffic *t) {
    static const struct sg_collective *const of[] = {&net_two_round, &net_pat, NULL};
    struct sg_net codes = *net;
    codes.sum_s = 0;
    return fastest(of, &codes, t);
}

#define CHOICE "the choice is that of NCCL and MPI; each formula is in its own row"

const struct sg_collective net_auto = {
    .name = "auto",
    .summary = "all-reduce by the fastest of ring, recursive-doubling, tree and pat",
    .source = CHOICE,
    .formula = "min(ring, recursive-doubling, tree, pat)",
    .sums = true,
    .seconds = sum_seconds,
};
const struct sg_collective net_auto_gather = {
    .name = "auto-gather",
    .summary =
        "every worker gets every message, by the fastest of all-gather, all-gather-doubling and all-gather-bruck",
    .source = CHOICE,
    .formula = "min(all-gather, all-gather-doubling, all-gather-bruck)",
    .decodes = SG_DECODES_ALL,
    .seconds = gather_seconds,
};
const struct sg_collective net_auto_two_round = {
    .name = "auto-two-round",
    .summary = "two rounds of compressed parts, by the faster of a ring and of pat",
    .source = CHOICE,
    .formula = "min(two-round, pat with gamma = 0)",
    .sums = true,
    .decodes = SG_DECODES_TWICE,
    .seconds = two_round_seconds,
};

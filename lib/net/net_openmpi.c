/* net_openmpi.c: the exchanges of this program's own ranks over Open MPI (lib/comm). Ranks first gather notes about
 * their messages, and then move these by the algorithms that Open MPI chooses for so many ranks and bytes. A rank has
 * one worker here. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "net_private.h"

/* Where a network has measured pieces, they take the place of alpha and beta. */
static double sent(const struct sg_net *net, double bytes) {
    return net->n_pieces ? sg_net_pieces_seconds(net->piece, net->n_pieces, bytes)
                         : net->between.alpha_s + bytes * net->between.byte_s;
}

/* ---- MPI_Allgatherv ---- */

/* All messages at the first rank, and back as one down a tree of depth 2 for 3 to 15 ranks. Its branches are taken to
 * be those of a tree in which every rank has three below it. */
static double by_tree(const struct sg_net *net, double bytes) {
    const double p = (double)net->workers, depth = fmax(2, ceil(log2(p) / 2));
    return sent(net, (p - 1) * bytes) + depth * sent(net, p * bytes);
}

static double by_ring(const struct sg_net *net, double bytes) {
    return (double)(net->workers - 1) * sent(net, bytes);
}

/* As many messages as there are pairs of neighbours, all but the first of two ranks. */
static double by_neighbours(const struct sg_net *net, double bytes) {
    return net->workers % 2 ? by_ring(net, bytes)
                            : sent(net, bytes) + (double)(net->workers / 2 - 1) * sent(net, 2 * bytes);
}

static double by_bruck(const struct sg_net *net, double bytes) {
    double out = 0;
    for (size_t have = 1; have < net->workers; have *= 2)
        out += sent(net, bytes * fmin((double)have, (double)(net->workers - have)));
    return out;
}

/* Which of them Open MPI 4.1.4 takes: that of the first row with fewer ranks and bytes of a rank than the row has. */
static const struct {
    double ranks, bytes;
    double (*seconds)(const struct sg_net *net, double bytes);
} choice[] = {
    {3, INFINITY, by_ring},       {8, 256, by_tree},           {8, 4096, by_neighbours},
    {8, 8192, by_ring},           {8, 16384, by_neighbours},   {8, 262144, by_bruck},
    {8, INFINITY, by_neighbours}, {16, 1024, by_tree},         {16, INFINITY, by_bruck},
    {32, 128, by_tree},           {32, 262144, by_bruck},      {32, INFINITY, by_ring},
    {64, 256, by_tree},           {64, 8192, by_bruck},        {64, INFINITY, by_ring},
    {128, 256, by_tree},          {128, 4096, by_bruck},       {128, INFINITY, by_ring},
    {256, 1024, by_bruck},        {256, 65536, by_neighbours}, {256, INFINITY, by_ring},
    {512, 1024, by_bruck},        {512, INFINITY, by_ring},    {1024, 512, by_bruck},
    {1024, 1024, by_tree},        {1024, 4096, by_bruck},      {1024, 1048576, by_neighbours},
    {1024, INFINITY, by_ring},    {INFINITY, 4096, by_bruck},  {INFINITY, INFINITY, by_neighbours},
};

static double gathered(const struct sg_net *net, double bytes) {
    size_t i = 0;
    while ((double)net->workers >= choice[i].ranks || bytes >= choice[i].bytes)
        i++;
    return net->workers == 1 ? 0 : choice[i].seconds(net, bytes);
}

/* ---- exchanges of lib/comm ---- */

static double noted(const struct sg_net *net) {
    static const double NOTE_BYTES = 104; /* of a worker: the size of its message, its status and what it reports */
    return gathered(net, NOTE_BYTES);
}

static double gather_seconds(const struct sg_net *net, const struct sg_traffic *t) {
    return noted(net) + gathered(net, t->most);
}

/* MPI_Alltoallv sends all parts at once, so their start-ups overlap; for some numbers of ranks one after another. */
static double dealt(const struct sg_net *net, double part) {
    const size_t p = net->workers;
    const double others = (double)(p - 1);
    const bool in_turn = p < 4 || (p >= 64 && p < 128) || (p >= 256 && p < 1024);
    return in_turn ? others * sent(net, part) : sent(net, others * part);
}

/* Every rank adds up one part of all vectors and sends the sum to all; or all get all vectors, where these are short.
 * Numbers are taken to be floats. */
static double sum_seconds(const struct sg_net *net, const struct sg_traffic *t) {
    static const double SHORT_BYTES = 4096; /* what lib/comm counts for a message more */
    const double part = t->most / (double)net->workers;
    if (net->workers == 1)
        return 0;
    if (SHORT_BYTES + 2 * part >= t->most)
        return gather_seconds(net, t);
    return noted(net) + dealt(net, part) + part * (double)(net->workers - 1) * net->sum_s + gathered(net, part);
}

#define SOURCE "coll_tuned_decision_fixed.c of Open MPI 4.1.4; the costs of its algorithms are ours"

const struct sg_collective net_open_mpi = {
    .name = "open-mpi",
    .summary = "sums as ranks of this program make them over Open MPI: notes first, then MPI_Alltoallv of the parts "
               "and MPI_Allgatherv of their sums",
    .source = SOURCE,
    .formula = "notes + alpha + (P-1)/P S (beta + gamma) + allgatherv(S/P)",
    .sums = true,
    .seconds = sum_seconds,
};
const struct sg_collective net_open_mpi_gather = {
    .name = "open-mpi-gather",
    .summary = "every rank gets every message as ranks of this program send them: notes first, then MPI_Allgatherv",
    .source = SOURCE,
    .formula = "notes + allgatherv(max_w m_w), by a tree, neighbours, a ring or Bruck's way",
    .decodes = SG_DECODES_ALL,
    .seconds = gather_seconds,
};

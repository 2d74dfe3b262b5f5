/* net_private.h: what the files of this room share. */
/* SPDX-License-Identifier: MIT */
#ifndef NET_PRIVATE_H
#define NET_PRIVATE_H

#include "sg_net.h"

/* The largest power of two that is at most n, and the smallest that is at least n; n >= 1. */
unsigned net_log2_floor(size_t n);
unsigned net_log2_ceil(size_t n);

/* net_collectives.c */
extern const struct sg_collective net_ring, net_recursive_doubling, net_pat, net_tree, net_two_round;

/* net_gather.c */
extern const struct sg_collective net_all_gather, net_all_gather_doubling, net_all_gather_bruck, net_all_gather_padded,
    net_sparcml;

/* net_bursts.c: the bytes of a sparse message that has all positions of these, each once. */
double net_union_bytes(const struct sg_net *net, const struct sg_traffic *traffic);

/* net_coding_cpu.c */
extern const struct sg_coding net_coding_cpu[];

/* net_openmpi.c */
extern const struct sg_collective net_open_mpi, net_open_mpi_gather;

/* net_auto.c */
extern const struct sg_collective net_auto, net_auto_gather, net_auto_two_round;

#endif

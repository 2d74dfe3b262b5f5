/* net_links.c: what messages cost on the links that clusters have.
 *
 * The bus bandwidth is that of a collective's bottleneck, which is below the line rate. alpha is that of one hop: what
 * an all-reduce of a small tensor takes divided by the 2(P-1) hops of its ring, so it has the share of the software. */
/* SPDX-License-Identifier: MIT */
#include "sg_net.h"
#include "sg_row.h"

#define GBIT_PER_S(rate)  (8 / ((rate)*1e9)) /* seconds a byte */
#define GBYTE_PER_S(rate) (1 / ((rate)*1e9))

#define DDL  "ddl-benchmarks, commit 30de09b: ring all-reduce of ResNet-50 and BERT on 8, 16 and 32 V100"
#define NCCL "constants of NCCL's tuning model, commit 5067397"
#define STAS "stas00/ml-engineering, commit 744d01e: NCCL's all-reduce on one node of 8 GPUs"

static const void *const links[] = {
    &(const struct sg_link){"1gbe", "Ethernet with 1 Gbit/s, TCP",
                            "NetPIPE on Gigabit Ethernet: 23 us one way, 0.9 Gbit/s", 25e-6, GBIT_PER_S(0.94), false},
    &(const struct sg_link){"10gbe-tcp", "Ethernet with 10 Gbit/s, TCP", DDL, 10e-6, GBIT_PER_S(9.2), false},
    &(const struct sg_link){"25gbe-tcp", "Ethernet with 25 Gbit/s, TCP", "between 10gbe-tcp and 100gbe-tcp", 10e-6,
                            GBIT_PER_S(17), true},
    &(const struct sg_link){"100gbe-tcp", "Ethernet with 100 Gbit/s, TCP, which one stream cannot fill", DDL, 12e-6,
                            GBIT_PER_S(18), false},
    &(const struct sg_link){"100g-rdma", "InfiniBand with 100 Gbit/s, bound by PCIe 3", DDL, 9e-6, GBIT_PER_S(40),
                            false},
    &(const struct sg_link){"100g-gpudirect", "InfiniBand with 100 Gbit/s into the GPUs' memory",
                            NCCL " (12 GB/s, 14 us a hop)", 14e-6, GBYTE_PER_S(12), false},
    &(const struct sg_link){"pcie3", "PCIe 3 with 16 lanes", NCCL " (12 GB/s, 5.7 us a hop)", 5.7e-6, GBYTE_PER_S(12),
                            false},
    &(const struct sg_link){"nvlink-v100", "NVLink 2 in a node of 8 V100",
                            "80 % of the 150 GB/s of its specification, as A100 and H200 reach", 4e-6, GBYTE_PER_S(120),
                            true},
    &(const struct sg_link){"nvlink-a100", "NVLink 3 in a node of 8 A100", STAS, 4e-6, GBYTE_PER_S(234.9), false},
    &(const struct sg_link){"nvlink-h100", "NVLink 4 in a node of 8 H100 or H200, rings", STAS, 4e-6,
                            GBYTE_PER_S(367.6), false},
    &(const struct sg_link){"wan-500m", "the internet: 50 ms, 500 Mbit/s", "an assumption", 50e-3, GBIT_PER_S(0.5),
                            true},
};
static const struct sg_rows link_rows = SG_ROWS(links);

const struct sg_link *sg_link_at(size_t i) {
    return sg_row_at(&link_rows, i);
}

const struct sg_link *sg_link_find(const char *name) {
    return sg_row_find(&link_rows, name);
}

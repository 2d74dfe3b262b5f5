/* net_partition.c: whether a tensor is better compressed, and cut into how many parts, as SeCoPa decides. */
#include <math.h>

#include "net_private.h"

static double cost_s(const struct sg_partition_cost *c, double numbers) {
    const double from = c->number_s > 0 ? fmax(0, (c->floor_s - c->alpha_s) / c->number_s) : 0;
    return numbers < from ? c->floor_s : c->alpha_s + numbers * c->number_s;
}

/* A tensor in k parts, of which every server or ring handles one at a time. */
static double parts_s(const struct sg_partition_costs *c, double numbers, size_t k, bool ring, bool compressed) {
    const double n = (double)c->workers, part = numbers / (double)k, sent = compressed ? part * c->ratio : part;
    double encodes = n, decodes = n, s = 2 * (n - 1) * cost_s(&c->ring_step, sent);
    if (!ring) {
        s = cost_s(&c->gather, sent) + cost_s(&c->broadcast, sent);
        encodes = fmin((double)k + 1, n);
        decodes = fmin(n - 1 + (double)k, 2 * (n - 1));
    }
    return compressed ? s + encodes * cost_s(&c->encode, part) + decodes * cost_s(&c->decode, sent) : s;
}

double sg_partition_seconds(const struct sg_partition_costs *costs, double numbers, bool ring, bool compressed,
                            size_t *partitions) {
    double least = INFINITY;
    *partitions = 1;
    for (size_t k = 1; k <= costs->workers; k++) {
        const double s = parts_s(costs, numbers, k, ring, compressed);
        if (s < least) {
            least = s;
            *partitions = k;
        }
    }
    return least;
}

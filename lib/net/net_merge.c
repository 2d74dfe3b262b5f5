/* net_merge.c: which layers MG-WFBP and PyTorch send together. */
#include <math.h>

#include "net_private.h"

static double exchange_s(double bytes, double alpha_s, double byte_s) {
    return bytes > 0 ? alpha_s + byte_s * bytes : 0;
}

/* The released code computes all starts anew after every merge. As a merge changes nothing that comes before it, one
 * pass with the start and length of the exchange at hand gives the same. */
size_t sg_net_merge(size_t *bucket, size_t layers, const double *backward_s, const double *bytes, double alpha_s,
                    double byte_s, double smallest) {
    size_t at = 0;
    double ready_s = backward_s[0], start_s = ready_s, merged = bytes[0];
    bucket[0] = 0;
    for (size_t l = 1; l < layers; l++) {
        const double took_s = exchange_s(merged, alpha_s, byte_s);
        ready_s += backward_s[l]; /* of the next gradient */
        const bool blocked = ready_s < start_s + took_s;
        /* Merge if the exchange must start after that gradient anyway, or if waiting costs less than another one. */
        const bool joins = (blocked && (start_s > ready_s || ready_s - start_s < alpha_s)) || merged < smallest;
        start_s = fmax(joins ? start_s : start_s + took_s, ready_s);
        merged = joins ? merged + bytes[l] : bytes[l];
        at += !joins;
        bucket[l] = at;
    }
    return at + 1;
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

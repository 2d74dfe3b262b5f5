/* net_errors.c: how far modelled times are from published ones, by how messages travel. The test
 * tests/unit/test_net_validation.c computes these numbers from the publications' and compares them. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "sg_net.h"

const struct sg_net_error sg_net_errors[SG_NET_KINDS] = {
    [SG_NET_SUM] = {"sums", 85, -77, 49, -77, 79},
    [SG_NET_ROUNDS] = {"sums in rounds", 7, 8, 113, -9, 24},
    [SG_NET_CODE] = {"codes of every element", 3, -76, -32, -47, -6},
    [SG_NET_SPARSE] = {"gathered messages", 2, -11, -4, -19, -15},
    [SG_NET_SERVED] = {"servers", 32, NAN, NAN, -47, 19},
};

enum sg_net_kind sg_net_kind_of(const struct sg_collective *collective, unsigned exchanges) {
    switch (collective->decodes) {
    case SG_DECODES_ONE:
        return exchanges > 1 ? SG_NET_ROUNDS : SG_NET_SUM;
    case SG_DECODES_TWICE:
        return collective->sums ? SG_NET_CODE : SG_NET_KINDS;
    case SG_DECODES_SERVED:
        return SG_NET_SERVED;
    case SG_DECODES_ALL:
        return SG_NET_SPARSE;
    default:
        return SG_NET_KINDS;
    }
}

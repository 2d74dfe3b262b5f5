/* share_parameter.c: k or density, shared by the compressors that send a given share of every layer. */
/* SPDX-License-Identifier: MIT */
#include "sg_compressor_parts.h"

#include <math.h>

const struct sg_parameter sg_share_params[SG_SHARE_PARAMS] = {SG_SHARE_PARAMETERS};

sg_status sg_share_check(const double *param, size_t d, struct sg_error *err) {
    const double k = param[SG_SHARE_K], density = param[SG_SHARE_DENSITY];
    if (isnan(k) == isnan(density))
        return sg_fail(err, SG_ERR_ARGUMENT,
                       isnan(k) ? "needs 'k' (a count) or 'density' (a fraction)" : "takes 'k' or 'density', not both");
    if (!isnan(density) && !(density > 0))
        return sg_fail(err, SG_ERR_ARGUMENT, "'density' must be above 0");
    if (d > 0 && k > (double)d)
        return sg_fail(err, SG_ERR_ARGUMENT, "'k' = %.0f is more than the %zu parameters there are", k, d);
    return SG_OK;
}

size_t sg_share_knob(const double *param) {
    return (size_t)(isnan(param[SG_SHARE_DENSITY]) ? SG_SHARE_K : SG_SHARE_DENSITY);
}

size_t sg_share_of(double value, bool is_density, size_t n) {
    const double share = fmax(1, is_density ? floor(value * (double)n) : value);
    return share < (double)n ? (size_t)share : n; /* a knob that doubles leaves the range of size_t */
}

size_t sg_share_in(const struct sg_shared *s, size_t l, size_t n) {
    return sg_share_of(s->knob[l], sg_share_knob(s->param) == SG_SHARE_DENSITY, n);
}

double sg_share_delta(const double *param, size_t n) {
    const size_t knob = sg_share_knob(param);
    return n > 0 ? (double)sg_share_of(param[knob], knob == SG_SHARE_DENSITY, n) / (double)n : 1;
}

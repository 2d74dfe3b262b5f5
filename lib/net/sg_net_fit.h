/* sg_net_fit.h: alpha and beta of a link from measured times: those of `sparsebench --measure-link`, of tests of the
 * network model, and of the report on real links. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_NET_FIT_H
#define SG_NET_FIT_H

#include "sg_net.h"

/* alpha + bytes beta, fitted to measured times. */
struct net_fit {
    double alpha_s, byte_s;
    double alpha_error_s, byte_error_s; /* standard errors; NaN for two points, which leave no residual */
    double squares;                     /* the sum of squared relative residuals */
    double worst;                       /* largest |fitted / measured - 1| */
};

/* Least squares of the relative residuals, so that small messages count as much as large ones. alpha >= 0: where the
 * best one is negative, it is 0 and has no error. n >= 2 pairs of different bytes and seconds > 0, else
 * SG_ERR_ARGUMENT. */
SG_CHECKED sg_status net_fit_line(struct net_fit *out, const double *bytes, const double *seconds, size_t n,
                                  struct sg_error *err);

#endif

/* sg_net_fit.h: alpha and beta of a link from measured times: those of `sparsebench --measure-link`, of tests of the
 * network model, and of the report on real links. */
#ifndef SG_NET_FIT_H
#define SG_NET_FIT_H

#include "sg_net.h"

/* alpha + bytes beta, fitted to measured times. */
struct net_fit {
    double alpha_s, byte_s;
    double alpha_error_s, byte_error_s; /* standard errors; NaN for two points, which leave no residual */
    double cross;                       /* covariance of alpha and beta */
    double worst;                       /* largest |fitted / measured - 1| */
};

/* Least squares of the relative residuals, so that small messages count as much as large ones. alpha >= 0: where the
 * best one is negative, it is 0 and has no error. n >= 2 pairs of different bytes and seconds > 0, else
 * SG_ERR_ARGUMENT. */
SG_CHECKED sg_status net_fit_line(struct net_fit *out, const double *bytes, const double *seconds, size_t n,
                                  struct sg_error *err);
/* The standard error of the fitted time at this many bytes, from the line's own uncertainty. */
double net_fit_error_s(const struct net_fit *fit, double bytes);

/* The best n_pieces straight pieces through n points, bytes ascending; each piece has three points or more. `work` has
 * room for 2 n_pieces (n + 1) doubles. SG_ERR_ARGUMENT if there are too few points. */
SG_CHECKED sg_status net_fit_pieces(struct sg_net_piece *out, size_t n_pieces, const double *bytes,
                                    const double *seconds, size_t n, double *work, struct sg_error *err);

#endif

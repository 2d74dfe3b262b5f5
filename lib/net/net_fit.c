/* net_fit.c: alpha and beta from measured times, in one line or in pieces. */
#include "sg_net_fit.h"

#include <math.h>

#include "sg_debug.h"
#include "sg_stats.h"

/* Sums that are weighted with one over the square of the time, so that residuals are relative. */
struct moments {
    struct sg_sum weight, x, y;
};

struct line {
    double alpha_s, byte_s, squares; /* the sum of squared relative residuals */
};

static struct line residuals(struct line l, const double *bytes, const double *seconds, size_t n, double *worst) {
    struct sg_sum squares = {0, 0};
    *worst = 0;
    for (size_t i = 0; i < n; i++) {
        const double off = (l.alpha_s + bytes[i] * l.byte_s) / seconds[i] - 1;
        sg_sum_add(&squares, off * off);
        *worst = fmax(*worst, fabs(off));
    }
    l.squares = sg_sum_total(&squares);
    return l;
}

static bool fit(struct net_fit *out, double *squares, const double *bytes, const double *seconds, size_t n) {
    struct moments m = {0};
    for (size_t i = 0; i < n; i++) {
        const double weight = 1 / (seconds[i] * seconds[i]);
        sg_sum_add(&m.weight, weight);
        sg_sum_add(&m.x, weight * bytes[i]);
        sg_sum_add(&m.y, weight * seconds[i]);
    }
    const double weights = sg_sum_total(&m.weight), x = sg_sum_total(&m.x) / weights, y = sg_sum_total(&m.y) / weights;
    struct sg_sum xx = {0, 0}, xy = {0, 0};
    for (size_t i = 0; i < n; i++) {
        const double weight = 1 / (seconds[i] * seconds[i]);
        sg_sum_add(&xx, weight * (bytes[i] - x) * (bytes[i] - x));
        sg_sum_add(&xy, weight * (bytes[i] - x) * (seconds[i] - y));
    }
    const double spread = sg_sum_total(&xx), moment = spread + weights * x * x;
    if (!(spread > 0) || !isfinite(spread))
        return false;
    struct line l = {.byte_s = sg_sum_total(&xy) / spread};
    l.alpha_s = y - l.byte_s * x;
    size_t parameters = 2;
    if (l.byte_s < 0)
        l = (struct line){.alpha_s = y}, parameters = 1;
    else if (l.alpha_s < 0)
        l = (struct line){.byte_s = (sg_sum_total(&xy) + weights * x * y) / moment}, parameters = 1;
    double worst;
    l = residuals(l, bytes, seconds, n, &worst);
    const double variance = n > parameters ? l.squares / (double)(n - parameters) : NAN;
    *out = (struct net_fit){.alpha_s = l.alpha_s, .byte_s = l.byte_s, .worst = worst};
    if (parameters == 2) {
        out->alpha_error_s = sqrt(variance * (1 / weights + x * x / spread));
        out->byte_error_s = sqrt(variance / spread);
        out->cross = -x * variance / spread;
    } else if (l.byte_s > 0)
        out->byte_error_s = sqrt(variance / moment);
    else
        out->alpha_error_s = sqrt(variance / weights);
    *squares = l.squares;
    return true;
}

sg_status net_fit_line(struct net_fit *out, const double *bytes, const double *seconds, size_t n,
                       struct sg_error *err) {
    for (size_t i = 0; i < n; i++)
        if (!(bytes[i] >= 0 && isfinite(bytes[i]) && seconds[i] > 0 && isfinite(seconds[i])))
            return sg_fail(err, SG_ERR_ARGUMENT, "measurement %zu is %g s for %g bytes: a time must be above 0", i + 1,
                           seconds[i], bytes[i]);
    double squares;
    return n >= 2 && fit(out, &squares, bytes, seconds, n)
               ? SG_OK
               : sg_fail(err, SG_ERR_ARGUMENT, "a line needs times for at least two different sizes");
}

double net_fit_error_s(const struct net_fit *f, double bytes) {
    const double variance =
        f->alpha_error_s * f->alpha_error_s + 2 * bytes * f->cross + bytes * bytes * f->byte_error_s * f->byte_error_s;
    return sqrt(fmax(0, variance));
}

/* What pieces [0, k] cost at least if they end before point j, and where the last of them starts. */
sg_status net_fit_pieces(struct sg_net_piece *out, size_t n_pieces, const double *bytes, const double *seconds,
                         size_t n, double *work, struct sg_error *err) {
    enum { LEAST = 3 };
    if (n_pieces == 0 || n / LEAST < n_pieces)
        return sg_fail(err, SG_ERR_ARGUMENT, "%zu pieces need %zu measurements, there are %zu", n_pieces,
                       LEAST * n_pieces, n);
    struct net_fit whole;
    sg_status status = net_fit_line(&whole, bytes, seconds, n, err);
    for (size_t i = 1; status == SG_OK && i < n; i++)
        if (bytes[i] <= bytes[i - 1])
            status = sg_fail(err, SG_ERR_ARGUMENT, "the sizes of measurements must be ascending");
    if (status != SG_OK)
        return status;
    double *const least = work, *const from = work + n_pieces * (n + 1);
    for (size_t k = 0; k < n_pieces; k++)
        for (size_t j = 0; j <= n; j++) {
            double *const best = &least[k * (n + 1) + j];
            *best = INFINITY;
            for (size_t i = k > 0 ? LEAST : 0; i + LEAST <= j && (k > 0 || i == 0); i++) {
                struct net_fit f;
                double squares;
                if (!fit(&f, &squares, bytes + i, seconds + i, j - i))
                    continue;
                squares += k > 0 ? least[(k - 1) * (n + 1) + i] : 0;
                if (squares < *best) {
                    *best = squares;
                    from[k * (n + 1) + j] = (double)i;
                }
            }
        }
    for (size_t k = n_pieces, end = n; k-- > 0;) {
        const size_t start = (size_t)from[k * (n + 1) + end];
        struct net_fit f;
        double squares;
        SG_ASSERT(start + LEAST <= end);
        if (!fit(&f, &squares, bytes + start, seconds + start, end - start))
            return sg_fail(err, SG_ERR_ARGUMENT, "the measurements cannot be fitted");
        out[k] = (struct sg_net_piece){.bytes = k > 0 ? bytes[start] : 0, .alpha_s = f.alpha_s, .byte_s = f.byte_s};
        end = start;
    }
    return SG_OK;
}

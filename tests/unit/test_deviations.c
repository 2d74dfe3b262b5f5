/* The deviations of released code: each differs from the published way in the direction that its row states, and each
 * compressor that is as released code has it is one of them. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "deviations.h"
#include "method_private.h"
#include "tap.h"

static struct sg_error err;

static bool shows(const struct deviation *d, const struct deviation_measure *a, const struct deviation_measure *b) {
    switch (d->effect) {
    case DEVIATION_MORE_ERROR:
        return b->error > 1.01 * a->error && b->error > 1e-6;
    case DEVIATION_LESS_ERROR:
        return b->error < 0.99 * a->error;
    case DEVIATION_BIAS:
        return fabs(b->bias) > 5 * b->bias_stderr && fabs(a->bias) < 5 * a->bias_stderr &&
               b->systematic > fmax(0.005, 10 * a->systematic);
    case DEVIATION_FEWER_BITS:
        return b->bits < 0.99 * a->bits;
    case DEVIATION_MORE_SENT:
        return b->sent > 1.01 * a->sent;
    case DEVIATION_FEWER_SENT:
        return b->sent < 0.99 * a->sent;
    case DEVIATION_MORE_LOST:
        return a->lost < 1e-6 && b->lost > 0.05;
    }
    return false;
}

static void test_row(const struct deviation *d) {
    struct deviation_measure a, b;
    const bool fine = deviation_measure(&a, d->published, d->workers, d->steps, &err) == SG_OK &&
                      deviation_measure(&b, d->released, d->workers, d->steps, &err) == SG_OK;
    ok(fine && shows(d, &a, &b), "%s: error %g, systematic %g, bias %g, bits %g, sent %g, lost %g", d->released,
       fine ? b.error : NAN, fine ? b.systematic : NAN, fine ? b.bias : NAN, fine ? b.bits : NAN, fine ? b.sent : NAN,
       fine ? b.lost : NAN);
    if (!fine)
        printf("# %s\n", err.msg);
    ok(strlen(d->commit) == 40 && strchr(d->repository, '/') && d->file[0] && !strchr(d->what, '|'),
       "%s says where it was read, and fits into a table", d->released);
}

/* Each row of released code is measured against its publication's. A family of compressors may share what is tried
 * once. */
static void test_all_listed(void) {
    const struct sg_compressor_ops *ops;
    const struct deviation *d;
    size_t released = 0;
    for (size_t c = 0; (ops = sg_compressor_at(c)) != NULL; c++) {
        bool listed = false;
        if (!method_is_added(ops))
            continue;
        for (size_t i = 0; (d = deviation_at(i)) != NULL; i++)
            listed |= strncmp(d->released, ops->name, strcspn(d->released, " ")) == 0 ||
                      (strncmp(ops->name, "sidco", 5) == 0 && strncmp(d->released, "sidco", 5) == 0);
        ok(listed, "%s is in the table", ops->name);
        released++;
    }
    ok(released >= 16, "%zu compressors as released code has them", released);
}

int main(void) {
    const struct deviation *d;
    struct deviation_measure m;
    for (size_t i = 0; (d = deviation_at(i)) != NULL; i++)
        test_row(d);
    test_all_listed();
    ok(deviation_measure(&m, "dgc-grace quality=1", 1, 1, &err) == SG_ERR_ARGUMENT &&
           strstr(err.msg, "there is no parameter 'quality'"),
       "%s", err.msg);
    ok(deviation_measure(&m, "topl k=1", 1, 1, &err) == SG_ERR_ARGUMENT, "%s", err.msg);
    return tap_done();
}

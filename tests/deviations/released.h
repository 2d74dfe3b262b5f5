/* released.h: compressors as released code has them where it departs from its publication, as rows for the tests that
 * measure what that costs (deviation_measure.c) and that compare them with their twins (tests/twins). */
/* SPDX-License-Identifier: MIT */
#ifndef RELEASED_H
#define RELEASED_H

#include "method_private.h"
#include "zoo_private.h"

/* Adds all of them behind the table of compressors, once in a process. Each has the name of its publication's
 * compressor with the origin behind it, "dgc-grace", and the same parameters. They have no bound and need vectors in
 * host memory. */
SG_CHECKED sg_status released_add(struct sg_error *err);

/* ---- what released.c says of those in the files beside it ---- */

int released_select_dgc_grace(struct sg_worker *w, struct sg_select *s);
int released_select_dgc_tf(struct sg_worker *w, struct sg_select *s);
int released_select_randomk_grace(struct sg_worker *w, struct sg_select *s);
int released_select_randomk_gravac(struct sg_worker *w, struct sg_select *s);
int released_select_limited(struct sg_worker *w, struct sg_select *s);
int released_select_signed(struct sg_worker *w, struct sg_select *s);
int released_select_sidco_e(struct sg_worker *w, struct sg_select *s);
int released_select_sidco_gp(struct sg_worker *w, struct sg_select *s);
void released_encode_adaq(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out);

void released_encode_atomo_qsgd(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out);
void released_encode_u8bit(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out);
void released_encode_inceptionn(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out);
void released_encode_atomo(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out);
void released_encode_epfml(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out);
void released_encode_hint(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out);
sg_status released_check_hint(const double *param, size_t d, struct sg_error *err);
extern const struct sg_rounds released_hint;
const struct sg_rounds *released_new_q(void);

#endif

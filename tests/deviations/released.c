/* released.c: the rows of released compressors, each its publication's with another way to select or to encode. */
/* SPDX-License-Identifier: MIT */
#include "released.h"

#include "sg_debug.h"

enum { MOST = 16 };

static struct sg_compressor_ops row[MOST];
static size_t rows;

/* The publication's row under another name, without its bound and its class. */
static struct sg_compressor_ops *derive(const struct sg_compressor_ops *published, const char *name) {
    struct sg_compressor_ops *r = &row[rows++];
    *r = *published;
    r->name = name;
    r->also = NULL;
    r->bound = NULL;
    r->traits &= ~(unsigned)(SG_TRAIT_GPU | SG_TRAIT_RELATIVE | SG_TRAIT_UNBIASED);
    return r;
}

/* One that writes the numbers as they are read back. */
static struct sg_compressor_ops *derive_coder(const struct sg_compressor_ops *published, const char *name) {
    struct sg_compressor_ops *r = derive(published, name);
    r->code = NULL;
    r->open = NULL;
    r->data_bytes = NULL;
    r->traits_of = NULL;
    return r;
}

sg_status released_add(struct sg_error *err) {
    if (rows > 0)
        return SG_OK;
    derive(&sg_compress_dgc, "dgc-grace")->select = released_select_dgc_grace;
    derive(&sg_compress_dgc, "dgc-tf")->select = released_select_dgc_tf;
    derive(&sg_compress_randomk, "randomk-grace")->select = released_select_randomk_grace;
    derive(&sg_compress_randomk, "randomk-gravac")->select = released_select_randomk_gravac;
    derive(&sg_compress_hard_threshold, "hard-threshold-grace")->select = released_select_limited;
    derive(&sg_compress_gaussiank, "gaussian-k-signed")->select = released_select_signed;
    derive(&sg_compress_sidco_e, "sidco-e-shared")->select = released_select_sidco_e;
    derive(&sg_compress_sidco_gp, "sidco-gp-shared")->select = released_select_sidco_gp;
    derive(&sg_compress_dryden, "dryden-grace")->encode = released_encode_adaq;
    derive(&sg_compress_atomo, "atomo-authors")->encode = released_encode_atomo;
    derive(&sg_compress_atomo, "atomo-epfml")->encode = released_encode_epfml;
    derive(&sg_compress_powersgd, "powersgd-grace")->rounds = released_new_q();
    derive_coder(&sg_compress_qsgd, "qsgd-atomo")->encode = released_encode_atomo_qsgd;
    derive_coder(&sg_compress_8bit, "8bit-grace")->encode = released_encode_u8bit;
    derive_coder(&sg_compress_inceptionn, "inceptionn-grace")->encode = released_encode_inceptionn;
    struct sg_compressor_ops *hint = derive(&sg_compress_switchml, "switchml-hint");
    hint->check = released_check_hint;
    hint->encode = released_encode_hint;
    hint->rounds = &released_hint;
    SG_ASSERT(rows == MOST);
    sg_status status = SG_OK;
    for (size_t i = 0; i < rows; i++)
        SG_DO(status, sg_compressor_add(&row[i], err));
    return status;
}

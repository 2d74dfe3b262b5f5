/* zoo_private.h: the rows of the zoo, each declared in a file of its own, and what several of these files share. */
/* SPDX-License-Identifier: MIT */
#ifndef ZOO_PRIVATE_H
#define ZOO_PRIVATE_H

#include "sg_compressor_parts.h"
#include "sg_controller.h"
#include "sg_feedback.h"
#include "sg_message.h"

/* In the order of help and benchmarks, where they come behind the rows of lib/method. */
#define ZOO_COMPRESSORS(row)                                                                                           \
    row(sg_compress_strom), row(sg_compress_dryden), row(sg_compress_signtopk), row(sg_compress_stc),                  \
        row(sg_compress_topk_twice), row(sg_compress_demo), row(sg_compress_sparseloco), row(sg_compress_sidco_e),     \
        row(sg_compress_sidco_gp), row(sg_compress_sidco_p), row(sg_compress_gaussiank), row(sg_compress_redsync),     \
        row(sg_compress_topk_reuse), row(sg_compress_natural), row(sg_compress_natural_8), row(sg_compress_dithering), \
        row(sg_compress_8bit), row(sg_compress_fp8), row(sg_compress_mxfp8), row(sg_compress_nvfp4),                   \
        row(sg_compress_int_block), row(sg_compress_minmax), row(sg_compress_eden), row(sg_compress_grid),             \
        row(sg_compress_switchml), row(sg_compress_intsgd), row(sg_compress_global_qsgd), row(sg_compress_quantile),   \
        row(sg_compress_topk_block), row(sg_compress_block_threshold), row(sg_compress_mstopk),                        \
        row(sg_compress_wangni), row(sg_compress_vqsgd), row(sg_compress_induced), row(sg_compress_svd_threshold),     \
        row(sg_compress_atomo), row(sg_compress_clt_k), row(sg_compress_arc_topk), row(sg_compress_gtopk),             \
        row(sg_compress_ok_topk), row(sg_compress_dion), row(sg_compress_dion2), row(sg_compress_inceptionn),          \
        row(sg_compress_global_qsgd_exp), row(sg_compress_clipped_threshold), row(sg_compress_clipped_topk),           \
        row(sg_compress_topk_then_threshold), row(sg_compress_threshold_then_topk)
#define ZOO_CONTROLLERS(row)    row(sg_control_l_greco), row(sg_control_dqsgd), row(sg_control_adaqs)
#define ZOO_FEEDBACK_RULES(row) row(sg_feedback_econtrol), row(sg_feedback_low_pass)

/* In the order of their numbers in messages. */
#define ZOO_CODES(row)                                                                                                 \
    row(sg_code_natural), row(sg_code_natural_8), row(sg_code_8bit), row(sg_code_int_block), row(sg_code_minmax),      \
        row(sg_code_eden), row(sg_code_quantile), row(sg_code_inceptionn), row(sg_code_fp8), row(sg_code_mxfp8),       \
        row(sg_code_nvfp4), row(sg_code_least)

#define ZOO_NAME(name) name
extern const struct sg_compressor_ops ZOO_COMPRESSORS(ZOO_NAME);
extern const struct sg_controller_ops ZOO_CONTROLLERS(ZOO_NAME);
extern const struct sg_feedback_rule ZOO_FEEDBACK_RULES(ZOO_NAME);
extern const struct sg_code ZOO_CODES(ZOO_NAME);
/* The parameters of codes, for the compressors that write every element in one. */
extern const struct sg_parameter sg_code_int_block_params[3], sg_code_minmax_params[3], sg_code_eden_params[3],
    sg_code_quantile_params[1], sg_code_inceptionn_params[1];

/* The float m for which the probabilities min(1, |x[i]| / m) add up to about k, 1 <= k <= n (compress_wangni.c). */
float sg_proportional_level(const float *x, size_t n, size_t k);

/* Eigenvectors of the symmetric matrix a [m][m], which is overwritten with a diagonal one; v [m][m]: row i belongs to
 * the i-th number of the diagonal (symmetric_eigen.c). */
void sg_symmetric_eigen(double *a, double *v, size_t m);

/* ---- singular triplets of a layer's matrix M = p (compress_svd.c) ---- */

/* M with its shorter side first: m vectors of n numbers. */
struct sg_triplets {
    size_t rows, columns, m, n;
    double *a, *gram, *u, *q; /* [m][n], [m][m], [m][m], [m][n]: row i of u times a is row i of q */
    float *size;              /* [m] the singular values, descending as `order` names them */
    size_t *order;            /* [m] */
};
/* Moves the triplets that are sent to the front of x->order, and their factors into scale [m]. Returns how many. */
typedef size_t sg_triplets_fn(const struct sg_worker *w, size_t layer, struct sg_triplets *x, sg_rng *rng,
                              double *scale);
/* An unbiased random choice: each triplet is sent with the probability q = min(1, value / level), scaled by 1 / q. */
size_t sg_triplets_draw(struct sg_triplets *x, double level, sg_rng *rng, double *scale);
/* A coder that sends the chosen triplets. If factors would not be smaller than the layer, it sends numbers: those of M,
 * or, if the choice is `random`, those of the product of the chosen triplets, so that the mean remains M. */
SG_CHECKED sg_status sg_triplets_open(struct sg_worker *w, struct sg_error *err);
void sg_triplets_encode(struct sg_worker *w, const float *p, struct sg_message *out, sg_triplets_fn *choose,
                        bool random);

/* ---- pieces of matrices, of which all workers send the same (compress_arctopk.c) ---- */

/* The hooks of a compressor whose workers agree by a sketch. With SG_TRAIT_DIRECTIONS its parameters are those of
 * Dion2, whose file (compress_dion2.c) has the two functions behind them. */
void sg_pieces_encode(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out);
SG_CHECKED sg_status sg_pieces_open(struct sg_worker *w, struct sg_error *err);
extern const struct sg_rounds sg_pieces_rounds;
/* norm [count] <- the sum of the magnitudes of each piece: element j of piece i is p[i step + j stride]. */
void sg_dion2_norms(float *norm, const float *p, size_t count, size_t length, size_t step, size_t stride);
/* x [rows][columns], rows <= columns, is the sum over workers and becomes the direction of its mean, times the number
 * of workers. Scratch of 3 rows columns floats lies behind it. */
void sg_dion2_direction(const struct sg_shared *s, float *x, size_t rows, size_t columns);

/* ---- blocks of consecutive elements that are selected as if they were layers (select_blocks.c) ---- */

/* The content of w->scratch: n >= 1 blocks, which cover the layers in order; no block spans two layers. */
struct sg_blocks {
    size_t n;
    size_t *offset;            /* [n + 1] */
    size_t *count, *k, *layer; /* [n] entries sent, k of Top-k, index of the layer */
    float *threshold;          /* [n] of each block; negative at first */
};
/* Cuts every layer into blocks of `size` elements; the last block of a layer may be smaller. sg_blocks_of returns how
 * many these are. */
size_t sg_blocks_of(const struct sg_layout *layout, size_t size);
SG_CHECKED sg_status sg_blocks_open(struct sg_worker *w, size_t size, struct sg_error *err);
/* begin returns s with blocks as layers; end converts the kernel's status and counts to those of s. */
struct sg_select sg_blocks_begin(const struct sg_worker *w, const struct sg_select *s);
int sg_blocks_end(const struct sg_worker *w, const struct sg_select *s, int status);

#endif

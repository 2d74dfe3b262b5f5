/* compress_dion.c: Dion (Ahn, Xu, Abreu, Fan, Magakyan, Sharma, Zhan, Langford, arXiv 2504.05295, algorithm 1, as
 * microsoft/dion has it in dion_simple.py): the rounds of PowerSGD (compress_powersgd.c) for every matrix, however
 * small, of the momentum M_i, which is the residual. Their sum is a direction, along which the optimizer of that name
 * steps.
 *
 *     M_i <- M_i + g_i      P = an orthonormal basis of mean M_i Q      R = mean M_i' P
 *     M_i <- M_i - (1 - mu) P R'      Q = R, each column divided by its norm      sum = P Q'
 *
 * PAPER: P's basis is by Gram and Schmidt and not by Householder's reflections. Columns may have other signs then, and
 * P Q' has not. */
/* SPDX-License-Identifier: MIT */
#include "zoo_private.h"

enum { RANK, MU, PARAMS };

static const struct sg_parameter params[PARAMS] = {
    [RANK] = {"rank", 1, 1024, 4, true, "columns r of each factor"},
    [MU] = {"mu", 0, 1, 0.95, false, "share of what was sent that stays in the momentum"},
};

const struct sg_compressor_ops sg_compress_dion = {
    .name = "dion",
    .summary = "a direction of rank r of the momentum, which is the residual; for optimizer dion",
    .source = "Ahn et al. (Dion), arXiv 2504.05295; github.com/microsoft/dion",
    .traits = SG_TRAIT_WANTS_FEEDBACK | SG_TRAIT_DENSE | SG_TRAIT_DIRECTIONS,
    .params = params,
    .n_params = PARAMS,
    .knob = method_first_knob,
    .open = method_low_rank_open,
    .encode = method_low_rank_encode,
    .rounds = &method_low_rank_rounds,
};

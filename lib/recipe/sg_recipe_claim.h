/* sg_recipe_claim.h: a claim of a recipe, read for those who judge it, and how a result states it. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_RECIPE_CLAIM_H
#define SG_RECIPE_CLAIM_H

#include <stdbool.h>

#include "sg_json.h"
#include "sg_node.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The verdict on a claim about something that was not run. sg_grid.h has the others. */
#define SG_NOT_JUDGED "not judged"

/* One side of a claim, which is a number wherever the claim is looked at. Its members point into the recipe. */
struct sg_claim_term {
    const char *of, *metric;
    const struct sg_node *at; /* how a series becomes a number; NULL for times of kernels */
};

struct sg_recipe_claim {
    const struct sg_node *node;
    struct sg_claim_term value, other;
    double times, plus;  /* the bound is times x + plus, with x of `other` */
    bool constant_bound; /* plus alone */
    bool at_least;
};

/* Reads an entry of a checked recipe's claims. */
struct sg_recipe_claim sg_recipe_claim(const struct sg_node *node);
/* The bound where `other` has this value. */
double sg_recipe_claim_bound(const struct sg_recipe_claim *claim, double other);
/* The claim in a result: {"text","descriptive","note","verdict","metric","at","of","sense","bound","reason"}, with what
 * is needed to compute the bound again. reason NULL = null. */
cJSON *sg_recipe_claim_json(const struct sg_recipe_claim *claim, const char *verdict, const char *reason);

#ifdef __cplusplus
}
#endif
#endif

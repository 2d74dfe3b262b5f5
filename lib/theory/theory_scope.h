/* theory_scope.h: which recipes and methods Theorems 4 to 7 are about: Algorithm 1 on logistic regression. */
#ifndef THEORY_SCOPE_H
#define THEORY_SCOPE_H

#include "sg_recipe.h"
#include "sg_status.h"

/* What all methods share: SG_ERR_ARGUMENT names the key that Algorithm 1 does not have. */
SG_CHECKED sg_status theory_recipe_check(const struct sg_cell *cell, struct sg_error *err);

/* What is the method's own: NULL, or why no theorem is about it. A literal. */
const char *theory_method_misfit(const struct sg_cell *cell);

#endif

/* theory_scope.h: which recipes and methods Theorems 4 to 7 are about: Algorithm 1 on logistic regression. */
#ifndef THEORY_SCOPE_H
#define THEORY_SCOPE_H

#include "sg_recipe.h"
#include "sg_status.h"

/* Checks what all methods share. SG_ERR_ARGUMENT names the key that is not part of Algorithm 1. */
SG_CHECKED sg_status theory_recipe_check(const struct sg_cell *cell, struct sg_error *err);

/* Checks what is the method's own. Returns NULL, or a static sentence that says why no theorem is about it. */
const char *theory_method_misfit(const struct sg_cell *cell);

#endif

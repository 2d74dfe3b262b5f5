/* sg_expression.h: arithmetic over named constants, which recipes may have instead of numbers. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_EXPRESSION_H
#define SG_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "sg_status.h"

/* Computes an arithmetic expression over named constants: numbers, + - * / ( ), sqrt(x), names such as L or l2.
 * SG_ERR_ARGUMENT names what is wrong and the names that exist. */
struct sg_constant {
    const char *name;
    double value;
};
SG_CHECKED sg_status sg_expression(double *out, const char *text, const struct sg_constant *constants, size_t n,
                                   struct sg_error *err);

/* The maximum number of constants that an expression can name. */
enum { SG_NAMES = 64 };

/* Checks the syntax, and the names against name [n] (n = 0: any name is fine). *literal: it has no names, and *value is
 * its value. */
SG_CHECKED sg_status sg_expression_check(const char *text, const char *const *name, size_t n, bool *literal,
                                         double *value, struct sg_error *err);

#endif

/* sg_parameter.h: how compressors and optimizers declare their parameters, which are keys of recipes. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_PARAMETER_H
#define SG_PARAMETER_H

#include "sg_unstable.h"

#include <stdbool.h>

/* A parameter: a number. */
struct sg_parameter {
    const char *name; /* kebab-case */
    double min, max;  /* inclusive */
    double preset;    /* used where the recipe has no value; NaN = the recipe must give one */
    bool integer;
    const char *help;
};

#endif

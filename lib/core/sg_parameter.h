/* sg_parameter.h: how compressors and optimizers declare their parameters, which are keys of recipes. */
#ifndef SG_PARAMETER_H
#define SG_PARAMETER_H

#include "sg_unstable.h"

#include <stdbool.h>

/* A parameter: a number, or one word of a list. */
struct sg_parameter {
    const char *name; /* kebab-case */
    double min, max;  /* inclusive */
    double preset;    /* used where the recipe has no value; NaN = the recipe must give one */
    bool integer;
    const char *help;
    /* "none|grace|tf": a recipe gives one of these words, and the value is its place in the list, from 0 to max. A
     * resolved recipe names it only where the recipe does. NULL = a number. Optimizers and feedback rules take numbers
     * only. */
    const char *words;
};

/* Which way of a published implementation is followed where that differs from its publication; 0 is the publication's. */
#define SG_QUIRK_PARAMETER(list, most, text)                                                                           \
    { "quirk", 0, most, 0, true, text, list }

#endif

/* sg_unstable.h: included by the headers that any new version may change; a program must define SPARSEGRAD_UNSTABLE. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_UNSTABLE_H
#define SG_UNSTABLE_H

#ifndef SPARSEGRAD_UNSTABLE
#error "this header may change with any version of sparsegrad: #define SPARSEGRAD_UNSTABLE before it, or use sg_flat.h"
#endif
#include "sg_api.h"

#endif

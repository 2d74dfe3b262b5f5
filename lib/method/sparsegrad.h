/* sparsegrad.h: the public face of libsparsegrad. Link as pkg-config sparsegrad says (-lsparsegrad, OpenMP, -lm).
 * Every function is thread-safe across distinct objects. Encodings of messages have a header of their own, sg_wire.h. */
#ifndef SPARSEGRAD_H
#define SPARSEGRAD_H

#include "sg_method.h"
#include "sg_half.h"
#include "sg_kernels.h"
#include "sg_optimizer.h"
#include "sg_rng.h"
#include "sg_stats.h"
#include "sg_status.h"

#endif

/* sparsegrad.h: the public face of libsparsegrad: gradient compressors with error feedback.
 *
 * Compile and link with `pkg-config --cflags --libs sparsegrad`, for the static library with --static, too. C11 or C++.
 *
 *   sg_flat.h        flat calls: Top-k of a vector, a method from a text, a step, messages as bytes. Begin here
 *   sg_status.h      how calls fail
 *
 * These two are stable. What follows is here after #define SPARSEGRAD_UNSTABLE, and any new version may change it:
 *
 *   sg_method.h      a method with all its parts: compressor, code, error feedback, controller; a step of training
 *   sg_drive.h       plays a step in its one order: of workers in this process, or with an exchange of your own
 *   sg_message.h     what one worker sends; codes of numbers. sg_wire.h, not included here, has encodings and bytes
 *   sg_compressor.h, sg_feedback.h, sg_controller.h      the tables, and how their rows are declared
 *   sg_compressor_plugin.h      not included here: rows in a shared object, which the programs load with --plugin
 *   sg_kernels.h     selections and sums on long vectors; sg_cuda.h, not included here, has them on a GPU's stream
 *   sg_optimizer.h, sg_rng.h, sg_stats.h, sg_half.h
 *
 * Every function is thread-safe across distinct objects. The library never prints, never exits, and keeps no state
 * outside its objects, except for what sg_compressor_add, sg_code_add and sg_feedback_add add to the tables.
 *
 * Versions are semantic: a new major version may change what is stable, and while the major version is 0, so may a new
 * minor one. The shared library's name and the version of its symbols (SPARSEGRAD_0.1) say which it is; programs that
 * were linked against another one do not start. */
/* SPDX-License-Identifier: MIT */
#ifndef SPARSEGRAD_H
#define SPARSEGRAD_H

/* Of these headers; sg_library_version (sg_flat.h) is that of the library. The Makefile reads them here. */
#define SPARSEGRAD_MAJOR 0
#define SPARSEGRAD_MINOR 1
#define SPARSEGRAD_PATCH 0

#include "sg_flat.h"
#include "sg_status.h"

#ifdef SPARSEGRAD_UNSTABLE
#include "sg_drive.h"
#include "sg_half.h"
#include "sg_kernels.h"
#include "sg_method.h"
#include "sg_optimizer.h"
#include "sg_rng.h"
#include "sg_stats.h"
#endif

#endif

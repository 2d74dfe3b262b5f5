/* sg_api.h: macros that mark the exported symbols of libsparsegrad. All other symbols are hidden. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_API_H
#define SG_API_H

#if defined(__GNUC__)
#define SG_EXPORTED __attribute__((visibility("default")))
#else
#define SG_EXPORTED
#endif

/* Stable: within a major version it keeps its meaning, its arguments and its layout. */
#define SG_API SG_EXPORTED
/* For plug-ins, and for programs that are compiled anew with every version: any of them may change it. */
#define SG_UNSTABLE SG_EXPORTED

#endif

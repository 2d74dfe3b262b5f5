/* sg_status.h: how every library function reports failure.
 *
 * A function that can fail returns sg_status and takes an sg_error of the caller, which is never NULL. After a failure
 * it holds the whole message: where, what was wrong with which value, and what to do. Library code never prints and
 * never exits. Unless a header says otherwise, a failed call leaves its outputs as they were, and a function keeps no
 * pointer that it was given. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_STATUS_H
#define SG_STATUS_H

#include "sg_api.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SG_CHECKED           __attribute__((warn_unused_result))
#define SG_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define SG_CHECKED
#define SG_PRINTF(fmt, args)
#endif

/* The meaning of a value never changes. */
typedef enum sg_status {
    SG_OK = 0,
    SG_ERR_MEMORY = 1,      /* allocation failed */
    SG_ERR_ARGUMENT = 2,    /* a value out of its range, a wrong option or recipe key */
    SG_ERR_NONFINITE = 3,   /* NaN or Inf instead of a number: the run diverged */
    SG_ERR_IO = 4,          /* open, read, write or rename failed */
    SG_ERR_FORMAT = 5,      /* the input does not follow its format */
    SG_ERR_UNSUPPORTED = 6, /* this build or this machine cannot do it */
    SG_ERR_COMM = 7,        /* the exchange between ranks failed */
    SG_ERR_MISSING = 8,     /* a file or data set is not there */
    SG_ERR_MISMATCH = 9,    /* two things do not belong together (a checkpoint and a recipe) */
    SG_ERR_INTERRUPTED = 10 /* a signal or the time limit asked to stop */
} sg_status;

struct sg_error {
    sg_status status;
    char msg[1024];
};

/* The short lower-case name of a status, e.g. "out of memory"; never NULL. */
SG_API const char *sg_status_str(sg_status status);

/* Fills *err and returns `status`, so that callers write `return sg_fail(err, SG_ERR_IO, "…")`. */
SG_API sg_status sg_fail(struct sg_error *err, sg_status status, const char *format, ...) SG_PRINTF(3, 4);

/* sg_fail with ": " and strerror(errno) appended to the message. */
SG_API sg_status sg_fail_errno(struct sg_error *err, sg_status status, const char *format, ...) SG_PRINTF(3, 4);

/* sg_fail with SG_ERR_MEMORY; `what` names the object that could not be allocated. */
SG_API sg_status sg_fail_memory(struct sg_error *err, const char *what);

/* Puts text in front of the message in *err (for "reading X: …") and returns its status. */
SG_API sg_status sg_prefix(struct sg_error *err, const char *format, ...) SG_PRINTF(2, 3);

/* A sequence of calls that ends at the first failure: SG_DO(status, call) assigns the call's status. If `status` is a
 * failure already, the call is not evaluated. */
#define SG_DO(status, ...)                                                                                             \
    do {                                                                                                               \
        if ((status) == SG_OK)                                                                                         \
            (status) = (__VA_ARGS__);                                                                                  \
    } while (0)

#ifdef __cplusplus
}
#endif
#endif

/* sg_status.h: how every library function reports failure.
 *
 * A function that can fail returns sg_status and takes a caller-owned sg_error (never NULL) that receives
 * the whole message: place, what was wrong with which value, what to do. Library code never prints or exits.
 * Unless a header says otherwise, outputs are untouched on failure and pointers are borrowed for the call. */
#ifndef SG_STATUS_H
#define SG_STATUS_H

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

/* Values are never reused. */
typedef enum sg_status {
    SG_OK = 0,
    SG_ERR_MEMORY = 1,      /* allocation failed */
    SG_ERR_ARGUMENT = 2,    /* a value out of its range, a wrong option or recipe key */
    SG_ERR_NONFINITE = 3,   /* NaN or Inf where a number is needed: a diverged run */
    SG_ERR_IO = 4,          /* open, read, write, rename failed */
    SG_ERR_FORMAT = 5,      /* input that does not follow its format */
    SG_ERR_UNSUPPORTED = 6, /* not built in, or not on this machine */
    SG_ERR_COMM = 7,        /* exchange between ranks failed */
    SG_ERR_MISSING = 8,     /* a file or data set that is not there */
    SG_ERR_MISMATCH = 9,    /* two things that must belong together do not (checkpoint, recipe) */
    SG_ERR_INTERRUPTED = 10 /* a signal asked to stop */
} sg_status;

struct sg_error {
    sg_status status;
    char msg[1024];
};

/* Short lower-case name of a status, e.g. "out of memory"; never NULL. */
const char *sg_status_str(sg_status status);

/* Fill *err and return `status`, so that `return sg_fail(err, SG_ERR_IO, "…")` is the idiom. */
sg_status sg_fail(struct sg_error *err, sg_status status, const char *format, ...) SG_PRINTF(3, 4);

/* The same with ": strerror(errno)" appended. */
sg_status sg_fail_errno(struct sg_error *err, sg_status status, const char *format, ...) SG_PRINTF(3, 4);

/* SG_ERR_MEMORY naming what was being allocated. */
sg_status sg_fail_memory(struct sg_error *err, const char *what);

/* Prefix the message already in *err (for "reading X: …") and return its status. */
sg_status sg_prefix(struct sg_error *err, const char *format, ...) SG_PRINTF(2, 3);

#ifdef __cplusplus
}
#endif
#endif

/* status.c: filling in an error: its status and the message that the user reads. */
/* SPDX-License-Identifier: MIT */
#include "sg_status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sg_debug.h"

const char *sg_status_str(sg_status status) {
    switch (status) {
    case SG_OK:
        return "ok";
    case SG_ERR_MEMORY:
        return "out of memory";
    case SG_ERR_ARGUMENT:
        return "wrong argument";
    case SG_ERR_NONFINITE:
        return "not a finite number";
    case SG_ERR_IO:
        return "input/output error";
    case SG_ERR_FORMAT:
        return "malformed input";
    case SG_ERR_UNSUPPORTED:
        return "not supported by this build or machine";
    case SG_ERR_COMM:
        return "exchange between ranks failed";
    case SG_ERR_MISSING:
        return "not found";
    case SG_ERR_MISMATCH:
        return "things that do not belong together";
    case SG_ERR_INTERRUPTED:
        return "interrupted";
    }
    return "unknown status";
}

static void fill(struct sg_error *err, sg_status status, const char *format, va_list args) {
    SG_ASSERT(err && status != SG_OK);
    char text[sizeof err->msg]; /* an argument may be err->msg itself */
    vsnprintf(text, sizeof text, format, args);
    memcpy(err->msg, text, sizeof text);
    err->status = status;
}

sg_status sg_fail(struct sg_error *err, sg_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fill(err, status, format, args);
    va_end(args);
    return status;
}

sg_status sg_fail_errno(struct sg_error *err, sg_status status, const char *format, ...) {
    int saved = errno;
    va_list args;
    va_start(args, format);
    fill(err, status, format, args);
    va_end(args);
    size_t used = strlen(err->msg);
    snprintf(err->msg + used, sizeof err->msg - used, ": %s", strerror(saved));
    return status;
}

sg_status sg_fail_memory(struct sg_error *err, const char *what) {
    return sg_fail(err, SG_ERR_MEMORY, "out of memory for %s", what);
}

sg_status sg_prefix(struct sg_error *err, const char *format, ...) {
    SG_ASSERT(err && err->status != SG_OK);
    char prefix[sizeof err->msg];
    va_list args;
    va_start(args, format);
    vsnprintf(prefix, sizeof prefix, format, args);
    va_end(args);
    return sg_fail(err, err->status, "%s%s", prefix, err->msg);
}

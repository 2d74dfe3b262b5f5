/* sg_drive.h: plays one step of a method: lead and begin; in each round send, exchange and receive; then keep and end.
 *
 * sg_method_drive is for callers with an exchange of their own, such as the trainer; it calls their hooks in the right
 * order. sg_method_play is for callers whose workers are all in this process: it needs only gradients, residuals and
 * buffers, and it calls sg_method_drive. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_DRIVE_H
#define SG_DRIVE_H

#include "sg_unstable.h"
#include "sg_method.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The caller's part of a step. `of` is passed to every hook. A hook that is NULL is not called. If a hook fails, the
 * step ends without a sum, and its method must be closed. */
struct sg_drive_hooks {
    /* square [n_layers] <- the result of sg_method_lead for worker 0's gradient, on every rank. Called before the step
     * begins, and only if the controller asks for it. NULL = the squares are 1. */
    sg_status (*lead)(void *of, double *square, struct sg_error *err);
    /* Makes the message of this round for every worker of this process, and exchanges them: the first `length` numbers
     * of every part's sum become the sum of all workers' messages. *all [workers of all ranks] <- the messages, if
     * sg_method_hears is true. length 0: nothing is exchanged at this step, and messages are empty. */
    sg_status (*exchange)(void *of, unsigned round, size_t length, const struct sg_message **all, struct sg_error *err);
    /* Called when the sum has arrived, before any residual is completed. */
    void (*arrived)(void *of);
    /* Calls sg_method_keep for every worker of this process. Not called at a step that sends nothing. */
    sg_status (*keep)(void *of, struct sg_error *err);
    /* *spent <- the means, over the workers of all ranks, of what was sent in this step, and the largest
     * sg_method_note. */
    void (*spend)(void *of, struct sg_spent *spent);
};

/* The methods of a step. There is one; tests have several, because they play several ranks in one process. */
struct sg_drive {
    sg_method *const *part; /* [parts] */
    size_t parts;
    float *const *sum; /* [parts][d] in the kernels' memory; NULL = no sum is needed, nothing is received or kept */
    bool optimizes;    /* true: the sums become the input of the optimizer; false: they stay the sums over workers */
    const struct sg_drive_hooks *hooks;
    void *of;
};

/* Plays step `step` at learning rate gamma. Returns what the hook that failed returned. */
SG_UNSTABLE SG_CHECKED sg_status sg_method_drive(const struct sg_drive *drive, uint64_t step, double gamma,
                                                 struct sg_error *err);

/* A step of workers that are all in this process, in host memory: those of part[0], then those of part[1], ... */
struct sg_play {
    sg_method *const *part;     /* [parts], as above */
    size_t parts, d;            /* d: distance between the vectors of two workers; >= the model's size */
    const float *g;             /* [workers][d] gradients */
    float *e;                   /* [workers][d] residuals; NULL = there are none */
    float *const *sum;          /* [parts][d] <- the sum over workers; NULL = not needed */
    struct sg_message *message; /* [workers] out: the messages of the last round, valid until the next send */
    bool optimizes;             /* as in struct sg_drive */
    /* Called after each message was made and before its worker's residual is completed. NULL = not called. */
    sg_status (*sent)(void *of, size_t worker, unsigned round, const struct sg_message *message, struct sg_error *err);
    void (*arrived)(void *of);
    void *of;
    /* A monotonic clock in seconds; NULL = times are not measured. encode_s <- the time that worker 0 needs for its
     * message and its residual in this step; decode_s <- the time to add its message. */
    double (*clock_s)(void);
    double encode_s, decode_s;
    double entries, bits; /* <- of all messages of this step, with that of a second compression */
    double exchanged_s;   /* the driver's own */
};

/* Plays one step. SG_ERR_UNSUPPORTED: the method needs the messages of all workers (sg_method_hears), and some workers
 * are missing. *sum is then that of the first round. Other failures are those of sg_method_send and `sent`. */
SG_UNSTABLE SG_CHECKED sg_status sg_method_play(struct sg_play *play, uint64_t step, double gamma,
                                                struct sg_error *err);

#ifdef __cplusplus
}
#endif
#endif

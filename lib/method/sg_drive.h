/* sg_drive.h: plays one step of a method, in the one order that sg_method.h describes.
 *
 * sg_method_drive is for callers with an exchange of their own, as the trainer has; it calls them back where they have
 * something to do. sg_method_play is for callers whose workers all live in this process: it needs gradients, residuals
 * and room, and is made of the former. */
#ifndef SG_DRIVE_H
#define SG_DRIVE_H

#include "sg_unstable.h"
#include "sg_method.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a caller does in a step. `of` is its own. A hook that is NULL is not called. A hook that fails ends the step
 * there, which has no sum then, and whose method must be closed. */
struct sg_drive_hooks {
    /* square [n_layers] <- what sg_method_lead says of worker 0's gradient, on every rank. Called before the step begins,
     * and only where the method needs it. NULL = the squares are 1. */
    sg_status (*lead)(void *of, double *square, struct sg_error *err);
    /* Has every worker of this process make its message of this round, and exchanges them: the first `length` numbers of
     * every part's sum are those of all workers' messages together. *all [workers of all ranks] <- the messages, for the
     * methods that hear them. length 0: nothing is exchanged at this step, and messages are empty. */
    sg_status (*exchange)(void *of, unsigned round, size_t length, const struct sg_message **all, struct sg_error *err);
    /* Called when the sum has arrived, before any residual is completed. */
    void (*arrived)(void *of);
    /* Calls sg_method_keep for every worker of this process. Not called at a step that sends nothing. */
    sg_status (*keep)(void *of, struct sg_error *err);
    /* *spent <- what all workers of all ranks sent in this step. */
    void (*spend)(void *of, struct sg_spent *spent);
};

/* The methods of a step. There is one, but in tests, which play several ranks in one process. */
struct sg_drive {
    sg_method *const *part; /* [parts] */
    size_t parts;
    float *const *sum; /* [parts][d] in the kernels' memory; NULL = nobody needs the sum: nothing is received or kept */
    bool optimizes;    /* the sums become what the optimizer is given; else they stay the sums over workers */
    const struct sg_drive_hooks *hooks;
    void *of;
};

/* Plays step `step` at learning rate gamma. Returns what the hook that failed returned. */
SG_UNSTABLE SG_CHECKED sg_status sg_method_drive(const struct sg_drive *drive, uint64_t step, double gamma,
                                                 struct sg_error *err);

/* A step of workers that all live in this process, in host memory: those of part[0], then those of part[1], ... */
struct sg_play {
    sg_method *const *part;     /* [parts], as above */
    size_t parts, d;            /* d: from one worker's vectors to the next's; the model's size, or more */
    const float *g;             /* [workers][d] gradients */
    float *e;                   /* [workers][d] residuals; NULL = there are none */
    float *const *sum;          /* [parts][d] <- the sum over workers; NULL as above */
    struct sg_message *message; /* [workers] room: the messages of the last round, valid until the next send */
    bool optimizes;             /* as above */
    /* Called behind the send of each message, and before a residual is completed. NULL = nobody looks. */
    sg_status (*sent)(void *of, size_t worker, unsigned round, const struct sg_message *message, struct sg_error *err);
    void (*arrived)(void *of);
    void *of;
    /* A monotonic clock in seconds; NULL = nobody measures. encode_s and decode_s <- those of this step: Encoding is what worker
     * 0 does to its message and its residual, and decoding is adding its message. */
    double (*clock_s)(void);
    double encode_s, decode_s;
    double entries, bits; /* <- of all messages of this step, that of a second compression among them */
    double exchanged_s;   /* the driver's own */
};

/* SG_ERR_UNSUPPORTED: the method hears the messages of all workers, and some of them are not in this play. Then *sum is
 * that of the messages of the first round. Other failures are those of sg_method_send and `sent`. */
SG_UNSTABLE SG_CHECKED sg_status sg_method_play(struct sg_play *play, uint64_t step, double gamma,
                                                struct sg_error *err);

#ifdef __cplusplus
}
#endif
#endif

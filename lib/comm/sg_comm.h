/* sg_comm.h: exchange of messages between n logical workers, in one process or over MPI ranks.
 *
 * Rank r of R hosts the consecutive workers [r n / R, (r + 1) n / R) (integer division), so rank order is worker order
 * and any R <= n works. Sums run over workers 0..n-1 in that order on every rank: the same bits for every R. */
#ifndef SG_COMM_H
#define SG_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sg_message.h"
#include "sg_status.h"
#include "sg_wire.h"

typedef struct sg_comm sg_comm;

/* MPI is built in. */
bool sg_comm_has_mpi(void);

/* The rank mpirun or srun gave this process, -1 without them. (From the environment: MPI is not initialised.) */
int sg_comm_launch_rank(void);

/* Open over all ranks the launcher started, or in process when there is no launcher. MPI is initialised here, so
 * --help never needs it. A launcher with several ranks and no MPI built in is SG_ERR_UNSUPPORTED. */
SG_CHECKED sg_status sg_comm_open(sg_comm **out, struct sg_error *err);

/* Say how many workers there are; SG_ERR_ARGUMENT if workers < ranks. */
SG_CHECKED sg_status sg_comm_set_workers(sg_comm *c, size_t workers, struct sg_error *err);

/* How the positions of messages travel from now on: raw unless said, NULL = the fewest bytes of each message. The same on
 * every rank. Messages of all numbers of a fixed width go as they are, and so do raw ones of fp32; all others are encoded
 * (sg_wire.h). */
void sg_comm_set_encoding(sg_comm *c, const struct sg_wire_encoding *encoding);

int sg_comm_rank(const sg_comm *c);
int sg_comm_size(const sg_comm *c);
int sg_comm_local_ranks(const sg_comm *c);     /* ranks on this host, >= 1 */
int sg_comm_local_rank(const sg_comm *c);      /* this one's number among them */
const char *sg_comm_library(const sg_comm *c); /* "Open MPI 4.1.4", or NULL in process */
size_t sg_comm_first(const sg_comm *c);        /* first worker of this rank */
size_t sg_comm_count(const sg_comm *c);        /* workers of this rank, >= 1 */

/* ---- an exchange ----
 *
 *     sg_comm_begin(c, sum, n, kernels, exec);
 *     for each worker w of this rank:      sg_comm_put(c, w, &message, &err);
 *                                          sg_comm_note(c, w, note);
 *     sg_comm_end(c, &control, &outcome, &err);
 *
 * It sends this rank's messages to all ranks, and adds all workers' messages to the sum, which starts at +0, in the order
 * of the workers. All ranks begin and end the same exchanges; whatever was begun is ended. The messages of one exchange
 * are of one code, and all or none of them have positions; an empty one is normal and has none. */

enum { SG_COMM_NOTES = 5 };

/* Begin an exchange of messages that stand for n numbers each. sum [n] and the messages lie in the memory of the kernels,
 * which are borrowed until the end; exec is copied. The sum is complete after the end, and not divided by the number of
 * workers. n = 0: there are no messages, only notes and controls, and sum may be NULL. */
void sg_comm_begin(sg_comm *c, float *sum, size_t n, const struct sg_kernels *kernels, const struct sg_exec *exec);

/* The message of a worker, when it is made; `worker` is its number among all. Every worker of the rank puts one, unless n
 * is 0 or the rank ends with a failure. On a CPU distinct workers may put from distinct threads, and index and data are
 * borrowed until the end. On a GPU workers put in their order, and all of a message is taken at once, so that its memory
 * can serve the next worker: in one process it is added to the sum, and what ranks or encodings need is copied to the
 * host. SG_ERR_ARGUMENT: a message that is not for n numbers, or out of order. SG_ERR_UNSUPPORTED: the device failed. */
SG_CHECKED sg_status sg_comm_put(sg_comm *c, size_t worker, const struct sg_message *message, struct sg_error *err);

/* Numbers that a worker of this rank wants everyone to know at the end of this exchange; zeros if it says nothing. */
void sg_comm_note(sg_comm *c, size_t worker, const double note[SG_COMM_NOTES]);

/* What a rank brings to the end of an exchange beside its workers' messages and notes. */
struct sg_control {
    sg_status status; /* not SG_OK: this rank cannot go on; everyone learns it and the sum is undefined */
    int stop;         /* signal number, or 0: this rank was asked to stop */
    int save;         /* 1: this rank wants a checkpoint after this step */
};

/* What one exchange carried. */
struct sg_volume {
    double elements_mean; /* entries sent, mean over workers */
    double elements_max;  /* entries of the largest message: the padded length of an equal-size all-gather */
    double bits_mean;     /* the bits that messages state, mean over workers */
    /* Bytes of the messages in their format, mean over workers: an encoded one exactly, header included; else 4 for the
     * count, 4 an index, and the data. In one process nothing travels and nothing is encoded: the sizes
     * are those that `sg_wire_plan` gives, the same numbers as over ranks. */
    double bytes_sent;
};

struct sg_outcome {
    struct sg_volume volume;
    const double (*note)[SG_COMM_NOTES]; /* [workers] of all workers, borrowed until the next exchange begins */
    sg_status status;                    /* the first failing rank's status; SG_OK when all are well */
    int failed_rank;                     /* that rank, or -1 */
    int stop;                            /* largest stop of all ranks */
    int save;                            /* largest save of all ranks */
};

/* End the exchange. Collective. If the call itself fails (memory, transport, messages that do not go together), the other
 * ranks may not know it: the program must abort. */
SG_CHECKED sg_status sg_comm_end(sg_comm *c, const struct sg_control *mine, struct sg_outcome *out,
                                 struct sg_error *err);

/* ---- small collectives ---- */

/* Bring `bytes` of worker `worker` (data on the rank that hosts it, ignored elsewhere) to out on rank 0. Collective. */
SG_CHECKED sg_status sg_comm_collect(sg_comm *c, size_t worker, const void *data, void *out, size_t bytes,
                                     struct sg_error *err);

/* Rank 0's bytes to everyone. Collective. */
SG_CHECKED sg_status sg_comm_broadcast(sg_comm *c, void *data, size_t bytes, struct sg_error *err);

/* SG_OK when every rank brings SG_OK; otherwise the first failing rank's status and message on all ranks. */
SG_CHECKED sg_status sg_comm_agree(sg_comm *c, sg_status status, struct sg_error *err);

/* Finalise; NULL-safe. After a failure that only this rank knows of, sg_comm_abort ends all ranks instead. */
void sg_comm_close(sg_comm *c);
void sg_comm_abort(sg_comm *c, int code);

#endif

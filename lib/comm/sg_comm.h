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

/* How messages travel from now on; raw fp32 unless said. The same on every rank, and the messages are of that code. Raw
 * fp32 messages, and those that send everything, go as they are; all others are encoded (sg_wire.h). */
void sg_comm_set_format(sg_comm *c, const struct sg_wire_format *format);

int sg_comm_rank(const sg_comm *c);
int sg_comm_size(const sg_comm *c);
int sg_comm_local_ranks(const sg_comm *c);     /* ranks on this host, >= 1 */
int sg_comm_local_rank(const sg_comm *c);      /* this one's number among them */
const char *sg_comm_library(const sg_comm *c); /* "Open MPI 4.1.4", or NULL in process */
size_t sg_comm_first(const sg_comm *c);        /* first worker of this rank */
size_t sg_comm_count(const sg_comm *c);        /* workers of this rank, >= 1 */

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

enum { SG_COMM_NOTES = 5 };

/* What a rank brings to an exchange beside its messages. */
struct sg_contribution {
    const struct sg_message *message;    /* [count of this rank] in worker order */
    const double (*note)[SG_COMM_NOTES]; /* [count of this rank] numbers a worker wants everyone to know */
    sg_status status; /* not SG_OK: this rank cannot go on; everyone learns it and nothing is summed */
    int stop;         /* signal number, or 0: this rank was asked to stop */
    int save;         /* 1: this rank wants a checkpoint after this step */
};

struct sg_outcome {
    struct sg_volume volume;
    const double (*note)[SG_COMM_NOTES]; /* [n] of all workers, borrowed until the next exchange */
    sg_status status;                    /* the first failing rank's status; SG_OK when all are well */
    int failed_rank;                     /* that rank, or -1 */
    int stop;                            /* largest stop of all ranks */
    int save;                            /* largest save of all ranks */
};

/* Does an exchange read the messages' indices and values? Over ranks, and where encoded sizes depend on them. They must
 * be in host memory then. */
bool sg_comm_reads_messages(const sg_comm *c);

/* Send this rank's messages to all ranks, and add all workers' messages to sum [d], which starts at +0, in the order of the
 * workers. Collective. `sum` lies in the kernels' memory; in a single process it may be NULL, and the caller adds its
 * messages itself. An empty message is normal. Messages with and without positions may not be mixed in one call. The sum
 * is not divided by the number of workers. If the call itself fails (memory, transport), the other ranks do not know it:
 * the program must abort. */
SG_CHECKED sg_status sg_comm_exchange(sg_comm *c, const struct sg_contribution *mine, float *sum, size_t d,
                                      const struct sg_kernels *kernels, const struct sg_exec *exec,
                                      struct sg_outcome *out, struct sg_error *err);

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

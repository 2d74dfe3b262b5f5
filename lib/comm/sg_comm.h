/* sg_comm.h: workers exchange messages, in one process or over the ranks of MPI.
 *
 * Rank r of R hosts the consecutive workers [r n / R, (r + 1) n / R) (integer division). So rank order is worker order,
 * and any R <= n works. Sums run over workers 0 .. n-1 in that order on every rank, with the same bits for every R.
 *
 * Every rank must make the same collective calls in the same order. Except sg_comm_put and sg_comm_skip, only one
 * thread calls. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_COMM_H
#define SG_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sg_kernels.h"
#include "sg_message.h"
#include "sg_status.h"
#include "sg_wire.h"

typedef struct sg_comm sg_comm;

/* The rank that mpirun or srun gave this process; -1 = it was started without them, or by Slurm as a single task. It
 * reads the environment only. */
int sg_comm_launch_rank(void);

/* Opens the exchange over all ranks that the launcher started, or within this process if there is no launcher. It
 * initialises MPI, so --help never needs MPI. SG_ERR_UNSUPPORTED: there are several ranks and MPI is not built in. */
SG_CHECKED sg_status sg_comm_open(sg_comm **out, struct sg_error *err);

/* Sets the number of workers. Called before any exchange. SG_ERR_ARGUMENT: there are fewer workers than ranks. */
SG_CHECKED sg_status sg_comm_set_workers(sg_comm *c, size_t workers, struct sg_error *err);

/* Sets how positions travel from now on, the same on every rank; NULL = the shortest encoding of each message, which
 * also shortens its numbers if their code has levels (sg_wire_shorten). The default is raw. Every message is encoded
 * (sg_wire.h) except two kinds, which travel unchanged: those of all n numbers in a code of fixed width, and fp32 under
 * raw. */
void sg_comm_set_encoding(sg_comm *c, const struct sg_wire_encoding *encoding);

int sg_comm_rank(const sg_comm *c);
int sg_comm_size(const sg_comm *c);
int sg_comm_local_ranks(const sg_comm *c);     /* how many ranks this host has, >= 1 */
int sg_comm_local_rank(const sg_comm *c);      /* the number of this one among them */
const char *sg_comm_library(const sg_comm *c); /* "Open MPI 4.1.4"; NULL = the exchange is within this process */
size_t sg_comm_first(const sg_comm *c);        /* first worker of this rank */
size_t sg_comm_count(const sg_comm *c);        /* workers of this rank, >= 1 */

/* ---- an exchange ----
 *
 *     sg_comm_begin(c, sum, n, kernels, exec);
 *     for each worker w of this rank:      sg_comm_put(c, w, &message, &err);
 *                                          sg_comm_note(c, w, note);
 *     sg_comm_end(c, &control, &outcome, &err);
 *
 * It adds the messages of all workers to the sum, which starts at +0, in the order of the workers. For that it sends
 * this rank's messages to all ranks. Where the messages have all n numbers and it is faster, every rank gets and adds
 * up one slice of them, and the sums are sent to all ranks; the bits are the same. That needs a code with a width, or
 * one that can be cut (sg_code.cut). Messages in other codes are sent as a whole, and each rank decodes one slice of
 * them if that is faster:
 *
 *     eden          the numbers of a block are rotated together, by signs that are drawn for their places
 *     inceptionn    a number has as many bytes as it needs
 *     factors       every number of a layer depends on a whole column and row
 *     least         floats stand in a list behind the signs of all numbers
 *
 * All ranks begin and end the same exchanges, and each sg_comm_begin needs its sg_comm_end. The messages of one
 * exchange have one code, and all or none of them have positions. An empty message has none and is allowed. Positions
 * that every rank can derive are not sent: a rank uses those of its own messages. */

enum { SG_COMM_NOTES = 6 };

/* Begins an exchange of messages that stand for n numbers each. sum [n] and the messages lie in the memory of the
 * kernels, which are borrowed until the end; exec is copied. The sum is complete after the end. It is not divided by
 * the number of workers. With n = 0 there are no messages, only notes and controls, and sum may be NULL. */
void sg_comm_begin(sg_comm *c, float *sum, size_t n, const struct sg_kernels *kernels, const struct sg_exec *exec);

/* Adds the message of a worker, numbered from 0 over all ranks, to the exchange. Every worker of the rank puts one,
 * unless n is 0, the worker is skipped or the rank ends with a failure. On a CPU distinct workers may put from
 * distinct threads, and index and data are borrowed until the end unless they are copied (sg_comm_copy). On a GPU
 * workers must put in their order, and the message is used up at once, so that its memory can serve the next worker:
 * within one process it is added to the sum, and what ranks or encodings need is copied to the host. SG_ERR_ARGUMENT:
 * the message does not stand for n numbers, or is out of order. SG_ERR_UNSUPPORTED: the device failed. */
SG_CHECKED sg_status sg_comm_put(sg_comm *c, size_t worker, const struct sg_message *message, struct sg_error *err);

/* From now to the end of this exchange, a message on a CPU is copied when it is put, so that its memory can serve
 * another worker at once. The copies' memory is kept for later exchanges. */
void sg_comm_copy(sg_comm *c);

/* Every rank gets all messages of this exchange as a whole, for sg_comm_messages. All ranks call it, or none. */
void sg_comm_hear(sg_comm *c);

/* The messages of this exchange are counted only and not moved, because the sum is there already. All ranks call it, or
 * none. */
void sg_comm_only_count(sg_comm *c);

/* The worker takes no part in this exchange, and puts no message: it adds nothing to the sum, and counts as a message
 * of no entries, bits and bytes. On a GPU this, too, is called in the order of the workers. At least one worker of all
 * ranks must put a message, and then none may have positions that every rank can derive, because a rank may have no
 * message of its own. */
void sg_comm_skip(sg_comm *c, size_t worker);

/* Sets the numbers of a worker of this rank that all ranks receive at the end of this exchange; zeros by default. */
void sg_comm_note(sg_comm *c, size_t worker, const double note[SG_COMM_NOTES]);

/* What a rank sends to all ranks at the end of an exchange, beside messages and notes. */
struct sg_control {
    sg_status status; /* not SG_OK: this rank must stop; all ranks receive the status, and the sum is undefined */
    int stop;         /* the number of the signal that asked this rank to stop; 0 = none */
    int save;         /* 1: this rank wants a checkpoint after this step */
};

/* How much one exchange carried. */
struct sg_volume {
    double elements_mean; /* entries of a message, mean over workers */
    double elements_max;  /* entries of the largest message: the padded length of an equal-size all-gather */
    double bits_mean;     /* the bits that a message states, mean over workers */
    /* Bytes of a message, mean over workers. An encoded message counts exactly, with its header; any other counts 4 for
     * its length, 4 for each position that is not known to all ranks anyway, and its data. The numbers are the same
     * within one process, where nothing travels. */
    double bytes_sent;
};

struct sg_outcome {
    struct sg_volume volume;
    const double (*note)[SG_COMM_NOTES]; /* [workers] of all ranks; borrowed until the next exchange begins */
    sg_status status;                    /* the status of the first rank that failed; SG_OK = none did */
    int failed_rank;                     /* the number of that rank; -1 = none failed */
    int stop;                            /* the largest `stop` of all ranks */
    int save;                            /* the largest `save` of all ranks */
};

/* Ends the exchange; collective. If the call itself fails (memory, transport, messages that do not go together), the
 * other ranks may not notice it, so the program must abort. */
SG_CHECKED sg_status sg_comm_end(sg_comm *c, const struct sg_control *mine, struct sg_outcome *out,
                                 struct sg_error *err);

/* *bytes <- the bytes of a message sent outside exchanges, counted as in sg_volume. The message needs no data unless
 * its code has levels (sg_wire_shorten). */
SG_CHECKED sg_status sg_comm_bytes(const sg_comm *c, const struct sg_message *message, double *bytes,
                                   struct sg_error *err);

/* The messages [workers] of all workers in the exchange that ended last, in host memory; borrowed until the next
 * exchange begins. NULL = they are not all here: they lie on a GPU, a worker was skipped, or several ranks
 * exchanged slices of them, as they may without sg_comm_hear, and do in any case where all n numbers have a fixed
 * width. */
const struct sg_message *sg_comm_messages(const sg_comm *c);

/* True if ranks get slices only of messages of all n numbers in this code, which has no width, and of so many bytes. It
 * needs no exchange. */
bool sg_comm_cuts(const sg_comm *c, const struct sg_code *code, size_t n, size_t bytes);

/* ---- exchanges beside the computation ----
 *
 * Of one process, several of these objects may each hold a begun exchange. A thread that does not compute ends them,
 * one after another and in the same order on every rank, and leaves the cores to others while it waits. Until it is
 * through, no other thread may make collective calls. */

/* true: there are several ranks, and their MPI lets a thread other than the first one call it. */
bool sg_comm_has_beside(const sg_comm *c);
/* *out <- exchanges of the same ranks and workers, to be closed before c is. sg_comm_has_beside is true. */
SG_CHECKED sg_status sg_comm_open_beside(sg_comm **out, const sg_comm *c, struct sg_error *err);

/* ---- small collective calls ---- */

/* Brings `bytes` bytes of worker `worker` to out on rank 0. Only the rank that hosts the worker reads `data`. */
SG_CHECKED sg_status sg_comm_collect(sg_comm *c, size_t worker, const void *data, void *out, size_t bytes,
                                     struct sg_error *err);

/* Copies rank 0's bytes to all ranks. */
SG_CHECKED sg_status sg_comm_broadcast(sg_comm *c, void *data, size_t bytes, struct sg_error *err);

/* Returns SG_OK if every rank brings SG_OK. Otherwise all ranks get the status and the message of the first that
 * failed. */
SG_CHECKED sg_status sg_comm_agree(sg_comm *c, sg_status status, struct sg_error *err);

/* ---- the link ---- */

/* What a message takes from rank 0 to rank 1: half the time of its way there and back, the median of 5 to 41 trips
 * after one that is not counted, with other ranks idle. Trips of one size take 0.15 s or some more. */
enum { SG_COMM_SIZES = 12 };
struct sg_comm_times {
    double bytes[SG_COMM_SIZES], seconds[SG_COMM_SIZES]; /* from 4 bytes to 2 MiB, ascending */
    size_t count;                                        /* of these as many as the budget has room for, at least 2 */
};

/* Collective; *out is set on rank 0. All sizes together take about budget_s, at most. `progress` is called on every
 * rank after each size. SG_ERR_ARGUMENT: there is only one rank. */
SG_CHECKED sg_status sg_comm_time_messages(sg_comm *c, struct sg_comm_times *out, double budget_s,
                                           void (*progress)(double done, double total), struct sg_error *err);

/* ---- a rank that does not answer ---- */

/* The call of this process that waits for other ranks. */
struct sg_comm_wait {
    uint64_t call;   /* its number, from 1; 0 = none waits */
    double waited_s; /* so far */
    char who[256];   /* "rank 1 on node7", "the other 7 ranks, on node2, node3" */
};
typedef void sg_comm_look(const struct sg_comm_wait *wait);

/* From sg_comm_open to sg_comm_close, if there are ranks, a thread calls `look` four times a second. It may print and
 * end the process, which is all that can be done about a call that never returns. */
void sg_comm_watch(sg_comm_look *look);

/* Closes the exchange and MPI; NULL is fine. After a failure on this rank alone, call sg_comm_abort: it ends all
 * ranks. */
void sg_comm_close(sg_comm *c);
void sg_comm_abort(sg_comm *c, int code);

#endif

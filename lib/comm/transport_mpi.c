/* transport_mpi.c: Open MPI under the exchange. In a build without MPI opening fails if there are several ranks. */
/* SPDX-License-Identifier: MIT */
#include "transport.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef SG_WITH_MPI
#include <mpi.h>

enum {
    CHUNK_BYTES = 1 << 24, /* so that one call on a slow link does not look like a rank that does not answer */
    PAUSE_NS = 20000       /* between two looks at a collective; the kernel adds some 50 us */
};

/* Ends a call that waited. */
static sg_status check(int code, const char *what, struct sg_error *err) {
    transport_wait_end();
    if (code == MPI_SUCCESS)
        return SG_OK;
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(code, text, &length);
    return sg_fail(err, SG_ERR_COMM, "%s failed: %.*s", what, length, text);
}

/* Slurm's srun lets ranks find each other only if its plug-in for MPI is chosen (--mpi). Without that, MPI would end
 * the process with a message about how Open MPI was built. */
static sg_status check_launcher(struct sg_error *err) {
    const bool told = getenv("OMPI_COMM_WORLD_RANK") || getenv("PMI_RANK") || getenv("PMIX_RANK");
    return told
               ? SG_OK
               : sg_fail(err, SG_ERR_ARGUMENT,
                         "srun started %s tasks that cannot find each other: use srun --mpi=pmix, or mpirun inside the "
                         "job",
                         getenv("SLURM_STEP_NUM_TASKS"));
}

static MPI_Datatype item_of(size_t bytes) {
    MPI_Datatype item;
    MPI_Type_contiguous((int)bytes, MPI_BYTE, &item);
    MPI_Type_commit(&item);
    return item;
}

static sg_status gather(const void *mine, void *all, struct sg_parts parts, size_t unit, int rank,
                        struct sg_error *err) {
    MPI_Datatype item = item_of(unit);
    transport_wait_begin(-1);
    int code = MPI_Allgatherv(mine ? mine : MPI_IN_PLACE, parts.count[rank], item, all, parts.count, parts.displacement,
                              item, MPI_COMM_WORLD);
    MPI_Type_free(&item);
    return check(code, "MPI_Allgatherv", err);
}

static sg_status deal(const void *mine, struct sg_parts sent, void *all, struct sg_parts received, size_t unit,
                      struct sg_error *err) {
    MPI_Datatype item = item_of(unit);
    transport_wait_begin(-1);
    int code = MPI_Alltoallv(mine, sent.count, sent.displacement, item, all, received.count, received.displacement,
                             item, MPI_COMM_WORLD);
    MPI_Type_free(&item);
    return check(code, "MPI_Alltoallv", err);
}

/* Waits for a collective that is under way. Waiting inside MPI would take a core from the thread that computes. */
static int wait_aside(int code, MPI_Request *request) {
    const struct timespec pause = {0, PAUSE_NS};
    int done = 0;
    while (code == MPI_SUCCESS && (code = MPI_Test(request, &done, MPI_STATUS_IGNORE)) == MPI_SUCCESS && !done)
        nanosleep(&pause, NULL);
    return code;
}

static sg_status gather_aside(const void *mine, void *all, struct sg_parts parts, size_t unit, int rank,
                              struct sg_error *err) {
    MPI_Datatype item = item_of(unit);
    MPI_Request request;
    transport_wait_begin(-1);
    int code = MPI_Iallgatherv(mine ? mine : MPI_IN_PLACE, parts.count[rank], item, all, parts.count,
                               parts.displacement, item, MPI_COMM_WORLD, &request);
    code = wait_aside(code, &request);
    MPI_Type_free(&item);
    return check(code, "MPI_Iallgatherv", err);
}

static sg_status deal_aside(const void *mine, struct sg_parts sent, void *all, struct sg_parts received, size_t unit,
                            struct sg_error *err) {
    MPI_Datatype item = item_of(unit);
    MPI_Request request;
    transport_wait_begin(-1);
    int code = MPI_Ialltoallv(mine, sent.count, sent.displacement, item, all, received.count, received.displacement,
                              item, MPI_COMM_WORLD, &request);
    code = wait_aside(code, &request);
    MPI_Type_free(&item);
    return check(code, "MPI_Ialltoallv", err);
}

/* Calls `part` for pieces that fit MPI's int counts. */
static sg_status in_chunks(char *data, size_t bytes, int (*part)(char *data, int bytes, int peer), int peer,
                           const char *what, struct sg_error *err) {
    sg_status status = SG_OK;
    while (bytes > 0 && status == SG_OK) {
        int now = bytes < CHUNK_BYTES ? (int)bytes : CHUNK_BYTES;
        transport_wait_begin(peer);
        status = check(part(data, now, peer), what, err);
        data += now;
        bytes -= (size_t)now;
    }
    return status;
}

static int send_part(char *data, int bytes, int peer) {
    return MPI_Send(data, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
}

static int receive_part(char *data, int bytes, int peer) {
    return MPI_Recv(data, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static int broadcast_part(char *data, int bytes, int root) {
    return MPI_Bcast(data, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
}

static sg_status send_to(const void *data, size_t bytes, int to, struct sg_error *err) {
    return in_chunks((char *)data, bytes, send_part, to, "MPI_Send", err);
}

static sg_status receive(void *data, size_t bytes, int from, struct sg_error *err) {
    return in_chunks(data, bytes, receive_part, from, "MPI_Recv", err);
}

static sg_status broadcast(void *data, size_t bytes, int from, struct sg_error *err) {
    return in_chunks(data, bytes, broadcast_part, from, "MPI_Bcast", err);
}

static void finalize(void) {
    transport_wait_begin(-1);
    MPI_Finalize();
}

static void abort_all(int code) {
    transport_wait_begin(-1);
    MPI_Abort(MPI_COMM_WORLD, code);
}

static const struct sg_transport beside = {gather_aside, deal_aside, send_to,   receive,
                                           broadcast,    NULL,       abort_all, NULL};
static const struct sg_transport mpi = {gather, deal, send_to, receive, broadcast, finalize, abort_all, &beside};
static const struct sg_transport mpi_alone = {gather, deal, send_to, receive, broadcast, finalize, abort_all, NULL};

static sg_status gather_hosts(struct sg_world *world, struct sg_error *err) {
    char mine[MPI_MAX_PROCESSOR_NAME + SG_HOST_NAME] = "";
    int length = 0;
    world->host = calloc((size_t)world->size, sizeof *world->host);
    if (!world->host)
        return sg_fail_memory(err, "the names of the hosts");
    MPI_Get_processor_name(mine, &length);
    mine[SG_HOST_NAME - 1] = '\0';
    return check(MPI_Allgather(mine, SG_HOST_NAME, MPI_CHAR, world->host, SG_HOST_NAME, MPI_CHAR, MPI_COMM_WORLD),
                 "MPI_Allgather", err);
}

sg_status sg_transport_open(const struct sg_transport **out, struct sg_world *world, struct sg_error *err) {
    int provided, length = 0;
    if (check_launcher(err) != SG_OK)
        return err->status;
    /* Over TCP, Open MPI moves two large messages that cross each other one after the other, unless it only sends. A
     * value that the user has set is kept. */
    setenv("OMPI_MCA_btl_tcp_flags", "send,inplace,need-ack,need-csum,hetero-rdma", 0);
    transport_wait_begin(-1);
    sg_status status = check(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread", err);
    if (status != SG_OK)
        return status;
    transport_wait_begin(-1);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &world->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world->size);
    MPI_Comm node;
    if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) == MPI_SUCCESS) {
        MPI_Comm_size(node, &world->local_ranks);
        MPI_Comm_rank(node, &world->local_rank);
        MPI_Comm_free(&node);
    }
    status = gather_hosts(world, err);
    if (status != SG_OK)
        return status;
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    MPI_Get_library_version(version, &length);
    version[strcspn(version, ",\n")] = '\0'; /* "Open MPI v4.1.4, package: …" */
    snprintf(world->library, sizeof world->library, "%.63s", version);
    *out = provided >= MPI_THREAD_SERIALIZED ? &mpi : &mpi_alone;
    return SG_OK;
}

#else

/* A launcher with a single rank needs no MPI. */
sg_status sg_transport_open(const struct sg_transport **out, struct sg_world *world, struct sg_error *err) {
    const char *size = getenv("OMPI_COMM_WORLD_SIZE");
    *world = (struct sg_world){.size = 1, .local_ranks = 1};
    *out = NULL;
    if (size && strcmp(size, "1") == 0)
        return SG_OK;
    return sg_fail(
        err, SG_ERR_UNSUPPORTED,
        "started under an MPI launcher, but this build has no MPI: apt-get install libopenmpi-dev openmpi-bin and "
        "rebuild with WITH_MPI=1");
}
#endif

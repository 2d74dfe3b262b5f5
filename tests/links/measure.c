/* measure.c: what messages and exchanges take between ranks. It runs under mpirun; rank 0 prints one JSON object.
 *
 *     measure pair RATE         a message from rank 0 to rank 1 and back, half the time of both
 *     measure shift RATE        a message from every rank to the next one, all at the same time
 *     measure deal RATE         MPI_Alltoallv, with so many bytes for each rank
 *     measure gather RATE       MPI_Allgatherv, of so many bytes of each rank
 *     measure exchange RATE     whole exchanges of lib/comm, with messages as long as those of the recipe's methods
 *     measure open-mpi RATE     Open MPI's own collectives with the longest and a sparse one of these
 *
 * RATE, in bits a second, limits how often large messages are repeated. Times are medians. Bytes are what the kernel
 * counts at the interface eth0 of each rank's namespace; they are null where there is none. shift, deal and gather take
 * from when the last rank starts until the last one has all, by the clock that ranks of one machine share. */
/* SPDX-License-Identifier: MIT */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sg_clock.h"
#include "sg_comm.h"
#include "sg_json.h"
#include "sg_stats.h"

enum { LEAST = 7, MOST = 41 };
static const double BUDGET_S = 0.15; /* for all repetitions of one size */

static int rank, ranks;

static void need(bool good, const char *what) {
    if (good)
        return;
    fprintf(stderr, "measure: %s failed\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void *reserve(size_t bytes) {
    void *out = calloc(bytes ? bytes : 1, 1);
    need(out != NULL, "memory");
    return out;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ---- times by bytes ---- */

static void to_the_next(char *data, char *room, int bytes) {
    MPI_Sendrecv(data, bytes, MPI_BYTE, (rank + 1) % ranks, 0, room, bytes, MPI_BYTE, (rank + ranks - 1) % ranks, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The same parts for all ranks: their lengths, and where they begin. */
static void equal_parts(int count[64], int displacement[64], int bytes) {
    for (int r = 0; r < ranks; r++) {
        count[r] = bytes;
        displacement[r] = r * bytes;
    }
}

static void deal(char *data, char *room, int bytes) {
    int count[64], displacement[64];
    equal_parts(count, displacement, bytes);
    MPI_Alltoallv(data, count, displacement, MPI_BYTE, room, count, displacement, MPI_BYTE, MPI_COMM_WORLD);
}

static void gather(char *data, char *room, int bytes) {
    int count[64], displacement[64];
    equal_parts(count, displacement, bytes);
    MPI_Allgatherv(data, bytes, MPI_BYTE, room, count, displacement, MPI_BYTE, MPI_COMM_WORLD);
}

/* Bytes from 4 to those with which a rank gets 2 MiB, which is `moved` times as many. What gets 8 kB or less is mostly
 * start-ups, and is measured eight in a row. */
static void measure_sizes(cJSON *out, double byte_s, void (*run)(char *data, char *room, int bytes), int moved) {
    static const int size[] = {4,     104,   256,    1024,   2048,   4096,    8192,   16384,
                               32768, 65536, 131072, 262144, 524288, 1048576, 2097152};
    enum { SIZES = sizeof size / sizeof *size };
    double bytes[SIZES], seconds[SIZES];
    char *data = reserve(2 * (size_t)size[SIZES - 1]), *room = reserve(2 * (size_t)size[SIZES - 1]);
    size_t s = 0;
    for (; s < SIZES && (double)size[s] * moved <= size[SIZES - 1]; s++) {
        double took_s[MOST];
        const int in_a_row = size[s] * moved <= 8192 ? 8 : 1;
        const double wanted = BUDGET_S / in_a_row / (1e-4 + size[s] * byte_s * moved);
        const size_t times = wanted < LEAST ? LEAST : wanted > MOST ? MOST : (size_t)wanted;
        for (size_t i = 0; i <= times; i++) { /* the first one is not counted */
            MPI_Barrier(MPI_COMM_WORLD);
            const double start_s = sg_clock_s();
            for (int k = 0; k < in_a_row; k++)
                run(data, room, size[s]);
            double last_s[] = {start_s, sg_clock_s()};
            MPI_Allreduce(MPI_IN_PLACE, last_s, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
            if (i > 0)
                took_s[i - 1] = (last_s[1] - last_s[0]) / in_a_row;
        }
        qsort(took_s, times, sizeof *took_s, compare);
        bytes[s] = size[s];
        seconds[s] = took_s[times / 2];
    }
    free(data);
    free(room);
    sg_json_set(out, "bytes", sg_json_numbers(bytes, s));
    sg_json_set(out, "seconds", sg_json_numbers(seconds, s));
}

static void no_progress(double done, double total) {
    (void)done, (void)total;
}

/* As sparsebench --measure-link does. */
static void measure_pair(cJSON *out, sg_comm *comm) {
    struct sg_error err;
    struct sg_comm_times times;
    need(sg_comm_time_messages(comm, &times, 60, no_progress, &err) == SG_OK, "sg_comm_time_messages");
    sg_json_set(out, "bytes", sg_json_numbers(times.bytes, times.count));
    sg_json_set(out, "seconds", sg_json_numbers(times.seconds, times.count));
}

/* ---- whole exchanges ---- */

enum { NUMBERS = 422753, TIMES = 9 }; /* the parameters of the recipe's model */

/* What one exchange sends: `count` floats, with their positions or as the whole vector. */
struct shape {
    const char *name;
    size_t count;
    bool whole;
};

static const struct shape of_comm[] = {
    {"none", NUMBERS, true},
    {"topk", 4228, false}, /* 33.8 kB */
    {"hard-threshold", 980, false},
    {"qsgd", 26851, false},   /* as many bytes as numbers of 4 bits have */
    {"powersgd", 5811, true}, /* one of two rounds */
    {NULL, 0, false},
};
static const struct shape of_mpi[] = {{"none", NUMBERS, true}, {"topk", 4228, false}, {NULL, 0, false}};

struct exchange {
    struct shape shape;
    sg_comm *comm;
    float *dense, *sum;
    uint32_t *index;
    char *all;            /* of all ranks, positions and floats */
    double message_bytes; /* what lib/comm says a message has */
};

enum { ENTRY = sizeof(uint32_t) + sizeof(float), MOST_ENTRIES = 26851 };

static void by_comm(struct exchange *x) {
    const struct sg_exec exec = {.threads = 1};
    const struct sg_control well = {0};
    const struct shape *shape = &x->shape;
    const size_t n = shape->whole ? shape->count : NUMBERS;
    const struct sg_message message = {.code = &sg_code_fp32,
                                       .n = n,
                                       .count = shape->count,
                                       .index = shape->whole ? NULL : x->index,
                                       .data = x->dense,
                                       .bytes = shape->count * sizeof *x->dense};
    struct sg_outcome outcome;
    struct sg_error err;
    sg_comm_begin(x->comm, x->sum, n, sg_kernels_cpu(NULL), &exec);
    need(sg_comm_put(x->comm, (size_t)rank, &message, &err) == SG_OK, "sg_comm_put");
    need(sg_comm_end(x->comm, &well, &outcome, &err) == SG_OK, "sg_comm_end");
    x->message_bytes = outcome.volume.bytes_sent;
}

static void by_mpi(struct exchange *x) {
    const int bytes = (int)x->shape.count * (x->shape.whole ? (int)sizeof(float) : ENTRY);
    x->message_bytes = bytes;
    if (x->shape.whole)
        MPI_Allreduce(x->dense, x->sum, (int)x->shape.count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    else
        gather((char *)x->dense, x->all, bytes);
}

/* The bytes that this rank's interface has sent; -1 = there is none. */
static double sent_bytes(void) {
    double bytes = -1;
    FILE *file = fopen("/sys/class/net/eth0/statistics/tx_bytes", "r");
    if (file) {
        if (fscanf(file, "%lf", &bytes) != 1)
            bytes = -1;
        fclose(file);
    }
    return bytes;
}

/* The same when all ranks are through and their queues are empty. */
static double settled_bytes(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(100000);
    const double bytes = sent_bytes();
    MPI_Barrier(MPI_COMM_WORLD);
    return bytes;
}

static void measure_exchange(cJSON *rows, void (*run)(struct exchange *x), struct exchange *x) {
    double took_s[TIMES], all_bytes = 0;
    run(x); /* connections are opened now */
    const double before = settled_bytes();
    for (size_t i = 0; i < TIMES; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double start_s = sg_clock_s();
        run(x);
        took_s[i] = sg_clock_s() - start_s;
    }
    const double bytes = settled_bytes() - before;
    MPI_Allreduce(MPI_IN_PLACE, took_s, TIMES, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&bytes, &all_bytes, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    qsort(took_s, TIMES, sizeof *took_s, compare);
    cJSON *row = cJSON_CreateObject();
    sg_json_set_string(row, "name", x->shape.name);
    sg_json_set_bool(row, "whole", x->shape.whole);
    sg_json_set_number(row, "seconds", took_s[TIMES / 2]);
    sg_json_set_number(row, "message_bytes", x->message_bytes);
    if (sent_bytes() >= 0)
        sg_json_set_number(row, "interface_bytes", all_bytes / ranks / TIMES);
    sg_json_push(rows, row);
}

static void measure_exchanges(cJSON *out, sg_comm *comm, bool ours) {
    struct sg_error err;
    struct exchange x = {.comm = comm,
                         .dense = reserve(NUMBERS * sizeof(float)),
                         .sum = reserve(NUMBERS * sizeof(float)),
                         .index = reserve(MOST_ENTRIES * sizeof(uint32_t)),
                         .all = reserve((size_t)ranks * MOST_ENTRIES * ENTRY)};
    cJSON *rows = cJSON_CreateArray();
    need(ranks <= 64 && sg_comm_set_workers(comm, (size_t)ranks, &err) == SG_OK, "sg_comm_set_workers");
    for (const struct shape *shape = ours ? of_comm : of_mpi; shape->name; shape++) {
        x.shape = *shape;
        for (uint32_t i = 0; !shape->whole && i < shape->count; i++)
            x.index[i] = i * (NUMBERS / (uint32_t)shape->count);
        measure_exchange(rows, ours ? by_comm : by_mpi, &x);
    }
    sg_json_set(out, "rows", rows);
    free(x.dense);
    free(x.sum);
    free(x.index);
    free(x.all);
}

int main(int argc, char **argv) {
    struct sg_error err;
    sg_comm *comm = NULL;
    if (argc != 3 || sg_comm_open(&comm, &err) != SG_OK) {
        fprintf(stderr, "usage: mpirun measure pair|shift|deal|gather|exchange|open-mpi RATE\n");
        return 2;
    }
    rank = sg_comm_rank(comm);
    ranks = sg_comm_size(comm);
    const double byte_s = 8 / strtod(argv[2], NULL);
    cJSON *out = cJSON_CreateObject();
    sg_json_set_string(out, "kind", argv[1]);
    sg_json_set_number(out, "ranks", ranks);
    sg_json_set_number(out, "bits_per_s", 8 / byte_s);
    if (strcmp(argv[1], "pair") == 0)
        measure_pair(out, comm);
    else if (strcmp(argv[1], "shift") == 0)
        measure_sizes(out, byte_s, to_the_next, 1);
    else if (strcmp(argv[1], "deal") == 0)
        measure_sizes(out, byte_s, deal, ranks - 1);
    else if (strcmp(argv[1], "gather") == 0)
        measure_sizes(out, byte_s, gather, ranks - 1);
    else
        measure_exchanges(out, comm, strcmp(argv[1], "exchange") == 0);
    char *text = sg_json_text(out, false);
    if (rank == 0 && text)
        fputs(text, stdout);
    free(text);
    cJSON_Delete(out);
    sg_comm_close(comm);
    return 0;
}

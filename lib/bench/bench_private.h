/* bench_private.h: what the files of lib/bench share. */
#ifndef BENCH_PRIVATE_H
#define BENCH_PRIVATE_H

#include "sg_bench.h"
#include "sg_kernels.h"
#include "sg_wire.h"

/* ---- what is compressed ---- */

struct layers {
    char name[24];
    size_t n, count;
    size_t *offset; /* [count + 1] */
};

/* From an entry of the recipe's sizes: a whole number, or a model's name. */
SG_CHECKED sg_status layers_open(struct layers *out, const struct sg_node *size, struct sg_error *err);
void layers_close(struct layers *layers);

/* g [n] <- the distribution of that name; a function of name and layers alone. */
void draw_gradient(float *g, const struct layers *layers, const char *distribution);

/* The arrays of one case, and what its operations need to know. */
struct data {
    const struct layers *layers;
    double density;
    float *g, *e;    /* [n] */
    uint32_t *index; /* [n] out */
    float *value;    /* [n] out */
    size_t *count;   /* [layers] out */
    size_t *k;       /* [layers] max(1, floor(density n)) */
    size_t k_total;
    uint32_t *position;    /* [k_total] random */
    float *position_value; /* [k_total] g there */
    float *tau;            /* [layers] one threshold for all: the floor(density n)-th largest magnitude of g */
    float *kth;            /* [layers] k-th magnitude of g */
    float *magnitude;      /* [n] scratch of quickselect */
};

/* Allocates; g is for the caller to draw. data_close also after a failure. */
SG_CHECKED sg_status data_open(struct data *d, const struct layers *layers, struct sg_error *err);
void data_close(struct data *d);

/* What depends on g and the density: k, thresholds, positions. */
SG_CHECKED sg_status data_set_density(struct data *d, double density, struct sg_error *err);

/* e <- a residual like g, the start of every call that is compared. */
void data_fill_residual(struct data *d);

/* ---- operations ---- */

/* One operation on one back-end. */
struct job {
    const struct operation *operation;
    const struct sg_kernels *kernels;
    struct sg_exec exec;
    struct data *data;
    struct device *device; /* where it is timed; NULL = here */
    float *guess;          /* [layers] of warm Top-k */
    unsigned turn;
    float
        decay; /* on the residual. Timed with 0: same loads, stores and products, and every call sees the same p = g */
    int status;
    double sum;
    size_t sent; /* by the last call */

    /* Encode and decode: the format, and a message in it. */
    const char *encoding; /* its name, "auto" too */
    struct sg_wire_format format;
    uint8_t *message, *coded; /* as bytes; its data in the code */
    size_t message_bytes, index_bytes;
};

struct operation {
    const char *name;
    void (*run)(struct job *job);           /* one call, on data->e; sets status, sum, sent */
    double (*bytes)(const struct job *job); /* that any implementation must move; results/README.md has the table */
    bool writes_residual, sends;            /* what to compare: e and scalars always, index and value if it sends */
    bool one_thread;                        /* and plain C, or C++ */
    bool device_only;                       /* runs on back-end cuda and there alone */
    size_t compared_with; /* operation whose plain C version defines the output, as an index into operations */
    bool rival;           /* one of bench_rival.h, not bound to plain C's order and choice among ties */
    bool wire;            /* runs on each encoding instead of each back-end; right if a message survives both ways */
};

extern const struct operation operations[];
extern const size_t n_operations;

/* The reference: e[i] += g[i] on `threads` threads, with the widest vectors of this machine. */
void add_in_place(float *e, const float *g, size_t n, int threads);

/* Top-k with feedback as most people write it: form p, copy the magnitudes, quickselect, gather. Plain C, one thread.
 */
void quickselect_topk(struct job *job);

/* Rivals in C++. NULL = they are there, else what is missing. */
const char *rival_missing(void);
void run_rival(struct job *job);
/* Compare with what plain C kept (p [n], overwritten) and sent. */
bool rival_is_right(const struct job *job, float *p, const uint32_t *index, const float *value, const size_t *count);

/* Plans and encodes the case's random positions in job->format. The message is for the caller to free, on failure too.
 */
SG_CHECKED sg_status wire_job_open(struct job *job, struct sg_error *err);
void run_encode(struct job *job);
void run_decode(struct job *job);
double bytes_wire(const struct job *job);

/* Does the message come back from its bytes, values as rounded? `corrupt` spoils a bit in between. */
bool round_trips(struct job *job, bool corrupt);

/* ---- is an operation's output that of plain C? ---- */

/* What plain C on one thread gave, per operation. */
struct expected {
    const struct operation *operation; /* NULL = nothing yet */
    float *e, *value, *guess;
    uint32_t *index;
    size_t *count, sent;
    double sum;
};

SG_CHECKED sg_status expected_open(struct expected *x, const struct layers *layers, struct sg_error *err);
void expected_close(struct expected *x);

/* Run the plain C version of `operation` and keep its output. job->data is overwritten. */
void expect(struct expected *x, const struct operation *operation, struct data *data);

/* Run the job once with a residual, decay 1, and compare all its output bit for bit; a rival's as rival_is_right does,
 * which uses x up. */
bool gives_expected(struct expected *x, struct job *job, bool corrupt);

/* ---- time ---- */

struct timing {
    double *sample;        /* [samples] seconds a call */
    size_t samples, calls; /* calls a sample */
    double median, p10, p90, min;
    size_t outliers; /* further than 5 scaled MADs from the median */
};

/* One thing to time. */
struct timed {
    void (*call)(void *arg);
    double (*measure)(void *arg,
                      size_t calls); /* seconds of so many calls, NaN = failed; NULL = by this machine's clock */
    void *arg;
    struct timing timing;
};

/* Time them in turn: warm up, choose calls so that a sample lasts 1 ms or longer, then `samples` rounds. */
SG_CHECKED sg_status time_in_turn(struct timed *timed, size_t count, size_t samples, int (*stop)(void),
                                  struct sg_error *err);
void timing_free(struct timing *timing);

#endif

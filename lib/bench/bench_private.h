/* bench_private.h: what the files of lib/bench share. */
#ifndef BENCH_PRIVATE_H
#define BENCH_PRIVATE_H

#include "sg_bench.h"
#include "sg_kernels.h"
#include "sg_method.h"
#include "sg_wire.h"

/* ---- what is compressed ---- */

struct layers {
    char name[24];
    size_t n, count;
    size_t *offset; /* [count + 1] */
    size_t *rows;   /* [count] of each layer as a matrix; 1 = a vector */
};

/* Makes the layers from an entry of the recipe's sizes: a whole number or the name of a model. */
SG_CHECKED sg_status layers_open(struct layers *out, const struct sg_node *size, struct sg_error *err);
/* The same from offsets [count + 1]; the layers are vectors. */
SG_CHECKED sg_status layers_cut(struct layers *out, const char *name, const size_t *offset, size_t count,
                                struct sg_error *err);
void layers_close(struct layers *layers);

/* g [n] <- the distribution of that name; a function of name, layers and worker alone. */
void draw_gradient(float *g, const struct layers *layers, const char *distribution, uint32_t worker);

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

/* Allocates the arrays; the caller draws g. data_close must follow, also after a failure. */
SG_CHECKED sg_status data_open(struct data *d, const struct layers *layers, struct sg_error *err);
void data_close(struct data *d);

/* How many of n elements a density means: max(1, floor(density n)). */
size_t elements_of(double density, size_t n);

/* Sets what depends on g and the density: k, thresholds, positions. */
SG_CHECKED sg_status data_set_density(struct data *d, double density, struct sg_error *err);

/* e <- a residual that looks like g; every compared call starts from it. */
void data_fill_residual(struct data *d);

/* ---- operations ---- */

/* One operation on one back-end. */
struct job {
    const struct operation *operation;
    const struct sg_kernels *kernels;
    struct sg_exec exec;
    struct data *data;
    struct device *device; /* the device on which it is timed; NULL = this machine's cores */
    float *guess;          /* [layers] of warm Top-k */
    unsigned turn;
    float decay; /* of the residual; 0 when timed, so that every call sees p = g at the cost of any other decay */
    int status;
    double sum;
    size_t sent; /* by the last call */

    /* Encode and decode: the format, and a message in it. */
    const char *encoding; /* its name, "auto" too */
    struct sg_wire_format format;
    uint8_t *message, *coded; /* as bytes; its data in the code */
    size_t message_bytes, index_bytes;

    sg_method *method; /* of coders */
};

struct operation {
    const char *name;
    void (*run)(struct job *job);           /* one call, on data->e; sets status, sum, sent */
    double (*bytes)(const struct job *job); /* bytes that anyone must move; results/BENCHMARKS.md has the table */
    bool writes_residual, sends; /* which outputs are compared: e and the scalars always, index and value if it sends */
    bool one_thread;             /* it runs on one thread, in plain C or C++ */
    bool device_only;            /* a rival on back-end cuda, where it runs by its name; `run` is NULL */
    size_t compared_with; /* the operation, as an index into operations, whose plain C version defines the output */
    bool rival;           /* one of bench_rival.h; its order and its choice among ties may differ from plain C's */
    bool floats;          /* a rival that adds up in floats: its output is near plain C's */
    const char *torch;    /* the rival by libtorch that does the same; NULL = none */
    const char *coder;    /* name of the compressor that runs; NULL = none */
    bool wire; /* runs on each encoding, not on each back-end; it is right if a message comes back unchanged */
};

extern const struct operation operations[];
extern const size_t n_operations;

/* The reference: e[i] += g[i] on `threads` threads, with the widest vectors of this machine. */
void add_in_place(float *e, const float *g, size_t n, int threads);

/* Top-k with feedback as most people write it: form p, copy the magnitudes, quickselect, gather. Plain C, one thread.
 */
void quickselect_topk(struct job *job);

/* The products of PowerSGD at rank BENCH_RANK, of every layer that is a matrix M whose first two rows are Q': magnitude
 * <- P = M Q, value <- Q = M' P, e <- P Q'. */
enum { BENCH_RANK = 2 };
void run_products(struct job *job);
bool is_low_rank(const struct layers *layers, size_t layer);

/* What a rival needs to run; NULL = nothing, or the operation is no rival. */
const char *rival_missing(const struct operation *operation);
void run_rival(struct job *job);
/* Compares with what plain C sent and kept; p [n], what it kept, is overwritten. */
bool rival_is_right(const struct job *job, float *p, const uint32_t *index, const float *value, const size_t *count);
/* For products: is e right up to what rounding to floats may do? */
bool rival_is_near(const struct job *job, const float *right);

/* Plans and encodes the case's random positions in job->format. The message is for the caller to free, on failure too.
 */
SG_CHECKED sg_status wire_job_open(struct job *job, struct sg_error *err);
void run_encode(struct job *job);
void run_decode(struct job *job);
double bytes_wire(const struct job *job);

/* A coder's method, for the job to close. */
SG_CHECKED sg_status coder_job_open(struct job *job, struct sg_error *err);
void run_coder(struct job *job);
double bytes_coder(const struct job *job);

/* Does the message come back from its bytes, with values as rounded? `corrupt` changes a bit in between. */
bool round_trips(struct job *job, bool corrupt);

/* ---- is an operation's output that of plain C? ---- */

/* The output of plain C on one thread, for each operation. */
struct expected {
    const struct operation *operation; /* NULL = nothing has been run yet */
    float *e, *value, *guess;
    uint32_t *index;
    size_t *count, sent;
    double sum;
};

SG_CHECKED sg_status expected_open(struct expected *x, const struct layers *layers, struct sg_error *err);
void expected_close(struct expected *x);

/* Run the plain C version of `operation` and keep its output. job->data is overwritten. */
SG_CHECKED sg_status expect(struct expected *x, const struct operation *operation, struct data *data,
                            struct sg_error *err);

/* Runs the job once with a residual and decay 1, and compares all its output bit for bit. A rival's output is compared
 * by rival_is_right, which overwrites x. */
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
    /* Seconds that so many calls take; NaN = failed. NULL = they are measured with this machine's clock. */
    double (*measure)(void *arg, size_t calls);
    void *arg;
    struct timing timing;
};

/* Times all in turn: warms up, chooses calls so that a sample lasts 1 ms or longer, and takes `samples` rounds. */
SG_CHECKED sg_status time_in_turn(struct timed *timed, size_t count, size_t samples, int (*stop)(void),
                                  struct sg_error *err);
/* Computes median, quantiles, minimum and outliers from the samples. */
SG_CHECKED sg_status timing_summarise(struct timing *timing, struct sg_error *err);
void timing_free(struct timing *timing);

/* ---- rows of the results ---- */

/* What a row says of its case. */
struct row_case {
    const struct layers *layers;
    const char *distribution;
    double density, cache_bytes; /* of the last-level cache; NaN = unknown */
    bool on_device;              /* the reference is a copy there, not `add` */
};

/* What was measured of one operation. */
struct row_times {
    const struct timing *own;               /* without samples = it was not timed */
    const struct timing *add;               /* of the reference */
    const struct timing *threshold, *torch; /* of ef-threshold on the same back-end, of libtorch's rival; or NULL */
    double k, bytes, add_bytes;             /* entries sent; bytes that must be moved, also by the reference */
    bool right;
    const char *missing; /* why it did not run, so that nothing was compared; NULL = it did */
};

/* What a row of `compress` has beside its times; results/BENCHMARKS.md says what the numbers are. NaN = there is none. */
struct row_compressor {
    const char *name;
    double workers, message_bytes, decode_s, bits_per_element, times_topk, of_target, layer_factor;
};

double cpu_cache_bytes(void);

/* A row is begun, is given its times, and is ended; each call adds its keys. `job` is that of an operation, `compressor`
 * that of a compressor; both are NULL for the reference. */
cJSON *row_begin(const struct row_case *c, const char *operation, const char *back_end, int threads);
void row_times(cJSON *row, const struct row_case *c, const struct row_times *times);
void row_end(cJSON *row, const struct job *job, const struct row_compressor *compressor, const char *missing);

/* Copies the rows of a case, if `earlier`, an array of rows or NULL, has them. *verified becomes false if one of them was
 * wrong. */
bool earlier_take(cJSON *rows, bool *verified, const cJSON *earlier, const struct row_case *c, int threads);

#endif

/* bench_private.h: what the files of lib/bench share. */
/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PRIVATE_H
#define BENCH_PRIVATE_H

#include "sg_bench.h"
#include "sg_gradients.h"
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
/* Makes the layers from offsets [count + 1]; the layers are vectors. */
void layers_cut(struct layers *out, const char *name, const size_t *offset, size_t count);
void layers_close(struct layers *layers);

/* g [n] <- the distribution of that name; a function of name, layers and worker alone. */
void draw_gradient(float *g, const struct layers *layers, const char *distribution, uint32_t worker);

/* The arrays of one case and the parameters of its operations. Only `compress` uses workers after the first. */
struct data {
    const struct layers *layers;
    size_t workers;
    double density;
    float *g, *e;                  /* [workers][n] */
    const sg_gradients *recording; /* its steps are read into g one after another; NULL = g is drawn once */
    uint32_t *index;               /* [n] out */
    float *value;                  /* [n] out */
    size_t *count;                 /* [layers] out */
    size_t *k;                     /* [layers] max(1, floor(density n)) */
    size_t k_total;
    uint32_t *position;    /* [k_total] random */
    float *position_value; /* [k_total] g there */
    float *tau;            /* [layers] one threshold for all: the floor(density n)-th largest magnitude of g */
    float *kth;            /* [layers] k-th magnitude of g */
    float *magnitude;      /* [n] scratch of quickselect */
};

/* Allocates the arrays; the caller draws g. data_close must follow, also after a failure. */
void data_open(struct data *d, const struct layers *layers, size_t workers);
/* g <- the gradients of all workers at a step of the recording. */
SG_CHECKED sg_status data_read(struct data *d, uint64_t step, struct sg_error *err);
void data_close(struct data *d);

/* How many of n elements a density means: max(1, floor(density n)). */
size_t elements_of(double density, size_t n);

/* Sets what depends on g and the density: k, thresholds, positions. */
SG_CHECKED sg_status data_set_density(struct data *d, double density, struct sg_error *err);

/* e of so many workers <- residuals that look like g; every compared call starts from them. */
void data_fill_residual(struct data *d, size_t workers);

/* ---- operations ---- */

/* Sums over steps of `compress`: times, and what was sent, as means over workers of all rounds together. */
struct step_counts {
    double steps;
    double encode_s, decode_s;   /* of worker 0: making its messages and its residual; adding its messages to the sum */
    double bits, bytes, entries; /* bits as publications count them; bytes in the shortest encoding; numbers sent */
    double off;                  /* mean |ln(sent / wanted)| over layers of LARGE_LAYER elements; NaN = there is none */
};
enum { LARGE_LAYER = 2000 };

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

    /* Steps of a compressor: coders and `compress`. */
    const struct sg_compressor_ops *compressor;
    sg_method *method;
    struct sg_message *round; /* [workers] their messages of a round */
    size_t workers;
    struct step_counts counts;
    struct sg_error error; /* why a step failed */
};

struct operation {
    const char *name;
    void (*run)(struct job *job);           /* one call, on data->e; sets status, sum, sent */
    double (*bytes)(const struct job *job); /* bytes that anyone must move; results/BENCHMARKS.md has the table */
    bool writes_residual, sends; /* which outputs are compared: e and the scalars always, index and value if it sends */
    bool one_thread;             /* it runs on one thread, in plain C or C++ */
    bool device_only;            /* a rival on back-end cuda, called by its name; `run` is NULL */
    size_t compared_with; /* the operation, as an index into operations, whose plain C version defines the output */
    bool rival;           /* one of bench_rival.h; its order and its choice among ties may differ from plain C's */
    bool floats;          /* a rival that adds up in floats: its output is near plain C's */
    const char *torch;    /* the rival by libtorch that does the same; NULL = none */
    const char *coder;    /* name of the compressor that runs at its presets; NULL = none */
    bool steps;           /* runs a step of all workers with job->compressor; `e` of all and their sum are compared */
    bool wire;            /* runs on each encoding, not each back-end; right if decoding returns the message */
};

extern const struct operation operations[];
extern const size_t n_operations;
const struct operation *find_operation(const char *name); /* NULL = there is no such operation */

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

/* What times the kernels on a GPU: tests/gpu/kernel_times.cu, in a shared object with the rivals by CUB. */
struct gpu_times {
    /* True if there is a device; else `why` [room] gets what is missing. */
    bool (*available)(char *why, size_t room);
    /* The arrays of one case on the device. */
    sg_status (*open)(struct device **out, const struct data *data, struct sg_error *err);
    void (*close)(struct device *d);
    /* The size of the last-level cache; NaN = unknown. */
    double (*cache_bytes)(struct device *d);
    /* Seconds that `calls` calls take between two events of a stream; NaN after an error of the device. A call runs
     * job->operation, or without a job copies n floats on the device. */
    double (*time)(struct device *d, const struct job *job, size_t calls);
    /* Runs job->operation once on job->device, starting from the residual in job->data, and copies all its output to
     * the host, so that the code that is timed is also compared. */
    void (*run)(struct job *job);
};
const struct gpu_times *gpu_times(void); /* NULL = it was not built, or does not load */
const char *gpu_times_missing(void);     /* what it lacks */

/* What a rival by libtorch lacks to run; NULL = nothing, or the operation is none. */
const char *rival_missing(const struct operation *operation);
void run_rival(struct job *job);
/* Compares with what plain C sent and kept; p [n], what it kept, is overwritten. */
bool rival_is_right(const struct job *job, float *p, const uint32_t *index, const float *value, const size_t *count);
/* For products: true if e is right within the error of rounding to floats. */
bool rival_is_near(const struct job *job, const float *right);

/* Plans and encodes the case's random positions in job->format. The message is for the caller to free, on failure too.
 */
SG_CHECKED sg_status wire_job_open(struct job *job, struct sg_error *err);
void run_encode(struct job *job);
void run_decode(struct job *job);
double bytes_wire(const struct job *job);

/* Opens the method of a coder or of `compress`, at its first step, with residuals multiplied by `decay`; closes the one
 * that was open. method_job_close must follow, also after a failure. */
SG_CHECKED sg_status method_job_open(struct job *job, float decay, struct sg_error *err);
void method_job_close(struct job *job);
void run_coder(struct job *job);
double bytes_coder(const struct job *job);
void run_compress(struct job *job);
double bytes_compress(const struct job *job);

/* True if decoding the bytes returns the message, with values as rounded. `corrupt` changes a bit in between. */
bool round_trips(struct job *job, bool corrupt);

/* ---- comparing an operation's output with plain C's ---- */

/* The output of plain C on one thread, for each operation. */
struct expected {
    const struct operation *operation; /* NULL = nothing has been run yet */
    float *e, *value, *guess;
    uint32_t *index;
    size_t *count, sent;
    double sum;
    struct step_counts counts;
};

void expected_open(struct expected *x, const struct data *data);
void expected_close(struct expected *x);

/* Runs the operation that the job is compared with, and stores its output. job->data is overwritten. */
SG_CHECKED sg_status expect(struct expected *x, const struct job *job, struct sg_error *err);

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

/* Seconds of some calls, and the part of them that is also reported separately. */
struct seconds {
    double all, part;
};

/* One thing to time. */
struct timed {
    void (*call)(void *arg);
    /* Times so many calls itself. NULL = they are measured with this machine's clock. */
    sg_status (*measure)(void *arg, size_t calls, struct seconds *out, struct sg_error *err);
    void (*warmed)(void *arg); /* called before the first sample; NULL = no call */
    void *arg;
    size_t warm_ups, calls; /* calls: of a sample; 0 = so many that it lasts 1 ms or longer */
    double budget_s;        /* for all samples, but at least three are taken; 0 = there is no limit */
    struct timing timing, part;
};

/* Times all in turn: warms up, chooses calls, and takes `samples` rounds, or fewer if a budget is too small. */
SG_CHECKED sg_status time_in_turn(struct timed *timed, size_t count, size_t samples, int (*stop)(void),
                                  struct sg_error *err);
void timed_free(struct timed *timed);

/* ---- a group of jobs: those that are timed in turn ---- */

enum { MOST_JOBS = 64, MOST_OPERATIONS = 32 };

/* One combination of data and threads, the same for all groups of a case. */
struct bench_case {
    const struct sg_bench_options *options;
    struct data *data;
    const char *distribution;
    int threads;
    size_t samples;
    struct device *device; /* NULL on a CPU */
};

struct group {
    const struct bench_case *of;
    struct job job[MOST_JOBS];
    struct timed timed[MOST_JOBS + 1]; /* the first one is the reference */
    bool right[MOST_JOBS];
    size_t jobs;
    double topk; /* the time of Top-k's step in this case, in units of the reference; NaN = not timed so far */
};

/* Adds a job and opens what it needs. group_close frees it, also one that is half open. */
SG_CHECKED sg_status group_add(struct group *g, const struct job *like, struct sg_error *err);
/* Compares the output of every job with plain C's, and times those that are right; *verified becomes false if one is
 * wrong. */
SG_CHECKED sg_status group_run(struct group *g, bool *verified, struct sg_error *err);
void group_close(struct group *g);

/* True if the group is a compressor's step, and no operations. */
bool times_steps(const struct group *g);

/* True if a row of the results is that of the reference, with which a case of operations begins. */
bool is_reference(const cJSON *row);
/* Adds the rows of the reference and all jobs, or of a step. failure: why it was not timed; NULL = it was timed. */
void group_report(struct group *g, const char *failure, cJSON *rows);

/* ---- compressors (bench_compress.c) ---- */

/* The section `compressors` of a kernel recipe. */
struct compressors {
    const struct sg_node *keys;       /* NULL = the recipe has no such section */
    const struct sg_kernels *kernels; /* the last of the back-ends that this machine has */
    struct layers part;               /* the first of the layers */
    struct data part_data;            /* the case's arrays, on the part */
    size_t *part_k;                   /* [part.count] */
    sg_gradients *recording;          /* NULL = gradients are drawn */
};

/* SG_ERR_ARGUMENT: a name is unknown. */
SG_CHECKED sg_status compressors_open(struct compressors *c, const struct sg_node *recipe, struct sg_error *err);
/* *ops <- the i-th compressor of the table; NULL past the end. Returns whether the section names it. */
bool compressors_at(const struct compressors *c, size_t i, const struct sg_compressor_ops **ops);
size_t compressors_count(const struct compressors *c);
/* True if this size is that of recorded gradients. */
bool is_recorded(const struct sg_node *size);
/* The layers of a size of the section, and how many workers have gradients of it. */
SG_CHECKED sg_status compressors_layers(struct compressors *c, struct layers *layers, size_t *workers,
                                        const struct sg_node *size, struct sg_error *err);
/* Prepare what depends on the size, and what depends on density and threads. */
SG_CHECKED sg_status compressors_size(struct compressors *c, const struct data *data, struct sg_error *err);
void compressors_case(struct compressors *c, const struct data *data);
void compressors_close_size(struct compressors *c);
/* Times one compressor and adds its row. If it refuses the layers, its row gives the reason. */
SG_CHECKED sg_status compressors_run(struct compressors *c, const struct sg_compressor_ops *ops, struct group *room,
                                     cJSON *rows, bool *verified, struct sg_error *err);

#endif

/* The modelled network of recipes against published times of others: as it comes, and with what was given. The rows
 * that this prints are those of results/NETWORK.md, and their extremes those of sg_net_errors. */
/* SPDX-License-Identifier: MIT */
#include "recipe_case.h"

#include <math.h>

#include "sg_file.h"
#include "sg_grid.h"
#include "sg_grid_network.h"
#include "sg_net.h"

/* One published number. */
struct measured {
    const char *method; /* its keys in a recipe */
    double d, bytes;    /* numbers of the model; what a worker sends, 0 = 4 bytes a number */
    double published;   /* seconds, or a share of the time of `none` */
    const char *with;   /* more keys of the network; NULL = none */
};

enum quantity { WAITS, STEPS_S, SHARES }; /* waiting for messages; a step; the step's share of that of `none` */

/* Numbers of one publication. `dense_s` > 0: compute is what makes a step of `none` as long as that. */
struct source {
    const char *name, *setup;
    enum sg_net_kind kind;
    bool recalled; /* quoted from memory; all others were read again */
    enum quantity quantity;
    double dense_s;
    const char *network, *given, *in_words; /* keys as it comes; keys that were given besides, and in words; or NULL */
    size_t n;
    const struct measured *of;
};

#define LIST(...)                                                                                                      \
    sizeof((const struct measured[]){__VA_ARGS__}) / sizeof(struct measured), (const struct measured[]) {              \
        __VA_ARGS__                                                                                                    \
    }

#define NONE "compressor: none"
#define SIZE(bytes, us)                                                                                                \
    { NONE, (bytes) / 4.0, 0, (us)*1e-6, NULL }
/* algbw in GB/s of 32 KiB 2^i */
#define H200(i, gbyte_per_s)                                                                                           \
    { NONE, 8192.0 * (1 << (i)), 0, 32768.0 * (1 << (i)) / ((gbyte_per_s)*1e9), NULL }

/* Steps of ddl-benchmarks on 8, 16 and 32 GPUs: samples a second, of which one GPU has `alone`. */
#define STEPS_OF(d, batch, alone, of8, of16, of32)                                                                     \
    {NONE, d, 0, 8 * (batch) / (of8), "workers: 8, compute: " alone},                                                  \
        {NONE, d, 0, 16 * (batch) / (of16), "workers: 16, compute: " alone}, {                                         \
        NONE, d, 0, 32 * (batch) / (of32), "workers: 32, compute: " alone                                              \
    }
#define RESNET(a, b, c) STEPS_OF(25557032, 64.0, "0.25286", a, b, c)
#define BASE(a, b, c)   STEPS_OF(110106428, 64.0, "0.30075", a, b, c)
#define LARGE(a, b, c)  STEPS_OF(336226108, 8.0, "0.16327", a, b, c)

#define DDL    "ddl-benchmarks"
#define STC    "compressor: topk-twice, k: 9"
#define LSTM_D 4053428.0
#define ROUND(share, down_s, up_s)                                                                                     \
    { STC, LSTM_D, (share)*4 * LSTM_D, (down_s) + (up_s), NULL }
#define POWERSGD "PowerSGD, NeurIPS 2019"
#define RESNET18 11173962.0
#define LSTM     28949319.0

static const struct source sources[] = {
    {"gloo, issue 21", "2 hosts, 1 GbE, 20 MB", SG_NET_SUM, false, WAITS, 0, "workers: 2, link: 1gbe", NULL, NULL,
     LIST({NONE, 5e6, 0, 0.180, NULL})},
    {"gloo, issue 248", "2 hosts, 40 GbE, 20 MB", SG_NET_SUM, false, WAITS, 0, "workers: 2, bandwidth: 40", NULL, NULL,
     LIST({NONE, 5e6, 0, 0.017251, NULL})},
    {"nccl-tests, issue 232", "2 H100, InfiniBand 400 Gbit/s, 2 … 32 MiB", SG_NET_SUM, false, WAITS, 0,
     "workers: 2, link: 100g-gpudirect, bandwidth: 400", "collective: nccl", "`collective: nccl`",
     LIST(SIZE(2097152, 113.2), SIZE(4194304, 154.4), SIZE(8388608, 231.4), SIZE(16777216, 420.5),
          SIZE(33554432, 812.3))},
    {"dgx-spark-playbooks, pull request 103", "2 DGX Spark, 200 Gbit/s, 8 … 64 KiB", SG_NET_SUM, false, WAITS, 0,
     "workers: 2, link: 100g-gpudirect, bandwidth: 200", "collective: nccl", "`collective: nccl`",
     LIST(SIZE(8192, 35.15), SIZE(16384, 31.67), SIZE(32768, 39.56), SIZE(65536, 67.93))},
    {"stas00/ml-engineering, commit 744d01e", "8 H200, NVSwitch, 32 KiB … 16 GiB", SG_NET_SUM, false, WAITS, 0,
     "workers: 8, link: nvlink-h100", "collective: nccl, nodes: 1, link-within: nvlink-h100",
     "`collective: nccl`, `nodes: 1`",
     LIST(H200(0, 0.82), H200(1, 1.67), H200(2, 3.27), H200(3, 6.71), H200(4, 13.68), H200(5, 22.82), H200(6, 36.87),
          H200(7, 61.23), H200(8, 88.87), H200(9, 125.65), H200(10, 157.62), H200(11, 198.01), H200(12, 229.67),
          H200(13, 249.23), H200(14, 257.31), H200(15, 264.90), H200(16, 268.10), H200(17, 270.34), H200(18, 272.83),
          H200(19, 275.58))},
    {DDL, "8 … 32 V100, 10 GbE, nothing overlapped", SG_NET_SUM, false, STEPS_S, 0, "link: 10gbe-tcp", "overlap: none",
     "`overlap: none`",
     LIST(RESNET(1282.28, 2485.12, 4920.82), BASE(518.94, 984.88, 1926.64), LARGE(28.96, 54.3, 105.1))},
    {DDL, "the same, InfiniBand", SG_NET_SUM, false, STEPS_S, 0, "link: 100g-rdma", "overlap: none", "`overlap: none`",
     LIST(RESNET(1821.2, 3602.9, 7126.52), BASE(1082.42, 2112.96, 4184.38), LARGE(99.18, 191.64, 375.22))},
    {DDL, "the same, 100 GbE", SG_NET_SUM, false, STEPS_S, 0, "link: 100gbe-tcp", "overlap: none", "`overlap: none`",
     LIST(RESNET(1601.36, 3087.16, 5744.76), BASE(804.62, 1504.62, 2815.72), LARGE(55.8, 103.34, 187))},
    {DDL, "10 GbE, merged layers overlapped (MG-WFBP)", SG_NET_SUM, false, STEPS_S, 0, "link: 10gbe-tcp", "bucket: 0",
     "`bucket: 0`",
     LIST(RESNET(1980.58, 3784.98, 6883.6), BASE(611.44, 1153.18, 1925.78), LARGE(30.04, 54.26, 105.02))},
    {DDL, "the same, InfiniBand", SG_NET_SUM, false, STEPS_S, 0, "link: 100g-rdma", "bucket: 0", "`bucket: 0`",
     LIST(RESNET(2001.72, 3987.4, 7876.46), BASE(1235.04, 2515.3, 4940.08), LARGE(106.78, 205.78, 400.16))},
    {DDL, "the same, 100 GbE", SG_NET_SUM, false, STEPS_S, 0, "link: 100gbe-tcp", "bucket: 0", "`bucket: 0`",
     LIST(RESNET(1990.68, 3945.96, 7540.94), BASE(1021.4, 1880.28, 3540.8), LARGE(62.02, 107.48, 191.46))},
    {DDL, "10 GbE, parameter servers, nothing overlapped", SG_NET_SERVED, false, STEPS_S, 0, "link: 10gbe-tcp",
     "overlap: none, collective: parameter-server", "`overlap: none`, `collective: parameter-server`",
     LIST(RESNET(1194.44, 2361.27, 4376.578), BASE(505.438, 1022.375, 2028.02), LARGE(28.367, 59.22, 117.957))},
    {DDL, "the same, InfiniBand", SG_NET_SERVED, false, STEPS_S, 0, "link: 100g-rdma",
     "overlap: none, collective: parameter-server", "the same",
     LIST(RESNET(1694.9, 3353.225, 6587.627), BASE(1040.01, 2077.68, 4162.205), LARGE(88.51, 168.215, 355.69))},
    {DDL, "the same, 100 GbE", SG_NET_SERVED, false, STEPS_S, 0, "link: 100gbe-tcp",
     "overlap: none, collective: parameter-server", "the same",
     LIST(RESNET(1191.65, 2353.15, 4355.977), BASE(748.78, 1688.95, 3583.77), LARGE(27.86, 59.185, 117.853))},
    {"DeepReduce, NeurIPS 2021, Table 4", "56 clients, 100 Mbit/s, FedAvg, 16 MB up and down", SG_NET_SERVED, false,
     STEPS_S, 0, "workers: 56, bandwidth: 0.1", "collective: star, servers: 56", "`star`, `servers: 56`",
     LIST({NONE, LSTM_D, 0, 1.3980 + 1.3609, NULL})},
    {"DeepReduce, NeurIPS 2021, Table 4", "the same, Top-k 10 % of both, four codes", SG_NET_SERVED, false, STEPS_S, 0,
     "workers: 56, bandwidth: 0.1", "gather: star, servers: 56, processor: free",
     "`star`, `servers: 56`, `processor: free`",
     LIST(ROUND(0.2033, 0.3167, 0.3904), ROUND(0.14255, 0.1936, 0.1957), ROUND(0.1039, 0.1742, 0.1429),
          ROUND(0.0621, 0.0852, 0.0859))},
    {POWERSGD, "ResNet-18, 16 GPUs, 10 Gbit/s, SGD 312 ms; rank 1, 2, 4, 7", SG_NET_ROUNDS, true, STEPS_S, 0.312,
     "workers: 16", "overlap: none", "`overlap: none`",
     LIST({"compressor: powersgd, rank: 1", RESNET18, 183740, 0.229, NULL},
          {"compressor: powersgd, rank: 2", RESNET18, 329040, 0.239, NULL},
          {"compressor: powersgd, rank: 4", RESNET18, 619640, 0.260, NULL},
          {"compressor: powersgd, rank: 7", RESNET18, 1055540, 0.285, NULL})},
    {POWERSGD, "LSTM of 110 MB, SGD 300 ms; rank 1, 2, 4", SG_NET_ROUNDS, true, STEPS_S, 0.300, "workers: 16",
     "overlap: none", "`overlap: none`",
     LIST({"compressor: powersgd, rank: 1", LSTM, 373952, 0.131, NULL},
          {"compressor: powersgd, rank: 2", LSTM, 570028, 0.141, NULL},
          {"compressor: powersgd, rank: 4", LSTM, 962180, 0.134, NULL})},
    {POWERSGD, "ResNet-18, Top-k of the bytes of rank 2 and 7", SG_NET_SPARSE, true, STEPS_S, 0.312, "workers: 16",
     "overlap: none, gather: all-gather", "`overlap: none`, `gather: all-gather`",
     LIST({"compressor: topk, k: 9", RESNET18, 329040, 0.411, NULL},
          {"compressor: topk, k: 9", RESNET18, 1055540, 0.444, NULL})},
    {POWERSGD, "ResNet-18, sign and norm", SG_NET_CODE, true, STEPS_S, 0.312, "workers: 16",
     "overlap: none, gather: all-gather", "`overlap: none`, `gather: all-gather`",
     LIST({"compressor: ef-signsgd", RESNET18, RESNET18 / 8, 0.429, NULL})},
    {POWERSGD, "LSTM, Signum", SG_NET_CODE, true, STEPS_S, 0.300, "workers: 16", "overlap: none, gather: all-gather",
     "`overlap: none`, `gather: all-gather`", LIST({"compressor: signsgd", LSTM, LSTM / 8, 0.424, NULL})},
    {"QSGD, NIPS 2017", "4 bits, AlexNet on 16 GPUs, communication and coding", SG_NET_CODE, false, SHARES, 0,
     "link: pcie3", "processor: free", "`processor: free`",
     LIST({"compressor: qsgd, levels: 7", 62e6, 62e6 * (4 + 32.0 / 512) / 8, 1 / 4.0, "workers: 16"})},
    {"QSGD, NIPS 2017", "the same, LSTM on 2 GPUs", SG_NET_CODE, false, SHARES, 0, "link: pcie3", "processor: free",
     "`processor: free`",
     LIST({"compressor: qsgd, levels: 7", 13e6, 13e6 * (4 + 32.0 / 512) / 8, 1 / 6.8, "workers: 2"})},
    {"prime-diloco, pull request 23", "4 processes on 500 Mbit/s, 10^9 numbers in 8 bits", SG_NET_CODE, false, STEPS_S,
     0, "workers: 4, bandwidth: 0.5", "share: 4", "`share: 4`", LIST({"compressor: 8bit", 1e9, 1e9, 102, NULL})},
};
enum { SOURCES = sizeof sources / sizeof *sources };

static const char run_text[] =
    "{\"record\":\"header\",\"schema\":\"sparsetrain/1\",\"constants\":{\"d\":%.17g},\"units\":{},"
    "\"columns\":[\"step\",\"bytes_sent\"],\"layers\":null}\n"
    "{\"record\":\"step\",\"step\":0,\"bytes_sent\":0}\n"
    "{\"record\":\"step\",\"step\":1,\"bytes_sent\":%.17g}\n"
    "{\"record\":\"end\",\"status\":\"ok\"}\n";

/* Seconds of one step of a run of one worker, whose message all workers of the network send. */
static double modelled_s(const struct source *s, const struct measured *m, const char *method, double bytes,
                         double compute_s, const char *given) {
    char text[2048], run[1024], compute[40] = "";
    struct sg_recipe recipe;
    struct sg_error err;
    struct sg_cell *cell = NULL;
    struct sg_cell_outcome outcome = {.state = SG_CELL_DONE};
    struct sg_grid_network network;
    size_t cells = 0;
    bool there;
    if (s->dense_s > 0)
        snprintf(compute, sizeof compute, ", compute: %.17g", compute_s);
    snprintf(text, sizeof text,
             "schema: 1\nname: one\ntask: {kind: logreg, dataset: madelon}\nworkers: 1\noptimizer: {learning-rate: 1}\n"
             "record: {series: [bytes-sent]}\nsteps: 1\nmethods:\n  - {name: A, %s}\nnetwork: {%s%s%s%s%s%s}\n",
             method, s->network, m->with ? ", " : "", m->with ? m->with : "", given ? ", " : "", given ? given : "",
             compute);
    snprintf(run, sizeof run, run_text, m->d, bytes > 0 ? bytes : 4 * m->d);
    sg_status status = parse_set(&recipe, text, NULL, 0, &err);
    SG_DO(status, sg_recipe_cells(&recipe, &cell, &cells, &err));
    SG_DO(status, sg_run_parse(&outcome.run, run, strlen(run), "run", &err));
    SG_DO(status, sg_grid_network_read(&network, &there, &recipe, &err));
    SG_DO(status, sg_grid_derive(&outcome, cell, cells, &recipe, &network, &err));
    if (status != SG_OK)
        ok(0, "%s, %s: %s", s->name, s->setup, err.msg);
    const double *time = sg_run_series(&outcome.run, s->quantity == WAITS ? "exposed_time" : "time");
    const double out = time ? time[1] : NAN;
    sg_run_free(&outcome.run);
    sg_recipe_cells_free(cell, cells);
    sg_recipe_free(&recipe);
    return out;
}

/* The compute time with which a step of `none` takes as long as published. */
static double compute_of(const struct source *s, const char *given) {
    double low = 0, high = s->dense_s;
    for (int i = 0; i < 40 && s->dense_s > 0; i++) {
        const double middle = (low + high) / 2;
        if (modelled_s(s, s->of, NONE, 0, middle, given) < s->dense_s)
            low = middle;
        else
            high = middle;
    }
    return low;
}

struct range {
    double least, most;
};

static struct range errors_of(const struct source *s, const char *given) {
    struct range r = {INFINITY, -INFINITY};
    const double compute_s = compute_of(s, given);
    for (size_t i = 0; i < s->n; i++) {
        const struct measured *m = &s->of[i];
        double x = modelled_s(s, m, m->method, m->bytes, compute_s, given);
        if (s->quantity == SHARES)
            x /= modelled_s(s, m, NONE, 0, compute_s, given);
        const double percent = round(100 * (x / m->published - 1));
        r.least = fmin(r.least, percent);
        r.most = fmax(r.most, percent);
    }
    return r;
}

static void put_range(char *out, size_t size, struct range r) {
    char one[16], other[16];
    snprintf(one, sizeof one, "%s%g", r.least < 0 ? "−" : r.least > 0 ? "+" : "", fabs(r.least));
    snprintf(other, sizeof other, "%s%g", r.most < 0 ? "−" : r.most > 0 ? "+" : "", fabs(r.most));
    snprintf(out, size, r.least < r.most ? "%s … %s %%" : "%s %%", one, other);
}

static void put_published(char *out, size_t size, const struct source *s) {
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < s->n; i++) {
        least = fmin(least, s->of[i].published);
        most = fmax(most, s->of[i].published);
    }
    const char *unit = s->quantity == SHARES ? "of fp32's" : most < 1e-3 ? "µs" : most < 1 ? "ms" : "s";
    const double factor = s->quantity == SHARES ? 1 : most < 1e-3 ? 1e6 : most < 1 ? 1e3 : 1;
    if (least < most)
        snprintf(out, size, "%.3g … %.3g %s", factor * least, factor * most, unit);
    else
        snprintf(out, size, "%.3g %s", factor * least, unit);
}

/* The line of the page, and its errors, which also go into those of its kind if they are of times. */
static void test_source(const struct source *s, struct sg_net_error *of, const char *page) {
    char published[64], comes_text[64], given_text[64], by[256] = "", several[32] = "", row[512];
    const struct range comes = errors_of(s, NULL), given = s->given ? errors_of(s, s->given) : comes;
    put_published(published, sizeof published, s);
    put_range(comes_text, sizeof comes_text, comes);
    put_range(given_text, sizeof given_text, given);
    if (s->given)
        snprintf(by, sizeof by, "; %s by %s", given_text, s->in_words);
    if (s->n > 1)
        snprintf(several, sizeof several, "%zu of ", s->n);
    snprintf(row, sizeof row, "* %s%s; %s; %s%s: %s%s\n", s->name, s->recalled ? " (recalled)" : "", s->setup, several,
             published, comes_text, by);
    if (!ok(page && strstr(page, row), "%s, %s: in results/NETWORK.md", s->name, s->setup))
        printf("# %s", row);
    if (s->quantity == SHARES)
        return;
    of->compared += s->n;
    of->least = fmin(of->least, comes.least);
    of->most = fmax(of->most, comes.most);
    of->given_least = fmin(of->given_least, given.least);
    of->given_most = fmax(of->given_most, given.most);
}

/* Joins what is wrapped: a line that begins with two blanks goes on with the line before. */
static void unwrap(char *text) {
    char *to = text;
    for (const char *c = text; *c != '\0'; c++)
        if (strncmp(c, "\n  ", 3) == 0) {
            *to++ = ' ';
            c += 2;
        } else {
            *to++ = *c;
        }
    *to = '\0';
}

static int same(double a, double b) {
    return a == b || isnan(b);
}

int main(void) {
    struct sg_error err;
    struct sg_net_error of[SG_NET_KINDS];
    char *page = NULL;
    size_t size;
    if (no_zoo()) {
        skip("its errors are over compressors of lib/zoo, too");
        return tap_done();
    }
    ok(sg_file_read(&page, &size, "results/NETWORK.md", 1 << 20, &err) == SG_OK, "the page");
    if (page)
        unwrap(page);
    for (int k = 0; k < SG_NET_KINDS; k++)
        of[k] = (struct sg_net_error){NULL, 0, INFINITY, -INFINITY, INFINITY, -INFINITY};
    for (size_t i = 0; i < SOURCES; i++)
        test_source(&sources[i], &of[sources[i].kind], page);
    for (int k = 0; k < SG_NET_KINDS; k++) {
        const struct sg_net_error *e = &sg_net_errors[k];
        ok(of[k].compared == e->compared && same(of[k].least, e->least) && same(of[k].most, e->most) &&
               of[k].given_least == e->given_least && of[k].given_most == e->given_most,
           "%s: %zu numbers, %+g to %+g %%, given %+g to %+g %%", e->what, of[k].compared, of[k].least, of[k].most,
           of[k].given_least, of[k].given_most);
    }
    free(page);
    return tap_done();
}

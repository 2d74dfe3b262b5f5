/* Series of a modelled network, from runs that are made up here, against the collectives' formulas. */
/* SPDX-License-Identifier: MIT */
#include "recipe_case.h"

#include <math.h>

#include "made_document.h"
#include "sg_compressor.h"
#include "sg_grid_network.h"
#include "sg_net.h"
#include "temporary.h"

#define RECORD(layers)                                                                                                 \
    "schema: 1\n"                                                                                                      \
    "name: small\n"                                                                                                    \
    "task: {kind: logreg, dataset: madelon}\n"                                                                         \
    "workers: 4\n"                                                                                                     \
    "optimizer: {learning-rate: 1}\n"                                                                                  \
    "record: {series: [bytes-sent, density, density-padded], layers: " layers "}\n"                                    \
    "steps: 20\n"                                                                                                      \
    "methods:\n"                                                                                                       \
    "  - {name: SGD, compressor: none}\n"                                                                              \
    "  - {name: Top-k, compressor: topk, k: 10}\n"                                                                     \
    "  - {name: PowerSGD, compressor: powersgd}\n"                                                                     \
    "  - {name: gTop-k, compressor: gtopk, k: 10}\n"                                                                   \
    "  - {name: fp16, compressor: fp16}\n"                                                                             \
    "  - {name: QSGD, compressor: qsgd, levels: 4}\n"                                                                  \
    "  - {name: Random-k, compressor: randomk, k: 10, shared: 1}\n"                                                    \
    "  - {name: Server, compressor: topk, k: 11, exchange: parameter-server}\n"                                        \
    "  - {name: Star, compressor: topk, k: 12, exchange: star}\n"                                                      \
    "  - {name: Again, compressor: topk-twice, k: 12, exchange: star}\n"                                               \
    "  - {name: Integers, compressor: terngrad-shared}\n"                                                              \
    "  - {name: Far, compressor: qsgd, levels: 5, error-feedback: {form: dynamic-averaging, threshold: 1}}\n"
enum { SGD, TOPK, POWERSGD, GTOPK, FP16, QSGD, RANDOMK, SERVER, STAR, AGAIN, INTEGERS, FAR, LOCAL, METHODS_THERE };

struct grid {
    struct sg_recipe recipe;
    struct sg_cell *cell;
    size_t n;
    struct sg_cell_outcome outcome[METHODS_THERE];
    struct sg_grid_network network;
    bool modelled;
};

/* Every method sent 4000 bytes at each of 20 steps, the longest message a quarter more; the first layer, of 300 of the
 * 1000 numbers, had a tenth of the entries. */
static const char header[] =
    "{\"record\":\"header\",\"schema\":\"sparsetrain/1\",\"constants\":{\"d\":1000},\"units\":{},"
    "\"columns\":[\"step\",\"bytes_sent\",\"density\",\"density_padded\"],\"layers\":%s}\n";
static const char steps[] =
    "{\"record\":\"step\",\"step\":0,\"bytes_sent\":0,\"density\":null,\"density_padded\":null%s}\n"
    "{\"record\":\"step\",\"step\":10,\"bytes_sent\":40000,\"density\":0.4,\"density_padded\":0.5%s}\n"
    "{\"record\":\"step\",\"step\":20,\"bytes_sent\":%d,\"density\":0.4,\"density_padded\":0.5%s}\n"
    "{\"record\":\"end\",\"status\":\"ok\"}\n";

/* layers: 0 = none recorded, 1 = their means, 2 = also of each worker; -1 = none, and no bytes in the second half. */
static sg_status open_grid(struct grid *g, const char *text, int layers, struct sg_error *err) {
    char run[2048];
    const char *entries = layers == 2
                              ? ",\"layers\":{\"entries\":[100,900],\"workers\":[[0,2000],[400,400],[0,600],[0,600]]}"
                          : layers > 0 ? ",\"layers\":{\"entries\":[100,900]}"
                                       : "";
    *g = (struct grid){.n = 0};
    sg_status status = parse_set(&g->recipe, text, NULL, 0, err);
    SG_DO(status, sg_recipe_cells(&g->recipe, &g->cell, &g->n, err));
    int used = snprintf(run, sizeof run, header,
                        layers > 0 ? "[{\"name\":\"a\",\"elements\":300},{\"name\":\"b\",\"elements\":700}]" : "null");
    snprintf(run + used, sizeof run - (size_t)used, steps, layers > 0 ? ",\"layers\":null" : "", entries,
             layers < 0 ? 40000 : 80000, entries);
    for (size_t i = 0; status == SG_OK && i < g->n; i++)
        status = sg_run_parse(&g->outcome[i].run, run, strlen(run), "run", err);
    SG_DO(status, sg_grid_network_read(&g->network, &g->modelled, &g->recipe, err));
    const struct sg_grid_network *network = g->modelled ? &g->network : NULL;
    return status == SG_OK ? sg_grid_derive(g->outcome, g->cell, g->n, &g->recipe, network, err) : status;
}

static void close_grid(struct grid *g) {
    for (size_t i = 0; i < g->n; i++)
        sg_run_free(&g->outcome[i].run);
    sg_recipe_cells_free(g->cell, g->n);
    sg_recipe_free(&g->recipe);
}

static int near(double got, double want) {
    return fabs(got - want) <= 1e-9 * fabs(want);
}

static double final(const struct grid *g, size_t cell, const char *name) {
    const double *x = sg_run_series(&g->outcome[cell].run, name);
    return x ? x[g->outcome[cell].run.n_points - 1] : NAN;
}

static void test_one_layer(void) {
    struct grid g;
    struct sg_error err;
    const double a = sg_link_find("10gbe-tcp")->alpha_s, b = sg_link_find("10gbe-tcp")->byte_s;
    if (!ok(open_grid(&g, RECORD("false") "network: {workers: 8, compute: 0.3, coding: 100}\n", 0, &err) == SG_OK,
            "a network of 8 workers for a run of 4"))
        printf("# %s\n", err.msg);
    const double *time = sg_run_series(&g.outcome[SGD].run, "time");
    ok(time && time[0] == 0 && near(time[2], 2 * time[1]), "times add up from 0");
    const double doubled = 3 * (a + 5000 * b), halved = 6 * a + 14 * 5000.0 / 8 * b;
    ok(near(final(&g, SGD, "exposed_time"), 20 * doubled), "none: recursive doubling is the fastest sum here");
    ok(near(final(&g, FP16, "exposed_time"), 20 * doubled), "fp16: added up on its way");
    ok(near(final(&g, RANDOMK, "exposed_time"), 20 * doubled), "random-k of shared positions, too");
    ok(near(final(&g, QSGD, "exposed_time"), 20 * halved), "qsgd: two rounds of parts");
    ok(near(final(&g, SERVER, "exposed_time"), 20 * 7 * (2 * a + 2 * 5000.0 / 8 * b)), "the method's own exchange");
    ok(near(final(&g, SGD, "compute_time"), 20 * 0.3) &&
           near(final(&g, SGD, "time"), final(&g, SGD, "exposed_time") + 6),
       "none: nothing is encoded");
    ok(near(final(&g, STAR, "exposed_time"), 20 * (2 * a + (8 * 4000 + 8 * 4000) * b)),
       "a star: the server gets what eight send, and sends a dense sum to each");
    ok(near(final(&g, AGAIN, "exposed_time"), 20 * (2 * a + (8 * 4000 + 8 * 5000) * b)),
       "and what is compressed again is as long as the longest message");
    /* The others send (16000 - 5000) / 3 bytes. */
    ok(near(final(&g, TOPK, "exposed_time"), 20 * (3 * a + (5000 + 26000 / 3.0 + 16000) * b)),
       "topk: an all-gather by doubling, which is faster than a ring here");
    ok(near(final(&g, TOPK, "compute_time"), 20 * (0.3 + 1000 * 100e-9)), "topk: 100 ns for each number of the model");
    ok(near(final(&g, POWERSGD, "exposed_time"), 20 * (doubled + 3 * a)), "powersgd: two sums");
    ok(near(final(&g, GTOPK, "exposed_time"), 20 * 6 * (a + 5000 * b)), "gtopk: its own tree");
    const char *unit = sg_json_string(g.outcome[SGD].run.header, "units.time", "");
    ok(strcmp(unit, "s, modelled: 8 workers, 10gbe-tcp, auto, overlap fused in 25 MiB, coding 100 ns") == 0,
       "the unit names the model: %s", unit);
    struct grid plain;
    ok(open_grid(&plain, RECORD("false") "network: {workers: 8, share: 4, coding: 0}\n", 0, &err) == SG_OK &&
           near(final(&plain, STAR, "exposed_time"), 20 * (2 * a + 4 * (8 * 4000 + 8 * 4000) * b)),
       "four processes share a link");
    ok(isnan(final(&plain, STAR, "peak_bandwidth")), "without computation nothing hides a message");
    close_grid(&plain);
    ok(open_grid(&plain, RECORD("false"), 0, &err) == SG_OK && !sg_run_series(&plain.outcome[SGD].run, "time"),
       "without a network there are no times");
    ok(strcmp(plain.cell[TOPK].key, g.cell[TOPK].key) == 0, "the network is not part of a cell's key");
    close_grid(&plain);
    close_grid(&g);
}

/* What workers send at every fifth step is on its way then, however few steps are recorded. */
static void test_local(void) {
    static const char *const form[] = {"local-steps", "diloco"};
    const double a = sg_link_find("10gbe-tcp")->alpha_s, b = sg_link_find("10gbe-tcp")->byte_s;
    const double message = fmin(3 * (a + 25000 * b), 6 * a + 14 * 25000.0 / 8 * b);
    for (size_t i = 0; i < 2; i++) {
        struct grid g;
        struct sg_error err;
        char text[2048];
        snprintf(text, sizeof text,
                 RECORD("false") "  - {name: Local, compressor: none, error-feedback: {form: %s, steps: 5}}\n"
                                 "network: {workers: 8, compute: 0.3}\n",
                 form[i]);
        ok(open_grid(&g, text, 0, &err) == SG_OK && near(final(&g, LOCAL, "exposed_time"), 4 * message) &&
               near(final(&g, LOCAL, "compute_time"), 20 * 0.3),
           "%s: 4 messages in 20 steps", form[i]);
        close_grid(&g);
    }
}

/* Every fifth of 20 steps, or two fragments in turn at steps 2, 5, 7, 10, …: all sent bytes are in 4 or in 8 messages.
 * A delay hides as much of each as the steps between compute. */
static void test_fragments(void) {
    static const char *const keys[] = {"fragments: 1", "fragments: 2", "fragments: 2, delay: 1", "delay: 4"};
    const double a = sg_link_find("10gbe-tcp")->alpha_s, b = sg_link_find("10gbe-tcp")->byte_s, compute = 2e-5;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct grid g;
        struct sg_error err;
        char text[2048];
        const double messages = strstr(keys[i], "fragments: 2") ? 8 : 4, bytes = 100000 / messages;
        const double sum = fmin(3 * (a + bytes * b), 6 * a + 14 * bytes / 8 * b);
        const double hides = compute * (strstr(keys[i], "delay: 1") ? 1 : strstr(keys[i], "delay: 4") ? 4 : 0);
        snprintf(text, sizeof text,
                 RECORD("false") "  - {name: Local, compressor: none, error-feedback: {form: diloco, steps: 5, %s}}\n"
                                 "network: {workers: 8, compute: 0.00002}\n",
                 keys[i]);
        ok(open_grid(&g, text, 0, &err) == SG_OK && hides < sum &&
               near(final(&g, LOCAL, "exposed_time"), messages * (sum - hides)) &&
               near(final(&g, LOCAL, "time"), 20 * compute + messages * (sum - hides)),
           "%s: %g messages, %g s of each hidden", keys[i], messages, hides);
        /* The longest message is a quarter longer than the mean of 80000 / messages bytes. */
        const char *unit = sg_json_string(g.outcome[LOCAL].run.header, "units.peak_bandwidth", "");
        ok(near(final(&g, LOCAL, "peak_bandwidth"), 8 * bytes / fmax(hides, compute)) &&
               strncmp(unit, "bit/s, modelled: 8", 18) == 0,
           "%s: %g bits in the time that hides them", keys[i], 8 * bytes);
        close_grid(&g);
    }
}

static void test_layers(void) {
    struct grid g;
    struct sg_error err;
    /* Backward: layer b in 0.14 s and a in 0.06 s; messages of b take 0.9 * 5000 bytes, of a 0.1 * 5000. */
    if (!ok(open_grid(
                &g,
                RECORD(
                    "true") "network: {compute: 0.3, bandwidth: 8e-5, latency: 0, coding: 0, overlap: layer, gather: "
                            "all-gather}\n",
                1, &err) == SG_OK,
            "a network of the run's 4 workers, layer by layer"))
        printf("# %s\n", err.msg);
    const double of_b = 3 * 4500 * 1e-4, of_a = 3 * 500 * 1e-4, waits = of_b + of_a - 0.06;
    ok(near(final(&g, TOPK, "exposed_time"), 20 * waits), "the message of the last layer starts first");
    close_grid(&g);
    ok(open_grid(&g,
                 RECORD("true") "network: {compute: 0.3, bandwidth: 8e-5, latency: 1e5, overlap: fused, bucket: 0, "
                                "coding: 0, gather: all-gather}\n",
                 1, &err) == SG_OK &&
           near(final(&g, TOPK, "exposed_time"), 20 * 3 * (0.1 + 5000e-4)),
       "slow starts: both layers in one message");
    close_grid(&g);
    ok(open_grid(
           &g,
           RECORD("true") "network: {link: 1gbe, overlap: priority, gather: sparcml, workers: 16, processor: free}\n",
           1, &err) == SG_OK &&
           final(&g, TOPK, "time") > 0 && final(&g, TOPK, "compute_time") == 0,
       "without compute time there is communication alone");
    close_grid(&g);
}

/* 1 and 2 ns of topk, 3 and 4 of dgc. */
static void test_coding_file(void) {
#define TIMED(name, k, all_s, decode_s)                                                                                \
    "{\"compressor\":\"" name "\",\"n\":1000,\"k\":" k ",\"time_s\":{\"median\":" all_s "},\"decode_s\":" decode_s "}"
    static const char rows[] =
        "{\"results\":[" TIMED("topk", "10", "1.02e-6", "2e-8") "," TIMED("gtopk", "0", "2e-3", "1e-3") "," TIMED(
            "dgc", "10", "3.04e-6", "4e-8") "," TIMED("onebit", "1000", "1", "0") "]}";
    const char *path = temporary_path("coding.json");
    char text[2048];
    struct grid g;
    struct sg_error err;
    temporary_write("coding.json", rows, sizeof rows - 1);
    snprintf(text, sizeof text, RECORD("false") "network: {workers: 8, processor: \"%s\"}\n", path);
    ok(open_grid(&g, text, 0, &err) == SG_OK &&
           near(final(&g, TOPK, "compute_time"), 20 * (1000 * 1e-9 + 8 * 500 * 2e-9)) &&
           near(final(&g, GTOPK, "compute_time"), 20 * (1000 * 3e-9 + 3 * 500 * 4e-9)),
       "its times, and those of dgc for a compressor that sent nothing when it was timed");
    remove(path);
    cJSON *document = made_document(&g.recipe, &g.network, g.cell, g.outcome, g.n, 0); /* without another look at it */
    ok(strcmp(sg_json_string(document, "network.processor", ""), path) == 0, "the result names the file");
    cJSON_Delete(document);
    close_grid(&g);
}

/* Nanoseconds a number of the model: a step has 1000 numbers, and a sparse message of 4000 bytes 500. */
static void test_coding(void) {
    struct grid g;
    struct sg_error err;
    const double fp16 = 26e3 / 1048576, code = (1.125 * 450e3 + 2 * 170e3) / 1048576, entry = 0.08 * 0.5;
    const double whole = (450e3 + 170e3) / 1048576;
    const double topk = 240e6 / 25.56e6 + 8 * entry, gtopk = 240e6 / 25.56e6 + 3 * entry, low_rank = 45e6 / 25.56e6;
    const struct {
        int method;
        double ns;
    } of[] = {{SGD, 0},       {FP16, fp16},         {QSGD, code},      {TOPK, topk},
              {GTOPK, gtopk}, {POWERSGD, low_rank}, {INTEGERS, whole}, {FAR, code}};
    ok(open_grid(&g, RECORD("false") "network: {workers: 8, compute: 0.3}\n", 0, &err) == SG_OK, "coding of a V100");
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        ok(near(final(&g, (size_t)of[i].method, "compute_time"), 20 * (0.3 + of[i].ns * 1e-6)), "coding of method %d",
           of[i].method);
    close_grid(&g);
    ok(open_grid(&g, RECORD("false") "network: {workers: 8, compute: 0.3}\n", -1, &err) == SG_OK &&
           near(final(&g, FAR, "compute_time"), 20 * 0.3 + 10 * code * 1e-6) &&
           near(final(&g, QSGD, "compute_time"), 20 * (0.3 + code * 1e-6)),
       "steps at which workers step by themselves code nothing");
    close_grid(&g);
    ok(open_grid(&g, RECORD("false") "network: {workers: 8, compute: 0.3, processor: free}\n", 0, &err) == SG_OK &&
           near(final(&g, TOPK, "compute_time"), 20 * 0.3),
       "free coding");
    close_grid(&g);
    ok(open_grid(&g, RECORD("false") "network: {processor: none-there.json}\n", 0, &err) != SG_OK &&
           strstr(err.msg, "network.processor: "),
       "no file: %s", err.msg);
    close_grid(&g);
    test_coding_file();
    static const char *const sorts[] = {"clipped-topk", "topk-then-threshold", "threshold-then-topk"};
    const struct sg_coding *v100 = sg_processor_find("v100")->row;
    for (size_t i = 0; i < sizeof sorts / sizeof *sorts; i++)
        ok(sg_coding_find(v100, sorts[i], false)->element_ns == sg_coding_find(v100, "topk", false)->element_ns,
           "%s sorts as topk does", sorts[i]);
    const struct sg_processor *p;
    for (size_t i = 0; (p = sg_processor_at(i)) != NULL; i++) {
        size_t rows = 0, known = 0;
        for (const struct sg_coding *row = p->row; row && row->compressor; row++, rows++)
            known += sg_compressor_find(row->compressor) && row->element_ns >= 0 && row->number_ns >= 0;
        ok(known == rows, "processor %s: %zu compressors", p->name, rows);
    }
}

/* What a result says last of its network is how far published times are from it. */
static void test_error(void) {
    struct grid g;
    struct sg_error err;
    ok(open_grid(&g, RECORD("false") "network: {workers: 8}\n", 0, &err) == SG_OK, "a network");
    cJSON *network = sg_grid_network_json(&g.network, &g.recipe, "model");
    const cJSON *last = network ? network->child->prev : NULL;
    const char *text = sg_json_string(network, "error", "");
    char sums[64], *first = NULL;
    snprintf(sums, sizeof sums, "%+g to %+g %% for sums (%zu numbers), ", sg_net_errors[SG_NET_SUM].least,
             sg_net_errors[SG_NET_SUM].most, sg_net_errors[SG_NET_SUM].compared);
    first = strstr(text, sums);
    ok(last && strcmp(last->string, "error") == 0 && first &&
           strstr(first, "for gathered messages (2 numbers) as it comes, and by ") &&
           strstr(first, "% for servers with the exchange") && strstr(text, "No published time"),
       "%s", text);
    cJSON_Delete(network);
    close_grid(&g);
}

static void test_workers(void) {
    struct grid g;
    struct sg_error err;
    ok(open_grid(
           &g, RECORD("true") "network: {latency: 0, coding: 0, bandwidth: 8e-5, overlap: layer, gather: all-gather}\n",
           2, &err) == SG_OK &&
           near(final(&g, TOPK, "exposed_time"), 20 * 3 * (8000 + 1600) * 1e-4),
       "the longest message of each layer, by the entries of each worker");
    close_grid(&g);
    ok(open_grid(&g, RECORD("true") "network: {latency: 0, coding: 0, bandwidth: 8e-5, gather: all-gather}\n", 2,
                 &err) == SG_OK &&
           near(final(&g, TOPK, "exposed_time"), 20 * 3 * 8000e-4),
       "the longest message of all layers together");
    close_grid(&g);
    ok(open_grid(
           &g,
           RECORD(
               "true") "network: {latency: 0, coding: 0, bandwidth: 8e-5, gather: all-gather-doubling, workers: 8}\n",
           2, &err) == SG_OK &&
           near(final(&g, TOPK, "exposed_time"), 20 * (8000 + 11200 + 16000) * 1e-4),
       "eight workers, of which the last four send what the first four did");
    close_grid(&g);
}

static void test_bursts(void) {
    struct grid g;
    struct sg_error err;
    if (!ok(open_grid(&g, RECORD("true, workers: true") "network: {bursts: true, latency: 0}\n", 2, &err) == SG_OK,
            "a network with bursts"))
        printf("# %s\n", err.msg);
    ok(final(&g, TOPK, "burst_hidden") == 0 && final(&g, TOPK, "burst_messages") == 0,
       "what is the same at all steps is no burst");
    ok(near(final(&g, TOPK, "burst_linear_workers"), 1), "the largest message is twice the mean");
    ok(isnan(sg_run_series(&g.outcome[TOPK].run, "burst_union")[0]), "there are none before the first step");
    close_grid(&g);
    ok(open_grid(&g, RECORD("true, workers: true") "network: {bursts: true}\n", 1, &err) == SG_OK &&
           isnan(final(&g, TOPK, "burst_linear")),
       "null if a run recorded no workers");
    close_grid(&g);
}

#define WITH(text) RECORD("false") "network: " text "\n"

static void test_refused(void) {
    refused(WITH("{workers: 8, lnik: 1gbe}"), "r.yaml:21:23: unknown key 'lnik' (did you mean 'link'?)");
    refused(WITH("{link: 10gbe}"), "r.yaml:21:17: unknown link '10gbe' (did you mean '10gbe-tcp'?)");
    refused(WITH("{collective: rign}"), "r.yaml:21:23: unknown collective 'rign' (did you mean 'ring'?)");
    refused(WITH("{gather: all-gathre}"), "r.yaml:21:19: unknown gather 'all-gathre' (did you mean 'all-gather'?)");
    refused(WITH("{link: 10gbe-tcp}") "participation: 0.5\n",
            "r.yaml:21:10: a network has messages of all workers at every step (leave out network or participation)");
    refused(WITH("{processor: gpu}"), "r.yaml:21:22: processor must be v100, cpu, free or a .json file of sparsebench "
                                      "--measure-coding, got 'gpu'");
    refused(WITH("{overlap: layer}"), "r.yaml:21:20: overlap 'layer' goes by layers (add record.layers: true)");
    refused(WITH("{nodes: 3}"), "r.yaml:21:18: nodes must divide the 4 workers, got 3");
    refused(WITH("{servers: 5}"), "r.yaml:21:20: servers must be at most the 4 workers, got 5");
    refused(WITH("{share: 5}"), "r.yaml:21:18: share must be at most the 4 workers, got 5");
    refused(WITH("{bandwidth: 0}"), "r.yaml:21:22: bandwidth must be greater than 0 and at most 1000000, got 0");
    refused(SMALL "network: {workers: 8}\n",
            "r.yaml:10:10: a network needs what runs sent (add bytes-sent or bits to record.series)");
    refused(RECORD("false") "plots: [{x: time, y: density}]\n",
            "r.yaml:21:13: x: series 'time' is modelled, and there is no network (add a section 'network')");
    refused_set(SMALL, "record={series: [loss], workers: true}",
                "--set record={series: [loss], workers: true}: record.workers is about layers (add layers: true)");
    refused(WITH("{bursts: true}"),
            "r.yaml:21:19: bursts are what each worker sends at each step (add record.every: 1, "
            "layers: true, workers: true)");
    refused(RECORD("false") "network: {}\nplots: [{x: burst-union, y: density}]\n",
            "r.yaml:22:13: x: series 'burst-union' is modelled if the network's bursts are asked for (add "
            "network.bursts: true)");
    accepted(RECORD("true, workers: true") "network: {bursts: true}\nplots: [{x: step, y: burst-union-workers}]\n",
             "plots over bursts");
    refused(RECORD("false") "  - {name: Far, compressor: none, exchange: rign}\nnetwork: {}\n",
            "r.yaml:21:45: unknown exchange 'rign' (did you mean 'ring'?)");
    accepted(WITH("{collective: nccl, gather: auto}") "plots: [{x: time, y: exposed-time}]\n",
             "plots over the network's series");
}

/* What a compressor says of itself is in the table, and not only a part of an exchange. */
static void test_named(void) {
    const struct sg_compressor_ops *ops;
    size_t named = 0, known = 0;
    for (size_t i = 0; (ops = sg_compressor_at(i)) != NULL; i++)
        if (ops->collective != NULL) {
            const struct sg_collective *c = sg_collective_find(ops->collective);
            named++;
            known += c != NULL && !c->partial;
        }
    ok(named >= 3 && known == named, "the collectives that %zu compressors name can be modelled", named);
}

int main(void) {
    if (no_zoo()) {
        skip("its recipe names compressors of lib/zoo");
        return tap_done();
    }
    temporary_make();
    test_named();
    test_one_layer();
    test_local();
    test_fragments();
    test_layers();
    test_coding();
    test_error();
    test_workers();
    test_bursts();
    test_refused();
    return tap_done();
}

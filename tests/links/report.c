/* report.c: what tests/links/run measured, beside the model of lib/net. usage: report FOLDER OUTPUT.json
 *
 * FOLDER has what measure and sparsetrain wrote: pair-RATE.json, shift-RATE-RANKS.json, exchange-RATE-RANKS.json,
 * open-mpi-RATE-RANKS.json and, with Open MPI's own flags, default-RATE-RANKS.json; RATE in Mbit/s, and
 * train-LINK-RANKS-METHOD.json, LINK such a RATE, `free` for links that are not shaped, or `memory` for shared memory
 * in their place. Files that are missing are left out. Everything modelled stands under a name that says so. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "sg_json.h"
#include "sg_net_fit.h"
#include "sg_net.h"
#include "sg_text.h"
#include "sg_version.h"

enum { POINTS = 32, PIECES = 3 };
static const double CLOSE = 0.1, LARGE = 16384;
static const char *const method_name[] = {"none", "topk", "hard-threshold", "qsgd", "powersgd", NULL};
static const int rate_of[] = {100, 1000}, ranks_of[] = {2, 4, 8};
enum {
    RATES = sizeof rate_of / sizeof *rate_of,
    RANKS = sizeof ranks_of / sizeof *ranks_of,
    METHODS = sizeof method_name / sizeof *method_name - 1
};

static void fail(const struct sg_error *err) {
    fprintf(stderr, "report: %s\n", err->msg);
    exit(1);
}

/* A file of the folder; NULL = it is not there. */
static cJSON *read_file(const char *folder, const char *name) {
    struct sg_error err;
    cJSON *out = NULL;
    char *path = sg_format("%s/%s", folder, name);
    FILE *file = path ? fopen(path, "r") : NULL;
    if (file) {
        fclose(file);
        if (sg_json_read(&out, path, &err) != SG_OK)
            fail(&err);
    }
    free(path);
    return out;
}

/* ---- messages ---- */

/* The time of a message, as straight pieces through measured times. */
struct curve {
    size_t points;
    double bytes[POINTS], seconds[POINTS];
    struct net_fit line; /* through those of messages that exchanges move, from LARGE bytes on */
    struct sg_net_piece piece[PIECES];
};

static bool read_curve(struct curve *c, const char *folder, const char *name) {
    cJSON *file = read_file(folder, name);
    const cJSON *bytes = sg_json_get(file, "bytes"), *seconds = sg_json_get(file, "seconds");
    double work[2 * PIECES * (POINTS + 1)];
    size_t small = 0;
    struct sg_error err;
    c->points = 0;
    for (int i = 0; i < cJSON_GetArraySize(bytes) && i < POINTS; i++) {
        c->bytes[c->points] = cJSON_GetArrayItem(bytes, i)->valuedouble;
        c->seconds[c->points++] = cJSON_GetArrayItem(seconds, i)->valuedouble;
    }
    cJSON_Delete(file);
    if (c->points == 0)
        return false;
    while (small < c->points && c->bytes[small] < LARGE)
        small++;
    if (net_fit_line(&c->line, c->bytes + small, c->seconds + small, c->points - small, &err) != SG_OK ||
        net_fit_pieces(c->piece, PIECES, c->bytes, c->seconds, c->points, work, &err) != SG_OK)
        fail(&err);
    return true;
}

/* The link that messages of this length meet. */
static struct sg_link link_at(const struct curve *c, double bytes) {
    size_t i = 0;
    while (i + 1 < PIECES && c->piece[i + 1].bytes <= bytes)
        i++;
    return (struct sg_link){.name = "measured", .alpha_s = c->piece[i].alpha_s, .byte_s = c->piece[i].byte_s};
}

static double collective_s(const char *name, const struct curve *c, size_t ranks, double message, double hop) {
    const struct sg_net net = {.workers = ranks, .nodes = ranks, .ports = 1, .between = link_at(c, hop)};
    const struct sg_traffic traffic = sg_traffic_equal(message, ranks, 0);
    return sg_collective_find(name)->seconds(&net, &traffic);
}

/* ---- steps ---- */

/* What sparsetrain recorded of a run. */
struct run {
    double step_s, compression_s, exchange_s; /* of a step; the last two of rank 0 */
    double bytes;                             /* of the largest worker's message */
};

static double last_of(const cJSON *file, const char *series) {
    char *path = sg_format("series.%s", series);
    const cJSON *column = sg_json_get(file, path);
    const cJSON *item = cJSON_GetArrayItem(column, cJSON_GetArraySize(column) - 1);
    free(path);
    return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

static bool read_run(struct run *r, const char *folder, const char *link, int ranks, const char *method) {
    char *name = sg_format("train-%s-%d-%s.json", link, ranks, method);
    cJSON *file = read_file(folder, name);
    const double steps = last_of(file, "step"), mean = last_of(file, "average_density");
    free(name);
    *r = (struct run){.step_s = sg_json_number(file, "run.elapsed_s", NAN) / steps,
                      .compression_s = sg_json_number(file, "run.phase_s.compression", NAN) / steps,
                      .exchange_s = sg_json_number(file, "run.phase_s.exchange", NAN) / steps,
                      .bytes = last_of(file, "bytes_sent") / steps * last_of(file, "average_density_padded") / mean};
    cJSON_Delete(file);
    return isfinite(r->step_s);
}

/* What ranks tell each other before the messages of an exchange. */
static double notes_s(const struct curve *c, size_t ranks) {
    static const double NOTE_BYTES = 96;
    return collective_s("all-gather-doubling", c, ranks, NOTE_BYTES, NOTE_BYTES);
}

/* Vectors that are added up: the faster of the two ways of lib/comm. */
static double sum_s(const struct curve *c, size_t ranks, double bytes) {
    const double shared_s = collective_s("two-round", c, ranks, bytes, bytes / (double)ranks);
    return notes_s(c, ranks) + fmin(shared_s, collective_s("all-gather", c, ranks, bytes, bytes));
}

static double exchange_s(const char *method, const struct curve *c, size_t ranks, double bytes) {
    if (strcmp(method, "none") == 0)
        return sum_s(c, ranks, bytes);
    if (strcmp(method, "powersgd") == 0) /* P, and then Q */
        return 2 * sum_s(c, ranks, bytes / 2);
    return notes_s(c, ranks) + collective_s("all-gather", c, ranks, bytes, bytes);
}

static double step_s(double compute_s, double network_s) {
    static const double nothing = 0, some = 1;
    const struct sg_net_piece piece = {.alpha_s = network_s};
    const struct sg_net net = {.workers = 2, .nodes = 2, .ports = 1, .piece = &piece, .n_pieces = 1};
    const struct sg_net_step step = {
        .layers = 1, .forward_s = &nothing, .backward_s = &compute_s, .bytes = &some, .senders = 1};
    struct sg_step_time out;
    double work[16];
    sg_net_step_time(&out, NULL, &net, sg_collective_find("measured"), sg_overlap_find("none"), &step, work);
    return out.step_s;
}

static bool close_to(double x, double to) {
    return fabs(x / to - 1) <= CLOSE;
}

/* The exchanges of a step without any computing beside them, as measured; NaN = they were not. */
static double alone_s(const char *folder, int rate, int ranks, const char *method) {
    char *name = sg_format("exchange-%d-%d.json", rate, ranks);
    cJSON *file = read_file(folder, name);
    const cJSON *row = NULL;
    double out = NAN;
    free(name);
    cJSON_ArrayForEach(row, sg_json_get(file, "rows")) if (strcmp(sg_json_string(row, "name", ""), method) == 0) out =
        sg_json_number(row, "seconds", NAN) * (strcmp(method, "powersgd") == 0 ? 2 : 1);
    cJSON_Delete(file);
    return out;
}

/* What a step takes by what was measured or modelled of its parts. */
struct guess {
    double pair_s;     /* the model: in memory, and the ping-pong's times */
    double with_tcp_s; /* on free links, and the ping-pong's times */
    double alone_s;    /* in memory, and its exchanges alone */
    double all_s;      /* on free links, and the times of all ranks sending at once */
};

/* Why the model is off, if it is: which other measurement of the same parts the step agrees with. */
static const char *verdict_of(double measured_s, const struct guess *g) {
    if (close_to(g->pair_s, measured_s))
        return "within 10 %";
    if (close_to(g->alone_s, measured_s))
        return "within 10 % with its exchange measured alone: these cores slow the exchange";
    if (close_to(g->with_tcp_s, measured_s))
        return "within 10 % with TCP's work, measured on free links";
    if (close_to(g->all_s, measured_s))
        return "within 10 % with messages measured while all ranks send";
    if (measured_s > g->pair_s && measured_s < fmax(g->all_s, g->alone_s))
        return "between a pair's links and those of all ranks at once, as measured";
    return "not explained";
}

/* Adds a row of the table, and says how the model did. */
static void report_step(cJSON *rows, const char *folder, int rate, int ranks, const char *method,
                        const struct curve *pair, const struct curve *all) {
    struct run on_links, in_memory, freely;
    char link[16];
    snprintf(link, sizeof link, "%d", rate);
    if (!read_run(&on_links, folder, link, ranks, method) || !read_run(&in_memory, folder, "memory", ranks, method))
        return;
    read_run(&freely, folder, "free", ranks, method);
    const size_t p = (size_t)ranks;
    const double pair_s = exchange_s(method, pair, p, on_links.bytes);
    const double all_s = all->points > 0 ? exchange_s(method, all, p, on_links.bytes) : NAN;
    const double exchange_alone_s = alone_s(folder, rate, ranks, method);
    const struct guess g = {.pair_s = step_s(in_memory.step_s, pair_s),
                            .with_tcp_s = step_s(freely.step_s, pair_s),
                            .alone_s = in_memory.step_s + exchange_alone_s,
                            .all_s = step_s(freely.step_s, all_s)};
    const double ratio = g.pair_s / on_links.step_s;
    const char *verdict = verdict_of(on_links.step_s, &g);
    cJSON *row = cJSON_CreateObject();
    sg_json_set_number(row, "mbit_per_s", rate);
    sg_json_set_number(row, "ranks", ranks);
    sg_json_set_string(row, "method", method);
    sg_json_set_number(row, "message_bytes", on_links.bytes);
    sg_json_set_number(row, "measured_step_s", on_links.step_s);
    sg_json_set_number(row, "measured_compression_s", on_links.compression_s);
    sg_json_set_number(row, "measured_exchange_s", on_links.exchange_s);
    sg_json_set_number(row, "measured_step_in_memory_s", in_memory.step_s);
    sg_json_set_number(row, "measured_step_on_free_links_s", freely.step_s);
    sg_json_set_number(row, "measured_exchange_alone_s", exchange_alone_s);
    sg_json_set_number(row, "modelled_exchange_s", pair_s);
    sg_json_set_number(row, "modelled_step_s", g.pair_s);
    sg_json_set_number(row, "modelled_step_with_tcp_s", g.with_tcp_s);
    sg_json_set_number(row, "modelled_step_all_sending_s", g.all_s);
    sg_json_set_number(row, "modelled_over_measured", ratio);
    sg_json_set_string(row, "verdict", verdict);
    sg_json_push(rows, row);
    printf("%6d  %5d  %-14s  %8.0f  %8.2f  %8.2f  %8.2f  %8.2f  %8.2f  %8.2f  %8.2f  %5.2f  %s\n", rate, ranks, method,
           on_links.bytes, 1e3 * on_links.step_s, 1e3 * on_links.compression_s, 1e3 * in_memory.step_s,
           1e3 * freely.step_s, 1e3 * exchange_alone_s, 1e3 * pair_s, 1e3 * g.pair_s, ratio, verdict);
}

/* ---- links and exchanges ---- */

static void report_link(cJSON *links, int rate, int ranks, const struct curve *c) {
    cJSON *link = cJSON_CreateObject();
    const double bits_per_s = 8 / c->line.byte_s, error = c->line.byte_error_s / c->line.byte_s;
    sg_json_set_number(link, "mbit_per_s", rate);
    sg_json_set_number(link, "ranks_sending", ranks);
    sg_json_set(link, "measured_bytes", sg_json_numbers(c->bytes, c->points));
    sg_json_set(link, "measured_s", sg_json_numbers(c->seconds, c->points));
    sg_json_set_number(link, "fitted_alpha_s", c->line.alpha_s);
    sg_json_set_number(link, "fitted_alpha_error_s", c->line.alpha_error_s);
    sg_json_set_number(link, "fitted_bits_per_s", bits_per_s);
    sg_json_set_number(link, "fitted_bits_per_s_error", bits_per_s * error);
    sg_json_set_number(link, "fitted_worst", c->line.worst);
    sg_json_push(links, link);
    printf("%6d  %5d  %8.1f  %8.1f  %9.1f  %7.1f  %5.0f %%", rate, ranks, 1e6 * c->line.alpha_s,
           1e6 * c->line.alpha_error_s, 1e-6 * bits_per_s, 1e-6 * bits_per_s * error, 100 * c->line.worst);
    for (size_t i = 0; i < PIECES; i++)
        printf("  %.0f: %.0f us + %.4g Mbit/s", c->piece[i].bytes, 1e6 * c->piece[i].alpha_s,
               8e-6 / c->piece[i].byte_s);
    putchar('\n');
}

static void report_exchanges(cJSON *out, const char *folder, const char *kind, const char *who, int rate, int ranks) {
    char *name = sg_format("%s-%d-%d.json", kind, rate, ranks);
    cJSON *file = read_file(folder, name);
    const cJSON *row = NULL;
    free(name);
    cJSON_ArrayForEach(row, sg_json_get(file, "rows")) {
        const char *what = sg_json_string(row, "name", "");
        const double message = sg_json_number(row, "message_bytes", NAN), p = ranks;
        const double least = message * (sg_json_bool(row, "whole", false) ? 2 * (p - 1) / p : p - 1);
        const double wire = sg_json_number(row, "interface_bytes", NAN), took_s = sg_json_number(row, "seconds", NAN);
        cJSON *copy = cJSON_CreateObject();
        sg_json_set_number(copy, "mbit_per_s", rate);
        sg_json_set_number(copy, "ranks", ranks);
        sg_json_set_string(copy, "message_of", what);
        sg_json_set_string(copy, "by", who);
        sg_json_set_number(copy, "message_bytes", message);
        sg_json_set_number(copy, "measured_s", took_s);
        sg_json_set_number(copy, "measured_interface_bytes", wire);
        sg_json_set_number(copy, "algorithm_bytes", least);
        sg_json_push(out, copy);
        printf("%6d  %5d  %-14s  %-23s  %9.2f  %10.0f  %10.0f  %6.3f\n", rate, ranks, what, who, 1e3 * took_s, wire,
               least, wire / least);
    }
    cJSON_Delete(file);
}

static cJSON *machine_of(const char *folder) {
    cJSON *file = NULL, *out = cJSON_CreateObject();
    for (int i = 0; i < RANKS * METHODS && !file; i++) { /* any run tells */
        char *name = sg_format("train-memory-%d-%s.json", ranks_of[i / METHODS], method_name[i % METHODS]);
        file = read_file(folder, name);
        free(name);
    }
    struct utsname system;
    if (uname(&system) == 0)
        sg_json_set_string(out, "kernel", system.release);
    sg_json_set_string(out, "cpu", sg_json_string(file, "run.host.cpu", NULL));
    sg_json_set_number(out, "cores", sg_json_number(file, "run.host.cores", NAN));
    sg_json_set_number(out, "memory_bytes", sg_json_number(file, "run.host.memory_bytes", NAN));
    sg_json_set_string(out, "mpi", sg_json_string(file, "run.libraries.mpi", NULL));
    sg_json_set_string(out, "measured_at", sg_json_string(file, "run.started_at", NULL));
    cJSON_Delete(file);
    return out;
}

int main(int argc, char **argv) {
    static struct curve pair[RATES], all[RATES][RANKS];
    if (argc != 3) {
        fprintf(stderr, "usage: report FOLDER OUTPUT.json\n");
        return 2;
    }
    cJSON *out = cJSON_CreateObject(), *links = cJSON_CreateArray(), *exchanges = cJSON_CreateArray();
    cJSON *steps = cJSON_CreateArray();
    sg_json_set_string(out, "schema", "links/1");
    sg_json_set(out, "program", sg_version_json("links", "ncf"));
    sg_json_set(out, "machine", machine_of(argv[1]));

    printf("# One message, fitted: alpha + bytes / bandwidth from 16 KiB on (ranks 1: a ping-pong, else all send to "
           "the next at once)\n"
           "# link  ranks     alpha     error  bandwidth    error    worst  the pieces that the model uses: from so "
           "many bytes on\n"
           "#Mbit/s             us        us     Mbit/s   Mbit/s\n");
    for (int r = 0; r < RATES; r++) {
        char *name = sg_format("pair-%d.json", rate_of[r]);
        if (read_curve(&pair[r], argv[1], name))
            report_link(links, rate_of[r], 1, &pair[r]);
        free(name);
        for (int p = 0; p < RANKS; p++) {
            name = sg_format("shift-%d-%d.json", rate_of[r], ranks_of[p]);
            if (read_curve(&all[r][p], argv[1], name))
                report_link(links, rate_of[r], ranks_of[p], &all[r][p]);
            free(name);
        }
    }
    printf("\n# One exchange, measured: bytes at the interface beside those that the algorithm must send\n"
           "# link  ranks  message of      by                            time   interface   algorithm   ratio\n"
           "#Mbit/s                                                         ms       bytes       bytes\n");
    for (int r = 0; r < RATES; r++)
        for (int p = 0; p < RANKS; p++) {
            report_exchanges(exchanges, argv[1], "exchange", "lib/comm", rate_of[r], ranks_of[p]);
            report_exchanges(exchanges, argv[1], "open-mpi", "Open MPI, our flags", rate_of[r], ranks_of[p]);
            report_exchanges(exchanges, argv[1], "default", "Open MPI", rate_of[r], ranks_of[p]);
        }
    printf("\n# One step of training, times in ms. Measured: on links, of which compression on rank 0; in shared "
           "memory; on free\n"
           "# links; its exchange alone on links. Modelled by the ping-pong: the exchange, and the step in memory with "
           "it.\n"
           "# link  ranks  method           message  on links  compress    memory      free     alone   modelled  with "
           "it  ratio  verdict\n"
           "#Mbit/s                            bytes\n");
    for (int r = 0; r < RATES; r++)
        for (int p = 0; p < RANKS; p++)
            for (const char *const *m = method_name; *m && pair[r].points > 0; m++)
                report_step(steps, argv[1], rate_of[r], ranks_of[p], *m, &pair[r], &all[r][p]);
    sg_json_set(out, "links", links);
    sg_json_set(out, "exchanges", exchanges);
    sg_json_set(out, "steps", steps);
    char *text = sg_json_text(out, true);
    FILE *file = fopen(argv[2], "w");
    const bool written = file && text && fputs(text, file) >= 0;
    if ((file && fclose(file) != 0) || !written) {
        fprintf(stderr, "report: cannot write %s\n", argv[2]);
        return 1;
    }
    free(text);
    cJSON_Delete(out);
    return 0;
}

/* report.c: what tests/links/run measured, beside the model of lib/net. usage: report FOLDER OUTPUT.json
 *
 * FOLDER has what measure and sparsetrain wrote: pair-RATE.json, {shift,deal,gather}-LINK-RANKS.json,
 * exchange-RATE-RANKS.json, open-mpi-RATE-RANKS.json and, with Open MPI's own flags, default-RATE-RANKS.json; RATE in
 * Mbit/s; and train-LINK-RANKS-METHOD.json. LINK is such a RATE, or `memory` for shared memory in its place. Rates and
 * ranks are those of the files; other files that are missing are left out. Everything modelled stands under a name that
 * says so.
 *
 * links: times by bytes: pair, a ping-pong; of all ranks at once shift (a message to the next rank), deal
 * (MPI_Alltoallv), gather (MPI_Allgatherv). `fitted` are lines through measured times.
 * exchanges: one exchange without computing, by lib/comm, by Open MPI with the same TCP flags, and by Open MPI as it
 * comes. measured_interface_bytes: what the kernel counts at a rank's interface; algorithm_bytes: what a rank must
 * send; message_bytes: bytes_sent of the exchange.
 * steps: one method on one link. measured_exchange_s is rank 0's time from a message that is ready to its sum,
 * _in_memory_s the same over shared memory. modelled_exchange_s is the exchange in memory, less the collectives in
 * memory, plus those on the links, and exchange_ratio that over the measured one. _by_messages has the collectives made
 * of shift's messages, _by_a_pair of pair's line alone. measured_step_s, modelled_step_s, step_ratio: the whole step
 * likewise. measured_compression_s: of a step, rank 0.
 * summary: how many rows are within 20 % (near), how many off by more than a factor of 2 (far). */
/* SPDX-License-Identifier: MIT */
#include <glob.h>
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

enum { POINTS = 32, MOST = 16 };
static const double LARGE = 16384, NEAR = 0.2, FAR = 2;
static const char *const method_name[] = {"none", "topk", "hard-threshold", "qsgd", "powersgd", NULL};
enum { METHODS = sizeof method_name / sizeof *method_name - 1 };

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

/* ---- times by bytes ---- */

/* Measured times of messages or collectives, as a straight piece between any two of them. */
struct curve {
    size_t points;
    double bytes[POINTS], seconds[POINTS];
    struct sg_net_piece piece[POINTS];
    struct net_fit line; /* through those from LARGE bytes on */
};

/* What was measured of a kind, on links or in memory. */
enum kind { SHIFT, DEAL, GATHER, KINDS };
static const char *const kind_name[KINDS] = {"shift", "deal", "gather"};
struct measured {
    struct curve of[KINDS];
};

static bool read_curve(struct curve *c, const char *folder, char *take_name) {
    cJSON *file = read_file(folder, take_name);
    const cJSON *bytes = sg_json_get(file, "bytes"), *seconds = sg_json_get(file, "seconds");
    size_t small = 0;
    struct sg_error err;
    free(take_name);
    c->points = 0;
    for (int i = 0; i < cJSON_GetArraySize(bytes) && i < POINTS; i++) {
        c->bytes[c->points] = cJSON_GetArrayItem(bytes, i)->valuedouble;
        c->seconds[c->points++] = cJSON_GetArrayItem(seconds, i)->valuedouble;
    }
    cJSON_Delete(file);
    if (c->points < 2)
        return false;
    for (size_t i = 0; i + 1 < c->points; i++) {
        const double byte_s = (c->seconds[i + 1] - c->seconds[i]) / (c->bytes[i + 1] - c->bytes[i]);
        c->piece[i] = (struct sg_net_piece){c->bytes[i], c->seconds[i] - c->bytes[i] * byte_s, byte_s};
    }
    while (small + 2 < c->points && c->bytes[small] < LARGE)
        small++;
    if (net_fit_line(&c->line, c->bytes + small, c->seconds + small, c->points - small, &err) != SG_OK)
        fail(&err);
    return true;
}

static double at(const struct curve *c, double bytes) {
    return sg_net_pieces_seconds(c->piece, c->points - 1, bytes);
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

/* What a method's exchanges are: how many a step has, and whether their messages are summed. */
static bool factors(const char *method) { /* P, and then Q */
    return strcmp(method, "powersgd") == 0;
}
static bool sums(const char *method) {
    return factors(method) || strcmp(method, "none") == 0;
}

/* The exchanges of a step by lib/net, whose messages are each as long as the curve says. */
static double by_messages(const char *method, const struct curve *c, int ranks, double bytes) {
    const size_t p = (size_t)ranks;
    const double rounds = factors(method) ? 2 : 1;
    const struct sg_net net = {.workers = p, .nodes = p, .ports = 1, .piece = c->piece, .n_pieces = c->points - 1};
    const struct sg_traffic traffic = sg_traffic_equal(bytes / rounds, p, 0);
    return rounds * sg_collective_find(sums(method) ? "open-mpi" : "open-mpi-gather")->seconds(&net, &traffic);
}

/* The same exchanges from Open MPI's collectives, each as long as it takes by itself: the notes, and then the messages
 * as lib/comm moves them. */
static double by_collectives(const char *method, const struct measured *m, int ranks, double bytes) {
    static const double NOTE_BYTES = 104, SHORT_BYTES = 4096;
    const double rounds = factors(method) ? 2 : 1, part = bytes / rounds / ranks;
    const bool shared = sums(method) && SHORT_BYTES + 2 * part < bytes / rounds;
    const double moved_s =
        shared ? at(&m->of[DEAL], part) + at(&m->of[GATHER], part) : at(&m->of[GATHER], bytes / rounds);
    return rounds * (at(&m->of[GATHER], NOTE_BYTES) + moved_s);
}

/* How many exchanges and steps were modelled well, and how many badly. */
enum model { BY_COLLECTIVES, BY_MESSAGES, BY_A_PAIR, WHOLE_STEP, MODELS };
static const char *const model_name[MODELS] = {"exchanges", "exchanges_by_messages", "exchanges_by_a_pair", "steps"};
struct score {
    int rows, near[MODELS], far[MODELS];
};

/* Returns a mark for the table. */
static char count(struct score *score, enum model model, double ratio) {
    const bool well = fabs(ratio - 1) <= NEAR, badly = ratio > FAR || ratio < 1 / FAR;
    score->near[model] += well;
    score->far[model] += badly;
    return well ? ' ' : badly ? '#' : '!';
}

/* Adds a row of the table, and counts how the models did. */
static void report_step(cJSON *rows, struct score *score, const char *folder, int rate, int ranks, const char *method,
                        const struct curve *pair, const struct measured *link, const struct measured *memory) {
    struct run on_links, in_memory;
    char name[16];
    snprintf(name, sizeof name, "%d", rate);
    if (link->of[GATHER].points == 0 || !read_run(&on_links, folder, name, ranks, method) ||
        !read_run(&in_memory, folder, "memory", ranks, method))
        return;
    const double bytes = on_links.bytes, took_s = on_links.exchange_s, memory_s = in_memory.exchange_s;
    const double collectives_s = by_collectives(method, link, ranks, bytes);
    const double in_memory_s = by_collectives(method, memory, ranks, bytes);
    const double exchange_s = memory_s + collectives_s - in_memory_s;
    const double step_s = in_memory.step_s + collectives_s - in_memory_s;
    const double messages_s = memory_s + by_messages(method, &link->of[SHIFT], ranks, bytes) -
                              by_messages(method, &memory->of[SHIFT], ranks, bytes);
    const double pair_s = by_messages(method, pair, ranks, bytes);
    score->rows++;
    const char mark = count(score, BY_COLLECTIVES, exchange_s / took_s);
    const char messages_mark = count(score, BY_MESSAGES, messages_s / took_s);
    const char pair_mark = count(score, BY_A_PAIR, pair_s / took_s);
    const char step_mark = count(score, WHOLE_STEP, step_s / on_links.step_s);
    sg_json_push(
        rows,
        SG_OBJECT(SG_NUMBER("mbit_per_s", rate), SG_NUMBER("ranks", ranks), SG_TEXT("method", method),
                  SG_NUMBER("message_bytes", bytes), SG_NUMBER("measured_exchange_s", took_s),
                  SG_NUMBER("measured_exchange_in_memory_s", memory_s), SG_NUMBER("modelled_exchange_s", exchange_s),
                  SG_NUMBER("modelled_collectives_s", collectives_s),
                  SG_NUMBER("modelled_collectives_in_memory_s", in_memory_s),
                  SG_NUMBER("modelled_exchange_by_messages_s", messages_s),
                  SG_NUMBER("modelled_exchange_by_a_pair_s", pair_s), SG_NUMBER("exchange_ratio", exchange_s / took_s),
                  SG_NUMBER("exchange_ratio_by_messages", messages_s / took_s),
                  SG_NUMBER("exchange_ratio_by_a_pair", pair_s / took_s), SG_NUMBER("measured_step_s", on_links.step_s),
                  SG_NUMBER("measured_compression_s", on_links.compression_s),
                  SG_NUMBER("measured_step_in_memory_s", in_memory.step_s), SG_NUMBER("modelled_step_s", step_s),
                  SG_NUMBER("step_ratio", step_s / on_links.step_s)));
    printf("%8d  %5d  %-14s  %8.0f  %8.2f  %8.2f  %8.2f  %5.2f%c  %8.2f  %5.2f%c  %8.2f  %5.2f%c  %8.2f  %8.2f  "
           "%5.2f%c\n",
           rate, ranks, method, bytes, 1e3 * took_s, 1e3 * memory_s, 1e3 * exchange_s, exchange_s / took_s, mark,
           1e3 * messages_s, messages_s / took_s, messages_mark, 1e3 * pair_s, pair_s / took_s, pair_mark,
           1e3 * on_links.step_s, 1e3 * step_s, step_s / on_links.step_s, step_mark);
}

/* ---- links and exchanges ---- */

/* Adds the row of times that were read. rate 0 = shared memory. */
static void report_link(cJSON *links, const struct curve *c, const char *kind, int rate, int ranks) {
    const double bits_per_s = 8 / c->line.byte_s, error = c->line.byte_error_s / c->line.byte_s;
    sg_json_push(
        links,
        SG_OBJECT(SG_TEXT("kind", kind), SG_NUMBER("mbit_per_s", rate ? (double)rate : NAN), SG_NUMBER("ranks", ranks),
                  SG_VALUE("measured_bytes", sg_json_numbers(c->bytes, c->points)),
                  SG_VALUE("measured_s", sg_json_numbers(c->seconds, c->points)),
                  SG_NUMBER("fitted_alpha_s", c->line.alpha_s),
                  SG_NUMBER("fitted_alpha_error_s", c->line.alpha_error_s), SG_NUMBER("fitted_bits_per_s", bits_per_s),
                  SG_NUMBER("fitted_bits_per_s_error", bits_per_s * error), SG_NUMBER("fitted_worst", c->line.worst)));
    printf("%8.0f  %5d  %-6s  %9.1f  %9.1f  %8.1f  %8.1f  %9.1f  %7.1f  %5.0f %%\n", rate ? (double)rate : INFINITY,
           ranks, kind, 1e6 * at(c, 104), 1e6 * at(c, 8192), 1e6 * c->line.alpha_s, 1e6 * c->line.alpha_error_s,
           1e-6 * bits_per_s, 1e-6 * bits_per_s * error, 100 * c->line.worst);
}

/* Reads what was measured of all ranks at once, and adds its rows. */
static void read_measured(cJSON *links, struct measured *m, const char *folder, int rate, int ranks) {
    for (int k = 0; k < KINDS; k++) {
        char *name = rate ? sg_format("%s-%d-%d.json", kind_name[k], rate, ranks)
                          : sg_format("%s-memory-%d.json", kind_name[k], ranks);
        if (read_curve(&m->of[k], folder, name))
            report_link(links, &m->of[k], kind_name[k], rate, ranks);
    }
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
        printf("%8d  %5d  %-14s  %-23s  %9.2f  %10.0f  %10.0f  %6.3f\n", rate, ranks, what, who, 1e3 * took_s, wire,
               least, wire / least);
    }
    cJSON_Delete(file);
}

static cJSON *machine_of(const char *folder) {
    cJSON *out = cJSON_CreateObject();
    struct utsname system;
    glob_t found;
    char *any = sg_format("%s/train-memory-*.json", folder); /* any run tells */
    const bool there = glob(any, 0, NULL, &found) == 0;
    cJSON *file = there ? read_file(folder, strrchr(found.gl_pathv[0], '/') + 1) : NULL;
    if (there)
        globfree(&found);
    free(any);
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

static int ascending(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}

/* The numbers N of the files KIND-N.json, ascending, into out [MOST]. Returns how many there are. */
static int numbers_of(int *out, const char *folder, const char *kind) {
    glob_t found;
    int n = 0;
    char *pattern = sg_format("%s/%s-[0-9]*.json", folder, kind);
    if (glob(pattern, 0, NULL, &found) == 0) {
        for (; n < (int)found.gl_pathc && n < MOST; n++)
            out[n] = atoi(found.gl_pathv[n] + strlen(folder) + strlen(kind) + 2);
        globfree(&found);
    }
    free(pattern);
    qsort(out, (size_t)n, sizeof *out, ascending);
    return n;
}

static cJSON *summary_of(const struct score *score) {
    cJSON *out = SG_OBJECT(SG_NUMBER("rows", score->rows), SG_NUMBER("near", NEAR), SG_NUMBER("far", FAR));
    printf("\n# Of %d, within %g %%, and off by more than a factor of %g:", score->rows, 100 * NEAR, FAR);
    for (int m = 0; m < MODELS; m++) {
        printf("%s %s %d, %d", m ? ";" : "", model_name[m], score->near[m], score->far[m]);
        sg_json_set(out, model_name[m], SG_OBJECT(SG_NUMBER("near", score->near[m]), SG_NUMBER("far", score->far[m])));
    }
    putchar('\n');
    return out;
}

int main(int argc, char **argv) {
    static struct curve pair[MOST];
    static struct measured all[MOST][MOST], memory[MOST];
    int rate[MOST], ranks[MOST];
    struct score score = {0};
    if (argc != 3) {
        fprintf(stderr, "usage: report FOLDER OUTPUT.json\n");
        return 2;
    }
    const int rates = numbers_of(rate, argv[1], "pair"), sizes = numbers_of(ranks, argv[1], "shift-memory");
    cJSON *out = cJSON_CreateObject(), *links = cJSON_CreateArray(), *exchanges = cJSON_CreateArray();
    cJSON *steps = cJSON_CreateArray();
    sg_json_set_string(out, "schema", "links/2");
    sg_json_set(out, "program", sg_version_json("links", "ncf"));
    sg_json_set(out, "machine", machine_of(argv[1]));

    printf("# Times in us by bytes, of 104 and 8192 and fitted: alpha + bytes / bandwidth from 16 KiB on. pair: a "
           "ping-pong; all at\n"
           "# once: shift sends to the next rank, deal is MPI_Alltoallv, gather MPI_Allgatherv, by the bytes for and "
           "of each rank.\n"
           "#   link  ranks  what        of 104    of 8192     alpha     error  bandwidth    error    worst\n"
           "# Mbit/s                        us         us        us        us     Mbit/s   Mbit/s\n");
    for (int p = 0; p < sizes; p++)
        read_measured(links, &memory[p], argv[1], 0, ranks[p]);
    for (int r = 0; r < rates; r++) {
        if (read_curve(&pair[r], argv[1], sg_format("pair-%d.json", rate[r])))
            report_link(links, &pair[r], "pair", rate[r], 2);
        for (int p = 0; p < sizes; p++)
            read_measured(links, &all[r][p], argv[1], rate[r], ranks[p]);
    }
    printf("\n# One exchange, measured: bytes at the interface beside those that the algorithm must send\n"
           "#   link  ranks  message of      by                            time   interface   algorithm   ratio\n"
           "# Mbit/s                                                         ms       bytes       bytes\n");
    for (int r = 0; r < rates; r++)
        for (int p = 0; p < sizes; p++) {
            report_exchanges(exchanges, argv[1], "exchange", "lib/comm", rate[r], ranks[p]);
            report_exchanges(exchanges, argv[1], "open-mpi", "Open MPI, our flags", rate[r], ranks[p]);
            report_exchanges(exchanges, argv[1], "default", "Open MPI", rate[r], ranks[p]);
        }
    printf("\n# The exchanges of a step of training and the step, in ms; ratios are modelled over measured (! beyond "
           "20 %%, # beyond 2).\n"
           "# Modelled: the exchange in memory with Open MPI's collectives on links in the place of those in memory; "
           "the same with\n"
           "# lib/net's messages; lib/net's messages of a ping-pong, alone; and the step in memory with those "
           "collectives.\n"
           "#   link  ranks  method           message  exchange  in mem.   modelled   ratio  messages   ratio    "
           "a pair   ratio      step  modelled   ratio\n"
           "# Mbit/s                            bytes\n");
    for (int r = 0; r < rates; r++)
        for (int p = 0; p < sizes; p++)
            for (const char *const *m = method_name; *m; m++)
                report_step(steps, &score, argv[1], rate[r], ranks[p], *m, &pair[r], &all[r][p], &memory[p]);
    if (score.rows == 0) {
        fprintf(stderr, "report: %s has no step that was measured on links and in shared memory\n", argv[1]);
        return 1;
    }
    sg_json_set(out, "links", links);
    sg_json_set(out, "exchanges", exchanges);
    sg_json_set(out, "steps", steps);
    sg_json_set(out, "summary", summary_of(&score));
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

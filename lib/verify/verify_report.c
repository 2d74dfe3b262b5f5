/* verify_report.c: tests compressors by name, and reports the verdicts as JSON and as a table. */
/* SPDX-License-Identifier: MIT */
#include "sg_memory.h"
#include "sg_verify_report.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sg_table.h"
#include "sg_verify.h"
#include "sg_words.h"

enum { MOST_NAMES = 256, IN_FULL = 3 }; /* so many compressors have all their properties in the table */
enum { ENDED = 128, DONE = 93 };        /* DONE: the code with which the process of a compressor ends */

/* The rows of these names, or of the whole table. */
static sg_status choose(const struct sg_compressor_ops **ops, size_t *n, const struct sg_verify_options *o,
                        struct sg_error *err) {
    const char *known[MOST_NAMES];
    size_t all = 0;
    *n = 0;
    for (; all < MOST_NAMES && sg_compressor_at(all); all++)
        known[all] = sg_compressor_at(all)->name;
    for (size_t i = 0; i < (o->count > 0 ? o->count : all) && *n < MOST_NAMES; i++) {
        const char *name = o->count > 0 ? o->name[i] : known[i], *near = sg_suggest(name, known, all);
        if ((ops[*n] = sg_compressor_find(name)) == NULL)
            return sg_fail(err, SG_ERR_ARGUMENT, "unknown compressor '%s'%s%s%s (one of a plug-in needs --plugin FILE)",
                           name, near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
        ++*n;
    }
    return SG_OK;
}

/* Tries a compressor in a process of its own, because one that breaks its promises may break the process too. The
 * verdicts lie in memory that both share. *ended says how that process ended before it was done; empty = it was
 * done. */
static sg_status try_apart(const struct sg_compressor_ops *ops, struct sg_verdict *verdict, char ended[ENDED],
                           const struct sg_verify_options *o, struct sg_error *err) {
    const struct timespec pause = {.tv_nsec = 1000000};
    int how = 0;
    fflush(NULL);
    const pid_t parent = getpid(), child = fork();
    if (child < 0)
        return sg_fail_errno(err, SG_ERR_IO, "a process for the checks cannot be started");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            sg_verify_compressor(sg_verify_open(SG_VERIFY_SHORT), ops, verdict);
        _exit(DONE);
    }
    while (waitpid(child, &how, WNOHANG) == 0) {
        if (o->stop && o->stop() != 0)
            kill(child, SIGKILL);
        nanosleep(&pause, NULL);
    }
    ended[0] = '\0';
    if (WIFSIGNALED(how))
        snprintf(ended, ENDED, "killed by signal %d (%s)", WTERMSIG(how), strsignal(WTERMSIG(how)));
    else if (WEXITSTATUS(how) != DONE)
        snprintf(ended, ENDED, "with exit status %d", WEXITSTATUS(how));
    return SG_OK;
}

static cJSON *row_of(const struct sg_compressor_ops *ops, const struct sg_verdict *verdict, const char *ended,
                     bool *passed) {
    cJSON *properties = cJSON_CreateArray();
    bool fine = ended[0] == '\0';
    for (int p = 0; p < SG_VERIFY_PROPERTIES; p++) {
        const struct sg_verdict *v = &verdict[p];
        sg_json_push(properties,
                     SG_OBJECT(SG_TEXT("property", sg_verify_meaning[p].name), SG_NUMBER("runs", (double)v->runs),
                               SG_NUMBER("failed", (double)v->failed), SG_BOOL("untested", v->untested),
                               SG_TEXT("example", v->example[0] != '\0' ? v->example : NULL)));
        fine = fine && v->failed == 0;
    }
    *passed = *passed && fine;
    return SG_OBJECT(SG_TEXT("compressor", ops->name), SG_BOOL("passed", fine),
                     SG_TEXT("ended", ended[0] != '\0' ? ended : NULL), SG_VALUE("properties", properties));
}

sg_status sg_verify_report(cJSON **out, bool *passed, const struct sg_verify_options *o, struct sg_error *err) {
    const struct sg_compressor_ops *ops[MOST_NAMES];
    char ended[ENDED];
    size_t n;
    sg_status status = choose(ops, &n, o, err);
    if (status != SG_OK)
        return status;
    struct sg_verdict *verdict =
        mmap(NULL, SG_VERIFY_PROPERTIES * sizeof *verdict, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (verdict == MAP_FAILED)
        sg_memory_end();
    *out = cJSON_CreateArray();
    *passed = true;
    for (size_t i = 0; i < n && status == SG_OK; i++) {
        if (o->begin)
            o->begin(ops[i]->name, i, n);
        memset(verdict, 0, SG_VERIFY_PROPERTIES * sizeof *verdict);
        status = try_apart(ops[i], verdict, ended, o, err);
        if (status == SG_OK && o->stop && o->stop() != 0)
            status = sg_fail(err, SG_ERR_INTERRUPTED, "interrupted after %zu of %zu compressors", i, n);
        if (status == SG_OK)
            sg_json_push(*out, row_of(ops[i], verdict, ended, passed));
    }
    munmap(verdict, SG_VERIFY_PROPERTIES * sizeof *verdict);
    return status;
}

static bool is_untested(const cJSON *property) {
    return sg_json_bool(property, "untested", false);
}

/* Returns whether the property must be printed even if only a summary is: it failed or was not tested. */
static bool is_notable(const cJSON *property) {
    return sg_json_number(property, "failed", 0) > 0 || is_untested(property);
}

static void add_property(sg_table *t, const cJSON *property, const char *summary) {
    const double runs = sg_json_number(property, "runs", 0), failed = sg_json_number(property, "failed", 0);
    sg_table_cell(t, sg_json_string(property, "property", "?"), NULL);
    sg_table_cell(t, failed > 0 ? "FAILS" : is_untested(property) ? "not tested" : runs == 0 ? "-" : "holds", NULL);
    sg_table_number(t, "%.0f", runs);
    sg_table_number(t, "%.0f", failed);
    sg_table_cell(t, summary, NULL);
}

/* Prints the properties of a compressor, all or those that fail, and the first failure of each. */
static void print_properties(FILE *out, const cJSON *row, bool full, size_t width) {
    enum { WIDTH = 80 };
    static const struct sg_table_column columns[] = {
        {.head = "property", .weight = SG_TABLE_ALWAYS},
        {.head = "verdict", .weight = SG_TABLE_ALWAYS},
        {.head = "runs", .align = SG_TABLE_RIGHT, .weight = 1},
        {.head = "failed", .align = SG_TABLE_RIGHT, .weight = 2},
        {.head = "what it is", .align = SG_TABLE_WORDS, .weight = SG_TABLE_ALWAYS},
    };
    sg_table *t = sg_table_open(columns, sizeof columns / sizeof *columns);
    const cJSON *property;
    int p = 0;
    cJSON_ArrayForEach(property, sg_json_get(row, "properties")) {
        if (full || is_notable(property))
            add_property(t, property, sg_verify_meaning[p].summary);
        p++;
    }
    const struct sg_table_lines how = {.width = width > 0 ? width : WIDTH, .mark = "# "};
    sg_table_write_lines(out, t, &how);
    sg_table_free(t);
    cJSON_ArrayForEach(property, sg_json_get(row, "properties")) {
        char before[64];
        snprintf(before, sizeof before, "# %s%s: ", sg_json_string(property, "property", "?"),
                 sg_json_number(property, "failed", 0) > 0 ? ", first" : "");
        sg_put_wrapped(out, sg_json_string(property, "example", ""), width, before, "#   ");
    }
}

void sg_verify_print(FILE *out, const cJSON *results, size_t width) {
    const bool full = cJSON_GetArraySize(results) <= IN_FULL;
    const cJSON *row, *property;
    cJSON_ArrayForEach(row, results) {
        const bool passed = sg_json_bool(row, "passed", false);
        bool untested = false;
        double runs = 0;
        cJSON_ArrayForEach(property, sg_json_get(row, "properties")) {
            runs += sg_json_number(property, "runs", 0);
            untested = untested || is_untested(property);
        }
        fprintf(out, "# %-18s  %s, %.0f runs\n", sg_json_string(row, "compressor", "?"),
                !passed    ? "FAILS"
                : untested ? "not all is tested"
                           : "all that applies holds",
                runs);
        const char *ended = sg_json_string(row, "ended", NULL);
        if (ended)
            fprintf(out, "#   the process that tried it ended early: %s\n", ended);
        if ((full || !passed || untested))
            print_properties(out, row, full, width);
    }
}

/* bench.h: what the files of sparsebench share. */
/* SPDX-License-Identifier: MIT */
#ifndef BENCH_H
#define BENCH_H

#include "sg_file.h"
#include "sg_grid.h"
#include "sg_json.h"
#include "sg_options.h"
#include "sg_recipe.h"

/* ---- bench_options.c ---- */

extern struct bench_opt {
    const char *output, *html, *color, *network, *part, *sort, *bundle;
    bool force, json, table, compare, rejudge, dry_run, strict, judge, corrupt, verify, measure_coding, audit;
    int64_t points;
    double time_limit, share;
    struct sg_option_list methods, seeds, allowed;
} opt;

extern const struct sg_program program;

/* ---- what it does; all return the code to exit with, and path [n] are the operands ---- */

/* When this program began, by sg_clock_s, and when --time-limit ends; 0 = there is no limit. */
extern double launched_s;
double stop_at_s(void);

/* bench_kernels.c: the recipe of --measure-coding, SG_PARSE_RUN if it is read, and a run of a recipe of kernels. */
int read_coding(struct sg_recipe *recipe, const char *operand);
int bench_kernels(const struct sg_recipe *recipe, int argc, char **argv);

/* bench_audit.c: --bundle and --audit. */
int make_bundle(const char *const *path, size_t n);
int audit_results(const char *const *path, size_t n, int argc, char **argv);

/* bench_link.c: measures the link between the first two ranks of a launcher, and prints it on rank 0: as the section
 * `network` of a recipe, or with --json also every time. */
int measure_link(void);

/* ---- bench_output.c ---- */

/* The "program" of a result of this recipe. */
cJSON *version_json(const struct sg_recipe *recipe);

/* The options that choose part of the recipe. */
extern const struct sg_grid_command command;

/* The "run" of a result that began at start_s, by sg_clock_s. */
cJSON *run_json(int argc, char **argv, const char *started_at, double start_s, const struct sg_grid_options *o);

/* True if the table is printed: with --table, or on a terminal without --json. -o does not change this. */
bool table_wanted(void);

/* Ends a command that makes a document: writes it, if that is wanted, to the opened file or else to stdout, logs the
 * error of `status` and err, or of the writing, and closes the file. Returns `code`, or that of the error. */
int end_document(cJSON *take_document, bool wanted, int code, struct sg_file_writer *file, sg_status status,
                 struct sg_error *err);

/* *path <- the file of --html, which the caller frees; unchanged without --html. As for a result, an existing page is
 * replaced only if it is that of an unfinished run, or with --force. */
SG_CHECKED sg_status page_target(char **path, struct sg_error *err);

/* Writes the result: JSON to the opened file, or to stdout if there is none, the table if table_wanted, and the page
 * into its file (NULL = no page). The page is written even if the result cannot be written. Afterwards the texts of the
 * result are as they are shown. */
SG_CHECKED sg_status deliver(struct sg_document *result, struct sg_file_writer *file, const char *page,
                             struct sg_error *err);

/* Prints the progress of each cell of an unfinished grid. */
void report_reach(const struct sg_cell *cells, const struct sg_cell_outcome *outcomes, size_t count);

/* Prints the errors and warnings of each cell. */
void report_cells(const struct sg_cell *cells, const struct sg_cell_outcome *outcomes, size_t count);

/* Returns true if a claim fails, beyond noise or at these seeds. Prints the verdicts and the finding, unless the table,
 * which has them, is printed. */
bool report_claims(const struct sg_document *result, bool beside_table);

/* The exit code of a grid whose result has this status. */
int exit_code(const char *status, bool claim_fails);

#endif

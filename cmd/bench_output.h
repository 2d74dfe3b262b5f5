/* bench_output.h: writes the results of sparsebench, and reports on a grid at its end. */
#ifndef BENCH_OUTPUT_H
#define BENCH_OUTPUT_H

#include "sg_file.h"
#include "sg_grid.h"
#include "sg_json.h"
#include "sg_recipe.h"

/* The "program" of a result of this recipe. */
cJSON *version_json(const struct sg_recipe *recipe);

/* The options that choose part of the recipe. */
extern const struct sg_grid_command command;

/* The "run" of a result that began at start_s, by sg_clock_s. */
cJSON *run_json(int argc, char **argv, const char *started_at, double start_s, const struct sg_grid_options *o);

/* The result of a kernel benchmark, in the form of the other results, so that one reader does for both. */
cJSON *kernels_json(const struct sg_recipe *recipe, const char *status, cJSON *take_run, cJSON *take_results);

/* The result at `path` if it is an interrupted one of the same kernels, program and machine; else NULL. */
cJSON *earlier_kernels(const char *path, const struct sg_recipe *recipe);

/* True if the table is printed: with --table, or on a terminal without --json. -o does not change this. */
bool table_wanted(void);

/* Writes the document to the opened file, or to stdout if there is none. */
SG_CHECKED sg_status write_json(const cJSON *document, struct sg_file_writer *file, struct sg_error *err);

/* *path <- the file of --html, which the caller frees; unchanged without --html. As for a result, an existing page is
 * replaced only if it is that of an unfinished run, or with --force. */
SG_CHECKED sg_status page_target(char **path, struct sg_error *err);

/* Writes the result: JSON to the opened file, or to stdout if there is none, the table if table_wanted, and the page
 * into its file (NULL = no page). The page is written even if the result cannot be written. */
SG_CHECKED sg_status deliver(cJSON *take_result, struct sg_file_writer *file, const char *page, struct sg_error *err);

/* Prints the progress of each cell of an unfinished grid. */
void report_reach(const struct sg_cell *cells, const struct sg_cell_outcome *outcomes, size_t count);

/* Prints the errors and warnings of each cell. */
void report_cells(const struct sg_cell *cells, const struct sg_cell_outcome *outcomes, size_t count);

/* Returns true if a claim fails. Prints the verdicts and the finding, unless the table, which has them, is printed. */
bool report_claims(const cJSON *result, bool beside_table);

/* The exit code of a grid whose result has this status. */
int exit_code(const char *status, bool claim_fails);

#endif

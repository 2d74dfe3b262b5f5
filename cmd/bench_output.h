/* bench_output.h: where the results of sparsebench go, and what is said at the end of a grid. */
#ifndef BENCH_OUTPUT_H
#define BENCH_OUTPUT_H

#include "sg_file.h"
#include "sg_grid.h"
#include "sg_json.h"
#include "sg_recipe.h"

/* The "program" of a result of this recipe. */
cJSON *version_json(const struct sg_recipe *recipe);

/* What the options choose of the recipe. */
extern const struct sg_grid_command command;

/* The "run" of a result that began at start_s, by sg_clock_s. */
cJSON *run_json(int argc, char **argv, const char *started_at, double start_s, const struct sg_grid_options *o);

/* The result of a kernel benchmark, in the form of the other results, so that one reader does for both. */
cJSON *kernels_json(const struct sg_recipe *recipe, const char *status, cJSON *take_run, cJSON *take_results);

/* The result at `path` if it is an interrupted one of the same kernels, program and machine; else NULL. */
cJSON *earlier_kernels(const char *path, const struct sg_recipe *recipe);

/* A terminal gets the table, also beside -o. */
bool table_wanted(void);

/* The document to the file that was begun, else to stdout. */
SG_CHECKED sg_status write_json(const cJSON *document, struct sg_file_writer *file, struct sg_error *err);

/* The file of --html into *path, which the caller frees; left as it is if none is asked for. Like a result, a page replaces
 * only that of a run that did not come to its end, unless --force is given. */
SG_CHECKED sg_status page_target(char **path, struct sg_error *err);

/* Puts the result where it belongs: JSON to the file that was begun, or else to stdout, a table that is wanted, and the page
 * into its file; NULL = no page. The page is written even where the result cannot be. */
SG_CHECKED sg_status deliver(cJSON *take_result, struct sg_file_writer *file, const char *page, struct sg_error *err);

/* How far each cell of an unfinished grid came. */
void report_reach(const struct sg_cell *cells, const struct sg_cell_outcome *outcomes, size_t count);

/* Says of each cell what went wrong with it. */
void report_cells(const struct sg_cell *cells, const struct sg_cell_outcome *outcomes, size_t count);

/* Returns whether a claim fails. The table says the same, so beside it this stays quiet. */
bool report_claims(const cJSON *result, bool beside_table);

/* The exit code of a grid whose result has this status. */
int exit_code(const char *status, bool claim_fails);

#endif

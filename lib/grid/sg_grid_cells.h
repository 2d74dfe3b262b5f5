/* sg_grid_cells.h: lists what lies in a folder of cells, and removes what no recipe asks for.
 *
 * The files of a cell are LABEL-seedN-KEY.ndjson and the same with .part, .ckpt or a temporary ending. A file of such a
 * name with other contents is listed as broken and never removed. */
#ifndef SG_GRID_CELLS_H
#define SG_GRID_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "sg_recipe.h"
#include "sg_result.h"
#include "sg_status.h"

enum sg_cell_file_state {
    SG_CELL_FILE_FINISHED,   /* a series whose run ended by itself */
    SG_CELL_FILE_CHECKPOINT, /* a stopped run: a partial series and the checkpoint from which it can go on */
    SG_CELL_FILE_BROKEN      /* neither */
};

/* A line of the list: a finished series, or all files that one stopped run left. */
struct sg_cell_file {
    enum sg_cell_file_state state;
    char *path;          /* of the cell's finished series, whether it exists or not */
    bool stopped;        /* the line is about a stopped run, not about the finished series */
    bool ours;           /* its contents are a cell's, or it is empty; if not, it is never removed */
    bool asked;          /* some recipe asks for it; set by sg_grid_cells_mark */
    cJSON *header;       /* of the series; NULL = it cannot be read */
    size_t files;        /* the number of files */
    double bytes, age_s; /* of all files together; since the last change of any */
};

struct sg_cell_files {
    struct sg_cell_file *item; /* [count] sorted by path */
    size_t count;
};

/* Lists a folder. SG_ERR_MISSING: there is none. */
SG_CHECKED sg_status sg_grid_cells_list(struct sg_cell_files *out, const char *folder, struct sg_error *err);
void sg_grid_cells_free(struct sg_cell_files *files); /* zeroes it */

/* Marks the finished series and stopped runs that cells of a recipe would reuse or resume, if they are of these data (NULL =
 * any); finished ones also if they are of the cell's identity, or of any version. */
SG_CHECKED sg_status sg_grid_cells_mark(struct sg_cell_files *files, const struct sg_cell *cells, size_t count,
                                        bool any_version, const cJSON *dataset, struct sg_error *err);

/* Prints the list for people; `marked` adds which lines a recipe asks for. Lines have at most `width` characters; 0 = any
 * number. SG_ERR_MEMORY. */
SG_CHECKED sg_status sg_grid_cells_table(FILE *out, const struct sg_cell_files *files, const char *folder, bool marked,
                                         size_t width, struct sg_error *err);
/* The list as {"schema":"sparsebench-cells/1","folder","cells":[{"state","file","cell_key","label","seed","dataset",
 * "identity","age_s","bytes","asked"}]}; "asked" is null unless `marked`. NULL = no memory. */
cJSON *sg_grid_cells_json(const struct sg_cell_files *files, const char *folder, bool marked);

/* Would pruning remove it? That is so if it is ours and no recipe asks for it. */
bool sg_grid_cells_spare(const struct sg_cell_file *file);
/* Removes these files. The caller must have been alone in the folder (sg_grid_lock) since before it listed them. */
SG_CHECKED sg_status sg_grid_cells_prune(const struct sg_cell_files *files, const char *folder, struct sg_error *err);

/* sparsebench --cells: prints the list of a folder's cells on stdout. `prune` removes what no recipe asks for and says
 * how much it was; with `dry_run` it only says so. SG_ERR_ARGUMENT also if a recipe is wrong. */
struct sg_cells_command {
    const char *const *recipe_path; /* [n_recipes] the recipes whose cells are marked */
    size_t n_recipes;
    const char *const *set; /* --set values for all of them */
    size_t n_set;
    const char *folder; /* NULL = the recipes' default, which must be the same for all */
    const char *data_dir;
    bool any_version, prune, dry_run, json;
};
SG_CHECKED sg_status sg_grid_cells_run(const struct sg_cells_command *command, struct sg_error *err);

#endif

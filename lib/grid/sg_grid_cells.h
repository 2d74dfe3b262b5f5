/* sg_grid_cells.h: what lies in a folder of cells, and the removal of what no recipe asks for.
 *
 * A cell's files are known by their names, LABEL-seedN-KEY.ndjson and that with .part, .ckpt or a temporary ending, and by
 * what is in them: a file of such a name with other contents is listed as broken, and never removed. */
#ifndef SG_GRID_CELLS_H
#define SG_GRID_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "sg_recipe.h"
#include "sg_result.h"
#include "sg_status.h"

enum sg_cell_file_state {
    SG_CELL_FILE_FINISHED,   /* a series that ended by itself */
    SG_CELL_FILE_CHECKPOINT, /* a stopped run: a partial series and the checkpoint to go on from */
    SG_CELL_FILE_BROKEN      /* neither */
};

/* One line of the list: a finished series, or all that a stopped run left. */
struct sg_cell_file {
    enum sg_cell_file_state state;
    char *path;          /* that of the cell's finished series, be it there or not */
    bool stopped;        /* the files of a stopped run, not the finished series */
    bool ours;           /* a cell's by its contents too, or empty; else it is never removed */
    bool asked;          /* a recipe asks for it, see sg_grid_cells_mark */
    cJSON *header;       /* of the series; NULL = it cannot be read */
    size_t files;        /* how many these are */
    double bytes, age_s; /* of all; since the last change of any */
};

struct sg_cell_files {
    struct sg_cell_file *item; /* [count] by path */
    size_t count;
};

/* List a folder. SG_ERR_MISSING: there is none. */
SG_CHECKED sg_status sg_grid_cells_list(struct sg_cell_files *out, const char *folder, struct sg_error *err);
void sg_grid_cells_free(struct sg_cell_files *files); /* zeroes it */

/* Mark what cells of a recipe ask for: the finished series and stopped runs of their keys that would be reused or resumed,
 * of the program of this identity (NULL = any) and of these data (NULL = any). */
SG_CHECKED sg_status sg_grid_cells_mark(struct sg_cell_files *files, const struct sg_cell *cells, size_t count,
                                        const char *identity, const cJSON *dataset, struct sg_error *err);

/* As text for people; `marked`: also which are asked for. */
void sg_grid_cells_table(FILE *out, const struct sg_cell_files *files, const char *folder, bool marked);
/* {"schema":"sparsebench-cells/1","folder","cells":[{"state","file","cell_key","label","seed","dataset","identity",
 * "age_s","bytes","asked"}]}; asked is null where !marked. NULL = no memory. */
cJSON *sg_grid_cells_json(const struct sg_cell_files *files, const char *folder, bool marked);

/* Would it be removed: is it ours, and not asked for? */
bool sg_grid_cells_spare(const struct sg_cell_file *file);
/* Remove these. The caller has held the folder's lock (sg_grid_lock) since before they were listed. */
SG_CHECKED sg_status sg_grid_cells_prune(const struct sg_cell_files *files, const char *folder, struct sg_error *err);

/* sparsebench --cells: list a folder's cells on stdout, and with `prune` say how much is spare and, but for a dry run, remove
 * it. SG_ERR_ARGUMENT also for whatever is wrong with a recipe. */
struct sg_cells_command {
    const char *const *recipe_path; /* [n_recipes] what they ask for is marked */
    size_t n_recipes;
    const char *const *set; /* --set values, for all of them */
    size_t n_set;
    const char *folder; /* NULL = the recipes' default, if they have the same */
    const char *data_dir;
    bool any_version, prune, dry_run, json;
};
SG_CHECKED sg_status sg_grid_cells_run(const struct sg_cells_command *command, struct sg_error *err);

#endif

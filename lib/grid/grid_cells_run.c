/* grid_cells_run.c: does what sparsebench --cells asks for. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sg_grid.h"
#include "sg_grid_cells.h"
#include "sg_task.h"
#include "sg_terminal.h"

/* Marks what a recipe asks for with the present version and data. */
static sg_status mark(struct sg_cell_files *files, const struct sg_recipe *recipe, const struct sg_cells_command *c,
                      struct sg_error *err) {
    struct sg_cell *cells = NULL;
    cJSON *dataset = NULL;
    size_t count = 0;
    sg_status status = sg_recipe_cells(recipe, &cells, &count, err);
    if (status == SG_OK && count > 0)
        status = sg_task_dataset(&dataset, &cells[0].resolved, c->data_dir, err);
    SG_DO(status, sg_grid_cells_mark(files, cells, count, c->any_version, dataset, err));
    cJSON_Delete(dataset);
    sg_recipe_cells_free(cells, count);
    return status;
}

static sg_status choose_folder(char out[PATH_MAX], const struct sg_recipe *recipe, const struct sg_cells_command *c,
                               struct sg_error *err) {
    char other[PATH_MAX];
    if (c->prune && c->n_recipes == 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "--prune: name the recipes whose cells are to stay");
    if (c->folder) {
        snprintf(out, PATH_MAX, "%s", c->folder);
        return SG_OK;
    }
    if (c->n_recipes == 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "--cells: name a recipe, or the folder with --folder");
    sg_grid_default_folder(out, &recipe[0]);
    for (size_t i = 1; i < c->n_recipes; i++) {
        sg_grid_default_folder(other, &recipe[i]);
        if (strcmp(out, other) != 0)
            return sg_fail(err, SG_ERR_ARGUMENT,
                           "%s and %s keep their cells in different folders: name one with --folder", recipe[0].path,
                           recipe[i].path);
    }
    return SG_OK;
}

static sg_status print(const struct sg_cell_files *files, const char *folder, const struct sg_cells_command *c,
                       struct sg_error *err) {
    if (c->json)
        return sg_app_print_json(sg_grid_cells_json(files, folder, c->n_recipes > 0), "the list of cells", err);
    const size_t width = (size_t)sg_terminal_columns(STDOUT_FILENO);
    return sg_grid_cells_table(stdout, files, folder, c->n_recipes > 0, width, err);
}

static sg_status prune(const struct sg_cell_files *files, const char *folder, bool dry_run, struct sg_error *err) {
    size_t spare = 0, n_files = 0;
    double bytes = 0;
    for (size_t i = 0; i < files->count; i++)
        if (sg_grid_cells_spare(&files->item[i])) {
            spare++;
            n_files += files->item[i].files;
            bytes += files->item[i].bytes;
        }
    sg_log_note("%s the %zu spare ones of %zu cells: %zu files, %.3f MB", dry_run ? "--prune would remove" : "removing",
                spare, files->count, n_files, bytes / 1e6);
    return dry_run ? SG_OK : sg_grid_cells_prune(files, folder, err);
}

static sg_status list_folder(const struct sg_recipe *recipe, const char *folder, const struct sg_cells_command *c,
                             struct sg_error *err) {
    struct sg_cell_files files = {0};
    int lock = -1;
    sg_status status = SG_OK;
    if (access(folder, F_OK) != 0)
        return sg_fail_errno(err, SG_ERR_MISSING, "%s", folder);
    if (c->prune && !c->dry_run) /* holds the lock, so that no run changes what is removed below */
        status = sg_grid_lock(&lock, folder, true, err);
    SG_DO(status, sg_grid_cells_list(&files, folder, err));
    for (size_t i = 0; i < c->n_recipes && status == SG_OK; i++)
        status = mark(&files, &recipe[i], c, err);
    SG_DO(status, print(&files, folder, c, err));
    fflush(stdout);
    if (status == SG_OK && c->prune)
        status = prune(&files, folder, c->dry_run, err);
    if (lock >= 0)
        close(lock);
    sg_grid_cells_free(&files);
    return status;
}

sg_status sg_grid_cells_run(const struct sg_cells_command *c, struct sg_error *err) {
    struct sg_recipe *recipe = calloc(c->n_recipes + 1, sizeof *recipe);
    char folder[PATH_MAX];
    sg_status status = recipe ? SG_OK : sg_fail_memory(err, "the recipes");
    for (size_t i = 0; i < c->n_recipes && status == SG_OK; i++) {
        status = sg_recipe_read(&recipe[i], c->recipe_path[i], c->set, c->n_set, err);
        if (status != SG_OK && status != SG_ERR_MEMORY)
            status = SG_ERR_ARGUMENT;
        else if (status == SG_OK && strcmp(sg_node_string(&recipe[i].root, "kind", ""), "kernels") == 0)
            status = sg_fail(err, SG_ERR_ARGUMENT, "%s: a recipe of kind: kernels has no cells", recipe[i].path);
    }
    SG_DO(status, choose_folder(folder, recipe, c, err));
    SG_DO(status, list_folder(recipe, folder, c, err));
    for (size_t i = 0; recipe && i < c->n_recipes; i++)
        sg_recipe_free(&recipe[i]);
    free(recipe);
    return status;
}

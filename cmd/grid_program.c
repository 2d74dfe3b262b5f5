/* grid_program.c: the parts that sparsebench and sparsetune, the programs that run cells, share: the options about
 * cells, how the programs begin, and the options of their grids. */
/* SPDX-License-Identifier: MIT */
#include "grid_program.h"

#include <stdlib.h>
#include <string.h>

#include "sg_clock.h"
#include "sg_plugins.h"
#include "sg_terminal.h"
#include "sg_text.h"
#include "sg_version.h"

struct cell_opt cell_opt = {.memory_check = true};

static const struct sg_option options[] = {
    {SG_OPTION_GROUP, .name = "Cells and how to run them"},
    {SG_OPTION_STRING, "data", 0, &cell_opt.data, .value = "DIR",
     .help = "folder of the data sets; else $SPARSE_DATA, else datasets/cache"},
    {SG_OPTION_LIST, "plugin", 0, &cell_opt.plugins, .value = "FILE",
     .help = "compressors of your own for recipes: a shared object, or a file of Python; may be repeated"},
    {SG_OPTION_STRING, "device", 0, &cell_opt.device, .value = "DEVICE", .help = "cpu, cuda or cuda:N"},
    {SG_OPTION_FLAG, "fresh", 0, &cell_opt.fresh, .help = "run every cell again, finished or not"},
    {SG_OPTION_FLAG, "any-version", 0, &cell_opt.any_version,
     .help = "reuse finished cells whatever version of the program made them"},
    {SG_OPTION_INT, "jobs", 'j', &cell_opt.jobs, .value = "N", .min = 0, .max = 4096,
     .help = "cells at once, 0 = cores / threads, or 1 under a launcher or on a GPU"},
    {SG_OPTION_INT, "threads", 0, &cell_opt.threads, .value = "N", .min = 0, .max = 1024,
     .help = "threads of each cell, 0 = cores / jobs; results do not depend on it"},
    {SG_OPTION_FLAG, "memory-check", 0, &cell_opt.memory_check,
     .help = "refuse cells that need more memory at once than this host, or its control group, has left (default)"},
    {SG_OPTION_STRING, "launcher", 0, &cell_opt.launcher, .value = "COMMAND",
     .help = "put before each cell's command: \"mpirun -n 4\""},
    {SG_OPTION_STRING, "folder", 0, &cell_opt.folder, .value = "DIR",
     .help = "where cells are kept, default results/local/NAME/cells, the same for sparsebench and sparsetune"},
    {SG_OPTION_STRING, "program", 0, &cell_opt.program, .value = "FILE", .help = "sparsetrain to run", .hidden = true},
    {SG_OPTION_CHOICE, "help-recipe", 0, &cell_opt.help_recipe, .choices = "text|json-schema", .bare = "text",
     .help = "describe every recipe key, for people or for editors"},
};
const struct sg_option_table cell_options = {options, sizeof options / sizeof *options};

void warn_of_plugins(void) {
    char warning[SG_PLUGIN_WARNING];
    for (size_t i = 0; sg_plugin_warning(warning, &i);)
        sg_log_warning("%s", warning);
}

int begin_program(const struct sg_program *program, int argc, char **argv, const char **operand, size_t most,
                  size_t *n_operands) {
    struct sg_error err;
    bool reports;
    sg_app_start(program->name);
    const int code = sg_options_parse(program, argc, argv, operand, most, n_operands);
    if (code != SG_PARSE_RUN)
        return code;
    const sg_status alone = sg_grid_refuse_launcher(&reports, &err);
    const bool runs = alone == SG_OK || cell_opt.help_recipe != NULL || cell_opt.under_launcher;
    sg_app_expect_finish();
    if (runs &&
        sg_plugins_load(cell_opt.plugins.item, cell_opt.plugins.count, getenv(SG_PLUGINS_VARIABLE), &err) != SG_OK) {
        sg_log_error("%s", err.msg);
        return sg_exit_code(err.status);
    }
    if (cell_opt.help_recipe) {
        (strcmp(cell_opt.help_recipe, "text") == 0 ? sg_recipe_reference : sg_recipe_json_schema)(stdout);
        return SG_EXIT_OK;
    }
    if (runs)
        return SG_PARSE_RUN;
    if (reports)
        sg_log_error("%s", err.msg);
    return reports ? SG_EXIT_USAGE : SG_EXIT_OK;
}

bool choose_action(const char **out, const char *const *actions, size_t n, const struct option_of *uses,
                   size_t n_uses) {
    const char *found = NULL;
    for (size_t i = 0; i < n; i++) {
        if (found && sg_option_is_given(actions[i])) {
            sg_log_error("--%s and --%s: one at a time", found, actions[i]);
            return false;
        }
        found = sg_option_is_given(actions[i]) ? actions[i] : found;
    }
    *out = found ? found : "run";
    for (size_t i = 0; i < n_uses; i++) {
        const char *of = uses[i].of;
        const bool several = strchr(of, '|') != NULL;
        if (!sg_option_is_given(uses[i].option) || sg_is_choice(of, *out) || (several && !found))
            continue;
        if (strcmp(of, "run") == 0)
            sg_log_error("--%s is an option for recipes; --%s has no use for it", uses[i].option, found);
        else if (several)
            sg_log_error("--%s: --%s has no use for it", uses[i].option, found);
        else if (found)
            sg_log_error("--%s is an option of --%s; --%s has no use for it", uses[i].option, of, found);
        else
            sg_log_error("--%s is an option of --%s", uses[i].option, of);
        return false;
    }
    return true;
}

int read_recipe(struct sg_recipe *out, const char *path) {
    struct sg_error err;
    if (!path) {
        sg_log_error("no recipe given: name a YAML file, or - for stdin");
        return SG_EXIT_USAGE;
    }
    if (sg_recipe_read(out, path, cell_opt.set.item, cell_opt.set.count, &err) == SG_OK)
        return SG_PARSE_RUN;
    sg_log_error("%s", err.msg);
    return err.status == SG_ERR_MEMORY ? SG_EXIT_FAILED : SG_EXIT_USAGE;
}

static const char *task_kind(const struct sg_recipe *recipe) {
    return sg_node_string(&recipe->root, "task.kind", NULL);
}

cJSON *program_json(const char *name, const struct sg_recipe *recipe) {
    cJSON *out = sg_version_json(name, task_kind(recipe)), *plugins = sg_plugins_json(NULL);
    if (plugins)
        sg_json_set(out, "plugins", plugins);
    return out;
}

void fill_options(struct grid *g, const struct sg_recipe *recipe, const char *path) {
    sg_grid_default_folder(g->folder, recipe);
    g->options = (struct sg_grid_options){.recipe_path = path,
                                          .set = cell_opt.set.item,
                                          .n_set = cell_opt.set.count,
                                          .program = g->program,
                                          .launcher = cell_opt.launcher,
                                          .folder = cell_opt.folder ? cell_opt.folder : g->folder,
                                          .data_dir = cell_opt.data,
                                          .device = cell_opt.device,
                                          .jobs = (int)cell_opt.jobs,
                                          .threads = (int)cell_opt.threads,
                                          .any_memory = !cell_opt.memory_check,
                                          .fresh = cell_opt.fresh,
                                          .any_version = cell_opt.any_version,
                                          .stop = sg_signal_pending,
                                          .changed = sg_grid_view_changed,
                                          .arg = &g->view};
}

sg_status prepare_run(struct grid *g, const struct sg_recipe *recipe, struct sg_error *err) {
    sg_status status = sg_grid_program(g->program, cell_opt.program, err);
    if (status != SG_OK || strcmp(g->options.recipe_path, "-") != 0)
        return status;
    g->options.recipe_path = g->recipe_path;
    return sg_grid_save_recipe(g->recipe_path, recipe, g->options.folder, err);
}

/* grid_launch.c: prepares a grid's processes: finds the program, saves the recipe, and handles launchers. */
/* SPDX-License-Identifier: MIT */
#include <libgen.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "sg_comm.h"
#include "sg_file.h"
#include "grid_private.h"
#include "sg_memory.h"
#include "sg_plugins.h"

sg_status sg_grid_refuse_launcher(bool *reports, struct sg_error *err) {
    /* Of Slurm's variables only those of a step show that srun started this process: a batch script has the others too.
     */
    static const char *const size[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
    const char *text = NULL;
    for (size_t i = 0; i < sizeof size / sizeof *size && !text; i++)
        text = getenv(size[i]);
    const int ranks = text ? atoi(text) : 1;
    *reports = sg_comm_launch_rank() <= 0;
    return ranks <= 1
               ? SG_OK
               : sg_fail(err, SG_ERR_ARGUMENT,
                         "a launcher started this %d times over: start it once, and give it the launcher for its "
                         "cells, as --launcher \"mpirun -n %d\"",
                         ranks, ranks);
}

int sg_grid_stop_signal(const char *launcher) {
    for (const char *word = launcher; word && *word;) {
        const size_t length = strcspn(word, " \t");
        const char *name = word;
        for (const char *c = word; c < word + length; c++)
            if (*c == '/')
                name = c + 1;
        if (word + length - name == 4 && strncmp(name, "srun", 4) == 0)
            return SIGUSR1;
        word += length + strspn(word + length, " \t");
    }
    return SIGTERM;
}

sg_status sg_grid_program(char out[PATH_MAX], const char *instead, struct sg_error *err) {
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (instead) {
        snprintf(out, PATH_MAX, "%s", instead);
    } else if (length > 0) {
        self[length] = '\0';
        if ((size_t)snprintf(out, PATH_MAX, "%s/sparsetrain", dirname(self)) >= PATH_MAX)
            return sg_fail(err, SG_ERR_MISSING, "the path of this program is too long");
    } else {
        return sg_fail_errno(err, SG_ERR_MISSING, "cannot find the folder of this program");
    }
    return access(out, X_OK) == 0 ? SG_OK : sg_fail_errno(err, SG_ERR_MISSING, "cannot run %s", out);
}

void sg_grid_default_folder(char out[PATH_MAX], const struct sg_recipe *recipe) {
    snprintf(out, PATH_MAX, "results/local/%s/cells", sg_node_string(&recipe->root, "name", "recipe"));
}

sg_status sg_grid_save_recipe(char path[PATH_MAX], const struct sg_recipe *recipe, const char *folder,
                              struct sg_error *err) {
    if ((size_t)snprintf(path, PATH_MAX, "%s/recipe-%.12s.yaml", folder, recipe->sha256) >= PATH_MAX)
        return sg_fail(err, SG_ERR_ARGUMENT, "--folder: the path is too long");
    sg_status status = sg_folder_make(folder, err);
    return status == SG_OK ? sg_file_replace(path, recipe->text, strlen(recipe->text), err) : status;
}

char **grid_command_line(const char *const *word, size_t n, const struct sg_grid_options *o) {
    enum { OPTIONS = 2 };
    const char **out = sg_calloc(n + OPTIONS + 2 * (o->n_set + sg_plugin_count()) + 1, sizeof *out);
    memcpy(out, word, n * sizeof *out);
    if (o->data_dir) {
        out[n++] = "--data";
        out[n++] = o->data_dir;
    }
    for (size_t i = 0; i < o->n_set; i++) {
        out[n++] = "--set";
        out[n++] = o->set[i];
    }
    for (size_t i = 0; sg_plugin_path(i); i++) {
        out[n++] = "--plugin";
        out[n++] = sg_plugin_path(i);
    }
    return (char **)(uintptr_t)out; /* execvp takes no const words, but does not change them */
}

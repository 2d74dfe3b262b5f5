/* grid_cells.c: lists the files in a folder of cells, marks those that a recipe asks for, and removes the others. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "grid_private.h"
#include "sg_file.h"
#include "sg_plugins.h"
#include "sg_grid_cells.h"
#include "sg_text.h"
#include "sg_train.h"

static const char part_ending[] = ".part", checkpoint_ending[] = ".ckpt";

/* Length of LABEL-seedN-KEY.ndjson at the start of a file's name; 0 = it does not start so. */
static size_t stem_length(const char *name) {
    const char *dot = strstr(name, ".ndjson");
    for (; dot && strstr(dot + 1, ".ndjson"); dot = strstr(dot + 1, ".ndjson")) /* a label may contain it too */
        ;
    if (!dot || dot - name < KEY_PREFIX + 1)
        return 0;
    const char *at = dot - KEY_PREFIX;
    if (strspn(at, "0123456789abcdef") < KEY_PREFIX || at[-1] != '-')
        return 0;
    const char *digits = at - 1;
    while (digits > name && digits[-1] >= '0' && digits[-1] <= '9')
        digits--;
    return digits < at - 1 && digits - name > 5 && strncmp(digits - 5, "-seed", 5) == 0
               ? (size_t)(dot - name) + strlen(".ndjson")
               : 0;
}

/* Is it what follows a cell's path in a file name? "" is the finished series, all others belong to a stopped run. */
static bool is_ending(const char *ending) {
    const size_t checkpoint = strlen(checkpoint_ending);
    return *ending == '\0' || strcmp(ending, part_ending) == 0 || sg_file_is_temporary(ending) ||
           (strncmp(ending, checkpoint_ending, checkpoint) == 0 &&
            (ending[checkpoint] == '\0' || sg_file_is_temporary(ending + checkpoint)));
}

static bool read_header(cJSON **out, bool *finished, const char *path) {
    struct sg_run run;
    struct sg_error unused;
    if (sg_run_read(&run, path, &unused) != SG_OK)
        return false;
    const char *end = sg_json_string(run.end, "status", "");
    *finished = !run.damaged && (strcmp(end, "ok") == 0 || strcmp(end, "diverged") == 0);
    *out = run.header;
    run.header = NULL;
    sg_run_free(&run);
    return true;
}

/* Finds what is in the files of a line: their header, their state, and whether they are ours. */
static sg_status examine(struct sg_cell_file *f, struct sg_error *err) {
    char *part = sg_format("%s%s", f->path, f->stopped ? part_ending : "");
    char *checkpoint = sg_format("%s%s", f->path, checkpoint_ending);
    struct stat st;
    bool finished = false;
    if (!part || !checkpoint) {
        free(part);
        free(checkpoint);
        return sg_fail_memory(err, "a path");
    }
    const bool there = stat(part, &st) == 0, read = read_header(&f->header, &finished, part);
    const bool has_checkpoint = f->stopped && access(checkpoint, F_OK) == 0;
    f->ours = (!there || read || st.st_size == 0) && (!has_checkpoint || sg_train_is_checkpoint(checkpoint));
    f->state = !read                       ? SG_CELL_FILE_BROKEN
               : !f->stopped               ? (finished ? SG_CELL_FILE_FINISHED : SG_CELL_FILE_BROKEN)
               : has_checkpoint && f->ours ? SG_CELL_FILE_CHECKPOINT
                                           : SG_CELL_FILE_BROKEN;
    free(part);
    free(checkpoint);
    return SG_OK;
}

/* The line that a file belongs to; the first file of a line makes it. */
static struct sg_cell_file *line_of(struct sg_cell_files *files, const char *folder, const char *name, size_t stem) {
    const bool stopped = name[stem] != '\0';
    char *path = sg_format("%s/%.*s", folder, (int)stem, name);
    for (size_t i = 0; path && i < files->count; i++)
        if (files->item[i].stopped == stopped && strcmp(files->item[i].path, path) == 0) {
            free(path);
            return &files->item[i];
        }
    struct sg_cell_file *more = path ? realloc(files->item, (files->count + 1) * sizeof *more) : NULL;
    if (!more) {
        free(path);
        return NULL;
    }
    files->item = more;
    files->item[files->count] = (struct sg_cell_file){.path = path, .stopped = stopped, .age_s = 1e300};
    return &files->item[files->count++];
}

static sg_status add_file(struct sg_cell_files *files, DIR *dir, const char *folder, const char *name,
                          struct sg_error *err) {
    struct stat st;
    const size_t stem = stem_length(name);
    if (stem == 0 || !is_ending(name + stem) || fstatat(dirfd(dir), name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(st.st_mode))
        return SG_OK;
    struct sg_cell_file *f = line_of(files, folder, name, stem);
    if (!f)
        return sg_fail_memory(err, "the list of cells");
    const double age_s = difftime(time(NULL), st.st_mtim.tv_sec);
    f->files++;
    f->bytes += (double)st.st_size;
    f->age_s = age_s < f->age_s ? age_s : f->age_s;
    return SG_OK;
}

static int by_path(const void *a, const void *b) {
    const struct sg_cell_file *x = a, *y = b;
    const int order = strcmp(x->path, y->path);
    return order != 0 ? order : (int)x->stopped - (int)y->stopped;
}

sg_status sg_grid_cells_list(struct sg_cell_files *out, const char *folder, struct sg_error *err) {
    struct sg_cell_files files = {0};
    sg_status status = SG_OK;
    DIR *dir = opendir(folder);
    if (!dir)
        return sg_fail_errno(err, errno == ENOENT ? SG_ERR_MISSING : SG_ERR_IO, "%s", folder);
    for (struct dirent *entry; status == SG_OK && (entry = readdir(dir));)
        status = add_file(&files, dir, folder, entry->d_name, err);
    closedir(dir);
    for (size_t i = 0; i < files.count && status == SG_OK; i++)
        status = examine(&files.item[i], err);
    if (files.count > 0)
        qsort(files.item, files.count, sizeof *files.item, by_path);
    if (status == SG_OK)
        *out = files;
    else
        sg_grid_cells_free(&files);
    return status;
}

void sg_grid_cells_free(struct sg_cell_files *files) {
    for (size_t i = 0; i < files->count; i++) {
        free(files->item[i].path);
        cJSON_Delete(files->item[i].header);
    }
    free(files->item);
    *files = (struct sg_cell_files){0};
}

sg_status sg_grid_cells_mark(struct sg_cell_files *files, const struct sg_cell *cells, size_t count, bool any_version,
                             const cJSON *dataset, struct sg_error *err) {
    for (size_t i = 0; i < files->count; i++) {
        struct sg_cell_file *f = &files->item[i];
        const char *key = sg_json_string(f->header, "cell_key", "");
        for (size_t c = 0; c < count && f->state != SG_CELL_FILE_BROKEN && !f->asked; c++) {
            if (strcmp(cells[c].key, key) != 0)
                continue;
            if (f->state == SG_CELL_FILE_FINISHED) {
                char identity[SG_CELL_IDENTITY];
                sg_cell_identity(identity, &cells[c]);
                f->asked = grid_stale(f->header, any_version ? NULL : identity, dataset) == SG_STALE_NOT;
                continue;
            }
            char *checkpoint = sg_format("%s%s", f->path, checkpoint_ending);
            sg_status status = checkpoint ? sg_train_resumable(&f->asked, checkpoint, &cells[c], dataset, err)
                                          : sg_fail_memory(err, "a path");
            free(checkpoint);
            if (status != SG_OK)
                return status;
        }
    }
    return SG_OK;
}

bool sg_grid_cells_spare(const struct sg_cell_file *file) {
    return file->ours && !file->asked;
}

/* Removes the files of a line, by their names in the folder now. */
static sg_status remove_line(DIR *dir, const struct sg_cell_file *f, struct sg_error *err) {
    const char *slash = strrchr(f->path, '/'), *name = slash ? slash + 1 : f->path;
    const size_t stem = strlen(name);
    rewinddir(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        if (strncmp(entry->d_name, name, stem) == 0 && (entry->d_name[stem] != '\0') == f->stopped &&
            is_ending(entry->d_name + stem) && unlinkat(dirfd(dir), entry->d_name, 0) != 0)
            return sg_fail_errno(err, SG_ERR_IO, "cannot remove %s", entry->d_name);
    return SG_OK;
}

sg_status sg_grid_cells_prune(const struct sg_cell_files *files, const char *folder, struct sg_error *err) {
    sg_status status = SG_OK;
    DIR *dir = opendir(folder);
    if (!dir)
        return sg_fail_errno(err, SG_ERR_IO, "%s", folder);
    for (size_t i = 0; i < files->count && status == SG_OK; i++)
        if (sg_grid_cells_spare(&files->item[i]))
            status = remove_line(dir, &files->item[i], err);
    closedir(dir);
    return status;
}

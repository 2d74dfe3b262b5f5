/* output.c: the files of one run, from their names to the result. */
/* SPDX-License-Identifier: MIT */
#include "sg_output.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sg_debug.h"
#include "sg_file.h"
#include "sg_recording.h"
#include "sg_text.h"

/* No two files of a run may have the same name. */
static sg_status check_names(const struct sg_output *o, struct sg_error *err) {
    const char *result = o->options.path, *inputs = o->options.recording;
    char *recording = inputs ? sg_format("%s.part", inputs) : NULL;
    const struct {
        const char *name, *role;
    } file[] = {{inputs, "the recording"},
                {recording, "the recording until it is whole"},
                {result, "the result"},
                {o->part, "the result until the run is over"},
                {o->checkpoint, "the checkpoint"}};
    sg_status status = SG_OK;
    for (size_t i = 0; i < sizeof file / sizeof *file; i++)
        for (size_t j = 0; j < i && status == SG_OK; j++)
            if (file[i].name && file[j].name && sg_file_same(file[i].name, file[j].name))
                status = sg_fail(err, SG_ERR_ARGUMENT, "%s would be both %s and %s: choose another name", file[i].name,
                                 file[j].role, file[i].role);
    free(recording);
    return status;
}

sg_status sg_output_plan(struct sg_output *o, const struct sg_output_options *options, struct sg_error *err) {
    SG_ASSERT(!o->series && !o->part && !o->checkpoint);
    const bool replace = options->force || options->resume;
    sg_status status = SG_OK;
    o->options = *options;
    if (options->recording)
        status = sg_file_target(&o->recording, NULL, options->recording, replace, err);
    if (status == SG_OK && options->path)
        status = sg_file_target(&o->path, &o->device, options->path, replace, err);
    if (status == SG_OK && o->device && (options->resume || options->checkpoint))
        status =
            sg_fail(err, SG_ERR_ARGUMENT, "-o %s is not a plain file: nothing there can be resumed", options->path);
    o->options.recording = o->recording;
    o->options.path = o->path;
    if (status == SG_OK && o->path && !o->device) {
        o->part = sg_format("%s.part", o->path);
        if (options->checkpoint)
            status = sg_file_target(&o->checkpoint, NULL, options->checkpoint, true, err);
        else if ((o->checkpoint = sg_format("%s.ckpt", o->path)))
            status = sg_file_target(NULL, NULL, o->checkpoint, true, err);
    }
    return status == SG_OK ? check_names(o, err) : status;
}

static bool is_there(const char *path) {
    return access(path, F_OK) == 0;
}

static bool is_empty(FILE *file) {
    struct stat info;
    return fstat(fileno(file), &info) == 0 && info.st_size == 0;
}

static void remove_parts(const struct sg_output *o) {
    SG_ASSERT(o->checkpoint && o->part);
    unlink(o->checkpoint);
    unlink(o->part);
}

/* Removes the files of a run of this cell that was killed after writing its result and before removing them. A part of
 * another cell, or one that a process writes, is kept. */
static void remove_leftovers(const struct sg_output *o) {
    struct sg_error none;
    struct sg_run run;
    FILE *part;
    sg_file_sweep(o->checkpoint);
    sg_file_sweep(o->options.path);
    if (!is_there(o->part) && !is_there(o->checkpoint))
        return;
    if (sg_file_hold(&part, o->part, true, &none) != SG_OK)
        return;
    if (is_empty(part)) {
        remove_parts(o);
    } else if (sg_run_read(&run, o->part, &none) == SG_OK) {
        if (strcmp(sg_json_string(run.header, "cell_key", ""), o->options.wanted.cell_key) == 0)
            remove_parts(o);
        sg_run_free(&run);
    }
    fclose(part);
}

static sg_status read_finished(struct sg_run *out, const struct sg_output_options *p, struct sg_error *err) {
    struct sg_run_wanted wanted = p->wanted;
    cJSON *dataset = NULL;
    sg_status status = p->identify ? p->identify(&dataset, p->identify_arg, err) : SG_OK;
    wanted.dataset = dataset;
    SG_DO(status, sg_run_read_finished(out, p->path, &wanted, NULL, err));
    cJSON_Delete(dataset);
    return status;
}

/* A run that is to write a recording is finished only if the recording is complete. */
static sg_status check_recording(const struct sg_output_options *p, struct sg_error *err) {
    struct sg_error why = {.msg = "it is not there"};
    struct sg_recording recording;
    if (!p->recording)
        return SG_OK;
    if (is_there(p->recording) && sg_recording_open(&recording, p->recording, &why) == SG_OK) {
        sg_recording_free(&recording);
        return SG_OK;
    }
    return sg_fail(err, SG_ERR_ARGUMENT,
                   "--resume: %s is finished, but its recording %s is not whole (%.500s): remove "
                   "the former to run again",
                   p->path, p->recording, why.msg);
}

sg_status sg_output_look(bool *finished, struct sg_output *o, struct sg_error *err) {
    const struct sg_output_options *p = &o->options;
    struct sg_run run;
    *finished = false;
    SG_ASSERT(!p->resume || p->path);
    if (!p->resume || !is_there(p->path))
        return SG_OK;
    if (read_finished(&run, p, err) != SG_OK) {
        if (p->force)
            return SG_OK;
        struct sg_error why = *err;
        return sg_fail(err, SG_ERR_ARGUMENT, "--resume: %.800s: choose another name or add --force", why.msg);
    }
    *finished = true;
    sg_status status = SG_OK;
    if ((status = check_recording(p, err)) != SG_OK) {
        sg_run_free(&run);
        return status;
    }
    if (strcmp(sg_json_string(run.end, "status", ""), "ok") != 0)
        status = sg_fail(err, SG_ERR_NONFINITE, "%s: diverged before: %.800s", p->path,
                         sg_json_string(run.end, "message", ""));
    sg_run_free(&run);
    remove_leftovers(o);
    return status;
}

/* True if the part is the complete series of the run whose result is at the path: the run was killed before it could
 * remove its part. */
static bool is_of_result(const struct sg_output *o) {
    struct sg_error none;
    struct sg_run part, result;
    bool same = false;
    if (sg_run_read(&part, o->part, &none) != SG_OK)
        return false;
    if (part.end && sg_run_read(&result, o->options.path, &none) == SG_OK) {
        same = result.end &&
               strcmp(sg_json_string(part.header, "cell_key", ""), sg_json_string(result.header, "cell_key", "-")) == 0;
        sg_run_free(&result);
    }
    sg_run_free(&part);
    return same;
}

/* Locks the part, so that no other process can write it. Then the existing files are checked again. */
static sg_status open_part(struct sg_output *o, struct sg_error *err) {
    const struct sg_output_options *p = &o->options;
    const bool there = is_there(o->part);
    sg_status status = sg_file_hold(&o->series, o->part, true, err);
    SG_DO(status, sg_file_target(NULL, NULL, p->path, p->force || p->resume, err));
    if (status != SG_OK)
        return status;
    const bool unfinished = there && is_there(o->checkpoint);
    if (unfinished && !p->resume && !p->force)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "%s and %s are of a run that was stopped: go on with --resume, or start again with --force",
                       o->part, o->checkpoint);
    sg_file_sweep(o->checkpoint);
    sg_file_sweep(p->path);
    if (p->resume && unfinished && !(p->force && is_there(p->path) && is_of_result(o)))
        return SG_OK;
    unlink(o->checkpoint); /* a checkpoint cannot be used without its series */
    return ftruncate(fileno(o->series), 0) == 0 ? SG_OK : sg_fail_errno(err, SG_ERR_IO, "cannot write %s", o->part);
}

sg_status sg_output_open(struct sg_output *o, struct sg_error *err) {
    SG_ASSERT(!o->series);
    if (o->part)
        return open_part(o, err);
    if (o->options.format != SG_OUTPUT_SERIES)
        o->series = tmpfile();
    else if (o->device)
        return sg_file_device(&o->series, o->options.path, err);
    else
        o->series = o->options.standard;
    return o->series ? SG_OK : sg_fail_errno(err, SG_ERR_IO, "cannot write a temporary file");
}

static sg_status read_back(struct sg_run *run, const struct sg_output *o, struct sg_error *err) {
    if (fflush(o->series) != 0)
        return sg_fail_errno(err, SG_ERR_IO, "cannot write the series");
    if (o->part)
        return sg_run_read(run, o->part, err);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fileno(o->series));
    return sg_run_read(run, path, err);
}

static sg_status write_json(const struct sg_run *run, const struct sg_output *o, struct sg_error *err) {
    cJSON *json = sg_run_json(run);
    char *text = sg_json_text(json, true);
    cJSON_Delete(json);
    struct sg_file_writer w = {0};
    sg_status status = SG_OK;
    if (!o->options.path)
        fputs(text, o->options.standard);
    else if ((status = sg_file_begin(&w, o->options.path, true, err)) == SG_OK) {
        fputs(text, w.stream);
        status = sg_file_commit(&w, err);
    }
    free(text);
    return status;
}

sg_status sg_output_finish(struct sg_output *o, struct sg_error *err) {
    SG_ASSERT(o->series);
    FILE *standard = o->options.standard;
    sg_status status = SG_OK;
    if (o->options.format != SG_OUTPUT_SERIES) {
        struct sg_run run;
        status = read_back(&run, o, err);
        if (status != SG_OK)
            return status;
        if (o->options.format == SG_OUTPUT_JSON)
            status = write_json(&run, o, err);
        else
            sg_run_print(standard, &run, o->options.columns);
        sg_run_free(&run);
        if (status == SG_OK && !o->options.path && (fflush(standard) != 0 || ferror(standard)))
            status = sg_fail_errno(err, SG_ERR_IO, "cannot write the result");
        if (status == SG_OK && o->part)
            unlink(o->part);
    } else if (o->part) {
        status = sg_file_publish(o->series, o->part, o->options.path, err);
    }
    if (status == SG_OK && o->checkpoint)
        unlink(o->checkpoint);
    return status;
}

void sg_output_close(struct sg_output *o) {
    if (o->series && o->part && is_empty(o->series) && sg_file_is_still(o->series, o->part))
        unlink(o->part); /* the run ended before there was anything to keep */
    if (o->series && o->series != o->options.standard)
        fclose(o->series);
    free(o->path);
    free(o->recording);
    free(o->part);
    free(o->checkpoint);
    *o = (struct sg_output){0};
}

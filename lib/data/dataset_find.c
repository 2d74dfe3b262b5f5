/* dataset_find.c: finds the files of a data set, compares them with the publisher's, and lists the remedies if they are
 * missing. */
#include "dataset_walk.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sg_file.h"
#include "sg_text.h"

/* *out <- the first that exists of folder/[set/]file[.xz|.bz2|.gz]; NULL = none. */
static sg_status find_in(char **out, const char *folder, const char *set, const char *file, struct sg_error *err) {
    static const char *const suffix[] = {"", ".xz", ".bz2", ".gz"};
    for (size_t i = 0; i < 8; i++) {
        char *path;
        bool below = i < 4;
        if (asprintf(&path, "%s/%s%s%s%s", folder, below ? set : "", below ? "/" : "", file, suffix[i % 4]) < 0)
            return sg_fail_memory(err, "the name of a data file");
        if (sg_file_is_regular(path)) {
            *out = path;
            return SG_OK;
        }
        free(path);
    }
    return SG_OK;
}

sg_status dataset_find_file(char **out, const struct sg_dataset_request *request, const char *file,
                            struct sg_error *err) {
    const char *folder[] = {request->data_dir, getenv("SPARSE_DATA"), "datasets/cache"};
    sg_status status = SG_OK;
    *out = NULL;
    if (request->name[0] == '.' && !strchr(request->name, '/')) /* "..": files of nobody's set would be found there */
        return sg_fail(err, SG_ERR_ARGUMENT, "'%s' is no name of a data set: a file's path has a '/' in it",
                       request->name);
    for (size_t i = 0; i < 3 && status == SG_OK && !*out; i++)
        if (folder[i] && folder[i][0])
            status = find_in(out, folder[i], request->name, file, err);
    return status;
}

/* The checksum that SHA256SUMS beside the file has for it; "" = none. */
static void recorded_checksum(char sha256[65], const char *path, const char *file) {
    struct sg_error unused;
    char *sums, *text;
    size_t length;
    const char *slash = strrchr(path, '/');
    sha256[0] = '\0';
    if (asprintf(&sums, "%.*sSHA256SUMS", slash ? (int)(slash - path + 1) : 0, path) < 0)
        return;
    if (sg_file_read_regular(&text, &length, sums, 1 << 20, &unused) == SG_OK) {
        for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;)
            if (strlen(line) > 66 && strspn(line, "0123456789abcdef") == 64 && strcmp(line + 66, file) == 0)
                snprintf(sha256, 65, "%.64s", line);
        free(text);
    }
    free(sums);
}

static sg_status fail_checksum(const struct dataset_part *part, const char *set, const char *source,
                               const char *expected, struct sg_error *err) {
    return sg_fail(err, SG_ERR_MISMATCH,
                   "%s: the text's SHA-256 is %s, but %s says %s: the file is damaged or another version; remove it "
                   "and run datasets/fetch %s",
                   part->path, part->sha256, source, expected, set);
}

sg_status dataset_verify(const struct dataset *d, struct dataset_part *part, struct sg_error *err) {
    const char *pin = descriptor_pin(&d->descriptor, part->file), *set = d->request->name;
    char recorded[65];
    part->verified = !pin ? SG_VERIFIED_NOT : strcmp(pin, part->sha256) == 0 ? SG_VERIFIED_SAME : SG_VERIFIED_DIFFERENT;
    if (part->verified == SG_VERIFIED_SAME)
        return SG_OK;
    if (pin && d->kind->strict)
        return fail_checksum(part, set, "the data set's description", pin, err);
    recorded_checksum(recorded, part->path, part->file);
    if (recorded[0] && strcmp(recorded, part->sha256) != 0)
        return fail_checksum(part, set, "SHA256SUMS beside it", recorded, err);
    return SG_OK;
}

sg_status dataset_fail_missing(const struct dataset *d, const char *file, struct sg_error *err) {
    const char *sparse_data = getenv("SPARSE_DATA"), *set = d->request->name, *data_dir = d->request->data_dir;
    const bool has_path = d->kind->by_path && sg_file_is_regular(set);
    char *text = NULL, near[64], *script;
    size_t length;
    sg_status status = descriptor_fetch_script(&script, set, err);
    if (status != SG_OK)
        return status;
    FILE *out = open_memstream(&text, &length);
    if (out) {
        fprintf(out, "data set '%s' is not here: no file %s in ", set, file);
        if (data_dir)
            fprintf(out, "%s, ", data_dir);
        if (sparse_data && sparse_data[0])
            fprintf(out, "%s, ", sparse_data);
        fprintf(out, "datasets/cache; ");
        if (sg_dataset_suggest(near, set))
            fprintf(out, "did you mean '%s'? Else ", near);
        if (has_path)
            fprintf(out, "did you mean the file ./%s (a path has a '/' in it)? Else ", set);
        if (script)
            fprintf(out, "run %s %s, or ", script, set);
        fprintf(out, "put it into datasets/cache/%s/, or name a folder that holds %s/%s with --data or $SPARSE_DATA",
                set, set, file);
        if (d->kind->by_path && !has_path)
            fprintf(out, ", or give the path of %s", d->kind->by_path);
        if (d->stand_in)
            fprintf(out, ", or name a generated stand-in (task.stand-in: %s)", d->stand_in);
    }
    free(script);
    status = sg_stream_text(out, &text) ? sg_fail(err, SG_ERR_MISSING, "%s", text) : sg_fail_memory(err, set);
    free(text);
    return status;
}

/* dataset_find.c: finds the files of a data set, compares them with the publisher's, and lists the remedies if they are
 * missing. */
/* SPDX-License-Identifier: MIT */
#include "dataset_walk.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "sg_file.h"
#include "sg_memory.h"
#include "sg_text.h"

static const char *const packed[] = {".xz", ".bz2", ".gz"};

/* Where the publishers' archives have files, whose names may have letters in the place of %s. */
static const struct {
    const char *begin, *end; /* of our name */
    const char *there;
} archived[] = {{"data_batch_", ".bin", "cifar-10-batches-bin/data_batch_%s.bin"},
                {"test_batch", ".bin", "cifar-10-batches-bin/test_batch%s.bin"},
                {"train", ".bin", "cifar-100-binary/train%s.bin"},
                {"test", ".bin", "cifar-100-binary/test%s.bin"},
                {"train", ".txt", "wiki.train%s.tokens"},
                {"valid", ".txt", "wiki.valid%s.tokens"},
                {"test", ".txt", "wiki.test%s.tokens"}};

/* The name that an archive has for the file; "" = none is known. */
static void name_in_archive(char out[160], const char *file) {
    out[0] = '\0';
    for (size_t i = 0; i < sizeof archived / sizeof *archived; i++) {
        const size_t begin = strlen(archived[i].begin), end = strlen(archived[i].end), length = strlen(file);
        char middle[2] = "";
        if (length < begin + end || length > begin + end + 1 || strncmp(file, archived[i].begin, begin) != 0 ||
            !sg_ends_in(file, archived[i].end))
            continue;
        if (length > begin + end)
            middle[0] = file[begin];
        snprintf(out, 160, archived[i].there, middle);
        return;
    }
}

/* *out <- the first that exists of folder/[set/]file[.xz|.bz2|.gz]; NULL = none. */
static void find_in(char **out, const char *folder, const char *set, const char *file) {
    for (size_t i = 0; i < 8; i++) {
        char *path;
        bool below = i < 4;
        path =
            sg_format("%s/%s%s%s%s", folder, below ? set : "", below ? "/" : "", file, i % 4 ? packed[i % 4 - 1] : "");
        if (sg_file_is_regular(path)) {
            *out = path;
            return;
        }
        free(path);
    }
}

sg_status dataset_find_file(char **out, const struct sg_dataset_request *request, const char *file,
                            struct sg_error *err) {
    const char *folder[] = {request->data_dir, getenv("SPARSE_DATA"), "datasets/cache"};
    *out = NULL;
    if (request->name[0] == '.' && !strchr(request->name, '/')) /* "..": files of nobody's set would be found there */
        return sg_fail(err, SG_ERR_ARGUMENT, "'%s' is no name of a data set: a file's path has a '/' in it",
                       request->name);
    char other[160];
    name_in_archive(other, file);
    for (size_t i = 0; i < 6 && !*out; i++)
        if (folder[i / 2] && folder[i / 2][0] && (i % 2 == 0 || other[0]))
            find_in(out, folder[i / 2], request->name, i % 2 ? other : file);
    return SG_OK;
}

/* Undoes the escapes of a name in SHA256SUMS in its place. */
static void unescape(char *name) {
    char *to = name;
    for (; *name; name++) {
        const char *from = *name == '\\' && name[1] ? strchr("\\\\n\nr\r", name[1]) : NULL;
        *to++ = from ? from[1] : *name;
        name += from != NULL;
    }
    *to = '\0';
}

/* The name in a line of SHA256SUMS and its sum, in any form that `sha256sum -c` reads; NULL = it is no such line. */
static char *read_sum(char *line, const char **sum) {
    static const char digits[] = "0123456789abcdefABCDEF";
    line += strspn(line, " \t");
    line[strcspn(line, "\r")] = '\0';
    const bool escaped = *line == '\\';
    char *name = line += escaped, *end;
    if (strncmp(line, "SHA256 (", 8) == 0 || strncmp(line, "SHA256(", 7) == 0) {
        name = strchr(line, '(') + 1;
        if ((end = strrchr(name, ')')) == NULL)
            return NULL;
        *end++ = '\0';
        *sum = end + strspn(end, " =");
        if (strspn(*sum, digits) != 64 || (*sum)[64] != '\0')
            return NULL;
    } else {
        *sum = line;
        if (strspn(line, digits) != 64 || (line[64] != ' ' && line[64] != '\t'))
            return NULL;
        name = line + 65 + (line[65] == ' ' || line[65] == '*');
    }
    if (escaped)
        unescape(name);
    while (strncmp(name, "./", 2) == 0)
        name += 2;
    return name;
}

static sg_status fail_checksum(const struct dataset_part *part, const char *set, const char *source,
                               const char *expected, struct sg_error *err) {
    return sg_fail(err, SG_ERR_MISMATCH,
                   "%s: the text's SHA-256 is %s, but %s says %.64s: the file is damaged or another version; remove it "
                   "%s%s",
                   part->path, part->sha256, source, expected,
                   strchr(set, '/') ? "or that line" : "and run datasets/fetch ", strchr(set, '/') ? "" : set);
}

/* True if the word is in the line, and is not a part of another name. */
static bool has_word(const char *line, const char *word) {
    for (const char *at = line; (at = strstr(at, word)) != NULL; at++)
        if ((at == line || strchr(" \t*/(", at[-1])) && strchr(" \t\r)", at[strlen(word)]))
            return true;
    return false;
}

/* Compares the part with the lines of SHA256SUMS that name it; `name` is its name without a packing suffix. */
static sg_status compare_sums(const struct dataset *d, const struct dataset_part *part, char *text, const char *sums,
                              const char *name, struct sg_error *err) {
    bool named = false;
    size_t number = 1;
    for (char *line, *rest = text + sg_text_mark(text, strlen(text)); (line = strsep(&rest, "\n")) != NULL; number++) {
        const char *sum;
        const bool speaks = line[0] != '#' && has_word(line, name);
        const char *of = read_sum(line, &sum);
        if (!of && speaks)
            return sg_fail(err, SG_ERR_FORMAT, "%s:%zu: it names '%s', but is no line that sha256sum -c reads", sums,
                           number, name);
        if (!of || strcmp(of, name) != 0)
            continue;
        if (strncasecmp(sum, part->sha256, 64) != 0)
            return fail_checksum(part, d->request->name, "SHA256SUMS beside it", sum, err);
        named = true;
    }
    if (!named)
        sg_notify(d->request->notice, "%s does not name '%s', which is not compared", sums, name);
    return SG_OK;
}

sg_status dataset_verify(const struct dataset *d, struct dataset_part *part, struct sg_error *err) {
    const char *pin = descriptor_pin(&d->descriptor, part->file), *slash = strrchr(part->path, '/');
    const size_t folder = slash ? (size_t)(slash + 1 - part->path) : 0;
    part->verified = !pin ? SG_VERIFIED_NOT : strcmp(pin, part->sha256) == 0 ? SG_VERIFIED_SAME : SG_VERIFIED_DIFFERENT;
    if (part->verified == SG_VERIFIED_SAME)
        return SG_OK;
    if (pin && d->kind->strict)
        return fail_checksum(part, d->request->name, "the data set's description", pin, err);
    char *sums = sg_format("%.*sSHA256SUMS", (int)folder, part->path), *name = sg_strdup(part->path + folder),
         *text = NULL;
    size_t length;
    sg_status status = SG_OK;
    if (access(sums, F_OK) == 0) {
        for (size_t i = 0; i < sizeof packed / sizeof *packed; i++)
            if (sg_ends_in(name, packed[i]))
                name[strlen(name) - strlen(packed[i])] = '\0';
        status = sg_file_read_regular(&text, &length, sums, 1 << 20, err);
        SG_DO(status, compare_sums(d, part, text, sums, name, err));
    }
    free(text);
    free(name);
    free(sums);
    return status;
}

/* True if pickles of CIFAR lie where its files were looked for. */
static bool has_python_version(const struct dataset *d) {
    static const char *const pickles[] = {"data_batch_1", "cifar-10-batches-py/data_batch_1", "cifar-100-python/train"};
    struct sg_error unused;
    bool found = false;
    for (size_t i = 0; i < 3 && sg_ends_in(d->part[0].file, ".bin") && !found; i++) {
        char *path = NULL;
        found = dataset_find_file(&path, d->request, pickles[i], &unused) == SG_OK && path;
        free(path);
    }
    return found;
}

sg_status dataset_fail_missing(const struct dataset *d, const char *file, struct sg_error *err) {
    const char *sparse_data = getenv("SPARSE_DATA"), *set = d->request->name, *data_dir = d->request->data_dir;
    const bool has_path = d->kind->by_path && sg_file_is_regular(set);
    char *text = NULL, near[64], *script = descriptor_fetch_script(set);
    size_t length;
    FILE *out = sg_memstream(&text, &length);
    fprintf(out, "data set '%s' is not here: no file %s in ", set, file);
    if (data_dir)
        fprintf(out, "%s, ", data_dir);
    if (sparse_data && sparse_data[0])
        fprintf(out, "%s, ", sparse_data);
    fprintf(out, "datasets/cache; ");
    if (has_python_version(d))
        fprintf(out, "what is here is the version for Python, and the binary version is read; ");
    if (sg_dataset_suggest(near, set))
        fprintf(out, "did you mean '%s'? Else ", near);
    if (has_path)
        fprintf(out, "did you mean the file ./%s (a path has a '/' in it)? Else ", set);
    if (script)
        fprintf(out, "run %s %s, or ", script, set);
    fprintf(out, "put it into datasets/cache/%s/, or name a folder that holds %s/%s with --data or $SPARSE_DATA", set,
            set, file);
    if (d->kind->by_path && !has_path)
        fprintf(out, ", or give the path of %s", d->kind->by_path);
    if (d->stand_in)
        fprintf(out, ", or name a generated stand-in (task.stand-in: %s)", d->stand_in);
    free(script);
    const sg_status status = sg_fail(err, SG_ERR_MISSING, "%s", sg_stream_text(out, &text));
    free(text);
    return status;
}

/* gradient_files.c: the names of files of gradients, which may contain step and worker, and the SHA-256 of all. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checksum.h"
#include "gradients_private.h"
#include "sg_file.h"
#include "sg_gradients.h"

/* The length of a word in braces, as {step} or {step:6}, that begins at `at`, and its digits; 0 = it does not. */
static size_t placeholder(const char *at, const char *word, int *digits) {
    const size_t length = strlen(word);
    *digits = 1;
    if (at[0] != '{' || strncmp(at + 1, word, length) != 0)
        return 0;
    at += 1 + length;
    if (at[0] == '}')
        return length + 2;
    const size_t more = at[0] == ':' ? strspn(at + 1, "0123456789") : 0;
    if (more < 1 || more > 2 || at[1 + more] != '}')
        return 0;
    *digits = atoi(at + 1);
    return length + 3 + more;
}

sg_status gradient_file(char **out, const char *files, uint64_t step, size_t worker, bool *by_step, bool *by_worker,
                        struct sg_error *err) {
    size_t size = 0;
    bool has_step = false, has_worker = false, good = true;
    FILE *text = open_memstream(out, &size);
    if (!text)
        return sg_fail_memory(err, files);
    for (const char *at = files; *at && good;) {
        int digits;
        size_t length;
        if ((length = placeholder(at, "step", &digits)) > 0) {
            fprintf(text, "%0*llu", digits, (unsigned long long)step);
            has_step = true;
        } else if ((length = placeholder(at, "worker", &digits)) > 0) {
            fprintf(text, "%0*zu", digits, worker);
            has_worker = true;
        } else {
            good = *at != '{' && *at != '}';
            fputc(*at, text);
            length = 1;
        }
        at += length;
    }
    const bool written = fclose(text) == 0;
    if (!written || !good)
        free(*out);
    if (!written)
        return sg_fail_memory(err, files);
    if (!good)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "%s: braces stand around 'step' or 'worker' only: {step}, {worker}, or {step:6} for six digits",
                       files);
    if (by_step)
        *by_step = has_step;
    if (by_worker)
        *by_worker = has_worker;
    return SG_OK;
}

sg_status gradient_files_count(uint64_t *count, const char *files, bool steps, struct sg_error *err) {
    char *path;
    sg_status status = SG_OK;
    for (*count = 0; status == SG_OK; ++*count) {
        status = gradient_file(&path, files, steps ? *count : 0, steps ? 0 : (size_t)*count, NULL, NULL, err);
        const bool here = status == SG_OK && access(path, F_OK) == 0;
        if (status == SG_OK)
            free(path);
        if (!here)
            break;
    }
    return status;
}

/* The checksum of all files, from a line for each. */
static sg_status checksum_all(char sha256[65], const char *files, uint64_t steps, uint64_t workers,
                              const char *data_dir, struct sg_error *err) {
    sg_sha256 all;
    sg_status status = SG_OK;
    sg_sha256_start(&all);
    for (uint64_t i = 0; i < steps * workers && status == SG_OK; i++) {
        char *path, one[65], line[128];
        status = gradient_file(&path, files, i / workers, (size_t)(i % workers), NULL, NULL, err);
        if (status != SG_OK)
            break;
        status = dataset_checksum(one, path, data_dir, err);
        free(path);
        if (status != SG_OK)
            break;
        const int length = snprintf(line, sizeof line, "%s  %llu-%llu\n", one, (unsigned long long)(i / workers),
                                    (unsigned long long)(i % workers));
        sg_sha256_add(&all, line, (size_t)length);
    }
    sg_sha256_end(&all, sha256);
    return status;
}

/* Makes sha256, that of the gradients, one of the gradients and of the file of their layers. */
static sg_status checksum_layers(char sha256[65], const char *layers_file, const char *data_dir, struct sg_error *err) {
    char layers[65], lines[160];
    sg_status status = dataset_checksum(layers, layers_file, data_dir, err);
    if (status != SG_OK)
        return status;
    const int length = snprintf(lines, sizeof lines, "%s  gradients\n%s  layers\n", sha256, layers);
    sg_sha256_of(lines, (size_t)length, sha256);
    return SG_OK;
}

sg_status sg_gradients_identify(struct sg_provenance *from, const char *files, const char *layers_file,
                                const char *data_dir, struct sg_error *err) {
    const char *slash = strrchr(files, '/');
    struct sg_provenance found = {.source = "file"};
    uint64_t steps = 1, workers = 1;
    bool by_step, by_worker;
    char *path = NULL;
    sg_status status = gradient_file(&path, files, 0, 0, &by_step, &by_worker, err);
    if (status != SG_OK)
        return status;
    if (access(path, F_OK) != 0)
        status = sg_fail_errno(err, SG_ERR_MISSING, "cannot read %s", path);
    if (status == SG_OK && by_step)
        status = gradient_files_count(&steps, files, true, err);
    if (status == SG_OK && by_worker)
        status = gradient_files_count(&workers, files, false, err);
    if (status == SG_OK && (by_step || by_worker))
        status = checksum_all(found.sha256, files, steps, workers, data_dir, err);
    else if (status == SG_OK)
        status = dataset_checksum(found.sha256, path, data_dir, err);
    if (layers_file)
        SG_DO(status, checksum_layers(found.sha256, layers_file, data_dir, err));
    snprintf(found.name, sizeof found.name, "%.63s", slash ? slash + 1 : files);
    found.path = path;
    if (status == SG_OK)
        *from = found;
    else
        sg_provenance_free(&found);
    return status;
}

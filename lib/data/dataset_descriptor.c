/* dataset_descriptor.c: reads datasets/NAME.yaml, and finds these descriptions and the script that fetches sets. */
/* SPDX-License-Identifier: MIT */
#include "dataset_walk.h"

#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "sg_dataset.h"
#include "sg_file.h"
#include "sg_node.h"
#include "sg_text.h"

#ifndef SG_DATADIR
#define SG_DATADIR "/usr/local/share/sparsegrad"
#endif

enum { LONGEST = 64 << 10 };

static const char *const set_keys[] = {"name",   "title",   "task",  "format", "features",
                                       "origin", "licence", "files", NULL};
static const char *const file_keys[] = {"name", "url", "sha256", "bytes", NULL}; /* the last may be left out */

struct reader {
    const char *name;
    struct sg_error *err;
};

static sg_status fail_at(const struct reader *r, int line, int column, const char *what, const char *word) {
    return sg_fail(r->err, SG_ERR_FORMAT, "%s:%d:%d: %s%s%s%s", r->name, line, column, what, word ? " '" : "",
                   word ? word : "", word ? "'" : "");
}

static sg_status fail_node(const struct reader *r, const struct sg_node *n, const char *what, const char *word) {
    return fail_at(r, n->line, n->column, what, word);
}

/* Checks that it is a map with some of the keys, and that all values except that of `files` are text. */
static sg_status check_map(const struct reader *r, const struct sg_node *map, const char *const *keys) {
    if (map->kind != SG_NODE_MAP)
        return fail_node(r, map, "expected a map", NULL);
    for (const struct sg_node *n = map->child; n < map->child + map->count; n++) {
        size_t i = 0;
        while (keys[i] && strcmp(keys[i], n->key) != 0)
            i++;
        if (!keys[i])
            return fail_at(r, n->key_line, n->key_column, "unknown key", n->key);
        if (!n->string && strcmp(n->key, "files") != 0)
            return fail_node(r, n, "expected text for", n->key);
    }
    return SG_OK;
}

static sg_status read_whole(const struct reader *r, const struct sg_node *map, const char *key, double most,
                            int64_t *out) {
    const struct sg_node *n = sg_node_member(map, key);
    char what[64];
    snprintf(what, sizeof what, "%s is a whole number from 1, not", key);
    return !n || sg_parse_integer(out, n->string, 1, (int64_t)most) ? SG_OK : fail_node(r, n, what, n->string);
}

static sg_status read_file(const struct reader *r, const struct sg_node *item, struct descriptor_file *file) {
    int64_t bytes;
    sg_status status = check_map(r, item, file_keys);
    for (size_t k = 0; k < 3 && status == SG_OK; k++)
        if (!sg_node_member(item, file_keys[k]))
            status = fail_node(r, item, "a file lacks its", file_keys[k]);
    SG_DO(status, read_whole(r, item, "bytes", 1e15, &bytes));
    if (status != SG_OK)
        return status;
    const struct sg_node *name = sg_node_member(item, "name"), *sha256 = sg_node_member(item, "sha256");
    if (strlen(name->string) >= sizeof file->name || strchr(name->string, '/') || name->string[0] == '.' ||
        name->string[0] == '\0')
        return fail_node(r, name, "not a plain file name:", name->string);
    memcpy(file->name, name->string, strlen(name->string) + 1);
    if (strcmp(sha256->string, "trust-on-first-use") == 0)
        return SG_OK;
    if (strlen(sha256->string) != 64 || strspn(sha256->string, "0123456789abcdef") != 64)
        return fail_node(r, sha256, "sha256 is 64 hex digits or trust-on-first-use, not", sha256->string);
    memcpy(file->sha256, sha256->string, sizeof file->sha256);
    return SG_OK;
}

static sg_status read_set(const struct reader *r, const struct sg_node *root, struct descriptor *out) {
    if (root->kind == SG_NODE_NULL)
        return fail_at(r, 1, 1, "the descriptor is empty", NULL);
    sg_status status = check_map(r, root, set_keys);
    if (status != SG_OK)
        return status;
    const struct sg_node *format = sg_node_member(root, "format"), *files = sg_node_member(root, "files");
    int64_t features = 0;
    if (!format || !files)
        return fail_node(r, root, "a set needs", files ? "format" : "files");
    if (!sg_is_choice("libsvm|cifar-10|cifar-100|tokens|movielens", format->string))
        return fail_node(r, format, "unknown format", format->string);
    snprintf(out->format, sizeof out->format, "%s", format->string);
    status = read_whole(r, root, "features", UINT32_MAX, &features);
    out->features = (size_t)features;
    if (status == SG_OK && (files->kind != SG_NODE_LIST || files->count == 0))
        status = fail_node(r, files, "expected a list of files", NULL);
    for (size_t i = 0; i < files->count && status == SG_OK; i++)
        status = i < DESCRIPTOR_FILES ? read_file(r, &files->child[i], &out->file[out->files++])
                                      : fail_node(r, &files->child[i], "too many files", NULL);
    return status;
}

sg_status descriptor_parse(struct descriptor *out, const char *text, size_t length, const char *name,
                           struct sg_error *err) {
    const struct reader r = {name, err};
    struct descriptor found = {0};
    struct sg_node root = {0};
    struct sg_node_fault fault;
    sg_status status = sg_node_read(&root, text, length, SG_ORIGIN_FILE, &fault);
    if (status == SG_ERR_FORMAT)
        fail_at(&r, fault.line, fault.column, fault.text, NULL);
    SG_DO(status, read_set(&r, &root, &found));
    sg_node_clear(&root);
    if (status == SG_OK)
        *out = found;
    return status;
}

const char *descriptor_pin(const struct descriptor *descriptor, const char *name) {
    for (size_t i = 0; i < descriptor->files; i++)
        if (strcmp(descriptor->file[i].name, name) == 0 && descriptor->file[i].sha256[0])
            return descriptor->file[i].sha256;
    return NULL;
}

/* Tries a folder. True if it has a descriptor of the set; *status is that of reading it. */
static bool try_folder(struct descriptor *out, const char *folder, const char *set, sg_status *status,
                       struct sg_error *err) {
    char *path = sg_format("%s/%s.yaml", folder, set), *text;
    size_t length;
    bool there = access(path, F_OK) == 0;
    if (there && (*status = sg_file_read_regular(&text, &length, path, LONGEST, err)) == SG_OK) {
        *status = descriptor_parse(out, text, length, path, err);
        free(text);
    }
    free(path);
    return there;
}

sg_status descriptor_find(struct descriptor *out, const char *set, struct sg_error *err) {
    const char *folder[] = {getenv("SPARSE_DATASETS"), "datasets", SG_DATADIR "/datasets"};
    sg_status status = SG_OK;
    for (size_t i = 0; i < sizeof folder / sizeof *folder; i++)
        if (folder[i] && folder[i][0] && try_folder(out, folder[i], set, &status, err))
            return status;
    *out = (struct descriptor){.files = 1};
    if (strlen(set) >= sizeof out->file[0].name)
        return sg_fail(err, SG_ERR_ARGUMENT, "the data set's name is longer than %zu characters",
                       sizeof out->file[0].name - 1);
    memcpy(out->file[0].name, set, strlen(set) + 1);
    return SG_OK;
}

static bool is_described(const char *folder, const char *set) {
    char path[PATH_MAX];
    return folder && snprintf(path, sizeof path, "%s/%s.yaml", folder, set) < (int)sizeof path &&
           access(path, F_OK) == 0;
}

/* folder/fetch if it can fetch the set; else NULL. */
static char *try_script(const char *folder, const char *set) {
    if (!is_described(folder, set) && !is_described(getenv("SPARSE_DATASETS"), set))
        return NULL;
    char *path = sg_format("%s/fetch", folder);
    if (access(path, X_OK) == 0)
        return path;
    free(path);
    return NULL;
}

enum { PLACES = 6 };

/* The folders that may have descriptions: where $SPARSE_DATASETS leads, the working directory's, that of the program's
 * own tree (build/bin, build/MODE/bin) or installation, the installed one. "" = it is not there. */
static void find_places(char place[PLACES][PATH_MAX]) {
    static const char *const beside[] = {"../../datasets", "../../../datasets", "../share/sparsegrad/datasets"};
    char program[PATH_MAX], folder[2 * PATH_MAX];
    const char *own = getenv("SPARSE_DATASETS");
    snprintf(place[0], PATH_MAX, "%s", own ? own : "");
    snprintf(place[1], PATH_MAX, "datasets");
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    char *slash = length > 0 ? memrchr(program, '/', (size_t)length) : NULL;
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        place[2 + i][0] = '\0';
        if (!slash)
            continue;
        *slash = '\0';
        snprintf(folder, sizeof folder, "%s/%s", program, beside[i]);
        if (!realpath(folder, place[2 + i]))
            place[2 + i][0] = '\0';
    }
    snprintf(place[PLACES - 1], PATH_MAX, "%s", SG_DATADIR "/datasets");
}

char *descriptor_fetch_script(const char *set) {
    char place[PLACES][PATH_MAX], *out = NULL;
    find_places(place);
    for (size_t i = 1; i < PLACES && !out; i++)
        if (place[i][0])
            out = try_script(place[i], set);
    return out;
}

bool sg_dataset_suggest(char out[64], const char *set) {
    enum { LETTERS = 2, SETS = 128 };
    char place[PLACES][PATH_MAX], pattern[PATH_MAX + 8];
    const char *known[SETS];
    size_t n = 0;
    glob_t found = {0};
    find_places(place);
    for (size_t i = 0; i < PLACES; i++)
        if (place[i][0] && snprintf(pattern, sizeof pattern, "%s/*.yaml", place[i]) > 0)
            glob(pattern, GLOB_APPEND, NULL, &found);
    for (; n < found.gl_pathc && n < SETS; n++) {
        char *name = strrchr(found.gl_pathv[n], '/') + 1;
        name[strlen(name) - strlen(".yaml")] = '\0';
        known[n] = name;
    }
    const char *near = sg_suggest(set, known, n);
    const bool fine = near && strcmp(near, set) != 0 &&
                      (strncasecmp(near, set, strlen(set)) == 0 || sg_edit_distance(near, set) <= LETTERS);
    if (fine)
        snprintf(out, 64, "%s", near);
    globfree(&found);
    return fine;
}

/* dataset_descriptor.c: reads datasets/NAME.yaml, and says where such descriptions and the script that fetches sets lie. */
#include "dataset_descriptor.h"

#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <yaml.h>

#include "sg_dataset.h"
#include "sg_file.h"
#include "sg_text.h"

#ifndef SG_DATADIR
#define SG_DATADIR "/usr/local/share/sparsegrad"
#endif

enum { LONGEST = 64 << 10, MOST_KEYS = 16 };

static const char *const set_keys[] = {"name",   "title",   "task",  "format", "features",
                                       "origin", "licence", "files", NULL};
static const char *const file_keys[] = {"name", "url", "sha256", "bytes", NULL}; /* the last may be left out */

struct reader {
    yaml_document_t *document;
    const char *name;
    struct sg_error *err;
};

static sg_status fail_node(const struct reader *r, const yaml_node_t *n, const char *what, const char *word) {
    return sg_fail(r->err, SG_ERR_FORMAT, "%s:%zu:%zu: %s%s%s%s", r->name, n->start_mark.line + 1,
                   n->start_mark.column + 1, what, word ? " '" : "", word ? word : "", word ? "'" : "");
}

static const char *text_of(const yaml_node_t *n) {
    return n->type == YAML_SCALAR_NODE ? (const char *)n->data.scalar.value : NULL;
}

/* The values of a map by position in `keys`, NULL where absent. */
static sg_status read_map(const struct reader *r, const yaml_node_t *map, const char *const *keys,
                          const yaml_node_t *value[MOST_KEYS]) {
    if (map->type != YAML_MAPPING_NODE)
        return fail_node(r, map, "expected a map", NULL);
    memset(value, 0, MOST_KEYS * sizeof *value);
    for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top; p++) {
        const yaml_node_t *key = yaml_document_get_node(r->document, p->key);
        size_t i = 0;
        while (keys[i] && (!text_of(key) || strcmp(keys[i], text_of(key)) != 0))
            i++;
        if (!keys[i])
            return fail_node(r, key, "unknown key", text_of(key));
        if (value[i])
            return fail_node(r, key, "repeated key", keys[i]);
        value[i] = yaml_document_get_node(r->document, p->value);
        if (strcmp(keys[i], "files") != 0 && !text_of(value[i]))
            return fail_node(r, value[i], "expected text for", keys[i]);
    }
    return SG_OK;
}

static sg_status read_checksum(const struct reader *r, const yaml_node_t *n, char sha256[65]) {
    const char *text = text_of(n);
    sha256[0] = '\0';
    if (strcmp(text, "trust-on-first-use") == 0)
        return SG_OK;
    if (strlen(text) != 64 || strspn(text, "0123456789abcdef") != 64)
        return fail_node(r, n, "sha256 is 64 hex digits or trust-on-first-use, not", text);
    memcpy(sha256, text, 65);
    return SG_OK;
}

static sg_status read_files(const struct reader *r, const yaml_node_t *files, struct descriptor *out) {
    if (files->type != YAML_SEQUENCE_NODE || files->data.sequence.items.start == files->data.sequence.items.top)
        return fail_node(r, files, "expected a list of files", NULL);
    for (yaml_node_item_t *i = files->data.sequence.items.start; i < files->data.sequence.items.top; i++) {
        const yaml_node_t *item = yaml_document_get_node(r->document, *i), *value[MOST_KEYS];
        if (out->files == DESCRIPTOR_FILES)
            return fail_node(r, item, "too many files", NULL);
        sg_status status = read_map(r, item, file_keys, value);
        if (status)
            return status;
        enum { NEEDED = 3, BYTES = 3 };
        int64_t bytes;
        for (size_t k = 0; k < NEEDED; k++)
            if (!value[k])
                return fail_node(r, item, "a file lacks its", file_keys[k]);
        struct descriptor_file *file = &out->file[out->files++];
        const char *name = text_of(value[0]);
        if (strlen(name) >= sizeof file->name || strchr(name, '/') || name[0] == '.' || name[0] == '\0')
            return fail_node(r, value[0], "not a plain file name:", name);
        memcpy(file->name, name, strlen(name) + 1);
        if (value[BYTES] && !sg_parse_integer(&bytes, text_of(value[BYTES]), 1, 1e15))
            return fail_node(r, value[BYTES], "bytes is a whole number from 1, not", text_of(value[BYTES]));
        if ((status = read_checksum(r, value[2], file->sha256)) != SG_OK)
            return status;
    }
    return SG_OK;
}

static sg_status read_set(const struct reader *r, struct descriptor *out) {
    const yaml_node_t *root = yaml_document_get_root_node(r->document), *value[MOST_KEYS];
    if (!root)
        return sg_fail(r->err, SG_ERR_FORMAT, "%s:1:1: the descriptor is empty", r->name);
    sg_status status = read_map(r, root, set_keys, value);
    if (status)
        return status;
    enum { FORMAT = 3, FEATURES = 4, FILES = 7 };
    if (!value[FORMAT] || !value[FILES])
        return fail_node(r, root, "a set needs", value[FILES] ? "format" : "files");
    if (!sg_is_choice("libsvm|cifar-10|cifar-100|tokens|movielens", text_of(value[FORMAT])))
        return fail_node(r, value[FORMAT], "unknown format", text_of(value[FORMAT]));
    snprintf(out->format, sizeof out->format, "%s", text_of(value[FORMAT]));
    int64_t features = 0;
    if (value[FEATURES] && !sg_parse_integer(&features, text_of(value[FEATURES]), 1, UINT32_MAX))
        return fail_node(r, value[FEATURES], "features is a whole number from 1, not", text_of(value[FEATURES]));
    out->features = (size_t)features;
    return read_files(r, value[FILES], out);
}

sg_status descriptor_parse(struct descriptor *out, const char *text, size_t length, const char *name,
                           struct sg_error *err) {
    yaml_parser_t parser;
    yaml_document_t document;
    struct descriptor found = {0};
    if (!yaml_parser_initialize(&parser))
        return sg_fail_memory(err, name);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
    sg_status status;
    if (!yaml_parser_load(&parser, &document)) {
        status = sg_fail(err, SG_ERR_FORMAT, "%s:%zu:%zu: %s", name, parser.problem_mark.line + 1,
                         parser.problem_mark.column + 1, parser.problem ? parser.problem : "not YAML");
    } else {
        struct reader r = {.document = &document, .name = name, .err = err};
        status = read_set(&r, &found);
        yaml_document_delete(&document);
    }
    yaml_parser_delete(&parser);
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

/* Tries a folder. True if it has a descriptor of the set; *status tells how reading it went. */
static bool try_folder(struct descriptor *out, const char *folder, const char *set, sg_status *status,
                       struct sg_error *err) {
    char *path, *text;
    size_t length;
    if (asprintf(&path, "%s/%s.yaml", folder, set) < 0) {
        *status = sg_fail_memory(err, set);
        return true;
    }
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

/* *out <- folder/fetch if it knows the set; else NULL. */
static sg_status try_script(char **out, const char *folder, const char *set, struct sg_error *err) {
    char *path;
    if (!is_described(folder, set) && !is_described(getenv("SPARSE_DATASETS"), set))
        return SG_OK;
    if (asprintf(&path, "%s/fetch", folder) < 0)
        return sg_fail_memory(err, set);
    if (access(path, X_OK) == 0)
        *out = path;
    else
        free(path);
    return SG_OK;
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

sg_status descriptor_fetch_script(char **out, const char *set, struct sg_error *err) {
    char place[PLACES][PATH_MAX];
    sg_status status = SG_OK;
    *out = NULL;
    find_places(place);
    for (size_t i = 1; i < PLACES && status == SG_OK && !*out; i++)
        if (place[i][0])
            status = try_script(out, place[i], set, err);
    return status;
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

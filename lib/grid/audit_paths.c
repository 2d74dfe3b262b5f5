/* audit_paths.c: which files the recipe of a stranger's evidence may name. */
/* SPDX-License-Identifier: MIT */
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "audit_evidence.h"

/* The keys of a recipe whose values are files or folders if they have a '/'; other names are looked up in the folder of
 * the data. */
static const char *const keys[] = {"dataset", "layers-file", "processor"};

/* out <- the path without links; of one that is not there yet, that of the nearest folder that is. */
static bool resolve(char out[PATH_MAX], const char *path) {
    char copy[PATH_MAX];
    if (strlen(path) >= sizeof copy)
        return false;
    strcpy(copy, path);
    for (int depth = 0; depth < PATH_MAX; depth++) {
        if (realpath(copy, out))
            return true;
        const char *slash = strrchr(copy, '/');
        if (slash && strcmp(slash, "/..") == 0)
            return false; /* of a folder that is not there */
        char parent[PATH_MAX];
        strcpy(parent, copy);
        strcpy(copy, dirname(parent));
    }
    return false;
}

static bool is_below(const char *path, const char *folder) {
    char inner[PATH_MAX], outer[PATH_MAX];
    if (!folder || !*folder || !resolve(inner, path) || !realpath(folder, outer))
        return false;
    const size_t n = strlen(outer);
    return strncmp(inner, outer, n) == 0 && (outer[n - 1] == '/' || inner[n] == '/' || inner[n] == '\0');
}

sg_status audit_allow_path(const struct sg_audit *a, const struct sg_audit_draw *draw, const char *what,
                           const char *path, struct sg_error *err) {
    char evidence[PATH_MAX] = ".";
    if (a->bundle.n == 0 && strlen(a->path) < sizeof evidence) {
        char copy[PATH_MAX];
        strcpy(copy, a->path);
        strcpy(evidence, dirname(copy));
    }
    const char *const folder[] = {".", a->bundle.n > 0 ? a->path : evidence, draw->data_dir, getenv("SPARSE_DATA")};
    for (size_t i = 0; i < sizeof folder / sizeof *folder; i++)
        if (is_below(path, folder[i]))
            return SG_OK;
    for (size_t i = 0; draw->allowed && i < draw->allowed->count; i++)
        if (is_below(path, draw->allowed->item[i]))
            return SG_OK;
    return sg_fail(err, SG_ERR_ARGUMENT,
                   "%s: %s %.300s lies outside of this folder, that of the file, and that of the data: --allow FOLDER "
                   "lets an audit read and write there",
                   a->path, what, path);
}

static sg_status look_at(const struct sg_audit *a, const struct sg_audit_draw *draw, const struct sg_node *node,
                         const char *key, struct sg_error *err) {
    sg_status status = SG_OK;
    key = node->key ? node->key : key;
    for (size_t i = 0; key && i < sizeof keys / sizeof *keys && status == SG_OK; i++)
        if (node->kind == SG_NODE_STRING && strcmp(key, keys[i]) == 0 && strchr(node->string, '/'))
            status = audit_allow_path(a, draw, "its recipe's file", node->string, err);
    for (size_t i = 0; i < node->count; i++)
        SG_DO(status, look_at(a, draw, &node->child[i], key, err));
    return status;
}

sg_status audit_allow_recipe(const struct sg_audit *a, const struct sg_audit_draw *draw, struct sg_error *err) {
    return look_at(a, draw, &a->recipe.root, NULL, err);
}
